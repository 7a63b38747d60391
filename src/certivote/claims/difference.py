"""How much more often a classifier errs than another one, on the same examples."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._utils.formatting import format_down, format_up
from ..bounds import clopper_pearson
from ..bounds.evaluation import round_up
from ..labels import check_comparable, refuse_probabilities
from .base import Claim, Family, Outcome, Vote, below, check_part, quoted

__all__ = ["DifferenceFamily"]

# What of δ the rate of the examples takes on which just one of both errs. Who errs there is what
# decides whether anything is shown, and has the rest.
_RATE = 0.1
_COUNTS = ("only_new_errs", "only_old_errs", "n_samples")


@dataclass(frozen=True)
class DifferenceFamily(Family):
    """``risk(new) − risk(old) = ρ(2q−1)``: of two classifiers, fixed before the sample.

    ρ is the probability that just one of both errs, and q that it is the new one then. Given on how
    many examples just one errs, those of the new one are binomial: its limit q⁺ has nine tenths of
    δ. The limit is ``ρ⁺(2q⁺−1)``, or ``ρ⁻(2q⁺−1)`` where that is negative, and either limit of ρ
    has the last tenth. They need not share it, although the sample says which of them is taken: if
    ``q > ½``, then q⁺ ≥ q leaves ρ⁺ only; if not, a limit by ρ⁺ is not below 0, nor false.

    Parameters
    ----------
    delta : float
        Its part of δ.
    evidence : dict
        On how many examples only the new classifier erred, and only the old one, and of how many.
    old : str
        What the old classifier is called, and the column of its predictions.

    Examples
    --------
    >>> from certivote.claims import DifferenceFamily
    >>> DifferenceFamily(old="last year").name
    'difference to last year'
    """

    kind: ClassVar[str] = "difference"

    delta: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)
    old: str = "old"

    def __post_init__(self) -> None:
        """Refuse counts that no examples give."""
        check_part(self.delta)
        if not isinstance(self.old, str) or not self.old:
            raise ValueError(f"old must be a name, got {self.old!r}.")
        if not self.evidence:
            return
        counts: list[Any] = [self.evidence.get(name) for name in _COUNTS]
        fine = set(self.evidence) == set(_COUNTS)
        if not fine or any(type(count) is not int or count < 0 for count in counts):
            raise ValueError(
                f"the evidence on {self.name!r} must be the counts {', '.join(_COUNTS)}, got "
                f"{self.evidence!r}."
            )
        if counts[0] + counts[1] > counts[2]:
            raise ValueError(
                f"the evidence on {self.name!r} must be counts of {counts[2]} examples, got "
                f"{counts[0]} and {counts[1]}."
            )

    @property
    def name(self) -> str:
        """What its share of δ is called."""
        return f"difference to {self.old}"

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""
        self.check_vote(vote)
        y, old, name = outcome.y, outcome.column(self.old), f"the predictions of {self.old!r}"
        refuse_probabilities(name, old[:, None], y)
        check_comparable(**{name: old, "y": y})
        answers = set(old.tolist())
        if answers.isdisjoint(y.tolist()) and answers.isdisjoint(outcome.predicted.tolist()):
            raise ValueError(
                f"{name} must be labels as y has them, got none of these, but {old.tolist()[0]!r}."
            )
        _refuse_other_spellings(name, answers, {*y.tolist(), *outcome.predicted.tolist()})
        new_errs, old_errs = outcome.wrong, Outcome(y, old).wrong
        counts = [new_errs & ~old_errs, old_errs & ~new_errs]
        evidence = [*(int(np.count_nonzero(rows)) for rows in counts), len(y)]
        return replace(self, evidence=dict(zip(_COUNTS, evidence, strict=True)))

    def doubts(self, outcome: Outcome) -> list[str]:
        """Say if the old classifier answers what is no label here: it counts as an error."""
        old = outcome.column(self.old)
        unknown = ~np.isin(old, outcome.y)
        if not unknown.any():
            return []
        return [
            f"The predictions of {self.old!r} hold labels that y does not, such as "
            f"{old[unknown].tolist()[0]!r}, on {np.count_nonzero(unknown)} examples. Each counts "
            "as an error of it: if they are labels of y by other names, the difference is not "
            "valid."
        ]

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse counts of other examples."""
        if self.evidence["n_samples"] != n_samples:
            raise ValueError(f"the evidence on {self.name!r} must be of all {n_samples} examples.")
        errors = vote.evidence.get("vote_errors", n_samples)
        if self.evidence["only_new_errs"] > errors:
            raise ValueError(
                f"the evidence on {self.name!r} must have at most the {errors} errors of the new "
                f"classifier, got {self.evidence['only_new_errs']}."
            )

    def claims(self, vote: Vote) -> list[Claim]:
        """Return the claim on the difference."""
        self.check_vote(vote)
        only_new, only_old, m = (self.evidence[name] for name in _COUNTS)
        limit = _limit(only_new, only_old, m, vote.tested_at(self.delta))
        old = quoted(self.old)
        text = f"It errs with a probability at most {format_up(limit)} above that of {old}."
        if limit < 0.0:
            text = (
                f"It errs less often than {old}, with a probability lower by at least "
                f"{format_down(-limit)}."
            )
        return [Claim(self.name, text, limit, evidence=dict(self.evidence), delta=self.delta)]


def _refuse_other_spellings(name: str, answers: set[Any], labels: set[Any]) -> None:
    """Refuse answers that are labels but for case and blanks: they would count as errors."""
    known = {str(label).strip().casefold(): label for label in labels}
    for answer in sorted(answers - labels, key=str):
        label = known.get(str(answer).strip().casefold())
        if label is not None:
            raise ValueError(
                f"{name} must be labels as y has them, got {answer!r} where y has {label!r}: each "
                "would count as an error of that classifier. Write both alike."
            )


def _limit(only_new: int, only_old: int, m: int, delta: float) -> float:
    """Return the upper limit of the difference of the risks, rounded up."""
    one = only_new + only_old
    share = clopper_pearson(only_new, one, (1.0 - _RATE) * delta) if one else 1.0
    if share >= 0.5:
        return round_up(clopper_pearson(one, m, _RATE * delta) * (2.0 * share - 1.0))
    rate = below(1.0 - clopper_pearson(m - one, m, _RATE * delta))
    return -below(rate * (1.0 - 2.0 * share))
