"""Fitted scikit-learn classifiers as voters, and ensembles of them unpacked into their members."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ..labels import UNKNOWN, coded, codes_of
from .base import Column, Group, predictions
from .stumps import Stumps

__all__ = ["EstimatorGroup", "Prepared", "as_tree_data", "check_one_output", "is_frozen", "unpack"]


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
        """Return the data as the members take it.

        Parameters
        ----------
        X : array-like
            The data as the user has it.
        """
        return X if self.preparation is None else self.preparation(X)

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one member names.

        Parameters
        ----------
        index : int
            Which member.
        prepared : array-like
            What `prepare` returned.
        classes : ndarray
            The sorted labels.
        """
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


def unpack(estimator: Any) -> Group:
    """Return the members of a fitted ensemble as voters; any other classifier is one voter.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier. Pipelines, searches and `FrozenEstimator` are looked into.

    Returns
    -------
    Group
        The voters.
    """
    if isinstance(estimator, FrozenEstimator):
        return unpack(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):
        return unpack(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        group = unpack(estimator.steps[-1][1])
        return group if len(estimator.steps) == 1 else Prepared(estimator[:-1], group)
    if isinstance(estimator, Stumps):
        return estimator
    if not is_classifier(estimator):
        raise ValueError(
            f"voters must be classifiers, got {type(estimator).__name__}, which is not one."
        )
    check_is_fitted(estimator)
    check_one_output(estimator)
    if isinstance(estimator, RandomForestClassifier | ExtraTreesClassifier):
        return EstimatorGroup(
            estimator.estimators_, estimator.classes_, preparation=_Float32(estimator)
        )
    if isinstance(estimator, BaggingClassifier):
        return EstimatorGroup(
            estimator.estimators_,
            estimator.classes_,
            features=estimator.estimators_features_,
            preparation=_BareArray(estimator),
        )
    if isinstance(estimator, AdaBoostClassifier):
        return EstimatorGroup(estimator.estimators_, preparation=_BareArray(estimator))
    if isinstance(estimator, StackingClassifier) and estimator.cv == "prefit":
        return EstimatorGroup(estimator.estimators_)
    if isinstance(estimator, VotingClassifier | StackingClassifier):
        return EstimatorGroup(estimator.estimators_, estimator.classes_)
    return EstimatorGroup([estimator])


def is_frozen(estimator: Any) -> bool:
    """Tell whether a classifier, or every step of a pipeline, is in a `FrozenEstimator`.

    Parameters
    ----------
    estimator : estimator
        Any estimator.
    """
    if isinstance(estimator, Pipeline):
        return all(is_frozen(step) for _, step in estimator.steps)
    return isinstance(estimator, FrozenEstimator)


def check_one_output(estimator: Any) -> None:
    """Refuse a fitted classifier that predicts several labels for one example.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier.
    """
    if isinstance(getattr(estimator, "classes_", None), list):
        raise ValueError("voters must predict one label for each example, got several outputs.")


# What is done to the data before any member sees it: objects, so that voters can be pickled.


@dataclass
class Prepared:
    """Voters at the end of a pipeline: its transformers, then what the voters want themselves.

    Parameters
    ----------
    transformers : Pipeline
        The fitted transformers.
    group : Group
        The voters.
    """

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
        """Return the data as the members take it.

        Parameters
        ----------
        X : array-like
            The data as the user has it.
        """
        return self.group.prepare(self.transformers.transform(X))

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one member names.

        Parameters
        ----------
        index : int
            Which member.
        prepared : array-like
            What `prepare` returned.
        classes : ndarray
            The sorted labels.
        """
        return self.group.column(index, prepared, classes)


@dataclass
class _Float32:
    """What trees use, converted once for all of them."""

    ensemble: Any

    def __call__(self, X: Any) -> Any:
        validate_data(self.ensemble, X, reset=False, skip_check_array=True)
        return as_tree_data(X)


@dataclass
class _BareArray:
    """The array that the members were fitted on, without names."""

    ensemble: Any

    def __call__(self, X: Any) -> Any:
        validate_data(self.ensemble, X, reset=False, skip_check_array=True)
        return check_array(X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False)


def as_tree_data(X: Any) -> Any:
    """Return data as trees use it, so that it is converted once and not by each tree.

    Parameters
    ----------
    X : array-like
        The data as the user has it.
    """
    return check_array(
        X, accept_sparse="csr", dtype=np.float32, order="C", ensure_all_finite="allow-nan"
    )
