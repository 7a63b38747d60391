"""How the data is cut: which rows train the voters, and which certify."""

import math
from collections.abc import Mapping
from datetime import UTC, date
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_random_state

from .._utils.validation import refuse_mask
from ..certificate.provenance import FROZEN, SPLIT
from ..labels import check_aligned, check_labels, is_missing

__all__ = [
    "Cut",
    "Drawn",
    "Rows",
    "as_table",
    "check_said",
    "cut",
    "drawn",
    "drawn_again",
    "plain_number",
    "seed_of",
    "share_to_certify",
    "split",
]


# What "auto" means: of few examples more must certify, as the test of few is wide.
_FEW, _SHARE_OF_FEW, _SHARE_OF_MANY = 5000, 0.5, 0.3


class Rows:
    """Which rows belong together, and when they came, where this is known.

    `groups` are the numbers of their groups, `names` what each group is called, and `time` what
    orders them; `said` is what a provenance says of it.
    """

    def __init__(self, m: int, groups: Any = None, time: Any = None) -> None:
        if groups is not None and time is not None:
            raise ValueError(
                "groups and time must not be given together: give groups alone for a claim about "
                "new groups; or keep one row of each group, such as its latest, and give time "
                "alone."
            )
        self.m = m
        self.said: dict[str, Any] = {}
        self.groups = self.time = self.names = None
        if groups is not None:
            self.names, self.groups = _numbered(self._column("groups", groups))
            self.said["grouped_by"] = str(getattr(groups, "name", None) or "group")
        if time is not None:
            self.time = _moments(self._column("time", time))
            if self.time.dtype.kind not in "iufM":
                raise ValueError(f"time must be numbers or dates, got {self.time.dtype}.")
            self.said["split_by_time"] = str(getattr(time, "name", None) or "time")

    def _column(self, name: str, values: Any) -> NDArray[Any]:
        column = check_labels(name, values, ndim=1)
        if len(column) != self.m:
            raise ValueError(f"{name} must be one for each of {self.m} rows, got {len(column)}.")
        return column

    @property
    def n_units(self) -> int:
        """How many draws there are: groups, or rows."""
        return self.m if self.groups is None else int(self.groups.max()) + 1


def _numbered(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different groups in the order of their first rows, and the number of each row."""
    if labels.dtype.kind == "U":  # long to sort
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        return np.array(list(numbers)), np.array(of, dtype=np.intp)
    try:
        names, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "groups must be of one kind, got numbers and texts together: 1 and '1' may be one "
            "group."
        ) from error
    order = np.argsort(first)
    return names[order], np.argsort(order)[codes.reshape(-1)]


def _moments(time: NDArray[Any]) -> NDArray[Any]:
    """Return dates that are objects as numpy's own, at the same moment of UTC."""
    if time.dtype.kind != "O" or not all(isinstance(value, date) for value in time):
        return time
    zones = {getattr(value, "tzinfo", None) is not None for value in time}
    if len(zones) > 1:
        raise ValueError("time must have time zones in all rows, or in none.")
    if zones == {True}:
        time = np.array([value.astimezone(UTC).replace(tzinfo=None) for value in time])
    return time.astype("datetime64[us]")


def _one_of_each(groups: NDArray[np.intp], rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return a row of each group, drawn at random: each row of a group with the same chance."""
    order = np.lexsort((rng.random_sample(len(groups)), groups))
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(order[first])


def as_table(X: Any) -> Any:
    """Return data whose rows can be taken: an array, a frame or a sparse matrix by rows."""
    if sparse.issparse(X):
        X = X.tocsr()
        if X.nnz < np.iinfo(np.int32).max and X.indices.dtype != np.int32:
            narrow = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
            X = type(X)(narrow, shape=X.shape)
        return X
    refuse_mask("X", X)
    if not hasattr(X, "columns") and not isinstance(X, list):
        X = np.asarray(X)
    ndim = 2 if hasattr(X, "columns") else np.ndim(X)
    if ndim == 1 and _are_texts(X):
        return np.asarray(X, dtype=object)
    if ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {ndim}D array instead. Reshape your data: one row per "
            "example, one column per feature."
        )
    return X


def _are_texts(values: Any) -> bool:
    """Tell whether there is a text in each row, or nothing."""
    kinds = [type(value) for value in values if not is_missing(value)]
    return bool(kinds) and all(issubclass(kind, str) for kind in kinds)


class Cut(NamedTuple):
    """The rows of part A and part B, the generator that drew them, and what is to be said of it."""

    part_a: NDArray[np.intp]
    part_b: NDArray[np.intp]
    rng: np.random.RandomState
    said: dict[str, Any]


def cut(rows: Rows, certify_size: float | str, frozen: bool, random_state: Any) -> Cut:
    """Return which rows train and which certify, and what a provenance says of that."""
    seed, rng = seed_of(random_state)
    size = share_to_certify(certify_size, rows.n_units)
    part_a, part_b = split(rows, size, frozen, rng)
    if frozen:
        drawn_by = {} if rows.groups is None else {"seed": seed}
        return Cut(part_a, part_b, rng, {"voters_from": FROZEN, **rows.said, **drawn_by})
    said = {
        "voters_from": SPLIT,
        **rows.said,
        "voter_samples": len(part_a),
        "seed": seed,
        "certify_size": plain_number(size),
    }
    return Cut(part_a, part_b, rng, said)


def split(
    rows: Rows, size: float, frozen: bool, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of part A and part B: a random split that does not look at labels.

    Where rows belong to groups, whole groups train or certify, and of each that certifies one row
    is drawn. By time the latest rows certify, in that order, with all that came at the same time.
    """
    m = rows.n_units
    order = rng.permutation(m)
    units_a, units_b = (order[:0], np.arange(m)) if frozen else _cut(order, size)
    if rows.time is not None and not frozen:
        earliest = np.sort(rows.time)[-units_b.size]
        late = rows.time >= earliest
        if late.all():
            raise ValueError(
                "time leaves nothing to train the voters: too many rows came at the earliest time. "
                "Give a smaller certify_size, or a finer time."
            )
        latest = np.flatnonzero(late)
        return np.flatnonzero(~late), latest[np.argsort(rows.time[latest], kind="stable")]
    if rows.groups is None:
        return units_a, units_b
    drawn = _one_of_each(rows.groups, rng)  # in the order of the groups
    return np.flatnonzero(np.isin(rows.groups, units_a)), drawn[np.sort(units_b)]


def share_to_certify(size: Any, m: int) -> Any:
    """Return which share, or number, of m examples or groups certifies, before looking at any.

    Parameters
    ----------
    size : float, int or str
        What `MajorityVoteClassifier` takes as `certify_size`.
    m : int
        How many examples, or groups of them, there are.

    Examples
    --------
    >>> from certivote.classifiers import share_to_certify
    >>> share_to_certify("auto", 1000), share_to_certify("auto", 100_000)
    (0.5, 0.3)
    """
    if not isinstance(size, str):
        return size
    if size != "auto":
        raise ValueError(f"certify_size must be a number or 'auto', got {size!r}.")
    return _SHARE_OF_FEW if m < _FEW else _SHARE_OF_MANY


def _cut(order: NDArray[np.intp], size: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return what is before and after the cut that leaves a share, or a number, after it."""
    m = len(order)
    if isinstance(size, bool) or not isinstance(size, Real):
        raise ValueError(f"certify_size must be a number, got {size!r}.")
    size = plain_number(size)
    if isinstance(size, Integral):
        n_b = int(size)
        if n_b < 1:
            raise ValueError(f"certify_size must be at least 1 example, got {size!r}.")
    else:
        if not 0.0 < size < 1.0:
            raise ValueError(
                f"certify_size must be a share in (0, 1) or a number of examples, got {size!r}."
            )
        n_b = math.ceil(size * m - 1e-9)  # 0.9 of 100 is 90, whatever floats make of it
    if n_b >= m:
        raise ValueError(
            f"certify_size={size!r} of n_samples={m} leaves nothing to train the voters: give "
            "more samples, or a smaller certify_size."
        )
    return order[:-n_b], order[-n_b:]


def plain_number(value: Any) -> Any:
    """Return a number of numpy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def seed_of(random_state: Any) -> tuple[int | str, np.random.RandomState]:
    """Return a seed to write into the certificate, and the generator that it gives."""
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, Integral):
        return int(random_state), check_random_state(int(random_state))
    return "a generator given by the user", check_random_state(random_state)


class Drawn(NamedTuple):
    """Rows that certify, their labels and columns of groups, and what is to be said of the draw.

    `names` are what the groups are called that a row of each was drawn from.
    """

    X: Any
    y: NDArray[Any]
    by: dict[str, NDArray[Any]]
    said: dict[str, Any]
    names: NDArray[Any] | None


def drawn(X: Any, y: NDArray[Any], by: Mapping[str, NDArray[Any]], groups: Any, seed: int) -> Drawn:
    """Return one row of each group, if there are groups, else all of them."""
    if groups is None:
        return Drawn(X, y, dict(by), {}, None)
    check_aligned(X=X, groups=groups)
    rows = Rows(len(y), groups)
    own, rng = seed_of(seed)
    assert rows.groups is not None
    chosen = _one_of_each(rows.groups, rng)
    columns = {name: column[chosen] for name, column in by.items()}
    said = {**rows.said, "seed": own}
    return Drawn(_safe_indexing(X, chosen), y[chosen], columns, said, rows.names)


def drawn_again(
    X: Any,
    y: NDArray[Any],
    by: Mapping[str, NDArray[Any]],
    groups: Any,
    provenance: Mapping[str, Any],
) -> Drawn:
    """Return the rows that were drawn when a certificate of this provenance was made."""
    check_said("groups", groups, "grouped_by", provenance)
    return drawn(X, y, by, groups, provenance.get("seed", 0))


def check_said(name: str, given: Any, key: str, provenance: Mapping[str, Any]) -> None:
    """Refuse what a provenance does not speak of, and the lack of what it does."""
    if (given is None) == (key in provenance):
        must = "must" if given is None else "must not"
        raise ValueError(f"{name} {must} be given, as when the certificate was made.")
