"""What statistics are, whatever they were counted from."""

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_choice, check_distribution
from .moments import Moments

__all__ = ["DEFAULT_KIND", "IncompleteStatisticsError", "Statistics", "check_name"]

_SUBJECTS = ("class", "group")
_LONGEST = 200


class Statistics(ABC):
    """What a sample says about n voters: all that learning and certifying look at.

    A kind of statistics has a name (`kind`), and writes `n_voters`, `offers`, `error_rates`,
    `moments_at` and `sha256`. Once it is registered (`certivote.statistics.register`), every bound
    that needs no more than it offers can be minimised, certified, written, read and verified.

    Attributes
    ----------
    n_samples : int
        The number of examples.
    findings : tuple of str
        What throws doubt on a certificate from them, such as a sample that was merged with itself.
    subject : tuple of (str, str) or None
        The class or the group that all the examples are of: see `restricted_to`.

    Examples
    --------
    >>> from certivote import VoteStatistics
    >>> from certivote.statistics import Statistics
    >>> s = VoteStatistics.from_losses([[0, 1], [1, 1], [0, 0], [0, 1]])
    >>> isinstance(s, Statistics), s.n_samples, s.n_voters, s.error_rates.tolist()
    (True, 4, 2, [0.25, 0.75])
    >>> s.moments([0.5, 0.5]).gibbs_risk
    0.5
    """

    kind: ClassVar[str]
    # How what was counted was drawn, where these statistics are behind a claim. A kind that counts
    # something else than single examples says it in its own words.
    drawn_assumption: ClassVar[str] = (
        "The certification examples were drawn independently of each other, from the same "
        "distribution as the examples to come."
    )
    # What a claim assumes of the voters, where these statistics are behind it.
    voters_assumption: ClassVar[str] = (
        "The voters, the prior and the settings of the bound were fixed without looking at the "
        "certification examples."
    )

    # What to do where a bound needs more than they offer, if anything can be done.
    remedy: ClassVar[str] = ""

    # Whether every voter and every pair is counted on the same examples.
    one_sample: ClassVar[bool] = True

    # Whether the voters were trained on bags of the very examples that are counted.
    from_bags: ClassVar[bool] = False

    n_samples: int
    findings: tuple[str, ...] = ()
    subject: tuple[str, str] | None = None

    # --- what a kind writes ----------------------------------------------------------------------

    @property
    @abstractmethod
    def n_voters(self) -> int:
        """The number of voters."""

    @property
    @abstractmethod
    def offers(self) -> frozenset[str]:
        """What bounds may ask of these statistics.

        Some of "moments", "joint" (e and d were counted on the same examples), "rows" (what each
        voter does on each example), "fixed votes" (the errors of votes fixed in advance) and "voter
        errors" (those of each voter, on all examples). It must not depend on any count.
        """

    @property
    @abstractmethod
    def error_rates(self) -> NDArray[np.float64]:
        """How often each voter errs, on the examples on which it was asked."""

    @abstractmethod
    def moments_at(self, q: NDArray[np.float64]) -> Moments:
        """Return the moments of weights that have been checked."""

    @property
    @abstractmethod
    def sha256(self) -> str:
        """A SHA-256 of all counts, which does not depend on the order of the examples."""

    # --- what it may write -----------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return what a certificate records of these statistics, besides the counts' digest."""
        facts = {} if self.kind == DEFAULT_KIND else {"statistics": self.kind}
        return facts if self.subject is None else facts | dict([self.subject])

    @classmethod
    def check_facts(cls, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of a certificate's facts that only this kind has, checked."""
        return {}

    @classmethod
    def check_sizes(
        cls, sizes: Mapping[str, int], n_samples: int, facts: Mapping[str, Any]
    ) -> None:
        """Refuse evidence of other examples than those of the certificate."""
        for name, size in sizes.items():
            if size != n_samples:
                raise ValueError(
                    f"n_samples must be the {name} of the evidence, got {n_samples} and {size}."
                )

    @classmethod
    def assumptions(cls, facts: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a claim from such statistics assumes besides what every claim does."""
        return ()

    def packed_chunks(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the 0/1 losses, eight to a byte, a few examples at a time."""
        raise ValueError(f"{type(self).__name__} hold no rows: what each voter does on each one.")

    def vote_errors(self, weights: ArrayLike) -> int:
        """Return on how many examples the weighted vote errs, or more."""
        raise ValueError(f"{type(self).__name__} do not know the errors of votes.")

    def voter_errors(self) -> NDArray[np.int64]:
        """Return on how many of all the examples each voter errs."""
        raise ValueError(f"{type(self).__name__} do not have every voter on every example.")

    def digest(self) -> str:
        """Return the SHA-256 that a certificate carries: of the counts, and of what they are of."""
        if self.subject is None:
            return self.sha256
        return hashlib.sha256("\0".join((self.sha256, *self.subject)).encode()).hexdigest()

    # --- what every kind has ---------------------------------------------------------------------

    def moments(self, weights: ArrayLike) -> Moments:
        """Return the Gibbs risk, the joint error and the disagreement of a weighted vote.

        Parameters
        ----------
        weights : array-like of shape (n,)
            The weights of the voters.

        Returns
        -------
        Moments
            The three numbers, the number of examples behind each, and their gradients.
        """
        return self.moments_at(check_distribution("weights", weights, self.n_voters))

    def restricted_to(self, what: str, name: str) -> Self:
        """Return the same counts, as those of the examples of one class or of one group only.

        A certificate from them is about new examples of that class or group. Which examples are
        counted is for the caller.

        Parameters
        ----------
        what : {"class", "group"}
            Whether all examples have one label, or one value of something else.
        name : str
            Which, as the claim will say it: ``"malignant"``, ``"region = north"``.
        """
        check_choice("what", what, _SUBJECTS)
        check_name("name", name)
        if self.subject not in (None, (what, name)):
            raise ValueError(
                f"these statistics are of {self.subject} already, and of nothing else."
            )
        own = copy.copy(self)
        own.subject = (what, name)
        return own


def check_name(what: str, name: object) -> str:
    """Return the name of a class or a group, which stands between quotes in a claim."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST:
        raise ValueError(
            f"{what} must be a text of at most {_LONGEST} characters that can be printed, got "
            f"{name!r}."
        )
    if '"' in name:
        raise ValueError(f"{what} must not hold a double quote, got {name!r}.")
    return name


# The kind that certificates do not name.
DEFAULT_KIND = "votes"


class IncompleteStatisticsError(ValueError):
    """Some of the data could not be counted; what was counted before is kept.

    Parameters
    ----------
    message : str
        What is wrong, and with which chunk or partition.
    chunk : int
        The number of the first chunk or partition that could not be counted, from 0.
    statistics : Statistics or None
        The counts of the chunks before it (of all other partitions); None if there are none.
    chunks : sequence of int, default=()
        The numbers of all partitions that could not be counted; `chunk` alone if empty.

    Examples
    --------
    >>> from certivote import IncompleteStatisticsError, VoteStatistics
    >>> try:
    ...     VoteStatistics.from_chunks([[[0, 1], [1, 1]], [[0, 7]]])
    ... except IncompleteStatisticsError as error:
    ...     print(f"Chunk {error.chunk}; before it {error.statistics.n_samples} rows were counted.")
    Chunk 1; before it 2 rows were counted.
    """

    def __init__(
        self, message: str, chunk: int, statistics: Any, chunks: Sequence[int] = ()
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
