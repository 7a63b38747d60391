"""Write the tables of docs/certificates.md, every certificate on every task of the paper.

Their means are written into docs/choosing.md.

python docs/build/choosing.py; `make tables` does it.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from marks import mark_of, replaced
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from certivote import VoteStatistics, certify, format_up, minimize
from certivote._utils.files import write_whole
from certivote.bounds import get_bound, list_bounds
from certivote.datasets import Dataset, list_datasets, load
from certivote.learners import logistic
from certivote.reproduce.protocol import DELTA, LARGE, prepare
from certivote.reproduce.run import check_names
from certivote.reproduce.table import markdown
from certivote.voters import fit_voters
from certivote.voting import count_vote_errors

DOCS = Path(__file__).resolve().parents[1]
PAGE, SUMMARY = DOCS / "certificates.md", DOCS / "choosing.md"
# The task on which stumps are many and weak.
STUMPS_TASK = "mnist:4vs9"
CLASSES = np.array([-1, 1])
# What one run may write: the tables of trees, those of stumps, that of many stumps.
PARTS = ("trees", "stumps", "many stumps")
# The certificates of stumps, and whether their prior is learned on part A.
STUMPS_COLUMNS = (
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
    """Votes as class numbers on part B and on the test rows, and a prior learned on part A."""

    task: str
    part_b: NDArray[Any]
    y: NDArray[Any]
    test: NDArray[Any]
    y_test: NDArray[Any]
    prior: NDArray[np.float64] | None = None

    def row(self, bound: str, column: str | None = None) -> Row:
        """Learn and certify a vote by a bound, and test it."""
        chosen = get_bound(bound, delta=DELTA)
        if self.prior is not None:
            chosen = chosen.for_learned_prior()
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


def votes_of_trees(data: Dataset, jobs: int | None) -> Votes:
    """Return the votes of the paper's trees."""
    sample = prepare(data, jobs)
    return Votes(data.name, sample.votes, sample.y, sample.votes_test, sample.y_test)


def votes_of_stumps(data: Dataset, jobs: int | None, learned: bool) -> Votes:
    """Return the votes of stumps of part A, whose prior is learned there or uniform."""
    half = len(data.y_train) // 2
    X, y = data.X_train, data.y_train
    voters = fit_voters(
        "stumps", X[:half], y[:half], random_state=np.random.RandomState(0), n_jobs=jobs
    )
    parts = (X[:half], y[:half]), (X[half:], y[half:]), (data.X_test, data.y_test)
    ballots = [(voters.votes(rows, CLASSES, n_jobs=jobs), labels) for rows, labels in parts]
    (part_a, codes_a), (part_b, codes_b), (test, codes_test) = (
        (votes.codes, votes.truth(labels)) for votes, labels in ballots
    )
    prior = None
    if learned:
        prior = logistic(VoteStatistics.from_votes(part_a, codes_a, keep_rows=True))
    return Votes(data.name, part_b, codes_b, test, codes_test, prior)


def tabulate(rows: Sequence[Row], what: str) -> str:
    """Return a table of tasks by columns, with the mean; certificates are rounded up."""
    frame = pd.DataFrame(rows).set_index(["task", "column"])[what].unstack(sort=False)

    def show(value: float, smallest: float = -1.0) -> str:
        if what != "risk_bound":
            return f"{value:.4f}"
        return f"**{format_up(value)}**" if value == smallest else format_up(value)

    lines = [[str(task), *(show(x, row.min()) for x in row)] for task, row in frame.iterrows()]
    return markdown(["task", *frame], [*lines, ["mean", *map(show, frame.mean())]])


def summarise(rows: Sequence[Row]) -> str:
    """Return a table of bounds by their means over the tasks, the smallest certificate first."""
    means = pd.DataFrame(rows).groupby("column")[["risk_bound", "test_risk", "seconds"]].mean()
    lines = [
        [f"`{name}`", format_up(row.risk_bound), f"{row.test_risk:.4f}", f"{row.seconds:.3f}"]
        for name, row in means.sort_values("risk_bound").iterrows()
    ]
    head = ["bound", "mean certificate", "mean error on test rows", "seconds to learn"]
    return markdown(head, lines)


def told(row: Row, quiet: bool) -> Row:
    """Return a row, after telling of it."""
    if not quiet:
        text = f"{row.task:12} {row.column:20} {format_up(row.risk_bound)}  {row.test_risk:.4f}"
        print(f"{text}  {row.seconds:.2f} s", file=sys.stderr, flush=True)
    return row


def certificates(
    page: Path,
    summary: Path,
    tasks: Sequence[str] = (),
    jobs: int | None = None,
    quiet: bool = False,
    parts: Sequence[str] = PARTS,
) -> None:
    """Certify votes of trees and of stumps by every bound, and write the tables into two pages.

    The pages have the marks ``<!-- table NAME -->`` and ``<!-- end -->`` around each table. The one
    of "many stumps", which takes many minutes, is made only if its mark is there. Tables of other
    parts stay as they are.
    """
    text = page.read_text(encoding="utf-8")
    names = check_names("task", tasks, list_datasets())
    parts = check_names("part", parts, PARTS)

    def write(**tables: str) -> None:
        nonlocal text
        for mark, table in tables.items():
            text = replaced(text, mark.replace("_", " "), table)
        write_whole(page, text)

    write()
    rows: list[Row] = []
    for name in names if "trees" in parts else ():
        votes = votes_of_trees(load(name), jobs)
        # The default first, and what is near it.
        rows += [told(votes.row(bound), quiet) for bound in reversed(list_bounds())]
    if rows:
        write(
            certificates=tabulate(rows, "risk_bound"),
            test_risks=tabulate(rows, "test_risk"),
            seconds=tabulate(rows, "seconds"),
        )
        short = summary.read_text(encoding="utf-8")
        write_whole(summary, replaced(short, "means", summarise(rows)))
    rows = []
    for name in names if "stumps" in parts else ():
        if not name.startswith(LARGE):
            rows += rows_of_stumps(load(name), jobs, STUMPS_COLUMNS, quiet)
    if rows:
        write(
            stumps=tabulate(rows, "risk_bound"),
            stumps_test_risks=tabulate(rows, "test_risk"),
        )
    if "many stumps" in parts and STUMPS_TASK in names and mark_of("many stumps") in text:
        # Without `best` at equal weights: it is `dirichlet` again, and takes as long.
        columns = [column for column in STUMPS_COLUMNS if column != ("best", False)]
        rows = rows_of_stumps(load(STUMPS_TASK), jobs, columns, quiet)
        write(many_stumps=tabulate(rows, "risk_bound"))


def rows_of_stumps(
    data: Dataset, jobs: int | None, columns: Sequence[tuple[str, bool]], quiet: bool
) -> list[Row]:
    """Return the rows of votes of stumps, with equal weights or learned ones as the prior."""
    votes = {learned: votes_of_stumps(data, jobs, learned) for learned in (False, True)}
    return [
        told(votes[learned].row(bound, bound + (", learned prior" if learned else "")), quiet)
        for bound, learned in columns
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables into the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help="the tasks; all 16 if none is named")
    parser.add_argument("--jobs", type=int, help="how many voters are trained at the same time")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--summary", type=Path, default=SUMMARY, help="the page of the means")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="write these tables only; may be repeated"
    )
    options = parser.parse_args(arguments)
    certificates(
        options.page,
        options.summary,
        options.tasks,
        options.jobs,
        options.quiet,
        options.part or PARTS,
    )


if __name__ == "__main__":
    main()
