"""The paper's algorithms: gradient steps on a barrier objective, with a generic update."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_positive
from ..bounds.parameters import Parametrised
from .base import Problem, Solver
from .paper import PrintedSettings, printed_objective

__all__ = ["COCOB", "Adam", "FirstOrder", "GradientDescent", "Update"]


class Update(Parametrised, ABC):
    """A rule that turns gradients into steps: UPDATE-Q in the paper.

    A subclass stores its settings, and writes `start` and `step`.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote.solvers import GradientDescent, Update
    >>> rule, point = GradientDescent(learning_rate=0.5), np.zeros(2)
    >>> isinstance(rule, Update)
    True
    >>> rule.step(point, np.array([1.0, -1.0]), rule.start(point)).tolist()
    [-0.5, 0.5]
    """

    @abstractmethod
    def start(self, point: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the state before the first step, from where the descent starts."""

    @abstractmethod
    def step(
        self,
        point: NDArray[np.float64],
        gradient: NDArray[np.float64],
        state: dict[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return the next point, and bring the state up to date."""


class COCOB(Update):
    """COCOB-Backprop: coin betting per coordinate, without a learning rate.

    Parameters
    ----------
    alpha : float, default=100
        How many of the first steps are kept small.

    References
    ----------
    F. Orabona and T. Tommasi, "Training Deep Networks without Learning Rates Through Coin Betting",
    NIPS 2017, arXiv:1705.07795.

    Examples
    --------
    >>> from certivote.solvers import COCOB, FirstOrder
    >>> FirstOrder(COCOB(alpha=50))
    FirstOrder(update=COCOB(alpha=50))
    """

    def __init__(self, alpha: float = 100.0) -> None:
        self.alpha = alpha

    def start(self, point: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the state before the first step, from where the descent starts."""
        check_positive("alpha", self.alpha)
        return {
            "origin": point.copy(),
            "largest": np.full_like(point, 1e-9),
            "absolute": np.zeros_like(point),
            "sum": np.zeros_like(point),
            "reward": np.zeros_like(point),
        }

    def step(
        self,
        point: NDArray[np.float64],
        gradient: NDArray[np.float64],
        state: dict[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return the next point, and bring the state up to date."""
        win = -gradient
        largest = state["largest"] = np.maximum(state["largest"], np.abs(win))
        state["absolute"] += np.abs(win)
        state["sum"] += win
        state["reward"] = np.maximum(0.0, state["reward"] + (point - state["origin"]) * win)
        scale = largest * np.maximum(state["absolute"] + largest, self.alpha * largest)
        bet: NDArray[np.float64] = state["sum"] / scale * (largest + state["reward"])
        return state["origin"] + bet


class Adam(Update):
    """Adam: steps scaled by running moments of the gradient.

    Parameters
    ----------
    learning_rate : float, default=0.05
        The size of a step.
    beta1, beta2 : float, default=0.9 and 0.999
        How slowly the two running moments forget.
    epsilon : float, default=1e-8
        What keeps the scale from 0.

    References
    ----------
    D. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, arXiv:1412.6980.

    Examples
    --------
    >>> from certivote.solvers import Adam, FirstOrder
    >>> FirstOrder(Adam(learning_rate=0.1), n_iter=500)
    FirstOrder(n_iter=500, update=Adam(learning_rate=0.1))
    """

    def __init__(
        self,
        learning_rate: float = 0.05,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
    ) -> None:
        self.learning_rate = learning_rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def start(self, point: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the state before the first step, from where the descent starts."""
        check_positive("learning_rate", self.learning_rate)
        return {
            "mean": np.zeros_like(point),
            "square": np.zeros_like(point),
            "count": np.zeros(1),
        }

    def step(
        self,
        point: NDArray[np.float64],
        gradient: NDArray[np.float64],
        state: dict[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return the next point, and bring the state up to date."""
        state["count"] += 1
        state["mean"] = self.beta1 * state["mean"] + (1 - self.beta1) * gradient
        state["square"] = self.beta2 * state["square"] + (1 - self.beta2) * gradient**2
        mean = state["mean"] / (1 - self.beta1 ** state["count"])
        square = state["square"] / (1 - self.beta2 ** state["count"])
        return point - self.learning_rate * mean / (np.sqrt(square) + self.epsilon)


class GradientDescent(Update):
    """Plain steps against the gradient.

    Parameters
    ----------
    learning_rate : float, default=1.0
        The length of a step, in gradients.

    Examples
    --------
    >>> from certivote.solvers import FirstOrder, GradientDescent
    >>> FirstOrder(GradientDescent(learning_rate=0.1))
    FirstOrder(update=GradientDescent(learning_rate=0.1))
    """

    def __init__(self, learning_rate: float = 1.0) -> None:
        self.learning_rate = learning_rate

    def start(self, point: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the state before the first step, from where the descent starts."""
        check_positive("learning_rate", self.learning_rate)
        return {}

    def step(
        self,
        point: NDArray[np.float64],
        gradient: NDArray[np.float64],
        state: dict[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return the next point."""
        return point - self.learning_rate * gradient


_UPDATES: dict[str, type[Update]] = {"cocob": COCOB, "adam": Adam, "gd": GradientDescent}


class FirstOrder(Solver):
    """The paper's Algorithms 1 to 3, and the one for 2r, with its slips in print corrected.

    From the prior, `n_iter` updates of the softmax weights against the gradient of the bound's
    barrier objective; the weights with the smallest certificate on the way are returned. It stops
    after `n_iter` updates and not before, so it always counts as converged.

    Parameters
    ----------
    update : {"cocob", "adam", "gd"} or Update, default="cocob"
        UPDATE-Q, by name or as an object with its settings.
    n_iter : int, default=2000
        T, the number of updates.
    barrier_strength : float, default=100
        λ of the log-barrier extension.
    tolerance : float, default=0.01
        Where the bisection for the worst (e, d) of Algorithm 3 stops.
    inverse_tolerance : float, default=1e-9
        Where the bisection for an inverse of kl stops.
    inverse_max_iter : int, default=1000
        The largest number of its steps.

    References
    ----------
    P. Viallard, P. Germain, A. Habrard and E. Morvant, "Self-Bounding Majority Vote Learning
    Algorithms by the Direct Minimization of a Tight PAC-Bayesian C-Bound", ECML PKDD 2021,
    doi:10.1007/978-3-030-86520-7_11.

    Examples
    --------
    >>> from certivote import VoteStatistics, minimize
    >>> from certivote.bounds import get_bound
    >>> from certivote.solvers import FirstOrder
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100)
    >>> minimize(get_bound("seeger"), s, solver=FirstOrder("adam", n_iter=50)).n_iter
    50
    """

    name = "first_order"

    def __init__(
        self,
        update: str | Update = "cocob",
        n_iter: int = 2000,
        barrier_strength: float = 100.0,
        tolerance: float = 0.01,
        inverse_tolerance: float = 1e-9,
        inverse_max_iter: int = 1000,
    ) -> None:
        self.update = update
        self.n_iter = n_iter
        self.barrier_strength = barrier_strength
        self.tolerance = tolerance
        self.inverse_tolerance = inverse_tolerance
        self.inverse_max_iter = inverse_max_iter

    def _check_settings(self) -> None:
        if not isinstance(self.update, Update) and self.update not in _UPDATES:
            raise ValueError(
                f"update must be one of {', '.join(map(repr, _UPDATES))} or an Update, "
                f"got {self.update!r}."
            )
        check_positive("n_iter", self.n_iter, integer=True)
        check_positive("inverse_max_iter", self.inverse_max_iter, integer=True)
        for setting in ("barrier_strength", "tolerance", "inverse_tolerance"):
            check_positive(setting, getattr(self, setting))
        if self.tolerance >= 1.0:
            raise ValueError(f"tolerance must be below 1, got {self.tolerance!r}.")

    def _solve(
        self, problem: Problem, random_state: int | np.random.RandomState | None
    ) -> tuple[NDArray[np.float64], bool, str]:
        update = self.update if isinstance(self.update, Update) else _UPDATES[self.update]()
        settings = PrintedSettings(
            self.barrier_strength, self.tolerance, self.inverse_tolerance, self.inverse_max_iter
        )
        best = logits = np.zeros(problem.prior.size)
        state = update.start(logits)
        best_value, _ = problem.objective(logits)
        for _ in range(self.n_iter):
            _, gradient = printed_objective(problem, logits, settings)
            logits = update.step(logits, gradient, state)
            value, _ = problem.objective(logits)
            problem.record(value)
            if value < best_value:
                best, best_value = logits, value
        return problem.weights(best), True, f"{self.n_iter} updates done"
