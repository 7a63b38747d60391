"""Arrays in one file that is whole, checked and free of code."""

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._files import whole_file

_CHECKSUM = "sha256"


def save_arrays(path: str | os.PathLike[str], kind: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a ``.npz`` file, whole or not at all, with their checksum.

    `kind` says what they are, and is asked for again by `load_arrays`.
    """
    exact: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
    with whole_file(path) as file:
        np.savez(file, **(exact | {_CHECKSUM: np.array(_checksum(kind, exact))}))


def load_arrays(path: str | os.PathLike[str], kind: str) -> dict[str, NDArray[Any]]:
    """Return the arrays that `save_arrays` wrote, and refuse a file that has changed since."""
    expected = f"{os.fspath(path)} must be a file of {kind}, whole and unchanged"
    try:
        with open(path, "rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        claimed = str(arrays.pop(_CHECKSUM))
    except FileNotFoundError:
        raise
    except Exception as error:  # a spoiled archive fails in a dozen ways
        raise ValueError(f"{expected}, but it cannot be read: {error}") from error
    if claimed != _checksum(kind, arrays):
        raise ValueError(f"{expected}, but its checksum does not agree.")
    return arrays


def _checksum(kind: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(f"certivote {kind} 1".encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        digest.update(f"|{name} {array.dtype.str} {array.shape}|".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
