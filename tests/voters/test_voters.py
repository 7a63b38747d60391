"""Voters: their order, their votes as indices, and what ensembles are taken apart into."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote.voters import (
    EstimatorGroup,
    PredictionTable,
    Stump,
    Stumps,
    Voters,
    fit_voters,
    frozen_parts,
    inner_estimator,
    is_frozen,
)
from certivote.voters.ensembles import unpack

# --- Voters --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        240, n_features=6, n_informative=4, n_classes=3, flip_y=0.05, random_state=0
    )
    return X[:120], np.array([3, 7, 9])[y[:120]], X[120:], np.array([3, 7, 9])[y[120:]]


def test_voters_are_a_sequence(data):
    X, y, *_ = data
    models = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 3)]
    voters = Voters([EstimatorGroup(models[:1]), EstimatorGroup(models[1:])])
    assert len(voters) == 3
    assert list(voters) == models
    assert voters[0] is models[0]
    assert voters[-1] is models[2]
    assert voters[1:] == models[1:]
    assert voters[::-1] == models[::-1]
    assert models[1] in voters
    assert voters.index(models[2]) == 2
    assert repr(voters) == "Voters(3)"
    with pytest.raises(IndexError):
        voters[3]


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_votes_are_columns_in_order(data, n_jobs):
    X, y, X_new, _ = data
    models = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 3, 4)]
    classes = np.array([3, 7, 9])
    voters = Voters([EstimatorGroup(models[:3]), EstimatorGroup(models[3:])])
    votes = voters.votes(X_new, classes, n_jobs=n_jobs).codes
    assert votes.shape == (120, 4)
    assert np.array_equal(classes[votes], np.stack([m.predict(X_new) for m in models], axis=1))
    narrowed = voters.votes(X_new, np.array([3, 9]))
    assert narrowed.labels.tolist() == [3, 7, 9]
    assert np.array_equal(narrowed.codes, votes)


@pytest.mark.parametrize("n_classes", [2, 127, 128, 129, 200, 300, 40_000])
def test_votes_of_many_classes_do_not_overflow(n_classes):
    classes = np.arange(n_classes) * 2
    rng = np.random.default_rng(0)
    table = rng.choice(classes, size=(50, 3))
    table[0] = classes[-1]
    table[1] = 1
    ballots = Voters([PredictionTable().group(3)]).votes(table, classes)
    assert ballots.labels.tolist() == sorted({1, *classes.tolist()})
    assert np.array_equal(ballots.labels[ballots.codes], table)


# --- stumps --------------------------------------------------------------------------------------


def test_stump_by_hand():
    stump = Stump(feature=1, threshold=2.0, low="no", high="yes")
    rows = [[9.0, 1.0], [0.0, 2.0], [0.0, 2.0001], [0.0, np.nan], [0.0, np.inf]]
    assert stump.predict(rows).tolist() == ["no", "no", "yes", "no", "yes"]


def test_thresholds_are_evenly_spaced():
    X = [[0.0, 5.0, 10.0], [1.0, 5.0, 30.0], [0.2, 5.0, 11.0]]
    stumps = Stumps(n_thresholds=4).fit(X, ["a", "b", "a"])
    # Feature 1 is constant: no stump looks at it.
    expected = [(0, k / 5) for k in (1, 2, 3, 4)] + [(2, 10 + 4 * k) for k in (1, 2, 3, 4)]
    assert len(stumps) == 16
    for index, (feature, threshold) in enumerate(expected):
        up, down = stumps[2 * index], stumps[2 * index + 1]
        assert (up.feature, down.feature) == (feature, feature)
        assert up.threshold == down.threshold == pytest.approx(threshold)
        assert (up.low, up.high) == ("a", "b")
        assert (down.low, down.high) == ("b", "a")


def test_binary_stumps_do_not_use_the_labels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    first, second = (Stumps().fit(X, labels) for labels in (y, rng.permutation(y)))
    assert len(first) == 3 * 10 * 2
    for one, other in zip(first, second, strict=True):
        assert one.get_params() == other.get_params()


def test_multiclass_stumps_predict_the_majority_of_each_side():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [8.0]])
    y = np.array(["a", "a", "b", "c", "c", "b", "b", "b"])
    stumps = Stumps(n_thresholds=3).fit(X, y)
    by_hand = [(2.0, "a", "b"), (4.0, "a", "b"), (6.0, "b", "b")]
    # Up to 4: a, a, b, c, c, where a comes before c. Up to 6: b three times.
    assert [(s.threshold, s.low, s.high) for s in stumps] == by_hand


def test_missing_values_of_stumps():
    X = np.array([[0.0, np.nan], [np.nan, np.nan], [4.0, np.nan]])
    stumps = Stumps(n_thresholds=1).fit(X, [0, 1, 1])
    assert [(s.feature, s.threshold) for s in stumps] == [(0, 2.0), (0, 2.0)]
    codes, others = stumps.column(0, stumps.prepare(X), np.array([0, 1]))
    assert codes.tolist() == [0, 0, 1]
    assert codes.tolist() == stumps[0].predict(X).tolist()
    assert others.size == 0
    codes, others = stumps.column(1, stumps.prepare(X), np.array([0, 3]))
    assert codes.tolist() == [-1, -1, 0]
    assert others.tolist() == [1, 1]


def test_stumps_vote_as_each_of_them_predicts(data):
    X, y, X_new, _ = data
    classes = np.array([3, 7, 9])
    voters = fit_voters("stumps", X, y)
    expected = np.stack([stump.predict(X_new) for stump in voters], axis=1)
    assert np.array_equal(classes[voters.votes(X_new, classes).codes], expected)
    assert len(voters) == 60


def test_bad_stumps():
    with pytest.raises(ValueError, match="more than one value"):
        Stumps().fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    for n_thresholds in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="n_thresholds must be a positive integer"):
            Stumps(n_thresholds=n_thresholds).fit([[1.0], [2.0]], [0, 1])


# --- tables --------------------------------------------------------------------------------------


def test_table_of_words():
    table = [["cat", "dog"], ["dog", "cow"], ["dog", "dog"]]
    voters = fit_voters(PredictionTable(), table, None)
    assert len(voters) == 2
    ballots = voters.votes(table, np.array(["cat", "dog"]))
    assert ballots.labels.tolist() == ["cat", "cow", "dog"]
    assert ballots.codes.tolist() == [[0, 2], [2, 1], [2, 2]]
    assert list(voters) == ["column 0", "column 1"]
    with pytest.raises(ValueError, match=r"2 columns of predictions, got shape \(1, 3\)"):
        voters.votes([["cat", "dog", "dog"]], np.array(["cat", "dog"]))
    with pytest.raises(ValueError, match="labels"):
        voters.votes([[0, 1]], np.array(["cat", "dog"]))


def test_table_as_a_frame():
    table = pd.DataFrame({"first": [1, 2, 3], "second": [2, 2, 9]})
    voters = fit_voters(PredictionTable(), table, None)
    assert voters.votes(table, np.array([1, 2, 3])).codes.tolist() == [[0, 1], [1, 1], [2, 3]]


# --- ensembles -----------------------------------------------------------------------------------

_PAIR = [("tree", DecisionTreeClassifier(max_depth=3, random_state=0)), ("bayes", GaussianNB())]


def encoded(ensemble, X):
    return [ensemble.classes_[member.predict(X).astype(int)] for member in ensemble.estimators_]


def bagged(ensemble, X):
    pairs = zip(ensemble.estimators_, ensemble.estimators_features_, strict=True)
    return [ensemble.classes_[member.predict(X[:, columns])] for member, columns in pairs]


def plain(ensemble, X):
    return [member.predict(X) for member in ensemble.estimators_]


def alone(model, X):
    return [model.predict(X)]


ENSEMBLES = {
    "forest": (RandomForestClassifier(5, random_state=0), encoded, 5),
    "extra trees": (ExtraTreesClassifier(5, random_state=0), encoded, 5),
    "bagging": (BaggingClassifier(n_estimators=5, max_features=0.5, random_state=0), bagged, 5),
    "bagging of few rows": (
        BaggingClassifier(GaussianNB(), 4, max_samples=8, random_state=0),
        bagged,
        4,
    ),
    "adaboost": (AdaBoostClassifier(n_estimators=4, random_state=0), plain, 4),
    "voting": (VotingClassifier(_PAIR), encoded, 2),
    "voting with drop": (VotingClassifier([*_PAIR, ("no", "drop")]), encoded, 2),
    "stacking": (StackingClassifier(_PAIR, LogisticRegression(max_iter=2000)), encoded, 2),
    "tree": (DecisionTreeClassifier(random_state=0), alone, 1),
    "bayes": (GaussianNB(), alone, 1),
    "pipeline of one": (make_pipeline(StandardScaler(), GaussianNB()), alone, 1),
}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(("model", "by_hand", "n"), ENSEMBLES.values(), ids=ENSEMBLES)
def test_unpack(model, by_hand, n, frozen, data):
    X, y, X_new, _ = data
    model = model.fit(X, y)
    group = unpack(FrozenEstimator(model) if frozen else model)
    voters = Voters([group])
    classes = np.array([3, 7, 9])
    assert len(group) == len(voters) == n
    votes = voters.votes(X_new, classes).codes
    assert np.array_equal(classes[votes], np.stack(by_hand(model, X_new), axis=1))
    read = pickle.loads(pickle.dumps(voters))
    assert np.array_equal(read.votes(X_new, classes).codes, votes)


def test_unpack_through_searches_and_pipelines(data):
    X, y, X_new, _ = data
    classes = np.array([3, 7, 9])
    forest = RandomForestClassifier(3, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), forest), {}, cv=2)
    nested = make_pipeline(StandardScaler(with_mean=False), FrozenEstimator(search.fit(X, y)))
    votes = Voters([unpack(nested.fit(X, y))]).votes(X_new, classes).codes
    outer, inner = nested[0], search.best_estimator_
    prepared = inner[0].transform(outer.transform(X_new))
    assert np.array_equal(classes[votes], np.stack(encoded(inner[1], prepared), axis=1))


def test_the_inner_estimator_is_behind_pipelines_searches_and_freezers(data):
    X, y, *_ = data
    bagging = BaggingClassifier(n_estimators=2, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), bagging), {}, cv=2)
    assert inner_estimator(search) is search  # it has found nothing yet
    search.fit(X, y)
    best = search.best_estimator_[-1]
    for voters in (search, FrozenEstimator(search), make_pipeline(FrozenEstimator(search))):
        assert inner_estimator(voters) is best
    table = PredictionTable()
    pair = [FrozenEstimator(best)] * 2
    assert inner_estimator(table) is table
    assert inner_estimator(pair) is pair
    assert inner_estimator("trees") == "trees"


def test_a_pipeline_in_a_pipeline_may_be_frozen(data):
    X, y, X_new, _ = data
    model = GaussianNB()
    nested = make_pipeline(make_pipeline(FrozenEstimator(model)))
    with pytest.raises(NotFittedError, match="voters is frozen but not fitted"):
        fit_voters(nested, X, y)
    model.fit(X, y)
    voters = fit_voters(nested, X, y)
    classes = np.array([3, 7, 9])
    assert np.array_equal(classes[voters.votes(X_new, classes).codes[:, 0]], model.predict(X_new))


def test_unpack_refuses(data):
    X, y, *_ = data
    with pytest.raises(ValueError, match="must be classifiers, got RandomForestRegressor"):
        unpack(RandomForestRegressor(2).fit(X, y))
    with pytest.raises(NotFittedError):
        unpack(RandomForestClassifier())
    for model in (DecisionTreeClassifier(), RandomForestClassifier(2)):
        with pytest.raises(ValueError, match="several outputs"):
            unpack(model.fit(X, np.column_stack([y, y])))


def test_what_is_frozen():
    frozen = FrozenEstimator(GaussianNB())
    assert is_frozen(frozen)
    assert is_frozen([frozen, frozen])
    assert is_frozen((frozen,))
    assert is_frozen(PredictionTable())
    assert is_frozen(make_pipeline(FrozenEstimator(StandardScaler()), frozen))
    for voters in (
        None,
        "trees",
        "stumps",
        Stumps(),
        GaussianNB(),
        [],
        make_pipeline(StandardScaler(), frozen),
        GridSearchCV(frozen, {}),
    ):
        assert not is_frozen(voters)
    with pytest.raises(ValueError, match="voters must be all frozen or all to be trained, got 1"):
        is_frozen([frozen, GaussianNB()])


def test_frozen_parts_inside_voters_are_counted():
    frozen, scaler = FrozenEstimator(GaussianNB()), FrozenEstimator(StandardScaler())
    assert frozen_parts(None) == frozen_parts("stumps") == frozen_parts(GaussianNB()) == 0
    assert frozen_parts(make_pipeline(scaler, GaussianNB())) == 1
    both = VotingClassifier([("first", frozen), ("second", make_pipeline(scaler, GaussianNB()))])
    assert frozen_parts(both) == 2
    assert frozen_parts([make_pipeline(scaler, GaussianNB()), make_pipeline(scaler, both)]) == 2


def test_trees_are_those_of_the_paper(data):
    X, y, X_new, _ = data
    voters = fit_voters("trees", X, y, 6, np.random.RandomState(3))
    assert len(voters) == 6
    assert len({voter.random_state for voter in voters}) == 6
    classes = np.array([3, 7, 9])
    votes = voters.votes(X_new, classes).codes
    for column, voter in zip(votes.T, voters, strict=True):
        assert (voter.criterion, voter.max_features, voter.max_depth) == ("gini", "sqrt", None)
        # Each is what scikit-learn grows from the seed that it has, on all rows.
        again = DecisionTreeClassifier(max_features="sqrt", random_state=voter.random_state)
        assert np.array_equal(classes[column], again.fit(X, y).predict(X_new))
        assert voter.tree_.n_node_samples[0] == 120


def test_seeds_are_given_to_what_has_none(data):
    X, y, *_ = data
    own = DecisionTreeClassifier(max_features=1, random_state=5)
    free = DecisionTreeClassifier(max_features=1)
    first, again = (
        fit_voters([own, free, make_pipeline(StandardScaler(), free)], X, y, 3, rng)
        for rng in (np.random.RandomState(0), np.random.RandomState(0))
    )
    assert first[0].random_state == 5
    assert isinstance(first[1].random_state, int)
    assert first[1].random_state == again[1].random_state
    assert first[2][-1].random_state == again[2][-1].random_state
    assert first[1].random_state != first[2][-1].random_state
    assert free.random_state is None
    assert not hasattr(free, "tree_")
