"""Voters and their complements: the binary setting in which a vote may also weigh −h."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..statistics import VoteStatistics

__all__ = ["Gram", "gram", "self_complemented"]


def self_complemented(statistics: VoteStatistics) -> VoteStatistics:
    """Return the statistics of n binary voters followed by their n complements.

    The complement of a voter errs exactly where the voter does not, so that counts are enough.

    Parameters
    ----------
    statistics : VoteStatistics
        The counts of the voters.

    Returns
    -------
    VoteStatistics
        The counts of the 2n voters.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import self_complemented
    >>> self_complemented(VoteStatistics.from_losses([[0], [0], [1]])).errors
    array([1, 2])
    """
    m, errors, both = statistics.n_samples, statistics.errors, statistics.tandem
    first_only = errors[:, None] - both
    neither = m - errors[:, None] - errors + both
    tandem = np.block([[both, first_only], [first_only.T, neither]])
    return VoteStatistics(m, np.concatenate([errors, m - errors]), tandem)


class Gram(NamedTuple):
    """Second and first moments of binary voters with values −1 and +1.

    Attributes
    ----------
    products : ndarray of shape (n, n)
        ``E[h_j h_k]``.
    margins : ndarray of shape (n,)
        ``E[y h_j]``.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import gram
    >>> never_together = VoteStatistics.from_losses([[0, 1], [1, 0], [0, 0], [0, 0]])
    >>> products, margins = gram(never_together)
    >>> products.tolist(), margins.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    """

    products: NDArray[np.float64]
    margins: NDArray[np.float64]


def gram(statistics: VoteStatistics) -> Gram:
    """Return ``E[h_j h_k]`` and ``E[y h_j]`` of binary voters, from their counts.

    Parameters
    ----------
    statistics : VoteStatistics
        The counts of the voters.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.learners import gram
    >>> gram(VoteStatistics.from_losses([[0, 1], [0, 1]])).margins.tolist()  # right, and wrong
    [1.0, -1.0]
    """
    m, errors = statistics.n_samples, statistics.errors
    differ = errors[:, None] + errors - 2 * statistics.tandem
    return Gram(1.0 - 2.0 * differ / m, 1.0 - 2.0 * errors / m)
