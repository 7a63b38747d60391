"""The paper's figures: pairwise comparisons, and votes by joint error and disagreement."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .table import TITLES, Table1

__all__ = ["draw_pairwise", "draw_planes", "save_figures"]

# Alg. 3 is on the x-axis; these are on the y-axis, in the paper's order.
BASELINES = ("2r", "masegosa", "cb-boost", "mincq")
# Distinct in shape as well as in colour; the palette of Okabe and Ito survives colour blindness.
MARKERS = {
    "lacasse": ("D", "#0072B2"),
    "masegosa": ("^", "#D55E00"),
    "2r": ("*", "#009E73"),
    "cb-boost": ("o", "#CC79A7"),
    "mincq": ("X", "#000000"),
}
PANELS_PER_PAGE = 8


def draw_pairwise(table: Table1) -> Any:
    """Return a figure of test risks and bounds: above the diagonal Alg. 3 beats a baseline."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.4), layout="constrained")
    axes = figure.subplots(2, len(BASELINES))
    for row, (what, title) in enumerate((("test_risk", "test risk"), ("bound", "bound"))):
        for axis, baseline in zip(axes[row], BASELINES, strict=True):
            points = [
                (getattr(ours, what), getattr(other, what))
                for dataset in table.datasets
                if (ours := table.cell(dataset, "lacasse")) is not None
                and (other := table.cell(dataset, baseline)) is not None
            ]
            if points:
                x, y = np.array(points).T
                limit = 1.05 * max(x.max(), y.max())
                axis.plot([0, limit], [0, limit], color="0.6", linewidth=1)
                marker, colour = MARKERS[baseline]
                axis.scatter(x, y, marker=marker, color=colour, s=36, zorder=2)
                axis.set(xlim=(0, limit), ylim=(0, limit))
            axis.set_aspect("equal")
            axis.set(xlabel=f"{TITLES['lacasse']}, {title}", ylabel=f"{TITLES[baseline]}, {title}")
    return figure


def draw_planes(table: Table1, datasets: list[str]) -> Any:
    """Return a page of at most eight planes: where the votes are, and what the C-bound is there.

    Level lines are those of the empirical C-bound; beyond the curve no vote can be.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7), layout="constrained")
    axes = figure.subplots(2, PANELS_PER_PAGE // 2).ravel()
    for axis in axes[len(datasets) :]:
        axis.set_visible(False)
    for axis, dataset in zip(axes, datasets, strict=False):
        _draw_plane(axis, table, dataset)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(MARKERS), frameon=False)
    return figure


def _draw_plane(axis: Any, table: Table1, dataset: str) -> None:
    e, d = np.meshgrid(np.linspace(0.0, 0.5, 301), np.linspace(0.0, 0.5, 301)[:-1])
    possible = (d <= 2.0 * np.sqrt(np.minimum(e, 0.25)) - 2.0 * e) & (2.0 * e + d < 1.0)
    value = np.where(possible, 1.0 - (1.0 - 2.0 * e - d) ** 2 / (1.0 - 2.0 * d), np.nan)
    lines = axis.contour(
        e, d, value, levels=np.arange(0.1, 1.0, 0.1), cmap="cividis", linewidths=0.9
    )
    axis.clabel(lines, fontsize=6, fmt="%.1f")
    edge = np.linspace(0.0, 0.25, 200)
    axis.plot(edge, 2.0 * np.sqrt(edge) - 2.0 * edge, color="black", linewidth=1.2)
    for learner, (marker, colour) in MARKERS.items():
        record = table.records.get((dataset, learner))
        if record is not None:
            axis.scatter(
                record.joint_error_S,
                record.disagreement_S,
                marker=marker,
                color=colour,
                edgecolor="white",
                linewidth=0.5,
                s=70,
                zorder=3,
                label=TITLES[learner],
            )
    axis.set(
        title=dataset, xlabel="joint error", ylabel="disagreement", xlim=(0, 0.5), ylim=(0, 0.5)
    )


def save_figures(
    table: Table1, folder: Path, suffixes: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Write all figures in these formats, and return their paths."""
    figures = {"pairwise": draw_pairwise(table)}
    for page, start in enumerate(range(0, len(table.datasets), PANELS_PER_PAGE), 1):
        shown = table.datasets[start : start + PANELS_PER_PAGE]
        figures[f"planes-{page}"] = draw_planes(table, shown)
    paths = []
    for name, figure in figures.items():
        for suffix in suffixes:
            path = folder / f"{name}.{suffix}"
            figure.savefig(path, dpi=120, metadata={"Date": None} if suffix == "svg" else None)
            paths.append(path)
    return paths
