"""Do the certificates of smaller votes hold, from data to `predict`?

The voters are columns of a table, or trees; the risk is the share of the whole population on which
`predict` of the smaller vote is wrong. What chooses voters on the rows that test them is caught.
"""

import numpy as np
import pytest

from certivote import MajorityVoteClassifier
from certivote.bounds import clopper_pearson

from .judge import holds
from .test_pipeline import DELTA, Column, noisy, predictions, with_names

# Draws with replacement come again.
pytestmark = pytest.mark.filterwarnings("ignore:.* have a twin among:UserWarning")

N_VOTERS, M = 15, 160
# Voters that err on 40%: a few of them are far worse than all, and luck tells most.
POPULATION = predictions(2, 0.0, N_VOTERS, 0.8, seed=11)
NOISY = noisy()


def named(rng):
    """A sample whose rows come once each, for voters that read columns."""
    X, y = POPULATION.draw(M, rng)
    return with_names(X, rng), y


def columns(rng, bound, tolerance):
    """Voters that have nothing to learn, so that only the choice among them can go wrong."""
    X, y = named(rng)
    voters = [Column(j) for j in range(N_VOTERS)]
    vote = MajorityVoteClassifier(voters, bound=bound, random_state=int(rng.integers(2**31)))
    vote.fit(X, y)
    smaller = vote.smallest(tolerance, *((X, y) if bound == "heldout" else ()))
    # `predict` asks for one more column, which says nothing.
    table = np.column_stack([POPULATION.X, POPULATION.X[:, 0]])
    return smaller, POPULATION.risk(smaller.predict(table))


def trees(rng, tolerance=0.06, population=NOISY):
    X, y = population.draw(200, rng)
    vote = MajorityVoteClassifier(
        "trees", n_voters=8, bound="heldout", random_state=int(rng.integers(2**31))
    )
    smaller = vote.fit(X, y).smallest(tolerance, X, y)
    return smaller, population.risk(smaller.predict(population.X))


def on_part_a(rng):
    return columns(rng, "heldout", 0.08)


def by_gibbs(rng):
    return columns(rng, "gibbs", 0.1)


def by_cantelli(rng):
    return columns(rng, "cantelli", 0.1)


def failures_of(world, draws, seed):
    """How often the certificate of the smaller vote is below its risk; how many are smaller."""
    rng, failures, smaller = np.random.default_rng(seed), 0, 0
    for _ in range(draws):
        vote, risk = world(rng)
        failures += vote.certificate_.risk_bound < risk
        smaller += np.count_nonzero(vote.weights_) < len(vote.weights_)
    return failures, smaller


@pytest.mark.parametrize("world", [on_part_a, by_gibbs])
def test_certificates_of_smaller_votes_hold(world):
    failures, smaller = failures_of(world, 40, seed=1)
    assert holds(failures, 40, DELTA)
    assert smaller > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "world", "draws"),
    [
        ("the fewest voters by part A, tested", on_part_a, 2000),
        ("the fewest voters by the sample, gibbs", by_gibbs, 2000),
        ("the fewest voters by the sample, cantelli", by_cantelli, 2000),
        ("trees, the fewest by part A, tested", trees, 400),
    ],
)
def test_certificates_of_smaller_votes_hold_on_many_samples(name, world, draws, validity_table):
    failures, smaller = failures_of(world, draws, seed=2)
    validity_table("pipeline", name, DELTA, draws, failures)
    assert holds(failures, draws, DELTA)
    assert smaller > draws / 2


# --- broken on purpose ---

# Whether a vote, or a label, is the first one, which wins ties.
FIRST = np.unique(POPULATION.y)[0]
VOTES, LABELS = POPULATION.X == FIRST, POPULATION.y == FIRST
IN_ORDER = np.arange(N_VOTERS)


def errors_of(votes, y, kept):
    return int(np.sum((2 * votes[:, kept].sum(axis=1) >= len(kept)) != y))


def broken_failures(choose, draws, seed):
    """How often the binomial limit of the voters that a sample chose is below their risk."""
    rng, failures = np.random.default_rng(seed), 0
    for _ in range(draws):
        rows = rng.integers(len(LABELS), size=M // 2)
        votes, y = VOTES[rows], LABELS[rows]
        kept = choose(votes, y)
        limit = clopper_pearson(errors_of(votes, y, kept), len(y), DELTA)
        failures += limit < errors_of(VOTES, LABELS, kept) / len(LABELS)
    return failures


def luckiest_number(votes, y, order=IN_ORDER):
    """Keep the order that was fixed, and the number of voters with the best limit."""
    sizes = [order[:k] for k in range(1, N_VOTERS + 1)]
    return min(sizes, key=lambda kept: errors_of(votes, y, kept))


def luckiest_voters(votes, y):
    """Order the voters by their errors on the sample, and keep the best number of them."""
    return luckiest_number(votes, y, np.argsort(np.mean(votes != y[:, None], axis=0)))


def fixed_number(votes, y):
    return IN_ORDER[:5]


def test_voters_chosen_on_the_rows_that_test_them_are_caught():
    assert holds(broken_failures(fixed_number, 200, seed=3), 200, DELTA)
    assert not holds(broken_failures(luckiest_voters, 200, seed=3), 200, DELTA)


@pytest.mark.slow
def test_a_number_of_voters_chosen_on_the_rows_that_test_them_is_caught():
    assert holds(broken_failures(fixed_number, 2000, seed=4), 2000, DELTA)
    assert not holds(broken_failures(luckiest_number, 2000, seed=4), 2000, DELTA)
