"""Whether rows were made up between others of their class, as SMOTE does to have more of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..labels import numbered
from ._fingerprints import columns_of

__all__ = ["between"]

# So many rows of a class are looked at, among so many others of it, by so many columns: what is on
# a line is so in any of them.
_LOOKED_AT, _AMONG, _COLUMNS = 200, 10_000, 20
# Both rows that one is made of are among its nearest, nearly always.
_NEAREST = 10
# On a line, but for the rounding of float32. By chance that happens in fewer directions only.
_ON_A_LINE, _DIRECTIONS = 1e-5, 3
# A sum is one up to rounding.
_NO_SUM = 1e-4
# So many of them, and such a share of those looked at, are no accident.
_FEW, _SHARE = 5, 0.02
# Values that are nearly all different: those of few kinds are on lines by chance.
_DIFFERENT = 0.5


def between(X: Any, y: NDArray[Any]) -> list[str]:
    """Say if rows of a class stand exactly on the line between two others of it."""
    if sparse.issparse(X):
        return []
    rng = np.random.RandomState(0)
    of = numbered(y)[1]
    classes = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    chosen = [rng.permutation(own)[:_AMONG] for own in classes if own.size > _NEAREST]
    places = _continuous(X, np.concatenate(chosen)) if chosen else None
    if places is None:
        return []
    each = np.split(places, np.cumsum([own.size for own in chosen])[:-1])
    looked_at = sum(min(_LOOKED_AT, len(own)) for own in each)
    found = sum(map(_on_lines, each))
    if found <= max(_FEW, _SHARE * looked_at):
        return []
    return [
        f"Of {looked_at} rows {found} stand exactly on the line between two others of their class, "
        "as rows do that were made up to have more of a class (SMOTE). Then the examples are not "
        "like those to come, and the certificate is not valid: certify on rows as they came, and "
        "make up others inside the voters only."
    ]


def _continuous(X: Any, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Return columns of numbers that are nearly all different, on one scale; None if too few."""
    kept: list[NDArray[np.float64]] = []
    for column in columns_of(X):
        numbers = column[rows].astype(np.float64) if column.dtype.kind == "f" else np.zeros(1)
        with np.errstate(over="ignore", invalid="ignore"):  # too large to be squared, or summed
            spread = float(numbers.std())
        if 0.0 < spread < np.inf and np.unique(numbers).size > _DIFFERENT * len(rows):
            scaled = (numbers - numbers.mean()) / spread
            if _is_no_sum(scaled, kept):
                kept.append(scaled)
        if len(kept) == _COLUMNS:
            break
    return np.stack(kept, axis=1) if len(kept) >= _DIRECTIONS else None


def _is_no_sum(column: NDArray[np.float64], others: list[NDArray[np.float64]]) -> bool:
    """Tell whether a column is another direction: the sum of others is on a line where they are."""
    if not others:
        return True
    known = np.stack(others, axis=1)
    rest = column - known @ np.linalg.lstsq(known, column, rcond=None)[0]
    return float(np.abs(rest).max()) > _NO_SUM


def _on_lines(places: NDArray[np.float64]) -> int:
    """Return how many of the first rows are on the line between two of their nearest ones."""
    from sklearn.neighbors import NearestNeighbors

    rows = places[:_LOOKED_AT]
    nearest = NearestNeighbors(n_neighbors=_NEAREST + 1).fit(places)
    others = nearest.kneighbors(rows, return_distance=False)
    ways = places[others] - rows[:, None, :]
    # Those that share a value stand on lines in the directions that are left.
    ways[np.count_nonzero(ways, axis=2) < _DIRECTIONS] = np.nan
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    # Two that are seen in opposite directions: their unit vectors sum to nothing.
    apart = np.linalg.norm(ways[:, :, None, :] + ways[:, None, :, :], axis=3)
    return int(np.count_nonzero(np.any(apart <= _ON_A_LINE, axis=(1, 2))))
