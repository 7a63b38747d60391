"""Votes that are trained on bags of all rows, and certified on the rows outside each bag."""

import json
import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import Certificate, CertificateError, MajorityVoteClassifier
from certivote.bounds import get_bound
from certivote.report import report
from certivote.statistics import OutOfBagStatistics
from certivote.voters import PredictionTable

N = 12
TREE = DecisionTreeClassifier(max_features="sqrt")
SUBSAMPLES = {"max_samples": 0.3, "bootstrap": False, "random_state": 0}
FORESTS = {
    "forest": RandomForestClassifier(N, random_state=0),
    "small bags": RandomForestClassifier(N, max_samples=0.3, random_state=0),
    "large leaves": RandomForestClassifier(N, min_samples_leaf=0.01, random_state=0),
    "shares to split": RandomForestClassifier(N, min_samples_split=0.05, random_state=0),
    "pruned": RandomForestClassifier(N, ccp_alpha=0.003, max_leaf_nodes=20, random_state=0),
    "balanced in the bag": RandomForestClassifier(
        N, class_weight="balanced_subsample", random_state=0
    ),
    "extra trees": ExtraTreesClassifier(N, bootstrap=True, random_state=0),
    "bagging": BaggingClassifier(n_estimators=N, random_state=0),
    "subsamples": BaggingClassifier(TREE, N, **SUBSAMPLES),
    "some columns": BaggingClassifier(TREE, n_estimators=N, max_features=0.5, random_state=0),
    "grown": RandomForestClassifier(N, warm_start=True, random_state=0),
}


@pytest.fixture(scope="module")
def rows():
    """Three classes with words for names, of which one is rare."""
    X, y = make_classification(
        900, n_features=8, n_informative=5, n_classes=3, weights=[0.6, 0.35], random_state=0
    )
    return X, np.array(["cat", "dog", "eel"])[y]


def oob(voters=None, **settings):
    own = {"bound": "lacasse", "n_voters": N, "random_state": 0, "certification": "oob"}
    return MajorityVoteClassifier(voters, **(own | settings))


def frozen(forest, X, y, **settings):
    return oob(FrozenEstimator(forest), **settings).fit(X, y)


def counts_by_hand(forest, X, y):
    """Errors per pair of members, row by row, on those that neither bag holds."""
    columns = getattr(forest, "estimators_features_", [np.arange(X.shape[1])] * N)
    members = zip(forest.estimators_, columns, strict=True)
    wrong = [
        forest.classes_[tree.predict(X[:, own]).astype(int)] != np.asarray(y)
        for tree, own in members
    ]
    outside = [set(range(len(y))) - set(bag.tolist()) for bag in forest.estimators_samples_]
    sizes, errors, tandem = (np.zeros((N, N), dtype=int) for _ in range(3))
    for j in range(N):
        for k in range(N):
            both = sorted(outside[j] & outside[k])
            sizes[j, k] = len(both)
            errors[j, k] = sum(wrong[j][i] for i in both)
            tandem[j, k] = sum(wrong[j][i] and wrong[k][i] for i in both)
    return sizes, errors, tandem


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("trained", [True, False])
def test_each_pair_is_counted_outside_its_bags(name, trained, rows):
    X, y = rows
    forest = clone(FORESTS[name])
    vote = oob(FrozenEstimator(forest.fit(X, y)) if trained else forest).fit(X, y)
    counts = counts_by_hand(clone(forest).fit(X, y), X, y)  # the seed makes it the same forest
    for found, expected in zip(("sizes", "errors", "tandem"), counts, strict=True):
        np.testing.assert_array_equal(getattr(vote.statistics_, found), expected)
    by_hand = get_bound("lacasse", constant="exact").value(
        OutOfBagStatistics(len(y), *counts), vote.weights_
    )
    assert vote.certificate_.risk_bound == min(1.0, by_hand)
    vote.verify(X, y)


def test_a_forest_grown_in_steps_is_what_its_bags_give(rows):
    X, y = rows
    forest = RandomForestClassifier(N - 5, warm_start=True, random_state=0).fit(X, y)
    frozen(forest.set_params(n_estimators=N).fit(X, y), X, y).verify(X, y)


def test_rows_that_came_after_the_forest_are_outside_of_all_bags(rows):
    X, y = rows
    forest = RandomForestClassifier(N, random_state=0).fit(X[:800], y[:800])
    fewer, more = frozen(forest, X[:800], y[:800]), frozen(forest, X, y)
    np.testing.assert_array_equal(more.statistics_.sizes, fewer.statistics_.sizes + 100)


def test_trees_have_bags_of_the_size_that_was_asked_for(rows):
    X, y = rows
    for share in (0.1, 0.3):
        vote = oob(bag_size=share).fit(X, y)
        assert np.diagonal(vote.statistics_.sizes).tolist() == [len(y) - int(share * len(y))] * N
        provenance = vote.certificate_.provenance
        assert provenance["bag_size"] == share
        assert provenance["voter_samples"] == int(share * len(y))
        assert {tree.get_params()["max_features"] for tree in vote.voters_} == {"sqrt"}
    assert oob().fit(X, y).certificate_.provenance["bag_size"] == 0.3


def test_bags_leave_more_rows_outside_any_two_than_if_drawn_one_by_one(rows):
    X, y = rows
    even, drawn = oob(n_voters=60).fit(X, y), oob(BaggingClassifier(TREE, 60, **SUBSAMPLES))
    least = [vote.statistics_.sizes.min() for vote in (even, drawn.fit(X, y))]
    pairs = 0.7**2 * len(y)  # as many are outside two bags on average
    assert pairs - 9 < least[0] <= pairs + 9
    assert least[1] < pairs - 9


def test_the_vote_predicts_by_its_members_and_weights(rows):
    X, y = rows
    vote = oob().fit(X[:600], y[:600])
    shares = np.zeros((300, 3))
    for weight, tree in zip(vote.weights_, vote.voters_, strict=True):
        shares[np.arange(300), tree.predict(X[600:])] += weight
    assert (vote.predict(X[600:]) == np.array(["cat", "dog", "eel"])[shares.argmax(axis=1)]).all()


def test_a_seed_gives_the_same_vote(rows):
    X, y = rows
    one, same, other = (oob(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    digests = [vote.statistics_.sha256 for vote in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]
    drawn = oob(random_state=np.random.RandomState(5)).fit(X, y)
    again = oob(random_state=drawn.certificate_.provenance["seed"]).fit(X, y)
    assert again.statistics_.sha256 == drawn.statistics_.sha256
    drawn.verify(X, y)


def test_it_goes_all_the_way(rows, tmp_path):
    X, y = rows
    vote = frozen(FORESTS["forest"].fit(X[:700], y[:700]), X[:700], y[:700])
    certificate = vote.certificate_
    assert certificate.provenance == {
        "voters_from": "frozen, trained on bags of the certification examples",
        "voter_samples": max(len(np.unique(b)) for b in FORESTS["forest"].estimators_samples_),
        "statistics": "out of bag",
    }
    assert any("answer otherwise than the RandomForest" in text for text in certificate.findings)
    assert certificate.neighbours is None
    certificate.to_json(tmp_path / "certificate.json")
    again = Certificate.from_json(tmp_path / "certificate.json")
    loaded = pickle.loads(pickle.dumps(vote))
    loaded.verify(X[:700], y[:700], again)
    assert "The forest is the only one that was trained" in report(again)
    new = loaded.certify(X[700:], y[700:])
    assert new.provenance["voters_from"] == "a fitted vote, certified on new data"
    assert new.evidence["vote_errors"] == (vote.predict(X[700:]) != y[700:]).sum()
    loaded.verify(X[700:], y[700:], new)
    with pytest.raises(ValueError, match=r"100\.0% of these examples were in the data"):
        loaded.certify(X[:700], y[:700])
    smaller = vote.prune(float(np.median(vote.weights_)))
    assert 0 < (smaller.weights_ > 0).sum() < N
    smaller.verify(X[:700], y[:700])


def test_the_settings_of_later_change_nothing(rows):
    X, y = rows
    vote = oob().fit(X, y).set_params(certification="split", bag_size=0.7)
    vote.verify(X, y)
    split = MajorityVoteClassifier("trees", n_voters=5, bound="lacasse", random_state=0).fit(X, y)
    split.set_params(certification="oob").verify(X, y)


@pytest.mark.parametrize("name", ["cantelli", "sharp", "best"])
def test_other_bounds_and_priors(name, rows):
    X, y = rows
    prior = np.arange(1.0, N + 1) / np.arange(1.0, N + 1).sum()
    vote = oob(bound=name, prior=prior).fit(X, y)
    assert vote.certificate_.provenance["prior"] == "given by the user"
    vote.verify(X, y)


# --- kinds of data ---


def with_gaps(X):
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


KINDS = {
    "gaps": with_gaps,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcdefgh")),
    "frame with gaps and counts": lambda X: pd.DataFrame(with_gaps(X)).assign(n=3, b=X[:, 0] > 0),
    "sparse": lambda X: sparse.csr_array(np.where(X > 0, X, 0.0)),
}


@pytest.mark.filterwarnings("ignore:Feature names only support:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("voters", [None, RandomForestClassifier(N, random_state=0)])
def test_forms_of_data(kind, voters, rows):
    X, y = KINDS[kind](rows[0]), rows[1]
    if hasattr(X, "columns"):
        X.columns = [str(name) for name in X.columns]
    vote = oob(voters).fit(X, y)
    vote.verify(X, y)
    if voters is not None:
        again = frozen(clone(voters).fit(X, y), X, y)
        assert again.statistics_.sha256 == vote.statistics_.sha256


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": np.arange(60.0), "town": ["Ulm", "Bonn"] * 30}),
        pd.DataFrame({"a": np.arange(60.0), "code": pd.Categorical([1, 2] * 30)}),
        pd.DataFrame({"day": pd.date_range("2020-01-01", periods=60)}),
        [f"a text of {i} words" for i in range(60)],
    ],
)
def test_what_becomes_features_by_looking_at_all_rows_is_refused(X):
    with pytest.raises(ValueError, match="takes numbers only: names, dates and texts"):
        oob().fit(X, [0, 1] * 30)


def test_copied_rows_are_found(rows):
    X, y = rows
    with pytest.warns(UserWarning, match="67% of the rows have a twin: voters are tested"):
        vote = oob().fit(np.repeat(X[:300], [1, 2] * 150, axis=0), np.repeat(y[:300], [1, 2] * 150))
    assert any("have a twin" in text for text in vote.certificate_.findings)
    assert oob().fit(X, y).certificate_.checks["duplicates"] == "All 900 rows are different."


# --- false certificates ---


def weighted(X, y):
    return RandomForestClassifier(N, random_state=0).fit(X, y, np.where(y == "cat", 3.0, 1.0))


def on_other_rows(X, y):
    return RandomForestClassifier(N, random_state=0).fit(X[::-1], y[::-1])


def grown_on_others(X, y):
    forest = RandomForestClassifier(4, warm_start=True, random_state=0).fit(X[:, ::-1], y)
    return forest.set_params(n_estimators=N).fit(X, y)


def with_one_tree_of_all_rows(X, y):
    forest = RandomForestClassifier(N, random_state=0).fit(X, y)
    codes = np.searchsorted(forest.classes_, y)
    forest.estimators_[7] = clone(forest.estimators_[7]).fit(X.astype(np.float32), codes)
    return forest


def with_other_answers(X, y):
    """The tree of the bag in all but a leaf: it has looked at a label outside."""
    forest = RandomForestClassifier(N, random_state=0).fit(X, y)
    values = forest.estimators_[3].tree_.value
    leaf = np.flatnonzero(forest.estimators_[3].tree_.children_left < 0)[0]
    values[leaf, 0] = values[leaf, 0, ::-1] if values[leaf, 0, 1] == 0 else np.roll(values[leaf], 1)
    return forest


def with_scaled_rows(X, y):
    return RandomForestClassifier(N, random_state=0).fit(StandardScaler().fit_transform(X), y)


def with_more_rows(X, y):
    return RandomForestClassifier(N, random_state=0).fit(
        np.vstack([X, X + 0.1]), np.concatenate([y, y])
    )


def with_other_labels(X, y):
    return RandomForestClassifier(N, random_state=0).fit(X, np.where(y == "eel", "dog", y))


def with_weighted_bags(X, y):
    bags = BaggingClassifier(n_estimators=N, max_samples=0.3, random_state=0)
    return bags.fit(X, y, sample_weight=np.where(y == "cat", 3.0, 1.0))


SEEN = {
    "sample weights": weighted,
    "weighted bags": with_weighted_bags,
    "another order": on_other_rows,
    "grown on other columns": grown_on_others,
    "a tree of all rows": with_one_tree_of_all_rows,
    "another answer": with_other_answers,
    "scaled": with_scaled_rows,
    "more rows": with_more_rows,
    "other labels": with_other_labels,
}


@pytest.mark.parametrize("how", SEEN)
def test_a_forest_that_is_not_what_its_bags_give_is_refused(how, rows):
    X, y = rows
    words = "is not what its bag of these rows gives|was trained with sample weights"
    with pytest.raises(ValueError, match=words):
        frozen(SEEN[how](X, y), X, y)


class Stratified(RandomForestClassifier):
    """As other libraries balance bags: this one could."""


FITTED_BEFORE = {
    "no bootstrap": (RandomForestClassifier(3, bootstrap=False), "shows all rows to each"),
    "extra trees": (ExtraTreesClassifier(3), "shows all rows to each: train it with bootstrap=T"),
    "whole bags": (BaggingClassifier(bootstrap=False, max_samples=1.0), "or max_samples below 1"),
    "balanced": (RandomForestClassifier(3, class_weight="balanced"), "class_weight must be None"),
    "weights": (RandomForestClassifier(3, class_weight={"cat": 2}), "by the labels of all rows"),
    "balanced trees": (
        BaggingClassifier(DecisionTreeClassifier(class_weight="balanced")),
        "class_weight must be None for",
    ),
    "subclass": (Stratified(3), "got Stratified: a class of one's own may draw other bags"),
    "pipeline": (make_pipeline(StandardScaler(), RandomForestClassifier(3)), "got Pipeline: a pip"),
    "search": (
        GridSearchCV(RandomForestClassifier(3), {"max_depth": [2]}, cv=2),
        "got GridSearchCV: what searches, or calibrates, looks at all rows",
    ),
    "boosting": (GradientBoostingClassifier(n_estimators=3), "do not say which rows each member"),
    "one tree": (DecisionTreeClassifier(), "got DecisionTreeClassifier: others do not say"),
    "other members": (
        BaggingClassifier(LogisticRegression(), n_estimators=3),
        "bagging of trees only, got LogisticRegression",
    ),
}


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("name", FITTED_BEFORE)
def test_voters_without_bags_are_refused_with_the_reason(name, trained, rows):
    X, y = rows[0][:90], rows[1][:90]
    model, words = FITTED_BEFORE[name]
    model = clone(model)
    with pytest.raises(ValueError, match=re.escape(words)):
        oob(FrozenEstimator(model.fit(X, y)) if trained else model).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "given", "words"),
    [
        ({"voters": "stumps"}, {}, "got 'stumps': others do not say"),
        ({"voters": [DecisionTreeClassifier()]}, {}, "a list of classifiers has no bags"),
        ({"voters": PredictionTable()}, {}, "got PredictionTable"),
        ({}, {"groups": np.arange(90) // 2}, "groups cannot go with certification='oob': rows"),
        ({}, {"time": np.arange(90)}, "time cannot go with"),
        ({}, {"by": {"town": ["Ulm"] * 90}}, "by cannot go with"),
        ({}, {"unlabelled": np.zeros((4, 8))}, "unlabelled cannot go with"),
        ({"claims": ["recall"]}, {}, "claims cannot go with"),
        ({"shares": {"error": 1.0}}, {}, "shares cannot go with"),
        ({"abstain": 0.1}, {}, "abstain cannot go with"),
        ({"anytime": True}, {}, "anytime cannot go with certification='oob': more rows"),
        ({"prior": "learned"}, {}, "prior='learned' needs rows that no voter is tested on"),
        ({"bound": "heldout"}, {}, "the bound 'heldout' cannot go with .* needs fixed votes"),
        ({"bound": "dirichlet"}, {}, "needs rows, and on no row all voters are asked. These can"),
        ({"bound": "occam"}, {}, "the bound 'occam' cannot go with"),
        ({"bag_size": 0.0}, {}, "bag_size"),
        ({"bag_size": 1.0}, {}, "bag_size"),
        ({"bag_size": "half"}, {}, "bag_size"),
        ({"bag_size": 0.9, "n_voters": 60}, {}, "no example is outside the bags of voters"),
        ({"n_voters": 0}, {}, "n_voters"),
        ({"certification": "bags"}, {}, "certification must be one of 'split', 'oob'"),
    ],
)
def test_what_cannot_go_with_bags_is_refused_by_name(settings, given, words, rows):
    X, y = rows[0][:90], rows[1][:90]
    vote = oob(**settings)
    with pytest.raises(ValueError, match=words):
        vote.fit(X, y, **given)
    assert not hasattr(vote, "certificate_")


def test_rows_cannot_be_added(rows):
    X, y = rows
    for vote in (oob(), oob().fit(X[:400], y[:400]).set_params(certification="split")):
        with pytest.raises(ValueError, match="partial_fit cannot go with certification='oob'"):
            vote.partial_fit(X[400:], y[400:])


# --- forged certificates ---


def test_other_rows_and_other_voters_do_not_verify(rows):
    X, y = rows
    vote = oob().fit(X, y)
    for other in ((X[::-1], y[::-1]), (X, np.roll(y, 1)), (X[:500], y[:500]), (X + 0.1, y)):
        with pytest.raises(CertificateError, match="is not what its bag of these rows gives"):
            vote.verify(*other)
    with pytest.raises(ValueError, match="groups must not be given"):
        vote.verify(X, y, groups=np.arange(len(y)))
    values = vote.voters_[2].tree_.value
    values[:] = values[..., ::-1]
    with pytest.raises(CertificateError, match="member 2 of this BaggedTrees is not what"):
        vote.verify(X, y)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"statistics": None}, "must not have statistics='votes' where voters_from|n_samples"),
        ({"voters_from": "part A of a random split"}, "statistics='out of bag' where|bag_size"),
        ({"voters_from": "frozen, trained elsewhere"}, "where voters_from is 'frozen, trained el"),
        ({"certify_size": 0.5}, "must not have certify_size"),
        ({"look": 1}, "must not have look"),
        ({"prior": "learned on part A"}, "must not have prior"),
        ({"bag_size": 3.0}, "bag_size"),
    ],
)
def test_a_forged_provenance_is_refused(changes, words, rows):
    vote = oob().fit(*rows)
    provenance = {**vote.certificate_.provenance, **changes}
    provenance = {name: value for name, value in provenance.items() if value is not None}
    with pytest.raises(CertificateError, match=words):
        replace(vote.certificate_, provenance=provenance)


def test_a_certificate_of_another_fit_is_refused(rows):
    X, y = rows
    vote, other = oob().fit(X, y), oob(bag_size=0.2).fit(X, y)
    with pytest.raises(CertificateError, match="the weights of the certificate are not those"):
        vote.verify(X, y, other.certificate_)
    fields = json.loads(vote.certificate_.to_json())
    fields["provenance"]["bag_size"] = 0.1
    with pytest.raises(CertificateError, match=r"bag_size is claimed to be 0\.1, but is 0\.3"):
        vote.verify(X, y, Certificate.from_dict(fields))


def test_members_of_an_earlier_fit_have_no_bags():
    """scikit-learn remembers the bags of the last fit only: others would be tested on theirs."""
    rng = np.random.RandomState(0)
    X = np.hstack([rng.randint(0, 2, (800, 2)), rng.randn(800, 2)])
    y = (rng.rand(800) < 0.4).astype(int)
    bagging = BaggingClassifier(max_features=1, warm_start=True, random_state=0)
    for size in (1, 2, 3, 30):
        bagging.set_params(n_estimators=size).fit(X, y)
    assert len(bagging.estimators_samples_) < len(bagging.estimators_)
    vote = MajorityVoteClassifier(FrozenEstimator(bagging), bound="lacasse", certification="oob")
    with pytest.raises(ValueError, match="remembers 27 bags, but has 30 members"):
        vote.fit(X, y)
    # And where they are certified as frozen ones, that they know these rows is found all the same.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the vote differs from the bagging, too
        frozen = MajorityVoteClassifier(FrozenEstimator(bagging), random_state=0).fit(X, y)
    found = frozen.certificate_.findings
    assert any("trained on these very examples" in text for text in found)


class Peeking(DecisionTreeClassifier):
    """A tree that may answer by what it likes."""


@pytest.mark.parametrize(
    ("model", "later", "words"),
    [
        (BaggingClassifier(Peeking(), random_state=0), {"estimator": None}, "got Peeking as"),
        (
            BaggingClassifier(LogisticRegression(), random_state=0),
            {"estimator": None},
            "got LogisticRegression as member 0",
        ),
        (
            RandomForestClassifier(5, bootstrap=False, random_state=0),
            {"bootstrap": True},
            # Older versions of scikit-learn make bags up that nothing was trained on.
            "does not know which rows|is not what its bag of these rows gives",
        ),
    ],
)
def test_what_was_trained_counts_and_not_what_the_settings_say(model, later, words):
    rng = np.random.RandomState(0)
    X, y = rng.randn(300, 3), rng.randint(0, 2, 300)
    model.fit(X, y).set_params(**later)
    vote = MajorityVoteClassifier(FrozenEstimator(model), bound="lacasse", certification="oob")
    with pytest.raises(ValueError, match=words):
        vote.fit(X, y)
