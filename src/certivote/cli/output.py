"""What the commands print, and folders of files that appear whole or not at all."""

import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .._formatting import format_confidence, format_up, printable
from ..certificate import Certificate

__all__ = ["check_folder", "note", "print_table", "say", "statement", "write_folder"]


def statement(certificate: Certificate) -> str:
    """Return the claim in one plain sentence, the number rounded up.

    Parameters
    ----------
    certificate : Certificate
        What is claimed.
    """
    text = (
        f"With {format_confidence(certificate.delta)} confidence, the probability that this vote "
        f"errs on a new example like these is at most {format_up(certificate.risk_bound)}."
    )
    if certificate.vacuous:
        text += " That says nothing: it takes more certification examples, or better voters."
    return text


def say(text: str, style: str = "") -> None:
    """Print a line; on a terminal in a style, and wrapped between words under its own indent.

    Parameters
    ----------
    text : str
        The line.
    style : str, default=""
        A style of rich.
    """
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    text = printable(text)
    if console.is_terminal:
        indent = len(text) - len(text.lstrip(" -"))
        text = textwrap.fill(
            text,
            console.width,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    console.print(text, style=style, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Say something on standard error that is neither the result nor a warning.

    Parameters
    ----------
    text : str
        The note.
    """
    print(f"note: {printable(text)}", file=sys.stderr)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: drawn on a terminal, tab-separated elsewhere.

    Parameters
    ----------
    headings : sequence of str
        The names of the columns.
    rows : sequence of sequences of str
        The cells.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    names, *cells = [list(map(printable, row)) for row in (headings, *rows)]
    if not console.is_terminal:
        for row in (names, *cells):
            print("\t".join(row))
        return
    table = Table(header_style="bold")
    for name in names:
        # A number that is cut off is a smaller number.
        table.add_column(Text(name), overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, before the work begins.

    Parameters
    ----------
    folder : Path
        Where the files will go.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name another folder with --out.")
    if not folder.resolve().parent.is_dir():
        raise ValueError(f"{folder.parent} is not a folder: make it first, or change --out.")


def write_folder(folder: Path, files: Mapping[str, Callable[[Path], object]]) -> list[Path]:
    """Write files into a folder, or nothing at all if one of them fails.

    They are written to a temporary folder beside it first, and moved when all are whole.

    Parameters
    ----------
    folder : Path
        Where the files go. Those of the same names are replaced.
    files : mapping of str to callable
        For each name, what writes the file at a given path.

    Returns
    -------
    list of Path
        The files.
    """
    check_folder(folder)
    temporary = Path(tempfile.mkdtemp(dir=folder.resolve().parent, prefix=f".{folder.name}."))
    try:
        for name, write in files.items():
            write(temporary / name)
        temporary.chmod(0o755)
        if not folder.exists():
            temporary.rename(folder)
        else:
            for name in files:
                os.replace(temporary / name, folder / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [folder / name for name in files]
