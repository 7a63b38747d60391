"""Certificates that estimate the Gibbs risk and the disagreement apart, at δ/2 each."""

import math

import numpy as np

from ..divergences import (
    Inverse,
    kl_inverse_lower_with_derivatives,
    kl_inverse_upper_with_derivatives,
)
from ..statistics import Moments
from .base import Evaluation, MomentBound, Plane, PrintedSettings, combine, statement
from .oracle import c_bound, c_bound_above, second_order_bound

__all__ = ["DisBound", "McAllesterBound", "SeegerBound", "SplitBound", "SplitCBound"]


class SplitBound(MomentBound):
    """A bound at an upper bound of r and a lower bound of d, at δ/2 each.

    The two statements need not come from the same examples.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).
    """

    uses_unlabelled = True

    def _largest_gibbs_risk(self, a: float, psi: float) -> Inverse:
        """Return an upper bound of r, and its derivatives in r_S and ψ."""
        return kl_inverse_upper_with_derivatives(a, psi)

    def _smallest_disagreement(self, a: float, psi: float) -> Inverse:
        """Return a lower bound of d, and its derivatives in d_S and ψ."""
        return kl_inverse_lower_with_derivatives(a, psi)

    def _rates(self, moments: Moments, kl: float) -> tuple[float, float]:
        """Return ``ψ_r = [KL + ln(2c₂/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂/δ)]/m``."""
        return (
            self._radius(1, kl, moments.gibbs_size, share=0.5),
            self._radius(2, kl, moments.disagreement_size, share=0.5),
        )

    def _estimates(self, moments: Moments, kl: float) -> tuple[Evaluation, Evaluation]:
        """Return the upper bound of r and the lower bound of d."""
        psi_r, psi_d = self._rates(moments, kl)
        return _functions(
            self._largest_gibbs_risk(moments.gibbs_risk, psi_r),
            self._smallest_disagreement(moments.disagreement, psi_d),
            moments,
        )

    def _excess(self, moments: Moments, kl: float) -> Plane:
        largest_r, smallest_d = (term.value for term in self._estimates(moments, kl))
        return lambda e, d: np.maximum(e + d / 2.0 - largest_r, smallest_d - d)


def _functions(r: Inverse, d: Inverse, moments: Moments) -> tuple[Evaluation, Evaluation]:
    """Return estimates of r and d as functions of the moments and KL."""
    return (
        statement(r, 1, moments.gibbs_size, "gibbs_risk"),
        statement(d, 2, moments.disagreement_size, "disagreement"),
    )


class SplitCBound(SplitBound):
    """``C(r, d)`` at an upper bound of r and a lower bound of d.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).
    """

    oracle_name = "C-bound"

    def _evaluate(self, moments: Moments, kl: float) -> Evaluation:
        return _c_bound_of(*self._estimates(moments, kl))

    def _extend(self, moments: Moments, kl: float) -> Evaluation:
        r, _ = self._estimates(moments, kl)
        return combine(max(1.0, 2.0 * r.value), (2.0, r))

    def _evaluate_printed(
        self, moments: Moments, kl: float, settings: PrintedSettings
    ) -> Evaluation:
        psi_r, psi_d = self._rates(moments, kl)
        r, d = _functions(
            self._printed_gibbs_risk(moments.gibbs_risk, psi_r, settings),
            self._printed_disagreement(moments.disagreement, psi_d, settings),
            moments,
        )
        value = _c_bound_of(r, d)
        penalty, slope = settings.barrier(r.value - 0.5)
        return combine(value.value + penalty, (1.0, value), (slope, r))

    def _printed_gibbs_risk(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return self._largest_gibbs_risk(a, psi)

    def _printed_disagreement(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return self._smallest_disagreement(a, psi)

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def _c_bound_of(r: Evaluation, d: Evaluation) -> Evaluation:
    """Return the C-bound at estimates of r and d, with the chain rule to the moments and KL."""
    value = c_bound_above(r.value, d.value)
    if value >= 1.0:
        return Evaluation(1.0)
    margin, spread = 1.0 - 2.0 * r.value, 1.0 - 2.0 * d.value
    return combine(value, (4.0 * margin / spread, r), (-2.0 * (margin / spread) ** 2, d))


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

    def _printed_gibbs_risk(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return settings.inverse_upper(a, psi)

    def _printed_disagreement(self, a: float, psi: float, settings: PrintedSettings) -> Inverse:
        return settings.inverse_lower(a, psi)


class DisBound(SplitBound):
    """``4 kl⁺(r_S|ψ_r) − 2 kl⁻(d_S|ψ₂)``: the tandem bound, as ``4e = 4r − 2d``.

    ``ψ_r = [KL + ln(2c₂(m)/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂(m)/δ)]/m``. With two classes the
    disagreement may come from many more examples than the Gibbs risk, as it needs no labels. It is
    1 where no vote has the estimated moments: ``d > 2r(1−r)``, and the statements have failed.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant c₂: the published 2√m, or the smaller ξ(m).

    References
    ----------
    A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order PAC-Bayesian Bounds for the
    Weighted Majority Vote", NeurIPS 2020, arXiv:2007.13532 (there DIS).

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import DisBound
    >>> format_up(DisBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.4369'
    """

    name = "dis"
    formula = "4 kl⁺(r_S|ψ_r) − 2 kl⁻(d_S|ψ₂)"
    reference = "Masegosa, Lorenzen, Igel & Seldin, NeurIPS 2020, arXiv:2007.13532"
    oracle_name = "4e"

    def _evaluate(self, moments: Moments, kl: float) -> Evaluation:
        r, d = self._estimates(moments, kl)
        # r and d are on the sides of the truth where 2r(1−r) ≥ d can only become easier.
        largest_r = min(r.value, 0.5)
        if d.value > 2.0 * largest_r * (1.0 - largest_r):
            return Evaluation(1.0)
        return combine(4.0 * r.value - 2.0 * d.value, (4.0, r), (-2.0, d))

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, ``4e``."""
        return second_order_bound(joint_error)
