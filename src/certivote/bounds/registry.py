"""The bounds by name: the registry that everything else reads."""

from typing import Any, TypeVar

from .._utils.registering import add_class
from .base import Bound
from .moment import MomentBound
from .parameters import check_claimed_delta

__all__ = [
    "BOUNDS",
    "DEFAULT",
    "DEFAULT_OF_COMPLEMENTS",
    "DEFAULT_OF_ONE",
    "bound_at",
    "bound_with",
    "check_registered",
    "get_bound",
    "list_bounds",
    "list_moment_bounds",
    "register",
]

BOUNDS: dict[str, type[Bound]] = {}

# What is taken where nobody says which: for votes; for the predictions of one classifier; and for
# votes of voters and their complements, of which only pairs are counted.
DEFAULT, DEFAULT_OF_ONE, DEFAULT_OF_COMPLEMENTS = "best", "heldout", "lacasse"

BoundType = TypeVar("BoundType", bound=type[Bound])


def register(bound: BoundType) -> BoundType:
    """Make a bound known by its name, so that it can be asked for, written, read and verified.

    A certificate by it is read and verified in every process that has registered it.

    Parameters
    ----------
    bound : type
        A subclass of `Bound`, with a name that no other has.

    Returns
    -------
    type
        The class: this can decorate it.

    Examples
    --------
    >>> from certivote.bounds import TandemBound, get_bound, register
    >>> from certivote.bounds.registry import BOUNDS
    >>> @register
    ... class CautiousTandem(TandemBound):
    ...     '''Five times a bound on the joint error, where four would do.'''
    ...     name = "cautious"
    ...     formula = "5 kl⁺(e_S | [2KL + ln(c₂(m)/δ)]/m)"
    ...     scale = 5.0
    >>> get_bound("cautious", delta=0.01)
    CautiousTandem(delta=0.01)
    >>> del BOUNDS["cautious"]
    """
    add_class(BOUNDS, "bound", bound, Bound, "name", "formula", "reference")
    return bound


def check_registered(bound: Bound) -> None:
    """Refuse a bound that could not be found again by its name."""
    if BOUNDS.get(getattr(bound, "name", "")) is not type(bound):
        raise ValueError(
            "bound must be registered, so that its certificates can be read: "
            f"{type(bound).__name__} is not. Give it a name of its own, and call "
            "certivote.bounds.register."
        )


def list_bounds() -> list[str]:
    """Return the names of the bounds.

    Examples
    --------
    >>> from certivote.bounds import list_bounds
    >>> list_bounds()[:3]
    ['mcallester', 'seeger', 'lacasse']
    """
    return list(BOUNDS)


def list_moment_bounds() -> list[str]:
    """Return the names of the bounds that r, e, d, KL and m determine.

    Examples
    --------
    >>> from certivote.bounds import list_moment_bounds
    >>> "tandem" in list_moment_bounds(), "heldout" in list_moment_bounds()
    (True, False)
    """
    return [name for name, bound in BOUNDS.items() if issubclass(bound, MomentBound)]


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
    if not isinstance(name, str) or name not in BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, got {name!r}.")
    bound = BOUNDS[name](**parameters)
    bound.check_parameters()
    return bound


def bound_at(
    bound: str | Bound | None, delta: float | None = None, constant: str | None = None
) -> Bound:
    """Return a bound with the settings that it has; the default one if None is given.

    Parameters
    ----------
    bound : str, Bound or None
        The bound, by name or as an object with its settings.
    delta : float, default=None
        The probability that the certificate may fail: 0.05 if None, at most 0.5. It must not
        contradict an object's, which may be any.
    constant : str, default=None
        The constant, for those bounds that have one.

    Examples
    --------
    >>> from certivote.bounds import bound_at
    >>> bound_at("heldout", constant="maurer"), bound_at("gibbs", 0.01, "maurer")
    (HeldoutBound(), GibbsBound(constant='maurer', delta=0.01))
    """
    if isinstance(bound, Bound):
        if delta not in (None, bound.delta):
            raise ValueError(f"delta is {delta!r}, but the bound object has {bound.delta!r}.")
        return bound
    if delta is not None:
        check_claimed_delta(delta)
    return bound_with(DEFAULT if bound is None else bound, delta=delta, constant=constant)


def bound_with(name: str, **settings: Any) -> Bound:
    """Return a bound by its name with those of the settings that it has and that are not None."""
    known = get_bound(name).get_params(deep=False)
    given = {key: value for key, value in settings.items() if value is not None and key in known}
    return get_bound(name, **given)
