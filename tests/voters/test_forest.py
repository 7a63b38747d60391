"""Trees that are asked together vote to the last bit as each of them predicts."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from certivote import MajorityVoteClassifier
from certivote.voters import EstimatorGroup, Stump, Stumps, Voters, fit_voters
from certivote.voters import forest as under_test
from forests import check_forest, forests

CLASSES = np.array([0, 1])


@pytest.mark.parametrize("worth", [0, 2**62], ids=["compiled", "numpy"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=forests())
def test_votes_are_what_each_tree_predicts(case, worth):
    check_forest(case, worth)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(4000, 8, n_informative=5, flip_y=0.1, random_state=0)
    return X, y


@pytest.fixture
def compiled(monkeypatch):
    """Use compiled code for any number of votes."""
    monkeypatch.setattr(under_test, "_WORTH_COMPILING", 0)


def trees(X, y, n=5, **settings):
    return [DecisionTreeClassifier(random_state=j, **settings).fit(X, y) for j in range(n)]


def asked_together(members, X, classes=CLASSES):
    return EstimatorGroup(members).together(range(len(members)), X, classes)


def test_many_blocks_of_rows_and_of_trees(data, compiled, monkeypatch):
    X, y = data
    members = trees(X[:500], y[:500], 20)
    monkeypatch.setattr(under_test, "_NODES_AT_ONCE", 200)
    rows = np.tile(X, (6, 1))
    expected = np.stack([tree.predict(rows) for tree in members], axis=1)
    voters = Voters([EstimatorGroup(members)])
    for n_jobs in (None, 2):
        assert np.array_equal(voters.votes(rows, CLASSES, n_jobs).codes, expected)


def test_a_fitted_vote_predicts_what_it_is_certified_on(data, compiled):
    X, y = data
    vote = MajorityVoteClassifier("trees", n_voters=9, random_state=0).fit(X, y)
    members = np.stack([tree.predict(X.astype(np.float32)) for tree in vote.voters_], axis=1)
    shares = np.stack([(members == label) @ vote.weights_ for label in CLASSES], axis=1)
    assert np.allclose(vote.predict_proba(X), shares, rtol=0, atol=1e-12)
    assert np.array_equal(vote.predict(X), shares.argmax(axis=1))


class Contrary(DecisionTreeClassifier):
    """A tree that predicts something else."""

    def predict(self, X, check_input=True):
        return 1 - super().predict(X, check_input)


def test_a_tree_that_predicts_otherwise_is_asked_by_itself(data, compiled):
    X, y = data
    contrary = Contrary(random_state=0).fit(X, y)
    replaced = DecisionTreeClassifier(random_state=0).fit(X, y)
    replaced.predict = lambda X: np.zeros(len(X), dtype=int)
    for voter in (contrary, replaced, FrozenEstimator(contrary), FrozenEstimator(replaced)):
        members = [*trees(X, y, 2), voter]
        assert asked_together(members, X) is None
        votes = Voters([EstimatorGroup(members)]).votes(X, CLASSES).codes
        assert np.array_equal(votes[:, 2], voter.predict(X))


def test_frozen_trees_are_trees(data, compiled):
    X, y = data
    frozen = [FrozenEstimator(tree) for tree in trees(X[:300], y[:300])]
    assert asked_together(frozen, X) is not None
    votes = Voters([EstimatorGroup(frozen)]).votes(X, CLASSES).codes
    assert np.array_equal(votes, np.stack([tree.predict(X) for tree in frozen], axis=1))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X: np.where(np.arange(X.size).reshape(X.shape) == 9, np.inf, X),
        lambda X: np.where(np.arange(X.size).reshape(X.shape) == 9, 1e39, X),
        lambda X: X[:, :-1],
        lambda X: X[:0],
        lambda X: X[0],
        lambda X: X.astype(complex),
        lambda X: np.full(X.shape, "a"),
    ],
    ids=["infinite", "too large", "narrow", "empty", "one row", "complex", "text"],
)
def test_what_predict_refuses_is_refused_in_its_words(data, compiled, spoil):
    X, y = data
    members = trees(X, y)
    bad = spoil(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"\w") as theirs:
            members[0].predict(bad)
        with pytest.raises(ValueError, match=r"\w") as ours:
            Voters([EstimatorGroup(members)]).votes(bad, CLASSES)
    assert str(ours.value) == str(theirs.value)


def test_missing_values_are_refused_where_a_tree_refuses_them(data, compiled):
    X, y = data
    gaps = X.copy()
    gaps[3, 2] = np.nan
    for members in (trees(X, y, monotonic_cst=[1] + [0] * 7), trees(X, y)):
        voters = Voters([EstimatorGroup(members)])
        theirs = outcome(lambda members=members: members[0].predict(gaps).tolist())
        ours = outcome(lambda voters=voters: voters.votes(gaps, CLASSES).codes[:, 0].tolist())
        assert ours == theirs


def outcome(function):
    """Return what a function returns, or says as it raises."""
    try:
        return function()
    except ValueError as error:
        return str(error)


def test_sparse_rows_and_names_are_for_predict_itself(data, compiled):
    pd = pytest.importorskip("pandas")
    X, y = data
    members = trees(X, y)
    assert asked_together(members, sparse.csr_array(X)) is None
    named = trees(pd.DataFrame(X).rename(columns=str), y)
    assert asked_together(named, X) is None
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    votes = fit_voters(FrozenEstimator(forest), X, y).votes(sparse.csr_array(X), CLASSES).codes
    expected = [tree.predict(X.astype(np.float32)) for tree in forest.estimators_]
    assert np.array_equal(votes, np.stack(expected, axis=1))


def test_a_class_without_a_code_is_named_by_each_tree(data, compiled):
    X, y = data
    members = trees(X, 2 * y)
    assert asked_together(members, X) is None
    ballots = Voters([EstimatorGroup(members)]).votes(X, CLASSES)
    expected = np.stack([tree.predict(X) for tree in members], axis=1)
    assert np.array_equal(ballots.labels[ballots.codes], expected)


@pytest.mark.parametrize("field", ["threshold", "missing_go_to_left"])
def test_trees_that_look_otherwise_are_asked_by_predict_with_one_warning(data, monkeypatch, field):
    """As if this scikit-learn had other nodes than those that are known."""
    X, y = data
    members = trees(X, y)
    monkeypatch.setitem(under_test._FIELDS, field, np.int16)
    with pytest.warns(UserWarning, match="do not look as expected") as caught:
        votes = Voters([EstimatorGroup(members)]).votes(X, CLASSES).codes
    assert len(caught) == 1
    assert np.array_equal(votes, np.stack([tree.predict(X) for tree in members], axis=1))


@pytest.mark.parametrize("child", ["left_child", "right_child"])
def test_a_graph_that_is_no_tree_is_not_compiled(data, compiled, child):
    """Two nodes with one child: scikit-learn goes there from both, and so must its votes."""
    X, y = data
    members = trees(X[:300], y[:300])
    nodes = members[1].tree_.__getstate__()["nodes"]
    inner = np.flatnonzero(nodes["left_child"] != -1)
    nodes[child][inner[0]] = nodes[child][inner[1]]
    with pytest.warns(UserWarning, match="do not look as expected") as caught:
        votes = Voters([EstimatorGroup(members)]).votes(X, CLASSES).codes
    assert len(caught) == 1
    assert np.array_equal(votes, np.stack([tree.predict(X) for tree in members], axis=1))


def test_without_numba_the_votes_are_the_same(data, compiled, monkeypatch):
    X, y = data
    members = trees(X[:300], y[:300])
    monkeypatch.setattr(under_test, "_can_walk", lambda: False)
    assert not asked_together(members, X).is_large()
    votes = Voters([EstimatorGroup(members)]).votes(X, CLASSES).codes
    assert np.array_equal(votes, np.stack([tree.predict(X) for tree in members], axis=1))


def test_errors_of_other_voters_are_counted_in_parts(data, monkeypatch):
    from sklearn.naive_bayes import GaussianNB

    from certivote.voters import base

    X, y = data
    members = [GaussianNB().fit(X[:, :], y), *trees(X, y, 2, max_depth=2)]
    monkeypatch.setattr(base, "_VOTES_AT_ONCE", 3 * 700)
    counted = Voters([EstimatorGroup(members)]).count_errors(X, y, CLASSES)
    wrong = np.stack([voter.predict(X) != y for voter in members], axis=1).astype(int)
    assert np.array_equal(counted.tandem, wrong.T @ wrong)
    with pytest.raises(ValueError, match="NaN"):
        Voters([EstimatorGroup(members)]).count_errors(X * np.nan, y, CLASSES)
    with pytest.raises(ValueError, match="same number of rows"):
        Voters([EstimatorGroup(members)]).count_errors(X, y[1:], CLASSES)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("more", [0, 500], ids=["few", "many"])
def test_stumps_together_vote_as_each_does(n_jobs, more):
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 5e-324, np.nan, -3.0], size=(9000, 3))
    stumps = Stumps()
    thresholds = [0.0, 1.0, -0.0, 1.0, 5e-324, -3.0, np.inf, -np.inf]
    stumps.stumps_ = [
        Stump(int(rng.integers(3)), t, *rng.permutation(["a", "b", "c"])[:2].tolist())
        for t in rng.permutation([*thresholds * 4, *rng.normal(size=more)])
    ]
    classes = np.array(["a", "b", "c"])
    votes = Voters([stumps]).votes(X, classes, n_jobs).codes
    assert np.array_equal(classes[votes], np.stack([s.predict(X) for s in stumps.stumps_], axis=1))
