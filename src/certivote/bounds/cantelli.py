"""Second-order certificates with a free μ: Cantelli's inequality at estimates of e and r."""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..divergences import (
    Inverse,
    binary_kl,
    kl_inverse_lower_with_derivatives,
    kl_inverse_upper_with_derivatives,
)
from ..statistics import Moments
from .evaluation import Evaluation, Plane, combine, estimate
from .first_order import FirstOrderBound
from .moment import MomentBound
from .oracle import c_bound, c_bound_above

__all__ = ["CantelliBound", "FreeMuBound", "SplitKLBound"]

# What is left of a number when it may have been rounded up.
_NEARLY = 1.0 - 1e-9


class _Estimates(NamedTuple):
    """An upper bound of e, and between which r is: functions of the moments and KL."""

    joint_error: Evaluation
    smallest_gibbs_risk: Evaluation
    largest_gibbs_risk: Evaluation


class FreeMuBound(MomentBound):
    """``min over μ < ½ of (E − 2μR + μ²)/(½−μ)²``, R = R⁻ for μ ≥ 0 and R⁺ for μ < 0.

    The vote errs only where ``W ≥ ½``, so that its risk is at most ``E[(W−μ)²]/(½−μ)²`` for every
    μ; E is an upper bound of ``E[W²]``, and R bounds ``E[W]`` from the side that counts. None of
    the three depends on μ: the best one is free. It is ``(R−2E)/(1−2R)``, where the value is the
    C-bound, if that has the right sign, and otherwise 0, where the value is 4E::

        C(E, R⁻)  if R⁻ ≥ 2E;    C(E, R⁺)  if R⁺ < min(2E, ½);    min(1, 4E)  otherwise.
    """

    oracle_name = "C-bound"
    constants = ("anytime", "maurer", "exact", "one-sided")

    @abstractmethod
    def _estimates(self, moments: Moments, kl: float) -> _Estimates:
        """Return E, R⁻ and R⁺."""

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        e, low, high = self._estimates(moments, kl)
        if low.value >= 2.0 * e.value:
            return _c_bound_of(e, low)
        if high.value < min(2.0 * e.value, 0.5):
            return _c_bound_of(e, high)
        return _at_zero(e)

    def extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        e, _, high = self._estimates(moments, kl)
        # The value is 1 where both are at least 1.
        scale, term = (4.0, e) if 4.0 * e.value < 2.0 * high.value else (2.0, high)
        return combine(max(1.0, scale * term.value), (scale, term))

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments, the C-bound."""
        return c_bound(gibbs_risk, 2.0 * (gibbs_risk - joint_error))


def _at_zero(e: Evaluation) -> Evaluation:
    """Return the value at μ = 0, the smaller of 4E and 1."""
    return combine(4.0 * e.value, (4.0, e)) if e.value < 0.25 else Evaluation(1.0)


def _c_bound_of(e: Evaluation, r: Evaluation) -> Evaluation:
    """Return ``C(e, r) = 1 − (½−r)²/(e−r+¼)``, with the chain rule to the moments and KL."""
    value = c_bound_above(r.value, 2.0 * (r.value - e.value))
    if value >= 1.0:
        return Evaluation(1.0)
    slope = (0.5 - r.value) / (e.value - r.value + 0.25)
    in_r = slope * (2.0 * e.value - r.value) / (e.value - r.value + 0.25)
    return combine(value, (slope * slope, e), (in_r, r))


class CantelliBound(FirstOrderBound, FreeMuBound):
    """``min over μ < ½ of (kl⁺(e_S|ψ₂) − 2μR + μ²)/(½−μ)²``, R = kl⁻(r_S|ψ_r) or kl⁺(r_S|ψ_r).

    ``ψ_r = [KL + ln(2c₂(m)/δ)]/m`` and ``ψ₂ = [2KL + ln(2c₂(m)/δ)]/m``: δ/2 for the joint error,
    and δ/2 for the Gibbs risk, from both sides. R is the lower end for μ ≥ 0 and the upper end for
    μ < 0; the best μ is known in closed form. That the risk is at most ``2 kl⁺(r_S|ψ_r)`` holds
    wherever the statement on r does, and costs nothing; with the constant "maurer" it is left out,
    as published.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).

    References
    ----------
    Y.-S. Wu, A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Chebyshev-Cantelli PAC-Bayes-Bennett
    Inequality for the Weighted Majority Vote", NeurIPS 2021, arXiv:2106.13624 (there CCTND).

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import CantelliBound
    >>> format_up(CantelliBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2921'
    """

    name = "cantelli"
    formula = (
        "min over μ of (kl⁺(e_S|ψ₂) − 2μ kl^∓(r_S|ψ_r) + μ²)/(½−μ)², and 2 kl⁺(r_S|ψ_r) unless "
        "c₂(m) = 2√m"
    )
    reference = "Wu, Masegosa, Lorenzen, Igel & Seldin, NeurIPS 2021, arXiv:2106.13624"

    def _largest_joint_error(self, moments: Moments, kl: float) -> Evaluation:
        m = moments.joint_size
        return estimate(self.upper(moments.joint_error, 2, kl, m, 0.5), 2, m, "joint_error")

    def _estimates(self, moments: Moments, kl: float) -> _Estimates:
        r, m = moments.gibbs_risk, moments.gibbs_size
        psi = self.radius(1, kl, m, share=0.5)
        return _Estimates(
            self._largest_joint_error(moments, kl),
            estimate(kl_inverse_lower_with_derivatives(r, psi), 1, m, "gibbs_risk"),
            estimate(kl_inverse_upper_with_derivatives(r, psi), 1, m, "gibbs_risk"),
        )

    def largest_gibbs_risk(self, a: float, kl: float, m: int) -> Inverse:
        """Return R⁺, and its derivatives in r_S and ψ_r."""
        return kl_inverse_upper_with_derivatives(a, self.radius(1, kl, m, share=0.5))

    def radius_of_gibbs_risk(self, truth: float, m: int) -> float:
        """Return the divergence from which on R⁺ excludes a Gibbs risk, at the prior."""
        return self.radius(1, 0.0, m, share=0.5)

    def evaluate_alone(self, moments: Moments, kl: float) -> Evaluation:
        """Return the smallest value over μ.

        Of R⁻ and R⁺ at most one matters, on which side of 2E r_S is says which; and only if it is
        on that side too, which a divergence tells sooner than its inverse.
        """
        e = self._largest_joint_error(moments, kl)
        r, m, turn = moments.gibbs_risk, moments.gibbs_size, 2.0 * e.value
        psi = self.radius(1, kl, m, share=0.5)
        low = r >= turn
        edge = turn if low else min(turn, 0.5)
        if binary_kl(r, edge) < psi * _NEARLY:
            return _at_zero(e)
        if low:
            end = kl_inverse_lower_with_derivatives(r, psi)
        else:
            end = kl_inverse_upper_with_derivatives(r, psi)
        if end.value >= edge if low else end.value < edge:
            return _c_bound_of(e, estimate(end, 1, m, "gibbs_risk"))
        return _at_zero(e)

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return where the statements say that the true (e, d) is."""
        largest_e, low, high = (term.value for term in self._estimates(moments, kl))

        def excess(e: NDArray[np.float64], d: NDArray[np.float64]) -> NDArray[np.float64]:
            r = e + d / 2.0
            return np.maximum(e - largest_e, np.maximum(low - r, r - high))

        return excess


class SplitKLBound(FreeMuBound):
    """Smallest over μ of a bound on the μ-tandem loss by three kl statements, at δ/3 each.

    The loss ``(L−μ)(L'−μ)`` of two voters is (1−μ)², −μ(1−μ) or μ² as both err, one errs or none.
    Its mean is an affine function of e, d and e + d, with ``ψ = [2KL + ln(3c₂(m)/δ)]/m`` at most::

        μ ≥ 0:  (1−2μ) kl⁺(e_S|ψ) − μ kl⁻(d_S|ψ) + μ²
        μ < 0:  (1−μ) kl⁺(e_S|ψ) − μ kl⁺(e_S+d_S|ψ) + μ²

    and over ``(½−μ)²`` at least the vote's risk, for all μ at once. The best one is known in closed
    form: these are ``E − 2μR + μ²`` for ``R⁻ = E + kl⁻(d_S)/2`` and ``R⁺ = (E + kl⁺(e_S+d_S))/2``.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).

    References
    ----------
    Y.-S. Wu and Y. Seldin, "Split-kl and PAC-Bayes-split-kl Inequalities for Ternary Random
    Variables", NeurIPS 2022, arXiv:2206.00706.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import SplitKLBound
    >>> format_up(SplitKLBound().from_moments(0.1, joint_error=0.04, kl=2.0, n_samples=1000))
    '0.2972'
    """

    name = "splitkl"
    formula = "min over μ of [(1−2μ) kl⁺(e_S|ψ) − μ kl⁻(d_S|ψ) + μ²]/(½−μ)², with e_S+d_S for μ < 0"
    reference = "Wu & Seldin, NeurIPS 2022, arXiv:2206.00706"
    needs = frozenset({"moments", "joint"})

    def _statements(self, moments: Moments, kl: float) -> tuple[Evaluation, Evaluation, Evaluation]:
        """Return kl⁺(e_S), kl⁻(d_S) and kl⁺(e_S + d_S)."""
        e, d, m = moments.joint_error, moments.disagreement, moments.joint_size
        psi = self.radius(2, kl, m, share=1.0 / 3.0)
        both = self.upper(e, 2, kl, m, share=1.0 / 3.0)
        one = kl_inverse_lower_with_derivatives(d, psi)
        some = self.upper(min(1.0, e + d), 2, kl, m, share=1.0 / 3.0)
        return (
            estimate(both, 2, m, "joint_error"),
            estimate(one, 2, m, "disagreement"),
            estimate(some, 2, m, "joint_error", "disagreement"),
        )

    def _estimates(self, moments: Moments, kl: float) -> _Estimates:
        both, one, some = self._statements(moments, kl)
        return _Estimates(
            both,
            combine(both.value + 0.5 * one.value, (1.0, both), (0.5, one)),
            combine(0.5 * (both.value + some.value), (0.5, both), (0.5, some)),
        )

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return where the statements say that the true (e, d) is."""
        both, one, some = (term.value for term in self._statements(moments, kl))
        return lambda e, d: np.maximum(np.maximum(e - both, e + d - some), one - d)
