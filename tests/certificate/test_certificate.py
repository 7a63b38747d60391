"""Certificates: what they say, how they are stored, and what they refuse."""

import dataclasses
import json
import math
import os
import re
from fractions import Fraction
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certivote import Certificate, CertificateError, VoteStatistics, certify, format_up, minimize
from certivote._utils.formatting import format_confidence
from certivote.bounds import GibbsBound, TandemBound, get_bound, list_moment_bounds
from certivote.certificate.digests import votes_sha256

SCHEMA = json.loads(
    (files("certivote.certificate") / "certificate.schema.json").read_text(encoding="utf-8")
)
# What only later files of version 2 have.
LATER = ("neighbours", "class_counts", "checks", "made", "families", "total_delta")
FIELDS = (*SCHEMA["required"], *SCHEMA["else"]["required"])


def make_votes(m=400, n=6, error=0.2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    return np.where(rng.random((m, n)) < error, 1 - y[:, None], y[:, None]), y


VOTES, Y = make_votes()
PRIOR = np.array([0.3, 0.1, 0.15, 0.15, 0.2, 0.1])
WEIGHTS = np.array([0.25, 0.2, 0.05, 0.2, 0.2, 0.1])


@pytest.fixture(scope="module")
def certificate():
    return certify(VOTES, Y, weights=WEIGHTS, prior=PRIOR, bound="lacasse")


@pytest.fixture
def fields(certificate):
    """The certificate as a dictionary to tamper with."""
    return json.loads(certificate.to_json())


def write(path, fields):
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def with_claim(fields):
    """The fields with the claim that the reader expects for the other numbers."""
    confidence = format_confidence(fields["bound_parameters"]["delta"])
    claim = (
        f"With {confidence} confidence, the weighted majority vote of these "
        f"{fields['n_voters']} voters errs on a new example with probability at most "
        f"{format_up(fields['risk_bound'])}."
    )
    return fields | {"claim": claim}


def displayed(certificate):
    return (str(certificate), repr(certificate), certificate.claim)


# --- certify ---


@pytest.mark.parametrize("name", list_moment_bounds())
def test_given_weights_are_certified_as_they_are(name):
    certificate = certify(VOTES, Y, weights=WEIGHTS, prior=PRIOR, bound=name, delta=0.01)
    statistics = VoteStatistics.from_votes(VOTES, Y, keep_rows=True)
    np.testing.assert_allclose(certificate.weights, WEIGHTS, rtol=1e-15)
    np.testing.assert_allclose(certificate.prior, PRIOR, rtol=1e-15)
    value = get_bound(name, delta=0.01).value(statistics, WEIGHTS, PRIOR)
    assert certificate.risk_bound == pytest.approx(min(1.0, value), rel=1e-12)
    assert certificate.bound == name
    assert certificate.delta == 0.01
    assert certificate.confidence == 0.99
    assert certificate.kl == pytest.approx(np.sum(WEIGHTS * np.log(WEIGHTS / PRIOR)), rel=1e-12)
    certificate.verify()
    certificate.verify(VOTES, Y)


def test_the_fields_are_what_the_sample_says(certificate):
    losses = np.not_equal(VOTES, Y[:, None])
    erring = losses @ WEIGHTS
    assert (certificate.n_samples, certificate.n_voters) == losses.shape
    assert certificate.gibbs_risk == pytest.approx(erring.mean(), rel=1e-12)
    assert certificate.joint_error == pytest.approx((erring**2).mean(), rel=1e-12)
    assert certificate.disagreement == pytest.approx(2 * (erring * (1 - erring)).mean(), rel=1e-12)
    assert certificate.statistics_sha256 == VoteStatistics.from_losses(losses).sha256
    assert certificate.votes_sha256 == votes_sha256(VOTES, Y)
    assert certificate.delta == 0.05
    assert not certificate.vacuous
    assert len(certificate.assumptions) >= 3


@pytest.mark.parametrize("name", list_moment_bounds())
def test_weights_are_learned_when_none_are_given(name):
    rng = np.random.default_rng(1)
    losses = rng.random((500, 4)) < np.array([0.05, 0.3, 0.4, 0.45])
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    certificate = certify(statistics, bound=name, prior=[0.1, 0.3, 0.3, 0.3])
    bound = get_bound(name)
    learned = minimize(bound, statistics, [0.1, 0.3, 0.3, 0.3])
    np.testing.assert_allclose(certificate.weights, learned.weights, rtol=1e-12)
    assert certificate.risk_bound < bound.value(statistics, [0.1, 0.3, 0.3, 0.3])
    assert certificate.weights.sum() == pytest.approx(1.0)
    assert certificate.votes_sha256 is None
    certificate.verify(statistics=statistics)


def test_a_bound_object_brings_its_own_delta():
    bound = TandemBound(delta=0.2, constant="exact")
    certificate = certify(VOTES, Y, weights=WEIGHTS, bound=bound)
    assert certificate.bound_parameters == {"delta": 0.2, "constant": "exact"}
    same = certify(VOTES, Y, weights=WEIGHTS, bound=bound, delta=0.2)
    assert same.risk_bound == certificate.risk_bound
    with pytest.raises(ValueError, match=r"delta is 0\.01, but the bound object has 0\.2"):
        certify(VOTES, Y, weights=WEIGHTS, bound=bound, delta=0.01)


def test_the_mathematics_of_a_bound_takes_any_delta():
    for bound in (TandemBound(delta=0.95), get_bound("best", delta=0.99)):
        certificate = certify(VOTES, Y, weights=WEIGHTS, bound=bound)
        assert certificate.delta == bound.delta


def test_an_explicit_default_delta_is_not_taken_for_a_missing_one():
    # Whoever asks for 95% must not be given 80%.
    with pytest.raises(ValueError, match="delta is"):
        certify(VOTES, Y, weights=WEIGHTS, bound=TandemBound(delta=0.2), delta=0.05)


BAD_CALLS = {
    "no y": ({"y": None}, "y must be the true labels"),
    "unknown bound": ({"bound": "nonsense"}, "bound must be one of"),
    "delta 0": ({"delta": 0.0}, "delta must be"),
    "delta 1": ({"delta": 1.0}, "delta must be"),
    "delta nan": ({"delta": math.nan}, "delta must be"),
    "a confidence for delta": ({"delta": 0.95}, r"got 0\.95: did you mean 0\.05\?$"),
    "delta text": ({"delta": "0.05"}, "delta must be"),
    "weights length": ({"weights": [0.5, 0.5]}, "weights must have shape"),
    "weights sum": ({"weights": [0.5] * 6}, "weights must sum to 1"),
    "weights negative": ({"weights": [1.5, -0.5, 0, 0, 0, 0]}, "weights must be non-negative"),
    "prior length": ({"prior": [1.0]}, "prior must have shape"),
    "prior sum": ({"prior": [0.5] * 6}, "prior must sum to 1"),
    "prior zero": ({"prior": [0, 0.2, 0.2, 0.2, 0.2, 0.2]}, "prior must be positive"),
    "rows": ({"y": Y[:-1]}, "votes and y must have the same number of rows"),
}


@pytest.mark.parametrize(("change", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_certify_refuses_bad_arguments(change, message):
    arguments = {"y": Y, "weights": WEIGHTS} | change
    with pytest.raises(ValueError, match=message):
        certify(VOTES, **arguments)


def test_certify_refuses_labels_beside_statistics():
    with pytest.raises(ValueError, match="y must be None"):
        certify(VoteStatistics.from_votes(VOTES, Y), Y, weights=WEIGHTS)


@pytest.mark.parametrize("name", ["lacasse", "best"])
def test_a_voter_without_prior_gets_no_weight(name):
    prior = np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])
    certificate = certify(VOTES, Y, prior=prior, bound=name)
    assert certificate.weights[0] == 0.0
    certificate.verify(VOTES, Y)


def test_a_certificate_cannot_be_changed(certificate):
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.risk_bound = 0.0


# --- what is shown ---


@settings(max_examples=300, deadline=None)
@given(value=st.floats(0, 2, allow_subnormal=True), digits=st.integers(0, 12))
@example(value=0.1, digits=1)
@example(value=0.1 + 0.2, digits=1)
@example(value=5e-324, digits=4)
@example(value=0.99999, digits=4)
@example(value=0.0, digits=4)
def test_a_bound_is_shown_rounded_up_at_its_last_digit(value, digits):
    text = format_up(value, digits=digits)
    assert 0 <= Fraction(text) - Fraction(value) < Fraction(1, 10**digits)
    assert len(text.partition(".")[2]) == digits


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.25, 2, "0.25"), (0.25, 1, "0.3"), (0.12341, 4, "0.1235"), (0.0, 4, "0.0000")],
)
def test_how_a_bound_is_shown(value, digits, text):
    assert format_up(value, digits=digits) == text


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        (0.05, "95%"),
        (0.001, "99.9%"),
        (0.07, "93%"),
        (0.1, "90%"),
        (0.5, "50%"),
        (0.003, "99.7%"),
        (0.025, "97.5%"),
        (0.29, "71%"),
        (1e-6, "99.9999%"),
        (0.9999, "0.01%"),
    ],
)
def test_how_a_confidence_is_shown(delta, text):
    assert format_confidence(delta) == text


@settings(max_examples=300, deadline=None)
@given(units=st.integers(1, 10**9 - 1))
def test_a_confidence_is_never_shown_too_high(units):
    # δ with nine decimal places, as a user writes it.
    delta = Fraction(units, 10**9)
    shown = Fraction(format_confidence(float(delta)).removesuffix("%"))
    assert 0 <= 100 * (1 - delta) - shown < Fraction(1, 10**6)


@pytest.mark.parametrize("delta", [1e-9, 1e-12, 1e-13, 1e-15, 1e-17, 1e-300])
def test_no_certificate_claims_certainty(delta):
    certificate = certify(VOTES, Y, weights=WEIGHTS, delta=delta)
    for text in displayed(certificate):
        shown = re.search(r"([\d.]+)%", text).group(1)
        assert Fraction(shown) <= 100 * (1 - Fraction(delta)), text


@settings(max_examples=100, deadline=None)
@given(value=st.floats(0, 1))
@example(value=1.0)
@example(value=0.12340000000000001)
def test_nothing_shown_is_below_the_bound(certificate, value):
    certificate = dataclasses.replace(certificate, risk_bound=value)
    number = r"(\d+\.\d+)"
    patterns = (f"probability at most {number}", f"risk_bound≤{number}")
    found = [
        Fraction(match)
        for text in displayed(certificate)
        for pattern in patterns
        for match in re.findall(pattern, text)
    ]
    assert len(found) == 3
    assert all(0 <= shown - Fraction(value) < Fraction(1, 10**4) for shown in found)


def test_a_certificate_shows_its_assumptions_and_evidence(certificate):
    text = str(certificate)
    assert all(assumption in text for assumption in certificate.assumptions)
    assert "95%" in text
    assert "400" in text
    assert "lacasse" in text
    assert "vacuous" not in text


def test_a_vacuous_certificate_says_so():
    votes, y = make_votes(m=10, error=0.5, seed=2)
    for bound in list_moment_bounds():
        certificate = certify(votes, y, weights=WEIGHTS, bound=bound)
        assert certificate.risk_bound == 1.0
        assert certificate.vacuous
        assert "vacuous" in str(certificate)
        certificate.verify(votes, y)


# --- files ---


@pytest.mark.parametrize("name", list_moment_bounds())
@pytest.mark.parametrize("constant", ["maurer", "exact"])
def test_a_file_follows_the_schema(tmp_path, name, constant):
    bound = get_bound(name, delta=0.1, constant=constant)
    for certificate in (
        certify(VOTES, Y, bound=bound),
        certify(VoteStatistics.from_votes(VOTES, Y, keep_rows=True), weights=WEIGHTS, bound=bound),
    ):
        certificate.to_json(tmp_path / "certificate.json")
        written = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(SCHEMA).validate(written)
        assert set(written) == {*FIELDS, *LATER}
        assert written["claim"] == certificate.claim


CONSTANTS = [
    (name, constant)
    for name in (*list_moment_bounds(), "dirichlet")
    for constant in get_bound(name).constants
]


@pytest.mark.parametrize(("name", "constant"), CONSTANTS)
def test_a_file_with_any_constant_is_recomputed(tmp_path, name, constant):
    votes, y = make_votes(m=3000, error=0.02)  # so many that no bound says 1
    bound = get_bound(name, constant=constant)
    written = json.loads(certify(votes, y, WEIGHTS, bound).to_json(tmp_path / "made.json"))
    assert written["bound_parameters"]["constant"] == constant
    assert written["risk_bound"] < 1.0
    read = Certificate.from_json(tmp_path / "made.json")
    read.verify()
    read.verify(votes, y)
    # No value below that of its constant is accepted: not under its name, nor under that of others.
    larger = [
        other
        for other in bound.constants
        if certify(votes, y, WEIGHTS, get_bound(name, constant=other)).risk_bound
        > written["risk_bound"] + 1e-6
    ]
    assert larger or constant in ("maurer", "anytime")
    tampered = [change(bound_parameters__constant=other) for other in larger]
    for tamper in (*tampered, change(risk_bound=written["risk_bound"] - 1e-6)):
        path = write(tmp_path / "changed.json", with_claim(tamper(written)))
        with pytest.raises(CertificateError):
            Certificate.from_json(path).verify()


@pytest.mark.parametrize("name", ["mcallester", "lacasse", "bennett"])
def test_a_file_with_a_constant_that_its_bound_lacks_is_refused(tmp_path, name):
    written = json.loads(certify(VOTES, Y, WEIGHTS, name).to_json(tmp_path / "made.json"))
    lacking = "anytime" if name == "bennett" else "one-sided"
    path = write(tmp_path / "changed.json", change(bound_parameters__constant=lacking)(written))
    with pytest.raises(CertificateError, match=f"constant.*'{name}', got '{lacking}'"):
        Certificate.from_json(path)


def assert_same(one, other):
    assert one == other
    assert hash(one) == hash(other)
    for item in dataclasses.fields(Certificate):
        first, second = getattr(one, item.name), getattr(other, item.name)
        if isinstance(first, np.ndarray):
            assert first.tobytes() == second.tobytes(), item.name
        else:
            assert first == second, item.name


@pytest.mark.parametrize("seed", range(20))
def test_a_file_is_read_back_to_the_last_bit(tmp_path, seed):
    # Weights with a sum one rounding away from 1 must not be normalised once more.
    rng = np.random.default_rng(seed)
    certificate = certify(
        VOTES, Y, weights=rng.dirichlet(np.ones(6)), prior=rng.dirichlet(np.ones(6))
    )
    text = certificate.to_json(tmp_path / "one.json")
    again = Certificate.from_json(tmp_path / "one.json")
    assert_same(certificate, again)
    assert again.to_json() == text
    assert (tmp_path / "one.json").read_text(encoding="utf-8") == text
    again.verify(VOTES, Y)


def test_a_certificate_of_any_real_delta_can_be_written(tmp_path):
    for delta in (np.float32(0.125), np.float64(0.05)):
        certificate = certify(VOTES, Y, weights=WEIGHTS, delta=delta)
        certificate.to_json(tmp_path / "certificate.json")
        assert Certificate.from_json(tmp_path / "certificate.json").delta == float(delta)


def test_without_a_path_nothing_is_written(certificate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert json.loads(certificate.to_json())["risk_bound"] == certificate.risk_bound
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("broken", ["replace", "chmod"])
def test_a_failed_write_leaves_the_old_file(certificate, tmp_path, monkeypatch, broken):
    path = tmp_path / "certificate.json"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="disk full"):
        certificate.to_json(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_replaces_an_old_one(certificate, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text("old")
    certificate.to_json(str(path))
    assert_same(Certificate.from_json(str(path)), certificate)
    assert list(tmp_path.iterdir()) == [path]


# --- what is refused ---


def change(**changes):
    """A function that replaces fields; a name with two underscores reaches one level down."""

    def apply(fields):
        fields = json.loads(json.dumps(fields))
        for name, value in changes.items():
            outer, _, inner = name.partition("__")
            if inner:
                fields[outer][inner] = value
            else:
                fields[outer] = value
        return fields

    return apply


def drop(outer, inner):
    def apply(fields):
        return fields | {outer: {k: v for k, v in fields[outer].items() if k != inner}}

    return apply


IMPOSSIBLE = {
    "format": (change(format="another format"), "format"),
    "version 0": (change(format_version=0), "format_version"),
    "version 1": (
        change(format_version=1),
        "unknown fields: checks, class_counts, families, files, findings",
    ),
    "version 3": (change(format_version=3), "format_version"),
    "version true": (change(format_version=True), "format_version"),
    "version text": (change(format_version="1"), "format_version"),
    "version none": (change(format_version=None), "format_version"),
    "library version": (change(certivote_version=3), "certivote_version"),
    "unknown field": (change(signature="abc"), "signature"),
    "risk above 1": (change(risk_bound=1.5), "risk_bound"),
    "risk below 0": (change(risk_bound=-0.1), "risk_bound"),
    "risk text": (change(risk_bound="0.1"), "risk_bound"),
    "risk none": (change(risk_bound=None), "risk_bound"),
    "risk true": (change(risk_bound=True), "risk_bound"),
    "risk nan": (change(risk_bound=math.nan), "risk_bound|NaN"),
    "risk infinite": (change(risk_bound=math.inf), "risk_bound|Infinity"),
    "weights sum": (change(weights=[0.25] * 6), "weights"),
    "weights negative": (change(weights=[-0.25, 0.25, 0.25, 0.25, 0.25, 0.25]), "weights"),
    "weights short": (change(weights=[0.5, 0.5]), "weights"),
    "weights long": (change(weights=[0.125] * 8), "weights"),
    "weights none": (change(weights=None), "weights"),
    "weights number": (change(weights=1.0), "weights"),
    "weights text": (change(weights=["a"] * 6), "weights"),
    "weights digits as text": (change(weights=["1", "0", "0", "0", "0", "0"]), "weights"),
    "weights nested": (change(weights=[[1, 0, 0, 0, 0, 0]]), "weights"),
    "prior sum": (change(prior=[0.25] * 6), "prior"),
    "prior negative": (change(prior=[-0.25, 0.25, 0.25, 0.25, 0.25, 0.25]), "prior"),
    "prior short": (change(prior=[1.0]), "prior"),
    "prior none": (change(prior=None), "prior"),
    "prior zero": (change(prior=[0.0, 0.2, 0.2, 0.2, 0.2, 0.2]), "prior"),
    "kl negative": (change(kl=-0.1), "kl"),
    "kl text": (change(kl="0.1"), "kl"),
    "kl nan": (change(kl=math.nan), "kl|NaN"),
    "delta 0": (change(bound_parameters__delta=0.0), "delta"),
    "delta 1": (change(bound_parameters__delta=1.0), "delta"),
    "delta 7": (change(bound_parameters__delta=7), "delta"),
    "delta negative": (change(bound_parameters__delta=-0.05), "delta"),
    "delta text": (change(bound_parameters__delta="0.05"), "delta"),
    "delta missing": (drop("bound_parameters", "delta"), "bound_parameters.*delta"),
    "constant": (change(bound_parameters__constant="better"), "constant"),
    "constant missing": (drop("bound_parameters", "constant"), "bound_parameters.*constant"),
    "another parameter": (change(bound_parameters__trick=1), "bound_parameters.*trick"),
    "parameters list": (change(bound_parameters=[0.05]), "bound_parameters"),
    "bound unknown": (change(bound="magic"), "bound"),
    "bound number": (change(bound=3), "bound"),
    "samples 0": (change(n_samples=0), "n_samples"),
    "samples float": (change(n_samples=400.5), "n_samples"),
    "samples fewer than the evidence's": (change(n_samples=300), "n_samples|_size"),
    "voters 0": (change(n_voters=0), "n_voters"),
    "voters text": (change(n_voters="6"), "n_voters"),
    "statistics sha short": (change(statistics_sha256="abc"), "statistics_sha256"),
    "statistics sha none": (change(statistics_sha256=None), "statistics_sha256"),
    "statistics sha letters": (change(statistics_sha256="z" * 64), "statistics_sha256"),
    "votes sha upper case": (change(votes_sha256="A" * 64), "votes_sha256"),
    "votes sha number": (change(votes_sha256=5), "votes_sha256"),
    "evidence none": (change(evidence=None), "evidence"),
    "evidence empty": (change(evidence={}), "gibbs_risk"),
    "gibbs missing": (drop("evidence", "gibbs_risk"), "gibbs_risk"),
    "joint missing": (drop("evidence", "joint_error"), "joint_error"),
    "disagreement missing": (drop("evidence", "disagreement"), "disagreement"),
    "gibbs size missing": (drop("evidence", "gibbs_size"), "gibbs_size"),
    "joint size missing": (drop("evidence", "joint_size"), "joint_size"),
    "disagreement size missing": (drop("evidence", "disagreement_size"), "disagreement_size"),
    "joint above gibbs": (change(evidence__joint_error=0.9), "joint_error"),
    "gibbs above 1": (change(evidence__gibbs_risk=1.2), "gibbs_risk"),
    "joint below 0": (change(evidence__joint_error=-0.1), "joint_error"),
    "disagreement above 1": (change(evidence__disagreement=1.1), "disagreement"),
    "size 0": (change(evidence__gibbs_size=0), "gibbs_size"),
    "size float": (change(evidence__joint_size=10.5), "joint_size"),
    "size true": (change(evidence__joint_size=True), "joint_size"),
    "size beyond floats": (change(evidence__joint_size=10**400), "joint_size"),
    "claim": (change(claim="This vote never errs."), "claim"),
    "claim number": (change(claim=0), "claim"),
    "assumptions text": (change(assumptions="none"), "assumptions"),
    "assumptions numbers": (change(assumptions=[1]), "assumptions"),
}


@pytest.mark.parametrize(("tamper", "name"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_impossible_certificate_is_refused(fields, tmp_path, tamper, name):
    path = write(tmp_path / "certificate.json", tamper(fields))
    with pytest.raises(CertificateError, match=name):
        Certificate.from_json(path)
    if re.fullmatch(r"\w+\|\w+", name):  # as a dictionary it names the field, whatever the file
        with pytest.raises(CertificateError, match=name.partition("|")[0]):
            Certificate.from_dict(tamper(fields) | {"claim": fields["claim"]})


def test_the_untouched_fields_are_accepted(fields, tmp_path):
    Certificate.from_json(write(tmp_path / "certificate.json", fields)).verify(VOTES, Y)


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_field_is_named(fields, tmp_path, name):
    del fields[name]
    with pytest.raises(CertificateError, match=name):
        Certificate.from_json(write(tmp_path / "certificate.json", fields))


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "votes_sha256"])
@pytest.mark.parametrize("value", [None, [], {}, "", -1])
def test_no_field_of_another_kind_breaks_the_reader(fields, tmp_path, name, value):
    # Whatever stands in a field, it is a CertificateError, and only what the schema allows passes.
    path = write(tmp_path / "certificate.json", fields | {name: value})
    allowed = jsonschema.Draft202012Validator(SCHEMA).is_valid(fields | {name: value})
    if allowed and name in ("certivote_version", "findings", "files"):
        Certificate.from_json(path)
    else:
        with pytest.raises(CertificateError):
            Certificate.from_json(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '"claim"', "{}", "\x00"])
def test_what_is_no_certificate_is_refused(tmp_path, text):
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(CertificateError):
        Certificate.from_json(path)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(CertificateError):
        Certificate.from_json(path)


@pytest.mark.parametrize("name", ["kl", "risk_bound"])
def test_numbers_that_overflow_are_refused(fields, tmp_path, name):
    # 1e999 is valid JSON, and infinite once read.
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(fields | {name: "@"}).replace('"@"', "1e999"))
    with pytest.raises(CertificateError, match=name):
        Certificate.from_json(path)


# --- verification ---


def read(fields, tmp_path):
    return Certificate.from_json(write(tmp_path / "certificate.json", with_claim(fields)))


TAMPERED = {
    "lower bound": (lambda f: f | {"risk_bound": f["risk_bound"] - 1e-6}, "risk_bound"),
    "bound of 0": (lambda f: f | {"risk_bound": 0.0}, "risk_bound"),
    "lower kl": (lambda f: f | {"kl": f["kl"] / 2}, "kl"),
    "kl of 0": (change(kl=0.0), "kl"),
    "other weights": (lambda f: f | {"weights": f["weights"][::-1]}, "kl|risk_bound"),
    "one weight": (change(weights=[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), "kl|risk_bound"),
    "other prior": (lambda f: f | {"prior": f["prior"][::-1]}, "kl|risk_bound"),
    "more joint error": (
        lambda f: change(evidence__joint_error=f["evidence"]["joint_error"] * 1.1)(f),
        "gibbs_risk must be joint_error",
    ),
    "smaller sample": (change(evidence__joint_size=300), "risk_bound|n_samples|joint_size"),
    "smaller delta": (change(bound_parameters__delta=0.01, neighbours=None), "risk_bound"),
    "delta of the neighbours": (change(bound_parameters__delta=0.01), "neighbours.delta"),
    "other bound": (change(bound="mcallester"), "risk_bound"),
}


@pytest.mark.parametrize(("tamper", "name"), TAMPERED.values(), ids=TAMPERED)
def test_tampered_arithmetic_is_caught_without_the_data(fields, tmp_path, tamper, name):
    with pytest.raises(CertificateError, match=name):
        read(tamper(fields), tmp_path).verify()


def test_a_larger_claim_than_necessary_is_still_true(fields, tmp_path):
    read(fields | {"risk_bound": 1.0}, tmp_path).verify(VOTES, Y)


def consistent_forgery(fields, **evidence):
    """Better evidence, and the bound that it would support: the arithmetic holds."""
    fields = json.loads(json.dumps(fields)) | {"neighbours": None, "class_counts": {}}
    fields["evidence"] |= evidence
    bound = get_bound(fields["bound"], **fields["bound_parameters"])
    fields["risk_bound"] = bound.from_evidence(
        fields["evidence"], fields["weights"], fields["prior"]
    )
    return fields


FORGERIES = {
    "fewer errors": {"gibbs_risk": 0.1, "joint_error": 0.02, "disagreement": 0.16},
    "slightly fewer errors": {"gibbs_risk": 0.2, "joint_error": 0.07, "disagreement": 0.26},
    "larger sample": {"gibbs_size": 4000, "joint_size": 4000, "disagreement_size": 4000},
}


@pytest.mark.parametrize("evidence", FORGERIES.values(), ids=FORGERIES)
def test_forged_evidence_passes_the_arithmetic_but_not_the_data(fields, tmp_path, evidence):
    forged = consistent_forgery(fields, **evidence)
    assert forged["risk_bound"] < fields["risk_bound"]
    if "joint_size" in evidence:
        forged["n_samples"] = evidence["joint_size"]
    certificate = read(forged, tmp_path)
    certificate.verify()
    with pytest.raises(CertificateError):
        certificate.verify(VOTES, Y)
    with pytest.raises(CertificateError):
        certificate.verify(statistics=VoteStatistics.from_votes(VOTES, Y))


def test_a_sample_size_that_is_not_the_true_one_is_caught(certificate):
    with pytest.raises(CertificateError, match="n_samples"):
        dataclasses.replace(certificate, n_samples=4_000_000)
    object.__setattr__(boast := dataclasses.replace(certificate), "n_samples", 4_000_000)
    with pytest.raises(CertificateError, match="n_samples"):
        boast.verify(VOTES, Y)


def flip_vote():
    votes = VOTES.copy()
    votes[7, 2] = 1 - votes[7, 2]
    return votes, Y


def flip_label():
    y = Y.copy()
    y[7] = 1 - y[7]
    return VOTES, y


OTHER_DATA = {
    "a vote": flip_vote,
    "a label": flip_label,
    "fewer rows": lambda: (VOTES[:-1], Y[:-1]),
    "more rows": lambda: (np.vstack([VOTES, VOTES[:1]]), np.append(Y, Y[0])),
    "other rows": lambda: make_votes(seed=99),
    "other order": lambda: (VOTES[::-1], Y[::-1]),
    "other voters": lambda: (VOTES[:, ::-1], Y),
    "fewer voters": lambda: (VOTES[:, :5], Y),
    "other names": lambda: (VOTES + 1, Y + 1),
}


@pytest.mark.parametrize("data", OTHER_DATA.values(), ids=OTHER_DATA)
def test_other_votes_than_those_certified_are_caught(certificate, data):
    certificate.verify(VOTES, Y)
    with pytest.raises(CertificateError, match="not those that were certified"):
        certificate.verify(*data())


@pytest.mark.parametrize("data", ["a vote", "a label", "fewer rows", "other voters"])
def test_other_counts_than_those_certified_are_caught(certificate, data):
    certificate.verify(statistics=VoteStatistics.from_votes(VOTES, Y))
    statistics = VoteStatistics.from_votes(*OTHER_DATA[data]())
    with pytest.raises(CertificateError, match="counts are not those that were certified"):
        certificate.verify(statistics=statistics)


def test_a_certificate_from_counts_is_verified_with_votes():
    certificate = certify(VoteStatistics.from_votes(VOTES, Y), weights=WEIGHTS)
    certificate.verify(VOTES, Y)
    certificate.verify(VOTES[::-1], Y[::-1])  # the counts are the same
    with pytest.raises(CertificateError, match="counts are not those"):
        certificate.verify(*flip_vote())


def test_verify_refuses_half_of_the_data(certificate):
    with pytest.raises(ValueError, match="votes and y must be given together"):
        certificate.verify(VOTES)
    with pytest.raises(ValueError, match="votes and y must be given together"):
        certificate.verify(y=Y)
    with pytest.raises(ValueError, match="not both"):
        certificate.verify(VOTES, Y, statistics=VoteStatistics.from_votes(VOTES, Y))


@pytest.mark.parametrize("bound", [GibbsBound(delta=0.1), TandemBound(constant="exact")])
def test_learned_certificates_survive_file_and_verification(tmp_path, bound):
    certify(VOTES, Y, bound=bound).to_json(tmp_path / "certificate.json")
    certificate = Certificate.from_json(tmp_path / "certificate.json")
    certificate.verify(VOTES, Y)
    certificate.verify(statistics=VoteStatistics.from_votes(VOTES, Y))


# --- the digest of the votes ---


def test_the_digest_does_not_depend_on_the_type_of_numbers():
    expected = votes_sha256(VOTES, Y)
    for dtype in (np.int8, np.uint8, np.int64, np.float32, np.float64, bool, ">i4"):
        assert votes_sha256(VOTES.astype(dtype), Y) == expected
        assert votes_sha256(VOTES, Y.astype(dtype)) == expected
    assert votes_sha256(VOTES.tolist(), Y.tolist()) == expected
    assert votes_sha256(np.asfortranarray(VOTES), Y) == expected


def test_the_digest_does_not_depend_on_the_type_of_texts():
    names = np.array(["no", "yes"])
    expected = votes_sha256(names[VOTES], names[Y])
    assert votes_sha256(names[VOTES].astype(object), names[Y]) == expected
    assert votes_sha256(names[VOTES].astype("U30"), names[Y].astype(object)) == expected


def test_the_digest_changes_with_any_vote_or_label():
    digests = {votes_sha256(VOTES, Y)}
    for row in (0, 200, 399):
        votes, y = VOTES.copy(), Y.copy()
        votes[row, row % 6] ^= 1
        y[row] ^= 1
        digests |= {votes_sha256(votes, Y), votes_sha256(VOTES, y)}
    digests.add(votes_sha256(VOTES.T.reshape(400, 6), Y))
    assert len(digests) == 8


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([["a", "bc"]], [["ab", "c"]]),
        ([["a\0b", "c"]], [["a", "b\0c"]]),
        ([[1, 256]], [[1, 0]]),
        ([[0.5, 1.0]], [[0.25, 1.0]]),
        ([[2.0**70, 1.0]], [[2.0**71, 1.0]]),
        ([[1, 2]], [["1", "2"]]),
    ],
    ids=["boundaries", "separators", "wrap", "fractions", "large floats", "texts of numbers"],
)
def test_different_votes_have_different_digests(one, other):
    assert votes_sha256(one, ["a"]) != votes_sha256(other, ["a"])


# --- what a reader would see and a checker would not ---


def test_a_name_that_is_there_twice_is_refused(tmp_path):
    certificate = certify([[0, 1], [1, 1], [0, 0]] * 20, [0, 1, 0] * 20)
    text = certificate.to_json()
    path = tmp_path / "certificate.json"
    path.write_text(text.replace("{", '{"risk_bound": 0.001,', 1), encoding="utf-8")
    with pytest.raises(CertificateError, match="twice"):
        Certificate.from_json(path)
    path.write_text("\ufeff" + text, encoding="utf-8")
    Certificate.from_json(path).verify()


@pytest.mark.parametrize(
    ("field", "extra"),
    [("evidence", {"test_error": 0.0001}), ("provenance", {"audit": "passed"})],
)
def test_what_nobody_checks_is_refused(field, extra):
    fields = certify([[0, 1], [1, 1], [0, 0]] * 20, [0, 1, 0] * 20).to_dict()
    fields[field] = {**fields[field], **extra}
    with pytest.raises(CertificateError, match=next(iter(extra))):
        Certificate.from_dict(fields)


def test_assumptions_are_those_of_the_provenance():
    fields = certify([[0, 1], [1, 1], [0, 0]] * 20, [0, 1, 0] * 20).to_dict()
    fields["assumptions"].append("An independent auditor has checked all this.")
    with pytest.raises(CertificateError, match="assumptions"):
        Certificate.from_dict(fields)
