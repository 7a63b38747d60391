"""``certivote predict``: the labels of a saved vote."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .._utils.files import write_whole
from .._utils.formatting import printable, printable_lines
from . import options
from .output import CERTIFICATE, MODEL, REPORT, SAFE_MODEL, check_belongs, note

__all__ = ["predict"]


@options.command
def predict(
    model: Annotated[
        Path, typer.Argument(help=f"The model file that certify wrote. {options.RUNS_CODE}")
    ],
    data: options.Data,
    drop: options.Drop = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Add the share of the vote of each class.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The CSV file to write; standard output if not given.")
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict the label of each row with a saved vote, as CSV."""
    _check_out(out, model, data)
    frame = _predictions(model, data, drop or [], shares, quiet or as_json)
    text = frame.to_json(orient="records") if as_json else frame.to_csv(index=False)
    if out is None:
        # A file or a pipe has the labels as they are, as with ls.
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
    else:
        write_whole(out, text)
        if not quiet:
            print(f"Written: {printable(str(out))}", file=sys.stderr)


def _predictions(model: Path, data: str, drop: list[str], shares: bool, quiet: bool) -> Any:
    """Return a frame with the predicted label of each row, and the vote shares if asked for."""
    import pandas as pd

    from .models import load_model, read_for

    _check_run(model, quiet)
    vote = load_model(model, quiet)
    if isinstance(vote, list | tuple):
        raise ValueError(f"{model} holds several classifiers: certify them first.")
    X = read_for(vote, data, drop=drop, labelled=False, quiet=quiet).X
    columns: dict[str, Any] = {"prediction": vote.predict(X)}
    if shares:
        for label, share in zip(vote.classes_, vote.predict_proba(X).T, strict=True):
            columns[f"share {label}"] = share
    return pd.DataFrame(columns)


def _check_out(out: Path | None, model: Path, data: str) -> None:
    """Refuse to write predictions over what they are made from."""
    if out is None or not out.exists():
        return
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file with --out.")
    for path in (model, Path(data), *(model.with_name(name) for name in (CERTIFICATE, REPORT))):
        if path.exists() and out.samefile(path):
            raise ValueError(f"{out} is {path}, which would be lost: name another file with --out.")


def _check_run(model: Path, quiet: bool) -> None:
    """Refuse a model that lies beside the certificate of another run."""
    from ..certificate import Certificate, CertificateError

    path = model.with_name(CERTIFICATE)
    if model.name not in (MODEL, SAFE_MODEL) or not path.is_file():
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
