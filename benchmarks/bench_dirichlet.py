"""How long it takes to minimise the bound that sees every example, next to one on moments."""

import numpy as np
from tasks import N_VOTERS
from timing import Row, ratio

from certivote import VoteStatistics, minimize

TITLE = "Time of `minimize` (dirichlet) over that of `minimize` (lacasse), default starts"

# As many examples as the largest of the paper's tasks has, and as hard.
N_SAMPLES = 15_081


def losses() -> np.ndarray:
    """Return losses of voters of different quality on examples of different difficulty."""
    rng = np.random.default_rng(0)
    quality = rng.uniform(0.8, 1.2, N_VOTERS)
    difficulty = rng.beta(0.35, 1.4, size=(N_SAMPLES, 1))
    return rng.random((N_SAMPLES, N_VOTERS)) < difficulty * quality


def run() -> list[Row]:
    statistics = VoteStatistics.from_losses(losses(), keep_rows=True)

    def see_every_example() -> None:
        minimize("dirichlet", statistics)

    def see_moments() -> None:
        minimize("lacasse", statistics)

    figure = ratio(see_every_example, see_moments)
    return [Row(f"m = {N_SAMPLES}, n = {N_VOTERS}", figure, 20.0)]
