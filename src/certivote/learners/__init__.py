"""Learners that minimise the empirical C-bound: weights without a bound of their own."""

from ._qp import InfeasibleError
from .cbboost import cb_boost
from .complement import Gram, gram, self_complemented
from .cqboost import cq_boost
from .mincq import min_cq

__all__ = [
    "Gram",
    "InfeasibleError",
    "cb_boost",
    "cq_boost",
    "gram",
    "min_cq",
    "self_complemented",
]
