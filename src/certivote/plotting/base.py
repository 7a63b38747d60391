"""What the displays share: whose axes, and a legend that covers nothing.

Whatever is not a colour of the palette is drawn in the colours of matplotlib's settings, so that
the picture fits a dark page as well as a printed one.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

__all__ = ["Display", "foreground", "legend_below"]


class Display(ABC):
    """What can be drawn, and says what it shows; a subclass writes `_draw` and both texts."""

    ax_: Any
    figure_: Any
    # Of a new figure, in inches.
    _figsize: tuple[float, float] | None = None

    @property
    @abstractmethod
    def description(self) -> str:
        """What is drawn, for those who cannot see it."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """What the picture says."""

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display
            The display itself.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError(
                    f"{type(self).__name__}.plot needs matplotlib: pip install 'certivote[plot]'."
                ) from error
            ax = pyplot.subplots(layout="constrained", figsize=self._figsize)[1]
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on given axes."""


def foreground() -> str:
    """Return the colour of text, for lines that are no data."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def legend_below(ax: Any, handles: list[Any], ncols: int = 2, tick_lines: int = 1) -> None:
    """Put a legend under the label of the x-axis, whose ticks have labels of so many lines."""
    from matplotlib import rcParams
    from matplotlib.transforms import ScaledTranslation

    # In lines of text: the labels of the ticks, the label of the axis, and what is between them.
    drop = (1.2 * tick_lines + 2.4) * float(rcParams["font.size"]) / 72.0
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0.0, -drop, ax.figure.dpi_scale_trans),
        ncols=ncols,
        fontsize="small",
        frameon=False,
        borderaxespad=0.0,
    )
