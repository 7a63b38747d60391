"""A cluster of processes on this machine, against the model of docs/cluster.md."""

import os
import statistics as averages

import dask
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification
from timing import REPETITIONS, Row, seconds

from certivote.distributed import _count, _Counting, from_dask
from certivote.voters import fit_voters

TITLE = "Scale on a Dask cluster"

N_VOTERS, ROWS, PARTITIONS = 100, 10_000, 16

_remarks: list[str] = []


def examples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(ROWS, 20, n_informative=10, flip_y=0.05, random_state=seed)
    return X.astype(np.float32), y


def sent(dask_worker: object) -> int:
    return dask_worker.transfer_outgoing_bytes_total


def run() -> list[Row]:
    X, y = examples(0)
    voters = fit_voters("trees", X[:5000], y[:5000], N_VOTERS, np.random.RandomState(0))

    def vote(X: np.ndarray) -> np.ndarray:
        return voters.votes(X, np.array([0, 1])).codes

    def one_partition() -> None:
        _count(*examples(1), _Counting(vote, None, None))

    # Each partition is made where it is voted on.
    load = dask.delayed(examples, nout=2, pure=False)
    parts = [load(seed) for seed in range(1, PARTITIONS + 1)]
    data = [X for X, _ in parts], [y for _, y in parts]
    tiny = [dask.delayed(np.eye)(N_VOTERS, pure=False) for _ in range(PARTITIONS)]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for the workers

    def cluster(n: int) -> LocalCluster:
        return LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0")

    with cluster(1) as one, cluster(2) as two, Client(one) as alone, Client(two) as both:
        clients = {1: alone, 2: both}
        work: list[float] = []
        times: dict[int, list[float]] = {1: [], 2: []}
        overhead: dict[int, list[float]] = {1: [], 2: []}
        moved: dict[int, list[float]] = {1: [], 2: []}
        for repetition in range(REPETITIONS + 1):
            work.append(seconds(one_partition))
            for n, client in clients.items():
                before = sum(client.run(sent).values())
                taken = seconds(lambda c=client: from_dask(*data, voters=vote, client=c))
                if repetition:  # the first one imports
                    times[n].append(taken)
                    moved[n].append(sum(client.run(sent).values()) - before)
                    overhead[n].append(seconds(lambda c=client: from_dask(tiny, client=c)))
    measured = {n: averages.median(times[n]) for n in times}
    _remarks[:] = [
        "| workers | seconds | by the model | bytes moved | by the model |",
        "|---|---|---|---|---|",
    ]
    for n in times:
        # The work shared out, and what the scheduler takes for as many partitions of nothing.
        model = PARTITIONS / n * averages.median(work) + averages.median(overhead[n])
        _remarks.append(
            f"| {n} | {measured[n]:.2f} | {model:.2f} | {averages.median(moved[n]):,.0f} | "
            f"{n * 8 * N_VOTERS**2:,} |"
        )
    what = f"{N_VOTERS} trees, {PARTITIONS * ROWS:,} examples"
    speed = measured[1] / measured[2]
    return [Row(f"{what}: speed of 2 processes over that of 1", speed, np.inf, at_least=1.6)]


def remarks() -> list[str]:
    return [
        *_remarks,
        "",
        "The model is that of docs/cluster.md, from the time of one partition outside the cluster.",
        "More bytes than it says are partitions that Dask moved to an idle worker.",
    ]
