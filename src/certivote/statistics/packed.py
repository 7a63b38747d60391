"""Products with a matrix of 0/1 losses, eight to a byte, without unpacking it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "chunks_of",
    "erring_weight",
    "numbers_of",
    "rows_at_once",
    "tables_of",
    "transposed_product",
]

# Row v: the eight bits of the byte v, the first one first, as numpy packs them.
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
_ROWS_AT_ONCE, _LOSSES_AT_ONCE = 16_384, 2**25


def rows_at_once(n_voters: int) -> int:
    """Return how many examples are looked at together: few enough for the cache."""
    return max(1, min(_ROWS_AT_ONCE, _LOSSES_AT_ONCE // n_voters))


def chunks_of(rows: NDArray[np.uint8], n_voters: int) -> Iterator[NDArray[np.uint8]]:
    """Yield packed rows, a few at a time."""
    step = rows_at_once(n_voters)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def tables_of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each byte of a row and each of its 256 values, the weight of the bits set."""
    n_bytes = (weights.size + 7) // 8
    padded = np.zeros(8 * n_bytes)
    padded[: weights.size] = weights
    # No BLAS, whose order of adding differs between machines.
    tables: NDArray[np.float64] = np.einsum("kb,vb->kv", padded.reshape(n_bytes, 8), _BITS)
    return tables


def erring_weight(rows: NDArray[np.uint8], tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L·q for packed rows of L and `tables_of` q: the weight of the voters that err.

    The terms are non-negative, so that the relative error is at most that of adding n numbers.
    """
    total = np.zeros(len(rows))
    for table, column in zip(tables, rows.T, strict=True):
        total += table.take(column)
    return total


def transposed_product(
    rows: NDArray[np.uint8], values: NDArray[np.float64], n_voters: int
) -> NDArray[np.float64]:
    """Return Lᵀ·v for packed rows of L: for each voter, the sum over the examples it errs on."""
    sums = [np.bincount(column, weights=values, minlength=256) @ _BITS for column in rows.T]
    return np.concatenate(sums)[:n_voters]


def numbers_of(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a 64-bit number for each packed row: equal for equal ones, almost surely no others."""
    words = np.zeros((len(rows), (rows.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    total = np.zeros(len(rows), dtype=np.uint64)
    for word in words.view(np.uint64).T:
        total = (total ^ word) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total
