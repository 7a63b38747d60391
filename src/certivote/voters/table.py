"""Predictions made elsewhere: the columns of a table are the voters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..labels import check_labels, coded
from .base import Column

__all__ = ["PredictionTable", "TableGroup"]


class PredictionTable(BaseEstimator):
    """Let the columns of X be the predictions of voters from elsewhere.

    For neural networks, other languages, human raters: X is a table with one row per example and
    one column per voter, and holds predicted labels, none of them missing. All of it certifies, so
    it must be new to the voters. A label that the certification examples do not hold has its say in
    `predict` like any other.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import MajorityVoteClassifier
    >>> from certivote.voters import PredictionTable
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["cat", "dog"], size=1000)
    >>> table = np.where(rng.random((1000, 9)) < 0.1, "cat", y[:, None])
    >>> vote = MajorityVoteClassifier(voters=PredictionTable()).fit(table, y)
    >>> vote.predict([["dog", "dog", "dog", "dog", "dog", "cat", "cat", "cat", "cat"]])
    array(['dog'], dtype='<U3')
    """

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def group(self, n_voters: int) -> "TableGroup":
        """Return the voters of a table with so many columns."""
        return TableGroup(n_voters)


class TableGroup:
    """The columns of a table, as voters."""

    def __init__(self, n_voters: int) -> None:
        self.n_voters = n_voters

    def __len__(self) -> int:
        return self.n_voters

    def __getitem__(self, index: int) -> str:
        return f"column {index}"

    def prepare(self, X: Any) -> Any:
        """Return a table of predicted labels as an array."""
        if np.ndim(X) != 2 or np.shape(X)[1] != self.n_voters:
            raise ValueError(
                f"X must have {self.n_voters} columns of predictions, got shape {np.shape(X)}."
            )
        return check_labels("X", X, ndim=2)

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what is in one column, as `Group` says."""
        return coded(prepared[:, index], classes)
