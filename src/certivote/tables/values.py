"""The different values of a column: as text, as numbers and as dates."""

import re
import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Values", "seconds"]

_LIKE_A_DATE = re.compile(
    r"\s*(\d{4}-\d{1,2}\b|\d{1,4}[-/. ]+(\d{1,2}|[A-Za-z]{3,9})[-/. ,]+\d{1,4}\b|\d{1,2}:\d{2}\b"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4})"
)
# What pandas does not guess: twelve hours a day, years of two digits, times alone.
_OTHER_DATES = {"%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M:%S %p"}
_OTHER_DATES |= {"%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y"}
_HOURS = re.compile(r"\s*\d{1,2}:\d{2}\b")
_OF_A_DAY = {"%H:%M:%S", "%H:%M"}
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?")
# Of so many values or more, so small a share that are no dates are slips; so many tell at a glance.
_FEW, _SLIPS, _SOME = 20, 0.05, 200
# The units that pandas counts times in.
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_THOUSANDS = re.compile(r"\s*[-+]?\d{1,3}(,\d{3})+(\.\d+)?\s*")
# What numbers begin with, for pandas too: infinity has a letter.
_NUMBER_BEGINS = "0123456789+-. \t\n\v\f\riI"


class Values:
    """The different values of a column as text, in the order of their first rows, and the rows.

    What is asked of the text is asked once for each of them, not for each row.
    """

    def __init__(self, column: Any) -> None:
        import pandas as pd

        self.name, self.index = column.name, column.index
        # Which value each row holds, −1 where it is missing; −0 and 0 are one.
        self.codes, values = pd.factorize(column + 0.0 if column.dtype.kind == "f" else column)
        self.texts = _objects(
            [value if type(value) is str else str(value) for value in np.asarray(values, object)]
        )

    def __len__(self) -> int:
        """Return how many different values there are."""
        return len(self.texts)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """In how many rows each value stands."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self))

    @property
    def missing(self) -> int:
        """In how many rows there is none."""
        return int(np.count_nonzero(self.codes < 0))

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers, NaN where one is none."""
        import pandas as pd

        likely = np.array([text[:1] in _NUMBER_BEGINS for text in self.texts], dtype=np.bool_)
        numbers = np.full(len(self), np.nan)
        texts = pd.Series(self.texts[likely], dtype=object)
        numbers[likely] = pd.to_numeric(texts, errors="coerce")
        return numbers

    @property
    def all_numbers(self) -> bool:
        """Whether there are values, and all of them can be read as numbers."""
        return len(self) > 0 and not np.isnan(self.numbers).any()

    @property
    def mixed(self) -> bool:
        """Whether some values can be read as numbers, and some cannot."""
        text = np.isnan(self.numbers)
        return bool(text.any() and not text.all())

    @property
    def of_thousands(self) -> bool:
        """Whether there are values, and all of them are numbers with commas, such as 1,234."""
        return len(self) > 0 and all(map(_THOUSANDS.fullmatch, self.texts))

    @property
    def not_numbers(self) -> list[str]:
        """The values that are not numbers."""
        return list(map(str, self.texts[np.isnan(self.numbers)]))

    @property
    def first_text(self) -> str:
        """The first value that is not a number."""
        return self.not_numbers[0]

    @property
    def examples(self) -> str:
        """A number and a text, of a column that mixes them."""
        return f"{self.texts[~np.isnan(self.numbers)][0]} and {self.first_text!r}"

    def as_text(self) -> Any:
        """Return the column as text, with None where it is missing; whole numbers without a point.

        Beside a gap pandas writes and reads whole numbers with one.
        """
        import pandas as pd

        texts = [
            re.sub(r"^(-?\d+)\.0$", r"\1", text) if text.endswith(".0") else text
            for text in self.texts
        ]
        return pd.Series(_objects([*texts, None])[self.codes], index=self.index, dtype=object)

    @cached_property
    def dates(self) -> list[NDArray[np.float64]]:
        """The values in seconds since 1970, once for each way to read all of them as dates."""
        if not len(self) or not _LIKE_A_DATE.match(self.texts[0]):
            return []
        found = []
        for form in sorted(_forms(self.texts[0])):
            for texts in (self.texts[:100], self.texts):
                times = _read(texts, form)
                if np.isnan(times).any():
                    break
            else:
                found.append(times)
        return found

    @cached_property
    def _most_dates(self) -> NDArray[np.float64]:
        """The values in seconds since 1970 by the way that reads most, NaN where one is no date.

        Times without a day are none. Where some of the values show that few are dates, none is.
        """
        some = self.texts[:: len(self) // _SOME + 1]
        like = [text for text in some if _LIKE_A_DATE.match(text) and not _HOURS.match(text)]
        if 2 * len(like) <= len(some):
            return np.full(len(self), np.nan)
        # One of these may be a slip of the pen itself.
        forms = {form for text in like[:: len(like) // 5 + 1] for form in _forms(text)}
        ways = [_read(self.texts, form) for form in sorted(forms - _OF_A_DAY)]
        return min(ways, key=lambda way: int(np.count_nonzero(np.isnan(way))))

    @property
    def nearly_dates(self) -> bool:
        """Whether nearly all values are dates in one way, and a few are none."""
        if len(self) < _FEW or self.dates:
            return False
        return 0.0 < float(np.mean(np.isnan(self._most_dates))) <= _SLIPS

    @property
    def times(self) -> list[NDArray[np.float64]]:
        """The dates, or where nearly all values are such, these, and NaN for the others."""
        return [self._most_dates] if self.nearly_dates else self.dates

    @property
    def slips(self) -> list[str]:
        """The first values that are neither dates nor numbers, where most are one or the other.

        Where most are neither, the first that does not look like either.
        """
        for values in (self.numbers, self._most_dates):
            wrong = np.isnan(values)
            if 0 < 2 * np.count_nonzero(wrong) < len(self):
                return list(map(str, self.texts[wrong][:3]))
        odd = [t for t in self.texts[np.isnan(self.numbers)] if not _LIKE_A_DATE.match(t)]
        return [*map(str, odd or self.texts)][:1]

    @cached_property
    def days(self) -> list[NDArray[np.float64]]:
        """The dates, of which times without a day are none; two ways that say the same are one."""
        if not self.dates or _HOURS.match(self.texts[0]):
            return []
        return [way for i, way in enumerate(self.dates) if not _among(way, self.dates[:i])]


def _forms(text: str) -> set[str]:
    """Return the forms of dates that a text may be written in, and what pandas does not guess."""
    from pandas.tseries.api import guess_datetime_format

    if _ISO.fullmatch(text):
        return {"ISO8601"}
    with warnings.catch_warnings():  # of days where the month was to come first
        warnings.simplefilter("ignore")
        guesses = {guess_datetime_format(text, dayfirst=first) for first in (True, False)}
    return {form for form in guesses if form is not None} | _OTHER_DATES | _OF_A_DAY


def _read(texts: NDArray[np.object_], form: str) -> NDArray[np.float64]:
    """Return texts in seconds since 1970, NaN where one is no date of this form."""
    import pandas as pd

    times = pd.to_datetime(pd.Series(texts), format=form, errors="coerce", utc=True)
    return np.asarray(seconds(times), dtype=np.float64)


def _among(way: NDArray[np.float64], others: list[NDArray[np.float64]]) -> bool:
    return any(np.array_equal(way, other) for other in others)


def seconds(times: Any) -> Any:
    """Return a column of times in seconds since 1970.

    They are counted in the column's own unit: nanoseconds reach from 1677 to 2262 only.
    """
    import pandas as pd

    plain = times.dt.tz_convert(None) if times.dt.tz is not None else times
    known = np.asarray(plain)
    counted = known.astype(np.int64) / _PER_SECOND[np.datetime_data(known.dtype)[0]]
    return pd.Series(np.where(np.isnat(known), np.nan, counted), index=times.index, name=times.name)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
