"""What is refused, and what is warned of."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import CBBoostClassifier, CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier
from certivote.bounds import get_bound

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


@pytest.mark.parametrize(
    "voter",
    [
        RandomForestClassifier(3, random_state=0),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
        GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}, cv=2),
    ],
    ids=["forest", "pipeline", "search"],
)
def test_fitted_voters_that_are_not_frozen_warn(voter, data):
    X, y, X_new, y_new = data
    fitted = clone(voter).fit(X, y)
    with pytest.warns(UserWarning, match=r"fitted again.*FrozenEstimator"):
        alone = MajorityVoteClassifier(voters=fitted, random_state=0).fit(X_new, y_new)
    assert alone.certificate_.n_samples == 150
    with pytest.warns(UserWarning, match=r"voters\[1\].*FrozenEstimator"):
        MajorityVoteClassifier(voters=[GaussianNB(), fitted], random_state=0).fit(X_new, y_new)


@pytest.mark.parametrize(
    "voters",
    [
        FrozenEstimator(RandomForestClassifier()),
        [FrozenEstimator(DecisionTreeClassifier())],
        FrozenEstimator(make_pipeline(StandardScaler(), DecisionTreeClassifier())),
        FrozenEstimator(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]})),
        make_pipeline(FrozenEstimator(StandardScaler()), FrozenEstimator(GaussianNB())),
    ],
    ids=["forest", "list", "pipeline", "search", "steps"],
)
def test_frozen_voters_that_are_not_fitted(voters, data):
    X, y, *_ = data
    with pytest.raises(NotFittedError, match="frozen but not fitted"):
        MajorityVoteClassifier(voters=voters).fit(X, y)


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_too_few_examples(kind, small):
    with pytest.raises(ValueError, match="n_samples=1 leaves nothing to train"):
        small(kind).fit([[0.0, 1.0]], [0])
    with pytest.raises(ValueError, match=r"certify_size=5 of n_samples=5"):
        small(kind, certify_size=5).fit(np.arange(10.0).reshape(5, 2), [0, 1, 0, 1, 0])


@pytest.mark.parametrize("size", [0, 0.0, 1.0, -1, -0.5, 2.0, True, "a", None, 300, 301, np.nan])
def test_certify_size_out_of_range(size, data, small):
    X, y, *_ = data
    with pytest.raises(ValueError, match="certify_size"):
        small(MajorityVoteClassifier, certify_size=size).fit(X, y)


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_fit_parameters_are_refused(kind, data, small):
    X, y, *_ = data
    with pytest.raises(ValueError, match=r"sample_weight is refused.*no certificate would hold"):
        small(kind).fit(X, y, sample_weight=np.ones(300))
    with pytest.raises(TypeError, match="eval_set, weights"):
        small(kind).fit(X, y, weights=1, eval_set=2)


def test_a_class_that_part_a_never_saw_warns_and_counts_as_errors(data):
    X, y, *_ = data
    labels = y.astype(str)
    labels[17] = "rare"
    met = set()
    for seed in range(8):
        vote = MajorityVoteClassifier("trees", n_voters=5, certify_size=0.5, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vote.fit(X, labels)
        texts = [str(warning.message) for warning in caught]
        # Nobody knows the label exactly if it is in part B.
        unseen = all("rare" not in member.classes_ for member in vote.voters_)
        met.add(unseen)
        assert texts == (
            ["Part B has examples of 'rare', which part A has not: the voters err on all of them."]
            if unseen
            else []
        )
        assert vote.classes_.tolist() == ["0", "1", "rare"]
        if unseen:
            assert vote.statistics_.errors.min() >= 1
            assert vote.statistics_.tandem.min() >= 1
            assert np.all(vote.predict_proba(X)[:, 2] == 0.0)
    assert met == {True, False}


@pytest.mark.parametrize("kind", BINARY)
def test_binary_learners_refuse_three_classes(kind, three, small, frozen_trees):
    X_a, y_a, X, y, *_ = three
    with pytest.raises(ValueError, match=r"Only binary.*3 classes use MajorityVoteClassifier"):
        small(kind).fit(X, y)
    two = y < 2
    with pytest.raises(ValueError, match="MajorityVoteClassifier"):
        small(kind, voters=frozen_trees(X_a, y_a)).fit(X[two], y[two])


@pytest.mark.parametrize(
    ("voters", "message"),
    [
        ("forest", "'trees', 'stumps'.*'forest'"),
        (RandomForestRegressor(), "voters must be a scikit-learn classifier"),
        ([GaussianNB(), RandomForestRegressor()], r"voters\[1\] must be a scikit-learn classifier"),
        ([], "at least one classifier"),
        ((), "at least one classifier"),
        (RandomForestClassifier, "instance"),
        ([RandomForestClassifier], "instance"),
        (3, "voters must be a scikit-learn classifier, got 3"),
        (["trees"], r"voters\[0\] must be a scikit-learn classifier, got 'trees'"),
        ([None], r"voters\[0\] must be a scikit-learn classifier, got None"),
        (StandardScaler(), "voters must be a scikit-learn classifier"),
        (make_pipeline(StandardScaler()), "voters must be a scikit-learn classifier"),
    ],
    ids=repr,
)
def test_voters_that_are_none(voters, message, data):
    X, y, *_ = data
    with pytest.raises((ValueError, TypeError), match=message):
        MajorityVoteClassifier(voters=voters).fit(X, y)


def test_voters_of_several_outputs_are_refused(data):
    X, y, X_new, y_new = data
    tree = DecisionTreeClassifier(random_state=0).fit(X, np.column_stack([y, 1 - y]))
    for voters in (FrozenEstimator(tree), [FrozenEstimator(tree)]):
        with pytest.raises(ValueError, match="one label for each example"):
            MajorityVoteClassifier(voters=voters).fit(X_new, y_new)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": [0.5, 0.5]}, r"prior must have shape \(10,\)"),
        ({"prior": np.full(10, 0.2)}, "prior must sum to 1"),
        ({"n_voters": 0}, "n_voters must be a positive integer"),
        ({"n_voters": 2.5}, "n_voters must be a positive integer"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.5}, "delta"),
        ({"delta": 0.95}, r"did you mean 0\.05\?"),
        ({"bound": "lacase"}, "lacase"),
        ({"solver": "newton"}, "newton"),
        ({"certification": "bag"}, "certification must be one of"),
        ({"bound": get_bound("tandem", delta=0.1), "delta": 0.2}, "bound object has 0.1"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_settings(settings, message, data, small):
    X, y, *_ = data
    with pytest.raises(ValueError, match=message):
        small(MajorityVoteClassifier, **settings).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MinCqClassifier(mu="best"), "mu must be a number or 'cv'"),
        (MinCqClassifier(mu=-0.1), "mu must be a positive number"),
        (MinCqClassifier(mu=0.999), "mu must be at most"),
        (MinCqClassifier(mu=0.1, prior=[0.5, 0.5]), "prior must have shape"),
        (CqBoostClassifier(mu=0.999), "mu must be at most"),
        (CqBoostClassifier(mu=0.0), "mu must be a positive number"),
        (CqBoostClassifier(mu=0.1, tol=0.0), "tol must be a positive number"),
        (CBBoostClassifier(max_iter=0), "max_iter must be a positive integer"),
        (CBBoostClassifier(delta=2.0), "delta"),
        (CBBoostClassifier(delta=0.99), r"did you mean 0\.01\?"),
    ],
    ids=repr,
)
def test_bad_settings_of_binary_learners(estimator, message, data):
    X, y, *_ = data
    with pytest.raises(ValueError, match=message):
        estimator.set_params(n_voters=10, random_state=0).fit(X, y)


def test_labels_of_another_kind_than_the_frozen_voters(data, frozen_trees):
    X, y, X_new, y_new = data
    words = np.array(["no", "yes"])
    cases = [(y, words[y_new]), (words[y], y_new), (y, words.astype(object)[y_new])]
    for known, labels in cases:
        with pytest.raises(ValueError, match=r"labels.*kind"):
            MajorityVoteClassifier(voters=frozen_trees(X, known, 2)).fit(X_new, labels)


def test_y_must_be_labels(data, small):
    X, y, *_ = data
    with pytest.raises(ValueError, match="Unknown label type"):
        small(MajorityVoteClassifier).fit(X, y + 0.5 * X[:, 0])
    with pytest.raises(ValueError, match="requires y"):
        small(MajorityVoteClassifier).fit(X, None)
    with pytest.raises(ValueError, match="Reshape your data"):
        small(MajorityVoteClassifier).fit(X[:, 0], y)


def test_copied_rows_are_noticed(data):
    X, y, *_ = data
    m = 3 * len(X)
    order = np.random.RandomState(0).permutation(m) % len(X)
    shared = np.isin(order[m // 2 :], order[: m // 2]).sum()
    found = f"^{shared} of the {m - m // 2} certification examples have a twin among the examples"
    with pytest.warns(UserWarning, match=found):
        MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(
            np.tile(X, (3, 1)), np.tile(y, 3)
        )


def test_rows_of_few_values_may_repeat():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(200, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X.astype(float), X[:, 0])
    assert not [warning for warning in caught if "twin" in str(warning.message)]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("door", ["fit", "oob", "partial_fit", "certify", "verify"])
def test_labels_of_two_kinds_are_refused_by_name(door, listed, first, data, small):
    X, y, X_new, y_new = data
    mixed = ["no" if label == first else 1 for label in y_new]
    mixed = mixed if listed else np.array(mixed, dtype=object)
    vote, asked = small(MajorityVoteClassifier), door
    if door in ("partial_fit", "certify", "verify"):
        vote.fit(X, y)
    if door == "oob":
        vote, asked = vote.set_params(certification="oob"), "fit"
    with pytest.raises(ValueError, match=r"y must hold labels of one kind.*str\(label\)"):
        getattr(vote, asked)(X_new, mixed)


def test_announced_labels_of_two_kinds_are_refused_by_name(data, small):
    X, y, *_ = data
    with pytest.raises(ValueError, match=r"classes must hold labels of one kind"):
        small(MajorityVoteClassifier).partial_fit(X, y, classes=[0, 1, "no"])
