"""Many voters on fewer examples: when the losses stand for the table of pairs, and their digest."""

import hashlib

import numpy as np
from numpy.typing import NDArray

# From here on the table of pairs is not formed for fewer examples than voters. A product with the
# bits (m·n/8 look-ups, twice) then costs about as much as one with the table (n² multiplications),
# the table costs m·n² operations first, and it takes 16·n² bytes, 256 MiB and more, next to m·n/8.
# For fewer voters the table is small, and faster.
# The rule is part of `VoteStatistics.sha256`: changed, it would change digests in certificates.
_MANY_VOTERS = 4096


def prefer_bits(n_samples: int, n_voters: int) -> bool:
    """Tell whether the losses as bits cost less than the table of pairs."""
    return n_voters >= _MANY_VOTERS and n_samples < n_voters


def rows_sha256(rows: NDArray[np.uint8], n_voters: int) -> str:
    """Return a SHA-256 of packed losses that does not depend on the order of the examples."""
    digests = sorted(hashlib.sha256(row.tobytes()).digest() for row in rows)
    digest = hashlib.sha256(b"certivote statistics 2")
    digest.update(np.array([len(rows), n_voters], dtype="<i8").tobytes())
    digest.update(b"".join(digests))
    return digest.hexdigest()
