"""Voters are added by position: shards that name them in another order are refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from certivote import IncompleteStatisticsError, UnlabelledStatistics, VoteStatistics, certify
from certivote.parquet import ParquetLosses

NAMES = ["good", "b", "c", "d"]
OTHER = ["b", "good", "c", "d"]
REFUSED = r"must name the same voters in the same order, got 'b' for voter 0, which is 'good'"


def shard(seed, names=NAMES, m=300):
    """Predicted labels under the names of the voters, in this order, and the true ones."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    wrong = rng.random((m, 4)) < [0.05, 0.4, 0.4, 0.4]
    return pd.DataFrame(np.where(wrong, 1 - y[:, None], y[:, None]), columns=NAMES)[names], y


def losses(seed, names=NAMES):
    votes, y = shard(seed, names)
    return (y != votes.T).T.astype(int)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_shards_of_votes_in_another_order(library):
    (one, y), (two, z) = shard(0), shard(1, OTHER)
    first = VoteStatistics.from_votes(library(one), y)
    with pytest.raises(ValueError, match=REFUSED):
        first + VoteStatistics.from_votes(library(two), z)
    with pytest.raises(ValueError, match=REFUSED):
        sum([first, VoteStatistics.from_votes(two.to_numpy(), z), losses_of(two, z)])
    both = first + VoteStatistics.from_votes(library(two[NAMES]), z)
    whole = np.vstack([one, two[NAMES]]) != np.concatenate([y, z])[:, None]
    np.testing.assert_array_equal(both.errors, whole.sum(axis=0))
    assert both.voters == tuple(NAMES)


def losses_of(votes, y):
    return VoteStatistics.from_losses((y != votes.T).T)


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_names_are_kept(way, tmp_path):
    first = VoteStatistics.from_losses(losses(0))
    if way == "file":
        first.save(tmp_path / "first.npz")
        again = VoteStatistics.load(tmp_path / "first.npz")
    else:
        again = pickle.loads(pickle.dumps(first))
    assert again == first
    assert again.voters == tuple(NAMES)
    with pytest.raises(ValueError, match=REFUSED):
        again + VoteStatistics.from_losses(losses(1, OTHER))
    # They are of no certificate: the same counts without names have the same digest.
    assert again.sha256 == VoteStatistics.from_losses(losses(0).to_numpy()).sha256


def test_chunks_in_another_order():
    with pytest.raises(IncompleteStatisticsError, match=rf"losses \(chunk 1\) {REFUSED}") as info:
        VoteStatistics.from_chunks([losses(0), losses(1, OTHER)])
    assert info.value.statistics == VoteStatistics.from_losses(losses(0))
    together = VoteStatistics.from_chunks([losses(0), losses(1).to_numpy(), losses(2)])
    expected = sum(losses(seed).to_numpy().sum(axis=0) for seed in range(3))
    np.testing.assert_array_equal(together.errors, expected)


def test_parquet_files_in_another_order(tmp_path):
    for name, seed, names in (("one", 0, NAMES), ("two", 1, OTHER)):
        votes, y = shard(seed, names)
        votes.assign(y=y).to_parquet(tmp_path / f"{name}.parquet")
    one, two = (
        VoteStatistics.from_chunks(ParquetLosses(tmp_path / f"{name}.parquet", "y"))
        for name in ("one", "two")
    )
    with pytest.raises(ValueError, match=REFUSED):
        one + two
    asked = ParquetLosses(tmp_path / "two.parquet", "y", NAMES)
    both = one + VoteStatistics.from_chunks(asked)
    expected = losses(0).sum() + losses(1).sum()
    assert dict(zip(both.voters, both.errors.tolist(), strict=True)) == expected.to_dict()


def test_unlabelled_votes_in_another_order():
    labelled = VoteStatistics.from_votes(*shard(0))
    more, other = (UnlabelledStatistics.from_votes(shard(1, names)[0]) for names in (NAMES, OTHER))
    with pytest.raises(ValueError, match=REFUSED):
        more + other
    with pytest.raises(ValueError, match=REFUSED):
        labelled.with_unlabelled(other)
    with pytest.raises(ValueError, match=REFUSED):
        UnlabelledStatistics.from_chunks([shard(1)[0], shard(2, OTHER)[0]])
    assert labelled.with_unlabelled(more).unlabelled == more


def test_weights_in_another_order_than_the_statistics():
    statistics = VoteStatistics.from_votes(*shard(0))
    weights = pd.Series([0.7, 0.1, 0.1, 0.1], NAMES)
    assert certify(statistics, weights=weights).weights[0] == pytest.approx(0.7)
    with pytest.raises(ValueError, match="must name the voters in the same order"):
        certify(statistics, weights=weights[OTHER])


def test_columns_that_pandas_numbered_go_with_any_names():
    numbered, more = (pd.DataFrame(losses(seed).to_numpy()) for seed in (1, 2))
    both = VoteStatistics.from_losses(losses(0)) + VoteStatistics.from_losses(numbered)
    assert both.voters == tuple(NAMES)
    assert (VoteStatistics.from_losses(more) + both).voters == tuple(NAMES)
    with pytest.raises(ValueError, match="got '1' for voter 0, which is '0' before"):
        VoteStatistics.from_chunks([numbered, numbered[[1, 0, 2, 3]]])
