"""``certivote certify``: from a table to a model, a certificate and a page."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib

from .._utils.files import file_sha256
from .._utils.stopwatch import Stopwatch
from ..certificate import Certificate
from ..classifiers import MajorityVoteClassifier
from ..report import write_report
from .data import Table, read_table
from .models import (
    CERTIFICATE,
    MODEL,
    REPORT,
    category_names,
    check_classes,
    check_prior_option,
    feature_names,
    frozen,
    is_vote,
    load_model,
    make_bound,
    make_voters,
    match_columns,
)
from .output import check_folder, note, say, statement, write_folder

__all__ = ["Request", "certify_data"]


@dataclass
class Request:
    """What the user asked for, as the options of the command."""

    data: str
    target: str | None
    drop: list[str]
    categorical: list[str]
    bound: str
    delta: float
    constant: str
    voters: str
    n_voters: int | None
    prior: str
    certify_size: float
    model: Path | None
    seed: int
    jobs: int | None
    out: Path | None
    quiet: bool
    verbose: int


def certify_data(request: Request) -> dict[str, Any]:
    """Learn a vote, or take one, certify it, and write the results.

    Parameters
    ----------
    request : Request
        The options.

    Returns
    -------
    dict
        The certificate, the files and the seconds by stage.
    """
    clock = Stopwatch()
    bound = make_bound(request.bound, request.delta, request.constant)
    check_prior_option(request.prior)
    model: Any = None
    if request.model is not None:
        loaded = file_sha256(request.model) if request.model.is_file() else None
        model = load_model(request.model, request.quiet)
    names = None if model is None else feature_names(model)
    table = read_table(
        request.data,
        request.target,
        request.drop,
        request.categorical,
        features=names,
        names_only=category_names(model),
        as_read=model is not None and category_names(model) is None,
        quiet=request.quiet,
    )
    folder = request.out or Path(f"{table.name.replace(':', '-')}-certificate")
    check_folder(folder, (MODEL, REPORT, CERTIFICATE))
    if not request.quiet and (folder / CERTIFICATE).exists():
        note(f"the certificate in {folder} will be replaced.")
    clock.lap("reading")
    optimisation = None
    if is_vote(model):
        check_classes(model, table)
        vote, fitted = model, False
        certificate = vote.certify(match_columns(model, table), table.y, bound=bound)
        clock.lap("voting")
    else:
        vote, fitted = _fit(request, bound, model, table), True
        certificate = vote.certificate_
        clock.lap("fit")
        clock.seconds.pop("fit")
        clock.seconds.update(vote.fit_times_)
        optimisation = vote.optimisation_
    certificate = _describe(certificate, table)
    if fitted:
        vote.certificate_ = certificate
    details = {"data": request.data, "model": MODEL}

    def write_model(path: Path) -> None:
        if fitted:
            joblib.dump(vote, path)
            return
        shutil.copyfile(str(request.model), path)
        if file_sha256(path) != loaded:
            raise ValueError(f"{request.model} has changed since it was loaded: run this again.")

    def write_page(path: Path) -> None:
        write_report(certificate, path, optimisation=optimisation, details=details)

    def write_certificate(path: Path) -> None:
        nonlocal certificate
        files = {name: file_sha256(path.with_name(name)) for name in (MODEL, REPORT)}
        certificate = replace(certificate, files=files)
        certificate.to_json(path)

    files = write_folder(
        folder, {MODEL: write_model, REPORT: write_page, CERTIFICATE: write_certificate}
    )
    result: dict[str, Any] = {
        "statement": statement(certificate),
        "certificate": certificate.to_dict(),
        "files": [str(path) for path in files],
    }
    if table.test is not None:
        result["test_risk"] = 1.0 - vote.score(*table.test)
    clock.lap("writing")
    result["seconds"] = clock.seconds
    return result


def _fit(request: Request, bound: Any, model: Any, table: Table) -> MajorityVoteClassifier:
    X = table.X
    if model is None:
        voters = make_voters(request.voters, request.n_voters, request.jobs)
    else:
        check_classes(model, table)
        X, voters = match_columns(model, table), frozen(model)
    vote = MajorityVoteClassifier(
        voters=voters,
        bound=bound,
        prior=None if request.prior == "uniform" else request.prior,
        certify_size=request.certify_size,
        random_state=request.seed,
        n_jobs=request.jobs,
        verbose=request.verbose,
    )
    vote.fit(X, table.y)
    # A model is saved without a taste for progress bars.
    vote.verbose = 0
    return vote


def _describe(certificate: Certificate, table: Table) -> Certificate:
    """Say in the certificate which data it is of, and how it was read."""
    return replace(certificate, provenance={**table.provenance, **certificate.provenance})


def print_result(result: dict[str, Any], quiet: bool) -> None:
    """Print the claim first, then what is behind it.

    Parameters
    ----------
    result : dict
        What `certify_data` returned.
    quiet : bool
        Whether to print the claim only.
    """
    say(result["statement"], style="bold")
    if quiet:
        return
    certificate = Certificate.from_dict(result["certificate"])
    for line in str(certificate).split("\n")[1:]:
        say(line)
    if "test_risk" in result:
        say(f"Error on the test rows of the task: {result['test_risk']:.4f}.")
    say("Written: " + ", ".join(result["files"]))
    (path,) = (name for name in result["files"] if name.endswith(CERTIFICATE))
    say(f"Anyone can check its arithmetic: certivote verify {path}")
