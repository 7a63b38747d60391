"""Tables in files: how a CSV file is written and what may be wrong with it; other formats."""

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

from .output import note

__all__ = ["NO_NAME", "USUAL", "Missing", "TableFile", "open_table", "open_tables", "table_name"]

# What reads as missing: what pandas takes for it, and UCI's mark.
_MISSING: tuple[str, ...] = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan")
_MISSING += ("1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
_MISSING += ("?",)
NO_NAME = "has no name, as an index of pandas: it is left out"
_SEPARATORS = (",", ";", "\t", "|")
# What is looked at to tell how a file is written, in bytes and in rows.
_SAMPLE, _SAMPLE_ROWS, _LONGEST_HEADER = 1 << 16, 20, 1 << 23
# How packed files begin, and what else is told by its first bytes or by its name.
_PACKED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zip")
_ZIP, _EMPTY_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0"
_WORKBOOK = "xl/workbook.xml"
_JSON_LINES = (".jsonl", ".ndjson")
_ENDINGS = (".csv", ".tsv", ".parquet", ".xlsx", *_JSON_LINES)


@dataclass(frozen=True)
class Missing:
    """Which texts of a file mean that there is nothing, and what becomes of rows without a label.

    ``na_values`` stand instead of the usual ones; a cell without text is always missing.
    """

    na_values: tuple[str, ...] | None = None
    # No text of the target is missing.
    keep_na: bool = False
    # Rows without a label are left out.
    drop_unlabelled: bool = False

    def texts(self, of_target: bool = False) -> list[str]:
        """Return the texts that are missing, in the target or in another column."""
        if of_target and self.keep_na:
            return [""]
        return list(_MISSING if self.na_values is None else ("", *self.na_values))


USUAL = Missing()


@dataclass(frozen=True)
class TableFile:
    """A file of which the columns are known, and which reads them."""

    names: list[str]
    # Reads a frame, given the columns to read as text, whether all others are left as pandas reads
    # them, what is missing, and the target.
    read: Callable[[Sequence[str], bool, Missing, str | None], Any]
    # Reads some columns as they are written.
    verbatim: Callable[[Sequence[str]], Any]
    # What is worth a word.
    remarks: tuple[str, ...] = ()


def open_tables(paths: Sequence[Path], quiet: bool) -> TableFile:
    """Return the files of one table as one, with the rows in their order."""
    files = [open_table(path, quiet) for path in paths]
    first = files[0]
    if len(files) == 1:
        return first
    for path, file in zip(paths[1:], files[1:], strict=True):
        others = {
            "it lacks": [name for name in first.names if name not in file.names],
            "it has besides": [name for name in file.names if name not in first.names],
        }
        words = [f"{word} {_listed(names)}" for word, names in others.items() if names]
        if words:
            raise ValueError(
                f"{path} has other columns than {paths[0]}: {', and '.join(words)}. Files of one "
                "table have the same columns."
            )

    def read(as_text: Sequence[str], as_read: bool, missing: Missing, target: str | None) -> Any:
        return _joined([file.read(as_text, as_read, missing, target) for file in files])

    def verbatim(names: Sequence[str]) -> Any:
        return _joined([file.verbatim(names) for file in files])

    return TableFile(first.names, read, verbatim, sum((file.remarks for file in files), ()))


def _joined(frames: Sequence[Any]) -> Any:
    """Return the rows of several frames, with the columns of the first."""
    import pandas as pd

    return pd.concat(frames, ignore_index=True).reindex(columns=frames[0].columns)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")


@dataclass(frozen=True)
class _Source:
    """The bytes of a table, which are a file, or were unpacked from one."""

    path: Path
    # That of what was unpacked.
    name: str
    content: bytes | None = None

    def __str__(self) -> str:
        return str(self.path)

    def open(self) -> BinaryIO:
        """Return the bytes from their beginning."""
        return self.path.open("rb") if self.content is None else io.BytesIO(self.content)


def table_name(path: Path) -> str:
    """Return what a table is called after its file: no ending, and no two of a packed one."""
    return Path(path.stem if path.suffix.lower() in _PACKED_ENDINGS else path.name).stem


def _unpacked(path: Path) -> _Source:
    """Return the table in a file, unpacked if it is an archive."""
    with path.open("rb") as file:
        head = file.read(8)
    try:
        for magic, unpack in _PACKED.items():
            if head.startswith(magic):
                return _Source(path, path.stem, unpack(path.read_bytes()))
        if head.startswith((_ZIP, _EMPTY_ZIP)):
            return _unzipped(path)
    except (OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, BadZipFile) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}.") from error
    return _Source(path, path.name)


def _unzipped(path: Path) -> _Source:
    """Return the only table in an archive; an Excel file is an archive too, and stays as it is."""
    with ZipFile(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if _WORKBOOK in names:
            return _Source(path, path.name)
        # macOS adds what nobody asked for.
        names = [name for name in names if not re.search(r"(^|/)(\.|__MACOSX/)", name)]
        names = [name for name in names if name.lower().endswith(_ENDINGS)] or names
        if not names:
            raise ValueError(f"{path} holds no table.")
        if len(names) > 1:
            raise ValueError(
                f"{path} holds several tables, {_listed(names)}: unpack it and name one of them, "
                "or each of them if they are parts of one table."
            )
        return _Source(path, names[0], archive.read(names[0]))


def open_table(path: Path, quiet: bool) -> TableFile:
    """Return a file with the names of its columns."""
    source = _unpacked(path)
    with source.open() as file:
        head = file.read(_SAMPLE)
    if head[:4] == b"PAR1":
        return _typed_file(_read_parquet(source))
    if head.startswith(_ZIP):
        return _read_excel(source, quiet)
    if source.name.lower().endswith(_JSON_LINES):
        return _typed_file(_read_json_lines(source))
    if head.startswith(_OLD_EXCEL):
        raise ValueError(f"{path} is of an older Excel: save it as .xlsx or as CSV.")
    if b"\0" in head:
        raise ValueError(
            f"{path} is neither CSV, Parquet, JSON Lines nor Excel, or not in UTF-8: convert it "
            "first."
        )
    layout = _layout(source)
    names = _named(layout.names, source, quiet)

    def read(as_text: Sequence[str], as_read: bool, missing: Missing, target: str | None) -> Any:
        nothing = {name: missing.texts(name == target) for name in layout.names}
        marks = {"na_values": nothing, "keep_default_na": False}
        frame = _read_csv(source, layout, list(as_text), **marks)
        _refuse_swallowed_rows(source, layout, frame)
        if as_read:
            return frame
        # What pandas takes for true and false is text too, as it is written in the file.
        truths = [name for name in frame.columns if frame[name].dtype in (bool, object)]
        if truths:
            frame[truths] = _read_csv(source, layout, truths, **marks)[truths]
        return frame

    def verbatim(wanted: Sequence[str]) -> Any:
        # What has no other column to count its rows by is read with one.
        chosen = [*wanted] or names[:1]
        frame = _read_csv(source, layout, chosen, na_filter=False, usecols=chosen)
        return frame[list(wanted)]

    return TableFile(names, read, verbatim)


def _named(names: Sequence[str], source: _Source, quiet: bool) -> list[str]:
    """Return the names of columns but for a first one without any, which is an index of pandas."""
    _refuse_repeated_names(names, source)
    named = list(names[not names[0] :])
    if "" in named:
        raise ValueError(
            f"column {names.index('', 1) + 1} of {source} has no name: write one into the header, "
            "or remove a separator too many."
        )
    if len(named) < len(names) and not quiet:
        note(f"the first column of {source} {NO_NAME}.")
    return named


def _typed_file(frame: Any) -> TableFile:
    """Return a file that says itself what is missing: texts are only where they are named."""

    def read(as_text: Sequence[str], as_read: bool, missing: Missing, target: str | None) -> Any:
        if missing.na_values is None:
            return frame
        return _without_texts(frame, missing, target)

    return TableFile(list(frame.columns), read, lambda names: frame[list(names)])


def _without_texts(frame: Any, missing: Missing, target: str | None) -> Any:
    """Return a frame without the texts that mean that there is nothing."""
    frame = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind not in "biufcmM":
            nothing = frame[name].isin(missing.texts(name == target))
            frame[name] = frame[name].mask(nothing)
    return frame


@dataclass(frozen=True)
class _Layout:
    """How a CSV file is written: what is between cells, the decimal mark, and the header."""

    separator: str
    decimal: str
    names: list[str]


def _layout(source: _Source) -> _Layout:
    """Return the separator that cuts the first rows alike, and what goes with it."""
    with source.open() as file:
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
            raise ValueError(f"{source} is not a readable CSV file: its header has no end.")
        raise ValueError(f"{source} is empty.")
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = best != "," and any(re.fullmatch(r"-?\d+,\d+", cell) for cell in cells)
    return _Layout(best, "," if commas else ".", [name.strip() for name in rows[0]])


def _first_rows(head: bytes) -> tuple[str, list[list[str]]]:
    """Return the separator by which most of the first rows have as many cells, and these rows.

    ``csv.Sniffer`` takes apostrophes in a text for quotes, and then names what stands beside them.
    """
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


def _read_csv(source: _Source, layout: _Layout, as_text: list[str], **settings: Any) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("files need pandas: pip install 'certivote[cli]'.") from error

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                source.path if source.content is None else source.open(),
                compression=None,
                sep=layout.separator,
                decimal=layout.decimal,
                header=0,
                names=layout.names,
                index_col=False,
                low_memory=False,
                dtype=dict.fromkeys(as_text, "str"),
                encoding="utf-8-sig",
                **settings,
            )
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8, for "
            f"example with iconv -f latin1 -t utf-8."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{source} is empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _refuse_swallowed_rows(source, layout, unclosed="EOF inside string" in str(error))
        raise ValueError(f"{source} is not a readable CSV file: {str(error).strip()}.") from error


def _read_parquet(source: _Source) -> Any:
    try:
        import pyarrow
        from pyarrow import parquet

        table = parquet.read_table(source.path if source.content is None else source.open())
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install 'certivote[cli]'.") from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{source} is not a readable Parquet file: {error}") from error
    _refuse_repeated_names(table.column_names, source)
    for column in table.schema:
        if pyarrow.types.is_nested(column.type):
            raise ValueError(
                f"column {column.name!r} of {source} holds several values in each row "
                f"({column.type}): leave it out of the file, or write each into a column."
            )
    frame = table.to_pandas()
    frame = frame.reset_index(drop=frame.index.names == [None])
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _read_json_lines(source: _Source) -> Any:
    """Return a frame of a file with an object of JSON on each line."""
    import pandas as pd

    rows = []
    with source.open() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number} of {source} is not JSON: {error}.") from error
            if not isinstance(row, dict):
                raise ValueError(f'line {number} of {source} is no row such as {{"age": 3}}.')
            for name, value in row.items():
                if isinstance(value, list | dict):
                    raise ValueError(
                        f"column {name!r} of {source} holds several values on line {number}: leave "
                        "it out of the file, or write each into a column."
                    )
            rows.append(row)
    if not rows:
        raise ValueError(f"{source} is empty.")
    return pd.DataFrame(rows)


def _read_excel(source: _Source, quiet: bool) -> TableFile:
    """Return the first sheet of an Excel file, in which texts may mean missing as in CSV."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise ImportError("Excel needs openpyxl: pip install 'certivote[excel]'.")
    try:
        with warnings.catch_warnings():  # of styles and the like, which are no data
            warnings.simplefilter("ignore")
            with source.open() as file, pd.ExcelFile(file, engine="openpyxl") as book:
                sheets = [str(name) for name in book.sheet_names]
                settings: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
                cells = book.parse(0, header=None, dtype=object, **settings)
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise ValueError(f"{source} is not a readable Excel file: {error}.") from error
    cells = cells.dropna(how="all")
    if cells.empty:
        raise ValueError(f"the first sheet of {source}, {sheets[0]!r}, is empty.")
    remark = f"{source} has {len(sheets)} sheets: the first one, {sheets[0]!r}, is read"
    remarks = (remark,) if len(sheets) > 1 else ()
    if remarks and not quiet:
        note(f"{remark}.")
    header = ["" if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    names = _named(header, source, quiet)
    frame = cells.iloc[1:].reset_index(drop=True).set_axis(header, axis=1)

    def read(as_text: Sequence[str], as_read: bool, missing: Missing, target: str | None) -> Any:
        return _without_texts(frame, missing, target).infer_objects()

    return TableFile(names, read, lambda wanted: frame[list(wanted)], remarks)


def _refuse_repeated_names(names: Sequence[str], source: _Source) -> None:
    for name, times in Counter(names).items():
        if name and times > 1:
            raise ValueError(f"{source} has several columns called {name!r}: rename them.")


def _refuse_swallowed_rows(
    source: _Source, layout: _Layout, frame: Any = None, unclosed: bool = False
) -> None:
    """Refuse a file in which a quote that opens by mistake makes several rows into one.

    ``frame`` is what was read, None if pandas could not make anything of it; ``unclosed`` says that
    the last quote is known to be open at the end.
    """
    if frame is not None and _is_one_row_a_line(source, len(frame)):
        return
    like_rows = None if frame is None else _Likeness(frame)
    records = _records(source, layout.separator)
    start, row = 1, [""]
    for first, lines, cells in records:
        start, row = first, cells
        if len(lines) > 1 and _swallows(lines, layout, like_rows):
            last = first + len(lines) - 1
            if unclosed and next(records, None) is None:
                break
            raise ValueError(
                f"{source} has a quote that opens on line {first} and swallows the rows up to line "
                f"{last}: close it, write it twice where it is part of the text, or remove the "
                "line breaks if they are part of the cell."
            )
    if unclosed:
        opens = start + len(re.findall(r"\r\n|\r|\n", "".join(row[:-1])))
        raise ValueError(
            f"{source} has a quote that opens on line {opens} and never closes: close it, or write "
            "it twice where it is part of the text."
        )


def _is_one_row_a_line(source: _Source, n_rows: int) -> bool:
    """Tell at a glance that no row of a file has several lines."""
    newlines = returns = 0
    quotes, last = False, b""
    with source.open() as file:
        while chunk := file.read(1 << 20):
            newlines += chunk.count(b"\n")
            returns += chunk.count(b"\r")
            quotes = quotes or b'"' in chunk
            last = chunk[-1:]
    return not quotes or max(newlines, returns) + (last not in b"\r\n") == n_rows + 1


def _records(source: _Source, separator: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the number of the first line, the lines and the cells of each record."""
    lines: list[str] = []

    def keep(file: Iterable[str]) -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    with io.TextIOWrapper(source.open(), "utf-8-sig", errors="replace", newline="") as file:
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
