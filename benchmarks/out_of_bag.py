"""What do bags of different sizes give, where nothing is held back?

The vote of 100 trees is trained on all training rows of a task and certified out of bag by
`lacasse`, for some sizes of the bags, drawn without replacement; beside it the vote of a random
forest of scikit-learn, which was trained before, on bootstraps of all rows, and is certified on
these same rows; and the half split. Certificates and test risks are means over seeds: seeds 0 to 7,
and 0 alone on large tasks.

    CERTIVOTE_DATA=... python benchmarks/out_of_bag.py [task ...]
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from certivote import MajorityVoteClassifier, format_up
from certivote.datasets import Dataset, list_datasets, load
from certivote.reproduce.protocol import LARGE
from certivote.voters.bagged import even_bags

SIZES = (0.1, 0.2, 0.3, 0.4, 0.5)
FOREST, SPLIT = "forest", "split"
SEEDS = 8
TASKS = [name for name in list_datasets() if not name.startswith(LARGE)] + ["adult"]
# What a mean may be at most: task, column, and whether it is the test risk.
LIMITS = {
    ("letter:DvsO", 0.3, False): 0.2000,
    ("tictactoe", 0.3, True): 0.045,
    ("adult", FOREST, False): 0.505,
}


def vote_of(data: Dataset, column: float | str, seed: int) -> MajorityVoteClassifier:
    """Return the vote of a column of the table, fitted on all training rows."""
    X, y = data.X_train, data.y_train
    settings: dict[str, Any] = {"voters": "trees", "bound": "lacasse", "random_state": seed}
    if column != SPLIT:
        settings["certification"] = "oob"
    if column == FOREST:
        settings["voters"] = FrozenEstimator(RandomForestClassifier(random_state=seed).fit(X, y))
    elif column == SPLIT:
        settings["certify_size"] = 0.5
    else:
        settings["bag_size"] = column
    return MajorityVoteClassifier(**settings).fit(X, y)


def figures(data: Dataset, column: float | str) -> NDArray[np.float64]:
    """Return certificate and test risk, by seed."""
    found = []
    for seed in range(1 if data.name.startswith(LARGE) else SEEDS):
        vote = vote_of(data, column, seed)
        risk = 1.0 - vote.score(data.X_test, data.y_test)
        found.append((vote.certificate_.risk_bound, risk))
    return np.array(found)


def fewest(m: int, share: float = 0.3, n: int = 100) -> tuple[int, int]:
    """Return the rows outside the pair of bags with the fewest: of even bags, and one by one."""
    size, rng = int(share * m), np.random.RandomState(0)
    one_by_one = np.column_stack([rng.permutation(m) < size for _ in range(n)])
    found = []
    for bags in (even_bags(m, n, size, 0), one_by_one):
        outside = 1.0 - bags
        found.append(int((outside.T @ outside).min()))
    return found[0], found[1]


def main(tasks: Sequence[str]) -> None:
    """Print a table of certificates and risks, and what some of them may be."""
    columns = [*SIZES, FOREST, SPLIT]
    print("| task |", " | ".join(map(str, columns)), "|")
    print("|:--|" + ":-:|" * len(columns))
    said, means = [], []
    for name in tasks or TASKS:
        data, cells = load(name), []
        m = len(data.y_train)
        even, others = fewest(m)
        said.append(
            f"{name}, 0.3: of {m} rows two bags leave at least {even}, {others} if drawn singly"
        )
        for column in columns:
            found = figures(data, column)
            bound, risk = found.mean(axis=0)
            cells.append((bound, risk))
            for which, what in enumerate(("certificate", "test risk")):
                limit = LIMITS.get((name, column, bool(which)))
                if limit is not None:
                    own = found[:, which]
                    said.append(
                        f"{name}, {column}: mean {what} {format_up(own.mean())}, at most {limit}; "
                        f"{np.sum(own <= limit)} of {len(own)} seeds, from {own.min():.4f} to "
                        f"{own.max():.4f}"
                    )
        print(f"| {name} |", " | ".join(f"{format_up(b)} / {r:.3f}" for b, r in cells), "|")
        sys.stdout.flush()
        means.append(cells)
    mean = np.mean(means, axis=0)
    print("| mean |", " | ".join(f"{format_up(b)} / {r:.3f}" for b, r in mean), "|")
    print(*said, sep="\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        # It stops early where the certificate says nothing; rows of few features repeat.
        warnings.simplefilter("ignore", ConvergenceWarning)
        main(sys.argv[1:])
