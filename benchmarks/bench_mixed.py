"""What mixed voters cost beside the trees, and beside a stacking of the same members."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from timing import Row, seconds

from certivote import MajorityVoteClassifier
from certivote.voters import Mixed
from certivote.voters.members import MEMBERS, facts_of

TITLE = "Time of computing of mixed voters, fitted and certified"
FOLDS = 5


def _member(name: str, X: np.ndarray) -> Any:
    """Return a member as scikit-learn has it: searched for inside, where we try settings."""
    kinds = MEMBERS[name].candidates(facts_of(X, 2))
    if len(kinds) == 1:
        return kinds[0]
    return GridSearchCV(Pipeline([("member", kinds[0])]), {"member": kinds}, cv=FOLDS)


def _stacked(X: np.ndarray, y: np.ndarray) -> None:
    names = [name for name in MEMBERS if MEMBERS[name].left_out(facts_of(X, 2)) is None]
    stack = StackingClassifier(
        [(name, _member(name, X)) for name in names],
        final_estimator=LogisticRegression(),
        cv=FOLDS,
        stack_method="predict",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stack.fit(X, y)


def _timed(work: Callable[[], object]) -> float:
    return seconds(work, time.process_time)


def _certified(voters: str, X: np.ndarray, y: np.ndarray) -> None:
    MajorityVoteClassifier(voters, random_state=0).fit(X, y)


def _figures(name: str, X: np.ndarray, y: np.ndarray, limit: float) -> list[Row]:
    half = len(y) // 2
    X_a, y_a = X[:half], y[:half]
    trees, mixed = (_timed(lambda kind=kind: _certified(kind, X, y)) for kind in ("trees", "mixed"))
    alone = _timed(lambda: Mixed(random_state=0).fit(X_a, y_a))
    stack = _timed(lambda: _stacked(X_a, y_a))
    return [
        Row(f"{name}, over trees, fitted and certified", mixed / trees, limit),
        Row(f"{name}, trained, over StackingClassifier", alone / stack, 1.0),
    ]


def run() -> list[Row]:
    small = load_breast_cancer(return_X_y=True)
    large = make_classification(12_000, 200, n_informative=20, flip_y=0.05, random_state=0)
    return [
        *_figures("breast-cancer", *small, limit=60.0),
        *_figures("12,000 rows × 200 columns", *large, limit=12.0),
    ]
