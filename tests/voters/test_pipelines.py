"""Voters at the end of a pipeline: prepared once, and stumps among them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from certivote import MajorityVoteClassifier
from certivote.voters import Stumps, fit_voters

X, y = make_classification(200, 5, n_informative=3, random_state=0)
CALLS = []


def counted(table):
    CALLS.append(len(table))
    return table


def test_stumps_after_a_scaler_vote_like_stumps_on_scaled_data():
    voters = fit_voters(make_pipeline(StandardScaler(), Stumps()), X, y)
    scaled = StandardScaler().fit_transform(X)
    alone = fit_voters(Stumps(), scaled, y)
    classes = np.array([0, 1])
    np.testing.assert_array_equal(
        voters.votes(X, classes).codes, alone.votes(scaled, classes).codes
    )
    assert voters[0].threshold == alone[0].threshold


def test_a_vote_of_stumps_in_a_pipeline_fits_predicts_and_pickles():
    vote = MajorityVoteClassifier(make_pipeline(StandardScaler(), Stumps(3)), random_state=0)
    vote.fit(X, y)
    assert vote.certificate_.n_voters == 2 * 3 * 5
    again = pickle.loads(pickle.dumps(vote))
    np.testing.assert_array_equal(again.predict(X), vote.predict(X))


def test_the_transformers_run_once_for_all_voters():
    forest = RandomForestClassifier(7, random_state=0)
    voters = fit_voters(make_pipeline(FunctionTransformer(counted), forest), X, y)
    CALLS.clear()
    voters.votes(X[:50], np.array([0, 1]))
    assert CALLS == [50]


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("inside", [False, True])
def test_a_progress_bar_does_not_change_the_forest(kind, inside, capsys):
    forest = kind(23)
    source = make_pipeline(StandardScaler(), forest) if inside else forest
    quiet, shown = (
        fit_voters(source, X, y, random_state=np.random.RandomState(4), verbose=verbose)
        for verbose in (0, 1)
    )
    assert "training" in capsys.readouterr().err
    assert len(shown) == 23
    classes = np.array([0, 1])
    np.testing.assert_array_equal(quiet.votes(X, classes).codes, shown.votes(X, classes).codes)
    assert source is forest or source[-1] is forest
    assert not hasattr(forest, "estimators_")


def test_a_pipeline_without_a_classifier_is_refused():
    with pytest.raises(ValueError, match="voters must be a scikit-learn classifier"):
        fit_voters(make_pipeline(StandardScaler()), X, y)
