"""What every solver is: settings, and a way down a bound over the simplex."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from .._utils.threads import one_thread
from .._utils.validation import check_prior
from ..bounds import Bound
from ..bounds.parameters import Parametrised
from ..statistics import Statistics

__all__ = ["FIXED", "NOT_DESCENDED", "Callback", "MinimizeResult", "Problem", "Solver"]

Callback = Callable[[int, float], object]

# What is said of weights that were not found by a descent.
FIXED, NOT_DESCENDED = "fixed in advance", "found without a descent"


@dataclass(frozen=True, eq=False)
class MinimizeResult:
    """What a solver found.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        The best weights met.
    value : float
        The certificate at these weights: valid whether or not the solver converged.
    n_iter : int
        The number of iterations, over all starts.
    converged : bool
        Whether the solver's own criterion was met.
    message : str
        Why it stopped.
    history : list of float
        The objective at each iteration: the certificate, or more than 1 where that is flat at 1.

    Examples
    --------
    >>> from certivote import VoteStatistics, minimize
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100)
    >>> result = minimize("gibbs", s)  # the voters err alike, and share the weight
    >>> result.weights.round(4).tolist(), result.converged
    ([0.3333, 0.3333, 0.3333], True)
    """

    weights: NDArray[np.float64] = field(repr=False)
    value: float
    n_iter: int
    converged: bool
    message: str
    history: list[float] = field(repr=False)


class Problem:
    """A bound on given statistics, over the voters that the prior allows.

    Points are logits relative to the prior: ``q ∝ p·exp(logits)``, so that 0 is the prior. The
    objective after each iteration is noted in `history`, and told to the callback.
    """

    def __init__(
        self,
        bound: Bound,
        statistics: Statistics,
        prior: NDArray[np.float64],
        history: list[float],
        callback: Callback | None = None,
    ) -> None:
        self.bound = bound
        self.statistics = statistics
        self.prior = prior
        self.callback = callback
        self.history = history
        with np.errstate(divide="ignore"):
            self.log_prior = np.log(prior)

    def weights(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights at some logits."""
        weights: NDArray[np.float64] = softmax(self.log_prior + logits)
        return weights

    def logits(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return logits at which the weights are nearly these; a weight of 0 becomes a tiny one."""
        allowed = self.prior > 0
        logits = np.zeros_like(weights)
        logits[allowed] = np.log(np.maximum(weights[allowed], 1e-12)) - self.log_prior[allowed]
        return logits

    def objective(self, logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the bound's objective and its gradient in the logits."""
        return self.bound.descent(self.statistics, logits, self.prior, self.log_prior)

    def record(self, value: float) -> None:
        """Note the objective after an iteration, and tell the callback."""
        self.history.append(value)
        if self.callback is not None:
            self.callback(len(self.history), value)


class Solver(Parametrised, ABC):
    """An algorithm that minimises a bound over the simplex.

    A subclass stores its settings, and writes `_solve`. It knows no bound by name.

    Examples
    --------
    >>> from certivote.solvers import Solver, get_solver
    >>> solver = get_solver("lbfgs")
    >>> isinstance(solver, Solver), solver.name
    (True, 'lbfgs')
    """

    name: ClassVar[str]

    def solve(
        self,
        bound: Bound,
        statistics: Statistics,
        prior: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        callback: Callback | None = None,
    ) -> MinimizeResult:
        """Minimise a bound; see `certivote.minimize`."""
        self._check_settings()
        with one_thread():
            result = self._best(bound, statistics, prior, random_state, callback)
        if not result.converged:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"the solver {self.name!r} stopped before it converged ({result.message}). The "
                "certificate is valid, but a smaller one may exist.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result

    def _best(
        self,
        bound: Bound,
        statistics: Statistics,
        prior: ArrayLike | None,
        random_state: int | np.random.RandomState | None,
        callback: Callback | None,
    ) -> MinimizeResult:
        """Return the best of the weights that need no descent, and of those that one finds."""
        bound.check_parameters()
        bound.check_statistics(statistics)
        offers, p = statistics.offers, check_prior(prior, statistics.n_voters)
        bound = bound.settled(offers)
        fixed, known = bound.candidates(statistics, p), bound.fixed_weights(p)
        found = [
            (q, True, FIXED if any(np.array_equal(q, other) for other in known) else NOT_DESCENDED)
            for q in fixed
        ]
        values = [bound.value(statistics, weights, p) for weights in fixed]
        reached, history = min(values, default=math.inf), list[float]()
        problems = [
            Problem(member, statistics, p, history, callback)
            for member in bound.members()
            # What is there already cannot be beaten by what lies above it everywhere.
            if member.least(statistics, p) < reached
        ]
        learned = self._solve_all(problems, reached, random_state)
        values += [bound.value(statistics, weights, p) for weights, _, _ in learned]
        value, (weights, converged, message) = min(
            zip(values, found + learned, strict=True), key=lambda pair: pair[0]
        )
        return MinimizeResult(weights, value, len(history), converged, message, history)

    def _check_settings(self) -> None:
        """Refuse settings that make no sense."""

    def _solve_all(
        self,
        problems: list[Problem],
        reached: float,
        random_state: int | np.random.RandomState | None,
    ) -> list[tuple[NDArray[np.float64], bool, str]]:
        """Return what `_solve` does for each of the members of one bound, or for the best.

        What weights fixed in advance have `reached` is there already: it need not be found again.
        """
        return [self._solve(problem, random_state) for problem in problems]

    @abstractmethod
    def _solve(
        self, problem: Problem, random_state: int | np.random.RandomState | None
    ) -> tuple[NDArray[np.float64], bool, str]:
        """Return the best weights, whether the criterion was met, and why it stopped."""
