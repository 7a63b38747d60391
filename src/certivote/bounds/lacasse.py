"""The C-bound certificates that bound joint error and disagreement at once."""

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import rel_entr

from ..divergences import (
    Inverse,
    binary_kl,
    kl_inverse_lower_with_derivatives,
    kl_inverse_upper_with_derivatives,
    trinomial_kl,
)
from ..statistics import Moments
from .evaluation import Evaluation, Plane, combine, estimate
from .moment import MomentBound
from .oracle import c_bound, c_bound_above

__all__ = ["BallBound", "Lacasse2Bound", "LacasseBound", "Tilt", "tilt"]

_EPS = 2.0**-52
_LARGEST_LOG = 650.0
# Squares of anything smaller underflow.
_SMALLEST = 1e-140


class BallBound(MomentBound):
    """A bound over the ball ``kl₃(e_S, d_S‖e, d) ≤ κ``, ``κ = [2KL + ln(c₃(m)/δ')]/m``.

    ``c₃ = c₂ + m``, and δ' is a share of δ.
    """

    needs = frozenset({"moments", "joint"})
    ball_share: ClassVar[float] = 1.0

    def kappa(self, moments: Moments, kl: float) -> float:
        """Return the radius of the ball."""
        return self.radius(2, kl, moments.joint_size, share=self.ball_share, outcomes=3)

    def largest_c_bound(self, moments: Moments, kl: float) -> tuple[Evaluation, float]:
        """Return the supremum of the C-bound, and the e at which it is reached, if it is below 1.

        Where it is 1, e is that of the nearest point with ``2e + d = 1``.
        """
        e, d = moments.joint_error, moments.disagreement
        kappa, nearest = self.kappa(moments, kl), 0.5 * (1.0 - d)
        if _slack_to_plateau(e, d) <= kappa:
            return Evaluation(1.0), nearest
        value, in_e, in_d, in_kappa, worst = _supremum(e, d, kappa)
        if not 0.0 < value < 1.0:
            return Evaluation(1.0), nearest
        in_kl = 2.0 * in_kappa / moments.joint_size
        return Evaluation(value, joint_error=in_e, disagreement=in_d, kl=in_kl), worst

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return where the statements say that the true (e, d) is."""
        both, one = moments.joint_error, moments.disagreement
        none = max(0.0, 1.0 - both - one)
        kappa = self.kappa(moments, kl)
        return lambda e, d: (
            rel_entr(both, e) + rel_entr(one, d) + rel_entr(none, 1.0 - e - d) - kappa
        )

    def extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        e, d = moments.joint_error, moments.disagreement
        in_kl = 2.0 / moments.joint_size
        if 2.0 * e + d >= 1.0:
            excess = 2.0 * e + d - 1.0
            return Evaluation(
                1.0 + self.kappa(moments, kl) + excess,
                joint_error=2.0,
                disagreement=1.0,
                kl=in_kl,
            )
        slack, rest = _slack_to_plateau(e, d), 1.0 - e - d
        return Evaluation(
            1.0 + self.kappa(moments, kl) - slack,
            joint_error=math.log(rest / e) if e > 0.0 else math.inf,
            disagreement=math.log(2.0 * rest / (1.0 - d)),
            kl=in_kl,
        )


class LacasseBound(BallBound):
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
    constant : {"exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), or the smaller ξ(m) ("exact", and None).

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
    '0.3231'
    """

    name = "lacasse"
    formula = "sup { C(e,d) : kl₃(e_S,d_S‖e,d) ≤ [2KL + ln((c₂(m)+m)/δ)]/m }"
    reference = "Viallard et al., ECML PKDD 2021, Algorithm 3, doi:10.1007/978-3-030-86520-7_11"
    oracle_name = "C-bound"

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        return self.largest_c_bound(moments, kl)[0]

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


class Lacasse2Bound(BallBound):
    """Supremum of the C-bound over lacasse's ball, cut by an upper limit of e, at δ/2 each.

    ``sup { C(e, d) : kl₃(e_S, d_S‖e, d) ≤ κ, e ≤ E, d ≤ ½ }`` with ``κ = [2KL + ln(2c₃(m)/δ)]/m``
    and ``E = kl⁺(e_S | [2KL + ln(2c₂(m)/δ)]/m)``. The sets {C ≥ α} are convex: if the worst point
    of the ball has e > E, the worst one of the part that is left has e = E. There ``kl₃`` is
    ``kl(e_S‖E) + (1−e_S) kl(d_S/(1−e_S) ‖ d/(1−E))``, so that d lies between two limits; and C
    rises with d up to ``d = 2E``, where it is 4E, and then falls.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).

    References
    ----------
    P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk Bounds for the Majority
    Vote: From a PAC-Bayesian Analysis to a Learning Algorithm", JMLR 16, 2015, arXiv:1503.08329
    (PAC-Bound 2′).

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import Lacasse2Bound
    >>> format_up(Lacasse2Bound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2939'
    """

    name = "lacasse2"
    formula = "sup { C(e,d) : kl₃(e_S,d_S‖e,d) ≤ [2KL + ln(2(c₂(m)+m)/δ)]/m, e ≤ kl⁺(e_S|ψ₂) }"
    reference = (
        "Germain, Lacasse, Laviolette, Marchand & Roy, JMLR 2015, PAC-Bound 2′, arXiv:1503.08329"
    )
    constants = ("anytime", "maurer", "exact", "one-sided")
    oracle_name = "C-bound"
    ball_share = 0.5

    def largest_joint_error(self, moments: Moments, kl: float) -> Evaluation:
        """Return E as a function of the moments and KL."""
        m = moments.joint_size
        largest = self.upper(moments.joint_error, 2, kl, m, share=0.5)
        return estimate(largest, 2, m, "joint_error")

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        ball, worst = self.largest_c_bound(moments, kl)
        largest = self.largest_joint_error(moments, kl)
        if worst <= largest.value:
            return ball
        return self._on_the_cut(moments, kl, largest)

    def _on_the_cut(self, moments: Moments, kl: float, largest: Evaluation) -> Evaluation:
        """Return the largest C-bound of the ball at e = E."""
        e = largest.value
        low, high = (
            self._disagreement(moments, kl, largest, end)
            for end in (kl_inverse_lower_with_derivatives, kl_inverse_upper_with_derivatives)
        )
        if low.value <= 2.0 * e <= high.value:
            return combine(4.0 * e, (4.0, largest)) if e < 0.25 else Evaluation(1.0)
        d = high if high.value < 2.0 * e else low
        value = c_bound_above(e + 0.5 * d.value, d.value)
        if value >= 1.0:
            return Evaluation(1.0)
        spread = 1.0 - 2.0 * d.value
        slope = (1.0 - 2.0 * e - d.value) / spread
        in_d = 2.0 * slope * (2.0 * e - d.value) / spread
        combined = combine(value, (4.0 * slope, largest), (in_d, d))
        # Where no pair errs the first derivative is infinite, whatever the second says.
        return combined if moments.joint_error > 0.0 else combined._replace(joint_error=math.inf)

    def _disagreement(
        self, moments: Moments, kl: float, largest: Evaluation, end: Callable[..., Inverse]
    ) -> Evaluation:
        """Return the d at one end of the ball's line e = E, as a function of moments and KL."""
        # As a difference, d may be 0 by rounding only: its derivative must not be infinite there.
        e, d, limit = moments.joint_error, max(moments.disagreement, _EPS), largest.value
        others = 1.0 - e
        psi = max(0.0, self.kappa(moments, kl) - binary_kl(e, limit)) / others
        share = end(min(1.0, d / others), psi)
        in_psi = share.psi if math.isfinite(share.psi) else 0.0  # the line touches the ball
        scale = (1.0 - limit) / others
        log_odds = math.log(limit / e * others / (1.0 - limit)) if e > 0.0 else math.inf
        own = Evaluation(
            0.0,
            joint_error=scale * (share.frequency * d / others + in_psi * (log_odds + psi)),
            disagreement=scale * share.frequency,
            kl=scale * in_psi * 2.0 / moments.joint_size,
        )
        in_limit = -share.value - scale * in_psi * (limit - e) / (limit * (1.0 - limit))
        # Towards larger values of the bound, by what the product may have lost.
        value = (1.0 - limit) * share.value * (1.0 + math.copysign(8.0 * _EPS, share.psi))
        return combine(value, (1.0, own), (in_limit, largest))

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return where the statements say that the true (e, d) is."""
        inside, largest = super().excess(moments, kl), self.largest_joint_error(moments, kl).value
        return lambda e, d: np.maximum(np.maximum(inside(e, d), e - largest), d - 0.5)

    def extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        largest = self.largest_joint_error(moments, kl)
        e, d, limit = moments.joint_error, moments.disagreement, largest.value
        # The value is 1 where E ≥ ¼ and the ball has a point with 2e + d = 1 and e ≤ E.
        by_ball = super().extend(moments, kl)
        if 0.5 * (1.0 - d) > limit:
            rest = 1.0 - e - d
            point = trinomial_kl(e, d, limit, 1.0 - 2.0 * limit)
            own = Evaluation(
                0.0,
                joint_error=math.log(rest / e) if e > 0.0 else math.inf,
                disagreement=math.log(rest / limit * (1.0 - 2.0 * limit) / d) if d > 0.0 else 0.0,
                kl=2.0 / moments.joint_size,
            )
            in_limit = (e + rest) / limit - 2.0 * d / (1.0 - 2.0 * limit)
            by_ball = combine(
                1.0 + self.kappa(moments, kl) - point, (1.0, own), (in_limit, largest)
            )
        by_limit = combine(4.0 * limit, (4.0, largest))
        nearer = min(by_ball, by_limit, key=lambda evaluation: evaluation.value)
        return nearer._replace(value=max(1.0, nearer.value))

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def _slack_to_plateau(e: float, d: float) -> float:
    """Return the smallest radius at which the ball meets ``2e + d = 1``, where the C-bound is 1."""
    if 2.0 * e + d >= 1.0:
        return 0.0
    return (
        _entropy_term(e, 1.0 - d) + _entropy_term(1.0 - e - d, 1.0 - d) + (1.0 - d) * math.log(2.0)
    )


def _entropy_term(part: float, whole: float) -> float:
    return part * math.log(part / whole) if part > 0.0 else 0.0


class Tilt(NamedTuple):
    """The point of the ball that is worst for one s, and how it moves with s.

    `scale` is y, with ``λ = v₀ + s/y``; infinite where the best λ is v₀ itself.
    """

    scale: float
    joint_error: float
    disagreement: float
    joint_error_slope: float
    disagreement_slope: float


def tilt(e: float, d: float, kappa: float, s: float, start: float | None = None) -> Tilt:
    """Maximise ``Σ bᵢ vᵢ(s)`` over the ball of radius kappa around (e, d).

    By Lagrange the maximiser is ``bᵢ ∝ aᵢ/(λ−vᵢ)``. The v differ by s times g = 1 + s/2 (both err,
    one errs) and by s times 2 (both err, none errs), so that with ``λ = v₀ + s/y`` these are aᵢ
    over 1, 1 + y·g and 1 + 2y: points on one curve from the centre of the ball, the further the
    larger y > 0. Their divergence ``kl₃(a‖b) = Σ aᵢ ln(λ−vᵢ) + ln Σ aᵢ/(λ−vᵢ)`` rises with y: the
    y that puts b on the boundary is the root of a monotone function of ln y, which `start` guesses.
    """
    none, g = max(0.0, 1.0 - e - d), 1.0 + 0.5 * s
    if e == 0.0:
        # Where no pair has erred, b may have mass on "both err" that costs no divergence at all:
        # then λ is v₀ itself, and what is left for the two others shrinks as kappa grows.
        shrink = math.exp(d * math.log(g) + none * math.log(2.0) - kappa)
        one_errs, none_errs = d * shrink / g, 0.5 * none * shrink
        if one_errs + none_errs <= 1.0:
            one_slope, none_slope = 0.5 * one_errs * (d - 1.0) / g, 0.5 * none_errs * d / g
            both_errs = 1.0 - one_errs - none_errs
            return Tilt(math.inf, both_errs, one_errs, -one_slope - none_slope, one_slope)
    log_y = _first_guess(d, none, g, kappa) if start is None else start
    low, high = -math.inf, _LARGEST_LOG
    for _ in range(200):
        log_y = min(log_y, high)
        y = math.exp(log_y)
        one_gain, none_gain = y * g, 2.0 * y
        # a₁ and a₂ over 1 + y·g and 1 + 2y; a₀ is over 1.
        one, rest = d / (1.0 + one_gain), none / (1.0 + none_gain)
        lost = one * one_gain + rest * none_gain
        total = 1.0 - lost if lost < 0.5 else e + one + rest  # whichever does not cancel
        excess = d * math.log1p(one_gain) + none * math.log1p(none_gain) + math.log(total) - kappa
        one_in_y, rest_in_y = -one * g / (1.0 + one_gain), -2.0 * rest / (1.0 + none_gain)
        excess_in_y = one * g + 2.0 * rest + (one_in_y + rest_in_y) / total
        if excess > 0.0:
            high = log_y
        else:
            low = log_y
        # Newton's step in ln y, kept between what is known to be too little and too much.
        if excess_in_y > 0.0:
            step = -excess / (y * excess_in_y)
        else:
            step = math.copysign(math.inf, -excess)
        step = min(20.0, max(-20.0, step))
        if abs(step) < 1e-9 or high - low < 1e-12:
            break
        log_y += step
        if not low < log_y < high:
            log_y = 0.5 * (low + high)
    both_errs, one_errs = e / total, one / total
    # As s moves, y moves so that the excess stays 0; both move b.
    one_in_s = -0.5 * one * y / (1.0 + one_gain)
    y_in_s = 0.0
    if excess_in_y > 0.0:
        y_in_s = -(0.5 * one * y + one_in_s / total) / excess_in_y
    total_slope = one_in_s + (one_in_y + rest_in_y) * y_in_s
    one_slope = (one_in_s + one_in_y * y_in_s - one_errs * total_slope) / total
    return Tilt(y, both_errs, one_errs, -both_errs * total_slope / total, one_slope)


def _first_guess(one: float, none: float, g: float, kappa: float) -> float:
    """Return ln y where the divergence, to second order in y, is kappa."""
    mean = one * g + 2.0 * none
    variance = max(one * g * g + 4.0 * none - mean * mean, 1e-300)
    return 0.5 * math.log(2.0 * kappa / variance)


def _supremum(e: float, d: float, kappa: float) -> tuple[float, float, float, float, float]:
    """Return the dual value, its derivatives in e, d and kappa, and the worst e.

    The best s is the root of the increasing ``s(½ − d*) − (1 − 2e* − d*)``, where (e*, d*) is the
    worst point of the ball for s: half the derivative of the dual, by the envelope theorem. Any s
    gives a valid bound, so that it need not be found exactly.
    """
    if 0.0 < e < _SMALLEST:
        e = _SMALLEST  # the value rises with e
    s = min((1.0 - 2.0 * e - d) / max(0.5 - d, 1e-6), 1e6)
    low, high, start = 0.0, math.inf, None
    for _ in range(100):
        worst = tilt(e, d, kappa, s, start)
        start = math.log(worst.scale) if worst.scale < math.inf else None
        spread = 0.5 - worst.disagreement
        excess = s * spread - (1.0 - 2.0 * worst.joint_error - worst.disagreement)
        if excess > 0.0:
            high = s
        else:
            low = s
        slope = spread + (1.0 - s) * worst.disagreement_slope + 2.0 * worst.joint_error_slope
        step = -excess / slope if slope > 0.0 else -math.copysign(math.inf, excess)
        if abs(step) <= 1e-9 * s or high - low <= 1e-12 * s or s > 1e9:
            break
        s += step
        if not low < s < high:
            s = 0.5 * (low + high) if high < math.inf else 2.0 * low + 1e-3
    return *_dual(e, d, kappa, s, worst.scale), worst.joint_error


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
