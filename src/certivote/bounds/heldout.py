"""The test-set bound: the errors of a vote whose weights were fixed before the sample."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_distributions
from ..statistics import Statistics
from .binomial import BinomialBound, check_mixture
from .evidence import ANYTIME, DELTA, Figure, Setting

__all__ = ["HeldoutBound"]


class HeldoutBound(BinomialBound):
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
    mixture : (float, float), default=None
        That of `sequential_limit`, fixed without looking at the sample, for instance by the errors
        on part A; only with `anytime`.

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
    _errors, _size = "vote_errors", "vote_size"
    later_settings = frozenset({"anytime", "mixture"})
    settings: ClassVar[Mapping[str, Setting]] = {
        "delta": DELTA,
        "fixed_votes": Setting("Fixed votes", "those that were fixed in advance, by their weights"),
        "anytime": ANYTIME,
        "mixture": Setting("Mixture", "which parts of the limit the rate of errors may be"),
    }
    figures: ClassVar[Mapping[str, Figure]] = {
        "vote_errors": Figure(
            "Errors of the vote",
            "on how many of the examples its prediction was wrong, at most",
            "vote errors",
            or_fewer=True,
        ),
        "vote_size": Figure("Examples tested", "all of them", is_size=True),
    }

    def __init__(
        self,
        delta: float = 0.05,
        fixed_votes: ArrayLike | None = None,
        anytime: bool | None = None,
        mixture: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(delta)
        self.fixed_votes = fixed_votes
        self.anytime = anytime
        self.mixture = mixture

    @property
    def weights_assumption(self) -> str:  # type: ignore[override]
        """What it assumes of the weights, and of the mixture."""
        if self.mixture is None:
            fixed, which = "The weights were", "they"
        else:
            fixed, which = "The weights and the mixture were", "the weights"
        return (
            f"{fixed} fixed without looking at the certification examples: {which} are the prior, "
            "or one of the votes fixed in advance."
        )

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        if self.fixed_votes is not None and np.ndim(self.fixed_votes) != 2:
            raise ValueError(
                "fixed_votes must be a table with one row of weights per vote, got "
                f"{np.ndim(self.fixed_votes)} dimension(s)."
            )
        if self.mixture is not None:
            check_mixture(self.mixture)
            if not self.anytime:
                raise ValueError("mixture is for limits at all sizes at once: pass anytime=True.")

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
        if not _is_row(weights, self._table(prior)):
            raise ValueError(
                "weights must be the prior, or one of the fixed votes, for the bound 'heldout': it "
                "holds for a vote that was fixed without looking at these examples. If these "
                "weights were, pass them as prior too; if they were learned from these examples, "
                "use another bound."
            )

    def share(self, q: NDArray[np.float64], p: NDArray[np.float64]) -> float | None:
        """Return δ/M for each of the M votes fixed in advance."""
        table = self._table(p)
        return float(self.delta) / len(table) if _is_row(q, table) else None

    def errors(self, statistics: Statistics, q: NDArray[np.float64]) -> int:
        """Return the errors of the vote."""
        return statistics.vote_errors(q)


def _is_row(weights: NDArray[np.float64], table: NDArray[np.float64]) -> bool:
    """Tell whether weights are a row of a table, to the last bit."""
    return bool(np.any(np.all(table == weights, axis=1)))
