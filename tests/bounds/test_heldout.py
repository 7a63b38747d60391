"""The test-set bound, against mpmath and scikit-learn's own predictions."""

import json

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, binomtest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from certivote import (
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    certify,
)
from certivote.bounds import HeldoutBound, clopper_pearson, get_bound, sequential_limit
from certivote.voters import PredictionTable
from reference import binomial_tail


def make_votes(m=600, n=7, error=0.2, k=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=m)
    wrong = rng.random((m, n)) < error * rng.uniform(0.5, 1.5, size=n)
    return np.where(wrong, rng.integers(k, size=(m, n)), y[:, None]), y


# --- the limit ---

LIMITS = [
    (k, m, delta)
    for m in (1, 2, 10, 163, 15_081, 10**6, 10**9)
    for k in sorted({0, 1, m // 100, m // 7, m // 2, m - 1} - {m})
    for delta in (0.05, 0.045, 1e-6, 1e-30, 0.9)
]


@pytest.mark.parametrize(("k", "m", "delta"), [case for case in LIMITS if case[1] <= 20_000])
def test_the_limit_is_never_too_small_nor_much_too_large(k, m, delta):
    limit = clopper_pearson(k, m, delta)
    assert 0.0 < limit <= 1.0
    assert limit == 1.0 or binomial_tail(k, m, limit) <= delta
    assert binomial_tail(k, m, limit - 1e-11 * (1 + limit)) >= delta


@pytest.mark.parametrize(("k", "m", "delta"), [case for case in LIMITS if case[2] >= 1e-6])
def test_the_limit_is_that_of_scipy(k, m, delta):
    interval = binomtest(k, m, alternative="less").proportion_ci(1 - delta, method="exact")
    assert clopper_pearson(k, m, delta) == pytest.approx(interval.high, rel=1e-7, abs=1e-11)


@pytest.mark.parametrize(
    ("k", "m", "delta"),
    [(999, 17_499, 0.045), (999, 70_081, 0.05), (999, 140_212, 0.05), (32, 4365, 1e-300)],
)
def test_where_the_inverse_of_the_incomplete_beta_function_goes_wrong(k, m, delta):
    limit = clopper_pearson(k, m, delta)
    assert limit > k / m
    assert binomial_tail(k, m, limit) <= delta


def test_the_limit_of_no_errors_is_a_closed_form():
    for m in (1, 5, 1000):
        assert clopper_pearson(0, m, 0.05) == pytest.approx(1 - 0.05 ** (1 / m), rel=1e-9)


def test_the_limit_fails_as_often_as_it_says():
    """Exactly: the probabilities of all outcomes at which it is below the truth."""
    for m in (1, 7, 40):
        limits = np.array([clopper_pearson(k, m, 0.1) for k in range(m + 1)])
        for p in np.linspace(0.01, 0.99, 99):
            assert binom.pmf(np.flatnonzero(limits < p), m, p).sum() <= 0.1


@pytest.mark.parametrize("errors", [-1, 11, 2.5, True, "3", None])
def test_errors_that_cannot_be(errors):
    with pytest.raises(ValueError, match="errors must be"):
        clopper_pearson(errors, 10)


def test_a_delta_that_cannot_be():
    for delta in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="delta"):
            clopper_pearson(1, 10, delta)


def test_a_sample_that_cannot_be():
    with pytest.raises(ValueError, match="n_samples"):
        clopper_pearson(0, 0)


# --- the bound ---


def test_the_prior_vote_is_tested_and_nothing_else_is_said():
    votes, y = make_votes()
    uniform = np.full(7, 1 / 7)
    other = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    statistics = VoteStatistics.from_votes(votes, y, fixed_votes=[uniform, other])
    bound = HeldoutBound()
    majority = np.where((votes == 1).sum(axis=1) > 3, 1, 0)
    expected = clopper_pearson(int(np.sum(majority != y)), len(y), 0.05)
    assert bound.value(statistics, uniform) == expected
    assert bound.value(statistics, other) == 1.0
    assert bound.value(statistics, other, prior=other) < 1.0
    assert not np.any(bound.value_and_gradient(statistics, uniform)[1])


def test_the_best_of_several_votes_pays_for_their_number():
    votes, y = make_votes(seed=3)
    fixed_votes = np.random.default_rng(0).dirichlet(np.ones(7), size=5)
    bound = HeldoutBound(delta=0.05, fixed_votes=fixed_votes)
    certificate = certify(votes, y, bound=bound)
    errors = []
    for weights in fixed_votes:
        second = (votes == 1) @ weights
        errors.append(int(np.sum((second > 0.5) != y)))
    assert certificate.weights.tolist() == fixed_votes[int(np.argmin(errors))].tolist()
    assert certificate.risk_bound == clopper_pearson(min(errors), len(y), 0.05 / 5)
    certificate.verify(votes, y)
    again = Certificate.from_dict(json.loads(certificate.to_json()))
    again.verify(votes, y)


def test_other_weights_are_refused_by_name():
    votes, y = make_votes()
    weights = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match="weights must be the prior, or one of the fixed votes"):
        certify(votes, y, weights=weights, bound="heldout")
    fixed = certify(votes, y, weights=weights, prior=weights, bound="heldout")
    assert any("were fixed without looking" in text for text in fixed.assumptions)
    assert "learned from the certification examples in any way" not in str(fixed)


@pytest.mark.parametrize("bound", ["heldout", "lacasse", HeldoutBound()])
def test_weights_learned_on_other_examples_are_a_prior(bound):
    learned = certify(*make_votes(seed=5), bound="tandem").weights
    votes, y = make_votes(seed=6)
    certify(votes, y, weights=learned, prior=learned, bound=bound).verify(votes, y)


def test_from_losses_alone_a_tie_counts_as_an_error():
    losses = np.array([[0, 1], [0, 0], [1, 1]] * 10)
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    assert HeldoutBound().value(statistics, [0.5, 0.5]) == clopper_pearson(20, 30)
    with pytest.raises(ValueError, match="fixed votes"):
        HeldoutBound().value(VoteStatistics.from_losses(losses), [0.5, 0.5])


@pytest.mark.parametrize(
    ("fixed_votes", "message"),
    [
        ([0.5, 0.5], "fixed_votes must be a table"),
        ([[0.5, 0.6]], r"fixed_votes\[0\] must sum to 1"),
        ([[0.5, 0.5], [1.5, -0.5]], r"fixed_votes\[1\] must be non-negative"),
        ([[1.0]], r"fixed_votes\[0\] must have shape"),
    ],
)
def test_fixed_votes_that_cannot_be(fixed_votes, message):
    votes, y = make_votes(n=2)
    with pytest.raises(ValueError, match=message):
        certify(votes, y, bound=HeldoutBound(fixed_votes=fixed_votes))


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"vote_errors": 3}, "evidence must be vote_errors and vote_size"),
        ({"vote_errors": 3, "vote_size": 9, "more": 1}, "evidence must be"),
        ({"vote_errors": 3.5, "vote_size": 9}, "errors must be a whole number"),
        ({"vote_errors": 10, "vote_size": 9}, "errors must be between"),
        ({"vote_errors": 0, "vote_size": 0}, "vote_size"),
    ],
)
def test_evidence_that_cannot_be(evidence, message):
    with pytest.raises(ValueError, match=message):
        HeldoutBound().from_evidence(evidence, [0.5, 0.5], [0.5, 0.5])


# --- plain predictions ---


def test_predictions_of_any_classifier():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=0).fit(X[:900], y[:900])
    predicted = forest.predict(X[900:])
    certificate = certify(predicted, y[900:])
    errors = int(np.sum(predicted != y[900:]))
    assert certificate.bound == "heldout"
    assert certificate.n_voters == 1
    assert certificate.risk_bound == clopper_pearson(errors, len(predicted))
    assert certificate.evidence == {"vote_errors": errors, "vote_size": len(predicted)}
    assert certificate.gibbs_risk is None
    certificate.verify(predicted, y[900:])
    with pytest.raises(CertificateError, match="not those that were certified"):
        certificate.verify(y[900:], y[900:])
    texts = predicted.astype(str).tolist()
    assert certify(texts, y[900:].astype(str)).risk_bound == certificate.risk_bound


def test_predictions_and_labels_must_match():
    with pytest.raises(ValueError, match="same number of rows"):
        certify([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="y must be the true labels"):
        certify([1, 0, 1])


# --- the classifier ---


@pytest.mark.filterwarnings("ignore:The vote of its members")
@pytest.mark.parametrize("k", [2, 10])
def test_the_errors_are_those_of_predict_itself(k):
    """Eight voters and many classes: ties everywhere."""
    X, y = load_digits(return_X_y=True)
    y = y % k
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X[:600], y[:600])
    vote = MajorityVoteClassifier(voters=FrozenEstimator(forest), bound="heldout")
    vote.fit(X[600:], y[600:])
    errors = int(np.sum(vote.predict(X[600:]) != y[600:]))
    assert vote.certificate_.evidence["vote_errors"] == errors
    assert vote.certificate_.risk_bound == clopper_pearson(errors, len(X) - 600)
    assert np.all(vote.weights_ == 1 / 8)
    vote.verify(X[600:], y[600:])


def test_a_finished_vote_on_new_data():
    X, y = load_digits(return_X_y=True)
    vote = MajorityVoteClassifier("trees", n_voters=9, random_state=0).fit(X[:900], y[:900])
    certificate = vote.certify(X[900:], y[900:], bound="heldout")
    errors = int(np.sum(vote.predict(X[900:]) != y[900:]))
    assert certificate.evidence == {"vote_errors": errors, "vote_size": len(X) - 900}
    assert np.array_equal(certificate.weights, vote.weights_)
    vote.verify(X[900:], y[900:], certificate)


def test_more_data_adds_up():
    X, y = load_digits(return_X_y=True)
    settings = {"voters": "trees", "n_voters": 9, "random_state": 0, "bound": "heldout"}
    vote = MajorityVoteClassifier(**settings).fit(X[:900], y[:900])
    before = vote.certificate_.evidence["vote_errors"]
    vote.partial_fit(X[900:], y[900:])
    new = int(np.sum(vote.predict(X[900:]) != y[900:]))
    assert vote.certificate_.evidence == {"vote_errors": before + new, "vote_size": 450 + 897}


def test_the_name_is_known():
    assert get_bound("heldout", delta=0.1).delta == 0.1


def test_large_labels_of_two_types_are_refused():
    votes, y = np.full(200, 2**60 + 1, dtype=np.uint64), np.full(200, 2**60, dtype=np.int64)
    with pytest.raises(ValueError, match=r"must hold numbers below 2\*\*53"):
        certify(votes, y)
    assert certify(votes, y.astype(np.uint64)).risk_bound == 1.0


# --- limits that hold at all sizes at once ---


def mixture(k, m, p, c=0.0, d=1.0):
    """The mean of uᵏ ((1−pu)/(1−p))ᵐ⁻ᵏ over u from c to d, integrated."""
    peak = min(max(c, k / (m * p)), d)
    points = [c, peak, d] if c < peak < d else [c, d]
    return mpmath.quad(lambda u: u**k * ((1 - p * u) / (1 - p)) ** (m - k), points) / (d - c)


@pytest.mark.parametrize("parts", [None, (0.0, 0.5), (0.25, 0.75), (0.5, 1.0)])
@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_sequential_limits_are_where_the_mixture_reaches_its_level(delta, parts):
    ends = parts or (0.0, 1.0)
    for k, m in ((0, 1), (0, 100), (1, 2), (20, 1_000), (37, 90), (99, 100), (150, 3_000)):
        limit = sequential_limit(k, m, delta, parts)
        with mpmath.workdps(40):
            if limit < 1.0:  # where it is 1, it says nothing
                assert mixture(k, m, mpmath.mpf(limit), *ends) >= 1 / mpmath.mpf(delta)
            below = mpmath.mpf(limit) - mpmath.mpf(10) ** -9
            if limit < 1.0 - 1e-9:
                assert mixture(k, m, below, *ends) < 1 / mpmath.mpf(delta)
        assert limit == 1.0 or limit > clopper_pearson(k, m, delta)


def test_sequential_limits_of_known_counts():
    assert sequential_limit(20, 1_000) <= 0.0365  # however often one looks
    # Part A lets one expect 2% of errors: about half of the limit.
    assert sequential_limit(20, 1_000, mixture=(0.25, 0.85)) <= 0.0352
    assert sequential_limit(20, 1_000, mixture=(0.0, 1.0)) == sequential_limit(20, 1_000)
    assert sequential_limit(7, 7) == 1.0
    values = [sequential_limit(k, 50) for k in range(51)]
    assert values == sorted(values)


def test_the_bound_takes_the_sequential_limit():
    losses = np.random.default_rng(0).random((200, 5)) < 0.2
    statistics, uniform = VoteStatistics.from_losses(losses, keep_rows=True), np.full(5, 0.2)
    bound = HeldoutBound().for_all_sizes()
    assert bound.is_anytime
    assert not HeldoutBound().is_anytime
    k = statistics.vote_errors(uniform)
    assert bound.value(statistics, uniform) == sequential_limit(k, 200)
    with pytest.raises(ValueError, match="anytime must be True, False or None"):
        HeldoutBound(anytime="yes").value(statistics, uniform)


# --- a mixture that was chosen on other data ---


def test_a_chosen_mixture_is_carried_by_the_vote_and_its_file(tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=900)
    table = np.where(rng.random((900, 5)) < 0.2, 1 - y[:, None], y[:, None])
    bound = HeldoutBound(anytime=True, mixture=(0.3, 0.8))
    vote = MajorityVoteClassifier(PredictionTable(), bound=bound, anytime=True)
    limits = []
    for rows in np.split(np.arange(900), 3):
        vote.partial_fit(table[rows], y[rows])
        made = vote.certificate_
        k, m = made.evidence["vote_errors"], made.evidence["vote_size"]
        assert made.risk_bound == sequential_limit(k, m, mixture=(0.3, 0.8))
        limits.append(sequential_limit(k, m))
    assert made.risk_bound < limits[-1]
    assert any("weights and the mixture were fixed without" in text for text in made.assumptions)
    made.to_json(tmp_path / "certificate.json")
    read = Certificate.from_json(tmp_path / "certificate.json")
    assert read == made
    read.verify(table, y)
    written = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert written["bound_parameters"]["mixture"] == [0.3, 0.8]
    for other in (None, [0.0, 0.3], [0.8, 0.3], "all"):
        changed = written | {"bound_parameters": written["bound_parameters"] | {"mixture": other}}
        with pytest.raises(CertificateError):
            Certificate.from_dict(changed).verify()


@pytest.mark.parametrize("wrong", [(0.5, 0.5), (0.8, 0.2), (-0.1, 0.5), (0.5, 1.1), (0.5,), "ab"])
def test_a_mixture_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="mixture must be two numbers"):
        sequential_limit(1, 10, mixture=wrong)
    with pytest.raises(ValueError, match="mixture must be two numbers"):
        HeldoutBound(anytime=True, mixture=wrong).check_parameters()


def test_a_mixture_is_for_limits_at_all_sizes():
    with pytest.raises(ValueError, match="pass anytime=True"):
        HeldoutBound(mixture=(0.2, 0.8)).check_parameters()
