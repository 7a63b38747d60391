"""The tasks that come as images: two classes of MNIST or of Fashion-MNIST."""

from math import prod

import numpy as np
from numpy.typing import NDArray

from ._tables import Read, Split

__all__ = ["PAIRS", "load_images", "read_idx"]

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


def load_images(folder: str, first: int, second: int, read: Read) -> Split:
    """Return the task of telling two classes apart, `first` ↦ −1, in the official split."""
    X_train, y_train = _load_part(folder, "train", first, second, read)
    X_test, y_test = _load_part(folder, "t10k", first, second, read)
    return X_train, y_train, X_test, y_test


def _load_part(
    folder: str, part: str, first: int, second: int, read: Read
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    classes = read_idx(read(f"{folder}/{part}-labels-idx1-ubyte"))
    images = read_idx(read(f"{folder}/{part}-images-idx3-ubyte"))
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
