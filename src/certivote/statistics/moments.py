"""The first two moments of a weighted vote, with the number of examples behind each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import check_count, check_number
from ..voting import TIE

__all__ = ["Moments"]

# By how much rounding may break an identity between moments.
_INCONSISTENCY = 1e-9
_MOMENTS = ("gibbs_risk", "joint_error", "disagreement")
_SIZES = ("gibbs_size", "joint_size", "disagreement_size")


@dataclass(frozen=True, eq=False)
class Moments:
    """The first two moments of a weighted vote on a sample, with their gradients in the weights.

    Attributes
    ----------
    gibbs_risk : float
        r, the mean weight of the voters that err.
    joint_error : float
        e, how often two voters drawn by the weights both err.
    disagreement : float
        d, how often exactly one of the two errs.
    gibbs_size, joint_size, disagreement_size : int
        The number of examples behind each.
    gibbs_gradient, joint_gradient, disagreement_gradient : ndarray of shape (n_voters,)
        Their gradients in the weights.
    one_sample : bool
        Whether every voter, and every pair, was counted on the same labelled examples. Then
        ``r = e + d/2`` and ``e ≥ r²``, as far as the sizes are the same.

    Examples
    --------
    >>> from certivote import Moments
    >>> Moments.from_scalars(0.25, 0.125, n_samples=100).disagreement
    0.25
    """

    gibbs_risk: float
    joint_error: float
    disagreement: float
    gibbs_size: int
    joint_size: int
    disagreement_size: int
    gibbs_gradient: NDArray[np.float64]
    joint_gradient: NDArray[np.float64]
    disagreement_gradient: NDArray[np.float64]
    one_sample: bool = True

    @classmethod
    def from_scalars(cls, gibbs_risk: float, joint_error: float, n_samples: int) -> "Moments":
        """Return moments known as numbers, without gradients.

        Parameters
        ----------
        gibbs_risk, joint_error : float
            Both in [0, 1], with ``gibbs_risk ≥ joint_error``.
        n_samples : int
            The size of the sample behind both.
        """
        r = check_number("gibbs_risk", gibbs_risk, 0.0, 1.0)
        e = check_number("joint_error", joint_error, 0.0, r)
        known = {"gibbs_risk": r, "joint_error": e, "disagreement": 2.0 * (r - e)}
        return cls.from_dict(known | dict.fromkeys(_SIZES, n_samples))

    @classmethod
    def from_dict(cls, numbers: Mapping[str, Any]) -> "Moments":
        """Return the moments that `to_dict` wrote, without gradients.

        Parameters
        ----------
        numbers : mapping
            The three moments and the three sizes.
        """
        values: dict[str, Any] = {}
        for name in _MOMENTS:
            values[name] = check_number(name, numbers.get(name), 0.0, 1.0)
        for name in _SIZES:
            values[name] = check_count(name, numbers.get(name))
        one_sample = numbers.get("one_sample", True)
        if not isinstance(one_sample, bool):
            raise ValueError(f"one_sample must be true or false, got {one_sample!r}.")
        r, e, d = (values[name] for name in _MOMENTS)
        if one_sample and e > r:
            raise ValueError(f"joint_error must be at most gibbs_risk, got {e!r} and {r!r}.")
        if e + d > 1.0 + TIE and values["joint_size"] == values["disagreement_size"]:
            raise ValueError(f"joint_error + disagreement must be at most 1, got {e!r} and {d!r}.")
        for name in ("gibbs_gradient", "joint_gradient", "disagreement_gradient"):
            values[name] = np.empty(0)
        return cls(**values, one_sample=one_sample)

    def check_consistent(self) -> None:
        """Refuse moments that no vote can have on one sample, as far as they are of one sample."""
        r, e, d = self.gibbs_risk, self.joint_error, self.disagreement
        if not self.one_sample or self.gibbs_size != self.joint_size:
            return
        if self.disagreement_size == self.joint_size and abs(e + 0.5 * d - r) > _INCONSISTENCY:
            raise ValueError(
                f"gibbs_risk must be joint_error + disagreement/2, got {r!r}, {e!r} and {d!r}."
            )
        if e < r * r - _INCONSISTENCY:
            raise ValueError(
                f"joint_error must be at least the square of gibbs_risk, got {e!r} and {r!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the three moments and the three sizes; and `one_sample`, if it is False."""
        numbers = {name: getattr(self, name) for name in (*_MOMENTS, *_SIZES)}
        return numbers if self.one_sample else numbers | {"one_sample": False}
