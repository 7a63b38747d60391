"""What examples without labels say about two-class voters: how often each pair disagrees."""

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_count
from ..labels import check_labels, same_names, voter_names
from .counting import Counter
from .counts import are_hardly_chance, as_counts, make_read_only
from .moments import Moments
from .parts import Parts, surprise

__all__ = ["UnlabelledStatistics", "add_labels"]

_VALUES_PER_CHUNK = 2**25
_MERGED_TWICE = (
    "Unlabelled statistics with the very same counts were merged: if they are of the same "
    "examples, each counts twice, and a certificate from the result is not valid."
)


class UnlabelledStatistics:
    """Exact counts of the disagreements of n voters on examples whose labels are not known.

    With two classes, of two voters that disagree exactly one errs: these examples say as much about
    the disagreement as labelled ones. With three classes both may err, and they say nothing. Join
    them to the labelled ones with `VoteStatistics.with_unlabelled`.

    Parameters
    ----------
    n_samples : int
        The number of examples.
    disagreements : array-like of shape (n, n)
        The number of examples on which the two voters of a pair predict different labels.
    classes : tuple, default=()
        The labels that were predicted, at most two; none if they are not known.

    Attributes
    ----------
    voters : tuple of str or None
        The names of the voters, where a table had them.
    findings : tuple of str
        What throws doubt on a certificate from them.

    Examples
    --------
    >>> from certivote import UnlabelledStatistics, VoteStatistics
    >>> more = UnlabelledStatistics.from_votes([["cat", "dog"], ["dog", "dog"], ["cat", "dog"]])
    >>> more.disagreements
    array([[0, 2],
           [2, 0]])
    >>> s = VoteStatistics.from_votes([["cat", "dog"]], ["dog"]).with_unlabelled(more)
    >>> moments = s.moments([0.5, 0.5])
    >>> moments.disagreement, moments.disagreement_size, moments.gibbs_size
    (0.375, 4, 1)
    """

    # What a claim assumes where such examples are behind it.
    assumption: ClassVar[str] = (
        "The unlabelled examples were drawn independently as well, from the same distribution as "
        "the labelled ones, and the voters and the prior were fixed without looking at them "
        "either. Only two labels occur: no third one is among the true labels, of the unlabelled "
        "examples or of those to come."
    )
    voters: tuple[str, ...] | None = None
    # The samples that were merged into this one; None if it is of one piece.
    merged: Parts | None = None

    def __init__(
        self, n_samples: int, disagreements: ArrayLike, classes: tuple[Any, ...] = ()
    ) -> None:
        self.n_samples = check_count("n_samples", n_samples)
        self.disagreements = as_counts("disagreements", disagreements, ndim=2)
        self.classes = classes
        self.findings: tuple[str, ...] = ()
        n = len(self.disagreements)
        if n < 1 or self.disagreements.shape != (n, n):
            raise ValueError(
                f"disagreements must have shape (n, n), got {self.disagreements.shape}."
            )
        if np.diagonal(self.disagreements).any():
            raise ValueError("disagreements must have 0 on its diagonal.")
        if not np.array_equal(self.disagreements, self.disagreements.T):
            raise ValueError("disagreements must be symmetric.")
        if self.disagreements.min() < 0 or self.disagreements.max() > self.n_samples:
            raise ValueError(f"disagreements must be between 0 and n_samples = {self.n_samples}.")

    @classmethod
    def from_votes(cls, votes: ArrayLike) -> "UnlabelledStatistics":
        """Count the disagreements of predicted labels.

        Parameters
        ----------
        votes : array-like of shape (m, n)
            The label that each voter predicts for each example: at most two different ones.

        Returns
        -------
        UnlabelledStatistics
            The counts.
        """
        return cls.from_chunks([votes])

    @classmethod
    def from_chunks(cls, chunks: Iterable[ArrayLike]) -> "UnlabelledStatistics":
        """Count the disagreements of votes that come in pieces, in one pass.

        Parameters
        ----------
        chunks : iterable of array-like of shape (any, n)
            Predicted labels, as in `from_votes`. The counts do not depend on how they are cut.

        Returns
        -------
        UnlabelledStatistics
            The counts.
        """
        classes: tuple[Any, ...] = ()
        voters: tuple[str, ...] | None = None
        with Counter(table=True) as counter:
            for number, chunk in enumerate(chunks):
                name = f"unlabelled (chunk {number})" if number else "unlabelled"
                votes = check_labels(name, chunk, ndim=2)
                step = max(1, _VALUES_PER_CHUNK // votes.shape[1])
                for start in range(0, len(votes), step):
                    block = votes[start : start + step]
                    classes = add_labels(classes, block)
                    counter.add(np.asarray(block != classes[0], dtype=np.bool_), name)
                voters = same_names(name, voters, voter_names(chunk))
        if counter.n_samples == 0:
            raise ValueError("unlabelled must hold at least one example, got none.")
        second, _ = counter.result()  # on how many examples both predict the second label
        assert second is not None
        alone = np.diagonal(second)
        counted = cls(counter.n_samples, alone[:, None] + alone - 2 * second, classes)
        counted.voters = voters
        return counted

    @property
    def n_voters(self) -> int:
        """The number of voters."""
        return len(self.disagreements)

    def __add__(self, other: object) -> "UnlabelledStatistics":
        """Return the counts of both samples together."""
        if not isinstance(other, UnlabelledStatistics):
            return NotImplemented
        if self.n_voters != other.n_voters:
            raise ValueError(
                "unlabelled statistics can only be merged for the same voters, got "
                f"{self.n_voters} and {other.n_voters} voters."
            )
        voters = same_names("unlabelled statistics that are merged", self.voters, other.voters)
        findings = [*self.findings, *other.findings]
        told = are_hardly_chance(self.disagreements, self.n_samples)
        parts, others = self.parts, other.parts
        if other is self or (told and self == other) or parts.repeat(others):
            findings.append(_MERGED_TWICE)
            warnings.warn(_MERGED_TWICE, stacklevel=2)
        classes = self.classes
        for label in other.classes:
            classes = add_labels(classes, np.array([label]))
        both = UnlabelledStatistics(
            self.n_samples + other.n_samples, self.disagreements + other.disagreements, classes
        )
        both.voters, both.merged = voters, parts + others
        both.findings = tuple(dict.fromkeys(findings))
        return both

    @property
    def parts(self) -> Parts:
        """The samples that were merged into this one, or itself."""
        if self.merged is not None:
            return self.merged
        # Pairs of which no voter is in two: others say little more.
        counts = np.diagonal(self.disagreements, 1)[::2]
        variances = counts * (1.0 - counts / self.n_samples)
        return Parts.of(self.sha256, surprise(np.diag(variances)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, of which numpy forgets that it cannot be written to."""
        vars(self).update(state)
        make_read_only(state.values())

    def __radd__(self, other: object) -> "UnlabelledStatistics":
        """Let ``sum(shards)`` work."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Tell whether the counts are the same."""
        if not isinstance(other, UnlabelledStatistics):
            return NotImplemented
        same = np.array_equal(self.disagreements, other.disagreements)
        return self.n_samples == other.n_samples and same

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the sizes."""
        return f"UnlabelledStatistics(n_samples={self.n_samples}, n_voters={self.n_voters})"

    def written_classes(self) -> list[str]:
        """Return the labels as JSON, to be saved; none if they are neither numbers nor text."""
        plain = [x.item() if isinstance(x, np.generic) else x for x in self.classes]
        known = all(isinstance(label, str | int | float) for label in plain)
        return [json.dumps(label) for label in plain] if known else []

    @cached_property
    def _rates(self) -> NDArray[np.float64]:
        return self.disagreements / self.n_samples

    def joined_to(self, moments: Moments, q: NDArray[np.float64]) -> Moments:
        """Return the moments of weights on labelled examples, with a disagreement of these too."""
        size = moments.disagreement_size + self.n_samples
        share, gradient = self.n_samples / size, 2.0 * (self._rates @ q)
        disagreement = (1.0 - share) * moments.disagreement + share * 0.5 * float(q @ gradient)
        return replace(
            moments,
            disagreement=min(1.0, disagreement),
            disagreement_size=size,
            disagreement_gradient=(1.0 - share) * moments.disagreement_gradient + share * gradient,
        )

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of m and the disagreements as little-endian 64-bit integers."""
        digest = hashlib.sha256(b"certivote unlabelled 1")
        digest.update(np.array([self.n_samples, self.n_voters], dtype="<i8").tobytes())
        digest.update(self.disagreements.astype("<i8").tobytes())
        return digest.hexdigest()


def add_labels(known: tuple[Any, ...], labels: NDArray[Any]) -> tuple[Any, ...]:
    """Return the known labels with those that are new, and refuse a third one."""
    for label in known:
        labels = labels[labels != label]
    while labels.size:
        known = (*known, labels.flat[0])
        if len(known) > 2:
            raise ValueError(
                "unlabelled votes are of use with two classes only, got the labels "
                f"{', '.join(map(str, known))}: with three, two voters that disagree may both "
                "err, so that their disagreement says nothing about their errors."
            )
        labels = labels[labels != known[-1]]
    return known
