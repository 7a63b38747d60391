"""The same statistics, counted where the data is by a cluster of Dask workers (needs dask)."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ._utils.progress import progress_bar
from .labels import UNKNOWN, check_aligned, check_labels, check_targets, codes_of, same_names
from .statistics import IncompleteStatisticsError, VoteStatistics
from .statistics.cores import one_core

__all__ = ["from_dask"]

# So many tables are added up in one task.
_FAN_IN = 8
# So often the work begins again where all that had the voters are gone.
_ATTEMPTS = 3
# Of voters, if they have names.
_Names: TypeAlias = tuple[str, ...] | None
_LOST = (
    "the cluster has lost what it was sent, time and again: every worker that had the voters or "
    "the data is gone, or the work was cancelled. Count again."
)
_UNSEEN = "y has labels that this vote has never seen, on examples of the cluster."


def from_dask(
    data: Any,
    y: Any = None,
    *,
    voters: Any = None,
    fixed_votes: ArrayLike | None = None,
    client: Any = None,
    verbose: int = 0,
) -> VoteStatistics:
    """Vote and count on the workers of a Dask cluster, partition by partition.

    Each partition is counted where it is. Each worker adds up its own counts, and those of the
    workers are added in a tree: n × n integers per worker are all that moves, besides the voters,
    which are sent once. Sums of integers do not depend on their order, and every partition has one
    place in them: a worker that dies, or a partition that is computed twice, changes nothing.

    Parameters
    ----------
    data : dask.array.Array, dask.dataframe.DataFrame, or sequence of delayed objects or futures
        One row per example: the examples themselves if there are `voters`; else predicted labels,
        one column per voter, if there are labels `y`; else 0/1 losses.
    y : dask.array.Array, dask.dataframe.Series, sequence of delayed objects, or str, default=None
        The true labels, cut like `data`; the name of a column of a dataframe.
    voters : fitted vote or callable, default=None
        A fitted `MajorityVoteClassifier` or another vote of this library, whose voters vote, and
        which looks for the rows that it was fitted on as its `certify` does; or a function that
        takes the examples of a partition, and returns labels of shape (m, n).
    fixed_votes : array-like of shape (M, n), default=None
        The weights of votes, fixed before the sample, whose own errors are counted too, as in
        `VoteStatistics.from_votes`.
    client : distributed.Client, default=None
        The cluster; the current client if None.
    verbose : int, default=0
        Show a progress bar if positive.

    Returns
    -------
    VoteStatistics
        The counts, identical to the last bit to those of one machine.

    Raises
    ------
    IncompleteStatisticsError
        If a partition cannot be computed or counted. The error has the numbers of all such
        partitions, and the statistics of the others.
    ValueError
        If more than a few of the examples are of those that the vote was fitted on.
    RuntimeError
        If every worker that has the voters dies, three times: after the first two the voters are
        sent again, and all is counted anew.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from certivote.distributed import from_dask
    >>> losses = da.from_array([[0, 1], [1, 1], [0, 0], [1, 0]], chunks=(2, 2))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     from_dask(losses).errors
    array([2, 2])
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError("from_dask needs Dask: pip install 'certivote[dask]'.") from error
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ValueError("client must be given, as there is no current one.") from error
    tables, labels = _partitions(data, y)
    counting: Any = _Counting(voters, fixed_votes, y if isinstance(y, str) else None)
    if hasattr(data, "columns"):
        from dask.dataframe.utils import make_meta

        counting.check_names(make_meta(data))
    if counting.holds_voters and y is None:
        raise ValueError("y must be given with voters or fixed_votes: the true labels.")
    reason: Exception | None = None
    for _ in range(_ATTEMPTS):
        try:
            return _count_all(client, tables, labels, counting, voters, verbose)
        except _LostError as error:
            reason = error
        except TimeoutError as error:
            if reason is None:
                raise
            reason = error  # the voters were lost, and there is no worker to send them to
        if client.status != "running":
            break
    raise RuntimeError(_LOST) from reason


class _LostError(Exception):
    """What the cluster was sent is gone."""


def _count_all(
    client: Any, tables: list[Any], labels: list[Any], counting: Any, voters: Any, verbose: int
) -> VoteStatistics:
    """Count every partition, and add up."""
    import distributed
    from dask import delayed

    if counting.holds_voters:
        # To one worker, from which the others take it when they need it. Copies that nobody needs
        # yet Dask's memory manager removes: after a broadcast they would have to be sent again.
        counting = client.scatter(counting, hash=False)
    count = delayed(_count, pure=False)
    leaves = client.compute(
        [count(table, label, counting) for table, label in zip(tables, labels, strict=True)]
    )
    try:
        with progress_bar("counting", len(leaves), verbose, unit="partitions") as advance:
            return _add_up(client, leaves, advance, getattr(voters, "examine_known", None))
    except distributed.CancelledError as error:  # whichever was asked for when it was lost
        raise _LostError from error


def _partitions(data: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """Return the tables and the labels of the partitions, None where there are no labels."""
    if isinstance(y, str):
        if not hasattr(data, "columns") or y not in data.columns:
            raise ValueError(f"y must be a column of data, or labels, got {y!r}.")
        y = None  # it is taken off where the partition is
    if hasattr(data, "numblocks"):
        if data.ndim != 2:
            raise ValueError(f"data must have 2 dimensions, got {data.ndim}.")
        data = data.rechunk({1: -1}) if data.numblocks[1] > 1 else data
        if hasattr(y, "rechunk") and data.shape[0] == y.shape[0]:
            y = y.rechunk((data.chunks[0],))
    tables = _to_list("data", data)
    labels = [None] * len(tables) if y is None else _to_list("y", y)
    if len(tables) != len(labels):
        raise ValueError(
            f"y must be cut like data, got {len(labels)} and {len(tables)} partitions. Of a "
            "dataframe give the name of the column instead."
        )
    if not tables:
        raise ValueError("data must have at least one partition, got none.")
    return tables, labels


def _to_list(name: str, parts: Any) -> list[Any]:
    if hasattr(parts, "to_delayed"):
        return list(np.ravel(parts.to_delayed()))
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise TypeError(
            f"{name} must be a Dask array or dataframe, or a sequence of delayed objects, got "
            f"{type(parts).__name__}."
        )
    return list(parts)


class _Columns(BaseEstimator):
    """The features that a vote was fitted on, as scikit-learn checks them."""


class _Counting:
    """What every worker needs to know to count a partition: voters, fixed votes, labels."""

    def __init__(self, voters: Any, fixed_votes: ArrayLike | None, label: str | None) -> None:
        fitted = hasattr(voters, "voters_") and hasattr(voters, "classes_")
        if voters is not None and not fitted and not callable(voters):
            raise TypeError(
                "voters must be a fitted vote or a function from examples to labels, got "
                f"{type(voters).__name__}."
            )
        self._function = None if fitted else voters
        # Of a fitted vote only the voters are sent, and which rows it has seen.
        self._voters: Any = voters.voters_ if fitted else None
        self._seen: Any = voters.seen_rows() if hasattr(voters, "seen_rows") else None
        self._labels: Any = check_labels("classes_", voters.classes_, ndim=1) if fitted else None
        self._columns = _Columns()
        for name in ("n_features_in_", "feature_names_in_"):
            if fitted and hasattr(voters, name):
                setattr(self._columns, name, getattr(voters, name))
        self._fixed_votes, self._label = fixed_votes, label

    @property
    def holds_voters(self) -> bool:
        """Whether there is more to send than where the labels are."""
        return any(x is not None for x in (self._function, self._voters, self._fixed_votes))

    def check_names(self, table: Any) -> Any:
        """Return the table without its labels; refuse other features than the vote's."""
        if self._label is not None:
            table = table.drop(columns=[self._label])
        if self._voters is not None:
            validate_data(self._columns, table, reset=False, skip_check_array=True)
        return table

    def __call__(self, table: Any, labels: Any) -> "_Leaf":
        labels = labels if self._label is None else table[self._label]
        check_aligned(data=table, y=labels)
        table = self.check_names(table)
        if labels is not None:
            labels = check_targets("y", labels)
        known = 0 if self._seen is None else self._seen.count(table)
        return _Leaf(self._counted(table, labels), known)

    def _counted(self, table: Any, labels: Any) -> VoteStatistics:
        findings: tuple[str, ...] = ()
        missing = None
        if self._voters is not None:
            if np.any(codes_of(labels, self._labels) == UNKNOWN):
                import distributed

                findings = (_UNSEEN,)
                distributed.warn(_UNSEEN)
            if self._fixed_votes is None:
                counted: VoteStatistics = self._voters.count_errors(table, labels, self._labels)
                counted.findings = findings
                return counted
            ballots = self._voters.votes(table, self._labels)
            table, labels, missing = ballots.codes, ballots.truth(labels), ballots.missing
        elif self._function is not None:
            table = self._function(table)
        if labels is None:
            return VoteStatistics.from_losses(table)
        statistics = VoteStatistics.from_votes(
            table, labels, fixed_votes=self._fixed_votes, missing=missing
        )
        statistics.findings = findings
        return statistics


class _Leaf(NamedTuple):
    """What is counted of a partition: the errors, and the rows that the vote was fitted on."""

    statistics: VoteStatistics
    known: int


class _Note(NamedTuple):
    """What is told of a partition: its voters, its rows, and where it was counted."""

    n_voters: int
    names: _Names
    n_samples: int
    known: int
    address: str


def _count(table: Any, labels: Any, counting: _Counting) -> _Leaf:
    """Count one partition, on the one core that Dask gives to a task."""
    with one_core():
        return counting(table, labels)


def _describe(leaf: _Leaf) -> _Note:
    """Return what the client needs to know of a partition that was counted."""
    import distributed

    own, known = leaf
    address = distributed.get_worker().address
    return _Note(own.n_voters, own.voters, own.n_samples, known, address)


def _merge(parts: Sequence[VoteStatistics | _Leaf]) -> VoteStatistics:
    first, *others = (part.statistics if isinstance(part, _Leaf) else part for part in parts)
    return sum(others, start=first)


def _add_up(
    client: Any,
    leaves: list[Any],
    advance: Callable[[], None],
    examine_known: Callable[[int, int], list[str]] | None,
) -> VoteStatistics:
    """Add up the partitions as they are done: first on each worker, then over the workers."""
    import distributed

    notes = {client.submit(_describe, leaf, pure=False): k for k, leaf in enumerate(leaves)}
    piles: dict[tuple[int, _Names, str], list[Any]] = defaultdict(list)
    failures: dict[int, str] = {}
    told: dict[int, _Note] = {}
    completed = distributed.as_completed(list(notes))
    for note in completed:
        if note.status == "lost":
            completed.add(note)  # its worker has died since, and another one does it again
            continue
        k = notes.pop(note)
        # Whatever is merged is forgotten here, so that its worker can forget it too.
        leaf, leaves[k] = leaves[k], None
        advance()
        if note.status == "cancelled":
            raise _LostError
        if note.status == "error":
            error = note.exception()
            failures[k] = f"{type(error).__name__}: {error}"
            continue
        told[k] = note.result()
        address = told[k].address
        pile = piles[told[k].n_voters, told[k].names, address]
        pile.append(leaf)
        if len(pile) == _FAN_IN:
            # On the worker that has them, or on another one if that dies.
            where = {"workers": [address], "allow_other_workers": True}
            pile[:] = [client.submit(_merge, list(pile), **where, pure=False)]
    if not told:
        raise _incomplete(failures, None)
    wrong = _other_voters(told)
    failures |= wrong
    good = [one for k, one in told.items() if k not in wrong]
    right = {(one.n_voters, one.names) for one in good}
    findings: list[str] = []
    if examine_known is not None:
        known, size = sum(one.known for one in good), sum(one.n_samples for one in good)
        try:
            findings = examine_known(known, size)
        except ValueError as error:
            if not failures:
                raise
            findings = [str(error)]  # what is kept of the others says so
    for text in findings:
        warnings.warn(text, stacklevel=3)
    sums = [
        client.submit(_merge, pile, workers=[address], allow_other_workers=True, pure=False)
        for (number, names, address), pile in piles.items()
        if (number, names) in right
    ]
    piles.clear()
    while len(sums) > 1:
        groups = [sums[start : start + _FAN_IN] for start in range(0, len(sums), _FAN_IN)]
        sums = [client.submit(_merge, group, pure=False) for group in groups]
    statistics: VoteStatistics = sums[0].result()
    statistics = statistics.without_order()
    statistics.findings = (*statistics.findings, *findings)
    if failures:
        raise _incomplete(failures, statistics)
    return statistics


def _other_voters(told: dict[int, _Note]) -> dict[int, str]:
    """Return what is wrong with the partitions whose voters are not those of the first one."""
    first = min(told)
    n, expected = told[first].n_voters, told[first].names
    wrong = {}
    for k in sorted(told):
        number = told[k].n_voters
        if number != n:
            wrong[k] = f"it must have {n} voters like partition {first}, got {number}"
            continue
        try:
            expected = same_names("it", expected, told[k].names)
        except ValueError as error:
            wrong[k] = str(error)
    return wrong


def _incomplete(
    failures: dict[int, str], statistics: VoteStatistics | None
) -> IncompleteStatisticsError:
    first, *others = sorted(failures)
    more = f" (nor can {', '.join(map(str, others))})" if others else ""
    reason = failures[first].rstrip(".")
    message = f"partition {first} cannot be counted{more}: {reason}."
    return IncompleteStatisticsError(message, first, statistics, [first, *others])
