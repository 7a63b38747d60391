"""Shares that are 1e-12 apart, where the order of a sum decides: count and predict must agree."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from certivote import CBBoostClassifier, MajorityVoteClassifier, VoteStatistics, certify
from certivote.bounds import HeldoutBound
from certivote.voters import PredictionTable

# So far apart are shares that just are no tie.
EDGE = 1e-12
M = 160


def edge_weights(n, n_idle, rng):
    """About equal weights, one larger by the width of a tie, and voters without weight between."""
    weights = np.full(n, 1.0 / n)
    weights *= 1.0 + 1e-15 * rng.integers(-4, 5, size=n)
    weights[rng.integers(n)] += EDGE
    idle = np.zeros(n + n_idle)
    idle[np.sort(rng.permutation(n + n_idle)[:n])] = weights
    return idle / idle.sum()


def split_votes(m, weights, rng):
    """Rows on which two labels have half of the weighty voters each; idle voters say anything."""
    votes = rng.integers(3, size=(m, weights.size))
    weighty = np.flatnonzero(weights)
    halves = np.arange(weighty.size) % 2
    for row in votes:
        row[weighty] = rng.permutation(halves)
    return votes, votes[:, weights.argmax()]


CASES = [(6, 3), (30, 0), (30, 17), (72, 30), (200, 1)]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    """Weights, votes and labels; on every row the labels are a tie, or just not."""
    rng = np.random.default_rng(request.param)
    weights = edge_weights(*request.param, rng)
    return (weights, *split_votes(M, weights, rng))


def test_the_edge_is_met(case):
    """The shares differ by the width of a tie, up to rounding, on each row."""
    weights, votes, _ = case
    gap = np.abs(((votes == 1) - (votes == 0).astype(float)) @ weights)
    assert gap == pytest.approx(np.full(M, EDGE), abs=1e-14)


def table_vote(weights, votes, y, **settings):
    settings = {"bound": "heldout", "prior": weights, **settings}
    return MajorityVoteClassifier(voters=PredictionTable(), **settings).fit(votes, y)


def test_errors_counted_are_those_of_predict(case, errors_of):
    weights, votes, y = case
    vote = table_vote(weights, votes, y)
    counted = vote.certificate_.evidence["vote_errors"]
    assert counted == errors_of(vote.predict(votes), y)
    assert counted == certify(votes, y, bound="heldout", prior=weights).evidence["vote_errors"]
    assert counted == sum(errors_of(vote.predict(votes[[i]]), y[[i]]) for i in range(M))


def test_errors_counted_beside_other_votes(case, errors_of):
    """Fixed votes that are counted together do not change each other."""
    weights, votes, y = case
    rng = np.random.default_rng(0)
    table = np.vstack([rng.dirichlet(np.ones(weights.size), size=4), weights])
    vote = table_vote(weights, votes, y)
    for fixed_votes in (table, table[::-1], table[-1:]):
        statistics = VoteStatistics.from_votes(votes, y, fixed_votes=fixed_votes)
        assert statistics.vote_errors(vote.weights_) == errors_of(vote.predict(votes), y)


@pytest.mark.parametrize("size", [1, 7, 53, 159])
def test_errors_counted_in_chunks(size, case, errors_of):
    weights, votes, y = case
    bound, wrong = HeldoutBound(), errors_of(table_vote(weights, votes, y).predict(votes), y)
    parts = [
        bound.count(votes[start : start + size], y[start : start + size], weights)
        for start in range(0, M, size)
    ]
    assert sum(parts[1:], parts[0]).vote_errors(weights) == wrong


def test_shares_do_not_depend_on_the_rows_beside(case):
    weights, votes, y = case
    vote = table_vote(weights, votes, y)
    shares, predicted = vote.predict_proba(votes), vote.predict(votes)
    for i in range(0, M, 7):
        assert vote.predict_proba(votes[i : i + 1]).tobytes() == shares[i].tobytes()
        assert vote.predict(votes[i : i + 1]).tolist() == [predicted[i]]
    for size in (2, 3, 64, 159):
        assert vote.predict_proba(votes[:size]).tobytes() == shares[:size].tobytes()
        assert vote.predict_proba(votes[-size:]).tobytes() == shares[-size:].tobytes()
    order = np.random.default_rng(0).permutation(M)
    assert vote.predict_proba(votes[order]).tobytes() == shares[order].tobytes()


def test_shares_do_not_depend_on_voters_without_weight(case):
    """Neither on what they say, nor on whether they are there."""
    weights, votes, y = case
    rng = np.random.default_rng(0)
    idle = weights == 0.0
    vote, others = table_vote(weights, votes, y), votes.copy()
    others[:, idle] = rng.integers(3, size=(M, int(idle.sum())))
    assert vote.predict_proba(others).tobytes() == vote.predict_proba(votes).tobytes()
    alone = table_vote(weights[~idle], votes[:, ~idle], y)
    assert alone.weights_.tobytes() == vote.weights_[~idle].tobytes()
    assert alone.predict(votes[:, ~idle]).tolist() == vote.predict(votes).tolist()
    assert alone.certificate_.evidence == vote.certificate_.evidence


def test_a_fitted_vote_counts_new_rows_as_it_predicts_them(case, reader, readable, errors_of):
    """`certify` and `verify` of a vote on more data."""
    weights, votes, y = case
    rng = np.random.default_rng(1)
    voters = [FrozenEstimator(reader(j, np.arange(3))) for j in range(weights.size)]
    vote = MajorityVoteClassifier(voters=voters, bound="heldout", prior=weights)
    X = readable(votes, rng)
    vote.fit(X, y)
    vote.verify(X, y)
    more, truth = split_votes(150, weights, rng)
    X_new = readable(more, rng)
    certificate = vote.certify(X_new, truth)
    assert certificate.evidence["vote_errors"] == errors_of(vote.predict(X_new), truth)
    vote.verify(X_new, truth, certificate)


def test_complements_sum_in_one_order():
    """Half of the weights are those of complements."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=500)
    votes = np.where(rng.random((500, 9)) < 0.4, 1 - y[:, None], y[:, None])
    vote = CBBoostClassifier(voters=PredictionTable()).fit(votes, y)
    shares = vote.predict_proba(votes)
    for i in range(0, 500, 5):
        assert vote.predict_proba(votes[i : i + 1]).tobytes() == shares[i].tobytes()
