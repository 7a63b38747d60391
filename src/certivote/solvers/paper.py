"""The objectives that the paper prints for its algorithms, with its slips in print corrected.

They are not the certificates but what the authors descend on the way to them: a barrier keeps the
vote where the C-bound speaks, inverses of kl are found by bisection, and Algorithm 3 looks at the
worst point of its ball only as closely as a tolerance asks.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bounds import LacasseBound, SeegerBound
from ..bounds.evaluation import (
    Evaluation,
    chain_rule,
    combine,
    kl_and_log_ratio,
    through_softmax,
)
from ..bounds.gibbs_tandem import OneMomentBound
from ..bounds.lacasse import Tilt, tilt
from ..bounds.oracle import c_bound
from ..bounds.split import SplitCBound, c_bound_of
from ..divergences import Inverse, binary_kl, trinomial_kl
from ..statistics import Moments
from .base import Problem

__all__ = ["PrintedSettings", "bisect_worst_point", "printed_objective"]


class PrintedSettings(NamedTuple):
    """What these objectives need besides the bound: λ of the barrier, and three tolerances."""

    barrier_strength: float
    tolerance: float
    inverse_tolerance: float
    inverse_max_iter: int

    def barrier(self, a: float) -> tuple[float, float]:
        """Return the log-barrier extension at `a`, which should stay below 0, and its slope."""
        strength = self.barrier_strength
        edge = 1.0 / strength**2
        if a <= -edge:
            return -math.log(-a) / strength, -1.0 / (strength * a)
        return strength * a - math.log(edge) / strength + 1.0 / strength, strength

    def inverse_upper(self, a: float, psi: float) -> Inverse:
        """Return the upper inverse of kl by bisection, with its derivatives."""
        return self._bisect(a, psi, 1.0)

    def inverse_lower(self, a: float, psi: float) -> Inverse:
        """Return the lower inverse of kl by bisection, with its derivatives."""
        return self._bisect(a, psi, 0.0)

    def _bisect(self, a: float, psi: float, far: float) -> Inverse:
        near = a
        for _ in range(self.inverse_max_iter):
            middle = 0.5 * (near + far)
            if abs(far - near) < self.inverse_tolerance:
                break
            if binary_kl(a, middle) > psi:
                far = middle
            else:
                near = middle
        if middle in (0.0, 1.0) or middle == a:
            return Inverse(middle, 1.0 if middle == a else 0.0, 0.0)
        spread = (1.0 - a) / (1.0 - middle) - a / middle
        if a in (0.0, 1.0):
            return Inverse(middle, math.inf, 1.0 / spread)
        log_ratio = math.log((1.0 - a) * middle / (a * (1.0 - middle)))
        return Inverse(middle, log_ratio / spread, 1.0 / spread)


def printed_objective(
    problem: Problem, logits: NDArray[np.float64], settings: PrintedSettings
) -> tuple[float, NDArray[np.float64]]:
    """Return the objective of the paper's algorithm for a bound and its gradient in the logits.

    A bound of which the paper has no algorithm is descended itself.
    """
    bound = problem.bound
    printed = next((found for kind, found in _PRINTED if isinstance(bound, kind)), None)
    if printed is None:
        return problem.objective(logits)
    q = problem.weights(logits)
    moments, (kl, log_ratio) = problem.statistics.moments_at(q), kl_and_log_ratio(q, problem.prior)
    evaluation = printed(bound, moments, kl, settings)
    return evaluation.value, through_softmax(q, chain_rule(evaluation, moments, log_ratio))


def _one_moment(
    bound: OneMomentBound, moments: Moments, kl: float, settings: PrintedSettings
) -> Evaluation:
    """Return the bound itself, its inverse of kl by bisection (2r, and Masegosa's)."""
    if bound.is_one_sided:
        return bound.evaluate_moments(moments, kl)
    a, m = bound.moment_and_size(moments)
    return bound.scaled(settings.inverse_upper(a, bound.radius(bound.copies, kl, m)), m)


def _split(
    bound: SplitCBound, moments: Moments, kl: float, settings: PrintedSettings
) -> Evaluation:
    """Return the C-bound with a barrier at r = ½ (Algorithms 1 and 2)."""
    if isinstance(bound, SeegerBound) and not bound.is_one_sided:
        r, d = bound.estimates(moments, kl, settings.inverse_upper, settings.inverse_lower)
    else:
        r, d = bound.estimates(moments, kl)
    value = c_bound_of(r, d)
    penalty, slope = settings.barrier(r.value - 0.5)
    return combine(value.value + penalty, (1.0, value), (slope, r))


def _lacasse(
    bound: LacasseBound, moments: Moments, kl: float, settings: PrintedSettings
) -> Evaluation:
    """Return a barrier at 2e + d = 1, less one that pushes the ball off its worst point."""
    e, d = moments.joint_error, moments.disagreement
    kappa = bound.kappa(moments, kl)
    worst = bisect_worst_point(e, d, kappa, settings.tolerance)
    penalty, slope = settings.barrier(2.0 * e + d - 1.0)
    reward, pull = settings.barrier(
        trinomial_kl(e, d, worst.joint_error, worst.disagreement) - kappa
    )
    log_rest = _log_ratio(1.0 - e - d, 1.0 - worst.joint_error - worst.disagreement)
    return Evaluation(
        penalty - reward,
        joint_error=2.0 * slope - pull * (_log_ratio(e, worst.joint_error) - log_rest),
        disagreement=slope - pull * (_log_ratio(d, worst.disagreement) - log_rest),
        kl=pull * 2.0 / moments.joint_size,
    )


_Printed = Callable[[Any, Moments, float, PrintedSettings], Evaluation]
_PRINTED: tuple[tuple[type, _Printed], ...] = (
    (OneMomentBound, _one_moment),
    (SplitCBound, _split),
    (LacasseBound, _lacasse),
)


def _log_ratio(a: float, b: float) -> float:
    """Return ``ln(a/b)``, 0 where both are 0."""
    if a > 0.0:
        return math.log(a / b)
    return 0.0 if b <= 0.0 else -math.inf


def bisect_worst_point(e: float, d: float, kappa: float, tolerance: float) -> Tilt:
    """Return the (e, d) that the paper's MAXIMIZE-e-d finds by bisection on α.

    For each α it maximises ``α(1−2d) − (1−(2e+d))²`` over the ball. The square is the smallest of
    ``2σ(1−(2e+d)) − σ²``, negated, so the maximiser is the worst point for ``s = 2α/σ`` at the σ
    that equals its own ``1 − (2e+d)``.
    """
    low, high = 0.0, 1.0
    while high - low > tolerance:
        alpha = 0.5 * (low + high)
        worst = _worst_for_level(e, d, kappa, alpha)
        if c_bound(worst.joint_error + 0.5 * worst.disagreement, worst.disagreement) >= 1.0 - alpha:
            high = alpha
        else:
            low = alpha
    return worst


def _worst_for_level(e: float, d: float, kappa: float, alpha: float) -> Tilt:
    from scipy.optimize import brentq

    smallest = 1e-6

    def imbalance(sigma: float) -> float:
        point = tilt(e, d, kappa, 2.0 * alpha / sigma)
        return sigma - (1.0 - 2.0 * point.joint_error - point.disagreement)

    if imbalance(smallest) >= 0.0:
        sigma = smallest
    else:
        sigma = brentq(imbalance, smallest, 1.0 + smallest, xtol=1e-9)
    return tilt(e, d, kappa, 2.0 * alpha / sigma)
