"""The geometry of the (e, d) plane: what votes can have, what a certificate allows, and the worst.

Everything works row by row: at a fixed disagreement d, a region is an interval of joint errors e.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bounds.evaluation import Plane

__all__ = ["Region", "level_line", "possible", "region_of", "row_edges", "worst_point"]

Array = NDArray[np.float64]

_HALVINGS = 50
_THIRDINGS = 70
# Oracle bounds this close are equally bad.
_TIE = 1e-9


class Region(NamedTuple):
    """A set of points (e, d), as an interval of e for each of some increasing d."""

    disagreement: Array
    smallest_joint_error: Array
    largest_joint_error: Array

    def outline(self) -> Array:
        """Return the corners of the region as a polygon, of shape (n_corners, 2)."""
        d = np.concatenate([self.disagreement, self.disagreement[::-1]])
        e = np.concatenate([self.smallest_joint_error, self.largest_joint_error[::-1]])
        return np.column_stack([e, d])


def possible(disagreement: Array) -> tuple[Array, Array]:
    """Return the least and largest joint error of a vote, where ``d ≤ 2(√e − e)``, for d ≤ ½."""
    root = np.sqrt(np.maximum(0.0, 1.0 - 2.0 * disagreement))
    return ((1.0 - root) / 2.0) ** 2, ((1.0 + root) / 2.0) ** 2


def level_line(oracle: Plane, level: float, d: Array) -> Array:
    """Return, for each d, the e at which an oracle bound, which rises with e, reaches a level.

    It is NaN where no vote is at this level.
    """
    first, last = possible(d)
    crossed = (oracle(first, d) <= level) & (oracle(last, d) > level)
    return np.where(crossed, _edge(lambda e, d: oracle(e, d) - level, d, first, last), np.nan)


def row_edges(excess: Plane, d: Array) -> tuple[Array, Array]:
    """Return, for each d, the ends of the interval of possible e where `excess` is at most 0.

    At fixed d, `excess` must fall and then rise in e. No row may be empty; both ends are inside.
    """
    inside = _lowest(excess, d)
    first, last = possible(d)
    return _edge(excess, d, inside, first), _edge(excess, d, inside, last)


def _lowest(excess: Plane, d: Array) -> Array:
    """Return, for each d, the possible e where `excess` is smallest."""
    low, high = possible(d)
    for _ in range(_THIRDINGS):
        third = (high - low) / 3.0
        falling = excess(low + third, d) > excess(high - third, d)
        low, high = np.where(falling, low + third, low), np.where(falling, high, high - third)
    return np.where(excess(low, d) <= excess(high, d), low, high)


def _edge(excess: Plane, d: Array, inside: Array, end: Array) -> Array:
    """Return the last point inside on the way from `inside` to `end`."""
    reached, outside = excess(end, d) <= 0.0, end
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2.0
        fits = excess(middle, d) <= 0.0
        inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
    return np.where(reached, end, inside)


def region_of(excess: Plane, start: float, n_rows: int = 201) -> Region:
    """Return the possible points where `excess`, as in `row_edges`, is at most 0.

    If the row of disagreement `start` is not empty it is one of the region's rows. They are denser
    at the two ends, where the region narrows.
    """
    start = _row_near(excess, min(start, 0.5))
    low, high = _last_row(excess, start, 0.0), _last_row(excess, start, 0.5)
    share = (1.0 - np.cos(np.linspace(0.0, np.pi, n_rows))) / 2.0
    d = np.union1d(np.clip(low + (high - low) * share, low, high), start)
    smallest, largest = row_edges(excess, d)
    return Region(d, smallest, largest)


def _row_near(excess: Plane, start: float) -> float:
    """Return the nearest row to `start` that is not empty.

    Where all are empty, no vote has the moments that the statements allow: one of them has failed.
    The row where they nearly meet stands for the region then.
    """
    rows = np.union1d(np.linspace(0.0, 0.5, 1001), start)
    lowest = excess(_lowest(excess, rows), rows)
    away = np.where(lowest <= 0.0, np.abs(rows - start), np.inf)
    return float(rows[np.argmin(away if np.any(lowest <= 0.0) else lowest)])


def _last_row(excess: Plane, start: float, end: float) -> float:
    """Return the last row that is not empty on the way from `start` to `end`."""
    for _ in range(7):
        rows = np.linspace(start, end, 33)
        empty = excess(_lowest(excess, rows), rows) > 0.0
        empty[0] = False
        if not empty.any():
            return float(end)
        first = int(np.argmax(empty))
        start, end = float(rows[first - 1]), float(rows[first])
    return start


def worst_point(
    region: Region, excess: Plane, oracle: Plane, observed: tuple[float, float]
) -> tuple[float, float]:
    """Return the (e, d) of the region where an oracle bound, which rises with e, is largest, or 1.

    `excess` is what the region was made of. Of points that are equally bad, one near the observed
    (e, d) is taken.
    """

    def badness(e: Array, d: Array) -> Array:
        return np.minimum(1.0, oracle(e, d))

    rows = region
    for _ in range(5):
        d, last = rows.disagreement, rows.largest_joint_error
        values = badness(last, d)
        away = np.where(values >= values.max() - _TIE, np.abs(d - observed[1]), np.inf)
        worst = int(np.argmin(away))
        near = np.linspace(d[max(worst - 1, 0)], d[min(worst + 1, d.size - 1)], 33)
        near = np.union1d(near, d[worst])
        rows = Region(near, *row_edges(excess, near))
    threshold, row, last = values[worst] - _TIE, d[[worst]], last[[worst]]
    # The first point of the row that is as bad as the last.
    first = _edge(lambda e, d: threshold - badness(e, d), row, last, possible(row)[0])
    return float(min(max(first[0], observed[0]), last[0])), float(row[0])
