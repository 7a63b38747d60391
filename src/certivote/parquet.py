"""Losses from a Parquet file of votes, a few rows at a time (needs pyarrow)."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ParquetLosses"]

# Votes read at a time: a row group may be larger than memory.
_BATCH_VALUES = 2**24


class ParquetLosses:
    """The 0/1 losses of a Parquet file with a column per voter and one of true labels.

    Iterating reads the file once, row group by row group, with memory for a few rows only; each
    iteration starts again. For `VoteStatistics.from_chunks`, which remembers the names of the
    voters: the statistics of several files are added where all name them in one order.

    Parameters
    ----------
    path : str or path-like
        The file.
    label : str
        The column of the true labels.
    voters : sequence of str, default=None
        The columns of predicted labels, in the order of the voters; all others if None.

    Attributes
    ----------
    n_samples : int
        The number of rows.
    voters : list of str
        The columns of the voters.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from certivote import VoteStatistics
    >>> from certivote.parquet import ParquetLosses
    >>> table = pa.table({"one": ["a", "b", "b"], "two": ["a", "a", "a"], "y": ["a", "b", "a"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/votes.parquet", row_group_size=2)
    ...     losses = ParquetLosses(f"{folder}/votes.parquet", label="y")
    ...     VoteStatistics.from_chunks(losses).errors
    array([1, 1])
    """

    def __init__(
        self, path: str | os.PathLike[str], label: str, voters: Sequence[str] | None = None
    ) -> None:
        try:
            from pyarrow import ArrowInvalid
            from pyarrow.parquet import read_metadata, read_schema
        except ImportError as error:
            raise ImportError("ParquetLosses needs pyarrow: pip install pyarrow.") from error
        self.path, self.label = os.fspath(path), label
        try:
            names = read_schema(path).names
        except ArrowInvalid as error:
            raise ValueError(f"{self.path} must be a whole Parquet file: {error}") from error
        self.voters = [name for name in names if name != label] if voters is None else list(voters)
        for name in (label, *self.voters):
            if name not in names:
                raise ValueError(f"label and voters must be columns of {self.path}, got {name!r}.")
        if label in self.voters:
            raise ValueError(f"voters must not include {label!r}, the column of the true labels.")
        if not self.voters:
            raise ValueError(f"voters must be columns of {self.path}, which has the label only.")
        self.n_samples = int(read_metadata(path).num_rows)

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        from pyarrow.parquet import ParquetFile

        rows = max(1, _BATCH_VALUES // (len(self.voters) + 1))
        with ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                batches = file.iter_batches(rows, [group], [*self.voters, self.label])
                for batch in batches:
                    y = self._column(batch, self.label, group)
                    yield np.stack(
                        [self._losses(batch, voter, y, group) for voter in self.voters], axis=1
                    )

    def _column(self, batch: Any, name: str, group: int) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = batch.column(name)
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary_decode()
        missing = column.null_count > 0
        if not missing and pa.types.is_floating(column.type):
            missing = pc.any(pc.is_nan(column)).as_py()
        if missing:
            raise ValueError(
                f"column {name!r} must not have missing labels, but row group {group} of "
                f"{self.path} has some."
            )
        return column

    def _losses(self, batch: Any, voter: str, y: Any, group: int) -> NDArray[np.bool_]:
        import pyarrow as pa
        import pyarrow.compute as pc

        votes = self._column(batch, voter, group)
        try:
            if _kind(votes.type) != _kind(y.type):
                raise pa.ArrowInvalid("a cast would make labels equal that are not.")
            wrong = pc.not_equal(votes, y)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"column {voter!r} must hold labels of one kind with {self.label!r}, got "
                f"{votes.type} and {y.type}."
            ) from error
        losses: NDArray[np.bool_] = wrong.to_numpy(zero_copy_only=False)
        return losses


def _kind(column: Any) -> str:
    """Return a name for the types that may be compared: Arrow casts between more of them."""
    import pyarrow as pa

    types = pa.types
    if types.is_integer(column) or types.is_floating(column):
        return "number"  # a number that the other type cannot hold is refused
    if types.is_string(column) or types.is_large_string(column):
        return "text"
    return "time" if types.is_timestamp(column) and column.tz is None else str(column)
