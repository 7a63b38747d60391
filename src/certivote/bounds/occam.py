"""The test of each single voter, at its part of δ: Occam's razor."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_count, check_distribution
from ..statistics import Statistics
from .base import Bound
from .evidence import ANYTIME, DELTA, Figure, Setting
from .heldout import check_anytime, check_errors, clopper_pearson, sequential_limit

__all__ = ["OccamBound"]

_Array = NDArray[np.float64]


class OccamBound(Bound):
    """``Beta⁻¹(1−δ·p_j; k_j+1, m−k_j)`` for a single voter j, of prior p_j, with k_j errors.

    The errors of one voter are binomial, and the parts δ·p_j of δ sum to δ: all n limits hold at
    once, and the voter may be chosen after seeing the sample. It says nothing (its value is 1)
    about weights on several voters.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    anytime : bool, default=None
        Whether the values at all sizes of a growing sample shall hold at once, by
        `sequential_limit`.

    References
    ----------
    J. Langford, "Tutorial on Practical Prediction Theory for Classification", JMLR 6, 2005 (the
    Occam's razor bound).

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import VoteStatistics, minimize
    >>> from certivote.bounds import OccamBound
    >>> losses = np.random.default_rng(0).random((2000, 4)) < [0.05, 0.3, 0.4, 0.4]
    >>> result = minimize(OccamBound(), VoteStatistics.from_losses(losses))
    >>> result.weights, round(result.value, 4)
    (array([1., 0., 0., 0.]), 0.0626)
    """

    name = "occam"
    formula = "Beta⁻¹(1−δ·p_j; k_j+1, m−k_j)"
    reference = "Langford, JMLR 2005, the Occam's razor bound"
    needs = frozenset({"voter errors"})
    own_symbols = (("p_j", "the prior of the one voter that has all the weight"),)
    settings: ClassVar[Mapping[str, Setting]] = {"delta": DELTA, "anytime": ANYTIME}
    figures: ClassVar[Mapping[str, Figure]] = {
        "voter_errors": Figure(
            "Errors of the voter",
            "on how many of the examples it was wrong, at most",
            "voter errors",
            or_fewer=True,
        ),
        "voter_size": Figure("Examples tested", "all of them", is_size=True),
    }
    weights_assumption = (
        "One voter has all the weight. Which one may have been chosen from the certification "
        "examples in any way."
    )

    def __init__(self, delta: float = 0.05, anytime: bool | None = None) -> None:
        super().__init__(delta)
        self.anytime = anytime

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        check_anytime(self.anytime)

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

    def candidates(self, statistics: Statistics, p: _Array) -> list[_Array]:
        """Return all weight on the voter with the smallest limit."""
        errors, m = statistics.voter_errors(), statistics.n_samples
        # A voter with as many errors as one of a larger prior, or more, cannot win.
        order = np.lexsort((errors, -p))
        fewest = np.minimum.accumulate(errors[order])
        better = order[np.r_[True, fewest[1:] < fewest[:-1]]]
        limits = [self._limit(int(errors[j]), m, float(p[j])) for j in better if p[j] > 0.0]
        return [_alone(int(better[int(np.argmin(limits))]), p.size)]

    def check_weights(self, weights: _Array, prior: _Array) -> None:
        """Refuse weights on several voters."""
        if _voter(weights) is None:
            raise ValueError(
                "weights must be on one voter for the bound 'occam': it says nothing of others."
            )

    def _limit(self, errors: int, m: int, prior: float) -> float:
        delta = float(self.delta) * prior
        limit = sequential_limit if self.anytime else clopper_pearson
        return limit(errors, m, delta) if delta > 0.0 else 1.0

    def evaluate(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return the limit for a single voter, and 1 for other weights."""
        voter, value = _voter(q), 1.0
        if voter is not None:
            errors = int(statistics.voter_errors()[voter])
            value = self._limit(errors, statistics.n_samples, float(p[voter]))
        return value, np.zeros_like(q)

    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the errors of the voter and the size of the sample."""
        q, p = self._check(statistics, weights, prior)
        self.check_weights(q, p)
        errors = int(statistics.voter_errors()[int(np.argmax(q))])
        return {"voter_errors": errors, "voter_size": statistics.n_samples}

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate from the errors and the size."""
        self.check_parameters()
        if set(evidence) != {"voter_errors", "voter_size"}:
            raise ValueError(
                f"evidence must be voter_errors and voter_size, got {', '.join(sorted(evidence))}."
            )
        n = np.size(weights)
        q, p = check_distribution("weights", weights, n), check_distribution("prior", prior, n)
        self.check_weights(q, p)
        m = check_count("voter_size", evidence["voter_size"])
        return self._limit(check_errors(evidence["voter_errors"], m), m, float(p[np.argmax(q)]))


def _alone(voter: int, n_voters: int) -> _Array:
    """Return weights on one voter only."""
    weights = np.zeros(n_voters)
    weights[voter] = 1.0
    return weights


def _voter(q: _Array) -> int | None:
    """Return the one voter that has all the weight, if one has."""
    voter = int(np.argmax(q))
    return voter if q[voter] == 1.0 and np.count_nonzero(q) == 1 else None
