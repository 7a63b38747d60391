"""From what a user asks for to families of claims, each with its part of δ."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any

from .._utils.registering import add_class
from .._utils.validation import check_number, did_you_mean
from .abstaining import AbstainFamily
from .base import Family
from .difference import DifferenceFamily
from .partitions import ClassFamily, GroupFamily, PrecisionFamily
from .scores import CostFamily, F1Family
from .shift import ShiftFamily

__all__ = ["FAMILIES", "OVERALL", "family_from", "parse_claim", "register", "shared"]

FAMILIES: dict[str, type[Family]] = {
    family.kind: family
    for family in (
        *(ClassFamily, PrecisionFamily, GroupFamily, F1Family),
        *(CostFamily, ShiftFamily, AbstainFamily, DifferenceFamily),
    )
}
# What the share of the overall error is called.
OVERALL = "error"
# Shares may miss 1 by so much.
_SUM = 1e-9
_BY, _F1, _TO = "error by ", "f1 of ", "difference to "
_WORDS = (
    *("recall", "precision", "balanced", "f1"),
    *(f"{_BY}COLUMN", f"{_F1}CLASS", f"{_TO}COLUMN"),
)


def register(family: type[Family]) -> type[Family]:
    """Make a family of claims of one's own known, so that certificates with it can be read.

    Every process that reads such a certificate must do so.

    Parameters
    ----------
    family : type
        A subclass of `Family`, a frozen dataclass with a ``kind`` of its own.

    Returns
    -------
    type
        The class: this can decorate it.

    Examples
    --------
    >>> from certivote.claims import ClassFamily, register
    >>> register(ClassFamily).kind  # those of the library are known already
    'recall'
    """
    if isinstance(family, type) and not is_dataclass(family):
        raise TypeError(f"{family.__name__} must be a frozen dataclass.")
    add_class(FAMILIES, "family", family, Family, "kind")
    return family


def parse_claim(claim: str | Family) -> Family:
    """Return the family that a claim asks for, by its words.

    Parameters
    ----------
    claim : str or Family
        ``"recall"``, ``"precision"``, ``"balanced"``, ``"f1"``, ``"f1 of CLASS"``,
        ``"error by COLUMN"``, ``"difference to COLUMN"``, which holds the predictions of another
        classifier; or a family, which is returned as it is.

    Examples
    --------
    >>> from certivote.claims import parse_claim
    >>> parse_claim("error by region")
    GroupFamily(delta=0.0, evidence={}, column='region')
    """
    if isinstance(claim, Family):
        if claim.evidence or claim.delta:
            raise ValueError(f"claims must be requests, without evidence or δ, got {claim!r}.")
        return claim
    words = {
        "recall": ClassFamily(),
        "precision": PrecisionFamily(),
        "balanced": ClassFamily(recall=False, balanced=True),
        "f1": F1Family(),
    }
    if isinstance(claim, str) and claim in words:
        return words[claim]
    if isinstance(claim, str) and claim.startswith(_BY) and claim != _BY:
        return GroupFamily(column=claim.removeprefix(_BY))
    if isinstance(claim, str) and claim.startswith(_F1) and claim != _F1:
        return F1Family(positive=claim.removeprefix(_F1))
    if isinstance(claim, str) and claim.startswith(_TO) and claim != _TO:
        return DifferenceFamily(old=claim.removeprefix(_TO))
    raise ValueError(
        f"claims must be one of {', '.join(_WORDS)}, got {claim!r}"
        + (f": {did_you_mean(claim, _WORDS)}" if isinstance(claim, str) else ".")
    )


def shared(
    claims: Iterable[str | Family] | None,
    delta: float,
    shares: Mapping[str, float] | None = None,
    abstain: float | None = None,
) -> tuple[float, tuple[Family, ...]]:
    """Return the δ of the overall error, and the families that are asked for, each with its own.

    Parameters
    ----------
    claims : iterable of str or Family, or None
        What is asked for besides the overall error: see `parse_claim`.
    delta : float
        δ of all of them together.
    shares : mapping of str to float, default=None
        Of each family, by its name, and of ``"error"`` its share of δ, which sum to 1. If None,
        the overall error has half, and the others the rest in equal parts.
    abstain : float, default=None
        How often an answer may be wrong, where it may also abstain: see `AbstainFamily`.

    Examples
    --------
    >>> from certivote.claims import shared
    >>> delta, families = shared(["recall", "precision"], 0.05)
    >>> delta, [family.delta for family in families]
    (0.025, [0.0125, 0.0125])
    """
    if isinstance(claims, str | Family):
        claims = [claims]
    asked = [*map(parse_claim, claims or ())]
    if abstain is not None:
        asked.append(AbstainFamily(target=abstain))
    found: dict[str, Family] = {}
    for family in asked:
        known = found.get(family.name)
        found[family.name] = family if known is None else known.merged(family)
    paying = [name for name, family in found.items() if family.pays]
    if not paying:
        if shares is not None:
            raise ValueError("shares must not be given where no claim takes a part of δ.")
        return delta, tuple(found.values())
    given = _check_shares(shares, paying)
    families = (
        family.at(delta * given[name]) if family.pays else family for name, family in found.items()
    )
    return delta * given[OVERALL], tuple(families)


def _check_shares(shares: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    """Return the share of each family, and of the overall error."""
    if shares is None:
        return {OVERALL: 0.5, **dict.fromkeys(names, 0.5 / len(names))}
    wanted = [OVERALL, *names]
    if not isinstance(shares, Mapping) or set(shares) != set(wanted):
        got = ", ".join(map(repr, shares)) if isinstance(shares, Mapping) else repr(shares)
        raise ValueError(f"shares must name each of {', '.join(map(repr, wanted))}, got {got}.")
    own = {
        name: check_number(f"the share of {name!r}", share, math.ulp(0.0), 1.0)
        for name, share in shares.items()
    }
    total = math.fsum(own.values())
    if not abs(total - 1.0) <= _SUM:
        raise ValueError(f"shares must sum to 1, got {total:.6g}.")
    return {name: share / max(1.0, total) for name, share in own.items()}


def family_from(fields: Any) -> Family:
    """Return the family that `Family.to_dict` wrote; the claims follow, and may be there."""
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ValueError(f"a family of claims must be one of {', '.join(FAMILIES)}, got {kind!r}.")
    family = FAMILIES[kind]
    if set(fields) - {"claims"} != family.names():
        raise ValueError(f"the family {kind!r} must have the names {', '.join(family.names())}.")
    if not isinstance(fields["evidence"], Mapping):
        raise ValueError(f"the evidence of the family {kind!r} must be an object.")
    return family(**{name: fields[name] for name in family.names() - {"kind"}})
