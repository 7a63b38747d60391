"""How a vote is shared out among its voters."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..certificate import Certificate
from .base import Display, legend_below
from .palette import BLUE, SKY, VERMILION

__all__ = ["WeightsDisplay"]

# More voters than this have no room for their names, and more than that are shown on a log scale.
_MOST_NAMES = 12
_MOST_LINEAR = 50


class WeightsDisplay(Display):
    """The weights of the voters, the heaviest first, against their prior.

    A curve shows which share of the vote the heaviest voters have together. Where there are more
    than 50, another one shows which share the same voters have of the prior.

    Make one with `from_certificate` or `from_estimator`.

    Parameters
    ----------
    weights, prior : array-like of shape (n_voters,)
        The weights and the prior.
    names : sequence of str, default=None
        What the voters are called; their numbers if None. Shown where there are at most 12.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the weights were drawn.
    share_ax_ : matplotlib Axes
        The axes over them, where the cumulative share was drawn.
    figure_ : matplotlib Figure
        The figure around.
    description, caption : str
        What is drawn, for those who cannot see it, and what it says.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from certivote.plotting import WeightsDisplay
    >>> display = WeightsDisplay([0.1, 0.7, 0.2], [0.4, 0.3, 0.3]).plot(ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_xticklabels()]
    ['1', '2', '0']
    """

    description = "The weights of the voters, the heaviest first, and their prior."
    caption = "How the vote is shared out among the voters, and how the prior shares it."

    def __init__(
        self, weights: ArrayLike, prior: ArrayLike, names: Sequence[str] | None = None
    ) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.prior = np.asarray(prior, dtype=np.float64)
        self.names = [str(j) for j in range(self.weights.size)] if names is None else list(names)

    @classmethod
    def from_certificate(cls, certificate: Certificate, ax: Any = None) -> Self:
        """Draw the weights of a certificate.

        Parameters
        ----------
        certificate : Certificate
            Any certificate.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        WeightsDisplay
            The display, drawn.
        """
        return cls(certificate.weights, certificate.prior).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None) -> Self:
        """Draw the weights of a fitted vote.

        Parameters
        ----------
        estimator : CertifiedVote
            A fitted vote. Where it weighs complements of voters too, the complement of voter 0 is
            called "not 0".
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        WeightsDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "certificate_")
        certificate, n = estimator.certificate_, len(estimator.voters_)
        names = [str(j) if j < n else f"not\n{j - n}" for j in range(certificate.n_voters)]
        return cls(certificate.weights, certificate.prior, names).plot(ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import PercentFormatter

        n = self.weights.size
        order = np.lexsort((-self.prior, -self.weights))
        weights, prior = self.weights[order], self.prior[order]
        ranks, edges = np.arange(1, n + 1), np.arange(n + 1) + 0.5
        share_ax = ax.twinx()
        handles = [ax.stairs(weights, edges, fill=True, facecolor=(SKY, 0.6), label="weight")]
        dashed: dict[str, Any] = {"color": VERMILION, "linestyle": "--", "linewidth": 1.5}
        top = weights.max()
        if n <= _MOST_LINEAR:
            handles.append(ax.stairs(prior, edges, baseline=None, label="prior", **dashed))
            top = max(top, prior.max())
        else:
            label = "their share of the prior"
            handles += share_ax.plot(ranks, np.cumsum(prior), label=label, **dashed)
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        share = np.cumsum(weights)
        half = int(np.argmax(share >= 0.5 - 1e-12)) + 1
        handles += share_ax.plot(
            ranks,
            share,
            color=BLUE,
            marker="o" if n <= _MOST_NAMES else "",
            label=f"share of the heaviest (half: {half} of {n})",
        )
        tick_lines = 1
        if n <= _MOST_NAMES:
            ax.set_xticks(ranks, [self.names[j] for j in order])
            tick_lines += max(name.count("\n") for name in self.names)
        ax.set(
            xlim=(0.5, n + 0.5),
            ylim=(0.0, 1.05 * top),
            xlabel="voter" + ("" if n <= _MOST_NAMES else ", by rank") + " (the heaviest first)",
            ylabel="weight",
        )
        share_ax.set(ylim=(0.0, 1.05), ylabel="cumulative share")
        share_ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        legend_below(ax, handles, tick_lines=tick_lines)
        self.share_ax_ = share_ax
