"""Whatever the labels and the voters, from data to claim: what is counted is what is predicted.

One world is drawn at a time: labels of some type, of which the sample holds a part; voters that
name any of them, alike often enough to tie; and weights that are equal, given or learned. In each,
the errors that a certificate counts are those of `predict` on the same rows, `predict` is the
plurality counted by hand, and where it errs the voters that err weigh at least one half.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from certivote import MajorityVoteClassifier, VoteStatistics, certify
from certivote.bounds import HeldoutBound
from certivote.voters import PredictionTable

LABELS = {
    "int8": lambda numbers: (numbers - 20).astype(np.int8),
    "int64": lambda numbers: numbers * 10**15 - 7,
    "uint64": lambda numbers: np.uint64(2**63) + numbers.astype(np.uint64),
    "float": lambda numbers: numbers - 3.0,
    "bool": lambda numbers: numbers[:2] == numbers[0],
    "str": lambda numbers: np.array([f"{'ab' * (j % 4)}{j}" for j in numbers]),
    "bytes": lambda numbers: np.array([f"{'ab' * (j % 4)}{j}".encode() for j in numbers]),
    "object": lambda numbers: np.array([f"label {j}" for j in numbers], dtype=object),
    "datetime64": lambda numbers: numbers.astype("datetime64[D]"),
}
# scikit-learn takes no bytes for labels, and its trees no dates.
NOT_FITTED = {"bytes"}
NOT_GROWN = {"bytes", "datetime64"}
VOTERS = ("table", "frozen", "frozen with classes", "trained", "trees")
WEIGHTS = ("uniform", "given", "learned")
# So far from ½ may rounding, and the width of a tie, bring the weight of those that err.
TIE = 1e-12


@dataclass(frozen=True)
class World:
    """How labels, voters and weights are made."""

    labels: str
    voters: str
    weights: str
    n_labels: int
    n_voters: int
    m: int
    step: int
    noise: float
    seed: int


worlds = st.builds(
    World,
    labels=st.sampled_from(sorted(LABELS)),
    voters=st.sampled_from(VOTERS),
    weights=st.sampled_from(WEIGHTS),
    n_labels=st.integers(2, 40),
    n_voters=st.integers(1, 8),
    m=st.integers(12, 60),
    step=st.integers(1, 30),
    noise=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    seed=st.integers(0, 2**31 - 1),
)


def property_of(test):
    """Run a test on worlds that are the same each time."""
    check = settings(
        max_examples=120,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],  # a world that fails is small as it is
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    return check(given(world=worlds)(test))


@dataclass(frozen=True, eq=False)
class Sample:
    """Votes as numbers, the true labels, and the rows that a vote is shown."""

    votes: np.ndarray
    y: np.ndarray
    X: np.ndarray


def draw(world, names, m, rng, *, known):
    """A sample whose true labels are among the first `known`; voters name any label."""
    truth = rng.integers(known, size=m)
    wrong = rng.random((m, world.n_voters)) < world.noise
    votes = np.where(wrong, rng.integers(len(names), size=wrong.shape), truth[:, None])
    # The column of noise tells the rows apart; trees split on the others.
    X = np.column_stack([votes, rng.random(m)])
    return Sample(votes, names[truth], names[votes] if world.voters == "table" else X)


def make_voters(world, names, reader):
    if world.voters == "table":
        return PredictionTable()
    if world.voters == "trees":
        return "trees"
    voters = [reader(j, names) for j in range(world.n_voters)]
    if world.voters == "trained":
        return voters
    if world.voters == "frozen with classes":
        for voter in voters:
            voter.classes_ = np.sort(names)
    return [FrozenEstimator(voter) for voter in voters]


def votes_of(vote, world, names, sample):
    """The labels that the voters name, one by one."""
    if world.voters == "trees":
        return np.stack([tree.predict(sample.X) for tree in vote.voters_], axis=1)
    return names[sample.votes]


def certified_rows(vote, world, sample):
    """The rows that certified a fitted vote: all, or part B, drawn again from its seed."""
    if world.voters not in ("trained", "trees"):
        return np.arange(len(sample.y))
    order = check_random_state(vote.certificate_.provenance["seed"]).permutation(len(sample.y))
    return order[-vote.certificate_.n_samples :]


def assert_errs_with_half_of_the_weight(votes, y, predicted, weights):
    statistics = VoteStatistics.from_votes(votes, y, keep_rows=True)
    wrong = np.array([one != other for one, other in zip(predicted, y.tolist(), strict=True)])
    erring = statistics.erring_weight(weights)
    assert np.all(erring[wrong] >= 0.5 - TIE)


@property_of
def test_counted_and_predicted_errors_of_a_fitted_vote(world, reader, told, plurality, errors_of):
    assume(world.labels not in (NOT_GROWN if world.voters == "trees" else NOT_FITTED))
    rng = np.random.default_rng(world.seed)
    names = LABELS[world.labels](rng.permutation(world.n_labels))
    known = int(rng.integers(1, len(names) + 1))
    sample = draw(world, names, world.m, rng, known=known)
    learned = world.weights == "learned"
    vote = MajorityVoteClassifier(
        voters=make_voters(world, names, reader),
        n_voters=world.n_voters,
        bound="lacasse" if learned else "heldout",
        prior=rng.dirichlet(np.ones(world.n_voters)) if world.weights == "given" else None,
        random_state=world.seed % 1000,
    )
    with told():  # of labels that are rare, and rows that are alike: not the matter here
        vote.fit(sample.X, sample.y)
    rows = certified_rows(vote, world, sample)
    sample = Sample(sample.votes[rows], sample.y[rows], sample.X[rows])
    predicted = vote.predict(sample.X).tolist()
    votes = votes_of(vote, world, names, sample)
    if not learned:
        counted = vote.certificate_.evidence["vote_errors"]
        assert counted == errors_of(predicted, sample.y)
        assert predicted == plurality(votes, vote.weights_)
    assert_errs_with_half_of_the_weight(votes, sample.y, predicted, vote.weights_)
    # New examples, with labels that no one has seen, in one piece and in several.
    new = draw(world, names, 2 * world.m, rng, known=len(names))
    predicted = vote.predict(new.X).tolist()
    pieces = [new.X[start : start + world.step] for start in range(0, len(new.X), world.step)]
    assert predicted == [label for piece in pieces for label in vote.predict(piece).tolist()]
    votes = votes_of(vote, world, names, new)
    if not learned:
        assert predicted == plurality(votes, vote.weights_)
    assert_errs_with_half_of_the_weight(votes, new.y, predicted, vote.weights_)
    if world.voters != "table":  # its rows may be known already
        with told() as texts:
            certificate = vote.certify(new.X, new.y, bound="heldout")
        assert certificate.evidence["vote_errors"] == errors_of(predicted, new.y)
        assert all("never seen" in text or "unique classes" in text for text in texts)


@property_of
def test_counted_errors_of_tables_and_chunks(world, plurality, errors_of):
    rng = np.random.default_rng(world.seed)
    names = LABELS[world.labels](rng.permutation(world.n_labels))
    known = int(rng.integers(1, len(names) + 1))
    sample = draw(world, names, world.m, rng, known=known)
    votes, y, n = names[sample.votes], sample.y, world.n_voters
    weights = rng.dirichlet(np.ones(n)) if world.weights == "given" else np.full(n, 1.0 / n)
    certificate = certify(votes, y, bound="heldout", prior=weights)
    predicted = plurality(votes, certificate.weights)
    counted = certificate.evidence["vote_errors"]
    assert counted == errors_of(predicted, y)
    bound = HeldoutBound()
    parts = [
        bound.count(votes[start : start + world.step], y[start : start + world.step], weights)
        for start in range(0, len(y), world.step)
    ]
    merged = sum(parts[1:], parts[0])
    assert merged.vote_errors(weights) == counted
    certificate.verify(statistics=merged)
    assert_errs_with_half_of_the_weight(votes, y, predicted, certificate.weights)


def test_the_worlds_hold_what_they_should():
    """Ties, labels outside the sample and errors are in the worlds, and not by one seed only."""
    rng = np.random.default_rng(0)
    world = World("str", "table", "uniform", 20, 4, 60, 7, 0.6, 0)
    names = LABELS["str"](rng.permutation(20))
    sample = draw(world, names, 60, rng, known=5)
    named = [np.unique(row, return_counts=True)[1] for row in sample.votes]
    assert sum(np.sum(counts == counts.max()) > 1 for counts in named) > 10
    assert set(np.unique(names[sample.votes])) - set(sample.y)
