"""The one pass over the losses: LᵀL as exact integers, on every core."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.progress import progress_bar
from .._utils.validation import refuse_mask
from ..labels import same_names, voter_names
from .cores import available_cores
from .mapped import pieces

# A count of the bits of so many words fits into 16 bits.
_MOST_WORDS = 1023
# Words of a block, and of what one call of numpy computes from it: enough that threads hardly wait
# for each other to get at the interpreter, few enough for the cache.
_BLOCK_WORDS = 2**19
# Below this many losses the compiled kernel would not earn back the time that it takes to load.
_WORTH_COMPILING = 2**20
# A chunk is shared out among the threads, but not into smaller pieces than this.
_SMALLEST_SHARE = 1024
# Rows that are only packed are so many at a time.
_PACKED_ROWS = 8_192
_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)

# From here on the table of pairs is not formed for fewer examples than voters. A product with the
# bits (m·n/8 look-ups, twice) then costs about as much as one with the table (n² multiplications),
# the table costs m·n² operations first, and it takes 16·n² bytes, 256 MiB and more, next to m·n/8.
# For fewer voters the table is small, and faster.
# The rule is part of `VoteStatistics.sha256`: changed, it would change digests in certificates.
_MANY_VOTERS = 4096


def prefer_bits(n_samples: int, n_voters: int) -> bool:
    """Tell whether the losses as bits cost less than the table of pairs."""
    return n_voters >= _MANY_VOTERS and n_samples < n_voters


class _Worker(ABC):
    """The running counts of one thread: the upper triangle of LᵀL, from packed losses."""

    n_rows: int
    counts: NDArray[Any]

    def add(self, losses: NDArray[np.generic], name: str) -> None:
        """Count rows of any type and number, after a check that they are losses."""
        # Blocks of about the same size: short ones are slower, row by row.
        share = -(-len(losses) // -(-len(losses) // self.n_rows))
        step = -(-share // 64) * 64
        for start in range(0, len(losses), step):
            block = losses[start : start + step]
            check_losses(block, name)
            narrow = block.view(np.uint8) if block.itemsize == 1 else block.astype(np.uint8)
            if block.dtype.kind == "b" and narrow.max() > 1:
                narrow = narrow.astype(bool).view(np.uint8)  # any byte but 0 is True
            self.add_block(np.ascontiguousarray(narrow))

    @abstractmethod
    def add_block(self, losses: NDArray[np.uint8]) -> None:
        """Count a block of at most `n_rows` rows that are nothing but 0 and 1."""

    def drain(self, total: NDArray[np.int64]) -> None:
        """Add the counts so far to a total, and start again from nothing."""
        total += self.counts[: len(total), : len(total)].view(np.int64)
        self.counts[...] = 0


class _NumpyWorker(_Worker):
    """One call of numpy per step, for many pairs of voters at once."""

    def __init__(self, n_voters: int) -> None:
        words = max(1, min(_MOST_WORDS, _BLOCK_WORDS // n_voters))
        self.n_rows = 64 * words
        self.counts = np.zeros((n_voters, n_voters), dtype=np.int64)
        # Memory for the steps: to ask for it every time would cost as much as they do.
        self._merged = np.empty(4 * words * n_voters, dtype=np.uint64)
        self._words = np.empty(words * n_voters, dtype=np.uint64)
        self._both = np.empty(max(_BLOCK_WORDS, words * n_voters), dtype=np.uint64)
        self._ones = np.empty(self._both.size, dtype=np.uint8)

    def add_block(self, losses: NDArray[np.uint8]) -> None:
        """Count a block."""
        words = self._pack(losses)
        n_voters, n_words = words.shape
        start = 0
        while start < n_voters:
            rest = n_voters - start
            some = words[start : start + max(1, self._both.size // (rest * n_words))]
            shape = (len(some), rest, n_words)
            both, ones = (x[: math.prod(shape)].reshape(shape) for x in (self._both, self._ones))
            # As bytes: numpy is faster at it than with words.
            x, y, z = (a.view(np.uint8) for a in (some[:, None], words[start:], both))
            np.bitwise_and(x, y, out=z)
            np.bitwise_count(both, out=ones)
            self.counts[start : start + len(some), start:] += ones.sum(axis=2, dtype=np.uint16)
            start += len(some)

    def _pack(self, losses: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """Return the losses of every voter as bits, a row of words each, in some order.

        Each bit of the bytes takes an eighth of the rows: whole words are shifted, eight losses at
        a time. What is missing to a multiple of 64 rows counts as zeros.
        """
        n_rows, n_voters = losses.shape
        missing = -n_rows % 64
        if missing:
            losses = np.pad(losses, ((0, missing), (0, 0)))
        lower, upper = losses.reshape(-1).view(np.uint64).reshape(2, -1)
        merged = self._merged[: lower.size]
        np.left_shift(upper, _FOUR, out=merged)
        merged |= lower
        for shift in (_TWO, _ONE):
            lower, merged = merged.reshape(2, -1)
            merged <<= shift
            merged |= lower
        words = self._words[: merged.size].reshape(n_voters, -1)
        words.view(np.uint8)[...] = merged.view(np.uint8).reshape(-1, n_voters).T
        return words


class _CompiledWorker(_Worker):
    """One loop over all pairs, in the cache from start to end (needs numba)."""

    def __init__(self, n_voters: int) -> None:
        from .popcount import BLOCK_ROWS, add_pairs, pack

        padded = n_voters + -n_voters % 4
        self.n_rows = BLOCK_ROWS
        self.counts = np.zeros((padded, padded), dtype=np.uint64)
        self._pack, self._add_pairs = pack, add_pairs
        self._bits = np.zeros((padded, BLOCK_ROWS // 8), dtype=np.uint8)

    def add_block(self, losses: NDArray[np.uint8]) -> None:
        """Count a block."""
        self._pack(losses, self._bits)
        self._add_pairs(self._bits.view(np.uint64), self.counts)


@cache
def _can_compile() -> bool:
    """Tell whether there is a numba, and whether it works with what else is installed."""
    if find_spec("numba") is None:
        return False
    try:
        _CompiledWorker(1).add_block(np.zeros((1, 1), dtype=np.uint8))
    except Exception:  # whatever is wrong with it, it is not needed
        return False
    return True


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
        self._running: dict[_Worker, Future[None]] = {}
        self._turn = 0
        self._kind: type[_NumpyWorker | _CompiledWorker] = _NumpyWorker
        self.kept_samples, self.n_voters, self._kept_packed = 0, 0, 0
        self.voters: tuple[str, ...] | None = None
        self._kept: NDArray[np.int64] | None = None

    def __enter__(self) -> "Counter":
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
            self._workers.clear()

    def finish(self) -> None:
        """Wait until everything added so far is counted."""
        for future in self._running.values():
            future.result()

    @property
    def packs(self) -> bool:
        """Whether rows are still packed, not counted."""
        return not self._table

    def keep(self) -> None:
        """Count everything added so far, for good: what goes wrong later leaves it as it is."""
        if not self._table and not prefer_bits(self.n_samples, self.n_voters):
            self._count_packed()
        self.finish()
        for worker in self._running:
            if self._kept is None:
                self._kept = np.zeros((self.n_voters, self.n_voters), dtype=np.int64)
            worker.drain(self._kept)
        self._running.clear()
        self.kept_samples, self._kept_packed = self.n_samples, len(self._packed)

    def _next_worker(self) -> _Worker:
        """Return the worker whose turn it is, once it is free."""
        if len(self._workers) < available_cores():
            self._workers.append(self._kind(self.n_voters))
            return self._workers[-1]
        worker = self._workers[self._turn % len(self._workers)]
        self._turn += 1
        if worker in self._running:
            self._running[worker].result()
        return worker

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
        self.voters = same_names(name, self.voters, voter_names(losses))
        if self.n_voters == 0:
            self.n_voters = array.shape[1]
            compiled = array.size >= _WORTH_COMPILING and _can_compile()
            self._kind = _CompiledWorker if compiled else _NumpyWorker
            self._table = self._table or not prefer_bits(len(array), self.n_voters)
        self._add(array, name)
        self.n_samples += len(array)

    def _count_packed(self) -> None:
        """Go over from bits to counts."""
        self._table, packed, self._packed = True, self._packed, []
        for rows in packed:
            self._add(np.unpackbits(rows, axis=1, count=self.n_voters), "losses")

    def _add(self, array: NDArray[Any], name: str) -> None:
        if self._table:
            share = max(_SMALLEST_SHARE, -(-len(array) // available_cores()))
            for start in range(0, len(array), share):
                worker = self._next_worker()
                task = self._pool.submit(worker.add, array[start : start + share], name)
                self._running[worker] = task
        if self.keep_rows or not self._table:
            for start in range(0, len(array), _PACKED_ROWS):
                block = array[start : start + _PACKED_ROWS]
                check_losses(block, name)
                self._packed.append(np.packbits(block.astype(np.bool_), axis=1))

    def result(self) -> tuple[NDArray[np.int64] | None, NDArray[np.uint8] | None]:
        """Return what was kept: LᵀL, the packed rows, or both."""
        tandem = self._kept
        if tandem is not None:
            for voter in range(1, len(tandem)):  # in place, as it may be large
                tandem[voter, :voter] = tandem[:voter, voter]
        packed = self._packed[: self._kept_packed]
        return tandem, np.concatenate(packed) if packed else None


class UncountedError(Exception):
    """A chunk that could not be read or counted, by its number."""

    def __init__(self, message: str, chunk: int) -> None:
        super().__init__(message)
        self.chunk = chunk


class _UnreadableError(Exception):
    """A chunk could not be made."""


def count_chunks(counter: Counter, chunks: Iterable[ArrayLike], verbose: int) -> None:
    """Count losses that come in pieces, under a progress bar: each chunk whole, or not at all."""
    whole = isinstance(chunks, np.ndarray) and chunks.ndim == 2
    done = 0
    with progress_bar("counting", _total(chunks), verbose, unit="examples") as advance:
        try:
            for chunk in _read(pieces(chunks) if whole else chunks):
                name, before = f"losses (chunk {done})", counter.n_samples
                for piece in pieces(chunk):
                    counter.add(piece, name)
                    counter.finish()  # its memory may be another chunk's from now on
                counter.keep()
                done += 1
                advance(counter.n_samples - before)
        except Exception as error:
            message, name = str(error), f"losses (chunk {done})"
            if not message.startswith(name):
                message = f"{name} cannot be read: {message}"
            cause = error.__cause__ if isinstance(error, _UnreadableError) else error
            raise UncountedError(message, done) from cause


def _read(chunks: Iterable[ArrayLike]) -> Iterator[ArrayLike]:
    """Yield the chunks; what goes wrong in making one is told from what goes wrong in counting."""
    try:
        yield from chunks
    except Exception as error:
        raise _UnreadableError(f"{type(error).__name__}: {error}") from error


def _total(chunks: object) -> int | None:
    """Return the number of examples in all chunks, if it is known beforehand."""
    if isinstance(chunks, np.ndarray):
        return len(chunks)
    if isinstance(chunks, list | tuple) and all(hasattr(chunk, "__len__") for chunk in chunks):
        return sum(map(len, chunks))
    return getattr(chunks, "n_samples", None)
