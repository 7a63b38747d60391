"""Labels that are not equal stay so, whatever numpy, pandas and Arrow would make of them."""

import collections
import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.dtypes import StringDType

from certivote import VoteStatistics, certify
from certivote.parquet import ParquetLosses

M = 200
LATE = np.full(M, np.datetime64("9999-01-01"))
# Votes and labels that differ everywhere, or on every second row, and would become equal.
UNEQUAL = {
    "a number and its text": ([1, "x"] * M, ["1", "x"] * M),
    "bytes and text": ([b"a", "b"] * M, ["a", "b"] * M),
    "whole numbers beside broken ones": ([2**53 + 1, 0.5] * M, [2**53, 0.5] * M),
    "numbers beyond 64 bits": ([2**63 + 1, -1] * M, [2**63, -1] * M),
    "texts that end in null": (["a\0"] * M, ["a"] * M),
    "bytes that end in null": ([b"\1\0"] * M, [b"\1"] * M),
    "complex numbers": (np.full(M, 2**53 + 1), np.full(M, 2**53, dtype=complex)),
    "dates that wrap": ((LATE.astype("i8") * 86400 * 10**9).astype("M8[ns]"), LATE),
    "dates and numbers": (np.full(M, 5, "M8[ns]"), np.full(M, 5, dtype=object)),
    "times and numbers": (np.full(M, 5, "m8[ns]"), np.full(M, 5, dtype=object)),
    "broken numbers of two types": (np.full(M, 0.1, np.float32), np.full(M, 0.1)),
}
EQUAL = {
    "dates of two units": (LATE.astype("M8[s]"), LATE),
    "dates of pandas": (pd.Series(pd.to_datetime(["2020-01-01"] * M)),) * 2,
    "dates of Python": ([datetime.date(2020, 1, 1)] * M,) * 2,
    "decimals": ([Decimal("0.1")] * M,) * 2,
    "truth and numbers": ([True, False] * M, [1, 0] * M),
    "numbers of two types": ([1, 2] * M, np.array([1.0, 2.0] * M)),
    "large numbers": ([2**60 + 1] * M, np.full(M, 2**60 + 1)),
    "numbers beyond any type": ([2**70 + 1] * M, [2**70 + 1] * M),
    "texts and objects": (["a", "bb"] * M, np.array(["a", "bb"] * M, dtype=object)),
    "long texts": (["a" * 1000, "b"] * M, np.array(["a" * 1000, "b"] * M)),
    "strings of numpy": (np.array(["a"] * M, dtype=StringDType()), np.array(["a"] * M)),
}


@pytest.mark.parametrize("labels", UNEQUAL)
def test_different_labels_are_refused_or_errors(labels):
    """Of these predictions at least every second is wrong."""
    votes, y = UNEQUAL[labels]
    try:
        certificate = certify(votes, y)
    except ValueError as error:
        assert "votes" in str(error) or "labels" in str(error) or "y must" in str(error)  # noqa: PT017
    else:
        assert certificate.evidence["vote_errors"] >= len(y) / 2


@pytest.mark.parametrize("labels", EQUAL)
def test_equal_labels_are_right(labels):
    votes, y = EQUAL[labels]
    assert certify(votes, y).evidence["vote_errors"] == 0


def test_numbers_and_texts_of_one_list_are_two_labels():
    assert VoteStatistics.from_votes([[1, "1"]] * M, ["1"] * M).errors.tolist() == [M, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_of_whole_and_broken_numbers_rounds_nothing(frame):
    table = frame({"one": np.full(M, 2**53 + 1), "two": np.full(M, 2.0**53)})
    with pytest.raises(ValueError, match=r"votes must hold numbers below 2\*\*53"):
        VoteStatistics.from_votes(table, np.full(M, 2.0**53))


@pytest.mark.parametrize("missing", ["", "none", None, float("nan")])
def test_missing_strings_of_numpy(missing):
    votes = np.array([missing] * M, dtype=StringDType(na_object=missing))
    with pytest.raises(ValueError, match="votes must not have missing labels"):
        certify(votes, votes)


def test_masked_arrays_in_any_sequence():
    rows = collections.deque([np.ma.array([1, 1], mask=[True, True])] * M)
    with pytest.raises(ValueError, match="votes must not have masked values"):
        certify(rows, [1] * M)


@pytest.mark.parametrize(
    ("votes", "y"),
    [
        (pa.array([Decimal(2**53 + 1)] * M), pa.array([2.0**53] * M)),
        (pa.array([Decimal("0.1")] * M), pa.array([0.1] * M)),
        (pa.array([b"a"] * M), pa.array(["a"] * M)),
        (pa.array([datetime.date(2020, 1, 1)] * M), pa.array([datetime.datetime(2020, 1, 1)] * M)),
    ],
    ids=["decimal", "tenth", "bytes", "date"],
)
def test_columns_that_arrow_would_cast(votes, y, tmp_path):
    pq.write_table(pa.table({"vote": votes, "y": y}), tmp_path / "votes.parquet")
    with pytest.raises(ValueError, match="'vote' must hold labels of one kind with 'y'"):
        VoteStatistics.from_chunks(ParquetLosses(tmp_path / "votes.parquet", "y"))


def test_columns_of_one_kind_are_counted(tmp_path):
    table = {"whole": pa.array([1, 2] * M), "large": pa.array([1.0, 3.0] * M)}
    pq.write_table(pa.table({**table, "y": pa.array([1, 2] * M)}), tmp_path / "votes.parquet")
    losses = ParquetLosses(tmp_path / "votes.parquet", "y")
    assert VoteStatistics.from_chunks(losses).errors.tolist() == [0, M]
