"""Nothing is a certificate that could not be read back from a file; and files of version 1."""

import copy
import json
import math
import pickle
import re
from dataclasses import fields, replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certivote import Certificate, CertificateError, VoteStatistics, certify
from certivote.bounds import get_bound, list_bounds
from certivote.claims import ShiftFamily
from reference import REFERENCES

SCHEMA = json.loads(
    (files("certivote.certificate") / "certificate.schema.json").read_text(encoding="utf-8")
)
VERSION_1 = sorted((Path(__file__).parent / "version_1").glob("*.json"))
VERSION_2 = sorted((Path(__file__).parent / "version_2").glob("*.json"))
SPLIT = "part A of a random split"
NEW_DATA = "a fitted vote, certified on new data"
HEX = "0123456789abcdef" * 4


def make_votes(m=300, n=5, error=0.2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    return np.where(rng.random((m, n)) < error, 1 - y[:, None], y[:, None]), y


VOTES, Y = make_votes()
PRIOR = np.array([0.3, 0.1, 0.2, 0.2, 0.2])


def certificate_by(name):
    if name == "unlabelled":
        return certify(VOTES, Y, bound="seeger", unlabelled=make_votes(900, seed=1)[0])
    if name == "prior":
        return certify(VOTES, Y, prior=PRIOR, bound="lacasse")
    if name == "fixed votes":
        return certify(VOTES, Y, bound=get_bound("heldout", fixed_votes=[PRIOR, PRIOR[::-1]]))
    return certify(VOTES, Y, bound=name)


USERS = [name for name in REFERENCES if REFERENCES[name].uses_unlabelled]
KINDS = [*list_bounds(), "unlabelled", "prior", "fixed votes"]


@pytest.fixture(scope="module")
def made():
    return {name: certificate_by(name) for name in KINDS}


# --- to a file and back ---


@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_is_read_back_equal(name, made, tmp_path):
    certificate = replace(
        made[name], findings=("Rows were copied.", "ü"), files={"model.joblib": HEX}
    )
    written = certificate.to_dict()
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    certificate.to_json(tmp_path / "certificate.json")
    for again in (
        Certificate.from_dict(written),
        Certificate.from_json(tmp_path / "certificate.json"),
        pickle.loads(pickle.dumps(certificate)),
        copy.deepcopy(certificate),
        replace(certificate),
    ):
        assert again == certificate
        assert hash(again) == hash(certificate)
        assert again.findings == ("Rows were copied.", "ü")
        assert again.files == {"model.joblib": HEX}
        assert again.weights.tobytes() == certificate.weights.tobytes()
        assert again.prior.tobytes() == certificate.prior.tobytes()
        again.verify()


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    n=st.integers(1, 9),
    m=st.integers(1, 60),
    name=st.sampled_from(list(REFERENCES)),
    delta=st.floats(1e-12, 0.5),
    given_prior=st.booleans(),
)
def test_any_certificate_is_read_back_equal(data, n, m, name, delta, given_prior):
    positive = st.lists(st.floats(1e-3, 1.0), min_size=n, max_size=n)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    losses = rng.random((m, n)) < rng.random()
    prior = np.array(data.draw(positive)) if given_prior else np.ones(n)
    prior /= prior.sum()
    weights = np.array(data.draw(positive))
    if REFERENCES[name].single_voters:
        weights = np.eye(n)[0]
    certificate = certify(
        VoteStatistics.from_losses(losses, keep_rows=True),
        weights=weights / weights.sum() if REFERENCES[name].any_weights else prior,
        prior=prior if given_prior else None,
        bound=name,
        delta=delta,
    )
    again = Certificate.from_dict(json.loads(certificate.to_json()))
    assert again == certificate
    assert again.to_json() == certificate.to_json()
    again.verify()


def test_certificates_differ_in_whatever_is_written(made):
    certificate = made["unlabelled"]
    other = {
        "risk_bound": 1.0,
        "bound": "dis",
        "bound_parameters": {**certificate.bound_parameters, "constant": "maurer"},
        "kl": certificate.kl + 1.0,
        "weights": certificate.weights[::-1],
        "evidence": {**certificate.evidence, "disagreement": 0.3},
        "statistics_sha256": HEX,
        "votes_sha256": None,
        "provenance": {**certificate.provenance, "data": "a.csv"},
        "certivote_version": "0",
        "findings": ("Something.",),
        "files": {"a": HEX},
        "neighbours": None,
        "class_counts": {},
        "checks": {"duplicates": "None."},
        "families": (ShiftFamily(distance="tv", radius=0.1),),
    }
    # These four change only together with others; and when one was made is none of what it says.
    assert set(other) == {item.name for item in fields(Certificate)} - {
        *("n_samples", "n_voters", "prior", "made", "total_delta"),
    }
    assert replace(certificate, made={"date": "2000-01-01T00:00:00Z"}) == certificate
    for name, value in other.items():
        assert replace(certificate, **{name: value}) != certificate, name
    assert made["lacasse"] != made["prior"]
    assert certificate != certificate.to_dict()
    assert len({made["gibbs"], replace(made["gibbs"]), made["tandem"]}) == 2


def test_numbers_of_numpy_become_pythons_own(made):
    honest = made["lacasse"]
    certificate = replace(
        honest,
        risk_bound=np.float64(honest.risk_bound),
        kl=np.float64(honest.kl),
        n_samples=np.int64(300),
        n_voters=np.int32(5),
        evidence={
            name: np.float64(value) if isinstance(value, float) else np.int64(value)
            for name, value in honest.evidence.items()
        },
        bound_parameters={"delta": Fraction(1, 20), "constant": np.str_("exact")},
        provenance={"voters_from": SPLIT, "seed": np.int64(3), "certify_size": np.float32(0.5)},
    )
    assert certificate == replace(honest, provenance=certificate.provenance)
    assert type(certificate.n_samples) is int
    assert type(certificate.risk_bound) is float
    assert type(certificate.provenance["seed"]) is int
    assert {type(value) for value in certificate.evidence.values()} == {int, float}
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate


def test_arrays_and_dictionaries_are_copies(made):
    weights, evidence = made["lacasse"].weights.copy(), dict(made["lacasse"].evidence)
    provenance, findings = {"data": "a.csv"}, ["Something."]
    certificate = replace(
        made["lacasse"],
        weights=weights,
        evidence=evidence,
        provenance=provenance,
        findings=findings,
    )
    before = certificate.to_json()
    weights[:] = 0.0
    evidence.clear()
    provenance.clear()
    findings.clear()
    assert certificate.to_json() == before
    certificate.verify()


def test_weights_and_prior_cannot_be_written_to(made):
    prior = PRIOR.copy()
    certificate = certify(VOTES, Y, weights=PRIOR, prior=prior)
    prior[0] = 0.9
    assert certificate.prior[0] == 0.3
    for one in (certificate, pickle.loads(pickle.dumps(certificate)), copy.copy(certificate)):
        for array in (one.weights, one.prior):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0


# --- what is none ---


IMPOSSIBLE = {
    "risk_bound nan": ({"risk_bound": math.nan}, "risk_bound"),
    "risk_bound infinite": ({"risk_bound": np.inf}, "risk_bound"),
    "risk_bound negative": ({"risk_bound": -1e-9}, "risk_bound"),
    "risk_bound text": ({"risk_bound": "0.1"}, "risk_bound"),
    "risk_bound true": ({"risk_bound": True}, "risk_bound"),
    "kl nan": ({"kl": math.nan}, "kl"),
    "kl infinite": ({"kl": math.inf}, "kl"),
    "n_samples": ({"n_samples": 10**9}, "n_samples"),
    "n_samples float": ({"n_samples": 300.0}, "n_samples"),
    "n_voters": ({"n_voters": 10**6}, "weights must have shape"),
    "bound of one's own": ({"bound": "mine"}, "bound must be one of"),
    "bound array": ({"bound": np.array(["lacasse"])}, "bound must be a text"),
    "parameters": ({"bound_parameters": {"delta": 0.05}}, "bound_parameters"),
    "parameters list": ({"bound_parameters": [0.05]}, "bound_parameters"),
    "delta nan": ({"bound_parameters": {"delta": math.nan, "constant": "maurer"}}, "finite"),
    "weights short": ({"weights": [0.5, 0.5]}, "weights"),
    "weights nan": ({"weights": [math.nan] * 5}, "weights"),
    "weights of another vote": ({"weights": [0.5] * 5}, "weights must sum to 1"),
    "prior table": ({"prior": np.full((1, 5), 0.2)}, "prior"),
    "prior without a word": ({"prior": PRIOR}, "must say where the prior came from"),
    "evidence none": ({"evidence": None}, "evidence"),
    "evidence empty": ({"evidence": {}}, "gibbs_risk"),
    "evidence object": ({"evidence": {"gibbs_risk": object()}}, "texts and finite numbers"),
    "evidence number for a name": ({"evidence": {1: 0.5}}, "texts for names"),
    "statistics_sha256": ({"statistics_sha256": "0"}, "statistics_sha256"),
    "statistics_sha256 none": ({"statistics_sha256": None}, "statistics_sha256"),
    "votes_sha256": ({"votes_sha256": HEX.upper()}, "votes_sha256"),
    "provenance": ({"provenance": {"audit": "passed"}}, "provenance must not have audit"),
    "provenance list": ({"provenance": []}, "provenance must be an object"),
    "half a character": ({"provenance": {"data": "caf\udce9"}}, "surrogates"),
    "version": ({"certivote_version": None}, "certivote_version"),
    "findings text": ({"findings": "Something."}, "findings"),
    "findings number": ({"findings": (3,)}, "findings"),
    "findings empty": ({"findings": ("",)}, "findings"),
    "findings none": ({"findings": None}, "findings"),
    "files list": ({"files": ["model.joblib"]}, "files"),
    "files digest": ({"files": {"model.joblib": "abc"}}, "'model.joblib' in files must be 64"),
}


@pytest.mark.parametrize(("changes", "words"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_could_not_be_read_back_is_no_certificate(changes, words, made):
    with pytest.raises(CertificateError, match=words):
        replace(made["lacasse"], **changes)
    # Neither does one become none later: by force, or from a pickle that somebody made.
    forced = copy.copy(made["lacasse"])
    for name, value in changes.items():
        object.__setattr__(forced, name, value)
    for use in (forced.verify, forced.to_dict, forced.to_json):
        with pytest.raises(CertificateError, match=words):
            use()
    with pytest.raises(CertificateError, match=words):
        pickle.loads(pickle.dumps(forced))


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("evidence", {"gibbs_risk": 1.5}, "gibbs_risk"),
        ("evidence", {"joint_size": 10**6}, "joint_size"),
        ("evidence", {"note": "never errs"}, "note"),
        ("bound_parameters", {"delta": 2.0}, "delta"),
        ("bound_parameters", {"trick": 1.0}, "trick"),
        ("provenance", {"voters_from": "heaven"}, "voters_from"),
        ("files", {"model.joblib": "abc"}, "files"),
    ],
)
def test_a_dictionary_that_was_changed_is_found(name, changes, words, made):
    certificate = copy.deepcopy(made["lacasse"])
    getattr(certificate, name).update(changes)
    with pytest.raises(CertificateError, match=words):
        certificate.verify()
    with pytest.raises(CertificateError, match=words):
        certificate.verify(VOTES, Y)
    with pytest.raises(CertificateError, match=words):
        certificate.to_json()


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.lists(st.floats() | st.text(max_size=2) | st.none(), max_size=5),
    st.dictionaries(st.text(max_size=3) | st.integers(), st.floats() | st.none(), max_size=3),
    st.sampled_from(
        [np.float64("nan"), np.zeros(5), np.array(["a"]), np.datetime64("NaT", "s"), {1}]
    ),
)


@settings(max_examples=300, deadline=None)
@given(
    bound=st.sampled_from(["lacasse", "best"]),
    name=st.sampled_from([item.name for item in fields(Certificate)]),
    value=JUNK,
)
def test_whatever_is_put_into_a_certificate_it_is_refused_or_read_back(made, bound, name, value):
    try:
        certificate = replace(made[bound], **{name: value})
    except CertificateError:
        return
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate


# --- where the prior came from ---


def test_a_prior_of_the_user_is_said_and_assumed(made):
    certificate = made["prior"]
    assert certificate.provenance == {"prior": "given by the user"}
    (text,) = (text for text in certificate.assumptions if "given by the user" in text)
    assert "without looking at the certification examples" in text
    uniform = certify(VOTES, Y, prior=np.full(5, 0.2))
    assert uniform.provenance == {"prior": "given by the user"}
    assert "prior" not in made["lacasse"].provenance
    assert not any("given by the user" in text for text in made["lacasse"].assumptions)


def test_a_prior_of_which_nobody_speaks_is_refused(made):
    written = made["prior"].to_dict()
    written["provenance"] = {}
    written["assumptions"] = [text for text in written["assumptions"] if "user" not in text]
    with pytest.raises(CertificateError, match="must say where the prior came from"):
        Certificate.from_dict(written)
    with pytest.raises(CertificateError, match="prior must be one of"):
        replace(made["prior"], provenance={"prior": "revealed"})
    with pytest.raises(CertificateError, match="must not have prior='learned on part A'"):
        replace(made["prior"], provenance={"prior": "learned on part A"})
    replace(made["prior"], provenance={"prior": "learned on part A", "voters_from": SPLIT})
    with pytest.raises(CertificateError, match="prior must be the weights"):
        replace(made["prior"], provenance={"voters_from": NEW_DATA})
    tested = certify(VOTES, Y, weights=PRIOR, prior=PRIOR, bound="heldout")
    replace(tested, provenance={"voters_from": NEW_DATA})


@pytest.mark.parametrize(
    "changes",
    [
        {"look": 1, "delta_of_all_looks": 0.1},
        {"added_samples": 10},
        {"seed": 3},
        {"voter_samples": 3},
        {"certify_size": 0.5},
        {"frozen_parts": 1},
        {"fewest_within": 0.01, "fewest_by": "part A"},
    ],
    ids=str,
)
def test_what_only_a_fitted_vote_has_is_refused_elsewhere(changes, made):
    name = min(changes)
    with pytest.raises(CertificateError, match=f"must not have {name}="):
        replace(made["lacasse"], provenance=changes)
    with pytest.raises(CertificateError, match="must not have"):
        replace(
            certify(VOTES, Y, weights=PRIOR, prior=PRIOR),
            provenance={"voters_from": NEW_DATA, **changes},
        )
    replace(made["lacasse"], provenance={"voters_from": SPLIT, **changes})


def test_how_few_voters_were_enough_is_said_whole_or_not_at_all(made):
    sample = {"fewest_within": 0.01, "fewest_by": "the certification examples"}
    for origin in (SPLIT, "frozen, trained elsewhere"):
        written = replace(made["lacasse"], provenance={"voters_from": origin, **sample}).to_dict()
        jsonschema.Draft202012Validator(SCHEMA).validate(written)
    for key in sample:
        with pytest.raises(CertificateError, match="fewest_within and fewest_by together"):
            replace(made["lacasse"], provenance={"voters_from": SPLIT, key: sample[key]})
    with pytest.raises(CertificateError, match="must not have fewest_by='part A'"):
        replace(
            made["lacasse"],
            provenance={
                **sample,
                "fewest_by": "part A",
                "voters_from": "frozen, trained elsewhere",
            },
        )


# --- unlabelled examples ---


@pytest.mark.parametrize("name", [name for name in REFERENCES if name not in USERS])
def test_unlabelled_examples_that_a_bound_does_not_use_are_refused(name, made):
    with pytest.raises(CertificateError, match="must not have unlabelled_samples"):
        replace(made[name], provenance={"unlabelled_samples": 900})


def test_unlabelled_examples_must_be_behind_the_disagreement(made):
    for name, count in (("seeger", 900), ("unlabelled", 901)):
        with pytest.raises(CertificateError, match="disagreement_size"):
            replace(made[name], provenance={"unlabelled_samples": count})


def test_joined_statistics_are_refused_by_a_bound_that_does_not_use_them():
    from certivote import UnlabelledStatistics

    more = UnlabelledStatistics.from_votes(make_votes(900, seed=1)[0])
    joined = VoteStatistics.from_votes(VOTES, Y, keep_rows=True).with_unlabelled(more)
    tests = get_bound("best", shares=[("heldout", 0.5), ("dirichlet", 0.5)])
    for bound in ("gibbs", "tandem", tests):
        name = get_bound(bound).name
        with pytest.raises(ValueError, match=f"of use to the bounds .* got '{name}'"):
            certify(joined, bound=bound)
    assert certify(joined, bound="dis").provenance == {"unlabelled_samples": 900}


# --- what is assumed ---


def test_the_number_of_examples_is_assumed_not_to_depend_on_them(made):
    (text,) = (text for text in made["lacasse"].assumptions if "How many" in text)
    assert re.search(r"decided without looking at any of them", text)


def test_the_sizes_of_batches_are_assumed_not_to_depend_on_examples(made):
    origin = {"voters_from": SPLIT, "look": 1, "delta_of_all_looks": 0.1}
    look = replace(made["lacasse"], provenance=origin)
    (text,) = (text for text in look.assumptions if "number 1 of the certificates" in text)
    assert "sizes of the batches were decided without looking at any of the examples" in text
    # When one stops may depend on what was seen: that is what was paid for.
    assert not any("How many" in text for text in look.assumptions)


def test_unlabelled_examples_assume_that_there_is_no_third_label(made):
    text = made["unlabelled"].assumptions[-1]
    assert "no third one" in text
    assert "those to come" in text


def test_frozen_parts_inside_voters_are_assumed_to_be_trained_elsewhere(made):
    nested = replace(made["lacasse"], provenance={"voters_from": SPLIT, "frozen_parts": 2})
    assert (
        "The frozen parts inside the voters were trained on other data than the certification "
        "examples." in nested.assumptions
    )


# --- version 1 ---


@pytest.mark.parametrize("path", VERSION_1, ids=lambda path: path.stem)
def test_a_file_of_version_1_is_read(path, tmp_path):
    """These files were written before there was a version 2."""
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["format_version"] == 1
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    certificate = Certificate.from_json(path)
    certificate.verify()
    assert certificate.findings == ()
    assert certificate.files == {}
    assert certificate.weights.tolist() == written["weights"]
    assert certificate.risk_bound == written["risk_bound"]
    # Written again it is of version 2, and the same certificate.
    certificate.to_json(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert again["format_version"] == 2
    assert Certificate.from_json(tmp_path / "again.json") == certificate
    # Its assumptions are still compared, by the words of its time.
    for change in ([], [*written["assumptions"], "An auditor was there."], again["assumptions"]):
        with pytest.raises(CertificateError, match="assumptions"):
            Certificate.from_dict({**written, "assumptions": change})
    with pytest.raises(CertificateError, match="unknown fields: findings"):
        Certificate.from_dict({**written, "findings": []})


def test_there_are_files_of_version_1():
    assert len(VERSION_1) == 11


def test_a_prior_of_the_user_in_version_1_is_said_today():
    folder = Path(__file__).parent / "version_1"
    for path in VERSION_1:
        prior = Certificate.from_json(path).provenance.get("prior")
        expected = {
            "prior of the user.json": "given by the user",
            "split and learned prior.json": "learned on part A",
        }
        assert prior == expected.get(path.name), path.name
    given = Certificate.from_json(folder / "prior of the user.json")
    assert any("given by the user" in text for text in given.assumptions)


def test_a_pickle_of_version_1_is_read(made):
    state = dict(vars(made["prior"]))
    del state["findings"], state["files"]
    state["provenance"] = {}
    old = copy.copy(made["prior"])
    Certificate.__setstate__(old, state)
    assert old == made["prior"]


# --- when fixed votes were called candidates ---


@pytest.mark.parametrize("path", VERSION_2, ids=lambda path: path.stem)
def test_a_file_of_certivote_0_1_0_is_read(path, tmp_path):
    """These files are of the format's version 2, in the words of certivote 0.1.0."""
    written = json.loads(path.read_text(encoding="utf-8"))
    assert (written["format_version"], written["certivote_version"]) == (2, "0.1.0")
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    certificate = Certificate.from_json(path)
    certificate.verify()
    certificate.verify(*make_votes(n=3))
    assert certificate.risk_bound == written["risk_bound"]
    parameters = written["bound_parameters"]
    assert certificate.bound_parameters.get("fixed_votes") == parameters.get("candidates")
    # Written again it has the words of today, and is the same certificate.
    again = json.loads(certificate.to_json(tmp_path / "again.json"))
    assert Certificate.from_json(tmp_path / "again.json") == certificate
    assert "candidates" not in json.dumps(again)
    # Each has the words of its time, and no others.
    assert (again["assumptions"] == written["assumptions"]) == ("candidates" not in parameters)
    if "candidates" in parameters:
        for one, other in ((written, again), (again, written)):
            with pytest.raises(CertificateError, match="assumptions"):
                Certificate.from_dict({**one, "assumptions": other["assumptions"]})


def test_there_are_files_of_certivote_0_1_0():
    assert [path.stem for path in VERSION_2] == ["best", "candidates", "heldout"]


@pytest.mark.parametrize(("bound", "parameter"), [("lacasse", "constant"), ("best", "shares")])
def test_a_certificate_leaves_nothing_open(bound, parameter):
    """What None means is decided when it is made: another version may decide otherwise."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    votes = np.where(rng.random((300, 5)) < 0.2, 1 - y[:, None], y[:, None])
    fields = certify(votes, y, bound=bound).to_dict()
    assert fields["bound_parameters"][parameter] is not None
    fields["bound_parameters"][parameter] = None
    with pytest.raises(CertificateError, match=f"say which {parameter} was taken"):
        Certificate.from_dict(fields)
