"""How a certification sample came about, and what the claim assumes then."""

from collections.abc import Mapping
from typing import Any

from ._validation import check_count, check_number

__all__ = ["FROZEN", "KEYS", "NEW_DATA", "SPLIT", "assumptions_of", "check_looks"]

SPLIT = "part A of a random split"
FROZEN = "frozen, trained elsewhere"
NEW_DATA = "a fitted vote, certified on new data"

KEYS = frozenset(
    {
        "voters_from",
        "voter_samples",
        "seed",
        "certify_size",
        "prior",
        "added_samples",
        "look",
        "delta_of_all_looks",
        "unlabelled_samples",
        "data",
        "data_sha256",
        "target",
        "dropped",
        "categorical",
    }
)

_ALWAYS = (
    "The certification examples were drawn independently of each other, from the same distribution "
    "as the examples to come.",
    "The voters, the prior and the settings of the bound were fixed without looking at the "
    "certification examples.",
    "{weights}",
)
_ONLY = (
    "This is the only certificate that was asked for, or it was chosen without looking at the "
    "others: the smallest of several holds only at the sum of their deltas."
)
_LOOK = (
    "This is number {look} of the certificates of one vote on a growing sample, each at "
    "{delta}/(k(k+1)) for its number k. All of these hold at once, with confidence 1 − {delta}: "
    "no other certificate is among them. The sizes of the batches did not depend on certificates "
    "before."
)
_EXAMPLES = (
    "No example is there twice, by oversampling or because one subject gave several rows, and "
    "their order in time does not matter."
)
_SEARCH = (
    "A vote that a search around this classifier selected must be certified again on new data."
)
_BY_ORIGIN = {
    SPLIT: (
        "Whatever looks at more than one row (scaling, feature selection, tuning) happened inside "
        "the voters, on part A, and not before the split.",
        "No other seed or size of the split was tried: keeping the best of several is a choice "
        "that looks at part B.",
        _EXAMPLES,
        _SEARCH,
    ),
    FROZEN: (
        "The frozen voters, and whatever prepares their data, were trained and chosen on other "
        "data.",
        _EXAMPLES,
        _SEARCH,
    ),
    NEW_DATA: (_EXAMPLES,),
}
_FILE = (
    "Whether a column holds numbers or categories was read off the whole file, and would be the "
    "same in any other such file."
)
_UNLABELLED = (
    "The unlabelled examples were drawn independently as well, from the same distribution as the "
    "labelled ones, and the voters and the prior were fixed without looking at them either."
)


def assumptions_of(provenance: Mapping[str, Any], weights: str) -> tuple[str, ...]:
    """Return what must be true for a claim of this provenance to hold.

    Parameters
    ----------
    provenance : mapping
        How the certification sample came about, where the library knows.
    weights : str
        What the bound assumes of the weights.
    """
    always = (text.format(weights=weights) for text in _ALWAYS)
    chosen = _ONLY
    if "look" in provenance:
        delta = provenance.get("delta_of_all_looks")
        chosen = _LOOK.format(look=provenance["look"], delta=delta)
    texts = (*always, chosen, *_BY_ORIGIN.get(str(provenance.get("voters_from")), ()))
    if "data_sha256" in provenance:
        texts = (*texts, _FILE)
    return (*texts, _UNLABELLED) if "unlabelled_samples" in provenance else texts


def check_looks(provenance: Mapping[str, Any], delta: float) -> None:
    """Refuse a certificate of a sequence whose delta is not that of its number.

    Parameters
    ----------
    provenance : mapping
        How the certification sample came about.
    delta : float
        The delta of the certificate.
    """
    if "look" not in provenance and "delta_of_all_looks" not in provenance:
        return
    look = check_count("look", provenance.get("look"))
    total = check_number("delta_of_all_looks", provenance.get("delta_of_all_looks"), 0.0, 1.0)
    expected = total / (look * (look + 1))
    if abs(delta - expected) > 1e-12 * expected:
        raise ValueError(
            f"delta must be {expected!r}, which is that of certificate number {look} of a "
            f"sequence, got {delta!r}."
        )
