"""Pictures of certificates, as display objects in scikit-learn's manner.

Each has class methods that compute what is shown, and `plot`, which draws it on given axes or on
new ones. They need matplotlib, the extra ``plot``.
"""

from .abstaining import RiskCoverageDisplay
from .claims import ClaimsDisplay
from .comparison import ComparisonDisplay
from .optimisation import OptimisationDisplay
from .plane import PlaneDisplay
from .planning import PlanDisplay
from .shift import ShiftDisplay
from .sizes import SizesDisplay
from .weights import WeightsDisplay

__all__ = [
    "ClaimsDisplay",
    "ComparisonDisplay",
    "OptimisationDisplay",
    "PlanDisplay",
    "PlaneDisplay",
    "RiskCoverageDisplay",
    "ShiftDisplay",
    "SizesDisplay",
    "WeightsDisplay",
]
