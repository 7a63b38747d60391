"""Ensembles whose members were trained on bags of the rows: which, and that they saw no others."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.class_weight import compute_sample_weight

from .._utils.progress import progress_bar
from ..labels import UNKNOWN, codes_of
from .bagged import BaggedTrees
from .base import Voters, guarded
from .estimators import EstimatorGroup, Preparation
from .preparing import needs_features

__all__ = ["check_on_bags", "in_bag", "in_bags"]

_FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
_TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
# What decides where a row goes in a tree.
_NODES = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left")
_WHAT = "certification='oob' takes random forests, extra trees and bagging of scikit-learn"


def in_bags(voters: Any, X: Any, n_voters: int, bag_size: float) -> Any:
    """Return what is to be trained on bags of X, or is frozen, and refuse what has no bags.

    None and "trees" are the paper's trees, each on a share of the rows.
    """
    if voters is None or (isinstance(voters, str) and voters == "trees"):
        _refuse_features(X)
        return BaggedTrees(n_voters, bag_size)
    inner = voters
    while isinstance(inner, FrozenEstimator):
        inner = inner.estimator
    _check_kind(inner)
    _check_settings(inner)
    return voters


def _check_kind(ensemble: Any) -> None:
    """Refuse voters that are not known to be trained on bags, with the reason."""
    kind = type(ensemble)
    if isinstance(ensemble, list | tuple):
        why = "a list of classifiers has no bags"
    elif isinstance(ensemble, Pipeline):
        why = "a pipeline prepares the data by looking at all rows, those outside the bags too"
    elif hasattr(ensemble, "cv") and hasattr(ensemble, "estimator"):
        why = "what searches, or calibrates, looks at all rows"
    elif kind in (*_FORESTS, BaggingClassifier):
        return
    elif isinstance(ensemble, (*_FORESTS, BaggingClassifier)):
        why = "a class of one's own may draw other bags than that which it comes from"
    else:
        why = "others do not say which rows each member was trained on"
    name = repr(ensemble) if isinstance(ensemble, str) else kind.__name__
    raise ValueError(f"{_WHAT}, got {name}: {why}.")


def _check_settings(ensemble: Any) -> None:
    """Refuse settings with which members see other rows than their bags, with the reason."""
    name = type(ensemble).__name__
    if isinstance(ensemble, BaggingClassifier):
        member = ensemble.estimator
        if member is not None and type(member) not in _TREES:
            raise ValueError(
                f"{_WHAT}, bagging of trees only, got {type(member).__name__}: of other members it "
                "cannot be shown that they depend on nothing but their bags."
            )
        whole = ensemble.max_samples in (1.0, None) and type(ensemble.max_samples) is not int
        drawn, weighted = ensemble.bootstrap or not whole, member
        remedy = "bootstrap=True, or max_samples below 1"
        allowed: tuple[Any, ...] = (None,)
    else:
        drawn, weighted, remedy = ensemble.bootstrap, ensemble, "bootstrap=True"
        allowed = (None, "balanced_subsample")
    if not drawn:
        raise ValueError(
            f"certification='oob' needs members that have not seen some of the rows, but this "
            f"{name} shows all rows to each: train it with {remedy}."
        )
    class_weight = getattr(weighted, "class_weight", None)
    if class_weight not in allowed:
        known = " or ".join(map(repr, allowed))
        raise ValueError(
            f"class_weight must be {known} for certification='oob', got {class_weight!r}: members "
            "would be weighted, or bags drawn, by the labels of all rows."
        )


def _refuse_features(X: Any) -> None:
    """Refuse columns that trees take only as features, which are made by looking at all rows."""
    columns = getattr(X, "dtypes", ())
    if needs_features(X) and (not len(columns) or any(kind.kind not in "biuf" for kind in columns)):
        raise ValueError(
            "certification='oob' takes numbers only: names, dates and texts become features by "
            "looking at several rows, those outside the bags too. Make numbers of them by a rule "
            "that looks at one row at a time, or certify by a split."
        )


def _group_of(voters: Voters) -> EstimatorGroup:
    (group,) = voters.groups
    assert isinstance(group, EstimatorGroup)
    return group


def _ensemble_of(voters: Voters) -> Any:
    preparation = _group_of(voters).preparation
    assert isinstance(preparation, Preparation)
    return preparation.ensemble


def _bags_of(ensemble: Any, group: EstimatorGroup) -> list[NDArray[np.intp]]:
    """Return the rows that each member was trained on, and refuse members without such a bag.

    The settings of an ensemble may have been changed since: what counts is what was trained.
    """
    name = type(ensemble).__name__
    for voter in range(len(group)):
        if type(group[voter]) not in _TREES or "predict" in vars(group[voter]):
            raise ValueError(
                f"{_WHAT}, of trees only, got {type(group[voter]).__name__} as member {voter} of "
                f"this {name}."
            )
    try:
        bags = [np.asarray(bag, dtype=np.intp) for bag in ensemble.estimators_samples_]
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"this {name} does not know which rows its members were trained on: {error}."
        ) from error
    if len(bags) != len(group):
        raise ValueError(
            f"this {name} remembers {len(bags)} bags, but has {len(group)} members: of those of an "
            "earlier fit (warm_start) it is not known which rows trained them. Train it at once."
        )
    return bags


def in_bag(voters: Voters, m: int) -> NDArray[np.bool_]:
    """Return which of m rows was in the bag of each member of an ensemble."""
    ensemble = _ensemble_of(voters)
    # Later versions of scikit-learn draw bags by these weights, and by those of the classes.
    if vars(ensemble).get("_sample_weight") is not None:
        raise ValueError(
            f"this {type(ensemble).__name__} was trained with sample weights, by which its bags "
            "may have been drawn: certification='oob' needs bags that look at nothing."
        )
    inside = np.zeros((m, len(voters)), dtype=np.bool_)
    for voter, bag in enumerate(_bags_of(ensemble, _group_of(voters))):
        if np.max(bag) >= m:
            raise ValueError(_other_rows(ensemble, voter))
        inside[bag, voter] = True
    return inside


def check_on_bags(voters: Voters, X: Any, y: NDArray[Any], verbose: int = 0) -> None:
    """Train each member again, on its bag and nothing else, and refuse one that is another tree.

    So none depends on rows outside its bag: not by weights, not by other rows, not by their order.
    """
    ensemble, group = _ensemble_of(voters), _group_of(voters)
    codes = codes_of(y, ensemble.classes_)
    if np.any(codes == UNKNOWN):
        raise ValueError(_other_rows(ensemble, 0))
    table = group.prepare(guarded(X))
    with progress_bar("checking", len(group), verbose) as advance:
        for voter, bag in enumerate(_bags_of(ensemble, group)):
            rows, times = np.unique(bag, return_counts=True)
            weights = times.astype(np.float64)
            if getattr(ensemble, "class_weight", None) is not None:
                weights *= compute_sample_weight("balanced", codes, indices=bag)[rows]
            part = _safe_indexing(table, rows)
            if group.features is not None:
                part = part[:, group.features[voter]]
            again = _untrained(group[voter], len(y)).fit(part, codes[rows], sample_weight=weights)
            if not _is_same(group[voter], again):
                raise ValueError(_other_rows(ensemble, voter))
            advance()


def _untrained(tree: Any, m: int) -> Any:
    """Return a tree to be trained, with shares of all rows as the numbers that they stand for."""
    fresh = clone(tree)
    for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1)):
        value = getattr(fresh, name)
        if isinstance(value, float):
            fresh.set_params(**{name: max(least, math.ceil(value * m))})
    return fresh


def _is_same(tree: Any, other: Any) -> bool:
    """Tell whether two trees answer alike, whatever they are asked."""
    one, two = tree.tree_, other.tree_
    return (
        one.node_count == two.node_count
        and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in _NODES)
        and np.array_equal(_answers(tree), _answers(other))
    )


def _answers(tree: Any) -> NDArray[Any]:
    return np.asarray(tree.classes_[tree.tree_.value[:, 0, :].argmax(axis=1)])


def _other_rows(ensemble: Any, voter: int) -> str:
    return (
        f"member {voter} of this {type(ensemble).__name__} is not what its bag of these rows gives "
        "when it is trained on it again. Give X and y as it was trained on, all rows in their "
        "order, without sample weights and by this version of scikit-learn: else certify it on "
        "new rows."
    )
