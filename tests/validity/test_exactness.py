"""Is any certificate below its formula? Many random instances of each bound, in 50 digits.

CERTIVOTE_INSTANCES is how many of each bound the long run looks at.
"""

import os

import numpy as np
import pytest

import reference
from certivote import VoteStatistics
from certivote.bounds import clopper_pearson, get_bound, list_bounds, sequential_limit
from reference import MOMENT_BOUNDS, REFERENCES, mpf

INSTANCES = int(os.environ.get("CERTIVOTE_INSTANCES", "2000"))
# Not too many: the reference keeps what it knows of each.
SIZES = np.unique(np.geomspace(1, 10**6, 40).astype(int))
DELTAS = (0.5, 0.1, 0.05, 0.01, 1e-4, 1e-9)


def of_moments(name, rng):
    """The value and the formula at the moments of a random W, any constant that the bound has."""
    constant = rng.choice([None, None, *get_bound(name).constants])
    delta = float(rng.choice(DELTAS))
    spread = rng.uniform(0.0, rng.choice([0.1, 0.6, 1.0]), size=3) ** rng.choice([1, 3])
    masses = rng.dirichlet(np.full(3, rng.choice([0.3, 1.0])))
    r, e = float(masses @ spread), float(masses @ spread**2)
    m = int(rng.choice(SIZES))
    kl = float(rng.choice([0.0, 10 ** rng.uniform(-6, 2)]))
    value = get_bound(name, delta=delta, constant=constant).from_moments(r, e, kl, m)
    # d = 2(r − e) is rounded once before it gets there.
    exact = reference.from_moments(name, r, e, kl, m, delta, constant)
    return value, exact, 1e-15


def of_losses(name, rng):
    """The value and the formula for a few voters on some examples."""
    n, m = int(rng.integers(1, 4)), int(10 ** rng.uniform(0, 2))
    losses = rng.random((m, n)) < rng.beta(0.5, 2.0, size=(m, 1)) * rng.uniform(0.5, 1.0, size=n)
    prior = rng.dirichlet(np.full(n, 2.0)) * 0.9 + 0.1 / n
    prior /= prior.sum()
    weights = np.eye(n)[rng.integers(n)] if REFERENCES[name].single_voters else prior
    if name == "dirichlet":
        weights = 0.9 * prior + 0.1 * rng.dirichlet(np.full(n, 2.0))
    bound, statistics = (
        get_bound(name, delta=float(rng.choice(DELTAS))),
        VoteStatistics.from_losses(losses, keep_rows=True),
    )
    evidence = bound.evidence(statistics, weights, prior)
    exact = REFERENCES[name].from_losses(bound, losses, weights, prior, evidence)
    return bound.value(statistics, weights, prior), exact, 0.0


def of_counts(limit, rng):
    """An upper limit of the rate of k errors in m trials, and where its formula has it."""
    m, delta = int(10 ** rng.uniform(0, 2.3)), float(rng.choice(DELTAS))
    k = int(rng.binomial(m, rng.beta(0.5, 2.0)))
    if limit is clopper_pearson:
        return limit(k, m, delta), reference.binomial_limit(k, m, mpf(delta)), 0.0
    c, d = np.sort(rng.integers(0, 17, size=2)) / 16  # also the default, (0, 1)
    c, d = (0.0, 1.0) if c == d else (float(c), float(d))
    return limit(k, m, delta, (c, d)), reference.sequential_limit(k, m, mpf(delta), c, d), 0.0


CASES = {
    **{name: (of_moments if name in MOMENT_BOUNDS else of_losses, name) for name in list_bounds()},
    "clopper_pearson": (of_counts, clopper_pearson),
    "sequential_limit": (of_counts, sequential_limit),
}


def check(case, count, seed):
    """Return the largest excess over the formula, of which no value may be below."""
    draw, what = CASES[case]
    rng, largest = np.random.default_rng([seed, len(case)]), 0.0
    for _ in range(count):
        value, exact, rounding = draw(what, rng)
        scale = max(1, exact)
        assert exact - rounding <= value <= exact + 1e-9 * scale
        largest = max(largest, float((mpf(value) - exact) / scale))
    return largest


@pytest.mark.parametrize("case", CASES)
def test_a_few_values_against_fifty_digits(case):
    assert check(case, 12, seed=0) < 1e-9


@pytest.mark.slow
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("case", CASES)
def test_many_values_against_fifty_digits(case, record_property):
    largest = check(case, INSTANCES, seed=1)
    record_property("instances", INSTANCES)
    record_property("largest excess", f"{largest:.2e}")
    print(f"{case}: {INSTANCES} instances, none below, at most {largest:.2e} above")
