"""The one checker of labels and votes: whatever comes in as a label goes through here."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._utils.validation import did_you_mean, refuse_mask

__all__ = [
    "SILENT",
    "UNKNOWN",
    "NamedClasses",
    "as_votes",
    "check_aligned",
    "check_all_aligned",
    "check_by",
    "check_class",
    "check_comparable",
    "check_labels",
    "check_one_kind",
    "check_same_table",
    "check_same_voters",
    "check_targets",
    "check_votes",
    "class_called",
    "classes_by_name",
    "coded",
    "codes_of",
    "count_classes",
    "is_missing",
    "merge_labels",
    "most_frequent",
    "name_classes",
    "names_of",
    "numbered",
    "refuse_probabilities",
    "same_names",
    "voter_names",
]

# Code of a label that is none of those it is looked for among.
UNKNOWN = -1
# Code of no label at all: the voter has no opinion.
SILENT = -2
_NUMBERS = "biufc"
# Longer texts are kept one by one.
_LONG = 64


def check_labels(name: str, labels: Any, ndim: int | None) -> NDArray[Any]:
    """Return labels as an array, and refuse missing ones: masked, None, NaN, NaT or NA.

    They are of any type, and have `ndim` dimensions, any if None; errors call them by `name`. What
    numpy would make equal although it is not, such as 1 and "1" in one list, stays different.
    """
    refuse_mask(name, labels)
    if hasattr(labels, "tocsr"):
        raise ValueError(
            f"{name} must not be sparse: every zero is a label too. Give {name}.toarray()."
        )
    listed = not hasattr(labels, "__array__")
    given = np.asarray(labels, dtype=object) if listed else np.asarray(labels)
    if given.dtype.kind == "T":  # numpy's strings of any length, with a missing one of their own
        given = _objects(given)
    if ndim is not None and given.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {given.shape}.")
    if given.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {given.shape}.")
    if given.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must be numbers, text or dates.")
    if given.dtype.kind == "V":
        raise ValueError(f"{name} must be numbers, text or dates, got {given.dtype}.")
    missing = _missing(given)
    if missing.any():
        where = np.unravel_index(int(missing.argmax()), missing.shape)
        raise ValueError(
            f"{name} must not have missing labels (masked, None, NaN or NaT), got "
            f"{given[where]!r} in row {int(where[0]) if where else 0}."
        )
    if given.dtype.kind == "O":
        return _narrowed(name, given)
    for column in getattr(labels, "columns", ()) if given.dtype.kind == "f" else ():
        # A table of whole and broken numbers becomes one of broken ones.
        check_comparable(**{name: np.asarray(labels[column]), "the table": given})
    return given


def _objects(strings: NDArray[Any]) -> NDArray[Any]:
    """Return numpy's strings of any length as objects, with None where one is missing."""
    missing = getattr(strings.dtype, "na_object", None)
    objects = strings.astype(object)
    for place in np.ndindex(objects.shape):
        same = objects[place] is missing
        if same or (isinstance(missing, str) and objects[place] == missing):
            objects[place] = None
    return objects


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels are missing ones."""
    if labels.dtype.kind in "fcmM":
        return np.asarray(labels != labels)
    if labels.dtype.kind != "O":
        return np.zeros(1, dtype=np.bool_)
    flat = (is_missing(label) for label in labels.flat)
    return np.fromiter(flat, dtype=np.bool_, count=labels.size).reshape(labels.shape)


def is_missing(label: Any) -> bool:
    """Tell whether a value stands for none: None, NaN, NaT, pandas.NA or a masked one."""
    if label is None or label is np.ma.masked:
        return True
    if isinstance(label, str | bytes):
        return False
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA compares as neither true nor false
        return True


def _kind(label: Any) -> str:
    """Return which labels a label may be compared with."""
    if isinstance(label, str):
        return "text"
    if isinstance(label, bytes):
        return "bytes"
    if isinstance(label, Number | np.bool_):
        return "number"
    return "date" if isinstance(label, date | np.datetime64) else type(label).__name__


def _narrowed(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Return objects of one kind as numpy's own numbers, text or dates, where nothing is lost.

    Others stay what they are: 1 and "1" are two labels.
    """
    flat, kind = list(labels.flat), _kind_of(labels)
    if kind in ("text", "bytes"):
        # Numpy cuts null characters off the end, and gives every label the room of the longest.
        if any(label[-1:] in ("\0", b"\0") or len(label) > _LONG for label in flat):
            return labels
    elif kind == "number":
        if not all(isinstance(label, int | float | np.number | np.bool_) for label in flat):
            return labels  # exact ones, such as decimal numbers
        if any(isinstance(label, complex | np.complexfloating) for label in flat):
            raise ValueError(f"Complex data not supported: {name} must be numbers, text or dates.")
    elif kind != "date" or not all(isinstance(label, np.datetime64) for label in flat):
        return labels
    try:
        narrow = np.asarray(flat).reshape(labels.shape)
    except OverflowError:  # they stay numbers of Python
        return labels
    if narrow.dtype.kind == "O" or np.array_equal(narrow.astype(object), labels):
        return narrow
    raise ValueError(f"{name} must hold numbers that one type can hold, got {narrow.dtype}.")


def check_targets(name: str, y: Any) -> NDArray[Any]:
    """Return labels of shape (m,) or (m, 1) as a vector, refusing what scikit-learn refuses."""
    from sklearn.utils import assert_all_finite, column_or_1d

    refuse_mask(name, y)
    array = np.asarray(y)
    if array.dtype.kind == "f":
        assert_all_finite(array, input_name=name)
    if array.size:
        array = check_labels(name, y, ndim=None)
    vector: NDArray[Any] = column_or_1d(array, warn=True)
    return vector


def check_votes(votes: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return votes (m, n) and labels (m,) as arrays; refuse what cannot be compared by rows."""
    check_aligned(votes=votes, y=y)
    table, labels = check_labels("votes", votes, ndim=2), check_labels("y", y, ndim=1)
    if len(table) != len(labels):
        raise ValueError(
            f"votes and y must have the same number of rows, got {len(table)} and {len(labels)}."
        )
    refuse_probabilities("votes", table, labels)
    check_comparable(votes=table, y=labels)
    return table, labels


def refuse_probabilities(name: str, votes: NDArray[Any], y: NDArray[Any]) -> None:
    """Refuse votes between 0 and 1 that are not whole, where the true labels hold none such."""
    if votes.dtype.kind != "f" or votes.min() < 0.0 or votes.max() > 1.0 or not _broken(votes):
        return
    if y.dtype.kind == "f" and _broken(y):
        return
    if votes.shape[1] > 1 and np.allclose(votes.sum(axis=1), 1.0, atol=1e-3):
        what, labels = "a probability for each class", "classes[proba.argmax(axis=1)]"
    else:
        what, labels = "probabilities", "classes[(proba > 0.5).astype(int)]"
    raise ValueError(
        f"{name} must be predicted labels, but look like {what}, such as "
        f"{votes[votes % 1.0 != 0.0][0]:.4g}: give what predict returns, or {labels}."
    )


def _broken(numbers: NDArray[Any]) -> bool:
    """Tell whether some of these are not whole, or infinite."""
    with np.errstate(invalid="ignore"):
        return bool(np.any(numbers % 1.0))


def as_votes(votes: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return votes with one column per voter, where predictions of one are one, and the labels."""
    check_aligned(votes=votes, y=y)
    table = check_labels("votes", votes, ndim=None)
    return check_votes(table[:, None] if table.ndim == 1 else table, y)


def check_aligned(**tables: Any) -> None:
    """Refuse two pandas objects whose rows have other names: it may be meant to align them."""
    (first, one), (second, two) = tables.items()
    indexes = [getattr(table, "index", None) for table in (one, two)]
    if all(hasattr(index, "equals") for index in indexes) and len(one) == len(two):
        left, right = indexes
        if left is not None and not left.equals(right):
            raise ValueError(
                f"{first} and {second} must have the same index, row by row. If their rows belong "
                f"together as they stand, give {second}.to_numpy()."
            )


def check_all_aligned(**tables: Any) -> None:
    """Refuse pandas objects of which any two have rows with other names."""
    for one, two in itertools.combinations(tables, 2):
        check_aligned(**{one: tables[one], two: tables[two]})


def check_by(by: Mapping[str, ArrayLike] | None, y: Any, **beside: Any) -> dict[str, NDArray[Any]]:
    """Return columns of groups by their names, one value for each label of `y`.

    All are as they were given: their rows must not have other names than those of `y`, nor than
    those of what is `beside` it.
    """
    if by is None:
        return {}
    if not isinstance(by, Mapping) or not all(isinstance(name, str) for name in by):
        raise ValueError(f"by must be columns by their names, such as {{'region': …}}, got {by!r}.")
    columns = {}
    for name, values in by.items():
        for what, table in {"y": y, **beside}.items():
            check_aligned(**{what: table, f"by[{name!r}]": values})
        columns[name] = check_labels(f"by[{name!r}]", values, ndim=1)
        if len(columns[name]) != len(y):
            raise ValueError(
                f"by[{name!r}] must have one value for each of {len(y)} examples, got "
                f"{len(columns[name])}."
            )
    return columns


def check_same_table(**tables: Any) -> None:
    """Refuse two pandas tables whose rows, or whose columns, have other names or another order."""
    check_aligned(**tables)
    check_same_voters(**tables)
    (first, one), (second, two) = tables.items()
    columns = [getattr(table, "columns", None) for table in (one, two)]
    if all(hasattr(names, "equals") for names in columns) and not columns[0].equals(columns[1]):  # type: ignore[union-attr]
        raise ValueError(
            f"{first} and {second} must have the same columns. If they belong together as they "
            f"stand, give {second}.to_numpy()."
        )


def check_same_voters(**tables: Any) -> None:
    """Refuse two objects that name the same voters in another order.

    Of a pandas table the columns are the voters, of anything else of pandas the entries; statistics
    may know them too.
    """
    (first, one), (second, two) = tables.items()
    left, right = _voters_of(one), _voters_of(two)
    if left is None or right is None:
        return
    if left != right and len(left) == len(right) and set(left) == set(right):
        raise ValueError(
            f"{first} and {second} must name the voters in the same order. If they belong together "
            f"as they stand, give {second}.to_numpy()."
        )


def _voters_of(table: Any) -> list[str] | None:
    """Return the names of the voters that something is about; None if it does not have them."""
    known = getattr(table, "voters", None)
    if isinstance(known, tuple):
        return list(known)
    found = getattr(table, "columns", getattr(table, "index", None))
    return None if found is None or not hasattr(found, "equals") else list(map(str, found))


def voter_names(table: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a table, which are voters; None if they have none."""
    columns = getattr(table, "columns", None)
    listed = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    if columns is None or not (listed or hasattr(columns, "equals")):
        return None
    return tuple(map(str, columns))


def same_names(
    what: str, one: tuple[str, ...] | None, two: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Return the names of voters that are added by position, and refuse other ones.

    Who has none goes with any, and so does who only numbers them: pandas does, if nobody names
    them.
    """
    if one is None or two is None or one == two:
        return two if one is None else one
    if sorted(one) != sorted(two):
        numbers = tuple(map(str, range(len(one))))
        if numbers in (one, two):
            return two if one == numbers else one
    place = next(place for place, pair in enumerate(zip(one, two, strict=True)) if len({*pair}) > 1)
    raise ValueError(
        f"{what} must name the same voters in the same order, got {two[place]!r} for voter "
        f"{place}, which is {one[place]!r} before. Put the columns in one order, or, if they "
        "belong together as they stand, give arrays without names."
    )


def check_comparable(**arrays: NDArray[Any]) -> None:
    """Refuse two arrays of labels of two kinds, or of types between which one would be rounded."""
    (first, one), (second, two) = arrays.items()
    kinds = {_kind_of(labels) for labels in (one, two)}
    # Numbers and text are compared one by one where they are mixed; numpy's dates as numbers.
    if len(kinds - {"", "mixed"}) > 1 or {"mixed", "date of numpy"} <= kinds:
        raise ValueError(
            f"{first} and {second} must hold labels of one kind, got {one.dtype} and {two.dtype}."
        )
    if one.dtype == two.dtype or not one.size or not two.size:
        return
    both = {one.dtype.kind, two.dtype.kind}
    for name, labels, other in ((first, one, two), (second, two, one)):
        if both <= set("iuf") and _largest(labels) >= 2.0**53:
            raise ValueError(f"{name} must hold numbers below 2**53, or be of the other's type.")
        if both == {"f"} and np.any(labels % 1.0):
            raise ValueError(
                f"{name} must be of the other's type, where numbers are not whole: got "
                f"{labels.dtype} and {other.dtype}."
            )
        if both <= set("mM") and not _survives(labels, other.dtype):
            raise ValueError(
                f"{name} must hold dates that the other's unit can hold, got {labels.dtype} and "
                f"{other.dtype}."
            )


def check_one_kind(name: str, labels: NDArray[Any]) -> None:
    """Refuse labels of several kinds in one array, which cannot be sorted; errors give examples."""
    if _kind_of(labels) != "mixed":
        return
    kinds = {_kind(label): label for label in reversed(labels.tolist())}
    found = " and ".join(f"{label!r} ({kind})" for kind, label in sorted(kinds.items())[:2])
    raise ValueError(
        f"{name} must hold labels of one kind, got {found}: write all of them in one way, such as "
        f"[str(label) for label in {name}]."
    )


def _kind_of(labels: NDArray[Any]) -> str:
    """Return the kind of labels; "mixed" for objects of several, nothing if there are none."""
    if labels.dtype.kind == "O":
        kinds = {_kind(label) for label in labels.flat}
        return kinds.pop() if len(kinds) == 1 else "mixed" * (len(kinds) > 1)
    if labels.dtype.kind in _NUMBERS:
        return "number"
    return {"U": "text", "S": "bytes"}.get(labels.dtype.kind, "date of numpy")


def _largest(labels: NDArray[Any]) -> float:
    return max(abs(float(labels.min())), abs(float(labels.max())))


def _survives(labels: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Tell whether dates are the same after a comparison in the finer of two units."""
    try:
        finer = np.promote_types(labels.dtype, dtype)
        return np.array_equal(labels.astype(finer).astype(labels.dtype), labels)
    except (TypeError, OverflowError):  # a month has no number of days
        return False


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of each label in the sorted classes, −1 where it is none of them."""
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
    """Return the index of each label in the sorted classes, and those that are none of them."""
    codes = codes_of(labels, classes)
    return codes, labels[codes == UNKNOWN]


def merge_labels(first: NDArray[Any], *others: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels of all, each once."""
    for other in others:
        check_comparable(labels=other, classes=first)
    try:
        merged: NDArray[Any] = np.unique(np.concatenate([first, *others]))
    except TypeError as error:
        raise ValueError(
            "labels must be of one kind, to be sorted: a tie goes to the first."
        ) from error
    return merged


def most_frequent(y: NDArray[Any]) -> Any:
    """Return the label that comes most often, the first one of several."""
    labels, counts = _counted(y)
    return labels[int(np.argmax(counts))]


def count_classes(y: NDArray[Any]) -> dict[str, int]:
    """Return how many examples there are of each class, by its name as text."""
    labels, counts = _counted(y)
    return dict(zip(names_of(labels), counts, strict=True))


def classes_by_name(y: NDArray[Any]) -> dict[str, Any]:
    """Return the labels that there are, sorted where they can be, by their names as text."""
    labels = _counted(y)[0]
    return dict(zip(names_of(labels), labels, strict=True))


def class_called(name: str, y: NDArray[Any]) -> Any:
    """Return the class of these examples that has this name; the name itself if there is none."""
    return classes_by_name(y).get(name, name)


def check_class(name: str, label: Any, y: NDArray[Any]) -> Any:
    """Return a class of these examples, which may be called by its name; errors call it `name`."""
    called = classes_by_name(y)
    if str(label) not in called:
        hint = did_you_mean(str(label), called)
        raise ValueError(f"{name} must be one of the classes, got {label!r}: {hint}")
    return called[str(label)]


def _counted(y: NDArray[Any]) -> tuple[list[Any], list[int]]:
    """Return the labels, sorted where they can be, and how often each comes."""
    try:
        labels, counts = np.unique(y, return_counts=True)
    except TypeError:  # numbers and texts in one array
        found = Counter(y.tolist())
        return list(found), list(found.values())
    return list(labels), counts.tolist()


def numbered(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels that there are, and of each example the number of its own among them.

    They are sorted where they can be.
    """
    if y.dtype.kind != "O":
        labels = np.unique(y)
        return labels, np.searchsorted(labels, y)  # far faster than np.unique, which sorts them all
    flat = y.tolist()
    found = list(dict.fromkeys(flat))
    with suppress(TypeError):  # numbers and texts in one array
        found.sort()
    places = {label: place for place, label in enumerate(found)}
    labels = np.fromiter(found, dtype=object, count=len(found))
    return labels, np.fromiter(map(places.__getitem__, flat), dtype=np.intp, count=len(flat))


class NamedClasses(NamedTuple):
    """Classes and their names: which come from elsewhere than the answers, and those of examples.

    `true` and `answered` are indices into `names`.
    """

    names: list[str]
    known: NDArray[np.bool_]
    true: NDArray[np.intp]
    answered: NDArray[np.intp]


def name_classes(
    y: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any] | None = None
) -> NamedClasses:
    """Return all classes by name: those of `y` are called as `count_classes` calls them.

    The answers, and the classes that are known beforehand, may be of another type: where 1.0 is
    answered, and 1 is true, both are called 1.
    """
    (own, true), (theirs, answered) = numbered(y), numbered(predicted)
    known = merge_labels(own, own if classes is None else classes)
    every = merge_labels(known, theirs)
    places = codes_of(own, every)
    called: dict[int, str] = dict(zip(places.tolist(), names_of(own), strict=True))
    taken = set(called.values())
    for place, label in enumerate(every):
        if place not in called:
            called[place] = repr(label) if str(label) in taken else str(label)
    seen = np.zeros(len(every), dtype=np.bool_)
    seen[codes_of(known, every)] = True
    names = [called[place] for place in range(len(every))]
    return NamedClasses(names, seen, places[true], codes_of(theirs, every)[answered])


def names_of(labels: Iterable[Any]) -> list[str]:
    """Return the names of labels as text, to each its own: 1 and "1" are two."""
    names = [str(label) for label in labels]
    return names if len(set(names)) == len(names) else [repr(label) for label in labels]
