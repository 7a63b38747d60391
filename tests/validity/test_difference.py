"""Do claims on two classifiers hold? Draw rows from a population in which both risks are known."""

import numpy as np
import pytest

from certivote import certify_difference
from certivote.bounds import clopper_pearson

from .judge import holds

pytestmark = pytest.mark.slow

DELTA, DRAWS, SIZE = 0.05, 2000, 5000

# Of a population: on which share of it only the new one errs, only the old one, and both.
PAIRS = {
    "equal": (0.06, 0.06, 0.1),
    "hardly worse": (0.07, 0.06, 0.1),
    "worse": (0.2, 0.05, 0.05),
    "better": (0.02, 0.12, 0.05),
    "never worse": (0.0, 0.1, 0.02),
    "rarely apart": (0.004, 0.002, 0.3),
}


def population(name):
    """Labels of three kinds, and what two classifiers answer; wrong answers are any other label."""
    rng = np.random.default_rng(list(PAIRS).index(name))
    y = rng.integers(3, size=SIZE)
    only_new, only_old, both = (round(SIZE * share) for share in PAIRS[name])
    new, old = y.copy(), y.copy()
    new[: only_new + both] += rng.integers(1, 3, size=only_new + both)
    old[only_new : only_new + both + only_old] += rng.integers(1, 3, size=both + only_old)
    return np.array(["ant", "bee", "cow"])[np.stack([old, new, y]) % 3]


def false_claims(name, rule, m):
    """How many of the samples lead to a false claim, of the error or of the difference."""
    old, new, y = everything = population(name)
    risk, difference = np.mean(new != y), np.mean(new != y) - np.mean(old != y)
    rng, false = np.random.default_rng(50), 0
    for _ in range(DRAWS):
        error, limit = rule(*everything[:, rng.integers(SIZE, size=m)])
        false += error < risk or limit < difference
    return false


def certified(old, new, y):
    error, difference = certify_difference(old, new, y, delta=DELTA).claims
    return error.upper, difference.upper


def medians(old, new, y):
    """What is as likely too small as too large, of either risk."""
    k_new, k_old, m = np.sum(new != y), np.sum(old != y), len(y)
    low = 1.0 - clopper_pearson(m - k_old, m, 0.5)
    return 1.0, clopper_pearson(k_new, m, 0.5) - low


@pytest.mark.parametrize("name", PAIRS)
def test_both_claims_hold_at_once(name, validity_table):
    false = false_claims(name, certified, 300)
    validity_table("pipeline", f"certify_difference, {name}", DELTA, DRAWS, false)
    assert holds(false, DRAWS, DELTA)


def test_medians_in_the_place_of_limits_are_caught():
    assert not holds(false_claims("equal", medians, 300), DRAWS, DELTA)
