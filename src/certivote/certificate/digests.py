"""Digests of votes that do not depend on how they are stored."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..labels import check_labels


def votes_sha256(votes: ArrayLike, y: ArrayLike) -> str:
    """Return a SHA-256 of votes and labels that does not depend on how they are stored.

    Whole numbers are hashed as the narrowest integers that hold them all, whatever their type;
    other numbers as 64-bit floats; the rest as text.
    """
    digest = hashlib.sha256(b"certivote votes 1")
    for name, labels, ndim in (("votes", votes, 2), ("y", y, 1)):
        array = check_labels(name, labels, ndim)
        digest.update(np.array(array.shape, dtype="<i8").tobytes())
        digest.update(_canonical(array))
    return digest.hexdigest()


def _canonical(array: NDArray[Any]) -> bytes:
    if array.dtype.kind == "b":
        array = array.astype(np.int8)
    if array.dtype.kind == "f" and bool(np.all((np.trunc(array) == array) & (abs(array) < 2**53))):
        array = array.astype(np.int64)
    if array.dtype.kind in "iu":
        smallest, largest = int(array.min()), int(array.max())
        for size in (1, 2, 4, 8):
            limit = 2 ** (8 * size - 1)
            if -limit <= smallest and largest < limit:
                return f"i{size}".encode() + array.astype(f"<i{size}").tobytes()
    if array.dtype.kind == "f":
        return b"f8" + array.astype("<f8").tobytes()
    texts = (str(label).encode() for label in array.flat)
    return b"text" + b"".join(len(text).to_bytes(8, "little") + text for text in texts)
