"""Products with a matrix of 0/1 losses, eight to a byte, without unpacking it."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["erring_weight", "tables_of", "transposed_product"]

# Row v: the eight bits of the byte v, the first one first, as numpy packs them.
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


def tables_of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each byte of a row and each of its 256 values, the weight of the bits set.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        The weights of the voters.
    """
    n_bytes = (weights.size + 7) // 8
    padded = np.zeros(8 * n_bytes)
    padded[: weights.size] = weights
    # No BLAS, whose order of adding differs between machines.
    tables: NDArray[np.float64] = np.einsum("kb,vb->kv", padded.reshape(n_bytes, 8), _BITS)
    return tables


def erring_weight(rows: NDArray[np.uint8], tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L·q for packed rows of L: for each example, the weight of the voters that err.

    The terms are non-negative, so that the relative error is at most that of adding n numbers.

    Parameters
    ----------
    rows : ndarray of shape (m, ⌈n/8⌉)
        The packed losses.
    tables : ndarray of shape (⌈n/8⌉, 256)
        `tables_of` the weights q.
    """
    total = np.zeros(len(rows))
    for table, column in zip(tables, rows.T, strict=True):
        total += table.take(column)
    return total


def transposed_product(
    rows: NDArray[np.uint8], values: NDArray[np.float64], n_voters: int
) -> NDArray[np.float64]:
    """Return Lᵀ·v for packed rows of L: for each voter, the sum over the examples it errs on.

    Parameters
    ----------
    rows : ndarray of shape (m, ⌈n/8⌉)
        The packed losses.
    values : ndarray of shape (m,)
        v.
    n_voters : int
        n.
    """
    sums = [np.bincount(column, weights=values, minlength=256) @ _BITS for column in rows.T]
    return np.concatenate(sums)[:n_voters]
