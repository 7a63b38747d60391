"""One BLAS thread around small products: a second one costs more than it brings, and may wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_limited = Lock()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling thread, unless somebody has done so already.

    The limit is the process's, not the thread's: only who set it may, and must, take it back.
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limited.release()
