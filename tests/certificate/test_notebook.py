"""What a notebook shows of a certificate."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from certivote import VoteStatistics, certify
from certivote.bounds import LacasseBound

NASTY = """<script>alert("1")</script>'&lt;</table>"""


@pytest.fixture(scope="module")
def certificate():
    losses = np.random.default_rng(0).random((400, 6)) < 0.2
    made = certify(VoteStatistics.from_losses(losses), bound="lacasse")
    origin = {"voters_from": "part A of a random split", "seed": 7}
    return dataclasses.replace(made, provenance=origin)


def parse(certificate):
    """The fragment as a tree; it is well-formed XML too."""
    return ElementTree.fromstring(certificate._repr_html_())


def texts(tree, tag):
    return ["".join(element.itertext()) for element in tree.iter(tag)]


def test_it_says_what_the_text_says(certificate):
    tree, lines = parse(certificate), str(certificate).splitlines()
    assert texts(tree, "p") == [lines[0]]
    names, values = texts(tree, "th"), texts(tree, "td")
    middle = lines[1 : lines.index("It assumes:")]
    assert [f"  {name:13} {value}" for name, value in zip(names, values, strict=True)] == middle
    assert [f"  - {text}" for text in texts(tree, "li")] == lines[lines.index("It assumes:") + 1 :]


def test_the_figures_are_the_samples(certificate):
    shown = dict(zip(texts(parse(certificate), "th"), texts(parse(certificate), "td"), strict=True))
    losses = np.random.default_rng(0).random((400, 6)) < 0.2
    erring = losses @ certificate.weights
    assert shown["examples"] == "400"
    assert float(shown["Gibbs risk"]) == pytest.approx(erring.mean(), abs=5.01e-4)
    assert float(shown["joint error"]) == pytest.approx((erring**2).mean(), abs=5.01e-4)
    assert shown["voters from"] == "part A of a random split"
    assert shown["seed"] == "7"


def test_a_vacuous_certificate_says_so():
    vacuous = certify(VoteStatistics.from_losses(np.eye(3)))
    assert vacuous.vacuous
    assert texts(parse(vacuous), "p")[1:] == [
        "The certificate is vacuous: it says nothing about this vote."
    ]


class OddBound(LacasseBound):
    def check_parameters(self):
        pass


def test_nothing_that_others_wrote_becomes_markup(certificate, monkeypatch, registry):
    monkeypatch.setitem(registry, NASTY, OddBound)
    odd = dataclasses.replace(
        certificate,
        bound=NASTY,
        bound_parameters={"delta": 0.05, "constant": NASTY},
        provenance={"data": NASTY},
        findings=(NASTY,),
    )
    tree = parse(odd)
    assert not list(tree.iter("script"))
    assert (texts(tree, "th")[-1], texts(tree, "td")[-1]) == ("data", NASTY)
    assert texts(tree, "li") == [NASTY, *odd.assumptions]
    assert texts(tree, "td")[0] == f"{NASTY} (constant {NASTY!r})"


def test_findings_stand_between_the_claim_and_the_figures(certificate):
    found = ("Half of the examples have a twin.", "A class was never seen.")
    doubtful = dataclasses.replace(certificate, findings=found)
    lines = str(doubtful).splitlines()
    assert lines[0] == certificate.claim
    assert "the claim may be false" in lines[1]
    assert lines[2:4] == [f"  - {text}" for text in found]
    assert lines[4:] == str(certificate).splitlines()[1:]
    tree = parse(doubtful)
    assert "".join(tree[1].itertext()) == "".join([lines[1], *found])
    assert tree[1].tag == "strong"
    assert [child.tag for child in tree][2:] == [child.tag for child in parse(certificate)][1:]


def test_colours_are_left_to_the_notebook(certificate):
    styles = " ".join(e.get("style", "") for e in parse(certificate).iter())
    assert "padding" in styles
    assert not re.search(r"#[0-9a-f]{3}|rgb|url", styles)
    assert set(re.findall(r"(?<!-)color: (\w+)", styles)) == {"inherit"}
    assert set(re.findall(r"background: (\w+)", styles)) == {"none"}
