"""The paper's experiment: 100 trees on one half of the training rows, weights from the other."""

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from .._version import __version__
from ..bounds import get_bound
from ..certificate import certify
from ..classifiers.binary import select_margin
from ..datasets import Dataset
from ..learners import cb_boost, min_cq, self_complemented
from ..solvers import minimize
from ..statistics import VoteStatistics

__all__ = ["DELTA", "LEARNERS", "PROTOCOL", "Record", "Sample", "prepare", "run_cell"]

# Raised whenever a change makes records that do not belong in one table with older ones.
PROTOCOL = 1
DELTA = 0.05
N_TREES = 100
MARGINS = np.linspace(1e-4, 0.5, 20)
# Tasks on which the paper gives MinCq 200 examples of each class only.
LARGE = ("adult", "mnist", "fash")

# The learners of Table 1 in its order, with the names of the authors' file.
LEARNERS = ("mcallester", "seeger", "lacasse", "cb-boost", "mincq", "masegosa", "2r")
_BOUND_OF = {
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

    Attributes
    ----------
    dataset, learner, solver : str
        Which cell.
    test_risk, bound : float
        What the table shows.
    gibbs_risk_S, joint_error_S, disagreement_S, train_risk_S : float
        The vote on the rows that learned its weights.
    seconds : float
        How long the weights took.
    voter_seconds : float
        How long the trees took to train and to vote, for the whole task.
    published_bound : float or None
        MinCq's bound with KL = 0 and δ/20, as the authors compute it.
    protocol : int
        The version of the protocol.
    certivote_version : str
        The version of the library.
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
    protocol: int = field(default=PROTOCOL)
    certivote_version: str = field(default=__version__)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python objects."""
        return asdict(self)


def prepare(data: Dataset, n_jobs: int | None = None) -> Sample:
    """Train the paper's trees on the first half of the training rows, and let them vote.

    Parameters
    ----------
    data : Dataset
        The task.
    n_jobs : int, default=None
        How many trees are trained at the same time.
    """
    half = len(data.y_train) // 2
    return _vote(
        data.X_train[:half],
        data.y_train[:half],
        data.X_train[half:],
        data.y_train[half:],
        data,
        n_jobs,
    )


def _vote(
    X_a: NDArray[Any],
    y_a: NDArray[Any],
    X_b: NDArray[Any],
    y_b: NDArray[Any],
    data: Dataset,
    n_jobs: int | None,
) -> Sample:
    start = time.perf_counter()

    def votes_of(seed: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(X_a, y_a)
        return tree.predict(X_b).astype(np.int8), tree.predict(data.X_test).astype(np.int8)

    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    columns = parallel(delayed(votes_of)(seed) for seed in range(N_TREES))
    votes, votes_test = (np.stack(side, axis=1) for side in zip(*columns, strict=True))
    seconds = time.perf_counter() - start
    return Sample(votes, y_b.astype(np.int8), votes_test, data.y_test.astype(np.int8), seconds)


def run_cell(
    data: Dataset, sample: Sample, learner: str, solver: str = "lbfgs", n_jobs: int | None = None
) -> Record:
    """Learn one vote of a task, and measure it.

    Parameters
    ----------
    data : Dataset
        The task.
    sample : Sample
        What `prepare` returned.
    learner : str
        One of `LEARNERS`.
    solver : str, default="lbfgs"
        How bounds are minimised.
    n_jobs : int, default=None
        How many trees are trained at the same time, where MinCq has its own.
    """
    if learner == "mincq":
        return _run_mincq(data, sample, n_jobs)
    start = time.perf_counter()
    statistics = sample.statistics
    if learner == "cb-boost":
        weights, _ = cb_boost(statistics)
        bound = certify(self_complemented(statistics), weights=weights, delta=DELTA).risk_bound
    else:
        result = minimize(get_bound(_BOUND_OF[learner], delta=DELTA), statistics, solver=solver)
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
        half = len(rows) // 2
        X, y = data.X_train, data.y_train
        sample = _vote(X[rows[:half]], y[rows[:half]], X[rows[half:]], y[rows[half:]], data, n_jobs)
        unused = np.setdiff1d(np.arange(len(y)), rows)
        reserve = _vote(
            X[rows[:half]], y[rows[:half]], X[unused], y[unused], data, n_jobs
        ).statistics
    start = time.perf_counter()
    statistics = sample.statistics
    codes, labels = (sample.votes > 0).astype(np.int8), (sample.y > 0).astype(np.int8)
    _, weights = select_margin("cv", MARGINS, min_cq, statistics, codes, labels)
    seconds = time.perf_counter() - start
    evidence = self_complemented(statistics if reserve is None else reserve)
    bound = certify(evidence, weights=weights, delta=DELTA).risk_bound
    moments = self_complemented(statistics).moments(weights)
    published = get_bound("lacasse", delta=DELTA / len(MARGINS)).from_moments(
        moments.gibbs_risk, moments.joint_error, 0.0, statistics.n_samples
    )
    return _measure(data, sample, "mincq", "clarabel", weights, bound, seconds, min(1.0, published))
