"""From votes to what the weighted vote predicts, and how often it errs.

The one place that says who wins: the largest share of the vote; a tie goes to the first class.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validation import check_distributions

__all__ = [
    "TIE",
    "FixedVotes",
    "codes_of",
    "count_vote_errors",
    "is_row",
    "vote_shares",
    "winners",
]

# Vote shares this close to each other are a tie.
TIE = 1e-12
# Code of a predicted label that is none of the classes: an error wherever it is predicted.
UNKNOWN = -1
_ROWS_PER_CHUNK, _SHARES_PER_CHUNK = 16_384, 2**23


def vote_shares(
    votes: NDArray[Any], weights: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return the share of each class in the vote on each example.

    Parameters
    ----------
    votes : ndarray of shape (m, n)
        Predicted classes as numbers from 0. A voter that predicts any other number has no say, and
        without any vote the first class has it all.
    weights : ndarray of shape (n,)
        The weights of the voters.
    n_classes : int
        The number of classes.
    """
    shares = np.empty((len(votes), n_classes))
    for start in range(0, len(votes), _ROWS_PER_CHUNK):
        chunk = votes[start : start + _ROWS_PER_CHUNK]
        shares[start : start + len(chunk)] = _shares(chunk, weights[:, None], n_classes)[..., 0]
    return shares


def _shares(
    votes: NDArray[Any], weights: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return the shares by example, class and vote, for several votes: the columns of weights."""
    shares = np.stack([(votes == code) @ weights for code in range(n_classes)], axis=1)
    total = shares.sum(axis=1)
    shares[:, 0] += np.where(total > 0.0, 0.0, 1.0)
    shares /= np.where(total > 0.0, total, 1.0)[:, None]
    return shares


def winners(shares: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the class with the largest share, the first one on a tie.

    Parameters
    ----------
    shares : ndarray of shape (m, n_classes, ...)
        What `vote_shares` returned.
    """
    tied = shares >= shares.max(axis=1, keepdims=True) - TIE
    first: NDArray[np.intp] = tied.argmax(axis=1)
    return first


@dataclass(frozen=True, eq=False)
class FixedVotes:
    """How often votes whose weights were fixed before the sample err on it.

    Attributes
    ----------
    weights : ndarray of shape (M, n)
        The weights of each of these votes.
    errors : ndarray of shape (M,)
        On how many examples each of them predicts a wrong label.
    """

    weights: NDArray[np.float64]
    errors: NDArray[np.int64]

    def errors_of(self, weights: NDArray[np.float64]) -> int | None:
        """Return the errors of the vote with these weights, None if it was not tested."""
        found = np.flatnonzero(np.all(self.weights == weights, axis=1))
        return int(self.errors[found[0]]) if found.size else None

    def __add__(self, other: "FixedVotes") -> "FixedVotes":
        """Return the errors on both samples of the votes that were tested on both."""
        pairs = [
            (weights, errors + more)
            for weights, errors in zip(self.weights, self.errors.tolist(), strict=True)
            if (more := other.errors_of(weights)) is not None
        ]
        return FixedVotes(
            np.array([weights for weights, _ in pairs]).reshape(len(pairs), self.weights.shape[1]),
            np.array([errors for _, errors in pairs], dtype=np.int64),
        )


def count_vote_errors(
    votes: NDArray[Any], y: NDArray[Any], weights: ArrayLike, classes: ArrayLike | None = None
) -> FixedVotes:
    """Count the errors of weighted votes.

    Parameters
    ----------
    votes : ndarray of shape (m, n)
        Predicted labels.
    y : ndarray of shape (m,)
        True labels.
    weights : array-like of shape (M, n)
        The weights of each vote.
    classes : array-like, default=None
        The labels that a vote can predict, sorted; those of `votes` and `y` if None.
    """
    check_comparable(votes=votes, y=y)
    rows = check_distributions("tested", np.atleast_2d(np.asarray(weights)), votes.shape[1])
    try:
        known = _labels(votes, y) if classes is None else np.unique(np.asarray(classes))
    except TypeError as error:
        raise ValueError(
            "votes must hold labels that can be sorted: a tie goes to the first of them."
        ) from error
    errors = np.zeros(len(rows), dtype=np.int64)
    step = max(1, min(_ROWS_PER_CHUNK, _SHARES_PER_CHUNK // (len(rows) * len(known))))
    for start in range(0, len(y), step):
        stop = start + step
        codes, truth = codes_of(votes[start:stop], known), codes_of(y[start:stop], known)
        predicted = winners(_shares(codes, rows.T, len(known)))
        errors += np.count_nonzero(predicted != truth[:, None], axis=0)
    return FixedVotes(rows, errors)


def check_comparable(**arrays: NDArray[Any]) -> None:
    """Refuse labels of two types of number that a comparison would round.

    Parameters
    ----------
    **arrays : ndarray
        Two arrays of labels, by the names of their arguments.
    """
    first, second = arrays.values()
    if not {first.dtype.kind, second.dtype.kind} <= set("iuf") or first.dtype == second.dtype:
        return
    for name, labels in arrays.items():
        if labels.size and max(abs(float(labels.min())), abs(float(labels.max()))) >= 2.0**53:
            raise ValueError(f"{name} must hold numbers below 2**53, or be of the other's type.")


def is_row(weights: NDArray[np.float64], table: NDArray[np.float64]) -> bool:
    """Tell whether weights are a row of a table, to the last bit.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        The weights.
    table : ndarray of shape (M, n)
        The table.
    """
    return bool(np.any(np.all(table == weights, axis=1)))


def _labels(votes: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels of both."""
    return np.unique(np.concatenate([np.unique(votes), np.unique(y)]))


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of each label in the sorted classes, −1 where it is none of them.

    Parameters
    ----------
    labels : ndarray
        Any labels.
    classes : ndarray
        Sorted labels.
    """
    labels = np.asarray(labels)
    check_comparable(labels=labels, classes=classes)
    textual = [array.dtype.kind in "US" for array in (labels, classes)]
    try:
        if textual[0] != textual[1] and "O" not in (labels.dtype.kind, classes.dtype.kind):
            raise TypeError("text and numbers")
        index = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    except TypeError as error:
        raise ValueError(
            "labels must all be text, or all be numbers: these are of dtype "
            f"{labels.dtype}, the classes of dtype {classes.dtype}."
        ) from error
    return np.where(classes[index] == labels, index, UNKNOWN)
