"""What the displays share: axes, colours, and a legend that covers nothing.

Whatever is not a colour of the palette is drawn in the colours of matplotlib's settings, so that
the picture fits a dark page as well as a printed one.
"""

from typing import Any

__all__ = ["BLUE", "ORANGE", "SKY", "VERMILION", "axes", "foreground", "legend_below"]

# From the palette of Okabe and Ito, which survives colour blindness. Lines and markers differ in
# shape too, for print in black and white.
BLUE = "#0072B2"
SKY = "#56B4E9"
ORANGE = "#E69F00"
VERMILION = "#D55E00"


def axes(ax: Any, display: object, figsize: tuple[float, float] | None = None) -> Any:
    """Return the axes to draw on: those given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        The axes given by the user.
    display : object
        Who asks, to be named if matplotlib is missing.
    figsize : tuple of float, default=None
        The size of a new figure, in inches.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__}.plot needs matplotlib: pip install 'certivote[plot]'."
        ) from error
    return pyplot.subplots(layout="constrained", figsize=figsize)[1]


def foreground() -> str:
    """Return the colour of text, for lines that are no data."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def legend_below(ax: Any, handles: list[Any], ncols: int = 2, tick_lines: int = 1) -> None:
    """Put a legend under the label of the x-axis.

    Parameters
    ----------
    ax : matplotlib Axes
        Where.
    handles : list of Artist
        What is explained, in this order.
    ncols : int, default=2
        The number of columns.
    tick_lines : int, default=1
        The number of lines of the labels of the x-axis's ticks.
    """
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
