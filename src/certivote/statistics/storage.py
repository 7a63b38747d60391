"""Arrays in one file that is whole, checked and free of code."""

import hashlib
import itertools
import math
import os
import zipfile
from collections.abc import Mapping
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._utils.files import whole_file

_CHECKSUM = "sha256"
# The three records at the end of an archive of more than 2 GiB; one of less has the last only.
_ENDS = 56 + 20 + 22
# Ten members take one kilobyte of the list of members, and an array's header a hundred bytes.
_LONGEST_LIST, _LONGEST_HEADER = 1 << 14, 1 << 10


# What a file of them is called, and the arrays that it may hold.
KIND = "statistics"
_LAYOUT = {
    "n_samples": ("<i8", 0),
    "errors": ("<i8", 1),
    "tandem": ("<i8", 2),
    "rows": ("|u1", 2),
    "keep_rows": ("|b1", 0),
    "tested_weights": ("<f8", 2),
    "tested_errors": ("<i8", 1),
    "tested_silent": ("|b1", 0),
    "unlabelled_samples": ("<i8", 0),
    "disagreements": ("<i8", 2),
    "unlabelled_classes": ("<U", 1),
    "findings": ("<U", 1),
    "voters": ("<U", 1),
    "parts": ("<u8", 1),
    "surprises": ("<f8", 1),
}
# What goes together, if one of it is there.
_TOGETHER = (
    ("tested_weights", "tested_errors"),
    ("unlabelled_samples", "disagreements"),
    ("parts", "surprises"),
)


def save_arrays(path: str | os.PathLike[str], kind: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a ``.npz`` file, whole or not at all, with their checksum.

    `kind` says what they are, and is asked for again by `load_arrays`.
    """
    exact: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
    with whole_file(path) as file:
        np.savez(file, **(exact | {_CHECKSUM: np.array(_checksum(kind, exact))}))


def load_arrays(
    path: str | os.PathLike[str], kind: str, layout: Mapping[str, tuple[str, int]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays that `save_arrays` wrote, and refuse a file that has changed since.

    `layout` has the type and the number of dimensions of each array that there may be. A file that
    is anything else is refused before memory is taken for what it says that it holds.
    """
    expected = f"{os.fspath(path)} must be a file of {kind}, whole and unchanged"
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{expected}, but it is no file.")
    try:
        with open(path, "rb") as file:
            arrays = _read_arrays(file, {**layout, _CHECKSUM: ("<U64", 0)})
        claimed = str(arrays.pop(_CHECKSUM))
    except FileNotFoundError:
        raise
    except Exception as error:  # a spoiled archive fails in a dozen ways
        raise ValueError(f"{expected}, but it cannot be read: {error}") from error
    if claimed != _checksum(kind, arrays):
        raise ValueError(f"{expected}, but its checksum does not agree.")
    return arrays


def load_counts(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file of statistics, which has all that it must."""
    arrays = load_arrays(path, KIND, _LAYOUT)
    there = [("n_samples", "errors"), *(pair for pair in _TOGETHER if arrays.keys() & pair)]
    for name in itertools.chain(*there):
        if name not in arrays:
            raise ValueError(f"{os.fspath(path)} must hold {name}, as files of statistics do.")
    return arrays


def _read_arrays(file: BinaryIO, layout: Mapping[str, tuple[str, int]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive that holds nothing but what the layout allows."""
    size = os.fstat(file.fileno()).st_size
    _check_directory(file, size)
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > size:
            raise ValueError("it unpacks to more than it is large.")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name not in layout or name in arrays:
                raise ValueError(f"it must not hold {name!r}.")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name} must not be compressed.")
            with archive.open(member) as stored:
                _check_header(name, stored, member.file_size, *layout[name])
                arrays[name] = np.lib.format.read_array(stored, allow_pickle=False)
    return arrays


def _check_directory(file: BinaryIO, size: int) -> None:
    """Refuse an archive with a long list of members, each of which would be an object."""
    file.seek(max(0, size - _ENDS))
    end = file.read(_ENDS)
    if end[-22:-18] != b"PK\5\6" or end[-2:] != b"\0\0":
        raise ValueError("it has no end.")
    listed = int.from_bytes(end[-10:-6], "little")
    if end[-42:-38] == b"PK\6\7":  # it is too large for four bytes
        if int.from_bytes(end[-34:-26], "little") != size - _ENDS:
            raise ValueError("it has no end.")
        listed = int.from_bytes(end[-58:-50], "little")
    if listed > _LONGEST_LIST:
        raise ValueError("it lists too many arrays.")


def _check_header(name: str, stored: IO[bytes], size: int, kind: str, ndim: int) -> None:
    """Refuse an array of another type or number of dimensions, or of another size than its own."""
    if np.lib.format.read_magic(stored) != (1, 0):
        raise ValueError(f"{name} must be an array of version 1.0.")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stored, _LONGEST_HEADER)
    known = dtype.newbyteorder("<").str.startswith(kind)
    if not known or len(shape) != ndim or min(shape, default=0) < 0:
        raise ValueError(f"{name} must be {kind} in {ndim} dimensions, got {dtype} of {shape}.")
    if math.prod(shape) * dtype.itemsize != size - stored.tell():
        raise ValueError(f"{name} must be as large as its shape {shape} says.")
    stored.seek(0)


def _checksum(kind: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(f"certivote {kind} 1".encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        digest.update(f"|{name} {array.dtype.str} {array.shape}|".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
