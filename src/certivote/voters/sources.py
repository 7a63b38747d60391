"""From what a user calls voters to fitted voters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from warnings import warn

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from .._utils.progress import progress_bar
from .._utils.validation import check_positive
from .base import Voters, guarded
from .estimators import EstimatorGroup, as_tree_data, check_one_output, unpack
from .estimators import is_frozen as is_frozen_estimator
from .stumps import Stumps
from .table import PredictionTable

__all__ = ["fit_voters", "frozen_parts", "is_frozen"]

_GROWING = (RandomForestClassifier, ExtraTreesClassifier)
_TREES_AT_ONCE = 10


def is_frozen(voters: Any) -> bool:
    """Tell whether voters are used as they are, so that no data is needed to train them.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters.
    """
    if isinstance(voters, list | tuple):
        frozen = [is_frozen_estimator(voter) for voter in voters]
        if any(frozen) and not all(frozen):
            raise ValueError(
                f"voters must be all frozen or all to be trained, got {sum(frozen)} frozen ones of "
                f"{len(frozen)}: some would be certified on data that trains the others. Train the "
                "others on other data, and freeze them too."
            )
        return bool(frozen) and all(frozen)
    return isinstance(voters, PredictionTable) or is_frozen_estimator(voters)


def frozen_parts(voters: Any) -> int:
    """Return how many frozen estimators are inside voters that are to be trained.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters.
    """
    return len({id(part) for part in _frozen_inside(voters)})


def _frozen_inside(value: Any) -> Iterator[FrozenEstimator]:
    """Yield the frozen estimators in settings, in lists of them and in grids of a search."""
    if isinstance(value, FrozenEstimator):
        yield value
    elif isinstance(value, BaseEstimator):
        yield from _frozen_inside(value.get_params(deep=False))
    elif isinstance(value, Mapping):
        yield from _frozen_inside(list(value.values()))
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim
    ):
        for item in value:
            yield from _frozen_inside(item)


def fit_voters(
    voters: Any,
    X: Any,
    y: Any,
    n_voters: int = 100,
    random_state: np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Voters:
    """Train what is not frozen, and return the voters.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters.
    X, y : array-like
        The data that trains them; if all of them are frozen, the data that certifies them, of which
        only the number of columns is looked at.
    n_voters : int, default=100
        The number of trees, where the voters are "trees".
    random_state : RandomState, default=None
        Where seeds come from.
    n_jobs : int, default=None
        How many voters are trained at the same time.
    verbose : int, default=0
        Show a progress bar if positive.

    Returns
    -------
    Voters
        The fitted voters.
    """
    rng = random_state if random_state is not None else np.random.RandomState()
    if voters is None or (isinstance(voters, str) and voters == "trees"):
        check_positive("n_voters", n_voters, integer=True)
        return Voters([_fit_trees(X, y, n_voters, rng, n_jobs, verbose)])
    if isinstance(voters, str):
        if voters != "stumps":
            raise ValueError(
                f"voters must be 'trees', 'stumps', classifiers or a list, got {voters!r}."
            )
        voters = Stumps()
    if isinstance(voters, PredictionTable):
        return Voters([voters.group(np.shape(X)[1])])
    if isinstance(voters, list | tuple):
        return _fit_list(voters, X, y, rng, n_jobs, verbose)
    return Voters([unpack(_fit_one(voters, X, y, rng, "voters", verbose))])


def _fit_trees(
    X: Any, y: Any, n: int, rng: np.random.RandomState, n_jobs: int | None, verbose: int
) -> EstimatorGroup:
    X = as_tree_data(X)
    seeds = rng.randint(np.iinfo(np.int32).max, size=n)
    with progress_bar("training", n, verbose) as advance:

        def train(seed: int) -> Any:
            tree = DecisionTreeClassifier(max_features="sqrt", random_state=int(seed)).fit(X, y)
            advance()
            return tree

        trees = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(train)(seed) for seed in seeds)
    return EstimatorGroup(trees, preparation=as_tree_data)


def _fit_list(
    voters: Sequence[Any],
    X: Any,
    y: Any,
    rng: np.random.RandomState,
    n_jobs: int | None,
    verbose: int,
) -> Voters:
    if not voters:
        raise ValueError("voters must be a list of at least one classifier, got an empty one.")
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(voters))
    with progress_bar("training", len(voters), verbose) as advance:

        def train(index: int) -> Any:
            own = np.random.RandomState(seeds[index])
            fitted = _fit_one(voters[index], X, y, own, f"voters[{index}]")
            check_one_output(fitted)
            advance()
            return fitted

        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        return Voters([EstimatorGroup(parallel(delayed(train)(j) for j in range(len(voters))))])


def _fit_one(
    voter: Any, X: Any, y: Any, rng: np.random.RandomState, name: str, verbose: int = 0
) -> Any:
    """Return a fitted copy of a classifier, or the classifier itself if it is frozen."""
    last = voter.steps[-1][1] if isinstance(voter, Pipeline) else voter
    if not hasattr(voter, "fit") or not (is_classifier(voter) or isinstance(last, Stumps)):
        raise ValueError(f"{name} must be a scikit-learn classifier, got {voter!r}.")
    if is_frozen_estimator(voter):
        try:
            check_is_fitted(last.estimator)
        except NotFittedError as error:
            raise NotFittedError(
                f"{name} is frozen but not fitted: fit it on other data before freezing it."
            ) from error
        return voter
    if _looks_fitted(voter):
        warn(
            f"{name} is fitted already and will be fitted again on part A of the data. To use it "
            "as it is, on data that is new to it, wrap it: FrozenEstimator(voter).",
            stacklevel=2,
        )
    fresh = _seeded(clone(voter), rng)
    if verbose and isinstance(last, _GROWING) and not last.warm_start:
        return _grow(fresh, X, y, verbose)
    return fresh.fit(guarded(X), y)


def _grow(forest: Any, X: Any, y: Any, verbose: int) -> Any:
    """Fit a forest, alone or at the end of a pipeline, some trees at a time under a progress bar.

    A warm start draws the seeds of the trees that are there again: the forest is the same.
    """
    *steps, (_, last) = forest.steps if isinstance(forest, Pipeline) else [("", forest)]
    if steps:
        X = forest[:-1].fit_transform(X, y)
    total = last.n_estimators
    with progress_bar("training", total, verbose) as advance:
        last.set_params(warm_start=True)
        for done in range(0, total, _TREES_AT_ONCE):
            last.set_params(n_estimators=min(done + _TREES_AT_ONCE, total)).fit(X, y)
            advance(last.n_estimators - done)
        last.set_params(warm_start=False)
    return forest


def _looks_fitted(voter: Any) -> bool:
    if isinstance(voter, Pipeline):
        return _looks_fitted(voter.steps[-1][1])
    return any(name.endswith("_") and not name.startswith("_") for name in vars(voter))


def _seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Give a seed to whatever has none, so that the same seed gives the same voters."""
    parameters = estimator.get_params(deep=True)
    seeds = {
        name: int(rng.randint(np.iinfo(np.int32).max))
        for name in sorted(parameters)
        if (name == "random_state" or name.endswith("__random_state")) and parameters[name] is None
    }
    return estimator.set_params(**seeds) if seeds else estimator
