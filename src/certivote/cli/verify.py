"""``certivote verify``: whether a certificate holds up."""

import json
from pathlib import Path
from typing import Any

from ..certificate import Certificate, CertificateError, CertificateFormatError
from .data import builtin_names, read_table
from .models import category_names, check_classes, feature_names, is_vote, load_model, match_columns
from .output import statement

__all__ = ["verify_file"]


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
        Whether it holds, what was checked, and why it does not hold.
    """
    if (model is None) != (data is None):
        raise ValueError("--model and --data must be given together: votes need both.")
    checked: list[str] = []
    try:
        certificate = Certificate.from_json(path)
        certificate.verify()
        checked.append("the arithmetic: KL from the weights, the bound from the evidence")
        if model is not None and data is not None:
            checked += _verify_all(certificate, model, data, quiet)
    except CertificateFormatError:
        raise
    except CertificateError as error:
        return {"holds": False, "checked": checked, "reason": str(error)}
    return {"holds": True, "checked": checked, "statement": statement(certificate)}


def _verify_all(certificate: Certificate, model: Path, data: str, quiet: bool) -> list[str]:
    """Count the votes again, and return what was checked."""
    vote = load_model(model, quiet)
    if not is_vote(vote):
        raise ValueError(f"{model} is not a vote: give the model.joblib that certify wrote.")
    provenance = certificate.provenance
    target, drop, categorical = None, [], []
    if "data_sha256" in provenance and data not in builtin_names():
        target = str(provenance.get("target"))
        drop, categorical = (_names(provenance, key) for key in ("dropped", "categorical"))
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
    vote.verify(match_columns(vote, table), table.y, certificate)
    checked = ["the votes of the model on the data: split, counts, moments, prior, bound"]
    if provenance.get("data_sha256") == table.provenance.get("data_sha256"):
        return checked
    return [*checked, "not the same file byte for byte, but one that gives the same counts"]


def _names(provenance: dict[str, Any], key: str) -> list[str]:
    try:
        names = json.loads(provenance.get(key, "[]"))
    except (TypeError, ValueError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CertificateError(f"{key} must be a list of columns, got {provenance[key]!r}.")
    return names
