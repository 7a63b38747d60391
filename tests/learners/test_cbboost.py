"""CB-Boost of Bauvin et al. 2020, with the vote as a vector over the examples."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from certivote import VoteStatistics
from certivote.learners import cb_boost


def sample(seed, m=997, n=12):
    """Margins y·h of voters that err independently, at rates from 10% to 60%."""
    rng = np.random.default_rng(seed)
    losses = rng.random((m, n)) < rng.uniform(0.1, 0.6, size=n)
    return VoteStatistics.from_losses(losses), 1.0 - 2.0 * losses


def c_bound(margins):
    return 1.0 - margins.mean() ** 2 / (margins**2).mean()


def by_the_book(voters, max_iter):
    """With y·h for h, y is 1 everywhere. Each step passes over all examples and 2n voters."""
    both = np.hstack([voters, -voters])
    weights = np.zeros(both.shape[1])
    gammas = both.mean(axis=0)
    first = int(gammas.argmax())
    weights[first], vote = 1.0, both[:, first].copy()
    for _ in range(max_iter - 1):
        best = None
        mu, gamma = (vote**2).mean(), vote.mean()
        for j in range(both.shape[1]):
            h, gamma_h = both[:, j], gammas[j]
            tau = (vote * h).mean()
            if gamma_h <= 0 or tau - gamma / gamma_h >= 0:
                continue
            alpha = (gamma_h * mu - gamma * tau) / (gamma - gamma_h * tau)
            if alpha > 1e-12:
                value = c_bound(vote + alpha * h)
                if best is None or value < best[0]:
                    best = (value, j, alpha)
        if best is None:
            break
        _, j, alpha = best
        weights[j] += alpha
        vote = vote + alpha * both[:, j]
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_iter", [1, 2, 5, 30])
def test_against_a_pass_over_the_data(seed, max_iter):
    statistics, voters = sample(seed)
    margins = np.sort(np.abs(voters.mean(axis=0)))
    assert margins[-1] > margins[-2]  # no tie at the start, which another order could break
    weights, n_iter = cb_boost(statistics, max_iter)
    assert n_iter <= max_iter
    assert weights == pytest.approx(by_the_book(voters, max_iter), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_each_step_is_the_best_of_all_steps(seed):
    statistics, voters = sample(seed, m=301, n=6)
    both = np.hstack([voters, -voters])
    for k in range(1, 8):
        before, after = (cb_boost(statistics, steps)[0] for steps in (k, k + 1))
        vote = both @ before
        best = min(
            minimize_scalar(
                lambda a, h=h, vote=vote: c_bound(vote + a * h),
                bounds=(0, 50),
                method="bounded",
                options={"xatol": 1e-10},
            ).fun
            for h in both.T[both.mean(axis=0) > 0]
        )
        assert c_bound(both @ after) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_c_bound_goes_down(seed):
    statistics, voters = sample(seed, m=200, n=30)
    both = np.hstack([voters, -voters])
    values = [c_bound(both @ cb_boost(statistics, steps)[0]) for steps in range(1, 40)]
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] < values[0]


def test_weights_are_a_distribution_on_the_better_of_each_pair():
    statistics, voters = sample(5, n=20)
    weights, n_iter = cb_boost(statistics)
    assert weights.shape == (40,)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    worse = np.concatenate([voters.mean(axis=0), -voters.mean(axis=0)]) < 0
    assert np.all(weights[worse] == 0.0)
    assert 1 < n_iter <= 200


def test_ties_go_to_the_first_voter():
    losses = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]])
    assert cb_boost(VoteStatistics.from_losses(losses), 1)[0].tolist() == [1, 0, 0, 0, 0, 0]
    # The complement of the last one is the best, and wrong nowhere.
    losses[:, 2] = 1
    assert cb_boost(VoteStatistics.from_losses(losses))[0].tolist() == [0, 0, 0, 0, 0, 1]


def test_a_perfect_voter_is_enough():
    losses = np.random.default_rng(0).integers(2, size=(50, 4))
    losses[:, 2] = 0
    weights, n_iter = cb_boost(VoteStatistics.from_losses(losses))
    assert (weights.tolist(), n_iter) == ([0, 0, 1, 0, 0, 0, 0, 0], 1)


@pytest.mark.parametrize("max_iter", [0, -3, 1.5, True, "many"])
def test_bad_number_of_steps(max_iter):
    with pytest.raises(ValueError, match="max_iter must be a positive integer"):
        cb_boost(sample(0)[0], max_iter)
