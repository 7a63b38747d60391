"""Pictures of certificates, as display objects in scikit-learn's manner.

Each has class methods that compute what is shown, and `plot`, which draws it on given axes or on
new ones. They need matplotlib, the extra ``plot``.
"""

from .comparison import ComparisonDisplay
from .optimisation import OptimisationDisplay
from .plane import PlaneDisplay
from .planning import PlanDisplay
from .weights import WeightsDisplay

__all__ = [
    "ComparisonDisplay",
    "OptimisationDisplay",
    "PlanDisplay",
    "PlaneDisplay",
    "WeightsDisplay",
]
