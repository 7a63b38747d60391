"""Fitted scikit-learn classifiers as voters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..labels import UNKNOWN, coded, codes_of
from .base import Column, Group, predictions

__all__ = [
    "EstimatorGroup",
    "Preparation",
    "Prepared",
    "as_bare_array",
    "as_tree_data",
]

# What is done to the data before any member sees it: objects and functions that can be pickled.


def as_tree_data(X: Any) -> Any:
    """Return data as trees use it, so that it is converted once and not by each tree."""
    return check_array(
        X, accept_sparse="csr", dtype=np.float32, order="C", ensure_all_finite="allow-nan"
    )


def as_bare_array(X: Any) -> Any:
    """Return data as an array without names, which the members of an ensemble were fitted on."""
    return check_array(X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False)


@dataclass
class Preparation:
    """The checks of a fitted ensemble on the names of features, then what its members want."""

    ensemble: Any
    convert: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        """Return the data as the members take it."""
        validate_data(self.ensemble, X, reset=False, skip_check_array=True)
        return self.convert(X)


@dataclass
class EstimatorGroup:
    """Classifiers that vote on the same preparation of the data.

    Parameters
    ----------
    members : sequence of estimators
        The voters.
    labels : ndarray, default=None
        The labels that a member's prediction is an index into; None if it predicts labels itself.
    features : sequence of arrays, default=None
        The columns that each member looks at; None for all.
    preparation : callable, default=None
        What is done to the data before any member sees it.
    """

    members: Sequence[Any]
    labels: NDArray[Any] | None = None
    features: Sequence[NDArray[np.integer[Any]]] | None = None
    preparation: Callable[[Any], Any] | None = None

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, index: int) -> Any:
        return self.members[index]

    def prepare(self, X: Any) -> Any:
        """Return the data as the members take it."""
        return X if self.preparation is None else self.preparation(X)

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one member names, as `Group` says."""
        member = self.members[index]
        if self.features is not None:
            prepared = prepared[:, self.features[index]]
        predicted = predictions(member, prepared)
        # A frozen member of an ensemble was fitted by its owner, on labels and not on indices.
        last = member
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        if self.labels is None or isinstance(last, FrozenEstimator):
            return coded(predicted, classes)
        own = predicted.astype(np.intp)
        codes = codes_of(self.labels, classes)[own]
        return codes, self.labels[own[codes == UNKNOWN]]


@dataclass
class Prepared:
    """Voters at the end of a pipeline: its transformers, then what the voters want themselves."""

    transformers: Pipeline
    group: Group

    @property
    def labels(self) -> NDArray[Any] | None:
        """The labels that the members know, where they predict indices."""
        labels: NDArray[Any] | None = getattr(self.group, "labels", None)
        return labels

    def __len__(self) -> int:
        return len(self.group)

    def __getitem__(self, index: int) -> Any:
        return self.group[index]

    def prepare(self, X: Any) -> Any:
        """Return the data as the members take it."""
        return self.group.prepare(self.transformers.transform(X))

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one member names, as `Group` says."""
        return self.group.column(index, prepared, classes)
