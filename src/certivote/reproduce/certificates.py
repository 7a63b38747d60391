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

from .._utils.files import write_whole
from .._utils.formatting import format_up
from ..bounds import get_bound, list_bounds
from ..certificate import certify
from ..datasets import Dataset, list_datasets, load
from ..learners import logistic
from ..solvers import minimize
from ..statistics import VoteStatistics
from ..voters import fit_voters
from ..voting import count_vote_errors
from .protocol import DELTA, LARGE, prepare
from .run import check_names

__all__ = ["certificates"]

# The task on which stumps are many and weak.
_STUMPS_TASK = "mnist:4vs9"
_CLASSES = np.array([-1, 1])
# The certificates of stumps, and whether their prior is learned on part A.
_STUMPS_COLUMNS = (
    ("heldout", False),
    ("lacasse", False),
    ("dirichlet", False),
    ("best", False),
    ("best", True),
)


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
    parts = (X[:half], y[:half]), (X[half:], y[half:]), (data.X_test, data.y_test)
    ballots = [(voters.votes(rows, _CLASSES, n_jobs=jobs), labels) for rows, labels in parts]
    (part_a, codes_a), (part_b, codes_b), (test, codes_test) = (
        (votes.codes, votes.truth(labels)) for votes, labels in ballots
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


def _told(row: Row, quiet: bool) -> Row:
    """Return a row, after telling of it."""
    if not quiet:
        text = f"{row.task:12} {row.column:20} {format_up(row.risk_bound)}  {row.test_risk:.4f}"
        print(f"{text}  {row.seconds:.2f} s", file=sys.stderr, flush=True)
    return row


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
        A page with the marks ``<!-- table NAME -->`` and ``<!-- end -->`` around each table. The
        one of "many stumps", which takes many minutes, is made only if its mark is there.
    tasks : sequence of str
        The tasks; all 16 if empty.
    jobs : int, default=None
        How many voters are trained at the same time.
    quiet : bool, default=False
        Show no progress.
    """
    text = page.read_text(encoding="utf-8")
    names = check_names("task", tasks, list_datasets())

    def write(**tables: str) -> None:
        nonlocal text
        for mark, table in tables.items():
            text = _replace(text, mark.replace("_", " "), table)
        write_whole(page, text)

    write()
    rows: list[Row] = []
    for name in names:
        votes = _trees(load(name), jobs)
        rows += [_told(votes.row(bound), quiet) for bound in list_bounds()]
    write(
        certificates=_markdown(rows, "risk_bound"),
        test_risks=_markdown(rows, "test_risk"),
        seconds=_markdown(rows, "seconds"),
    )
    rows = []
    for name in names:
        if not name.startswith(LARGE):
            rows += _weak(load(name), jobs, _STUMPS_COLUMNS, quiet)
    if rows:
        write(
            stumps=_markdown(rows, "risk_bound"),
            stumps_test_risks=_markdown(rows, "test_risk"),
        )
    if _STUMPS_TASK in names and _mark("many stumps") in text:
        # Without `best` at equal weights: it is `dirichlet` again, and takes as long.
        columns = [column for column in _STUMPS_COLUMNS if column != ("best", False)]
        rows = _weak(load(_STUMPS_TASK), jobs, columns, quiet)
        write(many_stumps=_markdown(rows, "risk_bound"))


def _weak(
    data: Dataset, jobs: int | None, columns: Sequence[tuple[str, bool]], quiet: bool
) -> list[Row]:
    """Return the rows of votes of stumps, with equal weights or learned ones as the prior."""
    votes = {learned: _stumps(data, jobs, learned) for learned in (False, True)}
    return [
        _told(votes[learned].row(bound, bound + (", learned prior" if learned else "")), quiet)
        for bound, learned in columns
    ]


def _mark(name: str) -> str:
    """Return the line before a table."""
    return f"<!-- table {name} -->\n"


def _replace(page: str, mark: str, table: str) -> str:
    """Return the page with a new table between its marks."""
    begin = _mark(mark)
    if begin not in page:
        raise ValueError(f"the page must have the line {begin.strip()!r}, and end it with a mark.")
    before, _, rest = page.partition(begin)
    _, end, after = rest.partition("<!-- end -->")
    return before + begin + "\n" + table + "\n" + end + after
