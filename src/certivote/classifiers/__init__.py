"""Majority votes as scikit-learn classifiers, each with a certificate on its risk."""

from .binary import CBBoostClassifier, CqBoostClassifier, MinCqClassifier
from .majority import MajorityVoteClassifier

__all__ = [
    "CBBoostClassifier",
    "CqBoostClassifier",
    "MajorityVoteClassifier",
    "MinCqClassifier",
]
