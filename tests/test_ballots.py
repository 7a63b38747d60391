"""Who wins a vote, and how often it errs, against votes counted one by one in fractions."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certivote import VoteStatistics
from certivote._ballots import count_vote_errors, vote_shares, winners


def prediction(row, weights, classes):
    """The label with the largest weight behind it, the first in sorted order on a tie."""
    behind = defaultdict(Fraction)
    for label, weight in zip(row, weights, strict=True):
        if label in classes:
            behind[label] += weight
    return max(sorted(classes), key=lambda label: behind[label])


def errors_one_by_one(votes, y, weights, classes=None):
    classes = set(np.unique(votes).tolist()) | set(y) if classes is None else set(classes)
    return sum(prediction(row, weights, classes) != label for row, label in zip(votes, y))  # noqa: B905


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 8), m=st.integers(1, 30), k=st.integers(1, 4))
def test_errors_of_votes_with_many_ties(data, n, m, k):
    """Weights of few parts meet in ties all the time; tenths have no exact float."""
    draw = st.integers(0, k - 1)
    votes = np.array(data.draw(st.lists(st.lists(draw, min_size=n, max_size=n), min_size=m)))
    y = np.array(data.draw(st.lists(draw, min_size=len(votes), max_size=len(votes))))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    weights = [Fraction(part, sum(parts)) for part in parts]
    tested = count_vote_errors(votes, y, [[float(weight) for weight in weights]])
    assert tested.errors.tolist() == [errors_one_by_one(votes, y.tolist(), weights)]


@pytest.mark.parametrize("kind", [np.int8, np.float64, "U3", object])
def test_labels_of_any_kind(kind):
    rng = np.random.default_rng(0)
    names = np.array([10, 2, 33]) if np.dtype(kind).kind in "if" else np.array(["b", "a", "cc"])
    names = names.astype(kind)
    votes, y = names[rng.integers(3, size=(50, 4))], names[rng.integers(3, size=50)]
    tested = count_vote_errors(votes, y, np.full((1, 4), 0.25))
    expected = errors_one_by_one(votes, y.tolist(), [Fraction(1, 4)] * 4)
    assert tested.errors.tolist() == [expected]


def test_labels_that_cannot_be_sorted_are_refused():
    votes = np.array([[1, "a"], ["a", 1]], dtype=object)
    with pytest.raises(ValueError, match="votes must hold labels that can be sorted"):
        count_vote_errors(votes, np.array([1, "a"], dtype=object), [[0.5, 0.5]])


def test_a_label_that_is_none_of_the_classes_has_no_say():
    votes, y = np.array([[-1, -1, 1], [-1, -1, -1], [-1, -1, -1]]), np.array([1, 0, 2])
    assert vote_shares(votes, np.full(3, 1 / 3), 2).tolist() == [[0, 1], [1, 0], [1, 0]]
    tested = count_vote_errors(votes, y, [[1 / 3] * 3], classes=[0, 1])
    assert tested.errors.tolist() == [1]


def test_thirds_and_two_sixths_tie():
    shares = vote_shares(np.array([[1, 0, 0]]), np.array([0.5, 1 / 3, 1 / 6]), 2)
    assert winners(shares).tolist() == [0]


@pytest.fixture
def sample():
    rng = np.random.default_rng(1)
    return rng.integers(3, size=(40_000, 5)), rng.integers(3, size=40_000)


def test_statistics_add_up_and_keep_what_both_were_tested_for(sample):
    votes, y = sample
    weights = np.random.default_rng(2).dirichlet(np.ones(5), size=3)
    whole = VoteStatistics.from_votes(votes, y, tested=weights)
    first = VoteStatistics.from_votes(votes[:100], y[:100], tested=weights[:2])
    rest = VoteStatistics.from_votes(votes[100:], y[100:], tested=weights[[2, 1]])
    both = first + rest
    assert both.tested.weights.tolist() == [weights[1].tolist()]
    assert both.vote_errors(weights[1]) == whole.vote_errors(weights[1])
    with pytest.raises(ValueError, match="weights must be those of a tested vote"):
        both.vote_errors(weights[0])
    assert (first + VoteStatistics.from_votes(votes[100:], y[100:])).tested is None


def test_errors_from_rows_are_at_least_those_of_the_vote(sample):
    votes, y = sample
    weights = np.full(5, 0.2)
    exact = VoteStatistics.from_votes(votes, y, tested=[weights]).vote_errors(weights)
    coarse = VoteStatistics.from_votes(votes, y, keep_rows=True).vote_errors(weights)
    assert exact < coarse
    assert exact == errors_one_by_one(votes, y.tolist(), [Fraction(1, 5)] * 5)


def test_tested_weights_must_fit(sample):
    with pytest.raises(ValueError, match=r"tested\[0\] must have shape"):
        VoteStatistics.from_votes(*sample, tested=[[0.5, 0.5]])
