"""Fingerprints of rows: equal for equal rows, different for others, silent on discrete data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from certivote.classifiers._fingerprints import SeenRows, is_hardly_chance, row_fingerprints


def share_seen(X, *seen):
    memory = SeenRows()
    memory.add(*seen)
    return memory.known(X, row_fingerprints(X)).mean()


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(500, 4))


FORMS = {
    "array": np.asarray,
    "float32": lambda rows: rows.astype(np.float32),
    "integers": lambda rows: np.round(rows * 1e6).astype(np.int64),
    "objects": lambda rows: rows.astype(object),
    "words": lambda rows: rows.astype(str),
    "list": lambda rows: rows.tolist(),
    "fortran": np.asfortranarray,
    "pandas": lambda rows: pd.DataFrame(rows, columns=list("abcd")),
    "polars": lambda rows: pl.DataFrame(rows, schema=list("abcd")),
    "mixed frame": lambda rows: pd.DataFrame(rows).assign(word=rows[:, 0].astype(str)),
    "sparse": lambda rows: sparse.csr_matrix(np.where(rows > 0, rows, 0.0)),
    "sparse array": lambda rows: sparse.csr_array(rows),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_equal_rows_have_equal_fingerprints(form, rows):
    order = np.random.default_rng(1).permutation(500)
    first, shuffled = row_fingerprints(form(rows)), row_fingerprints(form(rows[order]))
    assert first.shape == (500,)
    assert np.array_equal(first[order], shuffled)
    # Four positive numbers in a row or none: only all-zero rows of the sparse form are the same.
    n_distinct = len(np.unique(np.where(rows > 0, rows, 0.0), axis=0))
    assert len(np.unique(first)) >= n_distinct
    assert share_seen(form(rows[:400]), row_fingerprints(form(rows))) == 1.0


def test_forms_of_the_same_numbers_agree(rows):
    expected = row_fingerprints(rows)
    for name in ("list", "fortran", "pandas", "polars", "sparse array"):
        assert np.array_equal(row_fingerprints(FORMS[name](rows)), expected)


def test_zero_has_no_sign():
    assert len(set(row_fingerprints([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]]).tolist())) == 1
    stored = sparse.csr_array((np.array([0.0, 1.0, 1.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    assert len(set(row_fingerprints(stored).tolist())) == 1


def test_missing_values_are_equal():
    first = row_fingerprints([[np.nan, 1.0], [np.nan, 1.0], [np.nan, 2.0]])
    assert first[0] == first[1] != first[2]


def test_order_of_columns_matters():
    assert len(set(row_fingerprints([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0], [0.0, 3.0]]))) == 4


@pytest.mark.parametrize("kind", ["normal", "integers", "single bits", "steps", "text"])
def test_no_collisions_in_a_hundred_thousand_rows(kind):
    rng = np.random.default_rng(0)
    if kind == "normal":
        table = rng.normal(size=(100_000, 3))
    elif kind == "integers":  # 317² different pairs of small integers
        table = np.stack(np.meshgrid(np.arange(317), np.arange(317)), axis=-1).reshape(-1, 2)
    elif kind == "single bits":
        table = ((np.arange(100_000)[:, None] >> np.arange(17)) & 1).astype(float)
    elif kind == "steps":
        table = np.arange(100_000)[:, None] * 0.25
    else:
        table = np.array([[f"a{k // 400}", f"b{k % 400}"] for k in range(100_000)])
    assert len(np.unique(row_fingerprints(table))) == len(table)


def test_sparse_does_not_change_its_argument():
    stored = sparse.csr_array((np.array([0.0, 1.0]), ([0, 0], [0, 1])), shape=(1, 2))
    row_fingerprints(stored)
    assert stored.nnz == 2


def test_share(rows):
    seen = row_fingerprints(rows[:300])
    assert share_seen(rows[300:], seen) == 0.0
    assert share_seen(rows[200:400], seen) == 0.5
    assert share_seen(rows[:300] + 1e-3, seen) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_discrete_rows_tell_nothing(seed):
    # Sixteen different rows: every new example was seen before, by chance.
    rng = np.random.default_rng(seed)
    first, second = rng.integers(2, size=(2, 200, 4))
    assert share_seen(second, row_fingerprints(first)) == 0.0
    # Rows that repeat do not tell examples apart; a whole batch that comes again does.
    assert share_seen(first[::-1], row_fingerprints(first)) == 1.0


def test_the_same_rows_in_another_container_have_the_same_fingerprints():
    dense = np.random.default_rng(0).normal(size=(50, 4)).round(3)
    dense[dense < 0] = 0.0
    expected = row_fingerprints(dense)
    for other in (
        dense.astype(np.float32),
        dense.astype(object),
        dense.tolist(),
        np.asfortranarray(dense),
        pd.DataFrame(dense, columns=list("abcd")),
        sparse.csr_matrix(dense),
    ):
        np.testing.assert_array_equal(row_fingerprints(other), expected)


def distributions(rng):
    """Discrete distributions of every kind: even, of few and many, with tails, with two scales."""
    size = int(10 ** rng.uniform(1.2, 4.0))
    yield np.ones(size)
    yield 1.0 / np.arange(1, size + 1) ** rng.uniform(0.5, 2.0)
    yield rng.exponential(size=size) ** 3
    yield np.r_[np.ones(size), np.full(50, size / 50)]


@pytest.mark.parametrize("seed", range(20))
def test_independent_draws_that_repeat_are_chance(seed):
    rng = np.random.default_rng(seed)
    for weights in distributions(rng):
        rows = rng.choice(len(weights), 3000, p=weights / weights.sum())[:, None]
        assert not is_hardly_chance(rows, row_fingerprints(rows))


@pytest.mark.parametrize("copies", [300, 500, 1000])
def test_copies_among_draws_of_discrete_rows_are_not(copies):
    """Some of the draws are equal by chance, and some rows were copied once."""
    rng = np.random.default_rng(copies)
    drawn = rng.integers(30_000, size=1000)
    assert np.unique(drawn).size < 1000
    rows = np.r_[drawn, rng.choice(drawn, copies, replace=False)][:, None]
    assert is_hardly_chance(rows, row_fingerprints(rows))
