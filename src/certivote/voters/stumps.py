"""Decision stumps: one feature against one threshold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array

from .._utils.validation import check_positive
from ..labels import UNKNOWN, codes_of
from .base import Column

__all__ = ["Stump", "Stumps"]


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
