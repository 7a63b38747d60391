"""What can be claimed besides the error: classes, groups, scores, costs, shifts, differences."""

from .._utils.addresses import publish
from .abstaining import AbstainFamily
from .base import Claim, Family, at_least, at_most
from .difference import DifferenceFamily
from .partitions import ClassFamily, GroupFamily, PrecisionFamily
from .scores import CostFamily, F1Family
from .sheet import parse_claim, register, shared
from .shift import ShiftFamily, shifted

__all__ = [
    "AbstainFamily",
    "Claim",
    "ClassFamily",
    "CostFamily",
    "DifferenceFamily",
    "F1Family",
    "Family",
    "GroupFamily",
    "PrecisionFamily",
    "ShiftFamily",
    "at_least",
    "at_most",
    "parse_claim",
    "register",
    "shared",
    "shifted",
]

publish(__name__)
