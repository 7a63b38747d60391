"""The paper's figures on wdbc, from the estimators."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from certivote import CBBoostClassifier, MajorityVoteClassifier
from certivote.bounds import get_bound
from reference import REFERENCES, paper_trees, wdbc


@pytest.mark.parametrize(
    ("kind", "risk", "certificate", "tolerance"),
    [
        (CBBoostClassifier, 0.0246, 0.5913, 5e-4),
        (MajorityVoteClassifier, 0.0317, REFERENCES["lacasse"].minimum.value, 2e-4),
    ],
)
def test_figures_of_the_paper_on_wdbc(kind, risk, certificate, tolerance):
    """The protocol of Viallard et al. 2021: frozen trees, certification half, test half."""
    X_voters, y_voters, X, y, X_test, y_test = wdbc()
    trees = [FrozenEstimator(tree) for tree in paper_trees(X_voters, y_voters)]
    bound = get_bound("lacasse", constant="maurer")
    settings = {"bound": bound} if kind is MajorityVoteClassifier else {}
    vote = kind(voters=trees, random_state=0, **settings).fit(X, y)
    assert np.mean(vote.predict(X_test) != y_test) == pytest.approx(risk, abs=5e-4)
    published = bound.value(vote.statistics_, vote.weights_)
    assert published == pytest.approx(certificate, abs=tolerance)
    # The learner has no constant: its certificate is by the smallest.
    used = bound if settings else get_bound("lacasse", constant="exact")
    assert vote.certificate_.risk_bound == used.value(vote.statistics_, vote.weights_) <= published
    assert vote.certificate_.bound == "lacasse"
    assert vote.certificate_.n_samples == len(y)
