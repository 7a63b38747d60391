"""Who wins a vote, and how often it errs, against votes counted one by one in fractions."""

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certivote import VoteStatistics
from certivote.voting import Ballots, count_vote_errors


def prediction(row, weights):
    """The label with the largest weight behind it, the first in sorted order on a tie."""
    behind = defaultdict(Fraction)
    for label, weight in zip(row, weights, strict=True):
        behind[label] += weight
    return max(sorted(behind), key=lambda label: behind[label])


def errors_one_by_one(votes, y, weights):
    return sum(prediction(row, weights) != label for row, label in zip(votes, y))  # noqa: B905


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 8), m=st.integers(1, 30), k=st.integers(1, 4))
def test_errors_of_votes_with_many_ties(data, n, m, k):
    """Weights of few parts meet in ties all the time; tenths have no exact float."""
    draw = st.integers(0, k - 1)
    votes = np.array(data.draw(st.lists(st.lists(draw, min_size=n, max_size=n), min_size=m)))
    y = np.array(data.draw(st.lists(draw, min_size=len(votes), max_size=len(votes))))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    weights = [Fraction(part, sum(parts)) for part in parts]
    fixed = count_vote_errors(votes, y, [[float(weight) for weight in weights]])
    assert fixed.errors.tolist() == [errors_one_by_one(votes, y.tolist(), weights)]


@pytest.mark.parametrize("kind", [np.int8, np.float64, "U3", object])
def test_labels_of_any_kind(kind):
    rng = np.random.default_rng(0)
    names = np.array([10, 2, 33]) if np.dtype(kind).kind in "if" else np.array(["b", "a", "cc"])
    names = names.astype(kind)
    votes, y = names[rng.integers(3, size=(50, 4))], names[rng.integers(3, size=50)]
    fixed = count_vote_errors(votes, y, np.full((1, 4), 0.25))
    expected = errors_one_by_one(votes, y.tolist(), [Fraction(1, 4)] * 4)
    assert fixed.errors.tolist() == [expected]


def test_labels_that_cannot_be_sorted_are_refused():
    votes = np.array([[1, "a"], ["a", 1]], dtype=object)
    with pytest.raises(ValueError, match="labels must be of one kind, to be sorted"):
        count_vote_errors(votes, np.array([1, "a"], dtype=object), [[0.5, 0.5]])


def test_a_label_that_nobody_knew_wins_like_any_other():
    """The classes are 3 and 5; the first two voters name 4, which comes before 5 on a tie."""
    columns = [
        (np.array([-1, 1, -1]), np.array([4, 4])),
        (np.array([-1, -1, 0]), np.array([4, 9])),
        (np.array([0, 1, 1]), np.empty(0, dtype=int)),
    ]
    ballots = Ballots.collect(columns, np.array([3, 5]))
    assert ballots.labels[ballots.codes].tolist() == [[4, 4, 3], [5, 9, 5], [4, 3, 5]]
    assert ballots.predict(np.full(3, 1 / 3)).tolist() == [4, 5, 3]
    assert ballots.truth(np.array([4, 7, 3])).tolist() == [1, 4, 0]


def test_thirds_and_two_sixths_tie():
    ballots = Ballots(np.array([[1, 0, 0]]), np.arange(2))
    assert ballots.predict(np.array([0.5, 1 / 3, 1 / 6])).tolist() == [0]


@pytest.mark.parametrize("n_labels", [2, 50, 3000])
def test_shares_do_not_depend_on_the_rows_beside_or_on_voters_without_weight(n_labels):
    """The sum of a share in the order of the voters, one after the other, to the last bit."""
    rng = np.random.default_rng(n_labels)
    codes, weights = rng.integers(n_labels, size=(300, 40)), rng.dirichlet(np.ones(40))
    weights[::3] = 0.0
    labels = np.arange(n_labels)
    shares = Ballots(codes, labels).shares(weights)
    some = Ballots(codes[:, weights > 0], labels)
    assert np.array_equal(some.shares(weights[weights > 0]), shares)
    assert np.array_equal(Ballots(codes[7:8], labels).shares(weights)[0], shares[7])
    for row, own in zip(codes[:50].tolist(), shares[:50], strict=True):
        behind = defaultdict(float)
        for label, weight in zip(row, weights.tolist(), strict=True):
            behind[label] += weight
        *_, total = accumulate(weights.tolist())  # sum() carries more digits from Python 3.12 on
        assert {label: own[label] for label in behind} == {k: w / total for k, w in behind.items()}
    expected = [prediction(row, list(map(Fraction, weights.tolist()))) for row in codes.tolist()]
    assert Ballots(codes, labels).predict(weights).tolist() == expected
    assert some.predict(weights[weights > 0]).tolist() == expected


@pytest.fixture
def sample():
    rng = np.random.default_rng(1)
    return rng.integers(3, size=(40_000, 5)), rng.integers(3, size=40_000)


def test_statistics_add_up_and_keep_the_fixed_votes_of_both(sample):
    votes, y = sample
    weights = np.random.default_rng(2).dirichlet(np.ones(5), size=3)
    whole = VoteStatistics.from_votes(votes, y, fixed_votes=weights)
    first = VoteStatistics.from_votes(votes[:100], y[:100], fixed_votes=weights[:2])
    rest = VoteStatistics.from_votes(votes[100:], y[100:], fixed_votes=weights[[2, 1]])
    both = first + rest
    assert both.fixed_votes.weights.tolist() == [weights[1].tolist()]
    assert both.vote_errors(weights[1]) == whole.vote_errors(weights[1])
    with pytest.raises(ValueError, match="weights must be those of a vote fixed in advance"):
        both.vote_errors(weights[0])
    assert (first + VoteStatistics.from_votes(votes[100:], y[100:])).fixed_votes is None


def test_errors_from_rows_are_at_least_those_of_the_vote(sample):
    votes, y = sample
    weights = np.full(5, 0.2)
    exact = VoteStatistics.from_votes(votes, y, fixed_votes=[weights]).vote_errors(weights)
    coarse = VoteStatistics.from_votes(votes, y, keep_rows=True).vote_errors(weights)
    assert exact < coarse
    assert exact == errors_one_by_one(votes, y.tolist(), [Fraction(1, 5)] * 5)


def test_weights_of_fixed_votes_must_fit(sample):
    with pytest.raises(ValueError, match=r"fixed_votes\[0\] must have shape"):
        VoteStatistics.from_votes(*sample, fixed_votes=[[0.5, 0.5]])
