"""``certivote certify``: from a table to a model, a certificate and a page."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.files import file_sha256
from .._utils.stopwatch import Stopwatch
from . import options
from .output import (
    CERTIFICATE,
    MODEL,
    REPORT,
    SAFE_MODEL,
    claim_of,
    is_safe,
    note,
    print_json,
    results_folder,
    say,
    write_folder,
)

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..classifiers import MajorityVoteClassifier
    from .data import Table

__all__ = ["certify"]


@options.command
def certify(
    data: options.DataIfAny = None,
    target: options.Target = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    bound: Annotated[
        str | None,
        typer.Option(
            autocompletion=options.complete_bound,
            help="The certificate to minimise. best, the default, gave the smallest over the "
            "paper's 16 tasks: it tests the prior vote with most of delta, and lets the weights be "
            "learned with the rest. lacasse learns them by the paper's bound. Choose before you "
            "look: docs/choosing.md and `certivote compare` tell more.",
        ),
    ] = None,
    delta: options.Delta = options.DELTA,
    constant: options.Constant = None,
    voters: options.VoterKind = None,
    n_voters: options.NVoters = None,
    prior: options.Prior = options.PRIOR,
    certify_size: options.CertifySize = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A file with fitted voters, or with a vote that certify wrote: then all "
            f"of DATA certifies, and must be new to them. {options.RUNS_CODE}",
        ),
    ] = None,
    data_option: Annotated[
        str | None, typer.Option("--data", help="The same as DATA.", show_default=False)
    ] = None,
    seed: options.Seed = options.SEED,
    jobs: options.Jobs = None,
    out: options.Out = None,
    safe: Annotated[
        bool,
        typer.Option(
            "--safe",
            help="Write model.skops too: others can load it without running code in it. Needs "
            "skops.",
        ),
    ] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Turn a table into a vote with a certificate: model.joblib, certificate.json, report.html.

    Part of the rows trains the voters; the others learn their weights and certify them. Missing
    values and categories are handled, by what the training rows say. Without DATA it is shown on
    breast-cancer.
    """
    from ..bounds import bound_at
    from ..classifiers import MajorityVoteClassifier
    from .models import check_prior, make_voters

    if data is not None and data_option is not None:
        raise ValueError("DATA and --data are the same thing: give one of them.")
    data = data_option if data is None else data
    if model is not None:
        training = {"--voters": voters, "--n-voters": n_voters, "--certify-size": certify_size}
        _check_model_options(data, training, prior)
    check_prior(prior)
    if safe:
        from .safe import require_skops

        require_skops()
    learner = MajorityVoteClassifier(
        voters=make_voters(voters, n_voters, jobs),
        bound=bound_at(bound, delta, constant),
        prior=None if prior == options.PRIOR else prior,
        certify_size=options.CERTIFY_SIZE if certify_size is None else certify_size,
        random_state=seed,
        n_jobs=jobs,
        verbose=0 if quiet or as_json else 1,
    )
    columns = {"target": target, "drop": drop or [], "categorical": categorical or []}
    result = _certify(learner, options.DATA if data is None else data, columns, model, out, safe)
    if as_json:
        print_json(result)
    else:
        _print_result(result, quiet)


def _check_model_options(data: str | None, training: Mapping[str, Any], prior: str) -> None:
    """Refuse options of training beside a model, and a model without data."""
    if data is None:
        raise ValueError("--model needs DATA that is new to it: give a file.")
    for option, value in training.items():
        if value is not None:
            raise ValueError(f"{option} is for training: with --model nothing is trained.")
    if prior == "learned":
        raise ValueError("--prior learned needs training rows: with --model nothing is trained.")


def _certify(
    learner: "MajorityVoteClassifier",
    data: str,
    columns: dict[str, Any],
    model: Path | None,
    out: Path | None,
    safe: bool,
) -> dict[str, Any]:
    """Learn a vote, or take the one in a model, certify it, and write the results.

    What comes back is the claim, the certificate, the files and the seconds by stage.
    """
    import joblib

    from .data import read_table
    from .models import is_vote, load_model, read_for

    clock, quiet = Stopwatch(), not learner.verbose
    saved: Any = None
    digest = None
    if model is None:
        table = read_table(data, **columns, quiet=quiet)
    else:
        digest = file_sha256(model) if model.is_file() else None
        saved = load_model(model, quiet)
        table = read_for(saved, data, **columns, quiet=quiet)
    folder = results_folder(
        out, table.name, "certificate", (MODEL, SAFE_MODEL, REPORT, CERTIFICATE)
    )
    if not quiet and (folder / CERTIFICATE).exists():
        note(f"the certificate in {folder} will be replaced.")
    clock.lap("reading")
    page: dict[str, Any] = {"details": {"data": data, "model": MODEL}}
    if model is not None and is_vote(saved):
        vote = saved
        certificate = _of(table, vote.certify(table.X, table.y, bound=learner.bound))
        clock.lap("voting")
    else:
        vote = _fit(learner, saved, table)
        certificate = vote.certificate_ = _of(table, vote.certificate_)
        page["optimisation"] = vote.optimisation_
        clock.lap("fit")
        del clock.seconds["fit"]
        clock.seconds |= vote.fit_times_
    models: dict[str, Callable[[Path], object]] = {
        MODEL: partial(joblib.dump, vote),
        SAFE_MODEL: partial(_write_safe, vote, table.X) if safe else lambda path: None,
    }
    if model is not None and vote is saved:
        models[SAFE_MODEL if is_safe(model) else MODEL] = partial(_copy, model, digest)
    certificate, files = _write(folder, models, certificate, page)
    result: dict[str, Any] = {
        "statement": claim_of(certificate),
        "certificate": certificate.to_dict(),
        "files": [str(path) for path in files],
    }
    if table.test is not None:
        result["test_risk"] = 1.0 - vote.score(*table.test)
    clock.lap("writing")
    return {**result, "seconds": clock.seconds}


def _fit(learner: "MajorityVoteClassifier", voters: Any, table: "Table") -> Any:
    """Fit the learner, with voters that are fitted already if there are such."""
    from .models import frozen

    if voters is not None:
        learner.set_params(voters=frozen(voters))
    vote = learner.fit(table.X, table.y)
    # A model is saved without a taste for progress bars.
    vote.verbose = 0
    return vote


def _of(table: "Table", certificate: "Certificate") -> "Certificate":
    """Say in a certificate which data it is of, and how it was read."""
    return replace(certificate, provenance={**table.provenance, **certificate.provenance})


def _copy(model: Path, digest: str | None, path: Path) -> None:
    """Copy the model that was loaded, and refuse one that has changed since."""
    shutil.copyfile(model, path)
    if file_sha256(path) != digest:
        raise ValueError(f"{model} has changed since it was loaded: run this again.")


def _write_safe(model: Any, X: Any, path: Path) -> None:
    """Write a model so that it can be loaded without running code in it, or say why not."""
    from .safe import dump_safe

    try:
        dump_safe(model, path, X)
    except ValueError as error:
        note(f"there is no {path.name}: {error}")


def _write(
    folder: Path,
    models: Mapping[str, Callable[[Path], object]],
    certificate: "Certificate",
    page: Mapping[str, Any],
) -> tuple["Certificate", list[Path]]:
    """Write the model, the page, and the certificate with the digests of all."""
    from ..report import write_report

    def write_certificate(path: Path) -> None:
        nonlocal certificate
        others = [path.with_name(name) for name in (*models, REPORT)]
        files = {other.name: file_sha256(other) for other in others if other.exists()}
        certificate = replace(certificate, files=files)
        certificate.to_json(path)

    writers: dict[str, Callable[[Path], object]] = {
        **models,
        REPORT: lambda path: write_report(certificate, path, **page),
        CERTIFICATE: write_certificate,
    }
    files = write_folder(folder, writers)
    return certificate, files


def _print_result(result: dict[str, Any], quiet: bool) -> None:
    """Print the claim first, then what is behind it."""
    from ..certificate import Certificate

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
