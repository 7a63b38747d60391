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

from ..labels import UNKNOWN, check_labels, coded, codes_of
from ..voting import code_type
from .base import Column, Group, Together, predictions
from .forest import Forest, plain_tree

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

    def together(
        self, members: Sequence[int], prepared: Any, classes: NDArray[Any]
    ) -> Together | None:
        """Return some members as asked together, as `Group` says."""
        known: dict[Any, NDArray[Any] | None] = {}

        def called(voter: Any) -> NDArray[Any] | None:
            own = plain_tree(voter).classes_
            frozen = type(voter) is FrozenEstimator
            key = frozen, own.dtype.str, tuple(own.tolist())
            if key not in known:
                known[key] = self._codes(own, frozen, classes)
            return known[key]

        features = None if self.features is None else [self.features[j] for j in members]
        return Forest.plant([self.members[j] for j in members], called, features, prepared)

    def _codes(self, own: NDArray[Any], frozen: bool, classes: NDArray[Any]) -> NDArray[Any] | None:
        """Return the code of each class of a member; None if it has classes without one."""
        try:
            if self.labels is None or frozen:
                codes = codes_of(check_labels("classes_", own, ndim=1), classes)
            else:
                codes = codes_of(self.labels, classes)[own.astype(np.intp)]
        except ValueError:  # which says more of a prediction
            return None
        return None if UNKNOWN in codes else codes.astype(code_type(classes))


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

    def together(
        self, members: Sequence[int], prepared: Any, classes: NDArray[Any]
    ) -> Together | None:
        """Return some members as asked together, as `Group` says."""
        return self.group.together(members, prepared, classes)
