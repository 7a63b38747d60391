"""How much is answered where at most half of the vote's errors may be left, and is it true?

The paper's votes on a task; the rows that did not train them are the truth. Samples are drawn from
these with replacement, and the start of the tests comes from the rows that were not drawn. Beside
it MAPIE's controller on the same samples at the same confidence, by its default and by its split
fixed sequence, where mapie is installed (1.6.0).

    CERTIVOTE_DATA=… python benchmarks/abstaining.py [--times 200]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.stats import binom

from certivote.bounds import get_bound
from certivote.claims.abstaining import AbstainFamily, answered
from certivote.claims.base import Outcome, Scores, Vote
from certivote.datasets import load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import paper_trees

DELTA = 0.05
TASKS = {"adult": 2000, "fash:COvsSH": 300}
N_VOTERS = 100


def truth(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the winning shares on all rows that trained no voter, and which answers are wrong."""
    data = load(name)
    half = len(data.y_train) // 2
    trees = paper_trees(data.X_train[:half], data.y_train[:half])
    X = np.vstack([data.X_train[half:], data.X_test])
    y = np.concatenate([data.y_train[half:], data.y_test])
    votes = np.column_stack([tree.predict(X) for tree in trees])
    first = np.unique(y)[0]
    share = np.mean(votes == first, axis=1)
    predicted = np.where(share >= 0.5, first, np.unique(y)[1])
    return np.maximum(share, 1.0 - share), predicted != y


def ours(shares: np.ndarray, wrong: np.ndarray, reference: np.ndarray, target: float) -> float:
    """Return the level at which the vote answers, above 1 if nowhere."""
    bound, one = get_bound("heldout", delta=DELTA), np.ones(1)
    vote = Vote(bound, {"vote_errors": 0, "vote_size": 1}, one, one, 1.0)
    scores = Scores(shares, True, reference, "unlabelled rows")
    outcome = Outcome(np.zeros(len(wrong), dtype=bool), wrong, scores=scores)
    # Nine tenths of a family's part are for the error: the test itself is at DELTA.
    family = AbstainFamily(delta=DELTA / 0.9, target=target).count(outcome, vote)
    level = family.level(vote)
    return 2.0 if level is None else level


def mapie(shares: np.ndarray, wrong: np.ndarray, target: float, method: str) -> float:
    """Return MAPIE's level: the answers that are right are to be found with this precision."""
    from mapie.risk_control import BinaryClassificationController, precision

    arguments = {"confidence_level": 1.0 - DELTA, "fwer_method": method}
    controller = BinaryClassificationController(
        lambda X: np.column_stack([1.0 - X[:, 0], X[:, 0]]), precision, 1.0 - target, **arguments
    )
    half = len(shares) // 2 if method == "split_fixed_sequence" else 0
    if half:
        controller.learn_fixed_sequence_order(shares[:half, None], (~wrong[:half]).astype(int))
    controller.calibrate(shares[half:, None], (~wrong[half:]).astype(int))
    level = controller.best_predict_param
    return 2.0 if level is None else float(level)


def main() -> None:
    """Print the mean share that is answered, and how often the claim was false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    times = parser.parse_args().times
    for name, m in TASKS.items():
        shares, wrong = truth(name)
        target = 0.5 * float(wrong.mean())
        print(f"{name}: {len(wrong)} rows, error {wrong.mean():.4f}, target {target:.4f}, m = {m}")
        ways = {
            "certivote": None,
            "MAPIE": "bonferroni_holm",
            "MAPIE split": "split_fixed_sequence",
        }
        found: dict[str, list[tuple[float, bool]]] = {way: [] for way in ways}
        for seed in range(times):
            rows = np.random.default_rng(seed).integers(len(wrong), size=m)
            others = np.ones(len(wrong), dtype=bool)
            others[rows] = False
            for way, method in ways.items():
                if method is None:
                    level = ours(shares[rows], wrong[rows], shares[others], target)
                else:
                    try:
                        level = mapie(shares[rows], wrong[rows], target, method)
                    except ImportError:
                        continue
                mask = answered(shares, level)
                false = bool(mask.any() and wrong[mask].mean() > target)
                found[way].append((float(mask.mean()), false))
        for way, results in found.items():
            if results:
                share, false = (np.array(column) for column in zip(*results, strict=True))
                tail = binom.sf(false.sum() - 1, len(false), DELTA)
                print(
                    f"  {way:12} answers {share.mean():.4f} of the rows; the claim was false in "
                    f"{false.sum()} of {len(false)} (as many by chance at δ: p = {tail:.3f})"
                )


if __name__ == "__main__":
    main()
