"""The paper's figures on wdbc, from the estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from certivote import CBBoostClassifier, MajorityVoteClassifier


@pytest.fixture(scope="module")
def wdbc(frozen_trees):
    """The protocol of THEORY.md §10: frozen trees, certification half, test half."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    y = np.where(y == 0, -1, 1)
    order = np.arange(len(y))
    np.random.RandomState(42).shuffle(order)
    X, y = X[order], y[order]
    n_test = int(0.5 * len(y))
    X_test, y_test, X, y = X[:n_test], y[:n_test], X[n_test:], y[n_test:]
    half = int(len(y) / 2)
    trees = frozen_trees(X[:half], y[:half], 100, criterion="gini", max_features="sqrt")
    return trees, X[half:], y[half:], X_test, y_test


@pytest.mark.parametrize(
    ("kind", "risk", "certificate", "tolerance"),
    [
        (CBBoostClassifier, 0.0246, 0.5913, 5e-4),
        (MajorityVoteClassifier, 0.0317, 0.5233, 2e-4),
    ],
)
def test_figures_of_the_paper_on_wdbc(wdbc, kind, risk, certificate, tolerance):
    trees, X, y, X_test, y_test = wdbc
    vote = kind(voters=trees, random_state=0).fit(X, y)
    assert np.mean(vote.predict(X_test) != y_test) == pytest.approx(risk, abs=5e-4)
    assert vote.certificate_.risk_bound == pytest.approx(certificate, abs=tolerance)
    assert vote.certificate_.bound == "lacasse"
    assert vote.certificate_.n_samples == len(y)
