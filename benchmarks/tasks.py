"""Three tasks with 100 trees each, without a file from elsewhere; the first is the paper's wdbc."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.tree import DecisionTreeClassifier

from certivote import VoteStatistics

N_VOTERS = 100


class Task(NamedTuple):
    name: str
    X_voters: np.ndarray
    y_voters: np.ndarray
    statistics: VoteStatistics


def _task(name: str, X: np.ndarray, y: np.ndarray) -> Task:
    half = len(y) // 2
    trees = [
        DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(X[:half], y[:half])
        for seed in range(N_VOTERS)
    ]
    votes = np.column_stack([tree.predict(X[half:]) for tree in trees])
    return Task(name, X[:half], y[:half], VoteStatistics.from_votes(votes, y[half:]))


def wdbc() -> Task:
    """Prepare the breast-cancer data as the paper does: scaled, permuted, the second half kept."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    order = np.arange(len(y))
    np.random.RandomState(42).shuffle(order)
    order = order[len(y) // 2 :]
    return _task("wdbc", X[order], np.where(y == 0, -1, 1)[order])


def tasks() -> list[Task]:
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    synthetic = make_classification(4000, 20, n_informative=10, flip_y=0.1, random_state=0)
    return [wdbc(), _task("digits", X[order], y[order]), _task("synthetic", *synthetic)]
