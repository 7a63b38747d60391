"""The members of the mixed set: which classifiers, prepared how, and for what data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from .._utils.threads import one_openmp_thread

__all__ = ["MEMBERS", "Dense", "EmptyColumns", "Facts", "Member", "Neighbours", "facts_of"]

# What is tuned is tuned where rows × columns are at most this; beyond it is taken as it is.
TUNED = 200_000
# Support vectors and neighbours are for at most so many rows: their time grows with the square.
MOST_ROWS = 10_000
# Sparse data of at most so many cells is written out for gradient boosting.
MOST_CELLS = 10_000_000
# With more columns, or more than two classes, boosting is coarser: the time of a step grows with
# the columns and their bins, and of several classes it grows a tree each. Of so many it takes too
# long.
MANY_COLUMNS = 200
MANY_CLASSES = 30
LARGER_LEAF = 5


class Facts(NamedTuple):
    """What the choice of members looks at, which is known before anything is trained."""

    rows: int
    columns: int
    sparse: bool
    classes: int

    @property
    def cells(self) -> int:
        """Rows × columns."""
        return self.rows * self.columns

    @property
    def tuned(self) -> bool:
        """Whether the data is small enough to try several settings."""
        return self.cells <= TUNED


def facts_of(X: Any, n_classes: int) -> Facts:
    """Return what is known of data: an array or a sparse matrix."""
    return Facts(X.shape[0], X.shape[1], sparse.issparse(X), n_classes)


class Dense(TransformerMixin, BaseEstimator):
    """Sparse data written out, for classifiers that take no other.

    Examples
    --------
    >>> from scipy import sparse
    >>> from certivote.voters import Dense
    >>> Dense().fit_transform(sparse.csr_array([[0.0, 2.0]]))
    array([[0., 2.]])
    """

    def fit(self, X: Any, y: Any = None) -> "Dense":
        """Do nothing: there is nothing to learn.

        Parameters
        ----------
        X, y : object
            Not used.
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Any:
        """Return the data as an array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The data.
        """
        return X.toarray() if sparse.issparse(X) else np.asarray(X)


class EmptyColumns(TransformerMixin, BaseEstimator):
    """Zeros in columns in which no number was known, for classifiers that take gaps but not these.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote.voters import EmptyColumns
    >>> EmptyColumns().fit([[1.0, np.nan], [np.nan, np.nan]]).transform([[np.nan, 5.0]])
    array([[nan,  0.]])
    """

    def fit(self, X: Any, y: Any = None) -> "EmptyColumns":
        """Look which columns are empty.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The data.
        y : object
            Not used.
        """
        self.empty_ = np.isnan(X).all(axis=0)
        return self

    def transform(self, X: Any) -> Any:
        """Return the data with zeros in these columns.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            The data.
        """
        return np.where(self.empty_, 0.0, X) if self.empty_.any() else np.asarray(X)


class Neighbours(KNeighborsClassifier):
    """Nearest neighbours of which the first rows win a tie, however many rows are asked about.

    With several threads it depends on these, and on the number of rows, which of the neighbours at
    the same distance are the nearest: a row would get another answer in another table.

    Examples
    --------
    >>> from certivote.voters import Neighbours
    >>> Neighbours(1).fit([[0.0], [2.0]], ["first", "second"]).predict([[1.0]])
    array(['first'], dtype='<U6')
    """

    def predict(self, X: Any) -> Any:
        """Return the class that most of the neighbours have.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The examples.
        """
        with one_openmp_thread():
            return super().predict(X)


@dataclass(frozen=True)
class Member:
    """A kind of classifier: its settings to choose from, and why it is left out, if it is.

    A forest is as many voters as it has trees, of which each knows the rows outside its bag. Where
    it takes no gaps, they are filled in before.
    """

    candidates: Callable[[Facts], Sequence[Any]]
    left_out: Callable[[Facts], str | None] = lambda facts: None
    forest: bool = False
    takes_gaps: bool = False


def _prepared(facts: Facts, classifier: Any, scaler: Any = None) -> Pipeline:
    """Return a classifier after what it needs: columns of one scale."""
    if facts.sparse:
        return make_pipeline(MaxAbsScaler(), classifier)
    return make_pipeline(StandardScaler() if scaler is None else scaler, classifier)


def _boosting(facts: Facts) -> list[Any]:
    settings: list[dict[str, Any]] = [{}]
    if facts.columns > MANY_COLUMNS or facts.classes > 2:
        settings = [{"max_bins": 31, "max_iter": 50, "learning_rate": 0.2}]
    elif facts.tuned:
        settings = [
            {},
            {"max_leaf_nodes": 8, "max_iter": 200, "min_samples_leaf": 10},
            {"max_leaf_nodes": 4, "max_iter": 300, "min_samples_leaf": 5},
        ]
    kinds = [HistGradientBoostingClassifier(early_stopping=False, **own) for own in settings]
    before = Dense if facts.sparse else EmptyColumns
    return [make_pipeline(before(), kind) for kind in kinds]


def _logistic(facts: Facts) -> list[Any]:
    penalties = (0.01, 0.1, 1.0, 10.0) if facts.tuned else (1.0,)
    return [_prepared(facts, LogisticRegression(C=C, max_iter=1000)) for C in penalties]


def _scaled(facts: Facts, kinds: Sequence[Any]) -> list[Any]:
    """Return classifiers that look at distances, by both scales where there is a choice."""
    scales: list[Any] = [MinMaxScaler()]
    if facts.tuned and not facts.sparse:
        scales.insert(0, StandardScaler())
    return [_prepared(facts, kind, scale) for scale in scales for kind in kinds]


def _svm(facts: Facts) -> list[Any]:
    return _scaled(facts, [SVC(C=C) for C in ((1.0, 10.0, 100.0) if facts.tuned else (10.0,))])


def _neighbours(facts: Facts) -> list[Any]:
    numbers = [k for k in ((1, 3, 5, 11) if facts.tuned else (5,)) if 2 * k <= facts.rows] or [1]
    # Trees of neighbours cannot be kept in a safe file, and help in few dimensions only.
    return _scaled(facts, [Neighbours(k, algorithm="brute") for k in numbers])


def _bayes(facts: Facts) -> list[Any]:
    if facts.sparse:
        return [BernoulliNB()]
    kinds = [_prepared(facts, BernoulliNB(binarize=0.5), MinMaxScaler())]
    return [*kinds, _prepared(facts, GaussianNB(var_smoothing=1e-3))] if facts.tuned else kinds


def _too_many_rows(facts: Facts) -> str | None:
    if facts.rows <= MOST_ROWS:
        return None
    return f"it is for at most {MOST_ROWS:,} training rows, and there are {facts.rows:,}"


def _too_much_to_boost(facts: Facts) -> str | None:
    if facts.classes > MANY_CLASSES:
        return (
            f"it is for at most {MANY_CLASSES} classes, of each of which it grows a tree at every "
            f"step, and there are {facts.classes:,}"
        )
    if not facts.sparse or facts.cells <= MOST_CELLS:
        return None
    return (
        f"it takes no sparse data, of which at most {MOST_CELLS:,} cells are written out, and "
        f"there are {facts.cells:,}"
    )


def _forest(kind: Any, **settings: Any) -> Member:
    return Member(lambda facts: [kind(bootstrap=True, **settings)], forest=True, takes_gaps=True)


MEMBERS: dict[str, Member] = {
    "forest": _forest(RandomForestClassifier),
    "extra-trees": _forest(ExtraTreesClassifier),
    "larger-leaves": _forest(RandomForestClassifier, min_samples_leaf=LARGER_LEAF),
    "boosting": Member(_boosting, _too_much_to_boost, takes_gaps=True),
    "logistic": Member(_logistic),
    "svm": Member(_svm, _too_many_rows),
    "neighbours": Member(_neighbours, _too_many_rows),
    "bayes": Member(_bayes),
}
