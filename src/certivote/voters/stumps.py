"""Decision stumps: one feature against one threshold."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array

from .._utils.batches import gen_batches
from .._utils.validation import check_positive
from ..labels import UNKNOWN, codes_of
from ..voting import code_type
from .base import Column

__all__ = ["Stump", "Stumps"]

# Few enough that the votes on them stay in the cache.
_ROWS_AT_ONCE = 8_192
# So few are compared one by one in less time than they are searched.
_FEW_THRESHOLDS = 64


class Stump(ClassifierMixin, BaseEstimator):
    """Predict one label up to a threshold of one feature, and another beyond it.

    Parameters
    ----------
    feature : int
        The column to look at.
    threshold : float
        The largest value that counts as low. A missing value counts as low.
    low, high : label
        The label predicted for low values, and for the others.

    Examples
    --------
    >>> from certivote.voters import Stump
    >>> Stump(feature=0, threshold=1.5, low="no", high="yes").predict([[1.0], [2.0]])
    array(['no', 'yes'], dtype='<U3')
    """

    def __init__(self, feature: int, threshold: float, low: Any, high: Any) -> None:
        self.feature = feature
        self.threshold = threshold
        self.low = low
        self.high = high

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The examples.
        """
        column = np.asarray(X)[:, self.feature]
        return np.asarray(np.where(column > self.threshold, self.high, self.low))


class Stumps(BaseEstimator):
    """Stumps at evenly spaced thresholds of every feature, between its smallest and largest value.

    With two classes each threshold gives two stumps, one for each direction, and the labels are not
    used. With more, it gives one, which predicts the most frequent label on each side.

    Parameters
    ----------
    n_thresholds : int, default=10
        The number of thresholds of a feature.

    Examples
    --------
    >>> from certivote.voters import Stumps
    >>> stumps = Stumps(n_thresholds=3).fit([[0.0], [4.0]], [0, 1])
    >>> [stump.threshold for stump in stumps]
    [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    """

    def __init__(self, n_thresholds: int = 10) -> None:
        self.n_thresholds = n_thresholds

    def fit(self, X: Any, y: Any) -> "Stumps":
        """Find the thresholds.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The examples.
        y : array-like of shape (m,)
            Their labels.
        """
        check_positive("n_thresholds", self.n_thresholds, integer=True)
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        classes, codes = np.unique(y, return_inverse=True)
        self.stumps_: list[Stump] = []
        for feature in range(X.shape[1]):
            column = X[:, feature]
            known = column[~np.isnan(column)]
            if known.size == 0 or known.min() == known.max():
                continue
            inner = np.linspace(known.min(), known.max(), self.n_thresholds + 2)[1:-1]
            for threshold in inner.tolist():
                self.stumps_ += _stumps(feature, threshold, column > threshold, classes, codes)
        if not self.stumps_:
            raise ValueError("stumps need a feature that takes more than one value.")
        return self

    def __len__(self) -> int:
        return len(self.stumps_)

    def __getitem__(self, index: int) -> Stump:
        return self.stumps_[index]

    def prepare(self, X: Any) -> Any:
        """Return the data as the stumps take it."""
        return check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one stump names, as `Group` says."""
        stump = self.stumps_[index]
        sides = np.array([stump.low, stump.high])
        above = (prepared[:, stump.feature] > stump.threshold).astype(np.intp)
        codes = codes_of(sides, classes)[above]
        return codes, sides[above[codes == UNKNOWN]]

    def together(
        self, members: Sequence[int], prepared: Any, classes: NDArray[Any]
    ) -> "_Together | None":
        """Return some stumps as asked together, as `Group` says."""
        stumps = [self.stumps_[j] for j in members]
        known: dict[Any, NDArray[np.intp]] = {}
        for stump in stumps:
            if (stump.low, stump.high) not in known:
                sides = codes_of(np.array([stump.low, stump.high]), classes)
                known[stump.low, stump.high] = sides
        sides = np.array([known[stump.low, stump.high] for stump in stumps])
        return (
            None
            if UNKNOWN in sides
            else _Together(stumps, sides.astype(code_type(classes)), prepared)
        )


class _Together:
    """Stumps and the data that they are asked about: all thresholds of a feature in one pass."""

    def __init__(
        self, stumps: Sequence[Stump], sides: NDArray[Any], X: NDArray[np.float64]
    ) -> None:
        self.sides, self.X = sides, X
        self.thresholds = np.array([stump.threshold for stump in stumps])
        self.features = np.array([stump.feature for stump in stumps])

    def votes(self, n_jobs: int | None, advance: Callable[[int], None]) -> NDArray[Any]:
        """Return the codes of all answers, by row and stump."""
        out = np.empty((len(self.X), len(self.sides)), dtype=self.sides.dtype)
        asked = [self._asked(feature) for feature in np.unique(self.features)]

        def some(rows: slice) -> None:
            for feature, columns, thresholds, answers in asked:
                x = np.ascontiguousarray(self.X[rows, feature])
                below = _count_below(thresholds, x)
                out[rows, columns] = answers.take(below, axis=0)

        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        parallel(delayed(some)(rows) for rows in gen_batches(len(self.X), _ROWS_AT_ONCE))
        advance(len(self.sides))
        return out

    def _asked(self, feature: int) -> tuple[int, Any, NDArray[np.float64], NDArray[Any]]:
        """Return the columns of the stumps on a feature, their thresholds, sorted, and answers.

        The answers are those of each stump where so many thresholds are below the value.
        """
        columns: Any = np.flatnonzero(self.features == feature)
        thresholds, place = np.unique(self.thresholds[columns], return_inverse=True)
        high = np.arange(len(thresholds) + 1)[:, None] > place
        answers = np.where(high, self.sides[columns, 1], self.sides[columns, 0])
        if columns[-1] - columns[0] + 1 == len(columns):
            columns = slice(columns[0], columns[-1] + 1)
        return feature, columns, thresholds, answers

    def pairs_of_errors(self, truth: NDArray[Any], n_jobs: int | None) -> None:
        """Return nothing: their votes are counted as those of others are."""
        return


def _count_below(thresholds: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[Any]:
    """Return how many of the sorted thresholds are below each value; below a missing one none."""
    if len(thresholds) <= _FEW_THRESHOLDS:
        below = np.zeros(len(x), dtype=np.uint8)
        for threshold in thresholds:
            below += x > threshold
        return below
    found = np.searchsorted(thresholds, x)
    found[np.isnan(x)] = 0
    return found


def _stumps(
    feature: int,
    threshold: float,
    above: NDArray[np.bool_],
    classes: NDArray[Any],
    codes: NDArray[np.intp],
) -> list[Stump]:
    if len(classes) == 2:
        return [
            Stump(feature, threshold, classes[0], classes[1]),
            Stump(feature, threshold, classes[1], classes[0]),
        ]
    low, high = (
        classes[np.bincount(codes[side], minlength=len(classes)).argmax()]
        for side in (~above, above)
    )
    return [Stump(feature, threshold, low, high)]
