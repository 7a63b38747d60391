"""Weights by logistic regression of the vote's margin: a good vote, and no certificate."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit

from .._utils.validation import check_positive
from ..statistics import VoteStatistics
from ..statistics.packed import erring_weight, tables_of, transposed_product

__all__ = ["logistic", "logistic_of_shares"]

_Array = NDArray[np.float64]


def logistic(statistics: VoteStatistics, penalty: float = 1.0) -> NDArray[np.float64]:
    """Return the weights with the least logistic loss of the vote's margin on a sample.

    They minimise ``Σ_i ln(1 + exp(−z_i)) + penalty·‖α‖²/2`` over ``α ≥ 0``, where
    ``z_i = Σ_j α_j (1 − 2 L_ij)`` is by how much the voters that are right on example i outweigh
    the others; then they are scaled to sum to 1. The problem is convex. Voters with the same errors
    get the same weight, and where none is better than chance all weights are equal.

    Parameters
    ----------
    statistics : VoteStatistics
        The sample, with rows.
    penalty : float, default=1.0
        What large α cost.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import logistic
    >>> losses = [[0, 0, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0]]
    >>> logistic(VoteStatistics.from_losses(losses, keep_rows=True)).round(2)
    array([0.5, 0.5, 0. ])
    """
    check_positive("penalty", penalty)
    rows, n = statistics.rows, statistics.n_voters
    if rows is None:
        raise ValueError("statistics must have rows: build them with keep_rows=True.")

    def margin(alpha: _Array) -> _Array:
        return np.asarray(alpha.sum() - 2.0 * erring_weight(rows, tables_of(alpha)))

    def pulled(pull: _Array) -> _Array:
        return np.asarray(pull.sum() - 2.0 * transposed_product(rows, pull, n))

    return _least(margin, pulled, statistics.n_samples, n, penalty)


def logistic_of_shares(shares: ArrayLike, penalty: float = 1.0) -> NDArray[np.float64]:
    """Return the weights of blocks of voters with the least logistic loss of the vote's margin.

    As `logistic`, with ``z_i = Σ_k α_k (1 − 2 S_ik)``, where ``S_ik`` is the share of the voters of
    block k that err on example i: the voters of a block have equal weights.

    Parameters
    ----------
    shares : array-like of shape (m, n_blocks)
        The shares, in [0, 1].
    penalty : float, default=1.0
        What large α cost.

    Examples
    --------
    >>> from certivote.learners import logistic_of_shares
    >>> logistic_of_shares([[0.1, 0, 1], [0.3, 1, 1], [0.2, 0, 1], [0.6, 0, 0]]).round(2)
    array([0.55, 0.45, 0.  ])
    """
    check_positive("penalty", penalty)
    margins = 1.0 - 2.0 * np.asarray(shares, dtype=np.float64)
    m, n = margins.shape
    return _least(lambda alpha: margins @ alpha, lambda pull: pull @ margins, m, n, penalty)


def _least(
    margin: Callable[[_Array], _Array],
    pulled: Callable[[_Array], _Array],
    m: int,
    n: int,
    penalty: float,
) -> _Array:
    """Minimise the loss of the margin of m examples, a linear map of α, whose transpose is given.

    Where no α > 0 is better than none, the weights are equal.
    """

    def objective(alpha: _Array) -> tuple[float, _Array]:
        z = margin(alpha)
        value = float(np.logaddexp(0.0, -z).sum()) + 0.5 * penalty * float(alpha @ alpha)
        return value, penalty * alpha - pulled(expit(-z))

    found = scipy_minimize(
        objective,
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n,
        options={"maxiter": 1000, "gtol": 1e-6 * m},
    ).x
    found = np.maximum(found, 0.0)  # a step to the bound may end beyond it, by rounding
    total = float(found.sum())
    return found / total if total > 0.0 else np.full(n, 1.0 / n)
