"""Samples larger than memory, and many voters, on one machine."""

import tempfile
from pathlib import Path

import numpy as np
from memory import peak
from tasks import N_VOTERS
from timing import Row, ratio

from certivote import VoteStatistics, minimize
from certivote.statistics import counting

TITLE = "Scale on one machine"

ROWS = 10**7

COUNT = """
import sys
import numpy as np
from certivote import VoteStatistics
VoteStatistics.from_chunks(np.memmap(sys.argv[1], np.uint8, "r", shape=(10**7, 100)))
"""

MANY_VOTERS = """
import numpy as np
from certivote import VoteStatistics, certify, minimize
rng = np.random.default_rng(0)
quality = rng.uniform(0.1, 0.7, 20_000).astype(np.float32)

def chunks():
    for _ in range(10):
        difficulty = rng.beta(0.5, 1.5, size=(500, 1)).astype(np.float32)
        yield rng.random((500, 20_000), dtype=np.float32) < difficulty * quality

statistics = VoteStatistics.from_chunks(chunks())
weights = minimize("lacasse", statistics).weights
certify(statistics, weights=weights, bound="lacasse").verify(statistics=statistics)
"""


def write_losses(path: Path) -> None:
    rng = np.random.default_rng(0)
    with open(path, "wb") as file:
        for _ in range(10):
            losses = rng.random((ROWS // 10, N_VOTERS), dtype=np.float32) < 0.2
            losses.view(np.uint8).tofile(file)


def from_a_file(path: Path) -> list[Row]:
    def table(rows: int = ROWS) -> np.ndarray:
        return np.memmap(path, np.uint8, "r", shape=(rows, N_VOTERS))

    def count(rows: int = ROWS) -> None:
        VoteStatistics.from_chunks(table(rows))

    def read() -> None:
        table().sum(dtype=np.int64)

    what = "statistics of a file of 10⁷ × 100 losses, over reading it once (its sum)"
    rows = [Row(f"{what}, with numba (the extra `fast`)", ratio(count, read), 1.0)]
    growth = ratio(count, lambda: count(ROWS // 10))
    worth_compiling, counting._WORTH_COMPILING = counting._WORTH_COMPILING, ROWS * N_VOTERS + 1
    try:
        rows.append(Row(f"{what}, numpy only", ratio(count, read), 2.5))
    finally:
        counting._WORTH_COMPILING = worth_compiling
    rows.append(Row("statistics of 10⁷ over those of 10⁶ examples", growth, 12.0, at_least=8.0))
    memory = peak(COUNT, str(path))
    rows.append(Row("anonymous memory for it, GiB", memory["RssAnon"], 1.0))
    rows.append(Row("mapped pages held (the file has 0.931 GiB), GiB", memory["RssFile"], 0.5))
    return rows


def products() -> Row:
    """Compare minimising with the products T·q that it cannot do without."""
    rng = np.random.default_rng(0)
    quality = rng.uniform(0.1, 0.7, 2000)
    statistics = VoteStatistics.from_losses(
        rng.random((20_000, 2000)) < rng.beta(0.5, 1.5, (20_000, 1)) * quality
    )
    table, q = statistics.tandem.astype(np.float64), np.full(2000, 1 / 2000)
    moments, calls = VoteStatistics.moments_at, 0

    def counted(self: VoteStatistics, weights: np.ndarray) -> object:
        nonlocal calls
        calls += 1
        return moments(self, weights)

    VoteStatistics.moments_at = counted
    try:
        minimize("lacasse", statistics)
    finally:
        VoteStatistics.moments_at = moments

    def multiply() -> None:
        for _ in range(calls):
            table @ q

    figure = ratio(lambda: minimize("lacasse", statistics), multiply)
    return Row(f"minimising lacasse, n = 2,000, over its {calls} products T·q", figure, 2.5)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        write_losses(Path(folder, "losses"))
        rows = from_a_file(Path(folder, "losses"))
    many = peak(MANY_VOTERS)["RssAnon"]
    what = "n = 20,000, m = 5,000: statistics, lacasse minimised, certificate verified: memory, GiB"
    return [*rows, products(), Row(what, many, 4.0)]
