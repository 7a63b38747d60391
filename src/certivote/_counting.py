"""The one pass over the losses: LᵀL as exact integers, on every core."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._bits import prefer_bits
from ._threads import available_cores, one_blas_thread
from ._validation import refuse_mask

# In float32 a count is exact up to 2**24; a block stays far below, and its float32 copy in cache.
_BLOCK_ROWS = 8_192
_BLOCK_VALUES = 2**22
_EXACT_ROWS = 2**24
# Below this many losses the compiled kernel would not earn back the time that it takes to load.
_WORTH_COMPILING = 2**20
# A chunk is shared out among the threads, but not into smaller pieces than this.
_SMALLEST_SHARE = 1024


class _ProductWorker:
    """The running counts of one thread, as a product of floats."""

    def __init__(self, n_voters: int) -> None:
        self.n_rows = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // n_voters))
        self._block = np.empty((self.n_rows, n_voters), dtype=np.float32)
        self._product = np.empty((n_voters, n_voters), dtype=np.float32)
        self._recent = np.zeros((n_voters, n_voters), dtype=np.float32)
        self._tandem: NDArray[np.int64] | None = None
        self._pending = 0

    def add(self, losses: NDArray[np.generic], name: str) -> None:
        check_losses(losses, name)
        if self._pending + len(losses) > _EXACT_ROWS:
            if self._tandem is None:
                self._tandem = np.zeros(self._recent.shape, dtype=np.int64)
            self._flush(self._tandem)
        block = self._block[: len(losses)]
        block[...] = losses
        np.dot(block.T, block, out=self._product)
        self._recent += self._product
        self._pending += len(losses)

    def _flush(self, total: NDArray[np.int64]) -> None:
        np.add(total, self._recent, out=total, casting="unsafe")
        self._recent[...] = 0
        self._pending = 0

    def drain(self, total: NDArray[np.int64]) -> None:
        """Add the counts so far to a total, and start again from nothing."""
        self._flush(total)
        if self._tandem is not None:
            total += self._tandem
            self._tandem = None


class _PopcountWorker:
    """The running counts of one thread, by counting the bits of packed losses (needs numba)."""

    def __init__(self, n_voters: int) -> None:
        from ._popcount import BLOCK_ROWS, add_pairs

        even = n_voters + n_voters % 2
        self.n_rows = 16 * BLOCK_ROWS
        self._kernel, self._step = add_pairs, BLOCK_ROWS
        self._bits = np.zeros((even, BLOCK_ROWS // 8), dtype=np.uint8)
        self._counts = np.zeros((even, even), dtype=np.uint64)

    def add(self, losses: NDArray[np.generic], name: str) -> None:
        check_losses(losses, name)
        narrow = losses.view(np.uint8) if losses.itemsize == 1 else losses.astype(np.uint8)
        if losses.dtype.kind == "b" and narrow.max() > 1:
            narrow = losses.astype(np.uint8)  # a mask read from memory: any byte but 0 is True
            narrow[narrow > 1] = 1
        for start in range(0, len(narrow), self._step):
            block = np.ascontiguousarray(narrow[start : start + self._step])
            self._kernel(block, self._bits, self._counts)

    def drain(self, total: NDArray[np.int64]) -> None:
        """Add the counts so far, above the diagonal, to a total; start again from nothing."""
        total += self._counts[: len(total), : len(total)].view(np.int64)
        self._counts[...] = 0


_Worker = _ProductWorker | _PopcountWorker


def check_losses(losses: NDArray[np.generic], name: str) -> None:
    """Refuse a block of losses that holds anything but 0 and 1."""
    if losses.dtype.kind == "b":
        return
    if losses.dtype.kind in "iu":
        # Seen as unsigned, a negative number is a large one.
        unsigned = losses.dtype.str.replace("i", "u")
        valid = losses.view(unsigned).max() <= 1
    else:
        valid = bool(np.all((losses == 0) | (losses == 1)))
    if not valid:
        wrong = losses[~((losses == 0) | (losses == 1))][0]
        raise ValueError(f"{name} must be 0 or 1 (1 where the voter errs), got {wrong!r}.")


class Counter:
    """Accumulate LᵀL over blocks of rows, in as many threads as there are cores.

    Sums of integers do not depend on their order, so neither the cut into blocks nor the threads
    can change a count.

    For many voters the rows are only packed as long as there are fewer of them than voters, looked
    at in `keep`; `table` counts pairs from the start.
    """

    def __init__(self, keep_rows: bool = False, table: bool = False) -> None:
        self.n_samples = 0
        self.keep_rows = keep_rows
        self._table = table
        self._packed: list[NDArray[np.uint8]] = []
        self._workers: list[_Worker] = []
        self._dirty: set[_Worker] = set()
        self._kind: type[_Worker] = _ProductWorker
        self._running: deque[tuple[Future[None], _Worker]] = deque()
        self.kept_samples, self.n_voters, self._kept_packed = 0, 0, 0
        self._kept: NDArray[np.int64] | None = None

    def __enter__(self) -> "Counter":
        self._limit = one_blas_thread()
        self._limit.__enter__()
        self._pool = ThreadPoolExecutor(available_cores())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.keep()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._limit.__exit__(None, None, None)

    def finish(self) -> None:
        """Wait until everything added so far is counted."""
        while self._running:
            self._finish_oldest()

    @property
    def packs(self) -> bool:
        """Whether rows are still packed, not counted."""
        return not self._table

    def keep(self) -> None:
        """Count everything added so far, for good: what goes wrong later leaves it as it is."""
        if not self._table and not prefer_bits(self.n_samples, self.n_voters):
            self._count_packed()
        self.finish()
        for worker in self._dirty:
            if self._kept is None:
                self._kept = np.zeros((self.n_voters, self.n_voters), dtype=np.int64)
            worker.drain(self._kept)
        self._dirty.clear()
        self.kept_samples, self._kept_packed = self.n_samples, len(self._packed)

    def _finish_oldest(self) -> _Worker:
        future, worker = self._running.popleft()
        future.result()
        return worker

    def _free_worker(self) -> _Worker:
        if len(self._running) == available_cores():
            return self._finish_oldest()
        free = set(self._workers) - {worker for _, worker in self._running}
        if free:
            return free.pop()
        self._workers.append(self._kind(self.n_voters))
        return self._workers[-1]

    def add(self, losses: ArrayLike, name: str) -> None:
        """Count the errors of some rows."""
        refuse_mask(name, losses)
        array = np.asarray(losses)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be numbers 0 or 1, got an array of {array.dtype}.")
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(
                f"{name} must have shape (examples, voters), neither of them 0, got {array.shape}."
            )
        if self.n_voters not in (0, array.shape[1]):
            raise ValueError(
                f"{name} must have {self.n_voters} voters like the rows before, "
                f"got {array.shape[1]}."
            )
        if self.n_voters == 0:
            self.n_voters = array.shape[1]
            compiled = array.size >= _WORTH_COMPILING and find_spec("numba") is not None
            self._kind = _PopcountWorker if compiled else _ProductWorker
            self._table = self._table or not prefer_bits(len(array), self.n_voters)
        self._add(array, name)
        self.n_samples += len(array)

    def _count_packed(self) -> None:
        """Go over from bits to counts."""
        self._table, packed, self._packed = True, self._packed, []
        for rows in packed:
            self._add(np.unpackbits(rows, axis=1, count=self.n_voters), "losses")

    def _add(self, array: NDArray[Any], name: str) -> None:
        start, share = 0, max(_SMALLEST_SHARE, -(-len(array) // available_cores()))
        while start < len(array):
            worker = self._free_worker() if self._table else None
            block = array[start : start + min(worker.n_rows if worker else _BLOCK_ROWS, share)]
            if worker:
                self._dirty.add(worker)
                self._running.append((self._pool.submit(worker.add, block, name), worker))
            if self.keep_rows or not worker:
                check_losses(block, name)
                self._packed.append(np.packbits(block.astype(np.bool_), axis=1))
            start += len(block)

    def result(self) -> tuple[NDArray[np.int64] | None, NDArray[np.uint8] | None]:
        """Return what was kept: LᵀL, the packed rows, or both."""
        tandem = self._kept
        if tandem is not None and self._kind is _PopcountWorker:
            upper = np.triu(tandem)
            tandem = upper + np.triu(upper, 1).T
        packed = self._packed[: self._kept_packed]
        return tandem, np.concatenate(packed) if packed else None
