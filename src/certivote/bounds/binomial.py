"""Limits of a probability by the errors in independent trials, and the bounds that are such."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betaln, rel_entr

from .._utils.validation import check_count, check_distribution
from ..divergences import kl_inverse_upper
from ..statistics import Statistics
from .base import Bound
from .evaluation import round_up
from .parameters import check_delta

__all__ = ["BinomialBound", "clopper_pearson", "improbable", "sequential_limit"]

# The relative error of a computed tail is far smaller, but grows with m; below the other number it
# is coarse.
_TAIL_ERROR, _SMALLEST_TAIL = 1e-12, 1e-290
_HALVINGS = 60


def clopper_pearson(errors: int, n_samples: int, delta: float = 0.05) -> float:
    """Return an upper limit of the probability of an error, from independent trials, rounded up.

    Parameters
    ----------
    errors : int
        k, the number of errors.
    n_samples : int
        m, the number of trials.
    delta : float, default=0.05
        The probability that the limit may be too small, in (0, 1).

    Returns
    -------
    float
        The x at which at most k errors in m trials have probability `delta`; 1 if all are errors.

    References
    ----------
    C. Clopper and E. Pearson, Biometrika 26, 1934; J. Langford, "Tutorial on Practical Prediction
    Theory for Classification", JMLR 6, 2005.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import clopper_pearson
    >>> format_up(clopper_pearson(5, 100))
    '0.1023'
    """
    check_delta(delta)
    m, k = check_count("n_samples", n_samples), check_errors(errors, n_samples)
    if k == m:
        return 1.0
    # Chernoff's limit is above the one sought, which the tail itself brackets from there: the
    # inverse of the incomplete beta function is not to be trusted everywhere.
    low, high = 0.0, min(1.0, kl_inverse_upper(k / m, -math.log(delta) / m))
    if delta < _SMALLEST_TAIL:
        return round_up(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if improbable(k, m, middle, delta) else (middle, high)
    return round_up(high)


def sequential_limit(
    errors: int,
    n_samples: int,
    delta: float = 0.05,
    mixture: tuple[float, float] | None = None,
) -> float:
    """Return an upper limit of the probability of an error for all m at once, rounded up.

    For every rate p the likelihood of the errors so far, mixed over a rate that is uniform between
    ``cp`` and ``dp``, over the likelihood at p itself is a martingale of mean 1, if p is the
    truth::

        M(p) = ∫ uᵏ ((1−pu)/(1−p))ᵐ⁻ᵏ du / (d−c), from c to d,
             = B(k+1, m−k+1) (I_dp(k+1, m−k+1) − I_cp(k+1, m−k+1)) / ((d−c) pᵏ⁺¹ (1−p)ᵐ⁻ᵏ)

    By Ville's inequality it reaches 1/δ at any m with a probability of at most δ. It grows with p,
    as ``(1−pu)/(1−p)`` does for every u ≤ 1: the limit is where it is 1/δ. Rates above p, at which
    nobody would be too optimistic, are not paid for.

    Parameters
    ----------
    errors, n_samples, delta
        As in `clopper_pearson`. One may look after every trial, and stop whenever one likes.
    mixture : (float, float), default=None
        c and d, ``0 ≤ c < d ≤ 1``: which parts of the limit the rate of errors may be. All of them
        if None. Any are valid that were fixed before the first trial; those that contain the share
        k/m of the limit, as other data let one expect it, and little more make it smaller.

    References
    ----------
    H. Robbins, "Statistical Methods Related to the Law of the Iterated Logarithm", Annals of
    Mathematical Statistics 41, 1970.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.bounds import clopper_pearson, sequential_limit
    >>> format_up(sequential_limit(20, 1000)), format_up(clopper_pearson(20, 1000))
    ('0.0356', '0.0290')
    >>> format_up(sequential_limit(20, 1000, mixture=(0.3, 0.8)))
    '0.0341'
    """
    check_delta(delta)
    m, k = check_count("n_samples", n_samples), check_errors(errors, n_samples)
    c, d = (0.0, 1.0) if mixture is None else check_mixture(mixture)
    if k == m:
        return 1.0
    whole = float(betaln(k + 1.0, m - k + 1.0)) - math.log(d - c)

    def is_refuted(p: float) -> bool:
        inside = _between(k, m, c * p, d * p)
        if inside <= _SMALLEST_TAIL:
            return False
        terms = (
            whole,
            math.log(inside),
            -(k + 1.0) * math.log(p),
            -(m - k) * math.log1p(-p),
        )
        # It is small where its terms are large: what rounding may have added is taken off.
        rounding = _TAIL_ERROR + 1e-14 * math.fsum(map(abs, terms))
        return math.fsum(terms) - rounding >= -math.log(delta)

    low, high = k / m, 1.0
    if mixture is not None:
        # Far above the limit too little is left between the two for a float.
        step = 1.0 / m
        while low + step < 1.0 and high == 1.0:
            low, high = (low, low + step) if is_refuted(low + step) else (low + step, high)
            step *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle >= 1.0:
            break
        low, high = (low, middle) if is_refuted(middle) else (middle, high)
    return round_up(high)


def _between(k: int, m: int, low: float, high: float) -> float:
    """Return ``I_high(k+1, m−k+1) − I_low(k+1, m−k+1)``, not more."""
    if low == 0.0:
        return float(betainc(k + 1.0, m - k + 1.0, high))
    # Whichever tail is the smaller one loses less.
    tail = betainc if low * m < k else betaincc
    one, other = (float(tail(k + 1.0, m - k + 1.0, x)) for x in (low, high))
    return abs(other - one) - _TAIL_ERROR * max(1.0, m / 1e5) * (one + other)


def improbable(
    errors: ArrayLike, n_samples: ArrayLike, x: float, delta: float
) -> NDArray[np.bool_]:
    """Return whether at most k errors in m trials at rate x have a probability of at most δ.

    It is False where rounding leaves a doubt, and for k ≥ m. k need not be whole.
    """
    k, m = np.asarray(errors, dtype=np.float64), np.asarray(n_samples, dtype=np.float64)
    if delta < _SMALLEST_TAIL:
        # Chernoff's limit of the tail.
        divergence = rel_entr(k, m * x) + rel_entr(m - k, m * (1.0 - x))
        return np.asarray((k < m * x) & (divergence >= -math.log(delta)))
    small = delta * (1.0 - _TAIL_ERROR * np.maximum(1.0, m / 1e5))
    return np.asarray(betaincc(k + 1.0, m - k, x) <= small)


def check_errors(errors: object, n_samples: int) -> int:
    """Return a number of errors, if it can be one of so many examples."""
    if isinstance(errors, bool) or not isinstance(errors, int | np.integer):
        raise ValueError(f"errors must be a whole number, got {errors!r}.")
    if not 0 <= errors <= n_samples:
        raise ValueError(f"errors must be between 0 and n_samples = {n_samples}, got {errors!r}.")
    return int(errors)


def check_mixture(mixture: object) -> tuple[float, float]:
    """Return between which parts of a limit rates are mixed, if these are two such parts."""
    parts = np.asarray(mixture)
    if (
        parts.shape != (2,)
        or parts.dtype.kind not in "iuf"
        or not 0.0 <= float(parts[0]) < float(parts[1]) <= 1.0
    ):
        raise ValueError(f"mixture must be two numbers c and d, 0 ≤ c < d ≤ 1, got {mixture!r}.")
    return float(parts[0]), float(parts[1])


class BinomialBound(Bound):
    """A limit of the errors of one vote, which are binomial: the others have the value 1."""

    # The names of the errors and of the size in the evidence.
    _errors: ClassVar[str]
    _size: ClassVar[str]

    anytime: bool | None
    # What `sequential_limit` takes, if it is told.
    mixture: tuple[float, float] | None = None

    @abstractmethod
    def share(self, q: NDArray[np.float64], p: NDArray[np.float64]) -> float | None:
        """Return the part of δ that the vote of these weights has; None if it is not tested."""

    @abstractmethod
    def errors(self, statistics: Statistics, q: NDArray[np.float64]) -> int:
        """Return the errors of a vote that is tested."""

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        if self.anytime is not None and not isinstance(self.anytime, bool):
            raise ValueError(f"anytime must be True, False or None, got {self.anytime!r}.")

    @property
    def is_anytime(self) -> bool:
        """Whether the values at all sizes of a growing sample hold at once."""
        return bool(self.anytime)

    def for_all_sizes(self) -> Bound:
        """Return this bound by a limit that holds at all sizes of a growing sample at once."""
        return self.copied(anytime=True)

    def members(self) -> tuple[Bound, ...]:
        """Return none: there is nothing to descend."""
        return ()

    def limit(self, errors: int, m: int, share: float) -> float:
        """Return the limit at a part of δ; 1 if it is none."""
        if share <= 0.0:
            return 1.0
        if self.anytime:
            return sequential_limit(errors, m, share, self.mixture)
        return clopper_pearson(errors, m, share)

    def evaluate(
        self, statistics: Statistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the limit for a vote that is tested, and 1 for others."""
        value, share = 1.0, self.share(q, p)
        if share is not None:
            value = self.limit(self.errors(statistics, q), statistics.n_samples, share)
        return value, np.zeros_like(q)

    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the errors of the vote and the size of the sample."""
        q, p = self._check(statistics, weights, prior)
        self.check_weights(q, p)
        return {self._errors: self.errors(statistics, q), self._size: statistics.n_samples}

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate from the errors and the size."""
        self.check_parameters()
        if set(evidence) != {self._errors, self._size}:
            raise ValueError(
                f"evidence must be {self._errors} and {self._size}, got "
                f"{', '.join(sorted(evidence))}."
            )
        n = np.size(weights)
        q, p = check_distribution("weights", weights, n), check_distribution("prior", prior, n)
        self.check_weights(q, p)
        share, m = self.share(q, p), check_count(self._size, evidence[self._size])
        assert share is not None
        return self.limit(check_errors(evidence[self._errors], m), m, share)
