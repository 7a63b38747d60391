"""The smallest of several certificates: shares of delta, the winner, and its evidence."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from certivote import (
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    UnlabelledStatistics,
    VoteStatistics,
    certify,
    minimize,
)
from certivote.bounds import BestBound, bound_at, get_bound
from certivote.bounds.registry import bound_with


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


def test_what_cannot_win_is_not_descended():
    """All voters err on the same examples: no weights can do better than the prior vote."""
    y = np.zeros(500, dtype=int)
    votes = np.repeat((np.arange(500) < 40).astype(int)[:, None], 9, axis=1)
    bound = BestBound(delta=0.1)
    statistics = bound.count(votes, y)
    result = minimize(bound, statistics)
    assert result.n_iter == 0
    assert result.converged
    assert result.weights.tolist() == UNIFORM.tolist()
    assert result.value == get_bound("heldout", delta=0.1 * 0.9).value(statistics, UNIFORM)
    descended = minimize(get_bound("dirichlet", delta=0.1 * 0.1), statistics)
    assert descended.n_iter > 0
    assert descended.value > result.value


def test_a_strong_prior_vote_is_tested_and_a_weak_one_is_left():
    votes, y = make_votes(error=0.1)
    assert certify(votes, y, bound="best").evidence["winner"] == "heldout"
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=3000)
    good = np.where(rng.random((3000, 3)) < 0.02, 1 - y[:, None], y[:, None])
    votes = np.hstack([good, rng.integers(2, size=(3000, 1)).repeat(8, axis=1)])
    without = BestBound(shares=(("heldout", 0.9), ("dirichlet", 0.1)))
    certificate = certify(votes, y, bound=without)
    assert certificate.evidence["winner"] == "dirichlet"
    assert certificate.weights[:3].sum() > 0.5
    # A good voter among bad ones is tested by itself, at less than what learning costs.
    single = certify(votes, y, bound="best")
    assert single.evidence["winner"] == "occam"
    assert np.count_nonzero(single.weights) == 1
    assert single.risk_bound < certificate.risk_bound
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
        (0.9, "shares must be pairs"),
        ("heldout", "shares must be pairs"),
    ],
)
def test_shares_that_cannot_be(shares, message):
    votes, y = make_votes(m=50)
    with pytest.raises(ValueError, match=message):
        certify(votes, y, bound=BestBound(shares=shares))


def test_statistics_must_have_what_the_members_need():
    losses = np.random.default_rng(0).random((50, 9)) < 0.2
    counts, rows = (VoteStatistics.from_losses(losses, keep_rows=keep) for keep in (False, True))
    bound = BestBound(shares=(("heldout", 0.9), ("dirichlet", 0.1)))
    with pytest.raises(ValueError, match="'best' needs fixed votes, rows"):
        minimize(bound, counts)
    assert minimize(bound, rows).value < 1.0
    with pytest.raises(ValueError, match="statistics must offer moments or fixed votes"):
        BestBound().value(SimpleNamespace(offers=frozenset(), n_voters=1), [1.0])


ROWS = (("heldout", 0.9), ("occam", 0.05), ("dirichlet", 0.05))
FIXED = (("heldout", 0.9), ("occam", 0.05), ("gibbs", 0.025), ("cantelli", 0.025))
COUNTS = (("gibbs", 0.5), ("cantelli", 0.5))
HIDDEN_FIXED = (("heldout", 0.9), ("occam", 0.05), ("seeger", 0.05))
HIDDEN = (("gibbs", 0.5), ("seeger", 0.5))


@pytest.mark.parametrize(
    ("keep_rows", "fixed", "unlabelled", "shares"),
    [
        (True, True, False, ROWS),
        (True, False, False, ROWS),
        (False, True, False, FIXED),
        (False, False, False, COUNTS),
        (True, True, True, HIDDEN_FIXED),
        (False, True, True, HIDDEN_FIXED),
        (False, False, True, HIDDEN),
    ],
)
def test_the_default_takes_the_members_that_the_statistics_can_carry(
    keep_rows, fixed, unlabelled, shares, tmp_path
):
    votes, y = make_votes()
    statistics = VoteStatistics.from_votes(
        votes, y, keep_rows=keep_rows, fixed_votes=[UNIFORM] if fixed else None
    )
    if unlabelled:
        more = UnlabelledStatistics.from_votes(make_votes(m=2_000, seed=5)[0])
        statistics = statistics.with_unlabelled(more)
    certificate = certify(statistics, delta=0.1)
    assert certificate.bound == "best"
    parameters = certificate.bound_parameters
    assert parameters == {"delta": 0.1, "constant": "one-sided", "shares": [[*s] for s in shares]}
    by_hand = {
        name: bound_at(name, 0.1 * share).value(statistics, certificate.weights)
        for name, share in shares
    }
    assert certificate.risk_bound == min(by_hand.values()) < 1.0
    assert by_hand[certificate.evidence["winner"]] == certificate.risk_bound
    certificate.to_json(tmp_path / "best.json")
    Certificate.from_json(tmp_path / "best.json").verify(statistics=statistics)


@pytest.mark.parametrize("constant", [None, "maurer"])
def test_a_bound_object_stays_open_for_other_statistics(constant):
    bound, (votes, y) = BestBound(constant=constant), make_votes()
    assert certify(votes, y, bound=bound).bound_parameters["shares"] == [[*s] for s in ROWS]
    assert bound.get_params() == {"delta": 0.05, "constant": constant, "shares": None}
    counts = VoteStatistics.from_votes(votes, y)
    assert certify(counts, bound=bound).bound_parameters["shares"] == [[*s] for s in COUNTS]
    assert minimize(bound, bound.count(votes, y)).value < 1.0
    assert bound.shares is None


def test_the_default_does_not_depend_on_the_counts():
    """Which members there are is decided before any example is seen."""
    for error in (0.0, 0.1, 0.5):
        votes, y = make_votes(error=error)
        fields = certify(votes, y, weights=UNIFORM).bound_parameters
        assert fields["shares"] == [[*share] for share in ROWS]


def test_weights_of_which_no_member_says_anything():
    votes, y = make_votes()
    certificate = certify(votes, y, weights=[0.5, 0.5, 0, 0, 0, 0, 0, 0, 0], bound="best")
    assert certificate.vacuous
    assert certificate.evidence["winner"] == "dirichlet"
    certificate.verify(votes, y)


def test_the_classifier_and_new_data():
    X, y = load_breast_cancer(return_X_y=True)
    vote = MajorityVoteClassifier("trees", bound="best", n_voters=20, random_state=0).fit(
        X[:400], y[:400]
    )
    assert vote.certificate_.risk_bound < 0.2
    vote.verify(X[:400], y[:400])
    new = vote.certify(X[400:], y[400:], bound="best")
    assert new.bound == "best"
    assert new.evidence["winner"] == "heldout"
    vote.verify(X[400:], y[400:], new)
    vote.partial_fit(X[400:], y[400:])
    assert vote.certificate_.n_samples == 200 + 169


def test_the_members_are_built_once(monkeypatch):
    built = []

    def building(name, **settings):
        built.append(name)
        return bound_with(name, **settings)

    monkeypatch.setattr("certivote.bounds.best.bound_with", building)
    bound = BestBound(shares=COUNTS)
    statistics = VoteStatistics.from_losses(np.random.default_rng(0).random((200, 4)) < 0.2)
    values = {bound.value(statistics, np.full(4, 0.25)) for _ in range(5)}
    assert len(values) == 1
    assert built == ["gibbs", "cantelli"]
    bound.set_params(delta=0.01)  # other parameters, other members
    assert bound.value(statistics, np.full(4, 0.25)) > min(values)
    assert len(built) == 4
