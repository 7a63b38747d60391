"""The tables, against pandas."""

import io

import numpy as np
import pandas as pd
import pytest

from certivote.datasets import load
from certivote.datasets._tables import (
    TABLES,
    Recipe,
    encode,
    labels,
    parse,
    scale,
    shuffled_split,
)


def by_pandas(source, recipe, na_values="?", **options):
    """The encoded and scaled inputs, and the column of labels, as pandas makes them."""
    frame = pd.read_csv(
        source,
        header=None,
        skipinitialspace=True,
        na_values=na_values,
        keep_default_na=False,
        **options,
    ).dropna()
    inputs = frame.drop(columns=[recipe.label, *recipe.ignored])
    if recipe.codes:
        codes = {symbol: float(code) for symbol, code in recipe.codes.items()}
        inputs = inputs.apply(lambda column: column.map(codes))
    X = pd.get_dummies(inputs, columns=list(recipe.categorical)).to_numpy().astype(np.float32)
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)), frame[recipe.label]


def by_global_seed(n, share):
    np.random.seed(42)  # noqa: NPY002
    order = np.arange(n)
    np.random.shuffle(order)  # noqa: NPY002
    return order[: int(share * n)], order[int(share * n) :]


def assert_parts(dataset, X, y, test, train):
    np.testing.assert_array_equal(dataset.X_train, X[train])
    np.testing.assert_array_equal(dataset.X_test, X[test])
    np.testing.assert_array_equal(dataset.y_train, y[train])
    np.testing.assert_array_equal(dataset.y_test, y[test])


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_bit_for_bit_that_of_pandas(name, data):
    recipe = TABLES[name]
    na_values = [] if name == "usvotes" else "?"
    X, raw = by_pandas(data / recipe.file, recipe, na_values)
    y = np.where(raw.astype(str).isin(recipe.negative), -1, 1)
    assert_parts(load(name), X, y, *by_global_seed(len(y), 0.5))


def test_letters_are_chosen_after_the_split_of_all(data):
    recipe = Recipe("uci/letter-recognition.data", 0, ())
    X, raw = by_pandas(data / recipe.file, recipe)
    test, train = by_global_seed(len(X), 0.15)
    letters = raw.to_numpy()
    test, train = (part[np.isin(letters[part], ["D", "O"])] for part in (test, train))
    assert_parts(load("letter:DvsO"), X, np.where(letters == "D", -1, 1), test, train)


def test_adult_is_encoded_over_both_files_in_their_order(data):
    recipe = Recipe("", 14, (), categorical=(1, 3, 5, 6, 7, 8, 9, 13))
    # Only the train file has a row from this country: encoded apart, the columns would differ.
    train, test = ((data / f"uci/adult.{part}").read_text() for part in ("data", "test"))
    assert "Holand" in train
    assert "Holand" not in test
    both = io.StringIO(train + test.partition("\n")[2])
    X, raw = by_pandas(both, recipe)
    y = np.where(raw.str.startswith("<="), -1, 1)
    assert_parts(load("adult"), X, y, np.arange(30162, len(y)), np.arange(30162))


def test_the_order_of_get_dummies():
    text = "b,1,z,10\na,2,y,-5\n\nb,3,?,0\n|a comment\nc, 4, x,7\n"
    recipe = Recipe("", 1, {"1"}, categorical=(0, 2))
    rows = parse(text.encode())
    assert rows == [["b", "1", "z", "10"], ["a", "2", "y", "-5"], ["c", "4", "x", "7"]]
    X = encode(rows, recipe)
    frame = pd.DataFrame(rows, columns=list("abcd")).drop(columns="b").astype({"d": float})
    np.testing.assert_array_equal(X, pd.get_dummies(frame).to_numpy().astype(np.float32))
    assert X.dtype == np.float32
    np.testing.assert_array_equal(scale(X)[:, 0], np.float32([1, 0, 0.8]))
    np.testing.assert_array_equal(labels(rows, 1, {"1"}), [-1, 1, 1])


def test_a_missing_value_can_be_a_category():
    rows = parse(b"?,y\nn,?\n", drop_missing=False)
    X = encode(rows, Recipe("", 1, (), categorical=(0,)))
    np.testing.assert_array_equal(X, [[1, 0], [0, 1]])


@pytest.mark.parametrize(("n", "share"), [(214, 0.5), (435, 0.5), (20000, 0.15), (3, 0.5)])
def test_the_split_is_that_of_the_global_seed(n, share):
    for found, expected in zip(shuffled_split(n, share), by_global_seed(n, share), strict=True):
        np.testing.assert_array_equal(found, expected)
