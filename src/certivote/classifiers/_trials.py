"""Trials on rows of a table: trees trained on some of them, and how they err on others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..voters import fit_voters

__all__ = ["as_numbers", "losses", "texts_of"]

# So many trees are enough.
_TREES = 10
# Numbers as large as this are all alike.
_LARGE = 1e30


def losses(
    X: NDArray[np.float32],
    y: NDArray[Any],
    train: NDArray[Any],
    test: NDArray[Any],
    rng: np.random.RandomState,
) -> NDArray[np.float64]:
    """Return on each of some rows the share of trees that err, of ten trained on other rows."""
    voters = fit_voters("trees", X[train], y[train], _TREES, rng)
    ballots = voters.votes(X[test], np.unique(y))
    erring = ballots.codes != ballots.truth(y[test])[:, None]
    return np.asarray(erring.mean(axis=1))


def as_numbers(X: Any) -> NDArray[np.float32]:
    """Return rows as numbers, whatever they hold: texts by their order, gaps as one more value."""
    columns = []
    for column in (np.asarray(X[name]) for name in X.columns):
        if column.dtype.kind in "biuf":
            numbers = np.clip(column.astype(np.float64), -_LARGE, _LARGE)
        else:
            numbers = np.unique(texts_of(column), return_inverse=True)[1].astype(np.float64)
        least = np.nanmin(numbers, initial=0.0)
        columns.append(np.where(np.isnan(numbers), least - 1.0, numbers))
    return np.stack(columns, axis=1).astype(np.float32)


def texts_of(column: NDArray[Any]) -> NDArray[np.str_]:
    """Return values of any kind as texts."""
    return np.array([str(value) for value in column.tolist()])
