"""What all displays share: whose axes, which colours, and what happens without matplotlib."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot, rc_context
from matplotlib.layout_engine import ConstrainedLayoutEngine
from sklearn.exceptions import NotFittedError

from certivote import MajorityVoteClassifier, certify, minimize
from certivote.plotting import (
    ClaimsDisplay,
    ComparisonDisplay,
    OptimisationDisplay,
    PlaneDisplay,
    RiskCoverageDisplay,
    ShiftDisplay,
    SizesDisplay,
    WeightsDisplay,
)
from pages import make_sheet

INK = "#123456"

FACTORIES = {
    "plane": lambda s, ax=None: PlaneDisplay.from_certificate(certify(s, bound="lacasse"), ax=ax),
    "weights": lambda s, ax=None: WeightsDisplay.from_certificate(certify(s), ax=ax),
    "optimisation": lambda s, ax=None: OptimisationDisplay.from_result(
        minimize("lacasse", s), ax=ax
    ),
    "comparison": lambda s, ax=None: ComparisonDisplay.from_certificates(
        {"a": certify(s), "b": certify(s, bound="gibbs", delta=1e-200)}, {"a": 0.1}, ax=ax
    ),
    "claims": lambda _, ax=None: ClaimsDisplay.from_certificate(make_sheet("few"), ax=ax),
    "abstaining": lambda _, ax=None: RiskCoverageDisplay.from_certificate(
        make_sheet("whole"), ax=ax
    ),
    "shift": lambda _, ax=None: ShiftDisplay.from_certificate(make_sheet("whole"), ax=ax),
    "sizes": lambda _, ax=None: SizesDisplay([1, 2, 3], [0.3, 0.25, 0.2], 2, 0.1, 0.3).plot(ax),
}
every_display = pytest.mark.parametrize("draw", FACTORIES.values(), ids=FACTORIES)


@every_display
def test_a_new_figure_is_made_only_if_needed(draw, statistics, ax):
    display = draw(statistics, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert pyplot.get_fignums() == []
    display = draw(statistics)
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [display.figure_]
    assert isinstance(display.figure_.get_layout_engine(), ConstrainedLayoutEngine)


@every_display
def test_a_display_can_be_drawn_again(draw, statistics, ax):
    display = draw(statistics)
    assert display.plot(ax) is display
    assert display.ax_ is ax


@every_display
def test_only_the_palette_and_the_colours_of_the_settings_are_used(draw, statistics):
    inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    written = io.StringIO()
    with rc_context(dict.fromkeys(inks, INK) | {"svg.fonttype": "none"}):
        draw(statistics).figure_.savefig(written, format="svg")
    svg = written.getvalue()
    assert svg.count(INK) > 10
    assert "#000000" not in svg
    assert "black" not in svg


@every_display
def test_a_display_says_what_it_shows_in_whole_sentences(draw, statistics, ax):
    display = draw(statistics, ax=ax)
    for text in (display.description, display.caption):
        assert len(text) > 20
        assert text[0].isupper()
        assert text.endswith(".")


@every_display
def test_no_text_lies_on_another(draw, statistics, ax, overlaps):
    assert overlaps(draw(statistics).figure_) == []
    assert overlaps(draw(statistics, ax=ax).figure_) == []


@every_display
def test_without_matplotlib_the_error_says_what_to_install(draw, statistics, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Display.plot needs matplotlib.*certivote\[plot\]"):
        draw(statistics)


def test_importing_the_displays_does_not_import_matplotlib():
    script = "import sys, certivote.plotting; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize(
    "display", [PlaneDisplay, WeightsDisplay, OptimisationDisplay, SizesDisplay]
)
def test_an_unfitted_vote_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(MajorityVoteClassifier())


def test_the_texts_that_overlap_are_found(ax, overlaps):
    """Else the tests that none do would prove nothing."""
    ax.text(0.5, 0.5, "one")
    ax.text(0.5, 0.5, "two")
    ax.text(0.1, 0.1, "far")
    assert overlaps(ax.figure) == [("one", "two")]
    assert np.isfinite(ax.get_xlim()).all()
