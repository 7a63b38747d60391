"""How a CSV file is written: what is between cells, the decimal mark, and the header."""

import contextlib
import csv
import io
import re
from dataclasses import dataclass

from .archives import Source

__all__ = ["Layout", "first_rows", "layout_of"]

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WITH_A_COMMA, _WITH_A_POINT = re.compile(r"-?\d+,\d+"), re.compile(r"-?\d*\.\d+")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2},\d{3}")
# More numbers than so many that rise are a scale, such as of wavelengths.
_SCALE = 5
_PADDED = re.compile(r"0\d+")
# What is looked at to tell how a file is written, in bytes and in rows.
_SAMPLE, _SAMPLE_ROWS, _LONGEST_HEADER = 1 << 16, 20, 1 << 23


@dataclass(frozen=True)
class Layout:
    """How a CSV file is written: what is between cells, the decimal mark, and the header."""

    separator: str
    decimal: str
    names: list[str]
    # Of columns with whole numbers that begin with a zero, such as 003, one of these.
    padded: dict[str, str]


def layout_of(source: Source) -> Layout:
    """Return the separator that cuts the first rows alike, and what goes with it."""
    with source.open() as file:
        head = file.read(_SAMPLE)
        best, rows = first_rows(head)
        # A header may be longer than the sample.
        while len(rows) < 2 and (more := file.read(len(head))):
            if len(head) > _LONGEST_HEADER:
                rows = []
                break
            head += more
            best, rows = first_rows(head)
    if not rows:
        if head.strip():
            raise ValueError(f"{source} is not a readable CSV file: its header has no end.")
        raise ValueError(f"{source} is empty.")
    _refuse_short_header(rows, source)
    _refuse_data_as_header(rows, source)
    cells = [cell.strip() for row in rows[1:] for cell in row]
    names = [name.strip() for name in rows[0]]
    return Layout(best, _decimal(cells, best), names, _padded(head, best, names))


def _decimal(cells: list[str], separator: str) -> str:
    """Return the decimal mark of cells: a comma if some number has one, and of no other meaning.

    Between commas it may stand between thousands too, in quotes: there some number must have it
    where thousands have none, and none a point.
    """
    commas = [cell for cell in cells if _WITH_A_COMMA.fullmatch(cell)]
    if separator == ",":
        points = any(_WITH_A_POINT.fullmatch(cell) for cell in cells)
        commas = [cell for cell in commas if not (points or _THOUSANDS.fullmatch(cell))]
    return "," if commas else "."


def _refuse_short_header(rows: list[list[str]], source: Source) -> None:
    """Refuse a header that has one name less than all rows have cells."""
    k, others = len(rows[0]), rows[1:]
    if not others or any(len(row) != k + 1 for row in others):
        return
    advice = (
        "write a name for the first column into the header (in R: write.csv, or write.table with "
        "col.names=NA)"
    )
    if not any(row[-1].strip() for row in others):
        advice = "remove the separator at the end of each row"
    raise ValueError(
        f"the header of {source} has {k} names, but the rows have {k + 1} cells: {advice}."
    )


def _refuse_data_as_header(rows: list[list[str]], source: Source) -> None:
    """Refuse a first row that looks like the others: all numbers stand below numbers.

    Names may be numbers too: those of whole ones that differ, or of a scale that rises or falls.
    """
    width = len(rows[0])
    others = [row for row in rows[1:] if len(row) == width]
    below = [j for j in range(width) if others and all(_is_number(row[j]) for row in others)]
    names = [rows[0][j].strip() for j in below]
    if not names or not all(map(_is_number, names)):
        return
    numbers = [float(name) for name in names]
    rises = len(numbers) > _SCALE and numbers in (sorted(numbers), sorted(numbers, reverse=True))
    whole = all(number == int(number) for number in numbers)
    if len(set(names)) < len(names) or not (whole or rises):
        raise ValueError(
            f"the first row of {source} looks like data, such as {', '.join(names[:3])}, and not "
            "like names of columns: write a row of names above it."
        )


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip()) is not None


def _padded(head: bytes, separator: str, names: list[str]) -> dict[str, str]:
    """Return the columns of the first rows with numbers that begin with a zero, each with one."""
    found: dict[str, str] = {}
    text = head.decode("utf-8-sig", errors="replace").rpartition("\n")[0]
    with contextlib.suppress(csv.Error):
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            for name, cell in zip(names, row, strict=False):
                if name not in found and _PADDED.fullmatch(cell.strip()):
                    found[name] = cell.strip()
    return found


def first_rows(head: bytes) -> tuple[str, list[list[str]]]:
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
