"""The smallest of several certificates, each at its share of δ."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_number
from ..statistics import Statistics
from .base import Bound, ConstantBound
from .evidence import CONSTANT, DELTA, Figure, Setting
from .registry import bound_with

__all__ = ["BestBound"]

_Array = NDArray[np.float64]
_Shares = tuple[tuple[str, float], ...]

# By what statistics offer, the first that fits: most of δ goes to the test of the prior vote, where
# its errors are known, a little to the test of single voters, which pay for their number anyway,
# and the rest to bounds under which the weights may be learned. Without
# "joint" the disagreement is from more, unlabelled examples. Of the pairs on counts alone this one
# had nearly the smallest mean over the paper's 16 tasks, and has the C-bound where voters differ.
_BY_OFFER: tuple[tuple[frozenset[str], _Shares], ...] = (
    (
        frozenset({"fixed votes", "rows", "joint", "voter errors"}),
        (("heldout", 0.9), ("occam", 0.05), ("dirichlet", 0.05)),
    ),
    (
        frozenset({"fixed votes", "joint", "voter errors"}),
        (("heldout", 0.9), ("occam", 0.05), ("gibbs", 0.025), ("cantelli", 0.025)),
    ),
    (frozenset({"joint"}), (("gibbs", 0.5), ("cantelli", 0.5))),
    (
        frozenset({"fixed votes", "moments", "voter errors"}),
        (("heldout", 0.9), ("occam", 0.05), ("seeger", 0.05)),
    ),
    (frozenset({"moments"}), (("gibbs", 0.5), ("seeger", 0.5))),
    (frozenset({"fixed votes"}), (("heldout", 1.0),)),
)
# Where the prior was learned already, what is learned on top of it hardly ever wins.
_OF_LEARNED_PRIOR: _Shares = (("heldout", 1.0),)
_EVERYTHING = frozenset({"fixed votes", "rows", "joint", "moments", "voter errors"})


class BestBound(ConstantBound):
    """``min_i A_i(δ·s_i)``: certificates that share δ hold all at once, so the smallest may win.

    It is minimised member by member, and the certificate names the winner. By default most of δ
    goes to the test of the prior vote, and the rest to bounds under which the weights may be
    learned: which ones, what the statistics offer decides, before any count is seen. Where the
    prior was learned on part A (`MajorityVoteClassifier` with ``prior="learned"``, or with mixed
    voters) all of δ goes to the test of it: that is known before part B is looked at, too.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant of the members that have one: the smallest valid one if None. Where a member
        has no one-sided form its constant is "exact". With "anytime" every member is one that holds
        at all sizes of a growing sample at once.
    shares : sequence of (str, float), default=None
        The names of the members, and their shares of δ, which sum to at most 1. If None, for

        - whole examples (votes): heldout 0.9, occam 0.05, dirichlet 0.05;
        - counts with the errors of the prior vote: heldout 0.9, occam 0.05, gibbs 0.025,
          cantelli 0.025;
        - counts alone (losses in chunks, out of bag): gibbs 0.5, cantelli 0.5;
        - with unlabelled examples: seeger in the place of dirichlet or cantelli;
        - a prior that was learned on part A: heldout 1.

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
    constants = ("anytime", "maurer", "exact", "one-sided")
    settings: ClassVar[Mapping[str, Setting]] = {
        "delta": DELTA,
        "constant": CONSTANT,
        "shares": Setting("Shares of δ", "of each certificate; the smallest of them counts"),
    }
    figures: ClassVar[Mapping[str, Figure]] = {
        "winner": Figure(
            "Winner", "the certificate that was the smallest; all of them share δ", "winner"
        )
    }
    weights_assumption = (
        "The weights are the prior, or may have been learned from the certification examples in "
        "any way, whichever the winning bound allows."
    )

    # The members, and the parameters that they were built from.
    _built: tuple[object, dict[str, Bound]] | None = None

    def __init__(
        self,
        delta: float = 0.05,
        constant: str | None = None,
        shares: Sequence[tuple[str, float]] | None = None,
    ) -> None:
        super().__init__(delta, constant)
        self.shares = shares

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        self._members()

    def settled(self, offers: Iterable[str]) -> Bound:
        """Return this bound with the members that statistics which offer so much can carry."""
        own: Bound = super().settled(offers)
        if self.shares is None:
            own = own.copied(shares=_shares_for(offers))
        return own

    def _members(self, offers: Iterable[str] = _EVERYTHING) -> dict[str, Bound]:
        """Return the members by name, each at its share of δ."""
        shares = _shares_for(offers) if self.shares is None else self.shares
        try:
            pairs = tuple((name, share) for name, share in shares)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"shares must be pairs of a bound's name and its share, got {self.shares!r}."
            ) from error
        key = (self.delta, self.constant, pairs)
        if self._built is None or self._built[0] != key:
            self._check_shares(pairs)
            members = {
                name: self._member(name, float(self.delta) * float(share)) for name, share in pairs
            }
            self._built = (key, members)
        return self._built[1]

    def for_all_sizes(self) -> Bound | None:
        """Return this bound with members that hold at all sizes at once, if all of them can."""
        members = self._members().values()
        if any(member.for_all_sizes() is None for member in members):
            return None
        return super().for_all_sizes()

    def for_learned_prior(self) -> Bound:
        """Return the test of the prior vote with all of δ, unless shares were given."""
        return self.copied(shares=_OF_LEARNED_PRIOR) if self.shares is None else self

    def _member(self, name: str, delta: float) -> Bound:
        """Return a member with the constant of this bound, or the smallest that it has itself."""
        member = bound_with(name, delta=delta)
        if self.is_anytime:
            for_all_sizes = member.for_all_sizes()
            if for_all_sizes is None:
                raise ValueError(
                    f"constant must be another one than 'anytime' where {name!r} is a member: that "
                    "bound does not hold at all sizes at once."
                )
            return for_all_sizes
        if self.constant is None or not isinstance(member, ConstantBound):
            return member
        return member.copied(
            constant=self.constant if self.constant in member.constants else "exact"
        )

    def _check_shares(self, pairs: tuple[tuple[Any, Any], ...]) -> None:
        names = [name for name, _ in pairs]
        for name, share in pairs:
            if not isinstance(name, str):
                raise ValueError(f"shares must begin with a bound's name, got {name!r}.")
            if name == self.name or names.count(name) > 1:
                raise ValueError(
                    f"shares must name each member once, and not 'best', got {name!r}."
                )
            check_number(f"the share of {name!r}", share, math.ulp(0.0), 1.0)
        if not pairs or math.fsum(share for _, share in pairs) > 1.0:
            raise ValueError(f"shares must sum to at most 1, one at least, got {self.shares!r}.")

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters: the members are built from them."""
        return {name: value for name, value in vars(self).items() if name != "_built"}

    @property
    def needs(self) -> frozenset[str]:
        """What the members need."""
        return frozenset().union(*(member.needs for member in self._members().values()))

    @property
    def uses_unlabelled(self) -> bool:  # type: ignore[override]
        """Whether a member does."""
        return any(member.uses_unlabelled for member in self._members().values())

    def members(self) -> tuple[Bound, ...]:
        """Return what solvers descend for the members."""
        copies = (member.copied() for member in self._members().values())
        return tuple(part for member in copies for part in member.members())

    def fixed_weights(self, p: _Array) -> list[_Array]:
        """Return the weights that members know in advance, each once."""
        return _each_once(member.fixed_weights(p) for member in self._members().values())

    def candidates(self, statistics: Statistics, p: _Array) -> list[_Array]:
        """Return the weights for which members need no descent, each once."""
        members = self._members(statistics.offers).values()
        return _each_once(member.candidates(statistics, p) for member in members)

    def check_statistics(self, statistics: Statistics) -> None:
        """Refuse statistics that lack what the members need; those of the default adapt."""
        if self.shares is not None or not hasattr(statistics, "offers"):
            super().check_statistics(statistics)

    def _winner(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[Bound, float]:
        members = self._members(statistics.offers).values()
        values = [(member, member.value_at(statistics, q, p)) for member in members]
        # Where none says anything, the last one is named: the first may not speak of such weights.
        return min(reversed(values), key=lambda value: value[1])

    def value_at(self, statistics: Statistics, q: _Array, p: _Array) -> float:
        """Return the smallest value of the members."""
        return self._winner(statistics, q, p)[1]

    def evaluate(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return value and gradient of the winner."""
        return self._winner(statistics, q, p)[0].evaluate(statistics, q, p)

    # --- evidence --------------------------------------------------------------------------------

    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the name of the winner, and its evidence."""
        q, p = self._check(statistics, weights, prior)
        winner, _ = self._winner(statistics, q, p)
        return {"winner": winner.name, **winner.evidence(statistics, q, p)}

    def evidence_again(
        self,
        evidence: Mapping[str, Any],
        statistics: Statistics,
        weights: ArrayLike,
        prior: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Return what the statistics say to the winner of the evidence."""
        winner, own = self._split(evidence)
        again = winner.evidence_again(own, statistics, weights, prior)
        return {"winner": winner.name, **again}

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate of the winner from its evidence."""
        self.check_parameters()
        winner, own = self._split(evidence)
        return winner.from_evidence(own, weights, prior)

    def winner(self, evidence: Mapping[str, Any]) -> Bound:
        """Return a copy of the member that won, at its share of δ."""
        return self._split(evidence)[0].copied()

    def alike(self, evidence: Mapping[str, Any], delta: float) -> Bound:
        """Return the winner for other claims about the same weights, at its share of their δ."""
        winner, own = self._split(evidence)
        return winner.alike(own, delta * (float(winner.delta) / float(self.delta)))

    def described(self, evidence: Mapping[str, Any]) -> list[tuple[str, Figure, Any]]:
        """Return name, description and value of each number of the evidence."""
        winner, own = self._split(evidence)
        return [("winner", self.figures["winner"], winner.name), *winner.described(own)]

    def _split(self, evidence: Mapping[str, Any]) -> tuple[Bound, dict[str, Any]]:
        own, members = dict(evidence), self._members()
        winner = own.pop("winner", None)
        if not isinstance(winner, str) or winner not in members:
            raise ValueError(f"winner must be one of {', '.join(members)}, got {winner!r}.")
        return members[winner], own


def _each_once(found: Iterable[list[_Array]]) -> list[_Array]:
    """Return the weights of several lists, in order, each of them once."""
    kept: list[_Array] = []
    for weights in (weights for some in found for weights in some):
        if not any(np.array_equal(weights, other) for other in kept):
            kept.append(weights)
    return kept


def _shares_for(offers: Iterable[str]) -> _Shares:
    """Return the members for statistics that offer so much, and their shares of δ."""
    offered = frozenset(offers)
    for wanted, shares in _BY_OFFER:
        if wanted <= offered:
            return shares
    raise ValueError(
        "statistics must offer moments or fixed votes for the bound 'best', got "
        f"{', '.join(sorted(offered)) or 'nothing'}."
    )
