"""Weights whose sum is not quite 1: bounds are those of the normalised weights, or above."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certivote import VoteStatistics, certify
from certivote.bounds import get_bound

N, M, GROUPS, DELTA = 20_000, 1200, 6, 0.05
ULPS = N * 2.0**-52


@pytest.fixture(scope="module")
def sample():
    """Voters in groups that err together, on about one example in five."""
    rng = np.random.default_rng(0)
    hard = rng.random(M) < 0.2
    by_group = (rng.random((M, GROUPS)) < 0.05) ^ hard[:, None]
    group = rng.integers(GROUPS, size=N)
    statistics = VoteStatistics.from_losses(by_group[:, group])
    return statistics, by_group, group


def exact_moments(q, by_group, group):
    """The Gibbs risk and the joint error at q/Σq, as fractions."""
    scaled = [int(Fraction(float(weight)) * 2**1074) for weight in q]
    shares = [0] * GROUPS
    for member, weight in zip(group.tolist(), scaled, strict=True):
        shares[member] += weight
    total = sum(shares)
    patterns, counts = np.unique(by_group, axis=0, return_counts=True)
    r = e = Fraction(0)
    for pattern, times in zip(patterns.tolist(), counts.tolist(), strict=True):
        erring = Fraction(sum(s for s, errs in zip(shares, pattern, strict=True) if errs), total)
        r += times * erring
        e += times * erring**2
    return r / M, e / M


def off_by(weights, ulps):
    """The weights, scaled so that their sum is off by so many ulps of the sum."""
    weights = weights / math.fsum(weights)
    return weights * (1.0 + ulps)


@pytest.mark.parametrize("ulps", [-0.95 * ULPS, 0.0, 0.95 * ULPS])
@pytest.mark.parametrize("shape", ["uniform", "uneven"])
def test_bounds_are_not_below_their_exact_values(ulps, shape, sample, exact):
    statistics, by_group, group = sample
    rng = np.random.default_rng(1)
    even = np.full(N, 1.0)
    q = off_by(even if shape == "uniform" else even + rng.random(N), ulps)
    mpf = exact.mpf
    r, e = (mpf(x.numerator) / x.denominator for x in exact_moments(q, by_group, group))
    total = sum((Fraction(float(weight)) for weight in q), Fraction(0))
    shares = [mpf(float(weight)) * total.denominator / total.numerator for weight in q]
    # The divergence from equal shares of N voters.
    kl = sum((share * exact.log(share * N) for share in shares), mpf(0))
    for name in ("gibbs", "tandem"):
        value = get_bound(name, delta=DELTA, constant="maurer").value(statistics, q)
        limit = exact.from_moments(name, r, e, kl, M, DELTA, "maurer")
        assert value >= limit
        assert value == pytest.approx(float(limit), rel=1e-10)


def bits(weights, statistics):
    return certify(statistics, weights=weights, bound="tandem").weights.tobytes()


weights_near_one = st.lists(
    st.floats(0.0, 1.0, allow_subnormal=False), min_size=1, max_size=40
).filter(lambda weights: sum(weights) > 1e-3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(weights=weights_near_one, off=st.floats(-9e-7, 9e-7))
def test_weights_normalised_twice_are_the_same_to_the_last_bit(weights, off):
    n = len(weights)
    statistics = VoteStatistics.from_losses(np.eye(n, dtype=int))
    q = np.array(weights) / math.fsum(weights) * (1.0 + off)
    once = certify(statistics, weights=q, bound="tandem").weights
    assert abs(math.fsum(once) - 1.0) <= 2.0**-52
    assert bits(once, statistics) == once.tobytes()


@pytest.mark.parametrize("n", [20_000, 4096])
def test_many_weights_normalised_twice_are_the_same(n):
    rng = np.random.default_rng(2)
    statistics = VoteStatistics.from_losses(rng.random((10, n)) < 0.3)
    for ulps in (-0.9, -0.1, 0.0, 0.4, 0.95):
        q = off_by(rng.dirichlet(np.ones(n)), ulps * n * 2.0**-52)
        once = certify(statistics, weights=q, bound="tandem").weights
        assert abs(math.fsum(once) - 1.0) <= 2.0**-52
        assert bits(once, statistics) == once.tobytes()


def test_the_weights_of_fixed_votes_are_normalised_like_any_other():
    """The vote that is looked up is the one that was counted, to the last bit."""
    rng = np.random.default_rng(3)
    n = 5000
    y = rng.integers(2, size=30)
    votes = np.where(rng.random((30, n)) < 0.4, 1 - y[:, None], y[:, None])
    q = off_by(rng.dirichlet(np.ones(n)), 0.9 * n * 2.0**-52)
    statistics = VoteStatistics.from_votes(votes, y, fixed_votes=[q])
    weights, errors = statistics.fixed_votes.weights[0], statistics.fixed_votes.errors[0]
    assert abs(math.fsum(weights) - 1.0) <= 2.0**-52
    assert statistics.vote_errors(q) == errors
    assert statistics.vote_errors(weights) == errors


def test_weights_that_sum_to_one_stay_as_they_are():
    rng = np.random.default_rng(4)
    for n in (1, 2, 7, 64, 5000):
        parts = rng.multinomial(2**20, np.full(n, 1.0 / n))
        q = parts / 2.0**20
        assert sum(map(Fraction, q.tolist())) == 1
        statistics = VoteStatistics.from_losses(rng.random((6, n)) < 0.3)
        assert bits(q, statistics) == q.tobytes()
