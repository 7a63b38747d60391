"""The paper's experiment: 100 trees on one half of the training rows, weights from the other."""

import time
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from .._version import __version__
from ..bounds import Bound, LacasseBound, get_bound
from ..certificate import certify
from ..classifiers.binary import select_margin
from ..datasets import Dataset
from ..learners import cb_boost, min_cq, self_complemented
from ..solvers import minimize
from ..statistics import VoteStatistics

__all__ = [
    *("DELTA", "LARGE", "LEARNERS", "MINIMISED", "PROTOCOL", "Record", "Sample"),
    *("paper_bound", "prepare", "run_cell"),
]

# Raised whenever a change makes records that do not belong in one table with older ones.
PROTOCOL = 1
DELTA = 0.05
N_TREES = 100
MARGINS = np.linspace(1e-4, 0.5, 20)
# Tasks on which the paper gives MinCq 200 examples of each class only.
LARGE = ("adult", "mnist", "fash")

# The learners of Table 1 in its order, with the names of the authors' file.
LEARNERS = ("mcallester", "seeger", "lacasse", "cb-boost", "mincq", "masegosa", "2r")
# Those that minimise a bound, with its name.
MINIMISED = {
    "mcallester": "mcallester",
    "seeger": "seeger",
    "lacasse": "lacasse",
    "masegosa": "tandem",
    "2r": "gibbs",
}


@dataclass(frozen=True)
class Sample:
    """Votes of the trees on the rows that learn the weights, and on the test rows."""

    votes: NDArray[np.int8]
    y: NDArray[np.int8]
    votes_test: NDArray[np.int8]
    y_test: NDArray[np.int8]
    seconds: float

    @property
    def statistics(self) -> VoteStatistics:
        """The counts of the rows that learn the weights."""
        return VoteStatistics.from_votes(self.votes, self.y)


@dataclass(frozen=True)
class Record:
    """One cell of the table, with how it came about.

    ``test_risk`` and ``bound`` are what the table shows; names that end in ``_S`` are of the rows
    that learned the weights. ``seconds`` is how long the weights took, ``voter_seconds`` how long
    the trees took to train and to vote, for the whole task. ``published_bound`` is MinCq's bound
    with KL = 0 and δ/20, as the authors compute it.

    Examples
    --------
    >>> from certivote.reproduce import Record
    >>> record = Record("glass", "lacasse", "lbfgs", 0.25, 0.75, 0.2, 0.1, 0.2, 0.1, 0.5, 0.5)
    >>> record.dataset, record.bound
    ('glass', 0.75)
    """

    dataset: str
    learner: str
    solver: str
    test_risk: float
    bound: float
    gibbs_risk_S: float
    joint_error_S: float
    disagreement_S: float
    train_risk_S: float
    seconds: float
    voter_seconds: float
    published_bound: float | None = None
    protocol: int = PROTOCOL
    certivote_version: str = __version__


def prepare(data: Dataset, n_jobs: int | None = None) -> Sample:
    """Train the paper's trees on the first half of the training rows, and let them vote."""
    rows = np.arange(len(data.y_train))
    half = len(rows) // 2
    return _vote(data, rows[:half], rows[half:], n_jobs)


def paper_bound(name: str) -> Bound:
    """Return a bound with the constant of the paper, which is no longer the smallest known."""
    return get_bound(name, delta=DELTA, constant="maurer")


def _vote(
    data: Dataset, part_a: NDArray[np.intp], part_b: NDArray[np.intp], n_jobs: int | None
) -> Sample:
    """Train trees on some rows of the training set, and let them vote on others and on the test."""
    X_a, y_a, X_b = data.X_train[part_a], data.y_train[part_a], data.X_train[part_b]
    start = time.perf_counter()

    def votes_of(seed: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(X_a, y_a)
        return tree.predict(X_b).astype(np.int8), tree.predict(data.X_test).astype(np.int8)

    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    columns = parallel(delayed(votes_of)(seed) for seed in range(N_TREES))
    votes, votes_test = (np.stack(side, axis=1) for side in zip(*columns, strict=True))
    seconds = time.perf_counter() - start
    y, y_test = (labels.astype(np.int8) for labels in (data.y_train[part_b], data.y_test))
    return Sample(votes, y, votes_test, y_test, seconds)


def run_cell(
    data: Dataset, sample: Sample, learner: str, solver: str = "lbfgs", n_jobs: int | None = None
) -> Record:
    """Learn one vote of a task, and measure it; `n_jobs` is for the trees of MinCq's own."""
    if learner == "mincq":
        return _run_mincq(data, sample, n_jobs)
    start = time.perf_counter()
    statistics = sample.statistics
    if learner == "cb-boost":
        weights, _ = cb_boost(statistics)
        evidence = self_complemented(statistics)
        bound = certify(evidence, weights=weights, bound=paper_bound("lacasse")).risk_bound
    else:
        result = minimize(paper_bound(MINIMISED[learner]), statistics, solver=solver)
        weights, bound = np.concatenate([result.weights, np.zeros(N_TREES)]), result.value
        if learner not in ("masegosa", "2r"):
            bound = min(1.0, bound)
    seconds = time.perf_counter() - start
    return _measure(data, sample, learner, solver, weights, bound, seconds)


def _measure(
    data: Dataset,
    sample: Sample,
    learner: str,
    solver: str,
    weights: NDArray[np.float64],
    bound: float,
    seconds: float,
    published_bound: float | None = None,
) -> Record:
    """Return the record of a vote of trees and their complements."""
    moments = self_complemented(sample.statistics).moments(weights)
    return Record(
        dataset=data.name,
        learner=learner,
        solver=solver,
        test_risk=_risk(sample.votes_test, sample.y_test, weights),
        bound=bound,
        gibbs_risk_S=moments.gibbs_risk,
        joint_error_S=moments.joint_error,
        disagreement_S=moments.disagreement,
        train_risk_S=_risk(sample.votes, sample.y, weights),
        seconds=seconds,
        voter_seconds=sample.seconds,
        published_bound=published_bound,
    )


def _risk(votes: NDArray[np.int8], y: NDArray[np.int8], weights: NDArray[np.float64]) -> float:
    own, complement = np.split(weights, 2)
    margin = votes @ (own - complement)
    # Ties within rounding go to the first class, −1, as everywhere.
    return float(np.mean(np.where(margin > 2e-12, 1, -1) != y))


def _run_mincq(data: Dataset, sample: Sample, n_jobs: int | None) -> Record:
    """Learn MinCq's vote; on large tasks from 200 examples of each class, half for trees."""
    reserve: VoteStatistics | None = None
    if data.name.startswith(LARGE):
        rows = np.concatenate([np.flatnonzero(data.y_train == label)[:200] for label in (-1, 1)])
        rows = rows[np.random.RandomState(42).permutation(len(rows))]
        part_a, part_b = np.split(rows, 2)
        sample = _vote(data, part_a, part_b, n_jobs)
        unused = np.setdiff1d(np.arange(len(data.y_train)), rows)
        reserve = _vote(data, part_a, unused, n_jobs).statistics
    start = time.perf_counter()
    statistics = sample.statistics
    codes, labels = (sample.votes > 0).astype(np.int8), (sample.y > 0).astype(np.int8)
    _, weights = select_margin("cv", MARGINS, min_cq, statistics, codes, labels)
    seconds = time.perf_counter() - start
    evidence = self_complemented(statistics if reserve is None else reserve)
    bound = certify(evidence, weights=weights, bound=paper_bound("lacasse")).risk_bound
    moments = self_complemented(statistics).moments(weights)
    lacasse = LacasseBound(DELTA / len(MARGINS), constant="maurer")
    published = lacasse.from_moments(
        moments.gibbs_risk, moments.joint_error, 0.0, statistics.n_samples
    )
    return _measure(data, sample, "mincq", "clarabel", weights, bound, seconds, min(1.0, published))
