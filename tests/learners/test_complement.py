"""Voters and complements against losses and votes written out."""

import numpy as np
import pytest

from certivote import VoteStatistics
from certivote.learners import gram, self_complemented


@pytest.mark.parametrize(("m", "n", "seed"), [(1, 1, 0), (7, 3, 1), (200, 12, 2), (1000, 40, 3)])
def test_against_losses_written_out(m, n, seed):
    losses = np.random.default_rng(seed).integers(2, size=(m, n))
    both = np.hstack([losses, 1 - losses])
    result = self_complemented(VoteStatistics.from_losses(losses))
    assert result == VoteStatistics.from_losses(both)
    assert np.array_equal(result.errors, both.sum(axis=0))
    assert np.array_equal(result.tandem, both.T @ both)


@pytest.mark.parametrize(("m", "n", "seed"), [(1, 1, 0), (9, 4, 1), (301, 15, 2)])
def test_gram_against_votes_written_out(m, n, seed):
    rng = np.random.default_rng(seed)
    votes, y = rng.choice([-1, 1], size=(m, n)), rng.choice([-1, 1], size=m)
    result = gram(VoteStatistics.from_votes(votes, y))
    assert result.products == pytest.approx(votes.T @ votes / m, abs=1e-14)
    assert result.margins == pytest.approx(votes.T @ y / m, abs=1e-14)


def test_moments_of_a_vote_do_not_depend_on_how_it_is_written():
    # A weight on −h, or a smaller one on h: the second moments of the signed vote are the same.
    rng = np.random.default_rng(0)
    losses = rng.integers(2, size=(100, 5))
    weights = rng.dirichlet(np.ones(10))
    statistics = VoteStatistics.from_losses(losses)
    moments = self_complemented(statistics).moments(weights)
    signed = (1 - 2 * losses) @ (weights[:5] - weights[5:])
    assert 1 - 2 * moments.gibbs_risk == pytest.approx(signed.mean())
    assert 1 - 2 * moments.disagreement == pytest.approx((signed**2).mean())
