"""Whether rows that stand beside each other in a table belong together: of one subject, say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._fingerprints import bits_of, columns_of, joint

__all__ = ["beside"]

# By so many standard errors voters must err less beside training rows; of so many rows.
_ERR_LESS, _FEW_ROWS = 3.5, 50
# By so many equal or nearest rows must stand together more often than by chance, and by a factor.
_STANDARD_ERRORS, _TIMES = 5.0, 2.0
# Such a share of rows that equal the one before changes no certificate much.
_FEW_EQUAL, _EQUAL = 5, 0.01
# Of so many rows that follow one another, such a share with their nearest one so few rows away; and
# from so many on a row is farther away.
_WINDOW, _NEAREST, _AWAY, _FAR = 5_000, 0.1, 3, 25
# Of rows sorted by a column its values stand together, but for such a share.
_SLIPS = 0.1

_ADVICE = (
    "Then the examples are not independent, and the certificate is not valid: say which rows "
    "belong together by groups (--group)."
)


def beside(
    X: Any,
    y: NDArray[Any],
    rows: NDArray[np.uint64],
    parts: tuple[NDArray[np.intp], NDArray[np.intp]],
    losses: NDArray[np.bool_],
) -> list[str]:
    """Say if rows beside each other seem to belong together, by the first sign of it.

    `rows` are fingerprints, `parts` the rows of part A and of part B to which the losses belong.
    """
    return _err_less(*parts, losses) or _equal(X, y, rows) or _nearest(X, y)


def _err_less(
    part_a: NDArray[np.intp], part_b: NDArray[np.intp], losses: NDArray[np.bool_]
) -> list[str]:
    """Say if voters err less on rows whose neighbours in the table trained them.

    Which rows train was drawn at random: if rows are independent, those beside one tell nothing.
    """
    inside = np.zeros(max(part_a.max(initial=0), part_b.max(initial=0)) + 3)
    inside[part_a + 1] = 1.0
    beside, erring = inside[part_b] + inside[part_b + 2], losses.mean(axis=1)
    spread = float(beside.std() * erring.std())
    if len(part_b) < _FEW_ROWS or spread == 0.0 or not {0.0, 2.0} <= set(beside.tolist()):
        return []
    correlation = float(np.mean((beside - beside.mean()) * (erring - erring.mean()))) / spread
    if correlation * np.sqrt(len(part_b)) > -_ERR_LESS:
        return []
    alone, between = (float(erring[beside == count].mean()) for count in (0.0, 2.0))
    return [
        f"Voters err less on rows that stand between training rows in the table ({between:.1%}) "
        f"than on rows that stand beside none ({alone:.1%}): rows beside each other seem to belong "
        f"together. {_ADVICE}"
    ]


def _equal(X: Any, y: NDArray[Any], rows: NDArray[np.uint64]) -> list[str]:
    """Say if rows that stand one after the other are equal, more often than in any other order.

    Rows that were sorted by some columns may be: of these only the order within is looked at.
    """
    equal = int(np.count_nonzero(rows[1:] == rows[:-1]))
    few = max(_FEW_EQUAL, _EQUAL * len(rows))
    if equal <= few or equal <= _at_most(_equal_by_chance(rows)):
        return []
    by_chance = _equal_by_chance(rows, _sorted_by(X, y, numbers=True)[0])
    if equal <= _at_most(by_chance):
        return []
    return [
        f"{equal} rows are equal to the one before them in the table, where by chance about "
        f"{by_chance:.0f} would be: rows beside each other seem to be of the same subject. "
        f"{_ADVICE}"
    ]


def _at_most(by_chance: float) -> float:
    return _TIMES * by_chance + _STANDARD_ERRORS * float(np.sqrt(by_chance))


def _equal_by_chance(rows: NDArray[np.uint64], blocks: NDArray[np.intp] | None = None) -> float:
    """Return how many rows would equal the one before, with the rows of each block in any order.

    Of n rows in a block c are of one kind: the one before one of these is another in (c − 1)/n.
    """
    blocks = np.zeros(len(rows), dtype=np.intp) if blocks is None else blocks
    _, first, counts = np.unique(joint(blocks, rows), return_index=True, return_counts=True)
    return float(np.sum(counts * (counts - 1.0) / np.bincount(blocks)[blocks[first]]))


def _nearest(X: Any, y: NDArray[Any]) -> list[str]:
    """Say if the row most like another one, by its numbers, stands beside it, too often for chance.

    Numbers that go one way tell where a row stands, and are left out, as are those that rows are
    sorted by; in their blocks any row may be the nearest.
    """
    if sparse.issparse(X) or len(y) < _FEW_ROWS:
        return []
    first = max(0, (len(y) - _WINDOW) // 2)
    window = slice(first, first + _WINDOW)
    blocks, sorting = _sorted_by(X, y, numbers=False)
    columns = [column for j, column in enumerate(columns_of(X)) if j not in sorting]
    places = _standardised([column[window] for column in columns])
    if places is None:
        return []
    from sklearn.neighbors import NearestNeighbors

    number = np.arange(len(places))
    two = NearestNeighbors(n_neighbors=2).fit(places).kneighbors(places, return_distance=False)
    nearest = np.where(two[:, 0] == number, two[:, 1], two[:, 0])
    away = np.abs(nearest - number)
    close = int(np.count_nonzero(away <= _AWAY))
    of = np.unique(blocks[window], return_inverse=True)[1]
    others = np.maximum(np.bincount(of)[of] - 1, 1)
    by_chance = float(np.sum(np.minimum(1.0, 2 * _AWAY / others)))
    # Where something unknown sorts rows, the nearest are hardly fewer a little farther away.
    farther = _AWAY * np.count_nonzero((away > _FAR) & (away <= 2 * _FAR)) / _FAR
    if close <= max(_NEAREST * len(places), _at_most(max(by_chance, float(farther)))):
        return []
    return [
        f"Of {len(places)} rows {close} have the row that is most like them at most {_AWAY} rows "
        f"away in the table, where by chance about {by_chance:.0f} would: rows beside each other "
        f"seem to belong together. {_ADVICE}"
    ]


def _standardised(columns: list[NDArray[Any]]) -> NDArray[np.float64] | None:
    """Return the numbers among columns on one scale, gaps filled; None if there are none."""
    scaled = []
    for column in (column for column in columns if column.dtype.kind in "iuf"):
        known = np.isfinite(column)
        if not known.any() or _go_one_way(column, np.zeros(len(column), dtype=np.intp)):
            continue
        filled = np.where(known, column, np.median(column[known])).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # too large to be squared, or summed
            spread = float(filled.std())
        if 0.0 < spread < np.inf:
            scaled.append((filled - filled.mean()) / spread)
    return np.stack(scaled, axis=1) if scaled else None


def _sorted_by(X: Any, y: NDArray[Any], numbers: bool) -> tuple[NDArray[np.intp], set[int]]:
    """Return the block of each row, of those that stand together by what sorts them, and by which.

    Rows are sorted by columns, of which one may be the labels, if nearly all that agree in these
    stand together, where they are not most of them different, or, if `numbers` is true, if numbers
    go up or down with hardly a slip.
    """
    blocks = np.zeros(len(y), dtype=np.intp)
    if sparse.issparse(X):
        return blocks, set()
    columns = dict(enumerate([y, *columns_of(X)], start=-1))
    left = {number: bits_of(column) for number, column in columns.items()}
    found = True
    while found:
        found = False
        for number, bits in list(left.items()):
            finer = np.unique(joint(blocks, bits), return_inverse=True)[1]
            if _stand_together(finer) or (numbers and _go_one_way(columns[number], blocks)):
                blocks, found = finer, True
                del left[number]
    return blocks, set(columns) - set(left)


def _stand_together(codes: NDArray[np.intp]) -> bool:
    values, runs = int(codes.max()) + 1, 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
    return values <= len(codes) / 2 and runs <= (1.0 + _SLIPS) * values


def _go_one_way(column: NDArray[Any], blocks: NDArray[np.intp]) -> bool:
    """Tell whether numbers go up within blocks, or down, with hardly a slip."""
    if column.dtype.kind not in "iuf":
        return False
    before, after = column[:-1], column[1:]
    inside = blocks[1:] == blocks[:-1]
    rises, falls = (np.count_nonzero(way & inside) for way in (after > before, after < before))
    return bool(min(rises, falls) <= _SLIPS * max(rises, falls))
