"""What a vote, a pair of voters and a partition cost: the tables of docs/cluster.md.

`python benchmarks/cluster.py`. Times are of computing, not by the clock, so that a machine that
does other work at the same moment gives the same figures.
"""

import json
import math
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dask
import numpy as np
from bench_scale_cluster import N_VOTERS, examples
from distributed import Client, LocalCluster
from timing import REPETITIONS, seconds

from certivote import VoteStatistics
from certivote.distributed import from_dask
from certivote.voters import fit_voters

ROWS = 50_000  # of a partition
# As many voters as on paper, and as many examples as count in a second or so.
PAPER = {100: 10**9, 1000: 10**8}
COUNTED = {100: 500_000, 1000: 20_000}
WORKERS, PARTITIONS, BANDWIDTH = 64, 1000, 125e6

_PLAIN = """
import json, sys
sys.modules["numba"] = None
sys.path.insert(0, sys.argv[1])
import cluster
print(json.dumps(cluster.costs()))
"""


class Costs(NamedTuple):
    """Seconds of one vote of a tree, and of one pair of 100 and of 1,000 voters on an example."""

    vote: float
    pairs: tuple[float, float]


def quickest(function) -> float:
    """Return the least seconds of computing of several calls, the first one left out."""
    function()
    return min(seconds(function, time.process_time) for _ in range(REPETITIONS))


def forest():
    """Return the trees that vote: those of the default forest, on 5,000 examples."""
    X, y = examples(0)
    return fit_voters("trees", X[:5000], y[:5000], N_VOTERS, np.random.RandomState(0))


def of_a_pair(n: int, m: int) -> float:
    """Measure how long counting takes for a pair of n voters on each of m examples."""
    losses = (np.random.default_rng(0).random((m, n), dtype=np.float32) < 0.2).view(np.uint8)
    return quickest(lambda: VoteStatistics.from_losses(losses)) / (m * n * n)


def costs() -> Costs:
    """Measure on this process alone; counting first, which loads numba if it is there."""
    pairs = tuple(of_a_pair(n, m) for n, m in COUNTED.items())
    voters, (X, _) = forest(), examples(1)
    X = np.concatenate([X + np.float32(shift) for shift in np.linspace(0, 0.1, ROWS // len(X))])
    vote = quickest(lambda: voters.votes(X, np.array([0, 1]))) / (ROWS * N_VOTERS)
    return Costs(vote, pairs)


def without_numba() -> Costs:
    """Measure both where the extra `fast` is not installed."""
    command = [sys.executable, "-c", _PLAIN, str(Path(__file__).parent)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Costs(*json.loads(printed))


def of_a_partition() -> float:
    """Return what the scheduler and the client compute for a partition: both are this process."""
    parts = [dask.delayed(np.eye)(N_VOTERS, pure=False) for _ in range(200)]
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        return quickest(lambda: from_dask(parts, client=client)) / len(parts)


def size(number: float) -> str:
    """Return a number of bytes in words."""
    unit, name = next(pair for pair in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if number > pair[0])
    return f"{number / unit:.{0 if number > 10 * unit else 1}f} {name}"


def lines() -> Iterator[str]:
    """Yield both tables, line by line."""
    fast, plain, partition = costs(), without_numba(), of_a_partition()
    tree = len(pickle.dumps(forest())) / N_VOTERS
    n, large = PAPER
    yield "| | | with numba (extra `fast`) | without |"
    yield "|---|---|---|---|"
    votes = [f"{1e9 * each.vote:.0f} ns" for each in (fast, plain)]
    yield f"| v | one vote of one of these trees | {' | '.join(votes)} |"
    for j, voters in enumerate(PAPER):
        pairs = [f"{1e12 * each.pairs[j]:.1f} ps" for each in (fast, plain)]
        yield f"| c | one pair of {voters:,} voters on one example | {' | '.join(pairs)} |"
    took = f"{1e3 * partition:.1f} ms"
    yield f"| s | what the scheduler and the client do for one partition | {took} | {took} |"
    yield f"| V/n | one tree, packed | {size(tree)} | {size(tree)} |"
    yield f"| | m = 10⁹, n = {n} | m = 10⁸, n = {large:,} |"
    yield "|---|---|---|"
    columns = [on_paper(fast, j, partition, tree) for j in range(2)]
    for what in columns[0]:
        yield f"| {what} | " + " | ".join(column[what] for column in columns) + " |"


def on_paper(fast: Costs, j: int, partition: float, tree: float) -> dict[str, str]:
    """Return what 10¹¹ votes cost by the model of the page."""
    n, m = list(PAPER.items())[j]
    voting, counting = m * n * fast.vote, m * n * n * fast.pairs[j]
    shared, alone = (voting + counting) / WORKERS, partition * PARTITIONS
    voters = n * tree * (2 + 2 * math.log(WORKERS, 3))
    moving = (voters + 8 * n * n * (1 + math.log(WORKERS, 8))) / BANDWIDTH
    each = (voting + counting) / PARTITIONS
    return {
        "voting, m·n·v": f"{voting:,.0f} core-seconds",
        "counting, m·n²·c": f"{counting:,.0f} core-seconds",
        f"W = {WORKERS} cores": f"{shared:,.0f} s",
        f"P = {PARTITIONS:,} partitions": f"{m // PARTITIONS:,} examples, {each:.1f} s each",
        "the scheduler, s·P": f"{alone:,.0f} s, while the workers vote",
        f"moving, B = {BANDWIDTH / 1e6:.0f} MB/s": f"{moving:,.1f} s",
        "tables moved, W·8n²": size(WORKERS * 8 * n * n),
        "voters moved, W·V": size(WORKERS * n * tree),
        "all in all, and a quarter more": f"{1.25 * (shared + alone + moving):,.0f} s",
        "on one core": f"{(voting + counting) / 60:,.0f} minutes",
    }


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
