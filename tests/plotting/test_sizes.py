"""How many voters it takes, as it is drawn."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from certivote import MajorityVoteClassifier
from certivote.plotting import SizesDisplay

X, Y = make_classification(400, 6, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def vote():
    return MajorityVoteClassifier("trees", bound="heldout", n_voters=9, random_state=0).fit(X, Y)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_choice_on_the_sample(ax, overlaps):
    vote = MajorityVoteClassifier("trees", bound="tandem", n_voters=9, random_state=0).fit(X, Y)
    smaller = vote.smallest(0.1)
    display = SizesDisplay.from_estimator(smaller, ax=ax)
    curve, allowed, kept = ax.lines
    assert curve.get_xdata().tolist() == list(range(1, 10))
    assert curve.get_ydata()[-1] == vote.certificate_.risk_bound
    assert set(allowed.get_ydata()) == {vote.certificate_.risk_bound + 0.1}
    k = np.count_nonzero(smaller.weights_)
    assert kept.get_xydata().tolist() == [[k, smaller.certificate_.risk_bound]]
    assert labels(ax) == ["certificate", "that of all, + 0.1", f"{k} of 9 voters"]
    assert f"{k} were kept" in display.description
    assert f"{k} of 9 voters are the fewest" in display.caption
    assert ax.get_xscale() == "linear"
    assert overlaps(display.figure_) == []


def test_a_choice_on_part_a_and_its_test_on_part_b(vote, ax, overlaps):
    smaller = vote.smallest(0.1, X, Y)
    display = SizesDisplay.from_estimator(smaller, ax=ax)
    curve, _, kept, tested = ax.lines
    k = np.count_nonzero(smaller.weights_)
    assert kept.get_xydata().tolist() == [[k, curve.get_ydata()[k - 1]]]
    assert tested.get_xydata().tolist() == [[k, smaller.certificate_.risk_bound]]
    assert labels(ax)[0] == "limit on part A"
    assert "part A" in display.description
    assert "Part B was not looked at" in display.caption
    assert overlaps(display.figure_) == []


def test_many_voters_are_on_a_log_scale(ax, overlaps):
    sizes = np.unique(np.geomspace(1, 20_000, 100).round().astype(int))
    display = SizesDisplay(sizes, 0.1 + 0.5 / sizes, int(sizes[40]), 0.01, 0.2).plot(ax)
    assert ax.get_xscale() == "log"
    assert overlaps(display.figure_) == []


def test_what_smallest_did_not_return_is_refused(vote, ax):
    with pytest.raises(ValueError, match="estimator must be what smallest returned"):
        SizesDisplay.from_estimator(vote, ax=ax)
