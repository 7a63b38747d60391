"""Data and small votes that the tests of the estimators share."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from certivote import CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier


@pytest.fixture(scope="module")
def data():
    """Two classes, some of it noise: 300 rows to fit and 300 new ones."""
    X, y = make_classification(600, n_features=8, n_informative=4, flip_y=0.1, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def three():
    """Three classes: 150 rows for voters, 250 to certify, 200 new ones."""
    X, y = make_classification(
        600, n_features=8, n_informative=5, n_classes=3, flip_y=0.05, random_state=1
    )
    return X[:150], y[:150], X[150:400], y[150:400], X[400:], y[400:]


@pytest.fixture(scope="session")
def small():
    """A vote of few voters, whatever the learner."""

    def make(kind, **settings):
        if kind in (MinCqClassifier, CqBoostClassifier):
            settings.setdefault("mu", 1e-3)
        if kind is MajorityVoteClassifier:
            # Most tests want weights that were learned, where the default may keep uniform ones.
            settings.setdefault("bound", "lacasse")
            # The default has eight members to train, and weights of its own.
            settings.setdefault("voters", "trees")
        return kind(**{"n_voters": 10, "random_state": 0, **settings})

    return make


@pytest.fixture(scope="session")
def votes_by_hand():
    """What each member predicts, as labels, for members that predict labels themselves."""

    def votes(vote, X):
        return np.stack([member.predict(X) for member in vote.voters_], axis=1)

    return votes


@pytest.fixture(scope="session")
def losses_by_hand(votes_by_hand):
    """Where each member errs, for members that predict labels themselves."""

    def losses(vote, X, y):
        return (votes_by_hand(vote, X) != np.asarray(y)[:, None]).astype(np.int64)

    return losses


@pytest.fixture(scope="session")
def frozen_trees():
    """Trees that are fitted, to be certified as they are."""

    def fit(X, y, n=10, **settings):
        return [
            FrozenEstimator(DecisionTreeClassifier(random_state=seed, **settings).fit(X, y))
            for seed in range(n)
        ]

    return fit
