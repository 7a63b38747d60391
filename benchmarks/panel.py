"""Rows that belong together: does the certificate hold against the error on other groups?

Of a table of several rows a group, part of the groups is kept away as the truth. A vote is fitted
and certified on the others, once by groups and once by rows as if they were independent.

    python benchmarks/panel.py wage_panel.csv --target union --group nr

The table of 545 men in 8 years is in the package linearmodels (datasets/wage_panel).
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from certivote import MajorityVoteClassifier

KEPT = 0.4


def resplit(frame: pd.DataFrame, target: str, group: str, seed: int) -> dict[str, tuple]:
    """Return the certificate and the error on groups that were kept away, by groups and by rows."""
    rng = np.random.default_rng(seed)
    names = frame[group].unique()
    kept = frame[group].isin(rng.choice(names, round(KEPT * len(names)), replace=False))
    train, truth = frame[~kept], frame[kept]
    features = [name for name in frame.columns if name not in (target, group)]
    found = {}
    for how, groups in (("groups", train[group]), ("rows", None)):
        vote = MajorityVoteClassifier("trees", random_state=seed)
        vote.fit(train[features], train[target], groups=groups)
        wrong = vote.predict(truth[features]) != truth[target].to_numpy()
        # The error on a random row of a random group.
        error = pd.Series(wrong).groupby(truth[group].to_numpy()).mean().mean()
        found[how] = vote.certificate_.risk_bound, float(error)
    return found


def main() -> None:
    """Print how often each certificate holds, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--target", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--times", type=int, default=100)
    arguments = parser.parse_args()
    frame = pd.read_csv(arguments.table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [
            resplit(frame, arguments.target, arguments.group, seed)
            for seed in range(arguments.times)
        ]
    for how in ("groups", "rows"):
        bounds, errors = np.array([run[how] for run in runs]).T
        print(
            f"by {how}: the certificate holds in {np.sum(bounds >= errors)} of {len(runs)} "
            f"re-splits; mean {bounds.mean():.4f}, error on other groups {errors.mean():.4f}"
        )


if __name__ == "__main__":
    main()
