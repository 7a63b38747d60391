"""The page of a certificate in a real browser: whole, readable, printable, and alone."""

import itertools
import json
import re
import shutil
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from certivote import certify, minimize
from certivote.bounds import get_bound
from certivote.report import write_report
from pages import make_sheet

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH")

ARGUMENTS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
]
# In milliseconds, for machines that are busy with other tests.
PATIENCE = 120_000
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
# A4 less the margins of the page, at 96 pixels to the inch.
PAPER = {"width": int((210 - 2 * 20) / 25.4 * 96), "height": int((297 - 2 * 18) / 25.4 * 96)}
CASES = ("default", "learned", "vacuous", "long")
# Certificates of several claims.
SHEETS = ("whole", "groups", "hostile")
FINDINGS = (
    "12 of the 100 certification examples have a twin among the examples that train the voters. If "
    "rows were copied (oversampling, several rows of one subject), the certificate is not valid.",
    "Part B has examples of 'maybe', which part A has not: the voters err on all of them.",
)
GROUPS = ("provenance", "class_counts", "made")
CHECKS = {"duplicates": "All 1500 rows are different."}
TABLE = {
    "rows": 3000,
    "classes": {"no": 1800, "yes": 1200},
    "columns": [
        {"name": f"{kind} {j}", "kind": kind, "missing": j, "note": "as it was read"}
        for kind in ("number", "category", "date", "text", "dropped")
        for j in range(9)
    ],
}

# Every visible piece of text, with its colour, that of what is behind it, and its opacity.
COLOURS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    const style = getComputedStyle(element);
    if (!text || !element.getClientRects().length || !element.checkVisibility()) continue;
    let behind = element, back = "rgba(0, 0, 0, 0)", opacity = 1;
    while (back === "rgba(0, 0, 0, 0)" && behind) {
      back = getComputedStyle(behind).backgroundColor;
      opacity *= getComputedStyle(behind).opacity;
      behind = behind.parentElement;
    }
    found.push([text, element instanceof SVGElement ? style.fill : style.color, back, opacity]);
  }
  return found;
}"""
STATED = """() => Array.from(document.querySelectorAll("[data-field]"),
  (e) => [e.dataset.field, e.value, e.textContent])"""
# Every text of the scale, as far as it is shown, with its left, right, upper and lower edge.
SCALE = """() => Array.from(document.querySelectorAll(".scale :is(span, text, figcaption)"))
  .filter((e) => e.checkVisibility())
  .map((e) => [e.textContent, e.getBoundingClientRect()])
  .filter(([text, box]) => text.trim() && box.width)
  .map(([text, box]) => [text, box.left, box.right, box.top, box.bottom])"""
STICKING_OUT = """() => Array.from(document.querySelectorAll("body, body *:not(svg *)"))
  .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5
              || e.getBoundingClientRect().left < -0.5)
  .map((e) => e.outerHTML.slice(0, 80))"""


def make_certificate(case):
    if case in SHEETS:
        return make_sheet(case), {}
    rng = np.random.default_rng(0)
    m = 10 if case == "vacuous" else 1500
    y = rng.random(m) < 0.4
    losses = rng.random((m, 40)) < rng.uniform(0.05, 0.3, 40)
    if case == "default":
        losses = np.arange(m)[:, None] < np.full(40, 3)  # all of them err on three examples
    classes = np.array(["n" * 200, "y" * 200] if case == "long" else ["no", "yes"])
    votes, y = classes[(y[:, None] ^ losses).astype(int)], classes[y.astype(int)]
    if case == "default":
        certificate = certify(votes, y)
        return replace(certificate, checks=CHECKS, findings=FINDINGS), {"table": TABLE}
    bound = get_bound("lacasse", delta=0.0025)
    result = minimize(bound, bound.count(votes, y, None))
    certificate = certify(votes, y, weights=result.weights, bound=bound)
    assert certificate.vacuous == (case == "vacuous")
    if case == "learned":
        return certificate, {"optimisation": result}
    if case == "long":
        origin = {"data": "x" * 300, "target": "y" * 200}
        certificate = replace(certificate, provenance=origin, findings=("z" * 200, "a " * 200))
        details = {"data": "folder/" * 60 + "file.csv", "z" * 150: "z" * 150}
        columns = [dict(TABLE["columns"][0], name="w" * 200, note="w" * 200)] * 40
        return certificate, {"details": details, "table": {**TABLE, "columns": columns}}
    return certificate, {}


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The certificate of each case, and where its page is."""
    folder, made = tmp_path_factory.mktemp("pages"), {}
    for case in CASES + SHEETS:
        certificate, options = make_certificate(case)
        write_report(certificate, folder / f"{case}.html", **options)
        made[case] = certificate, folder / f"{case}.html"
    return made


@pytest.fixture
def visit(browser, written):
    """A function that opens the page of a case; afterwards nobody must have complained."""
    contexts, complaints, requests, addresses = [], [], [], []

    def visit(case, viewport, **options):
        contexts.append(browser.new_context(viewport=viewport, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        addresses.append(written[case][1].as_uri())
        page.goto(addresses[-1])
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
    assert requests == addresses, "the page asked for something besides itself"


def parts(colour):
    assert re.fullmatch(r"rgb\(\d+, \d+, \d+\)", colour), f"not opaque: {colour}"
    return np.array([int(part) for part in re.findall(r"\d+", colour)]) / 255.0


def luminance(parts):
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(colour, back, opacity=1.0):
    seen = opacity * parts(colour) + (1.0 - opacity) * parts(back)
    low, high = sorted((luminance(seen), luminance(parts(back))))
    return (high + 0.05) / (low + 0.05)


def unfold(page):
    for summary in page.locator("details:not([open]) > summary").all()[::-1]:
        summary.click()


def test_contrast_is_that_of_the_guidelines():
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21.0)
    grey, white = "rgb(119, 119, 119)", "rgb(255, 255, 255)"
    assert contrast(grey, white) == pytest.approx(4.48, abs=0.005)
    assert contrast("rgb(0, 0, 0)", white, 136 / 255) == pytest.approx(contrast(grey, white))


@pytest.mark.parametrize("case", CASES[1:])
def test_every_number_is_the_certificates(visit, written, case):
    fields = json.loads(written[case][0].to_json())
    shown = visit(case, DESKTOP).evaluate(STATED)
    texts = {field: text for field, _, text in shown}
    assert set(texts) == {
        *("risk_bound", "confidence", "bound_parameters.delta", "bound_parameters.constant"),
        *("n_samples", "n_voters", "kl", "bound", "statistics_sha256", "certivote_version"),
        *("evidence.gibbs_risk", "evidence.joint_error", "evidence.disagreement"),
        *("votes_sha256", "neighbours.observed", "neighbours.baseline_error"),
        *(f"{group}.{name}" for group in GROUPS for name in fields[group]),
    }
    step = Decimal("0.0001")
    for field, full, text in shown:
        if field == "confidence":
            assert (full, text) == ("0.9975", "99.75%")
            continue
        group, _, name = field.partition(".")
        value = fields[group][name] if name else fields[group]
        if isinstance(value, str):
            assert full == text == value
            continue
        assert json.loads(full) == value
        if field == "risk_bound":
            assert text == str(Decimal(value).quantize(step, ROUND_CEILING))
        elif field == "kl" or group in ("evidence", "neighbours"):
            assert text == str(Decimal(value).quantize(step, ROUND_HALF_EVEN))
        else:
            assert json.loads(text) == value


@pytest.mark.parametrize("case", CASES)
def test_the_claim_is_the_largest_text_and_in_sight(visit, written, case):
    page = visit(case, DESKTOP)
    claim = page.locator("h1")
    assert claim.inner_text() == written[case][0].claim
    box = claim.bounding_box()
    assert 0 <= box["y"] < box["y"] + box["height"] < DESKTOP["height"] / 2
    sizes = page.evaluate(
        """() => Array.from(document.querySelectorAll("body *:not(svg *)"),
        (e) => [e.closest("h1") !== null, parseFloat(getComputedStyle(e).fontSize)])"""
    )
    assert min(size for inside, size in sizes if inside) > max(
        size for inside, size in sizes if not inside
    )
    assert page.locator(".vacuous").count() == (case == "vacuous")


def test_claim_findings_and_scale_are_on_the_first_screen(visit):
    page = visit("default", DESKTOP)
    boxes = [page.locator(name).bounding_box() for name in ("h1", ".findings", "figure.scale")]
    edges = [edge for box in boxes for edge in (box["y"], box["y"] + box["height"])]
    assert edges == sorted(edges), "one below the other"
    assert 0 <= edges[0] < edges[-1] <= DESKTOP["height"]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE, PAPER], ids=["desktop", "phone", "paper"])
@pytest.mark.parametrize("case", CASES + SHEETS)
def test_no_text_of_the_scale_lies_on_another(visit, case, viewport):
    page = visit(case, viewport)
    if viewport is PAPER:
        page.emulate_media(media="print")
    texts = page.evaluate(SCALE)
    assert len(texts) >= 3 + 3 + 3, "names, values and ticks"
    clashes = [
        (one[0], other[0])
        for one, other in itertools.combinations(texts, 2)
        if max(one[1], other[1]) < min(one[2], other[2]) - 1
        and max(one[3], other[3]) < min(one[4], other[4]) - 1
    ]
    assert clashes == []
    assert min(left for _, left, *_ in texts) >= 0
    assert max(right for _, _, right, *_ in texts) <= viewport["width"]


def test_marks_of_the_scale_are_where_their_values_are(visit, written):
    """On the logarithmic scale of the default case, by the ticks that are drawn there."""
    neighbours = written["default"][0].neighbours
    page = visit("default", DESKTOP)
    assert "log scale" in page.locator(".scale .axis").inner_text()

    def middle(selector):
        box = page.locator(f".scale {selector}").bounding_box()
        return box["x"] + box["width"] / 2

    (low, x_low), (high, x_high) = [
        (float(tick.text_content()), tick.bounding_box()["x"] + tick.bounding_box()["width"] / 2)
        for tick in page.locator(".scale .axis text").all()
    ][:2]
    decade = (x_high - x_low) / np.log10(high / low)
    for selector, value in (
        (".certificate .ceiling", written["default"][0].risk_bound),
        (".observed circle", neighbours.observed),
        (".baseline path", neighbours.baseline_error),
    ):
        assert middle(selector) == pytest.approx(x_low + decade * np.log10(value / low), abs=1.5)


# Every bar of the figure of claims: where it begins and ends, as shares of its track.
BARS = """() => Array.from(document.querySelectorAll(".sheet li"), (e) => {
  const [track, bar] = [e.querySelector("svg"), e.querySelector("rect")]
    .map((part) => part.getBoundingClientRect());
  return [(bar.left - track.left) / track.width, (bar.right - track.left) / track.width];
})"""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_bars_of_claims_are_where_their_limits_are(visit, written, viewport):
    """A sheet is at a glance: its figure fits on a screen, and a claim on two lines of it."""
    page = visit("whole", viewport)
    claims = [claim for claim in written["whole"][0].claims if claim.about != "cost"]
    expected = [(c.lower or 0.0, 1.0 if c.upper is None else c.upper) for c in claims]
    track = page.locator(".sheet li svg").first.bounding_box()["width"]
    assert np.array(page.evaluate(BARS)) == pytest.approx(np.array(expected), abs=1.0 / track)
    assert track > viewport["width"] / 4
    height = page.locator("figure.sheet").bounding_box()["height"]
    assert height < 50 * (len(claims) + 8), "names of families and the caption included"


def test_folded_claims_unfold(visit, written):
    page = visit("groups", DESKTOP)
    lines = page.locator(".sheet li")
    assert lines.count() == len(written["groups"][0].claims)
    seen = lines.evaluate_all("all => all.filter((e) => e.checkVisibility()).length")
    assert seen <= 24
    unfold(page)
    seen = lines.evaluate_all("all => all.filter((e) => e.checkVisibility()).length")
    assert seen == lines.count()
    assert page.locator(".sentences tr").last.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("case", CASES + SHEETS)
def test_nothing_sticks_out_and_all_can_be_read(visit, tmp_path, case, viewport, scheme):
    page = visit(case, viewport, color_scheme=scheme)
    unfold(page)
    assert page.locator("#certificate").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate(STICKING_OUT) == []
    found = page.evaluate(COLOURS)
    # Text of the page, and text in its plots.
    assert len(found) > 80
    assert {text for text, *_ in found} >= {
        "How to verify it",
        {"learned": "iteration", "default": "Always “no”"}.get(
            case, "error among the answered" if case in SHEETS else "weight"
        ),
    }
    faint = [entry for entry in found if contrast(*entry[1:]) < 4.5]
    assert faint == []
    assert (luminance(parts(found[0][2])) > 0.5) == (scheme == "light")

    page.screenshot(path=tmp_path / "page.png", full_page=True)
    pixels = imread(tmp_path / "page.png")
    assert pixels.shape[1] == viewport["width"]
    assert pixels.shape[0] > 2 * viewport["height"]
    colours = np.rint(255 * pixels[::2, ::2, :3]).astype(np.int64) @ [65536, 256, 1]
    assert np.unique(colours).size > 50


@pytest.mark.parametrize("case", CASES + SHEETS)
def test_it_prints_on_a4_in_black_on_white(visit, written, case):
    page = visit(case, PAPER, color_scheme="dark")
    document = page.pdf(prefer_css_page_size=True)
    assert document.startswith(b"%PDF-")
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", document)
    assert 1 <= len(boxes) <= (12 if case in ("long", *SHEETS) else 6)
    for width, height in boxes:
        assert float(width) == pytest.approx(210 / 25.4 * 72, abs=1)
        assert float(height) == pytest.approx(297 / 25.4 * 72, abs=1)

    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(STICKING_OUT) == []
    assert not page.locator("#certificate").is_visible()
    ticked = page.locator("label").evaluate_all("all => all.map((e) => e.checkVisibility())")
    assert ticked == [True] * len(make_certificate(case)[0].assumptions), "all of it on paper"
    lines = page.locator(".sheet li, .sentences tr").evaluate_all(
        "all => all.map((e) => e.checkVisibility() && getComputedStyle(e).breakInside)"
    )
    assert set(lines) <= {"avoid"}
    assert len(lines) >= len(written[case][0].claims) or case not in SHEETS
    for figure in page.locator("figure:not(.sheet)").all():
        assert figure.bounding_box()["height"] < PAPER["height"]
        assert figure.evaluate("e => getComputedStyle(e).breakInside") == "avoid"


def test_the_certificate_can_be_saved_from_the_page(browser, written):
    certificate, path = written["long"]
    page = browser.new_page()
    page.goto(path.as_uri())
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the certificate").click()
    assert download.value.suggested_filename == "certificate.json"
    saved = Path(download.value.path()).read_text(encoding="utf-8")
    page.close()
    assert saved == certificate.to_json()


def test_figures_have_names_for_those_who_cannot_see_them(visit):
    page = visit("learned", DESKTOP)
    assert page.get_by_role("img").count() == page.locator("figure").count() == 4
    for name in ("one scale", "joint error", "weights", "iteration"):
        assert page.get_by_role("img", name=name).count() == 1
    assert page.get_by_role("checkbox").count() == 3
    unfold(page)
    assert page.get_by_role("checkbox").count() == len(make_certificate("learned")[0].assumptions)
    assert page.get_by_role("heading", level=1).count() == 1


def test_the_policy_of_the_page_stops_what_someone_adds(browser, written, tmp_path):
    text = written["learned"][1].read_text(encoding="utf-8")
    added = '<img src="pixel.png"><script>document.title = "changed"</script></body>'
    (tmp_path / "tampered.html").write_text(text.replace("</body>", added), encoding="utf-8")
    page = browser.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto((tmp_path / "tampered.html").as_uri())
    assert page.title() != "changed"
    assert sum("Content Security Policy" in message for message in messages) == 2
    page.close()


@pytest.mark.parametrize("doctype", ["<!doctype html>", ""], ids=["standards", "quirks"])
@pytest.mark.parametrize("colours", [("black", "white"), ("white", "black")])
def test_a_notebook_shows_the_certificate_in_its_own_colours(browser, written, doctype, colours):
    fragment = written["learned"][0]._repr_html_()
    style = "color: {}; background: {}; font-size: 13px".format(*colours)
    page = browser.new_page()
    page.set_content(f'{doctype}<title>a notebook</title><body style="{style}">{fragment}</body>')
    page.locator("summary").click()
    found = page.evaluate(COLOURS)
    assert len(found) > 15
    assert all(contrast(*entry[1:]) == pytest.approx(21.0) for entry in found)
    assert page.locator("td").first.evaluate("e => getComputedStyle(e).fontSize") == "13px"
    page.close()
