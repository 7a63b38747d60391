"""Errors on each class, each answer and each group: one partition of the examples a family.

Given how many examples fall into each part, their errors are independent of each other. So the
limits of C parts, each at ``1 − (1−δ)^(1/C)``, hold together with probability 1 − δ.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.comparing import close
from .._utils.formatting import format_up
from .._utils.validation import check_number, did_you_mean
from ..bounds.evaluation import round_up
from ..labels import names_of, numbered
from .base import Claim, Family, Outcome, Vote, at_most, below, check_part, exactly, quoted, sidak

__all__ = ["ClassFamily", "GroupFamily", "PrecisionFamily"]

# More parts than so many are no groups.
_MOST = 1000
_SUM = 1e-9


@dataclass(frozen=True)
class _Partition(Family):
    """Claims on the parts of a sample; a part without examples has no evidence, and limit 1."""

    delta: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no evidence of parts."""
        check_part(self.delta)
        for name, part in self.evidence.items():
            if not isinstance(part, Mapping):
                raise ValueError(f"the evidence on {name!r} must be an object, got {part!r}.")

    @abstractmethod
    def _parts(self, outcome: Outcome) -> tuple[list[str], NDArray[np.intp], NDArray[np.bool_]]:
        """Return the names of parts, that of each example, and which are claimed if empty."""

    @property
    def _n_parts(self) -> int:
        """How many parts have examples."""
        return max(1, sum(bool(part) for part in self.evidence.values()))

    @property
    def _each(self) -> float:
        """The δ of one part."""
        return sidak(self.delta, self._n_parts)

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""
        self.check_vote(vote)
        names, codes, claimed = self._parts(outcome)
        sizes = np.bincount(codes, minlength=len(names))
        if np.count_nonzero(sizes) > _MOST:
            raise ValueError(
                f"{self.name!r} would be {np.count_nonzero(sizes)} claims: a column with at most "
                f"{_MOST} different values can part the examples. Make coarser groups of it."
            )
        if vote.fixed:
            errors = np.bincount(codes[outcome.wrong], minlength=len(names))
            counted: dict[int, Any] = {
                code: {"vote_errors": int(errors[code]), "vote_size": int(sizes[code])}
                for code in np.flatnonzero(sizes).tolist()
            }
        else:
            counted = self._counted(outcome, vote, codes)
        parts = {
            name: counted.get(code, {})
            for code, name in enumerate(names)
            if code in counted or claimed[code]
        }
        return replace(self, evidence=parts)

    def _counted(
        self, outcome: Outcome, vote: Vote, codes: NDArray[np.intp]
    ) -> dict[int, dict[str, Any]]:
        """Return the evidence on each part of a bound for weights that were learned."""
        if outcome.statistics is None:
            raise ValueError(f"{self.name!r} needs the votes on the examples, not their counts.")
        parts = np.unique(codes).tolist()
        bound = vote.bound_at(self.delta, len(parts))
        return {
            code: bound.evidence(
                outcome.statistics(np.asarray(codes == code), bound), vote.weights, vote.prior
            )
            for code in parts
        }

    def limits(self, vote: Vote) -> dict[str, float]:
        """Return the upper limit of the error on each part."""
        bound = vote.bound_at(self.delta, self._n_parts)
        return {
            name: min(1.0, bound.from_evidence(part, vote.weights, vote.prior)) if part else 1.0
            for name, part in self.evidence.items()
        }

    def sizes(self, vote: Vote) -> dict[str, int]:
        """Return how many examples each part has."""
        bound = vote.bound_at(self.delta)
        return {
            name: next((value for _, figure, value in bound.described(part) if figure.is_size), 0)
            for name, part in self.evidence.items()
        }

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse parts that are not those of all examples."""
        total = sum(self.sizes(vote).values())
        if total != n_samples:
            raise ValueError(
                f"the parts of {self.name!r} must hold all {n_samples} examples, got {total}."
            )
        errors = sum(part.get("vote_errors", 0) for part in self.evidence.values())
        expected = vote.evidence.get("vote_errors", 0)
        if errors != expected:
            raise ValueError(
                f"the parts of {self.name!r} must have all {expected} errors, got {errors}."
            )

    def agrees(self, found: Self) -> bool:
        """Tell whether this evidence is that which was counted again.

        It may name more parts without examples: who counts votes does not know all classes.
        """
        empty: dict[str, Any] = {name: {} for name, part in self.evidence.items() if not part}
        return close(self.evidence, {**empty, **found.evidence})

    def claims(self, vote: Vote) -> list[Claim]:
        """Return a claim for each part."""
        self.check_vote(vote)
        return self._claims(self.limits(vote))

    def _claims(self, limits: Mapping[str, float]) -> list[Claim]:
        """Return a claim for each part, by its limit."""
        return [
            self._claim(name, limit, dict(self.evidence[name])) for name, limit in limits.items()
        ]

    @abstractmethod
    def _claim(self, name: str, limit: float, evidence: dict[str, Any]) -> Claim:
        """Return the claim on one part."""


@dataclass(frozen=True)
class ClassFamily(_Partition):
    """The error on each true class, and what follows from these at no further cost.

    Parameters
    ----------
    delta : float
        Its part of δ.
    evidence : dict
        The counts of each class.
    recall : bool, default=True
        Whether the classes are claimed one by one.
    balanced : bool, default=False
        Whether the mean of the errors on the classes is claimed.
    frequencies : tuple of dict, default=()
        Frequencies of the classes under which the error is claimed.

    Examples
    --------
    >>> from certivote.claims import ClassFamily
    >>> ClassFamily(balanced=True).name
    'recall'
    """

    kind: ClassVar[str] = "recall"
    needs_fixed: ClassVar[bool] = False

    recall: bool = True
    balanced: bool = False
    frequencies: tuple[dict[str, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a request for nothing, and frequencies that are none."""
        super().__post_init__()
        for name in ("recall", "balanced"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}.")
        if not isinstance(self.frequencies, list | tuple):
            raise ValueError(
                f"frequencies must be a tuple of frequencies by class, got {self.frequencies!r}."
            )
        object.__setattr__(self, "frequencies", tuple(map(_check_sum, self.frequencies)))
        if not (self.recall or self.balanced or self.frequencies):
            raise ValueError("a claim on classes must be recall, balanced or frequencies.")

    def _parts(self, outcome: Outcome) -> tuple[list[str], NDArray[np.intp], NDArray[np.bool_]]:
        return outcome.named.names, outcome.named.true, outcome.named.known

    def merged(self, other: Self) -> Self:
        """Return both requests in one."""
        return replace(
            self,
            recall=self.recall or other.recall,
            balanced=self.balanced or other.balanced,
            frequencies=self.frequencies
            + tuple(one for one in other.frequencies if one not in self.frequencies),
        )

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""
        own = super().count(outcome, vote)
        own.check_frequencies()
        return own

    def check_frequencies(self) -> None:
        """Refuse frequencies of classes that are unknown."""
        for frequencies in self.frequencies:
            for name in frequencies:
                if name not in self.evidence:
                    raise ValueError(
                        f"frequencies must be of the classes, got {name!r}: "
                        f"{did_you_mean(name, self.evidence)}"
                    )

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse classes of other sizes than the certificate says."""
        super().check(n_samples, class_counts, vote)
        sizes = {name: size for name, size in self.sizes(vote).items() if size}
        if class_counts and sizes != class_counts:
            raise ValueError(
                f"the classes of {self.name!r} must be class_counts, {class_counts!r}, got "
                f"{sizes!r}."
            )

    def claims(self, vote: Vote) -> list[Claim]:
        """Return a claim for each class, if asked for, and what follows from them."""
        self.check_frequencies()
        limits = self.limits(vote)
        own = self._claims(limits) if self.recall else []
        if self.balanced:
            mean = min(1.0, round_up(math.fsum(limits.values()) / len(limits)))
            names = ", ".join(map(quoted, limits))
            text = f"The mean of its errors on the classes {names} is {at_most(mean)}"
            own.append(Claim("balanced error", text, mean, delta=self.delta))
        for frequencies in self.frequencies:
            parts = [share * limits[name] for name, share in frequencies.items()]
            rest = max(0.0, 1.0 - math.fsum(frequencies.values()))
            limit = min(1.0, round_up(math.fsum([*parts, rest])))
            mix = ", ".join(
                f"{quoted(name)} {exactly(share)}" for name, share in frequencies.items()
            )
            text = (
                f"Where the classes come as {mix}, and the examples of each class as here, it errs "
                f"with probability {at_most(limit)}"
            )
            own.append(Claim(f"error where classes come as {mix}", text, limit, delta=self.delta))
        return own

    def _claim(self, name: str, limit: float, evidence: dict[str, Any]) -> Claim:
        return Claim(
            f"recall of {name}",
            f"On examples of class {quoted(name)} it errs with probability {at_most(limit)}",
            lower=below(1.0 - limit),
            evidence=evidence,
            delta=self._each,
        )


@dataclass(frozen=True)
class PrecisionFamily(_Partition):
    """How often each answer is wrong.

    Parameters
    ----------
    delta : float
        Its part of δ.
    evidence : dict
        The counts of each answer.

    Examples
    --------
    >>> from certivote.claims import PrecisionFamily
    >>> PrecisionFamily(0.05, {"ill": {"vote_errors": 3, "vote_size": 50}}).name
    'precision'
    """

    kind: ClassVar[str] = "precision"

    def _parts(self, outcome: Outcome) -> tuple[list[str], NDArray[np.intp], NDArray[np.bool_]]:
        names = outcome.named.names
        return names, outcome.named.answered, np.zeros(len(names), dtype=np.bool_)

    def _claim(self, name: str, limit: float, evidence: dict[str, Any]) -> Claim:
        return Claim(
            f"precision of {name}",
            f"Where it answers {quoted(name)}, that is wrong with probability {at_most(limit)}",
            lower=below(1.0 - limit),
            evidence=evidence,
            delta=self._each,
        )


@dataclass(frozen=True)
class GroupFamily(_Partition):
    """The error on each value of a column.

    Parameters
    ----------
    delta : float
        Its part of δ.
    evidence : dict
        The counts of each group.
    column : str
        What the column is called.

    Examples
    --------
    >>> from certivote.claims import GroupFamily
    >>> GroupFamily(column="region").name
    'error by region'
    """

    kind: ClassVar[str] = "group"
    needs_fixed: ClassVar[bool] = False

    column: str = "group"

    def __post_init__(self) -> None:
        """Refuse a column that has no name."""
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            raise ValueError(f"column must be a name, got {self.column!r}.")

    @property
    def name(self) -> str:
        """What its share of δ is called."""
        return f"error by {self.column}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of groups that it is about."""
        return (self.column,)

    def _parts(self, outcome: Outcome) -> tuple[list[str], NDArray[np.intp], NDArray[np.bool_]]:
        labels, codes = numbered(outcome.column(self.column))
        names = names_of(labels)
        return names, codes, np.zeros(len(names), dtype=np.bool_)

    def _claim(self, name: str, limit: float, evidence: dict[str, Any]) -> Claim:
        return Claim(
            f"error where {self.column} = {name}",
            f"Where {quoted(self.column)} = {quoted(name)} it errs with probability "
            f"{at_most(limit)}",
            limit,
            evidence=evidence,
            delta=self._each,
        )


def _check_sum(frequencies: Mapping[str, float]) -> dict[str, float]:
    """Return frequencies by class that sum to 1."""
    if not isinstance(frequencies, Mapping):
        raise ValueError(f"frequencies must be by the names of classes, got {frequencies!r}.")
    own = {
        str(name): check_number(f"the frequency of {name!r}", share, 0.0, 1.0)
        for name, share in frequencies.items()
    }
    total = math.fsum(own.values())
    if not abs(total - 1.0) <= _SUM:
        raise ValueError(
            "frequencies of classes must sum to 1, got "
            f"{', '.join(f'{name}={share:g}' for name, share in own.items())}, a sum of "
            f"{format_up(total, 6)}."
        )
    return own
