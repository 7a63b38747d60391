"""Weighted majority votes with a certificate on their risk."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._formatting import format_up
    from .certificate import Certificate, CertificateError, CertificateFormatError, certify
    from .classifiers import (
        CBBoostClassifier,
        CqBoostClassifier,
        MajorityVoteClassifier,
        MinCqClassifier,
    )
    from .planning import samples_needed, samples_to_test
    from .solvers import MinimizeResult, minimize
    from .statistics import IncompleteStatisticsError, Moments, VoteStatistics
    from .unlabelled import UnlabelledStatistics

__all__ = [
    "CBBoostClassifier",
    "Certificate",
    "CertificateError",
    "CertificateFormatError",
    "CqBoostClassifier",
    "IncompleteStatisticsError",
    "MajorityVoteClassifier",
    "MinCqClassifier",
    "MinimizeResult",
    "Moments",
    "UnlabelledStatistics",
    "VoteStatistics",
    "__version__",
    "certify",
    "format_up",
    "minimize",
    "samples_needed",
    "samples_to_test",
]

# Each name is imported when it is first asked for: `certivote --help` does without scikit-learn.
_MODULES = {
    "CBBoostClassifier": "classifiers",
    "Certificate": "certificate",
    "CertificateError": "certificate",
    "CertificateFormatError": "certificate",
    "CqBoostClassifier": "classifiers",
    "IncompleteStatisticsError": "statistics",
    "MajorityVoteClassifier": "classifiers",
    "MinCqClassifier": "classifiers",
    "MinimizeResult": "solvers",
    "Moments": "statistics",
    "UnlabelledStatistics": "unlabelled",
    "VoteStatistics": "statistics",
    "certify": "certificate",
    "format_up": "_formatting",
    "minimize": "solvers",
    "samples_needed": "planning",
    "samples_to_test": "planning",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
