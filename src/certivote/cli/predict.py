"""``certivote predict``: the labels of a saved vote."""

from pathlib import Path
from typing import Any

from ..certificate import Certificate, CertificateError
from .data import read_table
from .models import (
    CERTIFICATE,
    MODEL,
    REPORT,
    category_names,
    check_belongs,
    feature_names,
    load_model,
    match_columns,
)
from .output import note

__all__ = ["check_out", "predict_data"]


def predict_data(model: Path, data: str, drop: list[str], shares: bool, quiet: bool) -> Any:
    """Return a frame with the predicted label of each row, and the vote shares if asked for.

    Parameters
    ----------
    model : Path
        A model that certify wrote, or any classifier.
    data : str
        A file or a built-in name. Columns that the model does not use are ignored.
    drop : list of str
        Columns to leave out, for a model that does not know the names of its columns.
    shares : bool
        Whether to add the share of the vote of each class.
    quiet : bool
        Whether to leave out the notes, such as that loading a model runs code.
    """
    import pandas as pd

    _check_run(model, quiet)
    vote = load_model(model, quiet)
    if isinstance(vote, list | tuple):
        raise ValueError(f"{model} holds several classifiers: certify them first.")
    table = read_table(
        data,
        drop=drop,
        features=feature_names(vote),
        names_only=category_names(vote),
        as_read=category_names(vote) is None,
        labelled=False,
        quiet=quiet,
    )
    X = match_columns(vote, table)
    columns: dict[str, Any] = {"prediction": vote.predict(X)}
    if shares:
        for label, share in zip(vote.classes_, vote.predict_proba(X).T, strict=True):
            columns[f"share {label}"] = share
    return pd.DataFrame(columns)


def check_out(out: Path | None, model: Path, data: str) -> None:
    """Refuse to write predictions over what they are made from.

    Parameters
    ----------
    out : Path or None
        Where they will go.
    model : Path
        The model.
    data : str
        The data.
    """
    if out is None or not out.exists():
        return
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file with --out.")
    for path in (model, Path(data), *(model.with_name(name) for name in (CERTIFICATE, REPORT))):
        if path.exists() and out.samefile(path):
            raise ValueError(f"{out} is {path}, which would be lost: name another file with --out.")


def _check_run(model: Path, quiet: bool) -> None:
    """Refuse a model that lies beside the certificate of another run."""
    path = model.with_name(CERTIFICATE)
    if model.name != MODEL or not path.is_file():
        if model.is_file() and not quiet:
            note(f"no {CERTIFICATE} lies beside {model}: nothing is claimed of these predictions.")
        return
    try:
        certificate = Certificate.from_json(path)
    except CertificateError as error:
        raise ValueError(
            f"{path}, beside the model, is no certificate: {error} Run certify again, or move it "
            "away to predict without one."
        ) from error
    check_belongs(certificate, path, model)
