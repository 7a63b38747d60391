"""The tasks that come as tables from the UCI repository."""

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = [
    *("ADULT_FILES", "LETTER_FILES", "TABLES", "Recipe", "Split"),
    *("load_adult", "load_letters", "load_table"),
]

# X_train, y_train, X_test, y_test
Split = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]
Read = Callable[[str], bytes]

_MISSING = "?"
_SEED = 42
_LETTERS_TEST_SHARE = 0.15


@dataclass(frozen=True)
class Recipe:
    """How one table becomes a task."""

    file: str
    label: int  # the column of the label
    negative: Collection[str]  # the labels that become −1; all others become +1
    ignored: Collection[int] = ()  # the columns that identify a row
    categorical: Collection[int] = ()  # the columns to encode; the others are numbers
    codes: Mapping[str, str] = field(default_factory=dict)  # the numbers behind symbols
    missing_is_a_category: bool = False  # whether "?" is kept, or its row dropped


TABLES: dict[str, Recipe] = {
    "credit": Recipe("uci/crx.data", 15, {"+"}, categorical=(0, 3, 4, 5, 6, 8, 9, 11, 12)),
    "glass": Recipe("uci/glass.data", 10, {"1", "2", "3"}, ignored=(0,)),
    "heart": Recipe("uci/processed.cleveland.data", 13, {"0"}),
    "tictactoe": Recipe(
        "uci/tic-tac-toe.data", 9, {"positive"}, codes={"x": "0", "b": "0.5", "o": "1"}
    ),
    "usvotes": Recipe(
        "uci/house-votes-84.data",
        0,
        {"republican"},
        categorical=range(1, 17),
        missing_is_a_category=True,
    ),
    "wdbc": Recipe("uci/wdbc.data", 1, {"M"}, ignored=(0,)),
}

ADULT_FILES = ("uci/adult.data", "uci/adult.test")
LETTER_FILES = ("uci/letter-recognition.data",)
_ADULT = Recipe(ADULT_FILES[0], 14, {"<=50K"}, categorical=(1, 3, 5, 6, 7, 8, 9, 13))
_LETTERS = Recipe(LETTER_FILES[0], 0, ())


def load_table(recipe: Recipe, read: Read) -> Split:
    """Return a task whose rows are shuffled and cut in half, the first half being the test set."""
    rows = parse(read(recipe.file), drop_missing=not recipe.missing_is_a_category)
    X, y = scale(encode(rows, recipe)), labels(rows, recipe.label, recipe.negative)
    test, train = shuffled_split(len(rows), 0.5)
    return X[train], y[train], X[test], y[test]


def load_letters(first: str, second: str, read: Read) -> Split:
    """Return the task of telling two letters apart, `first` ↦ −1.

    All letters are scaled, shuffled and split together: the two are chosen after that.
    """
    rows = parse(read(_LETTERS.file))
    X, y = scale(encode(rows, _LETTERS)), labels(rows, _LETTERS.label, {first})
    chosen = np.array([row[_LETTERS.label] in (first, second) for row in rows])
    test, train = (part[chosen[part]] for part in shuffled_split(len(rows), _LETTERS_TEST_SHARE))
    return X[train], y[train], X[test], y[test]


def load_adult(read: Read) -> Split:
    """Return the official train and test files in their order, encoded and scaled together."""
    train, test = (parse(read(file)) for file in ADULT_FILES)
    X = scale(encode(train + test, _ADULT))
    # In the test file a full stop follows the label.
    y = labels(train + test, _ADULT.label, {"<=50K", "<=50K."})
    m = len(train)
    return X[:m], y[:m], X[m:], y[m:]


def parse(content: bytes, drop_missing: bool = True) -> list[list[str]]:
    """Return the rows of comma-separated text, without blank lines and comments (``|``)."""
    lines = (line for line in content.decode("ascii").splitlines() if not line.startswith("|"))
    rows = [row for row in csv.reader(lines, skipinitialspace=True) if row]
    return [row for row in rows if not (drop_missing and _MISSING in row)]


def encode(rows: Sequence[Sequence[str]], recipe: Recipe) -> NDArray[np.float32]:
    """Return the inputs as numbers, in the order of pandas' ``get_dummies``.

    The numeric columns come first; then, for each categorical column, an indicator of each of its
    categories in alphabetical order.
    """
    numbers: list[list[float]] = []
    indicators: list[NDArray[np.bool_]] = []
    for j, column in enumerate(zip(*rows, strict=True)):
        if j == recipe.label or j in recipe.ignored:
            continue
        if j in recipe.categorical:
            cells = np.array(column)
            indicators.extend(cells == category for category in sorted(set(column)))
        else:
            numbers.append([float(recipe.codes.get(cell, cell)) for cell in column])
    return np.array([*numbers, *indicators], dtype=np.float32).T


def scale(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each column brought to [0, 1] by its smallest and largest value.

    In 32 bits throughout, as in the paper's experiments: the trees depend on the last digit.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    return np.ascontiguousarray((X - low) / (high - low))


def labels(
    rows: Iterable[Sequence[str]], column: int, negative: Collection[str]
) -> NDArray[np.int64]:
    """Return −1 for the labels in `negative` and +1 for the others."""
    return np.array([-1 if row[column] in negative else 1 for row in rows], dtype=np.int64)


def shuffled_split(n: int, test_share: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the test set, which come first in a fixed shuffle, and of the rest."""
    order = np.arange(n)
    # The generator of numpy.random.seed, whose state stays as the caller left it.
    np.random.RandomState(_SEED).shuffle(order)
    size = int(test_share * n)
    return order[:size], order[size:]
