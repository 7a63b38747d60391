"""The smallest bound that two moments allow, over the ball that bounds them both."""

import math

from ..statistics import Moments
from .evaluation import Evaluation
from .lacasse import BallBound
from .oracle import sharp_bound

__all__ = ["SharpBound"]

_EPS = 2.0**-52
_LARGEST_LOG = 650.0
# What is added to λ − 3/2 to make λ − v, for the three outcomes v = (1, 3/2, 0).
_BOTH, _NONE = 0.5, 1.5


class SharpBound(BallBound):
    """``min(sup C(e, d), sup r + d)``, both over ``kl₃(e_S, d_S‖e, d) ≤ [2KL + ln(c₃(m)/δ)]/m``.

    ``3w − 2w²`` is at least 0 for w in [0, ½] and at least 1 in [½, 1], and the vote errs only
    where W ≥ ½: its risk is at most ``3r − 2e = r + d``, for any number of classes. With the
    C-bound this is the smallest bound that r and e allow. Both hold wherever the true (e, d) is in
    the ball, so that the second costs nothing. As ``r + d = Σᵢ bᵢ vᵢ`` for the probabilities b of
    the three outcomes both-err, one-errs, none-errs and ``v = (1, 3/2, 0)``, its supremum is, with
    ``a = (e_S, d_S, 1−e_S−d_S)``, the smallest ``λ − e^{−κ} Πᵢ (λ−vᵢ)^{aᵢ}`` over ``λ ≥ 3/2``, and
    each of them is an upper bound.

    ``r + d`` alone is smallest where d is near 0: at one voter, or nearly. Minimised, this bound
    chooses a voter; its use is to certify weights that were found otherwise.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), or the smaller ξ(m) ("exact", and None).

    References
    ----------
    The ball: A. Lacasse, F. Laviolette, M. Marchand, P. Germain and N. Usunier, "PAC-Bayes Bounds
    for the Risk of the Majority Vote and the Variance of the Gibbs Classifier", NIPS 2006.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import SharpBound
    >>> format_up(SharpBound().from_moments(0.1, joint_error=0.08, kl=2.0, n_samples=1000))
    '0.2141'
    """

    name = "sharp"
    formula = "min(sup C(e,d), sup r + d), over kl₃(e_S,d_S‖e,d) ≤ [2KL + ln((c₂(m)+m)/δ)]/m"
    reference = "the ball: Lacasse, Laviolette, Marchand, Germain & Usunier, NIPS 2006"
    oracle_name = "min(C, r + d)"

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        linear, (c_bound, _) = self._largest_sum(moments, kl), self.largest_c_bound(moments, kl)
        smaller = min(linear, c_bound, key=lambda evaluation: evaluation.value)
        return smaller if smaller.value < 1.0 else Evaluation(1.0)

    def extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        extended, linear = super().extend(moments, kl), self._largest_sum(moments, kl)
        return min(extended, linear, key=lambda evaluation: evaluation.value)

    def _largest_sum(self, moments: Moments, kl: float) -> Evaluation:
        """Return the supremum of r + d over the ball."""
        e, d = moments.joint_error, moments.disagreement
        value, in_e, in_d, in_kappa = _supremum_of_sum(e, d, self.kappa(moments, kl))
        in_kl = 2.0 * in_kappa / moments.joint_size
        return Evaluation(value, joint_error=in_e, disagreement=in_d, kl=in_kl)

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments: the smaller of the C-bound and ``r + d``."""
        return sharp_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def _supremum_of_sum(e: float, d: float, kappa: float) -> tuple[float, float, float, float]:
    """Return the dual value, rounded up, and its derivatives in e, d and kappa.

    The maximiser is ``bᵢ ∝ aᵢ/(λ−vᵢ)``. With ``λ = 3/2 + 1/y`` these are aᵢ over 1 + y/2, 1 and
    1 + 3y/2, and their divergence rises with y: its root in ln y is found by Newton's method, kept
    in a bracket.
    """
    # As a difference, d may be 0 by rounding only: its derivative must not be infinite there.
    d = max(d, _EPS)
    none = max(0.0, 1.0 - e - d)
    mean = e * _BOTH + none * _NONE
    variance = max(e * _BOTH**2 + none * _NONE**2 - mean * mean, 1e-300)
    log_y = min(_LARGEST_LOG, 0.5 * math.log(2.0 * kappa / variance))
    low, high = -_LARGEST_LOG, _LARGEST_LOG
    for _ in range(200):
        y = math.exp(log_y)
        both, rest = e / (1.0 + _BOTH * y), none / (1.0 + _NONE * y)
        lost = y * (both * _BOTH + rest * _NONE)
        total = 1.0 - lost if lost < 0.5 else both + d + rest  # whichever does not cancel
        logs = e * math.log1p(_BOTH * y) + none * math.log1p(_NONE * y)
        excess = logs + math.log(total) - kappa
        low, high = (low, log_y) if excess > 0.0 else (log_y, high)
        change = both * _BOTH / (1.0 + _BOTH * y) + rest * _NONE / (1.0 + _NONE * y)
        slope = y * (both * _BOTH + rest * _NONE - change / total)
        step = -excess / slope if slope > 0.0 else math.copysign(math.inf, -excess)
        if abs(step) < 1e-9 or high - low < 1e-12:
            break
        log_y += min(20.0, max(-20.0, step))
        if not low < log_y < high:
            log_y = 0.5 * (low + high)
    in_kappa = math.exp(logs - kappa) / y
    value = 1.5 - math.expm1(logs - kappa) / y
    rounding = 16.0 * _EPS * (1.5 + in_kappa * (logs + kappa))
    log_none = math.log1p(_NONE * y)
    in_e = in_kappa * (log_none - math.log1p(_BOTH * y))
    return value + rounding, in_e, in_kappa * log_none, in_kappa
