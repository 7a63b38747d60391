"""The smallest bound that two moments allow, and lacasse's ball with a cut."""

import numpy as np
import pytest
from scipy.optimize import linprog

import reference
from certivote import VoteStatistics, minimize
from certivote.bounds import get_bound, sharp_bound

GRID = np.unique(np.r_[np.linspace(0.0, 1.0, 401), 0.5])


@pytest.mark.parametrize(
    ("r", "e"), [(0.1, 0.08), (0.1, 0.04), (0.2, 0.1), (0.3, 0.28), (0.4, 0.17), (0.05, 0.01)]
)
def test_no_bound_on_two_moments_is_smaller(r, e):
    """The largest P(W ≥ ½) of all distributions on a grid that have these moments."""
    worst = linprog(
        -(GRID >= 0.5).astype(float),
        A_eq=np.stack([np.ones_like(GRID), GRID, GRID**2]),
        b_eq=[1.0, r, e],
    )
    assert worst.success
    bound = sharp_bound(r, 2.0 * (r - e))
    assert -worst.fun <= bound + 1e-9
    assert -worst.fun >= bound - 5e-3  # the grid may lack the worst point


def test_the_sum_is_above_the_risk_of_every_vote():
    rng = np.random.default_rng(0)
    for _ in range(200):
        erring, masses = rng.random(20) ** rng.choice([1, 4]), rng.dirichlet(np.full(20, 0.3))
        r, e = float(masses @ erring), float(masses @ erring**2)
        assert float(masses @ (erring >= 0.5)) <= r + 2.0 * (r - e) + 1e-12


@pytest.mark.parametrize("constant", ["maurer", "exact"])
def test_it_costs_nothing_against_the_ball_alone(constant):
    sharp, lacasse = (get_bound(name, constant=constant) for name in ("sharp", "lacasse"))
    smaller = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        r, m = float(rng.uniform(0.0, 0.5)), int(10 ** rng.uniform(1, 5))
        e, kl = float(rng.uniform(r * r, r)), float(rng.exponential(2.0))
        moments = (r, e, kl, m)
        assert sharp.from_moments(*moments) <= lacasse.from_moments(*moments)
        smaller += sharp.from_moments(*moments) < 0.9 * lacasse.from_moments(*moments)
    assert smaller > 100


def test_the_smallest_sum_is_near_one_voter():
    losses = np.random.default_rng(1).random((1_000, 8)) < np.linspace(0.1, 0.3, 8)
    result = minimize(get_bound("sharp"), VoteStatistics.from_losses(losses))
    assert result.weights.max() > 0.99


def test_what_is_descended_where_it_says_nothing():
    """Voters that nearly always err: the objective is above 1, and its gradient is its own."""
    losses = np.random.default_rng(2).random((60, 4)) < np.array([0.95, 0.9, 0.97, 0.99])
    statistics, prior = VoteStatistics.from_losses(losses), np.full(4, 0.25)
    bound, weights = get_bound("sharp"), np.array([0.1, 0.2, 0.3, 0.4])
    assert bound.value(statistics, weights) == 1.0
    value, gradient = bound.objective(statistics, weights, prior)
    assert value > 1.0
    for direction in (np.array([1.0, -1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, -2.0])):
        up, down = (
            bound.objective(statistics, weights + h * direction, prior)[0] for h in (1e-5, -1e-5)
        )
        assert gradient @ direction == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_the_cut_is_active_and_inactive():
    """The reference knows both: the ball's own worst point, and one on the line e = E."""
    bound, cut = get_bound("lacasse2", constant="exact"), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        r, m = float(rng.uniform(0.01, 0.45)), int(10 ** rng.uniform(1.5, 4))
        e, kl = float(rng.uniform(r * r, r)), float(rng.exponential(1.0))
        s = reference.observed(r, e, kl, m, 0.05, "exact")
        kappa = s.psi(2, parts=2, outcomes=3)
        worst = reference.worst_of_ball(s.e, s.d, kappa)
        limit = reference.supremum_of_cut(s.e, s.d, kappa, s.upper(s.e, 2, parts=2))
        assert limit <= bound.from_moments(r, e, kl, m) <= limit + 1e-11
        cut += worst[1] > s.upper(s.e, 2, parts=2)
    assert 5 < cut < 60
