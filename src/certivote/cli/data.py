"""Tables from files and built-in names: columns of numbers or categories, and a target."""

import contextlib
import csv
import difflib
import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.files import file_sha256
from ..datasets import list_datasets, load
from .output import note

__all__ = ["Table", "builtin_names", "list_builtin", "read_table"]

_SCIKIT_LEARN = ("breast-cancer", "digits")
_USUAL_TARGETS = ("target", "class", "label", "y")
# UCI's mark of a missing value, besides those of pandas.
_MISSING = ["?"]
_SEPARATORS = (",", ";", "\t", "|")
# What is looked at to tell how a file is written, in bytes and in rows.
_SAMPLE, _SAMPLE_ROWS, _LONGEST_HEADER = 1 << 16, 20, 1 << 23


@dataclass
class Table:
    """Examples and their labels.

    Attributes
    ----------
    name : str
        What the data is called.
    X : DataFrame
        The features: columns of numbers, or of text for categories.
    y : ndarray or None
        The labels.
    provenance : dict
        What a certificate says of the data: enough to read it again in the same way.
    test : tuple or None
        Test examples and labels, where the data set has its own.
    """

    name: str
    X: Any
    y: Any
    provenance: dict[str, Any] = field(default_factory=dict)
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
    """Read examples, and refuse in a sentence what cannot be certified.

    Parameters
    ----------
    data : str
        A CSV or Parquet file, or one of `builtin_names`.
    target : str, default=None
        The column of the labels; guessed if None.
    drop : sequence of str
        Columns to leave out.
    categorical : sequence of str
        Columns whose numbers are names.
    features : sequence of str, default=None
        The columns that a model needs, where it knows their names.
    names_only : sequence of str, default=None
        Those of a model's columns that hold categories, where it is known that the others hold
        numbers; what the file looks like does not count then.
    labelled : bool, default=True
        Whether labels are needed. Without, a column that is neither a feature nor named is ignored.
    as_read : bool, default=False
        Leave the features as pandas reads them: what a model that was trained elsewhere expects.
    quiet : bool, default=False
        Whether to leave out the note on a column without a name, which is never read.
    """
    if not data:
        raise ValueError("DATA must be a file or a built-in name, got an empty text.")
    path = Path(data)
    if data in builtin_names() and not path.exists():
        refused = {"--target": target, "--drop": drop, "--categorical": categorical}
        for option, value in refused.items():
            if value:
                raise ValueError(f"{option} is for files: {data} is built in, as it is.")
        return _builtin(data)
    _check_file(path)
    names, read = _open(path, quiet)
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
    if as_read:
        X = frame[left]
    elif names_only is not None:
        X = _typed_as(frame[left], names_only, path)
    else:
        X = _typed(frame[left], categorical, path)
    return Table(path.stem, X, y, provenance)


def list_builtin() -> list[dict[str, Any]]:
    """Return the name and sizes of each built-in data set; None where it is not on this machine."""
    entries = []
    for name in builtin_names():
        entry: dict[str, Any] = {"name": name}
        try:
            table = _builtin(name, download=False)
        except FileNotFoundError:
            entry |= dict.fromkeys(("rows", "test_rows", "features", "classes"))
        else:
            entry["rows"] = len(table.y)
            entry["test_rows"] = 0 if table.test is None else len(table.test[1])
            entry["features"] = table.X.shape[1]
            entry["classes"] = len(np.unique(table.y))
        entries.append(entry)
    return entries


def _builtin(name: str, download: bool = True) -> Table:
    import pandas as pd

    if name in _SCIKIT_LEARN:
        from sklearn.datasets import load_breast_cancer, load_digits

        bunch = (load_breast_cancer if name == "breast-cancer" else load_digits)(as_frame=True)
        y = bunch.target_names[bunch.target.to_numpy()]
        return Table(name, bunch.data.astype(float), np.asarray(y), {"data": name})
    data = load(name, download=download)
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


def _open(path: Path, quiet: bool) -> tuple[list[str], Callable[[Sequence[str], bool], Any]]:
    """Return the names of the columns, and what reads them, given those to read as text.

    The other argument says whether all others are left as pandas reads them.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    if head[:4] == b"PAR1":
        frame = _read_parquet(path)
        return list(frame.columns), lambda as_text, as_read: frame
    if b"\0" in head:
        raise ValueError(
            f"{path} is neither a CSV nor a Parquet file, or not in UTF-8: convert it first."
        )
    layout = _layout(path)
    _refuse_twins(layout.names, path)
    names = layout.names[not layout.names[0] :]
    if "" in names:
        raise ValueError(
            f"column {layout.names.index('', 1) + 1} of {path} has no name: write one into the "
            "header, or remove a separator too many."
        )
    if len(names) < len(layout.names) and not quiet:
        note(f"the first column of {path} has no name, as an index of pandas: it is left out.")

    def read(as_text: Sequence[str], as_read: bool) -> Any:
        frame = _read_csv(path, layout, list(as_text))
        _refuse_swallowed_rows(path, layout, frame)
        if as_read:
            return frame
        # What pandas takes for true and false is text too, as it is written in the file.
        truths = [name for name in frame.columns if frame[name].dtype in (bool, object)]
        if truths:
            frame[truths] = _read_csv(path, layout, truths)[truths]
        return frame

    return names, read


@dataclass(frozen=True)
class _Layout:
    """How a CSV file is written: what is between cells, the decimal mark, and the header."""

    separator: str
    decimal: str
    names: list[str]


def _layout(path: Path) -> _Layout:
    """Return the separator that cuts the first rows alike, and what goes with it."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
        best, rows = _first_rows(head)
        # A header may be longer than the sample.
        while len(rows) < 2 and (more := file.read(len(head))):
            if len(head) > _LONGEST_HEADER:
                rows = []
                break
            head += more
            best, rows = _first_rows(head)
    if not rows:
        if head.strip():
            raise ValueError(f"{path} is not a readable CSV file: its header has no end.")
        raise ValueError(f"{path} is empty.")
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = best != "," and any(re.fullmatch(r"-?\d+,\d+", cell) for cell in cells)
    return _Layout(best, "," if commas else ".", [name.strip() for name in rows[0]])


def _first_rows(head: bytes) -> tuple[str, list[list[str]]]:
    """Return the separator by which most of the first rows have as many cells, and these rows."""
    text = head.decode("utf-8-sig", errors="replace")
    best, most, found = ",", -1, []
    for separator in _SEPARATORS:
        rows = []
        # Not str.splitlines, for which a line may end inside a name.
        with contextlib.suppress(csv.Error):  # a cell that is longer than the reader takes
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
                # Blank lines are none, for pandas too.
                if len(row) > 1 or (row and (not row[0] or row[0].strip(" \t"))):
                    rows.append(row)
                if len(rows) > _SAMPLE_ROWS:
                    break
        rows = rows[:-1] or rows  # the last one may be cut in the middle
        alike = sum(len(row) == len(rows[0]) > 1 for row in rows)
        if alike > most:
            best, most, found = separator, alike, rows
    return best, found


def _read_csv(path: Path, layout: _Layout, as_text: list[str]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("files need pandas: pip install 'certivote[cli]'.") from error

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                path,
                sep=layout.separator,
                decimal=layout.decimal,
                header=0,
                names=layout.names,
                index_col=False,
                na_values=_MISSING,
                low_memory=False,
                dtype=dict.fromkeys(as_text, "str"),
                encoding="utf-8-sig",
            )
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8, for "
            f"example with iconv -f latin1 -t utf-8."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _refuse_swallowed_rows(path, layout, unclosed="EOF inside string" in str(error))
        raise ValueError(f"{path} is not a readable CSV file: {str(error).strip()}.") from error


def _read_parquet(path: Path) -> Any:
    try:
        import pyarrow
        from pyarrow import parquet

        table = parquet.read_table(path)
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install 'certivote[cli]'.") from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
    _refuse_twins(table.column_names, path)
    for column in table.schema:
        if pyarrow.types.is_nested(column.type):
            raise ValueError(
                f"column {column.name!r} of {path} holds several values in each row "
                f"({column.type}): leave it out of the file, or write each into a column."
            )
    frame = table.to_pandas()
    frame = frame.reset_index(drop=frame.index.names == [None])
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _refuse_twins(names: Sequence[str], path: Path) -> None:
    for name, times in Counter(names).items():
        if name and times > 1:
            raise ValueError(f"{path} has several columns called {name!r}: rename them.")


def _refuse_swallowed_rows(
    path: Path, layout: _Layout, frame: Any = None, unclosed: bool = False
) -> None:
    """Refuse a file in which a quote that opens by mistake makes several rows into one.

    Parameters
    ----------
    path, layout
        The file, and how it is written.
    frame : DataFrame, default=None
        What was read; None if pandas could not make anything of it.
    unclosed : bool, default=False
        Whether the last quote is known to be open at the end.
    """
    if frame is not None and _is_one_row_a_line(path, len(frame)):
        return
    like_rows = None if frame is None else _Likeness(frame)
    records = _records(path, layout.separator)
    start, row = 1, [""]
    for first, lines, cells in records:
        start, row = first, cells
        if len(lines) > 1 and _swallows(lines, layout, like_rows):
            last = first + len(lines) - 1
            if unclosed and next(records, None) is None:
                break
            raise ValueError(
                f"{path} has a quote that opens on line {first} and swallows the rows up to line "
                f"{last}: close it, write it twice where it is part of the text, or remove the "
                "line breaks if they are part of the cell."
            )
    if unclosed:
        opens = start + len(re.findall(r"\r\n|\r|\n", "".join(row[:-1])))
        raise ValueError(
            f"{path} has a quote that opens on line {opens} and never closes: close it, or write "
            "it twice where it is part of the text."
        )


def _is_one_row_a_line(path: Path, n_rows: int) -> bool:
    """Tell at a glance that no row of a file has several lines."""
    newlines = returns = 0
    quotes, last = False, b""
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            newlines += chunk.count(b"\n")
            returns += chunk.count(b"\r")
            quotes = quotes or b'"' in chunk
            last = chunk[-1:]
    return not quotes or max(newlines, returns) + (last not in b"\r\n") == n_rows + 1


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the number of the first line, the lines and the cells of each record."""
    lines: list[str] = []

    def keep(file: Iterable[str]) -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(keep(file), delimiter=separator)
        while True:
            first = reader.line_num + 1
            lines.clear()
            try:
                cells = next(reader, None)
            except csv.Error:  # a cell that is longer than the reader takes
                cells = []
            if cells is None:
                return
            yield first, lines, cells


def _swallows(lines: list[str], layout: _Layout, like_rows: "_Likeness | None") -> bool:
    """Tell whether the lines of one record are rows by themselves."""
    try:
        list(csv.reader(lines, delimiter=layout.separator, strict=True))
    except csv.Error:  # something follows where a quote closes, or it does not close for long
        return True
    rows = [line.replace('"', "").strip("\r\n").split(layout.separator) for line in lines]
    return all(
        len(row) == len(layout.names) and (like_rows is None or like_rows.holds(row, layout))
        for row in rows
    )


class _Likeness:
    """Whether some cells could be a row of a frame: numbers where it has numbers, known names."""

    def __init__(self, frame: Any) -> None:
        self.columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
        self.numbers = [column.dtype.kind in "iuf" for column in self.columns]
        self.names: dict[int, set[str] | None] = {}

    def holds(self, cells: list[str], layout: _Layout) -> bool:
        """Tell whether they could."""
        return all(self._fits(j, cell.strip(), layout) for j, cell in enumerate(cells))

    def _fits(self, j: int, cell: str, layout: _Layout) -> bool:
        if not cell or cell in _MISSING:
            return True
        if self.numbers[j]:
            try:
                float(cell.replace(layout.decimal, "."))
            except ValueError:
                return False
            return True
        if j not in self.names:
            names = {str(name).strip() for name in self.columns[j].dropna().unique()}
            # A column of free text may hold anything.
            self.names[j] = names if 2 * len(names) <= len(self.columns[j]) else None
        known = self.names[j]
        return known is None or cell in known


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
    if _mixes(column):
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


def _numbers(column: Any) -> Any:
    """Return which values of a column of text or objects are numbers, without missing ones."""
    import pandas as pd

    known, types = column.dropna(), pd.api.types
    plain = types.is_numeric_dtype(column.dtype) or types.is_datetime64_any_dtype(column.dtype)
    if known.empty or plain:
        return None
    values = known.astype(str)
    return pd.to_numeric(values, errors="coerce").notna()


def _mixes(column: Any) -> bool:
    numbers = _numbers(column)
    return numbers is not None and bool(numbers.any()) and not bool(numbers.all())


def _examples(column: Any) -> str:
    numbers = _numbers(column)
    known = column.dropna()
    row = int(np.flatnonzero(~numbers.to_numpy())[0])
    return f"{known[numbers].iloc[0]} and {known.iloc[row]!r}"


def _typed(frame: Any, categorical: Sequence[str], path: Path) -> Any:
    """Return columns of floats, and of text for categories, true or false, and the rest.

    A column is one or the other as a whole: one that mixes numbers and text is refused, so that no
    type depends on which rows certify.
    """
    import pandas as pd

    types, mixed = pd.api.types, []
    columns: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if name in categorical or types.is_bool_dtype(column.dtype):
            columns[name] = _text(column)
        elif types.is_numeric_dtype(column.dtype) or types.is_datetime64_any_dtype(column.dtype):
            columns[name] = _floats(column, path)
        elif _mixes(column):
            mixed.append(name)
        else:
            numbers = _numbers(column)
            whole = numbers is not None and bool(numbers.all())
            columns[name] = _floats(column, path) if whole else _text(column)
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
        numbers = _numbers(column)
        if numbers is not None and not bool(numbers.all()):
            wrong = column.dropna()[~numbers].iloc[0]
            raise ValueError(
                f"column {name!r} holds numbers for the model, but {wrong!r} in {path}."
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
