"""The published minimisation of the tandem bound: the trade-off and the weights in turn."""

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_positive
from ..bounds.evaluation import chain_rule, kl_and_log_ratio, through_softmax
from ..bounds.gibbs_tandem import OneMomentBound
from ..divergences import weights_kl
from .base import Problem, Solver

__all__ = ["Alternating"]


class Alternating(Solver):
    """Minimise a relaxation of the bound in λ and in the weights in turn.

    For the tandem bound, ``4(e_S/(1−λ/2) + (2KL + ln(c₂(m)/δ))/(λ(1−λ/2)m))``: λ in closed form for
    fixed weights, then the weights for fixed λ, a convex problem. The relaxation is above the bound
    itself, whose value is what is returned. It works for every bound with `relaxed` and
    `best_trade_off`: ``tandem`` and ``gibbs``.

    Parameters
    ----------
    tol : float, default=1e-9
        It stops when one turn lowers the relaxation by less than this.
    max_iter : int, default=100
        The largest number of turns.

    References
    ----------
    A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order PAC-Bayesian Bounds for the
    Weighted Majority Vote", NeurIPS 2020, arXiv:2007.13532.

    Examples
    --------
    >>> from certivote import VoteStatistics, minimize
    >>> from certivote.bounds import get_bound
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100)
    >>> minimize(get_bound("tandem"), s, solver="alternating").converged
    True
    """

    name = "alternating"

    def __init__(self, tol: float = 1e-9, max_iter: int = 100) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _check_settings(self) -> None:
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)

    def _solve(
        self, problem: Problem, random_state: int | np.random.RandomState | None
    ) -> tuple[NDArray[np.float64], bool, str]:
        from scipy.optimize import minimize as scipy_minimize

        bound, statistics, prior = problem.bound, problem.statistics, problem.prior
        if not isinstance(bound, OneMomentBound):
            raise ValueError(
                "solver 'alternating' needs a bound with relaxed and best_trade_off, such as "
                f"'tandem' or 'gibbs', got {bound.name!r}."
            )

        def relaxed(logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            q = problem.weights(logits)
            moments = statistics.moments_at(q)
            kl, log_ratio = kl_and_log_ratio(q, prior)
            evaluation = bound.relaxed(moments, kl, trade_off)
            gradient = chain_rule(evaluation, moments, log_ratio)
            return evaluation.value, through_softmax(q, gradient)

        logits, previous = np.zeros(prior.size), np.inf
        moments, kl = statistics.moments_at(prior), 0.0
        for _ in range(self.max_iter):
            trade_off = bound.best_trade_off(moments, kl)
            known = bound.best_relaxed(statistics, prior, trade_off)
            if known is None:
                # Closer than the turns themselves come is of no use.
                options = {"gtol": 1e-9, "ftol": self.tol / 100.0}
                logits = scipy_minimize(
                    relaxed, logits, jac=True, method="L-BFGS-B", options=options
                ).x
            q = problem.weights(logits) if known is None else known
            moments, kl = statistics.moments_at(q), weights_kl(q, prior)
            problem.record(bound.evaluate_moments(moments, kl).value)
            reached = bound.relaxed(moments, kl, trade_off).value
            if previous - reached < self.tol:
                return q, True, f"a turn lowered it by less than {self.tol}"
            previous = reached
        return q, False, f"{self.max_iter} turns done"
