"""``certivote verify``: whether a certificate holds up."""

import json
from pathlib import Path
from typing import Any

from ..certificate import Certificate, CertificateError, CertificateFormatError
from .data import read_table
from .models import category_names, feature_names, is_vote, load_model, match_columns
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
        Whether to leave out the note that loading a model runs code.

    Returns
    -------
    dict
        Whether it holds, what was checked, and why it does not hold.
    """
    if (model is None) != (data is None):
        raise ValueError("--model and --data must be given together: votes need both.")
    checked = []
    try:
        certificate = Certificate.from_json(path)
        certificate.verify()
        checked.append("the arithmetic: KL from the weights, the bound from the evidence")
        if model is not None and data is not None:
            _verify_all(certificate, model, data, quiet)
            checked.append("the votes of the model on the data: counts, moments, bound")
    except CertificateFormatError:
        raise
    except CertificateError as error:
        return {"holds": False, "checked": checked, "reason": str(error)}
    return {"holds": True, "checked": checked, "statement": statement(certificate)}


def _verify_all(certificate: Certificate, model: Path, data: str, quiet: bool) -> None:
    vote = load_model(model, quiet)
    if not is_vote(vote):
        raise ValueError(f"{model} is not a vote: give the model.joblib that certify wrote.")
    provenance = certificate.provenance
    table = read_table(
        data,
        provenance.get("target"),
        json.loads(provenance.get("dropped", "[]")),
        json.loads(provenance.get("categorical", "[]")),
        features=feature_names(vote),
        names_only=category_names(vote),
    )
    vote.verify(match_columns(vote, table), table.y, certificate)
