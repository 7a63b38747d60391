"""Learners of weights without a bound of their own: the empirical C-bound, logistic regression."""

from ._qp import InfeasibleError
from .cbboost import cb_boost
from .complement import Gram, gram, self_complemented
from .cqboost import cq_boost
from .logistic import logistic, logistic_of_shares
from .mincq import min_cq

__all__ = [
    "Gram",
    "InfeasibleError",
    "cb_boost",
    "cq_boost",
    "gram",
    "logistic",
    "logistic_of_shares",
    "min_cq",
    "self_complemented",
]
