"""Claims where votes are fitted, certified anew and verified; and models of one's own."""

import copy
import html
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    CBBoostClassifier,
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    certify_model,
    verify_model,
)
from certivote.bounds import get_bound
from certivote.claims import ShiftFamily


@pytest.fixture(scope="module")
def table(three):
    """Rows, labels and a column of groups: to fit on, and new ones."""
    X_a, y_a, X_b, y_b, X_new, y_new = three
    X, y = np.vstack([X_a, X_b]), np.concatenate([y_a, y_b])
    region = np.where(X[:, 0] > 0, "east", "west")
    return X, y, {"region": region}, X_new, y_new, {"region": np.where(X_new[:, 0] > 0, "e", "w")}


def vote(**settings):
    return MajorityVoteClassifier(
        **{"voters": "trees", "n_voters": 8, "random_state": 0, **settings}
    )


def upper(wrong, delta):
    k, m = int(np.sum(wrong)), len(wrong)
    return 1.0 if k == m else beta.ppf(1 - delta, k + 1, m - k)


def test_both_classes_of_breast_cancer_are_claimed_by_the_default_vote():
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    fitted = MajorityVoteClassifier("trees", claims=["recall"], random_state=0).fit(X, names)
    claims = fitted.certificate_.claims
    assert [claim.about for claim in claims] == [
        *("error", "recall of benign", "recall of malignant"),
    ]
    assert not fitted.certificate_.vacuous
    for claim in claims[1:]:
        assert 0.0 < 1 - claim.lower < 0.5
    fitted.verify(X, names)


@pytest.mark.parametrize("bound", ["lacasse", "best", "heldout"])
def test_a_fit_claims_and_verifies(bound, table, tmp_path):
    X, y, by, *_ = table
    fitted = vote(bound=bound, claims=["recall", "balanced", "error by region"]).fit(X, y, by=by)
    certificate = fitted.certificate_
    assert [claim.about for claim in certificate.claims] == [
        *("error", "recall of 0", "recall of 1", "recall of 2", "balanced error"),
        *("error where region = east", "error where region = west"),
    ]
    assert certificate.delta == 0.05
    fitted.verify(X, y, by=by)
    certificate.to_json(tmp_path / "c.json")
    fitted.verify(X, y, Certificate.from_json(tmp_path / "c.json"), by=by)
    pickle.loads(pickle.dumps(fitted)).verify(X, y, by=by)
    with pytest.raises(ValueError, match="by must have the column 'region'"):
        fitted.verify(X, y)
    with pytest.raises(CertificateError, match="the evidence for 'error by region'"):
        fitted.verify(X, y, by={"region": by["region"][::-1]})


def test_learned_weights_have_the_bound_on_the_part_that_certifies(table):
    """From the parts of the split, the voters and their votes, without the claims' own counting."""
    X, y, by, *_ = table
    fitted = vote(bound="lacasse", claims=["recall", "error by region"]).fit(X, y, by=by)
    order = np.random.RandomState(0).permutation(len(y))
    part_b = order[-(-len(y) // 2) :] if len(y) % 2 else order[len(y) // 2 :]
    votes = np.column_stack([voter.predict(X[part_b]) for voter in fitted.voters_])
    claims = {claim.about: claim for claim in fitted.certificate_.claims}
    for column, what in ((y, "recall of {}"), (by["region"], "error where region = {}")):
        values = np.unique(column[part_b])
        each = 1 - (1 - 0.0125) ** (1 / len(values))
        for value in values:
            rows = column[part_b] == value
            statistics = VoteStatistics.from_votes(votes[rows], y[part_b][rows])
            limit = min(1.0, get_bound("lacasse", delta=each).value(statistics, fitted.weights_))
            claim = claims[what.format(value)]
            found = claim.upper if claim.lower is None else 1 - claim.lower
            assert found == pytest.approx(limit, rel=1e-9)


def test_whatever_was_asked_for_is_what_is_verified(table):
    X, y, *_ = table
    fitted = vote(bound="heldout", claims=["recall", "precision"]).fit(X, y)
    recall, precision = fitted.certificate_.families
    half = {"families": (recall,), "total_delta": 0.0375}
    beside = replace(fitted.certificate_.neighbours, delta=0.0375)
    fewer = replace(fitted.certificate_, neighbours=beside, **half)
    with pytest.raises(CertificateError, match="or what is claimed besides, are not those"):
        fitted.verify(X, y, fewer)
    shift = ShiftFamily(distance="tv", radius=0.1)
    more = replace(fitted.certificate_, families=(recall, precision, shift))
    with pytest.raises(CertificateError, match="or what is claimed besides, are not those"):
        fitted.verify(X, y, more)
    evidence = copy.deepcopy(precision.evidence)
    evidence["0"]["vote_errors"] -= 1
    evidence["1"]["vote_errors"] += 1
    moved = replace(precision, evidence=evidence)
    with pytest.raises(CertificateError, match="the evidence for 'precision'"):
        fitted.verify(X, y, replace(fitted.certificate_, families=(recall, moved)))


def test_new_rows_certify_the_vote_with_claims_of_their_own(table):
    X, y, _, X_new, y_new, by = table
    fitted = vote(bound="lacasse").fit(X, y)
    claims = ["recall", "precision", "f1", "error by region"]
    certificate = fitted.certify(X_new, y_new, claims=claims, by=by)
    wrong = fitted.predict(X_new) != y_new
    found = {claim.about: claim for claim in certificate.claims}
    each = 1 - (1 - 0.05 / 8) ** 0.5
    for value in "ew":
        expected = upper(wrong[by["region"] == value], each)
        assert found[f"error where region = {value}"].upper == pytest.approx(expected, abs=1e-9)
    fitted.verify(X_new, y_new, certificate, by=by)
    same = certify_model(fitted, X_new, y_new, claims=claims, by=by)
    assert same.families == certificate.families
    verify_model(fitted, X_new, y_new, same, by=by)
    with pytest.raises(CertificateError, match="the evidence for 'error by region'"):
        verify_model(fitted, X_new, y_new, same, by={"region": by["region"][::-1]})


def test_rows_that_belong_together_certify_once_and_so_do_their_columns(table):
    X, y, _, X_new, y_new, by = table
    patients = pd.Series(np.repeat(np.arange(len(y_new) // 4), 4), name="patient")
    model = LogisticRegression(max_iter=1000).fit(X, y)
    certificate = certify_model(
        model, X_new, y_new, groups=patients, claims=["recall", "error by region"], by=by
    )
    assert certificate.n_samples == len(y_new) // 4
    for family in certificate.families:
        sizes = [part["vote_size"] for part in family.evidence.values()]
        assert sum(sizes) == len(y_new) // 4
    verify_model(model, X_new, y_new, certificate, groups=patients, by=by)
    fitted = vote(bound="heldout", claims=["error by region"])
    fitted.fit(X_new, y_new, groups=patients, by=by)
    fitted.verify(X_new, y_new, groups=patients, by=by)
    assert "errs on a random row of a new 'patient' with" in fitted.certificate_.claims[0].statement
    # Each sentence is complete by itself, in the file and on the page too.
    begins = "For a random row of a new 'patient': where region = "
    stated = [claim.statement for claim in certificate.claims if "region" in claim.about]
    assert stated
    assert all(text.startswith(begins) for text in stated)
    assert [line["statement"] for line in certificate.to_dict()["families"][1]["claims"]] == stated
    assert all(html.escape(text) in certificate._repr_html_() for text in stated)
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_votes_with_complements_are_claimed_too(data):
    X, y, X_new, y_new = data
    fitted = CBBoostClassifier(n_voters=6, random_state=0).fit(X, y)
    certificate = fitted.certify(X_new, y_new, bound="heldout", claims=["recall", "precision"])
    wrong = fitted.predict(X_new) != y_new
    each = 1 - (1 - 0.0125) ** 0.5
    assert 1 - certificate.claims[1].lower == pytest.approx(upper(wrong[y_new == 0], each))
    fitted.verify(X_new, y_new, certificate)
    learned = fitted.certify(X_new, y_new, bound="tandem", claims=["recall"])
    fitted.verify(X_new, y_new, learned)


@pytest.mark.parametrize("claim", ["precision", "f1"])
def test_learned_weights_are_refused_what_needs_fixed_ones(claim, table):
    X, y, *_ = table
    with pytest.raises(ValueError, match="only of a vote that was fixed before the sample"):
        vote(bound="lacasse", claims=[claim]).fit(X, y)


def test_a_sample_that_grows_carries_no_claims(table):
    X, y, *_ = table
    with pytest.raises(ValueError, match="claims are for one sample, not for a growing one"):
        vote(bound="heldout", claims=["recall"], anytime=True).fit(X, y)
    frozen = [FrozenEstimator(DecisionTreeClassifier(max_depth=3).fit(X[:100], y[:100]))]
    fitted = vote(voters=frozen, bound="heldout", claims=["recall"])
    fitted.partial_fit(X[100:250], y[100:250])
    assert len(fitted.certificate_.claims) == 4
    with pytest.raises(ValueError, match="partial_fit cannot add to a vote of which more"):
        fitted.partial_fit(X[250:], y[250:])


def test_misspelt_claims_and_shares_are_refused_before_the_fit_leaves_anything(table):
    X, y, by, *_ = table
    for settings, message in (
        ({"claims": ["recal"]}, "did you mean 'recall'"),
        ({"claims": ["recall"], "shares": {"error": 0.5}}, "shares must name each"),
        ({"claims": ["error by regoin"]}, "did you mean 'region'"),
    ):
        unfitted = vote(bound="heldout", **settings)
        with pytest.raises(ValueError, match=message):
            unfitted.fit(X, y, by=by)
        assert not hasattr(unfitted, "certificate_")


def test_columns_in_another_order_are_refused(table):
    X, y, by, *_ = table
    frame, column = pd.DataFrame(X), pd.Series(by["region"])[::-1]
    message = r"X and by\['region'\] must have the same index"
    unfitted = vote(bound="heldout", claims=["error by region"])
    with pytest.raises(ValueError, match=message):
        unfitted.fit(frame, y, by={"region": column})
    fitted = unfitted.fit(frame, y, by=by)
    with pytest.raises(ValueError, match=message):
        fitted.verify(frame, y, by={"region": column})
    with pytest.raises(ValueError, match=message):
        fitted.certify(frame, y, claims=["error by region"], by={"region": column})


def test_a_request_is_a_parameter_like_any_other(table):
    X, y, *_ = table
    shift = ShiftFamily(distance="tv", radius=0.05)
    shares = {"error": 0.25, "recall": 0.75}
    unfitted = vote(bound="heldout", claims=["recall", shift], shares=shares)
    fitted = clone(unfitted).fit(X, y)
    assert fitted.get_params()["shares"] == shares
    assert fitted.certificate_.bound_parameters["delta"] == pytest.approx(0.0125)
    fitted.claims.append("precision")  # after the fit: it must not count
    fitted.verify(X, y)


def test_a_vote_that_was_saved_before_there_were_claims(table):
    X, y, *_ = table
    fitted = vote(bound="heldout").fit(X, y)
    state = fitted.__getstate__()
    for name in ("claims", "shares", "_families", "_total_delta"):
        del state[name]
    old = MajorityVoteClassifier.__new__(MajorityVoteClassifier)
    old.__setstate__(state)
    assert old.get_params() == fitted.get_params()
    old.verify(X, y)
    assert clone(old).fit(X, y).certificate_ == fitted.certificate_
