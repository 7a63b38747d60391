"""What is looked for that throws doubt on a certificate: found, or not found, it is said there.

None of the findings is proof, and without any nothing is proved: that the examples are independent
draws, and new to the voters, stays an assumption.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples

from .._utils.spelling import groups_alike
from ..voters import Voters, inner_data, inner_estimator, joined_of, predictions
from ._fingerprints import SeenRows, alike_rounded, is_hardly_chance, row_fingerprints

__all__ = [
    "DUPLICATES",
    "ENOUGH",
    "LATER",
    "MODEL",
    "TOO_MANY_TWINS",
    "TOPICS",
    "TRAINING_ROWS",
    "VALUES",
    "Examination",
    "alike_groups",
    "beginning",
    "copies",
    "difference",
    "errors_in_time",
    "failed_members",
    "known_groups",
    "left_out_members",
    "may_differ",
    "remembers_bags",
    "rounded_copies",
    "rounded_rows",
    "seen_by_votes",
    "training_rows",
    "twins",
    "twins_of_bags",
    "unknown_labels",
    "unseen_classes",
]

# What a check is about, as a certificate calls it.
DUPLICATES, TRAINING_ROWS, MODEL, VALUES, LATER = TOPICS = (
    "duplicates",
    "training rows",
    "model",
    "values",
    "later rows",
)

# Twins of training rows above this share of part B are hardly chance where rows are rich.
TOO_MANY_TWINS = 0.1
# So few rows that come again, or such a share of them, change no certificate much.
_FEW_REPEATS, _SMALL_SHARE = 5, 0.01
# So many rows are like those of the fit when rounded by chance, at most.
_ALIKE = 0.02
# By how many standard errors in-bag error must be below out-of-bag error: on new rows there is no
# difference but by chance.
_STANDARD_ERRORS = 5.0
# Errors in time are looked for from so many rows on, and errors of any kind in no more than these.
_FEW_ROWS, ENOUGH = 50, 20_000


@dataclass
class Examination:
    """What was found, as sentences, and what was looked for and not found, by topic."""

    findings: list[str] = field(default_factory=list)
    checks: dict[str, str] = field(default_factory=dict)

    def look(self, topic: str, found: list[str], cleared: str | None) -> None:
        """Note what was found, or else that it was not; nothing if there was nothing to look at."""
        self.findings += found
        if not found and cleared is not None:
            self.checks[topic] = cleared


def failed_members(voters: Voters) -> list[str]:
    """Tell of members of mixed voters that could not be trained, and do not vote."""
    joined = joined_of(voters.groups)
    failed = {} if joined is None else joined.failed
    return [
        f"{name} is left out of the mixed voters, as it cannot be trained on this data or cannot "
        f"predict it ({reason})."
        for name, reason in failed.items()
    ]


def left_out_members(voters: Voters) -> str | None:
    """Tell of members of mixed voters that are not for such data, by a rule known beforehand."""
    joined = joined_of(voters.groups)
    if joined is None or not joined.left_out:
        return None
    told = "; ".join(f"{name}, as {reason}" for name, reason in joined.left_out.items())
    return f"left out of the mixed voters: {told}."


def seen_by_votes(
    look: Examination, voters: Any, X: Any, names: NDArray[Any] | None = None
) -> None:
    """Refuse, or note, rows that a vote of this library inside of these voters was fitted on.

    `names` are those of their groups, if they have any.
    """
    for voter in voters if isinstance(voters, list | tuple) else [voters]:
        inner = inner_estimator(voter)
        known_share = getattr(inner, "known_share", None)
        if known_share is None:
            continue
        rows = inner_data(voter, X)
        look.look(TRAINING_ROWS, *already_seen(known_share(rows), _num_samples(X)))
        seen = getattr(inner, "_seen", None)
        if isinstance(seen, SeenRows):
            rounded_rows(look, seen, rows, row_fingerprints(rows))
            known_groups(look, seen, names)


def already_seen(share: float, m: int) -> tuple[list[str], str]:
    """Return what is found of rows that a vote was fitted on, and refuse many of them."""
    found = (
        f"{share:.1%} of these examples were in the data that this vote was fitted on: certify "
        "needs new data. The certificate of the fit is certificate_."
    )
    if share > TOO_MANY_TWINS:
        raise ValueError(found)
    cleared = f"None of the {m} rows is known from the fit, compared to seven digits."
    return [found] if share > 0.0 else [], cleared


def rounded_rows(look: Examination, seen: SeenRows, X: Any, rows: NDArray[np.uint64]) -> None:
    """Note rows that a vote was fitted on but for rounding, and that there are hardly any."""
    told = seen.known_rounded(X, rows)
    if told is None:
        return
    known, columns, digits = told
    where = f"{columns} column{'s' if columns > 1 else ''} of broken numbers"
    to = f"{digits} digit{'s' if digits > 1 else ''}"
    if known > max(_ALIKE * len(rows), seen.rounded_by_chance(len(rows))):
        text = (
            f"{known} of the {len(rows)} rows are like rows of the fit when rounded to {to} in "
            f"{where}, and hardly two rows of the fit are so. If they are the same, written in "
            "another precision, the certificate is not valid."
        )
        look.findings.append(text)
        look.checks.pop(TRAINING_ROWS, None)
    elif TRAINING_ROWS in look.checks:
        alike = f"{known or 'none'} {'are' if known > 1 else 'is'} like one of these"
        look.checks[TRAINING_ROWS] += f" Rounded to {to} in {where}, {alike}."


def known_groups(look: Examination, seen: SeenRows, names: NDArray[Any] | None) -> None:
    """Note groups that are called like those that a vote was fitted on, and that there are none."""
    if not seen.in_groups:
        return
    if names is None:
        found = (
            "This vote was fitted on rows in groups, and these examples have none: each counts as "
            "an independent draw. If several are of one group, or some of a group of the fit, the "
            "certificate is not valid: say which belong together by groups (--group)."
        )
    elif known := seen.known_groups(names):
        found = (
            f"{known} of the {len(names)} groups that certify {'is' if known == 1 else 'are'} "
            "called like a group of the data that this vote was fitted on. If they are the same, "
            "they are not new to it and the certificate is not valid: leave them out. If names or "
            "numbers were given anew, they tell nothing."
        )
    else:
        if TRAINING_ROWS in look.checks:
            look.checks[TRAINING_ROWS] += f" Nor is one of the {len(names)} groups, by its name."
        return
    look.findings += [found] if found not in look.findings else []


def alike_groups(names: NDArray[Any] | None, said: Mapping[str, Any]) -> list[str]:
    """Say if groups with these names, of which a provenance says more, are spelled alike."""
    if names is None or names.dtype.kind not in "OUS":
        return []
    return groups_alike(said["grouped_by"], map(str, names.tolist()))


def beginning(X: Any, unlabelled: Any) -> list[str]:
    """Say if rows that certify are among those that tell where testing begins; refuse many.

    Where their own shares choose the level, the number of errors above it is not binomial.
    """
    share = max(_share_known(X, unlabelled), _share_known(unlabelled, X))
    found = (
        f"Examples that certify are among the unlabelled ones ({share:.1%} of one or the other): "
        "unlabelled must hold other examples, or the certificate is not valid."
    )
    if share > TOO_MANY_TWINS:
        raise ValueError(found)
    return [found] if share > 0.0 else []


def _share_known(X: Any, among: Any) -> float:
    """Return which share of rows are among others, as far as rows tell examples apart."""
    seen = SeenRows()
    seen.add(row_fingerprints(among))
    return float(seen.known(X, row_fingerprints(X)).mean())


def twins(look: Examination, X: Any, rows_a: NDArray[Any], rows_b: NDArray[Any]) -> None:
    """Say if many rows of part B are in part A too, and are too rich for that to be chance."""
    shared = int(np.isin(rows_b, rows_a).sum())
    rows = np.concatenate([rows_a, rows_b])
    found = []
    if _many(shared, len(rows_b)) and is_hardly_chance(X, rows):
        found.append(
            f"{shared} of the {len(rows_b)} certification examples have a twin among the "
            "examples that train the voters. If rows were copied (oversampling, several rows of "
            "one subject), the certificate is not valid."
        )
    equal = (
        "None of them is" if shared == 0 else f"{shared} of them {'is' if shared == 1 else 'are'}"
    )
    cleared = (
        f"{len(rows_b)} certification rows were looked for among {len(rows_a)} training rows. "
    )
    look.look(TRAINING_ROWS, found, f"{cleared}{equal} there.")
    if not found:
        look.checks[DUPLICATES] = _repeats(rows)


def errors_in_time(losses: NDArray[np.bool_]) -> list[str]:
    """Say if errors follow one another, on rows in the order of time."""
    before, after = (losses.mean(axis=1)[some] for some in (slice(-1), slice(1, None)))
    spread = float(before.std() * after.std())
    if len(losses) < _FEW_ROWS or spread == 0.0:
        return []
    correlation = float(np.mean((before - before.mean()) * (after - after.mean()))) / spread
    if correlation * np.sqrt(len(after)) < _STANDARD_ERRORS:
        return []
    return [
        f"Errors follow one another in time: from one certification row to the next they have a "
        f"correlation of {correlation:.2f}. The rows are not independent, and the limit is too "
        "small: take rows so far apart in time that errors do not follow one another."
    ]


def twins_of_bags(look: Examination, X: Any, rows: NDArray[np.uint64]) -> None:
    """Say if many rows come again that are too rich for that to be chance: in a bag and outside."""
    distinct, times = np.unique(rows, return_counts=True)
    twinned = int(times[times > 1].sum())
    found = []
    if _many(rows.size - distinct.size, rows.size) and is_hardly_chance(X, rows):
        found.append(
            f"{twinned / rows.size:.0%} of the rows have a twin: voters are tested on rows whose "
            "twins trained them. If rows were copied (oversampling, several rows of one subject), "
            "the certificate is not valid."
        )
    look.look(DUPLICATES, found, _repeats(rows))


def copies(look: Examination, X: Any, rows: NDArray[np.uint64]) -> None:
    """Say if rows repeat that are too rich for that to be chance."""
    distinct = np.unique(rows).size
    found = []
    if _many(rows.size - distinct, rows.size) and is_hardly_chance(X, rows):
        found.append(
            f"Rows come several times among the certification examples: {distinct} of {rows.size} "
            "are different. If they were copied, the certificate is not valid."
        )
    look.look(DUPLICATES, found, _repeats(rows))


def rounded_copies(look: Examination, X: Any, beside: list[str]) -> None:
    """Say if rows come again but for rounding, where nothing else was found of how they belong.

    That is copies as they are, or what is found of rows `beside` each other, which is noted here.
    """
    look.findings += beside
    if beside or DUPLICATES not in look.checks:
        return
    m = _num_samples(X)
    alike = alike_rounded(X, _oversight(m))
    if alike is None:
        return
    where = f"{alike.columns} column{'s' if alike.columns > 1 else ''} of broken numbers"
    look.findings.append(
        f"{alike.rows} of {m} rows are like another one when rounded to one part in "
        f"{2 ** (alike.bits + 1)} in {where}, as independent draws would not be. If the table was "
        "joined with a copy of itself in another precision, or several rows are of one subject, "
        "the certificate is not valid."
    )
    del look.checks[DUPLICATES]


def _oversight(m: int) -> int:
    """Return how many of m rows may repeat by an oversight that changes no number."""
    return max(_FEW_REPEATS, int(_SMALL_SHARE * m))


def _many(repeated: int, m: int) -> bool:
    """Tell whether more rows repeat than may be an oversight that changes no number."""
    return repeated > _oversight(m)


def _repeats(rows: NDArray[np.uint64]) -> str:
    distinct = np.unique(rows).size
    if distinct == rows.size:
        return f"All {rows.size} rows are different."
    return f"{distinct} of {rows.size} rows are different, the others are equal to one of these."


def unseen_classes(y_a: NDArray[Any], y_b: NDArray[Any]) -> list[str]:
    """Say if part B has classes that part A has not."""
    unseen = np.setdiff1d(np.unique(y_b), np.unique(y_a))
    if not unseen.size:
        return []
    names = ", ".join(map(repr, unseen[:8].tolist())) + (", …" if unseen.size > 8 else "")
    return [f"Part B has examples of {names}, which part A has not: the voters err on all of them."]


def unknown_labels(y: NDArray[Any], unknown: NDArray[np.bool_]) -> list[str]:
    """Say if there are labels that a fitted vote has never seen."""
    if not unknown.any():
        return []
    return [
        "y has labels that the classifier has never seen, such as "
        f"{y[unknown][:1].tolist()[0]!r}, on {np.count_nonzero(unknown)} examples."
    ]


def remembers_bags(voters: Any, m: int) -> bool:
    """Tell whether an ensemble knows which rows each member was trained on, of no more than m."""
    inner = inner_estimator(voters)
    bags = getattr(inner, "estimators_samples_", None)
    if bags is None or not is_classifier(inner):
        return False
    return max(int(np.max(bag)) for bag in bags) < m


def training_rows(voters: Any, losses: NDArray[np.bool_]) -> list[str]:
    """Say if frozen voters err far less on the rows that were in their bags."""
    if not remembers_bags(voters, len(losses)):
        return []
    bags = inner_estimator(voters).estimators_samples_
    if len(bags) > losses.shape[1]:
        return []
    # An ensemble that grew (warm_start) remembers the bags of its last members only.
    losses = losses[:, losses.shape[1] - len(bags) :]
    in_bag = np.zeros(losses.shape, dtype=np.bool_)
    for voter, bag in enumerate(bags):
        in_bag[bag, voter] = True
    inside, outside = in_bag.sum(axis=1), (~in_bag).sum(axis=1)
    both = (inside > 0) & (outside > 0)
    if both.sum() < 2:
        return []
    error_inside = (losses & in_bag).sum(axis=1)[both] / inside[both]
    error_outside = (losses & ~in_bag).sum(axis=1)[both] / outside[both]
    gap = error_outside - error_inside
    spread = float(gap.std()) / np.sqrt(gap.size)
    if float(gap.mean()) <= _STANDARD_ERRORS * spread:
        return []
    return [
        "The frozen voters seem to have been trained on these very examples: they err on "
        f"{error_inside.mean():.1%} of those in their bags and on {error_outside.mean():.1%} of "
        "the others. A certificate from data that the voters have seen is not valid."
    ]


def may_differ(model: Any) -> list[str]:
    """Say that a vote of members may answer otherwise than a model, where this was not counted."""
    return [
        f"The vote of its members may answer otherwise than the "
        f"{type(inner_estimator(model)).__name__} itself: on how many examples was not counted. "
        "The claim is about the vote."
    ]


def difference(model: Any, X: Any, predicted: NDArray[Any]) -> list[str]:
    """Say on how many examples the vote of its members answers otherwise than a model itself."""
    name = type(inner_estimator(model)).__name__
    try:
        own = predictions(model, X)
    except Exception as error:  # whatever a model of other people raises
        return [
            f"The vote of its members could not be compared with the {name} itself, which raises "
            f"{type(error).__name__}: {error} The claim is about the vote."
        ]
    other = np.count_nonzero(own != predicted)
    if not other:
        return []
    return [
        f"The vote of its members answers otherwise than the {name} itself on {other} of "
        f"{len(own)} examples. The claim is about the vote. For one about the classifier, certify "
        "it as it is."
    ]
