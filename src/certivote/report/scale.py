"""The certificate and its neighbours on one scale: where each of them is, and the ticks."""

import math
from collections.abc import Iterable

from ..certificate import Neighbours

__all__ = ["Scale"]

# A certificate below this share of the scale would be squeezed into its corner: the scale is log.
_SQUEEZED = 0.1
_MOST_TICKS = 6


class Scale:
    """A scale from 0, or a logarithmic one, on which all given errors can be told apart.

    The template draws it, and asks where things are: in percent of the width, which may be that of
    a phone.

    Attributes
    ----------
    log : bool
        Whether it is logarithmic. Then what is below its left end is drawn there.
    ticks : list of (float, str)
        Where the ticks are, and their labels.
    """

    def __init__(self, risk_bound: float, neighbours: Neighbours) -> None:
        shown = [risk_bound, neighbours.observed, neighbours.baseline_error]
        shown += neighbours.interval[1:] if neighbours.interval else ()
        highest = max(shown)
        self.log = risk_bound < _SQUEEZED * highest
        if self.log:
            values = _decades(min(value for value in shown if value > 0.0) / 2.5, highest)
        else:
            values = _steps(highest)
        self._low, self._high = values[0], values[-1]
        self.ticks = [(self.place(value), _label(value)) for value in _thinned(values)]

    def place(self, value: float) -> float:
        """Return where a value is, in percent of the width."""
        if not self.log:
            share = value / self._high
        elif value <= self._low:
            share = 0.0
        else:
            share = math.log(value / self._low) / math.log(self._high / self._low)
        return round(100.0 * share, 2)


def _steps(highest: float) -> list[float]:
    """Return multiples of a round step, from 0 to the first that is not below `highest`."""
    least = highest / (_MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(
        power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if power * factor >= least
    )
    return [round(k * step, 12) for k in range(math.ceil(round(highest / step, 9)) + 1)]


def _decades(lowest: float, highest: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, the first and the last just beyond what is given."""
    exponents = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    values = [factor * 10.0**exponent for exponent in exponents for factor in (1.0, 2.0, 5.0)]
    first = max(k for k, value in enumerate(values) if value <= lowest)
    last = min(k for k, value in enumerate(values) if value >= highest)
    return values[first : last + 1]


def _thinned(values: list[float]) -> Iterable[float]:
    """Return those that have room for a label: powers of ten, or fewer, if all have not."""
    kept = values
    for apart in range(1, len(values)):
        if len(kept) <= _MOST_TICKS:
            break
        tens = [value for value in values if _label(value).strip("0.") == "1"]
        kept = tens[::-apart]
    return kept


def _label(value: float) -> str:
    return f"{value:.12f}".rstrip("0").rstrip(".")
