"""The one checker of labels and votes: whatever comes in as a label goes through here."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d

from ._validation import refuse_mask

__all__ = [
    "UNKNOWN",
    "check_aligned",
    "check_comparable",
    "check_labels",
    "check_targets",
    "check_votes",
    "coded",
    "codes_of",
    "merge_labels",
]

# Code of a label that is none of those it is looked for among.
UNKNOWN = -1
_NUMBERS = "biufc"


def check_labels(name: str, labels: Any, ndim: int | None) -> NDArray[Any]:
    """Return labels as an array, and refuse missing ones: masked, None, NaN, NaT or NA.

    Parameters
    ----------
    name : str
        How to call them in an error.
    labels : array-like
        Labels of any type.
    ndim : int or None
        The number of dimensions that they must have; any if None.
    """
    refuse_mask(name, labels)
    array = np.asarray(labels)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}.")
    if array.dtype.kind == "V":
        raise ValueError(f"{name} must hold one label each, got records of {array.dtype}.")
    # From a list of texts numpy would make texts of NaN and None.
    listed = array.dtype.kind in "US" and not hasattr(labels, "__array__")
    given = np.asarray(labels, dtype=object) if listed else array
    missing = _missing(given)
    if missing.any():
        where = np.unravel_index(int(missing.argmax()), missing.shape)
        raise ValueError(
            f"{name} must not have missing labels (masked, None, NaN or NaT), got "
            f"{given[where]!r} in row {int(where[0]) if where else 0}."
        )
    return array


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels are missing ones."""
    if labels.dtype.kind in "fcmM":
        return np.asarray(labels != labels)
    if labels.dtype.kind != "O":
        return np.zeros(1, dtype=np.bool_)
    flat = (_is_missing(label) for label in labels.flat)
    return np.fromiter(flat, dtype=np.bool_, count=labels.size).reshape(labels.shape)


def _is_missing(label: Any) -> bool:
    if label is None or label is np.ma.masked:
        return True
    if isinstance(label, str | bytes):
        return False
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA compares as neither true nor false
        return True


def check_targets(name: str, y: Any) -> NDArray[Any]:
    """Return the labels of examples as a vector, as scikit-learn takes them: finite numbers too.

    Parameters
    ----------
    name : str
        How to call them in an error.
    y : array-like of shape (m,) or (m, 1)
        The labels.
    """
    refuse_mask(name, y)
    array = np.asarray(y)
    if array.dtype.kind == "f":
        assert_all_finite(array, input_name=name)
    if array.size:
        array = check_labels(name, y, ndim=None)
    vector: NDArray[Any] = column_or_1d(array, warn=True)
    return vector


def check_votes(votes: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return votes and labels as arrays, and refuse what cannot be compared row by row.

    Parameters
    ----------
    votes : array-like of shape (m, n)
        Predicted labels.
    y : array-like of shape (m,)
        True labels.
    """
    check_aligned(votes=votes, y=y)
    table, labels = check_labels("votes", votes, ndim=2), check_labels("y", y, ndim=1)
    if len(table) != len(labels):
        raise ValueError(
            f"votes and y must have the same number of rows, got {len(table)} and {len(labels)}."
        )
    check_comparable(votes=table, y=labels)
    return table, labels


def check_aligned(**tables: Any) -> None:
    """Refuse two pandas objects whose rows have other names: it may be meant to align them.

    Parameters
    ----------
    **tables : array-like
        Two tables, by the names of their arguments.
    """
    (first, one), (second, two) = tables.items()
    indexes = [getattr(table, "index", None) for table in (one, two)]
    if all(hasattr(index, "equals") for index in indexes) and len(one) == len(two):
        left, right = indexes
        if left is not None and not left.equals(right):
            raise ValueError(
                f"{first} and {second} must have the same index, row by row. If their rows belong "
                f"together as they stand, give {second}.to_numpy()."
            )


def check_comparable(**arrays: NDArray[Any]) -> None:
    """Refuse labels of two kinds, or of two types of number that a comparison would round.

    Parameters
    ----------
    **arrays : ndarray
        Two arrays of labels, by the names of their arguments.
    """
    (first, one), (second, two) = arrays.items()
    kinds = {"number" if array.dtype.kind in _NUMBERS else array.dtype.kind for array in (one, two)}
    if len(kinds) > 1 and "O" not in kinds:
        raise ValueError(
            f"{first} and {second} must hold labels of one kind, got {one.dtype} and {two.dtype}."
        )
    if not {one.dtype.kind, two.dtype.kind} <= set("iuf") or one.dtype == two.dtype:
        return
    for name, labels in arrays.items():
        if labels.size and max(abs(float(labels.min())), abs(float(labels.max()))) >= 2.0**53:
            raise ValueError(f"{name} must hold numbers below 2**53, or be of the other's type.")


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
    try:
        index = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    except TypeError as error:
        raise ValueError(
            f"labels must be of one kind, to be sorted: these are of dtype {labels.dtype}, the "
            f"classes of dtype {classes.dtype}."
        ) from error
    return np.where(classes[index] == labels, index, UNKNOWN)


def coded(labels: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the index of each label in the sorted classes, and those that are none of them.

    Parameters
    ----------
    labels : ndarray of shape (m,)
        Any labels.
    classes : ndarray
        Sorted labels.
    """
    codes = codes_of(labels, classes)
    return codes, labels[codes == UNKNOWN]


def merge_labels(first: NDArray[Any], *others: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels of all, each once.

    Parameters
    ----------
    first, *others : ndarray
        Labels of one kind.
    """
    for other in others:
        check_comparable(labels=other, classes=first)
    try:
        merged: NDArray[Any] = np.unique(np.concatenate([first, *others]))
    except TypeError as error:
        raise ValueError(
            "labels must be of one kind, to be sorted: a tie goes to the first."
        ) from (error)
    return merged
