"""Fingerprints of rows, to tell whether an example has been seen before."""

from contextlib import suppress
from hashlib import blake2b
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._utils.spelling import spelling
from ..statistics.counts import come_unlike_draws

# The rows of a sample tell examples apart only if nearly all of them are different.
_MOSTLY_DISTINCT = 0.9
# Rows that repeat are rich if each half of the columns, of so many, tells nearly all apart.
_HALVES, _FEW_ROWS = 4, 30
# A continuous feature has more decimals than so many, and so many values for each distinct row.
_FEW_DECIMALS, _MANY_VALUES = 3, 0.5
# Columns with so many values are rich, and so many of them are looked at. Of the rows that agree
# without half of these such a share agrees in them too, if they are copies.
_RICH_VALUES, _RICH_COLUMNS, _THROUGHOUT = 20, 6, 0.65
# Where more rows than such a share come again, other columns tell them apart no better.
_FEW_REPEATED = 0.2
# A batch of fewer distinct rows may come again by chance, row for row.
_TELLING = 12
# Rows are rounded to the first of so many bits at which nearly all are told apart, in so many
# columns, which are told to be continuous by so many rows.
_ROUNDED_TO, _NEARLY_ALL, _ROUNDED_COLUMNS, _FIRST_ROWS = (4, 8, 12), 0.999, 16, 1000
# Rows of one table are compared at so many bits, the most first, in so many columns of broken
# numbers, those of the largest numbers first: decimals that are cut off say least of these.
_COMPARED_AT, _COMPARED_IN, _COMPARED_ROWS = (16, 12, 10, 8, 6, 4, 2, 0), (3, 6, 12), 100_000
# Where so many rows too many are to be expected, none at all is a chance of about exp(−12).
_SURPRISING = 12.0


def row_fingerprints(X: Any, only: NDArray[np.intp] | None = None) -> NDArray[np.uint64]:
    """Return a 64-bit number for each row: equal for equal rows, almost surely not for others.

    `only` names the columns to look at.
    """
    if sparse.issparse(X):
        rows = sparse.csr_array(X, copy=True)
        return _sparse_fingerprints(rows if only is None else rows[:, only])
    columns = columns_of(X)
    if only is not None:
        columns = [columns[j] for j in only]
    factors = _factors(len(columns))
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        total += _mix(bits_of(column)) * factor
    return total


def columns_of(X: Any) -> list[NDArray[Any]]:
    """Return the columns of a table or an array."""
    if hasattr(X, "columns"):
        return [np.asarray(X[name]) for name in X.columns]
    array = np.asarray(X)
    array = array.reshape(len(array), -1)
    return [array[:, j] for j in range(array.shape[1])]


def _factors(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(2**63, size=n, dtype=np.uint64) * np.uint64(2) + 1


def bits_of(column: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number for each value of a column: equal for equal values, in whatever type."""
    if column.dtype.kind == "O":
        with suppress(TypeError, ValueError):
            column = column.astype(np.float64)
    if column.dtype.kind in "biuf":
        # At the precision of float32, so that a copy in another type is the same row; −0 is 0.
        with np.errstate(over="ignore"):
            narrow = column.astype(np.float32) + np.float32(0)
            narrow[np.isnan(narrow)] = np.nan  # whatever its sign
            bits = narrow.view(np.uint32).astype(np.uint64)
        # Large whole numbers, such as times, need more.
        large = np.abs(narrow) >= np.float32(2**24)
        if large.any():
            wide = column[large].astype(np.float64)
            bits[large] = np.where(wide == np.rint(wide), wide.view(np.uint64), bits[large])
        return bits
    digests = b"".join(blake2b(str(value).encode(), digest_size=8).digest() for value in column)
    return np.frombuffer(digests, dtype=np.uint64).copy()


def name_fingerprints(names: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a 64-bit number for each name: equal for those that are the same but for spelling.

    7, 7.0, "7" and "007" are one.
    """
    if names.dtype.kind == "M":
        names = names.astype("datetime64[us]")
    texts = (spelling(str(name), zeros=True).encode() for name in names.tolist())
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64).copy()


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # Without it the low bits of floats, often zero, would stay zero in every product.
    mixed = bits ^ (bits >> np.uint64(32))
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return mixed


def joint(blocks: NDArray[np.intp], bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each row: equal where both are, almost surely not elsewhere."""
    return _mix(blocks.astype(np.uint64)) + _mix(bits)


def _sparse_fingerprints(X: Any) -> NDArray[np.uint64]:
    X.sum_duplicates()
    X.eliminate_zeros()
    terms = _mix(bits_of(X.data)) * _factors(X.shape[1])[X.indices]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    total: NDArray[np.uint64] = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    return total


def has_continuous(X: Any, n_distinct: int) -> bool:
    """Tell whether some dense feature is continuous.

    Its values have more than a few decimals, and it has about as many as there are distinct rows.
    """
    return not sparse.issparse(X) and any(
        column.dtype.kind == "f" and _is_continuous(column[np.isfinite(column)], n_distinct)
        for column in columns_of(X)
    )


def _is_continuous(column: NDArray[Any], n_distinct: int) -> bool:
    values = np.unique(column)
    if values.size < max(_TELLING, _MANY_VALUES * n_distinct):
        return False
    decimals = np.round(values, _FEW_DECIMALS)
    return bool(np.mean(np.abs(values - decimals) > 1e-6 * np.abs(values)) > 0.5)


def _continuous_columns(X: Any) -> NDArray[np.intp]:
    """Return some columns of a table that hold broken numbers, hardly two of them the same."""
    found: list[int] = []
    for j, column in enumerate([] if sparse.issparse(X) else columns_of(X)):
        first = column[:_FIRST_ROWS]
        if first.dtype.kind == "f" and _is_continuous(first[np.isfinite(first)], len(first)):
            found.append(j)
        if len(found) == _ROUNDED_COLUMNS:
            break
    return np.array(found, dtype=np.intp)


def _rounded_fingerprints(X: Any, only: NDArray[np.intp], bits: int) -> NDArray[np.uint64]:
    """Return a number for each row, equal for those whose numbers agree in their first bits."""
    columns, factors = columns_of(X), _factors(len(only))
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for j, factor in zip(only.tolist(), factors, strict=True):
        total += _mix(_cut(_as_bits(columns[j]), bits).astype(np.uint64)) * factor
    return total


def _as_bits(column: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the bits of numbers as float32, of −0 as of 0, and of NaN whatever its sign."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = column.astype(np.float32) + np.float32(0)
    narrow[np.isnan(narrow)] = np.nan
    return narrow.view(np.uint32)


def _cut(narrow: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    """Return the first bits of numbers, rounded."""
    cut = np.uint32(23 - bits)
    kept: NDArray[np.uint32] = (narrow + (np.uint32(1) << (cut - np.uint32(1)))) >> cut
    return kept


def is_hardly_chance(X: Any, rows: NDArray[np.uint64]) -> bool:
    """Tell whether rows of X that repeat are too rich for that to be chance.

    They are if a feature is continuous; if half of the columns, whichever, tell the rows apart as
    well as all do, where independent draws that agree in one half would differ in the other; or if
    they come as often as no independent draws would, from whatever distribution; or if rows that
    agree without half of the columns with most values, whichever, agree in these as well.
    """
    distinct, times = np.unique(rows, return_counts=True)
    if has_continuous(X, distinct.size):
        return True
    if distinct.size < _FEW_ROWS or distinct.size == rows.size:
        return False
    if come_unlike_draws(times):
        return True
    if not sparse.issparse(X) and _agree_throughout(X, rows.size - distinct.size):
        return True
    n = X.shape[1] if sparse.issparse(X) else len(columns_of(X))
    rng = np.random.default_rng(0)
    halves = (rng.permutation(n)[: n // 2] for _ in range(_HALVES if n > 1 else 0))
    told_apart = [np.unique(row_fingerprints(X, half)).size for half in halves]
    return bool(told_apart) and min(told_apart) >= _MOSTLY_DISTINCT * distinct.size


def _agree_throughout(X: Any, repeated: int) -> bool:
    """Tell whether rows that agree without half of the richest columns agree in these as well.

    Of independent draws that agree in the other columns most would not. Three such columns are
    needed, as one may be the sum of the others.
    """
    columns = columns_of(X)
    values = np.array([np.unique(bits_of(column)).size for column in columns])
    rich = np.argsort(-values, kind="stable")[:_RICH_COLUMNS]
    rich = rich[values[rich] >= _RICH_VALUES]
    if rich.size < 3 or repeated > _FEW_REPEATED * len(columns[0]):
        return False
    for half in combinations(rich.tolist(), (rich.size + 1) // 2):
        others = np.setdiff1d(np.arange(values.size), half)
        without = row_fingerprints(X, others)
        if repeated < _THROUGHOUT * (without.size - np.unique(without).size):
            return False
    return True


class Alike(NamedTuple):
    """How many rows are like another one when rounded, in how many columns, and to which bits."""

    rows: int
    columns: int
    bits: int


def alike_rounded(X: Any, fewest: int) -> Alike | None:
    """Return how rows of a table are alike when rounded; None if few are, or as draws would be.

    Rounding sorts rows into cells, and into cells of any kind independent draws come as
    `come_unlike_draws` says, from whatever distribution. A table that was joined with a copy of
    itself in another precision has its rows there by twos.
    """
    columns = [] if sparse.issparse(X) else _broken_columns(X)
    none = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    cells = dict.fromkeys(_COMPARED_AT, none)
    for number, (column, factor) in enumerate(zip(columns, _factors(len(columns)), strict=True), 1):
        narrow = _as_bits(column)
        for bits in _COMPARED_AT:
            cells[bits] = cells[bits] + _cut(narrow, bits).astype(np.uint64) * factor
        for bits in _COMPARED_AT if number in (*_COMPARED_IN, len(columns)) else ():
            # Of many rows those in some cells are enough: rows that are alike are in one.
            own = _mix(cells[bits])
            own = own[own % np.uint64(1 + len(own) // _COMPARED_ROWS) == 0]
            times = np.unique(own, return_counts=True)[1]
            alike = (own.size - times.size) * len(narrow) // max(1, own.size)
            if alike > fewest and come_unlike_draws(times):
                return Alike(alike, number, bits)
    return None


def _broken_columns(X: Any) -> list[NDArray[Any]]:
    """Return some columns that hold broken numbers, those of the largest numbers first."""
    found: list[tuple[float, NDArray[Any]]] = []
    for column in columns_of(X):
        some = column[:: max(1, len(column) // _FIRST_ROWS)]
        numbers = np.abs(some[np.isfinite(some)]) if column.dtype.kind == "f" else np.zeros(0)
        if np.any(numbers % 1.0):
            found.append((float(np.median(numbers)), column))
    found.sort(key=lambda one: -one[0])
    return [column for _, column in found[: _COMPARED_IN[-1]]]


class SeenRows:
    """The rows that a vote has seen, as fingerprints, and the batches that they came in.

    And the names of their groups, where they had such.
    """

    # None in votes that were saved before these were remembered.
    _groups: NDArray[np.uint64] | None = None
    _rounded: NDArray[np.uint64] | None = None
    _columns: NDArray[np.intp] | None = None
    _bits: int = 0

    def __init__(self) -> None:
        self._rows = np.empty(0, dtype=np.uint64)
        self._batches: tuple[bytes, ...] = ()  # sorted, so that equal votes are saved alike

    def add_rounded(self, X: Any) -> None:
        """Remember the rows that were added as rounded ones, if hardly two are the same then."""
        if self._rounded is not None and self._columns is not None:
            more = _rounded_fingerprints(X, self._columns, self._bits)
            self._rounded = np.unique(np.concatenate([self._rounded, more]))
            if self._rounded.size < _NEARLY_ALL * np.unique(self._rows).size:
                self._rounded = None  # of more rows some are alike by chance
            return
        columns, distinct = _continuous_columns(X), np.unique(self._rows).size
        if self._columns is not None:
            return
        if not columns.size or distinct < _FEW_ROWS:
            return
        for bits in _ROUNDED_TO:
            rounded = np.unique(_rounded_fingerprints(X, columns, bits))
            if rounded.size >= _NEARLY_ALL * distinct:
                self._rounded, self._columns, self._bits = rounded, columns, bits
                return

    def known_rounded(self, X: Any, rows: NDArray[np.uint64]) -> tuple[int, int, int] | None:
        """Return how many rows of X are like one that has been seen when rounded, and not as it is.

        Those that are alike count once. With them come the columns and the digits that are
        compared; None if no columns are told to be continuous, or rounded rows are no longer told
        apart.
        """
        if self._rounded is None or self._columns is None:
            return None
        ours = _rounded_fingerprints(X, self._columns, self._bits)
        known = np.isin(ours, self._rounded) & ~np.isin(rows, self._rows)
        digits = int(self._bits * np.log10(2.0))
        return np.unique(ours[known]).size, self._columns.size, digits

    def rounded_by_chance(self, m: int) -> float:
        """Return how many of m new rows would be like one that has been seen, at the very most.

        Of all pairs of the n rows that were seen c are alike: of any pair the chance is hardly
        above (c + 3)/(n(n − 1)/2), and each new row makes n pairs. Counts vary by their root.
        """
        n = int(np.unique(self._rows).size)
        alike = n - (0 if self._rounded is None else int(self._rounded.size))
        expected = 2.0 * m * (alike + 3.0) / max(1, n - 1)
        return expected + 4.0 * float(np.sqrt(expected))

    def add_groups(self, names: NDArray[Any]) -> None:
        """Remember what the groups of the rows are called."""
        self._groups = np.unique(name_fingerprints(names))

    @property
    def in_groups(self) -> bool:
        """Whether the rows had groups."""
        return self._groups is not None

    def known_groups(self, names: NDArray[Any]) -> int:
        """Return how many groups are called like one that has been seen."""
        known = np.empty(0, dtype=np.uint64) if self._groups is None else self._groups
        return int(np.isin(name_fingerprints(names), known).sum())

    def add(self, *parts: NDArray[np.uint64]) -> None:
        """Remember rows that came together, and may come again together or part by part."""
        whole = np.concatenate(parts)
        self._rows = np.concatenate([self._rows, whole])
        self._batches = tuple(sorted({*self._batches, *map(_batch, (*parts, whole))}))

    def count(self, X: Any) -> int:
        """Return how many rows of X have been seen."""
        return int(self.known(X, row_fingerprints(X)).sum())

    def known(self, X: Any, rows: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Tell which rows of X have been seen.

        Where rows do not tell examples apart, because all features are discrete and rows repeat,
        only a batch is known that comes again as a whole, in any order, or that is a part of what
        was seen, row for row, as new examples would hardly be.
        """
        if _batch(rows) in self._batches and np.unique(rows).size >= _TELLING:
            return np.ones(len(rows), dtype=np.bool_)
        distinct = np.unique(self._rows)
        repeats = distinct.size < _MOSTLY_DISTINCT * self._rows.size
        if repeats and not has_continuous(X, np.unique(rows).size):
            return np.full(len(rows), self._contains(rows))
        return np.isin(rows, distinct)

    def _contains(self, rows: NDArray[np.uint64]) -> bool:
        """Tell whether each row comes at most as often as it was seen, and not by chance."""
        kinds, seen = np.unique(self._rows, return_counts=True)
        if not np.all(np.isin(rows, kinds)):
            return False
        again = np.bincount(np.searchsorted(kinds, rows), minlength=kinds.size)
        if np.any(again > seen):
            return False
        # How many rows would be too many, if as many were drawn anew from what was seen?
        drawn = np.random.default_rng(0).multinomial(len(rows), seen / seen.sum(), size=20)
        return float(np.maximum(drawn - seen, 0).sum(axis=1).mean()) > _SURPRISING


def _batch(rows: NDArray[np.uint64]) -> bytes:
    return blake2b(np.sort(rows).tobytes(), digest_size=16).digest()
