"""The neighbours of the number: what was observed, and what always answering one class would do."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from .._utils.comparing import close
from .._utils.formatting import format_confidence, format_down, format_up
from .._utils.validation import check_choice
from ..bounds.binomial import clopper_pearson, improbable
from ..bounds.parameters import check_delta
from ..claims.base import Outcome
from ..labels import classes_by_name, most_frequent
from .errors import CertificateError

__all__ = ["GIVEN", "PART_A", "SAMPLE", "Neighbours"]

# What follows from the counts.
_DERIVED = ("observed", "interval", "baseline_error", "p_value", "better")
# Where the class came from that the baseline always answers.
PART_A, GIVEN, SAMPLE = "part A", "given", "sample"
_WORDS = {
    PART_A: "the most frequent class of the training rows",
    GIVEN: "the class named beforehand",
    SAMPLE: "the most frequent class of these examples",
}


@dataclass(frozen=True)
class Neighbours:
    """What stands beside a certificate, so that a reader can tell whether its number is good.

    They describe. Only the comparison with the baseline is a claim, and one that holds by itself:
    not at once with the certificate.

    Attributes
    ----------
    errors, n_samples : int
        On how many of the certification examples the vote erred.
    baseline : str
        The class that the baseline always answers.
    baseline_from : str
        ``"part A"``: the most frequent class of the training rows; ``"given"`` by the user;
        ``"sample"``: the most frequent class of the certification examples, which describes only.
    baseline_errors : int
        On how many of these examples the baseline erred.
    only_vote_errs, only_baseline_errs : int
        On how many of them one of both erred, and the other did not.
    delta : float
        The probability that the interval, and the test, may fail, each by itself.
    fixed : bool
        Whether the weights of the vote were fixed before these examples. If not there is neither
        an interval nor a test: the errors are those on the examples that it was learned from.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify
    >>> y = np.arange(100) % 4 == 0
    >>> for line in certify(np.zeros(100, dtype=bool), y).neighbours.sentences:
    ...     print(line)
    Observed: 25 errors on 100 examples, 0.2500; 95% interval 0.1687 to 0.3466.
    Baseline: always 'False', the most frequent class of these examples: 25 errors, 0.2500.
    On these examples it errs as often as the baseline.
    """

    errors: int
    n_samples: int
    baseline: str
    baseline_from: str
    baseline_errors: int
    only_vote_errs: int
    only_baseline_errs: int
    delta: float
    fixed: bool

    def __post_init__(self) -> None:
        """Refuse counts that no examples give."""
        if not isinstance(self.baseline, str):
            raise CertificateError(f"baseline must be a text, got {self.baseline!r}.")
        if not isinstance(self.fixed, bool):
            raise CertificateError(f"fixed must be true or false, got {self.fixed!r}.")
        check_choice("baseline_from", self.baseline_from, tuple(_WORDS))
        check_delta(self.delta)
        names = ("errors", "baseline_errors", "only_vote_errs", "only_baseline_errs", "n_samples")
        counts = [getattr(self, name) for name in names]
        if not all(type(count) is int and count >= 0 for count in counts):
            raise CertificateError(f"neighbours must be counts, got {counts}.")
        errors, others, mine, theirs, m = counts
        both = errors - mine
        if both != others - theirs or both < 0 or both + mine + theirs > m:
            raise CertificateError(
                "neighbours must be counts of the same examples, got "
                + ", ".join(f"{name}={count}" for name, count in zip(names, counts, strict=True))
                + "."
            )

    @classmethod
    def count(cls, outcome: Outcome, delta: float, fixed: bool) -> "Neighbours":
        """Return the neighbours of a vote, by which examples it errs on."""
        y, wrong, known = outcome.y, outcome.wrong, outcome.baseline
        label, origin = (most_frequent(y), SAMPLE) if known is None else known
        others = _other_than(label, y)
        called = classes_by_name(y)
        return cls(
            errors=int(np.count_nonzero(wrong)),
            n_samples=len(y),
            baseline=next((name for name, own in called.items() if own == label), str(label)),
            baseline_from=origin,
            baseline_errors=int(np.count_nonzero(others)),
            only_vote_errs=int(np.count_nonzero(wrong & ~others)),
            only_baseline_errs=int(np.count_nonzero(others & ~wrong)),
            delta=float(delta),
            fixed=bool(fixed),
        )

    @property
    def observed(self) -> float:
        """The share of errors on the certification examples."""
        return self.errors / self.n_samples

    @property
    def interval(self) -> tuple[float, float] | None:
        """The two-sided interval of the error at 1 − delta, rounded outwards; None if not fixed."""
        if not self.fixed:
            return None
        k, m, half = self.errors, self.n_samples, self.delta / 2.0
        return max(0.0, 1.0 - clopper_pearson(m - k, m, half)), clopper_pearson(k, m, half)

    @property
    def baseline_error(self) -> float:
        """The share of errors of the baseline on the same examples."""
        return self.baseline_errors / self.n_samples

    @property
    def _testable(self) -> bool:
        return self.fixed and self.baseline_from != SAMPLE

    @property
    def p_value(self) -> float | None:
        """``P(Bin(b+c, ½) ≤ b)`` of the sign test against the baseline; None if there is none."""
        if not self._testable:
            return None
        b, c = self.only_vote_errs, self.only_baseline_errs
        # What is too small for a float is above 0 all the same.
        return max(float(bdtr(b, b + c, 0.5)), 1e-300) if b + c else 1.0

    @property
    def better(self) -> bool | None:
        """Whether the vote is better than the baseline, by that test at delta."""
        if not self._testable:
            return None
        b, c = self.only_vote_errs, self.only_baseline_errs
        return bool(improbable(b, b + c, 0.5, self.delta)) if b + c else False

    @property
    def sentences(self) -> tuple[str, ...]:
        """The neighbours in words, one line each."""
        observed = f"Observed: {_errors(self.errors)} on {self.n_samples} examples, "
        observed += f"{self.observed:.4f}"
        if self.interval is None:
            observed += ", which the weights were learned from."
        else:
            low, high = self.interval
            confidence = format_confidence(self.delta)
            observed += f"; {confidence} interval {format_down(low)} to {format_up(high)}."
        baseline = (
            f"Baseline: always {self.baseline!r}, {_WORDS[self.baseline_from]}: "
            f"{_errors(self.baseline_errors)}, {self.baseline_error:.4f}."
        )
        p_value = self.p_value
        if self.errors >= self.baseline_errors:
            more = "more often than" if self.errors > self.baseline_errors else "as often as"
            return observed, baseline, f"On these examples it errs {more} the baseline."
        if p_value is None:
            return observed, baseline
        shown = "shown" if self.better else "not shown"
        test = f"(sign test, p ≤ {format_up(p_value)}; a claim by itself)."
        return observed, baseline, f"Better than the baseline: {shown} {test}"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and what follows from them, as plain Python objects."""
        derived = {name: getattr(self, name) for name in _DERIVED}
        if derived["interval"] is not None:
            derived["interval"] = list(derived["interval"])
        return {**asdict(self), **derived}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Neighbours":
        """Return the neighbours that `to_dict` wrote; what does not follow from them is refused."""
        own = {name: fields[name] for name in cls.__dataclass_fields__ if name in fields}
        if set(fields) != {*cls.__dataclass_fields__, *_DERIVED}:
            raise CertificateError(
                "neighbours must be an object with the names "
                f"{', '.join([*cls.__dataclass_fields__, *_DERIVED])}."
            )
        neighbours = cls(**own)
        for name, value in neighbours.to_dict().items():
            if not close(fields[name], value):
                raise CertificateError(
                    f"neighbours.{name} is claimed to be {fields[name]!r}, but is {value!r}."
                )
        return neighbours


def _errors(count: int) -> str:
    return f"{count} error" + "s" * (count != 1)


def _other_than(label: Any, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which labels are another one: of objects one by one, as numpy cuts nulls off a text."""
    if y.dtype.kind == "O":
        return np.fromiter((bool(own != label) for own in y), dtype=np.bool_, count=len(y))
    others = np.asarray(y != label)
    # Numpy does not compare what is of two kinds.
    return others if others.shape == y.shape else np.ones(len(y), dtype=np.bool_)
