"""A set of fitted voters that can be asked for their votes."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Protocol, overload

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _num_samples

from .._utils.progress import progress_bar
from ..labels import check_labels
from ..voting import Ballots

__all__ = ["Column", "Group", "Voters", "guarded", "predictions"]

# What one voter names: indices into the classes, −1 for any other label and `SILENT` for none, and
# these other labels in their order.
Column = tuple[NDArray[np.integer[Any]], NDArray[Any]]
_UNCHANGING = frozenset({str, bytes, int, float, bool, type(None), np.str_, np.float64, np.int64})


class Group(Protocol):
    """Voters that are asked together, because they share a preparation of the data."""

    def __len__(self) -> int:
        """Return the number of voters."""

    def __getitem__(self, index: int) -> Any:
        """Return one voter."""

    def prepare(self, X: Any) -> Any:
        """Return the data as these voters take it."""

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one voter names, of the sorted classes, on what `prepare` returned."""


def guarded(X: Any) -> Any:
    """Return data that a voter cannot change, for itself, for the other voters or for the caller.

    Of what has no lock, such as a dataframe, it is a copy.
    """
    if isinstance(X, np.ndarray):
        # What is in a cell may be changed in its place, if it is no number, text or the like.
        if X.dtype.kind == "O" and not set(map(type, X.ravel().tolist())) <= _UNCHANGING:
            return deepcopy(X)
        X = X.view()
        X.flags.writeable = False
    elif sparse.issparse(X) and hasattr(X, "indptr"):
        # Some would sort it in its place.
        X = X if X.has_sorted_indices else X.sorted_indices()
        X = type(X)((guarded(X.data), X.indices, X.indptr), shape=X.shape, copy=False)
    elif sparse.issparse(X) or hasattr(X, "iloc"):
        X = X.copy()
    elif isinstance(X, list):
        X = deepcopy(X)
    return X


def predictions(voter: Any, X: Any) -> NDArray[Any]:
    """Return the labels that anything with `predict` predicts, and refuse missing ones."""
    named = voter.predict(guarded(X))
    _check_order(voter, X, named)
    predicted = check_labels(f"the predictions of {type(voter).__name__}", named, None)
    if predicted.shape not in ((_num_samples(X),), (_num_samples(X), 1)):
        scores = predicted.ndim == 2 and predicted.dtype.kind == "f"
        raise ValueError(
            f"the predictions of {type(voter).__name__} must be one label for each of "
            f"{_num_samples(X)} examples, got shape {predicted.shape}"
            + (": probabilities or scores are no labels." if scores else ".")
        )
    return predicted.reshape(-1).copy()  # some write their next answers into the same array


def _check_order(voter: Any, X: Any, named: Any) -> None:
    """Refuse predictions that name the rows of a table in another order than the table does."""
    rows: Any = getattr(X, "index", None)
    predicted: Any = getattr(named, "index", None)
    if not hasattr(rows, "equals") or not hasattr(predicted, "equals") or rows.equals(predicted):
        return
    if rows.sort_values().equals(predicted.sort_values()):
        raise ValueError(
            f"the predictions of {type(voter).__name__} must be in the order of the rows, but "
            "their index has another one."
        )


class Voters(Sequence[Any]):
    """Fitted voters, from one or more groups.

    Parameters
    ----------
    groups : sequence of Group
        The voters.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = list(groups)

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[j] for j in range(len(self))[index]]
        member = range(len(self))[index]
        for group in self.groups:
            if member < len(group):
                break
            member -= len(group)
        return group[member]

    def __iter__(self) -> Iterator[Any]:
        return (self[j] for j in range(len(self)))

    def __repr__(self) -> str:
        return f"Voters({len(self)})"

    def votes(
        self,
        X: Any,
        classes: NDArray[Any],
        n_jobs: int | None = None,
        verbose: int = 0,
        only: NDArray[np.bool_] | None = None,
    ) -> Ballots:
        """Return what each voter predicts for each example.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The examples.
        classes : ndarray of shape (n_classes,)
            The sorted labels.
        n_jobs : int, default=None
            How many voters vote at the same time.
        verbose : int, default=0
            Show a progress bar if positive.
        only : ndarray of shape (n_voters,) of bool, default=None
            Which voters are asked; all if None.

        Returns
        -------
        Ballots
            The labels that they name. These are `classes`, and others that a voter has named.
        """
        asked = np.ones(len(self), dtype=bool) if only is None else only
        columns: list[Column] = []
        first = 0
        with progress_bar("voting", int(asked.sum()), verbose) as advance:
            for group in self.groups:
                members = np.flatnonzero(asked[first : first + len(group)])
                first += len(group)
                if not members.size:
                    continue
                prepared = group.prepare(guarded(X))

                def ask(index: int, group: Group = group, prepared: Any = prepared) -> Any:
                    column = group.column(index, prepared, classes)
                    advance()
                    return column

                parallel = Parallel(n_jobs=n_jobs, prefer="threads")
                columns += parallel(delayed(ask)(int(index)) for index in members)
        markers = (getattr(group, "nothing", None) for group in self.groups)
        nothing = next((marker for marker in markers if marker is not None), None)
        return Ballots.collect(columns, classes, nothing)
