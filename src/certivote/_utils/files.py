"""Files that are written whole or not at all, and their digests."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# How a file or a folder is called that is not yet what it will be; not by the name of that, which
# may be as long as a name can be.
PREFIX = ".certivote-"


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file so that whoever reads it sees the old one or the new one, never a part.

    A link is followed. What is no file, such as a pipe, is not replaced: it takes what is written.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is not a folder: make it first.")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file.")
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=PREFIX)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
