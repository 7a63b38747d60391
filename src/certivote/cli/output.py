"""What the commands print, and folders of files that appear whole or not at all."""

import json
import os
import shutil
import stat
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._utils.files import PREFIX, file_sha256
from .._utils.formatting import printable, printable_lines

if TYPE_CHECKING:
    from ..certificate import Certificate

__all__ = [
    "CERTIFICATE",
    "MODEL",
    "OLD_MODEL",
    "REPORT",
    "SAFE_MODEL",
    "check_belongs",
    "check_digest",
    "check_folder",
    "claim_of",
    "fail",
    "is_safe",
    "note",
    "print_json",
    "print_table",
    "results_folder",
    "say",
    "show_warning",
    "wrapped",
    "write_folder",
]

# What certify writes.
MODEL, REPORT, CERTIFICATE = "model.joblib", "report.html", "certificate.json"
SAFE_MODEL = "model.skops"
# What compare-models writes besides, with the suffix of what it was given.
OLD_MODEL = "old"
# How often a folder is made again that another process takes away.
_ATTEMPTS = 10


def claim_of(certificate: "Certificate") -> str:
    """Return the claim of a certificate, and that it says nothing where it does not."""
    nothing = " That says nothing: it takes more certification examples, or better voters."
    return certificate.claim + (nothing if certificate.vacuous else "")


def say(text: str, style: str = "") -> None:
    """Print a line; on a terminal in a style, and wrapped between words under its own indent."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    console.print(wrapped(text), style=style, markup=False, soft_wrap=True)


def wrapped(text: str) -> str:
    """Return a line as it is printed: on a terminal, as several that fit its width."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    text = printable(text)
    return _filled(text, console.width) if console.is_terminal else text


def _filled(text: str, width: int) -> str:
    """Return a line as several of a width, broken between words, under its own indent."""
    indent = len(text) - len(text.lstrip(" -"))
    return textwrap.fill(
        text,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def note(text: str) -> None:
    """Say something on standard error that is neither the result nor a warning."""
    _say_aside(f"note: {printable(text)}")


def _say_aside(text: str) -> None:
    """Print lines on standard error; on a terminal wrapped between words."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(_filled(line, width) for line in text.split("\n"))
    print(text, file=sys.stderr)


def fail(message: str) -> None:
    """Say on standard error what went wrong."""
    _say_aside(f"error: {printable(message)}")


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Say a warning on standard error: what `warnings.showwarning` does here."""
    _say_aside(f"warning: {printable_lines(str(message))}")


def print_json(value: Any) -> None:
    """Print a result as JSON, in characters that every terminal shows as they are."""
    text = json.dumps(value, indent=2, allow_nan=False, default=_as_python)
    print(text.replace("\x7f", r"\u007f"))


def _as_python(value: Any) -> Any:
    """Return a path as text, and a number of numpy as one of Python."""
    return str(value) if isinstance(value, Path) else value.item()


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: drawn on a terminal, tab-separated elsewhere."""
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
    """Refuse a folder that cannot take these files, before the work begins, and leave no trace."""
    if _is_no_folder(folder):
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


def _is_no_folder(path: Path) -> bool:
    """Tell whether there is something else, in one look: another process may make and remove it."""
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:
        return False


def is_safe(path: Path) -> bool:
    """Tell by its name whether a model file is one that is loaded without running code in it."""
    return path.suffix == Path(SAFE_MODEL).suffix


def check_belongs(certificate: "Certificate", path: Path, model: Path) -> list[str]:
    """Refuse files of another run than a certificate, as far as it says what it was written with.

    The others are looked for beside the certificate, which is at ``path``. What comes back are the
    files that are there, and of which it carries no digest.
    """
    unbound = []
    files = {name: path.with_name(name) for name in (MODEL, SAFE_MODEL, REPORT)}
    files[SAFE_MODEL if is_safe(model) else MODEL] = model
    for name, file in files.items():
        if file.is_file() and not check_digest(certificate, path, name, file):
            unbound.append(str(file))
    return unbound


def check_digest(certificate: "Certificate", path: Path, name: str, file: Path) -> bool:
    """Refuse a file that is not the one of this name that a certificate was written with.

    What comes back says whether it carries a digest of it.
    """
    from ..certificate import CertificateError

    digest = certificate.files.get(name)
    if digest is not None and file_sha256(file) != digest:
        raise CertificateError(
            f"{file} is not the file that was written with {path}: one of them is of another "
            "run, or has changed since. Take both from one run, or run certify again."
        )
    return digest is not None


def results_folder(out: Path | None, name: str, kind: str, files: Iterable[str]) -> Path:
    """Return the folder of the user, or one called after the data, when it can take the files."""
    folder = out or Path(f"{name.replace(':', '-')}-{kind}")
    check_folder(folder, files)
    return folder


def write_folder(folder: Path, files: Mapping[str, Callable[[Path], object]]) -> list[Path]:
    """Write files into a folder, or nothing at all if one of them fails.

    They are written to a temporary folder inside it first, and moved when all are whole. The last
    one stands for all: that of an older run goes before anything is moved, and the new one comes
    when the others are there. So whoever finds it finds what it was written with, or can tell by
    digests in it.

    Each file has what writes it to a given path, where those before it lie already. What it does
    not write does not stay from an older run either.
    """
    with _room_inside(folder) as room:
        for name, write in files.items():
            write(room / name)
        paths = [folder / name for name in files if (room / name).exists()]
        digests = [file_sha256(room / path.name) for path in paths]
        with _alone_in(folder):
            for name in reversed([*files][1:]):
                (folder / name).unlink(missing_ok=True)
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
            with suppress(FileExistsError):  # another process may make it at this moment, too
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
