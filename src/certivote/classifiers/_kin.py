"""Whether voters know rows by their kin: the rows that share a value of a column with them.

Where all rows of some values are left out of the training, instead of as many at random, and voters
err more on them, what is claimed of rows like these is not true of rows with new values.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .._utils.words import names_a_time, names_a_year
from ._trials import as_numbers, losses, texts_of

__all__ = ["kin"]

# Values of objects that are none, as text.
_MISSING = ("None", "nan", "NaN", "NaT", "<NA>")
# So many columns are looked at, of most values.
_COLUMNS = 16
# So many rows are enough, of about so many values if there are more; and so many values that have
# several rows are needed.
_ROWS, _VALUES, _FEWEST = 4_000, 100, 20
# Halves are drawn so many times, unless it does not look promising after the first or the fourth.
_TIMES, _LOOKS, _PROMISING = 8, (0, 3), 1.5
# By how many standard errors voters must err more on rows whose kin did not train them.
_STANDARD_ERRORS = 3.25


def kin(
    X: Any, y: NDArray[Any], groups: NDArray[np.intp] | None, seed: int
) -> tuple[list[str], str | None]:
    """Say on which columns voters err more where rows with the same value did not train them.

    Columns of whole numbers or of texts are looked at that have at least 20 values, with two rows
    of each on average, or groups if there are such: the 16 with the most values. Values are counted
    by their shares p of the rows, as 1 / Σ p²: where a few of them have most rows, new rows come
    with these. A column that is called a time that comes again, such as an hour or a week, has more
    values than rows of each.
    Ten trees are trained on half of about 4,000 rows, and tested on the others, eight times: halves
    of all rows, or of the groups if there are such, and halves of the values. The rows are those of
    a range of values, and of two that follow one another one is in each half, so that what measures
    has its neighbours in both; of values with many rows some are drawn, so that there are 100
    values, or all of them. It is a finding where voters err more by 3.25 standard errors, of values
    and of times; columns of fewer values come first. The second part of what is returned is a
    sentence for where nothing was found; None if there is no such column.
    """
    if not hasattr(X, "columns"):
        return [], None
    codes = {name: _codes(np.asarray(X[name])) for name in X.columns}
    numbers = {name: int(own.max(initial=-1)) + 1 for name, own in codes.items()}
    units = len(y) if groups is None else np.unique(groups).size
    asked = [name for name, own in codes.items() if _may_be_of_kin(str(name), own, units)]
    asked = sorted(asked, key=lambda name: numbers[name])[-_COLUMNS:]
    if not asked:
        return [], None
    errors = _Errors(X, y, groups, seed)
    found = {str(name): errors.more(codes[name]) for name in asked}
    told = {name: more for name, more in found.items() if more is not None}
    if not told:
        return [], _cleared(list(found))
    names = _joined([repr(name) for name in told], "or")
    new, known = (_joined([f"{more[k]:.1%}" for more in told.values()], "and") for k in (0, 1))
    of = "rows" if groups is None else "groups"
    instead = "" if groups is None else " in the place of the other"
    return [
        f"Rows with the same value of {names} tell of each other: voters trained without any row "
        f"of a value err on {new} of its rows, against {known} of {of} left out at random. The "
        "claim is about new rows with these values, as often as here: where new examples come with "
        f"other values, it is not valid. Then name the column as the group (--group){instead}, or "
        "as the time (--time)."
    ], None


def _cleared(names: list[str]) -> str:
    of = _joined([repr(name) for name in names], "or")
    return (
        f"Voters trained without any row of a value of {of} were not seen to err more on its rows "
        "than on rows left out at random."
    )


def _joined(parts: list[str], word: str) -> str:
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _may_be_of_kin(name: str, codes: NDArray[np.intp], units: int) -> bool:
    sizes = np.bincount(codes[codes >= 0])
    if sizes.sum() ** 2 < _FEWEST * np.sum(sizes**2):
        return False
    comes_again = names_a_time(name) and not names_a_year(name)
    return 0 < sizes.size <= units / 2 and (sizes.size**2 > units or not comes_again)


def _codes(column: NDArray[Any]) -> NDArray[np.intp]:
    """Return the number of each row's value, in their order, −1 if missing; nothing of measures."""
    if column.dtype.kind in "iuf":
        known = np.isfinite(column)
        if np.any(column[known] != np.rint(column[known])):
            return np.zeros(0, dtype=np.intp)
    elif column.dtype.kind in "OUT":
        column = texts_of(column)
        known = ~np.isin(column, _MISSING)
    else:
        return np.zeros(0, dtype=np.intp)
    codes = np.full(len(column), -1, dtype=np.intp)
    codes[known] = np.unique(column[known], return_inverse=True)[1]
    return codes


class _Errors:
    """How voters err on rows of a table, and on values, that were left out of their training."""

    def __init__(self, X: Any, y: NDArray[Any], groups: NDArray[np.intp] | None, seed: int) -> None:
        self.X, self.y, self.seed = X, y, seed
        self.prepared: dict[bytes, NDArray[np.float32]] = {}
        self.groups = np.arange(len(y)) if groups is None else groups
        # Columns of which the same rows are taken share those left out at random.
        self.at_random: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def more(self, codes: NDArray[np.intp]) -> tuple[float, float] | None:
        """Return the errors on values, and on rows, that were left out; None if hardly more."""
        sizes = np.bincount(codes[codes >= 0])
        drawn, left_out, at_random = np.zeros((3, sizes.size))
        gaps = []
        for time in range(_TIMES):
            rng = np.random.RandomState([self.seed, time])
            rows = _some_of_values(codes, sizes, rng)
            of = codes[rows]
            drawn += np.bincount(of, minlength=sizes.size)
            both = self._losses(rows, _halves_of(of, rng), rng), self._at_random(rows, time)
            left_out += np.bincount(of, both[0], sizes.size)
            at_random += np.bincount(of, both[1], sizes.size)
            gaps.append(float(np.mean(both[0] - both[1])))
            if np.count_nonzero(drawn > time + 1) < _FEWEST:
                return None
            known = drawn > 0
            new, old = left_out[known] / drawn[known], at_random[known] / drawn[known]
            far = _standard_errors(new - old, sizes[known], gaps)
            if far < _PROMISING and time in _LOOKS:
                return None
        if far < _STANDARD_ERRORS:
            return None
        shares = sizes[known] / sizes[known].sum()
        return float(shares @ new), float(shares @ old)

    def _at_random(self, rows: NDArray[np.intp], time: int) -> NDArray[np.float64]:
        """Return the errors on rows, or groups of them, left out whatever their values."""
        if (key := (time, rows.tobytes())) not in self.at_random:
            rng = np.random.RandomState([self.seed, time, 1])
            self.at_random[key] = self._losses(rows, _random_half(self.groups[rows], rng), rng)
        return self.at_random[key]

    def _losses(
        self, rows: NDArray[np.intp], half: NDArray[np.bool_], rng: np.random.RandomState
    ) -> NDArray[np.float64]:
        """Return how many voters err on each row, of those trained on the other half of these."""
        X, y = self._prepare(rows), self.y[rows]
        erring = np.empty(len(y))
        for test, train in ((half, ~half), (~half, half)):
            erring[test] = losses(X, y, train, test, rng)
        return erring

    def _prepare(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return rows as numbers, and keep the last of them, which come again."""
        if (key := rows.tobytes()) not in self.prepared:
            self.prepared = {key: as_numbers(_safe_indexing(self.X, rows))}
        return self.prepared[key]


def _random_half(of: NDArray[np.intp], rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Return which rows are in one half, all that are of one group together."""
    groups, number = np.unique(of, return_inverse=True)
    return np.asarray(rng.permutation(groups.size)[number] % 2 == 0)


def _halves_of(codes: NDArray[np.intp], rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Return which rows are in one half by their values: of each two in order, one or the other."""
    values, number = np.unique(codes, return_inverse=True)
    place = number + rng.randint(2)
    swapped = rng.randint(2, size=values.size // 2 + 1)[place // 2]
    return np.asarray((place + swapped) % 2 == 0)


def _standard_errors(more: NDArray[np.float64], rows: NDArray[np.intp], gaps: list[float]) -> float:
    """Return by how many standard errors of values, which are the ones drawn, a mean is above 0.

    A value has the root of its number of rows as its weight: one of many has a say, not all. Each
    time has its own voters, which err together: how far the gaps of the times differ counts too.
    """
    weights = np.sqrt(rows)
    mean = weights @ more / weights.sum()
    of_values = np.sum((weights * (more - mean)) ** 2) / weights.sum() ** 2
    of_times = np.var(gaps, ddof=1) / len(gaps) if len(gaps) > 1 else 0.0
    spread = float(np.sqrt(of_values + of_times))
    return float(mean) / spread if spread > 0.0 else 0.0


def _some_of_values(
    codes: NDArray[np.intp], sizes: NDArray[np.intp], rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Return about so many rows of values that follow one another, from one at random.

    Of values with many rows some are drawn, so that there are enough values.
    """
    most = sizes.max() if sizes.sum() <= _ROWS else _ROWS // min(sizes.size, _VALUES)
    first = rng.randint(sizes.size)
    ahead = np.cumsum(np.roll(np.minimum(sizes, most), -first))
    n = max(1, int(np.searchsorted(ahead, _ROWS, side="right")))
    rows = rng.permutation(np.flatnonzero((codes >= 0) & ((codes - first) % sizes.size < n)))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    number = np.arange(rows.size) - np.searchsorted(codes[rows], codes[rows])
    return np.sort(rows[number < most])
