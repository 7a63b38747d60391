"""MinCq and P-MinCq: the smallest empirical C-bound at a given margin, as a quadratic program."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_positive, check_prior
from ..statistics import VoteStatistics
from ._qp import InfeasibleError, solve_qp
from .complement import gram

__all__ = ["min_cq"]


def min_cq(
    statistics: VoteStatistics, mu: float, prior: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the weights of n binary voters and their n complements by MinCq.

    With P the prior, ``M = E[h_j h_k]`` and ``m_j = E[y h_j]``, it minimises ``qᵀMq − (MP)·q``
    under ``0 ≤ q ≤ P`` and ``m·(2q − P) = μ``: among the votes ``Σ (2q_j − P_j) h_j`` of margin μ,
    that of the smallest second moment. With a uniform prior it is MinCq, with another P-MinCq.

    Parameters
    ----------
    statistics : VoteStatistics
        The counts of binary voters.
    mu : float
        The margin that the vote must have on the sample.
    prior : array-like of shape (n,), default=None
        What a voter and its complement weigh together; uniform if None.

    Returns
    -------
    ndarray of shape (2n,)
        Weights that sum to 1: q, then P − q.

    References
    ----------
    F. Laviolette, M. Marchand and J.-F. Roy, "From PAC-Bayes Bounds to Quadratic Programs for
    Majority Votes", ICML 2011; A. Bellet, A. Habrard, E. Morvant and M. Sebban, "Learning a priori
    constrained weighted majority votes", Machine Learning 97, 2014, doi:10.1007/s10994-014-5462-z.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import min_cq
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> min_cq(s, mu=0.25).round(4)
    array([0.25  , 0.25  , 0.25  , 0.0833, 0.0833, 0.0833])
    """
    check_positive("mu", mu)
    n = statistics.n_voters
    p = check_prior(prior, n)
    products, margins = gram(statistics)
    largest = float(p @ np.abs(margins))
    if mu > largest:
        raise InfeasibleError(f"mu must be at most {largest:.6g} for these voters, got {mu!r}.")
    identity = np.eye(n)
    q, _ = solve_qp(
        2.0 * products,
        -(products @ p),
        margins[None, :],
        np.array([0.5 * (mu + float(margins @ p))]),
        np.vstack([identity, -identity]),
        np.concatenate([p, np.zeros(n)]),
    )
    q = np.clip(q, 0.0, p)
    return np.concatenate([q, p - q])
