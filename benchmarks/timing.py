"""Ratios of times measured side by side: the machine may be slow, but equally so for both."""

import os
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

REPETITIONS = 5


class Row(NamedTuple):
    """One line of the table: what was measured, the figure, and what it must not exceed."""

    what: str
    figure: float
    limit: float
    at_least: float = 0.0

    @property
    def met(self) -> bool:
        return self.at_least <= self.figure <= self.limit


Clock = Callable[[], float]


def of_children() -> float:
    """Return the seconds of computing of all processes that were started here and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def seconds(function: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    start = clock()
    function()
    return clock() - start


Middle = Callable[[tuple[float, ...]], float]


def in_turn(
    function: Callable[[], object],
    reference: Callable[[], object],
    clock: Clock = time.perf_counter,
    of: Middle = statistics.median,
) -> tuple[float, float]:
    """Return the median time, or another, of two functions that are called in turn."""
    function(), reference()
    times = [(seconds(function, clock), seconds(reference, clock)) for _ in range(REPETITIONS)]
    ours, theirs = zip(*times, strict=True)
    return of(ours), of(theirs)


def ratio(
    function: Callable[[], object],
    reference: Callable[[], object],
    clock: Clock = time.perf_counter,
    of: Middle = statistics.median,
) -> float:
    """Return the median time, or another, of one function over that of another, called in turn."""
    ours, theirs = in_turn(function, reference, clock, of)
    return ours / theirs
