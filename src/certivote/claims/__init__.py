"""What can be claimed of a vote besides its error: classes, groups, scores, costs and shifts."""

from .._utils.addresses import publish
from .abstaining import AbstainFamily
from .base import Claim, Family
from .partitions import ClassFamily, GroupFamily, PrecisionFamily
from .scores import CostFamily, F1Family
from .sheet import parse_claim, shared
from .shift import ShiftFamily, shifted

__all__ = [
    "AbstainFamily",
    "Claim",
    "ClassFamily",
    "CostFamily",
    "F1Family",
    "Family",
    "GroupFamily",
    "PrecisionFamily",
    "ShiftFamily",
    "parse_claim",
    "shared",
    "shifted",
]

publish(__name__)
