"""How the certificate fell while the weights were learned."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._utils.formatting import format_up
from ..solvers import MinimizeResult
from ..solvers.base import FIXED, NOT_DESCENDED
from .base import Display, foreground, legend_below
from .palette import BLUE, ORANGE, VERMILION

__all__ = ["OptimisationDisplay"]


class OptimisationDisplay(Display):
    """The objective at each iteration of a solver, and the smallest so far.

    A solver that starts several times has its runs one after the other: where the objective jumps
    up, another start begins. Above 1 it is no certificate, but what is descended to find one.

    Make one with `from_result` or `from_estimator`.

    Parameters
    ----------
    history : array-like of shape (n_iter,)
        The objective at each iteration.
    value : float
        The certificate that was found.
    converged : bool, default=True
        Whether the solver's own criterion was met.
    message : str, default=""
        Why the solver stopped, as in `MinimizeResult`.

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
    >>> from certivote import VoteStatistics, minimize
    >>> from certivote.plotting import OptimisationDisplay
    >>> losses = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]] * 100
    >>> result = minimize("tandem", VoteStatistics.from_losses(losses))
    >>> display = OptimisationDisplay.from_result(result, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    description = "What the solver minimised, at each iteration."

    def __init__(
        self, history: ArrayLike, value: float, converged: bool = True, message: str = ""
    ) -> None:
        self.history = np.asarray(history, dtype=np.float64)
        self.value = value
        self.converged = converged
        self.message = message

    @property
    def caption(self) -> str:
        """What the picture says, and how the solver ended."""
        end = "It converged" if self.converged else f"It stopped: {self.message}"
        if self.message in (FIXED, NOT_DESCENDED):
            end = f"The bound of a vote {self.message} was smaller, and is what is certified"
        return (
            "How the bound fell while the weights were learned; where it jumps up, the solver "
            f"starts from another point. {end}. The certificate holds in any case."
        )

    @classmethod
    def from_result(cls, result: MinimizeResult, ax: Any = None) -> Self:
        """Draw what a solver did.

        Parameters
        ----------
        result : MinimizeResult
            What `certivote.minimize` returned.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        OptimisationDisplay
            The display, drawn.
        """
        return cls(result.history, result.value, result.converged, result.message).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None) -> Self:
        """Draw how a fitted vote learned its weights.

        Parameters
        ----------
        estimator : MajorityVoteClassifier
            A fitted vote whose weights minimise a certificate.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        OptimisationDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "certificate_")
        if not hasattr(estimator, "optimisation_"):
            raise ValueError(
                f"{type(estimator).__name__} does not learn its weights by minimising a "
                "certificate: there is no such optimisation to show."
            )
        return cls.from_result(estimator.optimisation_, ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        certificate = min(1.0, self.value)
        iterations = np.arange(1, self.history.size + 1)
        smallest = np.minimum.accumulate(self.history)
        handles = [
            *ax.plot(iterations, self.history, color=ORANGE, linewidth=1.0, label="objective"),
            *ax.plot(iterations, smallest, color=BLUE, linewidth=2.0, label="smallest so far"),
            *ax.plot(
                self.history.size,
                certificate,
                linestyle="none",
                marker="X",
                markersize=8,
                color=VERMILION,
                clip_on=False,
                zorder=3,
                label=f"certificate ≤ {format_up(certificate)}",
            ),
        ]
        shown = [certificate, *self.history]
        if max(shown) >= 1.0:
            line = ax.axhline(1.0, color=foreground(), linestyle=":", label="vacuous above")
            handles.append(line)
        if max(shown) > 10.0 * min(shown):
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
        else:
            # No dramatic picture of a change that nobody would see in the figures.
            ax.set_ylim(
                min(0.99 * certificate, ax.get_ylim()[0]), max(1.01 * certificate, ax.get_ylim()[1])
            )
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set(
            xlim=(0, max(1, self.history.size)),
            xlabel="iteration",
            ylabel="objective of the solver",
        )
        legend_below(ax, handles)
