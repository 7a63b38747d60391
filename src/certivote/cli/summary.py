"""What `certivote certify` says on a terminal: little, and the claim with its neighbours last."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import CERTIFICATE, say, wrapped

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..tables import Table

__all__ = ["print_result"]

# The claim must not scroll off a terminal of 24 lines.
_LINES = 20
# So many of them are for what was found, whatever else there is.
_LEAST = 3
# So many classes are named with how many examples there are of each.
_FEW_CLASSES = 10
_KINDS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}
_FOUND = "Found, and throws doubt on the claim:"
_ALL = "--explain, or the page"


def print_result(result: dict[str, Any], quiet: bool, explain: bool) -> None:
    """Print how the table was read, what was found, and last the claim with its neighbours."""
    certificate: Certificate = result["certificate"]
    beside = () if certificate.neighbours is None else certificate.neighbours.sentences
    found = [f"{_FOUND} {text}" for text in certificate.findings]
    further = [claim.statement for claim in certificate.claims[1:]]
    if quiet and not explain:
        for text in found:
            say(text, style="bold red")
        for text in (result["statement"], *further):
            say(text, style="bold")
        return
    table: Table = result["table"]
    before = [*_reading(table), *_sample(certificate)]
    if "test_risk" in result:
        before.append(f"Error on the test rows of the task: {result['test_risk']:.4f}.")
    after = list(_files(result["files"]))
    notes = table.unusual()
    if explain:
        before += [*_columns(table), "", *_explained(certificate), ""]
    else:
        others = [*result["said"], *before, *after, result["statement"], *beside]
        room = _LINES - _height(others)
        if _height(found) > room:
            found = _heads(certificate.findings, room)
        further = _that_fit(further, room - _height(found), f"And {{}} more claims: {_ALL}.")
        room -= _height(further)
        notes = _that_fit(notes, room - _height(found), f"And {{}} remarks on columns: {_ALL}.")
    for text in (*before, *notes, *after):
        say(text)
    for text in found:
        say(text, style="bold red")
    say(result["statement"], style="bold")
    for text in further:
        say(text, style="bold")
    for text in beside:
        say(text, style="bold red" if text.startswith("On these examples it errs") else "")


def _height(texts: Iterable[str]) -> int:
    return sum(wrapped(text).count("\n") + 1 for text in texts)


def _heads(findings: Sequence[str], room: int) -> list[str]:
    """Return the first sentences of what was found, as many as there is room for."""
    title = f"{_FOUND[:-1]} (in full: {_ALL}):"
    heads = [f"- {re.split(r'(?<=[.]) ', text)[0]}" for text in findings]
    return [title, *_that_fit(heads, max(room - _height([title]), _LEAST), "- And {} more.")]


def _that_fit(texts: list[str], room: int, rest: str) -> list[str]:
    """Return as many lines as there is room for, and how many are left."""
    if _height(texts) <= room:
        return texts
    kept = list(texts)
    while kept and _height(kept) >= room:
        kept.pop()
    return [*kept, rest.format(len(texts) - len(kept))][: max(room, 0)]


def _reading(table: "Table") -> Iterable[str]:
    """Say how many rows and columns of which kind there are, and the classes."""
    columns = table.reading["columns"]
    kinds = Counter(column["kind"] for column in columns)
    words = [
        f"{kinds[kind]} {several if kinds[kind] > 1 else kind}"
        for kind, several in _KINDS.items()
        if kinds[kind]
    ]
    if kinds["dropped"]:
        words.append(f"{kinds['dropped']} dropped")
    classes = table.reading["classes"]
    named = ", ".join(f"{name} ({count})" for name, count in classes.items())
    if len(classes) > _FEW_CLASSES:
        named = f"{len(classes)} classes"
    data = table.provenance["data"]
    yield f"Read {table.reading['rows']} rows of {data}: {', '.join(words)}; {named}."


def _sample(certificate: "Certificate") -> Iterable[str]:
    """Say who was trained and certified on how many examples, by which bound."""
    from ..certificate.provenance import (
        BAGS,
        FROZEN_BAGS,
        MODEL,
        NEW_DATA,
        SPLIT,
        group_words,
    )

    m, provenance = certificate.n_samples, certificate.provenance
    rows = f"{m} others" if provenance.get("voters_from") == SPLIT else f"{m} rows"
    if "split_by_time" in provenance:
        rows = f"the {m} latest by {provenance['split_by_time']!r}"
    if "grouped_by" in provenance:
        rows += f", one of each {group_words(provenance['grouped_by'])},"
    origin, n = provenance.get("voters_from"), certificate.n_voters
    by = certificate.bound_object.winner(certificate.evidence)
    name = certificate.bound if by is None else f"{certificate.bound} ({by.name})"
    if origin == SPLIT:
        trained = provenance["voter_samples"]
        yield f"Trained {n} voters on {trained} rows, certified on {rows} by {name}."
    elif origin in (BAGS, FROZEN_BAGS):
        bag = provenance["voter_samples"]
        yield (
            f"{n} voters, each trained on a bag of at most {bag} of {rows} and certified on those "
            f"outside, by {name}."
        )
    elif origin == MODEL:
        yield f"The classifier, as it is, certified on {rows} by {name}."
    elif origin == NEW_DATA:
        yield f"The vote of {n} voters, as it is, certified on {rows} by {name}."
    else:
        yield f"{n} voters, as they are, weighted and certified on {rows} by {name}."
    if "fewest_within" in provenance:
        asked, within = int((certificate.weights > 0.0).sum()), provenance["fewest_within"]
        yield f"{asked} of them are asked: enough within {within:g} by {provenance['fewest_by']}."


def _files(paths: list[str]) -> Iterable[str]:
    """Say what was written, and how it is checked."""
    folder = Path(paths[0]).parent
    (path,) = (name for name in paths if name.endswith(CERTIFICATE))
    names = [Path(name).name for name in reversed(paths)]
    yield f"Written to {folder}: {', '.join(names)}."
    yield f"Check its arithmetic: certivote verify {path}"


def _columns(table: "Table") -> Iterable[str]:
    """Say of each column how it was read."""
    for column in table.reading["columns"]:
        missing = f", {column['missing']} missing" if column["missing"] else ""
        remark = f": {column['note']}" if column["note"] else ""
        yield f"  {column['name']}  {column['kind']}{missing}{remark}"


def _explained(certificate: "Certificate") -> Iterable[str]:
    """Say all of a certificate but its claim, its findings and its neighbours."""
    beside = () if certificate.neighbours is None else certificate.neighbours.sentences
    said = {f"  {text}" for text in beside} | {f"  - {text}" for text in certificate.findings}
    for line in str(certificate).split("\n")[1:]:
        if line not in said:
            yield line
    yield "It was looked for:"
    for topic, text in certificate.checks.items():
        yield f"  - {topic}: {text}"
