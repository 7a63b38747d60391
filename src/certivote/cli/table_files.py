"""Tables in files: how a CSV file is written and what may be wrong with it, and Parquet."""

import contextlib
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .output import note

__all__ = ["NO_NAME", "USUAL", "Missing", "TableFile", "open_table"]

# What reads as missing: what pandas takes for it, and UCI's mark.
_MISSING: tuple[str, ...] = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan")
_MISSING += ("1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
_MISSING += ("?",)
NO_NAME = "has no name, as an index of pandas: it is left out"
_SEPARATORS = (",", ";", "\t", "|")
# What is looked at to tell how a file is written, in bytes and in rows.
_SAMPLE, _SAMPLE_ROWS, _LONGEST_HEADER = 1 << 16, 20, 1 << 23


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


def open_table(path: Path, quiet: bool) -> TableFile:
    """Return a file with the names of its columns."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    if head[:4] == b"PAR1":
        return _typed_file(_read_parquet(path))
    if b"\0" in head:
        raise ValueError(
            f"{path} is neither a CSV nor a Parquet file, or not in UTF-8: convert it first."
        )
    layout = _layout(path)
    _refuse_repeated_names(layout.names, path)
    names = layout.names[not layout.names[0] :]
    if "" in names:
        raise ValueError(
            f"column {layout.names.index('', 1) + 1} of {path} has no name: write one into the "
            "header, or remove a separator too many."
        )
    if len(names) < len(layout.names) and not quiet:
        note(f"the first column of {path} {NO_NAME}.")

    def read(as_text: Sequence[str], as_read: bool, missing: Missing, target: str | None) -> Any:
        nothing = {name: missing.texts(name == target) for name in layout.names}
        marks = {"na_values": nothing, "keep_default_na": False}
        frame = _read_csv(path, layout, list(as_text), **marks)
        _refuse_swallowed_rows(path, layout, frame)
        if as_read:
            return frame
        # What pandas takes for true and false is text too, as it is written in the file.
        truths = [name for name in frame.columns if frame[name].dtype in (bool, object)]
        if truths:
            frame[truths] = _read_csv(path, layout, truths, **marks)[truths]
        return frame

    def verbatim(wanted: Sequence[str]) -> Any:
        # What has no other column to count its rows by is read with one.
        chosen = [*wanted] or names[:1]
        frame = _read_csv(path, layout, chosen, na_filter=False, usecols=chosen)
        return frame[list(wanted)]

    return TableFile(names, read, verbatim)


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


def _read_csv(path: Path, layout: _Layout, as_text: list[str], **settings: Any) -> Any:
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
                low_memory=False,
                dtype=dict.fromkeys(as_text, "str"),
                encoding="utf-8-sig",
                **settings,
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
    _refuse_repeated_names(table.column_names, path)
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


def _refuse_repeated_names(names: Sequence[str], path: Path) -> None:
    for name, times in Counter(names).items():
        if name and times > 1:
            raise ValueError(f"{path} has several columns called {name!r}: rename them.")


def _refuse_swallowed_rows(
    path: Path, layout: _Layout, frame: Any = None, unclosed: bool = False
) -> None:
    """Refuse a file in which a quote that opens by mistake makes several rows into one.

    ``frame`` is what was read, None if pandas could not make anything of it; ``unclosed`` says that
    the last quote is known to be open at the end.
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
