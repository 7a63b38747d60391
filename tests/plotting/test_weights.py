"""The weights of the voters, as they are drawn."""

import numpy as np
import pytest

from certivote import CBBoostClassifier, certify
from certivote.plotting import WeightsDisplay


def of_label(artists, start):
    (found,) = (artist for artist in artists if str(artist.get_label()).startswith(start))
    return found


def heights(ax, label):
    return of_label(ax.patches, label).get_data().values


def ticks(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def test_three_voters(ax):
    display = WeightsDisplay([0.1, 0.7, 0.2], [0.5, 0.3, 0.2]).plot(ax)
    assert ticks(ax) == ["1", "2", "0"]
    assert heights(ax, "weight").tolist() == [0.7, 0.2, 0.1]
    assert heights(ax, "prior").tolist() == [0.3, 0.2, 0.5]
    share = of_label(display.share_ax_.lines, "share")
    assert share.get_xdata().tolist() == [1, 2, 3]
    assert share.get_ydata() == pytest.approx([0.7, 0.9, 1.0])
    assert share.get_label() == "share of the heaviest (half: 1 of 3)"
    assert ax.get_ylim()[1] > 0.7
    assert ax.get_xscale() == "linear"


def test_a_prior_above_all_weights_is_in_sight(ax):
    WeightsDisplay([0.5, 0.5], [0.05, 0.95]).plot(ax)
    assert ax.get_ylim()[1] > 0.95


def test_ties_go_by_prior(ax):
    WeightsDisplay([0.25, 0.5, 0.25], [0.1, 0.2, 0.7]).plot(ax)
    assert ticks(ax) == ["1", "2", "0"]


@pytest.mark.parametrize("n", [13, 50])
def test_too_many_voters_for_names(n, ax, overlaps):
    weights = np.random.default_rng(n).dirichlet(np.ones(n))
    display = WeightsDisplay(weights, np.full(n, 1 / n)).plot(ax)
    assert heights(ax, "weight").tolist() == sorted(weights, reverse=True)
    assert "rank" in ax.get_xlabel()
    assert overlaps(display.figure_) == []


def test_ten_thousand_voters(ax, overlaps):
    rng = np.random.default_rng(0)
    weights, prior = rng.dirichlet(np.full(10_000, 0.1)), rng.dirichlet(np.full(10_000, 5.0))
    display = WeightsDisplay(weights, prior).plot(ax)
    assert ax.get_xscale() == display.share_ax_.get_xscale() == "log"
    assert heights(ax, "weight").tolist() == sorted(weights, reverse=True)
    shares, reached = [], 0.0
    for voter in sorted(range(10_000), key=lambda voter: -weights[voter]):
        reached += prior[voter]
        shares.append(reached)
    line = of_label(display.share_ax_.lines, "their share of the prior")
    assert line.get_ydata() == pytest.approx(shares)
    half = next(k for k in range(1, 10_001) if sum(sorted(weights)[-k:]) >= 0.5)
    assert f"(half: {half} of 10000)" in of_label(display.share_ax_.lines, "share").get_label()
    # A few artists, not one for each voter.
    assert len(ax.patches) + len(ax.lines) + len(display.share_ax_.lines) == 3
    assert overlaps(display.figure_) == []


def test_half_of_the_vote_survives_rounding(ax):
    display = WeightsDisplay(np.full(10, 0.1), np.full(10, 0.1)).plot(ax)
    assert "(half: 5 of 10)" in of_label(display.share_ax_.lines, "share").get_label()


def test_from_certificate_draws_its_weights(statistics, ax):
    certificate = certify(statistics, bound="tandem", prior=np.arange(1, 13) / 78)
    display = WeightsDisplay.from_certificate(certificate, ax=ax)
    order = [int(name) for name in ticks(ax)]
    assert heights(ax, "weight").tolist() == certificate.weights[order].tolist()
    assert heights(ax, "prior").tolist() == certificate.prior[order].tolist()
    assert sorted(order) == list(range(12))
    assert display.weights.tolist() == certificate.weights.tolist()


def test_complements_are_called_so(ax, overlaps):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + rng.normal(size=200) > 0
    vote = CBBoostClassifier(n_voters=6, random_state=0).fit(X, y)
    display = WeightsDisplay.from_estimator(vote, ax=ax)
    own, complement = np.split(vote.weights_, 2)
    for name, height in zip(ticks(ax), heights(ax, "weight"), strict=True):
        weights = complement if name.startswith("not") else own
        assert weights[int(name.removeprefix("not\n"))] == height
    assert sum(name.startswith("not") for name in ticks(ax)) == 6
    assert overlaps(display.figure_) == []
