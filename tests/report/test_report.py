"""The page of a certificate, read by a parser that knows nothing of how it was written."""

import base64
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
from decimal import ROUND_CEILING, Decimal

import matplotlib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    Certificate,
    CertificateError,
    VoteStatistics,
    certify,
    certify_model,
    minimize,
)
from certivote.bounds import Bound, MomentBound, get_bound, list_bounds
from certivote.divergences import kl_divergence
from certivote.report import report, write_report
from certivote.statistics import OutOfBagStatistics
from pages import NASTY, NEIGHBOURS, Page, check_fields, rounded


def make_votes(m=400, n=6, error=0.2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    return np.where(rng.random((m, n)) < error, 1 - y[:, None], y[:, None]), y


VOTES, Y = make_votes()
STATISTICS = VoteStatistics.from_votes(VOTES, Y)


@pytest.fixture(scope="module")
def certificate():
    made = certify(VOTES, Y, bound="lacasse", delta=0.001)
    origin = {"voters_from": "part A of a random split", "seed": 7}
    return dataclasses.replace(made, provenance=origin)


@pytest.fixture(scope="module")
def result():
    """How the weights of the certificate were found."""
    return minimize(get_bound("lacasse", delta=0.001), STATISTICS)


@pytest.fixture(scope="module")
def text(certificate, result):
    """The whole page, with all its plots."""
    return report(certificate, optimisation=result)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


class OddBound(Bound):
    """A bound that knows nothing of moments, with evidence of its own."""

    name = f"odd {NASTY}"
    formula = f"odd_S {NASTY} _S"
    reference = f"Odd & sons, doi:10.1/x<y>, arXiv:2001.00001 {NASTY}"

    def __init__(self, delta=0.05, constant=NASTY, parts=()):
        super().__init__(delta)
        self.constant = constant
        self.parts = parts

    def check_parameters(self):
        pass

    def evidence(self, statistics, weights, prior=None):
        return {
            "mean_margin_loss": 0.123456789012345,
            NASTY: NASTY,
            "members": [1, 2.5, {"a": None}],
            "exact": True,
        }

    def from_evidence(self, evidence, weights, prior):
        return 0.25

    def evaluate(self, statistics, q, p):
        return 0.25, np.zeros_like(q)


@pytest.fixture
def odd(monkeypatch, registry):
    """A certificate of a bound that was not there when the page was designed."""
    monkeypatch.setitem(registry, OddBound.name, OddBound)
    made = certify(VOTES, Y, weights=np.full(6, 1 / 6), bound=OddBound(parts=[NASTY, 3]))
    return dataclasses.replace(
        made,
        provenance={"data": NASTY, "target": NASTY, "dropped": json.dumps([NASTY])},
        certivote_version=NASTY,
        findings=(NASTY,),
    )


# --- what it says ---


@pytest.mark.parametrize("name", list_bounds())
def test_every_figure_is_the_certificates(name):
    bound = get_bound(name, delta=0.0123)
    made = certify(VOTES, Y, bound=bound)
    fields = json.loads(made.to_json())
    page = Page(report(made))
    found = check_fields(page, fields)
    assert found >= {
        *("risk_bound", "confidence", "bound", "n_samples", "n_voters", "kl"),
        *("statistics_sha256", "votes_sha256", "certivote_version"),
        *(f"bound_parameters.{key}" for key in fields["bound_parameters"]),
        *(f"evidence.{key}" for key in fields["evidence"] if not key.endswith("_size")),
        *(*NEIGHBOURS, *(f"class_counts.{key}" for key in fields["class_counts"])),
        *(f"made.{key}" for key in fields["made"]),
    }
    judged = bound.winner(made.evidence) or bound
    learned = not np.allclose(made.weights, 1 / 6)
    assert len(page.all("svg", role="img")) == learned + isinstance(judged, MomentBound)

    first = page.all("p", **{"class": "formula"})[0]
    assert first["text"] == bound.formula.replace("_", "")
    assert any(bound.reference in note["text"] for note in page.all("p", **{"class": "note"}))
    for link in page.all("a"):
        address = link["attributes"]["href"]
        if not address.startswith("data:"):
            number = re.sub(r"^https://(doi.org|arxiv.org/abs)/", "", address)
            assert re.sub("^(doi|arXiv):", "", link["text"]) == number


def test_no_number_in_the_table_is_unmarked(page):
    cells = page.all("td")
    figures = [element for element in page.all("data") if "td" in element["inside"]]
    assert [cell["text"] for cell in cells] == [figure["text"] for figure in figures]
    assert len(cells) == 10


def test_the_claim_comes_first(certificate, page):
    claim = page.one("h1")
    assert claim["text"] == json.loads(certificate.to_json())["claim"]
    number = rounded(certificate.risk_bound, 4, ROUND_CEILING)
    assert next(e for e in page.elements if e["tag"] == "data")["text"] == number
    assert number in page.one("title")["text"]
    tags = [element["tag"] for element in page.elements]
    assert tags.index("h1") < tags.index("h2")


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize("risk_bound", [0.7, 0.70000001, 0.87654321, 0.99999])
def test_the_bound_is_rounded_up(certificate, risk_bound):
    shown = dataclasses.replace(certificate, risk_bound=risk_bound)
    assert risk_bound > certificate.risk_bound, "a larger claim must still verify"
    number = Page(report(shown)).all("data")[0]
    assert float(number["attributes"]["value"]) == risk_bound
    assert 0 <= Decimal(number["text"]) - Decimal(risk_bound) < Decimal("0.0001")


@pytest.mark.usefixtures("no_matplotlib")
def test_confidence_is_rounded_down():
    made = certify(VOTES, Y, delta=0.0123456789)
    text = report(made)
    (shown,) = Page(text).all(None, **{"data-field": "confidence"})
    assert shown["text"] == "98.765432%"
    assert "98.765433" not in text


def test_a_vacuous_certificate_says_that_it_says_nothing(page):
    assert not page.all("p", **{"class": "vacuous"})
    vacuous = certify(VOTES[:5], Y[:5], bound="mcallester")
    assert vacuous.risk_bound == 1.0
    empty = Page(report(vacuous))
    assert empty.one("p", **{"class": "vacuous"})["text"].startswith(
        "This certificate is vacuous: it says nothing about this vote."
    )
    check_fields(empty, json.loads(vacuous.to_json()))


def test_findings_stand_beside_the_claim(certificate, page):
    assert not page.all("div", **{"class": "findings"})
    found = ("Half of the examples have a twin.", "A class was never seen.")
    doubtful = Page(report(dataclasses.replace(certificate, findings=found)))
    box = doubtful.one("div", **{"class": "findings"})
    assert box["inside"][-1] == "header"
    items = [e["text"] for e in doubtful.all("li") if "header" in e["inside"]]
    assert items == list(found)
    assert "the claim may be false" in " ".join(box["text"].split())
    tags = [element["tag"] for element in doubtful.elements]
    assert tags.index("h1") < doubtful.elements.index(box) < tags.index("h2")


def test_the_page_says_what_is_checked_and_what_is_not(page):
    start = page.elements.index(page.all("section")[-1])
    items = [e["text"] for e in page.elements[start:] if e["tag"] == "li"]
    assert [item.partition(":")[0] for item in items] == ["Checked", "Not checked"] * 2
    assert "arithmetic" in items[0]
    assert "votes, labels and voters" in items[1]
    assert "prior that was not given by the user" in " ".join(items[2].split())
    assert "what the voters were trained on" in items[3]


def test_the_certificate_in_a_page_has_no_digests_of_files(certificate):
    """The page is one of these files: it cannot hold its own digest."""
    beside = dataclasses.replace(certificate, files={"report.html": "0" * 64})
    embedded = Page(report(beside)).one(None, id="certificate")["text"]
    assert Certificate.from_dict(json.loads(embedded)) == certificate


def test_every_assumption_can_be_ticked_off(certificate, page):
    labels = [label["text"] for label in page.all("label")]
    assert sorted(labels) == sorted(certificate.assumptions)
    boxes = page.all("input", type="checkbox")
    assert len(boxes) == len(certificate.assumptions)
    assert not any("checked" in box["attributes"] for box in boxes)


LOOKS = {"look": 2, "delta_of_all_looks": 0.006}


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize("looks", [{}, LOOKS], ids=["one", "a sequence"])
def test_the_three_that_matter_come_first_and_the_others_are_folded(certificate, looks):
    """Drawn alike, fixed without them, and the only one: in the order of the assumptions."""
    origin = {**certificate.provenance, **looks}
    page = Page(report(dataclasses.replace(certificate, provenance=origin)))
    folded = [label["text"] for label in page.all("label") if "details" in label["inside"]]
    shown = [label["text"] for label in page.all("label") if "details" not in label["inside"]]
    assert len(shown) == 3
    assert "drawn independently" in shown[0]
    assert "fixed without looking" in shown[1]
    assert ("number 2 of the certificates" if looks else "the only certificate") in shown[2]
    assert f"{len(folded)} more assumptions" in [e["text"] for e in page.all("summary")]


def test_an_assumption_of_other_statistics_takes_its_place():
    losses = np.random.default_rng(0).random((300, 8)) < 0.2
    in_bag = np.random.default_rng(1).random((300, 8)) < 0.5
    made = certify(OutOfBagStatistics.from_losses(losses, in_bag), bound="tandem")
    labels = Page(report(made)).all("label")
    assert labels[1]["text"].startswith("Each voter was trained on a part")


@pytest.mark.usefixtures("no_matplotlib")
def test_sizes_are_shown_where_they_differ_from_the_number_of_examples():
    more = certify(VOTES, Y, bound="seeger", unlabelled=make_votes(9_600, seed=1)[0])
    shown = [
        element["attributes"]["data-field"]
        for element in Page(report(more)).all("data")
        if element["attributes"]["data-field"].endswith("_size")
    ]
    assert shown == ["evidence.disagreement_size"]


# --- its neighbours, and what was looked for ---


def places(page, kind, tag, *names):
    """Attributes of what is drawn on a line of the scale, in percent of its width."""
    start = page.elements.index(page.one("div", **{"class": kind}))
    after = [e for e in page.elements[start + 1 :] if e["tag"] == "div"]
    end = page.elements.index(after[0])
    found = [e["attributes"] for e in page.elements[start:end] if e["tag"] == tag]
    return [
        tuple(float(attributes[name].removesuffix("%")) for name in names)
        for attributes in found
        if all(name in attributes for name in names)
    ]


@pytest.mark.usefixtures("no_matplotlib")
def test_everything_is_where_it_belongs_on_the_scale():
    votes = VOTES[:, :5]
    made = certify(votes, Y, bound="heldout")
    observed = np.mean((votes.mean(axis=1) > 0.5) != Y)
    beside = made.neighbours
    page = Page(report(made))
    # Linear from 0: the ticks say how long the scale is.
    ticks = places(page, "axis", "text", "x")
    labels = [float(e["text"]) for e in page.all("text") if "figure" in e["inside"]]
    per_cent = labels[-1] / 100.0
    assert [x * per_cent for (x,) in ticks] == pytest.approx(labels, abs=1e-4)
    assert places(page, "certificate", "rect", "width") == [
        pytest.approx((made.risk_bound / per_cent,), abs=0.01)
    ]
    low, high = beside.interval
    interval = places(page, "observed", "line", "x1", "x2")[-1]
    assert interval == pytest.approx((low / per_cent, high / per_cent), abs=0.01)
    marks = [x for (x,) in places(page, "observed", "svg", "x")]
    expected = [low, high, observed]
    assert marks == pytest.approx([value / per_cent for value in expected], abs=0.01)
    (baseline,) = places(page, "baseline", "svg", "x")
    rarer = min(np.mean(Y == 0), np.mean(Y == 1))
    assert baseline == pytest.approx((rarer / per_cent,), abs=0.01)
    caption = page.all("figcaption")[0]["text"]
    assert all(sentence in caption for sentence in beside.sentences)
    assert high > made.risk_bound
    assert "two sides" in caption


def test_without_neighbours_there_is_no_scale(certificate):
    assert "one scale" in report(certificate)
    assert "one scale" not in report(dataclasses.replace(certificate, neighbours=None))


def checked(page):
    """What the program says of each topic, and of the last assumption."""
    lists = [e for e in page.elements if e["tag"] in ("dt", "dd") and "ol" in e["inside"]]
    texts = [" ".join(e["text"].split()) for e in lists]
    return dict(zip(texts[::2], texts[1::2], strict=True))


@pytest.mark.usefixtures("no_matplotlib")
def test_what_was_looked_for_stands_below_the_assumption_it_is_about(certificate):
    checks = {"duplicates": "All 400 rows are different.", "model": "It is the same <b>file</b>."}
    clear = dataclasses.replace(certificate, checks=checks)
    said = checked(Page(report(clear)))
    none = "None: no program can see what else was asked for, or looked at."
    assert said == {
        "Duplicates": checks["duplicates"],
        "Order in time": "Not checked.",
        "Identifiers": "Not checked.",
        "Values": "Not checked.",
        "Later rows": "Not checked.",
        "Training rows": "Not checked.",
        "Model": checks["model"],
        "Check": none,
    }
    # What was found has no check: nobody must read that it was not looked for.
    said = checked(Page(report(dataclasses.replace(clear, findings=("Rows repeat.",)))))
    assert said["Training rows"] == "Not checked, or among what was found: see above."
    assert said["Duplicates"] == checks["duplicates"]


def test_one_classifier_is_not_called_a_vote(certificate, page):
    alone = certify(VOTES[:, :1], Y, bound="heldout")
    text = report(alone)
    assert Page(text).one("title")["text"].startswith("Certificate of a classifier: ")
    assert "weighted hard vote" not in text
    assert "shares of the vote" not in text
    assert page.one("title")["text"].startswith("Certificate of a majority vote: ")


# --- what others wrote ---


def test_nothing_that_others_wrote_becomes_markup(odd):
    column = dict.fromkeys(("name", "kind", "missing", "note"), NASTY)
    table = {"rows": 3, "columns": [column], "classes": {NASTY: NASTY}}
    details = {NASTY: NASTY, "data": NASTY, "model": NASTY}
    page = Page(report(odd, details=details, table=table))
    assert not page.all("script") + page.all("img")
    assert not any(name.startswith("on") for e in page.elements for name in e["attributes"])
    fields = json.loads(odd.to_json())
    found = check_fields(page, fields)
    assert {"bound", "certivote_version", "provenance.data", f"evidence.{NASTY}"} <= found
    assert {"bound_parameters.constant", "bound_parameters.parts"} <= found
    assert [dd["text"] for dd in page.all("dd")][:3] == [NASTY] * 3
    assert NASTY in page.one("p", **{"class": "formula"})["text"]
    assert len(page.all("style")) == 1
    assert page.all("th", scope="row")[0]["text"] == NASTY


@pytest.mark.usefixtures("no_matplotlib")
def test_unknown_evidence_is_shown_by_its_name_and_in_full(odd):
    page = Page(report(odd))
    shown = page.one("data", **{"data-field": "evidence.mean_margin_loss"})
    assert shown["text"] == "0.123456789012345"
    assert any(th["text"].startswith("Mean margin loss") for th in page.all("th"))
    members = page.one("data", **{"data-field": "evidence.members"})
    assert json.loads(members["text"]) == [1, 2.5, {"a": None}]


@pytest.mark.usefixtures("no_matplotlib")
def test_details_are_shown_with_their_names(certificate):
    page = Page(report(certificate, details={"clinical_ID": "A 7", "approved by": "Dr Kurz"}))
    names, values = ([e["text"] for e in page.all(tag)] for tag in ("dt", "dd"))
    assert names[:2] == ["Clinical ID", "Approved by"]
    assert values[:2] == ["A 7", "Dr Kurz"]


@pytest.mark.usefixtures("no_matplotlib")
def test_a_name_that_is_no_unicode_is_spelled_out(certificate):
    page = report(certificate, details={"data": "caf\udce9.csv"})
    assert r"caf\udce9.csv" in page.encode("utf-8").decode("utf-8")


@pytest.mark.usefixtures("no_matplotlib")
def test_a_name_cannot_turn_the_writing_around(certificate):
    turned = dataclasses.replace(certificate, findings=("\u202eevil\x7f",))
    page = Page(report(turned))
    assert page.one("div", **{"class": "findings"})["text"].strip().endswith(r"\u202eevil\x7f")
    embedded = page.one(None, id="certificate")["text"]
    assert Certificate.from_dict(json.loads(embedded)) == turned


# --- how a table was read ---


def column(name, kind="number", missing=0, note=""):
    return {"name": name, "kind": kind, "missing": missing, "note": note}


TABLE = {
    "rows": 12345,
    "classes": {"no": 12000, "yes": 345},
    "columns": [
        column("age", missing=7),
        column("city", "category", note="14 categories"),
        column("left", "target"),
    ],
}


def cells(page):
    """The lines of the table of columns."""
    start = page.elements.index(page.one("details", **{"class": "columns"}))
    end = page.elements.index(page.one("table", **{"class": "figures"}))
    found = [e for e in page.elements[start:end] if e["tag"] in ("th", "td")]
    texts = [" ".join(e["text"].split()) for e in found]
    return [tuple(texts[k : k + 3]) for k in range(3, len(texts), 3)]


@pytest.mark.usefixtures("no_matplotlib")
def test_a_table_is_shown_as_it_was_read(certificate):
    assert "How your table was read" not in report(certificate)
    page = Page(report(certificate, table=TABLE))
    assert cells(page) == [
        *(("age", "number", "7"), ("city", "category 14 categories", "0"), ("left", "target", "0")),
    ]
    said = [" ".join(p["text"].split()) for p in page.all("p")]
    assert "12,345 rows, 3 columns: 1 number, 1 category, 1 target." in said
    assert "open" in page.one("details", **{"class": "columns"})["attributes"]
    lines = [" ".join(li["text"].split()) for li in page.all("li")]
    assert {"no 12000", "yes 345"} <= set(lines)


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize("n_classes", [24, 25])
def test_many_classes_are_folded(n_classes):
    y = np.arange(1000) % n_classes
    made = certify(y, y)
    page = Page(report(made))
    shown = [e for e in page.all("data") if e["attributes"]["data-field"].startswith("class_c")]
    assert len(shown) == n_classes
    assert {"details" in e["inside"] for e in shown} == {n_classes == 25}
    check_fields(page, json.loads(made.to_json()))


@pytest.mark.usefixtures("no_matplotlib")
def test_of_many_columns_those_that_are_unusual_are_shown(certificate):
    plain = [column(f"x{j}") for j in range(79)]
    odd = [column("when", "date"), column("gaps", missing=3), column("id", "dropped", note="ids")]
    table = {**TABLE, "columns": [*plain[:50], *odd, *plain[50:]]}
    page = Page(report(certificate, table=table))
    shown = [name for name, *_ in cells(page)]
    assert shown == [*(f"x{j}" for j in range(27)), "when", "gaps", "id"]
    assert "and 52 more numbers" in [p["text"] for p in page.all("p")]
    assert "open" not in page.one("details", **{"class": "columns"})["attributes"]


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize("missing", ["rows", "classes", "columns", "name", "note"])
def test_a_table_that_lacks_something_is_refused(certificate, missing):
    table = {name: value for name, value in TABLE.items() if name != missing}
    if "columns" in table:
        table["columns"] = [{k: v for k, v in column("x").items() if k != missing}]
    with pytest.raises(ValueError, match=f"table must have rows, classes and columns.*{missing!r}"):
        report(certificate, table=table)


# --- plots ---


def test_plots_are_drawn_and_described(certificate, result, page):
    assert len(page.all("figure")) == len(page.all("figcaption")) == 4
    assert len(page.all("svg", role="img")) == 3
    for svg in page.all("svg", role="img"):
        assert len(svg["attributes"]["aria-label"]) > 20
        assert re.fullmatch(r"0 0 [\d.]+ [\d.]+", svg["attributes"]["viewbox"])
    assert "It converged." in page.all("figcaption")[-1]["text"]
    stopped = dataclasses.replace(result, converged=False, message=NASTY)
    caption = Page(report(certificate, optimisation=stopped)).all("figcaption")[-1]["text"]
    assert f"It stopped: {NASTY}." in caption


def test_a_certificate_without_a_plane_has_no_plane(odd):
    assert not Page(report(odd)).all("svg", role="img")
    weights = np.arange(1, 7) / 21
    kl = kl_divergence(weights, odd.prior)
    page = Page(report(dataclasses.replace(odd, weights=weights, kl=kl, neighbours=None)))
    assert "weights" in page.one("svg", role="img")["attributes"]["aria-label"]


def test_equal_weights_and_a_descent_that_led_nowhere_are_not_drawn(monkeypatch):
    """In the default case, where a test of equal weights wins, nothing is left to plot."""
    bound = get_bound("best")
    statistics = bound.count(VOTES, Y, None)
    result = minimize(bound, statistics)
    certificate = certify(statistics, weights=result.weights, bound=bound)
    assert certificate.evidence["winner"] == "heldout"
    result = dataclasses.replace(result, history=[0.5, 0.4, 0.3])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = report(certificate, optimisation=result)
    assert 'role="img" aria-label="The weights' not in page
    assert "iteration" not in page
    assert "matplotlib" not in page


def test_a_page_without_plots_loads_nothing_to_draw_them():
    script = (
        "import sys, numpy as np; from certivote import certify; "
        "from certivote.report import report; y = np.arange(99) % 2; "
        "print('<svg' in report(certify(y[:, None], y)), "
        "{'matplotlib', 'sklearn'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "True set()", done.stderr


def test_a_descent_of_one_step_is_not_drawn(certificate, result):
    page = Page(report(certificate, optimisation=dataclasses.replace(result, history=[0.5])))
    assert len(page.all("svg", role="img")) == 2


def test_ids_are_unique_and_references_lead_somewhere(text, page):
    ids = [e["attributes"]["id"] for e in page.elements if "id" in e["attributes"]]
    assert len(ids) == len(set(ids))
    references = re.findall(r"url\(#([^)]*)\)", text) + [
        e["attributes"][name][1:]
        for e in page.elements
        for name in ("href", "xlink:href")
        if e["attributes"].get(name, "").startswith("#")
    ]
    assert references
    assert set(references) <= set(ids)


def test_text_and_axes_have_the_colour_of_the_page(page):
    texts = page.all("text")
    assert texts
    for text in texts:
        fill = re.search(r"\bfill: ([^;]+)", text["attributes"].get("style", ""))
        assert fill is None or fill[1] == "currentColor"
    ticks = [e["attributes"]["style"] for e in page.all("use")]
    assert any("stroke: currentColor" in style for style in ticks)


def test_the_same_certificate_gives_the_same_page(certificate, result, text):
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.fonttype": "path"}):
        settings = dict(matplotlib.rcParams)
        assert report(certificate, optimisation=result) == text
        assert dict(matplotlib.rcParams) == settings


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_page_says_that_it_has_no_plots(certificate, result):
    page = Page(report(certificate, optimisation=result))
    assert not page.all("svg", role="img")
    assert page.one("figure", **{"class": "scale"})
    assert "pip install 'certivote[plot]'" in [code["text"] for code in page.all("code")]
    check_fields(page, json.loads(certificate.to_json()))


def test_a_result_of_other_weights_is_refused(certificate):
    other = minimize(get_bound("gibbs"), VoteStatistics.from_votes(*make_votes(seed=1)))
    with pytest.raises(ValueError, match="optimisation must be the result"):
        report(certificate, optimisation=other)
    fewer = minimize(get_bound("gibbs"), VoteStatistics.from_votes(VOTES[:, :3], Y))
    with pytest.raises(ValueError, match="optimisation must be the result"):
        report(certificate, optimisation=fewer)


# --- how to verify it ---


def test_the_page_alone_is_enough_to_verify(certificate, page):
    embedded = page.one(None, id="certificate")["text"]
    assert embedded == certificate.to_json()
    Certificate.from_dict(json.loads(embedded)).verify(VOTES, Y)
    link = page.one("a", download="certificate.json")["attributes"]["href"]
    kind, _, encoded = link.partition(",")
    assert kind == "data:application/json;base64"
    assert base64.b64decode(encoded).decode("utf-8") == certificate.to_json()


@pytest.mark.usefixtures("no_matplotlib")
def test_the_embedded_certificate_survives_odd_text(odd):
    page = Page(report(odd))
    assert json.loads(page.one(None, id="certificate")["text"]) == json.loads(odd.to_json())


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize(
    "names",
    [
        {},
        {"data": "heart.csv"},
        {"certificate": "my vote.json", "model": "it's.joblib", "data": 'a "b"; rm -rf $HOME'},
    ],
)
def test_commands_name_the_files(certificate, names):
    page = Page(report(certificate, details=names))
    first, whole, python = (pre["text"] for pre in page.all("pre")[:3])
    name = names.get("certificate", "certificate.json")
    model, data = names.get("model", "model.joblib"), names.get("data", "DATA")
    assert shlex.split(first) == ["certivote", "verify", name]
    assert shlex.split(whole) == [
        *("certivote", "verify", name, "--model", model, "--data", data),
    ]
    compile(python, "page", "exec")
    assert repr(name) in python


@pytest.mark.usefixtures("no_matplotlib")
def test_the_python_lines_work(tmp_path, certificate):
    path = tmp_path / "a certificate.json"
    certificate.to_json(path)
    page = Page(report(certificate, details={"certificate": str(path)}))
    scope = {"votes": VOTES, "y": Y}
    exec(page.all("pre")[2]["text"], scope)
    assert scope["certificate"].risk_bound == certificate.risk_bound
    scope["votes"] = 1 - VOTES
    with pytest.raises(CertificateError):
        exec(page.all("pre")[2]["text"], scope)


@pytest.mark.usefixtures("no_matplotlib")
def test_the_python_lines_work_for_a_classifier_as_it_is(tmp_path):
    X = np.arange(200.0)[:, None]
    y = X[:, 0] > 120
    model = DecisionTreeClassifier(max_depth=1).fit(X[:100:7], X[:100:7, 0] > 50)
    made = certify_model(model, X[100:], y[100:])
    made.to_json(tmp_path / "one.json")
    text = report(made, details={"certificate": str(tmp_path / "one.json")})
    page = Page(text)
    labels = [label["text"] for label in page.all("label")]
    assert labels[1].startswith("The classifier, and whatever prepares its data")
    assert "voters" not in page.one("ol")["text"]
    scope = {"model": model, "X": X[100:], "y": y[100:]}
    exec(page.all("pre")[2]["text"], scope)
    scope["y"] = ~y[100:]
    with pytest.raises(CertificateError):
        exec(page.all("pre")[2]["text"], scope)


def test_a_certificate_that_does_not_hold_up_gets_no_page(tmp_path, certificate):
    forged = dataclasses.replace(certificate, risk_bound=certificate.risk_bound / 2)
    path = tmp_path / "page.html"
    path.write_text("what was there", encoding="utf-8")
    with pytest.raises(CertificateError, match="risk_bound"):
        write_report(forged, path)
    assert path.read_text(encoding="utf-8") == "what was there"


# --- the file ---


@pytest.mark.usefixtures("no_matplotlib")
def test_the_page_is_written_as_it_is(tmp_path, certificate):
    details = {"data": "Zürich.csv"}
    write_report(certificate, tmp_path / "page.html", details=details)
    written = (tmp_path / "page.html").read_bytes().decode("utf-8")
    assert written == report(certificate, details=details)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.usefixtures("no_matplotlib")
def test_a_write_that_fails_leaves_no_part(tmp_path, certificate, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    (tmp_path / "page.html").write_text("what was there", encoding="utf-8")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(certificate, tmp_path / "page.html")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "what was there"


def test_the_page_needs_nothing_but_itself(text, page):
    assert text.startswith("<!doctype html>\n<html lang=")
    tags = {element["tag"] for element in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not any("src" in element["attributes"] for element in page.elements)
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"})["attributes"]["content"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert page.one("meta", charset="utf-8")
    assert "width=device-width" in page.one("meta", name="viewport")["attributes"]["content"]
    for element in page.all("a"):
        address = element["attributes"]["href"]
        assert address.startswith(("https://doi.org/", "https://arxiv.org/", "data:application/"))


def test_the_winner_of_several_has_its_formula():
    certificate = certify(VOTES, Y, bound="best")
    page = report(certificate)
    winner = certificate.evidence["winner"]
    assert f"The winner: {winner}" in page
    formulas = [element["text"] for element in Page(page).all("p", **{"class": "formula"})]
    assert len(formulas) == 2
    assert "Clopper" in page or winner != "heldout"


def test_without_jinja2_the_error_says_what_to_install(certificate, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"needs jinja2: pip install 'certivote\[plot\]'"):
        report(certificate)
