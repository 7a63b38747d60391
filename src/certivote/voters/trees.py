"""Randomised trees, each grown on all the rows: the paper's voters, and the default."""

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from .._utils.progress import progress_bar
from .._utils.validation import check_positive
from .estimators import EstimatorGroup, as_tree_data

__all__ = ["Trees", "grow", "train_each"]

_TREES_AT_ONCE = 10


def train_each(
    n: int,
    train: Callable[[int, int], Any],
    rng: np.random.RandomState,
    n_jobs: int | None,
    verbose: int,
) -> list[Any]:
    """Return what `train` makes of an index and a seed, n times, under a progress bar."""
    check_positive("n_voters", n, integer=True)
    seeds = rng.randint(np.iinfo(np.int32).max, size=n).tolist()
    with progress_bar("training", n, verbose) as advance:

        def one(index: int, seed: int) -> Any:
            trained = train(index, seed)
            advance()
            return trained

        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        return list(parallel(delayed(one)(index, seed) for index, seed in enumerate(seeds)))


def grow(forest: Any, X: Any, y: Any, verbose: int, what: str = "training") -> Any:
    """Fit a forest, alone or at the end of a pipeline, some trees at a time under a progress bar.

    A warm start draws the seeds of the trees that are there again: the forest is the same.
    """
    *steps, (_, last) = forest.steps if isinstance(forest, Pipeline) else [("", forest)]
    if steps:
        X = forest[:-1].fit_transform(X, y)
    total = last.n_estimators
    with progress_bar(what, total, verbose) as advance:
        last.set_params(warm_start=True)
        for done in range(0, total, _TREES_AT_ONCE):
            last.set_params(n_estimators=min(done + _TREES_AT_ONCE, total)).fit(X, y)
            advance(last.n_estimators - done)
        last.set_params(warm_start=False)
    return forest


class Trees(BaseEstimator):
    """Decision trees, each split the best of √d random features, without a bootstrap.

    It is what ``voters="trees"`` means, for the end of a pipeline:
    ``make_pipeline(SimpleImputer(), Trees())``.

    Parameters
    ----------
    n_voters : int, default=100
        The number of trees.
    random_state : int, RandomState or None, default=None
        Where their seeds come from.
    n_jobs : int, default=None
        How many are trained at the same time.
    verbose : int, default=0
        Show a progress bar if positive.

    Examples
    --------
    >>> from certivote.voters import Trees
    >>> trees = Trees(n_voters=3, random_state=0).fit([[0.0], [4.0]], [0, 1])
    >>> len(trees.group_)
    3
    """

    def __init__(
        self,
        n_voters: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_voters = n_voters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "Trees":
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The examples.
        y : array-like of shape (m,)
            Their labels.
        """
        table = as_tree_data(X)

        def train(index: int, seed: int) -> Any:
            return DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(table, y)

        rng = check_random_state(self.random_state)
        trees = train_each(self.n_voters, train, rng, self.n_jobs, self.verbose)
        self.group_ = EstimatorGroup(trees, preparation=as_tree_data)
        return self
