"""How few voters are enough at a tolerance of 0.01: the table of docs/fewer-voters.md.

Run ``python benchmarks/smallest.py``, with CERTIVOTE_DATA or online; a quarter of an hour.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

from certivote import MajorityVoteClassifier, datasets, format_up

TOLERANCE = 0.01
# Voters, and the bound by which they are weighed and certified.
WAYS = (("trees", "best"), ("trees", "lacasse"), ("mixed", "best"))
TASKS = ("breast-cancer", "tictactoe", "letter:DvsO", "adult")
SEEDS = 8


class Row(NamedTuple):
    kept: int
    certificate: float
    smaller: float
    risk: float
    smaller_risk: float


def data(task: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows and their labels, test rows and theirs."""
    if task != "breast-cancer":
        known = datasets.load(task)
        return known.X_train, known.y_train, known.X_test, known.y_test
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.RandomState(100 + seed).permutation(len(y))
    train, test = order[:400], order[400:]
    return X[train], y[train], X[test], y[test]


def measured(task: str, voters: str, bound: str, seed: int) -> Row:
    """Fit a vote, make it smaller, and compare the two."""
    X, y, X_test, y_test = data(task, seed)
    vote = MajorityVoteClassifier(voters, bound=bound, random_state=seed).fit(X, y)
    smaller = vote.smallest(TOLERANCE, *((X, y) if bound == "best" else ()))
    risks = [float(np.mean(one.predict(X_test) != y_test)) for one in (vote, smaller)]
    certificates = [one.certificate_.risk_bound for one in (vote, smaller)]
    return Row(int(np.count_nonzero(smaller.weights_)), *certificates, *risks)


def lines() -> Iterator[str]:
    """Yield the table, line by line."""
    heading = ("certificate", "with fewer", "at most above", "risk", "with fewer")
    yield f"| task | voters | bound | kept | {' | '.join(heading)} |"
    yield "|:--|:--|:--|:-:|:-:|:-:|:-:|:-:|:-:|"
    for task in TASKS:
        for voters, bound in WAYS:
            seeds = range(1 if task == "adult" else SEEDS)
            rows = np.array([measured(task, voters, bound, seed) for seed in seeds])
            mean, kept = Row(*rows.mean(axis=0)), rows[:, 0]
            spread = f" ({kept.min():.0f} to {kept.max():.0f})" if len(rows) > 1 else ""
            above = np.max(rows[:, 2] - rows[:, 1])
            yield (
                f"| {task} | {voters} | {bound} | {mean.kept:.0f}{spread} | "
                f"{format_up(mean.certificate)} | {format_up(mean.smaller)} | {above:+.4f} | "
                f"{mean.risk:.4f} | {mean.smaller_risk:.4f} |"
            )


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
