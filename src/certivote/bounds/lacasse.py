"""The C-bound certificate that bounds joint error and disagreement at once."""

import math
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import rel_entr

from ..divergences import trinomial_kl
from ..statistics import Moments
from .base import Evaluation, MomentBound, Plane, PrintedSettings
from .oracle import c_bound

__all__ = ["LacasseBound"]

_EPS = 2.0**-52
_LARGEST_LOG = 650.0
# Squares of anything smaller underflow.
_SMALLEST = 1e-140


class LacasseBound(MomentBound):
    r"""Supremum of the C-bound over a ball around the empirical (e_S, d_S) (Algorithm 3).

    ``sup { C(e, d) : kl₃(e_S, d_S‖e, d) ≤ κ }`` with ``κ = [2KL + ln(c₃(m)/δ)]/m`` and
    ``c₃ = c₂ + m``.

    The value is computed from its dual, which is an upper bound wherever it is stopped. As the vote
    errs only where W ≥ ½, for every ``s ≥ 0``::

        risk ≤ E[(1 + s(W−½))²] = Σᵢ bᵢ vᵢ(s),    v = ((1+s/2)², 1−s²/4, (1−s/2)²)

    for the true probabilities b of the three outcomes both-err, one-errs, none-errs of a pair. With
    ``a = (e_S, d_S, 1−e_S−d_S)``, the largest such sum over ``kl₃(a‖b) ≤ κ`` is at most
    ``λ − e^{−κ} Πᵢ (λ−vᵢ)^{aᵢ}`` for every ``λ ≥ v₀`` (the inequality of the means). At the best s
    and λ this is the supremum of the C-bound; any other s and λ give a valid, larger number.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).

    References
    ----------
    A. Lacasse, F. Laviolette, M. Marchand, P. Germain and N. Usunier, "PAC-Bayes Bounds for the
    Risk of the Majority Vote and the Variance of the Gibbs Classifier", NIPS 2006; P. Viallard et
    al., ECML PKDD 2021, doi:10.1007/978-3-030-86520-7_11.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import LacasseBound
    >>> format_up(LacasseBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.3232'
    """

    name = "lacasse"
    formula = "sup { C(e,d) : kl₃(e_S,d_S‖e,d) ≤ [2KL + ln((c₂(m)+m)/δ)]/m }"
    reference = "Viallard et al., ECML PKDD 2021, Algorithm 3, doi:10.1007/978-3-030-86520-7_11"
    needs = frozenset({"moments", "joint"})
    oracle_name = "C-bound"

    def _kappa(self, moments: Moments, kl: float) -> float:
        return self._radius(2, kl, moments.joint_size, outcomes=3)

    def _evaluate(self, moments: Moments, kl: float) -> Evaluation:
        e, d = moments.joint_error, moments.disagreement
        kappa = self._kappa(moments, kl)
        if _slack_to_plateau(e, d) <= kappa:
            return Evaluation(1.0)
        value, in_e, in_d, in_kappa = _supremum(e, d, kappa)
        if not 0.0 < value < 1.0:
            return Evaluation(1.0)
        return Evaluation(
            value, joint_error=in_e, disagreement=in_d, kl=2.0 * in_kappa / moments.joint_size
        )

    def _excess(self, moments: Moments, kl: float) -> Plane:
        both, one = moments.joint_error, moments.disagreement
        none = max(0.0, 1.0 - both - one)
        kappa = self._kappa(moments, kl)
        return lambda e, d: (
            rel_entr(both, e) + rel_entr(one, d) + rel_entr(none, 1.0 - e - d) - kappa
        )

    def _extend(self, moments: Moments, kl: float) -> Evaluation:
        e, d = moments.joint_error, moments.disagreement
        in_kl = 2.0 / moments.joint_size
        if 2.0 * e + d >= 1.0:
            excess = 2.0 * e + d - 1.0
            return Evaluation(
                1.0 + self._kappa(moments, kl) + excess,
                joint_error=2.0,
                disagreement=1.0,
                kl=in_kl,
            )
        slack, rest = _slack_to_plateau(e, d), 1.0 - e - d
        return Evaluation(
            1.0 + self._kappa(moments, kl) - slack,
            joint_error=math.log(rest / e) if e > 0.0 else math.inf,
            disagreement=math.log(2.0 * rest / (1.0 - d)),
            kl=in_kl,
        )

    def _evaluate_printed(
        self, moments: Moments, kl: float, settings: PrintedSettings
    ) -> Evaluation:
        e, d = moments.joint_error, moments.disagreement
        kappa = self._kappa(moments, kl)
        worst = _bisect_worst_point(e, d, kappa, settings.tolerance)
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

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def _log_ratio(a: float, b: float) -> float:
    """Return ``ln(a/b)``, 0 where both are 0."""
    if a > 0.0:
        return math.log(a / b)
    return 0.0 if b <= 0.0 else -math.inf


def _slack_to_plateau(e: float, d: float) -> float:
    """Return the smallest radius at which the ball meets ``2e + d = 1``, where the C-bound is 1."""
    if 2.0 * e + d >= 1.0:
        return 0.0
    return (
        _entropy_term(e, 1.0 - d) + _entropy_term(1.0 - e - d, 1.0 - d) + (1.0 - d) * math.log(2.0)
    )


def _entropy_term(part: float, whole: float) -> float:
    return part * math.log(part / whole) if part > 0.0 else 0.0


class _Tilt(NamedTuple):
    """The point of the ball that is worst for one s, and how it moves with s.

    `scale` is y, with ``λ = v₀ + s/y``; infinite where the best λ is v₀ itself.
    """

    scale: float
    joint_error: float
    disagreement: float
    joint_error_slope: float
    disagreement_slope: float


def _tilt(e: float, d: float, kappa: float, s: float, start: float | None = None) -> _Tilt:
    """Maximise ``Σ bᵢ vᵢ(s)`` over the ball of radius kappa around (e, d).

    The maximiser is ``bᵢ ∝ aᵢ/(λ−vᵢ)``, that is aᵢ over 1, 1 + y(1+s/2) and 1 + 2y, with the y > 0
    that puts it on the boundary of the ball: a monotone equation in ln y.
    """
    rest, g = max(0.0, 1.0 - e - d), 1.0 + 0.5 * s
    if e == 0.0:
        shrink = math.exp(d * math.log(g) + rest * math.log(2.0) - kappa)
        b1, b2 = d * shrink / g, 0.5 * rest * shrink
        if b1 + b2 <= 1.0:  # even λ = v₀ does not reach the boundary: mass goes to "both err"
            b1_slope, b2_slope = 0.5 * b1 * (d - 1.0) / g, 0.5 * b2 * d / g
            return _Tilt(math.inf, 1.0 - b1 - b2, b1, -b1_slope - b2_slope, b1_slope)
    z = start
    if z is None:
        mean = d * g + 2.0 * rest
        variance = max(d * g * g + 4.0 * rest - mean * mean, 1e-300)
        z = 0.5 * math.log(2.0 * kappa / variance)
    low, high = -math.inf, _LARGEST_LOG
    for _ in range(200):
        z = min(z, high)
        y = math.exp(z)
        u1, u2 = y * g, 2.0 * y
        c1, c2 = d / (1.0 + u1), rest / (1.0 + u2)
        lost = c1 * u1 + c2 * u2
        total = 1.0 - lost if lost < 0.5 else e + c1 + c2
        excess = d * math.log1p(u1) + rest * math.log1p(u2) + math.log(total) - kappa
        c1_y, c2_y = -c1 * g / (1.0 + u1), -2.0 * c2 / (1.0 + u2)
        in_y = c1 * g + 2.0 * c2 + (c1_y + c2_y) / total
        if excess > 0.0:
            high = z
        else:
            low = z
        step = -excess / (y * in_y) if in_y > 0.0 else math.copysign(math.inf, -excess)
        step = min(20.0, max(-20.0, step))
        if abs(step) < 1e-9 or high - low < 1e-12:
            break
        z += step
        if not low < z < high:
            z = 0.5 * (low + high)
    b1, b2 = c1 / total, c2 / total
    c1_s = -0.5 * c1 * y / (1.0 + u1)
    y_s = -(0.5 * c1 * y + c1_s / total) / in_y if in_y > 0.0 else 0.0
    total_slope = c1_s + (c1_y + c2_y) * y_s
    b0 = e / total
    return _Tilt(
        y, b0, b1, -b0 * total_slope / total, (c1_s + c1_y * y_s - b1 * total_slope) / total
    )


def _supremum(e: float, d: float, kappa: float) -> tuple[float, float, float, float]:
    """Return the dual value and its derivatives in e, d and kappa.

    The best s is the root of the increasing ``s(½ − d*) − (1 − 2e* − d*)``, where (e*, d*) is the
    worst point of the ball for s: half the derivative of the dual.
    """
    if 0.0 < e < _SMALLEST:
        e = _SMALLEST  # the value rises with e
    s = min((1.0 - 2.0 * e - d) / max(0.5 - d, 1e-6), 1e6)
    low, high, start = 0.0, math.inf, None
    for _ in range(100):
        tilt = _tilt(e, d, kappa, s, start)
        start = math.log(tilt.scale) if tilt.scale < math.inf else None
        excess = s * (0.5 - tilt.disagreement) - (1.0 - 2.0 * tilt.joint_error - tilt.disagreement)
        if excess > 0.0:
            high = s
        else:
            low = s
        slope = (
            0.5
            - tilt.disagreement
            + (1.0 - s) * tilt.disagreement_slope
            + 2.0 * tilt.joint_error_slope
        )
        step = -excess / slope if slope > 0.0 else -math.copysign(math.inf, excess)
        if abs(step) <= 1e-9 * s or high - low <= 1e-12 * s or s > 1e9:
            break
        s += step
        if not low < s < high:
            s = 0.5 * (low + high) if high < math.inf else 2.0 * low + 1e-3
    return _dual(e, d, kappa, s, tilt.scale)


def _dual(
    e: float, d: float, kappa: float, s: float, y: float
) -> tuple[float, float, float, float]:
    """Return ``λ − e^{−κ} Π (λ−vᵢ)^{aᵢ}`` at ``λ = v₀ + s/y``, rounded up, and its derivatives.

    An infinite y is meant for ``e = 0`` only.
    """
    rest, g = max(0.0, 1.0 - e - d), 1.0 + 0.5 * s
    largest = g * g
    if math.isinf(y):
        log1, log2 = math.log(g), math.log(2.0)
        in_kappa = s * math.exp(d * log1 + rest * log2 - kappa)
        value, in_e = largest - in_kappa, math.inf
    else:
        log1, log2 = math.log1p(y * g), math.log1p(2.0 * y)
        exponent = d * log1 + rest * log2 - kappa
        in_kappa = s / y * math.exp(exponent)
        value, in_e = largest - s / y * math.expm1(exponent), in_kappa * log2
    rounding = 16.0 * _EPS * (largest + in_kappa * (d * log1 + rest * log2 + kappa))
    return value + rounding, in_e, in_kappa * (log2 - log1), in_kappa


def _bisect_worst_point(e: float, d: float, kappa: float, tolerance: float) -> _Tilt:
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


def _worst_for_level(e: float, d: float, kappa: float, alpha: float) -> _Tilt:
    smallest = 1e-6

    def imbalance(sigma: float) -> float:
        point = _tilt(e, d, kappa, 2.0 * alpha / sigma)
        return sigma - (1.0 - 2.0 * point.joint_error - point.disagreement)

    if imbalance(smallest) >= 0.0:
        sigma = smallest
    else:
        sigma = brentq(imbalance, smallest, 1.0 + smallest, xtol=1e-9)
    return _tilt(e, d, kappa, 2.0 * alpha / sigma)
