"""Every certificate on every task of the paper: the tables of docs/choosing.md."""

import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._ballots import codes_of, count_vote_errors
from .._files import write_whole
from .._formatting import format_up
from ..bounds import get_bound, list_bounds
from ..certificate import certify
from ..datasets import Dataset, list_datasets, load
from ..learners import logistic
from ..solvers import minimize
from ..statistics import VoteStatistics
from ..voters import fit_voters
from .protocol import DELTA, LARGE, prepare
from .run import check_names

__all__ = ["certificates"]

# The task on which stumps are many and weak.
_STUMPS_TASK = "mnist:4vs9"
_CLASSES = np.array([-1, 1])


@dataclass(frozen=True)
class Row:
    """One vote of one task: its certificate, its test risk, and what it took to learn it."""

    task: str
    column: str
    risk_bound: float
    test_risk: float
    seconds: float


@dataclass(frozen=True)
class Votes:
    """Votes as class numbers on part B and on the test rows, and a prior for them."""

    task: str
    part_b: NDArray[Any]
    y: NDArray[Any]
    test: NDArray[Any]
    y_test: NDArray[Any]
    prior: NDArray[np.float64] | None = None

    def row(self, bound: str, column: str | None = None) -> Row:
        """Learn and certify a vote by a bound, and test it."""
        chosen = get_bound(bound, delta=DELTA)
        statistics = chosen.count(self.part_b, self.y, self.prior)
        start = time.perf_counter()
        with warnings.catch_warnings():
            # It stops early only where the certificate says nothing.
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights = minimize(chosen, statistics, self.prior).weights
        seconds = time.perf_counter() - start
        certificate = certify(statistics, weights=weights, bound=chosen, prior=self.prior)
        tested = count_vote_errors(self.test, self.y_test, [weights])
        risk = float(tested.errors[0]) / len(self.y_test)
        return Row(self.task, column or bound, certificate.risk_bound, risk, seconds)


def _trees(data: Dataset, jobs: int | None) -> Votes:
    sample = prepare(data, jobs)
    return Votes(data.name, sample.votes, sample.y, sample.votes_test, sample.y_test)


def _stumps(data: Dataset, jobs: int | None, learned: bool) -> Votes:
    half = len(data.y_train) // 2
    X, y = data.X_train, data.y_train
    voters = fit_voters(
        "stumps", X[:half], y[:half], random_state=np.random.RandomState(0), n_jobs=jobs
    )
    part_a, part_b, test = (
        voters.votes(rows, _CLASSES, n_jobs=jobs) for rows in (X[:half], X[half:], data.X_test)
    )
    codes_a, codes_b, codes_test = (
        codes_of(labels, _CLASSES) for labels in (y[:half], y[half:], data.y_test)
    )
    prior = None
    if learned:
        prior = logistic(VoteStatistics.from_votes(part_a, codes_a, keep_rows=True))
    return Votes(data.name, part_b, codes_b, test, codes_test, prior)


def _markdown(rows: Sequence[Row], what: str) -> str:
    """Return a table of tasks by columns, with the mean; certificates are rounded up."""
    columns = list(dict.fromkeys(row.column for row in rows))
    tasks = list(dict.fromkeys(row.task for row in rows))
    values = {(row.task, row.column): getattr(row, what) for row in rows}

    def show(value: float) -> str:
        return format_up(value) if what == "risk_bound" else f"{value:.4f}"

    lines = ["| task | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for task in tasks:
        best = min(values[task, column] for column in columns)
        cells = [
            f"**{show(values[task, column])}**"
            if what == "risk_bound" and values[task, column] == best
            else show(values[task, column])
            for column in columns
        ]
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    means = (float(np.mean([values[task, column] for task in tasks])) for column in columns)
    lines.append("| mean | " + " | ".join(map(show, means)) + " |")
    return "\n".join(lines) + "\n"


def _say(row: Row, quiet: bool) -> None:
    if not quiet:
        text = f"{row.task:12} {row.column:18} {format_up(row.risk_bound)}  {row.test_risk:.4f}"
        print(f"{text}  {row.seconds:.2f} s", file=sys.stderr, flush=True)


def certificates(
    page: Path,
    tasks: Sequence[str] = (),
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Certify votes of trees and of stumps by every bound, and write the tables into a page.

    Parameters
    ----------
    page : Path
        A page with the marks ``<!-- table NAME -->`` and ``<!-- end -->`` around each table.
    tasks : sequence of str
        The tasks; all 16 if empty.
    jobs : int, default=None
        How many voters are trained at the same time.
    quiet : bool, default=False
        Show no progress.
    """
    text = page.read_text(encoding="utf-8")
    names = check_names("task", tasks, list_datasets())
    trees: list[Row] = []
    weak: list[Row] = []
    for name in names:
        data = load(name)
        votes = _trees(data, jobs)
        for bound in list_bounds():
            trees.append(votes.row(bound))
            _say(trees[-1], quiet)
        small = not name.startswith(LARGE)
        if small or name == _STUMPS_TASK:
            uniform, learned = (_stumps(data, jobs, learned) for learned in (False, True))
            for rows, column in (
                (uniform, "heldout"),
                (uniform, "lacasse"),
                (uniform, "dirichlet"),
                (uniform, "best"),
                (learned, "best"),
            ):
                label = column + (", learned prior" if rows is learned else "")
                weak.append(rows.row(column, label))
                _say(weak[-1], quiet)
    small_rows = [row for row in weak if row.task != _STUMPS_TASK]
    large_rows = [row for row in weak if row.task == _STUMPS_TASK]
    tables = {
        "certificates": _markdown(trees, "risk_bound"),
        "test risks": _markdown(trees, "test_risk"),
        "seconds": _markdown(trees, "seconds"),
    }
    if small_rows:
        tables["stumps"] = _markdown(small_rows, "risk_bound")
        tables["stumps test risks"] = _markdown(small_rows, "test_risk")
    if large_rows:
        tables["many stumps"] = _markdown(large_rows, "risk_bound")
    for mark, table in tables.items():
        text = _replace(text, mark, table)
    write_whole(page, text)


def _replace(page: str, mark: str, table: str) -> str:
    """Return the page with a new table between its marks."""
    begin = f"<!-- table {mark} -->\n"
    if begin not in page:
        raise ValueError(f"the page must have the line {begin.strip()!r}, and end it with a mark.")
    before, _, rest = page.partition(begin)
    _, end, after = rest.partition("<!-- end -->")
    return before + begin + "\n" + table + "\n" + end + after
