"""Arrays of counts: whole, possible, and beyond anybody's reach once they are checked."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "SURPRISING",
    "are_hardly_chance",
    "as_counts",
    "as_rates",
    "check_pairs",
    "come_unlike_draws",
    "make_read_only",
    "read_only_rows",
]

# Two samples hardly have the same counts by chance where that has a probability of exp(−10).
SURPRISING = 10.0
# How many standard errors each of the numbers of rows that come k times may be off.
_FAR = 3.0


def as_counts(name: str, values: ArrayLike, ndim: int) -> NDArray[np.int64]:
    """Return counts as a read-only array of integers."""
    array = np.asarray(values)
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers in {ndim} dimension(s), got {array.dtype} of shape "
            f"{array.shape}."
        )
    counts = np.array(array, dtype=np.int64)
    counts.flags.writeable = False  # the digest and the moments are computed once
    return counts


def as_rates(counts: NDArray[np.int64], sizes: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return counts as shares of their sizes, read-only like the counts: they are kept."""
    rates: NDArray[np.float64] = counts / sizes
    rates.flags.writeable = False
    return rates


def check_pairs(
    name: str,
    pairs: NDArray[np.int64],
    errors: NDArray[np.int64],
    n_samples: int | NDArray[np.int64],
) -> None:
    """Refuse counts of pairs that are impossible for the errors of the voters.

    `errors` and `n_samples` may be tables themselves: of the first voter of each pair, on the
    examples of the pair, and the number of these.
    """
    n = errors.shape[0]
    if pairs.shape != (n, n):
        raise ValueError(f"{name} must have shape ({n}, {n}), got {pairs.shape}.")
    if not np.array_equal(np.diagonal(pairs), errors if errors.ndim == 1 else np.diagonal(errors)):
        raise ValueError(f"{name} must have errors on its diagonal.")
    if not np.array_equal(pairs, pairs.T):
        raise ValueError(f"{name} must be symmetric.")
    if errors.min() < 0 or np.any(errors > n_samples):
        most = f"n_samples = {n_samples}" if np.ndim(n_samples) == 0 else "sizes"
        raise ValueError(f"errors must be between 0 and {most}.")
    first, second = (errors[:, None], errors) if errors.ndim == 1 else (errors, errors.T)
    fewest = np.maximum(first + second - n_samples, 0)
    if np.any(pairs > np.minimum(first, second)) or np.any(pairs < fewest):
        raise ValueError(f"{name} counts must be possible for these errors and n_samples.")


def are_hardly_chance(counts: NDArray[np.int64], n_samples: int) -> bool:
    """Tell whether two samples of one size hardly have the same counts by chance."""
    distinct = np.unique(counts)
    # Two binomial counts of variance v are the same with probability 1/√(4πv), if v is not small.
    variances = distinct * (1.0 - distinct / n_samples)
    surprise = np.log(4.0 * np.pi * variances[variances > 1.0]).sum() / 2.0
    return bool(surprise > SURPRISING)


def come_unlike_draws(times: NDArray[np.intp]) -> bool:
    """Tell whether rows come k times too often, by how many come once less and once more often.

    Of independent draws N_k rows come k times, with mean φ_k = Σ λᵏe^{−λ}/k! over their expected
    numbers λ. The k!·φ_k are moments of one measure, and so log-convex: (k!φ_k)² is at most
    (k−1)!φ_{k−1} · (k+1)!φ_{k+1}, from whatever distribution. Copies break that: where half of the
    rows were doubled, many come twice, and hardly any three times.
    """
    known, numbers = np.unique(times, return_counts=True)
    found = dict(zip(known.tolist(), numbers.tolist(), strict=True))
    for k, number in found.items():
        often = number - _FAR * np.sqrt(number)
        less, more = (
            there + _FAR * np.sqrt(there) + _FAR
            for there in (found.get(k - 1, 0), found.get(k + 1, 0))
        )
        if k > 1 and often > 0.0 and k / (k + 1) * often**2 > less * more:
            return True
    return False


def read_only_rows(rows: NDArray[np.uint8] | None) -> NDArray[np.uint8] | None:
    """Return rows that nobody can write to; a copy of those that somebody could."""
    if rows is not None and (rows.flags.writeable or not rows.flags.owndata):
        rows = rows.copy()
        rows.flags.writeable = False
    return rows


def make_read_only(values: Iterable[Any]) -> None:
    """Forbid to write to the arrays among these values: numpy forgets it when it unpickles."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
