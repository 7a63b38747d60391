"""The margin of the plurality: what docs/plurality.md proves, by simulation."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binomtest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "plurality.py"


@pytest.fixture(scope="module")
def plurality():
    return SimpleNamespace(**runpy.run_path(str(FILE)))


@pytest.mark.parametrize("seed", range(5))
def test_the_margin_loss_is_what_draws_of_weights_lose(plurality, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(4, 0.7), size=40)
    y, concentration, margin = rng.integers(4, size=40), 10.0 ** rng.uniform(1, 3), 0.02
    loss = plurality.margin_loss(shares, y, concentration, margin)
    for i in range(40):
        drawn = rng.dirichlet(concentration * shares[i], size=4_000)
        true, others = drawn[:, [y[i]]], np.delete(drawn, y[i], axis=1)
        errs = np.any(true <= (0.5 + margin) * (true + others), axis=1)
        # At most the sum over the other classes, and exact where one of them matters.
        assert errs.mean() <= loss[i] + 0.04
        rivals = np.sort(np.mean(true <= (0.5 + margin) * (true + others), axis=0))
        assert min(1.0, rivals.sum()) == pytest.approx(loss[i], abs=0.04)


def test_where_the_vote_errs_the_loss_is_nearly_one(plurality):
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, n_classes = rng.integers(2, 60), rng.integers(2, 30)
        votes = rng.integers(n_classes, size=(50, n))
        shares = plurality.shares_of(votes, n_classes)
        y = rng.integers(n_classes, size=50)
        concentration, margin = 10.0 ** rng.uniform(0, 7), rng.uniform(0.0, 0.4)
        loss = plurality.margin_loss(shares, y, concentration, margin)
        lost = betainc(concentration / n, concentration / n, 0.5 - margin)
        # It errs where another class has as much weight as the true one, or more.
        most = np.where(np.arange(n_classes) == y[:, None], -1.0, shares).max(axis=1)
        errs = most >= shares[np.arange(50), y]
        assert np.all(loss[errs] >= (1.0 - lost) * (1.0 - 1e-9))


def test_the_certificate_holds(plurality):
    """Of a vote whose error is known it is too small in at most δ of the draws."""
    rng = np.random.default_rng(1)
    n, n_classes, delta, times = 7, 4, 0.2, 600

    def draw(m):
        y = rng.integers(n_classes, size=m)
        hard = rng.random(m) < 0.3
        wrong = rng.random((m, n)) < np.where(hard, 0.75, 0.15)[:, None]
        others = (y[:, None] + rng.integers(1, n_classes, size=(m, n))) % n_classes
        return np.where(wrong, others, y[:, None]), y

    def errors(votes, y):
        shares = plurality.shares_of(votes, n_classes)
        most = np.where(np.arange(n_classes) == y[:, None], -1.0, shares).max(axis=1)
        return np.mean(most >= shares[np.arange(len(y)), y] - 1e-12)

    truth = errors(*draw(400_000))
    assert 0.1 < truth < 0.4
    limits = np.array([plurality.certificate(*draw(60), n_classes, delta) for _ in range(times)])
    false = int(np.sum(limits < truth))
    assert binomtest(false, times, delta, alternative="greater").pvalue > 0.001
    # The same count catches what is broken: no price for the sample.
    plain = np.array([errors(*draw(60)) for _ in range(times)])
    assert binomtest(int(np.sum(plain < truth)), times, delta, alternative="greater").pvalue < 1e-6
    assert limits.mean() < 0.9
