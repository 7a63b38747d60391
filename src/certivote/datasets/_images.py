"""The tasks that come as images: two classes of MNIST or of Fashion-MNIST."""

from math import prod

import numpy as np
from numpy.typing import NDArray

from ._tables import Read, Split

__all__ = ["PAIRS", "files_of_images", "load_images", "read_idx"]

# The folder, the class that becomes −1 and the class that becomes +1.
PAIRS: dict[str, tuple[str, int, int]] = {
    "mnist:1vs7": ("mnist", 1, 7),
    "mnist:4vs9": ("mnist", 4, 9),
    "mnist:5vs6": ("mnist", 5, 6),
    "fash:COvsSH": ("fashion-mnist", 4, 6),  # coat, shirt
    "fash:SAvsBO": ("fashion-mnist", 5, 9),  # sandal, ankle boot
    "fash:TOvsPU": ("fashion-mnist", 0, 2),  # T-shirt/top, pullover
}

_UNSIGNED_BYTES = 8
_PARTS = ("train", "t10k")


def load_images(folder: str, first: int, second: int, read: Read) -> Split:
    """Return the task of telling two classes apart, `first` ↦ −1, in the official split."""
    train, test = (_files_of_part(folder, part) for part in _PARTS)
    return *_load_part(*train, first, second, read), *_load_part(*test, first, second, read)


def files_of_images(folder: str) -> list[str]:
    """Return the names of the files in a folder."""
    return [file for part in _PARTS for file in _files_of_part(folder, part)]


def _files_of_part(folder: str, part: str) -> tuple[str, str]:
    return f"{folder}/{part}-labels-idx1-ubyte", f"{folder}/{part}-images-idx3-ubyte"


def _load_part(
    labels: str, pixels: str, first: int, second: int, read: Read
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    classes, images = read_idx(read(labels)), read_idx(read(pixels))
    chosen = np.flatnonzero((classes == first) | (classes == second))
    X = images[chosen].reshape(len(chosen), -1).astype(np.float32)
    X /= np.float32(255)
    return X, np.where(classes[chosen] == first, -1, 1).astype(np.int64)


def read_idx(content: bytes) -> NDArray[np.uint8]:
    """Return the array of bytes in an idx file.

    Two zero bytes, the type, the number of axes, the length of each axis as a big-endian 32-bit
    integer, and then the values.
    """
    if len(content) < 4 or content[:3] != bytes((0, 0, _UNSIGNED_BYTES)):
        raise ValueError(f"content must be an idx file of bytes, but it starts {content[:4]!r}.")
    start = 4 + 4 * content[3]
    shape = tuple(int(length) for length in np.frombuffer(content[4:start], dtype=">i4"))
    if len(content) != start + prod(shape):
        raise ValueError(
            f"content must have {start + prod(shape)} bytes for the shape {shape}, "
            f"got {len(content)}."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
