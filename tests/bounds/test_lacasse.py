"""The supremum behind `lacasse`: against Newton in 50 digits, CVXPY, grids and weak duality."""

import math

import cvxpy as cp
import numpy as np
import pytest

from certivote.bounds import LacasseBound
from certivote.bounds.evaluation import round_up
from certivote.bounds.lacasse import _dual, _slack_to_plateau, _supremum
from certivote.divergences import trinomial_kl
from certivote.solvers.paper import _worst_for_level, bisect_worst_point

TIGHT = 1e-11


def random_moments(rng):
    """(e, d) of a random distribution of W, on at most four values, with E W < ½."""
    while True:
        size = int(rng.integers(2, 5))
        values = rng.random(size) ** rng.choice([0.5, 1.0, 3.0, 10.0])
        masses = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])))
        r, e = float(masses @ values), float(masses @ values**2)
        if r < 0.499 and 2.0 * (r - e) > 1e-14:
            return e, 2.0 * (r - e)


def certified(e, d, kappa):
    """The value as a certificate reports it."""
    return round_up(_supremum(e, d, kappa)[0])


@pytest.mark.parametrize("seed", range(10))
def test_supremum_on_random_instances(seed, exact):
    """Sixty instances a seed, radii from 1e-9 to 1: never below the supremum, 1e-11 above."""
    rng = np.random.default_rng(seed)
    checked = 0
    while checked < 60:
        e, d = random_moments(rng)
        kappa = float(10 ** rng.uniform(-9, 0))
        if kappa >= 0.9999 * _slack_to_plateau(e, d):
            continue
        supremum = exact.supremum(e, d, kappa)
        assert supremum <= certified(e, d, kappa) <= supremum + TIGHT, (e, d, kappa)
        checked += 1


@pytest.mark.parametrize("seed", range(3))
def test_supremum_around_impossible_moments(seed, exact):
    """Counts from different examples may give an (e, d) of no vote: the supremum is one still."""
    rng = np.random.default_rng(100 + seed)
    checked = 0
    while checked < 20:
        e, d = float(rng.uniform(0.0, 0.3)), float(rng.uniform(0.0, 0.6))
        kappa = float(10 ** rng.uniform(-4, -0.5))
        possible = d <= 2.0 * math.sqrt(e) - 2.0 * e
        if possible or 2 * e + d >= 1 or kappa >= 0.999 * _slack_to_plateau(e, d):
            continue
        value = certified(e, d, kappa)
        try:
            supremum = exact.supremum(e, d, kappa)
        except AssertionError:  # the maximum may lie at e = 0: then C is negative there
            continue
        if supremum > 0:
            assert supremum <= value <= supremum + TIGHT, (e, d, kappa)
            checked += 1


@pytest.mark.parametrize("kappa", [1e-9, 1e-6, 1e-3, 0.05, 0.2, 0.6])
def test_supremum_without_disagreement(kappa, exact):
    """d_S = 0: the worst point has d = 0 too, and the value is 4e*(1−e*)."""
    checked = 0
    for e in (0.0, 1e-100, 1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.45, 0.499):
        if kappa >= exact.radius_of_plateau(exact.mpf(e), exact.mpf(0)):
            continue
        worst = exact.kl_upper(e, kappa)
        supremum = 4 * worst * (1 - worst)
        assert supremum <= certified(e, 0.0, kappa) <= supremum + TIGHT, e
        checked += 1
    assert checked >= 3


@pytest.mark.parametrize("kappa", [1e-9, 1e-6, 1e-3, 0.05, 0.2, 0.6])
def test_supremum_of_a_tiny_joint_error(kappa, exact):
    for weight in (1e-2, 1e-4, 1e-7, 1e-12, 1e-30, 1e-60):
        for rate in (1.0, 0.2, 0.003):  # a perfect voter and one of this weight and error rate
            e, d = weight**2 * rate, 2.0 * weight * (1.0 - weight) * rate
            supremum = exact.supremum(e, d, kappa)
            assert supremum <= certified(e, d, kappa) <= supremum + TIGHT, (e, d)


def test_no_errors_is_a_closed_form(exact):
    for m in (10, 100, 10_000):
        kappa = exact.log((2 * exact.sqrt(m) + m) / exact.mpf(0.05)) / m
        worst = 1 - exact.exp(-kappa)
        expected = 4 * worst * (1 - worst) if 2 * worst < 1 else 1
        value = LacasseBound(constant="maurer").from_moments(0.0, 0.0, 0.0, m)
        assert expected <= value <= expected + TIGHT


@pytest.mark.parametrize("decade", range(1, 13))
def test_supremum_near_the_plateau(decade, exact):
    rng = np.random.default_rng(decade)
    for _ in range(6):
        e, d = random_moments(rng)
        kappa = _slack_to_plateau(e, d) * (1.0 - 10.0**-decade)
        supremum = exact.supremum(e, d, kappa)
        assert supremum <= certified(e, d, kappa) <= supremum + TIGHT, (e, d, kappa)


@pytest.mark.parametrize("seed", range(4))
def test_on_the_plateau_the_value_is_exactly_one(seed):
    rng = np.random.default_rng(seed)
    m, delta, checked = 500, 0.05, 0
    bound = LacasseBound(delta=delta, constant="maurer")
    for _ in range(300):
        e, d = random_moments(rng)
        slack = (1 - d) * (
            math.log(2) + sum(x * math.log(x) for x in (e / (1 - d), 1 - e / (1 - d)) if x > 0)
        )
        for factor in (1.0 + 1e-9, 1.1, 5.0):
            kl = 0.5 * (slack * factor * m - math.log((2 * math.sqrt(m) + m) / delta))
            if kl >= 0:
                assert bound.from_moments(e + d / 2, e, kl, m) == 1.0
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("r", [0.5, 0.6, 0.9, 1.0])
def test_votes_worse_than_chance_certify_nothing(r):
    """A constant W = 0.6 has the C-bound 0 on the wrong branch."""
    for e in np.linspace(r**2, r, 7):
        assert LacasseBound().from_moments(r, float(min(e, r)), 0.0, 10**9) == 1.0


@pytest.mark.parametrize("constant", ["maurer", "exact"])
def test_bound_from_moments(constant, exact):
    rng = np.random.default_rng(5)
    bound, below_one = LacasseBound(delta=0.01, constant=constant), 0
    for _ in range(60):
        e, d = random_moments(rng)
        r = e + d / 2
        m, kl = int(10 ** rng.uniform(1.5, 5)), float(10 ** rng.uniform(-3, 1.5))
        value = bound.from_moments(r, e, kl, m)
        supremum = exact.from_moments("lacasse", r, e, kl, m, 0.01, constant)
        assert supremum - 1e-14 <= value <= supremum + TIGHT, (r, e, kl, m)
        below_one += value < 1.0
    assert below_one > 20


def test_derivatives_of_the_supremum(exact):
    """The envelope gradient against differences of the reference."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        e, d = random_moments(rng)
        kappa = 0.3 * _slack_to_plateau(e, d)
        step = 1e-12
        _, *partials, _ = _supremum(e, d, kappa)
        point = [exact.mpf(e), exact.mpf(d), exact.mpf(kappa)]
        for index, partial in enumerate(partials):
            h = point[index] * step
            above, below = list(point), list(point)
            above[index] += h
            below[index] -= h
            slope = (exact.supremum(*above) - exact.supremum(*below)) / (2 * h)
            assert partial == pytest.approx(float(slope), rel=1e-6, abs=1e-9)


def cvxpy_supremum(e, d, kappa):
    """C is concave: one minus a square over a linear function, so the supremum is convex."""
    centre = np.array([e, d, 1.0 - e - d])
    point = cp.Variable(3)
    margin, spread = 1 - 2 * point[0] - point[1], 1 - 2 * point[1]
    problem = cp.Problem(
        cp.Minimize(cp.quad_over_lin(margin, spread)),
        [cp.sum(cp.kl_div(centre, point)) <= kappa, cp.sum(point) == 1, margin >= 0],
    )
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return 1.0 - problem.value


def test_supremum_against_cvxpy():
    rng = np.random.default_rng(8)
    checked = 0
    while checked < 20:
        e, d = random_moments(rng)
        kappa = float(10 ** rng.uniform(-3, -0.3))
        if e < 1e-4 or d < 1e-4 or kappa >= 0.95 * _slack_to_plateau(e, d):
            continue
        assert certified(e, d, kappa) == pytest.approx(cvxpy_supremum(e, d, kappa), abs=1e-5)
        checked += 1


@pytest.mark.parametrize("seed", range(4))
def test_weak_duality(seed, exact):
    """Whatever s and λ, the dual is above the supremum."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        e, d = random_moments(rng)
        kappa = float(10 ** rng.uniform(-6, 0))
        supremum = exact.supremum(e, d, kappa)  # 1 on the plateau
        for _ in range(20):
            s = float(10 ** rng.uniform(-3, 3))
            y = float(10 ** rng.uniform(-9, 9))
            assert round_up(_dual(e, d, kappa, s, y)[0]) >= supremum, (e, d, kappa, s, y)


def test_weak_duality_without_joint_errors(exact):
    """If e_S = 0 the best λ is the largest v itself: y = ∞."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        kappa = float(10 ** rng.uniform(-6, 0))
        s, supremum = float(10 ** rng.uniform(-3, 3)), exact.supremum(0.0, 0.0, kappa)
        for y in (math.inf, float(10 ** rng.uniform(-9, 9))):
            assert round_up(_dual(0.0, 0.0, kappa, s, y)[0]) >= supremum, (kappa, s, y)


def test_dual_is_the_formula_of_the_theory(exact):
    """[λ − e^{−κ} Π(λ−w_i)^{a_i}]/(½−μ)² with w = ((1−μ)², −μ(1−μ), μ²): s = 1/(½−μ)."""
    rng = np.random.default_rng(9)
    for _ in range(50):
        e, d = random_moments(rng)
        kappa, s, y = (float(10 ** rng.uniform(*ends)) for ends in ((-4, 0), (-1, 1), (-3, 3)))
        mu = exact.mpf(0.5) - 1 / exact.mpf(s)
        w = ((1 - mu) ** 2, -mu * (1 - mu), mu**2)
        scale = (exact.mpf(0.5) - mu) ** 2
        lam = w[0] + exact.mpf(s) / y * scale
        product = exact.exp(-exact.mpf(kappa))
        for a, part in zip((e, d, 1 - exact.mpf(e) - d), w, strict=True):
            product *= (lam - part) ** a
        expected = float((lam - product) / scale)
        assert _dual(e, d, kappa, s, y)[0] == pytest.approx(expected, rel=1e-9)


def grid_of_the_ball(e, d, kappa, size=400):
    """All points of a fine grid around the ball that lie in it, as arrays e, d."""
    width = 3.0 * math.sqrt(kappa) + kappa
    joint = np.linspace(max(e - width, 1e-12), min(e + width, 1.0), size)
    other = np.linspace(max(d - width, 1e-12), min(d + width, 1.0), size)
    joint, other = np.meshgrid(joint, other)
    with np.errstate(all="ignore"):
        left = 1.0 - joint - other
        divergence = (
            e * np.log(e / joint) + d * np.log(d / other) + (1 - e - d) * np.log((1 - e - d) / left)
        )
        inside = (left > 0) & (divergence <= kappa)
    return joint[inside], other[inside]


def below_the_plateau(seed, count):
    rng = np.random.default_rng(seed)
    while count:
        e, d = random_moments(rng)
        kappa = float(10 ** rng.uniform(-2.5, -0.5))
        if e > 1e-3 and d > 1e-3 and kappa < 0.9 * _slack_to_plateau(e, d):
            yield e, d, kappa
            count -= 1


def test_worst_point_of_one_level_against_a_grid():
    """The inner problem of MAXIMIZE-e-d: α(1−2d) − (1−(2e+d))² over the ball."""
    for e, d, kappa in below_the_plateau(0, 15):
        joint, other = grid_of_the_ball(e, d, kappa)
        for alpha in (0.05, 0.3, 0.7, 0.95):
            best = np.max(alpha * (1 - 2 * other) - (1 - 2 * joint - other) ** 2)
            worst = _worst_for_level(e, d, kappa, alpha)
            found = (
                alpha * (1 - 2 * worst.disagreement)
                - (1 - 2 * worst.joint_error - worst.disagreement) ** 2
            )
            assert found >= best - 1e-7, (e, d, kappa, alpha)
            assert found <= best + 0.02  # the grid is that fine
            divergence = trinomial_kl(e, d, worst.joint_error, worst.disagreement)
            assert divergence == pytest.approx(kappa, rel=1e-6)


@pytest.mark.parametrize("tolerance", [0.01, 1e-4])
def test_bisection_of_the_paper(tolerance, exact):
    """It ends on the boundary of the ball, at a point nearly as bad as the worst one."""
    for e, d, kappa in below_the_plateau(1, 25):
        worst = bisect_worst_point(e, d, kappa, tolerance)
        divergence = trinomial_kl(e, d, worst.joint_error, worst.disagreement)
        assert divergence == pytest.approx(kappa, rel=1e-6)
        value = 1.0 - (1.0 - 2.0 * worst.joint_error - worst.disagreement) ** 2 / (
            1.0 - 2.0 * worst.disagreement
        )
        supremum = float(exact.supremum(e, d, kappa))
        assert supremum - 2.0 * tolerance <= value <= supremum + 1e-9
        joint, other = grid_of_the_ball(e, d, kappa)
        below_half = other < 0.5
        values = 1 - (1 - 2 * joint - other)[below_half] ** 2 / (1 - 2 * other[below_half])
        assert values.max() <= value + 2.0 * tolerance


def test_bisection_of_the_paper_on_the_plateau():
    """Where the ball meets 2e + d = 1 the point it finds has a C-bound near 1."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        e, d = random_moments(rng)
        kappa = _slack_to_plateau(e, d) * float(rng.uniform(1.01, 3.0))
        worst = bisect_worst_point(e, d, kappa, 0.01)
        assert trinomial_kl(e, d, worst.joint_error, worst.disagreement) <= kappa * (1 + 1e-6)
        margin = 1.0 - 2.0 * worst.joint_error - worst.disagreement
        assert margin <= 0.0 or margin**2 / (1.0 - 2.0 * worst.disagreement) <= 0.02
