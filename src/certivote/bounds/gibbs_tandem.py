"""Certificates on one moment of the vote: its Gibbs risk, or the joint error of two voters."""

import math
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..divergences import Inverse
from ..statistics import Moments, Statistics
from .evaluation import Evaluation, combine, estimate
from .moment import MomentBound
from .oracle import first_order_bound, second_order_bound
from .tempering import least_limited, tempered

__all__ = ["GibbsBound", "OneMomentBound", "TandemBound"]


class OneMomentBound(MomentBound):
    """``scale · kl⁺(a | [copies·KL + ln(c₂(m)/δ)]/m)`` for one empirical moment ``a``."""

    constants = ("anytime", "maurer", "exact", "one-sided")
    moment: ClassVar[Literal["gibbs_risk", "joint_error"]]
    scale: ClassVar[float]
    copies: ClassVar[int]

    def moment_and_size(self, moments: Moments) -> tuple[float, int]:
        """Return the moment that is bounded, and the number of examples behind it."""
        if self.moment == "gibbs_risk":
            return moments.gibbs_risk, moments.gibbs_size
        return moments.joint_error, moments.joint_size

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        a, m = self.moment_and_size(moments)
        return self.scaled(self.upper(a, self.copies, kl, m), m)

    def scaled(self, inverse: Inverse, m: int) -> Evaluation:
        """Return the bound from an upper bound of its moment."""
        bound = estimate(inverse, self.copies, m, self.moment)
        return combine(self.scale * bound.value, (self.scale, bound))

    def relaxed(self, moments: Moments, kl: float, trade_off: float) -> Evaluation:
        """Return ``scale·(a/(1−λ/2) + ψ/(λ(1−λ/2)))``, above the bound for any λ in (0, 2).

        ψ is the radius of the statement in both directions, whatever the constant.
        """
        a, m = self.moment_and_size(moments)
        slope = self.scale / (1.0 - trade_off / 2.0)
        rate = slope / trade_off
        return Evaluation(
            slope * a + rate * self.radius(self.copies, kl, m),
            kl=rate * self.copies / m,
            **{self.moment: slope},
        )

    def best_relaxed(
        self, statistics: Statistics, p: NDArray[np.float64], trade_off: float
    ) -> NDArray[np.float64] | None:
        """Return the weights that make `relaxed` smallest, where they are known."""
        return None

    def best_trade_off(self, moments: Moments, kl: float) -> float:
        """Return the λ that makes `relaxed` smallest, ``2/(√(2a/ψ + 1) + 1)``."""
        a, m = self.moment_and_size(moments)
        return 2.0 / (math.sqrt(2.0 * a / self.radius(self.copies, kl, m) + 1.0) + 1.0)


class GibbsBound(OneMomentBound):
    """``2 kl⁺(r_S | [KL + ln(c₂(m)/δ)]/m)``: twice a bound on the Gibbs risk.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).

    References
    ----------
    J. Langford and J. Shawe-Taylor, "PAC-Bayes & Margins", NIPS 2002.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import GibbsBound
    >>> format_up(GibbsBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2806'
    """

    name = "gibbs"
    formula = "2 kl⁺(r_S | [KL + ln(c₂(m)/δ)]/m)"
    reference = "Langford & Shawe-Taylor, PAC-Bayes & Margins, NIPS 2002"
    oracle_name = "2r"
    moment = "gibbs_risk"
    scale = 2.0
    copies = 1

    def minimizer(
        self, statistics: Statistics, p: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return the weights with the smallest value, which grows with r_S and KL only."""
        m = statistics.moments_at(p).gibbs_size
        return least_limited(
            statistics.error_rates,
            p,
            m,
            limit=lambda gibbs_risk, kl: self.upper(gibbs_risk, 1, kl, m).value,
            radius=lambda truth: self.radius_at(truth, 1, 0.0, m)[0],
        )

    def best_relaxed(
        self, statistics: Statistics, p: NDArray[np.float64], trade_off: float
    ) -> NDArray[np.float64] | None:
        """Return ``q ∝ p·exp(−λ·m·errors)``."""
        m = statistics.moments_at(p).gibbs_size
        return tempered(p, trade_off * m * statistics.error_rates)

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, ``2r``."""
        return first_order_bound(gibbs_risk)


class TandemBound(OneMomentBound):
    """``4 kl⁺(e_S | [2KL + ln(c₂(m)/δ)]/m)``: four times a bound on the joint error.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).

    References
    ----------
    A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order PAC-Bayesian Bounds for the
    Weighted Majority Vote", NeurIPS 2020, arXiv:2007.13532.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import TandemBound
    >>> format_up(TandemBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2881'
    """

    name = "tandem"
    formula = "4 kl⁺(e_S | [2KL + ln(c₂(m)/δ)]/m)"
    reference = "Masegosa, Lorenzen, Igel & Seldin, NeurIPS 2020, arXiv:2007.13532"
    oracle_name = "4e"
    moment = "joint_error"
    scale = 4.0
    copies = 2

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, ``4e``."""
        return second_order_bound(joint_error)
