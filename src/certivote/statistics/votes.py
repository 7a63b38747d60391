"""Exact counts of errors on labelled examples: the statistics that add up."""

import copy
import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_count, check_distribution
from ..labels import check_labels, check_votes, same_names, voter_names
from ..voting import TIE, FixedVotes, count_vote_errors
from .base import DEFAULT_KIND, IncompleteStatisticsError, Statistics
from .counting import Counter, UncountedError, count_chunks, prefer_bits
from .counts import (
    are_hardly_chance,
    as_counts,
    as_rates,
    check_pairs,
    make_read_only,
    read_only_rows,
)
from .fixed import check_fixed_votes
from .mapped import pieces
from .moments import Moments
from .packed import chunks_of, rows_at_once, transposed_product
from .pairs import PackedPairs, Pairs, PairTable
from .parts import Parts, overlap, surprise
from .storage import KIND, load_counts, save_arrays
from .unlabelled import UnlabelledStatistics, add_labels

__all__ = ["VoteStatistics", "join_unlabelled"]

_MERGED_TWICE = (
    "Statistics with the very same counts were merged: if they are of the same examples, each "
    "counts twice, and a certificate from the result is not valid."
)
_OVERLAP = (
    "Statistics were merged in which examples with the very same errors come again more often than "
    "in independent draws, and in neither of the two alone: if some examples are in both, they "
    "count twice, and a certificate from the result is not valid."
)
# By the counts of so many voters it is told how surprising they would be once more.
_SOME_VOTERS = 32
_LABELLED_TOO = (
    "Unlabelled examples were joined on which voters disagree exactly as often as on the labelled "
    "ones: if they are the same examples, each counts twice, and a certificate from the result is "
    "not valid."
)


class VoteStatistics(Statistics):
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
    fixed_votes : FixedVotes or None
        The errors of votes whose weights were fixed before the sample, counted from votes.
    unlabelled : UnlabelledStatistics or None
        The disagreements of these voters on more examples, as `with_unlabelled` joins them.
    voters : tuple of str or None
        The names of the voters, where a table or a Parquet file had them: statistics of the same
        voters in another order, or of others, are not merged. They are in no digest.
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

    kind = DEFAULT_KIND
    remedy = "build them with keep_rows=True"

    voters: tuple[str, ...] | None = None
    # The samples that were merged into this one; None if it is of one piece.
    merged: Parts | None = None

    def __init__(
        self,
        n_samples: int,
        errors: ArrayLike,
        tandem: ArrayLike | None,
        rows: NDArray[np.uint8] | None = None,
    ) -> None:
        self.n_samples = check_count("n_samples", n_samples)
        self.errors = as_counts("errors", errors, ndim=1)
        self.rows = read_only_rows(rows)
        self.fixed_votes: FixedVotes | None = None
        self.unlabelled: UnlabelledStatistics | None = None
        if self.errors.size < 1:
            raise ValueError("errors must count at least one voter, got none.")
        if tandem is not None:
            table = as_counts("tandem", tandem, ndim=2)
            check_pairs("tandem", table, self.errors, self.n_samples)
            self.pairs: Pairs = PairTable(table)
        elif self.rows is None:
            raise ValueError("tandem must not be None unless there are rows.")
        if self.rows is not None:
            self._check_rows(self.rows)
            if tandem is None:
                self.pairs = PackedPairs(self.rows, self.n_voters)

    def _check_rows(self, rows: NDArray[np.uint8]) -> None:
        packed = (self.n_samples, (self.n_voters + 7) // 8)
        if rows.shape != packed or rows.dtype != np.uint8:
            raise ValueError(
                f"rows must be uint8 of shape {packed}, got {rows.dtype} of shape {rows.shape}."
            )
        counted = sum(
            np.unpackbits(chunk, axis=1, count=self.n_voters).sum(axis=0, dtype=np.int64)
            for chunk in chunks_of(rows, self.n_voters)
        )
        if not np.array_equal(counted, self.errors):
            raise ValueError("rows must hold the losses that errors counts.")

    # --- counting ------------------------------------------------------------------------------

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
        fixed_votes: ArrayLike | None = None,
        missing: Any = None,
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
        fixed_votes : array-like of shape (M, n), default=None
            The weights of votes, fixed before the sample, whose own errors are counted too, as
            `vote_errors` returns them: such a vote predicts the label with the largest share, the
            first in sorted order on a tie.
        missing : label, default=None
            What stands in `votes` for no opinion, and is no true label. A voter without an opinion
            is not right, so that its loss is 1, and has no say in the fixed votes.

        Returns
        -------
        VoteStatistics
            The counts.
        """
        labels = check_votes(votes, y)
        if missing is not None and np.any(labels[1] == missing):
            raise ValueError(f"missing must be no true label, got {missing!r}, which y has.")
        statistics = cls._count(_losses(*labels), keep_rows, reused=False)
        statistics.voters = voter_names(votes)
        if fixed_votes is not None:
            statistics.fixed_votes = count_vote_errors(*labels, fixed_votes, missing)
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
            not depend on how they are cut. Tables must name the voters in one order. An array is
            cut here; if it is a memory map, its pages are given back as they are counted, so that
            it may be larger than memory.
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
        counter = Counter(keep_rows=keep_rows)
        try:
            with counter:
                count_chunks(counter, chunks, verbose)
        except UncountedError as error:
            statistics = cls._counted(counter) if error.chunk else None
            raise IncompleteStatisticsError(str(error), error.chunk, statistics) from (
                error.__cause__
            )
        statistics = cls._counted(counter)
        known = getattr(chunks, "voters", None)  # of a file
        if isinstance(known, list) and len(known) == statistics.n_voters:
            statistics.voters = tuple(map(str, known))
        return statistics

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
        table, rows = counter.result()
        size, n = counter.kept_samples, counter.n_voters
        statistics = cls._trusted(size, n, table, rows, counter.keep_rows)
        statistics.voters = counter.voters
        return statistics

    @classmethod
    def _trusted(
        cls,
        n_samples: int,
        n_voters: int,
        table: NDArray[np.int64] | None,
        rows: NDArray[np.uint8] | None,
        keep_rows: bool,
    ) -> "VoteStatistics":
        """Return statistics whose rows need no check, as the counts were made from them."""
        if rows is not None:
            rows.flags.writeable = False
        if table is not None:
            statistics = cls(n_samples, np.diagonal(table), table)
        else:
            assert rows is not None
            errors = transposed_product(rows, np.ones(n_samples), n_voters)
            statistics = cls(n_samples, errors.astype(np.int64), None, rows)
        statistics.rows = rows if keep_rows else None
        return statistics

    # --- what they say ---------------------------------------------------------------------------

    @property
    def n_voters(self) -> int:
        """The number of voters."""
        return int(self.errors.size)

    @property
    def tandem(self) -> NDArray[np.int64]:
        """The number of examples on which both voters of a pair err."""
        return self.pairs.counts

    @property
    def offers(self) -> frozenset[str]:
        """What bounds may ask of these statistics."""
        # Joined with unlabelled examples, d is not from the examples that e is from.
        offers = {"moments", "voter errors"} | ({"joint"} if self.unlabelled is None else set())
        if self.rows is not None:
            offers |= {"rows", "fixed votes"}
        if self.fixed_votes is not None:
            offers.add("fixed votes")
        return frozenset(offers)

    @cached_property
    def error_rates(self) -> NDArray[np.float64]:
        """How often each voter errs."""
        return as_rates(self.errors, self.n_samples)

    def voter_errors(self) -> NDArray[np.int64]:
        """Return on how many examples each voter errs."""
        return self.errors

    def moments_at(self, q: NDArray[np.float64]) -> Moments:
        """Return the moments of weights that have been checked."""
        m = self.n_samples
        joint_gradient, joint_errors = self.pairs.product(q)
        joint_gradient *= 2.0 / m
        # Rounding must not leave the set of possible moments: 0 ≤ e ≤ r ≤ 1.
        r = min(1.0, float(q @ self.error_rates))
        e = min(r, joint_errors / m)
        moments = Moments(
            gibbs_risk=r,
            joint_error=e,
            disagreement=2.0 * (r - e),
            gibbs_size=m,
            joint_size=m,
            disagreement_size=m,
            gibbs_gradient=self.error_rates.copy(),
            joint_gradient=joint_gradient,
            disagreement_gradient=2.0 * (self.error_rates - joint_gradient),
        )
        return moments if self.unlabelled is None else self.unlabelled.joined_to(moments, q)

    def packed_chunks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the 0/1 losses, eight to a byte, a few examples at a time."""
        if self.rows is None:
            raise ValueError(
                "these statistics hold counts only: build them with keep_rows=True to know what "
                "the vote does on each example."
            )
        return chunks_of(self.rows, self.n_voters)

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
        return np.concatenate(
            [np.unpackbits(rows, axis=1, count=q.size) @ q for rows in self.packed_chunks()]
        )

    def vote_errors(self, weights: ArrayLike) -> int:
        """Return on how many examples the weighted vote errs.

        Parameters
        ----------
        weights : array-like of shape (n,)
            The weights of the voters.

        Returns
        -------
        int
            The errors of the vote's own predictions, if it is one of the `fixed_votes`. Otherwise
            it needs rows, and is the number of examples on which the erring voters weigh at least
            one half: at least the errors, whatever the tie-break and however many classes there
            are.
        """
        q = check_distribution("weights", weights, self.n_voters)
        errors = None if self.fixed_votes is None else self.fixed_votes.errors_of(q)
        if errors is not None:
            return errors
        if self.rows is None and self.fixed_votes is not None:
            raise ValueError(
                "weights must be those of a vote fixed in advance, whose errors were counted, as "
                "these statistics hold no rows: give those of one of the fixed_votes, as the prior "
                "too, or choose a bound on moments."
            )
        # Up to what a tie leaves open, and the rounding of sums of n weights.
        half = 0.5 - TIE - self.n_voters * np.finfo(np.float64).eps
        return int(np.count_nonzero(self.erring_weight(q) >= half))

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of m, errors and tandem as little-endian 64-bit integers.

        Where the losses stand for the table, that of m, n and the sorted SHA-256 of the examples'
        packed losses. In neither does the order of the examples matter. With unlabelled examples,
        that of both digests.
        """
        own = self.pairs.sha256(self.errors, self.n_samples)
        if self.unlabelled is None:
            return own
        return hashlib.sha256((own + self.unlabelled.sha256).encode()).hexdigest()

    @property
    def parts(self) -> Parts:
        """The samples that were merged into this one, or itself."""
        if self.merged is not None:
            return self.merged
        digest = self.pairs.sha256(self.errors, self.n_samples)
        some = np.unique(np.linspace(0, self.n_voters - 1, _SOME_VOTERS).astype(np.intp))
        errors, both = self.errors[some].astype(np.float64), self.pairs.among(some)
        covariance = both - np.outer(errors, errors) / self.n_samples
        return Parts.of(digest, surprise(covariance))

    # --- what a certificate says of them ---------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return what a certificate records of these statistics, besides the counts' digest."""
        facts = super().facts()
        if self.unlabelled is not None:
            facts["unlabelled_samples"] = self.unlabelled.n_samples
        return facts

    @classmethod
    def check_facts(cls, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the number of unlabelled examples, if there are some."""
        name = "unlabelled_samples"
        return {name: check_count(name, facts[name])} if name in facts else {}

    @classmethod
    def check_sizes(
        cls, sizes: Mapping[str, int], n_samples: int, facts: Mapping[str, Any]
    ) -> None:
        """Refuse evidence of other examples than those of the certificate."""
        own = dict(sizes)
        if "disagreement_size" in own:  # the winner of several may look at labelled examples only
            own["disagreement_size"] -= facts.get("unlabelled_samples", 0)
        super().check_sizes(own, n_samples, facts)

    @classmethod
    def assumptions(cls, facts: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a claim assumes of unlabelled examples."""
        return (UnlabelledStatistics.assumption,) if "unlabelled_samples" in facts else ()

    # --- merging ---------------------------------------------------------------------------------

    def __add__(self, other: object) -> "VoteStatistics":
        """Return the statistics of both samples; what only one has besides counts is left out."""
        if not isinstance(other, VoteStatistics):
            return NotImplemented
        if self.n_voters != other.n_voters:
            raise ValueError(
                "statistics can only be merged for the same voters, got "
                f"{self.n_voters} and {other.n_voters} voters."
            )
        if type(self) is not type(other):
            raise ValueError(
                "statistics can only be merged if they are of one kind, got "
                f"{type(self).__name__} and {type(other).__name__}."
            )
        if self.subject != other.subject:
            raise ValueError(
                "statistics can only be merged if they are of the same class or group, got "
                f"{self.subject} and {other.subject}."
            )
        voters = same_names("statistics that are merged", self.voters, other.voters)
        findings = [*self.findings, *other.findings]
        told = are_hardly_chance(self.errors, self.n_samples)
        parts, others = self.parts, other.parts
        if other is self or (told and self == other) or parts.repeat(others):
            findings.append(_MERGED_TWICE)
            warnings.warn(_MERGED_TWICE, stacklevel=2)
        elif self._overlaps(other):
            findings.append(_OVERLAP)
            warnings.warn(_OVERLAP, stacklevel=2)
        m, n = self.n_samples + other.n_samples, self.n_voters
        rows = _stacked(self.rows, other.rows)
        bits = _stacked(self.pairs.bits, other.pairs.bits) if prefer_bits(m, n) else None
        table = self.tandem + other.tandem if bits is None else None
        both = self._trusted(m, n, table, rows if bits is None else bits, rows is not None)
        both.subject, both.voters, both.merged = self.subject, voters, parts + others
        if self.fixed_votes is not None and other.fixed_votes is not None:
            both.fixed_votes = self.fixed_votes + other.fixed_votes
        for unlabelled in (self.unlabelled, other.unlabelled):
            if unlabelled is not None:
                both = both.with_unlabelled(unlabelled)
        both.findings = tuple(dict.fromkeys([*findings, *both.findings]))
        return both

    def _overlaps(self, other: "VoteStatistics") -> bool:
        """Tell whether some examples seem to be in both; without the losses nobody can."""
        one, two = (own.pairs.bits if own.rows is None else own.rows for own in (self, other))
        return one is not None and two is not None and overlap(one, two)

    def __radd__(self, other: object) -> "VoteStatistics":
        """Let ``sum(shards)`` work."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def with_unlabelled(self, unlabelled: UnlabelledStatistics) -> "VoteStatistics":
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
        if self.subject is not None and self.subject[0] == "class":
            raise ValueError(
                "unlabelled examples must not be joined to those of one class: nobody knows theirs."
            )
        joined = copy.copy(self)
        joined.voters = same_names("unlabelled", self.voters, unlabelled.voters)
        vars(joined).pop("sha256", None)
        joined.unlabelled = unlabelled if self.unlabelled is None else self.unlabelled + unlabelled
        findings = [*self.findings, *joined.unlabelled.findings]
        if self._disagree_as(unlabelled):
            findings.append(_LABELLED_TOO)
            warnings.warn(_LABELLED_TOO, stacklevel=2)
        joined.findings = tuple(dict.fromkeys(findings))
        return joined

    def _disagree_as(self, unlabelled: UnlabelledStatistics) -> bool:
        """Tell whether voters disagree exactly as often on other examples, hardly by chance.

        Others that are several times as many may be several copies.
        """
        size, counts = unlabelled.n_samples, unlabelled.disagreements
        times, rest = divmod(size, self.n_samples)
        if rest or not times or not are_hardly_chance(counts, size):
            return False
        own = self.errors[:, None] + self.errors - 2 * self.tandem
        return np.array_equal(counts, times * own)

    def restricted_to(self, what: str, name: str) -> Self:
        """Return the same counts, as those of the examples of one class or of one group only.

        Parameters
        ----------
        what : {"class", "group"}
            Whether all examples have one label, or one value of something else.
        name : str
            Which, as the claim will say it.
        """
        if what == "class" and self.unlabelled is not None:
            raise ValueError("unlabelled examples must not be there: nobody knows their class.")
        return super().restricted_to(what, name)

    def without_order(self) -> "VoteStatistics":
        """Return the same counts without the order of the examples, where shards came in any."""
        own = copy.copy(self)
        own.pairs = self.pairs.without_order()
        return own

    def __eq__(self, other: object) -> bool:
        """Tell whether the counts are the same."""
        if not isinstance(other, VoteStatistics):
            return NotImplemented
        if self.n_samples != other.n_samples or not np.array_equal(self.errors, other.errors):
            return False
        if self.unlabelled != other.unlabelled:
            return False
        packed = self.pairs.bits is not None and other.pairs.bits is not None
        if packed and self.sha256 == other.sha256:
            return True  # the same examples have the same counts; others may, too
        return np.array_equal(self.tandem, other.tandem)

    __hash__ = None  # type: ignore[assignment]

    def __sizeof__(self) -> int:
        """Return the size with the arrays: a scheduler decides by it what to move where."""
        values = (*vars(self).values(), *vars(self.pairs).values())
        arrays = {id(value): value.nbytes for value in values if isinstance(value, np.ndarray)}
        return object.__sizeof__(self) + sum(arrays.values())

    def __repr__(self) -> str:
        """Return the sizes."""
        return (
            f"VoteStatistics(n_samples={self.n_samples}, n_voters={self.n_voters}, "
            f"rows={self.rows is not None})"
        )

    # --- keeping ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return arrays and plain objects: how counts are kept may change between versions."""
        state = {k: value for k, value in vars(self).items() if k not in ("pairs", "merged")}
        if self.merged is not None:
            state |= {"parts": self.merged.digests, "surprises": self.merged.surprises}
        if self.pairs.bits is not None:
            return state | {"bits": self.pairs.bits}
        return state | {"tandem": self.tandem}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, of which numpy forgets that it cannot be written to."""
        make_read_only(state.values())
        own = dict(state)
        bits, table = own.pop("bits", None), own.pop("tandem", None)
        if "parts" in own:
            own["merged"] = Parts(own.pop("parts"), own.pop("surprises"))
        vars(self).update(own)
        self.pairs = PairTable(table) if bits is None else PackedPairs(bits, self.n_voters)

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
        if self.subject is not None:
            raise ValueError("statistics of one class or group are not saved: save them whole.")
        if self.kind != DEFAULT_KIND:
            raise ValueError(f"statistics of the kind {self.kind!r} have no such file.")
        arrays: dict[str, Any] = {"n_samples": self.n_samples, "errors": self.errors}
        if self.unlabelled is not None:
            arrays["unlabelled_samples"] = self.unlabelled.n_samples
            arrays["disagreements"] = self.unlabelled.disagreements
            arrays["unlabelled_classes"] = np.array(self.unlabelled.written_classes(), dtype=str)
        if self.findings:
            arrays["findings"] = np.array(self.findings)
        if self.voters is not None:
            arrays["voters"] = np.array(self.voters, dtype=str)
        if self.merged is not None:
            arrays["parts"], arrays["surprises"] = self.merged.digests, self.merged.surprises
        if self.fixed_votes is not None:
            arrays["tested_weights"] = self.fixed_votes.weights
            arrays["tested_errors"] = self.fixed_votes.errors
            arrays |= {"tested_silent": True} if self.fixed_votes.silent else {}
        if self.pairs.bits is not None:
            arrays |= {"rows": self.pairs.bits, "keep_rows": self.rows is not None}
        else:
            arrays |= {"tandem": self.tandem}
            arrays |= {} if self.rows is None else {"rows": self.rows}
        save_arrays(path, KIND, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "VoteStatistics":
        """Return the statistics that `save` wrote, and refuse a file that has changed since.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        arrays = load_counts(path)
        keep_rows = bool(arrays.pop("keep_rows", "rows" in arrays))
        rows = arrays.get("rows")
        own = cls(int(arrays["n_samples"]), arrays["errors"], arrays.get("tandem"), rows)
        own.rows = own.rows if keep_rows else None
        if "tested_weights" in arrays:
            silent = bool(arrays.get("tested_silent", False))
            own.fixed_votes = FixedVotes(arrays["tested_weights"], arrays["tested_errors"], silent)
            check_fixed_votes(own.fixed_votes, own.n_samples, own.errors, own.pairs, rows)
        if "disagreements" in arrays:
            size, counts = int(arrays["unlabelled_samples"]), arrays["disagreements"]
            classes = map(json.loads, arrays.get("unlabelled_classes", np.empty(0, str)).tolist())
            own = own.with_unlabelled(UnlabelledStatistics(size, counts, tuple(classes)))
        if "voters" in arrays:
            own.voters = tuple(arrays["voters"].tolist())
            if len(own.voters) != own.n_voters:
                raise ValueError(
                    f"voters must be {own.n_voters} names, one each, got {len(own.voters)}."
                )
        if "parts" in arrays:
            own.merged = Parts(arrays["parts"], arrays["surprises"])
        own.findings = tuple(arrays.get("findings", np.empty(0, dtype=str)).tolist())
        return own


def join_unlabelled(
    statistics: Statistics,
    unlabelled: ArrayLike | UnlabelledStatistics,
    votes: ArrayLike | None = None,
    y: ArrayLike | None = None,
) -> VoteStatistics:
    """Return statistics joined with unlabelled votes, where all is of the same two classes.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.statistics import join_unlabelled
    >>> statistics = VoteStatistics.from_losses([[0, 1], [1, 1]])
    >>> join_unlabelled(statistics, [["cat", "dog"]]).moments([0.5, 0.5]).disagreement_size
    3
    """
    if not isinstance(statistics, VoteStatistics):
        raise ValueError(
            f"unlabelled votes go with VoteStatistics, got {type(statistics).__name__}."
        )
    if not isinstance(unlabelled, UnlabelledStatistics):
        unlabelled = UnlabelledStatistics.from_votes(unlabelled)
    classes = unlabelled.classes
    for name, labels, ndim in (("votes", votes, 2), ("y", y, 1)):
        if labels is not None:
            classes = add_labels(classes, check_labels(name, labels, ndim))
    return statistics.with_unlabelled(unlabelled)


def _stacked(
    first: NDArray[np.uint8] | None, second: NDArray[np.uint8] | None
) -> NDArray[np.uint8] | None:
    """Return the rows of both, None if one has none."""
    return None if first is None or second is None else np.concatenate([first, second])


def _losses(votes: NDArray[Any], y: NDArray[Any]) -> Iterator[NDArray[np.bool_]]:
    """Yield where votes differ from the true labels, a few rows at a time."""
    step = rows_at_once(votes.shape[1])
    for start in range(0, len(y), step):
        stop = start + step
        yield np.asarray(votes[start:stop] != y[start:stop, None], dtype=np.bool_)
