"""What the Dirichlet certificate could be for several classes: docs/plurality.md has the proof.

The half of the digits, and of the letters, trains a hundred trees; the other half certifies their
equally weighted vote: by `dirichlet`, which asks for half of the weight, by the margin between the
true class and each other one, and by the binomial test, which no certificate of a fixed vote beats.

    CERTIVOTE_DATA=... python benchmarks/plurality.py
"""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betainc
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from certivote import VoteStatistics, format_up
from certivote.bounds import clopper_pearson, get_bound
from certivote.divergences import one_sided_upper

# Concentrations K and margins, in standard deviations of an even draw: each has its part of δ.
CELLS = ((1e7, 4.0, 0.85), (1e5, 2.0, 0.05), (1e4, 2.0, 0.05), (1e3, 1.5, 0.05))


def shares_of(votes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Return the weight of each class on each example, all voters being equal."""
    return np.stack([(votes == c).mean(axis=1) for c in range(n_classes)], axis=1)


def margin_loss(
    shares: NDArray[np.float64], y: NDArray[np.int64], concentration: float, margin: float
) -> NDArray[np.float64]:
    """Return P(θ_y/(θ_y + θ_c) ≤ ½ + γ for some class c), or more, on each example.

    Two parts of a Dirichlet vector have a ratio θ_y/(θ_y + θ_c) that is Beta(K·w_y, K·w_c).
    """
    true = np.take_along_axis(shares, y[:, None], axis=1)
    others = np.where(np.arange(shares.shape[1]) == y[:, None], 0.0, shares)
    with np.errstate(invalid="ignore"):
        tails = betainc(concentration * true, concentration * others, 0.5 + margin)
    tails = np.where(others == 0.0, 0.0, np.where(true == 0.0, 1.0, tails))
    return np.minimum(1.0, tails.sum(axis=1))


def certificate(
    votes: NDArray[np.int64], y: NDArray[np.int64], n_classes: int, delta: float = 0.05
) -> float:
    """Return the smallest of the cells' limits for the equally weighted vote."""
    shares, (m, n) = shares_of(votes, n_classes), votes.shape
    limits = []
    for concentration, z, part in CELLS:
        # The winner has at least the weight of one voter.
        least = concentration / n
        margin = z / (2.0 * math.sqrt(2.0 * least + 1.0))
        lost = betainc(least, least, 0.5 - margin)
        mean = math.fsum(margin_loss(shares, y, concentration, margin)) / m
        limits.append(one_sided_upper(mean, -math.log(part * delta), m).value / (1.0 - lost))
    return min(1.0, min(limits))


def letters() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the 26 letters of the raw file."""
    table = pd.read_csv(
        Path(os.environ["CERTIVOTE_DATA"]) / "uci" / "letter-recognition.data", header=None
    )
    return table.iloc[:, 1:].to_numpy(), table[0].to_numpy()


def main() -> None:
    """Print a row for each data set."""
    print("| data | classes | examples | errors | `dirichlet` | by the plurality | binomial test |")
    print("|:--|:-:|:-:|:-:|:-:|:-:|:-:|")
    for name, (X, y) in {"digits": load_digits(return_X_y=True), "letters": letters()}.items():
        y = np.unique(y, return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        forest = RandomForestClassifier(100, random_state=0).fit(X[train], y[train])
        votes = np.stack([tree.predict(X[test]) for tree in forest.estimators_], axis=1).astype(int)
        y, n_classes = y[test], int(y.max()) + 1
        statistics = VoteStatistics.from_votes(votes, y, keep_rows=True)
        half = get_bound("dirichlet").value(statistics, np.full(100, 0.01))
        errors = int(np.sum(np.argmax(shares_of(votes, n_classes), axis=1) != y))
        limits = half, certificate(votes, y, n_classes), clopper_pearson(errors, len(y))
        print(
            f"| {name} | {n_classes} | {len(y):,} | {errors / len(y):.4f} |",
            " | ".join(map(format_up, limits)),
            "|",
        )


if __name__ == "__main__":
    main()
