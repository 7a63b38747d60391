"""Labels that the sample does not hold have their say: what is counted is what is predicted."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.frozen import FrozenEstimator

from certivote import (
    CBBoostClassifier,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
    VoteStatistics,
    certify,
)
from certivote.bounds import HeldoutBound, get_bound
from certivote.distributed import from_dask
from certivote.voters import PredictionTable

# --- many labels, of which a sample holds a part ---


class Zipf:
    """Voters on many labels, each right with probability 1 − `noise`, else at a random label."""

    def __init__(self, n_labels, power, n_voters=5, noise=0.0):
        self.n_labels, self.n_voters, self.noise = n_labels, n_voters, noise
        self.frequencies = np.arange(1, n_labels + 1.0) ** -power
        self.frequencies /= self.frequencies.sum()

    def draw(self, m, rng):
        """The numbers of the votes and of the true labels."""
        y = rng.choice(self.n_labels, size=m, p=self.frequencies)
        votes = np.repeat(y[:, None], self.n_voters, axis=1)
        wrong = rng.random(votes.shape) < self.noise
        votes[wrong] = rng.integers(self.n_labels, size=np.count_nonzero(wrong))
        return votes, y


WORLDS = {
    "400 labels by Zipf's law": (Zipf(400, 1.0), 800),
    "1,000 labels": (Zipf(1000, 0.0), 200),
    "400 labels, and voters that err": (Zipf(400, 1.0, noise=0.3), 800),
    "two voters that always tie": (Zipf(400, 1.0, n_voters=2, noise=0.5), 800),
}
NAMES = np.array([f"label {number:04d}" for number in np.random.default_rng(0).permutation(1000)])


@pytest.fixture
def fit(reader, readable, told):
    """Fit a vote on m examples of a world; return it, and what makes data of more votes."""

    def make(kind, world, m, rng, **settings):
        codes, y = world.draw(m, rng)
        as_data, voters = NAMES.__getitem__, PredictionTable()
        if kind == "frozen":
            as_data = partial(readable, rng=rng)
            voters = [FrozenEstimator(reader(j, NAMES)) for j in range(world.n_voters)]
        vote, X = MajorityVoteClassifier(voters=voters, **settings), as_data(codes)
        with told() as texts:
            vote.fit(X, NAMES[y])
        # scikit-learn finds so many labels strange.
        assert all("number of unique classes" in text for text in texts)
        return vote, as_data, X, NAMES[y]

    return make


KINDS = ("table", "frozen")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("kind", KINDS)
def test_predict_is_the_plurality_of_the_labels_named(kind, world, fit, plurality):
    (world, m), rng = WORLDS[world], np.random.default_rng(1)
    prior = rng.dirichlet(np.ones(world.n_voters))
    for settings in ({"bound": "heldout"}, {"bound": "best"}, {"bound": "heldout", "prior": prior}):
        vote, as_data, *_ = fit(kind, world, m, rng, **settings)
        votes, _ = world.draw(2000, rng)
        predicted = vote.predict(as_data(votes))
        assert not set(predicted.tolist()) <= set(vote.classes_.tolist())
        assert predicted.tolist() == plurality(NAMES[votes], vote.weights_)


def test_trained_voters_without_classes_name_any_label(reader, readable, plurality, errors_of):
    """The sample holds labels 0 to 19 only; the voters name all 40."""
    rng, names = np.random.default_rng(2), NAMES[:40]
    codes = rng.integers(20, size=(600, 3))
    voters = [reader(j, names) for j in range(3)]
    vote = MajorityVoteClassifier(voters=voters, bound="heldout", random_state=0)
    vote.fit(readable(codes, rng), names[codes[:, 0]])
    assert set(vote.classes_) == set(names[:20])
    fresh = rng.integers(40, size=(2000, 3))
    X, y = readable(fresh, rng), names[fresh[:, 0] % 20]
    expected = plurality(names[fresh], vote.weights_)
    assert vote.predict(X).tolist() == expected
    assert vote.certify(X, y).evidence["vote_errors"] == errors_of(expected, y)
    before = vote.certificate_.evidence["vote_errors"]
    vote.partial_fit(X, y)
    assert vote.certificate_.evidence["vote_errors"] == before + errors_of(expected, y)


@pytest.mark.parametrize(
    ("kind", "world", "bound"),
    [(kind, world, "heldout") for kind in KINDS for world in WORLDS]
    + [("table", world, "best") for world in list(WORLDS)[:2]],
)
def test_claims_hold_on_fresh_draws(kind, world, bound, fit, errors_of):
    (world, m), fresh, failures, seeds = WORLDS[world], 8000, 0, 4
    for seed in range(seeds):
        rng = np.random.default_rng(100 + seed)
        vote, as_data, *_ = fit(kind, world, m, rng, bound=bound)
        votes, y = world.draw(fresh, rng)
        wrong = errors_of(vote.predict(as_data(votes)), NAMES[y])
        # So many errors would be one in a million, if the claim were true.
        failures += binom.sf(wrong - 1, fresh, vote.certificate_.risk_bound) < 1e-6
    # A claim may fail once in twenty; three of four are one in two thousand.
    assert failures <= 2


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_counted_are_those_of_predict(kind, world, fit, errors_of):
    (world, m), rng = WORLDS[world], np.random.default_rng(3)
    prior = rng.dirichlet(np.ones(world.n_voters))
    vote, _, X, y = fit(kind, world, m, rng, bound="heldout", prior=prior)
    assert vote.certificate_.evidence["vote_errors"] == errors_of(vote.predict(X), y)


def test_errors_on_more_data_are_those_of_predict(fit, plurality, errors_of):
    """`certify` and `partial_fit` of a vote whose voters name labels that it has never seen."""
    (world, m), rng = WORLDS["400 labels, and voters that err"], np.random.default_rng(4)
    vote, as_data, *_ = fit("frozen", world, m, rng, bound="heldout")
    votes, y = world.draw(900, rng)
    # All labels in y are known, or some would be told of; the voters name any.
    keep = np.isin(NAMES[y], vote.classes_)
    votes, y = votes[keep], y[keep]
    X, before = as_data(votes), vote.certificate_.evidence["vote_errors"]
    wrong = errors_of(plurality(NAMES[votes], vote.weights_), NAMES[y])
    assert errors_of(vote.predict(X), NAMES[y]) == wrong
    assert vote.certify(X, NAMES[y]).evidence["vote_errors"] == wrong
    vote.partial_fit(X, NAMES[y])
    assert vote.certificate_.evidence["vote_errors"] == before + wrong


# --- shares ---


def test_shares_of_other_labels_are_what_is_missing_to_one():
    table = np.array([["a", "b", "b", "b"]] * 30 + [["a", "a", "a", "b"]] * 30)
    prior = [0.1, 0.2, 0.3, 0.4]
    vote = MajorityVoteClassifier(voters=PredictionTable(), bound="heldout", prior=prior)
    vote.fit(table, ["b"] * 30 + ["a"] * 30)
    new = [["a", "b", "z", "z"], ["z", "z", "z", "z"], ["z", "z", "a", "b"], ["a", "b", "a", "b"]]
    assert vote.classes_.tolist() == ["a", "b"]
    assert vote.predict(new).tolist() == ["z", "z", "b", "b"]
    expected = [[0.1, 0.2], [0.0, 0.0], [0.3, 0.4], [0.4, 0.6]]
    assert vote.predict_proba(new) == pytest.approx(np.array(expected), abs=1e-15)


def test_shares_without_other_labels_sum_to_one(data):
    X, y, X_new, _ = data
    vote = MajorityVoteClassifier("trees", n_voters=7, bound="lacasse", random_state=0).fit(X, y)
    assert vote.predict_proba(X_new).sum(axis=1) == pytest.approx(np.ones(300), abs=1e-14)


def test_other_labels_take_part_in_ties_in_sorted_order():
    table = [["b", "c"], ["c", "b"], ["b", "b"], ["c", "c"]] * 20
    vote = MajorityVoteClassifier(voters=PredictionTable(), bound="heldout")
    vote.fit(table, ["b", "c", "b", "c"] * 20)
    new = [["a", "b"], ["c", "a"], ["d", "c"], ["bb", "c"], ["a long label", "b"], ["d", "e"]]
    assert vote.predict(new).tolist() == ["a", "a", "c", "bb", "a long label", "d"]


def test_wide_and_large_labels_come_back_whole():
    """A label outside the classes is not cut to their width, nor rounded."""
    vote = MajorityVoteClassifier(voters=PredictionTable(), bound="heldout")
    vote.fit([["a", "a"], ["b", "b"]] * 20, ["a", "b"] * 20)
    assert vote.predict([["much longer", "much longer"]]).tolist() == ["much longer"]
    for dtype, large in ((np.int64, 2**62 + 1), (np.uint64, 2**64 - 1)):
        table = np.array([[1, 1], [2, 2]] * 20, dtype=dtype)
        vote.fit(table, table[:, 0])
        assert vote.predict(np.array([[large, large]], dtype=dtype)).tolist() == [large]


# --- tables of votes, chunks, and Dask ---


def test_there_are_no_classes_to_choose():
    votes, y = [["a", "b"], ["b", "b"]], ["a", "b"]
    with pytest.raises(TypeError, match="classes"):
        VoteStatistics.from_votes(votes, y, fixed_votes=[[0.5, 0.5]], classes=["a", "b"])
    with pytest.raises(TypeError, match="classes"):
        get_bound("heldout").count(votes, y, None, classes=["a", "b"])
    statistics = VoteStatistics.from_votes(votes, y, False, fixed_votes=[[0.5, 0.5]])
    assert statistics.vote_errors([0.5, 0.5]) == get_bound("heldout").count(votes, y).vote_errors(
        [0.5, 0.5]
    )


@pytest.mark.parametrize("world", WORLDS)
def test_tables_and_chunks_count_the_errors_of_the_plurality(world, plurality, errors_of):
    (world, m), rng = WORLDS[world], np.random.default_rng(5)
    prior = rng.dirichlet(np.ones(world.n_voters))
    codes, y = world.draw(m, rng)
    votes, y = NAMES[codes], NAMES[y]
    wrong = errors_of(plurality(votes, prior), y)
    certificate = certify(votes, y, bound="heldout", prior=prior)
    assert certificate.evidence["vote_errors"] == wrong
    bound = HeldoutBound()
    for size in (3, 100):
        parts = [
            bound.count(votes[start : start + size], y[start : start + size], prior)
            for start in range(0, m, size)
        ]
        assert sum(parts[1:], parts[0]).vote_errors(prior) == wrong


def test_dask_counts_the_errors_of_predict(fit, plurality, errors_of):
    """The partitions hold labels that the vote has never met."""
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    (world, _), rng = WORLDS["400 labels, and voters that err"], np.random.default_rng(6)
    vote, *_ = fit("table", world, 400, rng, bound="heldout")
    codes, y = world.draw(900, rng)
    # Rows of few labels come again: those of the fit would be refused, as certify does.
    new = np.array([vote.known_share(row[None]) == 0.0 for row in NAMES[codes]])
    keep = np.isin(NAMES[y], vote.classes_) & new
    votes, y = NAMES[codes[keep]], NAMES[y[keep]]
    wrong = errors_of(plurality(votes, vote.weights_), y)
    assert errors_of(vote.predict(votes), y) == wrong
    data, labels = da.from_array(votes, chunks=(130, 5)), da.from_array(y, chunks=130)
    with distributed.Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        for voters in (vote, None):
            statistics = from_dask(
                data, labels, voters=voters, fixed_votes=[vote.weights_], client=client
            )
            assert statistics.vote_errors(vote.weights_) == wrong


# --- complements ---


@pytest.mark.parametrize("kind", [CBBoostClassifier, MinCqClassifier, CqBoostClassifier])
def test_complements_name_the_other_class_and_strange_labels(kind, plurality, errors_of):
    rng = np.random.default_rng(7)
    settings = {} if kind is CBBoostClassifier else {"mu": 0.1}
    y = rng.choice(["a", "b"], size=400)
    right = rng.random((400, 5)) < [0.9, 0.8, 0.7, 0.6, 0.2]
    table = np.where(right, y[:, None], np.where(y == "a", "b", "a")[:, None])
    vote = kind(voters=PredictionTable(), **settings).fit(table, y)
    new = rng.choice(["a", "b", "c", "0"], size=(500, 5))
    other = {"a": "b", "b": "a"}
    complements = np.array([[other.get(label, label) for label in row] for row in new.tolist()])
    expected = plurality(np.hstack([new, complements]), vote.weights_)
    assert {"a", "b", "c", "0"} == set(expected)
    assert vote.predict(new).tolist() == expected
    truth = rng.choice(["a", "b"], size=500)
    certificate = vote.certify(new, truth, bound="heldout")
    assert certificate.evidence["vote_errors"] == errors_of(expected, truth)
