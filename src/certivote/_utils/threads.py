"""One BLAS thread around small products: a second one costs more than it brings, and may wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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


_cores: ContextVar[int | None] = ContextVar("cores", default=None)


@contextmanager
def one_core() -> Iterator[None]:
    """Let the calling thread take itself for the only one: others look after the other cores."""
    token = _cores.set(1)
    try:
        yield
    finally:
        _cores.reset(token)


def available_cores() -> int:
    """Return the number of cores that the calling thread may use."""
    limit = _cores.get()
    if limit is not None:
        return limit
    from joblib import cpu_count

    return int(cpu_count())
