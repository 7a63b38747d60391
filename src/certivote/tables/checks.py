"""What a whole table shows against its rows being drawn one by one: identifiers, and time.

Both are functions of the columns alone, so that whoever has the file finds the same.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, rows_per_number
from .names import names_a_person, names_a_time, names_an_identifier

__all__ = ["IDENTIFIERS", "ORDER", "TOPICS", "check_identifiers", "check_order", "times_in"]

# Topics of a certificate's checks.
IDENTIFIERS, ORDER = TOPICS = ("identifiers", "order in time")
# An identifier has more values than a category of a few, and one that is known by its even numbers
# alone has more than the hours of a day or the weeks of a year.
_FEW, _MANY = 10, 60
# How many of the rows of a named one are not alone, and how many values of another are alike.
_SHARED, _EVEN = 0.1, 0.9
# Rows in the order of so few times may be so by chance, or by their design.
_FEW_TIMES = 5


def check_identifiers(
    columns: Columns, names: Sequence[str], groups: Any = None
) -> tuple[list[str], str]:
    """Return what was found of identifiers that repeat, and a sentence for where nothing was.

    A column of whole numbers or of text, with more than 10 values, is an identifier that repeats

    - if its name ends in patient, customer, user_id and the like (`names_a_person`), and at least a
      tenth of its rows share their value with another row;
    - if its name ends in id or nr (`names_an_identifier`), so many rows are shared, and there are
      more values than rows of each: a ``region_id`` is a category by its number;
    - under any other name that is not of a time, if there are more than 60 values and more than
      rows of each, and nine in ten values stand in the same number of rows, two or more.

    Where rows belong to groups, one of which each value is in one is no matter: its rows are
    together in any case.
    """
    found, cleared = [], []
    for name in names:
        counts = _rows_per_value(columns, name)
        if _repeats(name, counts) and not _inside(columns, name, groups):
            called = repr(name) if name else "the first column"
            found.append(
                f"{_called(name)} looks like an identifier and repeats: {counts.sum()} rows of "
                f"{len(counts)} values. If rows of one {called} belong together, the examples are "
                f"not independent and the certificate is not valid: name it as the group (--group "
                f"{name!r}), and of a model see that it was trained on others."
            )
        elif names_an_identifier(name) and len(counts) > _FEW:
            shared = int(counts[counts > 1].sum())
            few = f", of which {shared} share theirs with another" if shared else ""
            cleared.append(f"{len(counts)} values of {name!r} in {counts.sum()} rows{few}")
    if cleared:
        return found, f"No identifier that repeats often: {', '.join(cleared)}."
    return found, "No column looks like an identifier that repeats."


def _inside(columns: Columns, name: str, groups: Any) -> bool:
    """Tell whether all rows with the same value of a column are of one group."""
    if groups is None:
        return False
    codes = columns.values(name).codes
    known = codes >= 0
    pairs = np.unique(np.stack([codes[known], np.asarray(groups)[known]]), axis=1)
    return bool(pairs.shape[1] == np.unique(codes[known]).size)


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
    columns: Columns, names: Sequence[str], split_by: str | None = None
) -> tuple[list[str], str]:
    """Return what was found of rows in the order of time, and a sentence for where nothing was.

    Columns of dates are looked at, of text that can be read as dates, and of numbers whose name
    ends in a word such as year, date or time. The rows are in their order if no row is before the
    one above it, or none after it, where the column is not missing, and it has more than 5 values.
    The column that the rows were `split_by`, if any, is not looked at, but named.
    """
    looked, sorted_by = [], []
    for name in names:
        ways = times_in(columns, name)
        if ways:
            looked.append(name)
        if any(_is_in_order(times) for times in ways):
            sorted_by.append(name)
    if sorted_by:
        return [
            f"The rows are in the order of {_listed(sorted_by)}, which looks like time. Examples "
            "that follow one another in time are seldom independent, and later ones may differ: "
            "the certificate is not valid for the time after them. Name the column as the time "
            "(--time), and the latest rows certify."
        ], ""
    sentences = []
    if split_by is not None:
        sentences.append(f"The rows were split by {split_by!r}, and the latest certify.")
    if looked:
        sentences.append(f"The rows are not sorted by {_listed(looked)}.")
    return [], " ".join(sentences) or "No column was read as dates or times."


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


def _is_in_order(times: NDArray[Any]) -> bool:
    """Tell whether times go up all the way, or down, and are more than a few."""
    if len(times) <= _FEW_TIMES:
        return False
    later, earlier = times[1:] > times[:-1], times[1:] < times[:-1]
    rises, falls = int(np.count_nonzero(later)), int(np.count_nonzero(earlier))
    return min(rises, falls) == 0 and max(rises, falls) >= _FEW_TIMES


def _called(name: str) -> str:
    return f"Column {name!r}" if name else "The first column, which has no name,"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) if name else "the column without a name" for name in names)
