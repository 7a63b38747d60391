"""What `certivote certify` says on a terminal: little, and the claim with its neighbours last."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import CERTIFICATE, say, wrapped

if TYPE_CHECKING:
    from ..certificate import Certificate
    from .data import Table

__all__ = ["print_result"]

# The claim must not scroll off a terminal of 24 lines.
_LINES = 20
# So many classes are named with how many examples there are of each.
_FEW_CLASSES = 4
_KINDS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}


def print_result(result: dict[str, Any], quiet: bool, explain: bool) -> None:
    """Print how the table was read, what was found, and last the claim with its neighbours."""
    from ..certificate import Certificate

    certificate = Certificate.from_dict(result["certificate"])
    beside = () if certificate.neighbours is None else certificate.neighbours.sentences
    found = [f"Found, and throws doubt on the claim: {text}" for text in certificate.findings]
    if quiet:
        for text in found:
            say(text, style="bold red")
        say(result["statement"], style="bold")
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
        room = _LINES - sum(map(_height, [*before, *after, result["statement"], *beside]))
        found, notes = _that_fit(found, notes, room)
    for text in (*before, *notes, *after):
        say(text)
    for text in found:
        say(text, style="bold red")
    say(result["statement"], style="bold")
    for text in beside:
        say(text)


def _height(text: str) -> int:
    return len(wrapped(text).split("\n"))


def _that_fit(found: list[str], notes: list[str], room: int) -> tuple[list[str], list[str]]:
    """Return what was found, and what is to be noted, as far as there is room for it."""
    kept: tuple[list[str], list[str]] = ([], [])
    for texts, into in zip((found, notes), kept, strict=True):
        for index, text in enumerate(texts):
            rest = f"And {len(texts) - index} more: add --explain, or see the page."
            last = index == len(texts) - 1
            # The first finding is shown whatever the room.
            if _height(text) + (not last) > room and (into or texts is notes):
                into.append(rest)
                room -= 1
                break
            into.append(text)
            room -= _height(text)
    return kept


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
    named = ", ".join(f"{name} {count}" for name, count in classes.items())
    if len(classes) > _FEW_CLASSES:
        named = f"{len(classes)} classes"
    yield f"Read {table.reading['rows']} rows of {table.name}: {', '.join(words)}; {named}."


def _sample(certificate: "Certificate") -> Iterable[str]:
    """Say who was trained and certified on how many examples, by which bound."""
    from ..certificate.provenance import MODEL, SPLIT

    m, provenance = certificate.n_samples, certificate.provenance
    origin = provenance.get("voters_from")
    by = certificate.bound_object.winner(certificate.evidence)
    name = certificate.bound if by is None else f"{certificate.bound}, where {by.name} wins"
    if origin == SPLIT:
        trained = provenance["voter_samples"]
        yield (
            f"{certificate.n_voters} voters, trained on {trained} rows and certified on {m} others "
            f"by {name}."
        )
    elif origin == MODEL:
        yield f"The classifier, as it is, certified on {m} rows by {name}."
    else:
        yield f"{certificate.n_voters} voters, certified on {m} rows by {name}."


def _files(paths: list[str]) -> Iterable[str]:
    """Say what was written, and how it is checked."""
    folder = Path(paths[0]).parent
    (path,) = (name for name in paths if name.endswith(CERTIFICATE))
    yield f"Written to {folder}: {', '.join(Path(name).name for name in paths)}"
    yield f"Anyone can check its arithmetic: certivote verify {path}"


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
