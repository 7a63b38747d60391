"""Two classifiers on the same rows: the limit of the difference, its file, and what is refused."""

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, multinomial
from sklearn.linear_model import LogisticRegression

import certivote
from certivote import (
    Certificate,
    CertificateError,
    certify,
    certify_difference,
    certify_model,
    verify_difference,
    verify_model,
)
from certivote.bounds import get_bound
from certivote.claims import DifferenceFamily, parse_claim
from certivote.claims.base import Vote


def limit(b, c, m, delta):
    """What the program claims of b rows on which only the new one errs, and c only the old one."""
    one = np.ones(1)
    vote = Vote(get_bound("heldout"), {"vote_errors": m, "vote_size": m}, one, one, 1.0)
    counts = {"only_new_errs": b, "only_old_errs": c, "n_samples": m}
    (claim,) = DifferenceFamily(delta, counts).claims(vote)
    assert claim.lower is None
    return claim.upper


def binomial_limits(k, n, delta):
    """Both limits of a probability, each at delta, from the tails of the binomial themselves."""
    low = brentq(lambda p: binom.sf(k - 1, n, p) - delta, 0.0, 1.0, xtol=1e-14) if k else 0.0
    high = brentq(lambda p: binom.cdf(k, n, p) - delta, 0.0, 1.0, xtol=1e-14) if k < n else 1.0
    return low, high


def expected(b, c, m, delta):
    """ρ(2q−1) at the limits of ρ and q."""
    q = binomial_limits(b, b + c, 0.9 * delta)[1] if b + c else 1.0
    low, high = binomial_limits(b + c, m, 0.1 * delta)
    return (high if q >= 0.5 else low) * (2.0 * q - 1.0)


@pytest.mark.parametrize("delta", [0.045, 0.4, 1e-6])
@pytest.mark.parametrize(
    ("b", "c", "m"),
    [
        *[(0, 0, 40), (0, 1, 1), (1, 0, 1), (3, 30, 400), (30, 3, 400), (0, 25, 25), (25, 0, 25)],
        *[(7, 9, 100), (0, 60, 2000), (500, 700, 10_000), (1, 20, 21)],
    ],
)
def test_the_limit_is_that_of_two_binomials(b, c, m, delta):
    found, sought = limit(b, c, m, delta), expected(b, c, m, delta)
    assert sought <= found <= sought + 1e-10


def test_the_limit_is_that_of_tests_by_scipy():
    """At the limit of q the sign test, and at that of ρ the binomial one, have their levels."""
    b, c, m, delta = 12, 40, 500, 0.05
    rate = binomtest(b + c, m).proportion_ci(1 - 2 * 0.1 * delta, "exact").low
    q = 0.5 * (1.0 + limit(b, c, m, delta) / rate)
    assert binomtest(b, b + c, q, "less").pvalue == pytest.approx(0.9 * delta, rel=1e-6)


def failure(limits, m, p, r, delta):
    """The probability that a limit is false, summed over all samples; p and r are the truth."""
    counts = np.array([(b, c, m - b - c) for b, c in limits])
    false = np.array(list(limits.values())) < p - r
    return multinomial.pmf(counts[false], m, [p, r, 1.0 - p - r]).sum() if false.any() else 0.0


def all_limits(rule, m, delta):
    return {(b, c): rule(b, c, m, delta) for b in range(m + 1) for c in range(m + 1 - b)}


TRUTHS = [
    (p, r) for p in np.linspace(0, 1, 21) for r in np.linspace(0, 1, 21) if p + r <= 1.0 + 1e-9
] + [(0.3, 0.301), (0.01, 0.02), (0.001, 0.0), (0.45, 0.45)]


@pytest.mark.parametrize(("m", "delta"), [(12, 0.2), (25, 0.1), (25, 0.4)])
def test_it_holds_for_every_truth(m, delta):
    """No simulation: the probability of each sample is known."""
    limits = all_limits(limit, m, delta)
    failures = [failure(limits, m, p, max(0.0, min(r, 1 - p)), delta) for p, r in TRUTHS]
    assert max(failures) <= delta
    assert max(failures) >= delta / 4  # and is not far from it


def test_one_limit_of_the_rate_for_both_signs_would_be_caught():
    """The rate's upper limit, where the difference is negative: then it claims too much."""

    def broken(b, c, m, delta):
        q = binomial_limits(b, b + c, 0.9 * delta)[1] if b + c else 1.0
        return binomial_limits(b + c, m, 0.1 * delta)[1] * (2.0 * q - 1.0)

    limits = all_limits(broken, 25, 0.1)
    assert max(failure(limits, 25, 0.0, r, 0.1) for r in (0.1, 0.3, 0.5)) > 0.2


def test_the_observed_difference_would_be_caught():
    limits = all_limits(lambda b, c, m, delta: (b - c) / m, 25, 0.1)
    assert failure(limits, 25, 0.2, 0.2, 0.1) > 0.2


def test_it_shows_no_less_than_the_shares_of_the_theory():
    """q at δ/2 and each limit of ρ at δ/4 is valid too, and shows less often who is better."""

    def plain(b, c, m, delta):
        q = binomial_limits(b, b + c, delta / 2)[1] if b + c else 1.0
        low, high = binomial_limits(b + c, m, delta / 4)
        return (high if q >= 0.5 else low) * (2.0 * q - 1.0)

    for b, c in [(20, 36), (10, 24), (5, 15), (100, 130)]:
        assert limit(b, c, 1000, 0.05) < plain(b, c, 1000, 0.05)


# --- from predictions to a certificate ---


def predictions(b, c, both, m, labels=(0, 1)):
    """Predictions of two classifiers of which only the new one errs on b rows, and so on."""
    truth = np.arange(m) % 2
    new_errs = np.zeros(m, dtype=int)
    new_errs[: b + both] = 1
    old_errs = np.zeros(m, dtype=int)
    old_errs[b : b + both + c] = 1
    named = np.array(labels)
    return named[truth ^ old_errs], named[truth ^ new_errs], named[truth]


@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (False, True), (b"n", b"y")])
def test_the_certificate_is_of_both_claims(labels):
    old, new, y = predictions(20, 60, 30, 1000, labels)
    certificate = certify_difference(old, new, y)
    error, difference = certificate.claims
    assert certificate.confidence == 0.95
    assert certificate.n_voters == 1
    assert error.evidence == {"vote_errors": 50, "vote_size": 1000}
    assert error.upper == pytest.approx(binomial_limits(50, 1000, 0.005)[1], abs=1e-9)
    assert difference.about == "difference to old"
    assert difference.evidence == {"only_new_errs": 20, "only_old_errs": 60, "n_samples": 1000}
    assert difference.upper == pytest.approx(expected(20, 60, 1000, 0.045), abs=1e-9)
    certificate.verify(new, y, by={"old": old})
    verify_difference(old, new, y, certificate)


def test_shares_and_names_are_as_given():
    old, new, y = predictions(20, 60, 30, 1000)
    shares = {"error": 0.5, "difference to last year": 0.5}
    certificate = certify_difference(
        old, new, y, delta=0.1, names=("last year", "candidate"), shares=shares
    )
    assert certificate.claims[1].upper == pytest.approx(expected(20, 60, 1000, 0.05), abs=1e-9)
    assert certificate.delta == 0.1
    assert certificate.provenance["classifier"] == "candidate"
    assert "than 'last year', with" in certificate.claims[1].statement
    certificate.verify(new, y, by={"last year": old})


@pytest.mark.parametrize(("b", "c"), [(20, 60), (60, 20), (30, 30), (0, 0), (0, 3)])
def test_the_sentence_is_rounded_to_the_safe_side(b, c):
    old, new, y = predictions(b, c, 30, 1000)
    claim = certify_difference(old, new, y).claims[1]
    exact = Decimal(claim.upper)
    if claim.upper < 0:
        shown = (-exact).quantize(Decimal("0.0001"), rounding=ROUND_FLOOR)
        text = f"It errs less often than old, with a probability lower by at least {shown}."
    else:
        shown = exact.quantize(Decimal("0.0001"), rounding=ROUND_CEILING)
        text = f"It errs with a probability at most {shown} above that of old."
    assert claim.statement == text
    assert claim.statement in str(certify_difference(old, new, y))


def test_other_claims_of_one_sheet_have_the_difference_too():
    """Any classifier's claims may have it, the old predictions being a column."""
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    old, new = (LogisticRegression().fit(X[:200, :k], y[:200]) for k in (1, 2))
    by = {"before": old.predict(X[200:, :1])}
    claims = ["recall", "difference to before"]
    certificate = certify_model(new, X[200:, :2], y[200:], claims=claims, by=by)
    difference = certificate.claims[-1]
    b = np.sum((new.predict(X[200:, :2]) != y[200:]) & (by["before"] == y[200:]))
    assert difference.evidence["only_new_errs"] == b
    assert difference.upper < 0.0
    verify_model(new, X[200:, :2], y[200:], certificate, by=by)
    other = {"before": by["before"][::-1]}
    with pytest.raises(CertificateError, match="'difference to before' is claimed to be"):
        verify_model(new, X[200:, :2], y[200:], certificate, by=other)


def test_one_row_of_each_group_is_compared():
    rng = np.random.default_rng(0)
    group = rng.integers(80, size=1000)
    old, new, y = predictions(100, 400, 30, 1000)
    certificate = certify_difference(old, new, y, groups=group, seed=3)
    assert certificate.n_samples == 80
    assert certificate.claims[1].evidence["n_samples"] == 80
    assert "random row of a new 'group'" in certificate.claim
    verify_difference(old, new, y, certificate, groups=group)
    with pytest.raises(ValueError, match="groups must be given"):
        verify_difference(old, new, y, certificate)
    with pytest.raises(CertificateError):
        verify_difference(old, new, y, certificate, groups=rng.permutation(group))


# --- the file ---


@pytest.fixture
def written(tmp_path):
    old, new, y = predictions(20, 60, 30, 1000)
    path = tmp_path / "certificate.json"
    certify_difference(old, new, y).to_json(path)
    return path, old, new, y


def tampered(path, change):
    fields = json.loads(path.read_text(encoding="utf-8"))
    change(fields["families"][0])
    path.write_text(json.dumps(fields), encoding="utf-8")
    return Certificate.from_json(path)


def test_it_comes_back_from_its_file(written):
    path, old, new, y = written
    certificate = Certificate.from_json(path)
    assert certificate == certify_difference(old, new, y)
    certificate.verify()
    verify_difference(old, new, y, certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda family: family["claims"][0].update(upper=-0.05),
        lambda family: family["claims"][0].update(lower=-0.05),
        lambda family: family["claims"][0].update(statement="It errs less often than old."),
        lambda family: family["evidence"].update(only_new_errs=10),
        lambda family: family["evidence"].update(n_samples=999),
        lambda family: family["evidence"].update(only_old_errs=990),
        lambda family: family["evidence"].update(only_old_errs=60.0),
        lambda family: family["evidence"].pop("only_old_errs"),
        lambda family: family.update(delta=0.05),
        lambda family: family.update(old="older"),
        lambda family: family.update(old=""),
    ],
)
def test_a_tampered_line_fails(written, change):
    with pytest.raises(CertificateError):
        tampered(written[0], change)


def test_more_errors_than_the_classifier_made_are_refused(written):
    with pytest.raises(CertificateError, match="at most the 50 errors of the new classifier"):
        tampered(written[0], lambda family: family["evidence"].update(only_new_errs=51))


def test_counts_made_up_with_their_claims_fail_on_the_data(written):
    path, old, new, y = written
    other = certify_difference(*predictions(20, 90, 30, 1000)).to_dict()["families"]
    fields = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**fields, "families": other}), encoding="utf-8")
    certificate = Certificate.from_json(path)
    certificate.verify()  # the arithmetic is right
    with pytest.raises(CertificateError, match="evidence for 'difference to old' is claimed"):
        verify_difference(old, new, y, certificate)
    with pytest.raises(CertificateError, match="evidence for 'difference to old' is claimed"):
        certificate.verify(new, y, by={"old": old})


def test_other_new_predictions_fail(written):
    path, old, new, y = written
    with pytest.raises(CertificateError):
        verify_difference(old, new[::-1], y, Certificate.from_json(path))


def test_without_the_old_predictions_it_cannot_be_verified_from_data(written):
    path, _, new, y = written
    with pytest.raises(ValueError, match="by must have the column 'old'"):
        Certificate.from_json(path).verify(new, y)


def test_a_certificate_without_a_difference_is_none():
    old, new, y = predictions(20, 60, 30, 1000)
    with pytest.raises(CertificateError, match="not one of a difference"):
        verify_difference(old, new, y, certify(new, y))


# --- bad input ---

OLD, NEW, Y = predictions(5, 10, 3, 60)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pred_old": OLD[:-1]}, "pred_old must be one prediction for each of the 60"),
        ({"pred_new": NEW[:-1]}, "pred_new must be one prediction for each of the 60"),
        ({"y": Y[:-1]}, "must be one prediction for each of the 59"),
        ({"pred_old": OLD.astype(str)}, "pred_old and y must hold labels of one kind"),
        ({"pred_new": NEW.astype(str)}, "pred_new and y must hold labels of one kind"),
        ({"pred_old": OLD + 5}, "predictions of 'old' must be labels as y has them.*but 5"),
        ({"pred_old": np.where(OLD, 0.9, 0.2)}, "'old' must be predicted labels, but look like"),
        ({"pred_new": np.where(NEW, 0.9, 0.2)}, "must be predicted labels, but look like"),
        ({"pred_old": np.where(np.arange(60) == 7, np.nan, OLD)}, "pred_old must not have missing"),
        ({"pred_new": [None, *NEW[1:]]}, "pred_new must not have missing"),
        ({"y": np.where(np.arange(60) == 7, np.nan, Y)}, "y contains NaN"),
        ({"y": None}, "y must"),
        ({"pred_old": OLD[:, None]}, "pred_old must have 1 dimension"),
        ({"pred_old": np.ma.masked_equal(OLD, 1)}, "pred_old must not have masked"),
        ({"names": ("one",)}, "names must be two texts"),
        ({"names": "ab"}, "names must be two texts"),
        ({"names": ("a", "")}, "names must be two texts"),
        ({"names": ("a", "a")}, "names must be two different ones"),
        ({"delta": 0.0}, "delta must be"),
        ({"shares": {"error": 0.5, "difference": 0.5}}, "shares must name each of 'error', 'diff"),
        ({"shares": {"error": 0.5, "difference to old": 0.6}}, "shares must sum to 1"),
        ({"groups": [1, 2]}, "groups must be one for each of 60 rows"),
    ],
)
def test_what_is_no_such_input_is_refused(arguments, words):
    given = {"pred_old": OLD, "pred_new": NEW, "y": Y, **arguments}
    with pytest.raises((ValueError, TypeError), match=words):
        certify_difference(**given)


@pytest.mark.parametrize(("answer", "label"), [("Yes", "yes"), ("yes ", "yes"), ("NO", "no")])
def test_labels_that_are_spelled_otherwise_are_no_errors(answer, label):
    y = np.array(["yes", "no"] * 200)
    old = np.where(y == label, answer, y)
    with pytest.raises(ValueError, match=f"got {answer!r} where y has {label!r}"):
        certify_difference(old, y, y)


def test_answers_that_are_no_labels_here_are_a_finding():
    y = np.array(["a", "b", "c"] * 100)
    old = np.where(np.arange(300) < 60, "d", y)
    with pytest.warns(UserWarning, match="hold labels that y does not, such as 'd', on 60"):
        certificate = certify_difference(old, y, y)
    assert any("by other names, the difference is not valid" in one for one in certificate.findings)
    verify_difference(old, y, y, certificate)


def test_groups_of_other_rows_are_refused():
    y = pd.Series(["a", "b"] * 50)
    groups = pd.Series(np.arange(100) // 2, index=np.arange(100)[::-1])
    plain = y.to_numpy()
    with pytest.raises(ValueError, match="y and groups must have the same index"):
        certify_difference(plain, plain, y, groups=groups)
    model = LogisticRegression().fit(np.arange(100)[:, None], plain)
    with pytest.raises(ValueError, match="y and groups must have the same index"):
        certify_model(model, np.arange(100)[:, None], y, groups=groups)


def test_rows_of_other_names_are_refused():
    old = pd.Series(OLD, index=np.arange(60)[::-1])
    with pytest.raises(ValueError, match="pred_old and y must have the same index"):
        certify_difference(old, NEW, pd.Series(Y))


def test_weights_learned_on_the_sample_have_no_difference():
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((60, 5)) < 0.2, 1 - Y[:, None], Y[:, None])
    with pytest.raises(ValueError, match="only of a vote that was fixed before the sample"):
        certify(votes, Y, bound="tandem", claims=["difference to old"], by={"old": OLD})
    fixed = certify(
        votes, Y, np.full(5, 0.2), "heldout", claims="difference to old", by={"old": OLD}
    )
    fixed.verify(votes, Y, by={"old": OLD})


def test_a_difference_is_asked_for_by_its_words():
    assert parse_claim("difference to last year") == DifferenceFamily(old="last year")
    with pytest.raises(ValueError, match="difference to COLUMN"):
        parse_claim("difference to ")
    assert certivote.certify_difference is certify_difference


def test_simulated_pairs_hold_all_at_once():
    """Error and difference of two kinds of pairs; the long one is in tests/validity."""
    rng, delta, draws = np.random.default_rng(0), 0.2, 100
    for p, r, both in [(0.05, 0.05, 0.1), (0.02, 0.1, 0.2)]:
        false = 0
        for b, c, e, _ in rng.multinomial(150, [p, r, both, 1 - p - r - both], draws):
            error, difference = certify_difference(*predictions(b, c, e, 150), delta=delta).claims
            false += error.upper < p + both or difference.upper < p - r
        assert binomtest(int(false), draws, delta, alternative="greater").pvalue >= 1e-4
