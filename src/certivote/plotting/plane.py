"""Where a vote is in the plane of joint error and disagreement, and where it might be."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._utils.formatting import format_confidence, format_up
from ..bounds import MomentBound
from ..bounds.evaluation import Plane
from ..certificate import Certificate
from ._region import Region, level_line, possible, region_of, worst_point
from .base import Display, foreground, legend_below
from .palette import BLUE, SKY, VERMILION

__all__ = ["PlaneDisplay"]


class PlaneDisplay(Display):
    """The plane of joint error e and disagreement d, for a certificate on moments.

    It shows the observed point; the region in which, with the certificate's confidence, the true
    point is; level lines of the bound at known moments; and the point of the region where that
    bound is largest: the certificate is its value there, or covers it, for bounds that do not use
    all that their statements say. No vote has ``d > 2(√e − e)``.

    Make one with `from_certificate` or `from_estimator`.

    Parameters
    ----------
    joint_error, disagreement : float
        The observed point.
    region : Region
        The confidence region, row by row.
    worst : tuple of float
        The worst point (e, d) of the region.
    risk_bound, delta : float
        The certificate, and the probability that it may fail.
    oracle : callable
        The bound at known moments, of arrays e and d.
    oracle_name : str
        What it is called.

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
    >>> from certivote.plotting import PlaneDisplay
    >>> losses = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100
    >>> certificate = certify(VoteStatistics.from_losses(losses), bound="lacasse")
    >>> display = PlaneDisplay.from_certificate(certificate, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'joint error $e$'
    """

    description = (
        "Plane of joint error and disagreement: where the sample is, where the truth may be, and "
        "the worst case, at which the bound is taken."
    )
    _figsize = (6.4, 5.6)

    def __init__(
        self,
        *,
        joint_error: float,
        disagreement: float,
        region: Region,
        worst: tuple[float, float],
        risk_bound: float,
        delta: float,
        oracle: Plane,
        oracle_name: str,
    ) -> None:
        self.joint_error = joint_error
        self.disagreement = disagreement
        self.region = region
        self.worst = worst
        self.risk_bound = risk_bound
        self.delta = delta
        self.oracle = oracle
        self.oracle_name = oracle_name

    @property
    def caption(self) -> str:
        """What the picture says."""
        return (
            "The dot is the joint error and disagreement of the sample. With "
            f"{format_confidence(self.delta)} confidence the true ones are in the shaded region, "
            "and the certificate is the bound at its worst point."
        )

    @classmethod
    def from_certificate(cls, certificate: Certificate, ax: Any = None) -> Self:
        """Draw the plane of a certificate.

        Parameters
        ----------
        certificate : Certificate
            A certificate by a bound on moments.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        PlaneDisplay
            The display, drawn.
        """
        bound = certificate.bound_object
        bound = bound.winner(certificate.evidence) or bound
        if not isinstance(bound, MomentBound):
            raise ValueError(
                f"this certificate has no (e, d) plane: the bound {certificate.bound!r} does not "
                "depend on joint error and disagreement alone."
            )
        scalar = np.vectorize(bound.oracle, otypes=[np.float64])

        def oracle(e: NDArray[np.float64], d: NDArray[np.float64]) -> NDArray[np.float64]:
            values: NDArray[np.float64] = scalar(e + d / 2.0, e)
            return values

        excess = bound.confidence_region(certificate.evidence, certificate.kl)
        observed = (
            float(certificate.evidence["joint_error"]),
            float(certificate.evidence["disagreement"]),
        )
        region = region_of(excess, observed[1])
        return cls(
            joint_error=observed[0],
            disagreement=observed[1],
            region=region,
            worst=worst_point(region, excess, oracle, observed),
            risk_bound=certificate.risk_bound,
            delta=certificate.delta,
            oracle=oracle,
            oracle_name=bound.oracle_name,
        ).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None) -> Self:
        """Draw the plane of a fitted vote's certificate.

        Parameters
        ----------
        estimator : CertifiedVote
            A fitted vote.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        PlaneDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "certificate_")
        return cls.from_certificate(estimator.certificate_, ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        (left, right), (bottom, top) = self._view()
        ax.set(
            xlim=(left, right),
            ylim=(bottom, top),
            xlabel="joint error $e$",
            ylabel="disagreement $d$",
        )
        ax.xaxis.set_major_locator(MaxNLocator(6))
        handles = ax.fill(
            *self.region.outline().T,
            facecolor=(SKY, 0.35),
            edgecolor=BLUE,
            zorder=2,
            label=f"true $(e, d)$, with {format_confidence(self.delta)} confidence",
        )
        for point, marker, size, colour, label in (
            ((self.joint_error, self.disagreement), "o", 9, BLUE, "observed $(e, d)$"),
            (self.worst, "X", 7, VERMILION, self._worst_label()),
        ):
            handles += ax.plot(
                *point,
                linestyle="none",
                marker=marker,
                markersize=size,
                color=colour,
                clip_on=False,
                zorder=5,
                label=label,
            )
        handles += self._draw_levels(ax)
        handles += self._draw_edges(ax)
        ax.annotate(
            f"≤ {format_up(self.risk_bound)}" + ("\n(vacuous)" if self.risk_bound >= 1.0 else ""),
            self.worst,
            xytext=(9, 6),
            textcoords="offset points",
            fontweight="bold",
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.0},
            zorder=6,
        )
        legend_below(ax, handles)

    def _worst_label(self) -> str:
        """Say whether the certificate is the oracle bound at the worst point, or above it."""
        e, d = (np.array(coordinate) for coordinate in self.worst)
        slack = self.risk_bound - min(1.0, float(self.oracle(e, d)))
        return "worst case: the certificate" if slack < 1e-6 else "worst case, covered"

    def _view(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the limits of e and d: the region and its surroundings."""
        points = np.vstack(
            [self.region.outline(), (self.joint_error, self.disagreement), self.worst]
        )
        low, high = points.min(axis=0), points.max(axis=0)
        size = high - low
        low = np.maximum(0.0, low - 0.2 * size)
        # To the right there must be room for the certificate in figures.
        high = high + (0.3, 0.2) * size
        return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))

    def _draw_levels(self, ax: Any) -> list[Any]:
        """Draw labelled level lines of the oracle bound, below 1."""
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        # A grid that ends where votes end, so that the lines do too.
        widest = min(max(0.25, left), right)
        rows = np.linspace(bottom, min(top, 2.0 * (np.sqrt(widest) - widest)), 150)
        first, last = possible(rows)
        e = np.linspace(np.maximum(first, left), np.minimum(last, right), 150, axis=1)
        d = np.broadcast_to(rows[:, None], e.shape)
        values = self.oracle(e, d)
        low, high = float(values.min()), min(1.0, float(values.max()))
        ticks = MaxNLocator(nbins=8, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        # The level of the certificate has a line of its own, which needs no neighbour.
        near = 0.2 * (ticks[1] - ticks[0])
        levels = [
            level
            for level in ticks
            if low < level < high - 1e-9 and abs(level - self.risk_bound) > near
        ]
        colour, width, alpha = foreground(), 0.7, 0.7
        lines = ax.contour(
            e, d, values, levels, colors=colour, linewidths=width, alpha=alpha, zorder=3
        )
        places = self._label_places(levels, (left, right), (bottom, top))
        ax.clabel(lines, fmt="%g", fontsize="small", manual=places)
        return [
            Line2D(
                [],
                [],
                color=colour,
                linewidth=width,
                alpha=alpha,
                label=f"level lines: {self.oracle_name}",
            )
        ]

    def _label_places(
        self, levels: list[float], e_limits: tuple[float, float], d_limits: tuple[float, float]
    ) -> list[tuple[float, float]]:
        """Return where to write the levels: low down, where lines are apart, off the worst case."""
        (left, right), (bottom, top) = e_limits, d_limits
        height = np.arange(0.08, 1.0, 0.08)
        rows = bottom + height * (top - bottom)
        annotation = (self.worst[1] - bottom) / (top - bottom) + 0.07
        rows = rows[(np.abs(height - annotation) > 0.14) & (rows < 0.5)]
        margin = 0.02 * (right - left)
        places = []
        for level in levels:
            e = level_line(self.oracle, level, rows)
            visible = np.flatnonzero((e > left + margin) & (e < right - margin))
            if visible.size:
                places.append((float(e[visible[0]]), float(rows[visible[0]])))
        return places

    def _draw_edges(self, ax: Any) -> list[Any]:
        """Draw the level of the certificate, where bounds are vacuous, and where votes end."""
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        d = np.linspace(bottom, min(top, 0.5), 150)
        e = np.linspace(np.sqrt(left), np.sqrt(min(right, 1.0)), 300) ** 2
        lines = [
            (level_line(self.oracle, 1.0 - 1e-9, d), d, foreground(), ":", "vacuous beyond"),
            (e, 2.0 * (np.sqrt(e) - e), foreground(), "-", "no vote is beyond"),
        ]
        if self.risk_bound < 1.0:
            label = f"{self.oracle_name} = certificate"
            level = level_line(self.oracle, self.risk_bound, d)
            lines.insert(0, (level, d, VERMILION, "--", label))
        handles = []
        for x, y, colour, style, label in lines:
            if np.any((x >= left) & (x <= right) & (y >= bottom) & (y <= top)):
                handles += ax.plot(x, y, color=colour, linestyle=style, zorder=4, label=label)
        return handles
