"""Certificates of several claims: to a file and back, and what happens to those who change one."""

import copy
import json
import math
import pickle
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certivote import Certificate, CertificateError, certify
from certivote.claims import ClassFamily, CostFamily, PrecisionFamily, ShiftFamily

SCHEMA = json.loads(
    (files("certivote.certificate") / "certificate.schema.json").read_text(encoding="utf-8")
)
VERSION_2 = sorted((Path(__file__).parent / "version_2").glob("*.json"))
RNG = np.random.default_rng(0)
M = 300
Y = RNG.choice(["a", "b b", "<c>"], size=M, p=[0.5, 0.3, 0.2])
VOTES = np.where(
    RNG.random((M, 5)) < 0.45, RNG.choice(["a", "b b", "<c>"], size=(M, 5)), Y[:, None]
)
BY = {"region": RNG.choice(["north", "south"], size=M), "<i>": np.arange(M) % 3}
MIX = {"a": 0.25, "b b": 0.25, "<c>": 0.5}
COSTS = CostFamily(classes=["a", "b b", "<c>"], costs=[[0, 1, 2], [1, 0, 5], [2, 2, 0]])
FIXED = [
    *("recall", "precision", "balanced", "f1", "f1 of a", "error by region", "error by <i>"),
    *(ClassFamily(frequencies=(MIX,)), COSTS, ShiftFamily(distance="chi2", radius=0.1)),
]
LEARNED = ["recall", "balanced", "error by region", ShiftFamily(distance="kl", radius=0.1)]


@pytest.fixture(scope="module")
def sheets():
    """A sheet of a fixed vote, one of learned weights, and one of the best of both."""
    return {
        "fixed": certify(VOTES, Y, bound="heldout", claims=FIXED, by=BY),
        "learned": certify(VOTES, Y, bound="lacasse", claims=LEARNED, by=BY),
        "best": certify(VOTES, Y, claims=LEARNED, by=BY),
    }


SHEETS = ("fixed", "learned", "best")


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_are_read_back_equal(name, sheets, tmp_path):
    certificate = sheets[name]
    written = certificate.to_dict()
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    certificate.to_json(tmp_path / "sheet.json")
    for again in (
        Certificate.from_dict(written),
        Certificate.from_json(tmp_path / "sheet.json"),
        pickle.loads(pickle.dumps(certificate)),
        copy.deepcopy(certificate),
        replace(certificate),
    ):
        assert again == certificate
        assert hash(again) == hash(certificate)
        assert again.claims == certificate.claims
        assert again.to_json() == certificate.to_json()
        again.verify(VOTES, Y, by=BY)


@settings(max_examples=25, deadline=None)
@example(seed=1, m=1, names=["\0"], delta=0.5)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 60),
    names=st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=4),
    delta=st.floats(1e-12, 0.5),
)
def test_any_sheet_is_read_back_equal(seed, m, names, delta):
    rng = np.random.default_rng(seed)
    words = np.array([*dict.fromkeys(names), "other"], dtype=object)
    words = np.array(list(dict.fromkeys(words)), dtype=object)
    y, predicted, group = (words[rng.integers(len(words), size=m)] for _ in range(3))
    claims = ["recall", "precision", "f1", "balanced", "error by g"]
    certificate = certify(predicted, y, delta=delta, claims=claims, by={"g": group})
    again = Certificate.from_dict(json.loads(certificate.to_json()))
    assert again == certificate
    assert again.claims == certificate.claims
    again.verify(predicted, y, by={"g": group})
    for claim in again.claims:
        for limit in (claim.upper, claim.lower):
            assert limit is None or 0.0 <= limit <= 1.0


def test_sheets_differ_in_what_they_claim(sheets):
    certificate = sheets["fixed"]
    plain = certify(VOTES, Y, bound="heldout")
    assert plain != certificate
    fewer = certify(VOTES, Y, bound="heldout", claims=FIXED[:-1], by=BY)
    assert fewer != certificate
    assert fewer == certify(VOTES, Y, bound="heldout", claims=FIXED[:-1], by=BY)


def test_one_claim_is_a_sheet_of_one():
    certificate = certify(VOTES, Y, bound="heldout")
    (claim,) = certificate.claims
    assert claim.about == "error"
    assert claim.upper == certificate.risk_bound
    assert claim.delta == certificate.delta == 0.05
    assert claim.evidence == certificate.evidence
    assert certificate.to_dict()["families"] == []


@pytest.mark.parametrize("path", VERSION_2, ids=lambda path: path.stem)
def test_files_from_before_are_read(path):
    fields = json.loads(path.read_text(encoding="utf-8"))
    assert "families" not in fields
    certificate = Certificate.from_json(path)
    assert certificate.families == ()
    assert certificate.total_delta is None
    assert [claim.about for claim in certificate.claims] == ["error"]


# --- changing a file ---


def leaves(value, path=()):
    """All places of a nested value that are no container."""
    if isinstance(value, dict):
        return [leaf for name, item in value.items() for leaf in leaves(item, (*path, name))]
    if isinstance(value, list):
        return [leaf for i, item in enumerate(value) for leaf in leaves(item, (*path, i))]
    return [path]


def containers(value, path=()):
    """All objects and lists in a nested value, itself too."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [
        found
        for name, item in items
        if isinstance(item, dict | list)
        for found in containers(item, (*path, name))
    ]
    return [path, *inner]


def at(value, path):
    for name in path:
        value = value[name]
    return value


def others(value):
    """Other values than a number, a text or a truth, some of another type."""
    if isinstance(value, bool):
        return [not value, 1]
    if isinstance(value, int):
        return [value + 1, value - 1, 0.5, str(value), 10**30]
    if isinstance(value, float):
        return [value * 0.99, value + 1e-6, math.nan, None]
    if isinstance(value, str):
        return [value + "x", value.replace("0", "9"), None]
    return [0.5, "x"]


def caught(fields):
    """Whether reading, or checking against the data, refuses this; by no other error."""
    try:
        Certificate.from_dict(fields).verify(VOTES, Y, by=BY)
    except CertificateError:
        return True
    except ValueError as error:  # a column that is not there is for whoever calls
        return "by must have the column" in str(error)
    return False


@pytest.mark.parametrize("name", SHEETS)
def test_every_number_and_text_of_a_sheet_is_caught_if_changed(name, sheets):
    fields = json.loads(sheets[name].to_json())
    assert not caught(fields)
    kept = []
    for path in [*leaves(fields["families"], ("families",)), ("total_delta",)]:
        value = at(fields, path)
        for new in others(value):
            if new == value and type(new) is type(value):
                continue
            changed = copy.deepcopy(fields)
            at(changed, path[:-1])[path[-1]] = new
            if not caught(changed):
                kept.append((path, value, new))
    # Whole and broken numbers are the same, and nothing else is.
    assert [
        (path, value, new)
        for path, value, new in kept
        if not (isinstance(value, float) and value == new)
    ] == []


@pytest.mark.parametrize("name", SHEETS)
def test_whatever_is_left_out_of_a_sheet_or_added_is_caught(name, sheets):
    fields = json.loads(sheets[name].to_json())
    kept = []
    for path in containers(fields["families"], ("families",)):
        value = at(fields, path)
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            changed = copy.deepcopy(fields)
            del at(changed, path)[key]
            if not caught(changed):
                kept.append((*path, key))
        changed = copy.deepcopy(fields)
        inside = at(changed, path)
        if isinstance(inside, dict):
            inside["more"] = 1
        else:
            inside.append(copy.deepcopy(inside[-1]) if inside else 1)
        if not caught(changed):
            kept.append((*path, "more"))
        for wrong in ([], {}, None):
            changed = copy.deepcopy(fields)
            at(changed, path[:-1])[path[-1]] = wrong
            if wrong != value and not caught(changed):
                kept.append((*path, wrong))
    # The shift takes no δ: without it the others stand as they did, and it is no part of them.
    shift = next(i for i, family in enumerate(fields["families"]) if family["kind"] == "shift")
    assert kept == [("families", shift)]


@pytest.mark.parametrize("name", SHEETS)
def test_counts_that_are_changed_with_all_that_follows_are_caught_by_the_data(name, sheets):
    certificate = sheets[name]
    found = 0
    for i, family in enumerate(certificate.families):
        for path in leaves(family.evidence):
            value = at(family.evidence, path)
            for step in (-1, 1) if isinstance(value, int) else (-1e-3, 1e-3):
                evidence = copy.deepcopy(family.evidence)
                part = at(evidence, path[:-1])
                part[path[-1]] = value + step
                if path[-1] == "joint_error":  # r = e + d/2
                    part["gibbs_risk"] += step
                try:
                    families = list(certificate.families)
                    families[i] = replace(family, evidence=evidence)
                    changed = replace(certificate, families=tuple(families))
                    changed = Certificate.from_dict(json.loads(changed.to_json()))
                except ValueError:
                    continue  # it does not get so far
                found += 1
                with pytest.raises(CertificateError, match="evidence for"):
                    changed.verify(VOTES, Y, by=BY)
    assert found or name == "best"  # of a fixed vote, whose errors are those of all parts


def test_errors_that_are_moved_between_parts_are_caught_by_the_data(sheets):
    certificate = sheets["fixed"]
    family = certificate.families[0]
    evidence = copy.deepcopy(family.evidence)
    evidence["a"]["vote_errors"] += 1
    evidence["b b"]["vote_errors"] -= 1
    changed = replace(
        certificate, families=(replace(family, evidence=evidence), *certificate.families[1:])
    )
    Certificate.from_dict(json.loads(changed.to_json()))
    with pytest.raises(CertificateError, match="the evidence for 'recall'"):
        changed.verify(VOTES, Y, by=BY)


def test_delta_is_spent_once(sheets):
    certificate = sheets["fixed"]
    recall, *rest = certificate.families
    more = PrecisionFamily(0.01, certificate.families[1].evidence)
    with pytest.raises(CertificateError, match="once each"):
        replace(certificate, families=(*certificate.families, more))
    with pytest.raises(CertificateError, match="total_delta must be the sum"):
        replace(certificate, families=(replace(recall, delta=recall.delta * 2), *rest))
    with pytest.raises(CertificateError, match="total_delta must be the sum"):
        replace(certificate, families=rest)
    with pytest.raises(CertificateError, match="total_delta"):
        replace(certificate, total_delta=None)
    with pytest.raises(CertificateError, match="total_delta must be null"):
        replace(certificate, families=())
    for delta in (0.04, 0.06, 0.0, 0.6, "0.05"):
        with pytest.raises(CertificateError, match="total_delta"):
            replace(certificate, total_delta=delta)


def test_a_fixed_sheet_is_none_of_learned_weights(sheets):
    fields = json.loads(sheets["learned"].to_json())
    names = [family.name for family in sheets["fixed"].families]
    precision = json.loads(sheets["fixed"].to_json())["families"][names.index("precision")]
    fields["families"][1] = {**precision, "delta": fields["families"][1]["delta"]}
    with pytest.raises(CertificateError, match="can be claimed only of a vote that was fixed"):
        Certificate.from_dict(fields)


def test_a_sheet_is_of_the_columns_that_were_given(sheets):
    certificate = sheets["fixed"]
    with pytest.raises(ValueError, match="by must have the column 'region'"):
        certificate.verify(VOTES, Y)
    with pytest.raises(CertificateError, match="the evidence for 'error by region'"):
        certificate.verify(VOTES, Y, by={**BY, "region": BY["region"][::-1]})
    certificate.verify()


# --- what is shown ---


def test_every_claim_is_shown_and_odd_names_are_harmless(sheets):
    certificate = sheets["fixed"]
    text, html = str(certificate), certificate._repr_html_()
    assert "With the same confidence, all at once:" in text
    tree = ElementTree.fromstring(html)
    shown = ["".join(element.itertext()) for element in tree.iter("li")]
    for claim in certificate.claims[1:]:
        assert f"\n  {claim.statement}\n" in text
        assert claim.statement in shown
    assert "<c>" not in html
    assert "<i>" not in html
    assert repr(certificate).startswith("Certificate(risk_bound≤")
    assert "95%" in repr(certificate)


def test_a_name_cannot_steer_a_terminal():
    y = np.array(["ok", "\x1b[31m\nIt never errs."] * 50)
    text = str(certify(y, y, claims=["recall"]))
    assert "\x1b" not in text
    assert "\nIt never errs." not in text


def test_statements_round_to_the_safe_side(sheets):
    for certificate in sheets.values():
        for claim in certificate.claims:
            words = claim.statement.removesuffix(" That says nothing.")
            if " at most " in words and claim.about != "cost":
                said = float(words.rsplit("at most ", 1)[1].rstrip("."))
                limit = 1 - claim.lower if claim.upper is None else claim.upper
                assert limit - 2e-15 <= said < limit + 1.0001e-4
            elif " at least " in words:
                said = float(words.rsplit("at least ", 1)[1].rstrip("."))
                assert claim.lower - 1.0001e-4 < said <= claim.lower


def test_the_assumptions_say_that_the_claims_were_chosen_before(sheets):
    for certificate in sheets.values():
        assert any("What is claimed besides" in text for text in certificate.assumptions)
    plain = certify(VOTES, Y, bound="heldout")
    assert not any("What is claimed besides" in text for text in plain.assumptions)
