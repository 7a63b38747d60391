"""Weights by logistic regression of the vote's margin: a good vote, and no certificate."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit

from .._utils.validation import check_positive
from ..statistics import VoteStatistics
from ..statistics.packed import erring_weight, tables_of, transposed_product

__all__ = ["logistic"]


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

    def objective(alpha: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = alpha.sum() - 2.0 * erring_weight(rows, tables_of(alpha))
        value = float(np.logaddexp(0.0, -margin).sum()) + 0.5 * penalty * float(alpha @ alpha)
        pull = expit(-margin)
        gradient = penalty * alpha - pull.sum() + 2.0 * transposed_product(rows, pull, n)
        return value, gradient

    found = scipy_minimize(
        objective,
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n,
        options={"maxiter": 1000, "gtol": 1e-6 * statistics.n_samples},
    ).x
    total = float(found.sum())
    return found / total if total > 0.0 else np.full(n, 1.0 / n)
