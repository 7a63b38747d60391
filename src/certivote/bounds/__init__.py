"""The bounds: one short file per family, and the registry that everything else reads."""

from typing import Any

from .base import Bound, MomentBound
from .bennett import BennettBound
from .best import BestBound
from .cantelli import CantelliBound, SplitKLBound
from .dirichlet.bound import DirichletBound
from .gibbs_tandem import GibbsBound, TandemBound
from .heldout import HeldoutBound, clopper_pearson
from .lacasse import LacasseBound
from .oracle import c_bound, first_order_bound, second_order_bound
from .split import DisBound, McAllesterBound, SeegerBound

__all__ = [
    "BennettBound",
    "BestBound",
    "Bound",
    "CantelliBound",
    "DirichletBound",
    "DisBound",
    "GibbsBound",
    "HeldoutBound",
    "LacasseBound",
    "McAllesterBound",
    "MomentBound",
    "SeegerBound",
    "SplitKLBound",
    "TandemBound",
    "bound_at",
    "c_bound",
    "clopper_pearson",
    "first_order_bound",
    "get_bound",
    "list_bounds",
    "list_moment_bounds",
    "second_order_bound",
]

# A new bound: one class in a file of this folder, and one line here.
_BOUNDS: dict[str, type[Bound]] = {
    bound.name: bound
    for bound in (
        McAllesterBound,
        SeegerBound,
        LacasseBound,
        GibbsBound,
        TandemBound,
        DisBound,
        CantelliBound,
        SplitKLBound,
        BennettBound,
        HeldoutBound,
        DirichletBound,
        BestBound,
    )
}


def list_bounds() -> list[str]:
    """Return the names of the bounds.

    Examples
    --------
    >>> from certivote.bounds import list_bounds
    >>> print(*list_bounds())
    mcallester seeger lacasse gibbs tandem dis cantelli splitkl bennett heldout dirichlet best
    """
    return list(_BOUNDS)


def list_moment_bounds() -> list[str]:
    """Return the names of the bounds that r, e, d, KL and m determine.

    Examples
    --------
    >>> from certivote.bounds import list_moment_bounds
    >>> print(*list_moment_bounds())
    mcallester seeger lacasse gibbs tandem dis cantelli splitkl bennett
    """
    return [name for name, bound in _BOUNDS.items() if issubclass(bound, MomentBound)]


def get_bound(name: str | Bound, **parameters: Any) -> Bound:
    """Return a bound by its name.

    Parameters
    ----------
    name : str or Bound
        One of `list_bounds`. A bound is returned as it is, and then takes no parameters.
    **parameters
        The parameters of the bound, such as ``delta`` and ``constant``.

    Returns
    -------
    Bound
        The bound.

    Examples
    --------
    >>> from certivote.bounds import get_bound
    >>> get_bound("lacasse", delta=0.01)
    LacasseBound(delta=0.01)
    """
    if isinstance(name, Bound):
        if parameters:
            raise ValueError(
                f"a bound object has its parameters already, got {', '.join(parameters)} too."
            )
        return name
    if not isinstance(name, str) or name not in _BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(_BOUNDS)}, got {name!r}.")
    bound = _BOUNDS[name](**parameters)
    bound._check_parameters()
    return bound


def bound_at(bound: str | Bound, delta: float | None) -> Bound:
    """Return a bound at a confidence: 0.05 if None is given; an object has its own.

    Parameters
    ----------
    bound : str or Bound
        The bound, by name or as an object with its settings.
    delta : float or None
        The probability that the certificate may fail. It must not contradict the object's.
    """
    if not isinstance(bound, Bound):
        return get_bound(bound, delta=0.05 if delta is None else delta)
    if delta not in (None, bound.delta):
        raise ValueError(f"delta is {delta!r}, but the bound object has {bound.delta!r}.")
    return bound
