"""Weights learned on part A: a prior for part B, which tests or improves them."""

import json

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import Certificate, MajorityVoteClassifier, VoteStatistics
from certivote.bounds import BestBound, clopper_pearson
from certivote.learners import logistic
from certivote.voters import cross_fitted
from certivote.voters.mixed import folds_of

X, Y = load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def vote():
    learned = MajorityVoteClassifier("stumps", bound="heldout", prior="learned", random_state=0)
    return learned.fit(X, Y)


def parts(vote):
    """The split as it is documented: the first rows of a permutation are part A."""
    order = np.random.RandomState(0).permutation(len(Y))
    size = vote.certificate_.n_samples
    return order[:-size], order[-size:]


def test_the_prior_is_learned_on_part_a_alone(vote):
    part_a, _ = parts(vote)
    losses = np.column_stack([voter.predict(X[part_a]) != Y[part_a] for voter in vote.voters_])
    expected = logistic(VoteStatistics.from_losses(losses, keep_rows=True))
    np.testing.assert_allclose(vote.certificate_.prior, expected, atol=1e-9)
    assert vote.certificate_.provenance["prior"] == "learned on part A"


def test_part_b_tests_it(vote):
    _, part_b = parts(vote)
    errors = int(np.sum(vote.predict(X[part_b]) != Y[part_b]))
    assert np.array_equal(vote.weights_, vote.certificate_.prior)
    assert vote.certificate_.evidence["vote_errors"] == errors
    assert vote.certificate_.risk_bound == clopper_pearson(errors, len(part_b))


def test_learned_weights_earn_their_keep_where_voters_are_weak(vote):
    uniform = MajorityVoteClassifier("stumps", bound="heldout", random_state=0).fit(X, Y)
    assert vote.certificate_.risk_bound < 0.5 * uniform.certificate_.risk_bound


def test_it_can_be_verified_and_added_to(vote):
    vote.verify(X, Y)
    rng = np.random.default_rng(0)
    more, labels = X[:50] * rng.uniform(0.5, 1.5, (50, 30)), Y[:50]
    grown = MajorityVoteClassifier("stumps", bound="heldout", prior="learned", random_state=0)
    grown.fit(X, Y).partial_fit(more, labels)
    new = int(np.sum(vote.predict(more) != labels))
    assert np.array_equal(grown.weights_, vote.weights_)
    assert grown.certificate_.evidence["vote_errors"] == (
        vote.certificate_.evidence["vote_errors"] + new
    )


# --- the default bound ---


def default(**settings):
    return MajorityVoteClassifier("stumps", **{"random_state": 0, **settings})


def shares_of(certificate):
    return json.loads(certificate.to_json())["bound_parameters"]["shares"]


def limit_of(vote, delta):
    """By scipy, from the errors of `predict` on part B."""
    _, part_b = parts(vote)
    errors = int(np.sum(vote.predict(X[part_b]) != Y[part_b]))
    return beta.ppf(1.0 - delta, errors + 1, len(part_b) - errors)


def test_all_of_delta_tests_what_part_a_taught():
    vote = default(prior="learned").fit(X, Y)
    assert shares_of(vote.certificate_) == [["heldout", 1.0]]
    assert vote.certificate_.risk_bound == pytest.approx(limit_of(vote, 0.05), rel=1e-9)
    vote.verify(X, Y)
    vote.verify(X, Y, Certificate.from_dict(json.loads(vote.certificate_.to_json())))


def test_any_other_prior_leaves_some_of_it_to_bounds_that_learn():
    """Numbers that were given may have come from anywhere, also those that part A would give."""
    learned = default(prior="learned").fit(X, Y)
    usual = [["heldout", 0.9], ["occam", 0.05], ["dirichlet", 0.05]]
    given = default(prior=learned.certificate_.prior).fit(X, Y)
    assert shares_of(given.certificate_) == usual
    assert given.certificate_.risk_bound == pytest.approx(limit_of(given, 0.045), rel=1e-9)
    assert shares_of(default(prior="uniform").fit(X, Y).certificate_) == usual


def test_shares_that_were_given_stay_and_what_was_made_before_is_verified():
    """Before, this prior too was tested with 0.9 of δ."""
    shares = (("heldout", 0.9), ("occam", 0.05), ("dirichlet", 0.05))
    vote = default(prior="learned", bound=BestBound(shares=shares)).fit(X, Y)
    assert vote.certificate_.risk_bound == pytest.approx(limit_of(vote, 0.045), rel=1e-9)
    vote.verify(X, Y, Certificate.from_dict(json.loads(vote.certificate_.to_json())))


@pytest.mark.parametrize(
    "settings",
    [{"anytime": True}, {"claims": ["recall", "precision"]}, {"abstain": 0.02}],
    ids=["anytime", "claims", "abstaining"],
)
def test_whatever_else_is_asked_it_is_the_test_of_that_vote(settings):
    """A limit case: the best of one is that one."""
    best, tested = (
        default(prior="learned", bound=bound, **settings).fit(X, Y) for bound in ("best", "heldout")
    )
    assert best.certificate_.risk_bound == tested.certificate_.risk_bound
    np.testing.assert_array_equal(best.weights_, tested.weights_)
    ours, theirs = (
        [claim.statement for claim in vote.certificate_.claims] for vote in (best, tested)
    )
    assert ours == theirs
    best.verify(X, Y)


def test_more_rows_test_it_further_and_fewer_voters_are_tested_alike():
    rng = np.random.default_rng(0)
    more, labels = X[:50] * rng.uniform(0.5, 1.5, (50, 30)), Y[:50]
    best, tested = (
        default(prior="learned", bound=bound, anytime=True).fit(X, Y).partial_fit(more, labels)
        for bound in ("best", "heldout")
    )
    assert best.certificate_.risk_bound == tested.certificate_.risk_bound
    best, tested = (
        default(prior="learned", bound=bound).fit(X, Y).smallest(0.01, X, Y)
        for bound in ("best", "heldout")
    )
    assert best.certificate_.risk_bound == tested.certificate_.risk_bound
    best.verify(X, Y)


# --- other bounds and voters ---


def test_other_bounds_pay_for_the_distance_from_it():
    settings = {"voters": "stumps", "bound": "gibbs", "random_state": 0}
    near = MajorityVoteClassifier(prior="learned", **settings).fit(X, Y).certificate_
    far = MajorityVoteClassifier(**settings).fit(X, Y).certificate_
    assert near.kl < far.kl
    assert near.risk_bound < far.risk_bound


ALIKE = {
    "trees": "trees",
    "forest": RandomForestClassifier(11),
    "a search of bagging": GridSearchCV(BaggingClassifier(n_estimators=11), {"max_samples": [0.5]}),
}


@pytest.mark.parametrize("name", ALIKE)
def test_voters_that_differ_by_chance_alone_stay_equal(name):
    settings = {"bound": "heldout", "prior": "learned", "n_voters": 11, "random_state": 0}
    vote = MajorityVoteClassifier(ALIKE[name], **settings).fit(X, Y)
    np.testing.assert_allclose(vote.weights_, 1 / 11, rtol=1e-12)


def noise(seed):
    """A tree that knows its rows by heart, and looks at a column of noise alone."""
    heart = DecisionTreeClassifier(random_state=0)
    return make_pipeline(ColumnTransformer([("noise", "passthrough", [seed])]), heart)


def test_voters_that_know_part_a_by_heart_are_asked_about_rows_that_they_did_not_see():
    """By hand, with scikit-learn's own cross-fitting; on part A itself the tree never errs."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.random((len(Y), 2)), X[:, :4]])
    voters = [noise(0), noise(1), make_pipeline(StandardScaler(), LogisticRegression())]
    vote = MajorityVoteClassifier(voters, bound="heldout", prior="learned", random_state=0)
    vote.fit(table, Y)
    part_a, part_b = parts(vote)
    assert (vote.voters_[0].predict(table[part_a]) == Y[part_a]).all()
    where = np.empty(len(part_a), dtype=int)
    for number, fold in enumerate(folds_of(Y[part_a], np.random.RandomState(0))):
        where[fold] = number
    losses = [
        cross_val_predict(voter, table[part_a], Y[part_a], cv=PredefinedSplit(where)) != Y[part_a]
        for voter in voters
    ]
    expected = logistic(VoteStatistics.from_losses(np.column_stack(losses), keep_rows=True))
    np.testing.assert_allclose(vote.certificate_.prior, expected, atol=1e-5)
    assert vote.weights_[2] > 0.8
    errors = int(np.sum(vote.predict(table[part_b]) != Y[part_b]))
    assert vote.certificate_.risk_bound == clopper_pearson(errors, len(part_b))
    vote.verify(table, Y)


@pytest.mark.parametrize("rare", [1, 2, 3])
def test_a_class_that_is_in_one_fold_alone(rare):
    """Voters that were trained on the other class name that, where many refuse to be trained."""
    rng = np.random.default_rng(rare)
    y = rng.permutation(np.repeat([0, 1], [120 - 2 * rare, 2 * rare]))
    table = rng.normal(size=(120, 3)) + 9.0 * y[:, None]
    voters = [LogisticRegression(), LogisticRegression(C=0.5)]
    some = np.concatenate([np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1)[:rare]])
    folds = list(cross_fitted(voters, 2, table[some], y[some], np.array([0, 1])))
    with_it = [(rows, ballots) for rows, ballots in folds if y[some][rows].any()]
    assert len(with_it) == rare
    for rows, ballots in with_it:
        own = y[some][rows] if rare > 1 else np.zeros(len(rows))
        np.testing.assert_array_equal(ballots.codes, np.stack([own, own], axis=1))
    vote = MajorityVoteClassifier(voters, prior="learned", random_state=0).fit(table, y)
    assert vote.certificate_.provenance["prior"] == "learned on part A"
    vote.smallest(0.05, table, y).verify(table, y)


def test_which_voter_could_not_be_trained_is_said():
    voters = [DecisionTreeClassifier(), LogisticRegression()]
    with pytest.raises(ValueError, match="at least 2 classes") as raised:
        MajorityVoteClassifier(voters, random_state=0).fit(X, np.zeros(len(X), dtype=int))
    assert raised.value.__notes__ == ["This was the training of voters[1], LogisticRegression."]


def test_boosting_that_stops_early_on_a_fold():
    """What is not there has no say on that fold, and what is there has."""
    first = X[:, :1] > np.median(X[:, 0])
    y = (first[:, 0] ^ (np.arange(len(Y)) % 50 == 0)).astype(int)
    table = np.column_stack([first, np.arange(len(Y)) // 25])
    boosting = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=6)
    vote = MajorityVoteClassifier(boosting, bound="heldout", prior="learned", random_state=0)
    assert vote.fit(table, y).weights_.sum() == pytest.approx(1.0, abs=1e-12)


def test_bad_priors_are_refused():
    with pytest.raises(ValueError, match="prior must be 'uniform', 'learned' or"):
        MajorityVoteClassifier(prior="guessed").fit(X, Y)
    tree = FrozenEstimator(DecisionTreeClassifier(max_depth=2).fit(X[:200], Y[:200]))
    with pytest.raises(ValueError, match="prior='learned' needs a part A"):
        MajorityVoteClassifier([tree, tree], prior="learned").fit(X[200:], Y[200:])
