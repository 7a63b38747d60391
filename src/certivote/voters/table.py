"""Predictions made elsewhere: the columns of a table are the voters."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._utils.validation import refuse_mask
from ..labels import SILENT, check_labels, coded, is_missing
from .base import Column

__all__ = ["PredictionTable", "TableGroup"]


class PredictionTable(BaseEstimator):
    """Let the columns of X be the predictions of voters from elsewhere.

    For neural networks, panels of language models, human raters: X is a table with one row per
    example and one column per voter, and holds predicted labels. All of it certifies, so it must be
    new to the voters. A label that the certification examples do not hold has its say in `predict`
    like any other.

    Parameters
    ----------
    missing : label, default=None
        What stands in the table for no opinion, such as ``""``, ``"refused"`` or −1, and is no
        label; NaN for any gap (None, NaN, NaT, NA). Without it a table with gaps is refused. A
        voter without an opinion has no say in `predict`, and counts as not right in the bounds, so
        that a vote that errs still has half of the weight against it. Where no voter with weight
        has an opinion `predict` answers the marker, None for a gap, and that is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import MajorityVoteClassifier
    >>> from certivote.voters import PredictionTable
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["cat", "dog"], size=1000)
    >>> table = np.where(rng.random((1000, 9)) < 0.1, "cat", y[:, None])
    >>> vote = MajorityVoteClassifier(voters=PredictionTable()).fit(table, y)
    >>> vote.predict([["dog", "dog", "dog", "dog", "dog", "cat", "cat", "cat", "cat"]])
    array(['dog'], dtype='<U3')

    Where some have no opinion:

    >>> table[rng.random((1000, 9)) < 0.2] = "?"
    >>> vote = MajorityVoteClassifier(voters=PredictionTable(missing="?")).fit(table, y)
    >>> vote.predict([["?", "?", "?", "dog", "?", "?", "?", "?", "?"], ["?"] * 9])
    array(['dog', '?'], dtype='<U3')
    """

    # Tables that were saved before there was a marker have none.
    missing: Any = None

    def __init__(self, missing: Any = None) -> None:
        self.missing = missing

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def check_targets(self, y: NDArray[Any]) -> None:
        """Refuse true labels that stand for no opinion.

        Parameters
        ----------
        y : ndarray of shape (m,)
            The true labels.
        """
        if self.missing is not None and _equal(y, self.missing).any():
            raise ValueError(
                f"missing must be no label, got {self.missing!r}, which y has: mark no opinion "
                "otherwise."
            )

    def group(self, n_voters: int) -> "TableGroup":
        """Return the voters of a table with so many columns."""
        return TableGroup(n_voters, self.missing)


class _Opinions(NamedTuple):
    """The labels of a table, and where there is none, if this is so anywhere."""

    labels: NDArray[Any]
    silent: NDArray[np.bool_] | None


class TableGroup:
    """The columns of a table, as voters; `missing` stands for no opinion."""

    missing: Any = None

    def __init__(self, n_voters: int, missing: Any = None) -> None:
        if missing is not None and np.ndim(missing) != 0:
            raise ValueError(f"missing must be one label, got {missing!r}.")
        self.n_voters = n_voters
        self.missing = missing

    @property
    def nothing(self) -> Any:
        """What a vote answers where nobody has an opinion."""
        return None if is_missing(self.missing) else self.missing

    def __len__(self) -> int:
        return self.n_voters

    def __getitem__(self, index: int) -> str:
        return f"column {index}"

    def prepare(self, X: Any) -> Any:
        """Return a table of predicted labels, and where there is none."""
        if np.ndim(X) != 2 or np.shape(X)[1] != self.n_voters:
            raise ValueError(
                f"X must have {self.n_voters} columns of predictions, got shape {np.shape(X)}."
            )
        if self.missing is None:
            return _Opinions(check_labels("X", X, ndim=2), None)
        refuse_mask("X", X)
        table = _cells(X)
        silent = _equal(table, self.missing)
        if not silent.any():
            return _Opinions(check_labels("X", X, ndim=2), None)
        if silent.all():
            return _Opinions(np.zeros(silent.shape, dtype=np.int8), silent)
        filled = table.copy()
        filled[silent] = table[~silent][0]
        return _Opinions(check_labels("X", filled, ndim=2), silent)

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what is in one column, as `Group` says."""
        labels = prepared.labels[:, index]
        if prepared.silent is None:
            return coded(labels, classes)
        codes = np.full(len(labels), SILENT, dtype=np.intp)
        spoken = ~prepared.silent[:, index]
        strange = labels[:0]
        if spoken.any():
            codes[spoken], strange = coded(labels[spoken], classes)
        return codes, strange

    def together(self, members: Sequence[int], prepared: Any, classes: NDArray[Any]) -> None:
        """Return nothing: each column has labels of its own."""
        return


def _cells(X: Any) -> NDArray[Any]:
    """Return a table as an array, in which no cell has become what it was not."""
    if not hasattr(X, "__array__"):
        return np.array(X, dtype=object)
    table = np.asarray(X)
    # Whole numbers of one column beside gaps in another are rounded, beyond 2**53.
    rounded = table.dtype.kind == "f" and hasattr(X, "columns")
    return np.array(X, dtype=object) if rounded or table.dtype.kind == "T" else table


def _equal(table: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Return where a marker stands; for a gap where any is. 1 and "1" are two labels."""
    if table.dtype.kind == "O":
        same = is_missing if is_missing(marker) else lambda cell: _is(cell, marker)
        flat = (same(cell) for cell in table.flat)
        return np.fromiter(flat, dtype=np.bool_, count=table.size).reshape(table.shape)
    if is_missing(marker):
        return np.asarray(table != table)
    own = np.asarray(marker)
    if own.dtype.kind != table.dtype.kind and not {own.dtype.kind, table.dtype.kind} <= set("biuf"):
        return np.zeros(table.shape, dtype=np.bool_)
    return np.asarray(table == marker)


def _is(cell: Any, marker: Any) -> bool:
    """Tell whether a cell that may be a gap, or of another kind, is the marker."""
    return not is_missing(cell) and bool(cell == marker)
