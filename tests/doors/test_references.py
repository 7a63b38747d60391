"""What is counted stays counted: no array that is given or kept changes a certificate later."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    CBBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
    UnlabelledStatistics,
    VoteStatistics,
    certify,
)
from certivote.bounds import HeldoutBound

N = 5


def small(**settings):
    return MajorityVoteClassifier(
        **{"voters": "trees", "n_voters": N, "random_state": 0, **settings}
    )


def changed(array):
    """Change an array in place: the weight of its first voter goes to the last."""
    array[..., -1] += array[..., 0]
    array[..., 0] = 0.0


@pytest.fixture
def prior():
    return np.array([0.3, 0.3, 0.2, 0.1, 0.1])


# --- what was given to an estimator ---


@pytest.mark.parametrize("bound", ["lacasse", "heldout"])
def test_a_prior_changed_after_fit_changes_nothing(bound, prior, data):
    X, y, X_new, y_new = data
    vote = small(prior=prior, bound=bound).fit(X, y)
    other = small(prior=prior.copy(), bound=bound).fit(X, y)
    before = prior.copy()
    changed(prior)
    vote.verify(X, y)
    assert vote.certificate_.prior.tolist() == before.tolist()
    vote.partial_fit(X_new, y_new)
    other.partial_fit(X_new, y_new)
    assert vote.certificate_.prior.tolist() == before.tolist()
    assert vote.certificate_ == other.certificate_


def test_a_prior_of_frozen_voters_changed_after_fit(prior, data):
    X, y, X_new, y_new = data
    voters = [
        FrozenEstimator(DecisionTreeClassifier(max_depth=2, random_state=j).fit(X[j::N], y[j::N]))
        for j in range(N)
    ]
    vote = MajorityVoteClassifier(voters=voters, prior=prior, bound="heldout").fit(X_new, y_new)
    changed(prior)
    vote.verify(X_new, y_new)


def test_a_prior_of_mincq_changed_after_fit(prior, data):
    X, y, *_ = data
    vote = MinCqClassifier(mu=1e-3, prior=prior, n_voters=N, random_state=0).fit(X, y)
    changed(prior)
    vote.verify(X, y)


def test_fixed_votes_changed_after_fit_change_nothing(data):
    X, y, X_new, y_new = data
    fixed_votes = np.vstack([np.full(N, 1 / N), np.eye(N)])
    vote = small(bound=HeldoutBound(fixed_votes=fixed_votes)).fit(X, y)
    other = small(bound=HeldoutBound(fixed_votes=fixed_votes.copy())).fit(X, y)
    claimed = vote.certificate_.to_dict()
    changed(fixed_votes)
    assert vote.certificate_.to_dict() == claimed
    vote.certificate_.verify()
    vote.verify(X, y)
    vote.partial_fit(X_new, y_new)
    assert vote.certificate_ == other.partial_fit(X_new, y_new).certificate_


def test_arrays_given_to_certify_changed_later(prior):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    votes = np.where(rng.random((300, N)) < 0.3, 1 - y[:, None], y[:, None])
    weights, fixed_votes = prior.copy(), prior[None, :].copy()
    bound = HeldoutBound(fixed_votes=fixed_votes)
    certificate = certify(votes, y, weights=weights, prior=prior, bound=bound)
    claimed = certificate.to_dict()
    for array in (weights, prior, fixed_votes):
        changed(array)
    assert certificate.to_dict() == claimed
    certificate.verify(votes, y)


# --- what was given to statistics ---


def count(keep_rows=True):
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=50)
    votes = np.where(rng.random((50, N)) < 0.3, 1 - y[:, None], y[:, None])
    unlabelled = UnlabelledStatistics.from_votes(rng.integers(2, size=(60, N)))
    fixed_votes = [np.full(N, 1 / N)]
    statistics = VoteStatistics.from_votes(votes, y, keep_rows=keep_rows, fixed_votes=fixed_votes)
    return statistics.with_unlabelled(unlabelled)


def test_rows_given_to_the_constructor_changed_later():
    losses = np.random.default_rng(2).random((40, 16)) < 0.4
    rows = np.packbits(losses, axis=1)
    errors, tandem = losses.sum(axis=0), losses.T.astype(int) @ losses
    weights = np.full(16, 1 / 16)
    for table in (tandem, None):
        statistics = VoteStatistics(40, errors, table, rows.copy())
        given = rows.copy()
        aliased = VoteStatistics(40, errors, table, given)
        given[:] = 0
        assert aliased.rows.tolist() == rows.tolist()
        assert aliased.vote_errors(weights) == statistics.vote_errors(weights)
        assert aliased.tandem.tolist() == tandem.tolist()
        assert aliased.sha256 == statistics.sha256


def test_fixed_votes_changed_later():
    votes, y = [["a", "b", "b"], ["b", "b", "a"]] * 20, ["a", "b"] * 20
    for make in (np.array, lambda rows: [np.array(row) for row in rows]):
        fixed_votes = make([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
        statistics = VoteStatistics.from_votes(votes, y, fixed_votes=fixed_votes)
        errors = statistics.vote_errors([0.6, 0.2, 0.2])
        fixed_votes[0][:], fixed_votes[1][:] = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
        assert statistics.fixed_votes.weights.tolist() == [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]
        assert statistics.vote_errors([0.6, 0.2, 0.2]) == errors


def loaded(statistics, folder):
    statistics.save(folder / "statistics.npz")
    return VoteStatistics.load(folder / "statistics.npz")


ARRAYS = {
    "errors": lambda s: s.errors,
    "tandem": lambda s: s.tandem,
    "rows": lambda s: s.rows,
    "fixed_votes.weights": lambda s: s.fixed_votes.weights,
    "fixed_votes.errors": lambda s: s.fixed_votes.errors,
    "unlabelled.disagreements": lambda s: s.unlabelled.disagreements,
}
ORIGINS = {
    "counted": lambda folder: count(),
    "merged": lambda folder: count() + count(),
    "loaded": lambda folder: loaded(count(), folder),
    "pickled": lambda folder: pickle.loads(pickle.dumps(count())),  # as from a cluster
    "copied": lambda folder: copy.deepcopy(count()),
}


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_statistics_are_read_only(name, origin, tmp_path, told):
    with told():  # the same examples are merged
        statistics = ORIGINS[origin](tmp_path)
    array = ARRAYS[name](statistics)
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_the_bits_of_many_voters_are_read_only():
    """Where they stand for the table of pairs, and where they are kept beside it."""
    losses = np.random.default_rng(3).random((20, 4100)) < 0.3
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    for array in (statistics.rows, statistics.errors):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


# --- what an estimator and a certificate give away ---


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, CBBoostClassifier])
def test_weights_and_priors_are_read_only(kind, data):
    X, y, X_new, y_new = data
    vote = kind(n_voters=N, random_state=0).fit(X, y)
    certificates = vote.certificate_, vote.certify(X_new, y_new)
    again = pickle.loads(pickle.dumps(vote))
    arrays = [again.weights_, again.certificate_.weights, again.statistics_.errors]
    arrays += [vote.weights_, vote.statistics_.errors, vote.statistics_.tandem]
    for array in arrays + [a for c in certificates for a in (c.weights, c.prior)]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


def test_weights_of_a_smaller_vote_are_read_only(data):
    X, y, *_ = data
    pruned = small(bound="lacasse").fit(X, y).prune(0.01)
    for array in (pruned.weights_, pruned.certificate_.weights, pruned.certificate_.prior):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


# --- indexes that pandas would align ---


def series(y, index):
    return pd.Series(y, index=index)


INDEXES = {
    "another order": lambda m: np.arange(m)[::-1],
    "shifted": lambda m: np.arange(m) + 1,
    "texts": lambda m: np.arange(m).astype(str),
    "repeated": lambda m: np.zeros(m, dtype=int),
}


def table_doors():
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=80)
    votes = pd.DataFrame(np.where(rng.random((80, 3)) < 0.2, 1 - y[:, None], y[:, None]))
    return {
        "certify": lambda index: certify(votes, series(y, index)),
        "certify of one classifier": lambda index: certify(votes[0], series(y, index)),
        "from_votes": lambda index: VoteStatistics.from_votes(votes, series(y, index)),
        "count": lambda index: HeldoutBound().count(votes, series(y, index)),
    }


def vote_doors(data):
    X, y, X_new, y_new = data
    X, X_new = pd.DataFrame(X), pd.DataFrame(X_new)
    return {
        "fit": lambda index: small().fit(X, series(y, index)),
        "first partial_fit": lambda index: small().partial_fit(X, series(y, index)),
        "partial_fit": lambda index: small().fit(X, y).partial_fit(X_new, series(y_new, index)),
        "certify": lambda index: small().fit(X, y).certify(X_new, series(y_new, index)),
        "verify": lambda index: small().fit(X, y).verify(X, series(y, index)),
        "fit of CBBoost": lambda index: CBBoostClassifier(n_voters=3, random_state=0).fit(
            X, series(y, index)
        ),
    }


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("door", table_doors())
def test_votes_and_labels_of_different_indexes_are_refused(door, index):
    with pytest.raises(ValueError, match="index"):
        table_doors()[door](INDEXES[index](80))


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("door", vote_doors([np.zeros((3, 1)), np.zeros(3)] * 2))
def test_data_and_labels_of_different_indexes_are_refused(door, index, data):
    with pytest.raises(ValueError, match="index"):
        vote_doors(data)[door](INDEXES[index](300))


def test_equal_indexes_and_plain_arrays_are_accepted(data):
    X, y, X_new, y_new = data
    for index in (np.arange(300), np.arange(300)[::-1], np.arange(300).astype(str)):
        frame, labels = pd.DataFrame(X, index=index), series(y, index)
        new, new_labels = pd.DataFrame(X_new, index=index), series(y_new, index)
        claimed = small().fit(X, y).certificate_
        for pair in ((frame, labels), (frame, y), (X, labels), (frame, y.tolist())):
            vote = small().fit(*pair)
            assert vote.certificate_ == claimed
            vote.verify(*pair)
        vote = small().fit(frame, labels)
        assert vote.certify(new, new_labels).n_samples == 300
        assert vote.partial_fit(new, new_labels).certificate_.n_samples == 450
    votes = np.stack([y, y, 1 - y], axis=1)
    claimed = certify(votes, y, bound="lacasse").evidence
    frame, labels = pd.DataFrame(votes, index=index), series(y, index)
    for pair in ((frame, labels), (frame, y), (votes, labels)):
        assert certify(*pair, bound="lacasse").evidence == claimed
        assert VoteStatistics.from_votes(*pair) == VoteStatistics.from_votes(votes, y)
