"""The test-set bound: the errors of a vote whose weights were fixed before the sample."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betaln, rel_entr

from .._utils.validation import check_count, check_delta, check_distribution, check_distributions
from ..divergences import kl_inverse_upper
from ..statistics import Statistics
from ..voting import is_row
from .base import Bound
from .evaluation import round_up
from .evidence import ANYTIME, DELTA, Figure, Setting

__all__ = [
    "HeldoutBound",
    "check_anytime",
    "check_errors",
    "clopper_pearson",
    "improbable",
    "sequential_limit",
]

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


def sequential_limit(errors: int, n_samples: int, delta: float = 0.05) -> float:
    """Return an upper limit of the probability of an error for all m at once, rounded up.

    For every rate p the likelihood of the errors so far, mixed over a rate that is uniform below p,
    over the likelihood at p itself is a martingale of mean 1, if p is the truth::

        M(p) = ∫₀¹ uᵏ ((1−pu)/(1−p))ᵐ⁻ᵏ du = B(k+1, m−k+1) I_p(k+1, m−k+1) / (pᵏ⁺¹ (1−p)ᵐ⁻ᵏ)

    By Ville's inequality it reaches 1/δ at any m with a probability of at most δ. It grows with p:
    the limit is where it is 1/δ. Rates above p, at which nobody would be too optimistic, are not
    paid for.

    Parameters
    ----------
    errors, n_samples, delta
        As in `clopper_pearson`. One may look after every trial, and stop whenever one likes.

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
    """
    check_delta(delta)
    m, k = check_count("n_samples", n_samples), check_errors(errors, n_samples)
    if k == m:
        return 1.0
    whole, low, high = float(betaln(k + 1.0, m - k + 1.0)), k / m, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle >= 1.0:
            break
        terms = (
            whole,
            math.log(betainc(k + 1.0, m - k + 1.0, middle)),
            -(k + 1.0) * math.log(middle),
            -(m - k) * math.log1p(-middle),
        )
        # It is small where its terms are large: what rounding may have added is taken off.
        rounding = _TAIL_ERROR + 1e-14 * math.fsum(map(abs, terms))
        beyond = math.fsum(terms) - rounding >= -math.log(delta)
        low, high = (low, middle) if beyond else (middle, high)
    return round_up(high)


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


def check_anytime(anytime: object) -> None:
    """Refuse what is neither yes nor no."""
    if anytime is not None and not isinstance(anytime, bool):
        raise ValueError(f"anytime must be True, False or None, got {anytime!r}.")


def check_errors(errors: object, n_samples: int) -> int:
    """Return a number of errors, if it can be one of so many examples."""
    if isinstance(errors, bool) or not isinstance(errors, int | np.integer):
        raise ValueError(f"errors must be a whole number, got {errors!r}.")
    if not 0 <= errors <= n_samples:
        raise ValueError(f"errors must be between 0 and n_samples = {n_samples}, got {errors!r}.")
    return int(errors)


class HeldoutBound(Bound):
    """``Beta⁻¹(1−δ/M; k+1, m−k)`` for one of M votes that were fixed before the sample.

    Or `sequential_limit` at δ/M, if it shall hold at all sizes of a growing sample at once.

    The number k of errors of such a vote is binomial, and nothing that uses k only is tighter. It
    says nothing (its value is 1) about any other weights: those that were learned from the same
    sample need a bound that holds for all weights at once.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    fixed_votes : array-like of shape (M, n), default=None
        The weights of the votes of which the best is certified, fixed without looking at the
        sample; if None, the prior is the only one.
    anytime : bool, default=None
        Whether the values at all sizes of a growing sample shall hold at once.

    References
    ----------
    C. Clopper and E. Pearson, Biometrika 26, 1934; J. Langford, "Tutorial on Practical Prediction
    Theory for Classification", JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> votes = np.where(rng.random((2000, 15)) < 0.2, 1 - y[:, None], y[:, None])
    >>> certify(votes, y, bound="heldout")
    Certificate(risk_bound≤0.0091, confidence=95%, bound='heldout', n_samples=2000, n_voters=15)
    """

    name = "heldout"
    formula = "Beta⁻¹(1−δ/M; k+1, m−k)"
    reference = "Clopper & Pearson, Biometrika 1934; Langford, JMLR 2005"
    needs = frozenset({"fixed votes"})
    fixed = True
    settings: ClassVar[Mapping[str, Setting]] = {
        "delta": DELTA,
        "fixed_votes": Setting("Fixed votes", "those that were fixed in advance, by their weights"),
        "anytime": ANYTIME,
    }
    later_settings = frozenset({"anytime"})
    figures: ClassVar[Mapping[str, Figure]] = {
        "vote_errors": Figure(
            "Errors of the vote",
            "on how many of the examples its prediction was wrong, at most",
            "vote errors",
            or_fewer=True,
        ),
        "vote_size": Figure("Examples tested", "all of them", is_size=True),
    }
    weights_assumption = (
        "The weights were fixed without looking at the certification examples: they are the prior, "
        "or one of the votes fixed in advance."
    )

    def __init__(
        self,
        delta: float = 0.05,
        fixed_votes: ArrayLike | None = None,
        anytime: bool | None = None,
    ) -> None:
        super().__init__(delta)
        self.fixed_votes = fixed_votes
        self.anytime = anytime

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        check_anytime(self.anytime)
        if self.fixed_votes is not None and np.ndim(self.fixed_votes) != 2:
            raise ValueError(
                "fixed_votes must be a table with one row of weights per vote, got "
                f"{np.ndim(self.fixed_votes)} dimension(s)."
            )

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

    def fixed_weights(self, p: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the weights of the votes fixed in advance."""
        return [p] if self.fixed_votes is None else list(self._table(p))

    def _table(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of the votes fixed in advance, one row for each."""
        if self.fixed_votes is None:
            return p[None, :]
        return check_distributions("fixed_votes", self.fixed_votes, p.size)

    def check_weights(self, weights: NDArray[np.float64], prior: NDArray[np.float64]) -> None:
        """Refuse weights that are none of the votes fixed in advance."""
        if not is_row(weights, self._table(prior)):
            raise ValueError(
                "weights must be the prior, or one of the fixed votes, for the bound 'heldout': it "
                "holds for a vote that was fixed without looking at these examples. If these "
                "weights were, pass them as prior too; if they were learned from these examples, "
                "use another bound."
            )

    def _limit(self, errors: int, m: int, p: NDArray[np.float64]) -> float:
        limit = sequential_limit if self.anytime else clopper_pearson
        return limit(errors, m, float(self.delta) / len(self._table(p)))

    def evaluate(
        self, statistics: Statistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the limit for votes fixed in advance, and 1 for others."""
        value = 1.0
        if is_row(q, self._table(p)):
            value = self._limit(statistics.vote_errors(q), statistics.n_samples, p)
        return value, np.zeros_like(q)

    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the errors of the vote and the size of the sample."""
        q, p = self._check(statistics, weights, prior)
        self.check_weights(q, p)
        return {"vote_errors": statistics.vote_errors(q), "vote_size": statistics.n_samples}

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate from the errors and the size."""
        self.check_parameters()
        if set(evidence) != {"vote_errors", "vote_size"}:
            raise ValueError(
                f"evidence must be vote_errors and vote_size, got {', '.join(sorted(evidence))}."
            )
        n = np.size(weights)
        q, p = check_distribution("weights", weights, n), check_distribution("prior", prior, n)
        self.check_weights(q, p)
        m = check_count("vote_size", evidence["vote_size"])
        return self._limit(check_errors(evidence["vote_errors"], m), m, p)
