"""More data after the fit: counted by partial_fit, or for a certificate by certify."""

import contextlib
import warnings
from concurrent.futures import ThreadPoolExecutor
from math import log, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from certivote import (
    CBBoostClassifier,
    CertificateError,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
    VoteStatistics,
    minimize,
)
from certivote.bounds import clopper_pearson, get_bound, list_moment_bounds
from certivote.voters import PredictionTable

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


# --- partial_fit ---------------------------------------------------------------------------------


def test_first_partial_fit_is_fit(data, small):
    X, y, *_ = data
    vote = small(MajorityVoteClassifier).partial_fit(X, y)
    assert vote.certificate_ == small(MajorityVoteClassifier).fit(X, y).certificate_


def test_partial_fit_adds_the_new_counts(data, small, losses_by_hand):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    members, before = list(vote.voters_), vote.statistics_
    for rows in (slice(0, 100), slice(100, 101), slice(101, 300)):
        vote.partial_fit(X_new[rows], y_new[rows])
    losses = losses_by_hand(vote, X_new, y_new)
    assert vote.statistics_.n_samples == before.n_samples + 300
    assert np.array_equal(vote.statistics_.errors, before.errors + losses.sum(axis=0))
    assert np.array_equal(vote.statistics_.tandem, before.tandem + losses.T @ losses)
    assert all(old is new for old, new in zip(members, vote.voters_, strict=True))
    vote.certificate_.verify(statistics=vote.statistics_)
    best = minimize("lacasse", vote.statistics_)
    assert vote.certificate_.risk_bound == pytest.approx(best.value, abs=1e-6)
    assert vote.certificate_.n_samples == 450


def test_rows_come_in_any_shards(data, small):
    X, y, X_new, y_new = data
    whole = small(MajorityVoteClassifier).fit(X, y).partial_fit(X_new, y_new)
    shards = small(MajorityVoteClassifier).fit(X, y)
    for rows in np.array_split(np.arange(300), 7):
        shards.partial_fit(X_new[rows], y_new[rows])
    assert whole.statistics_ == shards.statistics_
    assert np.array_equal(whole.weights_, shards.weights_)


@pytest.mark.parametrize("known", ["fit", "partial_fit"])
def test_a_batch_that_comes_again_adds_nothing(known, data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    if known == "partial_fit":
        vote.partial_fit(X_new, y_new)
    before, again = vote.certificate_.to_dict(), (X, y) if known == "fit" else (X_new, y_new)
    with pytest.warns(UserWarning, match="Evidence counts once: nothing is added"):
        vote.partial_fit(*again)
    assert vote.certificate_.to_dict() == before


@pytest.mark.parametrize("n_known", [200, 60])
def test_known_rows_among_new_ones_are_refused(n_known, data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    rows, labels = np.vstack([X[:n_known], X_new[:100]]), np.r_[y[:n_known], y_new[:100]]
    with pytest.raises(ValueError, match=f"{n_known} of these {n_known + 100} examples are known"):
        vote.partial_fit(rows, labels)
    assert vote.statistics_.n_samples == 150


def test_a_row_that_comes_again_by_chance_is_counted():
    """Without it the sample would lack what the vote gets wrong, and the certificate be false."""

    def draw(m, rng):
        default = rng.random(m) < 0.3
        X = rng.normal(size=(m, 2))
        y = (X[:, 0] > 0).astype(int)
        X[default], y[default] = 0.5, rng.integers(2, size=default.sum())
        return X, y

    rng = np.random.default_rng(0)
    vote = MajorityVoteClassifier("trees", bound="heldout", n_voters=11, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        vote.fit(*draw(400, rng))
        for _ in range(3):
            vote.partial_fit(*draw(2000, rng))
    assert sum("They are counted" in str(warning.message) for warning in told) == 3
    assert vote.certificate_.n_samples == 6200
    X, y = draw(50_000, rng)
    assert vote.certificate_.risk_bound > np.mean(vote.predict(X) != y)


def test_classes_of_the_first_partial_fit(data, small):
    X, y, X_new, _ = data
    vote = small(MajorityVoteClassifier).partial_fit(X, y, classes=[0, 1, 2])
    assert vote.classes_.tolist() == [0, 1, 2]
    before = vote.statistics_
    vote.partial_fit(X_new[:50], np.full(50, 2))
    assert np.array_equal(vote.statistics_.errors, before.errors + 50)
    # A label that nobody announced: every voter errs on it.
    with pytest.warns(UserWarning, match=r"never seen, such as 5, on 30 examples"):
        vote.partial_fit(X_new[50:80], np.full(30, 5))
    assert np.array_equal(vote.statistics_.errors, before.errors + 80)
    assert np.array_equal(vote.statistics_.tandem, before.tandem + 80)


def test_partial_fit_checks_the_number_of_features(data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    with pytest.raises(ValueError, match="8 features"):
        vote.partial_fit(X_new[:, :5], y_new)
    with pytest.raises(ValueError, match="same number of rows"):
        vote.partial_fit(X_new, y_new[:5])


def test_fit_forgets_what_partial_fit_added(data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y).partial_fit(X_new, y_new).fit(X, y)
    assert vote.statistics_.n_samples == 150
    assert vote.partial_fit(X_new, y_new).statistics_.n_samples == 450


# --- certify -------------------------------------------------------------------------------------


def kl_inverse_upper(a, radius):
    """By bisection on the definition."""

    def gap(b):
        first = a * log(a / b) if a > 0 else 0.0
        return first + (1 - a) * log((1 - a) / (1 - b)) - radius

    return brentq(gap, a, 1 - 1e-15, xtol=1e-15)


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_certify_on_new_data(kind, data, small, losses_by_hand):
    X, y, X_new, y_new = data
    vote = small(kind).fit(X, y)
    bound = get_bound("gibbs", delta=0.02, constant="maurer")
    certificate = vote.certify(X_new, y_new, bound=bound)
    losses = losses_by_hand(vote, X_new, y_new)
    if kind is not MajorityVoteClassifier:
        losses = np.hstack([losses, 1 - losses])
    assert certificate.kl == 0.0
    assert np.array_equal(certificate.weights, vote.weights_)
    assert np.array_equal(certificate.prior, vote.weights_)
    assert certificate.n_samples == 300
    certificate.verify(statistics=VoteStatistics.from_losses(losses))
    risk = float((losses @ vote.weights_).mean())
    assert certificate.gibbs_risk == pytest.approx(risk, abs=1e-12)
    closed = 2 * kl_inverse_upper(risk, log(2 * sqrt(300) / 0.02) / 300)
    assert certificate.risk_bound == pytest.approx(min(1.0, closed), abs=1e-9)
    other = VoteStatistics.from_losses(1 - losses)
    with pytest.raises(CertificateError, match="not those that were certified"):
        certificate.verify(statistics=other)


def test_certify_with_any_bound(data, small, votes_by_hand):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier, delta=0.1).fit(X, y)
    statistics = VoteStatistics.from_votes(votes_by_hand(vote, X_new), y_new)
    for name in list_moment_bounds():
        certificate = vote.certify(X_new, y_new, bound=name)
        assert (certificate.bound, certificate.delta) == (name, 0.1)
        value = get_bound(name, delta=0.1).value(statistics, vote.weights_, vote.weights_)
        assert certificate.risk_bound == min(1.0, value)
    certificate = vote.certify(X_new, y_new, bound=get_bound("tandem", delta=0.3))
    assert (certificate.bound, certificate.delta) == ("tandem", 0.3)
    assert vote.certify(X_new, y_new).bound == "heldout"
    assert vote.certify(X_new, y_new, delta=0.2).delta == 0.2


def test_the_default_is_the_smallest_of_several(data, votes_by_hand):
    X, y, X_new, y_new = data
    vote = MajorityVoteClassifier("trees", n_voters=11, random_state=0).fit(X, y)
    shares = [["heldout", 0.9], ["occam", 0.05], ["dirichlet", 0.05]]
    expected = {"delta": 0.05, "constant": "one-sided", "shares": shares}
    assert vote.certificate_.bound == "best"
    assert vote.certificate_.bound_parameters == expected
    # The weights of a fitted vote are fixed before new data: it is tested there, with all of delta.
    certificate = vote.certify(X_new, y_new)
    assert (certificate.bound, certificate.delta) == ("heldout", 0.05)
    erring = (votes_by_hand(vote, X_new) != y_new[:, None]) @ vote.weights_
    assert certificate.evidence["vote_errors"] == np.count_nonzero(erring > 0.5)
    assert certificate.risk_bound == clopper_pearson(int((erring > 0.5).sum()), 300, 0.05)


def test_certify_tests_at_the_delta_of_the_vote(data, small):
    X, y, X_new, y_new = data
    bound = get_bound("lacasse", delta=0.1, constant="exact")
    vote = small(MajorityVoteClassifier, bound=bound).fit(X, y)
    assert vote.certificate_.bound_parameters == {"delta": 0.1, "constant": "exact"}
    certificate = vote.certify(X_new, y_new)
    errors = int(np.count_nonzero(vote.predict(X_new) != y_new))
    assert certificate.risk_bound == clopper_pearson(errors, 300, 0.1)


def test_certify_refuses_two_deltas(data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        vote.certify(X_new, y_new, bound=get_bound("tandem", delta=0.1), delta=0.01)


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_certify_refuses_the_data_of_the_fit(kind, data, small):
    X, y, X_new, y_new = data
    vote = small(kind).fit(X, y)
    with pytest.raises(ValueError, match=r"needs new data.*certificate_"):
        vote.certify(X, y)
    with pytest.raises(ValueError, match=r"100\.0%"):
        vote.certify(X[::-3], y[::-3])
    with pytest.warns(UserWarning, match=r"2\.0% of these examples"):
        certificate = vote.certify(np.vstack([X_new[:294], X[:6]]), np.r_[y_new[:294], y[:6]])
    assert certificate.n_samples == 300


def test_certify_refuses_what_partial_fit_saw(data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X, y).partial_fit(X_new, y_new)
    with pytest.raises(ValueError, match="new data"):
        vote.certify(X_new, y_new)


@pytest.mark.parametrize("kind", [CBBoostClassifier, CqBoostClassifier, MinCqClassifier])
def test_binary_certificate_of_labels_that_nobody_can_predict(kind, data, small, frozen_trees):
    # Voters that are mostly wrong: the weight is on complements, which err on a third label too.
    X, y, X_new, y_new = data
    trees = frozen_trees(X, 1 - y, max_depth=3, max_features=3)
    vote = small(kind, voters=trees).fit(X_new[:150], y_new[:150])
    assert vote.score(X_new[150:], y_new[150:]) > 0.6
    assert vote.weights_[10:].sum() > 0.5
    with pytest.warns(UserWarning, match="never seen"):
        certificate = vote.certify(X_new[150:], np.full(150, 7))
    assert certificate.risk_bound == 1.0


def test_binary_certificate_of_votes_for_an_unknown_label():
    # Columns that are mostly wrong, then columns of a label that neither class has.
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    table = np.where(rng.random((300, 9)) < 0.8, 1 - y[:, None], y[:, None])
    vote = CBBoostClassifier(voters=PredictionTable()).fit(table, y)
    unknown, ones = np.full((300, 9), 5), np.ones(300, dtype=int)
    error, risk_bound = 1.0, 1.0
    with contextlib.suppress(ValueError):
        error = np.mean(vote.predict(unknown) != ones)
    with contextlib.suppress(ValueError):
        risk_bound = vote.certify(unknown, ones).risk_bound
    assert risk_bound >= error


def test_certify_before_fit(data):
    X, y, *_ = data
    for call in (MajorityVoteClassifier().certify, CBBoostClassifier().certify):
        with pytest.raises(NotFittedError):
            call(X, y)


def test_a_table_that_comes_again_is_known():
    # Rows of predictions repeat, and do not tell examples apart; the whole table does.
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=500)
    table = np.where(rng.random((500, 5)) < 0.2, 1 - y[:, None], y[:, None])
    vote = MajorityVoteClassifier(voters=PredictionTable()).fit(table, y)
    with pytest.raises(ValueError, match=r"100\.0% of these examples"):
        vote.certify(table[::-1], y[::-1])
    with pytest.raises(ValueError, match="500 of these 500 examples are known"):
        vote.partial_fit(table, y)
    assert vote.statistics_.n_samples == 500


def test_copies_in_another_type_are_known(data, small):
    X, y, *_ = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    for copy in (X.astype(np.float32), X.astype(object), np.vstack([X, X[:100]])):
        with pytest.raises(ValueError, match="certify needs new data"):
            vote.certify(copy, np.resize(y, len(copy)))


def test_fits_at_the_same_time_leave_the_threads_as_they_were(data, small):
    X, y, *_ = data
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        votes = list(pool.map(lambda seed: small(MajorityVoteClassifier).fit(X, y), range(8)))
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    assert all(np.array_equal(vote.weights_, votes[0].weights_) for vote in votes)


def discrete(seed, m=1000):
    rng = np.random.default_rng(seed)
    return rng.integers(2, size=(m, 9)), rng.integers(2, size=m)


def test_a_part_of_discrete_data_is_known_again():
    """512 kinds of rows: each may come again by chance, but not 999 that fit so well."""
    X, y = discrete(0)
    vote = MajorityVoteClassifier("trees", n_voters=10, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="were in the data that this vote was fitted on"):
        vote.certify(X[1:], y[1:])
    with pytest.raises(ValueError, match="evidence counts once"):
        vote.partial_fit(X[1:], y[1:])


@pytest.mark.parametrize("m", [5, 50, 300, 1000])
def test_new_discrete_data_is_welcome(m):
    vote = MajorityVoteClassifier("trees", n_voters=10, random_state=0).fit(*discrete(0))
    for seed in range(1, 6):
        assert vote.certify(*discrete(seed, m)).n_samples == m
