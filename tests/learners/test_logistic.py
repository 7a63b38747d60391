"""Logistic regression of the margin, against CVXPY, and where the answer is known."""

import sys

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from certivote import VoteStatistics
from certivote.learners import logistic, logistic_of_shares


def sample(losses):
    return VoteStatistics.from_losses(losses, keep_rows=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
def test_it_is_the_optimum_of_cvxpy(seed, penalty):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    losses = rng.random((120, n)) < rng.uniform(0.05, 0.7, size=n)
    alpha = cp.Variable(n, nonneg=True)
    margin = (1.0 - 2.0 * losses) @ alpha
    objective = cp.sum(cp.logistic(-margin)) + penalty / 2 * cp.sum_squares(alpha)
    cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
    expected = np.maximum(alpha.value, 0.0)
    np.testing.assert_allclose(
        logistic(sample(losses), penalty), expected / expected.sum(), atol=2e-4
    )


@pytest.mark.parametrize("seed", range(3))
def test_blocks_are_voters_of_equal_weight(seed):
    """By CVXPY, over the single voters, of which those of a block are held equal."""
    rng = np.random.default_rng(seed)
    sizes = np.array([5, 1, 3])
    losses = rng.random((150, 9)) < rng.uniform(0.05, 0.5, size=9)
    blocks = np.split(losses, np.cumsum(sizes)[:-1], axis=1)
    of_blocks = cp.Variable(3, nonneg=True)
    each = np.repeat(np.eye(3) / sizes, sizes, axis=1).T @ of_blocks
    objective = cp.sum(cp.logistic(-(1.0 - 2.0 * losses) @ each)) + cp.sum_squares(of_blocks) / 2
    cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
    expected = np.maximum(of_blocks.value, 0.0)
    shares = np.column_stack([block.mean(axis=1) for block in blocks])
    np.testing.assert_allclose(logistic_of_shares(shares), expected / expected.sum(), atol=2e-4)


def test_blocks_of_one_voter_are_voters():
    losses = np.random.default_rng(0).random((300, 6)) < 0.3
    np.testing.assert_allclose(logistic_of_shares(losses), logistic(sample(losses)), atol=1e-5)


def test_nothing_known_of_any_block_makes_them_equal():
    np.testing.assert_array_equal(logistic_of_shares(np.full((4, 5), 0.5)), np.full(5, 0.2))


def test_a_solver_that_steps_over_its_bound_by_rounding_gives_no_weight_below_zero(monkeypatch):
    beyond = OptimizeResult(x=np.array([1.0, -2e-20, 1.0]))
    module = sys.modules[logistic.__module__]
    monkeypatch.setattr(module, "scipy_minimize", lambda *given, **settings: beyond)
    assert logistic(sample(np.eye(3, dtype=int))).tolist() == [0.5, 0.0, 0.5]


def test_voters_without_an_error_are_equal():
    weights = logistic(sample(np.zeros((50, 7), dtype=int)))
    np.testing.assert_allclose(weights, 1 / 7, rtol=1e-12)


def test_voters_worse_than_chance_get_nothing_and_all_of_them_the_same():
    losses = np.array([[0, 1, 1], [0, 1, 0], [0, 1, 1]])
    assert logistic(sample(losses)).tolist() == [1.0, 0.0, 0.0]
    assert logistic(sample(np.ones((9, 4), dtype=int))).tolist() == [0.25] * 4


def test_the_same_bits_again():
    losses = np.random.default_rng(0).random((3000, 30)) < 0.3
    assert np.array_equal(logistic(sample(losses)), logistic(sample(losses)))


def test_bad_input():
    losses = np.array([[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="statistics must have rows"):
        logistic(VoteStatistics.from_losses(losses))
    with pytest.raises(ValueError, match="penalty must be a positive number"):
        logistic(sample(losses), penalty=0.0)
    with pytest.raises(ValueError, match="penalty must be a positive number"):
        logistic_of_shares(losses, penalty=-1.0)
