"""Do the certificates hold that look at every vote? Populations of votes with known risks.

A population is a finite set of examples with votes and labels; a sample is drawn from it with
replacement, and the risk of any vote is its share of errors in the whole population, by the rule of
`predict`: counted here by argmax over exact sums of weights.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from certivote import VoteStatistics, minimize
from certivote.bounds import (
    HeldoutBound,
    clopper_pearson,
    get_bound,
    list_bounds,
    list_moment_bounds,
)
from certivote.solvers import LBFGS

NAMES = [name for name in list_bounds() if name not in list_moment_bounds()]
ROUNDING = 1e-9


def holds(violations, draws, delta):
    """Whether that many violations are compatible with a probability of at most delta."""
    return binomtest(int(violations), int(draws), delta, alternative="greater").pvalue >= 1e-4


@dataclass(frozen=True, eq=False)
class Population:
    """Votes and labels of all examples, the size of a sample, δ, and how the prior is made."""

    votes: np.ndarray
    y: np.ndarray
    m: int
    delta: float
    learned_prior: bool = False

    @property
    def n(self):
        return self.votes.shape[1]

    def risk(self, weights):
        """The share of examples on which the vote is wrong, the first class winning ties."""
        classes = np.unique(np.append(self.votes, self.y))
        shares = np.stack([(self.votes == label) @ weights for label in classes], axis=1)
        return float(np.mean(classes[shares.round(10).argmax(axis=1)] != self.y))

    def draw(self, rng):
        rows = rng.integers(len(self.y), size=self.m)
        return self.votes[rows], self.y[rows]

    def prior(self, rng):
        """The uniform vote, or weights that fit another sample far too well."""
        if not self.learned_prior:
            return np.full(self.n, 1 / self.n)
        votes, y = self.draw(rng)
        weights = np.exp(-30.0 * np.mean(votes != y[:, None], axis=0))
        return weights / weights.sum()


def make_population(n, k, rate, m, delta, seed, size=2000, learned_prior=False):
    """Voters that err at about `rate`, more on hard examples; errors are random labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=size)
    hard = rng.beta(0.5, 0.5 / rate - 0.5, size=(size, 1))
    wrong = rng.random((size, n)) < hard * rng.uniform(0.6, 1.4, size=n)
    other = (y[:, None] + rng.integers(1, max(k, 2), size=(size, n))) % k
    return Population(np.where(wrong, other, y[:, None]), y, m, delta, learned_prior)


POPULATIONS = {
    "easy": make_population(9, 2, 0.1, m=200, delta=0.1, seed=1),
    "hard": make_population(8, 2, 0.4, m=60, delta=0.2, seed=2),
    "small sample": make_population(5, 2, 0.2, m=6, delta=0.3, seed=3),
    "more voters than examples": make_population(60, 2, 0.3, m=20, delta=0.2, seed=4),
    "ten classes": make_population(12, 10, 0.5, m=100, delta=0.2, seed=5),
    "two voters, all ties": make_population(2, 2, 0.3, m=40, delta=0.2, seed=6),
    "learned prior": make_population(20, 3, 0.4, m=80, delta=0.2, seed=7, learned_prior=True),
}


def violations_of(value_of, population, draws, seed):
    """How often the value lies below the risk of the vote that it is about."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(draws):
        prior = population.prior(rng)
        weights, value = value_of(*population.draw(rng), prior, population)
        count += value < population.risk(weights) - ROUNDING
    return int(count)


def learn(bound, votes, y, prior, solver=None):
    statistics = bound.count(votes, y, prior)
    return minimize(bound, statistics, prior, solver=solver or LBFGS(1, 1, tol=1e-3))


def certified(name, solver=None):
    def value_of(votes, y, prior, population):
        result = learn(get_bound(name, delta=population.delta), votes, y, prior, solver)
        return result.weights, result.value

    return value_of


def test_the_risk_of_a_population_is_that_of_a_large_sample():
    population = POPULATIONS["ten classes"]
    weights = np.random.default_rng(0).dirichlet(np.ones(population.n))
    rows = np.random.default_rng(1).integers(2000, size=200_000)
    votes, y = population.votes[rows], population.y[rows]
    statistics = VoteStatistics.from_votes(votes, y, tested=[weights])
    assert statistics.vote_errors(weights) / 200_000 == pytest.approx(
        population.risk(weights), abs=5e-3
    )


@pytest.mark.parametrize("scenario", POPULATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_certificates_hold(name, scenario):
    population = POPULATIONS[scenario]
    assert holds(violations_of(certified(name), population, 25, seed=10), 25, population.delta)


# `dirichlet` has simulations of its own, and is in `best`.
@pytest.mark.slow
@pytest.mark.parametrize("scenario", POPULATIONS)
@pytest.mark.parametrize("name", ["heldout", "best"])
def test_certificates_hold_on_many_samples(name, scenario, validity_table):
    population, draws = POPULATIONS[scenario], 2000
    from_the_prior = certified(name, LBFGS(0, 0, tol=1e-2))
    violations = violations_of(from_the_prior, population, draws, seed=20)
    validity_table(scenario, name, "maurer", population.delta, draws, violations)
    assert holds(violations, draws, population.delta)


# --- broken on purpose ---


def more_delta(votes, y, prior, population):
    """Spends four times the δ that it claims."""
    bound = HeldoutBound(min(0.99, 4 * population.delta))
    return prior, bound.value(bound.count(votes, y, prior), prior, prior)


def doubled_sample(votes, y, prior, population):
    """Counts every example twice."""
    bound = HeldoutBound(population.delta)
    errors = bound.count(votes, y, prior).vote_errors(prior)
    return prior, clopper_pearson(2 * errors, 2 * len(y), population.delta)


def best_of_many_for_the_price_of_one(votes, y, prior, population):
    """Tries every voter alone on the sample, and pays for one test."""
    errors = np.count_nonzero(votes != y[:, None], axis=0)
    weights = np.eye(population.n)[errors.argmin()]
    return weights, clopper_pearson(int(errors.min()), len(y), population.delta)


def learned_and_tested_on_the_same_sample(votes, y, prior, population):
    """Takes weights that fit the sample for a vote that was fixed before it."""
    weights = np.exp(-60.0 * np.mean(votes != y[:, None], axis=0))
    weights /= weights.sum()
    errors = VoteStatistics.from_votes(votes, y, tested=[weights]).vote_errors(weights)
    return weights, clopper_pearson(errors, len(y), population.delta)


STRICT = make_population(8, 2, 0.4, m=60, delta=0.02, seed=2)
# Voters alike in the population: whichever looks best was lucky.
ALIKE = make_population(60, 2, 0.3, m=50, delta=0.05, seed=8)


@pytest.mark.parametrize(
    ("broken", "population"),
    [
        (more_delta, STRICT),
        (doubled_sample, STRICT),
        (best_of_many_for_the_price_of_one, ALIKE),
        (learned_and_tested_on_the_same_sample, ALIKE),
    ],
)
def test_broken_tests_are_caught(broken, population):
    assert not holds(violations_of(broken, population, 400, seed=30), 400, population.delta)


def test_the_best_of_many_at_its_own_price_holds():
    """The same voters and samples, by the bound that pays for their number."""

    def value_of(votes, y, prior, population):
        bound = HeldoutBound(population.delta, candidates=np.eye(population.n))
        result = learn(bound, votes, y, None)
        return result.weights, result.value

    assert holds(violations_of(value_of, ALIKE, 400, seed=30), 400, ALIKE.delta)
