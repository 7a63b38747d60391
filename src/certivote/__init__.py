"""Weighted majority votes with a certificate on their risk."""

from ._formatting import format_up
from ._version import __version__
from .certificate import Certificate, CertificateError, certify
from .classifiers import (
    CBBoostClassifier,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
)
from .solvers import MinimizeResult, minimize
from .statistics import Moments, VoteStatistics

__all__ = [
    "CBBoostClassifier",
    "Certificate",
    "CertificateError",
    "CqBoostClassifier",
    "MajorityVoteClassifier",
    "MinCqClassifier",
    "MinimizeResult",
    "Moments",
    "VoteStatistics",
    "__version__",
    "certify",
    "format_up",
    "minimize",
]
