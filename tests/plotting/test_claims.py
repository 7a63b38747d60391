"""The claims of a certificate, abstaining and shifts, as they are drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from certivote.claims import shifted
from certivote.plotting import ClaimsDisplay, RiskCoverageDisplay, ShiftDisplay
from pages import NASTY, make_rows, make_sheet


def rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def labelled(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


# --- all claims ---


@pytest.mark.parametrize("case", ["whole", "learned", "few", "groups"])
def test_an_interval_for_each_claim_but_costs(case, ax):
    certificate = make_sheet(case)
    fields = json.loads(certificate.to_json())
    claims = [{"about": "error", "upper": fields["risk_bound"], "lower": None}]
    claims += [c for f in fields["families"] if f["kind"] != "cost" for c in f["claims"]]
    ClaimsDisplay.from_certificate(certificate, ax=ax)
    assert [text.partition("…")[0] for text in rows(ax)] == [
        claim["about"][: len(text.partition("…")[0])]
        for claim, text in zip(claims, rows(ax), strict=True)
    ]
    assert ax.yaxis_inverted()
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    expected = [(c["lower"] or 0.0, 1.0 if c["upper"] is None else c["upper"]) for c in claims]
    assert np.array(ends) == pytest.approx(np.array(expected))
    hatched = [bar.get_hatch() is not None for bar in ax.patches]
    assert hatched == [one == (0.0, 1.0) for one in expected]
    assert any(hatched) == (case == "few")
    for text, claim in zip(ax.texts, claims, strict=True):
        sign, number = text.get_text().split()
        if sign == "≤":
            assert claim["upper"] <= float(number) < claim["upper"] + 1e-4
        else:
            assert claim["lower"] - 1e-4 < float(number) <= claim["lower"]


def test_dots_are_what_was_observed(ax):
    votes, y, _ = make_rows()
    wrong = votes[:, 0] != y
    ClaimsDisplay.from_certificate(make_sheet("one"), ax=ax)
    right = [1 - wrong[y == name].mean() for name in ("benign", "malignant")]
    assert labelled(ax, "observed")[:, 0] == pytest.approx([wrong.mean(), *right])
    assert labelled(ax, "observed")[:, 1].tolist() == [0, 1, 2]


def test_names_are_cut_and_are_no_formulas(ax, overlaps):
    ClaimsDisplay.from_certificate(make_sheet("hostile"), ax=ax)
    assert max(map(len, rows(ax))) <= 42
    assert rows(ax)[1].startswith(f"recall of {NASTY[:9]}")
    assert rows(ax)[1].endswith(NASTY[-19:])
    assert any(text.endswith(r"= \$y\$") for text in rows(ax))
    assert overlaps(ClaimsDisplay.from_certificate(make_sheet("hostile")).figure_) == []


# --- abstaining ---


def test_the_curve_is_what_the_votes_say(ax):
    votes, y, _ = make_rows()
    tests = np.ones(3000, dtype=bool)
    tests[np.random.RandomState(0).permutation(3000)[:300]] = False
    ill = (votes[tests] == "malignant").mean(axis=1)
    share, wrong = np.maximum(ill, 1 - ill), np.where(ill > 0.5, "malignant", "benign") != y[tests]
    display = RiskCoverageDisplay.from_certificate(make_sheet("whole"), ax=ax)
    masks = [share >= level - 1e-9 for level in display.levels]
    curve = [(mask.mean(), wrong[mask].mean()) for mask in masks if mask.any()]
    assert labelled(ax, "observed, level by level") == pytest.approx(np.array(curve))

    # The last of those that pass, one after the other, by the binomial test at its part of δ.
    part = 0.9 * 0.05 / 12
    passes = [binom.cdf(wrong[mask].sum(), mask.sum(), 0.02) <= part for mask in masks]
    last = display.start + passes[display.start :].index(False) - 1
    assert display.chosen == last
    certified = [(mask.mean(), wrong[mask].mean()) for mask in masks[display.start : last + 1]]
    assert labelled(ax, "certified") == pytest.approx(np.array(certified))
    assert labelled(ax, "certified and chosen") == pytest.approx(np.array(certified[-1:]))
    assert labelled(ax, "target")[:, 1].tolist() == [0.02, 0.02]
    assert labelled(ax, "where testing began")[:, 0].tolist() == [masks[display.start].mean()] * 2
    counts = f"answers {masks[last].sum()} of 2700 examples, {wrong[masks[last]].sum()} of them"
    assert counts in display.caption
    assert "at most 0.02 of its answers are wrong" in display.caption


def test_where_nothing_is_certified_nothing_is_marked(ax):
    display = RiskCoverageDisplay.from_certificate(make_sheet("few"), ax=ax)
    assert display.chosen is None
    assert "none is certified" in display.caption
    assert "certified" not in [line.get_label() for line in ax.lines]


def test_without_abstaining_there_is_no_curve(ax):
    with pytest.raises(ValueError, match="may abstain: certify with abstain="):
        RiskCoverageDisplay.from_certificate(make_sheet("one"), ax=ax)


# --- shifts ---


def test_curves_go_to_twice_the_radius_that_is_claimed(ax):
    certificate = make_sheet("whole")
    claimed = [claim for claim in certificate.claims if "under a shift" in claim.about]
    display = ShiftDisplay.from_certificate(certificate, ax=ax)
    assert display.limits == [claim.upper for claim in claimed]
    kl, kl_point, tv, tv_point, plain = ax.lines
    for (name, radius), curve, point, claim in zip(
        (("kl", 0.05), ("tv", 0.1)), (kl, tv), (kl_point, tv_point), claimed, strict=True
    ):
        radii, limits = curve.get_xydata().T
        assert (radii[0], radii[-1]) == (0.0, 2 * radius)
        assert np.all(np.diff(limits) > 0.0)
        assert certificate.risk_bound <= limits[0] < certificate.risk_bound + 1e-6
        # No nearer than by kl(q‖p), or by the difference, which is the total variation of events.
        q, p = limits[-1], certificate.risk_bound
        distance = q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
        distance = distance if name == "kl" else q - p
        assert 2 * radius <= distance * (1 + 1e-6) < 4 * radius
        assert point.get_xydata().tolist() == [[radius, claim.upper]]
    assert set(plain.get_ydata()) == {certificate.risk_bound}
    assert ax.get_xlim() == (0.0, 0.2)


def test_radii_of_one_distance_share_a_curve(ax):
    shifts = [("chi2", 0.1), ("chi2", 0.4), ("kl", 0.0)]
    ShiftDisplay(0.1, shifts).plot(ax)
    curve, points, *_ = ax.lines
    assert curve.get_xdata()[-1] == 0.8
    assert points.get_xydata().tolist() == [[r, shifted(0.1, "chi2", r)] for r in (0.1, 0.4)]
    assert ax.get_xlim() == (0.0, 0.8)


def test_without_a_shift_there_is_no_curve(ax):
    with pytest.raises(ValueError, match="must claim a shift"):
        ShiftDisplay.from_certificate(make_sheet("one"), ax=ax)


def test_a_vacuous_certificate_stays_vacuous_under_a_shift(ax):
    display = ShiftDisplay(1.0, [("kl", 0.0)]).plot(ax)
    assert display.limits == [1.0]
    assert ax.get_xlim() == (0.0, 1.0)


def test_without_neighbours_the_error_has_no_dot(ax):
    ClaimsDisplay.from_certificate(replace(make_sheet("one"), neighbours=None), ax=ax)
    assert labelled(ax, "observed")[:, 1].tolist() == [1, 2]
