"""What the commands print, and folders of files that appear whole or not at all."""

import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .._utils.files import PREFIX, file_sha256
from .._utils.formatting import format_confidence, format_up, printable
from ..certificate import Certificate

__all__ = ["check_folder", "note", "print_table", "say", "statement", "write_folder"]

# How often a folder is made again that another process takes away.
_ATTEMPTS = 10


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


def check_folder(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder that cannot be written, before the work begins, and leave no trace.

    Parameters
    ----------
    folder : Path
        Where the files will go.
    names : iterable of str
        The names of the files.
    """
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ValueError(f"{folder} is a file: name another folder with --out.")
    if not os.path.isdir(folder) and not os.path.isdir(folder.parent):
        raise ValueError(f"{folder.parent} is not a folder: make it first, or change --out.")
    for name in names:
        if os.path.isdir(folder / name):
            raise ValueError(f"{folder / name} is a folder: move it away, or change --out.")
    try:
        with _room_inside(folder):
            pass
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written ({error.strerror}): name another folder with --out."
        ) from error


def write_folder(folder: Path, files: Mapping[str, Callable[[Path], object]]) -> list[Path]:
    """Write files into a folder, or nothing at all if one of them fails.

    They are written to a temporary folder inside it first, and moved when all are whole. The last
    one stands for all: that of an older run goes before anything is moved, and the new one comes
    when the others are there. So whoever finds it finds what it was written with, or can tell by
    digests in it.

    Parameters
    ----------
    folder : Path
        Where the files go. Those of the same names are replaced.
    files : mapping of str to callable
        For each name, what writes the file at a given path, where those before it lie already.

    Returns
    -------
    list of Path
        The files.
    """
    paths = [folder / name for name in files]
    with _room_inside(folder) as room:
        for name, write in files.items():
            write(room / name)
        digests = [file_sha256(room / name) for name in files]
        with _alone_in(folder):
            for path in reversed(paths[1:]):
                path.unlink(missing_ok=True)
            for path in paths:
                os.replace(room / path.name, path)
            found = [file_sha256(path) if path.is_file() else None for path in paths]
    if digests != found:
        raise ValueError(
            f"another process has written into {folder} at the same time: give each a folder of "
            "its own with --out, and run this one again."
        )
    return paths


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process moves files into a folder, where the system has such locks."""
    try:
        import fcntl
    except ImportError:  # what is mixed is found afterwards, by its digests
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # and so unlocked, as by the end of the process


@contextmanager
def _room_inside(folder: Path) -> Iterator[Path]:
    """Make a temporary folder inside a folder, and the folder if need be; leave no empty one."""
    made, room = False, None
    try:
        for attempt in range(_ATTEMPTS):
            if not os.path.isdir(folder):
                os.mkdir(folder)
                made = True
            try:
                room = Path(tempfile.mkdtemp(dir=folder, prefix=PREFIX))
                break
            except FileNotFoundError:  # another process has made it, and left it
                if attempt == _ATTEMPTS - 1:
                    raise
        assert room is not None
        yield room
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)
        if made:
            with suppress(OSError):  # it holds the files now
                os.rmdir(folder)
