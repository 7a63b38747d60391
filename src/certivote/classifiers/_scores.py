"""How sure a classifier is of its answers, and of those to rows that it was not trained on."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels import check_labels, codes_of
from ..voting import Ballots

__all__ = ["cross_fitted_shares", "scores_of"]


def scores_of(model: Any, X: Any, predicted: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return what orders the answers of a classifier by how sure it is; None if nothing does.

    That is the probability that it claims for its answer, or the distance from its boundary: for
    several classes, by how much the first is before the second.
    """
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        proba = np.asarray(model.predict_proba(X), dtype=np.float64)
        of = codes_of(predicted, check_labels("classes_", model.classes_, ndim=1))
        scores = np.where(of < 0, -1.0, proba[np.arange(len(of)), of])
    elif hasattr(model, "decision_function"):
        distances = np.asarray(model.decision_function(X), dtype=np.float64)
        if distances.ndim == 1:
            scores = np.abs(distances)
        else:
            scores = -np.diff(-np.partition(-distances, 1, axis=1)[:, :2], axis=1)[:, 0]
    else:
        return None
    if not np.all(np.isfinite(scores)):
        raise ValueError("the scores of the classifier must be finite, got NaN or infinity.")
    return scores


def cross_fitted_shares(
    folds: Iterable[tuple[NDArray[np.intp], Ballots]], prior: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the winning shares of the votes of `cross_fitted`, by row."""
    rows, shares = [], []
    for fold, ballots in folds:
        n = ballots.codes.shape[1]
        weights = np.full(n, 1.0 / n) if prior is None or prior.size != n else prior
        rows.append(fold)
        shares.append(ballots.win(weights)[1])
    return np.concatenate(shares)[np.argsort(np.concatenate(rows))]
