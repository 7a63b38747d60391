"""How often both voters of a pair err, behind one product: a table, or the losses as bits."""

import hashlib
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .counting import Counter, prefer_bits
from .counts import as_counts
from .packed import chunks_of, erring_weight, tables_of, transposed_product

__all__ = ["PackedPairs", "PairTable", "Pairs"]


class Pairs(Protocol):
    """LᵀL of the losses L, however it is kept."""

    @property
    def bits(self) -> NDArray[np.uint8] | None:
        """The losses, eight to a byte; None where only the counts are kept."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """The table of pairs."""

    def product(self, q: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return LᵀL·q, and ``qᵀLᵀL·q``."""

    def among(self, voters: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the table of the pairs of some voters."""

    def sha256(self, errors: NDArray[np.int64], n_samples: int) -> str:
        """Return a digest that does not depend on the order of the examples."""

    def without_order(self) -> "Pairs":
        """Return the same pairs without the order of the examples."""


class PairTable:
    """n² integers."""

    bits: NDArray[np.uint8] | None = None

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.counts = counts

    @cached_property
    def _floats(self) -> NDArray[np.float64]:
        return self.counts.astype(np.float64)  # exact: a count stays far below 2**53

    def product(self, q: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return LᵀL·q, and ``qᵀLᵀL·q``."""
        each = self._floats @ q
        return each, float(q @ each)

    def among(self, voters: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the table of the pairs of some voters."""
        return self.counts[np.ix_(voters, voters)]

    def sha256(self, errors: NDArray[np.int64], n_samples: int) -> str:
        """Return the SHA-256 of m, n, errors and pairs as little-endian 64-bit integers."""
        digest = hashlib.sha256(b"certivote statistics 1")
        digest.update(np.array([n_samples, errors.size], dtype="<i8").tobytes())
        digest.update(errors.astype("<i8").tobytes())
        digest.update(self.counts.astype("<i8").tobytes())
        return digest.hexdigest()

    def without_order(self) -> "PairTable":
        """Return the table itself: counts have no order."""
        return self


class PackedPairs:
    """The losses of many voters on few examples, eight to a byte: smaller than their table."""

    def __init__(self, bits: NDArray[np.uint8], n_voters: int) -> None:
        self.bits = bits
        self.n_voters = n_voters

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The table of pairs, counted when it is first asked for."""
        with Counter(table=True) as counter:
            for packed in chunks_of(self.bits, self.n_voters):
                counter.add(np.unpackbits(packed, axis=1, count=self.n_voters), "rows")
        table, _ = counter.result()
        assert table is not None
        return as_counts("tandem", table, ndim=2)

    @cached_property
    def _by_voter(self) -> NDArray[np.uint8]:
        # Products go through the bytes of one column after the other.
        return np.asfortranarray(self.bits)

    def product(self, q: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return LᵀL·q, and ``qᵀLᵀL·q``."""
        erring = erring_weight(self._by_voter, tables_of(q))
        each = transposed_product(self._by_voter, erring, self.n_voters)
        return each, float(erring @ erring)

    def among(self, voters: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the table of the pairs of some voters, counted from their bits."""
        losses = (self.bits[:, voters // 8] >> (7 - voters % 8).astype(np.uint8)) & 1
        wide = losses.astype(np.int64)
        return wide.T @ wide

    def sha256(self, errors: NDArray[np.int64], n_samples: int) -> str:
        """Return the SHA-256 of m, n and the sorted SHA-256 of the examples' packed losses.

        Where a table would be kept for as many examples, it is that of the table.
        """
        if not prefer_bits(n_samples, self.n_voters):
            return PairTable(self.counts).sha256(errors, n_samples)
        digests = sorted(hashlib.sha256(row.tobytes()).digest() for row in self.bits)
        digest = hashlib.sha256(b"certivote statistics 2")
        digest.update(np.array([len(self.bits), self.n_voters], dtype="<i8").tobytes())
        digest.update(b"".join(digests))
        return digest.hexdigest()

    def without_order(self) -> "PackedPairs":
        """Return the same losses, sorted."""
        void = np.ascontiguousarray(self.bits).view(f"V{self.bits.shape[1]}")
        rows = np.sort(void, axis=0).view(np.uint8)
        rows.flags.writeable = False
        return PackedPairs(rows, self.n_voters)
