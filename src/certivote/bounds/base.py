"""What every bound is: a value that holds with confidence 1 − δ, and its gradient."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from .._utils.validation import (
    check_choice,
    check_delta,
    check_distribution,
    check_number,
    check_prior,
)
from ..divergences import Inverse, kl_divergence, weights_kl, xi
from ..labels import check_votes
from ..statistics import Moments, VoteStatistics

__all__ = [
    "Bound",
    "Evaluation",
    "MomentBound",
    "Plane",
    "PrintedSettings",
    "chain_rule",
    "combine",
    "kl_and_log_ratio",
    "round_up",
    "softmax",
    "statement",
    "through_softmax",
]

# A function of arrays e and d.
Plane = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

Moment = Literal["gibbs_risk", "joint_error", "disagreement"]

# The rounding of moments, KL and a few dozen operations stays below this.
_SLACK = 2e-12
# Weights below this one have no part in a vote, or in a derivative.
_NOTHING = 1e-150


def round_up(value: float) -> float:
    """Return `value` plus more than the rounding errors behind it, at most 1 if it was.

    Parameters
    ----------
    value : float
        A bound as computed.
    """
    raised = value * (1.0 + _SLACK) + _SLACK
    return min(1.0, raised) if value <= 1.0 else raised


class Evaluation(NamedTuple):
    """A function of the moments and KL, with its partial derivatives.

    Attributes
    ----------
    value : float
        The value.
    gibbs_risk, joint_error, disagreement, kl : float
        The partial derivatives in r, e, d and KL.
    """

    value: float
    gibbs_risk: float = 0.0
    joint_error: float = 0.0
    disagreement: float = 0.0
    kl: float = 0.0


def combine(value: float, *terms: tuple[float, Evaluation]) -> Evaluation:
    """Return a value whose derivatives are a weighted sum of those of its terms.

    Parameters
    ----------
    value : float
        The value.
    *terms : tuple of float and Evaluation
        Its derivative in each term, and the term.
    """
    # A derivative may be infinite, but not where nothing depends on it.
    terms = tuple(term for term in terms if term[0] != 0.0)
    return Evaluation(value, *(sum(slope * term[i] for slope, term in terms) for i in (1, 2, 3, 4)))


def statement(inverse: Inverse, copies: int, m: int, *moments: Moment) -> Evaluation:
    """Return an inverse of kl at a sum of moments as a function of these moments and KL.

    Parameters
    ----------
    inverse : Inverse
        The value, and its derivatives in the frequency and in the radius.
    copies, m : int
        The copies of KL in the radius, and the size of the sample.
    *moments : {"gibbs_risk", "joint_error", "disagreement"}
        Whose sum is the frequency.
    """
    partials = dict.fromkeys(moments, inverse.frequency)
    return Evaluation(inverse.value, kl=copies * inverse.psi / m, **partials)


class PrintedSettings(Protocol):
    """What the objectives of the paper's algorithms need besides the bound itself."""

    tolerance: float

    def barrier(self, a: float) -> tuple[float, float]:
        """Return the log-barrier extension at `a`, and its derivative."""

    def inverse_upper(self, a: float, psi: float) -> Inverse:
        """Return the upper inverse of kl by bisection, with its derivatives."""

    def inverse_lower(self, a: float, psi: float) -> Inverse:
        """Return the lower inverse of kl by bisection, with its derivatives."""


class Bound(BaseEstimator, ABC):
    """A certificate on the risk of a weighted majority vote.

    A subclass says in class attributes what it is, and computes a value and a gradient. Parameters
    are stored as they are given, and checked when they are used.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant of the change of measure: the published 2√m, or the smaller ξ(m).
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    reference: ClassVar[str]
    # Whether a disagreement from more, unlabelled examples makes it smaller.
    uses_unlabelled: ClassVar[bool] = False
    weights_assumption: ClassVar[str] = (
        "The weights may have been learned from the certification examples in any way."
    )

    def __init__(self, delta: float = 0.05, constant: str = "maurer") -> None:
        self.delta = delta
        self.constant = constant

    @property
    def needs(self) -> frozenset[str]:
        """What the statistics must offer.

        Some of "moments", "joint" (e and d from the same examples), "rows" and "vote errors".
        """
        return frozenset({"moments"})

    def _check_parameters(self) -> None:
        check_delta(self.delta)
        check_choice("constant", self.constant, ("maurer", "exact"))

    def _radius(
        self, copies: int, kl: float, m: int, share: float = 1.0, outcomes: int = 2
    ) -> float:
        """Return ``[copies·KL + ln(c(m)/(share·δ))]/m``: how far one statement lets the truth be.

        Two outcomes have the constant c₂, three ``c₃ = c₂ + m``. One copy of the weights is behind
        the error of a voter, two behind that of a pair.
        """
        published = 2.0 * math.sqrt(m)
        # ξ is rounded up, and at m = 1 it is 2√m.
        constant = published if self.constant == "maurer" else min(xi(m), published)
        if outcomes == 3:
            constant += m
        return (copies * kl + math.log(constant) - math.log(share) - math.log(self.delta)) / m

    def check_statistics(self, statistics: VoteStatistics) -> None:
        """Refuse statistics that lack what this bound needs, by naming it.

        Parameters
        ----------
        statistics : VoteStatistics
            The statistics to look at.
        """
        offers = getattr(statistics, "offers", None)
        if offers is None:
            raise TypeError(
                f"statistics must be a VoteStatistics, got {type(statistics).__name__}."
            )
        missing = self.needs - offers
        if missing:
            raise ValueError(
                f"the bound {self.name!r} needs {', '.join(sorted(missing))}, which these "
                f"statistics do not have (they have {', '.join(sorted(offers))})"
                + ("." if missing <= {"joint"} else ": build them with keep_rows=True.")
            )

    def count(
        self,
        votes: ArrayLike,
        y: ArrayLike,
        prior: ArrayLike | None = None,
    ) -> VoteStatistics:
        """Return the statistics of votes with all that this bound needs.

        Parameters
        ----------
        votes : array-like of shape (m, n)
            Predicted labels.
        y : array-like of shape (m,)
            True labels.
        prior : array-like of shape (n,), default=None
            The prior; uniform if None.
        """
        votes, y = check_votes(votes, y)
        tested = None
        if "vote errors" in self.needs:
            tested = self._candidates(check_prior(prior, votes.shape[1]))
        return VoteStatistics.from_votes(votes, y, keep_rows="rows" in self.needs, tested=tested)

    def _check(
        self, statistics: VoteStatistics, weights: ArrayLike, prior: ArrayLike | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self._check_parameters()
        self.check_statistics(statistics)
        q = check_distribution("weights", weights, statistics.n_voters)
        return q, check_prior(prior, statistics.n_voters, q)

    def value(
        self, statistics: VoteStatistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> float:
        """Return the certificate for given weights, rounded up.

        Parameters
        ----------
        statistics : VoteStatistics
            What the certification sample says about the voters.
        weights : array-like of shape (n,)
            The weights of the voters. They may have been learned from the same sample.
        prior : array-like of shape (n,), default=None
            A distribution on the voters fixed without looking at the sample; uniform if None.

        Returns
        -------
        float
            With probability 1 − δ the vote's risk is at most this. Above 1 it says nothing.
        """
        q, p = self._check(statistics, weights, prior)
        return self._value_and_gradient(statistics, q, p)[0]

    def value_and_gradient(
        self, statistics: VoteStatistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the certificate and its gradient in the weights.

        Parameters
        ----------
        statistics, weights, prior
            As in `value`.

        Returns
        -------
        value : float
            The certificate, as `value` gives it.
        gradient : ndarray of shape (n,)
            Its derivatives in the weights. Directions that leave the simplex are meaningful only
            up to a constant.
        """
        q, p = self._check(statistics, weights, prior)
        return self._value_and_gradient(statistics, q, p)

    @abstractmethod
    def evidence(
        self, statistics: VoteStatistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return what a third party needs, besides weights and prior, to compute the value again.

        Parameters
        ----------
        statistics, weights, prior
            As in `value`.
        """

    def evidence_again(
        self,
        evidence: Mapping[str, Any],
        statistics: VoteStatistics,
        weights: ArrayLike,
        prior: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Return what the statistics say where evidence says something.

        A bound with choices of its own, to be made after seeing the sample, makes those of the
        evidence here, not the best ones again.

        Parameters
        ----------
        evidence : mapping
            What `evidence` returned, perhaps elsewhere.
        statistics, weights, prior
            As in `value`.
        """
        return self.evidence(statistics, weights, prior)

    @abstractmethod
    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the value from the evidence, and refuse evidence that is impossible.

        Parameters
        ----------
        evidence : mapping
            What `evidence` returned.
        weights, prior : array-like of shape (n,)
            Two distributions on the voters.
        """

    def members(self) -> tuple["Bound", ...]:
        """Return the bounds that a solver descends, one by one, to minimise this one."""
        return (self,)

    def check_weights(self, weights: NDArray[np.float64], prior: NDArray[np.float64]) -> None:
        """Refuse weights about which this bound says nothing, whatever the sample.

        Parameters
        ----------
        weights, prior : ndarray of shape (n,)
            Two distributions on the voters.
        """

    def _candidates(self, p: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return weights that a minimisation compares besides what it finds on its way down."""
        return []

    @abstractmethod
    def _value_and_gradient(
        self, statistics: VoteStatistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Compute value and gradient of checked arguments."""

    def _objective(
        self, statistics: VoteStatistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return what a solver descends: the value, or more than 1 where that is flat at 1."""
        return self._value_and_gradient(statistics, q, p)

    def _descent(
        self,
        statistics: VoteStatistics,
        logits: NDArray[np.float64],
        p: NDArray[np.float64],
        log_prior: NDArray[np.float64],
        settings: PrintedSettings | None = None,
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the objective at ``q ∝ p·exp(logits)`` and its gradient in the logits.

        With settings it is the objective of the paper's algorithm. A bound may read more from the
        logits than the weights: adding a constant to all of them need not leave it where it is.
        """
        q = softmax(log_prior + logits)
        if settings is None:
            value, gradient = self._objective(statistics, q, p)
        else:
            value, gradient = self._printed_objective(statistics, q, p, settings)
        return value, through_softmax(q, gradient)

    def _printed_objective(
        self,
        statistics: VoteStatistics,
        q: NDArray[np.float64],
        p: NDArray[np.float64],
        settings: PrintedSettings,
    ) -> tuple[float, NDArray[np.float64]]:
        """Return what the paper's algorithm for this bound descends."""
        return self._value_and_gradient(statistics, q, p)


class MomentBound(Bound):
    """A bound that depends on the weights through r, e, d and KL only.

    A subclass writes `oracle`, the bound at known moments, and `_evaluate`, the value and four
    partial derivatives; the chain rule to the weights is here. Where the value is flat at 1 it may
    write `_extend`, something above 1 to descend instead; `_evaluate_printed`, the objective of the
    paper's algorithm; and `_excess`, where its statements say that the true moments are.
    """

    oracle_name: ClassVar[str] = "bound at known moments"

    @staticmethod
    @abstractmethod
    def oracle(gibbs_risk: float, joint_error: float) -> float:
        """Return the bound at known moments."""

    @abstractmethod
    def _evaluate(self, moments: Moments, kl: float) -> Evaluation:
        """Return the value, not yet rounded, and its partial derivatives."""

    def _excess(self, moments: Moments, kl: float) -> Plane:
        """Return what `confidence_region` does; here for all (e, d) that the value covers."""
        value = round_up(self._evaluate(moments, kl).value)
        oracle = np.vectorize(self.oracle, otypes=[np.float64])
        return lambda e, d: oracle(e + d / 2.0, e) - value

    def _extend(self, moments: Moments, kl: float) -> Evaluation:
        """Return an objective above 1, continuous with the value, where the value is 1."""
        return self._evaluate(moments, kl)

    def _evaluate_printed(
        self, moments: Moments, kl: float, settings: PrintedSettings
    ) -> Evaluation:
        """Return the objective of the paper's algorithm."""
        return self._evaluate(moments, kl)

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
        self._check_parameters()
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
        return round_up(self._evaluate(moments, kl).value)

    def evidence(
        self, statistics: VoteStatistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the moments and their sizes: all that the value depends on, besides KL.

        Parameters
        ----------
        statistics, weights, prior
            As in `value`.
        """
        moments = statistics.moments(weights)
        moments.check_consistent()
        return moments.to_dict()

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate from the moments and KL, rounded up.

        Parameters
        ----------
        evidence : mapping
            What `evidence` returned.
        weights, prior : array-like of shape (n,)
            Two distributions on the voters.
        """
        self._check_parameters()
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
        self._check_parameters()
        kl = check_number("kl", kl, 0.0, math.inf)
        moments = Moments.from_dict(evidence)
        moments.check_consistent()
        return self._excess(moments, kl)

    def _value_and_gradient(
        self, statistics: VoteStatistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        moments, (kl, log_ratio) = statistics._moments(q), kl_and_log_ratio(q, p)
        moments.check_consistent()
        evaluation = self._evaluate(moments, kl)
        return round_up(evaluation.value), chain_rule(evaluation, moments, log_ratio)

    def _objective(
        self, statistics: VoteStatistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        moments, (kl, log_ratio) = statistics._moments(q), kl_and_log_ratio(q, p)
        evaluation = self._evaluate(moments, kl)
        if evaluation.value >= 1.0:
            evaluation = self._extend(moments, kl)
        return evaluation.value, chain_rule(evaluation, moments, log_ratio)

    def _printed_objective(
        self,
        statistics: VoteStatistics,
        q: NDArray[np.float64],
        p: NDArray[np.float64],
        settings: PrintedSettings,
    ) -> tuple[float, NDArray[np.float64]]:
        moments, (kl, log_ratio) = statistics._moments(q), kl_and_log_ratio(q, p)
        evaluation = self._evaluate_printed(moments, kl, settings)
        return evaluation.value, chain_rule(evaluation, moments, log_ratio)


def chain_rule(
    evaluation: Evaluation, moments: Moments, log_ratio: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the gradient in the weights from the partial derivatives.

    Parameters
    ----------
    evaluation : Evaluation
        The partial derivatives in the moments and KL.
    moments : Moments
        The gradients of the moments.
    log_ratio : ndarray of shape (n,)
        ``ln(q/p)``, which with 1 is the gradient of KL.
    """
    if evaluation.kl == 0.0:
        gradient = np.zeros_like(log_ratio)
    else:
        gradient = (log_ratio + 1.0) * evaluation.kl
    for partial, direction in (
        (evaluation.gibbs_risk, moments.gibbs_gradient),
        (evaluation.joint_error, moments.joint_gradient),
        (evaluation.disagreement, moments.disagreement_gradient),
    ):
        if math.isinf(partial):
            # The moment is 0 and can only rise, infinitely fast, with the voters that move it;
            # against a KL that falls as fast where their weight is 0 (there it is NaN).
            with np.errstate(invalid="ignore"):
                gradient += np.where(direction == 0.0, 0.0, np.copysign(partial, direction))
        elif partial != 0.0:
            gradient += partial * direction
    return gradient


def kl_and_log_ratio(
    q: NDArray[np.float64], p: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return KL and ``ln(q/p)``: −∞ where a weight is 0, and 0 where the prior is too.

    Parameters
    ----------
    q, p : ndarray of shape (n,)
        Two distributions.
    """
    if q.min() > 0.0 and p.min() > 0.0:
        ratio: NDArray[np.float64] = np.log(q) - np.log(p)
        return max(0.0, float(q @ ratio)), ratio
    ratio = np.where(p > 0, -np.inf, 0.0)
    support = q > 0
    ratio[support] = np.log(q[support]) - np.log(p[support])
    return weights_kl(q, p), ratio


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``exp(logits)``, normalised.

    Parameters
    ----------
    logits : ndarray of shape (n,)
        Any numbers, or −∞.
    """
    q: NDArray[np.float64] = np.exp(logits - logits.max())
    q /= q.sum()
    return q


def through_softmax(q: NDArray[np.float64], gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradient in the logits from that in the weights ``q = softmax(logits)``.

    Parameters
    ----------
    q, gradient : ndarray of shape (n,)
        The weights, and the gradient in them.
    """
    # A moment that is 0, or too small for a float, has infinite derivatives in such weights only.
    if q.min() < _NOTHING:
        gradient = np.where(q < _NOTHING, 0.0, gradient)
    chained: NDArray[np.float64] = q * (gradient - float(q @ gradient))
    return chained
