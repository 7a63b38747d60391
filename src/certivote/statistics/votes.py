"""What a certification sample says about a set of voters, as exact counts that add up."""

import copy
import hashlib
import itertools
import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.progress import progress_bar
from .._utils.validation import (
    check_count,
    check_distribution,
    check_distributions,
    check_number,
)
from ..labels import check_votes
from ..voting import TIE, FixedVotes, count_vote_errors
from .bits import prefer_bits, rows_sha256
from .counting import Counter
from .mapped import pieces
from .packed import erring_weight, tables_of, transposed_product
from .storage import load_arrays, save_arrays

if TYPE_CHECKING:
    from .unlabelled import UnlabelledStatistics

__all__ = [
    "IncompleteStatisticsError",
    "Moments",
    "VoteStatistics",
    "are_hardly_chance",
    "as_counts",
    "make_read_only",
]

# By how much rounding may break an identity between moments.
_INCONSISTENCY = 1e-9
# Two samples hardly have the same counts by chance where that has a probability of exp(−10).
_SURPRISING = 10.0
_ROWS_PER_PRODUCT, _LOSSES_PER_PRODUCT = 16_384, 2**25
_MERGED_TWICE = (
    "Statistics with the very same counts were merged: if they are of the same examples, each "
    "counts twice, and a certificate from the result is not valid."
)
# What a file of them is called, and the arrays that it may hold.
_KIND = "statistics"
_LAYOUT = {
    "n_samples": ("<i8", 0),
    "errors": ("<i8", 1),
    "tandem": ("<i8", 2),
    "rows": ("|u1", 2),
    "keep_rows": ("|b1", 0),
    "tested_weights": ("<f8", 2),
    "tested_errors": ("<i8", 1),
    "unlabelled_samples": ("<i8", 0),
    "disagreements": ("<i8", 2),
    "unlabelled_classes": ("<U", 1),
    "findings": ("<U", 1),
}
# What goes together, if one of it is there.
_TOGETHER = (("tested_weights", "tested_errors"), ("unlabelled_samples", "disagreements"))


@dataclass(frozen=True, eq=False)
class Moments:
    """The first two moments of a weighted vote on a sample, with their gradients in the weights.

    Attributes
    ----------
    gibbs_risk : float
        r, the mean weight of the voters that err.
    joint_error : float
        e, how often two voters drawn by the weights both err.
    disagreement : float
        d, how often exactly one of the two errs.
    gibbs_size, joint_size, disagreement_size : int
        The number of examples behind each.
    gibbs_gradient, joint_gradient, disagreement_gradient : ndarray of shape (n_voters,)
        Their gradients in the weights.
    """

    gibbs_risk: float
    joint_error: float
    disagreement: float
    gibbs_size: int
    joint_size: int
    disagreement_size: int
    gibbs_gradient: NDArray[np.float64]
    joint_gradient: NDArray[np.float64]
    disagreement_gradient: NDArray[np.float64]

    @classmethod
    def from_scalars(cls, gibbs_risk: float, joint_error: float, n_samples: int) -> "Moments":
        """Return moments known as numbers, without gradients.

        Parameters
        ----------
        gibbs_risk, joint_error : float
            Both in [0, 1], with ``gibbs_risk ≥ joint_error``.
        n_samples : int
            The size of the sample behind both.
        """
        r = check_number("gibbs_risk", gibbs_risk, 0.0, 1.0)
        e = check_number("joint_error", joint_error, 0.0, r)
        return cls.from_dict(
            {
                "gibbs_risk": gibbs_risk,
                "joint_error": joint_error,
                "disagreement": 2.0 * (r - e),
                "gibbs_size": n_samples,
                "joint_size": n_samples,
                "disagreement_size": n_samples,
            }
        )

    @classmethod
    def from_dict(cls, numbers: Mapping[str, Any]) -> "Moments":
        """Return the moments that `to_dict` wrote, without gradients.

        Parameters
        ----------
        numbers : mapping
            The three moments and the three sizes.
        """
        values: dict[str, Any] = {}
        for name in ("gibbs_risk", "joint_error", "disagreement"):
            values[name] = check_number(name, numbers.get(name), 0.0, 1.0)
        for name in ("gibbs_size", "joint_size", "disagreement_size"):
            values[name] = check_count(name, numbers.get(name))
        r, e, d = (values[name] for name in ("gibbs_risk", "joint_error", "disagreement"))
        if e > r:
            raise ValueError(f"joint_error must be at most gibbs_risk, got {e!r} and {r!r}.")
        if e + d > 1.0 + TIE and values["joint_size"] == values["disagreement_size"]:
            raise ValueError(f"joint_error + disagreement must be at most 1, got {e!r} and {d!r}.")
        none = np.empty(0)
        return cls(**values, gibbs_gradient=none, joint_gradient=none, disagreement_gradient=none)

    def check_consistent(self) -> None:
        """Refuse moments that no vote can have on one sample, as far as they are of one sample."""
        r, e, d = self.gibbs_risk, self.joint_error, self.disagreement
        if self.gibbs_size != self.joint_size:
            return
        if self.disagreement_size == self.joint_size and abs(e + 0.5 * d - r) > _INCONSISTENCY:
            raise ValueError(
                f"gibbs_risk must be joint_error + disagreement/2, got {r!r}, {e!r} and {d!r}."
            )
        if e < r * r - _INCONSISTENCY:
            raise ValueError(
                f"joint_error must be at least the square of gibbs_risk, got {e!r} and {r!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the three moments and the three sizes."""
        return {
            "gibbs_risk": self.gibbs_risk,
            "joint_error": self.joint_error,
            "disagreement": self.disagreement,
            "gibbs_size": self.gibbs_size,
            "joint_size": self.joint_size,
            "disagreement_size": self.disagreement_size,
        }


class IncompleteStatisticsError(ValueError):
    """Some of the data could not be counted; what was counted before is kept.

    Parameters
    ----------
    message : str
        What is wrong, and with which chunk or partition.
    chunk : int
        The number of the first chunk or partition that could not be counted, from 0.
    statistics : VoteStatistics or None
        The counts of the chunks before it (of all other partitions); None if there are none.
    chunks : sequence of int, default=()
        The numbers of all partitions that could not be counted; `chunk` alone if empty.
    """

    def __init__(
        self,
        message: str,
        chunk: int,
        statistics: "VoteStatistics | None",
        chunks: Sequence[int] = (),
    ) -> None:
        super().__init__(message, chunk, statistics, chunks)
        self.chunk = chunk
        self.statistics = statistics
        self.chunks = tuple(chunks) or (chunk,)

    def __str__(self) -> str:
        """Return what is wrong, and what is kept."""
        if self.statistics is None:
            return f"{self.args[0]} [no example was counted]"
        kept = f"{self.statistics.n_samples} examples are counted in the error's `statistics`"
        return f"{self.args[0]} [{kept}]"


class VoteStatistics:
    """Exact counts of the errors of n voters on m examples.

    They are all that a bound on moments needs, they add up over shards of data, and no cost after
    them depends on m. Build them with `from_losses`, `from_votes` or `from_chunks`.

    The counts of pairs are n² integers. For 4096 voters or more on fewer examples than voters the
    losses themselves, as bits, are smaller and faster: then products are computed from them, and
    `tandem` only if it is asked for. The results are the same up to rounding.

    Parameters
    ----------
    n_samples : int
        m, the number of examples.
    errors : array-like of shape (n,)
        The number of examples on which each voter errs.
    tandem : array-like of shape (n, n) or None
        The number of examples on which both voters of a pair err; None if `rows` stand for it.
    rows : ndarray of shape (m, ⌈n/8⌉), default=None
        The 0/1 losses, eight to a byte, for what needs more than counts.

    Attributes
    ----------
    tested : FixedVotes or None
        The errors of votes whose weights were fixed before the sample, counted from votes.
    unlabelled : UnlabelledStatistics or None
        The disagreements of these voters on more examples, as `with_unlabelled` joins them.
    findings : tuple of str
        What throws doubt on a certificate from them, such as a sample that was merged with itself.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> first = VoteStatistics.from_losses([[0, 1, 0], [1, 1, 0]])
    >>> second = VoteStatistics.from_votes([["cat", "dog", "dog"]], ["dog"])
    >>> both = first + second
    >>> both
    VoteStatistics(n_samples=3, n_voters=3, rows=False)
    >>> both.tandem
    array([[2, 1, 0],
           [1, 2, 0],
           [0, 0, 0]])
    >>> both.moments([0.5, 0.5, 0.0]).joint_error
    0.5
    """

    def __init__(
        self,
        n_samples: int,
        errors: ArrayLike,
        tandem: ArrayLike | None,
        rows: NDArray[np.uint8] | None = None,
    ) -> None:
        self.n_samples = check_count("n_samples", n_samples)
        self.errors = as_counts("errors", errors, ndim=1)
        self.rows = self._bits = rows = _read_only(rows)
        self.tested: FixedVotes | None = None
        self.unlabelled: UnlabelledStatistics | None = None
        self.findings: tuple[str, ...] = ()
        if self.errors.size < 1:
            raise ValueError("errors must count at least one voter, got none.")
        if tandem is not None:
            self.tandem = as_counts("tandem", tandem, ndim=2)
            self._check()
            self._bits = None
        elif rows is None:
            raise ValueError("tandem must not be None unless there are rows.")
        if rows is not None:
            self._check_rows(rows)

    @cached_property
    def tandem(self) -> NDArray[np.int64]:
        """The number of examples on which both voters of a pair err."""
        with Counter(table=True) as counter:
            for chunk in self._chunks_of_rows(self._bits):
                counter.add(chunk, "rows")
        tandem, _ = counter.result()
        assert tandem is not None
        return as_counts("tandem", tandem, ndim=2)

    def _check(self) -> None:
        m, n = self.n_samples, self.errors.size
        if self.tandem.shape != (n, n):
            raise ValueError(f"tandem must have shape ({n}, {n}), got {self.tandem.shape}.")
        if not np.array_equal(np.diagonal(self.tandem), self.errors):
            raise ValueError("tandem must have errors on its diagonal.")
        if not np.array_equal(self.tandem, self.tandem.T):
            raise ValueError("tandem must be symmetric.")
        if self.errors.min() < 0 or self.errors.max() > m:
            raise ValueError(f"errors must be between 0 and n_samples = {m}.")
        smaller = np.minimum(self.errors[:, None], self.errors)
        larger = np.maximum(self.errors[:, None] + self.errors - m, 0)
        if np.any(self.tandem > smaller) or np.any(self.tandem < larger):
            raise ValueError("tandem counts must be possible for these errors and n_samples.")

    def _check_rows(self, rows: NDArray[np.uint8]) -> None:
        packed = (self.n_samples, (self.n_voters + 7) // 8)
        if rows.shape != packed or rows.dtype != np.uint8:
            raise ValueError(
                f"rows must be uint8 of shape {packed}, got {rows.dtype} of shape {rows.shape}."
            )
        counted = sum(chunk.sum(axis=0, dtype=np.int64) for chunk in self._chunks_of_rows(rows))
        if not np.array_equal(counted, self.errors):
            raise ValueError("rows must hold the losses that errors counts.")

    @classmethod
    def from_losses(cls, losses: ArrayLike, keep_rows: bool = False) -> "VoteStatistics":
        """Count the errors in a matrix of 0/1 losses.

        Parameters
        ----------
        losses : array-like of shape (m, n)
            1 or True where the voter errs on the example, else 0.
        keep_rows : bool, default=False
            Keep the losses too, bit-packed.

        Returns
        -------
        VoteStatistics
            The counts.
        """
        return cls._count(pieces(losses), keep_rows, reused=True)

    @classmethod
    def from_votes(
        cls,
        votes: ArrayLike,
        y: ArrayLike,
        keep_rows: bool = False,
        *,
        tested: ArrayLike | None = None,
    ) -> "VoteStatistics":
        """Count the errors of predicted labels.

        Parameters
        ----------
        votes : array-like of shape (m, n)
            The label that each voter predicts for each example: numbers, strings, any objects.
        y : array-like of shape (m,)
            The true labels.
        keep_rows : bool, default=False
            Keep the losses too, bit-packed.
        tested : array-like of shape (M, n), default=None
            The weights of votes whose own errors are counted too, as `vote_errors` returns them:
            such a vote predicts the label with the largest share, the first in sorted order on a
            tie.

        Returns
        -------
        VoteStatistics
            The counts.
        """
        labels = check_votes(votes, y)
        statistics = cls._count(_losses(*labels), keep_rows, reused=False)
        if tested is not None:
            statistics.tested = count_vote_errors(*labels, tested)
        return statistics

    @classmethod
    def from_chunks(
        cls, chunks: Iterable[ArrayLike], keep_rows: bool = False, verbose: int = 0
    ) -> "VoteStatistics":
        """Count the errors in losses that come in pieces, in one pass.

        Parameters
        ----------
        chunks : iterable of array-like of shape (any, n), or ndarray of shape (m, n)
            0/1 losses, as in `from_losses`: a list, a generator, a `ParquetLosses`. The counts do
            not depend on how they are cut. An array is cut here; if it is a memory map, its pages
            are given back as they are counted, so that it may be larger than memory.
        keep_rows : bool, default=False
            Keep the losses too, bit-packed.
        verbose : int, default=0
            Show a progress bar with a rate, and the time left where the total is known.

        Returns
        -------
        VoteStatistics
            The counts.

        Raises
        ------
        IncompleteStatisticsError
            If a chunk cannot be read or counted. The error has its number, and the statistics of
            the chunks before it.
        """
        whole = isinstance(chunks, np.ndarray) and chunks.ndim == 2
        done = 0
        with (
            progress_bar("counting", _total(chunks), verbose, unit="examples") as advance,
            Counter(keep_rows=keep_rows) as counter,
        ):
            try:
                for chunk in _read(pieces(chunks) if whole else chunks):
                    name, before = f"losses (chunk {done})", counter.n_samples
                    for piece in pieces(chunk):
                        counter.add(piece, name)
                        counter.finish()  # its memory may be another chunk's from now on
                    counter.keep()
                    done += 1
                    advance(counter.n_samples - before)
            except Exception as error:
                message, name = str(error), f"losses (chunk {done})"
                if not message.startswith(name):
                    message = f"{name} cannot be read: {message}"
                statistics = cls._counted(counter) if done else None
                raise IncompleteStatisticsError(message, done, statistics) from (
                    error.__cause__ if isinstance(error, _UnreadableError) else error
                )
        return cls._counted(counter)

    @classmethod
    def _count(cls, chunks: Iterable[ArrayLike], keep_rows: bool, reused: bool) -> "VoteStatistics":
        """Count; `reused` says that the memory of a chunk may change when the next one is made."""
        with Counter(keep_rows=keep_rows) as counter:
            for chunk in chunks:
                counter.add(chunk, "losses")
                if reused or counter.packs:
                    counter.keep()
        return cls._counted(counter)

    @classmethod
    def _counted(cls, counter: Counter) -> "VoteStatistics":
        if counter.n_samples == 0:
            raise ValueError("losses must hold at least one example, got none.")
        tandem, rows = counter.result()
        return cls._with_rows(
            counter.kept_samples, counter.n_voters, tandem, rows, keep_rows=counter.keep_rows
        )

    @classmethod
    def _with_rows(
        cls,
        n_samples: int,
        n_voters: int,
        tandem: NDArray[np.int64] | None,
        rows: NDArray[np.uint8] | None,
        keep_rows: bool,
    ) -> "VoteStatistics":
        """Return statistics whose rows need no check, as the counts were made from them."""
        if rows is not None:
            rows.flags.writeable = False
        if tandem is not None:
            statistics = cls(n_samples, np.diagonal(tandem), tandem)
        else:
            assert rows is not None
            errors = transposed_product(rows, np.ones(n_samples), n_voters)
            statistics = cls(n_samples, errors.astype(np.int64), None, rows)
        statistics.rows = rows if keep_rows else None
        return statistics

    def _sort_rows(self) -> None:
        """Forget the order of the examples, where it is that in which shards happened to come."""
        if self._bits is not None:
            void = np.ascontiguousarray(self._bits).view(f"V{self._bits.shape[1]}")
            self._bits = np.sort(void, axis=0).view(np.uint8)

    @property
    def offers(self) -> frozenset[str]:
        """What bounds may ask of these statistics."""
        # Joined with unlabelled examples, d is not from the examples that e is from.
        offers = {"moments", "joint"} if self.unlabelled is None else {"moments"}
        if self.rows is not None:
            offers |= {"rows", "vote errors"}
        if self.tested is not None:
            offers.add("vote errors")
        return frozenset(offers)

    @property
    def n_voters(self) -> int:
        """The number of voters."""
        return int(self.errors.size)

    def __add__(self, other: object) -> "VoteStatistics":
        """Return the statistics of both samples; what only one has besides counts is left out."""
        if not isinstance(other, VoteStatistics):
            return NotImplemented
        if self.n_voters != other.n_voters:
            raise ValueError(
                "statistics can only be merged for the same voters, got "
                f"{self.n_voters} and {other.n_voters} voters."
            )
        findings = [*self.findings, *other.findings]
        told = are_hardly_chance(self.errors, self.n_samples)
        if other is self or (told and self == other):
            findings.append(_MERGED_TWICE)
            warnings.warn(_MERGED_TWICE, stacklevel=2)
        m, n = self.n_samples + other.n_samples, self.n_voters
        rows, bits = _stack(self.rows, other.rows), None
        if prefer_bits(m, n):
            bits = _stack(self._bits, other._bits)
        tandem = self.tandem + other.tandem if bits is None else None
        keep_rows = rows is not None
        both = self._with_rows(m, n, tandem, rows if bits is None else bits, keep_rows)
        if self.tested is not None and other.tested is not None:
            both.tested = self.tested + other.tested
        for unlabelled in (self.unlabelled, other.unlabelled):
            if unlabelled is not None:
                both = both.with_unlabelled(unlabelled)
        both.findings = tuple(dict.fromkeys([*findings, *both.findings]))
        return both

    def with_unlabelled(self, unlabelled: "UnlabelledStatistics") -> "VoteStatistics":
        """Return these statistics with a disagreement from more examples, for two classes.

        Parameters
        ----------
        unlabelled : UnlabelledStatistics
            How often the same voters disagree on other examples, drawn like the labelled ones.

        Returns
        -------
        VoteStatistics
            The same counts of errors; `moments` takes the disagreement from all the examples. For
            bounds that need joint error and disagreement of the same examples they are of no use.
        """
        if unlabelled.n_voters != self.n_voters:
            raise ValueError(
                f"unlabelled must be of the same {self.n_voters} voters, got {unlabelled.n_voters}."
            )
        joined = copy.copy(self)
        vars(joined).pop("sha256", None)
        joined.unlabelled = unlabelled if self.unlabelled is None else self.unlabelled + unlabelled
        joined.findings = tuple(dict.fromkeys([*self.findings, *joined.unlabelled.findings]))
        return joined

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, of which numpy forgets that it cannot be written to."""
        vars(self).update(state)
        make_read_only(state.values())

    def __radd__(self, other: object) -> "VoteStatistics":
        """Let ``sum(shards)`` work."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Tell whether the counts are the same."""
        if not isinstance(other, VoteStatistics):
            return NotImplemented
        if self.n_samples != other.n_samples or not np.array_equal(self.errors, other.errors):
            return False
        if self.unlabelled != other.unlabelled:
            return False
        if self._bits is not None and other._bits is not None and self.sha256 == other.sha256:
            return True  # the same examples have the same counts; others may, too
        return np.array_equal(self.tandem, other.tandem)

    __hash__ = None  # type: ignore[assignment]

    def __sizeof__(self) -> int:
        """Return the size with the arrays: a scheduler decides by it what to move where."""
        arrays = (value for value in vars(self).values() if isinstance(value, np.ndarray))
        return object.__sizeof__(self) + sum({id(array): array.nbytes for array in arrays}.values())

    def __repr__(self) -> str:
        """Return the sizes."""
        return (
            f"VoteStatistics(n_samples={self.n_samples}, n_voters={self.n_voters}, "
            f"rows={self.rows is not None})"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the statistics to a file, whole or not at all, with a checksum.

        Parameters
        ----------
        path : str or path-like
            The file, an archive of arrays that numpy can read too.

        Examples
        --------
        >>> import tempfile
        >>> from certivote import VoteStatistics
        >>> statistics = VoteStatistics.from_losses([[0, 1], [1, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     statistics.save(f"{folder}/so-far.npz")
        ...     VoteStatistics.load(f"{folder}/so-far.npz") == statistics
        True
        """
        save_arrays(path, _KIND, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "VoteStatistics":
        """Return the statistics that `save` wrote, and refuse a file that has changed since.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        arrays = load_arrays(path, _KIND, _LAYOUT)
        there = [("n_samples", "errors"), *(pair for pair in _TOGETHER if arrays.keys() & pair)]
        for name in itertools.chain(*there):
            if name not in arrays:
                raise ValueError(f"{os.fspath(path)} must hold {name}, as files of statistics do.")
        keep_rows = bool(arrays.pop("keep_rows", "rows" in arrays))
        statistics = cls(
            int(arrays["n_samples"]), arrays["errors"], arrays.get("tandem"), arrays.get("rows")
        )
        statistics.rows = statistics.rows if keep_rows else None
        if "tested_weights" in arrays:
            statistics.tested = FixedVotes(arrays["tested_weights"], arrays["tested_errors"])
            statistics._check_tested(statistics.tested)
        if "disagreements" in arrays:
            from .unlabelled import UnlabelledStatistics

            size, counts = int(arrays["unlabelled_samples"]), arrays["disagreements"]
            classes = map(json.loads, arrays.get("unlabelled_classes", np.empty(0, str)).tolist())
            unlabelled = UnlabelledStatistics(size, counts, tuple(classes))
            statistics = statistics.with_unlabelled(unlabelled)
        statistics.findings = tuple(arrays.get("findings", np.empty(0, dtype=str)).tolist())
        return statistics

    def _check_tested(self, tested: FixedVotes) -> None:
        """Refuse errors of tested votes that no votes could have made on these examples."""
        weights = check_distributions("tested weights", tested.weights, self.n_voters)
        if tested.errors.shape != (len(weights),) or tested.errors.dtype.kind != "i":
            raise ValueError("tested errors must be one count for each vote.")
        for q, errors in zip(weights, tested.errors.tolist(), strict=True):
            fewest, most = self._possible_errors(q)
            if not max(0, fewest) <= errors <= min(most, self.n_samples):
                raise ValueError(
                    f"tested errors must be possible for these examples, got {errors} where there "
                    f"are between {max(0, fewest)} and {min(most, self.n_samples)}."
                )

    def _possible_errors(self, q: NDArray[np.float64]) -> tuple[int, int]:
        """Return the fewest and the most errors of a vote that these examples leave possible.

        With W the weight of the voters that err: a vote that errs has W ≥ 1/2; one that is right
        has a share of at least that of its heaviest voter, and so W ≤ 1 − max q.
        """
        m, heaviest = self.n_samples, int(np.argmax(q))
        # Rounding, and what counts as a tie, must not refuse what votes gave.
        right, wrong = 1.0 - q[heaviest] + _INCONSISTENCY, 0.5 - _INCONSISTENCY
        if right < wrong:  # it decides alone
            return int(self.errors[heaviest]), int(self.errors[heaviest])
        bits = self._bits if self.rows is None else self.rows
        if bits is not None:
            fewest_wrong = most_wrong = 0
            for chunk in self._chunks_of_rows(bits):
                erring = chunk @ q
                fewest_wrong += int(np.count_nonzero(erring > right))
                most_wrong += int(np.count_nonzero(erring >= wrong))
            return fewest_wrong, most_wrong
        # What the sums of W and of W² allow: parabolas below and above the indicator of an error.
        first, second = float(q @ self.errors), float(q @ self.tandem @ q)
        most = min(second / wrong**2, first + (first - second) / wrong)
        fewest = max(first - m * right, second - right * first) / max(1.0 - right, _INCONSISTENCY)
        slack = _INCONSISTENCY * m
        return math.ceil(fewest - slack), math.floor(most + slack)

    def _coarse_errors(self, q: NDArray[np.float64]) -> int:
        """Return on how many examples the erring voters weigh at least one half."""
        # Up to what a tie leaves open, and the rounding of sums of n weights.
        half = 0.5 - TIE - self.n_voters * np.finfo(np.float64).eps
        return int(np.count_nonzero(self.erring_weight(q) >= half))

    def _arrays(self) -> dict[str, Any]:
        """Return all that makes these statistics again."""
        arrays: dict[str, Any] = {"n_samples": self.n_samples, "errors": self.errors}
        if self.unlabelled is not None:
            arrays["unlabelled_samples"] = self.unlabelled.n_samples
            arrays["disagreements"] = self.unlabelled.disagreements
            arrays["unlabelled_classes"] = np.array(self.unlabelled.written_classes(), dtype=str)
        if self.findings:
            arrays["findings"] = np.array(self.findings)
        if self.tested is not None:
            arrays |= {"tested_weights": self.tested.weights, "tested_errors": self.tested.errors}
        if self._bits is not None:
            return arrays | {"rows": self._bits, "keep_rows": self.rows is not None}
        arrays["tandem"] = self.tandem
        return arrays if self.rows is None else arrays | {"rows": self.rows}

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of m, errors and tandem as little-endian 64-bit integers.

        Where the losses stand for the table, that of m, n and the sorted SHA-256 of the examples'
        packed losses. In neither does the order of the examples matter. With unlabelled examples,
        that of both digests.
        """
        own = self._own_sha256()
        if self.unlabelled is None:
            return own
        return hashlib.sha256((own + self.unlabelled.sha256).encode()).hexdigest()

    def _own_sha256(self) -> str:
        if self._bits is not None and prefer_bits(self.n_samples, self.n_voters):
            return rows_sha256(self._bits, self.n_voters)
        digest = hashlib.sha256(b"certivote statistics 1")
        digest.update(np.array([self.n_samples, self.n_voters], dtype="<i8").tobytes())
        digest.update(self.errors.astype("<i8").tobytes())
        digest.update(self.tandem.astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def _error_rates(self) -> NDArray[np.float64]:
        return self.errors / self.n_samples

    @cached_property
    def _bits_by_voter(self) -> NDArray[np.uint8] | None:
        # Products go through the bytes of one column after the other.
        return None if self._bits is None else np.asfortranarray(self._bits)

    @cached_property
    def _tandem_float(self) -> NDArray[np.float64]:
        # Exact: a count stays far below 2**53.
        return self.tandem.astype(np.float64)

    def moments(self, weights: ArrayLike) -> Moments:
        """Return the Gibbs risk, the joint error and the disagreement of a weighted vote.

        Parameters
        ----------
        weights : array-like of shape (n,)
            The weights of the voters.

        Returns
        -------
        Moments
            The three numbers, the size of the sample behind each, and their gradients.
        """
        return self._moments(check_distribution("weights", weights, self.n_voters))

    def _moments(self, q: NDArray[np.float64]) -> Moments:
        m = self.n_samples
        if self._bits_by_voter is None:
            joint_gradient = self._tandem_float @ q
            joint_gradient *= 2.0 / m
            joint_error = 0.5 * float(q @ joint_gradient)
        else:
            erring = erring_weight(self._bits_by_voter, tables_of(q))
            joint_gradient = transposed_product(self._bits_by_voter, erring, self.n_voters)
            joint_gradient *= 2.0 / m
            joint_error = float(erring @ erring) / m
        # Rounding must not leave the set of possible moments: 0 ≤ e ≤ r ≤ 1.
        r = min(1.0, float(q @ self._error_rates))
        e = min(r, joint_error)
        moments = Moments(
            gibbs_risk=r,
            joint_error=e,
            disagreement=2.0 * (r - e),
            gibbs_size=m,
            joint_size=m,
            disagreement_size=m,
            gibbs_gradient=self._error_rates.copy(),
            joint_gradient=joint_gradient,
            disagreement_gradient=2.0 * (self._error_rates - joint_gradient),
        )
        return moments if self.unlabelled is None else self.unlabelled.joined_to(moments, q)

    def _packed_chunks(self, rows: NDArray[np.uint8] | None = None) -> Iterator[NDArray[np.uint8]]:
        """Yield packed rows, a few at a time: those that were kept if none are given."""
        rows = self.rows if rows is None else rows
        if rows is None:
            raise ValueError(
                "these statistics hold counts only: build them with keep_rows=True to know what "
                "the vote does on each example."
            )
        step = max(1, min(_ROWS_PER_PRODUCT, _LOSSES_PER_PRODUCT // self.n_voters))
        for start in range(0, self.n_samples, step):
            yield rows[start : start + step]

    def _chunks_of_rows(self, rows: NDArray[np.uint8] | None = None) -> Iterator[NDArray[np.uint8]]:
        for packed in self._packed_chunks(rows):
            yield np.unpackbits(packed, axis=1, count=self.n_voters)

    def erring_weight(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the weight of the voters that err, for each example.

        Parameters
        ----------
        weights : array-like of shape (n,)
            The weights of the voters.

        Returns
        -------
        ndarray of shape (m,)
            W. It needs statistics built with ``keep_rows=True``.
        """
        q = check_distribution("weights", weights, self.n_voters)
        return np.concatenate([chunk @ q for chunk in self._chunks_of_rows()])

    def vote_errors(self, weights: ArrayLike) -> int:
        """Return on how many examples the weighted vote errs.

        Parameters
        ----------
        weights : array-like of shape (n,)
            The weights of the voters.

        Returns
        -------
        int
            The errors of the vote's own predictions, where the weights were `tested`. Otherwise it
            needs rows, and is the number of examples on which the erring voters weigh at least one
            half: at least the errors, whatever the tie-break and however many classes there are.
        """
        q = check_distribution("weights", weights, self.n_voters)
        errors = None if self.tested is None else self.tested.errors_of(q)
        if errors is not None:
            return errors
        if self.rows is None and self.tested is not None:
            raise ValueError(
                "weights must be those of a tested vote, as these statistics hold no rows."
            )
        return self._coarse_errors(q)


def are_hardly_chance(counts: NDArray[np.int64], n_samples: int) -> bool:
    """Tell whether two samples hardly have the same counts by chance.

    Parameters
    ----------
    counts : ndarray of int
        On how many examples each of several things happens.
    n_samples : int
        The size of either sample.
    """
    distinct = np.unique(counts)
    # Two binomial counts of variance v are the same with probability 1/√(4πv), if v is not small.
    variances = distinct * (1.0 - distinct / n_samples)
    surprise = np.log(4.0 * np.pi * variances[variances > 1.0]).sum() / 2.0
    return bool(surprise > _SURPRISING)


def _stack(
    first: NDArray[np.uint8] | None, second: NDArray[np.uint8] | None
) -> NDArray[np.uint8] | None:
    """Return the rows of both, None if one has none."""
    return None if first is None or second is None else np.concatenate([first, second])


class _UnreadableError(Exception):
    """A chunk could not be made."""


def _read(chunks: Iterable[ArrayLike]) -> Iterator[ArrayLike]:
    """Yield the chunks; what goes wrong in making one is told from what goes wrong in counting."""
    try:
        yield from chunks
    except Exception as error:
        raise _UnreadableError(f"{type(error).__name__}: {error}") from error


def _total(chunks: object) -> int | None:
    """Return the number of examples in all chunks, if it is known beforehand."""
    if isinstance(chunks, np.ndarray):
        return len(chunks)
    if isinstance(chunks, list | tuple) and all(hasattr(chunk, "__len__") for chunk in chunks):
        return sum(map(len, chunks))
    return getattr(chunks, "n_samples", None)


def _read_only(rows: NDArray[np.uint8] | None) -> NDArray[np.uint8] | None:
    """Return rows that nobody can write to; a copy of those that somebody could."""
    if rows is not None and (rows.flags.writeable or not rows.flags.owndata):
        rows = rows.copy()
        rows.flags.writeable = False
    return rows


def make_read_only(values: Iterable[Any]) -> None:
    """Forbid to write to the arrays among these values.

    Parameters
    ----------
    values : iterable
        Anything.
    """
    for value in values:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def as_counts(name: str, values: ArrayLike, ndim: int) -> NDArray[np.int64]:
    """Return counts as a read-only array of integers.

    Parameters
    ----------
    name : str
        How to call them in an error.
    values : array-like
        Integers.
    ndim : int
        The number of dimensions that they must have.
    """
    array = np.asarray(values)
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers in {ndim} dimension(s), got {array.dtype} of shape "
            f"{array.shape}."
        )
    counts = np.array(array, dtype=np.int64)
    counts.flags.writeable = False  # the digest and the moments are computed once
    return counts


def _losses(votes: NDArray[Any], y: NDArray[Any]) -> Iterator[NDArray[np.bool_]]:
    """Yield where votes differ from the true labels, a few rows at a time."""
    step = max(1, min(_ROWS_PER_PRODUCT, _LOSSES_PER_PRODUCT // votes.shape[1]))
    for start in range(0, len(y), step):
        stop = start + step
        yield np.asarray(votes[start:stop] != y[start:stop, None], dtype=np.bool_)
