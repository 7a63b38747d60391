"""CB-Boost: a vote grown one voter at a time, each the best for the empirical C-bound."""

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_positive
from ..statistics import VoteStatistics
from .complement import gram

__all__ = ["cb_boost"]

# Below it a step is rounding.
_SMALLEST_STEP = 1e-12


def cb_boost(statistics: VoteStatistics, max_iter: int = 200) -> tuple[NDArray[np.float64], int]:
    """Return the weights of n binary voters and their n complements by CB-Boost.

    The first voter is that of the largest margin ``γ_h = E[y h]``. Then, with F the vote so far,
    ``μ_F = E[F²]``, ``γ_F = E[y F]`` and ``τ_h = E[F h]``, the voter h whose best weight
    ``α = (γ_h μ_F − γ_F τ_h)/(γ_F − γ_h τ_h)`` gives the smallest C-bound
    ``1 − (γ_F + α γ_h)²/(μ_F + 2α τ_h + α²)`` is added, among those with ``γ_h > 0``,
    ``γ_h τ_h < γ_F`` and ``α > 0``; one that is in the vote already gains weight. All of it is in
    the Gram matrix: a step costs O(n).

    Ties go to the voter that comes first.

    Parameters
    ----------
    statistics : VoteStatistics
        The counts of binary voters.
    max_iter : int, default=200
        The largest number of steps.

    Returns
    -------
    weights : ndarray of shape (2n,)
        They sum to 1; those of the complements come last.
    n_iter : int
        The number of steps taken.

    References
    ----------
    B. Bauvin, C. Capponi, J.-F. Roy and F. Laviolette, "Fast greedy C-bound minimization with
    guarantees", Machine Learning 109, 2020, doi:10.1007/s10994-020-05902-7.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import cb_boost
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> weights, n_iter = cb_boost(s)
    >>> weights.round(4), n_iter
    (array([0.3333, 0.3333, 0.3333, 0.    , 0.    , 0.    ]), 3)
    """
    check_positive("max_iter", max_iter, integer=True)
    products, margins = gram(statistics)
    # Only the better of h and −h can have a positive margin.
    sign = np.where(margins >= 0.0, 1.0, -1.0)
    products, margins = products * np.outer(sign, sign), np.abs(margins)
    n = margins.size
    weights = np.zeros(n)
    chosen = int(np.argmax(margins))
    weights[chosen] = 1.0
    second, first, overlap = 1.0, float(margins[chosen]), products[chosen].copy()
    n_iter = 1
    while n_iter < max_iter:
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (margins * second - first * overlap) / (first - margins * overlap)
            ratio = (first + step * margins) ** 2 / (second + 2.0 * step * overlap + step**2)
        usable = (margins > 0.0) & (margins * overlap < first) & (step > _SMALLEST_STEP)
        if not usable.any():
            break
        ratio[~usable] = -np.inf
        chosen = int(np.argmax(ratio))
        alpha = float(step[chosen])
        weights[chosen] += alpha
        second += 2.0 * alpha * float(overlap[chosen]) + alpha**2
        first += alpha * float(margins[chosen])
        overlap += alpha * products[chosen]
        n_iter += 1
    weights /= weights.sum()
    own, complement = np.where(sign > 0, weights, 0.0), np.where(sign < 0, weights, 0.0)
    return np.concatenate([own, complement]), n_iter
