"""Checks of what users pass in: each error names the argument and says what was expected."""

import math
import numbers
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Distributions are accepted when their sum is this close to 1, then normalised: the vote does not
# depend on the scale of its weights.
_SUM_TOLERANCE = 1e-6
# Numbers that were divided by their sum add up to 1 up to half of this, however many they are.
_NORMALISED = 2.0**-52
# Beyond it a count is not exact as a float.
_LARGEST_COUNT = 2**53


def check_distribution(name: str, values: ArrayLike, n_voters: int) -> NDArray[np.float64]:
    """Return `values` as a distribution on the voters, normalised by their exact sum."""
    refuse_mask(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be numbers, one per voter.") from error
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, one per voter, got {array.dtype}.")
    array = array.astype(np.float64)
    if array.shape != (n_voters,):
        raise ValueError(
            f"{name} must have shape ({n_voters},), one per voter, got shape {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}.")
    if np.any(array < 0):
        raise ValueError(f"{name} must be non-negative, got {array.min()}.")
    total = math.fsum(array.tolist())
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got a sum of {total!r}.")
    # What has been normalised before stays as it is, to the last bit.
    return array if abs(total - 1.0) <= _NORMALISED else array / total


def check_distributions(name: str, values: ArrayLike, n_voters: int) -> NDArray[np.float64]:
    """Return a table of normalised distributions on the voters, one in each row."""
    refuse_mask(name, values)
    table = np.atleast_2d(np.asarray(values))
    rows = [check_distribution(f"{name}[{i}]", row, n_voters) for i, row in enumerate(table)]
    return np.array(rows)


def check_prior(
    prior: ArrayLike | None, n_voters: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the prior, uniform if None, and refuse one that excludes a voter with weight."""
    if prior is None:
        return np.full(n_voters, 1.0 / n_voters)
    p = check_distribution("prior", prior, n_voters)
    if weights is not None:
        excluded = np.flatnonzero((weights > 0) & (p == 0))
        if excluded.size:
            raise ValueError(
                f"prior must be positive wherever a weight is: voter {excluded[0]} has weight "
                f"{weights[excluded[0]]} and prior 0, so that no bound can hold for it."
            )
    return p


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return the end of an error about a name that is none of those there are."""
    known = [str(choice) for choice in choices]
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known[:8])}."


def check_positive(name: str, value: float, *, integer: bool = False) -> None:
    """Refuse a setting that is not a positive number."""
    kind = numbers.Integral if integer else numbers.Real
    if not isinstance(value, kind) or isinstance(value, bool) or not float(value) > 0.0:
        what = "a positive integer" if integer else "a positive number"
        raise ValueError(f"{name} must be {what}, got {value!r}.")


def refuse_mask(name: str, values: object) -> None:
    """Refuse masked values, in lists of arrays too: numpy would use what is under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not have masked values, which are missing ones.")
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        for value in values:
            if isinstance(value, Sequence | np.ma.MaskedArray) and not isinstance(value, str):
                refuse_mask(name, value)


def check_number(name: str, value: object, low: float, high: float) -> float:
    """Return a finite number between two limits, both allowed."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (low <= number <= high and math.isfinite(number)):
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], got {value!r}.")
    return float(value)


def check_count(name: str, value: object) -> int:
    """Return a positive integer."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
    if int(value) > _LARGEST_COUNT:
        raise ValueError(f"{name} must be at most 2**53, got {value!r}.")
    return int(value)
