"""Columns of a table as features: numbers, dates, categories and texts, with gaps."""

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from ..labels import is_missing

__all__ = ["TableFeatures", "needs_features"]

# The values of a column, as floats or texts, and its kind.
_Values = tuple[NDArray[Any], str]

# What a column may be.
_NUMBER, _DATE, _CATEGORY, _TEXT = "number", "date", "category", "text"
# A category beyond these, by frequency on the rows of the fit, counts as "another one".
_MOST_CATEGORIES = 50
# So many words of a column of texts are features, the most frequent ones.
_MOST_WORDS = 300
_WORD = r"\w+"
# Texts are nearly all different, and half of them have several words; few rows do not tell.
_DIFFERENT, _SEVERAL, _FEW_ROWS = 0.9, 3, 20


def needs_features(X: Any) -> bool:
    """Tell whether data is a frame or texts, which trees take as features only."""
    return hasattr(X, "columns") or _are_texts(X)


def _are_texts(X: Any) -> bool:
    return not hasattr(X, "columns") and np.ndim(X) == 1


class TableFeatures(TransformerMixin, BaseEstimator):
    """The columns of a table as features: what is in front of trees and stumps for a dataframe.

    Missing numbers become the median, with a column that says so, and dates seconds since 1970.
    Categories, true and false among them, become columns of their own, a missing one too: at most
    50 of a column, of which the last stands for all others. A column of texts, which are nearly all
    different and of several words, becomes the tf-idf of its 300 most frequent words. What a column
    is, and all that is counted, is decided by the rows of `fit` alone.

    Attributes
    ----------
    kinds_ : list of str
        What each column is: "number", "date", "category" or "text".

    Examples
    --------
    >>> import pandas as pd
    >>> from certivote.voters import TableFeatures
    >>> table = pd.DataFrame({"age": [30.0, None, 50.0], "town": ["Ulm", "Ulm", None]})
    >>> features = TableFeatures().fit(table)
    >>> features.kinds_
    ['number', 'category']
    >>> features.transform(table)
    array([[30.,  0.,  1.,  0.],
           [40.,  1.,  1.,  0.],
           [50.,  0.,  0.,  1.]])
    """

    def fit(self, X: Any, y: Any = None) -> "TableFeatures":
        """Decide what each column is, and count what its features need.

        Parameters
        ----------
        X : dataframe of shape (m, n_columns), or array-like of m texts
            The examples.
        y : None
            Not used.
        """
        validate_data(self, X, reset=True, skip_check_array=True)
        columns = [_values(column) for column in _columns(X)]
        alone = _are_texts(X)
        self.kinds_ = [_TEXT if alone else _kind(*column) for column in columns]
        if numbers := self._numbers(columns):
            # Medians of what is there; a column without any becomes zeros.
            self.imputer_ = SimpleImputer(
                strategy="median", add_indicator=True, keep_empty_features=True
            ).fit(np.column_stack(numbers))
        if categories := self._texts(columns, _CATEGORY):
            self.encoder_ = OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                max_categories=_MOST_CATEGORIES,
                sparse_output=False,
            ).fit(np.column_stack(categories))
        self.vectorizers_ = [
            TfidfVectorizer(max_features=_MOST_WORDS, token_pattern=_WORD).fit(_filled(texts))
            for texts in self._texts(columns, _TEXT)
        ]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features: numbers, what was missing, categories, words.

        Parameters
        ----------
        X : dataframe of shape (m, n_columns), or array-like of m texts
            The examples, of the same columns.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        given = _columns(X)
        if len(given) != len(self.kinds_):
            raise ValueError(f"X must have {len(self.kinds_)} columns, got {len(given)}.")
        # A cell is written as it is, whatever stands in the other rows.
        columns = [
            _values(column) if kind in (_NUMBER, _DATE) else (_cells(column), _CATEGORY)
            for column, kind in zip(given, self.kinds_, strict=True)
        ]
        blocks = [np.empty((_num_samples(X), 0))]
        if numbers := self._numbers(columns):
            blocks.append(self.imputer_.transform(np.column_stack(numbers)))
        if categories := self._texts(columns, _CATEGORY):
            self._refuse_numbers_for_truths(given)
            blocks.append(self.encoder_.transform(np.column_stack(categories)))
        texts = self._texts(columns, _TEXT)
        for words, column in zip(self.vectorizers_, texts, strict=True):
            blocks.append(words.transform(_filled(column)).toarray())
        return np.hstack(blocks)

    def named(self, *kinds: str) -> list[str]:
        """Return the names of the columns of some kinds, where columns have names.

        Parameters
        ----------
        *kinds : str
            As in `kinds_`.
        """
        names = getattr(self, "feature_names_in_", ())
        return [str(name) for name, kind in zip(names, self.kinds_, strict=False) if kind in kinds]

    def _numbers(self, columns: Sequence[_Values]) -> list[NDArray[np.float64]]:
        """Return the columns of numbers and dates, and refuse what is neither."""
        found = []
        for j, kind in enumerate(self.kinds_):
            if kind not in (_NUMBER, _DATE):
                continue
            values, now = columns[j]
            if now != kind:
                self._refuse(j, f"{kind}s", values)
                values = np.full(len(values), np.nan)
            found.append(values)
        return found

    def _refuse_numbers_for_truths(self, columns: Sequence[Any]) -> None:
        """Refuse 0 and 1 where there were True and False: they are other categories."""
        kept = (j for j, kind in enumerate(self.kinds_) if kind == _CATEGORY)
        for j, known in zip(kept, getattr(self.encoder_, "categories_", ()), strict=True):
            texts = {text for text in known if text is not None}
            if texts and texts <= {"True", "False"}:
                values, now = _values(columns[j])
                if now in (_NUMBER, _DATE):
                    self._refuse(j, "True or False", values)

    def _refuse(self, j: int, what: str, values: NDArray[Any]) -> None:
        """Refuse a column of another kind than at the fit, unless there is nothing in it."""
        other = next((value for value in values.tolist() if not is_missing(value)), None)
        if other is not None:
            name = self.feature_names_in_[j] if hasattr(self, "feature_names_in_") else j
            raise ValueError(
                f"column {name!r} of X must hold {what}, as at the fit, got {other!r}."
            )

    def _texts(self, columns: Sequence[_Values], kind: str) -> list[NDArray[np.object_]]:
        """Return the columns of a kind as texts, None where one is missing."""
        return [_as_texts(*columns[j]) for j, own in enumerate(self.kinds_) if own == kind]


def _columns(X: Any) -> list[Any]:
    """Return the columns of a frame, of an array, or of texts, which are one column."""
    if sparse.issparse(X):
        X = X.toarray()
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [X[name] for name in X.columns]
    array = np.asarray(X)
    return list(array.reshape(len(array), -1).T)


def _kind(values: NDArray[Any], kind: str) -> str:
    """Return what a column of these values is: texts look like categories at first."""
    if kind != _CATEGORY:
        return kind
    known = [text for text in values if text is not None]
    if len(known) < _FEW_ROWS or len(set(known)) < _DIFFERENT * len(known):
        return _CATEGORY
    words = np.median([len(re.findall(_WORD, text)) for text in known])
    return _TEXT if words >= _SEVERAL else _CATEGORY


def _values(column: Any) -> _Values:
    """Return the values of a column as floats or as texts, NaN or None if missing, and the kind."""
    dtype = getattr(column, "dtype", None)
    category = str(dtype) == "category"
    if getattr(dtype, "tz", None) is not None:  # of pandas
        column = column.dt.tz_convert(None)
    array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if array.dtype.kind == "M":
        return _seconds(array), _DATE
    if array.dtype.kind == "m":
        return array / np.timedelta64(1, "s"), _NUMBER
    if array.dtype.kind in "iuf" and not category:
        return array.astype(np.float64), _NUMBER
    objects = array.astype(object)
    missing = np.fromiter(map(is_missing, objects), dtype=np.bool_, count=len(objects))
    known = objects[~missing]
    if len(known) and not category:
        types = set(map(type, known))
        if all(issubclass(kind, Real | Decimal) and not issubclass(kind, bool) for kind in types):
            floats = np.full(len(objects), np.nan)
            floats[~missing] = known.astype(np.float64)
            return floats, _NUMBER
        if all(issubclass(kind, date) for kind in types):
            dates = np.full(len(objects), np.datetime64("NaT", "us"), dtype="datetime64[us]")
            dates[~missing] = [_naive(value) for value in known]
            return _seconds(dates), _DATE
    return _cells(array), _CATEGORY


def _cells(column: Any) -> NDArray[np.object_]:
    """Return the values of a column as texts, each by itself, None where one is missing."""
    array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    objects = array.astype(object)
    missing = np.fromiter(map(is_missing, objects), dtype=np.bool_, count=len(objects))
    texts = np.full(len(objects), None, dtype=object)
    texts[~missing] = list(map(_written, objects[~missing]))
    return texts


def _seconds(dates: NDArray[Any]) -> NDArray[np.float64]:
    """Return dates as seconds since 1970."""
    return np.asarray((dates - np.datetime64(0, "s")) / np.timedelta64(1, "s"))


def _naive(value: Any) -> Any:
    """Return a date without its time zone, at the same moment."""
    offset = value.utcoffset() if hasattr(value, "utcoffset") else None
    return value if offset is None else value.replace(tzinfo=None) - offset


def _as_texts(values: NDArray[Any], kind: str) -> NDArray[np.object_]:
    """Return values as texts, None where one is missing."""
    if kind == _CATEGORY:
        return values
    texts = np.full(len(values), None, dtype=object)
    known = ~np.isnan(values)
    texts[known] = list(map(_written, values[known].tolist()))
    return texts


def _written(value: Any) -> str:
    """Return a value as text: whole numbers without a point, as beside no gap."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _filled(texts: NDArray[np.object_]) -> list[str]:
    return ["" if text is None else text for text in texts]
