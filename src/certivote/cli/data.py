"""Tables from files and built-in names: columns of numbers or categories, and a target."""

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.files import file_sha256
from ..datasets import list_datasets, load
from .table_files import open_table

__all__ = ["Table", "builtin_names", "builtin_table", "read_table"]

_SCIKIT_LEARN = ("breast-cancer", "digits")
_USUAL_TARGETS = ("target", "class", "label", "y")


@dataclass
class Table:
    """Examples and their labels."""

    name: str
    # A frame: columns of numbers, or of text for categories.
    X: Any
    # None where labels are not needed.
    y: Any
    # What a certificate says of the data: enough to read it again in the same way.
    provenance: dict[str, Any] = field(default_factory=dict)
    # Test examples and labels, where the data set has its own.
    test: tuple[Any, NDArray[Any]] | None = None


def builtin_names() -> list[str]:
    """Return the names that stand for data instead of a file."""
    return [*_SCIKIT_LEARN, *list_datasets()]


def read_table(
    data: str,
    target: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    features: Sequence[str] | None = None,
    names_only: Sequence[str] | None = None,
    labelled: bool = True,
    as_read: bool = False,
    quiet: bool = False,
) -> Table:
    """Read examples from a file or a built-in name, and refuse what cannot be certified.

    The target is guessed if it is None. ``features`` are the columns that a model needs, where it
    knows their names, and ``names_only`` those of them that hold categories, where it is known that
    the others hold numbers: what the file looks like does not count then. Without ``labelled`` a
    column that is neither a feature nor named is ignored. ``as_read`` leaves the features as pandas
    reads them, as a model expects that was trained elsewhere. ``quiet`` leaves out the note on a
    column without a name, which is never read.
    """
    if not data:
        raise ValueError("DATA must be a file or a built-in name, got an empty text.")
    path = Path(data)
    if data in builtin_names() and not path.exists():
        refused = {"--target": target, "--drop": drop, "--categorical": categorical}
        for option, value in refused.items():
            if value:
                raise ValueError(f"{option} is for files: {data} is built in, as it is.")
        return builtin_table(data)
    _check_file(path)
    names, read = open_table(path, quiet)
    for option, wanted in (("--drop", drop), ("--categorical", categorical)):
        for name in wanted:
            _require(option, name, names, path)
    if labelled or target is not None:
        target = _find_target(target, [n for n in names if n not in drop], features, path)
    as_text = [*categorical, *(names_only or ()), *([] if target is None else [target])]
    frame = read(as_text, as_read)
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows.")
    provenance = {
        "data": path.name.encode("utf-8", "replace").decode(),
        "data_sha256": file_sha256(path),
    }
    y = None
    if target is not None:
        y = _labels(frame[target], target, path)
        provenance["target"] = target
    left = [name for name in names if name not in drop and name != target]
    if features is not None:
        for name in features:
            _require("the model", name, left, path)
        left = list(features)
    if not left:
        raise ValueError(f"{path} has no column but the target {target!r}: nothing to learn from.")
    if drop:
        provenance["dropped"] = json.dumps(list(drop))
    if categorical:
        provenance["categorical"] = json.dumps(list(categorical))
    X = frame[left]
    if not as_read:
        X = _typed(X, categorical, path) if names_only is None else _typed_as(X, names_only, path)
    return Table(path.stem, X, y, provenance)


def builtin_table(name: str) -> Table:
    """Return the data that a built-in name stands for."""
    import pandas as pd

    if name in _SCIKIT_LEARN:
        from sklearn.datasets import load_breast_cancer, load_digits

        bunch = (load_breast_cancer if name == "breast-cancer" else load_digits)(as_frame=True)
        y = bunch.target_names[bunch.target.to_numpy()]
        return Table(name, bunch.data.astype(float), np.asarray(y), {"data": name})
    data = load(name)
    columns = [f"x{j}" for j in range(data.X_train.shape[1])]
    X, X_test = (pd.DataFrame(part, columns=columns) for part in (data.X_train, data.X_test))
    return Table(name, X, data.y_train, {"data": name}, (X_test, data.y_test))


def _check_file(path: Path) -> None:
    if not path.exists():
        near = difflib.get_close_matches(str(path), builtin_names(), n=1)
        hint = f" Did you mean the built-in {near[0]}?" if near else ""
        raise ValueError(f"there is no file {path}.{hint}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a CSV or Parquet file.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def _require(who: str, name: str, names: Sequence[str], path: Path) -> None:
    if name in names:
        return
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    hint = (
        f"did you mean {lower[near[0]]!r}?"
        if near
        else f"it has {', '.join(names[:8])}" + (", …" if len(names) > 8 else ".")
    )
    raise ValueError(f"{who} asks for a column {name!r}, which {path} does not have: {hint}")


def _find_target(
    target: str | None, names: list[str], features: Sequence[str] | None, path: Path
) -> str:
    if target is not None:
        _require("--target", target, names, path)
        return target
    # What the model does not use must be the label, if it is one column.
    others = [name for name in names if features is None or name not in features]
    if not others:
        raise ValueError(f"{path} has no column besides the model's: where are the labels?")
    usual = [name for name in others if name.lower() in _USUAL_TARGETS]
    return usual[0] if usual else others[-1]


def _labels(column: Any, target: str, path: Path) -> NDArray[Any]:
    missing = int(column.isna().sum())
    if missing:
        raise ValueError(
            f"the target {target!r} is missing in {missing} of {len(column)} rows of {path}: "
            "remove these rows, or name another column with --target."
        )
    if 0 < len(_no_numbers(column)) < len(column):
        raise ValueError(
            f"the target {target!r} mixes numbers and text, such as {_examples(column)}: write "
            "each label in one way, or name another column with --target."
        )
    values = _label_values(column)
    kinds = np.unique(values)
    if kinds.size < 2:
        raise ValueError(
            f"the target {target!r} has one value only, {kinds[0].item()!r}: there is nothing to "
            "tell apart."
        )
    fractions = values.dtype.kind == "f" and bool(np.any(values != np.round(values)))
    if fractions or kinds.size == len(values) or kinds.size > max(50, len(values) // 2):
        raise ValueError(
            f"the target {target!r} has {kinds.size} different values in {len(values)} rows: that "
            "is a quantity (regression) or an identifier, and certivote certifies classifiers. "
            "Name a column of classes with --target."
        )
    return values


def _label_values(column: Any) -> NDArray[Any]:
    """Return labels as whole numbers or true and false where they are written so, else as text."""
    values = column.to_numpy()
    if values.dtype.kind in "biu":
        return np.asarray(values)
    if values.dtype.kind == "f":
        whole = bool(np.all((values == np.round(values)) & (np.abs(values) < 2.0**53)))
        return np.asarray(values.astype(np.int64) if whole else values)
    texts = [str(value) for value in column]
    if any(text.endswith("\0") for text in texts):
        raise ValueError(f"the target {column.name!r} has labels that end in a null character.")
    if set(texts) == {"True", "False"}:
        return np.array([text == "True" for text in texts])
    # 01 is not 1: only what says the same after being read and written is a number.
    if all(re.fullmatch(r"(-?[1-9]\d{0,14}|0)(\.0+)?", text) for text in texts):
        return np.array([int(text.partition(".")[0]) for text in texts], dtype=np.int64)
    if all(re.fullmatch(r"-?\d*\.\d+([eE][-+]?\d+)?", text) for text in texts):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=np.str_)


def _is_of_numbers(column: Any) -> bool:
    """Tell whether a column is one of numbers or dates by its type."""
    import pandas as pd

    types = pd.api.types
    kinds = (types.is_numeric_dtype, types.is_datetime64_any_dtype)
    return any(kind(column.dtype) for kind in kinds)


def _no_numbers(column: Any) -> Any:
    """Return the values of a column that cannot be read as numbers, without missing ones."""
    import pandas as pd

    if _is_of_numbers(column):
        return column.iloc[:0]
    known = column.dropna()
    return known[pd.to_numeric(known.astype(str), errors="coerce").isna()]


def _examples(column: Any) -> str:
    """Return a number and a text of a column that mixes them."""
    texts = _no_numbers(column)
    return f"{column.dropna().drop(texts.index).iloc[0]} and {texts.iloc[0]!r}"


def _typed(frame: Any, categorical: Sequence[str], path: Path) -> Any:
    """Return columns of floats, and of text for categories, true or false, and the rest.

    A column is one or the other as a whole: one that mixes numbers and text is refused, so that no
    type depends on which rows certify.
    """
    import pandas as pd

    mixed = []
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        texts = _no_numbers(column)
        if name in categorical or pd.api.types.is_bool_dtype(column.dtype):
            columns[name] = _text(column)
        elif 0 < len(texts) < column.count():
            mixed.append(name)
        elif _is_of_numbers(column) or (len(texts) == 0 and column.count() > 0):
            columns[name] = _floats(column, path)
        else:
            columns[name] = _text(column)
    if mixed:
        what = f"column {mixed[0]!r} mixes" if len(mixed) == 1 else f"columns {mixed} mix"
        raise ValueError(
            f"{what} numbers and text in {path}, such as {_examples(frame[mixed[0]])}: correct it, "
            f"leave it out with --drop, or call all of it names with --categorical {mixed[0]!r}."
        )
    return pd.DataFrame(columns, index=frame.index)


def _typed_as(frame: Any, names_only: Sequence[str], path: Path) -> Any:
    """Return the columns as a model was trained on them, whatever they look like here."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if name in names_only:
            columns[name] = _text(column)
            continue
        wrong = _no_numbers(column)
        if len(wrong):
            raise ValueError(
                f"column {name!r} holds numbers for the model, but {wrong.iloc[0]!r} in {path}."
            )
        columns[name] = _floats(column, path)
    return pd.DataFrame(columns, index=frame.index)


def _floats(column: Any, path: Path) -> Any:
    """Return a column as floats, dates in seconds since 1970, and refuse infinite ones."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        plain = column.dt.tz_convert(None) if column.dt.tz is not None else column
        column = (plain - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
    try:
        floats = pd.to_numeric(column).astype(float)
    except OverflowError:
        floats = column.map(float, na_action="ignore")
    if bool((floats.abs() > np.finfo(np.float32).max).any()):
        raise ValueError(
            f"column {column.name!r} of {path} holds an infinite value, or one beyond 3.4e38: "
            "correct it, or leave it empty, which means missing."
        )
    return floats


def _text(column: Any) -> Any:
    """Return a column as text, with None where it is missing; whole numbers without a point."""
    import pandas as pd

    # Beside a gap pandas writes and reads whole numbers with a point.
    texts = [
        None if gone else re.sub(r"^(-?\d+)\.0$", r"\1", str(value))
        for value, gone in zip(column, column.isna(), strict=True)
    ]
    return pd.Series(texts, index=column.index, dtype=object)
