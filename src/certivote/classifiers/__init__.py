"""Majority votes as scikit-learn classifiers, each with a certificate on its risk."""

from .._utils.addresses import publish
from ._answering import rebuild_vote
from ._fingerprints import SeenRows
from ._split import share_to_certify
from .base import CertifiedVote
from .binary import CBBoostClassifier, CqBoostClassifier, MinCqClassifier
from .difference import certify_difference, shares_of_difference, verify_difference
from .majority import MajorityVoteClassifier
from .model import certify_model, verify_model
from .selective import SelectiveClassifier, answer_scores

__all__ = [
    "CBBoostClassifier",
    "CertifiedVote",
    "CqBoostClassifier",
    "MajorityVoteClassifier",
    "MinCqClassifier",
    "SeenRows",
    "SelectiveClassifier",
    "answer_scores",
    "certify_difference",
    "certify_model",
    "rebuild_vote",
    "share_to_certify",
    "shares_of_difference",
    "verify_difference",
    "verify_model",
]

publish(__name__)
