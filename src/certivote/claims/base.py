"""What a claim is, what it is counted from, and the families in which claims share δ."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.comparing import close
from .._utils.formatting import format_down, format_up
from .._utils.validation import check_number, did_you_mean
from ..bounds import Bound
from ..labels import NamedClasses, name_classes
from ..statistics import Statistics
from ..voting import answers

__all__ = [
    "Claim",
    "Family",
    "Outcome",
    "Scores",
    "Vote",
    "at_least",
    "at_most",
    "below",
    "check_part",
    "exactly",
    "outcome_of",
    "quoted",
    "sidak",
]

# Names that need no quotes in a sentence: one word.
_WORD = re.compile(r"[\w.+-]+")
_NOTHING_SAID = " That says nothing."
_ROUNDING = 1e-15
# What a vote says where nobody has an opinion, as it is called beside the names of classes.
_NO_ANSWER = "(no answer)"


@dataclass(frozen=True)
class Claim:
    """One line of a certificate: what is claimed, and the counts behind it.

    All claims of a certificate hold at once, with its confidence.

    Attributes
    ----------
    about : str
        The quantity: ``"error"``, ``"recall of malignant"``, ``"error where region = north"``.
    statement : str
        The claim in a sentence that is complete by itself, its limits rounded to the safe side.
    upper, lower : float or None
        The limits of that quantity; None where none is claimed.
    evidence : dict
        What they are computed from.
    delta : float
        The part of δ that it was tested at.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify
    >>> y = np.repeat(["healthy", "ill"], [300, 100])
    >>> predicted = np.where(np.arange(400) % 20 == 0, "ill", y)
    >>> certificate = certify(predicted, y, claims=["recall"])
    >>> for claim in certificate.claims:
    ...     print(claim.statement)
    It errs on a new example with probability at most 0.0611.
    On examples of class healthy it errs with probability at most 0.0859.
    On examples of class ill it errs with probability at most 0.0429.
    """

    about: str
    statement: str
    upper: float | None = None
    lower: float | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    delta: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all but the evidence, which its family has, as plain Python objects."""
        return {name: value for name, value in asdict(self).items() if name != "evidence"}


class Scores(NamedTuple):
    """How sure each answer is: shares of a vote, or scores of another kind.

    The reference are those of other rows, and where these came from, if there are such.
    """

    values: NDArray[np.float64]
    shares: bool = True
    reference: NDArray[np.float64] | None = None
    origin: str | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a vote answers on the certification examples, and the truth, in the same words.

    Besides the labels there may be the class that a baseline always answers, and where it came
    from; columns of groups by their names; the classes that the vote knows, seen here or not; a
    function that counts the votes on some of the examples for a bound; how sure it is; and on
    which of them the vote answers nothing, if on any.
    """

    y: NDArray[Any]
    predicted: NDArray[Any]
    baseline: tuple[Any, str] | None = None
    by: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    classes: NDArray[Any] | None = None
    statistics: Callable[[NDArray[np.bool_], Bound], Statistics] | None = None
    scores: Scores | None = None
    silent: NDArray[np.bool_] | None = None

    @property
    def n_silent(self) -> int:
        """On how many examples the vote answers nothing."""
        return 0 if self.silent is None else int(np.count_nonzero(self.silent))

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """On which examples the vote errs."""
        wrong = np.asarray(self.predicted != self.y)
        if wrong.shape != self.y.shape:  # numpy does not compare these, as they are of two kinds
            wrong = np.ones(len(self.y), dtype=np.bool_)
        return wrong

    @cached_property
    def named(self) -> NamedClasses:
        """The classes by name, those of all examples, and those that the vote knows."""
        if self.silent is None or not self.n_silent:
            return name_classes(self.y, self.predicted, self.classes)
        answers = np.where(self.silent, self.y, self.predicted)
        names, known, true, answered = name_classes(self.y, answers, self.classes)
        answered = np.where(self.silent, len(names), answered)
        nothing = _NO_ANSWER
        while nothing in names:  # a class may be called so
            nothing = f"({nothing})"
        return NamedClasses([*names, nothing], np.append(known, False), true, answered)

    def refuse_silence(self, what: str) -> None:
        """Refuse a claim that is about answers only, where there is none on some examples."""
        if self.n_silent:
            raise ValueError(
                f"{what} is about answers, but on {self.n_silent} examples the vote answers "
                "nothing: no voter with weight has an opinion there."
            )

    def column(self, name: str) -> NDArray[Any]:
        """Return the column that a claim is about."""
        if name not in self.by:
            hint = did_you_mean(name, self.by) if self.by else "it is empty."
            raise ValueError(f"by must have the column {name!r} that is claimed: {hint}")
        return self.by[name]

    def with_baseline(self, baseline: tuple[Any, str] | None) -> "Outcome":
        """Return the same with another baseline."""
        return replace(self, baseline=baseline)


class Vote(NamedTuple):
    """The weights that claims are about, and the bound that certified them."""

    bound: Bound
    evidence: Mapping[str, Any]
    weights: NDArray[np.float64]
    prior: NDArray[np.float64]
    risk_bound: float

    def bound_at(self, delta: float, parts: int = 1) -> Bound:
        """Return the bound of other claims about these weights, at their part of δ.

        If it is for each of several independent parts, these share what one vote is tested at:
        other votes, or another bound, might have been chosen, and would part the examples in
        another way.
        """
        bound = self.bound.alike(self.evidence, delta)
        votes = len(bound.fixed_weights(self.prior)) if bound.fixed else 1
        return bound.copied(delta=votes * sidak(float(bound.delta) / votes, parts))

    @property
    def fixed(self) -> bool:
        """Whether the vote was fixed before the sample, so that its errors are binomial."""
        return self.bound_at(float(self.bound.delta)).fixed

    def tested_at(self, delta: float) -> float:
        """Return the δ at which one vote is tested, where others were fixed in advance too."""
        bound = self.bound_at(delta)
        return float(bound.delta) / len(bound.fixed_weights(self.prior))


def sidak(delta: float, n: int) -> float:
    """Return the δ of each of n independent statements that hold together at `delta`."""
    return delta if n == 1 else -math.expm1(math.log1p(-delta) / n) * (1.0 - _ROUNDING)


class Family(ABC):
    """Claims that hold at once with a part of δ, from counts on one sample.

    A subclass is a frozen dataclass. It says in class attributes what kind it is and whether it
    needs a vote fixed before the sample, counts its evidence (`count`) and makes claims of it
    (`claims`). Until it is counted it is a request, without evidence.

    Examples
    --------
    >>> from certivote.claims import ClassFamily, Family
    >>> request = ClassFamily()  # nothing is counted yet
    >>> isinstance(request, Family), request.kind, request.evidence
    (True, 'recall', {})
    """

    kind: ClassVar[str]
    # Whether it speaks of a vote only that was fixed before the sample.
    needs_fixed: ClassVar[bool] = True
    # Whether it asks how sure each answer is.
    needs_scores: ClassVar[bool] = False
    # Whether it takes a part of δ of its own.
    pays: ClassVar[bool] = True

    delta: float
    evidence: dict[str, Any]

    @property
    def name(self) -> str:
        """What its share of δ is called."""
        return self.kind

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of groups that it is about."""
        return ()

    @abstractmethod
    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""

    @abstractmethod
    def claims(self, vote: Vote) -> list[Claim]:
        """Return what is claimed on this evidence, and refuse evidence that is impossible."""

    @abstractmethod
    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse evidence that does not belong to the sample of a certificate."""

    def agrees(self, found: Self) -> bool:
        """Tell whether this evidence is that which was counted again."""
        return close(self.evidence, found.evidence)

    def doubts(self, outcome: Outcome) -> list[str]:
        """Return what throws doubt on its claims, from this sample."""
        return []

    def merged(self, other: Self) -> Self:
        """Return both requests in one; they have the same name."""
        if replace(self, delta=other.delta) != other:  # type: ignore[type-var]
            raise ValueError(f"claims must say once what they ask for, got {self.name!r} twice.")
        return self

    def at(self, delta: float) -> Self:
        """Return this request with its part of δ; what was counted is left out."""
        return replace(self, delta=delta, evidence={})  # type: ignore[type-var]

    def unchecked(self, outcome: Outcome) -> str | None:
        """Return what is taken at its word when a sample is counted again; None if nothing is."""
        return None

    def check_vote(self, vote: Vote) -> None:
        """Refuse a vote about which this family cannot speak."""
        if vote.bound.is_anytime:
            raise ValueError(
                f"{self.name!r} can be claimed only of one sample, not at all sizes of a growing "
                "one: certify without anytime."
            )
        if self.needs_fixed and not vote.fixed:
            raise ValueError(
                f"{self.name!r} can be claimed only of a vote that was fixed before the sample: "
                "these weights were learned from it. Certify with bound='heldout' (--bound "
                "heldout), or claim 'recall' or 'error by …', which bounds for learned weights can "
                "carry."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return all but the claims, which follow from it, as plain Python objects."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def names(cls) -> set[str]:
        """Return the names of what `to_dict` writes."""
        return {"kind", *(one.name for one in fields(cls))}  # type: ignore[arg-type]


def outcome_of(
    votes: NDArray[Any],
    y: NDArray[Any],
    weights: ArrayLike,
    prior: ArrayLike | None,
    by: Mapping[str, NDArray[Any]],
) -> Outcome:
    """Return what a vote answers, from a table of votes and columns that were checked."""

    def count(rows: NDArray[np.bool_], bound: Bound) -> Statistics:
        return bound.count(votes[rows], y[rows], prior)

    predicted, shares = answers(votes, weights)
    # One voter agrees with itself.
    scores = Scores(shares) if votes.shape[1] > 1 else None
    return Outcome(y, predicted, by=by, statistics=count, scores=scores)


def check_part(delta: object) -> float:
    """Return a part of δ, which is 0 before it has one."""
    return check_number("delta", delta, 0.0, 0.5)


def quoted(name: str) -> str:
    """Return a name as it stands in a sentence: in quotes, unless it is one word."""
    return name if _WORD.fullmatch(name) else repr(name)


def exactly(number: float) -> str:
    """Return a number that a claim is about, in as few digits as tell it from all others."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def at_most(limit: float) -> str:
    """Return the end of a sentence about an upper limit, which is rounded up.

    Examples
    --------
    >>> from certivote.claims import at_most
    >>> at_most(0.01231)
    'at most 0.0124.'
    """
    return f"at most {format_up(limit)}." + (_NOTHING_SAID if limit >= 1.0 else "")


def at_least(limit: float) -> str:
    """Return the end of a sentence about a lower limit, which is rounded down.

    Examples
    --------
    >>> from certivote.claims import at_least
    >>> at_least(0.98769)
    'at least 0.9876.'
    """
    return f"at least {format_down(limit)}." + (_NOTHING_SAID if limit <= 0.0 else "")


def below(value: float) -> float:
    """Return a lower limit, rounded down by more than the error of what computed it."""
    return max(0.0, math.nextafter(value - 1e-15, 0.0))
