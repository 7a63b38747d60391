"""How sure a claim is to succeed, by the number of examples."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.formatting import format_confidence
from ..planning import samples_to_test, success
from .base import Display, foreground, legend_below
from .palette import BLUE, VERMILION

__all__ = ["PlanDisplay"]

# So many sizes are computed, from a tenth of what is needed to twice as many.
_SIZES = 400


class PlanDisplay(Display):
    """The probability that a test of m examples reaches a target, against m.

    Make one with `from_plan`.

    Parameters
    ----------
    n_samples : array-like of shape (n_sizes,)
        The numbers of examples.
    success : array-like of shape (n_sizes,)
        How probable it is with each that the claim is made.
    needed : int
        The number that was planned.
    target, risk, delta, power : float
        As in `certivote.samples_to_test`.
    unit : str, default="examples"
        What is drawn one by one: examples, or groups of them.

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
    >>> from certivote.plotting import PlanDisplay
    >>> display = PlanDisplay.from_plan(0.05, risk=0.03, ax=Figure().subplots())
    >>> display.needed
    694
    """

    _figsize = (6.4, 4.0)

    def __init__(
        self,
        n_samples: ArrayLike,
        success: ArrayLike,
        needed: int,
        target: float,
        risk: float,
        delta: float = 0.05,
        power: float = 0.8,
        unit: str = "examples",
    ) -> None:
        self.n_samples = np.asarray(n_samples)
        self.success = np.asarray(success)
        self.needed = needed
        self.target = target
        self.risk = risk
        self.delta = delta
        self.power = power
        self.unit = unit

    @property
    def description(self) -> str:
        """What is drawn, for those who cannot see it."""
        return (
            f"The probability that an error of at most {self.target:g} can be claimed, against the "
            f"number of {self.unit}; {self.needed} of them reach {self.power:g}."
        )

    @property
    def caption(self) -> str:
        """What the picture says."""
        return (
            f"If the vote errs on {self.risk:.2%} of all examples, a test of {self.needed} "
            f"{self.unit} shows with {format_confidence(self.delta)} confidence that it errs on at "
            f"most {self.target:.2%}, in at least {self.power:.0%} of all samples. Between two "
            f"errors that are allowed the curve falls: more {self.unit} are not always better."
        )

    @classmethod
    def from_plan(
        cls,
        target: float,
        risk: float,
        delta: float = 0.05,
        power: float = 0.8,
        unit: str = "examples",
        ax: Any = None,
    ) -> Self:
        """Plan a test, and draw how sure its claim is to succeed.

        Parameters
        ----------
        target, risk, delta, power
            As in `certivote.samples_to_test`.
        unit : str, default="examples"
            What is drawn one by one: examples, or groups of them.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        PlanDisplay
            The display, drawn.
        """
        needed = samples_to_test(target, risk, delta, power)
        if needed is None:
            raise ValueError(
                f"target must be above risk, and so that 10¹² examples are enough, got {target!r} "
                f"and {risk!r}: there is no plan to draw."
            )
        sizes = np.unique(np.linspace(max(1, needed // 10), 2 * needed, _SIZES).astype(int))
        sizes = np.union1d(sizes, needed)
        curve = [success(int(m), target, risk, delta) for m in sizes]
        return cls(sizes, curve, needed, target, risk, delta, power, unit).plot(ax)

    def _draw(self, ax: Any) -> None:
        (curve,) = ax.plot(
            self.n_samples, self.success, color=BLUE, label="probability that the claim is made"
        )
        ax.axhline(self.power, color=foreground(), linestyle="--", linewidth=0.8)
        (planned,) = ax.plot(
            self.needed,
            self.success[np.searchsorted(self.n_samples, self.needed)],
            linestyle="none",
            marker="D",
            color=VERMILION,
            label=f"{self.needed:,} {self.unit}",
        )
        ax.set(ylim=(0.0, 1.03), xlim=(0, None))
        ax.set_xlabel(f"certification {self.unit}")
        ax.set_ylabel(f"claim of {self.target:g} succeeds")
        legend_below(ax, [curve, planned])
