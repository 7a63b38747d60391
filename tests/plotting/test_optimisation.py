"""The course of an optimisation, as it is drawn."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from certivote import CBBoostClassifier, MajorityVoteClassifier, VoteStatistics, minimize
from certivote.bounds import get_bound
from certivote.plotting import OptimisationDisplay
from certivote.solvers import LBFGS


def line(ax, label):
    found = [line for line in ax.lines if str(line.get_label()).startswith(label)]
    assert len(found) <= 1
    return found[0] if found else None


def test_objective_and_smallest_so_far(ax):
    history = [0.9, 0.5, 0.7, 0.45, 0.6, 0.4]
    OptimisationDisplay(history, 0.40001).plot(ax)
    assert line(ax, "objective").get_xydata().tolist() == [
        [i + 1, h] for i, h in enumerate(history)
    ]
    assert line(ax, "smallest").get_ydata().tolist() == [0.9, 0.5, 0.5, 0.45, 0.45, 0.4]
    certificate = line(ax, "certificate")
    assert certificate.get_xydata().tolist() == [[6, 0.40001]]
    assert certificate.get_label() == "certificate ≤ 0.4001"
    assert line(ax, "vacuous") is None


@pytest.mark.parametrize("value", [1.0, 1.3])
def test_values_above_one_are_vacuous(value, ax):
    OptimisationDisplay([1.6, 1.3], value).plot(ax)
    assert set(line(ax, "vacuous").get_ydata()) == {1.0}
    assert line(ax, "certificate").get_ydata().tolist() == [1.0]
    assert line(ax, "certificate").get_label() == "certificate ≤ 1.0000"
    low, high = ax.get_ylim()
    assert low < 1.0 < 1.6 <= high


def test_a_wide_range_is_on_a_log_scale(ax, overlaps):
    OptimisationDisplay([1.5, 0.8, 0.2, 0.05], 0.05).plot(ax)
    assert ax.get_yscale() == "log"
    assert overlaps(ax.figure) == []


def test_rounding_is_not_blown_up(ax):
    OptimisationDisplay([0.3 + 1e-12, 0.3], 0.3).plot(ax)
    low, high = ax.get_ylim()
    assert high - low >= 0.02 * 0.3 * 0.99
    ax.figure.draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ""


def test_an_optimisation_without_iterations(ax):
    OptimisationDisplay([], 0.4).plot(ax)
    assert line(ax, "certificate").get_xydata().tolist() == [[0, 0.4]]
    assert ax.get_xlim() == (0, 1)


def test_from_result_draws_all_starts(statistics, ax):
    result = minimize("lacasse", statistics, solver=LBFGS(n_random=2))
    display = OptimisationDisplay.from_result(result, ax=ax)
    drawn = line(ax, "objective").get_ydata()
    assert drawn.tolist() == result.history
    assert np.any(np.diff(drawn) > 0)  # another start
    number = line(ax, "certificate").get_label().removeprefix("certificate ≤ ")
    assert Decimal(result.value) <= Decimal(number) < Decimal(result.value) + Decimal("0.0001")
    assert display.value == result.value


def test_the_caption_says_how_the_solver_ended(statistics, ax):
    result = minimize("lacasse", statistics)
    caption = OptimisationDisplay.from_result(result, ax=ax).caption
    assert "It converged. The certificate holds in any case." in caption
    stopped = replace(result, converged=False, message="no more time")
    caption = OptimisationDisplay.from_result(stopped, ax=ax).caption
    assert "It stopped: no more time. The certificate holds in any case." in caption


def test_the_caption_says_if_a_fixed_vote_won(ax):
    rng = np.random.default_rng(0)
    votes = rng.random((2000, 25)) < 0.3
    bound = get_bound("best")
    result = minimize(bound, bound.count(votes, np.zeros(2000, dtype=bool), None))
    np.testing.assert_array_equal(result.weights, np.full(25, 1 / 25))
    caption = OptimisationDisplay.from_result(result, ax=ax).caption
    assert "a vote fixed in advance was smaller, and is what is certified" in caption
    assert "converged" not in caption


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, X[:, 0] + rng.normal(size=300) > 0


def test_from_estimator_learns_again_with_its_bound_prior_and_solver(data, ax):
    solver = LBFGS(n_tempered=0, n_single=1)
    prior = np.arange(1, 9) / 36
    vote = MajorityVoteClassifier(
        "trees", n_voters=8, bound="tandem", delta=0.1, prior=prior, solver=solver, random_state=0
    ).fit(*data)
    weights = vote.weights_.copy()
    display = OptimisationDisplay.from_estimator(vote, ax=ax)
    assert min(1.0, display.value) == pytest.approx(vote.certificate_.risk_bound, abs=1e-12)
    histories = []
    for other in (solver, LBFGS()):
        bound = vote.certificate_.bound_object
        histories.append(minimize(bound, vote.statistics_, prior, solver=other).history)
    assert display.history.tolist() == histories[0] != histories[1]
    assert np.array_equal(vote.weights_, weights)


def test_a_learner_without_a_bound_has_no_such_optimisation(data):
    vote = CBBoostClassifier(n_voters=4, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="CBBoostClassifier does not learn its weights"):
        OptimisationDisplay.from_estimator(vote)


def test_one_voter(ax):
    result = minimize("seeger", VoteStatistics.from_losses([[0], [1], [0]] * 50))
    OptimisationDisplay.from_result(result, ax=ax)
    assert len(line(ax, "objective").get_ydata()) == result.n_iter
