"""Files whose cells are separated by blanks."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from .archives import Source
from .layout import first_rows

__all__ = ["without_blanks"]

# What is looked at to tell how a file is written, in bytes; and numbers, or gaps, with blanks
# between them.
_SAMPLE = 1 << 16
_NUMBERS = re.compile(r"\s*[-+.\d?eE]+(\s+[-+.\d?eE]+)+\s*")


def without_blanks(source: Source) -> Source:
    """Return a file with tabs between its cells, if these are separated by blanks.

    They are if blanks cut all of the first rows into as many cells, and no other separator cuts
    them, but for a tab after several numbers.
    """
    with source.open() as file:
        head = file.read(_SAMPLE)
    separator, rows = first_rows(head)
    single = all(len(row) == 1 for row in rows)
    if not single and not (
        separator == "\t" and all(_NUMBERS.fullmatch(row[0]) for row in rows[1:])
    ):
        return source
    lines = head.decode("utf-8-sig", errors="replace").splitlines()[: len(rows)]
    widths = {len(cells) for cells in _cells(lines)}
    if len(rows) < 2 or len(widths) != 1 or widths == {1}:
        return source
    text = io.StringIO(newline="")
    with io.TextIOWrapper(source.open(), "utf-8-sig", errors="surrogateescape") as whole:
        csv.writer(text, delimiter="\t", lineterminator="\n").writerows(_cells(whole))
    return replace(source, content=text.getvalue().encode("utf-8", "surrogateescape"))


def _cells(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the cells of lines that are not empty: what is in quotes is one, blanks and all."""
    for line in lines:
        plain = line.replace("\t", " ").strip()
        if plain:
            yield next(csv.reader([plain], delimiter=" ", skipinitialspace=True))
