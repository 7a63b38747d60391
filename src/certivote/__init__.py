"""Weighted majority votes with a certificate on their risk."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from ._utils.formatting import format_up as format_up
    from .certificate import Certificate as Certificate
    from .certificate import CertificateError as CertificateError
    from .certificate import CertificateFormatError as CertificateFormatError
    from .certificate import certify as certify
    from .classifiers import CBBoostClassifier as CBBoostClassifier
    from .classifiers import CqBoostClassifier as CqBoostClassifier
    from .classifiers import MajorityVoteClassifier as MajorityVoteClassifier
    from .classifiers import MinCqClassifier as MinCqClassifier
    from .classifiers import SelectiveClassifier as SelectiveClassifier
    from .classifiers import certify_difference as certify_difference
    from .classifiers import certify_model as certify_model
    from .classifiers import verify_difference as verify_difference
    from .classifiers import verify_model as verify_model
    from .planning import samples_needed as samples_needed
    from .planning import samples_to_test as samples_to_test
    from .solvers import MinimizeResult as MinimizeResult
    from .solvers import minimize as minimize
    from .statistics import IncompleteStatisticsError as IncompleteStatisticsError
    from .statistics import Moments as Moments
    from .statistics import UnlabelledStatistics as UnlabelledStatistics
    from .statistics import VoteStatistics as VoteStatistics

# Each name is imported when it is first asked for: `certivote --help` does without scikit-learn.
# (The imports above are for tools that check types, which read no dictionary.)
_PLACES = {
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
    "UnlabelledStatistics": "statistics",
    "SelectiveClassifier": "classifiers",
    "VoteStatistics": "statistics",
    "certify": "certificate",
    "certify_difference": "classifiers",
    "certify_model": "classifiers",
    "format_up": "_utils.formatting",
    "minimize": "solvers",
    "samples_needed": "planning",
    "samples_to_test": "planning",
    "verify_difference": "classifiers",
    "verify_model": "classifiers",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
