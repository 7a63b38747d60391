"""The default solver: quasi-Newton on the certificate's true gradient, from several starts."""

import math
from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_positive
from .base import Problem, Solver

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

__all__ = ["LBFGS"]

_FEW = 100
# Where the members of a bound compete, a start this many times as high as what another one has
# reached is not followed, if what was reached from the prior is this good.
_HOPELESS, _GOOD = 1.3, 0.2
# Where few starts suffice, a tempered one this many times as high as the prior is left out; and if
# descents have come to this many times what is there without one, the best is not followed to the
# last digit, which would lower it by a few thousandths at most.
_HIGH, _BEATEN = 1.15, 1.02
# Why it stopped where there was nothing to descend.
_GLOBAL = "the smallest value of all weights, by a search in one dimension"


class LBFGS(Solver):
    """Minimise the certificate itself with L-BFGS, from several starts, and keep the best.

    Weights are ``q ∝ p·exp(logits)``. The bounds are not convex: a single good voter, the prior and
    mixtures in between may each be a local minimum. The starts are, in this order: the prior; the
    prior tempered by the voters' errors, ``p·exp(−β·errors)``, for several β; the best single
    voters; and random weights. A bound that finds its global minimum itself (``gibbs``) is asked
    for it, whatever the settings.

    Parameters
    ----------
    n_tempered : int, default=3
        The number of tempered starts.
    n_single : int, default=2
        The number of best single voters to start from.
    n_random : int, default=0
        The number of random starts, drawn from a flat Dirichlet distribution.
    tol : float, default=1e-6
        It stops when no derivative in a logit exceeds `tol` times the value, or when one iteration
        lowers the logarithm of the value by less than ``tol²``. Each start is followed until
        ``100·tol``, and the best one to the end. Where the members of a bound compete, the lowest
        starts come first, those 1.3 times as high as what has been reached are left out, unless
        the prior leads nowhere below 0.2, and with n > 100 voters `tol` is multiplied by 100/n.
        ``cantelli`` and ``seeger`` have fewer starts: not those from single voters, nor tempered
        ones 1.15 times as high as the prior.
    max_iter : int, default=20000
        The largest number of iterations of one run.
    memory : int, default=20
        The number of past steps that describe the curvature.

    Examples
    --------
    >>> from certivote import VoteStatistics, minimize
    >>> from certivote.bounds import get_bound
    >>> from certivote.solvers import LBFGS
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100)
    >>> result = minimize(get_bound("tandem"), s, solver=LBFGS(n_single=0))
    >>> result.converged
    True
    """

    name = "lbfgs"

    def __init__(
        self,
        n_tempered: int = 3,
        n_single: int = 2,
        n_random: int = 0,
        tol: float = 1e-6,
        max_iter: int = 20_000,
        memory: int = 20,
    ) -> None:
        self.n_tempered = n_tempered
        self.n_single = n_single
        self.n_random = n_random
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    def _check_settings(self) -> None:
        for setting in ("n_tempered", "n_single", "n_random"):
            number = getattr(self, setting)
            if not isinstance(number, Integral) or isinstance(number, bool) or number < 0:
                raise ValueError(f"{setting} must be a non-negative integer, got {number!r}.")
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("memory", self.memory, integer=True)

    def _starts(
        self, problem: Problem, random_state: int | np.random.RandomState | None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the logits to start from."""
        from sklearn.utils import check_random_state

        yield np.zeros(problem.prior.size)
        errors = problem.statistics.error_rates
        spread = float(errors.max() - errors.min())
        if spread > 0.0:
            excess = (errors - errors.min()) / spread
            tempered = [4.0 ** (power + 0.5) * (1.0 - excess) for power in range(self.n_tempered)]
            if problem.bound.needs_few_starts:
                highest = _HIGH * problem.objective(np.zeros(errors.size))[0]
                tempered = [x for x in tempered if problem.objective(x)[0] <= highest]
            yield from tempered
        order = np.argsort(np.where(problem.prior > 0, errors, np.inf), kind="stable")
        singles = min(self.n_single, np.count_nonzero(problem.prior))
        for voter in order[: 0 if problem.bound.needs_few_starts else singles]:
            single = 0.05 * problem.prior
            single[voter] += 0.95
            yield problem.logits(single)
        rng = check_random_state(random_state)
        for _ in range(self.n_random):
            yield problem.logits(rng.dirichlet(np.ones(problem.prior.size)))

    def _descend(
        self, problem: Problem, start: NDArray[np.float64], tol: float
    ) -> "OptimizeResult":
        from scipy.optimize import minimize as scipy_minimize

        # The logarithm makes the criterion relative: certificates of large samples are small.
        def objective(logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            value, gradient = problem.objective(logits)
            return math.log(value), gradient / value

        def callback(intermediate_result: "OptimizeResult") -> None:
            problem.record(math.exp(intermediate_result.fun))

        return scipy_minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=callback,
            options={
                "gtol": tol,
                "ftol": tol**2,
                "maxiter": self.max_iter,
                "maxfun": 20 * self.max_iter,
                "maxcor": self.memory,
                "maxls": 50,
            },
        )

    def _solve(
        self, problem: Problem, random_state: int | np.random.RandomState | None
    ) -> tuple[NDArray[np.float64], bool, str]:
        solution = self._solve_below(problem, math.inf, random_state)
        assert solution is not None  # whatever is found is below infinity
        return solution

    def _solve_below(
        self,
        problem: Problem,
        reached: float,
        random_state: int | np.random.RandomState | None,
    ) -> tuple[NDArray[np.float64], bool, str] | None:
        """Return the best that descents lead to, if it is not well above what is reached."""
        known = self._known(problem)
        if known is not None:
            return known
        runs = [
            self._descend(problem, start, 100.0 * self.tol)
            for start in self._starts(problem, random_state)
        ]
        best = min(runs, key=lambda run: run.fun)
        if problem.bound.needs_few_starts and math.exp(best.fun) > _BEATEN * reached:
            return None
        return self._finish(problem, best, self.tol)

    def _known(self, problem: Problem) -> tuple[NDArray[np.float64], bool, str] | None:
        """Return what needs no descent, if the bound has that."""
        weights = problem.bound.minimizer(problem.statistics, problem.prior)
        if weights is None:
            return None
        problem.record(problem.bound.objective(problem.statistics, weights, problem.prior)[0])
        return weights, True, _GLOBAL

    def _finish(
        self, problem: Problem, run: "OptimizeResult", tol: float
    ) -> tuple[NDArray[np.float64], bool, str]:
        best = self._descend(problem, run.x, tol)
        # Status 2 is a line search that found nothing lower in floating point: the end of the road.
        converged = best.status == 0 or (best.status == 2 and "ABNORMAL" in best.message)
        return problem.weights(best.x), converged, best.message

    def _solve_all(
        self,
        problems: list[Problem],
        reached: float,
        random_state: int | np.random.RandomState | None,
    ) -> list[tuple[NDArray[np.float64], bool, str]]:
        if len(problems) < 2:
            return [
                solution
                for problem in problems
                if (solution := self._solve_below(problem, reached, random_state)) is not None
            ]
        # One of several members is to win. Where a concentration is learned with the weights, the
        # derivatives share out the whole, and are the smaller the more voters there are.
        tol = self.tol * min(1.0, _FEW / problems[0].prior.size)
        found, lowest, descended = [], math.inf, []
        for problem in problems:
            known = self._known(problem)
            if known is None:
                descended.append(problem)
            else:
                found.append(known)
                lowest = min(lowest, problem.history[-1])
        problems = descended
        starts = [list(self._starts(problem, random_state)) for problem in problems]
        runs: list[tuple[Problem, OptimizeResult]] = []
        for priors in (True, False):
            # The prior comes first, and tells whether it is worth while to look elsewhere.
            heights = [
                (problem.objective(start)[0], number, start)
                for number, problem in enumerate(problems)
                for start in (starts[number][:1] if priors else starts[number][1:])
            ]
            prune = priors or reached < _GOOD
            for height, number, start in sorted(heights, key=lambda entry: entry[:2]):
                if prune and height > _HOPELESS * reached:
                    break
                run = self._descend(problems[number], start, 100.0 * tol)
                runs.append((problems[number], run))
                reached = min(reached, math.exp(run.fun))
            reached = min(reached, lowest)
        if not runs:
            return found
        return [*found, self._finish(*min(runs, key=lambda pair: pair[1].fun), tol)]
