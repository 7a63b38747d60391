"""What checking a certificate with the model and the data tells, and what it does not."""

from collections.abc import Mapping
from typing import Any

__all__ = ["differences", "name_of", "origins"]


def origins(provenance: Mapping[str, Any], remembered: bool) -> tuple[list[str], list[str]]:
    """Return what a count of the votes checks, and what it does not, by where all came from.

    Mixed voters remember where they erred on rows that they had not seen, and learn from that.
    """
    from ..certificate.provenance import (
        BAGS,
        FROZEN,
        FROZEN_BAGS,
        MODEL,
        NEW_DATA,
        PRIOR_GIVEN,
        PRIOR_LEARNED,
        SPLIT,
    )

    checked = ["the votes of the model on the data: split, counts, moments, bound"]
    if provenance["voters_from"] == MODEL:
        checked = ["what the model predicts on the data: errors, bound, baseline"]
    if provenance["voters_from"] in (BAGS, FROZEN_BAGS):
        checked = [
            "the votes of the model outside the bags: counts, moments, bound",
            "that each voter is what its bag gives: it was trained again",
        ]
    not_checked = [
        {
            SPLIT: "that the voters were trained on part A only",
            FROZEN: "that the frozen voters were trained and chosen on other data",
            BAGS: "that no other seed or size was tried, and that nothing prepared the data by "
            "looking at several rows",
            FROZEN_BAGS: "that the seed and the settings of the forest were chosen without looking "
            "at the data, and that nothing prepared the data by looking at several rows",
            MODEL: "that the classifier was trained and chosen on other data",
            NEW_DATA: "that neither the voters nor their weights have seen these examples, other "
            "than by looking for rows of the fit",
        }[provenance["voters_from"]]
    ]
    prior = provenance.get("prior")
    if provenance["voters_from"] == NEW_DATA:
        checked.append("the prior: it is the weights of the model")
    elif prior is None and provenance["voters_from"] != MODEL:
        checked.append("the prior: it is uniform")
    elif prior == PRIOR_LEARNED and remembered:
        checked.append("the prior: it follows from the errors on part A that the model remembers")
        not_checked.append("that mixed voters erred there as the model remembers")
    elif prior == PRIOR_LEARNED:
        checked.append("the prior: it was learned again on part A")
    if prior == PRIOR_GIVEN:
        not_checked.append(
            "that the prior, which the user gave, was fixed without looking at the certification "
            "examples"
        )
    if "frozen_parts" in provenance:
        not_checked.append("that the frozen parts inside the voters were trained on other data")
    return checked, not_checked


def differences(claimed: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return in words where the file is another one than the certificate says."""
    words = []
    if claimed.get("data") != found.get("data"):
        words.append(
            f"that the file is the one that was certified: its name is {found.get('data')!r}, and "
            f"the certificate says {name_of(claimed)}"
        )
    if claimed.get("data_sha256") != found.get("data_sha256"):
        other = "it is not, byte for byte" if "data_sha256" in claimed else "no digest is there"
        words.append(
            f"that the content of the file is the one that was certified: {other}, but it gives "
            "the same counts"
        )
    return words


def name_of(claimed: Mapping[str, Any]) -> str:
    """Return what a certificate calls its data, in words."""
    return repr(claimed["data"]) if "data" in claimed else "nothing"
