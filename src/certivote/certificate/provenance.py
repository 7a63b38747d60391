"""How a certification sample came about, and what the claim assumes then."""

import json
import math
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from .._utils.validation import check_choice, check_count, check_number
from ..bounds import Bound
from ..statistics import Statistics, UnlabelledStatistics, kind_of
from ..statistics.base import check_name

__all__ = [
    "BAGS",
    "DATA_KEYS",
    "FEWEST_BY_PART_A",
    "FEWEST_BY_SAMPLE",
    "FEWEST_KEYS",
    "FROZEN",
    "FROZEN_BAGS",
    "MODEL",
    "NEW_DATA",
    "PRIOR_GIVEN",
    "PRIOR_LEARNED",
    "SPLIT",
    "TOPICS",
    "assumptions_of",
    "check_looks",
    "check_provenance",
    "check_sha256",
    "column_names",
    "facts_of",
    "group_columns",
    "group_words",
    "main_assumptions",
    "shown",
    "subject_of",
]

SPLIT = "part A of a random split"
FROZEN = "frozen, trained elsewhere"
NEW_DATA = "a fitted vote, certified on new data"
MODEL = "a classifier, as it is"
BAGS = "bags of the certification examples"
FROZEN_BAGS = "frozen, trained on bags of the certification examples"
# How a split is shown that was by time.
_EARLIER = "the earlier rows"

PRIOR_GIVEN = "given by the user"
PRIOR_LEARNED = "learned on part A"

# Where it was seen how few voters are enough.
FEWEST_BY_PART_A = "part A"
FEWEST_BY_SAMPLE = "the certification examples"

# Which file the data came from, and how it was read: who is given rows cannot know.
DATA_KEYS = frozenset({"data", "data_sha256", "target", "dropped", "categorical"})
DATA_KEYS |= {"na_values", "keep_na", "rows_without_label"}
# What there is only where voters were trained on part A, or where an estimator was fitted.
_OF_A_SPLIT = frozenset({"voter_samples", "seed", "certify_size", "frozen_parts"})
# What there is where a vote was made smaller: by how much its number may be worse, seen on what.
FEWEST_KEYS = ("fewest_within", "fewest_by")
_OF_BAGS = frozenset({"voters_from", "voter_samples", "prior", *FEWEST_KEYS})
_OF_A_FIT = frozenset({"added_samples", "look", "delta_of_all_looks", *FEWEST_KEYS})


def check_sha256(name: str, value: object) -> str:
    """Return a SHA-256 as it is written."""
    if not isinstance(value, str) or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise ValueError(f"{name} must be 64 hexadecimal digits, got {value!r}.")
    return value


def column_names(name: str, value: object) -> list[str]:
    """Return the names of columns, or texts, which are written as a list in JSON."""
    try:
        names = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(column, str) for column in names):
        raise ValueError(f"{name} must be a list of texts, got {value!r}.")
    return names


def group_columns(grouped_by: str) -> list[str]:
    """Return the columns that make a group: one, or several that are written as a list in JSON."""
    try:
        names = column_names("grouped_by", grouped_by)
    except ValueError:
        names = []
    return names if len(names) > 1 else [grouped_by]


def group_words(grouped_by: str) -> str:
    """Return what one group is in words: a value of one column, or a combination of several."""
    names = group_columns(grouped_by)
    return "combination of " * (len(names) > 1) + " and ".join(map(repr, names))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text, got {value!r}.")
    return value


def _columns(name: str, value: object) -> str:
    column_names(name, value)
    return str(value)


def _true(name: str, value: object) -> bool:
    if value is not True:
        raise ValueError(f"{name} must be true where it stands, got {value!r}.")
    return value


def _choice(*choices: str) -> Callable[[str, object], str]:
    def check(name: str, value: object) -> str:
        check_choice(name, _text(name, value), choices)
        return str(value)

    return check


def _seed(name: str, value: object) -> int | str:
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
        return int(value)
    return _text(name, value)


def _size(name: str, value: object) -> float:
    number = check_number(name, value, 0.0, math.inf)
    return int(number) if isinstance(value, Integral) else number


def _probability(name: str, value: object) -> float:
    return check_number(name, value, 0.0, 1.0)


_KEYS: dict[str, Callable[[str, object], Any]] = {
    "voters_from": _choice(SPLIT, FROZEN, NEW_DATA, MODEL, BAGS, FROZEN_BAGS),
    "positive": _text,
    "classifier": _text,
    "grouped_by": _text,
    "split_by_time": _text,
    "voter_samples": check_count,
    "seed": _seed,
    "certify_size": _size,
    "frozen_parts": check_count,
    "asked_again": check_count,
    "bag_size": _probability,
    "prior": _choice(PRIOR_GIVEN, PRIOR_LEARNED),
    "added_samples": check_count,
    "look": check_count,
    "delta_of_all_looks": _probability,
    "fewest_within": _probability,
    "fewest_by": _choice(FEWEST_BY_PART_A, FEWEST_BY_SAMPLE),
    "data": _text,
    "data_sha256": check_sha256,
    "target": _text,
    "dropped": _columns,
    "categorical": _columns,
    "na_values": _columns,
    "keep_na": _true,
    "rows_without_label": check_count,
}
# What statistics of any kind may say; each kind may say more.
_FACTS: dict[str, Callable[[str, object], Any]] = {
    "statistics": _text,
    "class": check_name,
    "group": check_name,
}

_NUMBER = (
    "How many certification examples there are was decided without looking at any of them, nor at "
    "a certificate of some of them."
)
_ONLY = (
    "This is the only certificate that was asked for, or it was chosen without looking at the "
    "others: the smallest of several holds only at the sum of their deltas."
)
_LOOK = (
    "This is number {look} of the certificates of one vote on a growing sample, each at "
    "{delta}/(k(k+1)) for its number k. All of these hold at once, with confidence 1 − {delta}: "
    "no other certificate is among them. The sizes of the batches were decided without looking at "
    "any of the examples, nor at certificates before: only when to stop may depend on these."
)
_ANYTIME = (
    "This is number {look} of the certificates of one vote on a growing sample. Those of all sizes "
    "hold at once: when to look, how many examples to add and when to stop may depend on anything. "
    "No example was left out or put elsewhere after it was seen, and the voters and the prior were "
    "fixed before the first one. No other certificate is among them."
)
_EXAMPLES = (
    "No example is there twice, by oversampling or because one subject gave several rows, and "
    "their order in time does not matter."
)
_SEARCH = (
    "A vote that a search around this classifier selected must be certified again on new data."
)
_CLASSIFIER = (
    "The classifier, and whatever prepares its data, was trained and chosen on other data, and "
    "will be what it is now."
)
_FOREST = (
    "The forest is the only one that was trained on these examples, or it was chosen without "
    "looking at them: its seed, its settings and the number of its members too."
)
_BY_ORIGIN = {
    SPLIT: (
        "Whatever looks at more than one row (scaling, feature selection, tuning) happened inside "
        "the voters, on part A, and not before the split.",
        "No other seed or size of the split was tried: keeping the best of several is a choice "
        "that looks at part B.",
        _EXAMPLES,
        _SEARCH,
    ),
    FROZEN: (
        "The frozen voters, and whatever prepares their data, were trained and chosen on other "
        "data.",
        _EXAMPLES,
        _SEARCH,
    ),
    BAGS: (
        "No other seed, size of the bags or kind of voters was tried: keeping the best of several "
        "is a choice that looks at the certification examples.",
        _EXAMPLES,
        _SEARCH,
    ),
    FROZEN_BAGS: (_FOREST, _EXAMPLES, _SEARCH),
    NEW_DATA: (_EXAMPLES,),
    MODEL: (
        _CLASSIFIER,
        "What it answers on an example does not depend on the examples beside, nor on chance.",
        _EXAMPLES,
    ),
}
_PRIOR = (
    "The prior was given by the user, who fixed it without looking at the certification examples."
)
_ROW_BY_ROW = (
    "What each voter answers on an example does not depend on the examples beside, nor on chance."
)
_FROZEN_PARTS = (
    "The frozen parts inside the voters were trained on other data than the certification examples."
)
_FILE = (
    "Whether a column holds numbers or categories was read off the whole file, and would be the "
    "same in any other such file."
)
_GROUPS = (
    "The {groups} were drawn independently of each other, like those to come, and none of "
    "those that certify was among those that train. Of each one row was drawn at random, with the "
    "recorded seed: the claim is about a row drawn so from a new {group}."
)
_PARTS = (
    "The parts of a new combination may have been there before, each with others: the claim is not "
    "about a new value of one of them."
)
_LATER = (
    "The latest rows by {name} certify: the claim holds for rows after them only if these could "
    "have come in any order with them."
)
_SUBJECT = (
    "All certification examples are of {subject}, and so are the examples to come that the claim "
    "is about. Of which ones it would be was decided without looking at the sample."
)

_CLAIMS = (
    "What is claimed besides, of which classes, groups, scores, costs, shifts, levels or "
    "differences to other classifiers, was decided without looking at the certification examples, "
    "and so were these groups and classifiers themselves."
)
_LOOK_1 = (
    "This is number {look} of the certificates of one vote on a growing sample, each at "
    "{delta}/(k(k+1)) for its number k. All of these hold at once, with confidence 1 − {delta}: "
    "no other certificate is among them. The sizes of the batches did not depend on certificates "
    "before."
)
# Certificates of the format's version 1 have these texts in the place of today's, or none.
_IN_VERSION_1 = {
    _NUMBER: None,
    _PRIOR: None,
    UnlabelledStatistics.assumption: (
        "The unlabelled examples were drawn independently as well, from the same distribution as "
        "the labelled ones, and the voters and the prior were fixed without looking at them either."
    ),
}


# What the checks of a certificate are about, by the assumption that each is on.
_ON_DRAWS = ("duplicates", "order in time", "identifiers", "values", "later rows")
_ON_VOTERS = ("training rows", "model")
TOPICS = (*_ON_DRAWS, *_ON_VOTERS)


def subject_of(provenance: Mapping[str, Any]) -> str:
    """Return which examples a claim is about, in words; nothing if it is about all."""
    if "class" in provenance:
        return f'class "{provenance["class"]}"'
    return f'the group "{provenance["group"]}"' if "group" in provenance else ""


def assumptions_of(
    provenance: Mapping[str, Any], weights: str, version: int = 2, several: bool = False
) -> tuple[str, ...]:
    """Return what must be true for a claim of this provenance to hold, or for several of them.

    `weights` is what the bound assumes of them, and the texts are those of a version of the format.
    """
    kind, subject = kind_of(provenance), subject_of(provenance)
    texts: list[str | None] = [_drawn(provenance), kind.voters_assumption, weights]
    if "look" not in provenance:
        texts.append(_NUMBER)
    texts.append(_choice_of_one(provenance, version))
    texts += _BY_ORIGIN.get(str(provenance.get("voters_from")), ())
    if provenance.get("prior") == PRIOR_GIVEN:
        texts.append(_PRIOR)
    if "frozen_parts" in provenance:
        texts.append(_FROZEN_PARTS)
    if "asked_again" in provenance:
        texts.append(_ROW_BY_ROW)
    if "data_sha256" in provenance:
        texts.append(_FILE)
    if "grouped_by" in provenance:
        texts = [text for text in texts if text != _EXAMPLES]
    if "split_by_time" in provenance:
        texts.append(_LATER.format(name=repr(provenance["split_by_time"])))
    texts += kind.assumptions(provenance)
    if subject:
        texts.append(_SUBJECT.format(subject=subject))
    if several:
        texts.append(_CLAIMS)
    if version == 1:
        texts = [_IN_VERSION_1.get(str(text), text) for text in texts]
    return tuple(text for text in texts if text is not None)


def main_assumptions(provenance: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the three that are most often untrue, each with the topics of the checks on it.

    They are among `assumptions_of`. A check may find that one is untrue, and never that it is true.
    """
    fixed = kind_of(provenance).voters_assumption
    if provenance.get("voters_from") == MODEL:
        fixed = _CLASSIFIER
    drawn = _drawn(provenance)
    if "split_by_time" in provenance:
        drawn = _LATER.format(name=repr(provenance["split_by_time"]))
    return (
        (drawn, _ON_DRAWS),
        (fixed, _ON_VOTERS),
        (_choice_of_one(provenance), ()),
    )


def _drawn(provenance: Mapping[str, Any]) -> str:
    """Return how the certification examples were drawn: each by itself, or what the kind says."""
    if "grouped_by" in provenance:
        names = group_columns(provenance["grouped_by"])
        of = " and ".join(map(repr, names))
        if len(names) == 1:
            return _GROUPS.format(groups=f"groups of {of}", group="group")
        text = _GROUPS.format(groups=f"combinations of {of}", group="combination")
        return f"{text} {_PARTS}"
    return kind_of(provenance).drawn_assumption


def _choice_of_one(provenance: Mapping[str, Any], version: int = 2) -> str:
    """Return how this certificate was chosen among all that were made, or looked at."""
    look, delta = provenance.get("look"), provenance.get("delta_of_all_looks")
    if look is None:
        return _ONLY
    if delta is None:
        return _ANYTIME.format(look=look)
    return (_LOOK_1 if version == 1 else _LOOK).format(look=look, delta=delta)


def shown(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance as it is shown: what was split by time was not split at random."""
    by_time = {"voters_from": _EARLIER} if "split_by_time" in provenance else {}
    return {**provenance, **by_time}


def facts_of(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a provenance the statistics said, checked."""
    said = {name: check for name, check in _FACTS.items() if name in provenance}
    own = {name: check(name, provenance[name]) for name, check in said.items()}
    return own | kind_of(provenance).check_facts(provenance)


def check_provenance(
    provenance: Mapping[str, Any], kind: type[Statistics], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a provenance of Python's own numbers and texts, and refuse an impossible one.

    The facts that only its kind of statistics has are checked already.
    """
    own = {**facts} | {
        name: check(name, provenance[name]) for name, check in _FACTS.items() if name in provenance
    }
    unknown = sorted(str(name) for name in set(provenance) - set(_KEYS) - set(own))
    if unknown:
        raise ValueError(f"provenance must not have {', '.join(unknown)}.")
    if "class" in own and "group" in own:
        raise ValueError("provenance must say either class or group: a claim is about one of them.")
    checked = {
        name: own[name] if name in own else _KEYS[name](name, value)
        for name, value in provenance.items()
    }
    origin = checked.get("voters_from")
    if origin is not None and (origin in (BAGS, FROZEN_BAGS)) != kind.from_bags:
        raise ValueError(
            f"provenance must not have statistics={kind.kind!r} where voters_from is {origin!r}."
        )
    if len(checked.keys() & set(FEWEST_KEYS)) == 1:
        raise ValueError(f"provenance must have {' and '.join(FEWEST_KEYS)} together.")
    if "grouped_by" in checked and "seed" not in checked:
        raise ValueError("provenance must say the seed of the draw, where there are groups.")
    misplaced = sorted(set(checked) - _possible(checked) - set(own))
    if misplaced:
        raise ValueError(
            f"provenance must not have {misplaced[0]}={checked[misplaced[0]]!r} where voters_from "
            f"is {origin!r}."
        )
    return checked


def _possible(provenance: Mapping[str, Any]) -> set[str]:
    """Return what a provenance may say where the voters came from where it says they did."""
    origin, grouped = provenance.get("voters_from"), "grouped_by" in provenance
    known = set(_KEYS)
    if origin in (NEW_DATA, MODEL):
        known = {"voters_from", "positive", "grouped_by", *DATA_KEYS}
        known |= {"seed"} if grouped else set()
        known |= {"classifier"} if origin == MODEL else {"asked_again"}
    elif origin in (BAGS, FROZEN_BAGS):
        known = {*_OF_BAGS, *DATA_KEYS, *(("seed", "bag_size") if origin == BAGS else ())}
    elif origin == SPLIT:
        known -= {"positive", "classifier", "bag_size"}
    else:
        known -= {"positive", "classifier", "split_by_time", "bag_size", *_OF_A_SPLIT}
        known -= {*_OF_A_FIT, "asked_again"} if origin != FROZEN else set()
        known |= {"seed"} if origin == FROZEN and grouped else set()
    if provenance.get("prior") == PRIOR_LEARNED and origin != SPLIT:
        known = known - {"prior"}
    if provenance.get("fewest_by") == FEWEST_BY_PART_A and origin != SPLIT:
        known = known - {"fewest_by"}
    return known


def check_looks(provenance: Mapping[str, Any], bound: Bound) -> None:
    """Refuse a certificate of a sequence whose bound or delta is not one of its number."""
    if "look" not in provenance and "delta_of_all_looks" not in provenance:
        return
    look, delta = check_count("look", provenance.get("look")), float(bound.delta)
    if "delta_of_all_looks" not in provenance and bound.is_anytime:
        return
    total = check_number("delta_of_all_looks", provenance.get("delta_of_all_looks"), 0.0, 1.0)
    expected = total / (look * (look + 1))
    if abs(delta - expected) > 1e-12 * expected:
        raise ValueError(
            f"delta must be {expected!r}, which is that of certificate number {look} of a "
            f"sequence, got {delta!r}."
        )
