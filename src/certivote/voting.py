"""Who wins a vote, and how often it errs: the one place that decides, for counting and predicting.

The label with the largest share of the weights wins, among the labels that the voters name on that
example, whoever has named them before; a tie goes to the first in sorted order. A share is added up
in the order of the voters, one after the other: it depends neither on the examples beside, nor on
voters without weight. A voter without an opinion names no label, and its weight counts for none;
where nobody with weight has one, the vote answers nothing, and errs.

So a vote that errs has at least half of the weight against it, where voters without an opinion are
against it too: the true label and the one that wins have at most all of it together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._utils.batches import gen_batches
from ._utils.validation import check_distribution, check_distributions
from .labels import SILENT, UNKNOWN, check_comparable, coded, codes_of, merge_labels

__all__ = [
    "TIE",
    "Ballots",
    "FixedVotes",
    "answers",
    "code_type",
    "count_vote_errors",
]

# Vote shares this close to each other are a tie.
TIE = 1e-12
# Shares, or votes, that are added up at a time: few enough for the cache.
_CELLS = 2**20
# More labels than so many, and than voters, are numbered anew for so many votes at a time.
_FEW_LABELS, _FEW_VOTES = 64, 2**12


def code_type(labels: NDArray[Any]) -> np.dtype[Any]:
    """Return the smallest type of numbers for codes of so many labels, and for none."""
    return np.min_scalar_type(-max(len(labels), 1))


@dataclass(frozen=True, eq=False)
class Ballots:
    """Which label each voter names for each example.

    `codes`, of shape (m, n), are indices into `labels`: sorted, each once, all that are named and
    maybe others. They are `SILENT` for a voter without an opinion. `nothing` is what the vote
    answers where nobody has one.
    """

    codes: NDArray[np.integer[Any]]
    labels: NDArray[Any]
    nothing: Any = None

    @classmethod
    def collect(
        cls,
        columns: list[tuple[NDArray[Any], NDArray[Any]]],
        classes: NDArray[Any],
        nothing: Any = None,
    ) -> "Ballots":
        """Return the ballots of voters that were asked one by one.

        Of each there are indices into the sorted `classes`, −1 for other labels, `SILENT` for none,
        and these other labels in their order.
        """
        strange = [labels for _, labels in columns if labels.size]
        labels = merge_labels(classes, *strange) if strange else classes
        narrow = code_type(labels)
        codes = np.stack([column for column, _ in columns], axis=1, dtype=narrow, casting="unsafe")
        if strange:
            unknown, silent = codes == UNKNOWN, codes == SILENT
            codes = codes_of(classes, labels).astype(narrow)[np.maximum(codes, 0)]
            for j in np.flatnonzero(unknown.any(axis=0)):
                codes[unknown[:, j], j] = codes_of(columns[j][1], labels)
            if codes.min() < 0:
                raise ValueError("labels must be equal to themselves, and be sorted: got others.")
            codes[silent] = SILENT
        return cls(codes, labels, nothing)

    @property
    def missing(self) -> int | None:
        """What stands in the codes for no opinion; None if every voter has one everywhere."""
        return SILENT if self.codes.min() < 0 else None

    def truth(self, y: NDArray[Any]) -> NDArray[np.intp]:
        """Return the indices of true labels, and one that nobody names where there is none."""
        codes = codes_of(y, self.labels)
        return np.where(codes == UNKNOWN, len(self.labels), codes)

    def shares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of the voters that name each label, by example and label."""
        (m, n), n_labels = self.codes.shape, len(self.labels)
        shares = np.empty((m, n_labels))
        for rows in gen_batches(m, max(1, _CELLS // max(n, n_labels))):
            shares[rows] = _shares(self.codes[rows], weights, n_labels)
        return shares

    def predict(self, weights: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels that win, and `nothing` where none does."""
        return self.win(weights)[0]

    def win(self, weights: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what the vote answers, and the share of the vote that it has."""
        won, highest = self._won(weights)
        if won.min(initial=0) >= 0:
            return self.labels[won], highest
        answers = np.full(len(won), self.nothing, dtype=object)
        answers[won >= 0] = self.labels[won[won >= 0]]
        return _narrowed(answers, self.labels.dtype, self.nothing), highest

    def winners(self, weights: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the indices of the labels that win, `SILENT` where nobody has an opinion."""
        return self._won(weights)[0]

    def _won(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the indices of the labels that win, and the share that each has."""
        (m, n), n_labels = self.codes.shape, len(self.labels)
        many = n_labels > max(_FEW_LABELS, n)
        won, highest = np.empty(m, dtype=np.intp), np.empty(m)
        few = _FEW_VOTES // n if many else _CELLS // max(n, n_labels)
        for rows in gen_batches(m, max(1, few)):
            codes = self.codes[rows]
            if many:
                # Few examples name few labels: the others need no room.
                named, own = np.unique(codes, return_inverse=True)
                first = int(np.count_nonzero(named < 0))  # of those that are labels
                own = own.reshape(codes.shape) - first
                shares = _shares(own, weights, len(named) - first)
                found = _winners(shares)
                won[rows] = np.where(found < 0, SILENT, named[found + first])
            else:
                shares = _shares(codes, weights, n_labels)
                won[rows] = _winners(shares)
            highest[rows] = shares.max(axis=1, initial=0.0)
        return won, highest


def _shares(
    codes: NDArray[Any], weights: NDArray[np.float64], n_labels: int
) -> NDArray[np.float64]:
    """Return the shares of few examples; each is a sum in the order of the voters, as is their all.

    So a share of all voters is exactly 1.
    """
    m, room = len(codes), n_labels
    cells = codes.astype(np.intp)
    if codes.min(initial=0) < 0:
        room += 1  # for the weight that counts for none
        cells[cells < 0] = n_labels
    cells += (room * np.arange(m))[:, None]
    behind = np.broadcast_to(weights, cells.shape)
    shares: NDArray[Any] = np.bincount(cells.ravel(), behind.ravel(), m * room)
    shares /= np.cumsum(weights)[-1]
    return shares.reshape(m, room)[:, :n_labels]


def _winners(shares: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the label with the largest share in each row, the first one on a tie.

    One that has no share does not win, however small those of others are.
    """
    if not shares.shape[1]:
        return np.full(len(shares), SILENT, dtype=np.intp)
    most = shares.max(axis=1, keepdims=True)
    tied = shares >= most - TIE
    few = most[:, 0] <= TIE
    if few.any():
        tied[few] = shares[few] > 0.0
    first: NDArray[np.intp] = tied.argmax(axis=1)
    first[most[:, 0] <= 0.0] = SILENT
    return first


def _narrowed(answers: NDArray[Any], dtype: np.dtype[Any], nothing: Any) -> NDArray[Any]:
    """Return labels of a type with others that stand for nothing, as one type if there is one."""
    own = np.asarray(nothing).dtype
    if own.kind == dtype.kind or {own.kind, dtype.kind} <= set("biuf"):
        return answers.astype(np.result_type(own, dtype))
    return answers


@dataclass(frozen=True, eq=False)
class FixedVotes:
    """Votes whose weights were fixed before the sample, and how often each errs on it.

    `weights` has shape (M, n), a row for each vote, and `errors` shape (M,). `silent` says whether
    some voters had no opinion somewhere.
    """

    weights: NDArray[np.float64]
    errors: NDArray[np.int64]
    silent: bool = False

    def __post_init__(self) -> None:
        for array in (self.weights, self.errors):
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, of which numpy forgets that it cannot be written to."""
        vars(self).update(state)
        self.__post_init__()

    def errors_of(self, weights: NDArray[np.float64]) -> int | None:
        """Return the errors of the vote with these weights, None if it is none of them."""
        found = np.flatnonzero(np.all(self.weights == weights, axis=1))
        return int(self.errors[found[0]]) if found.size else None

    def __add__(self, other: "FixedVotes") -> "FixedVotes":
        """Return the errors on both samples of the votes that were fixed before both."""
        pairs = [
            (weights, errors + more)
            for weights, errors in zip(self.weights, self.errors.tolist(), strict=True)
            if (more := other.errors_of(weights)) is not None
        ]
        return FixedVotes(
            np.array([weights for weights, _ in pairs]).reshape(len(pairs), self.weights.shape[1]),
            np.array([errors for _, errors in pairs], dtype=np.int64),
            self.silent or other.silent,
        )


def answers(votes: NDArray[Any], weights: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return what the vote with these weights answers on each example, and with which share."""
    q = check_distribution("weights", weights, votes.shape[1])
    won = [ballots.win(q) for _, ballots in _in_chunks(votes)]
    labels, shares = zip(*won, strict=True)
    return np.concatenate(labels), np.concatenate(shares)


def count_vote_errors(
    votes: NDArray[Any], y: NDArray[Any], weights: ArrayLike, missing: Any = None
) -> FixedVotes:
    """Count the errors of votes fixed in advance, by their weights of shape (M, n).

    `missing`, if not None, stands among the votes for no opinion.
    """
    rows = check_distributions("fixed_votes", weights, votes.shape[1])
    errors, silent = np.zeros(len(rows), dtype=np.int64), False
    for chunk, ballots in _in_chunks(votes, missing):
        silent |= ballots.missing is not None
        for j, q in enumerate(rows):
            won = ballots.winners(q)
            named = ballots.labels[np.maximum(won, 0)]
            errors[j] += np.count_nonzero((won < 0) | (named != y[chunk]))
    return FixedVotes(rows, errors, silent)


def _in_chunks(votes: NDArray[Any], missing: Any = None) -> Iterator[tuple[slice, Ballots]]:
    """Yield some rows at a time, and the votes there as ballots."""
    if missing is not None:
        check_comparable(missing=np.asarray([missing]), votes=votes)
    known = votes[0, :1]
    for chunk in gen_batches(len(votes), max(1, _CELLS // votes.shape[1])):
        own = votes[chunk]
        silent = np.zeros(own.shape, dtype=bool) if missing is None else own == missing
        if silent.any() and own.dtype.kind in "iu":
            own = np.where(silent, 0, own)  # small numbers are their own codes
        ballots = _encoded(own, known)
        known = ballots.labels
        if silent.any():
            codes = np.where(silent, SILENT, ballots.codes.astype(np.intp))
            ballots = Ballots(codes, ballots.labels)
        yield chunk, ballots


def _encoded(votes: NDArray[Any], known: NDArray[Any]) -> Ballots:
    """Return votes as ballots, of labels that are known already and others."""
    if votes.dtype.kind in "iu" and votes.min() >= 0 and (high := int(votes.max())) < _FEW_LABELS:
        return Ballots(votes, np.arange(high + 1))  # small numbers are their own codes
    columns = [coded(column, known) for column in votes.T]
    return Ballots.collect(columns, known)
