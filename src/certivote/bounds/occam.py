"""The test of each single voter, at its part of δ: Occam's razor."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..statistics import Statistics
from .binomial import BinomialBound
from .evidence import ANYTIME, DELTA, Figure, Setting

__all__ = ["OccamBound"]

_Array = NDArray[np.float64]


class OccamBound(BinomialBound):
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
    _errors, _size = "voter_errors", "voter_size"
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

    def candidates(self, statistics: Statistics, p: _Array) -> list[_Array]:
        """Return all weight on the voter with the smallest limit."""
        errors, m = statistics.voter_errors(), statistics.n_samples
        # A voter with as many errors as one of a larger prior, or more, cannot win.
        order = np.lexsort((errors, -p))
        fewest = np.minimum.accumulate(errors[order])
        better = order[np.r_[True, fewest[1:] < fewest[:-1]]]
        delta = float(self.delta)
        limits = [self.limit(int(errors[j]), m, delta * float(p[j])) for j in better]
        return [_alone(int(better[int(np.argmin(limits))]), p.size)]

    def check_weights(self, weights: _Array, prior: _Array) -> None:
        """Refuse weights on several voters."""
        if _voter(weights) is None:
            raise ValueError(
                "weights must be on one voter for the bound 'occam': it says nothing of others."
            )

    def share(self, q: _Array, p: _Array) -> float | None:
        """Return δ·p_j, if voter j has all the weight."""
        voter = _voter(q)
        return None if voter is None else float(self.delta) * float(p[voter])

    def errors(self, statistics: Statistics, q: _Array) -> int:
        """Return the errors of the voter that has all the weight."""
        return int(statistics.voter_errors()[int(np.argmax(q))])


def _alone(voter: int, n_voters: int) -> _Array:
    """Return weights on one voter only."""
    weights = np.zeros(n_voters)
    weights[voter] = 1.0
    return weights


def _voter(q: _Array) -> int | None:
    """Return the one voter that has all the weight, if one has."""
    voter = int(np.argmax(q))
    return voter if q[voter] == 1.0 and np.count_nonzero(q) == 1 else None
