"""Columns of a table: numbers, dates or categories, and what is unusual about one."""

import re
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Columns",
    "Values",
    "names_a_person",
    "names_a_time",
    "names_an_identifier",
    "rows_per_number",
]

# A category of more values is worth a word; fewer rows may be numbered by chance.
_MANY, _FEW_ROWS = 50, 20
# The last word of a name that stands for an identifier; whom it is of; and for a time.
_IDENTIFIERS = {"id", "ids", "identifier", "identifiant", "uid", "uuid", "guid", "nr", "subjid"}
_WHOSE = {"account", "applicant", "client", "customer", "donor", "driver", "employee", "household"}
_WHOSE |= {"individual", "member", "participant", "patient", "person", "player", "pupil"}
_WHOSE |= {"respondent", "student", "subject", "user", "worker", "animal", "case", "device"}
_WHOSE |= {
    "encounter",
    "family",
    "mrn",
    "nhs",
    "record",
    "speaker",
    "ssn",
    "stay",
    "username",
    "vin",
}
_WHOSE |= {"email", "phone", "p", "pt", "r"}  # and so pid, ptid, rid
_NUMBERED = {"code", "hash", "key", "name", "nbr", "no", "num", "number", "ref"}
_TIMES = {"date", "datetime", "day", "epoch", "month", "period", "quarter", "time", "timestamp"}
_TIMES |= {"ts", "week", "year", "yr"}
_LIKE_A_DATE = re.compile(
    r"\s*(\d{4}-\d{1,2}\b|\d{1,4}[-/. ]+(\d{1,2}|[A-Za-z]{3,9})[-/. ,]+\d{1,4}\b|\d{1,2}:\d{2}\b"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4})"
)
# What pandas does not guess: twelve hours a day, years of two digits, times alone.
_OTHER_DATES = {"%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M:%S %p"}
_OTHER_DATES |= {"%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y"}
_HOURS = re.compile(r"\s*\d{1,2}:\d{2}\b")
_OF_A_DAY = {"%H:%M:%S", "%H:%M"}
_TWO_WAYS = "dates that can be read in two ways"
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?")


# What numbers begin with, for pandas too: infinity has a letter.
_NUMBER_BEGINS = "0123456789+-. \t\n\v\f\riI"


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters: PatientID, patient_id and "patient id" alike."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+", name)
    return [part.lower() for part in parts]


def names_an_identifier(name: str) -> bool:
    """Tell whether a name ends in id, nr and the like, or says of whom it is."""
    words = _words(name)
    return bool(words) and (words[-1] in _IDENTIFIERS or names_a_person(name))


def names_a_person(name: str) -> bool:
    """Tell whether a name ends in whom it is of: patient, user_id, customer number.

    ``customer_age`` ends in something else, and is none.
    """
    words = _words(name)
    while len(words) > 1 and (words[-1] in _IDENTIFIERS | _NUMBERED or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    last = words[-1].removesuffix("id") if len(words[-1]) > 2 else words[-1]
    # A single letter stands for a person only before id.
    return last in _WHOSE and (len(last) > 1 or last != words[-1])


def names_a_time(name: str) -> bool:
    """Tell whether a name ends in a word such as year, date or timestamp."""
    words = _words(name)
    return bool(words) and words[-1] in _TIMES


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
    def first_text(self) -> str:
        """The first value that is not a number."""
        return str(self.texts[np.isnan(self.numbers)][0])

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
        import pandas as pd
        from pandas.tseries.api import guess_datetime_format

        if not len(self) or not _LIKE_A_DATE.match(self.texts[0]):
            return []
        if _ISO.fullmatch(self.texts[0]):
            forms = {"ISO8601"}
        else:
            with warnings.catch_warnings():  # of days where the month was to come first
                warnings.simplefilter("ignore")
                guesses = (guess_datetime_format(self.texts[0], dayfirst=d) for d in (True, False))
                forms = {form for form in guesses if form is not None}
            forms |= _OTHER_DATES | _OF_A_DAY
        found = []
        for form in sorted(forms):
            for texts in (self.texts[:100], self.texts):
                times = pd.to_datetime(pd.Series(texts), format=form, errors="coerce", utc=True)
                if times.isna().any():
                    break
            else:
                found.append(_seconds(times).to_numpy())
        return found

    @cached_property
    def days(self) -> list[NDArray[np.float64]]:
        """The dates, of which times without a day are none; two ways that say the same are one."""
        if not self.dates or _HOURS.match(self.texts[0]):
            return []
        return [way for i, way in enumerate(self.dates) if not _among(way, self.dates[:i])]


def _among(way: NDArray[np.float64], others: list[NDArray[np.float64]]) -> bool:
    return any(np.array_equal(way, other) for other in others)


def _seconds(times: Any) -> Any:
    """Return a column of times in seconds since 1970."""
    import pandas as pd

    plain = times.dt.tz_convert(None) if times.dt.tz is not None else times
    return (plain - pd.Timestamp(0)) / pd.Timedelta(seconds=1)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class Columns:
    """The columns of a frame, each looked at once, as a model may take them.

    ``read`` says of each that was asked for how it was read: a kind, how many are missing, a note.
    """

    def __init__(self, frame: Any, path: Path | str) -> None:
        self.frame, self.path = frame, path
        self.read: dict[str, dict[str, Any]] = {}
        self._values: dict[str, Values] = {}

    def values(self, name: str) -> Values:
        """Return the different values of a column."""
        if name not in self._values:
            self._values[name] = Values(self.frame[name])
        return self._values[name]

    def typed(self, names: Sequence[str], categorical: Sequence[str]) -> Any:
        """Return columns of floats, and of text for categories, true or false, and the rest.

        A column is one or the other as a whole: one that mixes numbers and text is refused, so that
        no type depends on which rows certify.
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        mixed = []
        for name in names:
            if name in categorical or pd.api.types.is_bool_dtype(self.frame[name].dtype):
                columns[name] = self._category(name)
            elif self.is_of_numbers(name) or self.values(name).all_numbers:
                columns[name] = self._floats(name)
            elif self.values(name).mixed:
                mixed.append(name)
            elif len(self.values(name).days) == 1:
                columns[name] = self._floats(name)
            else:
                columns[name] = self._category(name)
        if mixed:
            what = f"column {mixed[0]!r} mixes" if len(mixed) == 1 else f"columns {mixed} mix"
            raise ValueError(
                f"{what} numbers and text in {self.path}, such as {self.values(mixed[0]).examples}:"
                " correct it, leave it out with --drop, or call all of it names with --categorical "
                f"{mixed[0]!r}."
            )
        return pd.DataFrame(columns, index=self.frame.index)

    def typed_as(self, names: Sequence[str], names_only: Sequence[str]) -> Any:
        """Return the columns as a model was trained on them, whatever they look like here."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in names:
            if name in names_only:
                columns[name] = self._category(name)
                continue
            if not self.is_of_numbers(name) and np.isnan(self.values(name).numbers).any():
                self._refuse_texts(name)
            columns[name] = self._floats(name)
        return pd.DataFrame(columns, index=self.frame.index)

    def _refuse_texts(self, name: str) -> None:
        """Refuse text in a column of numbers, unless it can be read as dates in one way."""
        values = self.values(name)
        if len(values.days) == 1:
            return
        what = repr(values.first_text)
        if values.days:
            what = f"{_TWO_WAYS}, such as {what}, write them as 2026-01-31,"
        raise ValueError(f"column {name!r} holds numbers for the model, but {what} in {self.path}.")

    def as_they_are(self, names: Sequence[str]) -> Any:
        """Return the columns as pandas reads them."""
        for name in names:
            kind = ("date" if self.is_of_dates(name) else "number") * self.is_of_numbers(name)
            self._note(name, kind or "text", int(self.frame[name].isna().sum()))
        return self.frame[list(names)]

    def leave(self, name: str, kind: str, note: str = "") -> None:
        """Say of a column that it is no feature, but the target, or dropped."""
        self._note(name, kind, int(self.frame[name].isna().sum()), note)

    def is_of_numbers(self, name: str) -> bool:
        """Tell whether a column is one of numbers or dates by its type."""
        import pandas as pd

        numeric = pd.api.types.is_numeric_dtype(self.frame[name].dtype)
        return bool(numeric) or self.is_of_dates(name)

    def is_of_dates(self, name: str) -> bool:
        """Tell whether a column is one of dates by its type."""
        import pandas as pd

        return bool(pd.api.types.is_datetime64_any_dtype(self.frame[name].dtype))

    def _category(self, name: str) -> Any:
        values = self.values(name)
        n, known = len(values), len(values.codes) - values.missing
        note = ""
        if n == 1:
            note = "one value only"
        elif len(values.days) > 1:
            note = f"{_TWO_WAYS}, read as a category: write them as 2026-01-31"
        elif n > _MANY and values.dates:
            note = f"dates as text, read as a category: {n} different values"
        elif n > _MANY and 2 * n > known:
            note = f"{n} different values of {known}, read as a category: an identifier, or text?"
        elif n > _MANY:
            note = f"read as a category: {n} different values"
        self._note(name, "category", values.missing, note)
        return values.as_text()

    def _floats(self, name: str) -> Any:
        """Return a column as floats, dates in seconds since 1970, and refuse infinite ones."""
        import pandas as pd

        column, dates = self.frame[name], self.is_of_dates(name)
        if dates:
            column = _seconds(column)
        elif not self.is_of_numbers(name) and self.values(name).days:
            values, dates = self.values(name), True
            column = pd.Series(np.append(values.days[0], np.nan)[values.codes], values.index)
        try:
            floats = pd.to_numeric(column).astype(float)
        except OverflowError:
            floats = column.map(float, na_action="ignore")
        array = floats.to_numpy()
        # NaN is neither the smallest nor the largest, unless it is alone.
        low, high = np.fmin.reduce(array), np.fmax.reduce(array)
        if max(-low, high) > np.finfo(np.float32).max:
            raise ValueError(
                f"column {name!r} of {self.path} holds an infinite value, or one beyond 3.4e38: "
                "correct it, or leave it empty, which means missing."
            )
        missing = int(np.count_nonzero(np.isnan(array)))
        note = ""
        if low == high:
            note = "one value only"
        elif not dates:
            note = _numbering(name, array, len(array) - missing, high - low)
        self._note(name, "date" if dates else "number", missing, note)
        return floats

    def _note(self, name: str, kind: str, missing: int, note: str = "") -> None:
        """Write down how a column was read, and whether most of it is missing."""
        rows = len(self.frame)
        if missing == rows:
            note = "all missing"
        elif 2 * missing >= rows:
            note = "; ".join(filter(None, [note, f"missing in {missing} of {rows} rows"]))
        self.read[name] = {"name": name, "kind": kind, "missing": missing, "note": note}


def _numbering(name: str, numbers: NDArray[np.float64], known: int, width: float) -> str:
    """Return a note on whole numbers that number the rows, or are called so and mostly differ.

    Numbers that number the rows all differ, and are hardly further apart than rows.
    """
    named, close = names_an_identifier(name), known - 1 <= width < 2 * known
    if known < _FEW_ROWS or not (named or close):
        return ""
    whole = numbers[~np.isnan(numbers)]
    if np.any(whole % 1.0):
        return ""
    different = len(rows_per_number(whole))
    if different == known or (named and 2 * different > known):
        return f"{different} different values of {known}: an identifier?"
    return ""


def rows_per_number(whole: NDArray[Any]) -> NDArray[np.intp]:
    """Return in how many rows each of some whole numbers stands."""
    import pandas as pd

    if not len(whole):
        return np.zeros(0, dtype=np.intp)
    low = whole.min()
    if whole.dtype.kind in "iuf" and float(whole.max()) - float(low) < 4 * len(whole):
        counts = np.bincount((whole - low).astype(np.intp, copy=False))
        return counts[counts > 0]
    return np.bincount(pd.factorize(whole)[0])
