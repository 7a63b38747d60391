"""How many certification examples a claim would need."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincc

from ._utils.validation import check_count, check_number
from .bounds import MomentBound, get_bound
from .bounds.binomial import improbable
from .bounds.evaluation import round_up
from .bounds.parameters import check_delta

__all__ = ["samples_needed", "samples_to_test", "success"]

_MOST = 10**12
# So many numbers of errors are looked at one by one.
_TEETH = 2**14


def samples_needed(
    bound: str | MomentBound,
    target: float,
    gibbs_risk: float,
    joint_error: float,
    kl: float = 0.0,
    delta: float | None = None,
) -> int | None:
    """Return how many certification examples would bring a certificate down to a target.

    The moments and KL are assumed to stay as they are: a plan, not a promise.

    Parameters
    ----------
    bound : str or MomentBound
        The bound, by name or as an object with its settings.
    target : float
        The risk to be claimed, in (0, 1).
    gibbs_risk, joint_error : float
        The moments of the vote, from a pilot or assumed.
    kl : float, default=0.0
        The divergence of the weights from the prior.
    delta : float, default=None
        The probability that the certificate may fail: 0.05 if None. A bound object has its own.

    Returns
    -------
    int or None
        The smallest number of examples from which on the certificate is at most the target; None if
        10¹² is not such a number.

    Examples
    --------
    >>> from certivote import samples_needed
    >>> samples_needed("gibbs", 0.25, gibbs_risk=0.1, joint_error=0.04, kl=2.0)
    2545
    >>> samples_needed("gibbs", 0.2, gibbs_risk=0.1, joint_error=0.04) is None
    True
    """
    target = _check_target(target)
    chosen = get_bound(bound, **({} if delta is None else {"delta": delta}))
    if not isinstance(chosen, MomentBound):
        raise ValueError(f"the bound {chosen.name!r} is not a function of moments and KL.")

    def reached(m: int) -> bool:
        return chosen.from_moments(gibbs_risk, joint_error, kl, m) <= target

    # At fixed moments a certificate falls with m: the radius of each of its statements does, as
    # ln c(m) grows more slowly than m, and with it what the true moments may be.
    return _first(reached, _MOST)


def samples_to_test(
    target: float, risk: float, delta: float = 0.05, power: float = 0.8
) -> int | None:
    """Return how many examples a test of a finished vote needs to succeed with some probability.

    With m examples the claim is made if there are at most k(m) errors, the most with which
    ``clopper_pearson(k, m, delta)`` is at most the target. The more examples, the surer it is to
    succeed, but not with each one more: until the next error is allowed it falls. So the number is
    one from which on the claim succeeds as often as asked, at every size up to twice as many.

    Parameters
    ----------
    target : float
        The risk to be claimed, in (0, 1).
    risk : float
        How often the vote errs, from a pilot or assumed.
    delta : float, default=0.05
        The probability that the certificate may fail.
    power : float, default=0.8
        The probability with which the claim succeeds, if the vote errs as often as assumed.

    Returns
    -------
    int or None
        The smallest such number of examples, for the bound ``heldout``; None if there is none below
        10¹², or none at all because the vote errs as often as the target.

    Examples
    --------
    >>> from certivote.planning import samples_to_test, success
    >>> samples_to_test(0.05, risk=0.0)
    59
    >>> samples_to_test(0.02, risk=1 / 300)
    313
    >>> round(success(313, 0.02, risk=1 / 300), 4)
    0.9119
    >>> samples_to_test(0.05, risk=0.05) is None
    True
    """
    x, p = _below(target), check_number("risk", risk, 0.0, 1.0)
    check_delta(delta)
    if not 0.0 < check_number("power", power, 0.0, 1.0) < 1.0:
        raise ValueError(f"power must be strictly between 0 and 1, got {power!r}.")
    if p >= target:
        return None
    most = int(target * _MOST)

    def enough(errors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell whether the claim succeeds as often as asked up to the size that allows one more."""
        last = _allowing(errors + 1.0, x, delta) - 1.0
        return np.asarray(_at_most(errors, last, p) >= power)

    errors = bisect_left(range(most), True, key=lambda k: bool(enough(np.array([float(k)]))[0]))
    while True:
        needed = int(_allowing(np.array([float(errors)]), x, delta)[0])
        if errors >= most or needed > _MOST:
            return None
        # What allows fewer errors was not enough. Is what allows more? Up to twice as many examples
        # are looked at, or far more teeth of the saw than fall back once it has become fine.
        last = min(_allowed(2 * needed, x, delta), errors + _TEETH)
        failing = np.flatnonzero(~enough(np.arange(errors, last + 1, dtype=np.float64)))
        if not failing.size:
            return needed
        errors += int(failing[-1]) + 1


def success(n_samples: int, target: float, risk: float, delta: float = 0.05) -> float:
    """Return the probability that a test of so many examples reaches a target.

    Parameters
    ----------
    n_samples : int
        The number of examples.
    target, risk, delta
        As in `samples_to_test`.

    Returns
    -------
    float
        The probability of at most as many errors as the claim allows.

    Examples
    --------
    >>> from certivote.planning import success
    >>> success(58, 0.05, risk=0.0), success(59, 0.05, risk=0.0)
    (0.0, 1.0)
    """
    m, x = check_count("n_samples", n_samples), _below(target)
    p, errors = check_number("risk", risk, 0.0, 1.0), _allowed(m, x, check_delta(delta))
    if errors < 0:
        return 0.0
    return float(_at_most(errors, m, p))


def _at_most(errors: ArrayLike, m: ArrayLike, p: float) -> Any:
    """Return the probability of at most so many errors, fewer than m, on m examples."""
    return betaincc(np.add(errors, 1.0), np.subtract(m, errors), p)


def _below(target: float) -> float:
    """Return what a limit may be before it is rounded up to a target."""
    target = _check_target(target)
    return 2.0 * target - round_up(target)


def _allowing(errors: NDArray[np.float64], x: float, delta: float) -> NDArray[np.float64]:
    """Return the fewest examples with which so many errors, of each entry, are below x."""
    low, high = errors.copy(), 2.0 * errors + 2.0
    while not (reached := improbable(errors, high, x, delta)).all():
        low, high = np.where(reached, low, high), np.where(reached, high, 2.0 * high)
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        reached = improbable(errors, middle, x, delta)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def _allowed(m: int, x: float, delta: float) -> int:
    """Return the most errors of m examples that are below x, −1 if none at all is too many."""
    return bisect_left(range(m + 1), True, key=lambda k: not improbable(k, m, x, delta)) - 1


def _check_target(target: float) -> float:
    target = check_number("target", target, 0.0, 1.0)
    if not 0.0 < target < 1.0:
        raise ValueError(f"target must be strictly between 0 and 1, got {target!r}.")
    return target


def _first(reached: Callable[[int], bool], most: int) -> int | None:
    """Return from which number on it is reached, None if `most` is not enough."""
    return bisect_left(range(most), True, 1, key=reached) if reached(most) else None
