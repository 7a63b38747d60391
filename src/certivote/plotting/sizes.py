"""How many voters it takes."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._utils.formatting import format_up
from ..certificate.provenance import FEWEST_BY_PART_A
from .base import Display, foreground, legend_below
from .palette import BLUE, ORANGE, VERMILION

__all__ = ["SizesDisplay"]

# More voters than this are shown on a log scale.
_MOST_LINEAR = 50


class SizesDisplay(Display):
    """The certificate against the number of voters, the heaviest ones alone.

    Make one with `from_estimator`.

    Parameters
    ----------
    n_voters : array-like of shape (n_sizes,)
        The numbers of voters, the last one all of them.
    limits : array-like of shape (n_sizes,)
        The certificate with so many; or, where part A has said how many are enough, what it would
        be there.
    chosen : int
        How many were kept.
    tolerance : float
        How much larger than that of all voters the number may be.
    tested : float, default=None
        The certificate of those that were kept, where it is of other rows than the limits.

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
    >>> from certivote.plotting import SizesDisplay
    >>> display = SizesDisplay([1, 2, 3], [0.3, 0.21, 0.2], 2, 0.01).plot(Figure().subplots())
    >>> display.description
    'The certificate against the number of voters, from 1 to 3; 2 were kept.'
    """

    _figsize = (6.4, 4.0)

    def __init__(
        self,
        n_voters: ArrayLike,
        limits: ArrayLike,
        chosen: int,
        tolerance: float,
        tested: float | None = None,
    ) -> None:
        self.n_voters = np.asarray(n_voters)
        self.limits = np.asarray(limits, dtype=np.float64)
        self.chosen = chosen
        self.tolerance = tolerance
        self.tested = tested

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None) -> Self:
        """Draw what a smaller vote was chosen by.

        Parameters
        ----------
        estimator : MajorityVoteClassifier
            What `MajorityVoteClassifier.smallest` returned.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        SizesDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "certificate_")
        if "fewest_by" not in estimator.certificate_.provenance:
            raise ValueError(
                "estimator must be what smallest returned: of others only one size is known."
            )
        sizes, certificate = estimator.sizes_, estimator.certificate_
        kept = int(np.count_nonzero(certificate.prior))
        tested = certificate.risk_bound
        if certificate.provenance["fewest_by"] != FEWEST_BY_PART_A:
            kept, tested = int(np.count_nonzero(certificate.weights)), None
        tolerance = certificate.provenance["fewest_within"]
        return cls(sizes["n_voters"], sizes["limits"], kept, tolerance, tested).plot(ax)

    @property
    def description(self) -> str:
        """What is drawn, for those who cannot see it."""
        first, last = self.n_voters[0], self.n_voters[-1]
        what = "The certificate" if self.tested is None else "A limit of the risk on part A"
        return (
            f"{what} against the number of voters, from {first} to {last}; {self.chosen} were kept."
        )

    @property
    def caption(self) -> str:
        """What the picture says."""
        kept = f"{self.chosen} of {self.n_voters[-1]} voters"
        if self.tested is None:
            return (
                f"{kept} are the fewest whose certificate is at most {self.tolerance:g} above that "
                "of all. All of these certificates hold at once, and any of them may be chosen."
            )
        return (
            f"From {kept} on, the limit on part A, where voters were asked on rows that they were "
            "not trained on, with one standard error for what they err more, is at most "
            f"{self.tolerance:g} above that of all. Part B was not looked at for this; there the "
            f"vote of these is certified at {format_up(self.tested)}."
        )

    def _draw(self, ax: Any) -> None:
        label = "certificate" if self.tested is None else "limit on part A"
        handles = ax.plot(self.n_voters, self.limits, color=BLUE, label=label)
        allowed = self.limits[-1] + self.tolerance
        handles.append(
            ax.axhline(
                allowed,
                color=foreground(),
                linestyle="--",
                linewidth=0.8,
                label=f"that of all, + {self.tolerance:g}",
            )
        )
        at = self.limits[np.searchsorted(self.n_voters, self.chosen)]
        kept = f"{self.chosen:,} of {self.n_voters[-1]:,} voters"
        mark: dict[str, Any] = {"linestyle": "none", "color": VERMILION, "label": kept}
        handles += ax.plot(self.chosen, at, marker="D", **mark)
        if self.tested is not None:
            mark |= {"color": ORANGE, "label": "certificate of these, on part B"}
            hollow = {"marker": "s", "markersize": 9, "markerfacecolor": "none"}
            handles += ax.plot(self.chosen, self.tested, **hollow, **mark)
        if self.n_voters[-1] > _MOST_LINEAR:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="voters, the heaviest first", ylabel="risk at most", ylim=(0.0, None))
        legend_below(ax, handles)
