"""What is left of a certificate, the farther the examples to come are from those of the sample."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils.formatting import format_up
from ..certificate import Certificate
from ..claims import ShiftFamily, shifted
from .base import Display, foreground, legend_below
from .palette import BLUE, ORANGE, VERMILION

__all__ = ["ShiftDisplay"]

_POINTS = 201
_STYLES = (
    {"color": BLUE, "linestyle": "-"},
    {"color": VERMILION, "linestyle": "--"},
    {"color": ORANGE, "linestyle": "-."},
)
_SYMBOLS = {"kl": "KL", "tv": "total variation", "chi2": "χ²"}


class ShiftDisplay(Display):
    """The certificate against the radius of a shift, up to twice the one that is claimed.

    Make one with `from_certificate`.

    Parameters
    ----------
    risk_bound : float
        The certificate without a shift.
    shifts : sequence of (str, float)
        The distances and radii that are claimed, each as in `certivote.claims.shifted`.

    Attributes
    ----------
    limits : list of float
        The certificate under each of the shifts.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around.
    description, caption : str
        What is drawn, for those who cannot see it, and what it says.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from certivote import format_up
    >>> from certivote.plotting import ShiftDisplay
    >>> display = ShiftDisplay(0.1, [("tv", 0.05)]).plot(ax=Figure().subplots())
    >>> [format_up(limit) for limit in display.limits]
    ['0.1501']
    """

    _figsize = (6.4, 4.0)
    description = (
        "The certificate against the distance of the examples to come from those of the sample, "
        "from 0 to twice the distance that is claimed."
    )

    def __init__(self, risk_bound: float, shifts: Sequence[tuple[str, float]]) -> None:
        self.risk_bound = risk_bound
        self.shifts = list(shifts)
        self.limits = [shifted(risk_bound, *shift) for shift in self.shifts]

    @property
    def caption(self) -> str:
        """What the picture says."""
        claimed = ", ".join(
            f"{format_up(limit)} under {_SYMBOLS[distance]} of at most {radius:g}"
            for (distance, radius), limit in zip(self.shifts, self.limits, strict=True)
        )
        return (
            f"Without a shift the error is at most {format_up(self.risk_bound)}, and at most "
            f"{claimed}. It follows from the certificate alone, for every distance at once; how "
            "far the examples to come are from those of the sample, it cannot tell."
        )

    @classmethod
    def from_certificate(cls, certificate: Certificate, ax: Any = None) -> Self:
        """Draw the shifts that a certificate claims.

        Parameters
        ----------
        certificate : Certificate
            A certificate with a `certivote.claims.ShiftFamily`, or several.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ShiftDisplay
            The display, drawn.
        """
        families = certificate.families
        shifts = [(f.distance, f.radius) for f in families if isinstance(f, ShiftFamily)]
        if not shifts:
            raise ValueError(
                "certificate must claim a shift: certify with claims=[ShiftFamily(…)]."
            )
        return cls(certificate.risk_bound, shifts).plot(ax)

    def _draw(self, ax: Any) -> None:
        handles = []
        for number, distance in enumerate(dict.fromkeys(distance for distance, _ in self.shifts)):
            style = _STYLES[number]
            own = [
                (radius, limit)
                for (name, radius), limit in zip(self.shifts, self.limits, strict=True)
                if name == distance
            ]
            radii = np.linspace(0.0, 2.0 * max(own)[0], _POINTS)
            curve = [shifted(self.risk_bound, distance, float(radius)) for radius in radii]
            claimed = ", ".join(format_up(limit) for _, limit in own)
            label = f"{_SYMBOLS[distance]}; claimed: {claimed}"
            handles += ax.plot(radii, curve, label=label, **style)
            ax.plot(*np.transpose(own), linestyle="none", marker="D", color=style["color"])
        handles.append(
            ax.axhline(
                self.risk_bound, color=foreground(), linestyle=":", linewidth=0.8, label="no shift"
            )
        )
        farthest = max(radius for _, radius in self.shifts)
        highest = max(shifted(self.risk_bound, name, 2.0 * radius) for name, radius in self.shifts)
        ax.set(xlim=(0.0, 2.0 * farthest or 1.0), ylim=(0.0, 1.05 * highest or 1.0))
        ax.set_xlabel("distance from the examples of the sample")
        ax.set_ylabel("error: at most this")
        legend_below(ax, handles)
