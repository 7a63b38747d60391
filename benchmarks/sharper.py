"""How small are the certificates of the paper's 16 tasks at the default settings?

The votes are those of the paper's trees, δ = 0.05, every bound with the smallest constant that it
has. `dirichlet` is at equal weights; `lacasse2` at the weights that `lacasse` learns, beside
`lacasse` itself; the others are minimised. Then `best` of stumps under a uniform prior, on the nine
small tasks.

    CERTIVOTE_DATA=... python benchmarks/sharper.py [task ...]
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "build"))

from choosing import votes_of_stumps, votes_of_trees

from certivote import VoteStatistics, format_up, minimize
from certivote.bounds import get_bound
from certivote.datasets import list_datasets, load
from certivote.reproduce.protocol import LARGE

# What the means may be at most.
LIMITS = {
    "gibbs": 0.2985,
    "dirichlet": 0.1180,
    "lacasse2": 0.3700,
    "sharp": 0.1950,
    "best of stumps": 0.3000,
}


def of_trees(name: str) -> dict[str, float]:
    """Return the certificates of the vote of trees on a task."""
    votes = votes_of_trees(load(name), None)
    statistics = VoteStatistics.from_votes(votes.part_b, votes.y, keep_rows=True)
    equal = np.full(statistics.n_voters, 1.0 / statistics.n_voters)
    lacasse = minimize(get_bound("lacasse"), statistics)
    return {
        "gibbs": minimize(get_bound("gibbs"), statistics).value,
        "dirichlet": get_bound("dirichlet").value(statistics, equal),
        "lacasse": lacasse.value,
        "lacasse2": get_bound("lacasse2").value(statistics, lacasse.weights),
        "sharp": minimize(get_bound("sharp"), statistics).value,
        "sharp there": get_bound("sharp").value(statistics, lacasse.weights),
    }


def of_stumps(name: str) -> float:
    """Return the certificate of the vote of stumps on a task, by `best`."""
    votes = votes_of_stumps(load(name), None, learned=False)
    bound = get_bound("best")
    return minimize(bound, bound.count(votes.part_b, votes.y)).value


def main(tasks: Sequence[str]) -> None:
    """Print the certificates, their means, and what these may be."""
    names = tasks or list_datasets()
    rows: dict[str, dict[str, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in names:
            rows[name] = of_trees(name)
            if not name.startswith(LARGE):
                rows[name]["best of stumps"] = of_stumps(name)
            shown = (f"{what} {format_up(value)}" for what, value in rows[name].items())
            print(f"{name:12}", *shown, sep="  ", flush=True)
    for what in rows[names[0]]:
        values = [row[what] for row in rows.values() if what in row]
        limit = f", at most {LIMITS[what]}" if what in LIMITS else ""
        print(
            f"mean of {what} over {len(values)} tasks: {format_up(float(np.mean(values)))}{limit}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
