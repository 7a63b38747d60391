"""One class only, and labels out of place."""

from math import exp, log, sqrt

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from certivote import CBBoostClassifier, CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier
from certivote.bounds import clopper_pearson, get_bound

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


@pytest.mark.parametrize("voters", ["trees", "stumps", RandomForestClassifier(10)])
def test_one_class_only(voters, data, small):
    X, _, X_new, _ = data
    bound = get_bound("lacasse", delta=0.05, constant="maurer")
    vote = small(MajorityVoteClassifier, voters=voters, bound=bound).fit(X, ["only"] * 300)
    assert vote.classes_.tolist() == ["only"]
    assert set(vote.predict(X_new)) == {"only"}
    assert vote.predict_proba(X_new).tolist() == [[1.0]] * 300
    # No error at all: the uniform vote, and the largest C of docs/mathematics.md at e = d = 0.
    worst = 1 - exp(-log((2 * sqrt(150) + 150) / 0.05) / 150)
    assert vote.certificate_.risk_bound == pytest.approx(4 * worst * (1 - worst), abs=1e-9)
    # By default it is the test of the uniform vote, at nine tenths of delta.
    default = small(MajorityVoteClassifier, voters=voters, bound="best").fit(X, ["only"] * 300)
    assert default.certificate_.risk_bound == clopper_pearson(0, 150, 0.9 * 0.05)


@pytest.mark.parametrize("kind", BINARY)
def test_binary_learners_want_two_classes(kind, data, small):
    X, *_ = data
    with pytest.raises(ValueError, match="two classes, got one class only"):
        small(kind).fit(X, np.zeros(300, dtype=int))


@pytest.mark.parametrize("kind", BINARY)
def test_binary_learners_with_one_class_in_part_b(kind, data, small, frozen_trees):
    X, y, X_new, y_new = data
    vote = small(kind, voters=frozen_trees(X, y)).fit(X_new[y_new == 1], y_new[y_new == 1])
    assert vote.classes_.tolist() == [0, 1]
    assert vote.score(X_new[y_new == 1], y_new[y_new == 1]) > 0.7


@pytest.mark.parametrize("kind", [MinCqClassifier, CqBoostClassifier])
def test_voters_no_better_than_chance(kind, data):
    X, y, *_ = data
    constant = [
        FrozenEstimator(DummyClassifier(strategy="constant", constant=label).fit(X, y))
        for label in (0, 1)
    ]
    balanced = np.arange(300) % 2
    with pytest.raises(ValueError, match="none is better than chance"):
        kind(voters=constant).fit(X, balanced)


def test_voters_that_predict_a_label_which_y_does_not_have(
    three, votes_by_hand, losses_by_hand, frozen_trees
):
    X_a, y_a, X, y, *_ = three
    two = y < 2
    vote = MajorityVoteClassifier(voters=frozen_trees(X_a, y_a)).fit(X[two], y[two])
    assert vote.classes_.tolist() == [0, 1, 2]
    losses = losses_by_hand(vote, X[two], y[two])
    assert np.any(votes_by_hand(vote, X[two]) == 2)
    assert np.array_equal(vote.statistics_.errors, losses.sum(axis=0))
