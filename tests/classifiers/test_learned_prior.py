"""Weights learned on part A: a prior for part B, which tests or improves them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from certivote import MajorityVoteClassifier, VoteStatistics
from certivote.bounds import clopper_pearson
from certivote.learners import logistic

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
    more, labels = X[:50] + 1e-6 * rng.random((50, 30)), Y[:50]
    grown = MajorityVoteClassifier("stumps", bound="heldout", prior="learned", random_state=0)
    grown.fit(X, Y).partial_fit(more, labels)
    new = int(np.sum(vote.predict(more) != labels))
    assert np.array_equal(grown.weights_, vote.weights_)
    assert grown.certificate_.evidence["vote_errors"] == (
        vote.certificate_.evidence["vote_errors"] + new
    )


def test_other_bounds_pay_for_the_distance_from_it():
    settings = {"voters": "stumps", "bound": "gibbs", "random_state": 0}
    near = MajorityVoteClassifier(prior="learned", **settings).fit(X, Y).certificate_
    far = MajorityVoteClassifier(**settings).fit(X, Y).certificate_
    assert near.kl < far.kl
    assert near.risk_bound < far.risk_bound


def test_trees_that_fit_part_a_stay_equal():
    """There is nothing to learn from voters without an error."""
    trees = MajorityVoteClassifier(bound="heldout", prior="learned", n_voters=11, random_state=0)
    np.testing.assert_allclose(trees.fit(X, Y).weights_, 1 / 11, rtol=1e-12)


def test_bad_priors_are_refused():
    with pytest.raises(ValueError, match="prior must be 'uniform', 'learned' or"):
        MajorityVoteClassifier(prior="guessed").fit(X, Y)
    tree = FrozenEstimator(DecisionTreeClassifier(max_depth=2).fit(X[:200], Y[:200]))
    with pytest.raises(ValueError, match="prior='learned' needs a part A"):
        MajorityVoteClassifier([tree, tree], prior="learned").fit(X[200:], Y[200:])
