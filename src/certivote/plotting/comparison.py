"""Certificates side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .._utils.formatting import format_confidence, format_up
from ..certificate import Certificate
from .base import Display, legend_below
from .palette import BLUE, SKY, VERMILION

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay(Display):
    """Certificates side by side, one row for each, with test risks where they are known.

    Each certificate holds by itself. The smallest of several, chosen by looking at them, holds only
    at the sum of their deltas.

    Make one with `from_certificates`.

    Parameters
    ----------
    names : sequence of str
        What is compared, from top to bottom.
    risk_bounds, deltas : sequence of float
        The certificates, and the probability that each may fail.
    test_risks : sequence of float or None, default=None
        The share of errors on test data, None where it is not known.

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
    >>> from matplotlib.figure import Figure
    >>> from certivote import VoteStatistics, certify
    >>> from certivote.plotting import ComparisonDisplay
    >>> s = VoteStatistics.from_losses([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100)
    >>> certificates = {name: certify(s, bound=name) for name in ("gibbs", "tandem")}
    >>> display = ComparisonDisplay.from_certificates(certificates, ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['gibbs', 'tandem']
    """

    description = "Certificates side by side, a bar for each, and test risks where they are known."
    caption = (
        "Each certificate holds by itself. The smallest of several, chosen by looking at them, "
        "holds only at the sum of their deltas."
    )

    def __init__(
        self,
        names: Sequence[str],
        risk_bounds: Sequence[float],
        deltas: Sequence[float],
        test_risks: Sequence[float | None] | None = None,
    ) -> None:
        self.names = list(names)
        self.risk_bounds = list(risk_bounds)
        self.deltas = list(deltas)
        self.test_risks = [None] * len(self.names) if test_risks is None else list(test_risks)
        self._figsize = (6.4, 1.4 + 0.32 * len(self.names))

    @classmethod
    def from_certificates(
        cls,
        certificates: Mapping[str, Certificate],
        test_risks: Mapping[str, float] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw certificates side by side.

        Parameters
        ----------
        certificates : mapping of str to Certificate
            What is compared, from top to bottom.
        test_risks : mapping of str to float, default=None
            The share of errors on test data, for all of the names or for some.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ComparisonDisplay
            The display, drawn.
        """
        if not certificates:
            raise ValueError("certificates must hold at least one certificate, got none.")
        risks = dict(test_risks or {})
        unknown = [name for name in risks if name not in certificates]
        if unknown:
            raise ValueError(
                f"test_risks must be of {', '.join(certificates)}, got {', '.join(unknown)}."
            )
        return cls(
            list(certificates),
            [certificate.risk_bound for certificate in certificates.values()],
            [certificate.delta for certificate in certificates.values()],
            [risks.get(name) for name in certificates],
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        handles, ends = [], []
        for row, (bound, risk) in enumerate(zip(self.risk_bounds, self.test_risks, strict=True)):
            vacuous = bound >= 1.0
            bar = ax.barh(
                row,
                bound,
                height=0.6,
                facecolor="none" if vacuous else (SKY, 0.6),
                edgecolor=BLUE,
                hatch="///" if vacuous else None,
                label="vacuous certificate" if vacuous else "certificate",
            )
            handles.append(bar)
            ends.append(max(bound, risk or 0.0))
            # A column of figures to the right of the axes, where no bar or marker is.
            ax.annotate(
                format_up(bound),
                (1.0, row),
                xycoords=ax.get_yaxis_transform(),
                xytext=(6, 0),
                textcoords="offset points",
                verticalalignment="center",
            )
            if risk is not None:
                handles += ax.plot(
                    risk,
                    row,
                    linestyle="none",
                    marker="D",
                    color=VERMILION,
                    clip_on=False,
                    label="test risk",
                )
        ax.set(xlim=(0.0, 1.05 * max(ends) or 1.0), ylim=(len(self.names) - 0.4, -0.6))
        self._label(ax)
        by_label = {handle.get_label(): handle for handle in handles}
        legend_below(ax, list(by_label.values()), ncols=len(by_label))

    def _label(self, ax: Any) -> None:
        """Name the rows and the axis; the confidence is where it differs."""
        confidences = [format_confidence(delta) for delta in self.deltas]
        names, note = self.names, f", with {confidences[0]} confidence"
        if len(set(confidences)) > 1:
            note = ""
            names = [f"{name} ({one})" for name, one in zip(names, confidences, strict=True)]
        ax.set_yticks(np.arange(len(names)), names)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"risk: at most this{note}")
