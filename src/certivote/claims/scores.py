"""F1 and expected costs of a vote that was fixed before the sample."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._utils.comparing import close
from .._utils.formatting import format_up
from .._utils.validation import check_number, did_you_mean
from ..bounds import clopper_pearson
from ..bounds.evaluation import round_up
from .base import Claim, Family, Outcome, Vote, at_least, below, check_part, quoted

__all__ = ["CostFamily", "F1Family"]

# Costs are added up, and printed.
_LARGEST = 1e100


@dataclass(frozen=True)
class F1Family(Family):
    """``F1 = 2J/(1+J)``, J the share of right answers where a class is true or answered.

    Given how many examples n are of the class, or are answered so, the right ones among them are
    binomial with probability J: the limit is exact. In the mean over all classes each has
    ``δ·n/2m``. An example counts for two classes at most, so that these sum to at most δ; and they
    depend on nothing but n, whereas how many classes there are says which answers were wrong.

    Parameters
    ----------
    delta : float
        Its part of δ.
    evidence : dict
        The counts of each class.
    positive : str, default=None
        The class; the mean over all classes if None.

    Examples
    --------
    >>> from certivote.claims import F1Family
    >>> F1Family(positive="ill").name
    'f1 of ill'
    """

    kind: ClassVar[str] = "f1"

    delta: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)
    positive: str | None = None

    def __post_init__(self) -> None:
        """Refuse counts that no examples give."""
        check_part(self.delta)
        if self.positive is not None:
            object.__setattr__(self, "positive", str(self.positive))
        if self.evidence and self.positive not in (None, *self.evidence):
            raise ValueError(f"the evidence on {self.name!r} must be of that class.")
        for name, counts in self.evidence.items():
            right, all_of_them = _pair(name, counts, "right", "true_or_answered")
            if right > all_of_them:
                raise ValueError(f"{name!r} must have at most {all_of_them} right, got {right}.")

    @property
    def name(self) -> str:
        """What its share of δ is called."""
        return "f1" if self.positive is None else f"f1 of {self.positive}"

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""
        self.check_vote(vote)
        outcome.refuse_silence("an F1 score")
        names, _, true, answered = outcome.named
        if self.positive not in (None, *names):
            raise ValueError(
                f"the class of f1 must be one of the classes, got {self.positive!r}: "
                f"{did_you_mean(str(self.positive), names)}"
            )
        of, so = (np.bincount(codes, minlength=len(names)) for codes in (true, answered))
        right = np.bincount(true[true == answered], minlength=len(names))
        evidence = {
            name: {"right": int(k), "true_or_answered": int(n)}
            for name, k, n in zip(names, right, of + so - right, strict=True)
            if self.positive in (None, name)
        }
        return replace(self, evidence=evidence)

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse counts of other examples than there are."""
        for name, counts in self.evidence.items():
            right, all_of_them = counts["right"], counts["true_or_answered"]
            own = class_counts.get(name, 0) if class_counts else right
            if not right <= own <= all_of_them <= n_samples:
                raise ValueError(
                    f"the evidence on {name!r} must be of {own} examples of that class among "
                    f"{n_samples}, got {counts!r}."
                )
        if self.positive is None and self._halves != 2 * n_samples:
            raise ValueError(f"the evidence on {self.name!r} must be of all {n_samples} examples.")
        if not self.evidence:
            raise ValueError(f"the evidence on {self.name!r} must be there.")

    @property
    def _halves(self) -> int:
        """Twice the number of examples: if all classes are there, each example is in two counts."""
        return sum(sum(counts.values()) for counts in self.evidence.values())

    def agrees(self, found: Self) -> bool:
        """Tell whether this evidence is that which was counted again.

        It may name more classes without examples: who counts votes does not know all of them.
        """
        empty = {name: counts for name, counts in self.evidence.items() if not any(counts.values())}
        return close(self.evidence, {**empty, **found.evidence})

    def claims(self, vote: Vote) -> list[Claim]:
        """Return the claim on one class, or on the mean of all."""
        self.check_vote(vote)
        whole = self._halves if self.positive is None else 0
        limits = {name: self._limit(counts, whole, vote) for name, counts in self.evidence.items()}
        low = below(math.fsum(limits.values()) / max(1, len(limits)))
        names = ", ".join(map(quoted, limits))
        what = f"The F1 score of {names}"
        if self.positive is None:
            what = f"The mean of the F1 scores of {names}"
        text = f"{what} is {at_least(low)}"
        return [Claim(self.name, text, lower=low, evidence=dict(self.evidence), delta=self.delta)]

    def _limit(self, counts: Mapping[str, int], whole: int, vote: Vote) -> float:
        """Return the lower limit of the F1 score of one class, at its part of a whole, if any."""
        right, n = counts["right"], counts["true_or_answered"]
        if not right:
            return 0.0
        part = n / whole if whole else 1.0
        share = below(1.0 - clopper_pearson(n - right, n, vote.tested_at(self.delta * part)))
        return 2.0 * share / (1.0 + share)


def _pair(name: str, counts: Any, *names: str) -> list[int]:
    if not isinstance(counts, Mapping) or set(counts) != set(names):
        raise ValueError(f"the evidence on {name!r} must be {', '.join(names)}, got {counts!r}.")
    if any(type(counts[key]) is not int or counts[key] < 0 for key in names):
        raise ValueError(f"the evidence on {name!r} must be counts, got {counts!r}.")
    return [counts[key] for key in names]


@dataclass(frozen=True)
class CostFamily(Family):
    """``Σ (c_l − c_{l−1})·CP(#{cost ≥ c_l}, m, δ/L)`` over the L levels of the costs.

    Parameters
    ----------
    delta : float
        Its part of δ.
    evidence : dict
        Of each level on how many examples the cost was as large, and how many examples there are.
    classes : sequence of str
        The names of the classes.
    costs : sequence of sequence of float
        What it costs to answer a class (column) where another is true (row), at least 0.

    Examples
    --------
    >>> from certivote.claims import CostFamily
    >>> CostFamily(classes=["healthy", "ill"], costs=[[0, 1], [10, 0]]).levels
    [1.0, 10.0]
    """

    kind: ClassVar[str] = "cost"

    delta: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)
    classes: Sequence[str] = ()
    costs: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        """Refuse costs that are no table of the classes."""
        check_part(self.delta)
        if isinstance(self.classes, str) or not np.iterable(self.classes):
            raise ValueError(f"classes must be the names of classes, got {self.classes!r}.")
        names = [str(name) for name in self.classes]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"costs must be of classes, each named once, got {names}.")
        if np.ndim(self.costs) != 2:  # numpy says itself what it cannot make a table of
            raise ValueError(f"costs must be a table, got {self.costs!r}.")
        table = [
            [check_number("a cost", cost, 0.0, _LARGEST) for cost in row] for row in self.costs
        ]
        if {len(table), *map(len, table)} != {len(names)}:
            raise ValueError(
                f"costs must have a row and a column for each of {', '.join(names)}, got "
                f"{len(table)} row(s) of {sorted({len(row) for row in table})}."
            )
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "costs", table)
        if self.evidence:
            self._check_evidence()

    def _check_evidence(self) -> None:
        m, counts = self.evidence.get("n_samples"), self.evidence.get("at_least")
        fine = set(self.evidence) == {"n_samples", "at_least"} and isinstance(counts, list)
        counts = counts if fine and counts is not None else []
        if len(counts) != len(self.levels) or any(type(k) is not int for k in [m, *counts]):
            raise ValueError(
                "the evidence on costs must be n_samples, and on how many the cost was at least "
                f"each of {len(self.levels)} levels, got {self.evidence!r}."
            )
        if sorted([0, *counts[::-1], m]) != [0, *counts[::-1], m]:
            raise ValueError(
                f"the evidence on costs must be counts that fall, up to {m}, got {counts!r}."
            )

    @property
    def levels(self) -> list[float]:
        """The different costs above 0."""
        return sorted({cost for row in self.costs for cost in row if cost > 0.0})

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""
        self.check_vote(vote)
        outcome.refuse_silence("a cost")
        names, _, true, answered = outcome.named
        for name in names:
            if name not in self.classes:
                raise ValueError(
                    f"costs must have every class, but lack {name!r}: "
                    f"{did_you_mean(name, self.classes)}"
                )
        places = [self.classes.index(name) for name in names]
        cost = np.asarray(self.costs)[np.ix_(places, places)].ravel()
        cells = np.bincount(true * len(names) + answered, minlength=len(cost))
        counts = [int(cells[cost >= level].sum()) for level in self.levels]
        return replace(self, evidence={"n_samples": len(true), "at_least": counts})

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse counts of other examples."""
        if self.evidence.get("n_samples") != n_samples:
            raise ValueError(f"the evidence on costs must be of all {n_samples} examples.")

    def claims(self, vote: Vote) -> list[Claim]:
        """Return the claim on the expected cost."""
        self.check_vote(vote)
        m, counts, levels = self.evidence["n_samples"], self.evidence["at_least"], self.levels
        total = 0.0
        if levels:
            delta = vote.tested_at(self.delta / len(levels))
            steps = np.diff([0.0, *levels]).tolist()
            limits = [clopper_pearson(k, m, delta) for k in counts]
            total = math.fsum(step * limit for step, limit in zip(steps, limits, strict=True))
        upper = max(levels, default=0.0)
        limit = min(upper, round_up(total / upper) * upper) if upper else 0.0
        names = ", ".join(map(quoted, self.classes))
        text = (
            f"By the costs given, of the classes {names}, it costs at most {format_up(limit)} on "
            "average on a new example."
        )
        return [Claim("cost", text, limit, evidence=dict(self.evidence), delta=self.delta)]
