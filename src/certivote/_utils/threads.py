"""One thread around what is small: a second one costs more than it brings, and may wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

__all__ = ["one_openmp_thread", "one_thread"]

_limited = Lock()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="openmp")


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Limit OpenMP, as it was loaded when this was first asked for, to the calling thread.

    Its limit is the calling thread's own: others may set and lift theirs meanwhile.
    """
    with _openmp().limit(limits=1):
        yield


@contextmanager
def one_thread(anew: bool = False) -> Iterator[None]:
    """Limit BLAS and OpenMP to the calling thread, unless somebody has done so already.

    The limit is the process's, not the thread's: only who set it may, and must, take it back. To
    look `anew` for libraries that were loaded since takes some milliseconds.
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        if anew:
            _controller.cache_clear()
        with _controller().limit(limits=1):
            yield
    finally:
        _limited.release()
