"""Bounds that limit the Gibbs risk on their way: twice that limit is theirs for nothing."""

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..divergences import Inverse
from ..statistics import Moments, Statistics
from .base import Bound
from .evaluation import Evaluation, combine, estimate
from .moment import MomentBound
from .oracle import c_bound, first_order_bound
from .tempering import least_limited

__all__ = ["FirstOrderBound"]

_Array = NDArray[np.float64]


class FirstOrderBound(MomentBound):
    """The smaller of a bound on e, d and r and of ``2R⁺``, where that one states that r ≤ R⁺.

    By Markov's inequality the risk is at most 2r, hence at most 2R⁺ wherever the statement holds:
    no δ is spent on it. It is smaller where voters agree, r > d. With the published constant the
    bound is what was published, and this is left out.

    The smallest 2R⁺ needs no descent: solvers go down the other part alone, and compare.
    """

    oracle_name = "min(C, 2r)"
    # Whether it is the part that is descended.
    alone = False

    @abstractmethod
    def largest_gibbs_risk(self, a: float, kl: float, m: int) -> Inverse:
        """Return R⁺, and its derivatives in r_S and ψ_r."""

    @abstractmethod
    def radius_of_gibbs_risk(self, truth: float, m: int) -> float:
        """Return the divergence from which on R⁺ excludes a Gibbs risk, at the prior."""

    @abstractmethod
    def evaluate_alone(self, moments: Moments, kl: float) -> Evaluation:
        """Return the bound without 2R⁺."""

    @property
    def _has_both(self) -> bool:
        return not (self.alone or self.constant == "maurer")

    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""
        alone = self.evaluate_alone(moments, kl)
        if not self._has_both:
            return alone
        r, m = moments.gibbs_risk, moments.gibbs_size
        # At 1, R⁺ is at least ½, or the statements contradict each other: then none is used.
        if 2.0 * r >= alone.value or alone.value >= 1.0:
            return alone
        largest = estimate(self.largest_gibbs_risk(r, kl, m), 1, m, "gibbs_risk")
        if 2.0 * largest.value >= alone.value:
            return alone
        return combine(2.0 * largest.value, (2.0, largest))

    @property
    def needs_few_starts(self) -> bool:  # type: ignore[override]
        """Whether few starts suffice: where few voters have weight, and agree, 2R⁺ is smaller."""
        return self.alone

    def members(self) -> tuple[Bound, ...]:
        """Return the part that is descended."""
        return (self._part(),) if self._has_both else (self,)

    def _part(self) -> Self:
        part = self.copied()
        part.alone = True
        return part

    def candidates(self, statistics: Statistics, p: _Array) -> list[_Array]:
        """Return the weights with the smallest 2R⁺."""
        if not self._has_both:
            return super().candidates(statistics, p)
        m = statistics.moments_at(p).gibbs_size
        best = least_limited(
            statistics.error_rates,
            p,
            m,
            limit=lambda gibbs_risk, kl: self.largest_gibbs_risk(gibbs_risk, kl, m).value,
            radius=lambda truth: self.radius_of_gibbs_risk(truth, m),
        )
        return [best]

    @staticmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments: the smaller of the C-bound and ``2r``."""
        disagreement = 2.0 * (gibbs_risk - joint_error)
        return min(c_bound(gibbs_risk, disagreement), first_order_bound(gibbs_risk))
