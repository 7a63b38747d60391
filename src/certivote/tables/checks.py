"""What a whole table shows against its rows being drawn one by one: identifiers, and time.

Both are functions of the columns alone, so that whoever has the file finds the same.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.words import (
    names_a_person,
    names_a_time,
    names_a_year,
    names_an_identifier,
    names_an_occasion,
)
from .columns import Columns, rows_per_number

__all__ = [
    "IDENTIFIERS",
    "ORDER",
    "TOPICS",
    "check_identifiers",
    "check_order",
    "remark_on_dates",
    "times_in",
]

_OTHERWISE = "Whether rows belong together otherwise was not looked for."
_FIRST_A_NAME = "Write a name for the first column into the header of the file. "
# Topics of a certificate's checks.
IDENTIFIERS, ORDER = TOPICS = ("identifiers", "order in time")
# An identifier has more values than a category of a few, and one that is known by its even numbers
# alone has more than the hours of a day or the weeks of a year.
_FEW, _MANY = 10, 60
# How many of the rows of a named one are not alone, and how many values of another are alike.
_SHARED, _EVEN = 0.1, 0.9
# So small a share of rows whose value is in several groups changes no certificate much.
_CROSSING = 0.02
# Where times go back no more often than this, between files or series, rows are in their order.
_JUMPS = 0.1
# Times whose ranks have such a correlation with the numbers of their rows lie close to their order.
_CLOSE = 0.9
# Of many rows some show at a glance where it is far from that: ten standard errors of so many.
_SOME, _FAR_FROM_IT = 10_000, 0.1
# Rows in the order of so few times may be so by chance, or by their design.
_FEW_TIMES = 5
# Where so many rows would share a time if they were independent, a tenth of these may be slips; and
# so many rows show it at a glance.
_WOULD, _SLIPS, _GLANCE = 10.0, 0.1, 10_000


def check_identifiers(
    columns: Columns, names: Sequence[str], groups: Any = None, time: str | None = None
) -> tuple[list[str], str]:
    """Return what was found of identifiers that repeat, and a sentence for where nothing was.

    A column of whole numbers or of text, with more than 10 values, is an identifier that repeats

    - if its name ends in patient, customer, user_id and the like (`names_a_person`), and at least a
      tenth of its rows share their value with another row;
    - if its name ends in id or nr (`names_an_identifier`), so many rows are shared, and there are
      more values than rows of each: a ``region_id`` is a category by its number;
    - under any other name that is not of a time, if there are more than 60 values and more than
      rows of each, and nine in ten values stand in the same number of rows, two or more;
    - under such a name, if there are two rows or more of each value, on average, and a column of
      times of which hardly two rows of one value hold the same, as `_is_over` tells. Of several
      that of the fewest values is named.

    Where rows belong to groups, one is no matter whose values are in one of these each, as its rows
    are together in any case; nor is one of which less than a 50th of the rows have a value that is
    in several, such as players who have changed teams: these are counted among what was looked for.
    `time` is a column of times that is not among the others, if any.
    """
    counts = {name: _rows_per_value(columns, name) for name in names}
    together = [] if groups is None else [_codes(groups)]
    found, cleared = [], []
    for name, rows in counts.items():
        codes = columns.codes(name) if _repeats(name, rows) else None
        crossing = None if codes is None or groups is None else _crossing(codes, together[0])
        if crossing is not None and crossing.sum() < _CROSSING * rows.sum():
            if crossing.size:
                n = f"{crossing.size} of {len(rows)} values of {name!r} are in several groups"
                cleared.append(f"{n}, with {crossing.sum()} rows")
        elif codes is not None:
            both = _on_both_sides(codes, None if groups is None else together[0])
            found.append(_finding(name, rows, "looks like an identifier and repeats", both))
            together.append(codes)
        elif names_an_identifier(name) and len(rows) > _FEW:
            shared = int(rows[rows > 1].sum())
            few = f", of which {shared} share theirs with another" if shared else ""
            cleared.append(f"{len(rows)} values of {name!r} in {rows.sum()} rows{few}")
    times = [name for name in (*names, time) if name is not None and _is_of_times(columns, name)]
    for name, of in _panel(columns, counts, times, together):
        both = _on_both_sides(columns.codes(name), None if groups is None else together[0])
        what = f"repeats, with another {of!r} each time"
        found.append(_finding(name, counts[name], what, both))
    if cleared:
        return found, f"No identifier that repeats often: {', '.join(cleared)}. {_OTHERWISE}"
    over = f", and none has each value of {_listed(times)} once" if times else ""
    return found, (
        "No column that repeats is called like an identifier, and none of many values has as many "
        f"rows of each{over}. {_OTHERWISE}"
    )


def _codes(groups: Any) -> NDArray[np.intp]:
    """Return the number of the group of each row."""
    import pandas as pd

    return np.asarray(pd.factorize(np.asarray(groups))[0])


def _finding(name: str, counts: NDArray[np.intp], what: str, both: str) -> str:
    """Say what a column looks like, how many of its values are a matter, and what to do."""
    called = repr(name) if name else "the first column"
    instead = " in the place of the other" if "several groups" in both else ""
    as_group = f"name it as the group{instead} (--group {name!r})"
    if not name:
        as_group = "write a name for it into the header of the file, and name it as the group"
    return (
        f"{_called(name)} {what}: {counts.sum()} rows of {len(counts)} values{both}. If rows of "
        f"one {called} belong together, the examples are not independent and the certificate is "
        f"not valid: {as_group}, and of a model see that it was trained on others."
    )


def _on_both_sides(codes: NDArray[np.intp], groups: NDArray[np.intp] | None) -> str:
    """Say how many values may train and certify: in several groups, or rows if not all are."""
    own = codes[codes >= 0]
    if groups is None:
        rows = np.bincount(own)
        several = int(np.count_nonzero(rows > 1))
        return f", of which {several} have several" if several < np.count_nonzero(rows) else ""
    several = _crossing(codes, groups).size
    return f", of which {several} are in several groups and may both train and certify"


def _crossing(codes: NDArray[np.intp], groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return of the values that are in several groups in how many rows each stands."""
    own, of = codes[codes >= 0], groups[codes >= 0]
    pairs = np.unique(np.stack([own, of]), axis=1)
    return np.bincount(own)[np.bincount(pairs[0]) > 1]


def _panel(
    columns: Columns,
    counts: Mapping[str, NDArray[np.intp]],
    times: Sequence[str],
    together: Sequence[NDArray[np.intp]],
) -> list[tuple[str, str]]:
    """Return the column whose values were looked at over time, with that of the times; or none.

    What is known to belong `together` already, by its groups or its names, is left out, and so is
    another column where each time is there once, such as a rank: unless it holds several of them.
    """
    known = {time: columns.codes(time) for time in times}
    several = [name for name in counts if times and name not in times]
    several = [name for name in several if _FEW < len(counts[name]) <= counts[name].sum() / 2]
    for name in sorted(several, key=lambda name: (len(counts[name]), -counts[name].sum())):
        units = columns.codes(name)
        if any(_inside(units, of) for of in together):
            continue
        for time, moments in known.items():
            if _is_over(units, moments) and all(
                _inside(of, units) or not _is_over(of, moments) for of in together
            ):
                return [(name, time)]
    return []


def _is_over(units: NDArray[np.intp], moments: NDArray[np.intp]) -> bool:
    """Tell whether hardly two rows of one unit have the same moment, though independent rows would.

    Moments that are hardly shared at all, by rows of any unit, tell nothing.
    """
    known = (units >= 0) & (moments >= 0)
    units, moments = units[known], moments[known]
    would = 0.0
    for some in (slice(_GLANCE), slice(None)):
        repeated, would = _repeated(units[some], moments[some])
        if repeated > _SLIPS * max(would, _WOULD):
            return False
    return would >= _WOULD and 2 <= _n_different(moments) <= len(moments) / 2


def _repeated(units: NDArray[np.intp], moments: NDArray[np.intp]) -> tuple[int, float]:
    """Return how many rows repeat a unit and a moment, and how many would if independent, at least.

    Independent rows repeat least where all cells of units × moments are equally likely.
    """
    n, cells = len(units), max(1, _n_different(units) * _n_different(moments))
    return n - _n_pairs(units, moments), n + cells * math.expm1(-n / cells)


def _is_of_times(columns: Columns, name: str) -> bool:
    """Tell whether a column holds times, or is called so: Q42010 is a quarter too."""
    return names_an_occasion(name) or bool(times_in(columns, name))


def _inside(codes: NDArray[np.intp], groups: NDArray[np.intp]) -> bool:
    """Tell whether all rows with the same value of a column are of one group."""
    known = (codes >= 0) & (groups >= 0)
    codes, groups = codes[known], groups[known]
    return all(
        _n_pairs(codes[some], groups[some]) == _n_different(codes[some])
        for some in (slice(_GLANCE), slice(None))
    )


def _n_pairs(codes: NDArray[np.intp], others: NDArray[np.intp]) -> int:
    """Return how many different pairs there are of two values of a row."""
    import pandas as pd

    width = int(others.max(initial=0)) + 1
    return len(pd.unique(codes.astype(np.int64) * width + others))


def _n_different(codes: NDArray[np.intp]) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def _rows_per_value(columns: Columns, name: str) -> NDArray[np.intp]:
    """Return in how many rows each value of a column stands; nothing of numbers that measure."""
    import pandas as pd

    nothing = np.zeros(0, dtype=np.intp)
    column = columns.frame[name]
    if columns.is_of_dates(name) or pd.api.types.is_bool_dtype(column.dtype):
        return nothing
    if not columns.is_of_numbers(name):
        values = columns.values(name)
        if values.all_numbers and np.any(values.numbers != np.rint(values.numbers)):
            return nothing
        return nothing if values.times else values.counts
    # Most numbers that measure show it at once.
    for some in (column[:1000], column):
        numbers = some.dropna().to_numpy() if some.hasnans else some.to_numpy()
        if numbers.dtype.kind == "f" and np.any(numbers != np.rint(numbers)):
            return nothing
    return rows_per_number(numbers)


def _repeats(name: str, counts: NDArray[np.intp]) -> bool:
    """Tell whether values that stand in so many rows each are those of an identifier."""
    n, rows = len(counts), int(counts.sum())
    if n <= _FEW:
        return False
    shared = bool(counts[counts > 1].sum() >= _SHARED * rows)
    if names_a_person(name):
        return shared
    if n * n <= rows or names_a_time(name):
        return False
    if names_an_identifier(name):
        return shared
    usual = int(np.median(counts))
    return n > _MANY and usual > 1 and int(np.count_nonzero(counts == usual)) >= _EVEN * n


def check_order(
    columns: Columns, names: Sequence[str], split_by: str | None = None, grouped: bool = False
) -> tuple[list[str], str]:
    """Return what was found of rows in the order of time, and a sentence for where nothing was.

    Columns of dates are looked at, of text that can be read as dates, and of numbers whose name
    ends in a word such as year, date or time. The rows are in their order if hardly any row is
    before the one above it, or hardly any after it, where the column is not missing, and it has
    more than 5 values: several files one after the other, or several series, are in order too. They
    are as well if all lie close to their order, by a rank correlation above 0.9.
    Where rows are `grouped`, or were `split_by` a time, only that counts, as series are what groups
    are, and months come again each year; and what has the order of that time is no matter.
    """
    looked, sorted_by = [], []
    whole = grouped or split_by is not None
    known = [] if split_by is None else times_in(columns, split_by, named=True)
    for name in names:
        ways = times_in(columns, name)
        ways = [times for times in ways if not any(_go_together(times, by) for by in known)]
        if ways:
            looked.append(name)
        if any(_is_in_order(times, whole) for times in ways):
            sorted_by.append(name)
    if sorted_by:
        return [
            f"The rows are in the order of {_listed(sorted_by)}, which looks like time. Examples "
            "that follow one another in time are seldom independent, and later ones may differ: "
            "the certificate is not valid for the time after them. "
            f"{_FIRST_A_NAME * ('' in sorted_by)}Name the column as the time (--time), and the "
            "latest rows certify."
        ], ""
    sentences = []
    if split_by is not None:
        sentences.append(f"The rows were split by {split_by!r}, and the latest certify.")
    if looked:
        sentences.append(
            f"The rows{' of all groups together' if grouped else ''} are not sorted by "
            f"{_listed(looked)}, or by a few values only. Where later rows are to be predicted, "
            "that tells nothing: --time lets the latest certify."
        )
    return [], " ".join(sentences) or "No column was read as dates or times."


def remark_on_dates(columns: Columns, names: Sequence[str]) -> list[str]:
    """Return what to say of columns of dates and years where the rows were split by nothing."""
    dated = [name for name in names if _tells_years(columns, name) and _varies(columns, name)]
    if not dated:
        return []
    return [
        f"{_listed(dated)} {'holds' if len(dated) == 1 else 'hold'} times, and the rows were not "
        "split by them: where later rows are to be predicted, name the time with --time, and the "
        "latest certify; of a model see that it was trained on earlier ones"
    ]


def _tells_years(columns: Columns, name: str) -> bool:
    """Tell whether times are dates, or called years: months and hours come again."""
    return columns.is_of_dates(name) or not columns.is_of_numbers(name) or names_a_year(name)


def _varies(columns: Columns, name: str) -> bool:
    """Tell whether a column holds times, and not one alone."""
    return any(np.any(times != times[:1]) for times in times_in(columns, name))


def times_in(columns: Columns, name: str, named: bool = False) -> list[NDArray[Any]]:
    """Return the times in the rows of a column that has some, once for each way to read them.

    Numbers are times if the column is called so, or was `named` as one.
    """
    named = named or names_a_time(name)
    if columns.is_of_dates(name):
        return [columns.frame[name].dropna().to_numpy()]
    if columns.is_of_numbers(name):
        return [columns.frame[name].dropna().to_numpy()] if named else []
    values = columns.values(name)
    codes = values.codes[values.codes >= 0]
    if named and values.all_numbers:
        return [values.numbers[codes]]
    ways = (times[codes] for times in values.times)
    return [times[~np.isnan(times)] for times in ways]


def _is_in_order(times: NDArray[Any], whole: bool) -> bool:
    """Tell whether times go up nearly all the way, or down, and are more than a few.

    They do where hardly a row goes back, or where all of them lie close to their order.
    """
    if len(times) <= _FEW_TIMES:
        return False
    later, earlier = times[1:] > times[:-1], times[1:] < times[:-1]
    rises, falls = int(np.count_nonzero(later)), int(np.count_nonzero(earlier))
    if max(rises, falls) < _FEW_TIMES:
        return False
    one_way = min(rises, falls) <= _JUMPS * max(rises, falls) and not whole
    return one_way or _go_together(times, np.arange(len(times)))


def _go_together(times: NDArray[Any], others: NDArray[Any]) -> bool:
    """Tell whether times and others have a rank correlation near 1, or −1; not if some are gaps."""
    from scipy.stats import rankdata  # slow to import, and seldom needed

    def correlation(times: NDArray[Any], others: NDArray[Any]) -> float:
        ranks, order = rankdata(times), rankdata(others)
        if ranks.std() == 0.0 or order.std() == 0.0:
            return 0.0
        return abs(float(np.corrcoef(ranks, order)[0, 1]))

    if len(times) != len(others):
        return False
    if len(times) > 2 * _SOME:
        some = np.random.RandomState(0).randint(len(times), size=_SOME)
        if correlation(times[some], others[some]) < _CLOSE - _FAR_FROM_IT:
            return False
    return correlation(times, others) > _CLOSE


def _called(name: str) -> str:
    return f"Column {name!r}" if name else "The first column, which has no name,"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) if name else "the column without a name" for name in names)
