"""Fitted ensembles, searches and pipelines vote as their members do."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import MajorityVoteClassifier, VoteStatistics


def members_of_forest(forest, X):
    return [forest.classes_[tree.predict(X).astype(int)] for tree in forest.estimators_]


def members_of_bagging(bagging, X):
    pairs = zip(bagging.estimators_, bagging.estimators_features_, strict=True)
    return [bagging.classes_[member.predict(X[:, columns])] for member, columns in pairs]


def members_that_know_labels(ensemble, X):
    return [member.predict(X) for member in ensemble.estimators_]


def members_that_know_indices(ensemble, X):
    return [ensemble.classes_[member.predict(X)] for member in ensemble.estimators_]


def members_of_search(search, X):
    return members_of_forest(search.best_estimator_, X)


def members_of_pipeline(pipeline, X):
    return members_of_forest(pipeline[-1], pipeline[0].transform(X))


def members_of_search_over_pipelines(search, X):
    return members_of_pipeline(search.best_estimator_, X)


_PAIR = [("tree", DecisionTreeClassifier(max_depth=4, random_state=0)), ("bayes", GaussianNB())]
ENSEMBLES = {
    "forest": (RandomForestClassifier(7, random_state=0), members_of_forest),
    "extra trees": (ExtraTreesClassifier(7, random_state=0), members_of_forest),
    "bagging": (
        BaggingClassifier(DecisionTreeClassifier(), 7, max_features=0.6, random_state=0),
        members_of_bagging,
    ),
    "bagging of other models": (
        BaggingClassifier(GaussianNB(), 5, max_samples=0.3, max_features=0.5, random_state=1),
        members_of_bagging,
    ),
    "adaboost": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=6, random_state=0),
        members_that_know_labels,
    ),
    "voting": (VotingClassifier(_PAIR), members_that_know_indices),
    "voting with drop": (
        VotingClassifier([*_PAIR, ("gone", "drop")], voting="soft"),
        members_that_know_indices,
    ),
    "stacking": (
        StackingClassifier(_PAIR, LogisticRegression(max_iter=1000), cv=3),
        members_that_know_indices,
    ),
    "search": (
        GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [2, 5]}, cv=2),
        members_of_search,
    ),
    "pipeline": (
        make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
        members_of_pipeline,
    ),
    "search over pipelines": (
        GridSearchCV(
            make_pipeline(StandardScaler(), ExtraTreesClassifier(5, random_state=0)),
            {"extratreesclassifier__max_depth": [3, 6]},
            cv=2,
        ),
        members_of_search_over_pipelines,
    ),
}
NAMES = {
    "integers": np.array([3, 7, 9]),
    "signed": np.array([-1, 0, 1]),
    "strings": np.array(["ash", "birch", "cedar"]),
}


# That members taken apart vote otherwise than their ensemble is tested in test_model.py.
APART = pytest.mark.filterwarnings("ignore:The vote of its members")


@APART
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(("ensemble", "members"), ENSEMBLES.values(), ids=ENSEMBLES)
def test_frozen_ensemble_votes_as_its_members(ensemble, members, names, three):
    X_a, y_a, X, y, X_new, y_new = three
    fitted = clone(ensemble).fit(X_a, names[y_a])
    by_hand = np.stack(members(fitted, X_new), axis=1)
    # A wrong mapping of indices would be right as often as chance.
    assert np.all(np.mean(by_hand == names[y_new][:, None], axis=0) > 0.4)
    frozen = FrozenEstimator(fitted)
    vote = MajorityVoteClassifier(voters=frozen, bound="lacasse", random_state=0)
    vote.fit(X, names[y])
    codes = vote.voters_.votes(X_new, vote.classes_).codes
    assert np.array_equal(vote.classes_, names)
    assert np.array_equal(names[codes], by_hand)
    assert len(vote.voters_) == vote.weights_.size == by_hand.shape[1]
    shares = np.stack([(by_hand == label) @ vote.weights_ for label in names], axis=1)
    assert vote.predict_proba(X_new) == pytest.approx(shares, abs=1e-12)
    on_b = np.stack(members(fitted, X), axis=1)
    vote.certificate_.verify(statistics=VoteStatistics.from_votes(on_b, names[y]))


@APART
@pytest.mark.parametrize("names", [np.array([-1, 1]), np.array([1, 2]), np.array(["n", "p"])])
def test_members_of_stacking_that_its_owner_fitted_predict_labels(names, data):
    X, y, X_new, y_new = data
    members = [
        (f"tree {depth}", DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, names[y]))
        for depth in (2, 4)
    ]
    stacking = StackingClassifier(members, cv="prefit").fit(X, names[y])
    vote = MajorityVoteClassifier(voters=FrozenEstimator(stacking)).fit(X_new, names[y_new])
    by_hand = np.stack([member.predict(X_new) for _, member in members], axis=1)
    assert np.array_equal(names[vote.voters_.votes(X_new, names).codes], by_hand)


@APART
@pytest.mark.parametrize(
    "wrap", [FrozenEstimator, lambda tree: make_pipeline(FrozenEstimator(tree))]
)
def test_frozen_members_of_voting_predict_labels(wrap, data):
    X, y, X_new, y_new = data
    names = np.array([-1, 1])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, names[y])
    voting = VotingClassifier([("frozen", wrap(tree)), ("bayes", GaussianNB())])
    voting.fit(X, names[y])
    vote = MajorityVoteClassifier(voters=FrozenEstimator(voting)).fit(X_new, names[y_new])
    codes = vote.voters_.votes(X_new, names).codes
    assert np.array_equal(names[codes[:, 0]], tree.predict(X_new))
    assert np.array_equal(codes[:, 1], voting.estimators_[1].predict(X_new))


def test_pipeline_of_frozen_steps_is_frozen(data):
    X, y, X_new, y_new = data
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(4, random_state=0)).fit(X, y)
    steps = make_pipeline(*(FrozenEstimator(step) for _, step in pipeline.steps))
    vote = MajorityVoteClassifier(voters=steps).fit(X_new, y_new)
    assert vote.certificate_.n_samples == len(y_new)
    by_hand = np.stack(members_of_pipeline(pipeline, X_new), axis=1)
    assert np.array_equal(vote.voters_.votes(X_new, vote.classes_).codes, by_hand)


def test_search_and_forest_inside_are_trained_on_part_a_only(data):
    X, y, *_ = data
    forest = RandomForestClassifier(3, bootstrap=False)
    search = GridSearchCV(forest, {"max_depth": [2, 4]}, cv=2)
    for voters in (forest, search, make_pipeline(StandardScaler(), search)):
        vote = MajorityVoteClassifier(voters=voters, certify_size=100, random_state=0).fit(X, y)
        assert [tree.tree_.n_node_samples[0] for tree in vote.voters_] == [200] * 3
        assert not hasattr(voters, "classes_")
        assert vote.certificate_.n_samples == 100


@APART
@pytest.mark.parametrize(("ensemble", "members"), ENSEMBLES.values(), ids=ENSEMBLES)
def test_votes_of_ensembles_can_be_pickled(ensemble, members, three):
    X_a, y_a, X, y, X_new, _ = three
    fitted = FrozenEstimator(clone(ensemble).fit(X_a, y_a))
    vote = MajorityVoteClassifier(voters=fitted).fit(X, y)
    read = pickle.loads(pickle.dumps(vote))
    assert np.array_equal(read.predict_proba(X_new), vote.predict_proba(X_new))
