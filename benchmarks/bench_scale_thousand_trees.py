"""A thousand trees, certified on a million examples, from raw data to the certificate."""

import time
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_classification
from timing import Row

from certivote import VoteStatistics, certify, minimize
from certivote._utils.stopwatch import Stopwatch
from certivote.voters import fit_voters

TITLE = "1,000 trees certified on 10⁶ examples, end to end"

N_VOTERS, TRAINING, ROWS, CHUNK = 1000, 2000, 10**6, 25_000

_clock: Stopwatch


def run() -> list[Row]:
    global _clock
    X, y = make_classification(TRAINING + ROWS, 20, n_informative=10, flip_y=0.05, random_state=0)
    X, classes = X.astype(np.float32), np.unique(y)
    start = time.perf_counter()
    clock = _clock = Stopwatch()
    voters = fit_voters(
        "trees", X[:TRAINING], y[:TRAINING], N_VOTERS, np.random.RandomState(0), n_jobs=2
    )
    clock.lap("training the trees")

    def losses() -> Iterator[np.ndarray]:
        for first in range(TRAINING, TRAINING + ROWS, CHUNK):
            rows = slice(first, first + CHUNK)
            wrong = voters.votes(X[rows], classes, n_jobs=2).codes != y[rows, None]
            clock.lap("voting")
            yield wrong
            clock.lap("counting")

    statistics = VoteStatistics.from_chunks(losses())
    clock.lap("counting")
    weights = minimize("lacasse", statistics).weights
    clock.lap("learning the weights")
    certificate = certify(statistics, weights=weights, bound="lacasse")
    clock.lap("certificate")
    certificate.verify(statistics=statistics)
    clock.lap("verifying it")
    assert certificate.n_samples == ROWS
    total = time.perf_counter() - start
    rest = 1.0 - (clock.seconds["training the trees"] + clock.seconds["voting"]) / total
    return [Row("share of time that is neither training nor voting", rest, 0.1)]


def remarks() -> list[str]:
    total = sum(_clock.seconds.values())
    lines = ["| where the time goes | seconds | share |", "|---|---|---|"]
    lines += [
        f"| {stage} | {seconds:.1f} | {seconds / total:.1%} |"
        for stage, seconds in _clock.seconds.items()
    ]
    return [*lines, f"| all | {total:.1f} | 100% |"]
