"""Certificates to draw, and what can be seen in a figure."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from certivote import VoteStatistics, certify
from certivote.bounds import get_bound


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    """Axes as small as those on the page of a certificate."""
    return Figure(figsize=(4.8, 3.4), layout="constrained").subplots()


@pytest.fixture(scope="session")
def statistics():
    rng = np.random.default_rng(0)
    difficulty = rng.beta(0.3, 2.5, size=(400, 1))
    return VoteStatistics.from_losses(rng.random((400, 12)) < difficulty)


@pytest.fixture(scope="session")
def certificate_at(statistics):
    """A certificate by name of the bound, r, e, KL and m; its weights do not matter."""
    template = certify(statistics, weights=np.full(12, 1 / 12), bound="tandem")

    def make(name, r, e, kl, m, delta=0.05):
        bound = get_bound(name, delta=delta, constant="maurer")
        evidence = {"gibbs_risk": r, "joint_error": e, "disagreement": 2 * (r - e)}
        evidence |= {"gibbs_size": m, "joint_size": m, "disagreement_size": m}
        return replace(
            template,
            risk_bound=min(1.0, bound.from_moments(r, e, kl, m)),
            bound=name,
            bound_parameters=bound.get_params(),
            n_samples=m,
            kl=kl,
            evidence=evidence,
        )

    return make


@pytest.fixture(scope="session")
def overlaps():
    """Pairs of texts of a figure that lie on each other, once it is drawn."""

    def ticks(axis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)

    def find(figure):
        figure.draw_without_rendering()
        texts = []
        for ax in figure.axes:
            texts += [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
            texts += [*ticks(ax.xaxis), *ticks(ax.yaxis)]
            texts += ax.get_legend().get_texts() if ax.get_legend() else []
        texts = [text for text in texts if text.get_visible() and text.get_text()]
        boxes = [text.get_window_extent().padded(-1) for text in texts]
        return [
            (texts[i].get_text(), texts[j].get_text())
            for i, j in itertools.combinations(range(len(texts)), 2)
            if boxes[i].overlaps(boxes[j])
        ]

    return find
