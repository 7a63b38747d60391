"""What a sample says about voters: exact counts that add up."""

from .unlabelled import UnlabelledStatistics, join_unlabelled
from .votes import IncompleteStatisticsError, Moments, VoteStatistics

__all__ = [
    "IncompleteStatisticsError",
    "Moments",
    "UnlabelledStatistics",
    "VoteStatistics",
    "join_unlabelled",
]
