"""Answering only where the vote is sure enough: fixed-sequence tests of one level after the other.

Given how many examples are answered at a level, the errors among them are binomial. Levels are
fixed beforehand and tested from the strictest that has any power on, each at the same δ, up to the
first that fails: the first level of too large an error is passed with probability at most δ, and
none after it is reached before. So the last one passed holds, at no price for their number.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._utils.comparing import close
from .._utils.validation import check_number
from ..bounds import clopper_pearson
from ..bounds.binomial import improbable
from ..voting import TIE
from .base import Claim, Family, Outcome, Vote, at_least, below, check_part, exactly

__all__ = [
    "AT_ITS_WORD",
    "PART_A",
    "PILOT",
    "SHARES",
    "UNLABELLED",
    "AbstainFamily",
    "answered",
]

# The levels of shares of a vote: whoever wins of two has at least half. The last is reached by all,
# but where nobody has an opinion: that is no answer, and votes which may be so lack that level.
SHARES = tuple(step / 100 for step in range(100, -1, -1))
# How many levels scores of other kinds have, by the reference that the start is found on.
_STEPS = 51
# Below all scores.
_ALL = -1e300
# The part of δ of the test; the rest is that of the coverage.
_TEST = 0.9
# The first level is where so many times the fewest examples are expected that could pass.
_POWER = 1.2
_PILOT_SHARE = 0.1
# What the start was found on.
UNLABELLED, PART_A, PILOT = "unlabelled rows", "part A", "a pilot"
_STARTS = (UNLABELLED, PART_A, PILOT)
# What is not checked without these rows: a start that was chosen on the sample would be none.
AT_ITS_WORD = (
    "at which level testing began, which was taken at its word: that takes the rows that it was "
    "found on"
)
# If none passes, more rows than so many times these are not looked for.
_FAR = 1e6


def answered(scores: NDArray[np.float64], level: float | None) -> NDArray[np.bool_]:
    """Return which examples are answered at a level: none if there is no level."""
    if level is None:
        return np.zeros(len(scores), dtype=np.bool_)
    return np.asarray(scores >= level - TIE)


@dataclass(frozen=True)
class AbstainFamily(Family):
    """The error where the vote answers, at the lowest level that shows it to be small enough.

    Parameters
    ----------
    delta : float
        Its part of δ: nine tenths for the error, a tenth for the share that is answered.
    evidence : dict
        At each level how many examples are answered, how many of these wrongly, and how many
        examples there are.
    target : float
        How often an answer may be wrong.
    levels : sequence of float, default=None
        The levels, from the strictest to one that all examples reach; found before the test.
    start : int, default=None
        The number of the level at which testing begins.
    start_from : str, default=None
        What the start was found on: other rows than those that test.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify
    >>> rng = np.random.default_rng(0)
    >>> y, hard = rng.integers(2, size=(2, 4000))
    >>> wrong = rng.random((4000, 25)) < np.where(hard, 0.4, 0.1)[:, None]
    >>> certificate = certify(np.where(wrong, 1 - y[:, None], y[:, None]), y, abstain=0.01)
    >>> for claim in certificate.claims:
    ...     print(claim.statement)
    It errs on a new example with probability at most 0.0796.
    Where it answers, at a winning share of at least 0.65, it errs with probability at most 0.01.
    The share of the examples to come that it answers is at least 0.6075.
    """

    kind: ClassVar[str] = "abstain"
    needs_scores: ClassVar[bool] = True

    delta: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)
    target: float = 0.0
    levels: Sequence[float] | None = None
    start: int | None = None
    start_from: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no sequence of tests."""
        check_part(self.delta)
        target = check_number("the target of abstaining", self.target, 0.0, 1.0)
        if not 0.0 < target < 1.0:
            raise ValueError(
                f"abstain must be how often an answer may be wrong, in (0, 1), got {target!r}."
            )
        object.__setattr__(self, "target", target)
        if self.levels is None:
            if self.evidence or self.start is not None or self.start_from is not None:
                raise ValueError("abstaining must have levels where it has evidence or a start.")
            return
        levels = [check_number("a level", level, _ALL, -_ALL) for level in self.levels]
        if not levels or any(one <= two for one, two in pairwise(levels)):
            raise ValueError("the levels of abstaining must fall.")
        object.__setattr__(self, "levels", levels)
        if type(self.start) is not int or not 0 <= self.start < len(levels):
            raise ValueError(f"start must be the number of a level, got {self.start!r}.")
        if self.start_from not in _STARTS:
            raise ValueError(f"start_from must be one of {', '.join(_STARTS)}.")
        if self.evidence:
            self._check_evidence(len(levels))

    def _check_evidence(self, n_levels: int) -> None:
        names = ("n_samples", "pilot", "answered", "errors")
        if set(self.evidence) != set(names):
            raise ValueError(f"the evidence on abstaining must be {', '.join(names)}.")
        m, pilot, accepted, errors = (self.evidence[name] for name in names)
        counts = [m, pilot, *accepted, *errors]
        if any(type(count) is not int or count < 0 for count in counts) or m < 1:
            raise ValueError(f"the evidence on abstaining must be counts, got {counts!r}.")
        fine = len(accepted) == len(errors) == n_levels and accepted[-1] <= m
        fine = fine and (accepted[-1] == m or not self.reaches_all(-1))
        for one in (accepted, errors, [a - k for a, k in zip(accepted, errors, strict=False)]):
            fine = fine and sorted(one) == list(one) and one[0] >= 0
        if not fine or (pilot > 0) != (self.start_from == PILOT):
            raise ValueError(
                "the evidence on abstaining must be counts at all levels, that grow up to at most "
                f"{m} examples, beside a pilot or none."
            )

    def reaches_all(self, number: int) -> bool:
        """Tell whether no example that is answered at all can be below a level."""
        assert self.levels is not None
        return self.levels[number] == _ALL or (self._of_shares and self.levels[number] == 0.0)

    @property
    def _of_shares(self) -> bool:
        """Whether the levels are of shares: those of other scores end below all."""
        return self.levels is not None and set(self.levels) <= set(SHARES)

    # --- counting --------------------------------------------------------------------------------

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return this family with the evidence that a sample gives."""
        self.check_vote(vote)
        if outcome.scores is None:
            raise ValueError(
                "abstain needs to know how sure each answer is: the shares of a vote, or a "
                "classifier with predict_proba or decision_function."
            )
        scores, wrong = outcome.scores.values, outcome.wrong
        tests = np.ones(len(scores), dtype=np.bool_)
        reference, origin = outcome.scores.reference, outcome.scores.origin
        known = self.start_from not in (None, PILOT) and reference is None
        if reference is None and not known:
            # A tenth of the rows, whatever their order: they do not test.
            order = np.random.RandomState(0).permutation(len(scores))
            tests[order[: math.ceil(_PILOT_SHARE * len(scores))]] = False
            reference, origin = scores[~tests], PILOT
        own = self if known else self._started(outcome, vote, reference, origin, int(tests.sum()))
        assert own.levels is not None
        if outcome.silent is not None and own.reaches_all(-1):
            raise ValueError(
                "the levels of abstaining must be above 0 where voters may have no opinion: where "
                "none has one, there is no answer."
            )
        masks = [answered(scores[tests], level) for level in own.levels]
        evidence = {
            "n_samples": int(tests.sum()),
            "pilot": int((~tests).sum()),
            "answered": [int(np.count_nonzero(mask)) for mask in masks],
            "errors": [int(np.count_nonzero(mask & wrong[tests])) for mask in masks],
        }
        return replace(own, evidence=evidence)

    def _started(
        self, outcome: Outcome, vote: Vote, reference: Any, origin: str | None, m: int
    ) -> Self:
        """Return this family with its levels, and where to start, by scores of other rows."""
        assert outcome.scores is not None
        levels: Sequence[float] = SHARES if outcome.silent is None else SHARES[:-1]
        if not outcome.scores.shares:
            quantiles = np.quantile(reference, np.linspace(1.0, 0.0, _STEPS)[:-1])
            # In few digits, which a sentence can say in full.
            rounded = {float(f"{quantile:.6g}") for quantile in quantiles.tolist()}
            levels = [*sorted(rounded, reverse=True), _ALL]
        fewest = math.log(self._test_delta(vote)) / math.log1p(-self.target)
        shares = np.array([np.mean(answered(reference, level)) for level in levels])
        # A small reference is not trusted by its word: less than it says, by a standard error.
        expected = m * (shares - np.sqrt(shares * (1.0 - shares) / len(reference)))
        enough = np.flatnonzero(expected >= _POWER * fewest).tolist()
        start = enough[0] if enough else len(levels) - 1
        return replace(self, levels=levels, start=start, start_from=origin)

    def unchecked(self, outcome: Outcome) -> str | None:
        """Return that the start is taken at its word, where the rows that it was found on lack."""
        found = outcome.scores is not None and outcome.scores.reference is not None
        if found or self.start_from in (None, PILOT):
            return None
        return f"{AT_ITS_WORD} ({self.start_from})"

    def _test_delta(self, vote: Vote) -> float:
        return vote.tested_at(_TEST * self.delta)

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Refuse counts of other examples than those of the certificate."""
        total = self.evidence["n_samples"] + self.evidence["pilot"]
        if total != n_samples:
            raise ValueError(f"abstaining must be tested on all {n_samples} examples, got {total}.")

    def agrees(self, found: Self) -> bool:
        """Tell whether levels, start and evidence are those which were found again."""
        return close(self.to_dict(), found.to_dict())

    # --- what follows ----------------------------------------------------------------------------

    def passed(self, vote: Vote) -> int | None:
        """Return the number of the last level that passed; None if the first did not."""
        assert self.start is not None
        delta, last = self._test_delta(vote), None
        accepted, errors = self.evidence["answered"], self.evidence["errors"]
        for i in range(self.start, len(accepted)):
            k, m = errors[i], accepted[i]
            if m == 0 or not bool(improbable(k, m, self.target, delta)):
                break
            last = i
        return last

    def level(self, vote: Vote) -> float | None:
        """Return the level at which the vote answers; None if it answers nowhere."""
        last = self.passed(vote)
        assert self.levels is not None
        return None if last is None else self.levels[last]

    def claims(self, vote: Vote) -> list[Claim]:
        """Return the claims on the error where it answers, and on how often it does."""
        self.check_vote(vote)
        last, m = self.passed(vote), self.evidence["n_samples"]
        assert self.levels is not None
        assert self.start is not None
        part = _TEST * self.delta
        if last is None:
            text = f"Nowhere is it shown to err with probability at most {self.target!r}."
            text += self._rows_needed(vote)
            nothing = Claim("error when it answers", text, 1.0, None, dict(self.evidence), part)
            return [nothing, Claim("coverage", "It answers nowhere.", None, 0.0, {}, 0.0)]
        if self.reaches_all(last):
            where = "It need not abstain: on all examples"
        else:
            what = "winning share" if self._of_shares else "score"
            where = f"Where it answers, at a {what} of at least {exactly(self.levels[last])},"
        text = f"{where} it errs with probability at most {self.target!r}."
        error = Claim("error when it answers", text, self.target, None, dict(self.evidence), part)
        # The level was chosen on the sample: the limit holds for all that might have been.
        delta = vote.tested_at((self.delta - part) / (len(self.levels) - self.start))
        number = self.evidence["answered"][last]
        low = 1.0 if self.reaches_all(last) else 0.0
        low = low or below(1.0 - clopper_pearson(m - number, m, delta))
        text = f"The share of the examples to come that it answers is {at_least(low)}"
        counts = {"answered": number, "n_samples": m}
        return [error, Claim("coverage", text, None, low, counts, self.delta - part)]

    def _rows_needed(self, vote: Vote) -> str:
        """Say how many rows would have shown it at a level, if they erred as these do."""
        delta, m = self._test_delta(vote), self.evidence["n_samples"]
        factors = []
        for number, k in zip(self.evidence["answered"], self.evidence["errors"], strict=True):
            if number and k < self.target * number:
                factors += [_factor(k, number, self.target, delta)]
        if not factors or min(factors) > _FAR:
            return " No number of examples would show it: it errs more often at every level."
        rows = math.ceil(min(factors) * m)
        if rows <= m:
            assert self.start is not None
            number, k = (self.evidence[name][self.start] for name in ("answered", "errors"))
            return (
                f" The first test was of the {number} examples that it is surest of, {k} of them "
                "wrong: more examples would be tested from a lower level on."
            )
        return f" About {rows} examples would show it at some level, if they err as these do."


def _factor(errors: int, number: int, target: float, delta: float) -> float:
    """Return how many times as many examples, with as many times the errors, would pass."""
    low, high = 0.0, 1.0
    while high <= _FAR and not improbable(errors * high, number * high, target, delta):
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = 0.5 * (low + high)
        passes = improbable(errors * middle, number * middle, target, delta)
        low, high = (low, middle) if passes else (middle, high)
    return high
