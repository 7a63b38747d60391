"""The smallest of several certificates, each at its share of δ."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_choice, check_delta, check_number
from ..statistics import VoteStatistics
from .base import Bound

__all__ = ["BestBound"]


class BestBound(Bound):
    """``min_i A_i(δ·s_i)``: certificates that share δ hold all at once, so the smallest may win.

    It is minimised member by member, and the certificate names the winner. By default most of δ
    goes to the test of the prior vote, and the rest to a bound under which the weights may be
    learned.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"maurer", "exact"}, default="maurer"
        The constant of the members that have one.
    shares : sequence of (str, float), default=(("heldout", 0.9), ("dirichlet", 0.1))
        The names of the members, and their shares of δ, which sum to at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> votes = np.where(rng.random((2000, 15)) < 0.2, 1 - y[:, None], y[:, None])
    >>> certificate = certify(votes, y, bound="best")
    >>> certificate
    Certificate(risk_bound≤0.0093, confidence=95%, bound='best', n_samples=2000, n_voters=15)
    >>> certificate.evidence["winner"]
    'heldout'
    """

    name = "best"
    formula = "min_i A_i(δ·s_i)"
    reference = "a union bound"
    weights_assumption = (
        "The weights are the prior, or may have been learned from the certification examples in "
        "any way, whichever the winning bound allows."
    )

    def __init__(
        self,
        delta: float = 0.05,
        constant: str = "maurer",
        shares: Sequence[tuple[str, float]] = (("heldout", 0.9), ("dirichlet", 0.1)),
    ) -> None:
        self.delta = delta
        self.constant = constant
        self.shares = shares

    def _check_parameters(self) -> None:
        check_delta(self.delta)
        check_choice("constant", self.constant, ("maurer", "exact"))
        self._named()

    def _named(self) -> dict[str, Bound]:
        """Return the members, each at its share of δ."""
        from . import get_bound  # the registry knows this class too

        named: dict[str, Bound] = {}
        try:
            pairs = [(name, share) for name, share in self.shares]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"shares must be pairs of a bound's name and its share, got {self.shares!r}."
            ) from error
        for name, share in pairs:
            if not isinstance(name, str):
                raise ValueError(f"shares must begin with a bound's name, got {name!r}.")
            if name == self.name or name in named:
                raise ValueError(
                    f"shares must name each member once, and not 'best', got {name!r}."
                )
            check_number(f"the share of {name!r}", share, math.ulp(0.0), 1.0)
            known = get_bound(name).get_params(deep=False)
            settings = {"delta": float(self.delta) * float(share), "constant": self.constant}
            named[name] = get_bound(
                name, **{key: settings[key] for key in settings if key in known}
            )
        if not named or math.fsum(share for _, share in pairs) > 1.0:
            raise ValueError(f"shares must sum to at most 1, one at least, got {self.shares!r}.")
        return named

    @property
    def needs(self) -> frozenset[str]:
        """What the members need."""
        return frozenset().union(*(member.needs for member in self._named().values()))

    def members(self) -> tuple[Bound, ...]:
        """Return what solvers descend for the members."""
        return tuple(part for member in self._named().values() for part in member.members())

    def _candidates(self, p: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        found: list[NDArray[np.float64]] = []
        for member in self._named().values():
            for weights in member._candidates(p):
                if not any(np.array_equal(weights, other) for other in found):
                    found.append(weights)
        return found

    def _winner(
        self, statistics: VoteStatistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[str, float, NDArray[np.float64]]:
        results = [
            (name, *member._value_and_gradient(statistics, q, p))
            for name, member in self._named().items()
        ]
        # Where none says anything, the last one is named: the first may not speak of such weights.
        return min(reversed(results), key=lambda result: result[1])

    def _value_and_gradient(
        self, statistics: VoteStatistics, q: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        return self._winner(statistics, q, p)[1:]

    def evidence(
        self, statistics: VoteStatistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the name of the winner, and its evidence.

        Parameters
        ----------
        statistics, weights, prior
            As in `value`.
        """
        q, p = self._check(statistics, weights, prior)
        winner = self._winner(statistics, q, p)[0]
        return {"winner": winner, **self._named()[winner].evidence(statistics, q, p)}

    def evidence_again(
        self,
        evidence: Mapping[str, Any],
        statistics: VoteStatistics,
        weights: ArrayLike,
        prior: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Return what the statistics say to the winner of the evidence.

        Parameters
        ----------
        evidence, statistics, weights, prior
            As in `Bound.evidence_again`.
        """
        winner, own = self._split(evidence)
        again = self._named()[winner].evidence_again(own, statistics, weights, prior)
        return {"winner": winner, **again}

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate of the winner from its evidence.

        Parameters
        ----------
        evidence : mapping
            What `evidence` returned.
        weights, prior : array-like of shape (n,)
            Two distributions on the voters.
        """
        self._check_parameters()
        winner, own = self._split(evidence)
        return self._named()[winner].from_evidence(own, weights, prior)

    def _split(self, evidence: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        own = dict(evidence)
        winner = own.pop("winner", None)
        if not isinstance(winner, str) or winner not in self._named():
            raise ValueError(f"winner must be one of {', '.join(self._named())}, got {winner!r}.")
        return winner, own
