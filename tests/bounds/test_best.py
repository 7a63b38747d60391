"""The smallest of several certificates: shares of delta, the winner, and its evidence."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from certivote import (
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    certify,
    minimize,
)
from certivote.bounds import BestBound, get_bound


def make_votes(m=400, n=9, error=0.25, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    rates = error * rng.uniform(0.3, 1.7, size=n)
    return np.where(rng.random((m, n)) < rates, 1 - y[:, None], y[:, None]), y


UNIFORM = np.full(9, 1 / 9)


def test_the_value_is_the_smallest_of_the_members_at_their_shares():
    votes, y = make_votes()
    shares = (("heldout", 0.5), ("dirichlet", 0.2), ("gibbs", 0.3))
    bound = BestBound(delta=0.1, shares=shares)
    statistics = bound.count(votes, y)
    for weights in (UNIFORM, np.random.default_rng(0).dirichlet(np.full(9, 50.0))):
        by_hand = [
            get_bound(name, delta=0.1 * share).value(statistics, weights) for name, share in shares
        ]
        assert bound.value(statistics, weights) == min(by_hand)
        winner = shares[int(np.argmin(by_hand))][0]
        assert bound.evidence(statistics, weights)["winner"] == winner


def test_the_minimum_is_that_of_the_best_member():
    votes, y = make_votes(seed=1)
    bound = BestBound(delta=0.1, shares=(("gibbs", 0.5), ("tandem", 0.5)))
    statistics = bound.count(votes, y)
    alone = [minimize(get_bound(name, delta=0.05), statistics) for name in ("gibbs", "tandem")]
    result = minimize(bound, statistics)
    assert result.value == pytest.approx(min(run.value for run in alone), rel=1e-4)


def test_a_strong_prior_vote_is_tested_and_a_weak_one_is_left():
    votes, y = make_votes(error=0.1)
    assert certify(votes, y, bound="best").evidence["winner"] == "heldout"
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=3000)
    good = np.where(rng.random((3000, 3)) < 0.02, 1 - y[:, None], y[:, None])
    votes = np.hstack([good, rng.integers(2, size=(3000, 1)).repeat(8, axis=1)])
    certificate = certify(votes, y, bound="best")
    assert certificate.evidence["winner"] == "dirichlet"
    assert certificate.weights[:3].sum() > 0.5
    assert certificate.risk_bound < 0.5 * certify(votes, y, bound="heldout").risk_bound


@pytest.mark.parametrize("shares", [None, (("tandem", 0.3), ("dis", 0.4))])
def test_a_file_names_the_winner_and_is_verified(shares, tmp_path):
    votes, y = make_votes()
    bound = BestBound() if shares is None else BestBound(shares=shares)
    certificate = certify(votes, y, bound=bound)
    certificate.to_json(tmp_path / "best.json")
    again = Certificate.from_json(tmp_path / "best.json")
    again.verify(votes, y)
    again.verify(statistics=bound.count(votes, y))
    assert f"winner        {certificate.evidence['winner']}" in str(again)
    fields = json.loads((tmp_path / "best.json").read_text())
    for winner in ("lacasse", "best", None, 3, []):
        changed = fields | {"evidence": fields["evidence"] | {"winner": winner}}
        with pytest.raises(CertificateError, match="winner must be one of"):
            Certificate.from_dict(changed)


def test_a_share_that_was_enlarged_is_refused(tmp_path):
    votes, y = make_votes()
    fields = json.loads(certify(votes, y, bound="best").to_json())
    fields["bound_parameters"]["shares"] = [["heldout", 1.0], ["dirichlet", 0.1]]
    with pytest.raises(CertificateError, match="shares must sum to at most 1"):
        Certificate.from_dict(fields)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ((("heldout", 0.9), ("dirichlet", 0.2)), "shares must sum to at most 1"),
        ((), "shares must sum to at most 1, one at least"),
        ((("heldout", 0.0), ("dirichlet", 0.2)), "the share of 'heldout' must be in"),
        ((("heldout", -0.1),), "the share of 'heldout' must be in"),
        ((("heldout", float("nan")),), "the share of 'heldout' must be in"),
        ((("heldout", 0.5), ("heldout", 0.5)), "shares must name each member once"),
        ((("best", 0.5),), "shares must name each member once"),
        ((("unheard-of", 0.5),), "bound must be one of"),
        ((3, 4), "shares must be pairs"),
        ((({}, 0.5),), "shares must begin with a bound's name"),
        (None, "shares must be pairs"),
    ],
)
def test_shares_that_cannot_be(shares, message):
    votes, y = make_votes(m=50)
    with pytest.raises(ValueError, match=message):
        certify(votes, y, bound=BestBound(shares=shares))


def test_statistics_must_have_what_the_members_need():
    losses = np.random.default_rng(0).random((50, 9)) < 0.2
    with pytest.raises(ValueError, match="'best' needs rows, vote errors"):
        minimize("best", VoteStatistics.from_losses(losses))
    assert minimize("best", VoteStatistics.from_losses(losses, keep_rows=True)).value < 1.0


def test_weights_of_which_no_member_says_anything():
    votes, y = make_votes()
    certificate = certify(votes, y, weights=np.eye(9)[0], bound="best")
    assert certificate.vacuous
    certificate.verify(votes, y)


def test_the_classifier_and_new_data():
    X, y = load_breast_cancer(return_X_y=True)
    vote = MajorityVoteClassifier(bound="best", n_voters=20, random_state=0).fit(X[:400], y[:400])
    assert vote.certificate_.risk_bound < 0.2
    vote.verify(X[:400], y[:400])
    new = vote.certify(X[400:], y[400:])
    assert new.bound == "best"
    assert new.evidence["winner"] == "heldout"
    vote.verify(X[400:], y[400:], new)
    vote.partial_fit(X[400:], y[400:])
    assert vote.certificate_.n_samples == 200 + 169
