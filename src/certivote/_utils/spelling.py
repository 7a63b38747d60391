"""Names that are the same but for how they are written."""

import re
from collections.abc import Iterable

__all__ = ["groups_alike", "spelled_alike", "spelling"]

# Zeros before a number, wherever it stands in a name; not those after a point, as of 0.05.
_ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)")
_WHOLE = re.compile(r"(-?\d+)\.0+")
# So many names of one kind are told.
_TOLD = 8


def spelling(text: str, zeros: bool = False) -> str:
    """Return a name without capitals and without blanks that do not matter.

    With `zeros` it is without zeros before a number too, and a whole number without a point.
    """
    plain = " ".join(text.split()).casefold()
    if not zeros:
        return plain
    return _ZEROS.sub("", _WHOLE.sub(r"\1", plain) if _WHOLE.fullmatch(plain) else plain)


def spelled_alike(texts: Iterable[str], zeros: bool = False) -> str:
    """Return those names, in words, that are the same but for their spelling."""
    spellings: dict[str, list[str]] = {}
    for text in sorted(texts):
        spellings.setdefault(spelling(text, zeros), []).append(text)
    several = [" and ".join(map(repr, found)) for found in spellings.values() if len(found) > 1]
    return "; ".join(several[:_TOLD])


def groups_alike(name: str, groups: Iterable[str]) -> list[str]:
    """Say if groups of rows, which are called so, may be the same but for their spelling."""
    several = spelled_alike(groups, zeros=True)
    if not several:
        return []
    return [
        f"The group {name!r} has names that differ by capitals, blanks or leading zeros only, and "
        f"are different groups here: {several}. If they are one, the certificate is not valid: "
        "write each in one way."
    ]
