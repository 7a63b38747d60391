"""Whether rows that stand beside each other in a table belong together: of one subject, say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from ._fingerprints import bits_of, columns_of, joint

__all__ = ["beside", "side_by_side"]

# By so many standard errors voters must err less beside training rows; of so many rows.
_ERR_LESS, _FEW_ROWS = 3.5, 50
# By so many standard errors nearest rows must stand together more often than by chance, and by a
# factor.
_STANDARD_ERRORS, _TIMES = 5.0, 2.0
# Of so many rows that follow one another, such a share with their nearest one so few rows away; and
# from so many on a row is farther away.
_WINDOW, _NEAREST, _AWAY, _FAR = 5_000, 0.1, 3, 25
# So many rows say enough of a table: to rank the values of all would take longer than to count.
_MOST = 200_000
# A row is compared with the next one, and with those so many rows on: what comes back every 2, 3,
# 4, 6 or 12 rows comes back in all three.
_STEPS = (1, 13, 25)
# By such a share, and by so many standard errors of so many batches, the next one must differ less.
_DIFFER_LESS, _SURE, _BATCHES = 0.1, 4.0, 20
# Of rows sorted by a column its values stand together, but for such a share.
_SLIPS = 0.1

_ADVICE = (
    "Then the examples are not independent, and the certificate is not valid: say which rows "
    "belong together by groups (--group), in a column that you add if there is none."
)


def beside(
    X: Any,
    y: NDArray[Any],
    parts: tuple[NDArray[np.intp], NDArray[np.intp]],
    losses: NDArray[np.bool_],
) -> list[str]:
    """Say if rows beside each other seem to belong together, by the first sign of it.

    `parts` are the rows of part A and of part B to which the losses belong.
    """
    return _err_less(*parts, losses) or side_by_side(X, y)


def side_by_side(X: Any, y: NDArray[Any]) -> list[str]:
    """Say so by the rows alone, as where none was trained on; of many, by those in the middle."""
    if len(y) > _MOST:
        first = (len(y) - _MOST) // 2
        window = slice(first, first + _MOST)
        X, y = _safe_indexing(X, window), y[window]
    return _nearest(X, y) or _differ_less(X, y)


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
    chance = max(by_chance, float(farther))
    at_most = _TIMES * chance + _STANDARD_ERRORS * float(np.sqrt(chance))
    if close <= max(_NEAREST * len(places), at_most):
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


def _differ_less(X: Any, y: NDArray[Any]) -> list[str]:
    """Say if a row differs less from the next one than from those farther on.

    Of rows in any order it does not. Where something unknown sorts them they differ ever more from
    those farther on: then what is between these two is between the next one and the nearer of them
    too. Rows that columns sort are compared within their blocks.
    """
    n = len(y) - _STEPS[-1]
    if n < _FEW_ROWS:
        return []
    blocks, sorting = _sorted_by(X, y, numbers=True)
    inside = np.all([blocks[:n] == blocks[step : n + step] for step in _STEPS], axis=0)
    if np.count_nonzero(inside) < _FEW_ROWS:
        return []
    following, far, farther = _differences(X, y, sorting)[:, inside]
    enough = _DIFFER_LESS * float(far.mean())
    for less in (far - following, 2.0 * far - farther - following):
        batches = [float(batch.mean()) for batch in np.array_split(less, _BATCHES)]
        error = float(np.std(batches, ddof=1)) / np.sqrt(_BATCHES)
        if float(less.mean()) <= max(enough, _SURE * error):
            return []
    share = 1.0 - float(following.mean()) / float(far.mean())
    return [
        f"Rows differ {share:.0%} less from the next one in the table than from the one "
        f"{_STEPS[1]} rows on, where of independent rows they would differ as much: rows beside "
        f"each other seem to belong together. {_ADVICE}"
    ]


def _differences(X: Any, y: NDArray[Any], sorting: set[int]) -> NDArray[np.float64]:
    """Return how much rows differ from those some steps on, over the columns and the labels.

    By 1 for each value that is another; for numbers by twice the share of rows between the two,
    which is 1 as well where a column has no third.
    """
    n = len(y) - _STEPS[-1]
    total = np.zeros((len(_STEPS), n))
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        total += [np.diff((rows[:n] != rows[step : n + step]).indptr) for step in _STEPS]
    columns = [] if sparse.issparse(X) else columns_of(X)
    for number, column in enumerate([y, *columns], start=-1):
        if number in sorting:
            continue
        ranked = number >= 0 and column.dtype.kind in "iuf"
        _, codes, counts = np.unique(
            column if ranked else bits_of(column), return_inverse=True, return_counts=True
        )
        places = ((2.0 * np.cumsum(counts) - counts) / len(y))[codes] if ranked else codes
        for sums, step in zip(total, _STEPS, strict=True):
            one, other = places[:n], places[step : n + step]
            sums += np.abs(one - other) if ranked else one != other
    return total


def _sorted_by(X: Any, y: NDArray[Any], numbers: bool) -> tuple[NDArray[np.intp], set[int]]:
    """Return the block of each row, of those that stand together by what sorts them, and by which.

    Rows are sorted by columns, of which one may be the labels, if nearly all that agree in these
    stand together, where they are not most of them different, or, if `numbers` is true, if numbers
    go up or down with hardly a slip. By numbers that are nearly all different rows have no blocks.
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
                del left[number]
                if int(finer.max()) < (1.0 - _SLIPS) * len(y):
                    blocks, found = finer, True
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
