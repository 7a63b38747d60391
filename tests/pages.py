"""Pages of certificates: a parser that knows nothing of how they were written, and sheets."""

import functools
import json
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np

from certivote import certify
from certivote.claims import ClassFamily, CostFamily, ShiftFamily

VOID = {"meta", "input", "br", "hr", "img", "link", "col"}
NASTY = """<script>alert("1")</script>'&amp;</pre></style>--><img src=x onerror='x'>"""
# How many digits are shown, rounded to the nearest; what is not among them is shown in full.
MOMENTS = ("evidence.gibbs_risk", "evidence.joint_error", "evidence.disagreement")
NEIGHBOURS = ("neighbours.observed", "neighbours.baseline_error")
NEAREST = dict.fromkeys((*MOMENTS, *NEIGHBOURS, "evidence.margin_loss", "kl"), 4)
NEAREST["evidence.concentration"] = 3


class Page(HTMLParser):
    """The elements of a page in order, each with its tag, attributes and all the text inside."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute twice: {names}"
        element = {"tag": tag, "attributes": dict(attributes), "text": "", "inside": []}
        element["inside"] = [outer["tag"] for outer in self._open]
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag=None, **attributes):
        return [
            element
            for element in self.elements
            if tag in (None, element["tag"])
            and all(element["attributes"].get(name) == value for name, value in attributes.items())
        ]

    def one(self, tag=None, **attributes):
        (element,) = self.all(tag, **attributes)
        return element


def rounded(value, digits, rounding):
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=rounding))


def stated(field, fields):
    """The value of a field by the certificate's JSON, and the text that the page must show."""
    if field == "confidence":
        delta = Decimal(repr(fields["total_delta"] or fields["bound_parameters"]["delta"]))
        text = (100 * (1 - delta)).quantize(Decimal("1e-6"), rounding=ROUND_FLOOR).normalize()
        return 1 - float(delta), f"{text:f}%"
    value = fields
    if field.startswith("families."):
        return stated_claim(field.split(".")[1:], fields["families"])
    for part in field.split(".", 1) if field not in fields else [field]:
        value = value[part]
    if field == "risk_bound":
        return value, rounded(value, 4, ROUND_CEILING)
    if field in NEAREST:
        return value, rounded(value, NEAREST[field], ROUND_HALF_EVEN)
    return value, value if isinstance(value, str) else None


def stated_claim(path, families):
    """The same of a limit or a sentence of a claim, or of a part of δ."""
    own = families
    for part in path[:-1]:
        own = own[int(part) if part.isdigit() else part]
    value, name = own[path[-1]], path[-1]
    if name in ("upper", "lower"):
        # What was asked for is shown as it was; what was computed, on the safe side.
        if own["statement"].endswith(f" {value!r}."):
            return value, repr(value)
        return value, rounded(value, 4, ROUND_CEILING if name == "upper" else ROUND_FLOOR)
    return value, value


def part_in_words(delta, total):
    words = {1: "all", 2: "half", 3: "a third", 4: "a quarter", 6: "a sixth", 10: "a tenth"}
    words[12] = "a twelfth"
    share = Fraction(delta / total).limit_denominator(20)
    if not delta:
        return "no part of δ"
    part = words[share.denominator] if share.numerator == 1 else f"{float(100 * share):g}%"
    return f"{part} of δ"


def check_fields(page, fields):
    """Compare every marked figure with the JSON; return the names of the fields."""
    marked = [element for element in page.elements if "data-field" in element["attributes"]]
    for element in marked:
        value, text = stated(element["attributes"]["data-field"], fields)
        full = element["attributes"]["value"]
        assert full == value if isinstance(value, str) else json.loads(full) == value
        if element["text"].endswith("of δ"):
            total = fields["total_delta"] or fields["bound_parameters"]["delta"]
            assert element["text"] == part_in_words(value, total)
            continue
        if value is None:
            assert element["text"] == "not set"
        elif text is None:
            assert json.loads(element["text"]) == value
        else:
            assert element["text"] == text
    return {element["attributes"]["data-field"] for element in marked}


# --- certificates of several claims ---

COSTS = CostFamily(classes=["benign", "malignant"], costs=[[0, 1], [20, 0]])
MIX = ClassFamily(recall=False, frequencies=({"benign": 0.9, "malignant": 0.1},))
SHIFTS = [ShiftFamily(distance=name, radius=radius) for name, radius in (("kl", 0.05), ("tv", 0.1))]


def make_rows(names=("benign", "malignant"), m=3000, n_groups=4):
    """Votes that are right more often on easy examples, labels, and a column of groups."""
    rng = np.random.default_rng(0)
    true, hard = (rng.random(m) < 0.3).astype(int), rng.random(m) < 0.4
    wrong = rng.random((m, 15)) < np.where(hard, 0.35, 0.08)[:, None]
    classes = np.array(names)
    votes = classes[np.where(wrong, 1 - true[:, None], true[:, None])]
    column = np.array([f"site {j}" for j in range(n_groups)])[rng.integers(n_groups, size=m)]
    return votes, classes[true], column


@functools.cache
def make_sheet(case):
    """A certificate of claims of each kind, or of some."""
    if case == "hostile":
        votes, y, column = make_rows((NASTY, "w" * 200), 400)
        column = np.where(column == "site 0", NASTY, np.where(column == "site 1", "x" * 150, "$y$"))
        asked = ["recall", "precision", "f1", f"error by {NASTY}"]
        return certify(votes, y, bound="heldout", claims=asked, by={NASTY: column}, abstain=0.05)
    votes, y, column = make_rows(n_groups=60 if case == "groups" else 4)
    by = {"site": column}
    if case == "learned":
        asked = ["recall", "error by site", SHIFTS[0]]
        return certify(
            votes[:500], y[:500], bound="tandem", claims=asked, by={"site": column[:500]}
        )
    if case == "few":
        return certify(votes[:8], y[:8], bound="heldout", claims=["recall"], abstain=0.001)
    if case == "one":
        return certify(votes[:, 0], y, claims=["recall"])
    if case == "groups":
        asked = ["recall", "error by site"]
        return certify(votes, y, bound="heldout", claims=asked, by=by, abstain=0.01)
    asked = ["recall", "precision", "balanced", MIX, "f1 of malignant", "error by site", COSTS]
    asked += SHIFTS
    return certify(votes, y, bound="heldout", claims=asked, by=by, abstain=0.02)


SHEETS = ("whole", "learned", "few", "one", "groups", "hostile")
