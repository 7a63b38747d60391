"""A set of fitted voters that can be asked for their votes."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Protocol, overload

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._utils.batches import gen_batches
from .._utils.progress import progress_bar
from ..labels import check_labels, check_one_kind, codes_of, merge_labels
from ..statistics import IncompleteStatisticsError, VoteStatistics
from ..statistics.counting import prefer_bits
from ..voting import Ballots, code_type
from .forest import plain_tree

__all__ = ["Column", "Group", "Together", "Voters", "guarded", "predictions"]

# What one voter names: indices into the classes, −1 for any other label and `SILENT` for none, and
# these other labels in their order.
Column = tuple[NDArray[np.integer[Any]], NDArray[Any]]
# Votes, and values of the examples, that are in memory at a time where errors are counted.
_VOTES_AT_ONCE, _VALUES_AT_ONCE = 2**24, 2**25
_UNCHANGING = frozenset({str, bytes, int, float, bool, type(None), np.str_, np.float64, np.int64})


class Together(Protocol):
    """Voters and the data that they are asked about, all at once."""

    def votes(self, n_jobs: int | None, advance: Callable[[int], None]) -> NDArray[Any]:
        """Return what all voters name, as codes by example and voter."""

    def pairs_of_errors(
        self, truth: NDArray[np.integer[Any]], n_jobs: int | None
    ) -> NDArray[np.int64] | None:
        """Return on how many examples both voters of a pair name another code than the true one.

        None if there is no faster way to it than by their votes.
        """


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

    def together(
        self, members: Sequence[int], prepared: Any, classes: NDArray[Any]
    ) -> Together | None:
        """Return some voters as they are asked together, for the very codes of `column`.

        None if each is to be asked by itself, or if one may name other labels than the classes.
        """


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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from certivote import MajorityVoteClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X, y)
    >>> voters = vote.voters_
    >>> len(voters), type(voters[0]).__name__
    (5, 'DecisionTreeClassifier')
    >>> voters.votes(X, vote.classes_).codes.shape
    (150, 5)
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

    def all_classes(self, y: NDArray[Any], announced: ArrayLike | None = None) -> NDArray[Any]:
        """Return the sorted labels of data, of these voters, and those that are announced.

        Parameters
        ----------
        y : ndarray of shape (m,)
            The labels of the data.
        announced : array-like of shape (n_classes,), default=None
            Labels that may come.
        """
        known = [np.unique(y)]
        if announced is not None:
            known.append(check_labels("classes", announced, ndim=1))
            check_one_kind("classes", known[-1])
        for group in self.groups:
            labels = getattr(group, "labels", None)
            if labels is None:
                members = (group[index] for index in range(len(group)))
                known += [member.classes_ for member in members if hasattr(member, "classes_")]
            else:
                known.append(labels)
        try:
            return merge_labels(*known)
        except ValueError:
            raise ValueError(
                f"the voters know labels such as {known[-1][0]!r}, but y has labels such as "
                f"{known[0][0]!r}: they must be of one kind."
            ) from None

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
        tables: list[NDArray[Any]] = []
        first = 0
        with progress_bar("voting", int(asked.sum()), verbose) as advance:
            for group in self.groups:
                members = np.flatnonzero(asked[first : first + len(group)]).tolist()
                first += len(group)
                if not members:
                    continue
                prepared = group.prepare(guarded(X))
                together = group.together(members, prepared, classes)
                if together is not None:
                    tables.append(together.votes(n_jobs, advance))
                    columns += [(column, classes[:0]) for column in tables[-1].T]
                    continue

                def ask(index: int, group: Group = group, prepared: Any = prepared) -> Any:
                    codes, others = group.column(index, prepared, classes)
                    advance()
                    return codes.astype(code_type(classes)), others

                parallel = Parallel(n_jobs=n_jobs, prefer="threads")
                columns += parallel(delayed(ask)(index) for index in members)
        markers = (getattr(group, "nothing", None) for group in self.groups)
        nothing = next((marker for marker in markers if marker is not None), None)
        if len(tables) == 1 and tables[0].shape[1] == len(columns):
            return Ballots(tables[0], classes, nothing)
        return Ballots.collect(columns, classes, nothing)

    def count_errors(
        self, X: Any, y: NDArray[Any], classes: NDArray[Any], n_jobs: int | None = None
    ) -> VoteStatistics:
        """Count the errors of the voters, a few examples at a time, without keeping their votes.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The examples.
        y : ndarray of shape (m,)
            The true labels.
        classes : ndarray of shape (n_classes,)
            The sorted labels.
        n_jobs : int, default=None
            How many voters vote at the same time.

        Returns
        -------
        VoteStatistics
            The counts, as from all their votes.
        """
        if _num_samples(X) != len(y):
            raise ValueError(
                f"X and y must have the same number of rows, got {_num_samples(X)} and {len(y)}."
            )
        pairs = self._pairs_of_errors(X, codes_of(y, classes), classes, n_jobs)
        if pairs is not None:
            return VoteStatistics(len(y), np.diagonal(pairs), pairs)

        def losses() -> Iterator[NDArray[np.bool_]]:
            for rows in gen_batches(len(y), max(1, _VOTES_AT_ONCE // len(self))):
                ballots = self.votes(_safe_indexing(X, rows), classes, n_jobs)
                yield ballots.codes != ballots.truth(y[rows])[:, None]

        try:
            return VoteStatistics.from_chunks(losses())
        except IncompleteStatisticsError as error:
            raise error.__cause__ or error from None

    def _pairs_of_errors(
        self, X: Any, truth: NDArray[np.intp], classes: NDArray[Any], n_jobs: int | None
    ) -> NDArray[np.int64] | None:
        """Return the counts of pairs where the voters are asked together; None if they are not."""
        m, n = len(truth), len(self)
        if len(self.groups) != 1 or prefer_bits(m, n) or np.ndim(X) != 2:
            return None
        if any(plain_tree(voter) is None for voter in self):
            return None
        (group,), total = self.groups, np.zeros((n, n), dtype=np.int64)
        # All parts have about the same size, so that none is too small to be worth its while.
        parts = -(-m * np.shape(X)[1] // _VALUES_AT_ONCE)
        for rows in gen_batches(m, -(-m // max(1, parts))):
            prepared = group.prepare(guarded(_safe_indexing(X, rows)))
            together = group.together(range(n), prepared, classes)
            pairs = None if together is None else together.pairs_of_errors(truth[rows], n_jobs)
            if pairs is None:
                return None
            total += pairs
        return total
