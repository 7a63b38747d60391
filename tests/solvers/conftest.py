"""Data on which solvers are compared."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from certivote import VoteStatistics


@pytest.fixture(scope="session")
def wdbc():
    """The errors of the paper's hundred trees on its certification half of wdbc."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    order = np.arange(len(y))
    np.random.RandomState(42).shuffle(order)  # what np.random.seed(42) starts
    X, y = X[order], y[order]
    X, y = X[len(y) // 2 :], y[len(y) // 2 :]
    half = len(y) // 2
    trees = [
        DecisionTreeClassifier(criterion="gini", max_features="sqrt", random_state=seed)
        for seed in range(100)
    ]
    votes = [tree.fit(X[:half], y[:half]).predict(X[half:]) for tree in trees]
    return VoteStatistics.from_votes(np.stack(votes, axis=1), y[half:])
