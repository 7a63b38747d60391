"""The claims of a certificate, by the family in which they share δ, and where each is drawn."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..certificate import Certificate
from ..claims import Claim, ClassFamily, Family, GroupFamily
from ..claims.tally import Tally, is_probability, limits, says_nothing, tally

__all__ = ["Group", "Line", "Sheet"]

# So many claims are shown, and the others of each family folded.
_FEW = 24
# Of each family so many at least.
_FEWEST = 2
_PARTS = {
    **{1: "all", 2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 6: "a sixth"},
    **{7: "a seventh", 8: "an eighth", 9: "a ninth", 10: "a tenth", 12: "a twelfth"},
}


@dataclass(frozen=True)
class Line:
    """One claim, where the certificate has it, and what stands beside it."""

    claim: Claim
    tally: Tally
    label: str
    # Its name in the file, None of the overall error; that of each limit follows from it.
    field: str | None = None
    drawn: bool = True

    @property
    def nothing(self) -> bool:
        """Whether it leaves everything possible."""
        return self.drawn and says_nothing(self.claim)

    @property
    def ends(self) -> tuple[float, float]:
        """From where to where the interval goes, in percent of the width."""
        low = 0.0 if self.claim.lower is None else self.claim.lower
        high = 1.0 if self.claim.upper is None else self.claim.upper
        return _percent(low), _percent(high)

    @property
    def shown(self) -> tuple[str | None, str | None]:
        """Both limits as text."""
        return limits(self.claim)

    @property
    def limits(self) -> list[float]:
        """Where the limits are that are claimed, in percent of the width."""
        return [_percent(x) for x in (self.claim.lower, self.claim.upper) if x is not None]

    @property
    def dot(self) -> float | None:
        """Where the observed value is, in percent of the width."""
        return None if self.tally.observed is None else _percent(self.tally.observed)

    def field_of(self, name: str) -> str:
        """Return what a limit of it is called in the file of the certificate."""
        return "risk_bound" if self.field is None else f"{self.field}.{name}"


@dataclass(frozen=True)
class Group:
    """The claims of one family, and its part of δ, in words too."""

    name: str
    field: str
    delta: float
    part: str
    lines: list[Line]

    @property
    def drawn(self) -> list[Line]:
        """Those that are on the scale from 0 to 1."""
        return [line for line in self.lines if line.drawn]


class Sheet:
    """All claims of a certificate.

    Attributes
    ----------
    groups : list of Group
        The overall error, and each family.
    n_claims : int
        How many claims there are.
    few : int
        How many of each family are shown before the others are folded.
    folded : bool
        Whether there are more than are shown.
    named : bool
        Whether classes or groups are claimed one by one.
    columns : list of str
        The columns whose groups are claimed.
    kinds : set of str
        Which kinds of families there are.
    """

    ticks = ((0.0, "0"), (25.0, "0.25"), (50.0, "0.5"), (75.0, "0.75"), (100.0, "1"))

    def __init__(self, certificate: Certificate) -> None:
        families = certificate.families
        self.groups = [_overall(certificate)]
        self.groups += [_group(certificate, number) for number in range(len(families))]
        sizes = [len(group.lines) for group in self.groups]
        self.n_claims = sum(sizes)
        self.few = max(
            (few for few in range(_FEWEST, _FEW + 1) if _shown(sizes, few) <= _FEW),
            default=_FEWEST,
        )
        self.folded = self.n_claims > _FEW
        self.named = any(_is_named(family) for family in families)
        self.columns = [name for family in families for name in family.columns]
        self.kinds = {family.kind for family in families}


def _overall(certificate: Certificate) -> Group:
    claim, beside = certificate.claims[0], certificate.neighbours
    counted = Tally(f"{certificate.n_samples} examples")
    if beside is not None:
        counted = Tally(f"{beside.errors} of {beside.n_samples} wrong", beside.observed)
    part = _in_words(claim.delta / certificate.delta)
    line = Line(claim, counted, claim.about)
    return Group("Error", "bound_parameters.delta", claim.delta, part, [line])


def _group(certificate: Certificate, number: int) -> Group:
    family, vote = certificate.families[number], certificate.vote
    lines = [
        Line(
            claim,
            tally(claim, family, vote),
            _label(claim, family),
            f"families.{number}.claims.{k}",
            is_probability(family),
        )
        for k, claim in enumerate(certificate.claims_of(family))
    ]
    part = _in_words(family.delta / certificate.delta) if family.pays else "no part of δ"
    name = family.name[:1].upper() + family.name[1:]
    return Group(name, f"families.{number}.delta", family.delta, part, lines)


def _label(claim: Claim, family: Family) -> str:
    """Return what a claim is about, under the name of its family."""
    if isinstance(family, GroupFamily):
        return claim.about.removeprefix(f"error where {family.column} = ")
    return claim.about


def _is_named(family: Family) -> bool:
    return isinstance(family, GroupFamily) or (isinstance(family, ClassFamily) and family.recall)


def _shown(sizes: Iterable[int], few: int) -> int:
    return sum(min(size, few) for size in sizes)


def _in_words(share: float) -> str:
    """Return a share of δ in words, or in percent."""
    parts = round(1.0 / share)
    if parts in _PARTS and abs(parts * share - 1.0) < 1e-9:
        return f"{_PARTS[parts]} of δ"
    return f"{100.0 * share:.3g}% of δ"


def _percent(value: float) -> float:
    return round(100.0 * value, 2)
