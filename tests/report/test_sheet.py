"""The claims of a certificate on its page: each sentence, its counts, and its interval."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from certivote import CertificateError, SelectiveClassifier, certify, certify_model
from certivote.report import report
from pages import NASTY, SHEETS, Page, check_fields, make_rows, make_sheet

no_plots = pytest.mark.usefixtures("no_matplotlib")


@pytest.fixture(params=SHEETS)
def made(request, no_matplotlib):
    """A certificate of several claims, and its page."""
    certificate = make_sheet(request.param)
    return certificate, Page(report(certificate))


def inside(page, tag, **attributes):
    """All elements that are within the first of a kind."""
    start = page.elements.index(page.all(tag, **attributes)[0])
    depth = len(page.elements[start]["inside"])
    found = []
    for element in page.elements[start + 1 :]:
        if len(element["inside"]) <= depth:
            break
        found.append(element)
    return found


def sentences(page):
    """The lines of the table: what is claimed, and what was counted."""
    cells = [
        e["text"] for e in inside(page, "details", **{"class": "sentences"}) if e["tag"] == "td"
    ]
    return list(zip(cells[::2], cells[1::2], strict=True))


def intervals(page):
    """The lines of the figure: name, from where to where, limits, dot, value, and its class."""
    found = []
    for element in inside(page, "figure", **{"class": "scale sheet"}):
        place = {
            name: float(value.removesuffix("%"))
            for name, value in element["attributes"].items()
            if value and value.endswith("%")
        }
        if element["tag"] == "li":
            found.append({"class": element["attributes"].get("class"), "texts": [], "limits": []})
            found[-1]["folded"] = "details" in element["inside"]
        elif not found:
            continue
        elif element["tag"] == "span" and "li" in element["inside"]:
            found[-1]["texts"].append(element["text"])
        elif element["tag"] == "rect":
            found[-1]["ends"] = place["x"], place["x"] + place["width"]
        elif element["tag"] == "circle":
            found[-1]["dot"] = place["cx"]
        elif element["attributes"].get("class") == "ceiling":
            assert place["x1"] == place["x2"]
            found[-1]["limits"].append(place["x1"])
    return found


def claims_of(certificate):
    """All claims by the file of the certificate, each with the kind of its family."""
    fields = json.loads(certificate.to_json())
    own = [(family["kind"], claim) for family in fields["families"] for claim in family["claims"]]
    return [("error", {"upper": fields["risk_bound"], "lower": None, "about": "error"}), *own]


def test_every_figure_is_the_certificates(made):
    certificate, page = made
    fields = json.loads(certificate.to_json())
    found = check_fields(page, fields)
    for i, family in enumerate(fields["families"]):
        assert f"families.{i}.delta" in found
        for k, claim in enumerate(family["claims"]):
            assert f"families.{i}.claims.{k}.statement" in found
            limits = {name for name in ("upper", "lower") if claim[name] is not None}
            nothing = claim["upper"] == 1.0 or claim["lower"] == 0.0
            shown = set() if nothing or family["kind"] == "cost" else limits
            names = {f"families.{i}.claims.{k}.{name}" for name in ("upper", "lower")}
            assert names & found == {f"families.{i}.claims.{k}.{name}" for name in shown}
    assert ("total_delta" in found) == (certificate.total_delta is not None)


def test_every_claim_is_a_sentence_of_the_table(made):
    certificate, page = made
    assert [text for text, _ in sentences(page)] == [one.statement for one in certificate.claims]
    said = " ".join(page.all("section")[0]["text"].split())
    assert f"All {len(certificate.claims)} claims hold at once, with 95% confidence" in said
    assert "at most δ = 0.05" in said


def test_intervals_run_from_limit_to_limit(made):
    """To the end of the scale where only one is claimed, in the order of the claims."""
    certificate, page = made
    drawn = [(kind, claim) for kind, claim in claims_of(certificate) if kind != "cost"]
    shown = intervals(page)
    assert len(shown) == len(drawn)
    for (kind, claim), line in zip(drawn, shown, strict=True):
        assert claim["about"].endswith(line["texts"][0].replace(r"\u202e", "\u202e"))
        assert kind == "group" or claim["about"] == line["texts"][0]
        low, high = claim["lower"] or 0.0, 1.0 if claim["upper"] is None else claim["upper"]
        assert line["ends"] == pytest.approx((100 * low, 100 * high), abs=0.011)
        nothing = (low, high) == (0.0, 1.0)
        assert (line["class"] == "nothing") == nothing == (line["texts"][1] == "says nothing")
        limits = [] if nothing else [x for x in (claim["lower"], claim["upper"]) if x is not None]
        assert line["limits"] == pytest.approx([100 * x for x in limits], abs=0.011)


@no_plots
def test_counts_and_dots_are_those_of_the_votes():
    """Counted once more, from the votes."""
    votes, y, column = make_rows()
    predicted = np.where((votes == "malignant").mean(axis=1) > 0.5, "malignant", "benign")
    share = np.maximum(*((votes == name).mean(axis=1) for name in ("benign", "malignant")))
    wrong, ill = predicted != y, y == "malignant"
    said = ill | (predicted == "malignant")
    expected = [(f"{wrong.sum()} of 3000 wrong", wrong.mean())]
    expected += [(f"{wrong[k].sum()} of {k.sum()} wrong", 1 - wrong[k].mean()) for k in (~ill, ill)]
    expected += [("follows from the classes", None)] * 2
    for name in ("benign", "malignant"):
        rows = predicted == name
        expected.append((f"{wrong[rows].sum()} of {rows.sum()} wrong", 1 - wrong[rows].mean()))
    right = (ill & ~wrong).sum()
    f1 = 2 * right / (2 * right + wrong.sum())
    expected.append((f"{right} of {said.sum()} right, where it is true or answered", f1))
    for name in np.unique(column):
        rows = column == name
        expected.append((f"{wrong[rows].sum()} of {rows.sum()} wrong", wrong[rows].mean()))
    expected.append((f"{wrong.sum()} of 3000 cost something", "in the table only"))
    expected += [("follows from the error", None)] * 2

    certificate = make_sheet("whole")
    family = certificate.families[-1]
    tests = np.ones(3000, dtype=bool)
    tests[np.random.RandomState(0).permutation(3000)[:300]] = False
    level = next(text for text in certificate.claims[-2].statement.split() if text.startswith("0."))
    answered = tests & (share >= float(level.rstrip(",")) - 1e-9)
    assert family.evidence["pilot"] == 300
    k, m = wrong[answered].sum(), answered.sum()
    expected += [(f"{k} of {m} answers wrong", k / m), (f"{m} of 2700 answered", m / 2700)]

    page = Page(report(certificate))
    assert [words for _, words in sentences(page)] == [words for words, _ in expected]
    dots = [value for _, value in expected if value != "in the table only"]
    for line, dot in zip(intervals(page), dots, strict=True):
        assert line.get("dot") == (dot if dot is None else pytest.approx(100 * dot, abs=0.006))


@no_plots
def test_of_learned_weights_only_the_number_of_examples_is_known():
    _, y, column = make_rows()
    page = Page(report(make_sheet("learned")))
    words = [words for _, words in sentences(page)]
    parts = [(y[:500] == name).sum() for name in np.unique(y)]
    parts += [(column[:500] == name).sum() for name in np.unique(column)]
    assert words[1:-1] == [f"{size} examples" for size in parts]
    assert [("dot" in line) for line in intervals(page)] == [True] + [False] * 7


@no_plots
def test_a_class_without_examples_has_none():
    X, y = np.arange(300.0)[:, None], np.repeat(["a", "b", "c"], 100)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    page = Page(report(certify_model(model, X[:200], y[:200], claims=["recall"])))
    assert sentences(page)[-1][1] == "no examples"
    assert intervals(page)[-1]["class"] == "nothing"


@no_plots
def test_families_are_named_with_their_part_of_delta():
    page = Page(report(make_sheet("whole")))
    headings = [
        e["text"] for e in inside(page, "figure", **{"class": "scale sheet"}) if e["tag"] == "h3"
    ]
    groups = [e["text"] for e in page.all("th", scope="rowgroup")]
    names = ["Recall", "Precision", "F1 of malignant", "Error by site", "Cost"]
    expected = ["Error half of δ", *(f"{name} a twelfth of δ" for name in names)]
    expected += [
        "Shift kl=0.05 no part of δ",
        "Shift tv=0.1 no part of δ",
        "Abstain a twelfth of δ",
    ]
    assert groups == expected
    assert headings == [text for text in expected if not text.startswith("Cost")]

    votes, y, _ = make_rows()
    shares = {"error": 0.75, "recall": 0.25}
    uneven = certify(votes, y, bound="heldout", claims=["recall"], shares=shares)
    page = Page(report(uneven))
    assert [e["text"] for e in page.all("th", scope="rowgroup")] == [
        *("Error 75% of δ", "Recall a quarter of δ"),
    ]


@no_plots
def test_many_claims_are_folded_and_none_is_lost():
    """Every family shows some, and the first ones are those that are shown."""
    page = Page(report(make_sheet("groups")))
    lines = intervals(page)
    assert len(lines) == 65
    folded = [line["folded"] for line in lines]
    assert folded == [False] * 22 + [True] * 41 + [False] * 2
    assert [e["text"] for e in page.all("summary")][:2] == ["41 more", "All 65 claims in full"]
    assert "open" not in page.one("details", **{"class": "sentences"})["attributes"]
    whole = Page(report(make_sheet("whole")))
    assert not any(line["folded"] for line in intervals(whole))
    assert "open" in whole.one("details", **{"class": "sentences"})["attributes"]


@no_plots
def test_one_claim_needs_no_sheet():
    votes, y, _ = make_rows()
    alone = certify(votes, y, bound="heldout")
    page = Page(report(alone))
    assert not page.all("figure", **{"class": "scale sheet"})
    assert "What is claimed" not in [e["text"] for e in page.all("h2")]
    assert "one class or one group of examples, which may be higher" in items(page)
    assert "from a time when the data have changed." in items(page)
    assert "accepts" not in items(page)


def items(page):
    return " ".join(" ".join(e["text"].split()) for e in page.all("li"))


@pytest.mark.parametrize(
    ("asked", "listed"),
    [(["recall"], True), (["error by site"], True), (["precision"], False), (["balanced"], False)],
)
@no_plots
def test_what_it_does_not_say_is_about_what_is_not_listed(asked, listed):
    votes, y, column = make_rows()
    made = certify(votes, y, bound="heldout", claims=asked, by={"site": column})
    said = items(Page(report(made)))
    assert ("classes or groups that are not listed, which may be higher" in said) == listed
    assert ("not the error on one class or one group of examples" in said) != listed


@no_plots
def test_shifts_and_abstaining_are_said():
    said = items(Page(report(make_sheet("whole"))))
    assert "when the data have changed, beyond the shift that is listed." in said
    assert "accepts tells which examples it answers" in said


@no_plots
def test_the_first_figure_comes_before_the_claims():
    page = Page(report(make_sheet("whole")))
    first, second = (e["attributes"]["class"] for e in page.all("figure"))
    assert (first, second) == ("scale", "scale sheet")
    assert page.all("h2")[0]["text"] == "What is claimed"


@no_plots
def test_names_of_others_are_text():
    certificate = make_sheet("hostile")
    page = Page(report(certificate))
    assert not page.all("script") + page.all("img")
    names = [line["texts"][0] for line in intervals(page)]
    assert names[1] == f"recall of {NASTY}"
    assert {NASTY, "x" * 150, "$y$"} <= set(names)
    (column,) = [
        code for code in page.all("code") if NASTY in code["text"] or code["text"] == repr(NASTY)
    ]
    assert column["text"] == repr(NASTY)


@no_plots
def test_the_python_lines_ask_for_the_columns(tmp_path):
    votes, y, column = make_rows()
    certificate = make_sheet("whole")
    certificate.to_json(tmp_path / "sheet.json")
    page = Page(report(certificate, details={"certificate": str(tmp_path / "sheet.json")}))
    lines = page.all("pre")[2]["text"]
    scope = {"votes": votes, "y": y, "by": {"site": column}}
    exec(lines, scope)
    with pytest.raises(CertificateError):
        exec(lines, {**scope, "by": {"site": np.roll(column, 1)}})
    assert "dictionary of the columns whose groups are claimed, as they were: 'site'." in " ".join(
        " ".join(e["text"].split()) for e in page.all("p")
    )
    assert "by=" not in Page(report(make_sheet("one"))).all("pre")[2]["text"]


@no_plots
def test_the_python_lines_work_for_a_classifier_that_abstains(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y, region = X[:, 0] + 0.5 * rng.normal(size=1500) > 0, X[:, 1] > 0
    model = LogisticRegression().fit(X[:300], y[:300])
    careful = SelectiveClassifier(model, target=0.05)
    by = {"region": region[300:]}
    made = careful.certify(X[300:], y[300:], unlabelled=X[:300], claims=["error by region"], by=by)
    made.to_json(tmp_path / "one.json")
    page = Page(report(made, details={"certificate": str(tmp_path / "one.json")}))
    check_fields(page, json.loads(made.to_json()))
    assert sentences(page)[-2][0].startswith("Where it answers, at a score of at least")
    scope = {"model": model, "X": X[300:], "y": y[300:], "by": by}
    with pytest.warns(UserWarning, match="not checked: at which level testing began"):
        exec(page.all("pre")[2]["text"], scope)
    other = {**scope, "by": {"region": ~region[300:]}}
    with pytest.raises(CertificateError):
        exec(page.all("pre")[2]["text"], other)


@no_plots
def test_a_sheet_without_neighbours_has_a_figure_all_the_same():
    certificate = dataclasses.replace(make_sheet("one"), neighbours=None)
    page = Page(report(certificate))
    assert sentences(page)[0][1] == "3000 examples"
    assert "dot" not in intervals(page)[0]


def test_plots_of_abstaining_and_shifts_are_drawn_where_they_are_claimed():
    drawn = {
        case: [
            e["attributes"]["aria-label"]
            for e in Page(report(make_sheet(case))).all("svg", role="img")
        ]
        for case in ("whole", "one", "few")
    }
    assert drawn["one"] == []
    answers, shift = drawn["whole"]
    assert "error among the answered" in answers
    assert "twice the distance that is claimed" in shift
    assert [text[:40] for text in drawn["few"]] == [answers[:40]]
