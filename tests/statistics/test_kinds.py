"""A kind of statistics of one's own, from registration to the page; and one class or group."""

import hashlib
import html
import json
import pickle
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from certivote import Certificate, CertificateError, VoteStatistics, certify, minimize
from certivote.bounds import get_bound
from certivote.certificate.provenance import main_assumptions
from certivote.report import report
from certivote.statistics import (
    Moments,
    OutOfBagStatistics,
    Statistics,
    is_statistics,
    kind_of,
    kinds,
    register,
)
from reference import MOMENT_BOUNDS

SCHEMA = jsonschema.Draft202012Validator(
    json.loads(
        (files("certivote.certificate") / "certificate.schema.json").read_text(encoding="utf-8")
    )
)


class PairedStatistics(Statistics):
    """Counts of a table that came in twice as many rows: the two of a pair count as one."""

    kind = "pairs of rows"
    drawn_assumption = "The pairs were drawn independently of each other, and rows were not."
    voters_assumption = "The voters were fixed before the pairs were drawn."

    def __init__(self, losses, source="a register"):
        self.own = VoteStatistics.from_losses(losses[::2])
        self.source = source
        self.n_samples = self.own.n_samples

    @property
    def n_voters(self):
        return self.own.n_voters

    @property
    def offers(self):
        return frozenset({"moments", "joint"})

    @property
    def error_rates(self):
        return self.own.error_rates

    def moments_at(self, q):
        return self.own.moments_at(q)

    @property
    def sha256(self):
        return hashlib.sha256(f"pairs {self.own.sha256}".encode()).hexdigest()

    def facts(self):
        return super().facts() | {"source": self.source}

    @classmethod
    def check_facts(cls, facts):
        if not isinstance(facts.get("source"), str):
            raise ValueError(f"source must be a text, got {facts.get('source')!r}.")
        return {"source": facts["source"]}

    @classmethod
    def assumptions(cls, facts):
        return (f"The pairs of {facts['source']} are independent.",)


@pytest.fixture
def known(monkeypatch):
    """The kind is registered, for this test."""
    monkeypatch.setattr(kinds, "KINDS", dict(kinds.KINDS))
    register(PairedStatistics)


def losses_of(m=4_000, n=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((m, n)) < rng.beta(0.3, 2.5, (m, 1)) * rng.uniform(0.5, 1.5, n)


LOSSES = losses_of()


@pytest.mark.parametrize("name", [*MOMENT_BOUNDS, None])
def test_a_registered_kind_goes_all_the_way(known, name, tmp_path):
    statistics = PairedStatistics(LOSSES)
    certificate = certify(statistics, bound=name)
    plain = certify(VoteStatistics.from_losses(LOSSES[::2]), bound=name)
    assert certificate.risk_bound == plain.risk_bound < 1.0
    assert certificate.provenance == {"statistics": "pairs of rows", "source": "a register"}
    assert certificate.assumptions[:2] == (
        "The pairs were drawn independently of each other, and rows were not.",
        "The voters were fixed before the pairs were drawn.",
    )
    assert not any("examples were drawn independently" in text for text in certificate.assumptions)
    assert "The pairs of a register are independent." in certificate.assumptions
    certificate.to_json(tmp_path / "pairs.json")
    SCHEMA.validate(json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8")))
    again = Certificate.from_json(tmp_path / "pairs.json")
    assert again == certificate == pickle.loads(pickle.dumps(certificate))
    again.verify()
    again.verify(statistics=PairedStatistics(LOSSES))
    page = report(again)
    for text in (again.claim, "pairs of rows", "The pairs of a register are independent."):
        assert text in page
    # It is the first of the main ones too, and what is untrue of rows is nowhere.
    assert main_assumptions(again.provenance)[0][0] == certificate.assumptions[0]
    assert certificate.assumptions[0] in page
    assert "examples were drawn independently" not in page


def test_what_such_a_kind_says_is_checked(known):
    certificate = certify(PairedStatistics(LOSSES), bound="tandem")
    with pytest.raises(CertificateError, match="the counts are not those"):
        certificate.verify(statistics=PairedStatistics(losses_of(seed=1)))
    with pytest.raises(CertificateError, match="source is claimed to be 'a register', but is"):
        certificate.verify(statistics=PairedStatistics(LOSSES, "hearsay"))
    fields = json.loads(certificate.to_json())
    for change, words in (
        (lambda f: f["provenance"].pop("statistics"), "source"),
        (lambda f: f["provenance"].update(source=3), "source must be a text"),
        (lambda f: f["provenance"].pop("source"), "source must be a text"),
        (lambda f: f["provenance"].update(more=1), "provenance must not have more"),
        (lambda f: f["evidence"].update(one_sample=False), "one_sample must not be false"),
        (lambda f: f["evidence"].update(joint_size=4_000), "joint_size"),
        (lambda f: f["assumptions"].pop(), "assumptions"),
    ):
        changed = json.loads(json.dumps(fields))
        change(changed)
        with pytest.raises(CertificateError, match=words):
            Certificate.from_dict(changed)


def test_what_it_does_not_offer_is_named(known):
    statistics = PairedStatistics(LOSSES)
    with pytest.raises(ValueError, match=r"'dirichlet' needs rows, .*\(they have joint, mom"):
        minimize("dirichlet", statistics)
    with pytest.raises(ValueError, match="'heldout' needs fixed votes"):
        certify(statistics, bound="heldout")
    with pytest.raises(ValueError, match="PairedStatistics hold no rows"):
        statistics.packed_chunks()
    with pytest.raises(ValueError, match="PairedStatistics do not know the errors of votes"):
        statistics.vote_errors(np.full(5, 0.2))


def test_a_kind_that_nobody_registered(monkeypatch):
    statistics = PairedStatistics(LOSSES)
    assert get_bound("gibbs").value(statistics, np.full(5, 0.2)) < 1.0  # a value needs no file
    with pytest.raises(CertificateError, match=r"got 'pairs of rows': .* must be registered first"):
        certify(statistics, bound="gibbs")
    with monkeypatch.context() as patch:
        patch.setattr(kinds, "KINDS", dict(kinds.KINDS))
        register(PairedStatistics)
        fields = json.loads(certify(statistics, bound="gibbs").to_json())
    with pytest.raises(CertificateError, match="must be registered first"):
        Certificate.from_dict(fields)


def test_what_can_be_registered(known):
    assert register(PairedStatistics) is PairedStatistics  # once more is no harm
    assert kind_of({"statistics": "pairs of rows"}) is PairedStatistics
    for taken in ("votes", "pairs of rows"):
        twin = type("Twin", (Statistics,), {"kind": taken})
        with pytest.raises(ValueError, match=f"kind '{taken}' is taken by"):
            register(twin)
    for name in (None, "", 3):
        with pytest.raises(ValueError, match="Nameless must say its name"):
            register(type("Nameless", (Statistics,), {"kind": name}))
    with pytest.raises(ValueError, match="Nameless must say its name"):
        register(type("Nameless", (Statistics,), {}))
    for other in (int, PairedStatistics(LOSSES), "votes"):
        with pytest.raises(TypeError, match="kind must be a subclass of Statistics"):
            register(other)


def test_kinds_by_name():
    assert kind_of({}) is kind_of({"statistics": "votes"}) is VoteStatistics
    assert kind_of({"statistics": "out of bag"}) is OutOfBagStatistics
    for name in ("pairs of rows", None, 3, ["votes"]):
        with pytest.raises(ValueError, match="statistics must be one of 'votes', 'out of bag'"):
            kind_of({"statistics": name})
    assert is_statistics(PairedStatistics(LOSSES))
    assert not is_statistics(LOSSES)
    assert not is_statistics(VoteStatistics)


def test_a_kind_must_write_what_bounds_ask():
    with pytest.raises(TypeError, match="moments_at"):
        type("Half", (Statistics,), {"kind": "half"})()


def test_moments_that_deny_their_kind_are_refused(monkeypatch):
    """Statistics of several samples must say so in their moments, or they would be compared."""

    class Forgetful(PairedStatistics):
        """Of several samples, but its moments are those of one."""

        kind, one_sample = "forgetful", False

    monkeypatch.setattr(kinds, "KINDS", dict(kinds.KINDS))
    register(Forgetful)
    assert isinstance(Forgetful(LOSSES).moments(np.full(5, 0.2)), Moments)
    with pytest.raises(CertificateError, match="one_sample must be false"):
        certify(Forgetful(LOSSES), bound="gibbs")


# --- one class, or one group ---

SUBJECTS = {
    "class": 'a new example of class "malignant"',
    "group": 'of the group "region = north"',
}
NAMES = {"class": "malignant", "group": "region = north"}


def votes_of(m=900, n=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.full(m, "malignant")
    return np.where(rng.random((m, n)) < 0.1, "benign", y[:, None]), y


VOTES, Y = votes_of()
COUNTS = VoteStatistics.from_votes(VOTES, Y)
IN_BAG = np.random.default_rng(1).random(VOTES.shape) < 0.3
# Some of each kind of the library.
KINDS = {
    "votes": COUNTS,
    "out of bag": OutOfBagStatistics.from_votes(VOTES, Y, IN_BAG),
}
every_kind = pytest.mark.parametrize("statistics", KINDS.values(), ids=KINDS)


def test_there_are_some_of_every_kind_of_the_library():
    ours = {
        name: kind for name, kind in kinds.KINDS.items() if kind.__module__.startswith("certivote.")
    }
    assert {name: type(statistics) for name, statistics in KINDS.items()} == ours


@pytest.mark.parametrize("what", [None, *SUBJECTS])
@every_kind
def test_a_file_of_any_kind_follows_the_schema(what, statistics):
    """Its facts are in the provenance, and so is the class or the group."""
    own = statistics if what is None else statistics.restricted_to(what, NAMES[what])
    written = json.loads(certify(own, bound="tandem").to_json())
    assert written["provenance"].get(what) == NAMES.get(what)
    SCHEMA.validate(written)
    for wrong in ({"class": 3}, {"group": ""}, {"class": "a", "group": "b"}):
        provenance = written["provenance"] | wrong
        assert not SCHEMA.is_valid(written | {"provenance": provenance})
        with pytest.raises(CertificateError):
            Certificate.from_dict(written | {"provenance": provenance})


def test_the_schema_leaves_what_else_is_said_to_kinds_that_it_does_not_know(known):
    for statistics in (*KINDS.values(), PairedStatistics(LOSSES)):
        written = json.loads(certify(statistics, bound="tandem").to_json())
        written["provenance"]["more"] = 1
        assert SCHEMA.is_valid(written) == (statistics.kind not in ("votes", "out of bag"))
        with pytest.raises(CertificateError, match="provenance must not have more"):
            Certificate.from_dict(written)


@pytest.mark.parametrize("name", ["a", "a" * 200, "a" * 201, "", "é = ∞", 'a "b"', "'b'"])
def test_the_schema_takes_the_names_that_the_library_takes(name):
    written = json.loads(certify(COUNTS, bound="tandem").to_json())
    taken = SCHEMA.is_valid(written | {"provenance": {"group": name}})
    try:
        COUNTS.restricted_to("group", name)
    except ValueError:
        assert not taken
    else:
        assert taken


@pytest.mark.parametrize("what", SUBJECTS)
@every_kind
def test_a_certificate_about_one_class_or_group(what, statistics, tmp_path):
    own = statistics.restricted_to(what, NAMES[what])
    assert own.subject == (what, NAMES[what])
    assert statistics.subject is None
    certificate, plain = certify(own, bound="tandem"), certify(statistics, bound="tandem")
    assert certificate.risk_bound == plain.risk_bound
    assert certificate.statistics_sha256 != plain.statistics_sha256
    assert SUBJECTS[what] in certificate.claim
    assert "of class" not in plain.claim
    assert certificate.provenance[what] == NAMES[what]
    assert certificate.assumptions[-1].startswith("All certification examples are of ")
    assert NAMES[what] in certificate.assumptions[-1]
    certificate.to_json(tmp_path / "one.json")
    again = Certificate.from_json(tmp_path / "one.json")
    assert again == certificate
    assert json.loads((tmp_path / "one.json").read_text())["claim"] == certificate.claim
    again.verify()
    again.verify(statistics=pickle.loads(pickle.dumps(own)))
    assert certificate.claim.rpartition("probability")[0] in html.unescape(report(again))
    # The counts are the same, but not what they are of.
    others = [statistics, statistics.restricted_to(what, "another")]
    others.append(statistics.restricted_to({"class": "group", "group": "class"}[what], NAMES[what]))
    for other in others:
        with pytest.raises(CertificateError, match=r"(class|group) is claimed to be .*, but is"):
            again.verify(statistics=other)
    with pytest.raises(CertificateError, match=f"{what} is claimed to be None, but is"):
        plain.verify(statistics=own)


@pytest.mark.parametrize("what", SUBJECTS)
def test_votes_verify_a_certificate_about_one_class_or_group(what):
    for bound in ("tandem", "best"):
        own = get_bound(bound).count(VOTES, Y).restricted_to(what, NAMES[what])
        certificate = certify(own, bound=bound)
        certificate.verify(VOTES, Y)
        with pytest.raises(CertificateError, match="the counts are not those"):
            certificate.verify(*votes_of(seed=1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f["provenance"].pop("class"), "assumptions must be those"),
        (lambda f: f["provenance"].update({"class": "benign"}), "assumptions must be those"),
        (lambda f: f["provenance"].update(group="north"), "either class or group"),
        (lambda f: f["provenance"].update({"class": 1}), "class must be a text"),
        (
            lambda f: f.update(claim=f["claim"].replace(' of class "malignant"', "")),
            "claim must say",
        ),
        (lambda f: f["assumptions"].pop(), "assumptions must be those"),
    ],
)
def test_a_forged_subject_is_refused(change, words):
    certificate = certify(COUNTS.restricted_to("class", "malignant"), bound="tandem")
    fields = json.loads(certificate.to_json())
    change(fields)
    with pytest.raises(CertificateError, match=words):
        Certificate.from_dict(fields)


def test_subjects_that_cannot_be():
    for what in ("label", "", None):
        with pytest.raises(ValueError, match="what"):
            COUNTS.restricted_to(what, "north")
    for name in ("", None, 3, ["north"]):
        with pytest.raises(ValueError, match="name must be a text"):
            COUNTS.restricted_to("group", name)


def test_shards_of_one_class_add_up_and_others_do_not(tmp_path):
    more = VoteStatistics.from_votes(*votes_of(seed=1))
    own, other = (s.restricted_to("class", "malignant") for s in (COUNTS, more))
    both = own + other
    assert both.subject == ("class", "malignant")
    assert both == COUNTS + more
    for wrong in (more, more.restricted_to("class", "benign")):
        with pytest.raises(ValueError, match="only be merged if they are of the same class or"):
            own + wrong
    with pytest.raises(ValueError, match="one class or group are not saved"):
        own.save(tmp_path / "own.npz")


def test_the_page_says_how_to_verify_other_statistics():
    losses = np.random.default_rng(0).random((300, 4)) < 0.2
    in_bag = np.random.default_rng(1).random((300, 4)) < 0.3
    page = report(certify(OutOfBagStatistics.from_losses(losses, in_bag)))
    assert "certificate.verify(statistics=statistics)" in page
    assert "verify(votes, y)" not in page
    assert "--model" not in page
    assert "certificate.verify(votes, y)" in report(certify(VoteStatistics.from_losses(losses)))
