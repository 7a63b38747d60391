"""Is any bound larger, or slower, at its defaults than what it was made from?

On the paper's 16 tasks and the votes of its trees, with CERTIVOTE_DATA. Those with a one-sided
constant come from themselves with the exact one, `lacasse2` and `sharp` from `lacasse`, and `best`
from the one that had no `occam`.
"""

import os
import time
import warnings
from collections import Counter

from sklearn.exceptions import ConvergenceWarning
from timing import Row

from certivote import VoteStatistics, minimize
from certivote.bounds import Bound, get_bound, list_bounds
from certivote.datasets import list_datasets, load
from certivote.reproduce.protocol import prepare

TITLE = "Each bound next to its predecessor, minimised at the defaults on the paper's 16 tasks"
# A relative difference of minima below this is that of two descents.
ROUNDING = 1e-6


def predecessors() -> dict[str, Bound]:
    """Return what each bound was made from."""
    older = {
        name: get_bound(name, constant="exact")
        for name in list_bounds()
        if "one-sided" in getattr(get_bound(name), "constants", ())
    }
    older |= {"lacasse2": get_bound("lacasse"), "sharp": get_bound("lacasse")}
    shares = (("heldout", 0.9), ("dirichlet", 0.1))
    return older | {"best": get_bound("best", constant="exact", shares=shares)}


def learned(bound: Bound, statistics: VoteStatistics) -> tuple[float, float]:
    """Return the smallest value, at most 1, and the seconds that it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        # It stops early only where the certificate says nothing.
        warnings.simplefilter("ignore", ConvergenceWarning)
        value = minimize(bound, statistics).value
    return min(1.0, value), time.process_time() - start


def run() -> list[Row]:
    if "CERTIVOTE_DATA" not in os.environ:
        return []
    larger: Counter[str] = Counter()
    times: dict[str, list[float]] = {name: [0.0, 0.0] for name in predecessors()}
    for task in list_datasets():
        sample = prepare(load(task))
        statistics = get_bound("best").count(sample.votes, sample.y)
        for name, older in predecessors().items():
            value, seconds = learned(get_bound(name), statistics)
            before, seconds_before = learned(older, statistics)
            larger[name] += value > before * (1.0 + ROUNDING)
            times[name] = [times[name][0] + seconds, times[name][1] + seconds_before]
    return [
        *(Row(f"{name}, tasks on which it is larger", larger[name], 0.0) for name in times),
        *(Row(f"{name}, time", ours / before, 2.0) for name, (ours, before) in times.items()),
    ]


def remarks() -> list[str]:
    """Say what is missing without data."""
    return [] if "CERTIVOTE_DATA" in os.environ else ["Without CERTIVOTE_DATA there is nothing."]
