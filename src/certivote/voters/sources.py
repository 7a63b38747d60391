"""From what a user calls voters to fitted voters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .bagged import BaggedTrees
from .base import Voters, guarded
from .ensembles import check_one_output, inner_estimator, unpack
from .estimators import EstimatorGroup
from .mixed import Mixed
from .preparing import TableFeatures, needs_features
from .stumps import Stumps
from .table import PredictionTable
from .trees import Trees, grow, train_each

__all__ = ["DEFAULT_VOTERS", "fit_voters", "frozen_parts", "is_frozen"]

# What None means, wherever voters are asked for: see `benchmarks/mixed.py`.
DEFAULT_VOTERS = "mixed"

_GROWING = (RandomForestClassifier, ExtraTreesClassifier)


def is_frozen(voters: Any) -> bool:
    """Tell whether voters are used as they are, so that no data is needed to train them.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters. Of a pipeline every step must be frozen.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from certivote.voters import is_frozen
    >>> is_frozen(GaussianNB()), is_frozen([FrozenEstimator(GaussianNB())])
    (False, True)
    """
    if isinstance(voters, list | tuple):
        frozen = [is_frozen(voter) for voter in voters]
        if any(frozen) and not all(frozen):
            raise ValueError(
                f"voters must be all frozen or all to be trained, got {sum(frozen)} frozen ones of "
                f"{len(frozen)}: some would be certified on data that trains the others. Train the "
                "others on other data, and freeze them too."
            )
        return bool(frozen) and all(frozen)
    if isinstance(voters, Pipeline):
        return all(is_frozen(step) for _, step in voters.steps)
    return isinstance(voters, FrozenEstimator | PredictionTable)


def frozen_parts(voters: Any) -> int:
    """Return how many frozen estimators are inside voters that are to be trained.

    Parameters
    ----------
    voters : object
        What `MajorityVoteClassifier` takes as voters.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from certivote.voters import frozen_parts
    >>> frozen_parts(BaggingClassifier(FrozenEstimator(GaussianNB())))
    1
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
    groups: Any = None,
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
        The number of trees, where the voters are "trees"; of each forest, where they are "mixed".
    random_state : RandomState, default=None
        Where seeds come from.
    n_jobs : int, default=None
        How many voters are trained at the same time.
    verbose : int, default=0
        Show a progress bar if positive.
    groups : array-like of shape (m,), default=None
        Which rows belong together: mixed voters are weighed by groups that they had not seen.

    Returns
    -------
    Voters
        The fitted voters.

    Examples
    --------
    >>> from certivote.voters import fit_voters
    >>> fit_voters("stumps", [[0.0], [4.0]], ["no", "yes"])
    Voters(20)
    """
    rng = random_state if random_state is not None else np.random.RandomState()
    if isinstance(voters, PredictionTable):
        if np.ndim(X) < 2:
            raise ValueError("X must be a table with a column of predictions of each voter.")
        return Voters([voters.group(np.shape(X)[1])])
    if isinstance(voters, list | tuple):
        return Voters([_fit_list(voters, X, y, rng, n_jobs, verbose)])
    if voters is None or isinstance(voters, str):
        named = {"mixed": Mixed(None, n_voters), "trees": Trees(n_voters), "stumps": Stumps()}
        name = DEFAULT_VOTERS if voters is None else voters
        if name not in named:
            known = ", ".join(map(repr, named))
            raise ValueError(f"voters must be {known}, classifiers or a list, got {voters!r}.")
        voters = named[name]
    if isinstance(voters, Mixed | Trees | Stumps) and needs_features(X):
        voters = Pipeline([("columns", TableFeatures()), ("voters", voters)])
    return Voters([unpack(_fit_one(voters, X, y, rng, "voters", n_jobs, verbose, groups))])


def _fit_list(
    voters: Sequence[Any],
    X: Any,
    y: Any,
    rng: np.random.RandomState,
    n_jobs: int | None,
    verbose: int,
) -> EstimatorGroup:
    if not voters:
        raise ValueError("voters must be a list of at least one classifier, got an empty one.")

    def train(index: int, seed: int) -> Any:
        fitted = _fit_one(voters[index], X, y, np.random.RandomState(seed), f"voters[{index}]")
        if not hasattr(fitted, "predict"):
            raise ValueError(
                f"voters[{index}] must be one classifier, got {type(fitted).__name__}, which "
                "stands for several voters: give it alone, or at the end of a pipeline."
            )
        check_one_output(fitted)
        return fitted

    return EstimatorGroup(train_each(len(voters), train, rng, n_jobs, verbose))


def _fit_one(
    voter: Any,
    X: Any,
    y: Any,
    rng: np.random.RandomState,
    name: str,
    n_jobs: int | None = None,
    verbose: int = 0,
    groups: Any = None,
) -> Any:
    """Return a fitted copy of a classifier, or the classifier itself if it is frozen."""
    if isinstance(voter, type):
        raise TypeError(f"{name} must be an instance, got the class: write {voter.__name__}().")
    last = voter.steps[-1][1] if isinstance(voter, Pipeline) else voter
    if not hasattr(voter, "fit") or not (
        is_classifier(voter) or isinstance(last, Mixed | Stumps | Trees)
    ):
        raise ValueError(f"{name} must be a scikit-learn classifier, got {voter!r}.")
    if is_frozen(voter):
        try:
            check_is_fitted(inner_estimator(voter))
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
    if isinstance(last, BaggedTrees | Mixed | Trees):
        own = fresh.steps[-1][1] if isinstance(fresh, Pipeline) else fresh
        own.set_params(n_jobs=n_jobs, verbose=verbose)
    if verbose and isinstance(last, _GROWING) and not last.warm_start:
        return grow(fresh, X, y, verbose)
    if groups is not None and isinstance(last, Mixed):
        prefix = f"{fresh.steps[-1][0]}__" if isinstance(fresh, Pipeline) else ""
        return fresh.fit(guarded(X), y, **{f"{prefix}groups": groups})
    try:
        return fresh.fit(guarded(X), y)
    except Exception as error:
        if name != "voters":
            error.add_note(f"This was the training of {name}, {type(voter).__name__}.")
        raise


def _looks_fitted(voter: Any) -> bool:
    if isinstance(voter, Pipeline):
        return _looks_fitted(voter.steps[-1][1])
    return any(name.endswith("_") and not name.startswith("_") for name in vars(voter))


def _seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Give a seed to whatever has none, so that the same seed gives the same voters.

    Trees draw theirs from the generator itself, so that they are the same at the end of a pipeline
    and by themselves.
    """
    parameters = estimator.get_params(deep=True)
    seeds: dict[str, Any] = {}
    for name in sorted(parameters):
        owner, _, last = name.rpartition("__")
        if last == "random_state" and parameters[name] is None:
            alone = isinstance(parameters.get(owner, estimator), Trees)
            seeds[name] = rng if alone else int(rng.randint(np.iinfo(np.int32).max))
    return estimator.set_params(**seeds) if seeds else estimator
