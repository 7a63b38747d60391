"""Columns that tell the label of every row by themselves: a copy of it, a code, what it is made of.

A certificate is true then, and of no use where such a column is not known before the label is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["telling"]

# The two most frequent labels have at least so many rows each: what is easy may tell fewer apart.
_FEWEST = 30
# So many rows show most columns at a glance, of numbers that are all different somewhat more.
_GLANCES = (1_000, 10_000, 100_000)


def telling(X: Any, y: NDArray[Any]) -> list[str]:
    """Return the columns that by themselves tell the label of every row.

    One does if all rows with the same value have the same label, and either there are no more
    values than rows of each, on average, or the values are numbers and each label has one range of
    them. A gap is one more value. Of the two most frequent labels there must be at least 30 rows
    each.

    Parameters
    ----------
    X : dataframe
        Columns of floats, or of texts.
    y : ndarray of shape (n_samples,)
        The labels of its rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> points = np.arange(100) % 20.0
    >>> telling(pd.DataFrame({"points": points, "digit": points % 10}), points >= 10)
    ['points']
    """
    import pandas as pd

    codes, labels = pd.factorize(y)
    if len(labels) < 2 or np.sort(np.bincount(codes))[-2] < _FEWEST:
        return []
    # What tells the labels of all rows tells those of the first ones.
    sizes = (*(n for n in _GLANCES if n < len(codes)), len(codes))
    few = int(np.sqrt(len(codes)))
    return [name for name in X if all(_tells(X[name].iloc[:n], codes[:n], few) for n in sizes)]


def _tells(column: Any, labels: NDArray[np.intp], few: int) -> bool:
    """Tell so of some rows, with at most so few values, or a range of numbers for each label."""
    import pandas as pd

    numbers = column.dtype.kind == "f"
    values = pd.factorize(column, sort=numbers, use_na_sentinel=False)[0]
    n_values, order = int(values.max()) + 1, np.lexsort((labels, values))
    changes = np.diff(labels[order]) != 0
    if np.any(changes & (np.diff(values[order]) == 0)):
        return False
    ranges = 1 + int(np.count_nonzero(changes))
    return n_values <= few or (numbers and ranges == np.unique(labels).size)
