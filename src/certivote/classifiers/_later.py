"""Whether voters that know what came before know what comes after it.

Where they are trained on the earlier rows, instead of on as many of any time, and err more on the
latest, what is claimed of rows of all times is not true of those that are still to come.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .._utils.words import names_a_year
from ._trials import as_numbers, losses

__all__ = ["later"]

# So many columns are looked at, of more than so many values.
_COLUMNS, _FEW_VALUES = 4, 3
# The latest are about such a share of the rows, and at least and at most such ones.
_LATEST, _LEAST, _MOST = 0.3, 0.1, 0.5
# So many rows are taken, of which so many at a time are enough. Fewer before or after are too few,
# and so are fewer groups of them.
_ENOUGH, _ROWS, _FEW_ROWS = 20_000, 4_000, 50
# Rows are drawn so many times, unless it does not look promising after a few.
_TIMES, _FIRST, _PROMISING = 8, 3, 1.5
# By so many standard errors voters must err more that were trained before: a little they always do,
# as all of the latest rows are beyond the last split.
_STANDARD_ERRORS = 5.0


def later(
    X: Any, y: NDArray[Any], groups: NDArray[np.intp] | None, seed: int
) -> tuple[list[str], str | None]:
    """Say by which columns the latest rows are harder for voters that were trained before them.

    Columns are looked at that hold dates, or are called a date or a year, or count up from the
    first row to the last, with more rows of each value than there are values. About three tenths of
    the rows are the latest. Ten trees are trained on rows before these, and on as many of any time,
    and tested on the same ones of the latest, up to eight times; rows of groups that are tested
    train none. The second part of what is returned is a sentence for where nothing was found; None
    if there is no such column.
    """
    if not hasattr(X, "columns"):
        return [], None
    groups = np.arange(len(y)) if groups is None else groups
    split = {str(name): _split(str(name), np.asarray(X[name]), groups) for name in X.columns}
    asked = {name: rows for name, rows in split.items() if rows is not None}
    if not asked:
        return [], None
    dated = {str(name) for name in X.columns if _is_dated(str(name), np.asarray(X[name]))}
    some = np.sort(np.random.RandomState(seed).permutation(len(y))[:_ENOUGH])
    numbers = as_numbers(_safe_indexing(X, some))
    found, cleared = [], []
    for name, (late, early) in list(asked.items())[:_COLUMNS]:
        more = _more(numbers, y[some], groups[some], (late[some], early[some]), seed)
        if more is None:
            cleared.append(repr(name))
        else:
            say = _finding if name in dated else _of_a_counter
            found.append(say(name, *more))
    return found, None if found else _cleared(cleared)


def _finding(name: str, before: float, of_any: float) -> str:
    return (
        f"Later rows are harder: voters trained on the rows before them by {name!r} err on "
        f"{before:.1%} of the latest, against {of_any:.1%} where rows of all times train them. The "
        "claim is about new rows of the same times: for later ones it is not valid. If such are to "
        f"be predicted, name the column as the time (--time {name!r}), and the latest certify."
    )


def _of_a_counter(name: str, before: float, of_any: float) -> str:
    """Say the same of what counts up and may be a period, a site or a batch."""
    return (
        f"{name!r} counts up from the first row to the last, and rows of its last values are "
        f"harder: voters trained on the rows before them err on {before:.1%} of these, against "
        f"{of_any:.1%} where rows of all values train them. The claim is about new rows with these "
        f"values: for others it is not valid. If {name!r} counts times, and later ones are to be "
        f"predicted, name it as the time (--time {name!r}), and the latest certify."
    )


def _cleared(names: list[str]) -> str:
    return (
        f"Voters trained on the rows before the latest by {', '.join(names)} were not seen to err "
        "more on these than voters trained on rows of all times."
    )


def _times(name: str, column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the times in a column, with gaps; None if it holds none, as far as can be seen."""
    if column.dtype.kind == "M":
        times = column.astype("datetime64[s]").astype(np.float64)
        return np.where(np.isnat(column), np.nan, times)
    if column.dtype.kind not in "iuf":
        return None
    times = np.where(np.isfinite(column), column, np.nan).astype(np.float64)
    return times if _is_dated(name, column) or _counts_up(times) else None


def _is_dated(name: str, column: NDArray[Any]) -> bool:
    return column.dtype.kind == "M" or names_a_year(name)


def _counts_up(times: NDArray[np.float64]) -> bool:
    """Tell whether numbers go up by one from row to row, or stay, from the first to the last.

    Of groups that are counted there are more than rows of each.
    """
    steps = np.diff(times)
    several = (1.0 + np.count_nonzero(steps)) ** 2 <= len(times)
    return bool(several and np.all((steps == 0.0) | (steps == 1.0)))


def _split(
    name: str, column: NDArray[Any], groups: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which rows are the latest, all those of one time, and which came before.

    None if a column is not of times, or these, or rows and groups on either side, are too few.
    """
    if (times := _times(name, column)) is None:
        return None
    values, counts = np.unique(times[~np.isnan(times)], return_counts=True)
    if values.size <= _FEW_VALUES:
        return None
    shares = np.cumsum(counts[::-1])[::-1] / counts.sum()
    first = int(np.argmin(np.abs(shares - _LATEST)))
    late, early = times >= values[first], times < values[first]
    both = min(np.unique(groups[late]).size, np.unique(groups[early]).size)
    return (late, early) if _LEAST <= shares[first] <= _MOST and both >= _FEW_ROWS else None


def _more(
    X: NDArray[np.float32],
    y: NDArray[Any],
    groups: NDArray[np.intp],
    rows: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    seed: int,
) -> tuple[float, float] | None:
    """Return the errors on late rows of voters trained before, and at any time; None if alike.

    `rows` are the late and the early ones.
    """
    late, early = rows
    before, of_any = [], []
    for time in range(_TIMES):
        rng = np.random.RandomState([seed, time])
        drawn = rng.permutation(np.unique(groups[late]))[::2]
        test = rng.permutation(np.flatnonzero(late & np.isin(groups, drawn)))[:_ROWS]
        others = (late | early) & ~np.isin(groups, groups[test])
        past = rng.permutation(np.flatnonzero(others & early))[:_ROWS]
        any_time = rng.permutation(np.flatnonzero(others))[: len(past)]
        if not len(past):
            return None
        before.append(losses(X, y, past, test, rng))
        of_any.append(losses(X, y, any_time, test, rng))
        if time + 1 in (_FIRST, _TIMES):
            far = _standard_errors(before, of_any)
            if far < (_PROMISING if time + 1 < _TIMES else _STANDARD_ERRORS):
                return None
    return float(np.mean(np.concatenate(before))), float(np.mean(np.concatenate(of_any)))


def _standard_errors(before: list[NDArray[np.float64]], of_any: list[NDArray[np.float64]]) -> float:
    """Return by how many standard errors voters trained before err more than those of any time.

    Rows are what is independent, each drawn in about half of the times; and so are the times, of
    which each has its own voters, that err together.
    """
    gaps = [one - other for one, other in zip(before, of_any, strict=True)]
    every = np.concatenate(gaps)
    of_rows = float(every.var()) * len(gaps) / 2 / every.size
    of_times = float(np.var([gap.mean() for gap in gaps], ddof=1)) / len(gaps)
    spread = float(np.sqrt(of_rows + of_times))
    return float(every.mean()) / spread if spread > 0.0 else 0.0
