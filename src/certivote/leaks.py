"""Signs that voters have seen the examples that are to certify them."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

__all__ = ["warn_if_trained_on"]

# How many standard errors, and by which factor, in-bag error must be below out-of-bag error.
_STANDARD_ERRORS = 5.0
_FACTOR = 0.5


def warn_if_trained_on(voters: Any, losses: NDArray[np.bool_]) -> None:
    """Warn if frozen voters err far less on the rows that were in their bags.

    Parameters
    ----------
    voters : object
        Frozen voters. Only ensembles that remember their bags (`estimators_samples_`) tell.
    losses : ndarray of shape (m, n)
        Where each voter errs on the certification examples.
    """
    ensemble = voters
    while isinstance(ensemble, FrozenEstimator | Pipeline):
        if isinstance(ensemble, Pipeline):
            ensemble = ensemble.steps[-1][1]
        else:
            ensemble = getattr(ensemble.estimator, "best_estimator_", ensemble.estimator)
    bags = getattr(ensemble, "estimators_samples_", None)
    if bags is None or len(bags) != losses.shape[1]:
        return
    m = len(losses)
    if max(int(np.max(bag)) for bag in bags) >= m:
        return  # the bags were drawn from more rows than these
    in_bag = np.zeros(losses.shape, dtype=np.bool_)
    for voter, bag in enumerate(bags):
        in_bag[bag, voter] = True
    inside, outside = in_bag.sum(axis=1), (~in_bag).sum(axis=1)
    both = (inside > 0) & (outside > 0)
    if both.sum() < 2:
        return
    error_inside = (losses & in_bag).sum(axis=1)[both] / inside[both]
    error_outside = (losses & ~in_bag).sum(axis=1)[both] / outside[both]
    gap = error_outside - error_inside
    spread = float(gap.std()) / np.sqrt(gap.size)
    far = float(gap.mean()) > _STANDARD_ERRORS * spread
    if far and float(error_inside.mean()) < _FACTOR * float(error_outside.mean()):
        warnings.warn(
            "the frozen voters seem to have been trained on these very examples: they err on "
            f"{error_inside.mean():.1%} of those in their bags and on {error_outside.mean():.1%} "
            "of the others. A certificate from data that the voters have seen is not valid.",
            stacklevel=4,
        )
