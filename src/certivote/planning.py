"""How many certification examples a claim would need."""

from ._validation import check_number
from .bounds import MomentBound, get_bound

__all__ = ["samples_needed"]

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
    target = check_number("target", target, 0.0, 1.0)
    if not 0.0 < target < 1.0:
        raise ValueError(f"target must be strictly between 0 and 1, got {target!r}.")
    chosen = get_bound(bound, **({} if delta is None else {"delta": delta}))
    if not isinstance(chosen, MomentBound):
        raise ValueError(f"the bound {chosen.name!r} is not a function of moments and KL.")

    def reached(m: int) -> bool:
        return chosen.from_moments(gibbs_risk, joint_error, kl, m) <= target

    if not reached(_MOST):
        return None
    # A certificate falls with m: (½ ln m + ln(2/δ))/m does.
    low, high = 0, _MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
