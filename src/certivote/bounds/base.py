"""What every bound is: a value that holds with confidence 1 − δ, and its gradient."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from .._utils.validation import check_distribution, check_prior
from ..divergences import (
    Inverse,
    anytime_constant,
    kl_inverse_upper_with_derivatives,
    one_sided_radius,
    one_sided_upper,
    xi,
)
from ..labels import check_votes
from ..statistics import Statistics, VoteStatistics
from .evaluation import through_softmax
from .evidence import CONSTANT, DELTA, SYMBOLS, Figure, Setting
from .parameters import Parametrised, check_delta

__all__ = ["Bound", "ConstantBound"]

_Array = NDArray[np.float64]


class Bound(Parametrised, ABC):
    """A certificate on the risk of a weighted majority vote.

    A subclass says in class attributes what it is and what its numbers mean, and computes a value
    and a gradient (`evaluate`), what they are computed from (`evidence`), and the value from that
    again (`from_evidence`). Parameters are stored as they are given, and checked when they are
    used.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).

    Examples
    --------
    >>> from certivote.bounds import Bound, get_bound
    >>> bound = get_bound("heldout", delta=0.01)
    >>> isinstance(bound, Bound), bound.name, bound.delta
    (True, 'heldout', 0.01)
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    reference: ClassVar[str]
    settings: ClassVar[Mapping[str, Setting]] = {"delta": DELTA}
    # Settings that older certificates do not have: None there.
    later_settings: ClassVar[frozenset[str]] = frozenset()
    figures: ClassVar[Mapping[str, Figure]] = {}
    # What stands in the formula besides what all bounds write: a symbol, and what it means.
    own_symbols: ClassVar[tuple[tuple[str, str], ...]] = ()
    weights_assumption: ClassVar[str] = (
        "The weights may have been learned from the certification examples in any way."
    )
    # Whether it speaks of votes only that were fixed before the sample: `fixed_weights`.
    fixed: ClassVar[bool] = False
    # Whether a descent leads to what is smallest from nearly anywhere: few starts suffice.
    needs_few_starts: bool = False
    # Whether a disagreement from more, unlabelled examples makes it smaller.
    uses_unlabelled: bool = False

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = delta

    @property
    def needs(self) -> frozenset[str]:
        """What the statistics must offer: see `Statistics.offers`."""
        return frozenset({"moments"})

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        check_delta(self.delta)

    def settled(self, offers: Iterable[str]) -> "Bound":
        """Return this bound with nothing left open, for statistics that offer so much.

        What None stands for in a parameter is decided here, before any count is seen.
        """
        return self

    def alike(self, evidence: Mapping[str, Any], delta: float) -> "Bound":
        """Return the bound for other claims about the same weights, at a δ of their own.

        It is the one that the evidence is of: where the sample has chosen among several, those that
        were not chosen keep their share of δ.
        """
        return self.copied(delta=delta)

    @property
    def is_anytime(self) -> bool:
        """Whether the values at all sizes of a growing sample hold at once."""
        return False

    def for_all_sizes(self) -> "Bound | None":
        """Return a form of this bound that holds at all sizes of a growing sample at once, if any.

        Its settings are as they are here, but for what makes it so.
        """
        return None

    def for_learned_prior(self) -> "Bound":
        """Return this bound for a prior that was learned already, on rows that do not certify."""
        return self

    # --- what is said of it ----------------------------------------------------------------------

    @property
    def symbols(self) -> list[tuple[str, str]]:
        """The symbols of the formula, and what they mean."""
        known = [(symbol, meaning) for mark, symbol, meaning in SYMBOLS if mark in self.formula]
        return [*known, *self.own_symbols]

    def described(self, evidence: Mapping[str, Any]) -> list[tuple[str, Figure, Any]]:
        """Return name, description and value of each number of the evidence."""
        figures = self.figures
        return [
            (name, figures.get(name) or Figure.named(name), value)
            for name, value in evidence.items()
        ]

    def winner(self, evidence: Mapping[str, Any]) -> "Bound | None":
        """Return the bound that the evidence is of, where it is another than this one."""
        return None

    # --- statistics ------------------------------------------------------------------------------

    def check_statistics(self, statistics: Statistics) -> None:
        """Refuse statistics that lack what this bound needs, by naming it."""
        offers = getattr(statistics, "offers", None)
        if offers is None:
            raise TypeError(f"statistics must be Statistics, got {type(statistics).__name__}.")
        missing = self.needs - offers
        if missing:
            remedy = "" if missing <= {"joint"} else getattr(statistics, "remedy", "")
            raise ValueError(
                f"the bound {self.name!r} needs {', '.join(sorted(missing))}, which these "
                f"statistics do not have (they have {', '.join(sorted(offers))})"
                + (f": {remedy}." if remedy else ".")
            )

    def count(
        self,
        votes: ArrayLike,
        y: ArrayLike,
        prior: ArrayLike | None = None,
        missing: Any = None,
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
        missing : label, default=None
            What stands in `votes` for no opinion.
        """
        needs, fixed = self.needs, None
        votes, y = check_votes(votes, y)
        if "fixed votes" in needs:
            fixed = self.fixed_weights(check_prior(prior, votes.shape[1]))
        return VoteStatistics.from_votes(
            votes, y, keep_rows="rows" in needs, fixed_votes=fixed, missing=missing
        )

    def _check(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None
    ) -> tuple[_Array, _Array]:
        self.check_parameters()
        self.check_statistics(statistics)
        q = check_distribution("weights", weights, statistics.n_voters)
        return q, check_prior(prior, statistics.n_voters, q)

    # --- the value -------------------------------------------------------------------------------

    def value(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> float:
        """Return the certificate for given weights, rounded up.

        Parameters
        ----------
        statistics : Statistics
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
        return self.value_at(statistics, *self._check(statistics, weights, prior))

    def value_and_gradient(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
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
        return self.evaluate(statistics, *self._check(statistics, weights, prior))

    def value_at(self, statistics: Statistics, q: _Array, p: _Array) -> float:
        """Return the value at weights and a prior that have been checked."""
        return self.evaluate(statistics, q, p)[0]

    @abstractmethod
    def evaluate(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return value and gradient at weights and a prior that have been checked."""

    @abstractmethod
    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
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
        statistics: Statistics,
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

    def check_weights(self, weights: _Array, prior: _Array) -> None:
        """Refuse weights about which this bound says nothing, whatever the sample."""

    # --- minimising it ---------------------------------------------------------------------------

    def members(self) -> tuple["Bound", ...]:
        """Return the bounds that a solver descends, one by one, to minimise this one."""
        return (self,)

    def fixed_weights(self, p: _Array) -> list[_Array]:
        """Return weights that are known in advance, and whose errors are to be counted."""
        return []

    def candidates(self, statistics: Statistics, p: _Array) -> list[_Array]:
        """Return weights that need no descent, which a minimisation compares with its own."""
        return self.fixed_weights(p)

    def minimizer(self, statistics: Statistics, p: _Array) -> _Array | None:
        """Return the weights with the smallest value, where something quicker than descent does."""
        return None

    def least(self, statistics: Statistics, p: _Array) -> float:
        """Return a number that the value is not below at any weights: what is not worth a try."""
        return 0.0

    def objective(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return what a solver descends: the value, or more than 1 where that is flat at 1."""
        return self.evaluate(statistics, q, p)

    def descent(
        self, statistics: Statistics, logits: _Array, p: _Array, log_prior: _Array
    ) -> tuple[float, _Array]:
        """Return the objective at ``q ∝ p·exp(logits)`` and its gradient in the logits.

        A bound may read more from the logits than the weights: adding a constant to all of them
        need not leave it where it is.
        """
        q = softmax(log_prior + logits)
        value, gradient = self.objective(statistics, q, p)
        return value, through_softmax(q, gradient)


class ConstantBound(Bound):
    """A bound by a change of measure, which has a constant.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for upper
        limits of bounds that have such, c₊(m, ·) ("one-sided"), which pays for deviations in one
        direction only. If None, the smallest of these that the bound has. With "anytime" it is
        `anytime_constant`, and the values at all sizes of a growing sample hold at once.

    Examples
    --------
    >>> from certivote.bounds import ConstantBound, get_bound
    >>> published = get_bound("gibbs", constant="maurer")
    >>> isinstance(published, ConstantBound), published.constants
    (True, ('anytime', 'maurer', 'exact', 'one-sided'))
    >>> figures = {"gibbs_risk": 0.1, "joint_error": 0.04, "kl": 0.0, "n_samples": 1000}
    >>> get_bound("gibbs").from_moments(**figures) < published.from_moments(**figures)
    True
    """

    # The constants that it has, the smallest last. Those with an upper limit that is used by itself
    # have "one-sided" too.
    constants: ClassVar[tuple[str, ...]] = ("anytime", "maurer", "exact")
    settings: ClassVar[Mapping[str, Setting]] = {"delta": DELTA, "constant": CONSTANT}

    def __init__(self, delta: float = 0.05, constant: str | None = None) -> None:
        super().__init__(delta)
        self.constant = constant

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        if self.constant is not None and self.constant not in self.constants:
            raise ValueError(
                f"constant must be one of {', '.join(map(repr, self.constants))} for the bound "
                f"{self.name!r}, got {self.constant!r}."
            )

    def settled(self, offers: Iterable[str]) -> "Bound":
        """Return this bound with the constant that it takes, by its name."""
        return self if self.constant is not None else self.copied(constant=self.constants[-1])

    @property
    def is_anytime(self) -> bool:
        """Whether the values at all sizes of a growing sample hold at once."""
        return self.constant == "anytime"

    def for_all_sizes(self) -> "Bound | None":
        """Return this bound with the constant for all sizes, if it has one and is told no other."""
        if "anytime" not in self.constants or self.constant not in (None, "anytime"):
            return None
        return self.copied(constant="anytime")

    @property
    def is_one_sided(self) -> bool:
        """Whether upper limits pay for deviations in one direction only."""
        return (self.constant or self.constants[-1]) == "one-sided"

    def cost(self, copies: int, kl: float, share: float = 1.0) -> float:
        """Return ``copies·KL + ln(1/(share·δ))``: what a statement pays besides its constant."""
        return copies * kl - math.log(share) - math.log(self.delta)

    def radius(
        self, copies: int, kl: float, m: int, share: float = 1.0, outcomes: int = 2
    ) -> float:
        """Return ``[copies·KL + ln(c(m)/(share·δ))]/m``: how far one statement lets the truth be.

        Two outcomes have the constant c₂, three ``c₃ = c₂ + m``, or 2m + 1 for all sizes at once.
        One copy of the weights is behind the error of a voter, two behind that of a pair. It holds
        in both directions.
        """
        published = 2.0 * math.sqrt(m)
        # ξ is rounded up, and at m = 1 it is 2√m.
        if self.constant == "anytime":
            constant = anytime_constant(m, outcomes)
        else:
            constant = published if self.constant == "maurer" else min(xi(m), published)
            constant += m if outcomes == 3 else 0.0
        return (self.cost(copies, kl, share) + math.log(constant)) / m

    def radius_at(
        self, truth: float, copies: int, kl: float, m: int, share: float = 1.0
    ) -> tuple[float, float]:
        """Return the divergence from which on `upper` excludes a truth, and its slope in that."""
        if self.is_one_sided:
            return one_sided_radius(truth, self.cost(copies, kl, share), m)
        return self.radius(copies, kl, m, share), 0.0

    def upper(self, a: float, copies: int, kl: float, m: int, share: float = 1.0) -> Inverse:
        """Return an upper limit of the mean behind a frequency, by one statement.

        Its derivatives are those in the frequency and in the statement's radius. The mean must be
        that of a loss of 0 or 1, of whatever is drawn by the weights.
        """
        if self.is_one_sided:
            return one_sided_upper(a, self.cost(copies, kl, share), m)
        return kl_inverse_upper_with_derivatives(a, self.radius(copies, kl, m, share))
