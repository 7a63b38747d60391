"""Which weights were learned from which sample, in this process.

Weights learned from a sample are no prior for it. Where they come back as one, it can be told.
"""

import hashlib
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from .statistics import VoteStatistics

__all__ = ["note_learned", "refuse_learned"]

_SAMPLES_REMEMBERED = 256
_learned: OrderedDict[bytes, set[bytes]] = OrderedDict()


def _digest(*arrays: NDArray[np.generic]) -> bytes:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()


def _key(statistics: VoteStatistics) -> bytes:
    """Return what tells a sample from others without a pass over the pairs of voters."""
    return _digest(np.array(statistics.n_samples), statistics.errors)


def note_learned(statistics: VoteStatistics, weights: NDArray[np.float64]) -> None:
    """Remember that weights were learned from a sample.

    Parameters
    ----------
    statistics : VoteStatistics
        The sample.
    weights : ndarray of shape (n,)
        The weights.
    """
    if np.ptp(weights) <= 1e-12:
        return  # the uniform vote is anybody's
    known = _learned.setdefault(_key(statistics), set())
    known.add(_digest(weights))
    _learned.move_to_end(_key(statistics))
    while len(_learned) > _SAMPLES_REMEMBERED:
        _learned.popitem(last=False)


def refuse_learned(statistics: VoteStatistics, name: str, weights: NDArray[np.float64]) -> None:
    """Refuse weights that were learned from this sample where they must not have been.

    Parameters
    ----------
    statistics : VoteStatistics
        The sample.
    name : str
        How to call the weights in an error.
    weights : ndarray of shape (n,)
        The weights.
    """
    if _digest(weights) in _learned.get(_key(statistics), ()):
        raise ValueError(
            f"{name} must be fixed without looking at these examples, but these weights were "
            "learned from them: no certificate would hold."
        )
