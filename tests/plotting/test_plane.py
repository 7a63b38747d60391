"""The plane of joint error and disagreement, as it is drawn."""

import math
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from matplotlib.contour import ContourSet

from certivote import MajorityVoteClassifier
from certivote.bounds import Bound, MomentBound
from certivote.bounds.evaluation import Evaluation
from certivote.plotting import PlaneDisplay
from reference import MOMENT_BOUNDS, REFERENCES

every_bound = pytest.mark.parametrize("name", MOMENT_BOUNDS)


def drawn(ax, pattern):
    """The line or patch whose label matches; None if there is none."""
    found = [
        artist for artist in (*ax.lines, *ax.patches) if re.search(pattern, str(artist.get_label()))
    ]
    assert len(found) <= 1
    return found[0] if found else None


def level_of(name, e, d):
    return REFERENCES[name].oracle(e + d / 2, e)


@every_bound
def test_what_is_drawn(name, certificate_at, ax):
    certificate = certificate_at(name, 0.1, 0.04, 1.0, 500)
    display = PlaneDisplay.from_certificate(certificate, ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert drawn(ax, "^observed").get_xydata().tolist() == [[0.04, 2 * (0.1 - 0.04)]]
    assert drawn(ax, "^worst case").get_xydata().tolist() == [list(display.worst)]
    outline = drawn(ax, "with 95% confidence").get_xy()
    assert {tuple(corner) for corner in outline} == set(map(tuple, display.region.outline()))
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert np.all((outline >= (left, bottom)) & (outline <= (right, top)))
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(legend) == len(set(legend)) >= 5


@every_bound
def test_level_lines_are_labelled_with_their_level(name, certificate_at, ax):
    certificate = certificate_at(name, 0.1, 0.04, 1.0, 500)
    PlaneDisplay.from_certificate(certificate, ax=ax)
    (lines,) = (artist for artist in ax.get_children() if isinstance(artist, ContourSet))
    assert len(lines.levels) >= 3
    cells = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]) / 150
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        e, d = path.vertices.T
        # Within one cell of the grid.
        assert np.all(level_of(name, e - cells[0], d) <= level)
        assert np.all(level_of(name, e + cells[0], d) >= level)
    assert len(lines.labelTexts) == len(lines.levels)
    for text in lines.labelTexts:
        e, d = text.get_position()
        assert level_of(name, e, d) == pytest.approx(float(text.get_text()), abs=0.01)


@every_bound
def test_lines_of_the_certificate_of_nothing_and_of_all_votes(name, certificate_at, ax):
    sizes = (certificate_at(name, 0.12, 0.06, 0.1, m) for m in (60, 200))
    certificate = next(made for made in sizes if made.risk_bound < 1)
    PlaneDisplay.from_certificate(certificate, ax=ax)
    e, d = drawn(ax, "= certificate$").get_xydata().T
    e, d = e[~np.isnan(e)], d[~np.isnan(e)]
    assert level_of(name, e, d) == pytest.approx(certificate.risk_bound, abs=1e-9)
    vacuous = drawn(ax, "^vacuous beyond")
    if vacuous is not None:
        e, d = vacuous.get_xydata().T
        e, d = e[~np.isnan(e)], d[~np.isnan(e)]
        assert np.all(level_of(name, e - 1e-4, d) < 1)
        assert np.all(level_of(name, e + 1e-4, d) >= 1)
    e, d = drawn(ax, "^no vote").get_xydata().T
    assert e == pytest.approx((e + d / 2) ** 2, abs=1e-12)  # the variance of W is 0


@every_bound
def test_the_worst_case_has_the_certificates_own_number(name, certificate_at, ax):
    certificate = replace(certificate_at(name, 0.1, 0.04, 1.0, 500), risk_bound=0.700001)
    PlaneDisplay.from_certificate(certificate, ax=ax)
    (text,) = (text.get_text() for text in ax.texts if text.get_text().startswith("≤"))
    assert text == "≤ 0.7001"
    assert Decimal(text[2:]) >= Decimal(certificate.risk_bound)


@every_bound
def test_a_vacuous_certificate_is_marked(name, certificate_at, ax):
    certificate = certificate_at(name, 0.5, 0.3, 1.0, 50)
    PlaneDisplay.from_certificate(certificate, ax=ax)
    assert any(text.get_text() == "≤ 1.0000\n(vacuous)" for text in ax.texts)
    assert drawn(ax, "= certificate$") is None
    assert drawn(ax, "^vacuous beyond") is not None


@pytest.mark.parametrize("r", [0.0, 0.03, 0.3])
@pytest.mark.parametrize("m", [30, 1_000, 10**6])
@every_bound
def test_no_text_lies_on_another(name, m, r, certificate_at, ax, overlaps):
    certificate = certificate_at(name, r, r**1.4, 0.5, m)
    assert overlaps(PlaneDisplay.from_certificate(certificate, ax=ax).figure_) == []


@every_bound
def test_confidence_is_rounded_down(name, certificate_at, ax):
    certificate = certificate_at(name, 0.1, 0.04, 1.0, 500, delta=0.012345678)
    display = PlaneDisplay.from_certificate(certificate, ax=ax)
    assert drawn(ax, "98.765432% confidence") is not None
    assert "With 98.765432% confidence the true ones are" in display.caption


def test_from_estimator_draws_its_certificate(ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    vote = MajorityVoteClassifier("trees", bound="lacasse", n_voters=5, random_state=0)
    vote.fit(X, X[:, 0] > 0)
    display = PlaneDisplay.from_estimator(vote, ax=ax)
    certificate = vote.certificate_
    assert display.joint_error == certificate.joint_error
    assert display.disagreement == certificate.disagreement
    assert display.risk_bound == certificate.risk_bound


class LooseTandem(MomentBound):
    """4e plus a constant: nothing but what a bound must have."""

    name = "loose"

    @staticmethod
    def oracle(gibbs_risk, joint_error):
        return 4 * joint_error

    def evaluate_moments(self, moments, kl):
        return Evaluation(4 * moments.joint_error + 0.1, joint_error=4.0)


class CountingBound(Bound):
    """A bound that knows no moments."""

    name = "counting"

    def evidence(self, statistics, weights, prior=None):
        return {"errors": 1}

    def from_evidence(self, evidence, weights, prior):
        return 0.5

    def evaluate(self, statistics, q, p):
        return 0.5, np.zeros_like(q)


def test_a_new_bound_gets_the_plane_for_nothing(certificate_at, ax, monkeypatch, registry):
    monkeypatch.setitem(registry, "loose", LooseTandem)
    certificate = certificate_at("loose", 0.1, 0.04, 1.0, 500)
    display = PlaneDisplay.from_certificate(certificate, ax=ax)
    assert certificate.risk_bound == pytest.approx(0.26)
    # It allows every vote with 4e ≤ 0.26; the worst is beside the observed point.
    assert display.worst == pytest.approx((0.065, 0.12), abs=1e-8)
    assert np.nanmax(display.region.largest_joint_error) == pytest.approx(0.065, abs=1e-9)
    assert display.region.disagreement[[0, -1]] == pytest.approx(
        [0, 2 * (math.sqrt(0.065) - 0.065)], abs=1e-9
    )


def test_a_bound_without_moments_has_no_plane(certificate_at, ax, monkeypatch, registry):
    monkeypatch.setitem(registry, "counting", CountingBound)
    certificate = replace(
        certificate_at("tandem", 0.1, 0.04, 1.0, 500),
        bound="counting",
        bound_parameters={"delta": 0.05},
        evidence={"errors": 1},
    )
    with pytest.raises(ValueError, match=r"no \(e, d\) plane.*'counting'"):
        PlaneDisplay.from_certificate(certificate, ax=ax)
    assert not ax.lines
