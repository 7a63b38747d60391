"""How many certification examples a claim would need."""

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ._utils.validation import check_delta, check_number
from .bounds import MomentBound, clopper_pearson, get_bound
from .bounds.evaluation import round_up
from .bounds.heldout import improbable

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
        The smallest number of examples from which on the certificate is at most the target; None if
        10¹² is not such a number.

    Examples
    --------
    >>> from certivote import samples_needed
    >>> samples_needed("gibbs", 0.25, gibbs_risk=0.1, joint_error=0.04, kl=2.0)
    3041
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


def samples_to_test(target: float, risk: float, delta: float = 0.05) -> int | None:
    """Return how many examples a test of a finished vote would need for a claim.

    The vote is assumed to err on its share of the examples, rounded up to whole errors,
    ``k(m) = ⌈risk·m⌉``: a plan, not a promise. Every error lifts the certificate, and the examples
    up to the next one bring it down again: it may be below the target several times before it
    stays there.

    Parameters
    ----------
    target : float
        The risk to be claimed, in (0, 1).
    risk : float
        How often the vote errs, from a pilot or assumed. A float such as 0.1 or 1/300 stands for
        the fraction that it was rounded from, if there is one of a denominator up to a million.
    delta : float, default=0.05
        The probability that the certificate may fail.

    Returns
    -------
    int or None
        The smallest number m such that ``clopper_pearson(k(m'), m', delta)``, which is the bound
        ``heldout``, is at most the target for every ``m' ≥ m``; None if 10¹² is not such a number.

    Examples
    --------
    >>> from certivote.planning import samples_to_test
    >>> samples_to_test(0.05, risk=0.0)
    59
    >>> samples_to_test(0.02, risk=1 / 300)
    313
    >>> samples_to_test(0.05, risk=0.05) is None
    True
    """
    target, p = _check_target(target), check_number("risk", risk, 0.0, 1.0)
    check_delta(delta)
    if p >= target:
        return None
    if p == 0.0:  # no errors: it falls with m
        return _first(lambda m: clopper_pearson(0, m, delta) <= target, _MOST)
    teeth = _Teeth(_fraction(p))
    below = 2.0 * target - round_up(target)  # certificates are rounded up

    # There are at most p·m + 1 errors. With so many, whole or not, a claim once made stays: the
    # tail is P(X ≥ x) of a density h·exp(m·φ) with φ = p·ln X + (1−p)·ln(1−X), and the smaller φ,
    # the more probable is X ≥ x > p.
    top = _first(lambda m: bool(improbable(p * m + 1.0, m, below, delta)), 2 * _MOST)
    if top is None:
        return None
    errors = teeth.last_without_claim(teeth.errors(top) + 1, below, delta)
    # Until the next error the certificate falls. The claim is made then, or with that error.
    first, last = teeth.start(errors), teeth.start(errors + 1)
    found = bisect_left(
        range(last), True, first + 1, key=lambda m: clopper_pearson(errors, m, delta) <= target
    )
    return found if found <= _MOST else None


class _Teeth:
    """The errors k(m) = ⌈p·m⌉ of a vote: the certificate is a saw, with a tooth for each k."""

    def __init__(self, share: Fraction) -> None:
        self.share = share

    def errors(self, m: int) -> int:
        return math.ceil(self.share * m)

    def start(self, errors: int) -> int:
        """Return the first m with so many errors, where the certificate is highest."""
        return (errors - 1) * self.share.denominator // self.share.numerator + 1

    def last_without_claim(self, errors: int, x: float, delta: float) -> int:
        """Return the last tooth, up to a number of errors, that begins above x."""
        # The one error of one example is above any x: there is such a tooth.
        chunk = 16
        while True:
            counts = range(errors, max(errors - chunk, 0), -1)
            starts = np.array([self.start(count) for count in counts], dtype=float)
            failing = ~improbable(np.array(counts, dtype=float), starts, x, delta)
            if failing.any():
                return counts[int(failing.argmax())]
            errors, chunk = errors - chunk, min(4 * chunk, 2**16)


def _fraction(p: float) -> Fraction:
    """Return the fraction that a float was rounded from, if it is simple, or the float itself."""
    simple = Fraction(p).limit_denominator(10**6)
    return simple if float(simple) == p else Fraction(p)


def _check_target(target: float) -> float:
    target = check_number("target", target, 0.0, 1.0)
    if not 0.0 < target < 1.0:
        raise ValueError(f"target must be strictly between 0 and 1, got {target!r}.")
    return target


def _first(reached: Callable[[int], bool], most: int) -> int | None:
    """Return from which number on it is reached, None if `most` is not enough."""
    return bisect_left(range(most), True, 1, key=reached) if reached(most) else None
