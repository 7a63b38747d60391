"""C-bound certificates that estimate the Gibbs risk and the disagreement apart, at δ/2 each."""

import math
from abc import abstractmethod

import numpy as np

from ..divergences import (
    Inverse,
    kl_inverse_lower_with_derivatives,
    kl_inverse_upper_with_derivatives,
)
from ..statistics import Moments
from .base import Evaluation, MomentBound, Plane, PrintedSettings
from .oracle import c_bound

__all__ = ["McAllesterBound", "SeegerBound", "SplitCBound"]

_EPS = 2.0**-52


class SplitCBound(MomentBound):
    """``C(r, d)`` at an upper bound of r and a lower bound of d.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).
    """

    oracle_name = "C-bound"

    @abstractmethod
    def _largest_gibbs_risk(self, a: float, psi: float) -> Inverse:
        """Return an upper bound of r, and its derivatives in r_S and ψ."""

    @abstractmethod
    def _smallest_disagreement(self, a: float, psi: float) -> Inverse:
        """Return a lower bound of d, and its derivatives in d_S and ψ."""

    def _rates(self, moments: Moments, kl: float) -> tuple[float, float]:
        """Return ``ψ_r = [KL + ln(2c₂/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂/δ)]/m``."""
        return (
            self._radius(1, kl, moments.gibbs_size, share=0.5),
            self._radius(2, kl, moments.disagreement_size, share=0.5),
        )

    def _evaluate(self, moments: Moments, kl: float) -> Evaluation:
        psi_r, psi_d = self._rates(moments, kl)
        r = self._largest_gibbs_risk(moments.gibbs_risk, psi_r)
        d = self._smallest_disagreement(moments.disagreement, psi_d)
        return _c_bound_of(r, d, moments)

    def _excess(self, moments: Moments, kl: float) -> Plane:
        psi_r, psi_d = self._rates(moments, kl)
        largest_r = self._largest_gibbs_risk(moments.gibbs_risk, psi_r).value
        smallest_d = self._smallest_disagreement(moments.disagreement, psi_d).value
        return lambda e, d: np.maximum(e + d / 2.0 - largest_r, smallest_d - d)

    def _extend(self, moments: Moments, kl: float) -> Evaluation:
        psi_r, _ = self._rates(moments, kl)
        r = self._largest_gibbs_risk(moments.gibbs_risk, psi_r)
        return Evaluation(
            max(1.0, 2.0 * r.value),
            gibbs_risk=2.0 * r.frequency,
            kl=2.0 * r.psi / moments.gibbs_size,
        )

    def _evaluate_printed(
        self, moments: Moments, kl: float, settings: PrintedSettings
    ) -> Evaluation:
        psi_r, psi_d = self._rates(moments, kl)
        r = self._printed_gibbs_risk(moments.gibbs_risk, psi_r, settings)
        d = self._printed_disagreement(moments.disagreement, psi_d, settings)
        value = _c_bound_of(r, d, moments)
        penalty, slope = settings.barrier(r.value - 0.5)
        return value._replace(
            value=value.value + penalty,
            gibbs_risk=value.gibbs_risk + slope * r.frequency,
            kl=value.kl + slope * r.psi / moments.gibbs_size,
        )

    def _printed_gibbs_risk(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return self._largest_gibbs_risk(a, psi)

    def _printed_disagreement(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return self._smallest_disagreement(a, psi)

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def _c_bound_of(r: Inverse, d: Inverse, moments: Moments) -> Evaluation:
    """Return the C-bound at estimates of r and d, with the chain rule to r_S, d_S and KL."""
    margin, spread = 1.0 - 2.0 * r.value, 1.0 - 2.0 * d.value
    if margin <= 0.0 or spread <= 0.0:
        return Evaluation(1.0)
    ratio = margin * margin / spread
    # Both differences are exact to one rounding of a number near 1.
    value = 1.0 - ratio * (1.0 - 4.0 * _EPS * (1.0 / margin + 1.0 / spread))
    if value <= 0.0:  # no vote has such moments: the statements behind r and d have failed
        return Evaluation(1.0)
    in_r, in_d = 4.0 * margin / spread, -2.0 * ratio / spread
    return Evaluation(
        min(1.0, value),
        gibbs_risk=in_r * r.frequency,
        disagreement=in_d * d.frequency,
        kl=in_r * r.psi / moments.gibbs_size + in_d * d.psi * 2.0 / moments.disagreement_size,
    )


class McAllesterBound(SplitCBound):
    """C-bound at ``r_S + √(ψ_r/2)`` and ``d_S − √(ψ₂/2)`` (Algorithm 1 of the paper).

    ``ψ_r = [KL + ln(2c₂(m)/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂(m)/δ)]/m``.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).

    References
    ----------
    J.-F. Roy, F. Laviolette and M. Marchand, "From PAC-Bayes Bounds to Quadratic Programs for
    Majority Votes", ICML 2011; P. Viallard et al., ECML PKDD 2021,
    doi:10.1007/978-3-030-86520-7_11.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import McAllesterBound
    >>> format_up(McAllesterBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.5238'
    """

    name = "mcallester"
    formula = "C(r_S + √(ψ_r/2), d_S − √(ψ₂/2))"
    reference = "Viallard et al., ECML PKDD 2021, Algorithm 1, doi:10.1007/978-3-030-86520-7_11"

    def _largest_gibbs_risk(self, a: float, psi: float) -> Inverse:
        width = math.sqrt(psi / 2.0)
        return Inverse(a + width, 1.0, 0.25 / width)

    def _smallest_disagreement(self, a: float, psi: float) -> Inverse:
        width = math.sqrt(psi / 2.0)
        return Inverse(a - width, 1.0, -0.25 / width) if a > width else Inverse(0.0, 0.0, 0.0)


class SeegerBound(SplitCBound):
    """C-bound at ``kl⁺(r_S|ψ_r)`` and ``kl⁻(d_S|ψ₂)`` (Algorithm 2 of the paper).

    ``ψ_r = [KL + ln(2c₂(m)/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂(m)/δ)]/m``.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).

    References
    ----------
    P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk Bounds for the Majority
    Vote", JMLR 16, 2015; P. Viallard et al., ECML PKDD 2021, doi:10.1007/978-3-030-86520-7_11.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import SeegerBound
    >>> format_up(SeegerBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.4130'
    """

    name = "seeger"
    formula = "C(kl⁺(r_S|ψ_r), kl⁻(d_S|ψ₂))"
    reference = "Viallard et al., ECML PKDD 2021, Algorithm 2, doi:10.1007/978-3-030-86520-7_11"

    def _largest_gibbs_risk(self, a: float, psi: float) -> Inverse:
        return kl_inverse_upper_with_derivatives(a, psi)

    def _smallest_disagreement(self, a: float, psi: float) -> Inverse:
        return kl_inverse_lower_with_derivatives(a, psi)

    def _printed_gibbs_risk(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return settings.inverse_upper(a, psi)

    def _printed_disagreement(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return settings.inverse_lower(a, psi)
