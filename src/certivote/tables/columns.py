"""Columns of a table: numbers, dates or categories, and what is unusual about one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.words import names_an_identifier
from .asked import Asked
from .values import Values, seconds

__all__ = ["Columns", "rows_per_number"]

# A category of more values is worth a word; fewer rows may be numbered by chance.
_MANY, _FEW_ROWS = 50, 20
# So many columns with the same fault are named.
_SHOWN = 8
_TWO_WAYS = "dates that can be read in two ways"


class Columns:
    """The columns of a frame, each looked at once, as a model may take them.

    ``read`` says of each that was asked for how it was read: a kind, how many are missing, a note.
    """

    def __init__(self, frame: Any, path: str, spelled: Callable[[str], str] = str) -> None:
        self.frame, self.path, self.spelled = frame, path, spelled
        self.read: dict[str, dict[str, Any]] = {}
        self._values: dict[str, Values] = {}

    def values(self, name: str) -> Values:
        """Return the different values of a column."""
        if name not in self._values:
            self._values[name] = Values(self.frame[name])
        return self._values[name]

    def codes(self, name: str) -> NDArray[np.intp]:
        """Return which value of a column each row holds, −1 where it is missing."""
        import pandas as pd

        if not self.is_of_numbers(name):
            return np.asarray(self.values(name).codes)
        return np.asarray(pd.factorize(self.frame[name])[0])

    def taken(self, names: Sequence[str], asked: Asked) -> Any:
        """Return columns as it is asked."""
        if asked.as_read:
            return self._as_they_are(names)
        if asked.names_only is None:
            return self.typed(names, asked.categorical)
        return self._typed_as(names, asked.names_only)

    def typed(self, names: Sequence[str], categorical: Sequence[str] = ()) -> Any:
        """Return columns of floats, and of text for categories, true or false, and the rest.

        A column is one or the other as a whole: one that mixes numbers and text is refused, so that
        no type depends on which rows certify. So is one of dates in which a few cells are none.
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        mixed, broken = [], []
        for name in names:
            if name in categorical or pd.api.types.is_bool_dtype(self.frame[name].dtype):
                columns[name] = self._category(name)
            elif self.is_of_numbers(name) or self.values(name).all_numbers:
                columns[name] = self._floats(name)
            elif self.values(name).mixed:
                mixed.append(name)
            elif len(self.values(name).days) == 1:
                columns[name] = self._floats(name)
            elif self.values(name).nearly_dates:
                broken.append(name)
            else:
                columns[name] = self._category(name)
        if mixed:
            self._refuse_mixed(mixed)
        if broken:
            self._refuse_broken(broken[0])
        return pd.DataFrame(columns, index=self.frame.index, copy=False)

    def _refuse_broken(self, name: str) -> None:
        """Refuse a column of dates with cells that are none, and say what to do about these."""
        slips = self.values(name).slips
        raise ValueError(
            f"column {name!r} of {self.path} holds dates, but {', '.join(map(repr, slips))} cannot "
            f"be read like the others: correct this, leave the column out with "
            f"{self.spelled('drop')}, or keep all of it as text with "
            f"{self.spelled('categorical')} {name!r}.{self._may_be_missing(slips)}"
        )

    def _may_be_missing(self, texts: Collection[str]) -> str:
        """Return how to say that the only text among other values means missing."""
        if len(texts) != 1:
            return ""
        (text,) = texts
        said = f"{self.spelled('na_values')} {text!r}"
        return f" If {text!r} means missing everywhere, say so with {said}."

    def _refuse_mixed(self, names: Sequence[str]) -> None:
        """Refuse columns of numbers and text, each with an example and with what to do about it."""
        shown, it = names[:_SHOWN], "it" if len(names) == 1 else "them"
        more = f" and {len(names) - len(shown)} more" * (len(names) > len(shown))
        cells = [f"{name!r} {self.values(name).examples}" for name in shown]
        what = f"column {names[0]!r} mixes", f"such as {self.values(names[0]).examples}"
        if len(names) > 1:
            what = f"{len(names)} columns mix", f"such as in {', in '.join(cells)}{more}"
        kept = " ".join(f"{self.spelled('categorical')} {name!r}" for name in shown)
        texts = {text for name in names for text in self.values(name).not_numbers}
        raise ValueError(
            f"{what[0]} numbers and text in {self.path}, {what[1]}: correct {it}, leave {it} out "
            f"with {self.spelled('drop')}, or call all of {it} names with {kept}{more}."
            f"{self._may_be_missing(texts)}"
        )

    def _typed_as(self, names: Sequence[str], names_only: Sequence[str]) -> Any:
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
        return pd.DataFrame(columns, index=self.frame.index, copy=False)

    def _refuse_texts(self, name: str) -> None:
        """Refuse text in a column of numbers, unless it can be read as dates in one way."""
        values = self.values(name)
        if len(values.days) == 1:
            return
        what = repr(values.slips[0] if values.nearly_dates else values.first_text)
        if values.days:
            what = f"{_TWO_WAYS}, such as {what}, write them as 2026-01-31,"
        raise ValueError(f"column {name!r} holds numbers for the model, but {what} in {self.path}.")

    def _as_they_are(self, names: Sequence[str]) -> Any:
        """Return the columns as pandas reads them."""
        for name in names:
            kind = ("date" if self.is_of_dates(name) else "number") * self.is_of_numbers(name)
            self._note(name, kind or "text", int(self.frame[name].isna().sum()))
        return self.frame[list(names)]

    def say_padded(self, written: Mapping[str, str]) -> None:
        """Say of columns of numbers that they are written as codes, such as 003."""
        for name, code in written.items():
            if name in self.read and self.read[name]["kind"] == "number":
                kept = f"{self.spelled('categorical')} keeps the text"
                self._add(name, f"read as numbers, though written as {code}: {kept}")

    def say_telling(self, names: Sequence[str]) -> None:
        """Say of columns that they tell the label of every row by themselves."""
        for name in names:
            self._add(
                name,
                "tells the label of every row by itself: is it known when a prediction is needed? "
                f"If not, the certificate is of no use: leave it out with {self.spelled('drop')}",
            )

    def _add(self, name: str, note: str) -> None:
        self.read[name]["note"] = "; ".join(filter(None, [self.read[name]["note"], note]))

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
        elif values.dates and not values.days:
            note = "times of a day, read as a category: write them as numbers, such as hours"
        elif n > _MANY and values.dates:
            note = f"dates as text, read as a category: {n} different values"
        elif values.of_thousands:
            note = "numbers with commas in them, read as a category: write them as 1234 or 1.234"
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
            column = seconds(column)
        elif not self.is_of_numbers(name) and self.values(name).days:
            values, dates = self.values(name), True
            column = pd.Series(np.append(values.days[0], np.nan)[values.codes], values.index)
        try:
            floats = column if column.dtype == float else pd.to_numeric(column).astype(float)
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
            if low > 1.0 and high < 13.0 and _are_months(array):
                note = "numbers, or months such as 01.2026? Write them as 2026-01"
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


def _are_months(numbers: NDArray[np.float64]) -> bool:
    """Tell whether numbers between 1 and 13 are a month, a point, and a year of four digits."""
    years = (numbers[~np.isnan(numbers)] % 1.0) * 1e4
    near = np.abs(years - np.rint(years)) < 1e-6
    return bool(np.all(near & (years > 1899.5) & (years < 2100.5)))


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
