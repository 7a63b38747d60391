"""The 16 tasks: the paper's sizes, its labels, and the authors' own results on them."""

import csv
from collections import Counter
from functools import partial

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from certivote import VoteStatistics, datasets, minimize
from certivote.bounds import get_bound
from certivote.datasets import _sources as sources
from certivote.datasets import list_datasets, load, sizes_here

# The paper's appendix table: size of the train set, of the test set, dimension.
SIZES = {
    "letter:AvsB": (1327, 228, 16),
    "letter:DvsO": (1331, 227, 16),
    "letter:OvsQ": (1303, 233, 16),
    "credit": (327, 326, 46),
    "glass": (107, 107, 9),
    "heart": (149, 148, 13),
    "tictactoe": (479, 479, 9),
    "usvotes": (218, 217, 48),
    "wdbc": (285, 284, 30),
    "mnist:1vs7": (13007, 2163, 784),
    "mnist:4vs9": (11791, 1991, 784),
    "mnist:5vs6": (11339, 1850, 784),
    "fash:COvsSH": (12000, 2000, 784),
    "fash:SAvsBO": (12000, 2000, 784),
    "fash:TOvsPU": (12000, 2000, 784),
    "adult": (30162, 15060, 104),
}

# How many rows of train and test together have the label −1, counted in the raw files with grep.
NEGATIVES = {
    "letter:AvsB": 789,  # of A
    "letter:DvsO": 805,  # of D
    "letter:OvsQ": 753,  # of O
    "credit": 296,  # of + without a missing value
    "glass": 163,  # windows: types 1, 2, 3
    "heart": 160,  # healthy, without a missing value
    "tictactoe": 626,  # positive
    "usvotes": 168,  # republicans
    "wdbc": 212,  # malignant
    "mnist:1vs7": 6742 + 1135,
    "mnist:4vs9": 5842 + 982,
    "mnist:5vs6": 5421 + 892,
    "fash:COvsSH": 7000,
    "fash:SAvsBO": 7000,
    "fash:TOvsPU": 7000,
    "adult": 22654 + 11360,
}


def test_the_list_is_the_table():
    assert list_datasets() == list(SIZES)


def test_the_list_is_the_callers_to_change():
    list_datasets().clear()
    assert list_datasets() == list(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_task_is_here_if_all_that_it_reads_is(name, data, tmp_path, monkeypatch):
    wanted = []
    with monkeypatch.context() as patch:
        patch.setattr(datasets, "read", partial(recorded, wanted, datasets.read))
        load(name)
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    monkeypatch.setattr(sources, "DEBIAN", tmp_path / "nowhere")
    monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path))
    for absent in (*wanted, None):
        for file in wanted:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).touch()
        if absent is not None:
            (tmp_path / absent).unlink()
        assert (sizes_here(name) is None) == (absent is not None)


def recorded(names, read, name, **options):
    names.append(name)
    return read(name, **options)


@pytest.mark.parametrize("name", ["iris", "letter", "Glass", "", None, ["glass"]])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match="name must be one of") as caught:
        load(name)
    with pytest.raises(ValueError, match="name must be one of"):
        sizes_here(name)
    assert all(known in str(caught.value) for known in SIZES)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_types_and_labels(name, data):
    dataset = load(name, download=False)
    m, m_test, dimension = SIZES[name]
    assert dataset.name == name
    assert sizes_here(name) == (*SIZES[name], 2)
    assert dataset.X_train.shape == (m, dimension)
    assert dataset.X_test.shape == (m_test, dimension)
    assert dataset.y_train.shape == (m,)
    assert dataset.y_test.shape == (m_test,)
    assert dataset.X_train.dtype == dataset.X_test.dtype == np.float32
    assert dataset.y_train.dtype == dataset.y_test.dtype == np.int64
    y = np.concatenate([dataset.y_train, dataset.y_test])
    assert Counter(y.tolist()) == {-1: NEGATIVES[name], 1: m + m_test - NEGATIVES[name]}
    assert min(dataset.X_train.min(), dataset.X_test.min()) == 0.0
    assert max(dataset.X_train.max(), dataset.X_test.max()) == 1.0
    assert "CC BY" in dataset.reference or "MIT" in dataset.reference
    assert repr(dataset) == (
        f"Dataset(name={name!r}, n_train={m}, n_test={m_test}, dimension={dimension})"
    )


@pytest.mark.parametrize("name", ["glass", "letter:OvsQ", "usvotes"])
def test_twice_is_the_same_and_leaves_the_global_generator_alone(name, data):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = load(name)
    first.X_train[:] = -1
    first.y_test[:] = 0
    second, third = load(name), load(name)
    for part in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(second, part), getattr(third, part))
    assert second.X_train.min() == 0
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def authors(data, algorithm):
    path = data.parent / "reference" / "table1.csv"
    if not path.is_file():
        pytest.skip("the authors' table is not beside CERTIVOTE_DATA")
    with path.open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["algorithm"] == algorithm]
    return {row["dataset"]: row for row in rows}


@pytest.mark.parametrize("name", ["glass", "credit", "letter:AvsB"])
def test_the_authors_bound_and_test_risk_come_out(name, data):
    """One row out of place, one column, one label or one bit of the scaling changes the trees."""
    expected = authors(data, "lacasse")[name]
    dataset = load(name)
    half = int(len(dataset.y_train) / 2)
    X, y = dataset.X_train, dataset.y_train
    trees = [
        DecisionTreeClassifier(criterion="gini", max_features="sqrt", random_state=j)
        for j in range(100)
    ]
    for tree in trees:
        tree.fit(X[:half], y[:half])
    votes = np.stack([tree.predict(X[half:]) for tree in trees], axis=1)
    bound = get_bound("lacasse", delta=0.05, constant="maurer")
    result = minimize(bound, VoteStatistics.from_votes(votes, y[half:]))
    margins = np.stack([tree.predict(dataset.X_test) for tree in trees], axis=1) @ result.weights
    risk = np.mean(np.where(margins > 1e-12, 1, -1) != dataset.y_test)
    assert result.value == pytest.approx(float(expected["bound"]), abs=5e-4)
    assert risk == pytest.approx(float(expected["test_risk"]), abs=0.005)
