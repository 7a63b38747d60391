"""All claims of a certificate as intervals."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._utils.formatting import format_confidence, printable
from ..certificate import Certificate
from ..claims import Claim
from ..claims.tally import is_probability, limits, says_nothing, tally
from .base import Display, foreground, legend_below
from .palette import BLUE, SKY

__all__ = ["ClaimsDisplay"]

# Longer names lose their middle, to leave room for the intervals.
_LONGEST = 40


class ClaimsDisplay(Display):
    """The claims of a certificate, one interval a row; all of them hold at once.

    An interval covers all values that a claim leaves possible. Where only one limit is claimed, it
    runs to the end of the scale.

    Make one with `from_certificate`.

    Parameters
    ----------
    claims : sequence of Claim
        The claims, from top to bottom, about quantities between 0 and 1.
    observed : sequence of float or None
        What was observed on the certification examples, None where that was not counted.
    delta : float
        The probability that any of the claims may fail.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around.
    description, caption : str
        What is drawn, for those who cannot see it, and what it says.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from certivote import certify
    >>> from certivote.plotting import ClaimsDisplay
    >>> y = np.repeat(["healthy", "ill"], [300, 100])
    >>> predicted = np.where(np.arange(400) % 20 == 0, "ill", y)
    >>> certificate = certify(predicted, y, claims=["recall"])
    >>> display = ClaimsDisplay.from_certificate(certificate, ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['error', 'recall of healthy', 'recall of ill']
    """

    description = "The claims of a certificate, an interval for each, and what was observed."

    def __init__(
        self, claims: Sequence[Claim], observed: Sequence[float | None], delta: float
    ) -> None:
        self.claims = list(claims)
        self.observed = list(observed)
        self.delta = delta
        self._figsize = (6.4, 1.4 + 0.28 * len(self.claims))

    @property
    def caption(self) -> str:
        """What the picture says."""
        return (
            f"All claims hold at once, with {format_confidence(self.delta)} confidence. An "
            "interval covers the values that a claim leaves possible; one of them all says nothing."
        )

    @classmethod
    def from_certificate(cls, certificate: Certificate, ax: Any = None) -> Self:
        """Draw the claims of a certificate that are about probabilities: not costs.

        Parameters
        ----------
        certificate : Certificate
            Any certificate.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ClaimsDisplay
            The display, drawn.
        """
        beside, vote = certificate.neighbours, certificate.vote
        claims = [certificate.claims[0]]
        observed = [None if beside is None else beside.observed]
        for family in filter(is_probability, certificate.families):
            own = certificate.claims_of(family)
            claims += own
            observed += [tally(claim, family, vote).observed for claim in own]
        return cls(claims, observed, certificate.delta).plot(ax)

    def _draw(self, ax: Any) -> None:
        handles = []
        for row, claim in enumerate(self.claims):
            nothing = says_nothing(claim)
            start, end = claim.lower or 0.0, 1.0 if claim.upper is None else claim.upper
            bar = ax.barh(
                row,
                end - start,
                left=start,
                height=0.5,
                facecolor="none" if nothing else (SKY, 0.6),
                edgecolor=BLUE,
                hatch="///" if nothing else None,
                label="says nothing" if nothing else "what a claim leaves possible",
            )
            handles.append(bar)
            # A column of figures to the right of the axes, where no bar or marker is.
            ax.annotate(
                _in_figures(claim),
                (1.0, row),
                xycoords=ax.get_yaxis_transform(),
                xytext=(8, 0),
                textcoords="offset points",
                verticalalignment="center",
            )
        rows = [row for row, value in enumerate(self.observed) if value is not None]
        if rows:
            handles += ax.plot(
                [self.observed[row] for row in rows],
                rows,
                linestyle="none",
                marker="o",
                markersize=4.5,
                color=foreground(),
                clip_on=False,
                label="observed",
            )
        ax.set(xlim=(0.0, 1.0), ylim=(len(self.claims) - 0.4, -0.6))
        ax.set_yticks(np.arange(len(self.claims)), [_cut(one.about) for one in self.claims])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"all at once, with {format_confidence(self.delta)} confidence")
        by_label = {handle.get_label(): handle for handle in handles}
        legend_below(ax, list(by_label.values()), ncols=len(by_label))


def _in_figures(claim: Claim) -> str:
    """Return the limits that are claimed, as text."""
    signed = zip("≥≤", limits(claim), strict=True)
    return ", ".join(f"{sign} {text}" for sign, text in signed if text is not None)


def _cut(name: str) -> str:
    """Return a name that has room beside the axes, and is no formula of matplotlib's."""
    text = printable(name)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}…{text[1 - _LONGEST // 2 :]}"
    return text.replace("$", r"\$")
