"""``certivote compare``: every bound and learner on the same voters and the same split."""

import csv
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .._utils.formatting import format_confidence, format_up
from .._utils.progress import progress_bar
from ..bounds import list_bounds
from ..certificate import Certificate, certify
from ..classifiers import (
    CBBoostClassifier,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
)
from ..learners import logistic
from ..statistics import VoteStatistics
from ..voters import PredictionTable, fit_voters
from .data import Table
from .models import check_prior_option, make_bound, make_voters
from .output import print_table, say, write_folder

__all__ = ["compare_data", "print_comparison"]

# What is written.
FILES = ("comparison.csv", "comparison.png")
_BINARY = {
    "cb-boost": CBBoostClassifier,
    "mincq": MinCqClassifier,
    "cqboost": CqBoostClassifier,
}
_QUADRATIC = ("mincq", "cqboost")


def compare_data(
    table: Table,
    kind: str,
    n_voters: int | None,
    prior: str,
    delta: float,
    constant: str,
    share_delta: bool,
    certify_size: float,
    test_size: float,
    seed: int,
    jobs: int | None,
    verbose: int,
) -> dict[str, Any]:
    """Train voters once, then learn, certify and test every vote of them.

    Parameters
    ----------
    table : Table
        The data.
    kind, n_voters, prior, delta, constant, certify_size, seed, jobs
        The options of the command.
    share_delta : bool
        Whether to share delta out evenly, so that all certificates hold at once.
    test_size : float
        The share of the rows that test, where the data has no test rows of its own.
    verbose : int
        Show progress bars if positive.
    """
    names = list_bounds()
    for name in names:
        make_bound(name, delta, constant)
    rng = np.random.RandomState(seed)
    parts = _parts(table, certify_size, test_size, rng)
    (X_a, y_a), (X_b, y_b), (X_test, y_test) = parts
    classes = np.unique(np.concatenate([y_a, y_b, y_test]))
    voters = fit_voters(
        make_voters(kind, n_voters, jobs), X_a, y_a, random_state=rng, n_jobs=jobs, verbose=verbose
    )
    check_prior_option(prior)
    weights = None
    if prior == "learned":
        ballots = voters.votes(X_a, classes, n_jobs=jobs, verbose=verbose)
        sample = VoteStatistics.from_votes(ballots.codes, ballots.truth(y_a), keep_rows=True)
        weights = logistic(sample)
    # The voters were trained on some of the classes, and name no others.
    ballots, ballots_test = (
        voters.votes(X, classes, n_jobs=jobs, verbose=verbose) for X in (X_b, X_test)
    )
    votes, votes_test = ballots.codes, ballots_test.codes
    codes, codes_test = ballots.truth(y_b), ballots_test.truth(y_test)
    if len(classes) == 2:
        names += _BINARY
        if find_spec("clarabel") is None:
            names = [name for name in names if name not in _QUADRATIC]
            warnings.warn(
                f"{' and '.join(_QUADRATIC)} are left out: they need pip install 'certivote[qp]'.",
                stacklevel=2,
            )
    own = delta / len(names) if share_delta else delta
    certificates: dict[str, Certificate] = {}
    risks: dict[str, float] = {}
    with progress_bar("learning", len(names), verbose) as advance:
        for name in names:
            try:
                vote = _learner(name, own, constant, weights).fit(votes, codes)
            except (ValueError, RuntimeError) as error:
                warnings.warn(f"{name} is left out: {error}", stacklevel=2)
                advance()
                continue
            certificates[name] = vote.certificate_
            if name in _BINARY:
                lacasse = make_bound("lacasse", own, constant)
                certificates[name] = certify(vote.statistics_, weights=vote.weights_, bound=lacasse)
            risks[name] = 1.0 - vote.score(votes_test, codes_test)
            advance()
    return {
        "data": table.name,
        "n_voters": len(voters),
        "training_examples": len(y_a),
        "certification_examples": len(y_b),
        "test_examples": len(y_test),
        "delta": delta,
        "delta_each": own,
        "certificates": certificates,
        "test_risks": risks,
    }


def _learner(name: str, delta: float, constant: str, prior: NDArray[np.float64] | None) -> Any:
    """Return the learner of a row; the votes are its table."""
    if name in _BINARY:
        return _BINARY[name](voters=PredictionTable(), delta=delta)
    bound = make_bound(name, delta, constant)
    return MajorityVoteClassifier(
        voters=PredictionTable(), bound=bound, prior=prior, random_state=0
    )


def _parts(
    table: Table, certify_size: float, test_size: float, rng: np.random.RandomState
) -> list[tuple[Any, NDArray[Any]]]:
    """Return the rows that train, certify and test."""
    for option, size in (("--certify-size", certify_size), ("--test-size", test_size)):
        if not 0.0 < size < 1.0:
            raise ValueError(f"{option} must be a share between 0 and 1, got {size}.")
    order = rng.permutation(len(table.y))
    n_test = 0 if table.test is not None else round(test_size * len(order))
    n_b = round(certify_size * (len(order) - n_test))
    cuts = np.split(order, [len(order) - n_test - n_b, len(order) - n_test])
    if min(len(cuts[0]), len(cuts[1]), len(cuts[2]) if table.test is None else 1) == 0:
        raise ValueError(f"{table.name} has too few rows to train, certify and test on.")
    parts = [(_safe_indexing(table.X, rows), table.y[rows]) for rows in cuts]
    return parts if table.test is None else [*parts[:2], table.test]


def print_comparison(result: dict[str, Any], out: Path, quiet: bool) -> None:
    """Print the table with its warning, and write it and its plot to a folder.

    Parameters
    ----------
    result : dict
        What `compare_data` returned.
    out : Path
        The folder.
    quiet : bool
        Whether to print the table only.
    """
    rows = [
        [name, f"{result['test_risks'][name]:.4f}", format_up(certificate.risk_bound)]
        for name, certificate in result["certificates"].items()
    ]
    print_table(["learner", "test risk", "certificate"], rows)
    files = write_comparison(result, out)
    if quiet:
        return
    say(
        f"{result['n_voters']} voters, trained on {result['training_examples']} examples, "
        f"certified on {result['certification_examples']}, tested on {result['test_examples']}."
    )
    say(warning_of(result))
    say("Written: " + ", ".join(map(str, files)))


def warning_of(result: dict[str, Any]) -> str:
    """Return what may, and may not, be claimed after looking at several certificates.

    Parameters
    ----------
    result : dict
        What `compare_data` returned.
    """
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


def write_comparison(result: dict[str, Any], out: Path) -> list[Path]:
    """Write the table as CSV, and the plot if matplotlib is installed.

    Parameters
    ----------
    result : dict
        What `compare_data` returned.
    out : Path
        The folder.
    """

    def write_csv(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["learner", "test_risk", "certificate", "delta"])
            for name, certificate in result["certificates"].items():
                bound = format_up(certificate.risk_bound, 6)
                writer.writerow([name, result["test_risks"][name], bound, certificate.delta])

    def write_plot(path: Path) -> None:
        from matplotlib.figure import Figure

        from ..plotting import ComparisonDisplay

        certificates, risks = result["certificates"], result["test_risks"]
        figure = Figure(figsize=(7, 1.2 + 0.4 * len(certificates)), layout="constrained")
        ComparisonDisplay.from_certificates(certificates, test_risks=risks, ax=figure.add_subplot())
        figure.savefig(path, dpi=150)

    table, plot = FILES
    files: dict[str, Callable[[Path], object]] = {table: write_csv}
    if find_spec("matplotlib") is not None:
        files[plot] = write_plot
    return write_folder(out, files)


def as_json(result: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as plain objects.

    Parameters
    ----------
    result : dict
        What `compare_data` returned.
    """
    rows = {
        name: {
            "risk_bound": certificate.risk_bound,
            "test_risk": result["test_risks"][name],
            "delta": certificate.delta,
        }
        for name, certificate in result["certificates"].items()
    }
    plain = {
        key: value for key, value in result.items() if key not in ("certificates", "test_risks")
    }
    return {**plain, "votes": rows, "warning": warning_of(result)}
