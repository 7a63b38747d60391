"""How few voters are enough: the votes of the heaviest ones alone, by their number."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bounds import clopper_pearson
from ..voting import Ballots

__all__ = ["Sizes", "heaviest", "limits_of", "sizes_up_to"]

# Of more voters not every number is looked at, but so many of them.
_MOST_SIZES = 100


class Sizes(NamedTuple):
    """Numbers of voters, the last one all of them, and a limit of the risk with each."""

    n_voters: NDArray[np.intp]
    limits: NDArray[np.float64]

    def first_within(self, tolerance: float) -> int:
        """Return the fewest voters whose limit is within the tolerance of that of all."""
        return int(self.n_voters[np.argmax(self._within(tolerance))])

    def always_within(self, tolerance: float) -> int:
        """Return the number of voters from which on all limits are within the tolerance."""
        beyond = np.flatnonzero(~self._within(tolerance))
        return int(self.n_voters[beyond[-1] + 1 if beyond.size else 0])

    def to_dict(self) -> dict[str, Any]:
        """Return both by their names."""
        return self._asdict()

    def _within(self, tolerance: float) -> NDArray[np.bool_]:
        return np.asarray(self.limits <= self.limits[-1] + tolerance)


def sizes_up_to(n: int) -> NDArray[np.intp]:
    """Return all numbers of voters; of many, a hundred that grow by the same factor."""
    if n <= _MOST_SIZES:
        return np.arange(1, n + 1)
    return np.unique(np.geomspace(1, n, _MOST_SIZES).round().astype(np.intp))


def heaviest(weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the weights of so many voters only, scaled to sum to 1: the first ones of equals."""
    if size >= np.count_nonzero(weights):
        return weights
    kept = np.zeros_like(weights)
    order = np.argsort(-weights, kind="stable")[:size]
    kept[order] = weights[order]
    return np.asarray(kept / kept.sum())


def _errs(
    ballots: Ballots, truth: NDArray[np.intp], weights: NDArray[np.float64], size: int
) -> NDArray[np.bool_]:
    """Tell where the vote of so many of the heaviest voters errs."""
    kept = heaviest(weights, size)
    asked = Ballots(ballots.codes[:, kept > 0.0], ballots.labels)
    return np.asarray(asked.winners(kept[kept > 0.0]) != truth)


def limits_of(
    folds: Iterable[tuple[Ballots, NDArray[np.intp]]], weights: NDArray[np.float64], delta: float
) -> Sizes:
    """Return what votes of fewer voters would be certified at, as far as these rows tell.

    Each fold has the votes, and the true labels, on some of the rows. To the binomial limit of all
    voters is added how much more often fewer of them err, and one standard error of that: from few
    rows a vote may look as good as another by luck.
    """
    sizes = sizes_up_to(int(np.count_nonzero(weights)))
    worse, better = np.zeros(len(sizes)), np.zeros(len(sizes))
    errors = m = 0
    for ballots, truth in folds:
        if ballots.codes.shape[1] != weights.size:
            raise ValueError(
                f"smallest needs as many voters from four fifths of part A as from all of it, got "
                f"{ballots.codes.shape[1]} and {weights.size}: leave X and y out, and learn the "
                "weights by a bound that holds for all weights at once."
            )
        of_all = _errs(ballots, truth, weights, weights.size)
        for i, size in enumerate(sizes.tolist()):
            of_some = _errs(ballots, truth, weights, size)
            worse[i] += np.count_nonzero(of_some & ~of_all)
            better[i] += np.count_nonzero(of_all & ~of_some)
        errors, m = errors + int(np.count_nonzero(of_all)), m + len(truth)
    excess = (worse - better + np.sqrt(worse + better)) / m
    limits = np.clip(clopper_pearson(errors, m, delta) + excess, 0.0, 1.0)
    return Sizes(sizes, limits)
