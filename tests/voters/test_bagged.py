"""Trees on bags that were drawn so that any two leave about as many rows outside."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from certivote.voters import BaggedTrees, bagged, fit_voters
from certivote.voters.bagged import even_bags

X, CODES = make_classification(
    400, n_features=6, n_informative=4, n_classes=3, weights=[0.6, 0.35], random_state=0
)
Y = np.array(["cat", "dog", "eel"])[CODES]


def drawn_one_by_one(m, n, size, seed):
    """The bags before any exchange."""
    rng = np.random.RandomState(seed)
    bags = np.zeros((m, n), dtype=bool)
    for j in range(n):
        bags[rng.permutation(m)[:size], j] = True
    return bags


def in_common(bags):
    """Of each pair of bags, the rows in both."""
    members = [set(np.flatnonzero(bag)) for bag in bags.T]
    return [len(members[j] & members[k]) for k in range(len(members)) for j in range(k)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bags_have_their_size_and_are_no_less_even_than_at_first(data):
    m = data.draw(st.integers(1, 700))
    n, size = data.draw(st.integers(1, 12)), data.draw(st.integers(1, m))
    seed = data.draw(st.integers(0, 9))
    bags = even_bags(m, n, size, seed)
    assert bags.shape == (m, n)
    assert bags.sum(axis=0).tolist() == [size] * n

    def uneven(which):
        return sum((common - size**2 / m) ** 2 for common in in_common(which))

    assert uneven(bags) <= uneven(drawn_one_by_one(m, n, size, seed)) + 1e-9


def test_few_bags_have_what_they_have_in_common_on_average():
    for m, size, expected in ((100, 50, 25), (90, 30, 10), (2000, 600, 180)):
        for common in in_common(even_bags(m, 4, size, 0)):
            assert abs(common - expected) <= 1


def test_a_hundred_bags_leave_more_rows_outside_any_two():
    """The least is within 1% of the rows of the mean; of bags drawn one by one it is 2% below."""
    m, n, size = 1000, 100, 300
    least, mean = min(in_common(even_bags(m, n, size, 1))), size**2 / m
    assert mean - 5 <= least <= mean
    assert min(in_common(drawn_one_by_one(m, n, size, 1))) < mean - 20


def test_every_row_is_as_likely_in_a_bag():
    """Rows are alike to what is drawn, be they the first or the last."""
    m, n, size, seeds = 40, 6, 12, range(100)
    times = sum(even_bags(m, n, size, seed)[:, 0].astype(int) for seed in seeds)
    for row in (0, 1, m // 2, m - 1):
        assert binomtest(int(times[row]), len(seeds), size / m).pvalue > 1e-3


def test_a_seed_gives_the_same_bags_which_cannot_be_changed():
    bags = even_bags(60, 5, 20, 3)
    np.testing.assert_array_equal(bags, even_bags(60, 5, 20, 3))
    assert (bags != even_bags(60, 5, 20, 4)).any()
    with pytest.raises(ValueError, match="read-only"):
        bags[0, 0] = True


def test_what_is_tried_is_limited(monkeypatch):
    """Without any exchange they are what was drawn, and as good as any."""
    monkeypatch.setattr(bagged, "_WORK", 0)
    np.testing.assert_array_equal(even_bags(60, 5, 20, 3), drawn_one_by_one(60, 5, 20, 3))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_each_tree_is_grown_on_its_bag(form):
    trees = BaggedTrees(7, 0.4, random_state=0).fit(form(X), Y)
    bags = trees.estimators_samples_
    assert [len(bag) for bag in bags] == [160] * 7
    for tree, bag in zip(trees.estimators_, bags, strict=True):
        again = clone(tree).fit(X[bag].astype(np.float32), CODES[bag])
        np.testing.assert_array_equal(tree.tree_.threshold, again.tree_.threshold)
        np.testing.assert_array_equal(tree.tree_.value, again.tree_.value)
        assert type(tree) is DecisionTreeClassifier
        assert tree.max_features == "sqrt"
    assert len({tree.random_state for tree in trees.estimators_}) == 7


def test_it_predicts_what_most_trees_name():
    trees = BaggedTrees(5, 0.4, random_state=0).fit(X[:300], Y[:300])
    named = np.array([tree.predict(X[300:]) for tree in trees.estimators_]).astype(int)
    expected = [trees.classes_[np.bincount(column).argmax()] for column in named.T]
    assert trees.predict(X[300:]).tolist() == expected
    voters = fit_voters(trees.__class__(5, 0.4, random_state=0), X[:300], Y[:300])
    ballots = voters.votes(X[300:], trees.classes_)
    np.testing.assert_array_equal(ballots.codes, named.T)


def test_its_bags_are_known_after_pickling_whatever_is_set_later():
    trees = BaggedTrees(4, random_state=np.random.RandomState(5)).fit(X, Y)
    before = [bag.tolist() for bag in trees.estimators_samples_]
    again = pickle.loads(pickle.dumps(trees)).set_params(bag_size=0.9, random_state=1, n_voters=3)
    assert [bag.tolist() for bag in again.estimators_samples_] == before


def test_a_bag_has_a_row_at_least():
    assert [len(bag) for bag in BaggedTrees(2, 0.1).fit(X[:5], Y[:5]).estimators_samples_] == [1, 1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bag_size": 0.0}, "bag_size must be a share between 0 and 1"),
        ({"bag_size": 1.0}, "bag_size must be a share between 0 and 1"),
        ({"bag_size": 1.5}, "bag_size"),
        ({"bag_size": "half"}, "bag_size"),
        ({"n_voters": 0}, "n_voters"),
        ({"n_voters": 2.5}, "n_voters"),
    ],
)
def test_settings_that_cannot_be(given, words):
    with pytest.raises(ValueError, match=words):
        BaggedTrees(**given).fit(X, Y)
