"""What options ask to be claimed, besides the overall error."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..claims import Family

__all__ = ["Claims", "claims_of"]


@dataclass(frozen=True)
class Claims:
    """What is claimed besides the overall error, and the share of δ of each."""

    families: "Sequence[Family]" = ()
    shares: dict[str, float] | None = None
    abstain: float | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that claims are about."""
        return [name for family in self.families for name in family.columns]

    @property
    def arguments(self) -> dict[str, Any]:
        """What estimators and `certify_model` are given."""
        return {"claims": list(self.families), "shares": self.shares, "abstain": self.abstain}


def claims_of(
    claims: Sequence[str] | None,
    positive: str | None,
    abstain: float | None,
    cost: Path | None,
    frequencies: Sequence[str] | None,
    shifts: Sequence[str] | None,
    shares: Sequence[str] | None,
) -> Claims:
    """Return what options ask to be claimed."""
    from ..claims import ClassFamily, ShiftFamily, parse_claim

    families: list[Family] = []
    for claim in claims or ():
        asked = f"f1 of {positive}" if claim == "f1" and positive is not None else claim
        families.append(_parsed(parse_claim, asked))
    if cost is not None:
        families.append(_costs(cost))
    for text in frequencies or ():
        numbers = _numbers("--class-frequencies", text.split(","))
        families.append(ClassFamily(recall=False, frequencies=(numbers,)))
    for text in shifts or ():
        for distance, radius in _numbers("--shift", [text]).items():
            families.append(ShiftFamily(distance=distance, radius=radius))
    return Claims(families, _numbers("--share", shares) if shares else None, abstain)


def _parsed(parse: Any, claim: str) -> "Family":
    """Return a claim in words, whose errors name the option."""
    try:
        family: Family = parse(claim)
    except ValueError as error:
        raise ValueError(str(error).replace("claims must", "--claim must", 1)) from error
    return family


def _numbers(option: str, texts: Sequence[str]) -> dict[str, float]:
    """Return numbers by their names, which are written name=number."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.rpartition("="))
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not name or value != value or name in found:
            raise ValueError(f"{option} must be name=number, each name once, got {text!r}.")
        found[name] = value
    return found


def _costs(path: Path) -> "Family":
    """Return the costs in a file: a row for each true class, a column for each answer."""
    import pandas as pd

    from ..claims import CostFamily

    if not path.is_file():
        raise ValueError(f"there is no file {path} with the costs.")
    try:
        table = pd.read_csv(path, dtype=str, index_col=0, keep_default_na=False)
        rows = [str(name).strip() for name in table.index]
        names = [str(name).strip() for name in table.columns]
        numbers = table.set_axis(rows).set_axis(names, axis=1).astype(float)
    except ValueError as error:
        raise ValueError(
            f"{path} must be a CSV file of numbers, with the classes in its first row and in its "
            f"first column: {error}."
        ) from error
    if sorted(rows) != sorted(names) or len(set(names)) < len(names):
        raise ValueError(
            f"{path} must have each class once in its first row and in its first column, got "
            f"{', '.join(names)} and {', '.join(rows)}."
        )
    return CostFamily(classes=names, costs=numbers.loc[names].to_numpy().tolist())
