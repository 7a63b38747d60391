"""Bounds that depend on the weights through r, e, d and KL only."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_number
from ..divergences import kl_divergence
from ..statistics import Moments, Statistics
from .base import ConstantBound
from .evaluation import Evaluation, Plane, chain_rule, kl_and_log_ratio, round_up
from .evidence import MOMENTS

__all__ = ["MomentBound"]

_Array = NDArray[np.float64]


class MomentBound(ConstantBound):
    """A bound that depends on the weights through r, e, d and KL only.

    A subclass writes `oracle`, the bound at known moments, and `evaluate_moments`, the value and
    four partial derivatives; the chain rule to the weights is here. Where the value is flat at 1 it
    may write `extend`, something above 1 to descend instead; and `excess`, where its statements say
    that the true moments are.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), or the smaller ξ(m) ("exact", and None).

    Examples
    --------
    >>> from certivote.bounds import MomentBound, get_bound
    >>> bound = get_bound("tandem")
    >>> isinstance(bound, MomentBound), bound.oracle(gibbs_risk=0.1, joint_error=0.04)
    (True, 0.16)
    """

    oracle_name: ClassVar[str] = "bound at known moments"
    figures = MOMENTS

    @staticmethod
    @abstractmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments."""

    @abstractmethod
    def evaluate_moments(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""

    def extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        return self.evaluate_moments(moments, kl)

    def excess(self, moments: Moments, kl: float) -> Plane:
        """Return what `confidence_region` does; here for all (e, d) that the value covers."""
        value = round_up(self.evaluate_moments(moments, kl).value)
        oracle = np.vectorize(self.oracle, otypes=[np.float64])
        return lambda e, d: oracle(e + d / 2.0, e) - value

    def from_moments(
        self, gibbs_risk: float, joint_error: float, kl: float, n_samples: int
    ) -> float:
        """Return the certificate from four numbers, rounded up.

        Parameters
        ----------
        gibbs_risk, joint_error : float
            The empirical r and e of the vote.
        kl : float
            The divergence of the weights from the prior.
        n_samples : int
            The size of the certification sample.

        Returns
        -------
        float
            With probability 1 − δ the vote's risk is at most this.
        """
        self.check_parameters()
        kl = check_number("kl", kl, 0.0, math.inf)
        return self._from_moments(Moments.from_scalars(gibbs_risk, joint_error, n_samples), kl)

    def _from_moments(self, moments: Moments, kl: float) -> float:
        moments.check_consistent()
        if "joint" in self.needs and moments.joint_size != moments.disagreement_size:
            raise ValueError(
                f"the bound {self.name!r} needs joint_error and disagreement of the same examples, "
                f"got a disagreement_size of {moments.disagreement_size} and a joint_size of "
                f"{moments.joint_size}."
            )
        return round_up(self.evaluate_moments(moments, kl).value)

    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the moments and their sizes: all that the value depends on, besides KL."""
        moments = statistics.moments(weights)
        moments.check_consistent()
        return moments.to_dict()

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate from the moments and KL, rounded up."""
        self.check_parameters()
        moments = Moments.from_dict(evidence)
        unknown = sorted(set(evidence) - set(moments.to_dict()))
        if unknown:
            raise ValueError(f"evidence must hold moments and sizes only, got {unknown[0]!r} too.")
        return self._from_moments(moments, kl_divergence(weights, prior))

    def confidence_region(self, evidence: Mapping[str, Any], kl: float) -> Plane:
        """Return which true (e, d) the evidence allows: the value covers the oracle bound there.

        It is the worst oracle bound of the region, but for bounds that do not use all that their
        statements say.

        Parameters
        ----------
        evidence : mapping
            What `evidence` returned.
        kl : float
            The divergence of the weights from the prior.

        Returns
        -------
        callable
            A function of arrays e and d, at most 0 inside the region and positive outside. Along
            any line of constant d it falls and then rises: the region is an interval there.
        """
        self.check_parameters()
        kl = check_number("kl", kl, 0.0, math.inf)
        moments = Moments.from_dict(evidence)
        moments.check_consistent()
        return self.excess(moments, kl)

    def evaluate(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return value and gradient at weights and a prior that have been checked."""
        moments, (kl, log_ratio) = statistics.moments_at(q), kl_and_log_ratio(q, p)
        moments.check_consistent()
        evaluation = self.evaluate_moments(moments, kl)
        return round_up(evaluation.value), chain_rule(evaluation, moments, log_ratio)

    def objective(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return what a solver descends: the value, or more than 1 where that is flat at 1."""
        moments, (kl, log_ratio) = statistics.moments_at(q), kl_and_log_ratio(q, p)
        evaluation = self.evaluate_moments(moments, kl)
        if evaluation.value >= 1.0:
            evaluation = self.extend(moments, kl)
        return evaluation.value, chain_rule(evaluation, moments, log_ratio)
