"""``certivote compare``: every bound and learner on the same voters and the same split."""

import csv
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.formatting import format_confidence, format_up
from .._utils.progress import progress_bar
from . import options
from .output import note, print_json, print_table, results_folder, say, write_folder

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

    from ..certificate import Certificate
    from ..tables import Table

__all__ = ["compare"]

_FILES = ("comparison.csv", "comparison.png")
_QUADRATIC = ("mincq", "cqboost")


@options.command
def compare(
    data: options.DataIfAny = None,
    target: options.Target = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    na_values: options.NaValues = None,
    keep_na: options.KeepNa = False,
    drop_missing_target: options.DropMissingTarget = False,
    delta: options.Delta = options.DELTA,
    constant: options.Constant = None,
    share_delta: Annotated[
        bool,
        typer.Option(
            "--share-delta",
            help="Share delta out evenly, so that all certificates hold at once and the smallest "
            "may be claimed.",
        ),
    ] = False,
    voters: options.VoterKind = None,
    n_voters: options.NVoters = None,
    prior: options.Prior = None,
    certify_size: options.CertifySize = None,
    test_size: Annotated[
        float,
        typer.Option(help="The share of the rows that test, where DATA has no test rows."),
    ] = 0.25,
    seed: options.Seed = options.SEED,
    jobs: options.Jobs = None,
    out: options.Out = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Certify every bound and learner on the same voters and split, with test risks beside.

    The smallest certificate comes first. The last row is no certificate: it is what always
    answering the most frequent class of the training rows gives.
    """
    from numpy.random import RandomState

    from ..bounds import bound_at, list_bounds
    from .data import read
    from .models import check_prior, make_voters

    silent = quiet or as_json
    pool = make_voters(voters, n_voters, jobs)
    check_prior(prior)
    for name in list_bounds():
        bound_at(name, delta, constant)
    asked = options.asked(
        drop,
        categorical,
        target=target,
        na_values=na_values,
        keep_na=keep_na,
        drop_missing_target=drop_missing_target,
    )
    table = read(data or [options.DATA], asked)
    for line in () if silent else table.unusual():
        note(line)
    folder = results_folder(out, table.name, "comparison", _FILES)
    rng = RandomState(seed)
    parts = _split(table, certify_size, test_size, rng)
    ballots = _vote(pool, parts, prior, rng, jobs, verbose=0 if silent else 1)
    result = {
        "data": table.name,
        **_certify_all(ballots, delta, constant, share_delta, not silent),
        "findings": table.findings,
    }
    files = _write(result, folder)
    if as_json:
        print_json(_as_json(result))
    else:
        _print_result(result, files, quiet)


def _split(
    table: "Table", certify_size: float | None, test_size: float, rng: "RandomState"
) -> list[tuple[Any, "NDArray[Any]"]]:
    """Return the rows that train, certify and test."""
    import numpy as np

    from ..classifiers import share_to_certify

    for option, size in (("--certify-size", certify_size), ("--test-size", test_size)):
        if size is not None and not 0.0 < size < 1.0:
            raise ValueError(f"{option} must be a share between 0 and 1, got {size}.")
    order = rng.permutation(len(table.y))
    n_test = 0 if table.test is not None else round(test_size * len(order))
    rest = len(order) - n_test
    asked = options.CERTIFY_SIZE if certify_size is None else certify_size
    n_b = round(share_to_certify(asked, rest) * rest)
    cuts = np.split(order, [len(order) - n_test - n_b, len(order) - n_test])
    if min(len(cuts[0]), len(cuts[1]), len(cuts[2]) if table.test is None else 1) == 0:
        raise ValueError(f"{table.name} has too few rows to train, certify and test on.")
    parts = [(table.X.iloc[rows], table.y[rows]) for rows in cuts]
    return parts if table.test is None else [*parts[:2], table.test]


@dataclass
class _Ballots:
    """What voters that were trained once say of the rows that certify, and of those that test."""

    n_classes: int
    n_voters: int
    n_training: int
    certify: tuple[Any, Any]
    test: tuple[Any, Any]
    prior: "NDArray[Any] | None"
    # The most frequent class of the training rows, and how often it is wrong of those that test.
    baseline: tuple[str, float]


def _vote(
    pool: "Pipeline",
    parts: list[tuple[Any, "NDArray[Any]"]],
    prior: str | None,
    rng: "RandomState",
    jobs: int | None,
    verbose: int,
) -> _Ballots:
    """Train voters on the first part, learn a prior there if asked, and vote on the others."""
    import numpy as np

    from ..voters import fit_voters, is_mixed, learned_weights

    # The voters are trained on some of the classes, and name no others.
    classes = np.unique(np.concatenate([y for _, y in parts]))
    X, y = parts[0]
    voters = fit_voters(pool, X, y, random_state=rng, n_jobs=jobs, verbose=verbose)

    def votes_and_labels(X: Any, y: "NDArray[Any]") -> tuple[Any, Any]:
        ballots = voters.votes(X, classes, n_jobs=jobs, verbose=verbose)
        return ballots.codes, ballots.truth(y)

    weights = None
    if prior == "learned" or (prior is None and is_mixed(pool)):
        weights = learned_weights(pool, voters, X, y, classes, n_jobs=jobs)
    certify, test = (votes_and_labels(*part) for part in parts[1:])
    labels, counts = np.unique(y, return_counts=True)
    usual = labels[counts.argmax()]
    baseline = (str(usual), float(np.mean(parts[2][1] != usual)))
    return _Ballots(len(classes), len(voters), len(y), certify, test, weights, baseline)


def _certify_all(
    ballots: _Ballots, delta: float, constant: str | None, share_delta: bool, verbose: bool
) -> dict[str, Any]:
    """Learn, certify and test a vote by every bound and learner, each at delta or at its share."""
    from ..bounds import bound_at, list_bounds
    from ..certificate import certify
    from ..classifiers import MajorityVoteClassifier
    from ..voters import PredictionTable

    binary = _binary_learners() if ballots.n_classes == 2 else {}
    names = [*list_bounds(), *binary]
    own = delta / len(names) if share_delta else delta
    certificates: dict[str, Certificate] = {}
    risks: dict[str, float] = {}
    with progress_bar("learning", len(names), int(verbose)) as advance:
        for name in names:
            # The votes are the table of their voters.
            if name in binary:
                learner = binary[name](voters=PredictionTable(), delta=own)
            else:
                bound = bound_at(name, own, constant)
                learner = MajorityVoteClassifier(
                    voters=PredictionTable(),
                    bound=bound if ballots.prior is None else bound.for_learned_prior(),
                    prior=ballots.prior,
                    random_state=0,
                )
            try:
                vote = learner.fit(*ballots.certify)
            except (ValueError, RuntimeError) as error:
                warnings.warn(f"{name} is left out: {error}", stacklevel=2)
                advance()
                continue
            certificates[name] = vote.certificate_
            if name in binary:
                # By its own bound, with the constant of the others.
                bound = bound_at(vote.certificate_.bound, own, constant)
                certificates[name] = certify(vote.statistics_, weights=vote.weights_, bound=bound)
            risks[name] = 1.0 - vote.score(*ballots.test)
            advance()
    smallest_first = sorted(certificates, key=lambda name: certificates[name].risk_bound)
    usual, risk = ballots.baseline
    return {
        "n_voters": ballots.n_voters,
        "training_examples": ballots.n_training,
        "certification_examples": len(ballots.certify[1]),
        "test_examples": len(ballots.test[1]),
        "delta": delta,
        "delta_each": own,
        "certificates": {name: certificates[name] for name in smallest_first},
        "test_risks": {name: risks[name] for name in smallest_first},
        "baseline": {"name": f"always {usual}", "test_risk": risk},
    }


def _binary_learners() -> dict[str, Any]:
    """Return the learners of two classes that can run here, by their names."""
    from ..classifiers import CBBoostClassifier, CqBoostClassifier, MinCqClassifier

    learners = {
        "cb-boost": CBBoostClassifier,
        "mincq": MinCqClassifier,
        "cqboost": CqBoostClassifier,
    }
    if find_spec("clarabel") is None:
        warnings.warn(
            f"{' and '.join(_QUADRATIC)} are left out: they need pip install 'certivote[qp]'.",
            stacklevel=2,
        )
        learners = {name: kind for name, kind in learners.items() if name not in _QUADRATIC}
    return learners


def _rows(result: dict[str, Any]) -> Iterator[tuple[str, float, str, "Certificate | None"]]:
    """Yield the name, test risk, kind and certificate of each row, the smallest one first.

    The last is the baseline, of which nothing is certified.
    """
    for name, certificate in result["certificates"].items():
        kind = "says nothing" if certificate.vacuous else "certificate"
        yield name, result["test_risks"][name], kind, certificate
    yield *result["baseline"].values(), "no certificate", None


def _print_result(result: dict[str, Any], files: list[Path], quiet: bool) -> None:
    """Print the table with its warning."""
    rows = []
    for name, risk, kind, certificate in _rows(result):
        claim = ["", kind, ""]
        if certificate is not None:
            claim = [format_up(certificate.risk_bound), kind, certificate.bound]
        rows.append([name, f"{risk:.4f}", *claim])
    print_table(["learner", "test risk", "certificate", "kind", "by the bound"], rows)
    for text in result["findings"]:
        say(f"found, and throws doubt on each claim: {text}", style="bold red")
    if result["findings"]:
        say("Groups and times (--group, --time) are for certify: compare splits by rows.")
    if quiet:
        return
    say(
        f"{result['n_voters']} voters, trained on {result['training_examples']} examples, "
        f"certified on {result['certification_examples']}, tested on {result['test_examples']}."
    )
    say("Findings are of columns alone: certify looks at rows and votes too, and may find more.")
    say(_warning(result))
    say("Written: " + ", ".join(map(str, files)))


def _warning(result: dict[str, Any]) -> str:
    """Return what may, and may not, be claimed after looking at several certificates."""
    confidence = format_confidence(result["delta"])
    if result["delta_each"] < result["delta"]:
        name, best = min(result["certificates"].items(), key=lambda item: item[1].risk_bound)
        return (
            f"All of these hold at once with {confidence} confidence, so that the smallest may be "
            f"claimed: {name}, at most {format_up(best.risk_bound)}."
        )
    return (
        f"Each certificate holds with {confidence} confidence by itself. Picking the smallest "
        "afterwards does not: choose beforehand, or share delta out with --share-delta."
    )


def _write(result: dict[str, Any], folder: Path) -> list[Path]:
    """Write the table as CSV, and the plot if matplotlib is installed."""

    def write_csv(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["learner", "test_risk", "certificate", "delta", "kind", "bound"])
            for name, risk, kind, certificate in _rows(result):
                if certificate is None:
                    writer.writerow([name, risk, "", "", kind, ""])
                else:
                    number = format_up(certificate.risk_bound, 6)
                    row = [name, risk, number, certificate.delta, kind, certificate.bound]
                    writer.writerow(row)

    def write_plot(path: Path) -> None:
        from matplotlib.figure import Figure

        from ..plotting import ComparisonDisplay

        certificates, risks = result["certificates"], result["test_risks"]
        figure = Figure(figsize=(7, 1.2 + 0.4 * len(certificates)), layout="constrained")
        ComparisonDisplay.from_certificates(certificates, test_risks=risks, ax=figure.add_subplot())
        figure.savefig(path, dpi=150)

    table, plot = _FILES
    files: dict[str, Callable[[Path], object]] = {table: write_csv}
    if find_spec("matplotlib") is not None:
        files[plot] = write_plot
    return write_folder(folder, files)


def _as_json(result: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as plain objects."""
    plain = dict(result)
    for name in ("certificates", "test_risks", "baseline"):
        del plain[name]
    votes = {
        name: {
            "risk_bound": None if certificate is None else certificate.risk_bound,
            "test_risk": risk,
            "delta": None if certificate is None else certificate.delta,
            "kind": kind,
            "bound": None if certificate is None else certificate.bound,
        }
        for name, risk, kind, certificate in _rows(result)
    }
    return {**plain, "votes": votes, "warning": _warning(result)}
