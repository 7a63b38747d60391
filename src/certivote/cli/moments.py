"""``certivote bound`` and ``certivote plan``: certificates from a few numbers."""

from pathlib import Path
from typing import Any

from ..bounds import MomentBound, list_moment_bounds
from ..certificate import Certificate
from ..planning import samples_needed, samples_to_test
from .models import make_bound

__all__ = ["bounds_of", "joint_error_of", "pilot", "plan", "plan_test"]


def joint_error_of(gibbs: float, disagreement: float | None, joint_error: float | None) -> float:
    """Return the joint error, from ``e = r − d/2`` if it is not given.

    Parameters
    ----------
    gibbs, disagreement, joint_error : float or None
        The moments of a vote.
    """
    if (disagreement is None) == (joint_error is None):
        raise ValueError("give either --disagreement or --joint-error.")
    if joint_error is not None:
        return joint_error
    assert disagreement is not None
    largest = 2.0 * gibbs * (1.0 - gibbs)
    if not 0.0 <= disagreement <= largest + 1e-12:
        raise ValueError(
            f"--disagreement must be between 0 and 2r(1−r), here {largest:g}: two voters drawn "
            f"alike do not disagree more often; got {disagreement:g}."
        )
    return max(0.0, gibbs - disagreement / 2.0)


def bounds_of(
    gibbs: float, joint_error: float, kl: float, m: int, delta: float, constant: str
) -> dict[str, float]:
    """Return the value of every certificate that four numbers determine.

    Parameters
    ----------
    gibbs, joint_error, kl, m, delta, constant
        As in `certivote.bounds.MomentBound.from_moments`.
    """
    if m < 1:
        raise ValueError(f"-m must be at least 1 example, got {m}.")
    values = {}
    for name in list_moment_bounds():
        bound = make_bound(name, delta, constant)
        assert isinstance(bound, MomentBound)
        values[name] = bound.from_moments(gibbs, joint_error, kl, m)
    return values


def pilot(path: Path) -> tuple[float, float, float] | float:
    """Return the moments and KL of a certificate that holds up, or the share of tested errors.

    Parameters
    ----------
    path : Path
        The certificate of a pilot.
    """
    certificate = Certificate.from_json(path)
    certificate.verify()
    if "vote_errors" in certificate.evidence:
        return float(certificate.evidence["vote_errors"]) / certificate.n_samples
    if certificate.gibbs_risk is None or certificate.joint_error is None:
        raise ValueError(
            f"{path} is by the bound {certificate.bound!r}, which knows no moments to plan with: "
            "give a pilot by heldout, or by a bound on moments, such as lacasse."
        )
    return certificate.gibbs_risk, certificate.joint_error, certificate.kl


def plan_test(target: float, risk: float, delta: float, bound: str | None) -> dict[str, Any]:
    """Return how many examples a test of the vote would need for a claim.

    Parameters
    ----------
    target : float
        The risk to be claimed.
    risk : float
        How often the vote errs.
    delta : float
        The probability that the certificate may fail.
    bound : str or None
        None, or ``"heldout"``.
    """
    if bound not in (None, "heldout"):
        raise ValueError(f"--bound must be heldout where errors were tested, got {bound!r}.")
    needed = {"heldout": samples_to_test(target, risk, delta)}
    return {"target": target, "risk": risk, "samples_needed": needed}


def plan(
    target: float,
    moments: tuple[float, float, float],
    delta: float,
    constant: str,
    bound: str | None,
) -> dict[str, Any]:
    """Return how many certification examples each bound would need for a claim.

    Parameters
    ----------
    target : float
        The risk to be claimed.
    moments : tuple of float
        Gibbs risk, joint error and KL.
    delta, constant
        The settings of the bounds.
    bound : str or None
        One bound; all if None.
    """
    gibbs, joint_error, kl = moments
    names = list_moment_bounds() if bound is None else [bound]
    needed = {}
    for name in names:
        chosen = make_bound(name, delta, constant)
        if not isinstance(chosen, MomentBound):
            raise ValueError(
                f"--bound must be one of {', '.join(list_moment_bounds())}, got {name!r}."
            )
        needed[name] = samples_needed(chosen, target, gibbs, joint_error, kl)
    return {
        "target": target,
        "gibbs_risk": gibbs,
        "joint_error": joint_error,
        "kl": kl,
        "samples_needed": needed,
    }
