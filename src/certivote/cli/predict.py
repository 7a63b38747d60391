"""``certivote predict``: the labels of a saved vote, beside the identifiers of the table."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.files import write_whole
from .._utils.formatting import printable, printable_lines
from . import options
from .output import CERTIFICATE, MODEL, REPORT, SAFE_MODEL, check_belongs, note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..certificate import Certificate
    from ..tables import Table

__all__ = ["predict"]

# What a column of the table is called besides its name, where that is taken.
_OF_TABLE = " (table)"
# So many digits of a share are written: those after them are of the sum that it is.
_DIGITS = 12


@options.command
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            help="The model file that certify wrote, or another one with a classifier. "
            f"{options.RUNS_CODE}"
        ),
    ],
    data: options.DataFiles,
    drop: options.Drop = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Add the share, or the probability, of each class.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The CSV file to write; standard output if not given.")
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Predict the label of each row with a saved vote or classifier, as CSV.

    The columns that the model does not use, such as identifiers, come first, as they are written;
    then `prediction`, and the `share` of the vote for it. That of another classifier is the
    `probability` that it claims. Where it may abstain, and is not sure enough, there is no
    prediction. A column of the table that is called so is called prediction (table), and so on.
    """
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


def _predictions(path: Path, data: list[str], drop: list[str], shares: bool, quiet: bool) -> Any:
    """Return the columns of a table that a model does not use, and its predictions beside them."""
    from .data import say_of_file
    from .models import load_model
    from .unlabelled import read_unlabelled

    certificate = _check_run(path, quiet)
    model = load_model(path, quiet)
    if isinstance(model, list | tuple):
        raise ValueError(f"{path} holds several classifiers: certify them first.")
    table = read_unlabelled(model, data, certificate.provenance if certificate else {}, drop)
    if not quiet:
        say_of_file(table)
    added = _predict(model, path, table, shares, certificate)
    if certificate is not None and any(one.needs_scores for one in certificate.families):
        answered = sum(label is not None for label in added["prediction"])
        if not quiet:
            note(f"It is sure enough to answer on {answered} of {len(table.X)} rows.")
    taken = [name for name in table.others.columns if name in added]
    if taken and not quiet:
        note(f"{', '.join(map(repr, taken))} of the table: called {taken[0] + _OF_TABLE!r} here.")
    return _free_names(table.others, [*added]).assign(**added)


def _predict(
    model: Any, path: Path, table: "Table", shares: bool, certificate: "Certificate | None"
) -> dict[str, Any]:
    """Return the predictions of a model, and what it says of how sure they are.

    They are written as in the table that was certified. How sure is the share of the vote that the
    predicted class has, for a vote; for another classifier the probability that it claims for it,
    if it does; for `shares` that of each class, too.
    """
    import numpy as np
    import pandas as pd

    from ..classifiers import answer_scores
    from .models import answers, is_vote

    X, labels = table.X, np.asarray(answers(model, table))
    if labels.size != len(X):
        raise ValueError(
            f"{path} must predict a label for each row, got shape {labels.shape} for {len(X)} rows."
        )
    labels = labels.reshape(-1)
    known = np.asarray(model.classes_ if hasattr(model, "classes_") else np.unique(labels))
    written = _words(known, certificate)
    words = pd.Series(labels).map(written) if written else pd.Series(labels)
    if certificate is not None and any(one.needs_scores for one in certificate.families):
        # Nothing is claimed of the answers that it was not sure enough of.
        scores = answer_scores(model, X, labels)
        words = words.astype(object).where(certificate.answered(scores), None)
    columns: dict[str, Any] = {"prediction": words.to_numpy()}
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")):
        if shares:
            raise ValueError(f"{path} knows no shares or probabilities: leave --shares out.")
        return columns
    word = "share" if is_vote(model) else "probability"
    proba = np.round(model.predict_proba(X), _DIGITS)
    # A vote may predict what is none of its classes, and a model another than the likeliest one.
    of = pd.Index(known).get_indexer(labels)
    columns[word] = np.where(of < 0, np.nan, proba[np.arange(len(of)), of])
    if shares:
        for label, share in zip(known.tolist(), proba.T, strict=True):
            columns[f"{word} {written.get(label, label)}"] = share
    return columns


def _words(known: "NDArray[Any]", certificate: "Certificate | None") -> dict[Any, str]:
    """Return how a table calls the two labels of a model, where it was certified by such words."""
    from ..classifiers.model import two_answers

    positive = None if certificate is None else certificate.provenance.get("positive")
    if certificate is None or positive is None:
        return {}
    words = [*(name for name in certificate.class_counts if name != positive), positive]
    return dict(zip(two_answers(known), words, strict=False)) if len(words) == 2 else {}


def _free_names(frame: Any, taken: list[str]) -> Any:
    """Return the columns of a table under names that are not taken by what is added."""
    names: list[str] = []
    for name in frame.columns:
        while name in taken or name in names:
            name += _OF_TABLE
        names.append(name)
    return frame.set_axis(names, axis=1)


def _check_out(out: Path | None, model: Path, data: list[str]) -> None:
    """Refuse to write predictions over what they are made from."""
    if out is None or not out.exists():
        return
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file with --out.")
    beside = (model.with_name(name) for name in (MODEL, SAFE_MODEL, CERTIFICATE, REPORT))
    for path in (model, *map(Path, data), *beside):
        if path.exists() and out.samefile(path):
            raise ValueError(f"{out} is {path}, which would be lost: name another file with --out.")


def _check_run(model: Path, quiet: bool) -> "Certificate | None":
    """Return the certificate beside a model, if there is one, and refuse that of another run."""
    from ..certificate import Certificate, CertificateError

    path = model.with_name(CERTIFICATE)
    if model.name not in (MODEL, SAFE_MODEL) or not path.is_file():
        if model.is_file() and not quiet:
            note(f"no {CERTIFICATE} lies beside {model}: nothing is claimed of these predictions.")
        return None
    try:
        certificate = Certificate.from_json(path)
    except CertificateError as error:
        raise ValueError(
            f"{path}, beside the model, is no certificate: {error} Run certify again, or move it "
            "away to predict without one."
        ) from error
    check_belongs(certificate, path, model)
    return certificate
