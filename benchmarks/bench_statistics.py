"""How long counting takes, next to one sum over the same losses."""

import numpy as np
from timing import Row, ratio

from certivote import VoteStatistics
from certivote.statistics import counting

TITLE = (
    "Time of `VoteStatistics.from_losses` on 2,000,000 × 100 uint8, over that of "
    "`losses.sum(dtype=np.int64)`"
)


def run() -> list[Row]:
    losses = (np.random.default_rng(0).random((2_000_000, 100), dtype=np.float32) < 0.2).astype(
        np.uint8
    )

    def count() -> None:
        VoteStatistics.from_losses(losses)

    def total() -> None:
        losses.sum(dtype=np.int64)

    rows = [Row("with numba (the extra `fast`)", ratio(count, total), 2.5)]
    worth_compiling, counting._WORTH_COMPILING = counting._WORTH_COMPILING, losses.size + 1
    try:
        rows.append(Row("numpy only", ratio(count, total), 2.5))
    finally:
        counting._WORTH_COMPILING = worth_compiling
    return rows
