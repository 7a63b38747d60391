"""Many rows through many trees, compiled (needs numba): votes, and errors as bits.

A node is eight bytes: its threshold in the upper half, then its first child, then its column. The
second child stands behind the first, so that the next node is child + (x > threshold). A leaf is
its own first child, and nothing exceeds its threshold. Both sides of a comparison are whole numbers
in the order of 32-bit floats.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["BLOCK", "LANES", "SMALLEST", "add_tree", "err", "vote"]

# Rows of a block: few enough for the second-level cache, many enough for large trees, which come
# into it once a block. They are whole words of bits, and whole groups of rows.
BLOCK, SMALLEST = 8_064, 960
# So many rows take a step each, in turn, so that none waits for its memory.
LANES = 12
# Trees whose votes are turned into rows together.
_TURNED = 16
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_SIGN, _INFINITE = np.uint32(2**31), np.uint32(0x7F800000)
_FIRST, _LAST = np.uint32(0), np.uint32(2**32 - 1)


@njit(nogil=True, cache=True)
def _ordered(bits: np.uint32) -> np.uint32:
    """Return the bits of a float as a number in the order of floats; −0 is 0, and NaN the last."""
    if (bits & ~_SIGN) > _INFINITE:
        return _LAST
    if bits == _SIGN:
        return _SIGN
    return np.uint32(~bits) if bits & _SIGN else np.uint32(bits | _SIGN)


@njit(nogil=True, cache=True)
def _rounded_down(threshold: np.float64) -> np.uint32:
    """Return the largest float that is not above a threshold, in order: no float tells them apart.

    One before the number of 0 is that of −0, which no value has.
    """
    near = np.float32(threshold)
    number = _ordered(np.float32(near).view(np.uint32))
    return np.uint32(number - 1) if np.float64(near) > threshold else number


@njit(nogil=True, cache=True)
def add_tree(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    feature: NDArray[np.intp],
    threshold: NDArray[np.float64],
    missing_left: NDArray[np.uint8],
    answers: NDArray[np.integer[Any]],
    columns: NDArray[np.intp],
    n_columns: int,
    shift: int,
    nodes: NDArray[np.uint64],
    codes: NDArray[np.integer[Any]],
) -> bool:
    """Write a tree as nodes, and what each answers; False if it is not made as trees are.

    Every node but the first must be the child of one node, that is before it. `n_columns` is how
    far a column is from its twin, in which missing values are low; 0 if there is none.
    """
    size = len(left)
    place = np.full(size, -1)
    place[0] = 0
    n_inner = 0
    for i in range(size):
        here = place[i]
        if here < 0:
            return False
        codes[here] = answers[i]
        if left[i] == -1:
            nodes[here] = (np.uint64(_LAST) << _HALF) | np.uint64(here << shift)
            continue
        if np.isnan(threshold[i]):
            return False
        child = 1 + 2 * n_inner
        n_inner += 1
        for k, below in enumerate((left[i], right[i])):
            if below <= i or below >= size or place[below] >= 0 or child + k >= size:
                return False
            place[below] = child + k
        if feature[i] < 0 or feature[i] >= len(columns):
            return False
        column = LANES * (columns[feature[i]] + (n_columns if missing_left[i] else 0))
        number = np.uint64(_rounded_down(threshold[i]))
        nodes[here] = (number << _HALF) | np.uint64((child << shift) | column)
    return True


@njit(nogil=True, cache=True)
def _fill(bits: NDArray[np.uint32], twins: bool, block: NDArray[np.uint32]) -> None:
    """Write rows of floats, given as bits, as numbers in their order: group, column, lane."""
    size, d = bits.shape
    for row in range(size):
        group, lane = block[row // LANES], row % LANES
        for f in range(d):
            number = _ordered(bits[row, f])
            group[f * LANES + lane] = number
            if twins:
                group[(d + f) * LANES + lane] = _FIRST if number == _LAST else number


@njit(nogil=True, cache=True)
def _next(
    nodes: NDArray[np.uint64],
    node: np.uint64,
    mask: np.uint64,
    shift: np.uint64,
    block: NDArray[np.uint32],
    lane: int,
) -> np.uint64:
    word = nodes[node]
    value = np.uint64(block[(word & mask) + np.uint64(lane)])
    following: np.uint64 = ((word & _LOW) >> shift) + np.uint64(value > (word >> _HALF))
    return following


@njit(nogil=True, cache=True)
def _walk(
    nodes: NDArray[np.uint64],
    codes: NDArray[np.integer[Any]],
    bits_of_column: int,
    block: NDArray[np.uint32],
    size: int,
    out: NDArray[np.integer[Any]],
) -> None:
    """Write what one tree answers on the rows of a block, and on some that are beyond them."""
    mask, shift = np.uint64((1 << bits_of_column) - 1), np.uint64(bits_of_column)
    for row in range(0, size, LANES):
        x = block[row // LANES]
        a = b = c = d = e = f = g = h = i = j = k = m = last = np.uint64(0)
        while True:
            a = _next(nodes, a, mask, shift, x, 0)
            b = _next(nodes, b, mask, shift, x, 1)
            c = _next(nodes, c, mask, shift, x, 2)
            d = _next(nodes, d, mask, shift, x, 3)
            e = _next(nodes, e, mask, shift, x, 4)
            f = _next(nodes, f, mask, shift, x, 5)
            g = _next(nodes, g, mask, shift, x, 6)
            h = _next(nodes, h, mask, shift, x, 7)
            i = _next(nodes, i, mask, shift, x, 8)
            j = _next(nodes, j, mask, shift, x, 9)
            k = _next(nodes, k, mask, shift, x, 10)
            m = _next(nodes, m, mask, shift, x, 11)
            # A child is behind its parent: the sum stays the same only if nothing moves.
            total = a + b + c + d + e + f + g + h + i + j + k + m
            if total == last:
                break
            last = total
        out[row], out[row + 1], out[row + 2] = codes[a], codes[b], codes[c]
        out[row + 3], out[row + 4], out[row + 5] = codes[d], codes[e], codes[f]
        out[row + 6], out[row + 7], out[row + 8] = codes[g], codes[h], codes[i]
        out[row + 9], out[row + 10], out[row + 11] = codes[j], codes[k], codes[m]


@njit(nogil=True, cache=True)
def vote(
    bits: NDArray[np.uint32],
    twins: bool,
    nodes: NDArray[np.uint64],
    codes: NDArray[np.integer[Any]],
    starts: NDArray[np.intp],
    shift: int,
    rows: int,
    out: NDArray[np.integer[Any]],
    column: int,
) -> None:
    """Write what each tree answers on each row, `rows` of them at a time, from a column on.

    Rows are given as the bits of floats. The nodes of tree j begin at `starts[j]`.
    """
    m, d = bits.shape
    n = len(starts) - 1
    block = np.zeros((rows // LANES, (2 * d if twins else d) * LANES), np.uint32)
    turned = np.empty((_TURNED, rows), out.dtype)
    for first in range(0, m, rows):
        size = min(rows, m - first)
        _fill(bits[first : first + size], twins, block)
        for tree in range(0, n, _TURNED):
            some = min(_TURNED, n - tree)
            for j in range(some):
                start, stop = starts[tree + j], starts[tree + j + 1]
                _walk(nodes[start:stop], codes[start:stop], shift, block, size, turned[j])
            for row in range(size):
                for j in range(some):
                    out[first + row, column + tree + j] = turned[j, row]


@njit(nogil=True, cache=True)
def err(
    bits: NDArray[np.uint32],
    twins: bool,
    nodes: NDArray[np.uint64],
    codes: NDArray[np.integer[Any]],
    starts: NDArray[np.intp],
    shift: int,
    rows: int,
    truth: NDArray[np.integer[Any]],
    wrong: NDArray[np.uint64],
    line: int,
) -> None:
    """Write as bits, from a line on, where trees do not answer the truth, on at most `rows`."""
    size, d = bits.shape
    block = np.zeros((rows // LANES, (2 * d if twins else d) * LANES), np.uint32)
    named, wanted = np.zeros(rows, codes.dtype), np.zeros(rows, codes.dtype)
    wanted[:size] = truth
    _fill(bits, twins, block)
    for j in range(len(starts) - 1):
        start, stop = starts[j], starts[j + 1]
        _walk(nodes[start:stop], codes[start:stop], shift, block, size, named)
        named[size:] = 0
        for word in range(rows // 64):
            found = np.uint64(0)
            for row in range(64):
                differs = named[64 * word + row] != wanted[64 * word + row]
                found |= np.uint64(differs) << np.uint64(row)
            wrong[line + j, word] = found
