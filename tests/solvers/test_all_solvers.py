"""What must hold for every solver on every bound it takes.

The kits are classes of tests that take names of a solver and of a bound; what is known about the
bound is in tests/reference.py.
"""

import itertools
import math
import pickle
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from certivote import VoteStatistics, minimize
from certivote.bounds import GibbsBound, MomentBound, get_bound
from certivote.solvers import (
    COCOB,
    LBFGS,
    Adam,
    Alternating,
    FirstOrder,
    GradientDescent,
    Solver,
    get_solver,
    list_solvers,
)
from certivote.solvers.base import Problem
from certivote.solvers.paper import PrintedSettings, bisect_worst_point, printed_objective
from reference import DESCENDED, MOMENT_BOUNDS, REFERENCES

# Those that have the relaxation which `alternating` minimises.
RELAXED = [name for name in REFERENCES if REFERENCES[name].one_moment]
every_solver = pytest.mark.parametrize("solver_name", list_solvers())


def pairs_with(bounds):
    """Every solver with every one of these bounds that it takes."""
    pairs = itertools.product(list_solvers(), bounds)
    return [(solver, name) for solver, name in pairs if solver != "alternating" or name in RELAXED]


def statistics_of(losses):
    """Statistics that have all that any bound needs."""
    return VoteStatistics.from_losses(losses, keep_rows=True)


@cache
def sample(seed, m=1_000, n=8):
    """Voters of different skill on examples of different difficulty."""
    rng = np.random.default_rng([seed, m, n])
    difficulty = rng.beta(0.3, 2.0, size=(m, 1))
    skill = rng.uniform(0.3, 1.7, size=n)
    return statistics_of(rng.random((m, n)) < np.clip(difficulty * skill, 0, 1))


def quick(solver_name, n_iter=300):
    """The solver with its defaults, but fewer of the paper's updates."""
    solver = get_solver(solver_name)
    return solver.set_params(n_iter=n_iter) if "n_iter" in solver.get_params() else solver


def steps(bound_name):
    """Fewer of them where every one sees every example, for each of several members."""
    return 300 if isinstance(get_bound(bound_name), MomentBound) else 30


def gradient_in_logits(weights, gradient):
    gradient = np.where(weights > 0, gradient, 0.0)
    return weights * (gradient - weights @ gradient)


CORNERS = {
    "no errors": np.zeros((40, 3), int),
    "only errors": np.ones((40, 3), int),
    "identical voters": np.repeat(np.arange(40)[:, None] % 5 == 0, 3, axis=1),
    "complementary voters": np.stack([np.arange(40) % 2, 1 - np.arange(40) % 2], axis=1),
    "a perfect voter": np.stack([np.zeros(40), np.arange(40) % 2, np.arange(40) % 3 == 0], axis=1),
    "one example": np.array([[0, 1, 0]]),
    "one voter": (np.arange(40)[:, None] % 7 == 0),
}


def best_of_two(bound, statistics, prior):
    """The smallest value over two voters: a fine grid, then Brent's method around its best."""

    def value(share):
        return bound.value(statistics, [share, 1 - share], prior)

    grid = np.linspace(0.0, 1.0, 801)
    values = [value(share) for share in grid]
    best = int(np.argmin(values))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, 800)]
    refined = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-10})
    return min(refined.fun, values[best])


def best_of_three(bound, statistics, prior):
    """The smallest value over three voters: a grid on the simplex, then finer ones at its best."""
    centre, width = np.full(2, 0.5), 0.5
    while width > 1e-4:
        axes = np.clip(centre[:, None] + width * np.linspace(-1.0, 1.0, 21), 0.0, 1.0)
        inside = [(a, b) for a in axes[0] for b in axes[1] if a + b <= 1.0]
        values = [bound.value(statistics, [a, b, max(0.0, 1 - a - b)], prior) for a, b in inside]
        best = int(np.argmin(values))
        centre, width = np.array(inside[best]), width / 5.0
    return values[best]


# ------------------------------------------------------------------ the kits


class SolverKit:
    """For any solver and any bound that it descends."""

    def test_result_is_a_certificate_below_that_of_the_prior(self, solver_name, bound_name):
        bound, rng = get_bound(bound_name), np.random.default_rng(0)
        for seed in range(3):
            statistics = sample(seed)
            prior = None if seed == 0 else rng.dirichlet(np.full(8, 5.0))
            solver = quick(solver_name, steps(bound_name))
            result = minimize(bound, statistics, prior, solver=solver)
            start = np.full(8, 1 / 8) if prior is None else prior
            assert result.weights.shape == (8,)
            assert result.weights.min() >= 0.0
            assert result.weights.sum() == pytest.approx(1.0, abs=1e-12)
            assert result.value == bound.value(statistics, result.weights, prior)
            if isinstance(bound, MomentBound):
                assert result.value < bound.value(statistics, start, prior)
            else:  # the prior itself may be the best vote that it can certify
                assert result.value <= bound.value(statistics, start, prior)
            assert result.converged
            assert result.message
            assert result.n_iter == len(result.history)
            assert all(type(value) is float for value in result.history)

    @pytest.mark.parametrize("losses", CORNERS.values(), ids=CORNERS)
    def test_corners(self, solver_name, bound_name, losses):
        """With nothing to learn, or everything: no warning, no NaN, no worse than the prior."""
        statistics, bound = statistics_of(losses), get_bound(bound_name)
        n = statistics.n_voters
        result = minimize(bound, statistics, solver=quick(solver_name, 20))
        assert np.isfinite(result.weights).all()
        assert result.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.isfinite(result.value)
        assert np.isfinite(result.history).all()
        assert result.value <= bound.value(statistics, np.full(n, 1 / n)) + 1e-12

    def test_callback_hears_every_entry_of_the_history(self, solver_name, bound_name):
        heard = []
        result = minimize(
            bound_name,
            sample(0),
            solver=quick(solver_name, 20),
            callback=lambda iteration, value: heard.append((iteration, value)),
        )
        assert len(heard) > 0
        assert heard == list(enumerate(result.history, start=1))

    def test_the_same_seed_gives_the_same_bits(self, solver_name, bound_name):
        solver = quick(solver_name, 50)
        if solver_name == "lbfgs":
            solver = LBFGS(n_random=3)
        one, two = (
            minimize(bound_name, sample(1), solver=solver, random_state=7) for _ in range(2)
        )
        assert one.weights.tobytes() == two.weights.tobytes()
        assert one.value == two.value
        assert one.history == two.history

    def test_a_prior_of_zero_gives_a_weight_of_zero(self, solver_name, bound_name):
        statistics = sample(0)
        best = int(np.argmin(statistics.errors))
        prior = np.full(8, 1 / 6)
        prior[[best, (best + 3) % 8]] = 0.0
        solver = quick(solver_name, steps(bound_name))
        result = minimize(bound_name, statistics, prior, solver=solver)
        assert np.all(result.weights[prior == 0] == 0.0)
        assert np.isfinite(result.value)
        kept = np.flatnonzero(prior)
        losses = np.unpackbits(statistics.rows, axis=1, count=8)
        fewer = statistics_of(losses[:, kept])
        alone = minimize(bound_name, fewer, solver=solver)
        # The updates of the paper overshoot a narrow valley, and then the last bits count.
        descends = isinstance(get_bound(bound_name), MomentBound) or solver_name == "lbfgs"
        assert result.value == pytest.approx(alone.value, abs=1e-6 if descends else 1e-2)

    def test_solving_leaves_the_arguments_alone(self, solver_name, bound_name):
        bound, solver, prior = get_bound(bound_name), quick(solver_name, 10), np.full(8, 1 / 8)
        settings, statistics = solver.get_params(), sample(0)
        digest = (statistics.errors.tobytes(), statistics.tandem.tobytes())
        first = minimize(bound, statistics, prior, solver=solver)
        second = minimize(bound, statistics, prior, solver=solver)
        assert solver.get_params() == settings
        assert (prior == 1 / 8).all()
        assert (statistics.errors.tobytes(), statistics.tandem.tobytes()) == digest
        assert first.weights.tobytes() == second.weights.tobytes()


def check_near_the_minimum(solver, bound_name):
    """What a solver calls converged is a minimum that a search of the whole simplex finds too."""
    bound, rng = get_bound(bound_name), np.random.default_rng(3)
    statistics = statistics_of(rng.random((2_000, 3)) < [0.1, 0.15, 0.3])
    for prior in ([1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7]):
        best = best_of_three(bound, statistics, prior)
        assert bound.value(statistics, prior, prior) > 1.1 * best  # there is something to find
        result = minimize(bound, statistics, prior, solver=solver)
        assert result.converged
        assert best - 1e-6 <= result.value <= best * (1.0 + 1e-3)


class OneStep(Solver):
    """A solver that is of no use: one short step, and it says that it has converged."""

    name = "one step"

    def _solve(self, problem, random_state):
        point = np.zeros_like(problem.prior)
        value, gradient = problem.objective(point)
        problem.record(value)
        return problem.weights(point - 1e-3 * gradient), True, "done"


class DescendedBoundKit:
    """For any bound that solvers descend."""

    @pytest.mark.parametrize(
        "solver",
        [
            FirstOrder("gd", n_iter=3).set_params(update=GradientDescent(learning_rate=1e6)),
            FirstOrder(Adam(learning_rate=50.0), n_iter=3),
            FirstOrder(COCOB(alpha=0.01), n_iter=2),
        ],
        ids=["gd", "adam", "cocob"],
    )
    def test_a_wild_update_never_ends_above_the_prior(self, solver, bound_name):
        """The prior is a point on the way too, and may be the best one."""
        bound = get_bound(bound_name)
        losses = (
            np.random.default_rng(1).random((400, 30)) < 0.2
        )  # alike, so that the prior is best
        statistics = statistics_of(losses)
        result = minimize(bound, statistics, solver=clone(solver))
        assert result.value <= bound.value(statistics, np.full(30, 1 / 30)) + 1e-12


class MomentBoundKit:
    """For any bound that r, e, d, KL and m determine: known answers."""

    def test_lbfgs_ends_at_a_stationary_point(self, bound_name):
        bound = get_bound(bound_name)
        for seed in range(4):
            statistics = sample(seed)
            result = minimize(bound, statistics)
            value, gradient = bound.value_and_gradient(statistics, result.weights)
            start = bound.value_and_gradient(statistics, np.full(8, 1 / 8))[1]
            assert value < 1.0
            assert np.abs(gradient_in_logits(result.weights, gradient)).max() < 1e-6
            assert np.abs(gradient_in_logits(np.full(8, 1 / 8), start)).max() > 1e-4

    @pytest.mark.parametrize("seed", range(4))
    def test_two_voters_against_brute_force(self, bound_name, seed):
        bound, statistics = get_bound(bound_name), sample(seed, m=2_000, n=2)
        for prior in ([0.5, 0.5], [0.2, 0.8]):
            best = best_of_two(bound, statistics, prior)
            found = minimize(bound, statistics, prior)
            assert found.value == pytest.approx(best, abs=1e-8)

    @pytest.mark.parametrize("seed", range(2))
    def test_two_voters_with_the_algorithms_of_the_paper(self, bound_name, seed):
        """One descent from the prior: it ends at a local minimum, perhaps not at the best."""
        bound, statistics = get_bound(bound_name), sample(seed, m=2_000, n=2)
        values = [
            bound.value(statistics, [share, 1 - share]) for share in np.linspace(0.0, 1.0, 401)
        ]
        walled = [math.inf, *values, math.inf]
        minima = [b for a, b, c in zip(walled, walled[1:], walled[2:], strict=False) if a >= b <= c]
        found = minimize(bound, statistics, solver=FirstOrder("cocob", n_iter=1_000)).value
        assert 1 <= len(minima) <= 3
        assert min(abs(found - value) for value in minima) < 1e-4
        assert found < values[200]

    @pytest.mark.parametrize("seed", range(2))
    def test_three_voters_against_brute_force(self, bound_name, seed):
        bound, statistics = get_bound(bound_name), sample(seed, m=2_000, n=3)
        steps = 50
        grid = [
            bound.value(statistics, np.array([a, b, steps - a - b]) / steps)
            for a in range(steps + 1)
            for b in range(steps + 1 - a)
        ]
        found = minimize(bound, statistics)
        assert min(grid) - 2e-3 <= found.value <= min(grid) + 1e-9

    def test_minima_on_wdbc(self, bound_name, wdbc, exact):
        assert wdbc.n_samples == 143
        bound = get_bound(bound_name, constant="maurer")
        result = minimize(bound, wdbc)
        best = REFERENCES[bound_name].minimum
        assert best is None or result.value <= best.value + 2e-4
        reference = exact.value(bound, wdbc, result.weights)
        assert reference <= result.value <= reference + 1e-11

    @pytest.mark.parametrize("update", ["adam", "gd", "cocob"])
    def test_every_update_descends(self, bound_name, update):
        bound, statistics = get_bound(bound_name), sample(2)
        result = minimize(bound, statistics, solver=FirstOrder(update, n_iter=200))
        start = bound.value(statistics, np.full(8, 1 / 8))
        best = minimize(bound, statistics).value
        assert result.n_iter == 200
        assert best - 1e-9 <= result.value < start - 0.05 * (start - best)


@pytest.mark.parametrize(("solver_name", "bound_name"), pairs_with(DESCENDED))
class TestSolvers(SolverKit):
    pass


@pytest.mark.parametrize("bound_name", DESCENDED)
class TestDescended(DescendedBoundKit):
    pass


@pytest.mark.parametrize("bound_name", MOMENT_BOUNDS)
class TestMomentBounds(MomentBoundKit):
    pass


# ------------------------------------------------------------------ known answers of some bounds


# Bounds that have one minimum only, where voters differ, and that every solver takes.
@pytest.mark.parametrize("bound_name", RELAXED)
@every_solver
def test_what_has_converged_is_near_the_minimum(solver_name, bound_name):
    check_near_the_minimum(get_solver(solver_name), bound_name)


@pytest.mark.parametrize("bound_name", RELAXED)
def test_a_solver_that_is_of_no_use_is_found_out(bound_name):
    with pytest.raises(AssertionError):
        check_near_the_minimum(OneStep(), bound_name)


def best_gibbs_posterior(bound, statistics, prior):
    """The exact minimum of 2kl⁺: at any KL the best weights are p·exp(−β errors)."""

    def value(log_beta):
        tilted = -math.exp(log_beta) * (statistics.errors - statistics.errors.min())
        weights = prior * np.exp(tilted)
        return bound.value(statistics, weights / weights.sum(), prior)

    grid = np.linspace(-12.0, 3.0, 601)
    values = [value(x) for x in grid]
    best = int(np.argmin(values))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, 600)]
    refined = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return min(refined.fun, values[best])


@pytest.mark.parametrize("constant", get_bound("gibbs").constants)
@pytest.mark.parametrize("seed", range(4))
def test_the_global_minimum_of_the_gibbs_bound(seed, constant):
    bound, rng = get_bound("gibbs", constant=constant), np.random.default_rng(seed)
    statistics = sample(seed, m=int(10 ** rng.uniform(2, 4)), n=40)
    prior = rng.dirichlet(np.full(40, 2.0))
    prior[:seed] = 0.0
    prior /= prior.sum()
    found = minimize(bound, statistics, prior).value
    assert found == pytest.approx(best_gibbs_posterior(bound, statistics, prior), abs=1e-9)


def test_the_global_minimum_of_the_gibbs_bound_on_wdbc(wdbc, monkeypatch):
    bound = get_bound("gibbs")
    best = best_gibbs_posterior(bound, wdbc, np.full(100, 0.01))
    found = minimize(bound, wdbc)
    assert found.value == pytest.approx(best, abs=1e-9)
    monkeypatch.setattr(GibbsBound, "minimizer", lambda self, statistics, p: None)
    descended = minimize(bound, wdbc)
    assert found.value <= descended.value == pytest.approx(best, abs=5e-6)
    assert minimize(bound, wdbc, solver=LBFGS(tol=1e-7)).value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_no_descent_ends_below_the_global_minimum_of_the_gibbs_bound(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    m, n = int(10 ** rng.uniform(0.5, 4)), int(rng.integers(1, 60))
    rates = np.where(rng.random(n) < 0.1, 0.02, rng.uniform(0.0, 0.6, n))
    statistics = VoteStatistics.from_losses(rng.random((m, n)) < rates)
    bound, prior = get_bound("gibbs"), rng.dirichlet(np.full(n, 0.3))
    found = minimize(bound, statistics, prior).value
    monkeypatch.setattr(GibbsBound, "minimizer", lambda self, statistics, p: None)
    assert found <= minimize(bound, statistics, prior).value + 1e-12


def test_the_lower_of_two_minima_of_the_gibbs_bound(monkeypatch):
    """One voter never errs, and has hardly any prior: a valley near it, and one at the prior."""
    statistics, bound = VoteStatistics(50, [0, 15], np.diag([0, 15])), get_bound("gibbs")
    prior = np.array([math.exp(-20), -math.expm1(-20)])
    values = [
        bound.value(statistics, [share, 1 - share], prior)
        for share in 1 / (1 + np.exp(np.linspace(25, -40, 2_001)))
    ]
    pass_ = int(np.argmax(values))
    first, second = min(values[:pass_]), min(values[pass_:])
    assert values[pass_] - 0.01 > first > 1.2 * second
    assert minimize(bound, statistics, prior).value <= second + 1e-12
    monkeypatch.setattr(GibbsBound, "minimizer", lambda self, statistics, p: None)
    one_start = minimize(bound, statistics, prior, solver=LBFGS(0, 0)).value
    assert one_start == pytest.approx(first, abs=1e-3)


def test_a_smaller_tolerance_comes_closer(wdbc, monkeypatch):
    monkeypatch.setattr(GibbsBound, "minimizer", lambda self, statistics, p: None)
    bound = get_bound("gibbs")
    best = best_gibbs_posterior(bound, wdbc, np.full(100, 0.01))
    gaps = [minimize(bound, wdbc, solver=LBFGS(tol=tol)).value - best for tol in (1e-3, 1e-9)]
    assert gaps[1] < 1e-8 < gaps[0]


def test_cocob_reaches_the_same_minimum_on_wdbc(wdbc):
    bound = get_bound("lacasse", constant="maurer")
    found = minimize(bound, wdbc, solver="cocob")
    assert found.n_iter == 2_000
    best = minimize(bound, wdbc).value
    assert found.value == pytest.approx(best, abs=1e-4)


# ------------------------------------------------------------------ the parts of first_order


def cocob_by_hand(points, gradients, alpha):
    """COCOB of Orabona and Tommasi 2017, one coordinate at a time, in plain Python."""
    n = len(points)
    origin, largest = list(points), [1e-9] * n
    absolute, total, reward = [0.0] * n, [0.0] * n, [0.0] * n
    for gradient in gradients:
        for i in range(n):
            g = -gradient[i]
            largest[i] = max(largest[i], abs(g))
            absolute[i] += abs(g)
            total[i] += g
            reward[i] = max(0.0, reward[i] + (points[i] - origin[i]) * g)
            scale = largest[i] * max(absolute[i] + largest[i], alpha * largest[i])
            points[i] = origin[i] + total[i] / scale * (largest[i] + reward[i])
        yield list(points)


@pytest.mark.parametrize("alpha", [100.0, 3.0])
def test_cocob_against_a_loop(alpha):
    rng = np.random.default_rng(0)
    start = rng.standard_normal(4)
    gradients = rng.standard_normal((300, 4)) * np.array([1e-3, 1.0, 50.0, 0.0]) + 0.1
    gradients[:, 3] = 0.0  # a coordinate that never moves
    update = COCOB(alpha=alpha)
    state, point = update.start(start), start
    for gradient, expected in zip(
        gradients, cocob_by_hand(list(start), gradients, alpha), strict=True
    ):
        point = update.step(point, gradient, state)
        assert point == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert point[3] == start[3]
    assert np.abs(point[:3] - start[:3]).min() > 1e-3


def test_adam_against_a_loop():
    rng = np.random.default_rng(1)
    gradients, update = rng.standard_normal(50), Adam(learning_rate=0.1)
    state, point = update.start(np.array([1.0])), np.array([1.0])
    w, mean, square = 1.0, 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        point = update.step(point, np.array([g]), state)
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        w -= 0.1 * (mean / (1 - 0.9**t)) / (math.sqrt(square / (1 - 0.999**t)) + 1e-8)
        assert point[0] == pytest.approx(w, rel=1e-10)


def test_gradient_descent_is_a_step_against_the_gradient():
    update = GradientDescent(learning_rate=0.25)
    point, gradient = np.array([1.0, 2.0]), np.array([4.0, -8.0])
    assert update.step(point, gradient, update.start(point)).tolist() == [0.0, 4.0]


def test_the_path_of_cocob_on_the_gibbs_bound():
    """Five updates of the algorithm for 2r, from the prior, written out."""
    statistics, prior = sample(0, n=4), np.array([0.1, 0.2, 0.3, 0.4])
    m, rates = statistics.n_samples, statistics.errors / statistics.n_samples
    bound, history = get_bound("gibbs", constant="maurer"), []

    def softmax(w):
        q = prior * np.exp(w)
        return q / q.sum()

    def slope(w, h=1e-5):
        """The gradient of 2kl⁺ in the logits, by differences."""

        def value(w):
            q = softmax(w)
            kl = float(q @ np.log(q / prior))
            a, psi = float(q @ rates), (kl + math.log(2 * math.sqrt(m) / 0.05)) / m
            low, high = a, 1.0
            for _ in range(80):
                b = 0.5 * (low + high)
                divergence = a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))
                low, high = (b, high) if divergence <= psi else (low, b)
            return 2 * low

        return [(value(w + h * unit) - value(w - h * unit)) / (2 * h) for unit in np.eye(4)]

    def gradients():
        while True:
            yield slope(np.array(points))

    points = [0.0] * 4
    for _, point in zip(range(5), cocob_by_hand(points, gradients(), 100.0), strict=False):
        history.append(bound.value(statistics, softmax(np.array(point)), prior))
    result = minimize(bound, statistics, prior, solver=FirstOrder("cocob", n_iter=5))
    assert result.history == pytest.approx(history, abs=1e-7)
    assert history[-1] != pytest.approx(history[0], abs=1e-5)


def printed_settings(**changes):
    """What a solver with these settings, and its defaults, descends the paper's objectives with."""
    solver = FirstOrder(**changes)
    return PrintedSettings(*(getattr(solver, name) for name in PrintedSettings._fields))


@pytest.mark.parametrize("strength", [100.0, 7.0])
def test_barrier_is_continuous_with_its_derivative(strength):
    barrier, edge = printed_settings(barrier_strength=strength).barrier, -1.0 / strength**2
    step = abs(edge) * 1e-7
    (below, slope_below), (above, slope_above) = barrier(edge - step), barrier(edge + step)
    assert below == pytest.approx(above, abs=4 * strength * step)
    assert slope_below == pytest.approx(slope_above, rel=1e-5)
    assert slope_above == pytest.approx(strength)
    assert barrier(edge)[0] == pytest.approx(-math.log(1 / strength**2) / strength)
    for a in (-0.5, -0.1, edge * 3, edge * 1.5, edge * 0.5, 0.0, 0.3):
        h = abs(edge) * 1e-4
        numerical = (barrier(a + h)[0] - barrier(a - h)[0]) / (2 * h)
        assert barrier(a)[1] == pytest.approx(numerical, rel=1e-5)
    assert barrier(-0.5)[0] == pytest.approx(math.log(2.0) / strength)


def test_bisected_inverses(exact):
    settings, rng = printed_settings(), np.random.default_rng(3)
    for a in [*rng.random(30), 0.0, 1.0, 1e-9, 0.5]:
        a, psi = float(a), float(10 ** rng.uniform(-6, 0))
        upper, lower = settings.inverse_upper(a, psi), settings.inverse_lower(a, psi)
        assert abs(upper.value - exact.kl_upper(a, psi)) <= 1e-9
        assert abs(lower.value - exact.kl_lower(a, psi)) <= 1e-9


def test_derivatives_of_the_bisected_inverses(exact):
    settings, rng = printed_settings(), np.random.default_rng(4)
    h = exact.mpf(10) ** -15
    for _ in range(15):
        a, psi = float(rng.uniform(0.02, 0.9)), float(10 ** rng.uniform(-3, -0.5))
        for found, inverse in (
            (settings.inverse_upper(a, psi), exact.kl_upper),
            (settings.inverse_lower(a, psi), exact.kl_lower),
        ):
            x, y = exact.mpf(a), exact.mpf(psi)
            in_a = (inverse(x + h, y) - inverse(x - h, y)) / (2 * h)
            in_psi = (inverse(x, y + h) - inverse(x, y - h)) / (2 * h)
            assert found.frequency == pytest.approx(float(in_a), rel=1e-5)
            assert found.psi == pytest.approx(float(in_psi), rel=1e-5)


def test_a_coarse_bisection_stops_early(exact):
    coarse = printed_settings(inverse_tolerance=0.1).inverse_upper(0.2, 0.01).value
    few = printed_settings(inverse_max_iter=3).inverse_upper(0.2, 0.01).value
    right = exact.kl_upper(0.2, 0.01)
    assert 1e-4 < abs(coarse - right) <= 0.1
    assert 1e-4 < abs(few - right) <= 0.8 / 2**3


@pytest.mark.parametrize("bound_name", ["mcallester", "seeger", "gibbs", "tandem"])
def test_printed_objective_against_finite_differences(bound_name):
    """On both sides of the barrier's edge."""
    bound, settings = get_bound(bound_name), printed_settings(inverse_tolerance=1e-15)
    rng, prior, beyond = np.random.default_rng(0), np.full(8, 1 / 8), 0
    hard = VoteStatistics.from_losses(rng.random((100, 8)) < 0.45)
    for statistics in [hard, sample(0, m=40), *map(sample, range(4))]:
        q = rng.dirichlet(np.full(8, 5.0)) * 0.8 + 0.025
        problem = Problem(bound, statistics, prior, [])
        logits = problem.logits(q)
        value, gradient = printed_objective(problem, logits, settings)
        beyond += value > 1.0
        direction = rng.standard_normal(8)
        h = 1e-5
        above, below = (
            printed_objective(problem, logits + sign * h * direction, settings)[0]
            for sign in (1, -1)
        )
        slope = (above - below) / (2 * h)
        assert float(gradient @ direction) == pytest.approx(slope, rel=1e-4, abs=1e-8)
    assert beyond > 0  # where the barrier is linear, or 2r and 4e say nothing


def test_printed_objective_of_algorithm_3():
    """B(2e+d−1) − B(kl₃(·‖e*, d*) − κ), of which (e*, d*) stay where the bisection left them."""
    bound, settings = get_bound("lacasse", constant="maurer"), printed_settings()
    rng, prior = np.random.default_rng(0), np.full(8, 1 / 8)

    def barrier(a):
        if a <= -1e-4:
            return -math.log(-a) / 100
        return 100 * a - math.log(1e-4) / 100 + 0.01

    for seed in range(4):
        statistics = sample(seed)
        m = statistics.n_samples

        def moments(q):
            r, e = q @ statistics.errors / m, q @ statistics.tandem @ q / m  # noqa: B023
            kappa = (2 * q @ np.log(8 * q) + math.log((2 * math.sqrt(m) + m) / 0.05)) / m  # noqa: B023
            return e, 2 * (r - e), kappa

        q = rng.dirichlet(np.full(8, 5.0)) * 0.8 + 0.025
        worst = bisect_worst_point(*moments(q), 0.01)
        b = worst.joint_error, worst.disagreement

        def objective(q):
            e, d, kappa = moments(q)
            triple = ((e, b[0]), (d, b[1]), (1 - e - d, 1 - sum(b)))  # noqa: B023
            divergence = sum(x * math.log(x / y) for x, y in triple)
            return barrier(2 * e + d - 1) - barrier(divergence - kappa)

        problem = Problem(bound, statistics, prior, [])
        logits = problem.logits(q)
        value, gradient = printed_objective(problem, logits, settings)
        assert value == pytest.approx(objective(q), rel=1e-6)
        direction, h = rng.standard_normal(8), 1e-6
        above, below = (
            objective(problem.weights(logits + sign * h * direction)) for sign in (1, -1)
        )
        slope = (above - below) / (2 * h)
        assert float(gradient @ direction) == pytest.approx(slope, rel=1e-4)


# ------------------------------------------------------------------ alternating


@pytest.mark.parametrize("bound_name", RELAXED)
def test_alternating_never_ends_above_the_prior(bound_name):
    """It minimises a relaxation: the best of that need not be better than the prior."""
    bound = get_bound(bound_name)
    for seed in range(20):
        losses = np.random.default_rng(seed).random((60, 30)) < 0.05
        statistics = VoteStatistics.from_losses(losses)
        result = minimize(bound, statistics, solver="alternating")
        assert result.value <= bound.value(statistics, np.full(30, 1 / 30)) + 1e-12


@pytest.mark.parametrize("bound_name", RELAXED)
def test_alternating_ends_at_a_stationary_point(bound_name):
    """Of the relaxation, whose gradient is written out here."""
    bound, statistics = get_bound(bound_name, constant="maurer"), sample(1)
    result = minimize(bound, statistics, solver=Alternating(tol=1e-13))
    q, m = result.weights, statistics.n_samples
    kl = float(q @ np.log(8 * q))
    which, copies, scale = REFERENCES[bound_name].one_moment
    if which == "gibbs_risk":
        moment, slope = q @ statistics.errors / m, statistics.errors / m
    else:
        moment, slope = q @ statistics.tandem @ q / m, 2 * statistics.tandem @ q / m
    complexity = copies * kl + math.log(2 * math.sqrt(m) / 0.05)
    trade_off = 2 / (math.sqrt(2 * m * moment / complexity + 1) + 1)
    shrink = 1 - trade_off / 2
    relaxed = scale * (moment / shrink + complexity / (trade_off * shrink * m))
    gradient = scale * (slope / shrink + copies * (np.log(8 * q) + 1) / (trade_off * shrink * m))
    assert np.abs(gradient_in_logits(q, gradient)).max() < 1e-5
    assert result.history[-1] == pytest.approx(result.value, abs=1e-9)
    assert result.value <= relaxed


@pytest.mark.parametrize("bound_name", RELAXED)
def test_two_voters_with_the_relaxation(bound_name):
    bound, statistics = get_bound(bound_name), sample(1, m=2_000, n=2)

    def relaxed(share):
        q = np.array([share, 1 - share])
        moments, kl = statistics.moments(q), float(q @ np.log(2 * q))
        return bound.relaxed(moments, kl, bound.best_trade_off(moments, kl)).value

    best = min(relaxed(share) for share in np.linspace(1e-6, 1 - 1e-6, 4_001))
    found = minimize(bound, statistics, solver="alternating")
    assert relaxed(found.weights[0]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("bound_name", [name for name in MOMENT_BOUNDS if name not in RELAXED])
def test_alternating_refuses_other_bounds_by_name(bound_name):
    with pytest.raises(ValueError, match=f"alternating.*tandem.*gibbs.*{bound_name}"):
        minimize(bound_name, sample(0), solver="alternating")


@pytest.mark.parametrize("bound_name", RELAXED)
def test_the_best_trade_off(bound_name):
    bound, rng = get_bound(bound_name, constant="maurer"), np.random.default_rng(0)
    for seed in range(5):
        moments, kl = sample(seed).moments(rng.dirichlet(np.ones(8))), float(rng.exponential())
        best = minimize_scalar(
            lambda x: bound.relaxed(moments, kl, x).value,  # noqa: B023
            bounds=(1e-6, 2 - 1e-6),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert bound.best_trade_off(moments, kl) == pytest.approx(best.x, abs=1e-5)
        m = 1_000
        which, copies, scale = REFERENCES[bound_name].one_moment
        moment = getattr(moments, which)
        complexity = copies * kl + math.log(2 * math.sqrt(m) / 0.05)
        shrink = 1 - best.x / 2
        expected = scale * (moment / shrink + complexity / (best.x * shrink * m))
        assert best.fun == pytest.approx(expected, rel=1e-9)
        assert best.fun >= bound.from_moments(moments.gibbs_risk, moments.joint_error, kl, m)


# ------------------------------------------------------------------ results, seeds, settings


def test_random_starts_depend_on_the_seed():
    one, two, state = (
        minimize("tandem", sample(1), solver=LBFGS(0, 0, n_random=2), random_state=random_state)
        for random_state in (1, 2, np.random.RandomState(1))
    )
    assert one.history != two.history
    assert one.history == state.history


def test_more_starts_are_never_worse():
    """But for the tolerance: starts are compared before they have quite arrived."""
    for name in MOMENT_BOUNDS:
        few = minimize(name, sample(3, n=20), solver=LBFGS(0, 0)).value
        many = minimize(name, sample(3, n=20), solver=LBFGS(4, 3, 3)).value
        assert many <= few + 2e-5


def test_random_starts_with_a_prior_of_zero():
    prior = np.r_[0.0, np.full(7, 1 / 7)]
    result = minimize("lacasse", sample(0), prior, solver=LBFGS(n_random=3))
    assert result.weights[0] == 0.0


@pytest.mark.parametrize(
    ("solver", "bound_name"),
    [(LBFGS(0, 0, max_iter=1), name) for name in MOMENT_BOUNDS if name != "gibbs"]
    + [(Alternating(max_iter=1), name) for name in RELAXED],
)
def test_stopping_early_warns_and_is_still_a_certificate(solver, bound_name, exact):
    # As published: what some bounds find without a descent is not stopped.
    bound, statistics = get_bound(bound_name, constant="maurer"), sample(0)
    with pytest.warns(ConvergenceWarning, match=f"{solver.name}.*valid"):
        result = minimize(bound, statistics, solver=solver)
    assert not result.converged
    assert result.value >= exact.value(bound, statistics, result.weights)
    assert result.value == bound.value(statistics, result.weights)


def test_unknown_solvers_list_the_known_ones():
    with pytest.raises(ValueError, match="newton") as error:
        minimize("tandem", sample(0), solver="newton")
    for name in list_solvers():
        assert name in str(error.value)


def test_a_solver_object_is_returned_as_it_is():
    solver = LBFGS(n_single=1)
    assert get_solver(solver) is solver
    assert get_solver("cocob").update == "cocob"


@pytest.mark.parametrize(
    ("solver", "word"),
    [
        (LBFGS(n_tempered=-1), "n_tempered"),
        (LBFGS(n_single=1.5), "n_single"),
        (LBFGS(n_random=None), "n_random"),
        (LBFGS(tol=0.0), "tol"),
        (LBFGS(tol=math.nan), "tol"),
        (LBFGS(tol="a"), "tol"),
        (LBFGS(max_iter=0), "max_iter"),
        (LBFGS(max_iter=2.5), "max_iter"),
        (LBFGS(memory=0), "memory"),
        (FirstOrder("newton"), "update"),
        (FirstOrder(None), "update"),
        (FirstOrder(n_iter=0), "n_iter"),
        (FirstOrder(n_iter=1.0), "n_iter"),
        (FirstOrder(n_iter=True), "n_iter"),
        (FirstOrder(barrier_strength=-1.0), "barrier_strength"),
        (FirstOrder(tolerance=0.0), "tolerance"),
        (FirstOrder(tolerance=1.0), "tolerance"),
        (FirstOrder(inverse_tolerance=-1e-9), "inverse_tolerance"),
        (FirstOrder(inverse_max_iter=0), "inverse_max_iter"),
        (FirstOrder(COCOB(alpha=0.0)), "alpha"),
        (FirstOrder(Adam(learning_rate=-1.0)), "learning_rate"),
        (FirstOrder(GradientDescent(learning_rate=math.nan)), "learning_rate"),
        (Alternating(tol=-1.0), "tol"),
        (Alternating(max_iter=0), "max_iter"),
    ],
)
def test_bad_settings_are_refused_by_name(solver, word):
    with pytest.raises(ValueError, match=word):
        minimize("tandem", sample(0), solver=solver)


@every_solver
def test_bad_problems_are_refused_by_name(solver_name):
    with pytest.raises(ValueError, match="prior"):
        minimize("tandem", sample(0), [0.5, 0.5], solver=solver_name)
    with pytest.raises(ValueError, match="delta"):
        minimize(get_bound("tandem").set_params(delta=2.0), sample(0), solver=solver_name)
    with pytest.raises(TypeError, match="statistics must be Statistics, got ndarray"):
        minimize("tandem", np.zeros((3, 2)), solver=solver_name)


@every_solver
def test_clone_pickle_and_parameters(solver_name):
    solver = get_solver(solver_name)
    for copy in (clone(solver), pickle.loads(pickle.dumps(solver))):
        assert type(copy) is type(solver)
        assert copy is not solver
        assert copy.get_params() == solver.get_params()
    assert type(solver).__name__ in repr(solver)
    assert solver.get_params()


def test_settings_of_a_nested_update():
    solver = FirstOrder(COCOB(alpha=50.0), n_iter=100)
    copy = clone(solver).set_params(update__alpha=7.0, n_iter=3)
    assert (copy.update.alpha, copy.n_iter) == (7.0, 3)
    assert (solver.update.alpha, solver.n_iter) == (50.0, 100)
    assert solver.get_params()["update__alpha"] == 50.0
    assert pickle.loads(pickle.dumps(copy)).update.alpha == 7.0
    with pytest.raises(ValueError, match="beta"):
        solver.set_params(update__beta=1.0)
    other = minimize("tandem", sample(0), solver=copy)
    assert (
        other.history
        != minimize("tandem", sample(0), solver=clone(copy).set_params(update__alpha=300.0)).history
    )
