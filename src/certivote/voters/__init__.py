"""Where voters come from: trees, stumps, members of ensembles, tables of predictions.

A pickled model names what is here by this address, whatever module it is in.
"""

from .._utils.addresses import publish
from .bagged import BaggedTrees
from .base import Voters, predictions
from .ensembles import inner_data, inner_estimator
from .estimators import EstimatorGroup, Preparation, Prepared, as_bare_array, as_tree_data
from .members import Dense, EmptyColumns, Neighbours
from .mixed import Joined, Mixed, joined_of
from .preparing import TableFeatures
from .sources import fit_voters, frozen_parts, is_frozen
from .stumps import Stump, Stumps
from .table import PredictionTable, TableGroup
from .trees import Trees
from .weighing import cross_fitted, is_mixed, learned_weights

__all__ = [
    "BaggedTrees",
    "Dense",
    "EmptyColumns",
    "EstimatorGroup",
    "Joined",
    "Mixed",
    "Neighbours",
    "PredictionTable",
    "Preparation",
    "Prepared",
    "Stump",
    "Stumps",
    "TableFeatures",
    "TableGroup",
    "Trees",
    "Voters",
    "as_bare_array",
    "as_tree_data",
    "cross_fitted",
    "fit_voters",
    "frozen_parts",
    "inner_data",
    "inner_estimator",
    "is_frozen",
    "is_mixed",
    "joined_of",
    "learned_weights",
    "predictions",
]

publish(__name__)
