"""Rows without labels: those to be predicted, and those that said where abstaining begins."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..tables import Table
    from ..tables.asked import Asked

__all__ = ["check_wanted", "read_unlabelled", "was_found_again"]


def read_unlabelled(
    model: Any, data: Sequence[str], provenance: Mapping[str, Any], drop: Sequence[str] = ()
) -> "Table":
    """Read rows for a model, as the table was read that is certified by this provenance.

    The claim is about its answers to that. A model that knows no names of columns takes all of
    them, but those that were left out there.
    """
    from ..tables.asked import Asked
    from .models import read_for

    before = Asked.certified(provenance)
    if not hasattr(model, "feature_names_in_"):
        drop = [*drop, *_left_out(before, data, drop)]
    asked = options.asked(
        list(drop), list(before.categorical), na_values=before.na_values, has_target=False
    )
    return read_for(model, data, asked)


def _left_out(before: "Asked", data: Sequence[str], drop: Sequence[str]) -> list[str]:
    """Return the columns of files that the certified table left out, or had for something else."""
    from ..tables.files import open_tables

    known = [name for name in (*before.drop, *before.apart) if name is not None]
    if not known or not all(Path(name).is_file() for name in data):
        return []
    there = open_tables([Path(data[0])]).names
    return [name for name in known if name in there and name not in drop]


def check_wanted(certificate: "Certificate", given: bool) -> bool:
    """Return whether unlabelled rows said where abstaining begins; refuse rows that did not."""
    from ..claims.abstaining import UNLABELLED

    wanted = any(
        getattr(family, "start_from", None) == UNLABELLED for family in certificate.families
    )
    if given and not wanted:
        raise ValueError(
            "--unlabelled is for a certificate with a claim on abstaining that began by unlabelled "
            "rows, and this one has none."
        )
    return wanted


def was_found_again(given: bool) -> tuple[list[str], list[str]]:
    """Return what is checked, and what is not, where unlabelled rows said where testing begins."""
    from ..claims.abstaining import AT_ITS_WORD, UNLABELLED

    if not given:
        return [], [f"{AT_ITS_WORD} ({UNLABELLED}), with --unlabelled"]
    return (
        ["at which level testing began: it was found again on the unlabelled rows"],
        ["that the unlabelled rows were not chosen by looking at those that certify"],
    )
