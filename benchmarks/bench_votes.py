"""How fast trees and stumps vote, against scikit-learn's own predict, on one thread."""

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from timing import Row, ratio, seconds

from certivote import MajorityVoteClassifier
from certivote.voters import Stumps, Voters
from certivote.voting import Ballots

TITLE = "Votes of trees and stumps: how many times as fast as scikit-learn's predict, and more"

ROWS, COLUMNS, TREES = 200_000, 30, 100
# Training rows, and the share of labels that are turned, for trees of so many nodes.
FORESTS = {450: (1_800, 0.0), 3_300: (16_000, 0.0), 15_500: (50_000, 0.35)}
LARGE, PART = 10**6, 25_000
CLASSES = np.array([0, 1])
# What was hoped for on the smallest trees; the figure is said either way.
STRETCH = 7.0

_reached: dict[str, float] = {}

_START = """
import time
start = time.perf_counter()
import numba
numba.njit(lambda: 0)()
started = time.perf_counter() - start
import numpy as np
from certivote.voters import EstimatorGroup, Voters
from sklearn.tree import DecisionTreeClassifier
X = np.random.default_rng(0).normal(size=(2**20, 1)).astype(np.float32)
voters = Voters([EstimatorGroup([DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])])])
voters.votes(X[:10], np.array([0, 1]))
times = []
for _ in range(2):
    start = time.perf_counter()
    voters.votes(X, np.array([0, 1]))
    times.append(time.perf_counter() - start)
print(started, times[0] - times[1])
"""

# The same without numba, as where the extra is not installed.
_PLAIN = """
import sys
sys.modules["numba"] = None
sys.path.insert(0, sys.argv[1])
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from timing import ratio
from certivote.voters import EstimatorGroup, Voters
X, y = make_classification(70_000, 30, n_informative=15, flip_y=0.1, random_state=0)
X = X.astype(np.float32)
trees = RandomForestClassifier(50, random_state=0).fit(X[:16_000], y[:16_000]).estimators_
voters = Voters([EstimatorGroup(trees)])
each = lambda: [tree.predict(X) for tree in trees]
together = lambda: voters.votes(X, np.array([0.0, 1.0]))
assert np.array_equal(together().codes, np.stack(each(), axis=1))
print(ratio(together, each))
"""


def run() -> list[Row]:
    rows = []
    X, y = make_classification(70_000, COLUMNS, n_informative=15, flip_y=0.1, random_state=0)
    new = np.resize(X.astype(np.float32), (ROWS, COLUMNS))
    new += np.random.default_rng(1).normal(scale=0.3, size=new.shape).astype(np.float32)
    for nodes, (size, turned) in FORESTS.items():
        wrong = np.random.default_rng(0).random(size) < turned
        forest = RandomForestClassifier(TREES, random_state=0, n_jobs=2)
        forest.fit(X[:size].astype(np.float32), np.where(wrong, 1 - y[:size], y[:size]))
        forest.n_jobs = None
        rows += _speeds(nodes, forest, new)
    return [*rows, _plain(), _stumps(), *_starts()]


def _speeds(nodes: int, forest: RandomForestClassifier, new: np.ndarray) -> list[Row]:
    grown = np.mean([tree.tree_.node_count for tree in forest.estimators_])
    what = f"{TREES} trees of {grown:,.0f} nodes, {ROWS:,} × {COLUMNS}"
    some = new[:2_000]
    vote = MajorityVoteClassifier(FrozenEstimator(forest), bound="tandem")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what would throw doubt on the certificate
        vote.fit(some, forest.predict(some) ^ (np.random.default_rng(2).random(2_000) < 0.3))
    assert np.all(vote.weights_ > 0.0)  # so that all of them are asked

    def each() -> list[np.ndarray]:
        return [tree.predict(new) for tree in forest.estimators_]

    def together() -> Ballots:
        return vote.voters_.votes(new, CLASSES)

    assert np.array_equal(together().codes, np.stack(each(), axis=1))
    faster = 1.0 / ratio(together, each)
    rows = [Row(f"{what}: votes, over `tree.predict` per tree", faster, np.inf, 4.5)]
    if nodes == min(FORESTS):
        _reached["stretch"] = faster
    faster = 1.0 / ratio(lambda: vote.predict(new), lambda: forest.predict(new))
    what = f"the same trees: fitted vote's `predict`, over `{type(forest).__name__}.predict`"
    return [*rows, Row(what, faster, np.inf, 2.5)]


def _plain() -> Row:
    """Time votes in a process without numba; before there was a kernel they took 1.04 or more."""
    command = [sys.executable, "-c", _PLAIN, str(Path(__file__).parent)]
    figure = float(subprocess.run(command, capture_output=True, check=True).stdout)
    return Row("votes without numba, over `tree.predict` per tree, time", figure, 1.0)


def _stumps() -> Row:
    """Compare with one stump after the other, as each is asked by itself."""
    X = np.random.default_rng(0).normal(size=(LARGE, 50))
    stumps = Stumps(n_thresholds=10).fit(X[:1000], X[:1000, 0] > 0)
    voters = Voters([stumps])
    labels = np.array([False, True])

    def in_parts(vote) -> None:
        for first in range(0, LARGE, PART):
            vote(X[first : first + PART])

    def each(part: np.ndarray) -> Ballots:
        prepared = stumps.prepare(part)
        columns = [stumps.column(j, prepared, labels) for j in range(len(stumps))]
        return Ballots.collect(columns, labels)

    part = X[:PART]
    assert np.array_equal(voters.votes(part, labels).codes, each(part).codes)
    figure = seconds(lambda: in_parts(lambda part: voters.votes(part, labels)))
    figure /= seconds(lambda: in_parts(each))
    return Row(f"{len(stumps):,} stumps on 10⁶ rows, over one after the other", figure, 0.2)


def _starts() -> list[Row]:
    """Time what the first call takes longer than the second, where numba has started already."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", _START]
        runs = [
            subprocess.run(command, env=environment, capture_output=True, check=True).stdout
            for _ in range(4)
        ]
    started, first = zip(*(map(float, run.split()) for run in runs), strict=True)
    return [
        Row("first call, cold cache of numba, seconds", first[0], np.inf),
        Row("first call, warm cache, seconds", float(np.median(first[1:])), 0.05),
        Row("import and start of numba itself, seconds", float(np.median(started)), np.inf),
    ]


def remarks() -> list[str]:
    faster = np.floor(10 * _reached["stretch"]) / 10
    said = "reached" if faster >= STRETCH else "not reached"
    text = f"{STRETCH:g} times `tree.predict` was hoped for on the smallest trees"
    return [f"{text}: {said}, at {faster}."]
