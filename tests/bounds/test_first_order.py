"""Twice the limit of the Gibbs risk, which seeger and cantelli have for nothing."""

import numpy as np
import pytest

from certivote import Moments, VoteStatistics, minimize
from certivote.bounds import get_bound
from certivote.bounds.first_order import FirstOrderBound
from certivote.divergences import kl_inverse_upper

BOTH = ("seeger", "cantelli")


def random_moments(seed):
    rng = np.random.default_rng(seed)
    r, m = float(rng.uniform(0.0, 0.5)), int(10 ** rng.uniform(1, 5))
    return r, float(rng.uniform(r * r, r)), float(rng.exponential(2.0)), m


@pytest.mark.parametrize("name", BOTH)
def test_it_is_the_smaller_of_both_parts(name):
    bound, (part,) = get_bound(name, constant="exact"), get_bound(name, constant="exact").members()
    smaller = equal = 0
    for seed in range(300):
        r, e, kl, m = random_moments(seed)
        psi = bound.radius(1, kl, m, share=0.5)
        twice, alone = 2.0 * kl_inverse_upper(r, psi), part.from_moments(r, e, kl, m)
        value = bound.from_moments(r, e, kl, m)
        assert value == pytest.approx(min(1.0, twice, alone), abs=1e-11)
        smaller, equal = smaller + (value < alone), equal + (value == alone < 1.0)
    assert smaller > 50
    assert equal > 20


@pytest.mark.parametrize("name", BOTH)
def test_the_published_constant_leaves_the_published_bound(name):
    bound = get_bound(name, constant="maurer")
    for seed in range(100):
        r, e, kl, m = random_moments(seed)
        moments = Moments.from_scalars(r, e, m)
        assert bound.evaluate_moments(moments, kl) == bound.evaluate_alone(moments, kl)
    assert bound.from_moments(0.1, 0.1, 0.0, 10**9) == pytest.approx(0.36, abs=1e-3)  # 4r(1−r)
    assert get_bound(name).from_moments(0.1, 0.1, 0.0, 10**9) == pytest.approx(0.2, abs=1e-3)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_is_that_of_the_better_part(name, seed):
    rng = np.random.default_rng(seed)
    losses = rng.random((800, 10)) < rng.beta(0.3, 2.0, size=(800, 1)) * rng.uniform(0.3, 1.7, 10)
    statistics, bound = VoteStatistics.from_losses(losses), get_bound(name)
    (part,) = bound.members()
    found = minimize(bound, statistics).value
    assert found <= minimize(part, statistics).value + 1e-7
    # One-sided, and at all of δ, the Gibbs risk alone may be a little lower than at half of it.
    gibbs = minimize(get_bound("gibbs", delta=0.025, constant="exact"), statistics).value
    assert found <= gibbs + 1e-10


# By how much a prior likes voters that err: not at all, the good ones, the bad ones.
PRIORS = {"even": 0.0, "good": -20.0, "bad": 20.0}


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("liked", PRIORS)
@pytest.mark.parametrize("m", [60, 1500])
def test_few_starts_lead_where_all_of_them_do(name, liked, m, monkeypatch):
    rng = np.random.default_rng(m)
    hard = rng.beta(0.3, 1.0, size=(m, 1))
    worlds = [
        rng.random((m, 30)) < hard * rng.uniform(0.3, 1.5, 30),
        rng.random((m, 30)) < np.where(np.arange(30) < 3, 0.1, 0.4),
    ]
    bound, fewer = get_bound(name), 0
    for losses in worlds:
        statistics = VoteStatistics.from_losses(losses)
        prior = np.exp(PRIORS[liked] * statistics.error_rates)
        prior /= prior.sum()
        few = minimize(bound, statistics, prior)
        with monkeypatch.context() as patch:
            patch.setattr(FirstOrderBound, "needs_few_starts", False)
            every = minimize(bound, statistics, prior)
        assert few.converged
        assert few.value <= every.value * (1 + 1e-8)
        fewer += few.n_iter < every.n_iter
    assert fewer == len(worlds)
