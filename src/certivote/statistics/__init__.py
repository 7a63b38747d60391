"""What a sample says about voters: all that learning and certifying look at."""

from .._utils.addresses import publish
from .base import IncompleteStatisticsError, Statistics
from .kinds import is_statistics, kind_of, register
from .moments import Moments
from .out_of_bag import OutOfBagStatistics
from .unlabelled import UnlabelledStatistics
from .votes import VoteStatistics, join_unlabelled

__all__ = [
    "IncompleteStatisticsError",
    "Moments",
    "OutOfBagStatistics",
    "Statistics",
    "UnlabelledStatistics",
    "VoteStatistics",
    "is_statistics",
    "join_unlabelled",
    "kind_of",
    "register",
]

publish(__name__)
