"""The fields of a certificate, each checked by itself and against the others."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.validation import (
    check_choice,
    check_count,
    check_distribution,
    check_number,
    check_prior,
)
from ..bounds import Bound, get_bound, list_bounds
from ..claims.abstaining import PART_A as PART_A_SHARES
from ..claims.abstaining import UNLABELLED
from ..claims.base import Family, Vote
from ..claims.sheet import family_from
from ..statistics import kind_of
from .errors import CertificateError, CertificateFormatError
from .neighbours import GIVEN, PART_A, Neighbours
from .provenance import MODEL, NEW_DATA, SPLIT, TOPICS, check_looks, check_provenance, check_sha256

__all__ = ["check_fields", "is_uniform", "plain"]

_OBJECTS = (
    *("bound_parameters", "evidence", "provenance"),
    *("files", "class_counts", "checks", "made"),
)
# A prior whose numbers differ by no more than this, relatively, is uniform.
_UNIFORM = 1e-12


def check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a certificate, each checked by itself and against the others.

    Numbers are Python's own, so that a file gives them back; arrays and dictionaries are copies.
    """
    for name in _OBJECTS:
        if not isinstance(fields[name], Mapping):
            raise CertificateError(f"{name} must be an object, got {fields[name]!r}.")
    for name in ("certivote_version", "bound"):
        if not isinstance(plain(name, fields[name]), str):
            raise CertificateError(f"{name} must be a text, got {fields[name]!r}.")
    own = _check_alone(fields)
    parameters, evidence = own["bound_parameters"], own["evidence"]
    weights, prior, n_samples = own["weights"], own["prior"], own["n_samples"]
    bound = _check_bound(own["bound"], parameters)
    bound.from_evidence(evidence, weights, prior)
    if "unlabelled_samples" in own["provenance"] and not bound.uses_unlabelled:
        raise CertificateError(
            f"provenance must not have unlabelled_samples: the bound {bound.name!r} uses none."
        )
    sizes = {name: value for name, figure, value in bound.described(evidence) if figure.is_size}
    try:
        kind = kind_of(own["provenance"])
    except ValueError as error:
        raise CertificateFormatError(str(error)) from error
    facts = kind.check_facts(own["provenance"])
    kind.check_sizes(sizes, n_samples, {**own["provenance"], **facts})
    provenance = check_provenance(own["provenance"], kind, facts)
    if "gibbs_risk" in evidence and evidence.get("one_sample", True) is not kind.one_sample:
        raise CertificateError(
            "one_sample must not be false in the evidence: these statistics are of one sample."
            if kind.one_sample
            else "one_sample must be false in the evidence: these statistics are of several."
        )
    check_looks(provenance, bound)
    _check_origin_of_prior(provenance, weights, prior)
    _check_start(provenance, own["families"])
    total = _check_total(fields["total_delta"], float(bound.delta), own["families"])
    vote = Vote(bound, evidence, weights, prior, own["risk_bound"])
    for family in own["families"]:
        family.claims(vote)  # it refuses evidence that is none
        family.check(n_samples, own["class_counts"], vote)
    neighbours = _check_neighbours(fields, total or float(bound.delta), weights, prior)
    return own | {"provenance": provenance, "neighbours": neighbours, "total_delta": total}


def _check_alone(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields, but for `neighbours` and `total_delta`, each checked by itself."""
    n_voters = check_count("n_voters", fields["n_voters"])
    n_samples = check_count("n_samples", fields["n_samples"])
    weights = _read_only(check_distribution("weights", fields["weights"], n_voters))
    prior = _read_only(check_distribution("prior", fields["prior"], n_voters))
    check_prior(prior, n_voters, weights)
    votes = fields["votes_sha256"]
    return {
        "risk_bound": check_number("risk_bound", fields["risk_bound"], 0.0, 1.0),
        "bound": str(fields["bound"]),
        "bound_parameters": _settings(fields["bound_parameters"]),
        "n_samples": n_samples,
        "n_voters": n_voters,
        "kl": check_number("kl", fields["kl"], 0.0, math.inf),
        "weights": weights,
        "prior": prior,
        "evidence": plain("evidence", fields["evidence"]),
        "statistics_sha256": check_sha256("statistics_sha256", fields["statistics_sha256"]),
        "votes_sha256": votes if votes is None else check_sha256("votes_sha256", votes),
        "provenance": plain("provenance", fields["provenance"]),
        "certivote_version": str(fields["certivote_version"]),
        "findings": _check_findings(fields["findings"]),
        "files": {
            name: check_sha256(f"the digest of {name!r} in files", digest)
            for name, digest in plain("files", fields["files"]).items()
        },
        "class_counts": _check_class_counts(fields["class_counts"], n_samples),
        "families": _check_families(fields["families"]),
        "checks": _check_topics(fields["checks"]),
        "made": _texts("made", fields["made"]),
    }


def _texts(name: str, value: Any) -> dict[str, str]:
    texts = plain(name, value)
    for topic, text in texts.items():
        if not isinstance(text, str):
            raise CertificateError(f"{name}.{topic} must be a text, got {text!r}.")
    return dict(texts)


def _check_families(families: Any) -> tuple[Family, ...]:
    """Return the families of claims, each once."""
    if not isinstance(families, list | tuple):
        raise CertificateError(f"families must be a list, got {families!r}.")
    checked = tuple(
        family_from(plain("families", one.to_dict() if isinstance(one, Family) else one))
        for one in families
    )
    if not all(family.evidence for family in checked if family.pays):
        raise CertificateError("families must have evidence.")
    names = [family.name for family in checked]
    if len(set(names)) < len(names):
        raise CertificateError(f"families must be there once each, got {', '.join(names)}.")
    return checked


def _check_total(total: Any, own: float, families: tuple[Family, ...]) -> float | None:
    """Return the δ of all claims together, which is there where they share it."""
    parts = [family.delta for family in families if family.pays]
    if not parts:
        if total is not None:
            raise CertificateError("total_delta must be null where nothing shares delta.")
        return None
    delta = check_number("total_delta", total, 0.0, 0.5)
    missing = delta - math.fsum([own, *parts])
    if min(parts) <= 0.0 or not -1e-12 * delta <= missing <= 1e-8 * delta:
        raise CertificateError(
            f"total_delta must be the sum of the parts of all claims, got {delta!r} for "
            f"{[own, *parts]!r}."
        )
    return delta


def _check_start(provenance: Mapping[str, Any], families: tuple[Family, ...]) -> None:
    """Refuse levels of abstaining that were found on rows which there were not."""
    origin = provenance.get("voters_from")
    for start_from in (getattr(family, "start_from", None) for family in families):
        if (start_from == PART_A_SHARES and origin != SPLIT) or (
            start_from == UNLABELLED and origin is None
        ):
            raise CertificateError(
                f"start_from must not be {start_from!r} where voters_from is {origin!r}."
            )


def _check_topics(checks: Any) -> dict[str, str]:
    """Return what was looked for, of which there are just these topics."""
    texts = _texts("checks", checks)
    for topic in texts:
        check_choice("the topic of a check", topic, TOPICS)
    return texts


def _check_class_counts(counts: Any, n_samples: int) -> dict[str, int]:
    """Return how many examples are of each class: all of them, or nothing is known."""
    checked = {
        name: check_count(f"class_counts.{name}", n) for name, n in plain("", counts).items()
    }
    if checked and sum(checked.values()) != n_samples:
        raise CertificateError(
            f"class_counts must sum to n_samples = {n_samples}, got {sum(checked.values())}."
        )
    return checked


def _check_neighbours(
    fields: Mapping[str, Any],
    delta: float,
    weights: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> Neighbours | None:
    """Return the neighbours of a certificate, which are of its own sample and vote."""
    given = fields["neighbours"]
    if given is None:
        return None
    if not isinstance(given, Neighbours):
        if not isinstance(given, Mapping):
            raise CertificateError(f"neighbours must be an object or null, got {given!r}.")
        given = Neighbours.from_dict(plain("neighbours", given))
    counts, evidence = fields["class_counts"], fields["evidence"]
    fixed = bool(np.array_equal(weights, prior))
    expected = {"n_samples": fields["n_samples"], "delta": delta, "fixed": fixed}
    if counts:
        others = fields["n_samples"] - counts.get(given.baseline, 0)
        expected["baseline_errors"] = others
    for name, value in expected.items():
        if getattr(given, name) != value:
            raise CertificateError(
                f"neighbours.{name} must be {value!r}, as the rest of the certificate says, got "
                f"{getattr(given, name)!r}."
            )
    origin = fields["provenance"].get("voters_from")
    places = {PART_A: (SPLIT, NEW_DATA), GIVEN: (NEW_DATA, MODEL)}
    if origin not in places.get(given.baseline_from, (origin,)):
        raise CertificateError(
            f"neighbours.baseline_from must not be {given.baseline_from!r} where voters_from is "
            f"{origin!r}."
        )
    if counts and given.baseline_from != PART_A and given.baseline not in counts:
        raise CertificateError(
            f"neighbours.baseline must be one of the classes, got {given.baseline!r}."
        )
    if fixed and given.errors != evidence.get("vote_errors", given.errors):
        raise CertificateError(
            f"neighbours.errors must be the errors of the evidence, {evidence['vote_errors']!r}, "
            f"got {given.errors!r}."
        )
    return given


def _check_bound(name: str, parameters: dict[str, Any]) -> Bound:
    """Return the bound of a certificate, which says all of its parameters."""
    if name not in list_bounds():
        raise CertificateFormatError(
            f"bound must be one of {', '.join(list_bounds())}, got {name!r}."
        )
    expected = set(get_bound(name).get_params(deep=False))
    if set(parameters) | get_bound(name).later_settings != expected:
        raise CertificateError(
            f"bound_parameters must be {', '.join(sorted(expected))}, "
            f"got {', '.join(sorted(parameters)) or 'none'}."
        )
    bound = get_bound(name, **parameters)
    settled = bound.settled(bound.needs).get_params(deep=False)
    for parameter, value in parameters.items():
        # What None means is decided before, and may mean something else in another version.
        if value is None and settled[parameter] is not None:
            raise CertificateError(f"bound_parameters must say which {parameter} was taken.")
    return bound


def _check_origin_of_prior(
    provenance: Mapping[str, Any], weights: NDArray[np.float64], prior: NDArray[np.float64]
) -> None:
    """Refuse a prior of which nobody says where it came from."""
    if provenance.get("voters_from") == NEW_DATA:
        if not np.array_equal(weights, prior):
            raise CertificateError(
                "prior must be the weights, where a fitted vote is certified on new data."
            )
    elif "prior" not in provenance and not is_uniform(prior):
        raise CertificateError(
            "provenance must say where the prior came from, as it is not uniform: it has no "
            "'prior'."
        )


def _check_findings(findings: Any) -> tuple[str, ...]:
    texts = plain("findings", findings)
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise CertificateError(f"findings must be a list of sentences, got {findings!r}.")
    return tuple(texts)


def is_uniform(prior: NDArray[np.float64]) -> bool:
    """Tell whether all voters have the same prior."""
    return bool(np.ptp(prior) <= _UNIFORM * prior.max())


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    own = array.copy()
    own.setflags(write=False)
    return own


def plain(name: str, value: Any) -> Any:
    """Return what JSON gives back as it was: texts, Python's own numbers, lists and objects."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise CertificateError(f"{name} must have texts for names, got {value!r}.")
        return {str(plain(name, key)): plain(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if isinstance(value, str):
        value.encode("utf-8")  # half of a character cannot be written
        return value
    if value is None or isinstance(value, Integral):
        return value
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise CertificateError(f"{name} must hold texts and finite numbers, got {value!r}.")


def _settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a bound, whole and broken numbers alike."""

    def as_floats(value: Any) -> Any:
        if isinstance(value, list):
            return [as_floats(item) for item in value]
        is_number = isinstance(value, Integral) and not isinstance(value, bool)
        return float(value) if is_number else value

    settings = plain("bound_parameters", parameters)
    return {name: as_floats(value) for name, value in settings.items()}
