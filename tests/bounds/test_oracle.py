"""Oracle bounds: their order, their forms, and the vote's risk below all of them."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from certivote.bounds import c_bound, first_order_bound, second_order_bound

ROUNDING = 1e-12


@st.composite
def erring_weights(draw):
    """A distribution of W: values in [0, 1] and their probabilities."""
    unit = st.floats(0.0, 1.0, allow_subnormal=False)
    values = draw(st.lists(unit, min_size=1, max_size=6))
    masses = draw(
        st.lists(st.floats(0.01, 1.0), min_size=len(values), max_size=len(values)).map(np.array)
    )
    return np.array(values), masses / masses.sum()


def moments(values, masses):
    r, e = float(masses @ values), float(masses @ values**2)
    return r, e, 2.0 * (r - e)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(erring_weights())
def test_order_of_the_oracle_bounds(distribution):
    r, e, d = moments(*distribution)
    assume(r < 0.5 - 1e-6)
    first, second, c = first_order_bound(r), second_order_bound(e), c_bound(r, d)
    assert c <= second + ROUNDING
    if r <= d:
        assert second <= first + ROUNDING
    else:
        assert first <= c + ROUNDING


@settings(max_examples=300, deadline=None, derandomize=True)
@given(erring_weights())
def test_every_oracle_bound_is_above_the_risk(distribution):
    values, masses = distribution
    r, e, d = moments(values, masses)
    risk = float(masses[values >= 0.5].sum())
    for bound in (first_order_bound(r), second_order_bound(e), c_bound(r, d)):
        assert bound >= risk - ROUNDING


@settings(max_examples=300, deadline=None, derandomize=True)
@given(erring_weights())
def test_the_three_forms_of_the_c_bound(distribution):
    r, e, d = moments(*distribution)
    assume(r < 0.49)
    value = c_bound(r, d)
    assert value == pytest.approx(1 - (1 - (2 * e + d)) ** 2 / (1 - 2 * d), abs=1e-9)
    assert value == pytest.approx((e - r**2) / (e - r + 0.25), abs=1e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(erring_weights())
def test_the_best_chebyshev_cantelli_bound_is_the_c_bound(distribution):
    r, e, d = moments(*distribution)
    assume(r < 0.45)
    assume(e - r**2 > 1e-6)

    def cantelli(mu):
        return (e - 2 * mu * r + mu**2) / (0.5 - mu) ** 2

    best = (r - 2 * e) / (1 - 2 * r)
    # mu = ½ − 1/t with t > 0 makes the search bounded: a parabola in t.
    found = minimize_scalar(lambda t: cantelli(0.5 - 1 / t), bounds=(1e-3, 1e4), method="bounded")
    assert cantelli(best) == pytest.approx(c_bound(r, d), abs=1e-9)
    assert found.fun >= c_bound(r, d) - 1e-9
    if 1e-2 < 1 / (0.5 - best) < 1e3:
        assert found.fun == pytest.approx(c_bound(r, d), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "masses"),
    [([0.0, 0.5], [0.7, 0.3]), ([0.1, 0.5], [0.4, 0.6]), ([0.25, 0.5], [0.9, 0.1])],
)
def test_cantelli_is_tight_on_two_points(values, masses):
    """If W is ½ or one other value, the C-bound is the risk of a vote that loses its ties."""
    r, _, d = moments(np.array(values), np.array(masses))
    assert c_bound(r, d) == pytest.approx(masses[1], abs=1e-12)


@pytest.mark.parametrize(
    ("r", "d", "expected"),
    [
        (0.0, 0.0, 0.0),
        (0.5, 0.2, 1.0),
        (0.7, 0.1, 1.0),
        (0.2, 0.5, 1.0),  # no vote disagrees that often
        (0.1, 0.4, 1.0),  # the variance would be negative
        (0.25, 0.375, 0.0),  # constant W: no variance
        (0.25, 0.0, 0.75),
    ],
)
def test_corners_of_the_c_bound(r, d, expected):
    assert c_bound(r, d) == expected


def test_a_variance_lost_to_rounding_counts_as_none():
    for r in np.random.default_rng(0).uniform(0.0, 0.499, 200):
        d = 2 * (r - r**2)
        assert c_bound(r, d) <= 1e-9 or math.isclose(r, 0.5, abs_tol=1e-3)
