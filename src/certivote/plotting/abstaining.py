"""What a vote errs on where it answers, against how often it answers."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.formatting import format_confidence
from ..certificate import Certificate
from ..claims import AbstainFamily
from .base import Display, foreground, legend_below
from .palette import BLUE, SKY, VERMILION

__all__ = ["RiskCoverageDisplay"]


class RiskCoverageDisplay(Display):
    """The observed error among the answered, against the share answered, at each level.

    Levels are tested one after the other, from one that was fixed without the examples that test,
    up to the first that fails. Those that passed are marked, the last of them is the one at which
    the vote answers. The curve itself is what was observed, and no claim.

    Make one with `from_certificate`.

    Parameters
    ----------
    levels : array-like of shape (n_levels,)
        How sure the vote must be to answer, from the strictest level on.
    answered, errors : array-like of shape (n_levels,)
        How many examples are answered at each level, and how many of these wrongly.
    n_samples : int
        How many examples there are.
    target : float
        How often an answer may be wrong.
    start : int
        The number of the level at which testing began.
    chosen : int or None
        The number of the last level that passed; None if the first did not.
    delta : float, default=0.05
        The probability that the certificate may fail.

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
    >>> from certivote.plotting import RiskCoverageDisplay
    >>> rng = np.random.default_rng(0)
    >>> y, hard = rng.integers(2, size=(2, 4000))
    >>> wrong = rng.random((4000, 25)) < np.where(hard, 0.4, 0.1)[:, None]
    >>> certificate = certify(np.where(wrong, 1 - y[:, None], y[:, None]), y, abstain=0.01)
    >>> display = RiskCoverageDisplay.from_certificate(certificate, ax=Figure().subplots())
    >>> float(display.levels[display.chosen])
    0.65
    """

    _figsize = (6.4, 4.4)

    def __init__(
        self,
        levels: ArrayLike,
        answered: ArrayLike,
        errors: ArrayLike,
        n_samples: int,
        target: float,
        start: int,
        chosen: int | None,
        delta: float = 0.05,
    ) -> None:
        self.levels = np.asarray(levels, dtype=np.float64)
        self.answered = np.asarray(answered)
        self.errors = np.asarray(errors)
        self.n_samples = n_samples
        self.target = target
        self.start = start
        self.chosen = chosen
        self.delta = delta

    @property
    def description(self) -> str:
        """What is drawn, for those who cannot see it."""
        return (
            "The observed error among the answered examples against the share that is answered, at "
            f"each of {len(self.levels)} levels, with the target {self.target:g} as a line."
        )

    @property
    def caption(self) -> str:
        """What the picture says."""
        if self.chosen is None:
            found = (
                f"Already the level where testing began did not show an error of at most "
                f"{self.target:g}: none is certified, and the vote answers nowhere."
            )
        else:
            number, wrong = self.answered[self.chosen], self.errors[self.chosen]
            found = (
                f"At the last level that passed, the vote answers {number} of {self.n_samples} "
                f"examples, {wrong} of them wrongly: with {format_confidence(self.delta)} "
                f"confidence, at most {self.target:g} of its answers are wrong."
            )
        return (
            f"{found} Levels are tested from the strictest that could pass on, up to the first "
            "that fails; the curve beyond is what was observed, and no claim."
        )

    @classmethod
    def from_certificate(cls, certificate: Certificate, ax: Any = None) -> Self:
        """Draw the levels of a certificate of a vote that may abstain.

        Parameters
        ----------
        certificate : Certificate
            A certificate with `abstain`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        RiskCoverageDisplay
            The display, drawn.
        """
        for family in certificate.families:
            if isinstance(family, AbstainFamily) and family.levels is not None:
                counts = family.evidence
                return cls(
                    family.levels,
                    counts["answered"],
                    counts["errors"],
                    counts["n_samples"],
                    family.target,
                    family.start or 0,
                    family.passed(certificate.vote),
                    certificate.delta,
                ).plot(ax)
        raise ValueError("certificate must be of a vote that may abstain: certify with abstain=….")

    def _draw(self, ax: Any) -> None:
        some = self.answered > 0
        share = self.answered / self.n_samples
        error = np.divide(self.errors, self.answered, out=np.zeros(len(some)), where=some)
        marked: dict[str, Any] = {"linestyle": "none", "clip_on": False, "zorder": 3}
        handles = ax.plot(
            share[some],
            error[some],
            color=SKY,
            marker=".",
            clip_on=False,
            label="observed, level by level",
        )
        ink = foreground()
        handles += [
            ax.axhline(self.target, color=ink, linestyle="--", linewidth=0.8, label="target"),
            ax.axvline(
                share[self.start],
                color=ink,
                linestyle=":",
                linewidth=0.8,
                label="where testing began",
            ),
        ]
        if self.chosen is not None:
            passed = slice(self.start, self.chosen + 1)
            handles += ax.plot(
                share[passed],
                error[passed],
                marker="o",
                markersize=5,
                color=BLUE,
                label="certified",
                **marked,
            )
            handles += ax.plot(
                share[self.chosen],
                error[self.chosen],
                marker="D",
                color=VERMILION,
                label="certified and chosen",
                **marked,
            )
        top = max(self.target, float(error.max()))
        ax.set(xlim=(0.0, 1.02), ylim=(0.0, 1.1 * top))
        ax.set_xlabel("share of the examples answered")
        ax.set_ylabel("error among the answered")
        legend_below(ax, handles)
