"""CqBoost: the smallest second moment of the margin on the simplex, by column generation."""

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_positive
from ..statistics import VoteStatistics
from ._qp import InfeasibleError, solve_qp
from .complement import gram

__all__ = ["cq_boost"]


def cq_boost(
    statistics: VoteStatistics, mu: float, tol: float = 1e-6, max_iter: int = 1000
) -> NDArray[np.float64]:
    """Return the weights of n binary voters and their n complements by CqBoost.

    It minimises ``mean γ_i²`` under ``mean γ_i ≥ μ``, ``q ≥ 0`` and ``Σq = 1``, where ``γ_i`` is
    the margin ``y_i Σ_j q_j h_j(x_i)``. Voters enter one at a time: the one that violates the dual
    constraint most, for the example weights ``α_i = (β − 2γ_i)/m``, until none does by more than
    `tol`. In the Gram matrix that is ``β m_j − 2(Mq)_j``, without a pass over the data.

    Parameters
    ----------
    statistics : VoteStatistics
        The counts of binary voters.
    mu : float
        The smallest mean margin allowed.
    tol : float, default=1e-6
        By how much a voter may violate the dual constraint.
    max_iter : int, default=1000
        The largest number of voters.

    Returns
    -------
    ndarray of shape (2n,)
        Weights that sum to 1, those of the complements last.

    References
    ----------
    J.-F. Roy, M. Marchand and F. Laviolette, "A Column Generation Bound Minimization Approach with
    PAC-Bayesian Generalization Guarantees", AISTATS 2016.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import cq_boost
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> cq_boost(s, mu=0.5).round(4) + 0.0
    array([0.3333, 0.3333, 0.3333, 0.    , 0.    , 0.    ])
    """
    check_positive("mu", mu)
    check_positive("tol", tol)
    check_positive("max_iter", max_iter, integer=True)
    products, margins = gram(statistics)
    products = np.block([[products, -products], [-products, products]])
    margins = np.concatenate([margins, -margins])
    if mu > margins.max():
        raise InfeasibleError(
            f"mu must be at most {margins.max():.6g}, the margin of the best voter, got {mu!r}."
        )
    active = [int(np.argmax(margins))]
    while True:
        q, beta = _restricted(products[np.ix_(active, active)], margins[active], mu)
        gradient = 2.0 * (products[:, active] @ q) - beta * margins
        # At the optimum the reduced cost is the same for all voters with weight, and least there.
        level = float(q @ gradient[active])
        entering = int(np.argmin(gradient))
        finished = gradient[entering] >= level - tol or entering in active
        if finished or len(active) == max_iter:
            break
        active.append(entering)
    weights = np.zeros(margins.size)
    weights[active] = q
    return weights


def _restricted(
    products: NDArray[np.float64], margins: NDArray[np.float64], mu: float
) -> tuple[NDArray[np.float64], float]:
    """Solve the program for a few voters; return their weights and the price β of the margin."""
    k = margins.size
    if k == 1:
        return np.ones(1), 0.0
    q, prices = solve_qp(
        2.0 * products,
        np.zeros(k),
        np.ones((1, k)),
        np.ones(1),
        np.vstack([-np.eye(k), -margins[None, :]]),
        np.concatenate([np.zeros(k), [-mu]]),
    )
    q = np.maximum(q, 0.0)
    q /= q.sum()
    return q, float(prices[-1])
