"""How long minimising some bounds takes, next to the tandem bound, and solvers next to another."""

import time
from functools import partial

from tasks import tasks
from timing import Row
from timing import ratio as ratio_of

from certivote import minimize

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
    return rows
