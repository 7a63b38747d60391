"""Rows that are swallowed, by quotes that open by mistake, and rows that are torn."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .archives import Source
from .asked import USUALLY_MISSING
from .layout import Layout

__all__ = ["is_one_row_a_line", "refuse_swallowed_rows", "refuse_torn_rows"]


def refuse_swallowed_rows(
    source: Source, layout: Layout, frame: Any = None, unclosed: bool = False
) -> None:
    """Refuse a file in which a quote that opens by mistake makes several rows into one.

    ``frame`` is what was read, None if pandas could not make anything of it; ``unclosed`` says that
    the last quote is known to be open at the end.
    """
    if frame is not None and is_one_row_a_line(source, len(frame)):
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


def is_one_row_a_line(source: Source, n_rows: int) -> bool:
    """Tell at a glance that no row of a file has several lines."""
    if not _has_quotes(source):
        return True
    newlines, returns, last = 0, 0, b""
    with source.open() as file:
        while chunk := file.read(1 << 20):
            newlines += chunk.count(b"\n")
            returns += chunk.count(b"\r")
            last = chunk[-1:]
    return max(newlines, returns) + (last not in b"\r\n") == n_rows + 1


def _has_quotes(source: Source) -> bool:
    with source.open() as file:
        return any(b'"' in chunk for chunk in iter(lambda: file.read(1 << 20), b""))


def refuse_torn_rows(source: Source, layout: Layout) -> None:
    """Refuse a file in which some rows have fewer cells than the header has names.

    Where all have, the last columns are empty.
    """
    if _has_all_cells(source, layout):
        return
    torn, whole = None, False
    records = _records(source, layout.separator)
    next(records, None)
    for first, _, cells in records:
        if len(cells) >= len(layout.names):
            whole = True
        elif torn is None and any(cell.strip() for cell in cells):
            torn = first, len(cells)
        if torn is not None and whole:
            line, n = torn
            raise ValueError(
                f"{source} has {n} {'cell' if n == 1 else 'cells'} on line {line}, but "
                f"{len(layout.names)} columns: complete the row, where cells are empty by their "
                "separators, or remove it."
            )


def _has_all_cells(source: Source, layout: Layout) -> bool:
    """Tell at a glance that no row of a file has too few cells."""
    separator, counts, last = layout.separator.encode(), np.zeros(4, dtype=np.int64), b""
    with source.open() as file:
        while chunk := file.read(1 << 20):
            counts += [chunk.count(mark) for mark in (b"\n", b"\r", b'"', separator)]
            last = chunk[-1:]
    newlines, returns, quotes, separators = counts.tolist()
    lines = max(newlines, returns) + (last not in b"\r\n")
    return quotes == 0 and separators == lines * (len(layout.names) - 1)


def _records(source: Source, separator: str) -> Iterator[tuple[int, list[str], list[str]]]:
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


def _swallows(lines: list[str], layout: Layout, like_rows: "_Likeness | None") -> bool:
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

    def holds(self, cells: list[str], layout: Layout) -> bool:
        """Tell whether they could."""
        return all(self._fits(j, cell.strip(), layout) for j, cell in enumerate(cells))

    def _fits(self, j: int, cell: str, layout: Layout) -> bool:
        if not cell or cell in USUALLY_MISSING:
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
