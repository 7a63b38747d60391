"""The counts behind a claim, for whoever shows it: in few words, and as a share."""

from typing import Any, NamedTuple

from .._utils.formatting import format_down, format_up
from .abstaining import AbstainFamily
from .base import Claim, Family, Vote

__all__ = ["Tally", "is_probability", "limits", "says_nothing", "tally"]

# Families of what is no probability.
_OTHERS = ("cost", "difference")
_FOLLOWS = {"recall": "follows from the classes", "shift": "follows from the error"}


class Tally(NamedTuple):
    """What was counted, in few words, and the claimed quantity on this sample, where known."""

    words: str = ""
    observed: float | None = None


def is_probability(family: Family) -> bool:
    """Tell whether what a family claims lies between 0 and 1, as an error, recall or F1 does."""
    return family.kind not in _OTHERS


def says_nothing(claim: Claim) -> bool:
    """Tell whether the limits of a probability leave every value of it possible."""
    return claim.upper in (None, 1.0) and claim.lower in (None, 0.0)


def limits(claim: Claim) -> tuple[str | None, str | None]:
    """Return the lower and the upper limit as text, as the sentence of the claim has them.

    They are rounded to the safe side, but for a limit that was asked for, which is what it is.
    """
    lower, upper = claim.lower, claim.upper
    low = None if lower is None else format_down(lower)
    if upper is None or claim.statement.endswith(f" {upper!r}."):
        return low, None if upper is None else repr(upper)
    return low, format_up(upper)


def tally(claim: Claim, family: Family, vote: Vote) -> Tally:
    """Return what was counted for one of the claims of a family."""
    counts = claim.evidence
    if isinstance(family, AbstainFamily):
        return _of_answers(counts, family.passed(vote))
    if family.kind == "f1":
        return _of_f1(counts)
    if family.kind == "cost":
        costly = counts["at_least"][0] if counts["at_least"] else 0
        return Tally(f"{costly} of {counts['n_samples']} cost something")
    if family.kind in _FOLLOWS and claim.lower is None:
        return Tally(_FOLLOWS[family.kind])
    return _of_part(claim, family, vote) if is_probability(family) else Tally()


def _of_part(claim: Claim, family: Family, vote: Vote) -> Tally:
    """Return the errors on a part of the examples; of learned weights only how many there are."""
    counts = claim.evidence
    if not counts:
        return Tally("no examples")
    if "vote_errors" in counts:
        errors, size = counts["vote_errors"], counts["vote_size"]
        error = errors / size
        return Tally(f"{errors} of {size} wrong", error if claim.lower is None else 1.0 - error)
    described = vote.bound_at(family.delta).described(counts)
    return Tally(f"{next(value for _, figure, value in described if figure.is_size)} examples")


def _of_f1(counts: dict[str, Any]) -> Tally:
    pairs = [(part["right"], part["true_or_answered"]) for part in counts.values()]
    scores = [2.0 * right / (right + size) if size else 0.0 for right, size in pairs]
    words = f"mean of {len(pairs)} classes"
    if len(pairs) == 1:
        words = f"{pairs[0][0]} of {pairs[0][1]} right, where it is true or answered"
    return Tally(words, sum(scores) / len(scores))


def _of_answers(counts: dict[str, Any], passed: int | None) -> Tally:
    if "errors" not in counts:
        number, size = counts.get("answered"), counts.get("n_samples")
        return Tally(f"{number} of {size} answered", number / size) if size else Tally()
    if passed is None:
        return Tally("no level passed its test")
    errors, size = counts["errors"][passed], counts["answered"][passed]
    return Tally(f"{errors} of {size} answers wrong", errors / size)
