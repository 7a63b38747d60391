"""Findings: what throws doubt on a certificate, as sentences that it carries.

None of them is proof, and without any nothing is proved: that the examples are independent draws,
and new to the voters, stays an assumption.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..voters import inner_estimator
from ._fingerprints import is_hardly_chance

__all__ = ["TOO_MANY_TWINS", "copies", "training_rows", "twins", "unknown_labels", "unseen_classes"]

# Twins of training rows above this share of part B are hardly chance where rows are rich.
TOO_MANY_TWINS = 0.1
# Fewer different rows than this share: some come again.
_MOSTLY_DISTINCT = 0.9
# How many standard errors, and by which factor, in-bag error must be below out-of-bag error.
_STANDARD_ERRORS = 5.0
_FACTOR = 0.5


def twins(X: Any, rows_a: NDArray[np.uint64], rows_b: NDArray[np.uint64]) -> list[str]:
    """Say if many rows of part B are in part A too, and are too rich for that to be chance."""
    share = float(np.isin(rows_b, rows_a).mean())
    if share <= TOO_MANY_TWINS or not is_hardly_chance(X, np.concatenate([rows_a, rows_b])):
        return []
    return [
        f"{share:.0%} of the certification examples have a twin among the examples that train the "
        "voters. If rows were copied (oversampling, several rows of one subject), the certificate "
        "is not valid."
    ]


def copies(X: Any, rows: NDArray[np.uint64]) -> list[str]:
    """Say if rows repeat that are too rich for that to be chance."""
    distinct = np.unique(rows).size
    if distinct >= _MOSTLY_DISTINCT * rows.size or not is_hardly_chance(X, rows):
        return []
    return [
        f"Rows come several times among the certification examples: {distinct} of {rows.size} are "
        "different. If they were copied, the certificate is not valid."
    ]


def unseen_classes(y_a: NDArray[Any], y_b: NDArray[Any]) -> list[str]:
    """Say if part B has classes that part A has not."""
    unseen = np.setdiff1d(np.unique(y_b), np.unique(y_a))
    if not unseen.size:
        return []
    names = ", ".join(map(repr, unseen[:8].tolist())) + (", …" if unseen.size > 8 else "")
    return [f"Part B has examples of {names}, which part A has not: the voters err on all of them."]


def unknown_labels(y: NDArray[Any], unknown: NDArray[np.bool_]) -> list[str]:
    """Say if there are labels that a fitted vote has never seen."""
    if not unknown.any():
        return []
    return [
        f"y has labels that this vote has never seen, such as {y[unknown][:1].tolist()[0]!r}, on "
        f"{np.count_nonzero(unknown)} examples."
    ]


def training_rows(voters: Any, losses: NDArray[np.bool_]) -> list[str]:
    """Say if frozen voters err far less on the rows that were in their bags."""
    bags = getattr(inner_estimator(voters), "estimators_samples_", None)
    if bags is None or len(bags) != losses.shape[1]:
        return []
    m = len(losses)
    if max(int(np.max(bag)) for bag in bags) >= m:
        return []  # the bags were drawn from more rows than these
    in_bag = np.zeros(losses.shape, dtype=np.bool_)
    for voter, bag in enumerate(bags):
        in_bag[bag, voter] = True
    inside, outside = in_bag.sum(axis=1), (~in_bag).sum(axis=1)
    both = (inside > 0) & (outside > 0)
    if both.sum() < 2:
        return []
    error_inside = (losses & in_bag).sum(axis=1)[both] / inside[both]
    error_outside = (losses & ~in_bag).sum(axis=1)[both] / outside[both]
    gap = error_outside - error_inside
    spread = float(gap.std()) / np.sqrt(gap.size)
    far = float(gap.mean()) > _STANDARD_ERRORS * spread
    if not far or float(error_inside.mean()) >= _FACTOR * float(error_outside.mean()):
        return []
    return [
        "The frozen voters seem to have been trained on these very examples: they err on "
        f"{error_inside.mean():.1%} of those in their bags and on {error_outside.mean():.1%} of "
        "the others. A certificate from data that the voters have seen is not valid."
    ]
