"""Where voters come from: trees, stumps, members of ensembles, tables of predictions."""

from .base import Voters, codes_of
from .sources import fit_voters, is_frozen
from .stumps import Stump, Stumps
from .table import PredictionTable

__all__ = ["PredictionTable", "Stump", "Stumps", "Voters", "codes_of", "fit_voters", "is_frozen"]
