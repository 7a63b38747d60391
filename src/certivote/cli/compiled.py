"""Numbers in a model that scikit-learn's compiled code takes as they are, out of bounds or not."""

import gc
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

__all__ = ["check_compiled"]

_GRADIENT_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
_OF_HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
_LIBSVM = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
_NO_PARTS = (type, FunctionType, BuiltinFunctionType, ModuleType, str, bytes, int, float)
_LEAF = -1


def check_compiled(model: Any) -> None:
    """Refuse a model whose trees or support vectors would be read beyond their end.

    It looks at all that the model holds, before any of it is used. Gradient boosting is refused: it
    writes where its trees say. That of histograms only reads, but not if it is of categories.
    """
    for part in _parts_of(model):
        if isinstance(part, Tree | TreePredictor):
            raise ValueError("it holds the nodes of a tree outside of a tree.")
        if isinstance(part, _GRADIENT_BOOSTING):
            raise ValueError(f"it holds a {type(part).__name__}, whose numbers cannot be checked.")
        if isinstance(part, _OF_HISTOGRAMS) and not _is_sound_boosting(part):
            raise ValueError("it holds boosting whose nodes lead out of it, or are of categories.")
        if isinstance(part, BaseDecisionTree) and not _is_sound_tree(part):
            raise ValueError("it holds a tree whose nodes lead out of it.")
        if isinstance(part, _LIBSVM) and not _is_sound_machine(part):
            raise ValueError("it holds support vectors that do not fit together.")


def _parts_of(model: Any) -> Iterator[Any]:
    """Yield a model and whatever it holds, once each."""
    waiting, met = [model], {id(model): model}
    while waiting:
        part = waiting.pop()
        yield part
        for inner in _inside(part):
            if id(inner) not in met and not isinstance(inner, _NO_PARTS):
                met[id(inner)] = inner
                waiting.append(inner)


def _inside(part: Any) -> Iterable[Any]:
    """Return what an object refers to; of a decision tree all but its nodes, which are its own."""
    if isinstance(part, np.ndarray):
        # Not by its own class: one with a mask would not show all.
        return part.view(np.ndarray).ravel().tolist() if part.dtype.hasobject else ()
    if isinstance(part, BaseDecisionTree):
        return [value for name, value in vars(part).items() if name != "tree_"]
    if isinstance(part, _OF_HISTOGRAMS):
        return [value for name, value in vars(part).items() if name != "_predictors"]
    return gc.get_referents(part)


def _is_sound_tree(owner: Any) -> bool:
    """Tell whether each node but the root is the child of one other, and each feature is there."""
    if "tree_" not in vars(owner):
        return True
    tree, n_features = owner.tree_, _n_features(owner)
    if type(tree) is not Tree or tree.n_features != n_features:
        return False
    n, left, right = tree.node_count, tree.children_left, tree.children_right
    inner = np.flatnonzero(left != _LEAF)
    children = np.sort(np.concatenate([left[inner], right[inner]]))
    features = tree.feature[inner]
    return bool(
        0 < n == tree.capacity
        and np.array_equal(children, np.arange(1, n))
        and np.all((features >= 0) & (features < n_features))
        and _depth(left, right) <= tree.max_depth
    )


def _is_sound_boosting(owner: Any) -> bool:
    """Tell whether every path of every tree ends, at a node and by features that are there."""
    state = vars(owner)
    if "_predictors" not in state:
        return True
    if state.get("_preprocessor") is not None or state.get("is_categorical_") is not None:
        return False
    trees = [tree for step in state["_predictors"] for tree in step]
    return all(_is_sound_path(tree, _n_features(owner) or 0) for tree in trees)


def _is_sound_path(tree: Any, n_features: int) -> bool:
    """Tell whether the nodes of one tree lead to later ones, until there is a leaf.

    That they are nodes, of the kind that is expected, is asked when they are read.
    """
    nodes = vars(tree).get("nodes") if type(tree) is TreePredictor else None
    if type(nodes) is not np.ndarray:
        return False
    own = np.flatnonzero(nodes["is_leaf"] == 0)
    inner = nodes[own]
    return bool(
        len(nodes) > 0
        and np.all(inner["feature_idx"] >= 0)
        and np.all(inner["feature_idx"] < n_features)
        and not inner["is_categorical"].any()
        and all(
            np.all((inner[side] > own) & (inner[side] < len(nodes))) for side in ("left", "right")
        )
    )


def _n_features(estimator: Any) -> int | None:
    """Return how many features an estimator insists on when it predicts, None if on none."""
    n_features = vars(estimator).get("n_features_in_")
    return int(n_features) if isinstance(n_features, int | np.integer) else None


def _depth(left: NDArray[np.intp], right: NDArray[np.intp]) -> int:
    """Return how many steps it is from the root of a tree to its farthest leaf."""
    level, depth = np.zeros(1, dtype=np.intp), 0
    while (level := level[left[level] != _LEAF]).size:
        level, depth = np.concatenate([left[level], right[level]]), depth + 1
    return depth


def _is_sound_machine(machine: Any) -> bool:
    """Tell whether the arrays of a fitted classifier of libsvm have the sizes that it expects."""
    state = vars(machine)
    if "support_vectors_" not in state:
        return True
    names = ("support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_")
    arrays = [state.get(name) for name in (*names, "_probA", "_probB", "classes_")]
    if not isinstance(machine, SVC | NuSVC) or any(type(a) is not np.ndarray for a in arrays):
        return False
    support, vectors, counts, coefficients, intercept, *probabilities, classes = arrays
    k, n = len(classes), len(support)
    pairs = k * (k - 1) // 2
    return bool(
        "_impl" not in state
        and state.get("_sparse") is False
        and state.get("kernel") in ("linear", "poly", "rbf", "sigmoid")
        and vectors.shape == (n, _n_features(machine))
        and counts.shape == (k,)
        and np.all(counts >= 0)
        and counts.sum() == n
        and coefficients.shape == (k - 1, n)
        and intercept.shape == (pairs,)
        and all(len(array) in (0, pairs) for array in probabilities)
    )
