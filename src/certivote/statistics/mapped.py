"""Tables larger than memory: cut into pieces, and mapped pages given back once they are counted."""

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

# Large enough that starting a piece costs nothing, small next to any memory.
_PIECE_BYTES = 2**26


def pieces(losses: Any) -> Iterator[Any]:
    """Yield a table a few rows at a time; anything that is not a large table as it is.

    The pages of a memory map are given back when the next piece is asked for: counting a file
    never holds more than a piece of it. The file may not be shorter than its map.
    """
    if not isinstance(losses, np.ndarray) or losses.ndim != 2 or 0 in losses.shape:
        yield losses
        return
    step = max(1, _PIECE_BYTES // (losses.shape[1] * losses.itemsize))
    mapped = _memory_map(losses)
    for start in range(0, len(losses), step):
        piece = losses[start : start + step]
        if mapped is not None:
            _check_length(mapped, piece)
        yield piece
        if mapped is not None:
            _release(mapped, piece)


def _memory_map(array: Any) -> Any:
    """Return the np.memmap that the array is a view of, None if it is of none."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and isinstance(getattr(array, "_mmap", None), mmap.mmap):
            return array
        array = array.base
    return None


def _span(mapped: Any, piece: NDArray[Any]) -> tuple[int, int]:
    """Return where the piece starts and ends, in bytes from the start of the map."""
    origin = np.frombuffer(mapped._mmap, dtype=np.uint8).__array_interface__["data"][0]
    low, high = byte_bounds(piece)
    return low - origin, high - origin


def _check_length(mapped: Any, piece: NDArray[Any]) -> None:
    """Refuse a piece beyond the end of its file: to touch it would kill the process."""
    needed = _span(mapped, piece)[1] + mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    length = mapped._mmap.size()
    if length < needed:
        raise ValueError(
            f"the file of a memory map must be as long as the map, but {mapped.filename} has been "
            f"cut to {length} bytes: at least {needed} are needed."
        )


def _release(mapped: Any, piece: NDArray[Any]) -> None:
    """Give the pages of the piece back; the file still has them."""
    # A private map ("c") may hold changes that are nowhere else.
    if mapped.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    low, high = (edge // mmap.PAGESIZE * mmap.PAGESIZE for edge in _span(mapped, piece))
    if high > low:
        mapped._mmap.madvise(mmap.MADV_DONTNEED, low, high - low)
