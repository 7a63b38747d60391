"""Frozen voters beside unfrozen ones, and frozen parts inside unfrozen voters."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    CBBoostClassifier,
    Certificate,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
)

ALL = [MajorityVoteClassifier, CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


@pytest.fixture(scope="module")
def coins():
    """Labels that nobody can predict, and three trees that know them by heart."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 4)), rng.integers(2, size=1000)
    trees = [DecisionTreeClassifier(random_state=seed).fit(X, y) for seed in range(3)]
    return X, y, [FrozenEstimator(tree) for tree in trees]


@pytest.mark.parametrize("kind", ALL)
def test_trees_that_know_the_rows_do_not_hide_beside_an_unfrozen_one(kind, coins):
    X, y, frozen = coins
    vote = kind(voters=[*frozen, DecisionTreeClassifier(max_depth=1)], random_state=0)
    with pytest.raises(ValueError, match=r"voters.*(frozen|FrozenEstimator)"):
        vote.fit(X, y)
    assert not hasattr(vote, "certificate_")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("sequence", [list, tuple])
@pytest.mark.parametrize("pipeline", [False, True])
def test_mixtures_of_any_form_are_refused(order, sequence, pipeline, data):
    X, y, X_new, y_new = data
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    if pipeline:
        frozen = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), frozen)
    voters = sequence([frozen, RandomForestClassifier(3)][::order])
    with pytest.raises(ValueError, match=r"voters.*(frozen|FrozenEstimator)"):
        MajorityVoteClassifier(voters=voters, random_state=0).fit(X_new, y_new)
    with pytest.raises(ValueError, match=r"voters.*(frozen|FrozenEstimator)"):
        MajorityVoteClassifier(voters=voters, random_state=0).partial_fit(X_new, y_new)


def scaled(X, y):
    return make_pipeline(FrozenEstimator(StandardScaler().fit(X)), LogisticRegression())


def voting(X, y):
    frozen = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(X, y))
    return VotingClassifier([("frozen", frozen), ("trained", LogisticRegression())])


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("make", [scaled, voting])
def test_frozen_parts_are_recorded_and_assumed(make, kind, listed, data, tmp_path):
    X, y, X_new, y_new = data
    settings = {} if kind in (MajorityVoteClassifier, CBBoostClassifier) else {"mu": 1e-3}
    voters = make(X, y)
    vote = kind(voters=[voters] if listed else voters, random_state=0, **settings)
    certificate = vote.fit(X_new, y_new).certificate_
    assert certificate.provenance["frozen_parts"] == 1
    assert certificate.provenance["voters_from"] == "part A of a random split"
    assert sum("frozen parts" in text for text in certificate.assumptions) == 1
    assert "frozen parts" in str(certificate)
    certificate.to_json(tmp_path / "certificate.json")
    read = Certificate.from_json(tmp_path / "certificate.json")
    assert read.provenance["frozen_parts"] == 1
    assert read.assumptions == certificate.assumptions
    vote.verify(X_new, y_new)


def test_a_frozen_part_that_a_search_chooses_is_recorded(coins):
    """It is in no parameter of the voter, but a value that the search may set."""
    X, y, (frozen, *_) = coins
    voting = VotingClassifier([("member", LogisticRegression())])
    search = GridSearchCV(voting, {"member": [frozen, LogisticRegression()]}, cv=2)
    certificate = MajorityVoteClassifier(voters=search, random_state=0).fit(X, y).certificate_
    assert certificate.provenance["frozen_parts"] == 1
    assert any("frozen parts" in text for text in certificate.assumptions)


def test_without_frozen_parts_nothing_is_said_of_them(data):
    X, y, *_ = data
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    certificate = MajorityVoteClassifier(voters=pipeline, random_state=0).fit(X, y).certificate_
    assert "frozen_parts" not in certificate.provenance
    assert not any("frozen parts" in text for text in certificate.assumptions)


def test_wholly_frozen_pipelines_are_frozen_voters(data):
    X, y, X_new, y_new = data
    voter = make_pipeline(
        FrozenEstimator(StandardScaler().fit(X)),
        FrozenEstimator(LogisticRegression().fit(StandardScaler().fit_transform(X), y)),
    )
    certificate = MajorityVoteClassifier(voters=[voter]).fit(X_new, y_new).certificate_
    assert certificate.provenance["voters_from"] == "frozen, trained elsewhere"
    assert certificate.n_samples == 300
