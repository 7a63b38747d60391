"""Ensembles of fitted classifiers, taken apart into their members."""

from collections.abc import Callable
from typing import Any

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
from sklearn.utils.validation import check_is_fitted

from .bagged import BaggedTrees
from .base import Group
from .estimators import EstimatorGroup, Preparation, Prepared, as_bare_array, as_tree_data
from .mixed import Joined, Mixed
from .stumps import Stumps
from .trees import Trees

__all__ = ["check_one_output", "inner_data", "inner_estimator", "unpack"]

# How ensembles are taken apart: what their members take the data as, None for as it is, and whether
# they predict indices into the classes of the ensemble, or labels.
_ENSEMBLES: dict[Any, tuple[Callable[[Any], Any] | None, bool]] = {
    RandomForestClassifier: (as_tree_data, True),
    ExtraTreesClassifier: (as_tree_data, True),
    BaggedTrees: (as_tree_data, True),
    BaggingClassifier: (as_bare_array, True),
    AdaBoostClassifier: (as_bare_array, False),
    VotingClassifier: (None, True),
    StackingClassifier: (None, True),
}


def unpack(estimator: Any) -> Group:
    """Return the members of a fitted ensemble as voters; any other classifier is one voter.

    Pipelines, searches and `FrozenEstimator` are looked into.
    """
    transformers, inner = _open(estimator)
    if isinstance(inner, Trees | Mixed):
        inner = inner.group_
    group: Group = inner if isinstance(inner, Stumps | EstimatorGroup | Joined) else _members(inner)
    for steps in reversed(transformers):
        group = Prepared(steps, group)
    return group


def inner_estimator(estimator: Any) -> Any:
    """Return the estimator inside of pipelines, fitted searches and `FrozenEstimator`.

    Parameters
    ----------
    estimator : object
        What `MajorityVoteClassifier` takes as voters. What is none of these is returned itself.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from certivote.voters import inner_estimator
    >>> inner_estimator(FrozenEstimator(make_pipeline(StandardScaler(), GaussianNB())))
    GaussianNB()
    """
    return _open(estimator)[1]


def inner_data(estimator: Any, X: Any) -> Any:
    """Return data as the estimator inside of pipelines takes it: after the steps before it.

    Parameters
    ----------
    estimator : object
        As in `inner_estimator`, fitted.
    X : array-like of shape (n_samples, n_features)
        The data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from certivote.voters import inner_data
    >>> X = np.array([[1.0], [3.0]])
    >>> inner_data(make_pipeline(MinMaxScaler(), GaussianNB()).fit(X, [0, 1]), X)
    array([[0.],
           [1.]])
    """
    for steps in _open(estimator)[0]:
        X = steps.transform(X)
    return X


def _open(estimator: Any) -> tuple[list[Pipeline], Any]:
    """Return the transformers around an estimator, the outermost first, and the estimator."""
    transformers: list[Pipeline] = []
    while True:
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            transformers += [estimator[:-1]] if len(estimator.steps) > 1 else []
            estimator = estimator.steps[-1][1]
        else:
            return transformers, estimator


def _members(estimator: Any) -> EstimatorGroup:
    """Return the members of a fitted ensemble, or another fitted classifier as the only one."""
    if not is_classifier(estimator):
        raise ValueError(
            f"voters must be classifiers, got {type(estimator).__name__}, which is not one."
        )
    check_is_fitted(estimator)
    check_one_output(estimator)
    for kind, (convert, indices) in _ENSEMBLES.items():
        if isinstance(estimator, kind):
            # Members that a stacking was given fitted predict labels.
            prefit = getattr(estimator, "cv", None) == "prefit"
            return EstimatorGroup(
                estimator.estimators_,
                estimator.classes_ if indices and not prefit else None,
                getattr(estimator, "estimators_features_", None),
                None if convert is None else Preparation(estimator, convert),
            )
    return EstimatorGroup([estimator])


def check_one_output(estimator: Any) -> None:
    """Refuse a fitted classifier that predicts several labels for one example."""
    if isinstance(getattr(estimator, "classes_", None), list):
        raise ValueError("voters must predict one label for each example, got several outputs.")
