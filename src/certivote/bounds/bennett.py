"""A certificate on the μ-tandem loss by Bennett's inequality."""

import math

import numpy as np
from numpy.typing import NDArray

from ..statistics import Moments
from .evaluation import Evaluation, Plane, combine, estimate
from .moment import MomentBound

__all__ = ["BennettBound"]

# 1/(½−μ), eight values to an octave: the C-bound's own μ is off by 4.4% at most.
_SCALES = 2.0 ** (np.arange(25) / 8.0)
_MU = 0.5 - 1.0 / _SCALES
# By how much the loss (L−μ)(L'−μ) of two voters varies.
_RANGE = np.maximum(1.0 - _MU, 1.0 - 2.0 * _MU)
# γ times the range; the smallest is for samples of 10¹².
_STEPS = 4.0 * 2.0 ** -np.arange(20.0)
# φ(x) = eˣ − x − 1, in which nothing cancels.
_PHI = np.array([math.fsum(x**k / math.factorial(k) for k in range(2, 60)) for x in _STEPS])

_EPS = 2.0**-52
_SHARE = 0.5 / (_MU.size * _STEPS.size)
_VARIANCE_SHARE = 0.25


class BennettBound(MomentBound):
    """Smallest over a grid of (μ, γ) of a bound on the μ-tandem loss by Bennett's inequality.

    The loss ``(L−μ)(L'−μ)`` of two voters has the mean ``ℓ = e − μ(2e+d) + μ²`` and a range of
    ``K = max(1−μ, 1−2μ)``, and its variance is at most ``V = (1−2μ)²e + μ²d``, the mean square of
    its distance from μ². With ``φ(x) = eˣ − x − 1``, the value is the smallest over the grid of::

        [ℓ_S + φ(Kγ)/(γK²)·V⁺ + (2KL + ln(1000/δ))/(γm)] / (½−μ)²
        V⁺ = (1−2μ)² kl⁺(e_S|ψ) + μ² kl⁺(d_S|ψ),    ψ = [2KL + ln(4c₂(m)/δ)]/m

    **The grid**, fixed in advance whatever the sample: 25 values of μ, ``½ − 2^(−k/8)`` for k = 0,
    …, 24, from −½ to ⅜ (0 is among them), times 20 of γ, ``Kγ = 4·2^(−j)`` for j = 0, …, 19.
    **The shares of δ**: δ/2 for Bennett's inequality, of which each of the 500 points has δ/1000;
    δ/4 for e and δ/4 for d in the variance, which hold for all points at once. (Relaxations of
    kl⁺ with a parameter λ need a grid of λ too; kl⁺ itself is below all of them, and needs none.)

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).

    References
    ----------
    Y.-S. Wu, A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Chebyshev-Cantelli PAC-Bayes-Bennett
    Inequality for the Weighted Majority Vote", NeurIPS 2021, arXiv:2106.13624 (there CCPBB, with an
    empirical variance).

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import BennettBound
    >>> format_up(BennettBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.3559'
    """

    name = "bennett"
    formula = "min over μ, γ of [ℓ_S + φ(Kγ)/(γK²)·V⁺ + (2KL + ln(1000/δ))/(γm)]/(½−μ)²"
    reference = "Wu, Masegosa, Lorenzen, Igel & Seldin, NeurIPS 2021, arXiv:2106.13624"
    needs = frozenset({"moments", "joint"})
    oracle_name = "Cantelli bound"
    constants = ("maurer", "exact", "one-sided")

    def _variance_terms(self, moments: Moments, kl: float) -> tuple[Evaluation, Evaluation]:
        """Return kl⁺(e_S) and kl⁺(d_S)."""
        m = moments.joint_size
        e = self.upper(moments.joint_error, 2, kl, m, share=_VARIANCE_SHARE)
        # As a difference, d_S may be 0 by rounding only: there its derivative must not be infinite.
        d = self.upper(max(moments.disagreement, _EPS), 2, kl, m, share=_VARIANCE_SHARE)
        return estimate(e, 2, m, "joint_error"), estimate(d, 2, m, "disagreement")

    def _losses(self, moments: Moments, kl: float) -> NDArray[np.float64]:
        """Return the bound on the loss for each μ (rows) and γ (columns) of the grid."""
        e, d = (term.value for term in self._variance_terms(moments, kl))
        loss = _loss(moments.joint_error, moments.disagreement)
        variance = (1.0 - 2.0 * _MU) ** 2 * e + _MU**2 * d
        cost = (2.0 * kl - math.log(_SHARE) - math.log(self.delta)) / moments.joint_size
        losses: NDArray[np.float64] = loss[:, None] + np.outer(variance / _RANGE, _PHI / _STEPS)
        losses += np.outer(_RANGE, cost / _STEPS)
        return losses

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        values = _SCALES[:, None] ** 2 * self._losses(moments, kl)
        i, j = np.unravel_index(int(values.argmin()), values.shape)
        if values[i, j] <= 0.0:  # no vote has such moments: the statements have failed
            return Evaluation(1.0)
        mu, width, step = float(_MU[i]), float(_RANGE[i]), float(_STEPS[j])
        scale = float(_SCALES[i]) ** 2
        own = Evaluation(0.0, 0.0, 1.0 - 2.0 * mu, -mu, 2.0 * width / (step * moments.joint_size))
        e, d = self._variance_terms(moments, kl)
        in_variance = scale * float(_PHI[j]) / (step * width)
        return combine(
            float(values[i, j]),
            (scale, own),
            (in_variance * (1.0 - 2.0 * mu) ** 2, e),
            (in_variance * mu * mu, d),
        )

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return where the statements say that the true (e, d) is."""
        largest_e, largest_d = (term.value for term in self._variance_terms(moments, kl))
        largest_losses = self._losses(moments, kl).min(axis=1)

        def excess(e: NDArray[np.float64], d: NDArray[np.float64]) -> NDArray[np.float64]:
            losses = _loss(np.asarray(e)[..., None], np.asarray(d)[..., None]) - largest_losses
            beyond: NDArray[np.float64] = losses.max(axis=-1)
            return np.maximum(beyond, np.maximum(e - largest_e, d - largest_d))

        return excess

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments: ``(e − 2μr + μ²)/(½−μ)²``, smallest over the grid."""
        return float(np.min(_SCALES**2 * _loss(joint_error, 2.0 * (gibbs_risk - joint_error))))


def _loss(
    joint_error: float | NDArray[np.float64], disagreement: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean loss for each μ of the grid."""
    loss: NDArray[np.float64] = (1.0 - 2.0 * _MU) * joint_error - _MU * disagreement + _MU**2
    return loss
