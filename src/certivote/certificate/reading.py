"""Certificates as they come from files, of this and of older versions."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._utils.validation import check_distribution
from .checking import is_uniform, plain
from .errors import CertificateError, CertificateFormatError
from .provenance import NEW_DATA, PRIOR_GIVEN

__all__ = ["FORMAT", "FORMAT_VERSION", "check_format", "load_json", "of_its_time", "renewed"]

FORMAT = "certivote certificate"
FORMAT_VERSION = 2
# What certificates of version 1 do not have.
_SINCE_VERSION_2 = frozenset({"findings", "files"})
# What only later certificates of version 2 have.
_MAYBE = frozenset({"neighbours", "class_counts", "checks", "made"})
_MAYBE |= {"families", "total_delta"}
# What votes fixed in advance were once called, as a parameter of a bound and in words.
_ONCE = "candidates"


def load_json(path: str | os.PathLike[str]) -> Any:
    """Return what a JSON file says, if it says each thing once and holds finite numbers only."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated)
    except CertificateError:
        raise
    except UnicodeDecodeError as error:
        raise CertificateFormatError(
            f"{path} is not a certificate, which is a file of text such as certificate.json."
        ) from error
    except (ValueError, RecursionError) as error:
        raise CertificateFormatError(f"{path} is not a JSON file: {error}.") from error


def _refuse_constant(name: str) -> float:
    raise CertificateError(f"a certificate holds finite numbers only, got {name}.")


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise CertificateError("a certificate says each thing once, but a name is there twice.")
    return fields


def check_format(fields: object, known: frozenset[str]) -> int:
    """Return the version of a certificate that has just the fields of its version."""
    if not isinstance(fields, Mapping):
        raise CertificateFormatError("a certificate must be a JSON object.")
    if fields.get("format") != FORMAT:
        raise CertificateFormatError(f"format must be {FORMAT!r}, got {fields.get('format')!r}.")
    version = fields.get("format_version")
    if version not in (1, FORMAT_VERSION) or isinstance(version, bool):
        raise CertificateFormatError(
            f"format_version must be 1 or {FORMAT_VERSION}, got {version!r}: this certificate "
            "was written by another version of certivote."
        )
    names = known - _SINCE_VERSION_2 - _MAYBE if version == 1 else known
    missing = sorted(names - _MAYBE - set(fields))
    if missing:
        raise CertificateFormatError(f"the certificate lacks {', '.join(missing)}.")
    unknown = sorted(set(fields) - names)
    if unknown:
        raise CertificateError(f"the certificate has unknown fields: {', '.join(unknown)}.")
    return int(version)


def renewed(fields: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return the fields of an older certificate as those of today's.

    Version 1 did not say that a prior was given by the user: there was no other way to one that is
    neither uniform nor learned.
    """
    own, parameters = dict(fields), fields["bound_parameters"]
    if isinstance(parameters, Mapping) and _ONCE in parameters and "fixed_votes" not in parameters:
        today = {name: value for name, value in parameters.items() if name != _ONCE}
        own["bound_parameters"] = {**today, "fixed_votes": parameters[_ONCE]}
    provenance = fields["provenance"]
    if version == 1 and isinstance(provenance, dict) and "prior" not in provenance:
        prior = plain("prior", fields["prior"])
        given = provenance.get("voters_from") != NEW_DATA and isinstance(prior, list)
        if given and not (prior and is_uniform(check_distribution("prior", prior, len(prior)))):
            own["provenance"] = {**provenance, "prior": PRIOR_GIVEN}
    return own


def of_its_time(assumption: str, fields: Mapping[str, Any]) -> str:
    """Return what a bound assumes of the weights, in the words of when the fields were written."""
    if _ONCE in fields["bound_parameters"]:
        return assumption.replace("votes fixed in advance", _ONCE)
    return assumption
