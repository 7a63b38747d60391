"""Three tasks with 100 trees each, without a file from elsewhere; the first is the paper's wdbc."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_classification

from certivote import VoteStatistics
from reference import N_TREES, paper_trees, wdbc, wdbc_statistics

N_VOTERS = N_TREES


class Task(NamedTuple):
    name: str
    X_voters: np.ndarray
    y_voters: np.ndarray
    statistics: VoteStatistics


def _task(name: str, X: np.ndarray, y: np.ndarray) -> Task:
    half = len(y) // 2
    trees = paper_trees(X[:half], y[:half])
    votes = np.column_stack([tree.predict(X[half:]) for tree in trees])
    return Task(name, X[:half], y[:half], VoteStatistics.from_votes(votes, y[half:]))


def _wdbc() -> Task:
    data = wdbc()
    return Task("wdbc", data.X_voters, data.y_voters, wdbc_statistics())


def tasks() -> list[Task]:
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    synthetic = make_classification(4000, 20, n_informative=10, flip_y=0.1, random_state=0)
    return [_wdbc(), _task("digits", X[order], y[order]), _task("synthetic", *synthetic)]
