"""``certivote verify``: what of a certificate is right, and what nobody has checked."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .checked import differences, name_of, origins
from .output import (
    MODEL,
    OLD_MODEL,
    check_belongs,
    check_digest,
    claim_of,
    fail,
    print_json,
    say,
)

if TYPE_CHECKING:
    from ..certificate import Certificate

__all__ = ["verify"]

_ARITHMETIC = "The arithmetic is right. Votes, labels and voters were not checked."
_EVERYTHING = "The certificate holds up, if what it assumes is true."
_WITHOUT_DATA = [
    "the votes and the labels: that takes --model and --data",
    "the voters: where they came from, and what they were trained on",
    "what the file says of the sample: where it came from, and what was found",
]


@dataclass(frozen=True)
class _Files:
    """What a certificate is checked with: nothing, or a model and its data at least."""

    model: Path | None
    data: list[str]
    old: Path | None
    unlabelled: list[str]


@options.command
def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate.json to check.")],
    model: Annotated[
        Path | None,
        typer.Option(help=f"The model file that was written with it. {options.RUNS_CODE}"),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="The data that it was made from. Repeatable, for the files of one table."
        ),
    ] = None,
    old: Annotated[
        Path | None,
        typer.Option(
            help="For a certificate of compare-models: the file of the older model. "
            f"{options.RUNS_CODE}"
        ),
    ] = None,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            help="For a claim on abstaining that was made with unlabelled rows, in Python: the "
            "file of these rows. Where testing began is found again on them. Repeatable, for the "
            "files of one table."
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Check a certificate: its arithmetic alone, or the votes too with the model and the data.

    The arithmetic is right in a file that is made up from beginning to end, too. What nobody can
    check, a certificate assumes.

    The exit status is 0 if what was checked is right, 1 if it is not, 2 if nothing could be
    checked.
    """
    if (model is None) != (not data):
        raise ValueError("--model and --data must be given together: votes need both.")
    if old is not None and model is None:
        raise ValueError("--old needs --model and --data too: it is compared with that model.")
    if unlabelled and model is None:
        raise ValueError("--unlabelled needs --model and --data too: the model answers its rows.")
    files = _Files(model, data or [], old, unlabelled or [])
    result = _verify(certificate, files, quiet or as_json)
    if as_json:
        print_json(result)
    else:
        _print_result(result, quiet, everything=model is not None)
    return 1 if result["holds"] is False else 0


def _print_result(result: dict[str, Any], quiet: bool, everything: bool) -> None:
    """Print what was checked and what was not, what throws doubt on it, and the verdict last."""
    holds = result["holds"] is not False
    if not quiet:
        if holds and everything:
            say("It assumes:")
            for text in result["assumptions"]:
                say(f"  - {text}")
        for text in result["checked"]:
            say(f"checked: {text}")
        for text in result["not_checked"] if holds else ():
            say(f"not checked: {text}")
    for text in result.get("findings", ()):
        say(f"found, and throws doubt on the claim: {text}", style="bold red")
    if not holds:
        fail(f"the certificate does not hold up: {result['reason']}")
        return
    if not quiet:
        say("It claims: " + result["statement"])
        for text in result["further"]:
            say(f"and that: {text}")
    say(result["verdict"], style="bold")


def _verify(path: Path, files: _Files, quiet: bool) -> dict[str, Any]:
    """Check a certificate: its arithmetic alone, or all of it with the model and the data.

    What comes back says whether it holds (None if only the arithmetic was checked, which is right),
    what was checked and what was not; then the verdict, the claim, what was found that throws doubt
    on it and what it assumes, or the reason why it does not hold.
    """
    from ..certificate import Certificate, CertificateError, CertificateFormatError

    checked: list[str] = []
    found: list[str] = []
    not_checked = list(_WITHOUT_DATA)
    model, old = files.model, files.old
    own_model = path.with_name(MODEL) if model is None else model
    try:
        certificate = Certificate.from_json(path)
        certificate.verify()
        checked.append("the arithmetic: KL from the weights, the bound from the evidence")
        unbound = check_belongs(certificate, path, own_model)
        if model is not None:
            if old is not None and old.is_file():
                name = f"{OLD_MODEL}{old.suffix}"
                unbound += [] if check_digest(certificate, path, name, old) else [str(old)]
            more, not_checked, found = _verify_votes(certificate, model, files, quiet)
            checked += more
        for name in unbound:
            not_checked.append(f"that {name} was written with it: there is no digest")
    except CertificateFormatError:
        raise
    except CertificateError as error:
        return {
            "holds": False,
            "checked": checked,
            "not_checked": ["the rest: the first thing that is wrong ends the check"],
            "reason": str(error),
        }
    return {
        "holds": None if model is None else True,
        "checked": checked,
        "not_checked": not_checked,
        "verdict": _ARITHMETIC if model is None else _EVERYTHING,
        "statement": claim_of(certificate),
        "further": [claim.statement for claim in certificate.claims[1:]],
        "findings": list(dict.fromkeys([*certificate.findings, *found])),
        "assumptions": list(certificate.assumptions),
    }


def _verify_votes(
    certificate: "Certificate", model: Path, files: _Files, quiet: bool
) -> tuple[list[str], list[str], list[str]]:
    """Count the votes again, and return what was checked, what was not, and what was found."""
    from ..certificate import CertificateError
    from ..certificate.neighbours import GIVEN
    from ..claims.abstaining import AT_ITS_WORD
    from ..classifiers import verify_model
    from ..tables.asked import Asked
    from ..tables.checks import TOPICS
    from ..tables.reading import sha256_of
    from ..voters import joined_of
    from .data import builtin_names, say_of_file
    from .models import answers, blame, compared, load_model, read_for
    from .unlabelled import check_wanted, read_unlabelled, was_found_again

    data, others = files.data, None
    vote = load_model(model, quiet)
    if isinstance(vote, list | tuple):
        raise ValueError(f"{model} holds several classifiers: give the model that certify wrote.")
    provenance, compared_with = certificate.provenance, _compared_with(certificate, files.old)
    begun_by_others = check_wanted(certificate, given=bool(files.unlabelled))
    if "voters_from" not in provenance:
        raise CertificateError("the certificate is of a table of votes, not of a model.")
    built_in = data[0] in builtin_names()
    asked = Asked() if built_in else Asked.certified(provenance, options.spelled)
    columns = [name for family in certificate.families for name in family.columns]
    asked = replace(asked, by=columns)
    positive = provenance.get("positive")
    by: dict[str, Any] = {}
    try:
        table = read_for(vote, data, asked, positive)
        for name, path in compared_with.items():
            other = load_model(path, quiet)
            by[name] = compared(other, read_for(other, data, asked, positive), positive)
    except ValueError as error:
        there = all(Path(name).is_file() for name in data)
        if there and sha256_of(data) == provenance.get("data_sha256"):
            raise CertificateError(
                f"{', '.join(data)} is not as the certificate says: {error}"
            ) from error
        raise
    if files.unlabelled:
        as_there = provenance | {"target": table.provenance.get("target")}
        others = read_unlabelled(vote, files.unlabelled, as_there)
    if not quiet:
        say_of_file(table)
    if not quiet and others is not None:
        say_of_file(others)
    same = provenance.get("data_sha256") == table.provenance.get("data_sha256")
    try:
        _check_left_out(provenance, table.provenance)
        by |= table.by
        rows = {"groups": table.groups, "time": table.time, "by": by}
        rows["unlabelled"] = None if others is None else others.X
        with warnings.catch_warnings():  # it is among what was not checked, below
            warnings.filterwarnings("ignore", f"not checked: {AT_ITS_WORD}")
            verify_model(vote, table.X, table.y, certificate, **rows)
        if same and certificate.made:  # of older ones, which did not look, it is said only
            certificate.verify_checks(table.checks, table.findings, TOPICS)
    except CertificateError as error:
        if same:
            raise
        order = " The order of several files matters: name them as they were certified."
        raise CertificateError(
            f"{error} {', '.join(data)} is another file than the one that was certified, "
            f"{name_of(provenance)}.{order if len(data) > 1 else ''}"
        ) from error
    except Exception:
        blame(vote, table, positive)
        if others is not None:
            answers(vote, others)
        raise
    voters = getattr(vote, "voters_", None)
    remembered = voters is not None and joined_of(voters.groups) is not None
    checked, not_checked = origins(provenance, remembered)
    if compared_with:
        checked.append("what the older model predicts on the data, and the difference")
        not_checked.append("that the older model was trained and chosen on other data")
    if certificate.families:
        checked.append("the counts behind each of the further claims")
    if begun_by_others:
        found_again, taken = was_found_again(given=others is not None)
        checked, not_checked = checked + found_again, not_checked + taken
    if certificate.neighbours is not None and certificate.neighbours.baseline_from == GIVEN:
        not_checked.append("that the class of the baseline was named before looking")
    return checked, not_checked + differences(provenance, table.provenance), table.findings


def _compared_with(certificate: "Certificate", old: Path | None) -> dict[str, Path]:
    """Return the file of the older model by its name, where a difference to it is claimed."""
    from ..claims import DifferenceFamily

    families = certificate.families
    names = [family.old for family in families if isinstance(family, DifferenceFamily)]
    if bool(names) != (old is not None):
        raise ValueError(
            f"--old must be the file of the older model, {names[0]!r}: a difference is claimed."
            if names
            else "--old is for a certificate that claims a difference, and this one does not."
        )
    return {} if old is None else dict.fromkeys(names, old)


def _check_left_out(claimed: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Refuse another number of rows without a label than the one that is claimed."""
    from ..certificate import CertificateError

    said, counted = (of.get("rows_without_label", 0) for of in (claimed, found))
    if said != counted:
        raise CertificateError(
            f"rows_without_label is claimed to be {said}, but {counted} rows have no label."
        )
