"""Forests made to be hard to vote for: what their votes must be is asked of each tree's predict."""

import warnings

import numba  # noqa: F401  (once it has started, it is used for fewer votes)
import numpy as np
from hypothesis import strategies as st
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from certivote import VoteStatistics
from certivote.voters import EstimatorGroup, Voters
from certivote.voters import forest as under_test
from certivote.voters.ensembles import unpack

TINY, LARGE = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
# Values at which a comparison may go wrong: two zeros, numbers next to each other, the smallest and
# largest floats, and whole numbers that a float cannot hold.
NUMBERS = np.array(
    [
        *(0.0, -0.0, TINY, -TINY, 2 * TINY, 1.2e-38, LARGE, -LARGE, 1e300),
        *(1.0, np.nextafter(np.float32(1), np.float32(2)), -1.0, 0.1, 1 / 3),
        *(2.0**24, 2.0**24 + 1, 2.0**24 + 2, -(2.0**24) - 1),
    ]
)
WHOLE = np.array([0, 1, -1, 2**24, 2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**53 + 1, 2**62 + 1])
KINDS = ("trees", "extra trees", "random forest", "extra forest", "bagging", "boosting")


def draw_data(rng, m, d, dtype, missing):
    """Return rows full of values that are equal, or nearly so."""
    if dtype == "int64":
        return rng.choice(WHOLE, size=(m, d))
    X = rng.choice(NUMBERS[np.abs(NUMBERS) <= LARGE], size=(m, d))
    X = np.where(rng.random((m, d)) < 0.3, rng.normal(size=(m, d)), X)
    X[rng.random((m, d)) < missing] = np.nan
    return X.astype(dtype)


def draw_forest(kind, rng, X, y):
    """Return voters that were fitted to data, and for each its columns, None for all."""
    seed, n = int(rng.integers(2**31)), int(rng.integers(1, 6))
    depth = [None, 1, 3][int(rng.integers(3))]
    if kind in ("trees", "extra trees"):
        tree = DecisionTreeClassifier if kind == "trees" else ExtraTreeClassifier
        trees = [tree(max_depth=depth, random_state=seed + j).fit(X, y) for j in range(n)]
        return Voters([EstimatorGroup(trees)]), trees, [None] * n
    if kind == "random forest":
        model = RandomForestClassifier(n, max_depth=depth, random_state=seed)
    elif kind == "extra forest":
        model = ExtraTreesClassifier(n, max_leaf_nodes=8, random_state=seed)
    elif kind == "bagging":
        model = BaggingClassifier(
            DecisionTreeClassifier(max_depth=depth), n, max_features=0.6, random_state=seed
        )
    else:
        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=n)
    model.fit(X, y)
    features = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    return Voters([unpack(model)]), model.estimators_, features


def make_worse(trees, rng, X):
    """Set thresholds to values of the data, next to them, between floats, and beyond all."""
    values = np.concatenate([X[np.isfinite(X)].ravel().astype(np.float64), NUMBERS])
    values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    values = np.concatenate([values, [np.inf, -np.inf, 1e-60, -1e-60]])
    for tree in trees:
        nodes = tree.tree_.__getstate__()["nodes"]
        inner = np.flatnonzero((nodes["left_child"] != -1) & (rng.random(len(nodes)) < 0.7))
        nodes["threshold"][inner] = rng.choice(values, size=inner.size)
        nodes["missing_go_to_left"][inner] = rng.integers(0, 2, size=inner.size)
        leaves = tree.tree_.__getstate__()["values"]
        tied = rng.random(len(leaves)) < 0.3
        leaves[tied] = 1.0 / leaves.shape[2]


@st.composite
def forests(draw):
    """Draw (voters, classes, X, true labels, the codes that each tree's own predict names)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.sampled_from(["f4", "f8", "int64"]))
    n_classes = draw(st.sampled_from([1, 2, 3, 10, 200]))
    missing = draw(st.sampled_from([0.0, 0.2])) if kind in KINDS[:4] else 0.0
    m, d = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    size = max(n_classes, 30)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, size - n_classes)])
    y = y if draw(st.booleans()) else np.array([f"label {k:03}" for k in y])
    train, X = (draw_data(rng, rows, d, dtype, missing) for rows in (size, m))
    if kind == "boosting" and n_classes == 1:
        kind = "trees"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits without any sense
        voters, trees, features = draw_forest(kind, rng, train, y)
    make_worse(trees, rng, X)
    # So many rows that it is worth while to compile, and some more than whole groups of them.
    nodes = sum(tree.tree_.node_count for tree in trees)
    X = np.resize(X, (max(m, -(-nodes // len(trees))) + draw(st.integers(0, 70)), d))
    X = np.asfortranarray(X) if draw(st.booleans()) else X
    classes = np.unique(y)
    expected = []
    for tree, columns in zip(trees, features, strict=True):
        with np.errstate(all="ignore"):  # it adds up all values, and the largest are too large
            named = tree.predict(X if columns is None else X[:, columns])
        indices = kind in ("random forest", "extra forest", "bagging")
        named = classes[named.astype(int)] if indices else named
        expected.append(np.searchsorted(classes, named))
    return voters, classes, X, rng.choice(classes, size=len(X)), np.stack(expected, axis=1)


def check_forest(case, worth):
    """Compare all ways to the votes of a forest with what its trees predict.

    `worth` is from how many votes on compiled code is used.
    """
    voters, classes, X, y, expected = case
    before, under_test._WORTH_COMPILING = under_test._WORTH_COMPILING, worth
    try:
        with np.errstate(all="ignore"):
            together = _together(voters, X, classes)
            assert together is not None
            assert together.is_large() == (worth == 0)
            for n_jobs in (None, 2):
                assert np.array_equal(voters.votes(X, classes, n_jobs).codes, expected)
                counted = voters.count_errors(X, y, classes, n_jobs)
                losses = classes[expected] != y[:, None]
                assert counted.sha256 == VoteStatistics.from_losses(losses).sha256
    finally:
        under_test._WORTH_COMPILING = before


def _together(voters, X, classes):
    (group,) = voters.groups
    return group.together(range(len(voters)), group.prepare(X), classes)
