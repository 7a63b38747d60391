"""A vote checks a certificate against its data."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from certivote import (
    CBBoostClassifier,
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    certify,
)
from certivote.bounds import get_bound


@pytest.fixture(scope="module")
def data():
    return make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def vote(data):
    return MajorityVoteClassifier("trees", bound="lacasse", n_voters=10, random_state=3).fit(*data)


@pytest.mark.parametrize("learner", [MajorityVoteClassifier, CBBoostClassifier])
@pytest.mark.parametrize("size", [0.5, 0.3, 100])
def test_the_split_is_drawn_again(learner, size, data):
    vote = learner(n_voters=8, certify_size=size, random_state=5).fit(*data)
    vote.verify(*data)


def test_a_split_without_a_seed_of_its_own_was_given_one(data):
    MajorityVoteClassifier("trees", n_voters=5).fit(*data).verify(*data)


def test_frozen_voters_certify_on_all_of_the_data(data):
    X, y = data
    forest = RandomForestClassifier(5, random_state=0).fit(X[:100], y[:100])
    vote = MajorityVoteClassifier(voters=FrozenEstimator(forest)).fit(X[100:], y[100:])
    vote.verify(X[100:], y[100:])
    with pytest.raises(CertificateError, match="counts"):
        vote.verify(X, y)


def test_a_certificate_on_new_data(vote):
    X, y = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=1)
    certificate = vote.certify(X, y)
    vote.verify(X, y, certificate)
    with pytest.raises(CertificateError, match="counts"):
        vote.verify(X, 1 - y, certificate)


@pytest.mark.parametrize("change", ["label", "order", "row left out"])
def test_other_data_is_found(change, vote, data):
    X, y = data[0], data[1].copy()
    part_b = np.random.RandomState(3).permutation(300)[-150:]
    if change == "label":
        y[part_b[0]] = 1 - y[part_b[0]]
    elif change == "order":
        X, y = X[::-1], y[::-1]
    else:
        X, y = X[1:], y[1:]
    with pytest.raises(CertificateError):
        vote.verify(X, y)


def test_weights_of_another_vote_are_found(vote, data):
    other = MajorityVoteClassifier("trees", n_voters=10, bound="gibbs", random_state=3).fit(*data)
    assert not np.array_equal(other.weights_, vote.weights_)
    with pytest.raises(CertificateError, match="weights"):
        vote.verify(*data, certificate=other.certificate_)


def test_a_smaller_bound_is_found(vote, data):
    claimed = replace(vote.certificate_, risk_bound=vote.certificate_.risk_bound - 1e-6)
    with pytest.raises(CertificateError, match="risk_bound"):
        vote.verify(*data, certificate=claimed)


def test_what_cannot_be_checked_says_so(data):
    X, y = data
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=np.random.RandomState(0)).fit(
        X, y
    )
    with pytest.raises(ValueError, match="no seed of its own"):
        vote.verify(X, y)
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X[:200], y[:200])
    vote.partial_fit(X[200:], y[200:])
    with pytest.raises(ValueError, match="several calls"):
        vote.verify(X, y)


def test_the_optimisation_and_the_times_are_kept(vote):
    np.testing.assert_array_equal(vote.optimisation_.weights, vote.weights_)
    assert vote.optimisation_.value == vote.certificate_.risk_bound
    assert set(vote.fit_times_) == {"training", "voting", "checking", "learning"}
    assert min(vote.fit_times_.values()) > 0


# --- forgeries -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"certify_size": 0.9},
        {"voter_samples": 10},
        {"frozen_parts": 2},
        {"prior": "given by the user"},
        {"prior": "learned on part A"},
        {"look": 1, "delta_of_all_looks": 0.1},
        {"added_samples": 10},
        {"data": "audited.csv"},
        {"data": "audited.csv", "data_sha256": "0" * 64, "target": "y"},
        {"dropped": "[]"},
        {"categorical": '["x"]'},
    ],
    ids=str,
)
def test_a_provenance_that_the_vote_does_not_know_is_found(change, vote, data):
    """Each would pass the arithmetic, and change what the certificate says it assumes."""
    claimed = replace(vote.certificate_, provenance={**vote.certificate_.provenance, **change})
    claimed.verify()
    with pytest.raises(CertificateError, match="is claimed to be"):
        vote.verify(*data, certificate=claimed)


@pytest.mark.parametrize("name", ["seed", "certify_size", "voter_samples", "voters_from"])
def test_a_provenance_that_says_less_than_the_vote_knows_is_found(name, vote, data):
    less = {key: value for key, value in vote.certificate_.provenance.items() if key != name}
    if name == "voters_from":
        less = {}
    claimed = replace(vote.certificate_, provenance=less, neighbours=None)
    with pytest.raises(CertificateError, match="is claimed to be None, but is"):
        vote.verify(*data, certificate=claimed)


def test_another_origin_is_found(vote, data):
    elsewhere = {"voters_from": "frozen, trained elsewhere"}
    claimed = replace(vote.certificate_, provenance=elsewhere, neighbours=None)
    with pytest.raises(CertificateError, match="is claimed to be"):
        vote.verify(*data, certificate=claimed)
    with pytest.raises(CertificateError, match="voters_from must be one of"):
        replace(vote.certificate_, provenance={"voters_from": "somewhere"})


def test_a_certificate_on_new_data_says_nothing_of_the_fit(vote):
    X, y = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=1)
    certificate = vote.certify(X, y)
    assert certificate.provenance == {"voters_from": "a fitted vote, certified on new data"}
    described = replace(certificate, provenance={**certificate.provenance, "data": "new.csv"})
    vote.verify(X, y, certificate=described)
    for name, value in {**vote.certificate_.provenance, "prior": "given by the user"}.items():
        if name != "voters_from":
            with pytest.raises(CertificateError, match=f"must not have {name}="):
                replace(certificate, provenance={**certificate.provenance, name: value})


def test_what_was_found_at_the_fit_must_be_said(vote, data):
    doubtful = copy(vote)
    doubtful.certificate_ = replace(vote.certificate_, findings=("Rows were copied.",))
    doubtful.verify(*data)
    doubtful.verify(*data, certificate=replace(doubtful.certificate_, files={"a": "0" * 64}))
    with pytest.raises(CertificateError, match=r"leaves out a finding: Rows were copied\."):
        doubtful.verify(*data, certificate=vote.certificate_)


def test_a_certificate_that_was_changed_in_memory_is_found(vote, data):
    changed = replace(vote.certificate_)
    changed.provenance["audit"] = "passed"
    with pytest.raises(CertificateError, match="provenance must not have audit"):
        vote.verify(*data, certificate=changed)


def test_weights_are_compared_on_one_scale(vote, data):
    """Weights of the same vote whose sum is a little off are the same weights."""
    scaled = copy(vote)
    scaled.weights_ = vote.weights_ * (1 + 1e-9)
    scaled.certificate_ = replace(vote.certificate_, weights=scaled.weights_)
    scaled.verify(*data)


def test_training_rows_do_not_pass_for_new_data(vote, data):
    X, y = data
    votes = vote.voters_.votes(X, vote.classes_).codes
    free = certify(VoteStatistics.from_votes(votes, y), weights=vote.weights_, prior=vote.weights_)
    origin = {"voters_from": "a fitted vote, certified on new data"}
    claimed = replace(free, provenance=origin)
    claimed.verify()
    assert claimed.risk_bound < vote.certificate_.risk_bound
    with pytest.raises(CertificateError, match="were in the data"):
        vote.verify(X, y, certificate=claimed)


def test_another_prior_is_found(vote, data):
    honest = vote.certificate_
    bound = get_bound(honest.bound, **honest.bound_parameters)
    free = bound.from_evidence(honest.evidence, honest.weights, honest.weights)
    claim = {"prior": honest.weights, "kl": 0.0, "risk_bound": free, "neighbours": None}
    with pytest.raises(CertificateError, match="must say where the prior came from"):
        replace(honest, **claim)
    origin = {**honest.provenance, "prior": "given by the user"}
    claimed = replace(honest, **claim, provenance=origin)
    claimed.verify(statistics=vote.statistics_)
    assert claimed.risk_bound < vote.certificate_.risk_bound
    with pytest.raises(CertificateError, match="prior is claimed to be"):
        vote.verify(*data, certificate=claimed)


def test_mostly_new_data_is_not_new(vote, data):
    X, y = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=1)
    for known in (30, 150):
        with pytest.raises(ValueError, match="were in the data"):
            vote.certify(np.vstack([X, data[0][:known]]), np.append(y, data[1][:known]))


def test_copied_rows_are_told_of(vote):
    X, y = make_classification(100, 6, n_informative=4, flip_y=0.1, random_state=1)
    with pytest.warns(UserWarning, match="come several times"):
        vote.certify(np.tile(X, (5, 1)), np.tile(y, 5))


@pytest.mark.parametrize("prior", [None, "uniform", "learned"])
def test_a_prior_that_a_model_only_claims_is_found(prior, data):
    """The prior is what the settings make it, not what the saved certificate says."""
    vote = MajorityVoteClassifier("trees", n_voters=6, prior=prior, bound="gibbs", random_state=0)
    vote.fit(*data).verify(*data)
    honest = vote.certificate_
    bound = get_bound(honest.bound, **honest.bound_parameters)
    free = bound.from_evidence(honest.evidence, honest.weights, honest.weights)
    vote._prior = honest.weights
    if prior != "learned":
        vote._provenance["prior"] = "given by the user"
    vote.certificate_ = replace(
        honest,
        prior=honest.weights,
        kl=0.0,
        risk_bound=free,
        provenance=dict(vote._provenance),
        neighbours=None,
    )
    assert free < honest.risk_bound
    with pytest.raises(CertificateError, match="prior of the certificate"):
        vote.verify(*data)


def test_a_prior_of_the_user_is_the_one_of_the_fit(data):
    prior = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    vote = MajorityVoteClassifier("trees", n_voters=6, bound="lacasse", prior=prior, random_state=0)
    vote.fit(*data)
    prior[:] = 1 / 6
    vote.verify(*data)
    assert vote.certificate_.provenance["prior"] == "given by the user"
    assert any("prior was given by the user" in text for text in vote.certificate_.assumptions)
    uniform = replace(vote.certificate_, prior=np.full(6, 1 / 6))
    with pytest.raises(CertificateError, match="prior of the certificate"):
        vote.verify(*data, uniform)


def test_another_bound_than_that_of_the_fit_is_found(data):
    """The weights that were learned on part B, claimed to have been tested there."""
    vote = MajorityVoteClassifier("trees", n_voters=6, bound="tandem", random_state=0).fit(*data)
    honest, weights = vote.certificate_, vote.weights_
    bound = get_bound("heldout", fixed_votes=[weights.tolist()])
    X, y = (part[vote_rows(vote, len(data[1]))] for part in data)
    statistics = vote._statistics_of(vote._votes(X), y, bound, None)
    evidence = bound.evidence(statistics, weights)
    forged = replace(
        honest,
        bound="heldout",
        bound_parameters=bound.get_params(),
        evidence=evidence,
        risk_bound=bound.from_evidence(evidence, weights, honest.prior),
    )
    assert forged.risk_bound < honest.risk_bound
    forged.verify()
    with pytest.raises(CertificateError, match="bound of the certificate"):
        vote.verify(*data, certificate=forged)


def vote_rows(vote, m):
    """The rows of part B, as the split says."""
    order = np.random.RandomState(vote.certificate_.provenance["seed"]).permutation(m)
    return order[m // 2 :]


@pytest.mark.parametrize("bound", ["best", "dirichlet"])
def test_settings_are_the_same_after_a_file(bound, data, tmp_path):
    vote = MajorityVoteClassifier("trees", n_voters=6, bound=bound, random_state=0).fit(*data)
    vote.certificate_.to_json(tmp_path / "certificate.json")
    again = Certificate.from_json(tmp_path / "certificate.json")
    vote.verify(*data, certificate=again)


def test_a_prior_that_is_hardly_larger_is_found_where_it_matters(data):
    """A voter that the prior nearly excludes, and a claim that it does so a little less."""
    prior = np.array([1e-30, *[0.2] * 5])
    vote = MajorityVoteClassifier("trees", n_voters=6, bound="lacasse", prior=prior, random_state=0)
    vote.fit(*data)
    claimed = vote.certificate_.prior.copy()
    claimed[0] = 1e-10
    with pytest.raises(CertificateError, match="prior of the certificate"):
        vote.verify(*data, certificate=replace(vote.certificate_, prior=claimed))
