"""How many cores a count may use."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["available_cores", "one_core"]

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
