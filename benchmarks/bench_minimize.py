"""How long learning the weights takes, next to training a forest, and next to itself at other m."""

from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from tasks import N_VOTERS, tasks
from timing import Row, ratio

from certivote import VoteStatistics, minimize
from certivote.solvers import LBFGS

TITLE = "Time of `minimize` (lacasse) over that of `RandomForestClassifier(100).fit` on wdbc part A"

ONE_START = LBFGS(n_tempered=0, n_single=0)


def losses(m: int) -> Iterator[np.ndarray]:
    """Yield losses of voters of different quality on examples of different difficulty."""
    rng = np.random.default_rng(0)
    quality = rng.uniform(0.1, 0.7, N_VOTERS).astype(np.float32)
    for _ in range(m // 10_000):
        difficulty = rng.beta(0.5, 1.5, size=(10_000, 1)).astype(np.float32)
        yield rng.random((10_000, N_VOTERS), dtype=np.float32) < difficulty * quality


def run() -> list[Row]:
    rows = []
    problems = tasks()
    X, y = problems[0].X_voters, problems[0].y_voters

    def forest() -> None:
        RandomForestClassifier(100, random_state=0).fit(X, y)

    for task in problems:
        for solver, starts, limit in ((ONE_START, "one start", 0.25), (LBFGS(), "default", 1.5)):

            def learn(task=task, solver=solver) -> None:
                minimize("lacasse", task.statistics, solver=solver)

            rows.append(Row(f"{task.name}, {starts}", ratio(learn, forest), limit))
    small = VoteStatistics.from_chunks(losses(10**4))
    large = VoteStatistics.from_chunks(losses(10**7))
    growth = ratio(lambda: minimize("lacasse", large), lambda: minimize("lacasse", small))
    return [*rows, Row("m = 10⁷ over m = 10⁴, n = 100", growth, 1.5)]
