"""Voters that know no classes, votes counted by hand in fractions, and warnings that are kept."""

import warnings
from collections import defaultdict
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

_TIE = Fraction(1, 10**12)


class Reader(ClassifierMixin, BaseEstimator):
    """Name the label to which a column of X points. It has no `classes_`, and nothing to learn."""

    def __init__(self, column=0, names=None):
        self.column = column
        self.names = names

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(self.names)[np.asarray(X)[:, self.column].astype(int)]


@pytest.fixture(scope="session")
def reader():
    """The class of voters without `classes_`."""
    return Reader


@pytest.fixture(scope="session")
def readable():
    """Votes as numbers in columns of X, with a column of noise that tells the rows apart."""

    def make(codes, rng):
        return np.column_stack([codes, rng.random(len(codes))])

    return make


@pytest.fixture(scope="session")
def plurality():
    """What a vote must predict: the label with the most weight behind it among those named.

    Sums are of exact fractions. Shares within 1e-12 are a tie, for the first in sorted order.
    """

    def predict(votes, weights):
        exact, known = [Fraction(float(weight)) for weight in weights], {}

        def winner(row):
            behind = defaultdict(Fraction)
            for label, weight in zip(row, exact, strict=True):
                behind[label] += weight
            enough = max(behind.values()) - _TIE
            return min(label for label, weight in behind.items() if weight >= enough)

        rows = [tuple(row) for row in np.asarray(votes).tolist()]
        for row in set(rows):
            known[row] = winner(row)
        return [known[row] for row in rows]

    return predict


@pytest.fixture(scope="session")
def errors_of():
    """On how many examples predictions, in whatever array, differ from the labels."""

    def count(predicted, y):
        pairs = zip(np.asarray(predicted).tolist(), np.asarray(y).tolist(), strict=True)
        return sum(one != other for one, other in pairs)

    return count


@pytest.fixture(scope="session")
def told():
    """A context that keeps all warnings, as a list of texts that is full at its end."""

    @contextmanager
    def keep():
        texts = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield texts
        texts += [str(warning.message) for warning in caught]

    return keep


@pytest.fixture(scope="module")
def data():
    """Two classes, some of it noise: 300 rows to fit and 300 new ones."""
    X, y = make_classification(600, n_features=8, n_informative=4, flip_y=0.1, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]
