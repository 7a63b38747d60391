"""F1 and expected costs of a vote that was fixed before the sample."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.comparing import close
from .._utils.formatting import format_up
from .._utils.validation import check_number, did_you_mean
from ..bounds import clopper_pearson
from ..bounds.evaluation import round_up
from ..labels import check_class, classes_by_name, merge_labels, numbered
from .base import Claim, Family, Outcome, Vote, at_least, below, check_part, quoted

__all__ = ["CostFamily", "F1Family"]


@dataclass(frozen=True)
class F1Family(Family):
    """``F1 = 2J/(1+J)``, J the share of right answers where a class is true or answered.

    Given how many examples are of the class, or are answered so, the right ones among them are
    binomial with probability J: the limit is exact. The mean over C classes has δ/C for each.

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
        known = _known(outcome)
        called = classes_by_name(known)
        if self.positive is not None:
            check_class("the class of f1", self.positive, known)
            called = {self.positive: called[self.positive]}
        evidence = {}
        for name, label in called.items():
            true, answered = outcome.y == label, outcome.predicted == label
            evidence[name] = {
                "right": int(np.count_nonzero(true & answered)),
                "true_or_answered": int(np.count_nonzero(true | answered)),
            }
        return replace(self, evidence=evidence)

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse counts of more examples than there are."""
        for name, counts in self.evidence.items():
            if counts["true_or_answered"] > n_samples:
                raise ValueError(f"{name!r} must have at most {n_samples} examples.")
            if class_counts and class_counts.get(name, 0) > counts["true_or_answered"]:
                raise ValueError(f"{name!r} must have the examples of class_counts at least.")

    def agrees(self, found: Self) -> bool:
        """Tell whether this evidence is that which was counted again.

        It may name more classes without examples: who counts votes does not know all of them.
        """
        empty = {name: counts for name, counts in self.evidence.items() if not any(counts.values())}
        return close(self.evidence, {**empty, **found.evidence})

    def claims(self, vote: Vote) -> list[Claim]:
        """Return the claim on one class, or on the mean of all."""
        self.check_vote(vote)
        each = self.delta / max(1, len(self.evidence))
        delta = vote.tested_at(each)
        limits = {name: _f1(counts, delta) for name, counts in self.evidence.items()}
        low = below(math.fsum(limits.values()) / max(1, len(limits)))
        names = ", ".join(map(quoted, limits))
        what = f"The F1 score of {names}"
        if self.positive is None:
            what = f"The mean of the F1 scores of {names}"
        text = f"{what} is {at_least(low)}"
        return [Claim(self.name, text, lower=low, evidence=dict(self.evidence), delta=self.delta)]


def _known(outcome: Outcome) -> NDArray[Any]:
    """Return the classes that there are, are answered, or are known to the vote."""
    known = merge_labels(outcome.y, outcome.answers)
    return known if outcome.classes is None else merge_labels(known, outcome.classes)


def _f1(counts: Mapping[str, int], delta: float) -> float:
    """Return the lower limit of the F1 score of one class."""
    right, m = counts["right"], counts["true_or_answered"]
    share = below(1.0 - clopper_pearson(m - right, m, delta)) if m else 0.0
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
        names = [str(name) for name in self.classes]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"costs must be of classes, each named once, got {names}.")
        table = [
            [check_number("a cost", cost, 0.0, math.inf) for cost in row] for row in self.costs
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
        m, counts = self.evidence.get("n_samples"), self.evidence.get("at_least", ())
        fine = set(self.evidence) == {"n_samples", "at_least"} and len(counts) == len(self.levels)
        if not fine or any(type(k) is not int for k in [m, *counts]):
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
        if len(outcome.answers) < len(outcome.y):
            raise ValueError(
                f"costs are of answers, but on {len(outcome.y) - len(outcome.answers)} examples "
                "the vote answers nothing: no voter with weight has an opinion there."
            )
        called = classes_by_name(_known(outcome))
        for name in called:
            if name not in self.classes:
                raise ValueError(
                    f"costs must have every class, but lack {name!r}: "
                    f"{did_you_mean(name, self.classes)}"
                )
        place = {label: self.classes.index(name) for name, label in called.items()}
        true, answered = (
            np.array([place[label] for label in labels])[codes]
            for labels, codes in map(numbered, (outcome.y, outcome.predicted))
        )
        cost = np.asarray(self.costs)[true, answered]
        counts = [int(np.count_nonzero(cost >= level)) for level in self.levels]
        return replace(self, evidence={"n_samples": len(cost), "at_least": counts})

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse counts of other examples."""
        if self.evidence["n_samples"] != n_samples:
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
