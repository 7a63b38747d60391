"""Certificates that estimate the Gibbs risk and the disagreement apart, at δ/2 each."""

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ..divergences import (
    Inverse,
    kl_inverse_lower_with_derivatives,
)
from ..statistics import Moments
from .evaluation import Evaluation, Plane, combine, estimate
from .first_order import FirstOrderBound
from .moment import MomentBound
from .oracle import c_bound, c_bound_above, second_order_bound

__all__ = [
    "DisBound",
    "McAllesterBound",
    "SeegerBound",
    "SplitBound",
    "SplitCBound",
    "c_bound_of",
]

# A frequency and a radius ↦ how large, or how small, the truth may be.
Inversion = Callable[[float, float], Inverse]


class SplitBound(MomentBound):
    """A bound at an upper bound of r and a lower bound of d, at δ/2 each.

    The two statements need not come from the same examples.
    """

    uses_unlabelled = True

    constants: ClassVar[tuple[str, ...]] = ("anytime", "maurer", "exact", "one-sided")

    def largest_gibbs_risk(self, a: float, kl: float, m: int) -> Inverse:
        """Return an upper bound of r, and its derivatives in r_S and ψ_r."""
        return self.upper(a, 1, kl, m, share=0.5)

    def smallest_disagreement(self, a: float, psi: float) -> Inverse:
        """Return a lower bound of d, and its derivatives in d_S and ψ."""
        return kl_inverse_lower_with_derivatives(a, psi)

    def estimates(
        self,
        moments: Moments,
        kl: float,
        largest: Inversion | None = None,
        smallest: Inversion | None = None,
    ) -> tuple[Evaluation, Evaluation]:
        """Return the upper bound of r and the lower bound of d, by other inversions if given.

        ``ψ_r = [KL + ln(2c₂/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂/δ)]/m``.
        """
        m_r, m_d = moments.gibbs_size, moments.disagreement_size
        if largest is None:
            r = self.largest_gibbs_risk(moments.gibbs_risk, kl, m_r)
        else:
            r = largest(moments.gibbs_risk, self.radius(1, kl, m_r, share=0.5))
        psi_d = self.radius(2, kl, m_d, share=0.5)
        d = (smallest or self.smallest_disagreement)(moments.disagreement, psi_d)
        return estimate(r, 1, m_r, "gibbs_risk"), estimate(d, 2, m_d, "disagreement")

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return where the statements say that the true (e, d) is."""
        largest_r, smallest_d = (term.value for term in self.estimates(moments, kl))
        return lambda e, d: np.maximum(e + d / 2.0 - largest_r, smallest_d - d)


class SplitCBound(SplitBound):
    """``C(r, d)`` at an upper bound of r and a lower bound of d."""

    oracle_name = "C-bound"

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        return c_bound_of(*self.estimates(moments, kl))

    def extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        r, _ = self.estimates(moments, kl)
        return combine(max(1.0, 2.0 * r.value), (2.0, r))

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def c_bound_of(r: Evaluation, d: Evaluation) -> Evaluation:
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
    constant : {"exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), or the smaller ξ(m) ("exact", and None).

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
    '0.5175'
    """

    name = "mcallester"
    formula = "C(r_S + √(ψ_r/2), d_S − √(ψ₂/2))"
    constants = ("anytime", "maurer", "exact")
    reference = "Viallard et al., ECML PKDD 2021, Algorithm 1, doi:10.1007/978-3-030-86520-7_11"

    def largest_gibbs_risk(self, a: float, kl: float, m: int) -> Inverse:
        """Return an upper bound of r, and its derivatives in r_S and ψ_r."""
        width = math.sqrt(self.radius(1, kl, m, share=0.5) / 2.0)
        return Inverse(a + width, 1.0, 0.25 / width)

    def smallest_disagreement(self, a: float, psi: float) -> Inverse:
        """Return a lower bound of d, and its derivatives in d_S and ψ."""
        width = math.sqrt(psi / 2.0)
        return Inverse(a - width, 1.0, -0.25 / width) if a > width else Inverse(0.0, 0.0, 0.0)


class SeegerBound(FirstOrderBound, SplitCBound):
    """C-bound at ``R⁺ = kl⁺(r_S|ψ_r)`` and ``kl⁻(d_S|ψ₂)`` (Algorithm 2 of the paper), or ``2R⁺``.

    ``ψ_r = [KL + ln(2c₂(m)/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂(m)/δ)]/m``. That the risk is at most
    ``2R⁺`` holds wherever the statement on r does, and costs nothing; with the constant "maurer" it
    is the C-bound alone, as published.

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
    Vote", JMLR 16, 2015; P. Viallard et al., ECML PKDD 2021, doi:10.1007/978-3-030-86520-7_11.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import SeegerBound
    >>> format_up(SeegerBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2847'
    """

    name = "seeger"
    formula = "min(C(kl⁺(r_S|ψ_r), kl⁻(d_S|ψ₂)), 2 kl⁺(r_S|ψ_r)); the first alone with c₂(m) = 2√m"
    reference = "Viallard et al., ECML PKDD 2021, Algorithm 2, doi:10.1007/978-3-030-86520-7_11"

    largest_gibbs_risk = SplitCBound.largest_gibbs_risk

    def evaluate_alone(self, moments: Moments, kl: float) -> Evaluation:
        """Return the C-bound alone."""
        return c_bound_of(*self.estimates(moments, kl))

    def radius_of_gibbs_risk(self, truth: float, m: int) -> float:
        """Return the divergence from which on R⁺ excludes a Gibbs risk, at the prior."""
        return self.radius_at(truth, 1, 0.0, m, share=0.5)[0]


class DisBound(SplitBound):
    """``4 kl⁺(r_S|ψ_r) − 2 kl⁻(d_S|ψ₂)``: the tandem bound, as ``4e = 4r − 2d``.

    ``ψ_r = [KL + ln(2c₂(m)/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂(m)/δ)]/m``. With two classes the
    disagreement may come from many more examples than the Gibbs risk, as it needs no labels. It is
    1 where no vote has the estimated moments: ``d > 2r(1−r)``, and the statements have failed.

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
    Weighted Majority Vote", NeurIPS 2020, arXiv:2007.13532 (there DIS).

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import DisBound
    >>> format_up(DisBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.4157'
    """

    name = "dis"
    formula = "4 kl⁺(r_S|ψ_r) − 2 kl⁻(d_S|ψ₂)"
    reference = "Masegosa, Lorenzen, Igel & Seldin, NeurIPS 2020, arXiv:2007.13532"
    oracle_name = "4e"

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        r, d = self.estimates(moments, kl)
        # r and d are on the sides of the truth where 2r(1−r) ≥ d can only become easier.
        largest_r = min(r.value, 0.5)
        if d.value > 2.0 * largest_r * (1.0 - largest_r):
            return Evaluation(1.0)
        return combine(4.0 * r.value - 2.0 * d.value, (4.0, r), (-2.0, d))

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, ``4e``."""
        return second_order_bound(joint_error)
