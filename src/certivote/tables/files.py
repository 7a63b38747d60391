"""Tables in files: their columns first, then what is asked of them."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .archives import JSON_LINES, ZIP, Source, listed, unpacked
from .asked import Asked
from .blanks import without_blanks
from .csv_files import read_csv, read_verbatim
from .formats import named, read_excel, read_json_lines, read_parquet, without_texts
from .layout import layout_of

__all__ = ["TableFile", "open_tables"]

_OLD_EXCEL, _HEAD = b"\xd0\xcf\x11\xe0", 1 << 16
# Files of other programs: by how they begin, or by their names.
_ARFF = rb"(\s*(%[^\n]*)?\n)*\s*@relation\s"
_SVMLIGHT = rb"[-+.\de]+( \d+:[-+.\de]+)+ *(#[^\n]*)?\r?\n"
_READERS = {
    ".dta": "pandas.read_stata",
    ".sav": "pandas.read_spss",
    ".sas7bdat": "pandas.read_sas",
    ".xpt": "pandas.read_sas",
    ".h5": "pandas.read_hdf",
    ".feather": "pandas.read_feather",
    ".orc": "pandas.read_orc",
}


@dataclass(frozen=True)
class TableFile:
    """A file of which the columns are known, and which reads them."""

    names: list[str]
    # Reads a frame of what is asked for, with some columns as text.
    read: Callable[[Asked, Sequence[str]], Any]
    # Reads some columns as they are written.
    verbatim: Callable[[Sequence[str]], Any]
    # What is worth a word.
    remarks: tuple[str, ...] = ()
    # Of columns with whole numbers that begin with a zero, such as 003, one of these.
    padded: dict[str, str] = field(default_factory=dict)
    # Whether the file says which cells are texts: in CSV all are.
    typed: bool = False


def open_tables(paths: Sequence[Path]) -> TableFile:
    """Return the files of one table as one, with the rows in their order."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("files need pandas: pip install 'certivote[cli]'.") from error

    files = [_open(path) for path in paths]
    first = files[0]
    if len(files) == 1:
        return first
    for path, file in zip(paths[1:], files[1:], strict=True):
        others = {
            "it lacks": [name for name in first.names if name not in file.names],
            "it has besides": [name for name in file.names if name not in first.names],
        }
        words = [f"{word} {listed(names)}" for word, names in others.items() if names]
        if words:
            raise ValueError(
                f"{path} has other columns than {paths[0]}: {', and '.join(words)}. Files of one "
                "table have the same columns."
            )

    def joined(frames: Sequence[Any]) -> Any:
        return pd.concat(frames, ignore_index=True).reindex(columns=frames[0].columns)

    return TableFile(
        first.names,
        lambda asked, as_text: joined([file.read(asked, as_text) for file in files]),
        lambda names: joined([file.verbatim(names) for file in files]),
        sum((file.remarks for file in files), ()),
        {name: text for file in files for name, text in file.padded.items()},
        all(file.typed for file in files),
    )


def _open(path: Path) -> TableFile:
    """Return a file with the names of its columns."""
    source = unpacked(path)
    with source.open() as file:
        head = file.read(_HEAD)
    if head[:4] == b"PAR1":
        return _typed(read_parquet(source))
    if head.startswith(ZIP):
        return _sheet(source)
    if _is_json_lines(source, head):
        return _typed(read_json_lines(source))
    _refuse_others(path, head)
    source = without_blanks(source)
    layout = layout_of(source)
    return TableFile(
        named(layout.names, source),
        lambda asked, as_text: read_csv(source, layout, asked, as_text),
        lambda names: read_verbatim(source, layout, names),
        padded=layout.padded,
    )


def _refuse_others(path: Path, head: bytes) -> None:
    """Refuse what is no table of text, and say how to make one of it."""
    if head.startswith(_OLD_EXCEL):
        raise ValueError(f"{path} is of an older Excel: save it as .xlsx or as CSV.")
    if re.match(_ARFF, head, re.IGNORECASE):
        reader = "scipy.io.arff.loadarff"
    elif re.match(_SVMLIGHT, head):
        reader = "sklearn.datasets.load_svmlight_file"
    elif b"\0" in head:
        reader = _READERS.get(path.suffix.lower(), "")
    else:
        return
    how = f", in Python with {reader}" if reader else ""
    raise ValueError(
        f"{path} is neither CSV, Parquet, JSON Lines nor Excel, or not in UTF-8: convert it "
        f"first{how}."
    )


def _is_json_lines(source: Source, head: bytes) -> bool:
    """Tell whether a file is of JSON Lines, by its name or its first line, and refuse other JSON.

    The name of a column may begin with a bracket too.
    """
    begins, name = head.removeprefix(b"\xef\xbb\xbf").lstrip(), source.name.lower()
    array = begins.startswith(b"[") and (
        begins[1:].lstrip().startswith(b"{") or name.endswith(".json")
    )
    if begins.startswith(b"{") and _is_object(begins.splitlines()[0]):
        return True
    if array or (name.endswith(".json") and begins.startswith(b"{")):
        what = "array" if array else "object"
        raise ValueError(
            f"{source} is one {what} of JSON, and what is read is JSON Lines, one object a line: "
            "convert it, for example by pandas.read_json(path)"
            '.to_json("table.jsonl", orient="records", lines=True, date_format="iso").'
        )
    return name.endswith(JSON_LINES)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _typed(frame: Any) -> TableFile:
    """Return a file that says itself what is missing: texts are only where they are named."""

    def read(asked: Asked, as_text: Sequence[str]) -> Any:
        return frame if asked.na_values is None else without_texts(frame, asked)

    return TableFile(list(frame.columns), read, lambda names: frame[list(names)], typed=True)


def _sheet(source: Source) -> TableFile:
    """Return an Excel file, in which texts may mean missing as in CSV."""
    frame, remark = read_excel(source)

    def read(asked: Asked, as_text: Sequence[str]) -> Any:
        return without_texts(frame, asked).infer_objects()

    names = named(list(frame.columns), source)
    return TableFile(names, read, lambda wanted: frame[list(wanted)], (remark,) if remark else ())
