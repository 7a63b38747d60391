"""The plots of a page: those that say something of this certificate, in the page's colours."""

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..bounds import MomentBound
from ..certificate import Certificate
from ..certificate.checking import is_uniform
from ..claims import AbstainFamily, ShiftFamily
from ..solvers import MinimizeResult

if TYPE_CHECKING:
    from ..plotting.base import Display

__all__ = ["Plot", "draw", "worth_drawing"]

_SIZE = (4.8, 4.0)
# Matplotlib draws text and axes in this colour; the page puts its own in the place.
_INK = "#010203"
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "certivote",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
}
# Weights that diverge by no more from their prior were not learned, but rounded.
_ROUNDED = 1e-9

Drawing = Callable[[Any], "Display"]


class Plot(NamedTuple):
    """What is drawn, as the inside of an SVG element, and what the display says of it."""

    svg: str
    width: float
    height: float
    description: str
    caption: str


def worth_drawing(
    certificate: Certificate, optimisation: MinimizeResult | None
) -> Iterator[tuple[str, Drawing]]:
    """Yield the plots that say something, each with its name and how to draw it on axes.

    A page without any does not load the displays, which load scikit-learn.
    """
    kinds = {family.kind for family in certificate.families}
    if AbstainFamily.kind in kinds:
        from ..plotting import RiskCoverageDisplay

        yield "abstaining", lambda ax: RiskCoverageDisplay.from_certificate(certificate, ax=ax)
    if ShiftFamily.kind in kinds:
        from ..plotting import ShiftDisplay

        yield "shift", lambda ax: ShiftDisplay.from_certificate(certificate, ax=ax)
    bound = certificate.bound_object
    if isinstance(bound.winner(certificate.evidence) or bound, MomentBound):
        from ..plotting import PlaneDisplay

        yield "plane", lambda ax: PlaneDisplay.from_certificate(certificate, ax=ax)
    if not is_uniform(certificate.weights):
        from ..plotting import WeightsDisplay

        yield "weights", lambda ax: WeightsDisplay.from_certificate(certificate, ax=ax)
    learned = certificate.kl > _ROUNDED
    if optimisation is not None and len(optimisation.history) > 1 and learned:
        from ..plotting import OptimisationDisplay

        yield "optimisation", lambda ax: OptimisationDisplay.from_result(optimisation, ax=ax)


def draw(name: str, drawing: Drawing) -> Plot:
    """Return what `drawing` draws on the axes that it is given; several must not share ids."""
    from matplotlib import style
    from matplotlib.figure import Figure

    from ..plotting.palette import BLUE

    file = io.StringIO()
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=_SIZE, layout="constrained")
        display = drawing(figure.subplots())
        figure.savefig(file, format="svg")
    svg = file.getvalue()
    svg = svg[svg.index("<g ") : svg.rindex("</svg>")].rstrip()
    svg = svg.replace(_INK, "currentColor").replace(BLUE.lower(), "var(--blue)")
    for before in (' id="', 'href="#', "url(#"):
        svg = svg.replace(before, f"{before}{name}-")
    width, height = (72 * inches for inches in _SIZE)
    return Plot(svg, width, height, display.description, display.caption)
