"""How much better is a vote of mixed voters than one of the paper's trees, and at what price?

The paper's 16 tasks, δ = 0.05, the default bound. On the paper's split the first half of the
training rows trains, and the second certifies. Re-splits put training and test rows of the nine
small tasks together, and cut them anew, by seeds 0 to 11. Each fit is kept as a line of a file, so
that a run that was stopped goes on; then the tables are written beside it, in Markdown.

    CERTIVOTE_DATA=... python benchmarks/mixed.py results.jsonl [--resplits] [task ...]

With ``--sizes`` the share that certifies is varied instead, on rows of the large tasks: 2,000,
5,000 and 10,000 of them. With ``--penalties`` what large weights cost is varied, and with
``--rounds`` how often the folds are drawn, on re-splits of the small tasks by other seeds: what is
chosen there is not tuned to the rows that are reported.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from certivote import MajorityVoteClassifier, VoteStatistics, format_up
from certivote.bounds import get_bound
from certivote.datasets import list_datasets, load
from certivote.learners import logistic_of_shares
from certivote.reproduce.protocol import LARGE
from certivote.voters import Joined, Mixed, Voters

KINDS = ("trees", "mixed")
SEEDS = range(12)
SIZES = (2000, 5000, 10000)
SIZE_SEEDS = range(3)
SHARES = (0.3, 0.5)
PENALTIES = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0)
ROUNDS = (1, 3, 5)
OTHER_SEEDS = range(100, 120)
# What the means of mixed voters may be at most: certificate and risk.
PAPER = (0.0840, 0.0530)
RESPLITS = (0.0785, 0.0545)
LEAST_LOWER = 11


class Data(NamedTuple):
    """Rows to fit on, in order, and rows to test on."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


def is_large(task: str) -> bool:
    """Tell whether a task is not cut again."""
    return task.startswith(LARGE)


def data_of(task: str, seed: int | None) -> Data:
    """Return a task as the paper splits it, or all of its rows in a new order."""
    given = load(task)
    if seed is None:
        return Data(given.X_train, given.y_train, given.X_test, given.y_test)
    X = np.concatenate([given.X_train, given.X_test])
    y = np.concatenate([given.y_train, given.y_test])
    order = np.random.RandomState(seed).permutation(len(y))
    first, rest = np.split(order, [len(given.y_train)])
    return Data(X[first], y[first], X[rest], y[rest])


def fitted(data: Data, kind: str, certify_size: int, seed: int) -> dict[str, Any]:
    """Fit a vote whose last rows certify, and measure it."""
    vote = MajorityVoteClassifier(kind, certify_size=certify_size, random_state=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        # Members that are left out; rows of few discrete columns come twice.
        warnings.simplefilter("ignore")
        vote.fit(data.X, data.y, time=np.arange(len(data.y)))
    seconds = time.process_time() - start
    risk = float(np.mean(vote.predict(data.X_test) != data.y_test))
    return {"bound": vote.certificate_.risk_bound, "risk": risk, "seconds": seconds}


def of_splits(tasks: Sequence[str], seeds: Sequence[int | None]) -> Iterator[dict[str, Any]]:
    """Yield what to fit: each task, cut anew by each seed, by both kinds of voters."""
    for task in sorted(tasks, key=is_large):
        for seed in seeds:
            if seed is None or not is_large(task):
                yield from ({"task": task, "split": seed, "kind": kind} for kind in KINDS)


def of_sizes(tasks: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what to fit: some rows of a large task, of which a share certifies."""
    chosen = [(task, seed, size) for size in SIZES for seed in SIZE_SEEDS for task in tasks]
    for task, seed, size in chosen:
        if is_large(task):
            own = {"task": task, "split": seed, "kind": "mixed", "size": size}
            yield from ({**own, "share": share} for share in SHARES)


def of_others(tasks: Sequence[str], kind: str) -> Iterator[dict[str, Any]]:
    """Yield what to fit: small tasks, cut anew by seeds of which nothing else is reported."""
    for seed in OTHER_SEEDS:
        own = {"split": seed, "kind": kind}
        yield from ({"task": task, **own} for task in tasks if not is_large(task))


def trained(data: Data, seed: int) -> Joined:
    """Train mixed voters on the first half."""
    half = len(data.y) // 2
    return Mixed(random_state=seed).fit(data.X[:half], data.y[:half]).group_


def judged(data: Data, group: Joined, weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return the certificate by the other half, and the risk on all rows that did not train."""
    half = len(data.y) // 2
    X = np.concatenate([data.X[half:], data.X_test])
    y = np.concatenate([data.y[half:], data.y_test])
    ballots = Voters([group]).votes(X, np.unique(data.y))
    codes, truth, b = ballots.codes, ballots.truth(y), len(data.y) - half
    certified = VoteStatistics.from_votes(codes[:b], truth[:b], keep_rows=True)
    limit = get_bound("heldout").value(certified, weights, prior=weights)
    return limit, float(np.mean(ballots.predict(weights) != y))


def penalised(data: Data, seed: int) -> Iterator[tuple[float, float]]:
    """Yield what voters give that are trained once, and weighed by each penalty."""
    group = trained(data, seed)
    for penalty in PENALTIES:
        of_blocks = logistic_of_shares(group.shares, penalty)
        weights = np.repeat(of_blocks / group.sizes, group.sizes)
        yield judged(data, group, weights / weights.sum())


def in_rounds(data: Data, seed: int) -> Iterator[tuple[float, float]]:
    """Yield what voters give where the folds are drawn each number of times."""
    for rounds in ROUNDS:
        with patch("certivote.voters.mixed._ROUNDS", rounds):
            group = trained(data, seed)
        yield judged(data, group, group.weights)


class Other(NamedTuple):
    """What is varied on other seeds: how, by which settings, and what a table calls them."""

    measure: Callable[[Data, int], Iterator[tuple[float, float]]]
    settings: Sequence[float]
    title: str
    name: str


OTHERS = {
    "penalties": Other(penalised, PENALTIES, "What large weights cost", "penalty"),
    "rounds": Other(in_rounds, ROUNDS, "How often folds are drawn", "rounds"),
}


def run(key: dict[str, Any]) -> dict[str, Any]:
    """Fit what is asked for."""
    data, seed = data_of(key["task"], key["split"]), key["split"] or 0
    if key["kind"] in OTHERS:
        bounds, risks = zip(*OTHERS[key["kind"]].measure(data, seed), strict=True)
        return {"bound": bounds, "risk": risks}
    m = key.get("size", len(data.y))
    half = m - m // 2
    data = data._replace(X=data.X[:m], y=data.y[:m])
    return fitted(data, key["kind"], round(key["share"] * m) if "share" in key else half, seed)


def means(records: list[dict[str, Any]], **where: Any) -> tuple[float, float, float]:
    """Return the means of certificates, risks and times of some records."""
    chosen = [one for one in records if all(one.get(name) == what for name, what in where.items())]
    what = ([one[name] for one in chosen] for name in ("bound", "risk", "seconds"))
    bound, risk, seconds = (float(np.mean(values)) for values in what)
    return bound, risk, seconds


def table(records: list[dict[str, Any]], where: Callable[[dict[str, Any]], bool]) -> list[str]:
    """Return the lines of a table of tasks, certificates and risks of both kinds, and the times."""
    chosen = [one for one in records if where(one)]
    lines = ["| task | trees | risk | mixed | risk | times the time |", "|---|---|---|---|---|---|"]
    rows = []
    for task in dict.fromkeys(one["task"] for one in chosen):
        trees, mixed = (means(chosen, task=task, kind=kind) for kind in KINDS)
        rows.append((*trees[:2], *mixed[:2], mixed[2] / trees[2]))
        lines.append(_line(task, rows[-1]))
    return [*lines, _line("mean", tuple(np.mean(rows, axis=0)))]


def _line(name: str, row: Sequence[float]) -> str:
    trees, risk, mixed, its_risk, times = row
    cells = (format_up(trees), f"{risk:.4f}", format_up(mixed), f"{its_risk:.4f}", f"{times:.1f}")
    return f"| {' | '.join((name, *cells))} |"


def lower(records: list[dict[str, Any]]) -> tuple[int, int]:
    """Return on how many re-splits mixed voters have the smaller mean, and how many there are."""
    seeds = sorted({one["split"] for one in records if one["split"] is not None})
    pairs = [[means(records, split=seed, kind=kind)[0] for kind in KINDS] for seed in seeds]
    return sum(mixed < trees for trees, mixed in pairs), len(pairs)


def by_setting(records: list[dict[str, Any]], other: Other) -> list[str]:
    """Return the lines of a table of settings: means over tasks, and their errors over seeds."""
    seeds = dict.fromkeys(one["split"] for one in records)
    cut = [[one for one in records if one["split"] == seed] for seed in seeds]
    most = max(map(len, cut))
    whole = [own for own in cut if len(own) == most]
    lines = ["", f"## {other.title}, {most} tasks, {len(whole)} re-splits", ""]
    lines += [f"| {other.name} | certificate | less than at 1 | risk | less than at 1 |"]
    lines += ["|---|---|---|---|---|"]
    cells: list[list[str]] = [[f"{setting:g}"] for setting in other.settings]
    for name in ("bound", "risk"):
        means = np.array([np.mean([one[name] for one in own], axis=0) for own in whole])
        less = means[:, [other.settings.index(1)]] - means
        error = less.std(axis=0, ddof=1) / np.sqrt(len(whole))
        for row, mean, gain, own in zip(
            cells, means.mean(axis=0), less.mean(axis=0), error, strict=True
        ):
            row += [f"{mean:.4f}", f"{gain:.4f} ± {own:.4f}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in cells)]


def told(records: list[dict[str, Any]]) -> str:
    """Return the tables, and what their means may be."""
    others = [one for one in records if one["kind"] in OTHERS]
    records = [one for one in records if one["kind"] not in OTHERS]
    splits = [one for one in records if "size" not in one]
    text = ["# Mixed voters beside the paper's trees", ""]
    if any(one["split"] is None for one in splits):
        text += ["## The paper's split", ""]
        text += table(splits, lambda one: one["split"] is None)
        text += ["", f"At most {PAPER[0]:.4f} at a risk of at most {PAPER[1]:.4f}.", ""]
    if any(one["split"] is not None for one in splits):
        text += ["## Re-splits of the small tasks, the paper's split of the large ones", ""]
        text += table(splits, lambda one: (one["split"] is None) == is_large(one["task"]))
        won, of = lower(splits)
        text += ["", f"At most {RESPLITS[0]:.4f} at a risk of at most {RESPLITS[1]:.4f}."]
        text += [f"Lower than the trees on {won} of {of} re-splits, at least {LEAST_LOWER} of 12."]
    sizes = [one for one in records if "size" in one]
    if sizes:
        text += ["", "## Which share certifies", "", "| rows | share | certificate | risk |"]
        text += ["|---|---|---|---|"]
    for size, share in dict.fromkeys((one["size"], one["share"]) for one in sizes):
        bound, risk, _ = means(sizes, size=size, share=share)
        text.append(f"| {size} | {share} | {format_up(bound)} | {risk:.4f} |")
    for kind in dict.fromkeys(one["kind"] for one in others):
        text += by_setting([one for one in others if one["kind"] == kind], OTHERS[kind])
    return "\n".join(text) + "\n"


def main() -> None:
    """Fit what is not in the file yet, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("tasks", nargs="*", metavar="task")
    parser.add_argument("--resplits", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    for kind in OTHERS:
        parser.add_argument(f"--{kind}", dest="other", action="store_const", const=kind)
    asked = parser.parse_intermixed_args()
    tasks = asked.tasks or list_datasets()
    seeds = list(SEEDS) if asked.resplits else [None]
    wanted = of_sizes(tasks) if asked.sizes else of_splits(tasks, seeds)
    if asked.other is not None:
        wanted = of_others(tasks, asked.other)
    lines = asked.file.read_text(encoding="utf-8").splitlines() if asked.file.exists() else []
    records = [json.loads(line) for line in lines]
    known = ("task", "split", "kind", "size", "share")
    done = [{name: one[name] for name in known if name in one} for one in records]
    with threadpool_limits(1):
        for key in wanted:
            if key in done:
                continue
            records.append({**key, **run(key)})
            print(records[-1], flush=True)
            with asked.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
    asked.file.with_suffix(".md").write_text(told(records), encoding="utf-8")


if __name__ == "__main__":
    main()
