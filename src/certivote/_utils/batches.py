"""Long tables a part at a time."""

from collections.abc import Iterator

__all__ = ["gen_batches"]


def gen_batches(n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows that make up all rows, as scikit-learn's function."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
