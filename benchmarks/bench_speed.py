"""How long minimising some bounds takes, next to the tandem bound, and solvers next to another.

With CERTIVOTE_DATA, cantelli is measured on the paper's 16 tasks too, in about a minute.
"""

import os
import time
from functools import partial

from tasks import tasks
from timing import Row, in_turn
from timing import ratio as ratio_of

from certivote import minimize
from certivote.datasets import list_datasets, load
from certivote.reproduce.protocol import prepare

TITLE = "Time of `minimize` over that of `minimize` with the tandem bound, all at their defaults"

# Computing, not waiting: some of these take a millisecond.
ratio = partial(ratio_of, clock=time.process_time)


def run() -> list[Row]:
    rows = []
    for task in tasks():

        def learn(bound: str, solver: str = "lbfgs", task=task) -> None:
            minimize(bound, task.statistics, solver=solver)

        def tandem() -> None:
            learn("tandem")

        def gibbs() -> None:
            learn("gibbs")

        name = task.name
        rows += [
            Row(f"{name}, gibbs", ratio(gibbs, tandem), 0.1),
            Row(f"{name}, cantelli", ratio(lambda: learn("cantelli"), tandem), 1.0),
            Row(
                f"{name}, tandem by alternating",
                ratio(lambda: learn("tandem", "alternating"), tandem),
                1.0,
            ),
            Row(
                f"{name}, gibbs by alternating, over gibbs",
                ratio(lambda: learn("gibbs", "alternating"), gibbs),
                1.0,
            ),
        ]
    return rows + (of_the_paper() if "CERTIVOTE_DATA" in os.environ else [])


def of_the_paper() -> list[Row]:
    """Return the time of cantelli where it is longest, next to tandem's, and that of all tasks."""
    times = {}
    for name in list_datasets():
        statistics = prepare(load(name)).statistics
        times[name] = in_turn(
            partial(minimize, "cantelli", statistics),
            partial(minimize, "tandem", statistics),
            clock=time.process_time,
        )
    ratios = {name: ours / theirs for name, (ours, theirs) in times.items()}
    slowest = max(ratios, key=lambda name: ratios[name])
    ours, theirs = map(sum, zip(*times.values(), strict=True))
    return [
        Row(f"cantelli, the largest over the paper's tasks ({slowest})", ratios[slowest], 1.0),
        Row(f"cantelli, over all {len(ratios)} of the paper's tasks", ours / theirs, 1.0),
    ]
