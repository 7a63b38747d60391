"""Data as the command line takes it: files, or a built-in name."""

import difflib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..datasets import list_datasets, load
from ..tables import Table
from ..tables.asked import Asked
from ..tables.columns import Columns
from ..tables.reading import examine, read_asked, reading_of
from ..tables.target import class_counts
from .output import note

__all__ = ["builtin_names", "builtin_table", "read", "say_of_file"]

_SCIKIT_LEARN = ("breast-cancer", "digits")


def builtin_names() -> list[str]:
    """Return the names that stand for data instead of a file."""
    return [*_SCIKIT_LEARN, *list_datasets()]


def read(data: Sequence[str], asked: Asked) -> Table:
    """Read the files of one table, or what a built-in name stands for."""
    if not all(data):
        raise ValueError("DATA must be a file or a built-in name, got an empty text.")
    if data[0] in builtin_names() and len(data) == 1 and not Path(data[0]).exists():
        for option in asked.given:
            raise ValueError(f"{option} is for files: {data[0]} is built in, as it is.")
        return builtin_table(data[0])
    for name in data:
        near = difflib.get_close_matches(name, builtin_names(), n=1)
        if near and not Path(name).exists():
            raise ValueError(f"there is no file {name}. Did you mean the built-in {near[0]}?")
    return read_asked(data, asked)


def builtin_table(name: str) -> Table:
    """Return the data that a built-in name stands for."""
    import pandas as pd

    test = None
    if name in _SCIKIT_LEARN:
        from sklearn.datasets import load_breast_cancer, load_digits

        bunch = (load_breast_cancer if name == "breast-cancer" else load_digits)(as_frame=True)
        X, y = bunch.data, np.asarray(bunch.target_names[bunch.target.to_numpy()])
    else:
        data = load(name)
        names = [f"x{j}" for j in range(data.X_train.shape[1])]
        X, X_test = (pd.DataFrame(part, columns=names) for part in (data.X_train, data.X_test))
        y, test = data.y_train, (X_test, data.y_test)
    columns = Columns(X, name)
    kinds, codes = np.unique(y, return_inverse=True)
    X = columns.typed(list(X.columns))
    reading = reading_of(columns, class_counts(kinds, codes))
    table = Table(name, X, y, {"data": name}, test, others=X[[]], reading=reading)
    examine(table, columns, list(X.columns))
    return table


def say_of_file(table: Table) -> None:
    """Say what is unusual about the file, and that a column without a name is left out."""
    nameless = [column["note"] for column in table.reading["columns"] if not column["name"]]
    for text in (*table.remarks, *nameless):
        note(f"{text}.")
