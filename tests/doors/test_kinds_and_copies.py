"""False certificates that came in by what is kept, by names, and by claims that were moved."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    certify,
    certify_model,
)
from certivote.bounds import BestBound, GibbsBound, get_bound
from certivote.statistics import OutOfBagStatistics, Statistics, kinds, register
from certivote.voters import Trees


def sample(m=500, n=6, error=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    return np.where(rng.random((m, n)) < error, 1 - y[:, None], y[:, None]), y


def of_every_kind():
    votes, y = sample()
    in_bag = np.random.default_rng(1).random(votes.shape) < 0.3
    return [
        VoteStatistics.from_votes(votes, y),
        VoteStatistics.from_votes(votes, y, keep_rows=True),
        OutOfBagStatistics.from_votes(votes, y, in_bag),
    ]


# --- what is kept cannot be written to -----------------------------------------------------------


@pytest.mark.parametrize("statistics", of_every_kind(), ids=lambda s: type(s).__name__)
def test_nothing_that_statistics_show_can_be_written_to(statistics):
    before = certify(statistics, bound="gibbs").risk_bound
    for name in ("error_rates", "errors", "tandem"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(statistics, name)[...] = 0
    moments = statistics.moments(np.full(6, 1 / 6))
    moments.gibbs_gradient[:] = 0.0  # a copy, which is the caller's
    assert certify(statistics, bound="gibbs").risk_bound == before


def test_a_dictionary_of_a_certificate_is_the_callers():
    certificate = certify(*sample())
    text, fields = certificate.to_json(), certificate.to_dict()
    fields["bound_parameters"]["shares"][0][1] = 0.01
    assert certificate.to_json() == text


def test_the_winner_and_the_members_are_copies():
    statistics = VoteStatistics.from_votes(*sample())
    # With nothing left open it is this very object that is evaluated, with the members it keeps.
    bound = BestBound(constant="exact", shares=(("gibbs", 0.5), ("cantelli", 0.5)))
    certificate = certify(statistics, bound=bound)
    bound.winner(certificate.evidence).set_params(delta=0.99)
    for member in bound.members():
        member.set_params(delta=0.99)
    assert certify(statistics, bound=bound).risk_bound == certificate.risk_bound


def test_a_bound_that_is_not_the_registered_one_is_refused():
    class Mine(GibbsBound):
        scale = 1.0

    statistics = VoteStatistics.from_votes(*sample())
    with pytest.raises(ValueError, match=r"must be registered.*Mine"):
        certify(statistics, bound=Mine())


def test_a_value_below_its_own_evidence_is_not_handed_out(monkeypatch):
    monkeypatch.setattr(GibbsBound, "value_at", lambda self, statistics, q, p: 0.01)
    with pytest.raises(CertificateError, match="supports no less"):
        certify(VoteStatistics.from_votes(*sample()), weights=np.full(6, 1 / 6), bound="gibbs")


# --- names of rows and voters --------------------------------------------------------------------


def bagged():
    """Voters that know the labels in their bags, and toss a coin outside: the risk is one half."""
    rng = np.random.default_rng(0)
    y = pd.Series(rng.integers(2, size=2_000))
    in_bag = pd.DataFrame(rng.random((2_000, 20)) < 0.8)
    coins = rng.integers(2, size=in_bag.shape)
    return pd.DataFrame(np.where(in_bag, y.to_numpy()[:, None], coins)), y, in_bag


def test_bags_that_are_aligned_count():
    votes, y, in_bag = bagged()
    assert certify(OutOfBagStatistics.from_votes(votes, y, in_bag)).risk_bound > 0.5


@pytest.mark.parametrize(
    "mixed",
    [
        lambda in_bag: in_bag.sample(frac=1, random_state=0),
        lambda in_bag: in_bag[in_bag.columns[::-1]],
        lambda in_bag: in_bag.rename(columns=lambda name: f"voter {name}"),
    ],
    ids=["rows", "columns", "names"],
)
def test_bags_of_other_rows_or_voters_are_refused(mixed):
    votes, y, in_bag = bagged()
    losses = votes.ne(y, axis=0)
    with pytest.raises(ValueError, match="in_bag must"):
        OutOfBagStatistics.from_votes(votes, y, mixed(in_bag))
    with pytest.raises(ValueError, match="in_bag must"):
        OutOfBagStatistics.from_losses(losses, mixed(in_bag))


def test_voters_in_another_order_are_refused():
    votes, y = sample()
    frame = pd.DataFrame(votes, columns=list("abcdef"))
    swapped = frame[list("fedcba")]
    weights = pd.Series([0.5, 0.1, 0.1, 0.1, 0.1, 0.1], index=list("fedcba"))
    with pytest.raises(ValueError, match="unlabelled must name the voters in the same order"):
        certify(frame, y, bound="seeger", unlabelled=swapped)
    with pytest.raises(ValueError, match="weights must name the voters in the same order"):
        certify(frame, y, weights=weights, bound="gibbs")
    with pytest.raises(ValueError, match="prior must name the voters in the same order"):
        certify(frame, y, prior=weights, bound="gibbs")
    named = weights.rename(index=dict(zip("fedcba", "abcdef", strict=True)))
    assert certify(frame, y, weights=named, bound="gibbs").risk_bound < 1.0


# --- claims about a class or a group -------------------------------------------------------------


def of_two_classes():
    """Coins on class 0, always right on class 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1_000)
    return np.where(y[:, None] == 0, rng.integers(2, size=(2_000, 5)), 1), y


def certified_class_1():
    votes, y = of_two_classes()
    statistics = VoteStatistics.from_votes(
        votes[y == 1], y[y == 1], fixed_votes=[np.full(5, 0.2)]
    ).restricted_to("class", "1")
    return statistics, certify(statistics), votes[y == 1], y[y == 1]


def test_a_claim_cannot_be_moved_to_another_class():
    statistics, certificate, votes, y = certified_class_1()
    assert 'of class "1"' in certificate.claim
    certificate.verify(votes, y)
    for what, name in (("class", "0"), ("group", "all")):
        with pytest.raises(ValueError, match="already"):
            statistics.restricted_to(what, name)
    assert statistics.restricted_to("class", "1").subject == ("class", "1")


def moved(certificate, name):
    """The certificate with another class, or none, as who changes the file would write it."""
    text = certificate.to_json()
    fields = json.loads(text.replace('class \\"1\\"', f'class \\"{name}\\"'))
    fields["provenance"]["class"] = name
    return fields


def test_a_renamed_class_fails_with_the_data():
    _, certificate, votes, y = certified_class_1()
    forged = Certificate.from_dict(moved(certificate, "0"))
    assert 'of class "0"' in forged.claim
    with pytest.raises(CertificateError, match="labels are not those of the class"):
        forged.verify(votes, y)


def test_a_class_that_is_left_out_fails_with_the_data():
    _, certificate, votes, y = certified_class_1()
    fields = certificate.to_dict()
    del fields["provenance"]["class"]
    fields["claim"] = fields["claim"].replace(' of class "1"', "")
    fields["assumptions"] = fields["assumptions"][:-1]
    with pytest.raises(CertificateError, match="counts are not those"):
        Certificate.from_dict(fields).verify(votes, y)


@pytest.mark.parametrize("name", ["", 'north" with probability 0', "a\nb", "x" * 300, 3, None])
def test_names_that_could_speak_in_a_claim_are_refused(name):
    _, certificate, _, _ = certified_class_1()
    whole = VoteStatistics.from_votes(*sample())
    with pytest.raises(ValueError, match="name must"):
        whole.restricted_to("group", name)
    fields = certificate.to_dict()
    fields["provenance"]["class"] = name
    with pytest.raises(CertificateError, match="class must"):
        Certificate.from_dict(fields)


def test_unlabelled_examples_are_of_no_known_class():
    votes, y = sample()
    more = sample(seed=1)[0]
    joined = certify(votes, y, bound="seeger", unlabelled=more)
    assert joined.provenance["unlabelled_samples"] == 500
    statistics = VoteStatistics.from_votes(votes, y).restricted_to("class", "1")
    with pytest.raises(ValueError, match="nobody knows"):
        certify(statistics, bound="seeger", unlabelled=more)


# --- kinds ---------------------------------------------------------------------------------------


@pytest.fixture
def panel():
    class Panel(VoteStatistics):
        kind = "panel"
        voters_assumption = "The panel was chosen beforehand."

    register(Panel)
    yield Panel
    del kinds.KINDS["panel"]


def test_kinds_are_not_merged_or_saved_as_others(panel, tmp_path):
    own, plain = panel.from_votes(*sample()), VoteStatistics.from_votes(*sample(seed=1))
    assert "The panel was chosen beforehand." in certify(own).assumptions
    for one, two in ((own, plain), (plain, own)):
        with pytest.raises(ValueError, match="of one kind"):
            one + two
    with pytest.raises(ValueError, match="panel"):
        own.save(tmp_path / "own.npz")


def test_a_kind_that_lacks_something_is_refused():
    class Half(Statistics):
        kind = "half"

    with pytest.raises(TypeError, match=r"Half must write .*moments_at"):
        register(Half)


# --- sentences -----------------------------------------------------------------------------------


def test_errors_are_sentences():
    votes, y = sample()
    with pytest.raises(ValueError, match="statistics must be Statistics, got 3"):
        certify(votes, y).verify(statistics=3)
    with pytest.raises(ValueError, match="solver must be one of"):
        certify(votes, y, bound="gibbs", solver=[])
    with pytest.raises(ValueError, match=r"voters\[0\] must be one classifier, got Trees"):
        MajorityVoteClassifier(voters=[Trees(3)], random_state=0).fit(votes, y)


def test_the_best_of_statistics_that_know_fixed_votes_only():
    assert get_bound("best").settled({"fixed votes"}).shares == (("heldout", 1.0),)


def test_errors_that_rows_count_at_most_are_verified_with_the_votes():
    """From rows alone a tie is an error: a claim of more errors than there are is a modest one."""
    votes, y = sample(m=200)
    modest = certify(VoteStatistics.from_votes(votes, y, keep_rows=True))
    exact = certify(votes, y)
    assert modest.evidence["vote_errors"] > exact.evidence["vote_errors"]
    modest.verify(votes, y)
    fields = exact.to_dict()
    fields["evidence"]["vote_errors"] -= 1
    with pytest.raises(CertificateError, match=r"neighbours\.errors must be the errors"):
        Certificate.from_dict(fields)
    fields["neighbours"] = None
    with pytest.raises(CertificateError, match="vote_errors is claimed"):
        Certificate.from_dict(fields).verify(votes, y)


@pytest.mark.parametrize("copied", [25, 40])
def test_a_few_copies_of_measurements_are_found(copied):
    """Four rounded measurements, none of them continuous, and a tenth of the rows once more."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=344)
    middle, spread = np.array([38, 18, 190, 148]), np.array([3, 1, 6, 18])
    X = np.round(middle + 3 * kind[:, None] * spread / 2 + spread * rng.normal(size=(344, 4)))
    X[:, :2] += np.round(rng.random((344, 2)), 1)
    X = np.column_stack([X, rng.integers(3, size=(344, 2))])
    rows = np.concatenate([np.arange(344), rng.choice(344, copied, replace=False)])
    model = DecisionTreeClassifier(max_depth=2).fit(X[:20], kind[:20])
    assert certify_model(model, X, kind).findings == ()
    with pytest.warns(UserWarning, match="Rows come several times"):
        certify_model(model, X[rows], kind[rows])
