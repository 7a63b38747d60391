"""The errors of votes fixed in advance, as far as counts of voters tell which are possible."""

import math

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_distributions
from ..voting import FixedVotes
from .packed import chunks_of
from .pairs import Pairs

__all__ = ["check_fixed_votes"]

# Rounding, and what counts as a tie, must not refuse what votes gave.
_SLACK = 1e-9


def check_fixed_votes(
    fixed: FixedVotes,
    n_samples: int,
    errors: NDArray[np.int64],
    pairs: Pairs,
    rows: NDArray[np.uint8] | None,
) -> None:
    """Refuse errors of fixed votes that no votes could have made on these examples."""
    weights = check_distributions("weights of fixed votes", fixed.weights, errors.size)
    if fixed.errors.shape != (len(weights),) or fixed.errors.dtype.kind != "i":
        raise ValueError("errors of fixed votes must be one count for each vote.")
    for q, counted in zip(weights, fixed.errors.tolist(), strict=True):
        fewest, most = _possible_errors(q, n_samples, errors, pairs, rows, fixed.silent)
        if not max(0, fewest) <= counted <= min(most, n_samples):
            raise ValueError(
                f"errors of fixed votes must be possible for these examples, got {counted} where "
                f"there are between {max(0, fewest)} and {min(most, n_samples)}."
            )


def _possible_errors(
    q: NDArray[np.float64],
    n_samples: int,
    errors: NDArray[np.int64],
    pairs: Pairs,
    rows: NDArray[np.uint8] | None,
    silent: bool,
) -> tuple[int, int]:
    """Return the fewest and the most errors of a vote that these examples leave possible.

    With W the weight of the voters that err: a vote that errs has W ≥ 1/2; one that is right has a
    share of at least that of its heaviest voter, and so W ≤ 1 − max q. Where some are silent, it
    may be the lightest with weight that is right alone.
    """
    heaviest = int(np.argmax(q))
    least = q[q > 0.0].min() if silent else q[heaviest]
    right, wrong = 1.0 - least + _SLACK, 0.5 - _SLACK
    if right < wrong:  # it decides alone
        return int(errors[heaviest]), int(errors[heaviest])
    if rows is not None:
        fewest_wrong = most_wrong = 0
        for packed in chunks_of(rows, q.size):
            erring = np.unpackbits(packed, axis=1, count=q.size) @ q
            fewest_wrong += int(np.count_nonzero(erring > right))
            most_wrong += int(np.count_nonzero(erring >= wrong))
        return fewest_wrong, most_wrong
    # What the sums of W and of W² allow: parabolas below and above the indicator of an error.
    first, second = float(q @ errors), pairs.product(q)[1]
    most = min(second / wrong**2, first + (first - second) / wrong)
    fewest = max(first - n_samples * right, second - right * first) / max(1.0 - right, _SLACK)
    slack = _SLACK * n_samples
    return math.ceil(fewest - slack), math.floor(most + slack)
