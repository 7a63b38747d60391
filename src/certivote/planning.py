"""How many certification examples a claim would need."""

from collections.abc import Callable

from ._validation import check_delta, check_number
from .bounds import MomentBound, get_bound
from .bounds.heldout import binomial_tail

__all__ = ["samples_needed", "samples_to_test"]

_MOST = 10**12


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
        The number of examples from which on the certificate is at most the target; None if 10¹²
        do not reach it.

    Examples
    --------
    >>> from certivote import samples_needed
    >>> samples_needed("gibbs", 0.25, gibbs_risk=0.1, joint_error=0.04, kl=2.0)
    3200
    >>> samples_needed("gibbs", 0.2, gibbs_risk=0.1, joint_error=0.04) is None
    True
    """
    target = _check_target(target)
    chosen = get_bound(bound, **({} if delta is None else {"delta": delta}))
    if not isinstance(chosen, MomentBound):
        raise ValueError(f"the bound {chosen.name!r} is not a function of moments and KL.")

    def reached(m: int) -> bool:
        return chosen.from_moments(gibbs_risk, joint_error, kl, m) <= target

    # A certificate falls with m: (½ ln m + ln(2/δ))/m does.
    return _first(reached)


def samples_to_test(target: float, risk: float, delta: float = 0.05) -> int | None:
    """Return how many examples a test of a finished vote would need for a claim.

    The vote is assumed to err on its share of the examples, neither more nor less: a plan, not a
    promise.

    Parameters
    ----------
    target : float
        The risk to be claimed, in (0, 1).
    risk : float
        How often the vote errs, from a pilot or assumed.
    delta : float, default=0.05
        The probability that the certificate may fail.

    Returns
    -------
    int or None
        The number of examples from which on the bound ``heldout`` is at most the target; None if
        10¹² do not reach it.

    Examples
    --------
    >>> from certivote.planning import samples_to_test
    >>> samples_to_test(0.05, risk=0.0)
    59
    >>> samples_to_test(0.05, risk=0.05) is None
    True
    """
    target, p = _check_target(target), check_number("risk", risk, 0.0, 1.0)
    check_delta(delta)
    if p >= target:
        return None

    def reached(m: int) -> bool:
        # The number of errors need not be whole here, so that it falls with m.
        return binomial_tail(p * m, m, target) <= delta

    return _first(reached)


def _check_target(target: float) -> float:
    target = check_number("target", target, 0.0, 1.0)
    if not 0.0 < target < 1.0:
        raise ValueError(f"target must be strictly between 0 and 1, got {target!r}.")
    return target


def _first(reached: Callable[[int], bool]) -> int | None:
    """Return from which number on it is reached, None if 10¹² is not enough."""
    if not reached(_MOST):
        return None
    low, high = 0, _MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
