"""Columns that tell the label of every row by themselves: a copy of it, a code, what it is made of.

A certificate is true then, and of no use where such a column is not known before the label is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["tells_labels"]

# The two most frequent labels have at least so many rows each: what is easy may tell fewer apart.
_FEWEST = 30
# So many rows show most columns at a glance.
_GLANCE = 1_000


def tells_labels(column: Any, y: NDArray[Any]) -> bool:
    """Tell whether a column by itself tells the label of every row.

    It does if all rows with the same value have the same label, and either there are no more values
    than rows of each, on average, or the values are numbers and each label has one range of them. A
    gap is one more value. Of the two most frequent labels there must be at least 30 rows each.

    Parameters
    ----------
    column : Series
        Floats, or texts.
    y : ndarray of shape (n_samples,)
        The labels of its rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> points = np.arange(100) % 20.0
    >>> passed = points >= 10
    >>> tells_labels(pd.Series(points), passed), tells_labels(pd.Series(points % 10), passed)
    (True, False)
    """
    labels, codes = np.unique(y, return_inverse=True)
    if labels.size < 2 or np.sort(np.bincount(codes))[-2] < _FEWEST:
        return False
    few = int(np.sqrt(len(codes)))
    return all(_tells(column[:n], codes[:n], few) for n in (_GLANCE, len(codes)))


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
