"""``certivote certify``: from a table to a model, a certificate and a page."""

import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.files import file_sha256
from .._utils.stopwatch import Stopwatch
from . import options
from .claims import Claims, claims_of
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
    show_warning,
    write_folder,
)
from .summary import print_result

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..classifiers import MajorityVoteClassifier
    from ..tables import Table
    from ..tables.asked import Asked

__all__ = ["certify", "copy_model", "without_findings", "write_results"]


@options.command
def certify(
    data: options.DataIfAny = None,
    target: options.Target = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    na_values: options.NaValues = None,
    keep_na: options.KeepNa = False,
    drop_missing_target: options.DropMissingTarget = False,
    group: options.Group = None,
    time: options.Time = None,
    bound: Annotated[
        str | None,
        typer.Option(
            autocompletion=options.complete_bound,
            help="The certificate to minimise. best, the default, gave the smallest over the "
            "paper's 16 tasks: it tests the prior vote with most of delta, and lets the weights be "
            "learned with the rest; one learned on part A it tests with all of delta. lacasse "
            "learns them by the paper's bound. Choose before you look: docs/choosing.md and "
            "`certivote compare` tell more.",
        ),
    ] = None,
    delta: options.Delta = options.DELTA,
    claim: options.Claim = None,
    abstain: options.Abstain = None,
    cost: options.Cost = None,
    class_frequencies: options.Frequencies = None,
    shift: options.Shift = None,
    share: options.Share = None,
    constant: options.Constant = None,
    voters: options.VoterKind = None,
    n_voters: options.NVoters = None,
    prior: options.Prior = None,
    certify_size: options.CertifySize = None,
    certification: options.Certification = None,
    bag_size: options.BagSize = None,
    smallest: options.Smallest = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A file with a fitted classifier, which is certified as it is: whatever its "
            "predict answers on DATA, all of which must be new to it. "
            f"{options.RUNS_CODE}",
        ),
    ] = None,
    members: Annotated[
        bool,
        typer.Option(
            "--members",
            help="Take the classifier of --model apart, and certify a weighted vote of its "
            "members instead. That may answer otherwise than the classifier does.",
        ),
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="With --model: the class that the baseline beside the certificate always answers. "
            "Fix it before you look; without it the most frequent class of DATA describes only."
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="With --model: the label of DATA for which it answers 1, or the second of its two "
            "labels, where it answers otherwise than DATA is written. With --claim f1: the class."
        ),
    ] = None,
    data_option: Annotated[
        list[str] | None, typer.Option("--data", help="The same as DATA.", show_default=False)
    ] = None,
    seed: options.Seed = options.SEED,
    jobs: options.Jobs = None,
    out: options.Out = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Print all of it: how the table was read, figures, assumptions."
        ),
    ] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Turn a table into a vote with a certificate, or certify a classifier that you have.

    Several files with the same columns are one table. Part of the rows trains the voters and weighs
    them; the others certify their vote, or learn other weights where that is better. Missing values
    and categories are handled, by what the training rows say. With --model all rows certify what it
    predicts. Written are model.joblib, certificate.json and report.html, and model.skops if skops
    is installed: others can load it without running code in it. Without DATA it is shown on
    breast-cancer.
    """
    from .._utils.validation import check_number
    from ..bounds import bound_at
    from ..classifiers import MajorityVoteClassifier
    from .models import check_prior

    if data and data_option:
        raise ValueError("DATA and --data are the same thing: give one of them.")
    data = data or data_option
    training = {"--voters": voters, "--n-voters": n_voters, "--certify-size": certify_size}
    training["--bag-size"] = bag_size
    claims = claims_of(claim, positive, abstain, cost, class_frequencies, shift, share)
    own = {"--members": members, "--baseline": baseline, "--positive": positive}
    if "f1" in (claim or ()):
        own.pop("--positive")
    if model is not None:
        _check_model_options(data, training, prior, own)
        if not members:
            _refuse({"--smallest": smallest}, "is for a vote: without --members there is none.")
        if not members and not (bound is None and constant is None):
            training = {"--bound": bound, "--constant": constant}
            _refuse(training, "is for weights that are learned: without --members nothing is.")
    else:
        _refuse(own, "is about a classifier that you have: name its file with --model.")
    check_prior(prior)
    if smallest is not None:
        check_number("--smallest", smallest, 0.0, 1.0)
    if certification == "oob" and model is not None and not members:
        raise ValueError("--certification oob needs --members: a model as it is has no bags.")
    trained = _voters(certification, voters, n_voters, certify_size, bag_size, jobs)
    learner = MajorityVoteClassifier(
        bound=bound_at(bound, delta, constant),
        prior=prior,
        random_state=seed,
        n_jobs=jobs,
        verbose=0 if quiet or as_json else 1,
        **trained,
        **claims.arguments,
    )
    if time is not None and group is not None:
        raise ValueError(
            "--group and --time cannot be given together: with --group the claim is about new "
            "groups, with --time about later rows, which must not be of the same groups. Leave "
            "--time out, and --drop its column if it tells nothing; or keep one row of each group, "
            "such as its latest, in the file, and leave --group out."
        )
    if time is not None and model is not None:
        raise ValueError("--time is for a vote that is trained here: with --model nothing is.")
    asked = options.asked(
        drop,
        categorical,
        target=target,
        group=group,
        time=time,
        na_values=na_values,
        keep_na=keep_na,
        drop_missing_target=drop_missing_target,
        by=claims.columns,
    )
    given = _Given(model, members, delta, baseline, positive, seed, claims, smallest)
    result = _certify(learner, data or [options.DATA], asked, given, out, as_json)
    if as_json:
        told = {name: result[name] for name in result if name not in ("table", "said")}
        print_json(told | {"certificate": result["certificate"].to_dict()})
    else:
        print_result(result, quiet, explain)


@dataclass
class _Given:
    """The file of a classifier, if there is one, and what is to be certified, of how few voters."""

    model: Path | None
    members: bool
    delta: float
    baseline: str | None
    positive: str | None
    seed: int
    claims: Claims
    smallest: float | None

    def words(self, model: Any) -> str | None:
        """Return which label the second one of a model stands for, if it is written otherwise."""
        known = [str(label) for label in getattr(model, "classes_", ())]
        claimed = any(family.kind == "f1" for family in self.claims.families)
        return None if claimed and self.positive in known else self.positive


def _refuse(given: Mapping[str, Any], why: str) -> None:
    """Refuse the first of some options that was given."""
    for option, value in given.items():
        if value not in (None, False):
            raise ValueError(f"{option} {why}")


def _voters(
    certification: str | None,
    kind: str | None,
    n_voters: int | None,
    certify_size: float | None,
    bag_size: float | None,
    jobs: int | None,
) -> dict[str, Any]:
    """Return the arguments of a vote that say how its voters are trained and certified."""
    from .bags import bagged_voters
    from .models import make_voters

    if certification == "oob":
        split = {"--certify-size": certify_size}
        _refuse(split, "is for a split: with --certification oob nothing is held back.")
        return bagged_voters(kind, n_voters, bag_size, jobs)
    if certification not in (None, "split"):
        raise ValueError(f"--certification must be split or oob, got {certification!r}.")
    _refuse({"--bag-size": bag_size}, "is for --certification oob: a split has no bags.")
    return {
        "voters": make_voters(kind, n_voters, jobs),
        "certify_size": options.CERTIFY_SIZE if certify_size is None else certify_size,
    }


def _check_model_options(
    data: list[str] | None, training: Mapping[str, Any], prior: str | None, own: Mapping[str, Any]
) -> None:
    """Refuse options of training beside a model, a model without data, and what excludes it."""
    if not data:
        raise ValueError("--model needs DATA that is new to it: give a file.")
    _refuse(training, "is for training: with --model nothing is trained.")
    if prior == "learned":
        raise ValueError("--prior learned needs training rows: with --model nothing is trained.")
    if own["--members"]:
        rest = {name: own.get(name) for name in ("--baseline", "--positive")}
        _refuse(rest, "is for a classifier as it is: leave it out, or --members.")


def _certify(
    learner: "MajorityVoteClassifier",
    data: list[str],
    asked: "Asked",
    given: _Given,
    out: Path | None,
    warn: bool,
) -> dict[str, Any]:
    """Learn a vote, or take the classifier that was given, certify it, and write the results.

    What comes back is the claim, the certificate, the table, the files, the seconds by stage and
    what was said meanwhile. A finding is part of the certificate, and a warning too only if `warn`.
    """
    from ..certificate.provenance import FEWEST_BY_SAMPLE
    from .data import read
    from .models import TRUST, load_model, read_for

    clock, quiet, model = Stopwatch(), not learner.verbose, given.model
    said: list[str] = []

    def tell(text: str) -> None:
        if not quiet:
            note(text)
            said.append(f"note: {text}")

    saved: Any = None
    digest = None
    if model is None:
        table = read(data, asked)
    else:
        digest = file_sha256(model) if model.is_file() else None
        saved = load_model(model, quiet)
        said += [] if is_safe(model) else [f"note: {TRUST}"]
        if isinstance(saved, list | tuple) and not given.members:
            raise ValueError(f"{model} holds several classifiers: add --members for their vote.")
        table = read_for(saved, data, asked, given.words(saved), given.members)
    clock.lap("reading")
    folder = results_folder(
        out, table.name, "certificate", (MODEL, SAFE_MODEL, REPORT, CERTIFICATE)
    )
    if (folder / CERTIFICATE).exists():
        tell(f"the certificate in {folder} will be replaced.")
    page: dict[str, Any] = {
        "details": {
            "data": ", ".join(data),
            "model": MODEL,
            **({"from": str(model)} if model else {}),
        },
        "table": table.reading or None,
    }
    with without_findings(table, warn, said) as found:
        if model is not None and not given.members:
            vote, certificate = saved, _tested(saved, table, given)
            clock.lap("voting")
        else:
            vote = _fit(learner, saved, table)
            times = vote.fit_times_
            clock.lap("fit")
            if given.smallest is not None:
                vote = _smaller(vote, given.smallest, table)
                clock.lap("choosing")
            certificate = vote.certificate_
            if certificate.provenance.get("fewest_by") != FEWEST_BY_SAMPLE:
                page["optimisation"] = vote.optimisation_
            del clock.seconds["fit"]
            clock.seconds |= times
        certificate = table.annotate(certificate)
        found += certificate.findings
    if vote is not saved:
        vote.certificate_ = certificate
    models = _model_files(vote, table, tell)
    if model is not None and vote is saved:
        models[SAFE_MODEL if is_safe(model) else MODEL] = partial(copy_model, model, digest)
    certificate, files = write_results(folder, models, certificate, page)
    result: dict[str, Any] = {
        "statement": claim_of(certificate),
        "certificate": certificate,
        "files": [str(path) for path in files],
        "table": table,
        "said": said,
    }
    if table.test is not None and model is None:
        result["test_risk"] = 1.0 - vote.score(*table.test)
    clock.lap("writing")
    return {**result, "seconds": clock.seconds}


@contextmanager
def without_findings(table: "Table", warn: bool, said: list[str]) -> Iterator[list[str]]:
    """Show the warnings of what happens inside; a finding, which is shown later, only if asked.

    What is shown is added to what was said.
    """
    findings: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield findings
        finally:
            texts = [str(warning.message) for warning in caught]
    for text in dict.fromkeys([*texts, *(table.findings if warn else ())]):
        if warn or text not in findings:
            show_warning(text)
            said.append(f"warning: {text}")


def _tested(model: Any, table: "Table", given: _Given) -> "Certificate":
    """Certify a classifier as it is."""
    from ..classifiers import certify_model
    from .models import blame

    try:
        return certify_model(
            *(model, table.X, table.y),
            delta=given.delta,
            baseline=given.baseline,
            positive=given.words(model),
            groups=table.groups,
            seed=given.seed,
            by=table.by,
            **given.claims.arguments,
        )
    except Exception:
        blame(model, table, given.words(model))
        raise


def _fit(learner: "MajorityVoteClassifier", voters: Any, table: "Table") -> Any:
    """Fit the learner, with voters that are fitted already if there are such."""
    from sklearn.base import BaseEstimator

    from .models import frozen, say_texts

    if voters is not None:
        learner.set_params(voters=frozen(voters))
    own = voters is None or isinstance(voters, list | tuple | BaseEstimator)
    if own:
        vote = learner.fit(table.X, table.y, groups=table.groups, time=table.time, by=table.by)
    if not own or (voters is not None and len(vote.voters_) == 1):
        raise ValueError(
            f"{type(voters).__name__} is one classifier, with no members to take apart: leave "
            "--members out, and it is certified as it is."
        )
    say_texts(vote, table)
    # A model is saved without a taste for progress bars.
    vote.verbose = 0
    return vote


def _smaller(vote: "MajorityVoteClassifier", tolerance: float, table: "Table") -> Any:
    """Return a vote of fewer voters, chosen on the rows that train wherever there are such."""
    from ..certificate.provenance import SPLIT

    if vote.certificate_.provenance["voters_from"] != SPLIT:
        return vote.smallest(tolerance)
    more = {"groups": table.groups, "time": table.time, "by": table.by}
    return vote.smallest(tolerance, table.X, table.y, **more)


def _model_files(
    vote: Any, table: "Table", tell: Callable[[str], None]
) -> dict[str, Callable[[Path], object]]:
    """Return what writes a model to each of its files."""
    import joblib

    return {
        MODEL: partial(joblib.dump, vote),
        SAFE_MODEL: partial(_write_safe, vote, table.X, tell),
    }


def copy_model(model: Path, digest: str | None, path: Path) -> None:
    """Copy the model that was loaded, and refuse one that has changed since."""
    shutil.copyfile(model, path)
    if file_sha256(path) != digest:
        raise ValueError(f"{model} has changed since it was loaded: run this again.")


def _write_safe(model: Any, X: Any, tell: Callable[[str], None], path: Path) -> None:
    """Write a model so that it can be loaded without running code in it, where skops is installed.

    Why there is none is told.
    """
    if find_spec("skops") is None:
        return
    from .safe import dump_safe

    try:
        dump_safe(model, path, X)
    except ValueError as error:
        tell(f"there is no {path.name}: {error}")


def write_results(
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
