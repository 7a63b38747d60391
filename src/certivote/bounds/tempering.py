"""The smallest upper limit of the Gibbs risk over all weights, by a search in one dimension."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..divergences import weights_kl

__all__ = ["least_limited", "tempered"]

_Array = NDArray[np.float64]

# Nothing is looked for that would lower the limit by less than this part of it.
_TOLERANCE = 1e-10
_GRID = 64
# Where an interval is split again.
_PARTS = np.linspace(0.0, 1.0, 9)[:, None]
# From here on e⁻ᵗ is below the rounding of 1.
_LAST = 50.0
# Limits above this one say nothing.
_ONE = 1.0 - 1e-12
# An interval this narrow, relatively, is not split again: rounding has the last word.
_NARROW = 1e-7


def least_limited(
    rates: _Array,
    p: _Array,
    m: int,
    limit: Callable[[float, float], float],
    radius: Callable[[float], float],
) -> _Array:
    """Return the weights for which an upper limit of ``r_S = Σ qⱼ·ratesⱼ`` and KL is smallest.

    ``limit(r_S, KL)`` is the largest b with ``kl(r_S‖b) ≤ KL/m + radius(b)``, where
    ``kl(a‖b) − radius(b)`` is convex in b.

    **Why one dimension.** For a ≤ b it is known that ``kl(a‖b) = max over t ≥ 0 of D_b(t) − ta``,
    with ``D_b(t) = −ln(1 − b + b e⁻ᵗ)``. So some weights have a limit of at most b exactly if
    ``D_b(t) − ta − KL/m ≥ radius(b)`` for some t and some weights. For given t the left side is
    concave in the weights, and largest at ``q ∝ p·exp(−t·m·rates)``, where it is ``D_b(t) − A(t)``
    with ``A(t) = −ln(Σ pⱼ exp(−t·m·ratesⱼ))/m``: the minimum over all weights is one over t.

    **Why it is the global one.** ``D_b − A`` may have several maxima. But A is concave, hence above
    its chords, and D_b less a chord is concave, with a maximum in closed form where
    ``e⁻ᵗ = k(1−b)/(b(1−k))`` for a chord of slope k. Intervals where this maximum is below the
    radius at a b that is 1e-10 below the smallest limit found hold nothing lower, and all others
    are split until there are none; chords come as near to A as the square of their length, so that
    there is an end. Beyond the last t D_b rises no more than by rounding, and A does not fall.
    """
    least = float(rates[p > 0].min())
    excess = np.where(p > 0, m * (rates - least), 0.0)
    if not excess.any():
        return p

    def limit_at(t: float) -> float:
        q = tempered(p, t * excess)
        return limit(min(1.0, float(q @ rates)), weights_kl(q, p))

    def heights(points: _Array) -> _Array:
        """Return A at some t."""
        sums = [float(p @ np.exp(-t * excess)) for t in points.flat]
        return points * least - np.log(sums).reshape(points.shape) / m

    # A column has the ends of neighbouring intervals.
    t = np.zeros((_GRID + 1, 1))
    t[1:, 0] = np.geomspace(min(0.01 / float(excess.max()), 1.0), _LAST, _GRID)
    best, b = 0.0, limit_at(0.0)
    while True:
        a = heights(t)
        # Where the smallest limit that was found is beaten by most, if at all.
        chosen = float(t.flat[np.argmax(_concave(b, t) - a)])
        found = limit_at(chosen)
        if found < b:
            best, b = chosen, found
        target = min(b * (1.0 - _TOLERANCE), _ONE)
        left, right = t[:-1], t[1:]
        undecided = _largest(target, left, right, a[:-1], a[1:]) >= radius(target)
        undecided &= right - left > _NARROW * right
        if not undecided.any():
            return tempered(p, best * excess)
        t = left[undecided] + (right - left)[undecided] * _PARTS


def tempered(p: _Array, costs: _Array) -> _Array:
    """Return ``q ∝ p·exp(−costs)``."""
    weights = p * np.exp(np.minimum(costs[p > 0].min() - costs, 0.0))
    normalised: _Array = weights / weights.sum()
    return normalised


def _concave(b: float, t: _Array) -> _Array:
    """Return ``D_b(t) = −ln(1 − b + b e⁻ᵗ)``."""
    return -np.log1p(min(b, _ONE) * np.expm1(-t))


def _largest(b: float, left: _Array, right: _Array, low: _Array, high: _Array) -> _Array:
    """Return the largest D_b less the chord of each interval."""
    slopes = (high - low) / (right - left)
    k = np.clip(slopes, 1e-300, 1.0 - 1e-15)
    top = np.clip(np.log(b * (1.0 - k) / (k * (1.0 - b))), left, right)
    return _concave(b, top) - low - slopes * (top - left)
