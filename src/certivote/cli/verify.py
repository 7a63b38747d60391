"""``certivote verify``: what of a certificate is right, and what nobody has checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..certificate import Certificate, CertificateError, CertificateFormatError
from ..certificate.provenance import (
    FROZEN,
    NEW_DATA,
    PRIOR_GIVEN,
    PRIOR_LEARNED,
    SPLIT,
    column_names,
)
from .data import builtin_names, read_table
from .models import (
    MODEL,
    category_names,
    check_belongs,
    check_classes,
    feature_names,
    is_vote,
    load_model,
    match_columns,
)
from .output import statement

__all__ = ["verify_file"]

_ARITHMETIC = "The arithmetic is right. Votes, labels and voters were not checked."
_EVERYTHING = "The certificate holds up, if what it assumes is true."
_WITHOUT_DATA = [
    "the votes and the labels: that takes --model and --data",
    "the voters: where they came from, and what they were trained on",
    "what the file says of the sample: where it came from, and what was found",
]
_ORIGINS = {
    SPLIT: "that the voters were trained on part A only",
    FROZEN: "that the frozen voters were trained and chosen on other data",
    NEW_DATA: "that neither the voters nor their weights have seen these examples, other than by "
    "looking for rows of the fit",
}
_PRIORS = {
    None: "the prior: it is uniform",
    PRIOR_LEARNED: "the prior: it was learned again on part A",
}


def verify_file(path: Path, model: Path | None, data: str | None, quiet: bool) -> dict[str, Any]:
    """Check a certificate: its arithmetic alone, or all of it with the model and the data.

    Parameters
    ----------
    path : Path
        The certificate.
    model : Path or None
        The model that was written with it.
    data : str or None
        The data that it was made from.
    quiet : bool
        Whether to leave out the notes, such as that loading a model runs code.

    Returns
    -------
    dict
        Whether it holds (None if only the arithmetic was checked, which is right), what was checked
        and what was not; then the verdict, the claim, what was found that throws doubt on it and
        what it assumes, or the reason why it does not hold.
    """
    if (model is None) != (data is None):
        raise ValueError("--model and --data must be given together: votes need both.")
    checked: list[str] = []
    not_checked = list(_WITHOUT_DATA)
    own_model = path.with_name(MODEL) if model is None else model
    try:
        certificate = Certificate.from_json(path)
        certificate.verify()
        checked.append("the arithmetic: KL from the weights, the bound from the evidence")
        unbound = check_belongs(certificate, path, own_model)
        if model is not None and data is not None:
            more, not_checked = _verify_all(certificate, model, data, quiet)
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
        "statement": statement(certificate),
        "findings": list(certificate.findings),
        "assumptions": list(certificate.assumptions),
    }


def _verify_all(
    certificate: Certificate, model: Path, data: str, quiet: bool
) -> tuple[list[str], list[str]]:
    """Count the votes again, and return what was checked and what was not."""
    vote = load_model(model, quiet)
    if not is_vote(vote):
        raise ValueError(f"{model} is not a vote: give the model.joblib that certify wrote.")
    provenance = certificate.provenance
    target, drop, categorical = None, [], []
    if "data_sha256" in provenance and data not in builtin_names():
        target = str(provenance.get("target"))
        drop, categorical = (
            column_names(key, provenance.get(key, "[]")) for key in ("dropped", "categorical")
        )
    table = read_table(
        data,
        target,
        drop,
        categorical,
        features=feature_names(vote),
        names_only=category_names(vote),
        as_read=category_names(vote) is None,
        quiet=quiet,
    )
    check_classes(vote, table)
    try:
        vote.verify(match_columns(vote, table), table.y, certificate)
    except CertificateError as error:
        digests = {known.get("data_sha256") for known in (provenance, table.provenance)}
        if len(digests) == 1:
            raise
        raise CertificateError(
            f"{error} {data} is another file than the one that was certified, {_name(provenance)}."
        ) from error
    checked = ["the votes of the model on the data: split, counts, moments, bound"]
    prior, origin = provenance.get("prior"), provenance["voters_from"]
    if origin == NEW_DATA:
        checked.append("the prior: it is the weights of the model")
    elif prior != PRIOR_GIVEN:
        checked.append(_PRIORS[prior])
    not_checked = [_ORIGINS[origin]]
    if prior == PRIOR_GIVEN:
        not_checked.append(
            "that the prior, which the user gave, was fixed without looking at the certification "
            "examples"
        )
    if "frozen_parts" in provenance:
        not_checked.append("that the frozen parts inside the voters were trained on other data")
    return checked, not_checked + _differences(provenance, table.provenance)


def _differences(claimed: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return in words where the file is another one than the certificate says."""
    words = []
    if claimed.get("data") != found.get("data"):
        words.append(
            f"that the file is the one that was certified: its name is {found.get('data')!r}, and "
            f"the certificate says {_name(claimed)}"
        )
    if claimed.get("data_sha256") != found.get("data_sha256"):
        other = "it is not, byte for byte" if "data_sha256" in claimed else "no digest is there"
        words.append(
            f"that the content of the file is the one that was certified: {other}, but it gives "
            "the same counts"
        )
    return words


def _name(claimed: Mapping[str, Any]) -> str:
    return repr(claimed["data"]) if "data" in claimed else "nothing"
