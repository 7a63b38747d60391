"""Which samples were merged into one, to tell whether one of them was merged twice."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .counts import SURPRISING, come_unlike_draws, make_read_only
from .packed import numbers_of

__all__ = ["Parts", "overlap", "surprise"]

# Of more examples than so many, those with some of the patterns of errors are enough.
_COMPARED_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Parts:
    """The samples that were merged, in their order: a number for the counts of each.

    Parameters
    ----------
    digests : ndarray of shape (k,)
        64 bits of the SHA-256 of each sample's counts.
    surprises : ndarray of shape (k,)
        How surprising it would be to meet such counts again: minus the logarithm of the chance.
    """

    digests: NDArray[np.uint64]
    surprises: NDArray[np.float64]

    def __post_init__(self) -> None:
        digests, surprises = self.digests, self.surprises
        if digests.ndim != 1 or digests.shape != surprises.shape or not digests.size:
            raise ValueError("parts and surprises must be one number for each part.")
        if not np.all(np.isfinite(surprises)) or surprises.min() < 0.0:
            raise ValueError("surprises must be finite, and not negative.")
        make_read_only((digests, surprises))

    @classmethod
    def of(cls, sha256: str, surprise: float) -> "Parts":
        """Return a sample that is its only part, by the digest of its counts."""
        return cls(np.array([int(sha256[:16], 16)], dtype=np.uint64), np.array([surprise]))

    def __add__(self, other: "Parts") -> "Parts":
        """Return the parts of both."""
        return Parts(
            np.concatenate([self.digests, other.digests]),
            np.concatenate([self.surprises, other.surprises]),
        )

    def repeat(self, other: "Parts") -> bool:
        """Tell whether parts come again in others, hardly by chance.

        Of k samples of one size any two may have the same counts: d pairs of them, of which no
        sample is in two, can be chosen in so many ways, and each is a chance to be surprised. That
        a whole list comes again in its order has only one way.
        """
        few, many = sorted((self.digests, other.digests), key=len)
        if not np.isin(many, few).any():
            return False
        both = self + other
        half, odd = divmod(both.digests.size, 2)
        if not odd and np.array_equal(both.digests[:half], both.digests[half:]):
            return bool(both.surprises[:half].sum() > SURPRISING)
        _, first, times = np.unique(both.digests, return_index=True, return_counts=True)
        pairs = times // 2
        surprises = np.repeat(both.surprises[first], pairs)
        # The most surprising ones say most, and the others may say nothing.
        surprises = np.sort(surprises)[::-1]
        k, d = both.digests.size, np.arange(1, surprises.size + 1)
        ways = [
            math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - 2 * j + 1) - j * math.log(2)
            for j in d.tolist()
        ]
        return bool(np.any(np.cumsum(surprises) - ways > SURPRISING))


def surprise(covariance: NDArray[np.float64]) -> float:
    """Return minus the logarithm of the chance that two samples have the same counts.

    Two counts of variance v are the same with probability 1/√(4πv), if v is not small. Of voters
    that err together each counts only by the variance that is left, given those before it.
    """
    left, total = covariance.copy(), 0.0
    for _ in range(len(left)):
        pivot = int(np.argmax(np.diagonal(left)))
        variance = float(left[pivot, pivot])
        if variance <= 1.0:
            break
        total += 0.5 * math.log(4.0 * math.pi * variance)
        left -= np.outer(left[:, pivot], left[pivot]) / variance
    return total


def overlap(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> bool:
    """Tell whether two samples seem to share examples, by the packed losses of each.

    Independent draws of whatever distribution come as often as `come_unlike_draws` says. Where the
    examples of each sample do, and those of both together do not, some come in both.
    """
    one, two = (_some(numbers_of(rows), len(first) + len(second)) for rows in (first, second))
    return _unlike_draws(np.concatenate([one, two])) and not any(map(_unlike_draws, (one, two)))


def _some(numbers: NDArray[np.uint64], m: int) -> NDArray[np.uint64]:
    return np.asarray(numbers[numbers % np.uint64(1 + m // _COMPARED_ROWS) == 0])


def _unlike_draws(numbers: NDArray[np.uint64]) -> bool:
    return come_unlike_draws(np.unique(numbers, return_counts=True)[1])
