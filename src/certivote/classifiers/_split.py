"""How the data is cut: which rows train the voters, and which certify."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from .._utils.validation import refuse_mask

__all__ = ["as_table", "plain_number", "seed_of", "split"]


def as_table(X: Any) -> Any:
    """Return data whose rows can be taken: an array, a frame or a sparse matrix by rows."""
    if sparse.issparse(X):
        X = X.tocsr()
        if X.nnz < np.iinfo(np.int32).max and X.indices.dtype != np.int32:
            narrow = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
            X = type(X)(narrow, shape=X.shape)
        return X
    refuse_mask("X", X)
    if not hasattr(X, "columns") and not isinstance(X, list):
        X = np.asarray(X)
    if np.ndim(X) < 2:
        raise ValueError(
            f"Expected 2D array, got {np.ndim(X)}D array instead. Reshape your data: one row per "
            "example, one column per feature."
        )
    return X


def split(
    m: int, size: float, frozen: bool, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of part A and part B: a random split that does not look at labels."""
    order = rng.permutation(m)
    if frozen:
        return order[:0], np.arange(m)
    if isinstance(size, bool) or not isinstance(size, Real):
        raise ValueError(f"certify_size must be a number, got {size!r}.")
    size = plain_number(size)
    if isinstance(size, Integral):
        n_b = int(size)
        if n_b < 1:
            raise ValueError(f"certify_size must be at least 1 example, got {size!r}.")
    else:
        if not 0.0 < size < 1.0:
            raise ValueError(
                f"certify_size must be a share in (0, 1) or a number of examples, got {size!r}."
            )
        n_b = math.ceil(size * m - 1e-9)  # 0.9 of 100 is 90, whatever floats make of it
    if n_b >= m:
        raise ValueError(
            f"certify_size={size!r} of n_samples={m} leaves nothing to train the voters: give "
            "more samples, or a smaller certify_size."
        )
    return order[:-n_b], order[-n_b:]


def plain_number(value: Any) -> Any:
    """Return a number of numpy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def seed_of(random_state: Any) -> tuple[int | str, np.random.RandomState]:
    """Return a seed to write into the certificate, and the generator that it gives."""
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, Integral):
        return int(random_state), check_random_state(int(random_state))
    return "a generator given by the user", check_random_state(random_state)
