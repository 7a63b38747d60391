"""What keeping pairs as a table costs, and as bits: the table of docs/out-of-core.md.

`python benchmarks/products.py`. Times are of computing on one thread, not by the clock.
"""

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from timing import REPETITIONS, seconds

from certivote.statistics.pairs import PackedPairs, Pairs, PairTable

N_VOTERS, N_EXAMPLES = 4096, 4096


def quickest(pairs: Pairs, q: NDArray[np.float64]) -> float:
    """Return the least seconds of several products, the first one left out."""
    pairs.product(q)
    return min(seconds(lambda: pairs.product(q), time.process_time) for _ in range(REPETITIONS))


def lines() -> Iterator[str]:
    """Yield the table, line by line."""
    losses = np.random.default_rng(0).random((N_EXAMPLES, N_VOTERS), dtype=np.float32) < 0.2
    floats = losses.astype(np.float32)
    table = PairTable((floats.T @ floats).astype(np.int64))  # exact: far below 2²⁴
    bits = PackedPairs(np.packbits(losses, axis=1), N_VOTERS)
    q = np.random.default_rng(1).dirichlet(np.ones(N_VOTERS))
    np.testing.assert_allclose(table.product(q)[0], bits.product(q)[0], rtol=1e-9)
    one, other = quickest(table, q), quickest(bits, q)
    multiplication, look_up = one / N_VOTERS**2, other / (2 * N_EXAMPLES * N_VOTERS / 8)
    yield "| | table | bits |"
    yield "|---|---|---|"
    yield "| memory | 16·n² bytes | m·n/4 bytes |"
    yield "| made in | m·n² operations | m·n operations |"
    yield (
        f"| one product | n² multiplications, {1e9 * multiplication:.1f} ns each "
        f"| 2·m·n/8 look-ups, {1e9 * look_up:.1f} ns each |"
    )
    yield f"| at m = n = {N_VOTERS} | {1e3 * one:.0f} ms | {1e3 * other:.0f} ms |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
