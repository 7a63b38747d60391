"""Certificates on one moment of the vote: its Gibbs risk, or the joint error of two voters."""

import math
from typing import ClassVar, Literal

from ..divergences import Inverse, kl_inverse_upper_with_derivatives
from ..statistics import Moments
from .base import Evaluation, MomentBound, PrintedSettings
from .oracle import first_order_bound, second_order_bound

__all__ = ["GibbsBound", "OneMomentBound", "TandemBound"]


class OneMomentBound(MomentBound):
    """``scale · kl⁺(a | [copies·KL + ln(c₂(m)/δ)]/m)`` for one empirical moment ``a``.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).
    """

    moment: ClassVar[Literal["gibbs_risk", "joint_error"]]
    scale: ClassVar[float]
    copies: ClassVar[int]

    def _moment(self, moments: Moments) -> tuple[float, int]:
        if self.moment == "gibbs_risk":
            return moments.gibbs_risk, moments.gibbs_size
        return moments.joint_error, moments.joint_size

    def _psi(self, kl: float, m: int) -> float:
        return self._radius(self.copies, kl, m)

    def _scaled(self, inverse: Inverse, m: int) -> Evaluation:
        return Evaluation(
            self.scale * inverse.value,
            kl=self.scale * inverse.psi * self.copies / m,
            **{self.moment: self.scale * inverse.frequency},
        )

    def _evaluate(self, moments: Moments, kl: float) -> Evaluation:
        a, m = self._moment(moments)
        return self._scaled(kl_inverse_upper_with_derivatives(a, self._psi(kl, m)), m)

    def _evaluate_printed(
        self, moments: Moments, kl: float, settings: PrintedSettings
    ) -> Evaluation:
        a, m = self._moment(moments)
        return self._scaled(settings.inverse_upper(a, self._psi(kl, m)), m)

    def relaxed(self, moments: Moments, kl: float, trade_off: float) -> Evaluation:
        """Return ``scale·(a/(1−λ/2) + ψ/(λ(1−λ/2)))``, above the bound for any λ.

        Parameters
        ----------
        moments : Moments
            The empirical moments of the vote.
        kl : float
            The divergence of the weights from the prior.
        trade_off : float
            λ in (0, 2).
        """
        a, m = self._moment(moments)
        slope = self.scale / (1.0 - trade_off / 2.0)
        rate = slope / trade_off
        return Evaluation(
            slope * a + rate * self._psi(kl, m),
            kl=rate * self.copies / m,
            **{self.moment: slope},
        )

    def best_trade_off(self, moments: Moments, kl: float) -> float:
        """Return the λ that makes `relaxed` smallest, ``2/(√(2a/ψ + 1) + 1)``.

        Parameters
        ----------
        moments : Moments
            The empirical moments of the vote.
        kl : float
            The divergence of the weights from the prior.
        """
        a, m = self._moment(moments)
        return 2.0 / (math.sqrt(2.0 * a / self._psi(kl, m) + 1.0) + 1.0)


class GibbsBound(OneMomentBound):
    """``2 kl⁺(r_S | [KL + ln(c₂(m)/δ)]/m)``: twice a bound on the Gibbs risk.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).

    References
    ----------
    J. Langford and J. Shawe-Taylor, "PAC-Bayes & Margins", NIPS 2002.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import GibbsBound
    >>> format_up(GibbsBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2908'
    """

    name = "gibbs"
    formula = "2 kl⁺(r_S | [KL + ln(c₂(m)/δ)]/m)"
    reference = "Langford & Shawe-Taylor, PAC-Bayes & Margins, NIPS 2002"
    oracle_name = "2r"
    moment = "gibbs_risk"
    scale = 2.0
    copies = 1

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
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).

    References
    ----------
    A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order PAC-Bayesian Bounds for the
    Weighted Majority Vote", NeurIPS 2020, arXiv:2007.13532.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import TandemBound
    >>> format_up(TandemBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.3050'
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
