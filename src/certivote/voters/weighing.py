"""Weights that the rows of the training give, without what the voters remember of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from ..learners import logistic, logistic_of_shares
from ..statistics import VoteStatistics
from ..voting import Ballots
from .bagged import BaggedTrees
from .base import Voters
from .mixed import UNDECIDED, Mixed, folds_of, joined_of
from .sources import DEFAULT_VOTERS, fit_voters
from .stumps import Stumps
from .trees import Trees

__all__ = ["cross_fitted", "is_mixed", "learned_weights"]

# Members that differ by chance alone: what one does on some rows says nothing of the next one.
_ALIKE = (BaggedTrees, Trees, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)


def _kind(voters: Any) -> Any:
    """Return what is at the end of pipelines and inside of searches."""
    while isinstance(voters, Pipeline | BaseSearchCV):
        voters = voters.steps[-1][1] if isinstance(voters, Pipeline) else voters.estimator
    return voters


def is_mixed(voters: Any) -> bool:
    """Tell whether voters are of every kind, so that they come with weights of their own.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters.

    Examples
    --------
    >>> from certivote.voters import is_mixed
    >>> is_mixed("mixed"), is_mixed(None), is_mixed("trees")
    (True, True, False)
    """
    kind = DEFAULT_VOTERS if voters is None else _kind(voters)
    return isinstance(kind, Mixed) or (isinstance(kind, str) and kind == "mixed")


def learned_weights(
    voters: Any,
    fitted: Voters,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    n_voters: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return weights by logistic regression of the vote's margin on the rows that train the voters.

    Voters would look better there than they are. So others like them are trained on four fifths of
    the rows, five times, and speak on the rest. Stumps hardly look at the rows, and speak for
    themselves. Members of a forest or of a bagging are alike, and get equal weights; mixed voters
    have asked themselves.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters, not frozen.
    fitted : Voters
        The same, trained.
    X, y : array-like
        The data that trained them.
    classes : ndarray of shape (n_classes,)
        The sorted labels.
    n_voters : int, default=100
        The number of trees, where the voters are "trees".
    seed : int, default=0
        Of the folds, and of what is trained on them.
    n_jobs : int, default=None
        How many voters are trained, or vote, at the same time.

    Returns
    -------
    ndarray of shape (n_voters,)
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from certivote.voters import fit_voters, learned_weights
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.repeat([0, 1], 10)
    >>> voters = [DummyClassifier(), LogisticRegression()]
    >>> learned_weights(voters, fit_voters(voters, X, y), X, y, np.array([0, 1])).round(2)
    array([0., 1.])
    """
    joined = joined_of(fitted.groups)
    if joined is not None:
        return joined.weights
    kind = _kind(voters)
    n = len(fitted)
    if n == 1 or isinstance(kind, _ALIKE) or kind == "trees" or len(y) < 2:
        return np.full(n, 1.0 / n)
    if isinstance(kind, Stumps) or kind == "stumps":
        ballots = fitted.votes(X, classes, n_jobs=n_jobs)
        losses = VoteStatistics.from_votes(ballots.codes, ballots.truth(y), keep_rows=True)
        return logistic(losses)
    shares = np.full((len(y), n), UNDECIDED)
    for fold, ballots in cross_fitted(voters, n, X, y, classes, n_voters, seed, n_jobs):
        # Boosting may have stopped early: of those that are not there nothing is known.
        known = min(n, ballots.codes.shape[1])
        shares[fold, :known] = (ballots.codes != ballots.truth(y[fold])[:, None])[:, :known]
    return logistic_of_shares(shares)


def cross_fitted(
    voters: Any,
    n: int,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    n_voters: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Iterator[tuple[NDArray[np.intp], Ballots]]:
    """Yield rows, and the votes on them of voters that were not trained on them.

    The voters are trained anew on four fifths of the rows, five times. Those that fit their
    training rows would all agree there. Where the other rows have one class only, which many
    classifiers refuse, all `n` voters name that.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters, not frozen.
    n : int
        How many voters there are when they are trained on all rows.
    X, y, classes, n_voters, seed, n_jobs
        As in `learned_weights`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from certivote.voters import cross_fitted
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.repeat([0, 1], 10)
    >>> folds = list(cross_fitted([GaussianNB()], 1, X, y, np.array([0, 1])))
    >>> [ballots.codes.shape for _, ballots in folds]
    [(4, 1), (4, 1), (4, 1), (4, 1), (4, 1)]
    """
    codes = np.unique(y, return_inverse=True)[1]
    for fold in folds_of(codes, np.random.RandomState(seed)):
        rest = np.setdiff1d(np.arange(len(y)), fold)
        if np.all(codes[rest] == codes[rest[0]]):
            only = np.full((len(fold), n), np.searchsorted(classes, y[rest[0]]))
            yield fold, Ballots(only, classes)
            continue
        rng = np.random.RandomState(seed)
        rows = _safe_indexing(X, rest)
        others = fit_voters(voters, rows, y[rest], n_voters, rng, n_jobs=n_jobs, verbose=0)
        yield fold, others.votes(_safe_indexing(X, fold), classes, n_jobs=n_jobs, verbose=0)
