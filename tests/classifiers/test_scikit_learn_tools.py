"""The estimators in scikit-learn's pipelines and searches, copied and stored."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from certivote import CBBoostClassifier, CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier
from certivote.bounds import get_bound

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


def test_pipeline_around(data, small):
    X, y, X_new, _ = data
    pipeline = Pipeline([("scale", StandardScaler()), ("vote", small(MajorityVoteClassifier))])
    pipeline.fit(X, y)
    scaler = StandardScaler().fit(X)
    vote = small(MajorityVoteClassifier).fit(scaler.transform(X), y)
    assert np.array_equal(pipeline.predict(X_new), vote.predict(scaler.transform(X_new)))


def test_search_over_bounds_and_their_settings(data, small):
    X, y, X_new, y_new = data
    search = GridSearchCV(small(MajorityVoteClassifier), {"bound": ["lacasse", "tandem"]}, cv=2)
    search.fit(X, y)
    assert search.best_estimator_.certificate_.bound == search.best_params_["bound"]
    assert set(search.cv_results_["param_bound"]) == {"lacasse", "tandem"}
    nested = GridSearchCV(
        small(MajorityVoteClassifier, bound=get_bound("tandem")),
        {"bound__delta": [0.01, 0.2], "n_voters": [3]},
        cv=2,
    ).fit(X, y)
    chosen = nested.best_estimator_
    assert chosen.certificate_.delta == nested.best_params_["bound__delta"]
    assert chosen.certificate_.n_voters == 3
    # Selected with part B in sight: certified again on new data.
    assert chosen.certify(X_new, y_new).kl == 0.0


def test_search_over_solver_settings(data, small):
    from certivote.solvers import get_solver

    X, y, *_ = data
    vote = small(MajorityVoteClassifier, solver=get_solver("lbfgs"))
    names = [name for name in vote.get_params() if name.startswith("solver__")]
    assert names
    again = clone(vote).fit(X, y)
    assert again.certificate_ == small(MajorityVoteClassifier).fit(X, y).certificate_


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_clone_and_storage(kind, data, tmp_path, small, frozen_trees):
    X, y, X_new, y_new = data
    voters = [*frozen_trees(X[:100], y[:100], 3)]
    for settings in ({}, {"voters": "stumps"}, {"voters": voters}):
        vote = small(kind, **settings).fit(X[100:], y[100:])
        copy = clone(vote)
        assert not hasattr(copy, "weights_")
        joblib.dump(vote, tmp_path / "vote.joblib")
        for read in (
            pickle.loads(pickle.dumps(vote)),
            joblib.load(tmp_path / "vote.joblib"),
            copy.fit(X[100:], y[100:]),
        ):
            assert np.array_equal(read.predict_proba(X_new), vote.predict_proba(X_new))
            assert np.array_equal(read.predict(X_new), vote.predict(X_new))
            assert read.certificate_ == vote.certificate_
            assert read.certify(X_new, y_new) == vote.certify(X_new, y_new)


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_cross_validation(kind, data, small):
    X, y, *_ = data
    scores = cross_val_score(small(kind), X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.6
