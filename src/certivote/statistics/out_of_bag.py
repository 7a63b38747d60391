"""Voters that were trained on parts of one sample, each tested on the others of it."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.validation import check_count, refuse_mask
from ..labels import check_same_table, check_votes
from .base import Statistics
from .counting import Counter, check_losses
from .counts import as_counts, as_rates, check_pairs, make_read_only
from .moments import Moments

__all__ = ["OutOfBagStatistics"]

_BAGS = (
    "The bags were drawn without looking at labels or features: no stratified or balanced "
    "bootstrap. Nothing that looks at more than one row (scaling, feature selection, tuning) "
    "happened outside the bags."
)


class OutOfBagStatistics(Statistics):
    """Counts of the errors of n voters, each on the examples outside its own bag.

    Voter j was trained on its bag and is tested on the ``m_j`` examples outside; a pair on the
    ``m_jk`` examples outside both bags, where both err, or exactly one does. Every moment is a mean
    of such frequencies: the disagreement too, which is not ``2(r − e)`` here. A bound on moments
    holds with the smallest of these numbers as the size of the sample: for each pair the mean of a
    larger sample is a mean over samples of that size, and ``exp(m·kl)`` is convex. The bags may
    depend on each other in any way, as long as they were drawn without looking at the examples:
    given the bags, those outside of a pair's are independent of what trained it, and the
    expectations of pairs are only added. Bounds that look at whole votes have no use for them, as
    on no example all voters are asked.

    Build them with `from_votes` or `from_losses`.

    Parameters
    ----------
    n_samples : int
        The number of examples, in bags or not.
    sizes : array-like of shape (n, n)
        m_jk, the number of examples outside both bags; outside one, on the diagonal.
    errors : array-like of shape (n, n)
        On how many of these the first voter of the pair errs.
    tandem : array-like of shape (n, n)
        On how many of these both err.

    References
    ----------
    A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second Order PAC-Bayesian Bounds for the
    Weighted Majority Vote", NeurIPS 2020, arXiv:2007.13532.

    Examples
    --------
    >>> from certivote.statistics import OutOfBagStatistics
    >>> losses = [[0, 1], [1, 1], [0, 0], [1, 0]]
    >>> in_bag = [[1, 0], [0, 0], [0, 0], [0, 1]]
    >>> statistics = OutOfBagStatistics.from_losses(losses, in_bag)
    >>> statistics
    OutOfBagStatistics(n_samples=4, n_voters=2, smallest=2)
    >>> statistics.moments([0.5, 0.5]).joint_size
    2
    """

    kind = "out of bag"
    one_sample = False
    from_bags = True
    # What bounds may ask: moments, with e and d from the same examples of each pair.
    offered: ClassVar[frozenset[str]] = frozenset({"moments", "joint"})
    voters_assumption = (
        "Each voter was trained on a part of the certification examples, its bag, and is tested on "
        "the others only. The bags, the list of the voters, the prior and the settings of the "
        "bound were fixed without looking at the examples."
    )

    def __init__(
        self, n_samples: int, sizes: ArrayLike, errors: ArrayLike, tandem: ArrayLike
    ) -> None:
        self.n_samples = check_count("n_samples", n_samples)
        self.sizes = as_counts("sizes", sizes, ndim=2)
        self.errors = as_counts("errors", errors, ndim=2)
        self.tandem = as_counts("tandem", tandem, ndim=2)
        n = len(self.sizes)
        if n < 1 or self.sizes.shape != (n, n) or self.errors.shape != (n, n):
            raise ValueError(
                "sizes and errors must have shape (n, n), got "
                f"{self.sizes.shape} and {self.errors.shape}."
            )
        if self.sizes.max() > self.n_samples or not np.array_equal(self.sizes, self.sizes.T):
            raise ValueError(f"sizes must be symmetric, and at most n_samples = {self.n_samples}.")
        if self.sizes.min() < 1:
            j, k = np.unravel_index(int(self.sizes.argmin()), self.sizes.shape)
            raise ValueError(
                f"no example is outside the bags of voters {j} and {k}. Smaller bags, or more "
                "examples, leave some."
            )
        check_pairs("tandem", self.tandem, self.errors, self.sizes)

    @classmethod
    def from_votes(cls, votes: ArrayLike, y: ArrayLike, in_bag: ArrayLike) -> "OutOfBagStatistics":
        """Count the errors of predicted labels, outside the bags.

        Parameters
        ----------
        votes : array-like of shape (m, n)
            The label that each voter predicts for each example. Those in its bag do not count.
        y : array-like of shape (m,)
            The true labels.
        in_bag : array-like of shape (m, n)
            1 or True where the example was in the voter's bag.
        """
        check_same_table(votes=votes, in_bag=in_bag)
        labels, truth = check_votes(votes, y)
        return cls.from_losses(np.asarray(labels != truth[:, None], dtype=np.bool_), in_bag)

    @classmethod
    def from_losses(cls, losses: ArrayLike, in_bag: ArrayLike) -> "OutOfBagStatistics":
        """Count the errors in a matrix of 0/1 losses, outside the bags.

        Parameters
        ----------
        losses : array-like of shape (m, n)
            1 or True where the voter errs on the example, else 0.
        in_bag : array-like of shape (m, n)
            1 or True where the example was in the voter's bag.
        """
        check_same_table(losses=losses, in_bag=in_bag)
        # Errors outside the bag, then whether it is outside: one table has all pairs of both.
        outside, erring = 1 - _zeros_and_ones("in_bag", in_bag), _zeros_and_ones("losses", losses)
        if outside.shape != erring.shape:
            raise ValueError(
                f"in_bag must have the shape of losses, {erring.shape}, got {outside.shape}."
            )
        with Counter(table=True) as counter:
            counter.add(np.hstack([erring * outside, outside]), "losses")
        table, _ = counter.result()
        assert table is not None
        n = erring.shape[1]
        return cls(len(erring), table[n:, n:], table[:n, n:], table[:n, :n])

    @property
    def n_voters(self) -> int:
        """The number of voters."""
        return len(self.sizes)

    @property
    def offers(self) -> frozenset[str]:
        """What bounds may ask."""
        return self.offered

    @cached_property
    def error_rates(self) -> NDArray[np.float64]:
        """How often each voter errs outside its bag."""
        return as_rates(np.diagonal(self.errors), np.diagonal(self.sizes))

    @cached_property
    def _pair_rates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often both voters of a pair err, and exactly one of them."""
        one = self.errors + self.errors.T - 2 * self.tandem
        return as_rates(self.tandem, self.sizes), as_rates(one, self.sizes)

    def moments_at(self, q: NDArray[np.float64]) -> Moments:
        """Return the moments of weights that have been checked."""
        both, one = (rates @ q for rates in self._pair_rates)
        return Moments(
            gibbs_risk=min(1.0, float(q @ self.error_rates)),
            joint_error=min(1.0, float(q @ both)),
            disagreement=min(1.0, float(q @ one)),
            gibbs_size=int(np.diagonal(self.sizes).min()),
            joint_size=int(self.sizes.min()),
            disagreement_size=int(self.sizes.min()),
            gibbs_gradient=self.error_rates.copy(),
            joint_gradient=2.0 * both,
            disagreement_gradient=2.0 * one,
            one_sample=False,
        )

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of m, n and the three tables as little-endian 64-bit integers."""
        digest = hashlib.sha256(b"certivote out of bag 1")
        digest.update(np.array([self.n_samples, self.n_voters], dtype="<i8").tobytes())
        for table in (self.sizes, self.errors, self.tandem):
            digest.update(table.astype("<i8").tobytes())
        return digest.hexdigest()

    @classmethod
    def check_sizes(
        cls, sizes: Mapping[str, int], n_samples: int, facts: Mapping[str, Any]
    ) -> None:
        """Refuse evidence of more examples than there are."""
        for name, size in sizes.items():
            if size > n_samples:
                raise ValueError(
                    f"n_samples must be at least the {name} of the evidence, got {n_samples} and "
                    f"{size}."
                )

    @classmethod
    def assumptions(cls, facts: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a claim assumes of the bags."""
        return (_BAGS,)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, of which numpy forgets that it cannot be written to."""
        vars(self).update(state)
        make_read_only(state.values())

    def __repr__(self) -> str:
        """Return the sizes."""
        return (
            f"OutOfBagStatistics(n_samples={self.n_samples}, n_voters={self.n_voters}, "
            f"smallest={self.sizes.min()})"
        )


def _zeros_and_ones(name: str, values: ArrayLike) -> NDArray[np.uint8]:
    """Return a table of 0 and 1."""
    refuse_mask(name, values)
    array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must be 0 or 1 in shape (examples, voters), neither of them 0, got "
            f"{array.dtype} of shape {array.shape}."
        )
    check_losses(array, name)
    return array.astype(np.uint8)
