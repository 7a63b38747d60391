"""How sure a claim is to succeed, as it is drawn."""

import numpy as np
import pytest

from certivote import samples_to_test
from certivote.planning import success
from certivote.plotting import PlanDisplay


def test_the_curve_is_the_probability_of_success(ax):
    display = PlanDisplay.from_plan(0.05, risk=0.03, delta=0.02, power=0.9, ax=ax)
    assert display.needed == samples_to_test(0.05, 0.03, 0.02, 0.9)
    curve, _, planned = ax.lines
    sizes, shown = curve.get_xydata().T
    for m, value in list(zip(sizes, shown, strict=True))[::40]:
        assert value == success(int(m), 0.05, 0.03, 0.02)
    assert np.all(shown[sizes >= display.needed] >= 0.9)
    assert planned.get_xydata()[0][0] == display.needed
    assert str(display.needed) in display.caption
    assert str(display.needed) in display.description


def test_groups_are_called_so(ax):
    display = PlanDisplay.from_plan(0.05, risk=0.03, unit="groups ('man')", ax=ax)
    assert ax.get_xlabel() == "certification groups ('man')"
    assert ax.lines[-1].get_label().endswith(" groups ('man')")
    for text in (display.description, display.caption):
        assert "groups ('man')" in text


def test_where_there_is_no_plan_none_is_drawn(ax):
    with pytest.raises(ValueError, match="no plan to draw"):
        PlanDisplay.from_plan(0.05, risk=0.1, ax=ax)
