"""Voters that are asked again: whether their answers depend on the rows beside, or on chance."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from ..labels import numbered
from ..voters import (
    EstimatorGroup,
    Joined,
    PredictionTable,
    Prepared,
    Stumps,
    TableFeatures,
    Voters,
)
from ..voters.forest import plain_tree
from ..voting import Ballots

__all__ = ["Again", "answer_by_row", "ask_again"]

# Rows of so few classes are asked for again, so many of each together, and one by itself.
_CLASSES, _TOGETHER = 3, 50
# Of more voters than so many not all are asked for each of the single rows.
_FEW_VOTERS = 20
# A voter may answer otherwise on one row, or on such a share: where labels tie to the last bit.
_TIES = 0.02


class Again(NamedTuple):
    """How many rows were asked for again, what was found, and what is to be said if nothing was."""

    rows: int
    found: list[str]
    cleared: str


def answer_by_row(voters: Any, fitted: Voters) -> bool:
    """Tell whether each answer is known to look at its row alone, and not at chance.

    So it is of the voters of this library, of tables of predictions and of plain trees.
    """
    return isinstance(voters, PredictionTable) or all(map(_by_row, fitted.groups))


def _by_row(group: Any) -> bool:
    if isinstance(group, Prepared):
        steps = (step for _, step in group.transformers.steps)
        return all(isinstance(step, TableFeatures) for step in steps) and _by_row(group.group)
    if isinstance(group, EstimatorGroup):
        return all(plain_tree(group[index]) is not None for index in range(len(group)))
    return isinstance(group, Joined | Stumps)


def ask_again(
    voters: Voters, classes: NDArray[Any], X: Any, y: NDArray[Any], ballots: Ballots
) -> Again:
    """Ask voters again for a few examples, those of one class alone, and compare the answers."""
    labels, of = numbered(y)
    places = [np.flatnonzero(of == number) for number in range(min(len(labels), _CLASSES))]
    places = [rows for rows in places if rows.size]
    everybody = np.ones(len(voters), dtype=np.bool_)
    asked = [(rows[:_TOGETHER], everybody) for rows in places]
    for turn, rows in enumerate(places):
        some = everybody
        if len(voters) > _FEW_VOTERS:
            some = np.arange(len(voters)) % len(places) == turn
        asked.append((rows[-1:], some))
    times, other = np.zeros((2, len(voters)), dtype=np.intp)
    for rows, some in asked:
        try:
            again = voters.votes(_safe_indexing(X, rows), classes, only=some)
        except Exception as error:  # whatever a voter of other people raises
            found = (
                f"Asked again for {len(rows)} of the certification examples alone, a voter raises "
                f"{type(error).__name__}: {error} Whether its answers depend on the examples "
                "beside is not known."
            )
            return Again(len(rows), [found], "")
        before, after = _named(ballots, rows, some), _named(again, slice(None), slice(None))
        times[some] += len(rows)
        other[some] += np.count_nonzero(before != after, axis=0)
    n = np.unique(np.concatenate([rows for rows, _ in asked])).size
    far = int(np.count_nonzero(other > np.maximum(1, _TIES * times)))
    how = f"Asked again for {n} of the certification examples, by themselves or one class alone,"
    found = (
        f"{how} {far} of the {len(voters)} voters answered otherwise, on up to {int(other.max())} "
        "of them. Their answers depend on chance or on the examples beside, and the claim is not "
        "about what the vote will answer."
    )
    ties = int(other.sum())
    but = f", but for {ties} of {int(times.sum())} answers" if ties else ""
    return Again(n, [found] if far else [], f"{how} the voters answered the same{but}.")


def _named(ballots: Ballots, rows: Any, some: Any) -> NDArray[Any]:
    """Return the labels that voters name, or that they name none."""
    codes = ballots.codes[rows][:, some]
    named = np.asarray(np.asarray(ballots.labels, dtype=object)[codes])
    named[codes < 0] = None
    return named
