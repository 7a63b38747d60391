"""What is left of a certificate where the examples to come are of another distribution.

Each is the largest error under any distribution that is so near to the one of the sample: an error
is one event, and its two probabilities are no farther from each other than the distributions are.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from .._utils.validation import check_choice, check_number
from ..bounds.evaluation import round_up
from ..divergences import binary_kl
from .base import Claim, Family, Outcome, Vote, at_most, check_part, exactly

__all__ = ["ShiftFamily", "shifted"]

# By halving the interval so often it becomes as small as numbers of this size can be.
_HALVINGS = 60
# More than the error of a divergence.
_ROUNDING = 1e-14
# The new distribution P' and that of the sample, P: the first two are not the same both ways.
_WORDS = {
    "kl": "Kullback–Leibler divergence KL(P'‖P)",
    "tv": "total variation",
    "chi2": "χ²(P'‖P)",
}


def shifted(risk_bound: float, distance: str, radius: float) -> float:
    """Return the largest error under a shift, where it is at most `risk_bound` without one.

    Parameters
    ----------
    risk_bound : float
        The certificate.
    distance : {"kl", "tv", "chi2"}
        The distance of the new distribution P' from the one of the sample, P: ``KL(P'‖P)``, the
        total variation, or ``χ²(P'‖P)``.
    radius : float
        How large it is at most.

    Returns
    -------
    float
        The limit, rounded up, at most 1.

    Examples
    --------
    >>> from certivote import format_up
    >>> from certivote.claims import shifted
    >>> format_up(shifted(0.1, "tv", 0.05))
    '0.1501'
    """
    check_choice("distance", distance, tuple(_WORDS))
    p, rho = check_number("risk_bound", risk_bound, 0.0, 1.0), check_radius(radius)
    if p >= 1.0:
        return 1.0
    if distance == "kl":
        limit = _farthest(p, rho)
    elif distance == "tv":
        limit = p + rho
    else:
        # It grows up to this p, and whatever is below the certificate may be the truth.
        top = min(p, 0.5 * (1.0 + 1.0 / math.sqrt(1.0 + rho)))
        limit = top + math.sqrt(rho * top * (1.0 - top))
    return min(1.0, round_up(limit))


def _farthest(p: float, rho: float) -> float:
    """Return ``max{q : kl(q‖p) ≤ rho}``, never below the true value."""
    low, high = p, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        far = binary_kl(middle, p) > rho * (1.0 + _ROUNDING) + _ROUNDING
        low, high = (low, middle) if far else (middle, high)
    return high


def check_radius(radius: object) -> float:
    """Return the radius of a shift."""
    return check_number("the radius of a shift", radius, 0.0, 1e6)


@dataclass(frozen=True)
class ShiftFamily(Family):
    """The error under any distribution that is no farther from the one of the sample.

    It follows from the certificate, and takes no δ.

    Parameters
    ----------
    delta : float, default=0
        None of δ.
    evidence : dict
        Nothing: the certificate is all.
    distance : {"kl", "tv", "chi2"}
        How distributions are compared.
    radius : float
        How far the new one is at most.

    Examples
    --------
    >>> from certivote.claims import ShiftFamily
    >>> ShiftFamily(distance="kl", radius=0.05).name
    'shift kl=0.05'
    """

    kind: ClassVar[str] = "shift"
    needs_fixed: ClassVar[bool] = False
    pays: ClassVar[bool] = False

    delta: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)
    distance: str = "kl"
    radius: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no shift."""
        check_choice("the distance of a shift", self.distance, tuple(_WORDS))
        object.__setattr__(self, "radius", check_radius(self.radius))
        if check_part(self.delta) or self.evidence:
            raise ValueError("a shift must have neither a part of δ nor evidence of its own.")

    @property
    def name(self) -> str:
        """What it is called."""
        return f"shift {self.distance}={exactly(self.radius)}"

    def count(self, outcome: Outcome, vote: Vote) -> Self:
        """Return it as it is: there is nothing to count."""
        return self

    def check(self, n_samples: int, class_counts: Mapping[str, int], vote: Vote) -> None:
        """Accept any sample: there is no evidence of its own."""

    def claims(self, vote: Vote) -> list[Claim]:
        """Return the claim under this shift."""
        limit = shifted(vote.risk_bound, self.distance, self.radius)
        text = (
            f"Where the examples come from another distribution P', of {_WORDS[self.distance]} at "
            f"most {exactly(self.radius)} from that of the sample, P, it errs with probability "
            f"{at_most(limit)}"
        )
        return [Claim(f"error under a {self.name}", text, limit)]
