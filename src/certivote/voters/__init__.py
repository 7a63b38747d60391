"""Where voters come from: trees, stumps, members of ensembles, tables of predictions."""

from .base import Voters
from .sources import fit_voters, frozen_parts, is_frozen
from .stumps import Stump, Stumps
from .table import PredictionTable

__all__ = [
    "PredictionTable",
    "Stump",
    "Stumps",
    "Voters",
    "fit_voters",
    "frozen_parts",
    "is_frozen",
]
