"""scikit-learn's own checks, on every estimator."""

import os
import subprocess
import sys

import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import shuffle
from sklearn.utils.estimator_checks import parametrize_with_checks

from certivote import CBBoostClassifier, CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier


class StumpVote(MajorityVoteClassifier):
    """Stumps, declared poor: a check wants 83% of three blobs right, as a tree has them.

    A stump tells two of three classes apart, and a vote of twenty that minimises a certificate is
    right on 73%. With the tag, scikit-learn runs all of that check but the comparison with 83%.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


ESTIMATORS = [
    MajorityVoteClassifier("trees", n_voters=10, random_state=0),
    StumpVote(voters="stumps", random_state=0),
    MajorityVoteClassifier(voters=RandomForestClassifier(5), random_state=0),
    CBBoostClassifier(n_voters=10, random_state=0),
    MinCqClassifier(n_voters=10, mu=1e-3, random_state=0),
    CqBoostClassifier(n_voters=10, mu=1e-3, random_state=0),
]
_ARRAY_API = "check_array_api_input"


def _without_array_api(mark):
    """Leave out what needs SCIPY_ARRAY_API before scipy is imported: it has a test of its own."""
    names, pairs = mark.args
    kept = [pair for pair in pairs if pair[1].func.__name__ != _ARRAY_API]
    return names, kept, mark.kwargs


_NAMES, _CHECKS, _SETTINGS = _without_array_api(parametrize_with_checks(ESTIMATORS).mark)


# Some checks have ten rows, and a class that is in part B only: the warning is right.
@pytest.mark.filterwarnings("ignore:part B has examples of")
@pytest.mark.parametrize(_NAMES, _CHECKS, **_SETTINGS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_scikit_learn_checks_are_all_there():
    run = {check.func.__name__ for _, check in _CHECKS}
    assert len(run) > 40
    assert {"check_classifiers_train", "check_n_features_in_after_fitting"} <= run


_ARRAY_API_PROGRAM = f"""
import warnings
warnings.simplefilter("error")
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator
from certivote import *
for estimator in [
    MajorityVoteClassifier(n_voters=10, random_state=0),
    MajorityVoteClassifier(voters="stumps", random_state=0),
    MajorityVoteClassifier(voters=RandomForestClassifier(5), random_state=0),
    CBBoostClassifier(n_voters=10, random_state=0),
    MinCqClassifier(n_voters=10, mu=1e-3, random_state=0),
    CqBoostClassifier(n_voters=10, mu=1e-3, random_state=0),
]:
    for instance, check in estimator_checks_generator(estimator):
        if check.func.__name__ == {_ARRAY_API!r}:
            check(instance)
            print("passed")
"""


def test_scikit_learn_array_api_check():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", _ARRAY_API_PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert run.returncode == 0, run.stderr
    # Older versions of scikit-learn have no such check.
    every = parametrize_with_checks(ESTIMATORS).mark.args[1]
    has_it = any(check.func.__name__ == _ARRAY_API for _, check in every)
    assert run.stdout.split() == ["passed"] * len(ESTIMATORS) * has_it


def test_binary_stumps_score_well():
    # What the tag above takes out of the check, for the two classes that stumps are made for.
    X, y = make_blobs(n_samples=300, random_state=0)
    X, y = shuffle(X[y != 2], y[y != 2], random_state=7)
    vote = MajorityVoteClassifier(voters="stumps", random_state=0).fit(X, y)
    assert vote.score(X, y) > 0.83
