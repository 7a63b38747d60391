"""Certificates side by side, as they are drawn."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from certivote import certify
from certivote.plotting import ComparisonDisplay


@pytest.fixture(scope="module")
def certificates(statistics):
    made = {name: certify(statistics, bound=name) for name in ("lacasse", "gibbs", "tandem")}
    made["hopeless"] = replace(made["gibbs"], risk_bound=1.0)
    return made


def rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def markers(ax):
    return {round(y): x for x, y in (line.get_xydata()[0] for line in ax.lines)}


def test_one_row_for_each_from_top_to_bottom(certificates, ax):
    ComparisonDisplay.from_certificates(certificates, ax=ax)
    assert rows(ax) == list(certificates)
    assert ax.yaxis_inverted()
    bars = sorted(ax.patches, key=lambda bar: bar.get_y())
    assert [bar.get_width() for bar in bars] == [c.risk_bound for c in certificates.values()]
    centres = [bar.get_y() + bar.get_height() / 2 for bar in bars]
    assert centres == pytest.approx(ax.get_yticks())
    assert not ax.lines
    assert "95% confidence" in ax.get_xlabel()


def test_figures_are_rounded_up(certificates, ax):
    ComparisonDisplay.from_certificates(certificates, ax=ax)
    for text, (_, row), certificate in zip(
        ax.texts, (text.xy for text in ax.texts), certificates.values(), strict=True
    ):
        excess = Decimal(text.get_text()) - Decimal(certificate.risk_bound)
        assert 0 <= excess < Decimal("0.0001")
        assert row == list(certificates.values()).index(certificate)


def test_vacuous_certificates_are_hatched(certificates, ax):
    ComparisonDisplay.from_certificates(certificates, ax=ax)
    assert [bar.get_hatch() is not None for bar in ax.patches] == [False, False, False, True]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["certificate", "vacuous certificate"]


def test_test_risks_of_some(certificates, ax):
    ComparisonDisplay.from_certificates(certificates, {"tandem": 0.05, "lacasse": 0.0}, ax=ax)
    assert markers(ax) == {2: 0.05, 0: 0.0}
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend.count("test risk") == 1


def test_a_test_risk_above_the_certificate_is_in_sight(certificates, ax):
    ComparisonDisplay.from_certificates({"a": certificates["gibbs"]}, {"a": 0.99}, ax=ax)
    assert ax.get_xlim()[1] > 0.99


def test_different_confidences_are_told_apart(statistics, ax):
    ComparisonDisplay.from_certificates(
        {
            "gibbs": certify(statistics, bound="gibbs", delta=0.1),
            "tandem": certify(statistics, bound="tandem", delta=0.01),
        },
        ax=ax,
    )
    assert rows(ax) == ["gibbs (90%)", "tandem (99%)"]
    assert "confidence" not in ax.get_xlabel()


def test_a_long_list_stays_legible(certificates, overlaps):
    rng = np.random.default_rng(0)
    names = [f"a classifier with a long name, {i}" for i in range(12)]
    many = {
        name: replace(certificates["gibbs"], risk_bound=min(1.0, float(rng.uniform(0, 1.2))))
        for name in names
    }
    display = ComparisonDisplay.from_certificates(many, dict.fromkeys(names, 0.1))
    assert overlaps(display.figure_) == []
    figure, boxes = display.figure_.bbox, [text.get_window_extent() for text in display.ax_.texts]
    assert all(figure.containsx(box.x1) for box in boxes)


def test_unknown_names_and_nothing_are_refused(certificates):
    with pytest.raises(ValueError, match=r"test_risks must be of lacasse.*got other"):
        ComparisonDisplay.from_certificates(certificates, {"gibbs": 0.1, "other": 0.2})
    with pytest.raises(ValueError, match="at least one"):
        ComparisonDisplay.from_certificates({})
