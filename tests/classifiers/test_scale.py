"""Growing samples, many rows, and voters that need not be asked."""

import json
import pickle
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.tree import DecisionTreeClassifier

import certivote.classifiers._answering as answering
from certivote import CBBoostClassifier, Certificate, CertificateError, MajorityVoteClassifier
from certivote.bounds import get_bound, sequential_limit

X, Y = make_classification(3000, 8, n_informative=5, flip_y=0.1, random_state=0)
asked = Counter()


class Curious(DecisionTreeClassifier):
    """A tree that counts how often it is asked, and for how many rows at most."""

    def predict(self, X, check_input=True):
        asked["calls"] += 1
        asked["rows"] = max(asked["rows"], len(X))
        return super().predict(X, check_input)


def trees(count):
    return [Curious(max_features=2, random_state=seed) for seed in range(count)]


# --- growing samples ---


@pytest.fixture(scope="module")
def looks():
    """A bound that has no constant for all sizes: δ is shared out."""
    vote = MajorityVoteClassifier(
        "trees", bound="bennett", n_voters=12, random_state=0, anytime=True
    )
    certificates = []
    for start in range(0, 3000, 600):
        vote.partial_fit(X[start : start + 600], Y[start : start + 600])
        certificates.append(vote.certificate_)
    return vote, certificates


def test_the_deltas_of_all_looks_sum_to_less_than_delta(looks):
    _, certificates = looks
    deltas = [certificate.delta for certificate in certificates]
    assert deltas == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12, 0.05 / 20, 0.05 / 30])
    # The rest of the series is 1/6 of delta: 1/(k(k+1)) = 1/k − 1/(k+1).
    assert sum(deltas) + 0.05 / 6 == pytest.approx(0.05)


def test_each_look_is_the_bound_at_its_own_delta(looks):
    vote, certificates = looks
    last = certificates[-1]
    assert (last.n_samples, last.provenance["look"]) == (2700, 5)
    bound = get_bound("bennett", delta=0.05 / 30)
    value = bound.value(vote.statistics_, vote.weights_)
    assert last.risk_bound == pytest.approx(value, rel=1e-12)
    later = MajorityVoteClassifier("trees", bound="bennett", n_voters=12, random_state=0)
    later.partial_fit(X[:600], Y[:600]).partial_fit(X[600:], Y[600:])
    assert later.certificate_.delta == 0.05
    assert later.certificate_.risk_bound < last.risk_bound


def test_a_look_says_what_it_is_and_survives_a_file(looks):
    certificate = looks[1][2]
    assert any("number 3 of the certificates" in text for text in certificate.assumptions)
    assert not any("This is the only certificate" in text for text in certificate.assumptions)
    fields = json.loads(certificate.to_json())
    Certificate.from_dict(fields).verify()
    fields["bound_parameters"]["delta"] = 0.05
    with pytest.raises(CertificateError, match="certificate number 3 of a sequence"):
        Certificate.from_dict(fields)


def test_without_anytime_each_certificate_is_at_delta():
    vote = MajorityVoteClassifier(
        "trees", n_voters=8, random_state=0, bound=get_bound("gibbs", delta=0.2)
    )
    vote.partial_fit(X[:600], Y[:600]).partial_fit(X[600:900], Y[600:900])
    assert vote.certificate_.delta == 0.2
    assert "look" not in vote.certificate_.provenance


def test_new_data_is_certified_at_the_whole_delta(looks):
    vote, _ = looks
    more, labels = make_classification(400, 8, n_informative=5, flip_y=0.1, random_state=1)
    assert vote.certify(more, labels).delta == 0.05
    assert "look" not in vote.certify(more, labels, bound="gibbs").provenance


def test_a_bound_for_all_sizes_is_looked_at_for_nothing(tmp_path):
    vote = MajorityVoteClassifier(
        "trees", bound="lacasse", n_voters=12, random_state=0, anytime=True
    )
    for number, start in enumerate(range(0, 1500, 500), start=1):
        vote.partial_fit(X[start : start + 500], Y[start : start + 500])
        certificate = vote.certificate_
        assert (certificate.delta, certificate.provenance["look"]) == (0.05, number)
        assert certificate.bound_parameters == {"delta": 0.05, "constant": "anytime"}
        value = get_bound("lacasse", constant="anytime").value(vote.statistics_, vote.weights_)
        assert certificate.risk_bound == value
    told = " ".join(certificate.assumptions)
    assert "may depend on anything" in told
    assert "decided without looking at any of" not in told
    certificate.to_json(tmp_path / "look.json")
    again = Certificate.from_json(tmp_path / "look.json")
    assert again == certificate
    again.verify(statistics=vote.statistics_)
    fields = json.loads(certificate.to_json())
    fields["bound_parameters"]["constant"] = "exact"
    with pytest.raises(CertificateError, match="delta_of_all_looks"):
        Certificate.from_dict(fields)


@pytest.mark.parametrize("name", ["best", "heldout"])
def test_the_test_of_the_prior_vote_is_looked_at_for_nothing(name, tmp_path):
    vote = MajorityVoteClassifier("trees", bound=name, n_voters=12, random_state=0, anytime=True)
    vote.partial_fit(X[:600], Y[:600]).partial_fit(X[600:900], Y[600:900])
    certificate = vote.certificate_
    assert (certificate.delta, certificate.provenance["look"]) == (0.05, 2)
    errors, m = certificate.evidence["vote_errors"], certificate.n_samples
    limit = sequential_limit(errors, m, 0.05 if name == "heldout" else 0.05 * 0.9)
    assert certificate.risk_bound == limit
    certificate.to_json(tmp_path / "look.json")
    again = Certificate.from_json(tmp_path / "look.json")
    assert again == certificate
    again.verify(statistics=vote.statistics_)


def test_the_looks_of_a_bound_object_share_its_own_delta():
    bound = get_bound("tandem", delta=0.1, constant="exact")
    vote = clone(
        MajorityVoteClassifier("trees", n_voters=8, bound=bound, anytime=True, random_state=0)
    )
    assert vote.fit(X[:600], Y[:600]).certificate_.delta == 0.05
    assert bound.delta == 0.1


# --- prediction ---


def test_many_rows_are_voted_on_in_chunks(monkeypatch):
    vote = MajorityVoteClassifier(trees(7), bound="lacasse", random_state=0)
    vote.fit(X[:1000], Y[:1000])
    whole = vote.predict_proba(X)
    monkeypatch.setattr(answering, "_VOTES_PER_CHUNK", 7 * 128)
    asked.clear()
    assert np.array_equal(vote.predict_proba(X), whole)
    assert asked["rows"] == 128
    assert np.array_equal(vote.predict_proba(X[:1]), whole[:1])


@pytest.mark.parametrize("kind", ["list", "frame", "sparse"])
def test_chunks_of_any_kind_of_table(kind, monkeypatch):
    pandas = pytest.importorskip("pandas")
    make = {"list": np.ndarray.tolist, "frame": pandas.DataFrame, "sparse": sparse.csr_array}[kind]
    vote = MajorityVoteClassifier("trees", n_voters=5, bound="lacasse", random_state=0)
    vote.fit(make(X[:500]), Y[:500])
    whole = vote.predict(make(X))
    monkeypatch.setattr(answering, "_VOTES_PER_CHUNK", 5 * 100)
    assert np.array_equal(vote.predict(make(X)), whole)


def test_voters_without_weight_are_not_asked():
    prior = np.array([0.5, 0.0, 0.0, 0.25, 0.25, 0.0])
    vote = MajorityVoteClassifier(trees(6), bound="lacasse", prior=prior, random_state=0)
    vote.fit(X[:1000], Y[:1000])
    asked.clear()
    shares = vote.predict_proba(X)
    assert asked["calls"] == 3
    by_hand = sum(
        weight * (voter.predict(X)[:, None] == vote.classes_)
        for voter, weight in zip(vote.voters_, vote.weights_, strict=True)
    )
    np.testing.assert_allclose(shares, by_hand, atol=1e-12)


def test_voters_and_complements_without_weight_are_not_asked():
    vote = CBBoostClassifier(trees(9), max_iter=2, random_state=0).fit(X[:1000], Y[:1000])
    used = np.count_nonzero(vote.weights_.reshape(2, 9).any(axis=0))
    assert used < 9
    asked.clear()
    labels = vote.predict(X)
    assert asked["calls"] == used
    signs = sum(
        (own - other) * np.where(voter.predict(X) == vote.classes_[1], 1.0, -1.0)
        for voter, own, other in zip(vote.voters_, *np.split(vote.weights_, 2), strict=True)
    )
    assert np.array_equal(labels, vote.classes_[(signs > 1e-9).astype(int)])


# --- pruning ---


@pytest.fixture(scope="module")
def vote():
    return MajorityVoteClassifier("trees", n_voters=40, bound="gibbs", random_state=0).fit(X, Y)


def test_a_pruned_vote_has_the_certificate_of_its_own_weights(vote):
    threshold = float(np.quantile(vote.weights_, 0.7))
    pruned = vote.prune(threshold)
    kept = np.where(vote.weights_ >= threshold, vote.weights_, 0.0)
    np.testing.assert_allclose(pruned.weights_, kept / kept.sum(), rtol=1e-12)
    value = get_bound("gibbs").value(vote.statistics_, kept / kept.sum())
    assert pruned.certificate_.risk_bound == pytest.approx(value, rel=1e-12)
    assert pruned.certificate_.risk_bound > vote.certificate_.risk_bound
    pruned.verify(X, Y)
    with pytest.raises(CertificateError, match="weights"):
        pruned.verify(X, Y, vote.certificate_)
    again = pickle.loads(pickle.dumps(pruned))
    assert np.array_equal(again.predict(X), pruned.predict(X))


def test_pruning_leaves_the_vote_alone_and_nothing_is_pruned_at_zero(vote):
    before = vote.weights_.copy()
    assert np.array_equal(vote.prune(0.0).weights_, before)
    vote.prune(float(before.max()))
    assert np.array_equal(vote.weights_, before)


def test_pruning_everything_is_refused(vote):
    with pytest.raises(ValueError, match="min_weight must be at most the largest weight"):
        vote.prune(0.9)
    with pytest.raises(ValueError, match="min_weight must be in"):
        vote.prune(-0.1)


def test_a_tested_vote_cannot_be_pruned_on_the_sample_that_tested_it():
    data = load_breast_cancer(return_X_y=True)
    tested = MajorityVoteClassifier("stumps", bound="heldout", prior="learned", random_state=0)
    tested.fit(*data)
    with pytest.raises(ValueError, match="prune cannot change weights that were tested"):
        tested.prune(float(np.median(tested.weights_[tested.weights_ > 0])))


def test_anytime_cannot_be_changed_afterwards():
    X, y = make_classification(300, 6, random_state=0)
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="anytime must be what it was at the first fit"):
        vote.set_params(anytime=True).partial_fit(X[200:], y[200:])


def test_all_looks_share_the_delta_of_the_first(tmp_path):
    X, y = make_classification(300, 6, random_state=0)
    vote = MajorityVoteClassifier(
        "trees", n_voters=5, bound="bennett", anytime=True, random_state=0
    )
    vote.fit(X[:200], y[:200]).set_params(delta=0.5).partial_fit(X[200:], y[200:])
    assert vote.certificate_.delta == pytest.approx(0.05 / 6)
    vote.certificate_.to_json(tmp_path / "certificate.json")
    Certificate.from_json(tmp_path / "certificate.json").verify()


def test_what_failed_can_be_added_again():
    X, y = make_classification(300, 6, random_state=0)
    vote = MajorityVoteClassifier("trees", n_voters=5, anytime=True, random_state=0).fit(
        X[:200], y[:200]
    )
    before = vote.certificate_
    with pytest.raises(ValueError, match="solver"):
        vote.set_params(solver="typo").partial_fit(X[200:], y[200:])
    assert vote.certificate_ is before
    vote.set_params(solver="lbfgs").partial_fit(X[200:], y[200:])
    assert vote.certificate_.n_samples == 200
    assert vote.certificate_.provenance["look"] == 2
    assert vote.certificate_.provenance["added_samples"] == 100


def test_a_pruned_vote_remembers_for_itself():
    X, y = make_classification(300, 6, random_state=0)
    vote = MajorityVoteClassifier("trees", n_voters=5, bound="lacasse", random_state=0)
    vote.fit(X[:200], y[:200])
    vote.prune(1e-3).partial_fit(X[200:], y[200:])
    assert vote.partial_fit(X[200:], y[200:]).certificate_.n_samples == 200
