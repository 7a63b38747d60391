"""Functions of the moments and KL with their partial derivatives, and the chain rule to weights."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..divergences import Inverse, weights_kl
from ..statistics import Moments

__all__ = [
    "Evaluation",
    "Plane",
    "chain_rule",
    "combine",
    "estimate",
    "kl_and_log_ratio",
    "round_up",
    "through_softmax",
]

# A function of arrays e and d.
Plane = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

Moment = Literal["gibbs_risk", "joint_error", "disagreement"]

# The rounding of moments, KL and a few dozen operations stays below this.
_SLACK = 2e-12
# Weights below this one have no part in a vote, or in a derivative.
_NOTHING = 1e-150


def round_up(value: float) -> float:
    """Return `value` plus more than the rounding errors behind it, at most 1 if it was."""
    raised = value * (1.0 + _SLACK) + _SLACK
    return min(1.0, raised) if value <= 1.0 else raised


class Evaluation(NamedTuple):
    """A value, and its partial derivatives in r, e, d and KL.

    Examples
    --------
    >>> from certivote.bounds import Evaluation
    >>> Evaluation(0.16, joint_error=4.0)  # 4e at e = 0.04
    Evaluation(value=0.16, gibbs_risk=0.0, joint_error=4.0, disagreement=0.0, kl=0.0)
    """

    value: float
    gibbs_risk: float = 0.0
    joint_error: float = 0.0
    disagreement: float = 0.0
    kl: float = 0.0


def combine(value: float, *terms: tuple[float, Evaluation]) -> Evaluation:
    """Return a value whose derivatives are a weighted sum of those of its terms.

    Each term comes with the derivative of the value in it.
    """
    r = e = d = divergence = 0.0
    for slope, term in terms:
        # A derivative may be infinite, but not where nothing depends on it.
        if slope != 0.0:
            r += slope * term.gibbs_risk
            e += slope * term.joint_error
            d += slope * term.disagreement
            divergence += slope * term.kl
    return Evaluation(value, r, e, d, divergence)


def estimate(inverse: Inverse, copies: int, m: int, *moments: Moment) -> Evaluation:
    """Return an inverse of kl at a sum of moments as a function of these moments and KL.

    `copies` of KL are in its radius, and m examples behind it.
    """
    partials = dict.fromkeys(moments, inverse.frequency)
    return Evaluation(inverse.value, kl=copies * inverse.psi / m, **partials)


def chain_rule(
    evaluation: Evaluation, moments: Moments, log_ratio: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the gradient in the weights from the partial derivatives.

    `log_ratio` is ``ln(q/p)``, which with 1 is the gradient of KL.
    """
    if evaluation.kl == 0.0:
        gradient = np.zeros_like(log_ratio)
    else:
        gradient = (log_ratio + 1.0) * evaluation.kl
    for partial, direction in (
        (evaluation.gibbs_risk, moments.gibbs_gradient),
        (evaluation.joint_error, moments.joint_gradient),
        (evaluation.disagreement, moments.disagreement_gradient),
    ):
        if math.isinf(partial):
            # The moment is 0 and can only rise, infinitely fast, with the voters that move it;
            # against a KL that falls as fast where their weight is 0 (there it is NaN).
            with np.errstate(invalid="ignore"):
                gradient += np.where(direction == 0.0, 0.0, np.copysign(partial, direction))
        elif partial != 0.0:
            gradient += partial * direction
    return gradient


def kl_and_log_ratio(
    q: NDArray[np.float64], p: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return KL and ``ln(q/p)``: −∞ where a weight is 0, and 0 where the prior is too."""
    if q.min() > 0.0 and p.min() > 0.0:
        ratio: NDArray[np.float64] = np.log(q) - np.log(p)
        return max(0.0, float(q @ ratio)), ratio
    ratio = np.where(p > 0, -np.inf, 0.0)
    support = q > 0
    ratio[support] = np.log(q[support]) - np.log(p[support])
    return weights_kl(q, p), ratio


def through_softmax(q: NDArray[np.float64], gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradient in the logits from that in the weights ``q = softmax(logits)``."""
    # A moment that is 0, or too small for a float, has infinite derivatives in such weights only.
    if q.min() < _NOTHING:
        gradient = np.where(q < _NOTHING, 0.0, gradient)
    chained: NDArray[np.float64] = q * (gradient - float(q @ gradient))
    return chained
