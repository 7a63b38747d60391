"""The bounds: one short file per family, every fact about a bound on its class."""

from .._utils.addresses import publish
from .base import Bound, ConstantBound
from .bennett import BennettBound
from .best import BestBound
from .binomial import clopper_pearson, sequential_limit
from .cantelli import CantelliBound, SplitKLBound
from .dirichlet import DirichletBound
from .evaluation import Evaluation
from .gibbs_tandem import GibbsBound, TandemBound
from .heldout import HeldoutBound
from .lacasse import Lacasse2Bound, LacasseBound
from .moment import MomentBound
from .occam import OccamBound
from .oracle import c_bound, first_order_bound, second_order_bound, sharp_bound
from .registry import bound_at, get_bound, list_bounds, list_moment_bounds, register
from .sharp import SharpBound
from .split import DisBound, McAllesterBound, SeegerBound

__all__ = [
    "BennettBound",
    "BestBound",
    "Bound",
    "CantelliBound",
    "ConstantBound",
    "DirichletBound",
    "DisBound",
    "Evaluation",
    "GibbsBound",
    "HeldoutBound",
    "Lacasse2Bound",
    "LacasseBound",
    "McAllesterBound",
    "MomentBound",
    "OccamBound",
    "SeegerBound",
    "SharpBound",
    "SplitKLBound",
    "TandemBound",
    "bound_at",
    "c_bound",
    "clopper_pearson",
    "first_order_bound",
    "get_bound",
    "list_bounds",
    "list_moment_bounds",
    "register",
    "second_order_bound",
    "sequential_limit",
    "sharp_bound",
]

# A new bound: one class in a file of this folder, and one line here.
for _bound in (
    McAllesterBound,
    SeegerBound,
    LacasseBound,
    Lacasse2Bound,
    SharpBound,
    GibbsBound,
    TandemBound,
    DisBound,
    CantelliBound,
    SplitKLBound,
    BennettBound,
    HeldoutBound,
    OccamBound,
    DirichletBound,
    BestBound,
):
    register(_bound)
del _bound

publish(__name__)
