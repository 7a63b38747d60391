"""A thousand trees, certified on a million examples, from raw data to the certificate."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from memory import peak
from sklearn.datasets import make_classification
from timing import Row

from certivote import VoteStatistics, certify, minimize
from certivote._utils.stopwatch import Stopwatch
from certivote.voters import Voters, fit_voters

TITLE = "1,000 trees certified on 10⁶ examples, end to end, on one thread"

N_VOTERS, TRAINING, ROWS, CHUNK = 1000, 2000, 10**6, 25_000
CLASSES = np.array([0, 1])
_MEMORY = """
import sys
sys.path.insert(0, sys.argv[1])
import bench_scale_thousand_trees as job
import numpy as np
X, y = (np.load(f"{sys.argv[2]}/{name}.npy") for name in "Xy")
if sys.argv[3] == "certified":
    job.certified(X, y, job.asked_together)
"""

Counted = Callable[[Voters, np.ndarray, np.ndarray], VoteStatistics]
_clocks: dict[str, Stopwatch] = {}


def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(TRAINING + ROWS, 20, n_informative=10, flip_y=0.05, random_state=0)
    return X.astype(np.float32), y


def asked_together(voters: Voters, X: np.ndarray, y: np.ndarray) -> VoteStatistics:
    return voters.count_errors(X, y, CLASSES)


def asked_by_predict(voters: Voters, X: np.ndarray, y: np.ndarray) -> VoteStatistics:
    def losses() -> Iterator[np.ndarray]:
        for first in range(0, ROWS, CHUNK):
            rows = slice(first, first + CHUNK)
            votes = np.empty((len(y[rows]), len(voters)), dtype=np.int8)
            for j, tree in enumerate(voters):
                votes[:, j] = tree.predict(X[rows])
            yield votes != y[rows, None]

    return VoteStatistics.from_chunks(losses())


def certified(X: np.ndarray, y: np.ndarray, count: Counted) -> tuple[VoteStatistics, Stopwatch]:
    """Return what was counted, and how long all took that leads to a certificate."""
    clock = Stopwatch()
    seed = np.random.RandomState(0)
    voters = fit_voters("trees", X[:TRAINING], y[:TRAINING], N_VOTERS, seed)
    clock.lap("training the trees")
    statistics = count(voters, X[TRAINING:], y[TRAINING:])
    clock.lap("voting and counting")
    weights = minimize("lacasse", statistics).weights
    clock.lap("learning the weights")
    certificate = certify(statistics, weights=weights, bound="lacasse")
    clock.lap("certificate")
    certificate.verify(statistics=statistics)
    clock.lap("verifying it")
    assert certificate.n_samples == ROWS
    return statistics, clock


def run() -> list[Row]:
    X, y = data()
    asked_together(fit_voters("trees", X[:TRAINING], y[:TRAINING], 100), X, y)  # compiled once
    ours, _clocks["together"] = certified(X, y, asked_together)
    theirs, _clocks["by predict"] = certified(X, y, asked_by_predict)
    assert ours.sha256 == theirs.sha256
    seconds = _clocks["together"].seconds
    total = sum(seconds.values())
    rest = 1.0 - (seconds["training the trees"] + seconds["voting and counting"]) / total
    memory = _memory(X, y)
    return [
        Row("over the same job with scikit-learn's predict", total / _total("by predict"), 0.4),
        Row("largest memory beyond that of the data, GiB", memory, 1.0),
        Row("share of time that is neither training nor voting nor counting", rest, 0.1),
    ]


def _memory(X: np.ndarray, y: np.ndarray) -> float:
    """Return the largest memory of the job in a process of its own, less that of one that waits."""
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("X", X), ("y", y)):
            np.save(f"{folder}/{name}.npy", array)
        here = str(Path(__file__).parent)
        certified, waiting = (
            peak(_MEMORY, here, folder, what)["RssAnon"] for what in ("certified", "nothing")
        )
    return certified - waiting


def _total(side: str) -> float:
    return sum(_clocks[side].seconds.values())


def remarks() -> list[str]:
    lines = ["| where the time goes, in seconds | trees together | by predict |", "|---|---|---|"]
    lines += [
        f"| {stage} | {seconds:.1f} | {_clocks['by predict'].seconds[stage]:.1f} |"
        for stage, seconds in _clocks["together"].seconds.items()
    ]
    return [*lines, f"| all | {_total('together'):.1f} | {_total('by predict'):.1f} |"]
