"""Voters of every kind, and weights from predictions for rows that they were not trained on."""

import pickle
import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from certivote import MajorityVoteClassifier
from certivote.learners import logistic_of_shares
from certivote.voters import Dense, EmptyColumns, Mixed, Neighbours, fit_voters, joined_of, members
from certivote.voters.members import MEMBERS, Facts, Member
from certivote.voters.mixed import folds_of, rounds_of

BOOSTING = MEMBERS["boosting"]
QUICK = ["forest", "logistic", "bayes"]
X, Y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=0)


def vote_of(voters="mixed", **settings):
    return MajorityVoteClassifier(
        voters, **{"n_voters": 5, "bound": "heldout", "random_state": 0, **settings}
    )


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """Boosting that is over soon."""
    kinds = [HistGradientBoostingClassifier(max_iter=k, early_stopping=False) for k in (3, 6)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MEMBERS, "boosting", replace(BOOSTING, candidates=lambda facts: kinds))
        yield


@pytest.fixture(scope="module")
def every():
    """All members, on data that is small enough to tune them."""
    return Mixed(n_voters=7, random_state=3).fit(X, Y).group_


# --- the members ---


def test_there_is_every_kind(every):
    assert every.names == list(MEMBERS)
    assert every.sizes == [7, 7, 7, 1, 1, 1, 1, 1]
    assert len(every) == 26
    assert not every.left_out
    assert not every.failed


def test_trees_of_a_forest_vote_each_for_itself_and_the_others_as_they_are(every):
    voters = fit_voters(Mixed(n_voters=7, random_state=3), X, Y)
    codes = voters.votes(X, np.array([0, 1])).codes
    for index in (0, 6, 7, 20, 21, 25):
        np.testing.assert_array_equal(codes[:, index], every[index].predict(X.astype(np.float32)))
    with pytest.raises(IndexError):
        every[26]


def test_the_forest_errs_out_of_bag_as_scikit_learn_counts():
    """Its leaves are pure: a tree's probability of a class is whether it votes for it."""
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max)
    forest = RandomForestClassifier(40, oob_score=True, random_state=seed).fit(X, Y)
    group = Mixed(["forest"], n_voters=40, random_state=3).fit(X, Y).group_
    right = forest.oob_decision_function_[np.arange(len(Y)), Y]
    np.testing.assert_allclose(group.shares[:, 0], 1.0 - right, atol=1e-12)


@pytest.mark.parametrize("name", ["boosting", "logistic", "svm", "neighbours", "bayes"])
def test_others_err_on_folds_that_they_were_not_trained_on(name, every):
    """Three times over, as there are few rows."""
    rng = np.random.RandomState(3)
    for _ in MEMBERS:
        rng.randint(np.iinfo(np.int32).max)
    kinds = MEMBERS[name].candidates(Facts(*X.shape, sparse=False, classes=2))
    losses = np.zeros((len(kinds), len(Y)))
    for _ in range(3):
        where = np.empty(len(Y), dtype=int)
        for number, fold in enumerate(folds_of(Y, rng)):
            where[fold] = number
        cut = PredefinedSplit(where)
        losses += [cross_val_predict(kind, X, Y, cv=cut) != Y for kind in kinds]
    expected = min(losses, key=np.sum) / 3
    np.testing.assert_array_equal(every.shares[:, every.names.index(name)], expected)


@pytest.mark.parametrize(("rows", "rounds"), [(4, 3), (499, 3), (500, 1)])
def test_folds_are_drawn_again_where_there_are_few_rows(rows, rounds):
    found = rounds_of(np.arange(rows) % 2, np.random.RandomState(0))
    assert len(found) == rounds
    for folds in found:
        np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(rows))
    assert len({tuple(folds[0].tolist()) for folds in found}) == rounds or rows < 5


def test_folds_spread_the_classes():
    codes = np.repeat([0, 1], [50, 10])
    folds = folds_of(codes, np.random.RandomState(0))
    assert [np.bincount(codes[fold]).tolist() for fold in folds] == [[10, 2]] * 5
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(60))


def test_boosting_is_for_few_classes():
    """It grows a tree of each class at every step."""
    one = BOOSTING.candidates(Facts(100, 5, sparse=False, classes=2))
    several = BOOSTING.candidates(Facts(100, 5, sparse=False, classes=3))
    assert len(several) == 1 < len(one)
    assert several[0][-1].max_iter < min(kind[-1].max_iter for kind in one)
    rows, labels = np.arange(310.0)[:, None] * [1.0, -2.0], np.arange(310) % 31
    group = Mixed(["forest"], n_voters=2, random_state=0).fit(rows, labels).group_
    assert group.names == ["forest"]
    with pytest.raises(ValueError, match=r"at most 30 classes, .* there are 31"):
        Mixed(["boosting"], random_state=0).fit(rows, labels)


def test_the_weights_are_those_of_blocks_shared_by_their_voters(every):
    of_blocks = logistic_of_shares(every.shares, penalty=10.0)
    found = np.split(every.weights, np.cumsum(every.sizes)[:-1])
    np.testing.assert_allclose([part.sum() for part in found], of_blocks, atol=1e-12)
    assert all(np.all(part == part[0]) for part in found)
    assert every.weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_same_seed_gives_the_same_voters_however_many_are_trained_at_once(every, capsys):
    again = Mixed(n_voters=7, random_state=3, n_jobs=2, verbose=1).fit(X, Y).group_
    np.testing.assert_array_equal(again.shares, every.shares)
    for one, other in zip(again, every, strict=True):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
    told = capsys.readouterr().err
    assert all(f"training {name}" in told for name in MEMBERS)
    other = Mixed(QUICK, n_voters=7, random_state=4).fit(X, Y).group_
    assert not np.array_equal(other.shares[:, 0], every.shares[:, 0])


def test_a_member_does_not_depend_on_the_others(every):
    alone = Mixed(QUICK, n_voters=7, random_state=3).fit(X, Y).group_
    columns = [every.names.index(name) for name in QUICK]
    np.testing.assert_array_equal(alone.shares, every.shares[:, columns])


@pytest.mark.parametrize("name", MEMBERS)
def test_settings_are_tried_on_small_data_only(name):
    member = BOOSTING if name == "boosting" else MEMBERS[name]
    small = member.candidates(Facts(1000, 200, sparse=False, classes=2))
    large = member.candidates(Facts(1000, 201, sparse=False, classes=2))
    assert len(large) == 1 <= len(small)


class Counted(ClassifierMixin, BaseEstimator):
    """It notes how many threads BLAS and OpenMP may have while it is trained."""

    seen: ClassVar[set[int]] = set()

    def fit(self, X, y):
        self.seen.update(pool["num_threads"] for pool in threadpool_info())
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.mark.parametrize(("columns", "small"), [(6, True), (1000, False)])
def test_small_data_is_trained_by_one_thread(columns, small, monkeypatch):
    """Threads of BLAS and OpenMP would wait for each other longer than they compute."""
    monkeypatch.setattr(Counted, "seen", set())
    monkeypatch.setitem(MEMBERS, "bayes", Member(lambda facts: [Counted()]))
    with threadpool_limits(2):
        # Some library may have no second thread to give.
        given = {pool["num_threads"] for pool in threadpool_info()}
        Mixed(["bayes"], random_state=0).fit(np.zeros((240, columns)), Y)
    assert Counted.seen == ({1} if small else given)


# --- the vote ---


def test_it_is_what_no_name_means():
    vote, named = (vote_of(voters).fit(X, Y).certificate_ for voters in (None, "mixed"))
    assert vote.to_dict()["weights"] == named.to_dict()["weights"]
    assert vote.statistics_sha256 == named.statistics_sha256
    assert vote.provenance == named.provenance
    assert vote.n_voters == 20


def test_out_of_bag_no_name_means_trees():
    """Whose weights start from equal ones, as they do where they are named."""
    settings = {"certification": "oob", "bound": "lacasse"}
    vote, trees = (vote_of(voters, **settings).fit(X, Y) for voters in (None, "trees"))
    assert vote.certificate_.n_voters == 5
    assert vote.certificate_.to_json() == trees.certificate_.to_json()
    vote.set_params(certification="split").verify(X, Y)


def test_part_b_tests_weights_that_it_did_not_give():
    vote = vote_of(Mixed(QUICK, n_voters=5)).fit(X, Y)
    order = np.random.RandomState(0).permutation(len(Y))
    part_b = order[-vote.certificate_.n_samples :]
    other = Y.copy()
    other[part_b] = np.random.default_rng(1).integers(2, size=len(part_b))
    again = vote_of(Mixed(QUICK, n_voters=5)).fit(X, other)
    np.testing.assert_array_equal(again.certificate_.prior, vote.certificate_.prior)
    assert vote.certificate_.provenance["prior"] == "learned on part A"
    assert again.certificate_.risk_bound > vote.certificate_.risk_bound


def test_predict_is_the_weighted_hard_vote():
    vote = vote_of(Mixed(QUICK, n_voters=5)).fit(X, Y)
    votes = np.stack([voter.predict(X.astype(np.float32)) for voter in vote.voters_], axis=1)
    np.testing.assert_array_equal(vote.predict(X), votes @ vote.weights_ > 0.5)


def test_it_is_verified_and_pickled():
    vote = vote_of(Mixed(QUICK, n_voters=5)).fit(X, Y)
    vote.verify(X, Y)
    again = pickle.loads(pickle.dumps(vote))
    np.testing.assert_array_equal(again.predict(X), vote.predict(X))
    again.verify(X, Y)
    joined_of(again.voters_.groups).shares[:, 0] = 0.5
    with pytest.raises(ValueError, match="the prior of the certificate is not the one"):
        again.verify(X, Y)


def test_where_it_may_abstain_nobody_is_trained_again(monkeypatch):
    """What the members said on rows that they had not seen says where testing begins."""
    trained = []
    train = Mixed._train
    monkeypatch.setattr(
        Mixed, "_train", lambda self, *given: trained.append(given[0]) or train(self, *given)
    )
    vote = vote_of(Mixed(QUICK, n_voters=5), abstain=0.2).fit(X, Y)
    assert trained == QUICK
    assert vote.certificate_.families[0].start_from == "part A"
    vote.verify(X, Y)
    assert trained == QUICK


def test_the_share_of_the_winner_of_two_classes(every):
    """Of each class by itself: the weight of those that name it."""
    weights = np.random.default_rng(0).dirichlet(np.ones(len(every)))
    of_blocks = [part.sum() for part in np.split(weights, np.cumsum(every.sizes)[:-1])]
    names_one = np.where(Y[:, None] == 1, 1.0 - every.shares, every.shares)
    for_one, for_zero = names_one @ of_blocks, (1.0 - names_one) @ of_blocks
    expected = np.maximum(for_one, for_zero)
    np.testing.assert_allclose(every.winning_shares(weights), expected, atol=1e-12)


def people(n, rng, rows=8):
    """Rows of a person are alike in six columns, and four others tell the label a little."""
    label, person = rng.integers(2, size=n), np.repeat(np.arange(n), rows)
    known = rng.normal(size=(n, 6))[person] + 0.05 * rng.normal(size=(n * rows, 6))
    hint = (label[person] - 0.5)[:, None] + rng.normal(size=(n * rows, 4))
    return np.column_stack([known, hint]), label[person], person


def test_members_are_weighed_by_groups_that_they_had_not_seen():
    """Neighbours and trees know every row of a person by another one, and no new person."""
    rng = np.random.default_rng(0)
    rows, labels, persons = people(60, rng)
    others, truth, _ = people(2000, rng, rows=1)
    names = ["forest", "logistic", "neighbours"]
    alone, together = (
        Mixed(names, n_voters=10, random_state=0).fit(rows, labels, groups).group_
        for groups in (None, persons)
    )

    def risks(group):
        return [np.mean(group[index].predict(others) != truth) for index in (10, 11)]

    believed, honest = alone.shares.mean(axis=0), together.shares.mean(axis=0)
    assert believed[2] < 0.1 < 0.3 < risks(alone)[1]
    # Of 60 persons a share is known to about 0.06.
    np.testing.assert_allclose(honest[1:], risks(together), atol=0.13)
    assert honest[0] > believed[0] + 0.1
    assert together.weights[10] > alone.weights[10] + 0.2


def test_groups_of_a_fit_reach_the_members():
    rows, labels, persons = people(60, np.random.default_rng(1))
    frame = pd.DataFrame(rows).rename(columns=str).assign(town=np.resize(["a", "b"], len(labels)))
    for table in (rows, frame):
        votes = [vote_of(Mixed(["logistic", "neighbours"])) for _ in range(2)]
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            votes[0].fit(table, labels)
        votes[1].fit(table, labels, groups=persons)
        shares = [joined_of(vote.voters_.groups).shares[:, 1].mean() for vote in votes]
        assert shares[0] < shares[1] - 0.1
        votes[1].verify(table, labels, groups=persons)


def test_folds_keep_groups_whole():
    groups = np.repeat(np.arange(7), [1, 2, 3, 4, 5, 6, 7])
    for n, expected in ((7, 5), (3, 3), (1, 5)):
        own = np.minimum(groups, n - 1)
        folds = folds_of(groups % 2, np.random.RandomState(0), own)
        assert len(folds) == expected
        np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(28))
        if n > 1:
            assert sum(len(set(own[fold])) for fold in folds) == n


def test_equal_weights_are_still_to_be_had():
    vote = vote_of(Mixed(QUICK, n_voters=5), prior="uniform").fit(X, Y)
    np.testing.assert_allclose(vote.weights_, 1 / 7)
    assert "prior" not in vote.certificate_.provenance


def test_several_classes_with_names():
    X3, codes = make_classification(200, 6, n_informative=4, n_classes=3, random_state=1)
    y = np.array(["ash", "birch", "cedar"])[codes]
    vote = vote_of(Mixed(QUICK, n_voters=5)).fit(X3, y)
    assert set(vote.predict(X3)) == {"ash", "birch", "cedar"}
    assert vote.certificate_.risk_bound < 0.6


# --- the data ---


def test_frames_with_categories_and_gaps_and_texts():
    rng = np.random.default_rng(0)
    town = np.where(Y == 1, "Ulm", "Bonn").astype(object)
    town[rng.random(len(Y)) < 0.2] = None
    frame = pd.DataFrame({"x": X[:, 0], "town": town})
    frame.loc[::7, "x"] = np.nan
    frame["said"] = [f"it was said {i} times" for i in range(len(Y))]
    vote = vote_of().fit(frame, Y)
    assert len(joined_of(vote.voters_.groups).names) == len(MEMBERS)
    assert vote.certificate_.risk_bound < 0.3
    words = np.array([f"a {'good' if y else 'bad'} day {i}" for i, y in enumerate(Y)], dtype=object)
    assert vote_of(Mixed(QUICK, n_voters=5)).fit(words, Y).certificate_.risk_bound < 0.1


def test_gaps_may_come_later():
    vote = vote_of(n_voters=3).fit(X, Y)
    holes = X[:40].copy()
    holes[:, 2] = np.nan
    assert len(vote.predict(holes)) == 40


@pytest.mark.parametrize("known", [0, 1, 3])
def test_a_column_of_gaps_leaves_nobody_out(known, monkeypatch):
    monkeypatch.setitem(MEMBERS, "boosting", BOOSTING)
    holes = X.copy()
    holes[known:, 2] = np.nan
    vote = vote_of(Mixed(["forest", "boosting"], n_voters=3)).fit(holes, Y)
    assert len(vote.predict(X)) == len(X)
    # Gaps elsewhere stay: boosting knows what to do with them.
    holes[::2, 3] = np.nan
    filled = EmptyColumns().fit(holes[5:]).transform(holes[5:])
    np.testing.assert_array_equal(filled[:, 2], 0.0)
    np.testing.assert_array_equal(np.delete(filled, 2, 1), np.delete(holes[5:], 2, 1))


def test_neighbours_at_the_same_distance_do_not_depend_on_threads_and_tables():
    """With two threads the answers to 600 rows were not those to the same rows of 1,200."""
    rng = np.random.default_rng(0)
    table = rng.integers(60, size=(1200, 1)) + 100.0 * np.eye(3)[rng.integers(3, size=1200)]
    y = rng.integers(2, size=1200)
    asked, known = np.split(rng.permutation(1200), 2)
    answers = {}
    for kind in (KNeighborsClassifier, Neighbours):
        model = kind(5, algorithm="brute").fit(table[known], y[known])
        answers[kind] = [model.predict(table)[asked]]
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="openmp"):
                answers[kind] += [model.predict(table)[asked], model.predict(table[asked])]
                answers[kind] += [np.concatenate([model.predict(table[[i]]) for i in asked])]
    assert all(np.array_equal(answers[Neighbours][0], other) for other in answers[Neighbours])
    first, *others = answers[KNeighborsClassifier]
    assert not all(np.array_equal(first, other) for other in others)


def test_sparse_data(monkeypatch):
    monkeypatch.setitem(MEMBERS, "boosting", BOOSTING)
    table = sparse.random(60, 30, density=0.2, random_state=0, format="csr")
    y = np.asarray(table[:, :3].sum(axis=1)).ravel() > 0.2
    vote = vote_of(n_voters=3).fit(table, y)
    assert len(joined_of(vote.voters_.groups).names) == len(MEMBERS)
    np.testing.assert_array_equal(vote.predict(table), vote.predict(sparse.csc_array(table)))


def test_dense_data_stays_as_it_is():
    np.testing.assert_array_equal(Dense().fit_transform(X), X)


def test_sparse_data_that_is_too_large_to_write_out(monkeypatch):
    monkeypatch.setattr(members, "MOST_CELLS", 700)
    table = sparse.csr_array(X)
    with pytest.warns(UserWarning, match="left out of the mixed voters: boosting, as it takes no"):
        vote = vote_of(n_voters=3).fit(table, Y)
    assert "boosting" not in joined_of(vote.voters_.groups).names
    assert not vote.certificate_.findings
    with pytest.raises(ValueError, match="members must be for this data, got 'boosting': it takes"):
        vote_of(Mixed(["forest", "boosting"])).fit(table, Y)


def test_slow_members_are_left_out_by_a_rule(monkeypatch):
    monkeypatch.setattr(members, "MOST_ROWS", 119)
    with pytest.warns(UserWarning, match=r"svm, as it is for at most 119 .* are 120; neighbours"):
        vote = vote_of(n_voters=3).fit(X, Y)
    names = joined_of(vote.voters_.groups).names
    assert names == [name for name in MEMBERS if name not in ("svm", "neighbours")]
    with pytest.raises(ValueError, match="got 'svm': it is for at most 119 training rows"):
        vote_of(Mixed(["svm"])).fit(X, Y)


# --- what goes wrong ---


class Broken(ClassifierMixin, BaseEstimator):
    """Fails where it is told to."""

    def __init__(self, where="fit"):
        self.where = where

    def fit(self, X, y):
        if self.where == "fit":
            raise RuntimeError("it does not fit")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        raise RuntimeError("it cannot tell")


@pytest.mark.parametrize(("where", "why"), [("fit", "does not fit"), ("predict", "cannot tell")])
def test_a_member_that_fails_is_left_out_and_the_certificate_says_so(where, why, monkeypatch):
    monkeypatch.setitem(MEMBERS, "svm", Member(lambda facts: [Broken(where)]))
    with pytest.warns(UserWarning, match=f"svm is left out of the mixed voters, .* {why}"):
        vote = vote_of(n_voters=3).fit(X, Y)
    assert "svm" not in joined_of(vote.voters_.groups).names
    (finding,) = vote.certificate_.findings
    assert why in finding
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vote.verify(X, Y)
    with pytest.raises(ValueError, match=f"members: 'svm' cannot be trained .*{why}"):
        vote_of(Mixed(["forest", "svm"])).fit(X, Y)


def test_data_that_no_member_takes_is_an_error():
    with pytest.raises(ValueError, match="infinity"):
        Mixed(QUICK).fit(np.where(X > 2, np.inf, X), Y)
    with pytest.raises(ValueError, match="could not convert string"):
        Mixed(QUICK).fit(np.full((10, 2), "a", dtype=object), Y[:10])


@pytest.mark.parametrize("m", [2, 3, 4, 8])
def test_fewer_rows_than_folds(m):
    rows = np.concatenate([np.flatnonzero(Y == 0)[: m - m // 2], np.flatnonzero(Y == 1)[: m // 2]])
    group = Mixed(n_voters=3, random_state=0).fit(X[rows], Y[rows]).group_
    assert group.names == list(MEMBERS)
    assert group.weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_class_that_a_fold_does_not_hold():
    y = np.zeros(60, dtype=int)
    y[7] = 1
    group = Mixed(n_voters=3, random_state=0).fit(X[:60], y).group_
    assert group.names == list(MEMBERS)
    # Whoever is trained without it cannot name it.
    assert group.shares[7, 3:].tolist() == [1.0] * 5


def test_one_class_leaves_the_forests():
    with pytest.warns(UserWarning, match="boosting, as it needs two classes"):
        vote = vote_of(n_voters=3).fit(X, np.ones(len(Y), dtype=int))
    assert joined_of(vote.voters_.groups).names == ["forest", "extra-trees", "larger-leaves"]


@pytest.mark.parametrize("named", [[], ["oak"], "oak"])
def test_unknown_members_are_refused(named):
    with pytest.raises(ValueError, match="members must be some of 'forest', 'extra-trees'"):
        Mixed(named).fit(X, Y)


def test_one_name_is_enough():
    assert clone(Mixed("bayes")).fit(X, Y).group_.names == ["bayes"]
