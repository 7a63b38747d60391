"""Algorithms that minimise any bound over the weights."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._utils.addresses import publish
from ..bounds import Bound, get_bound
from ..statistics import Statistics
from .alternating import Alternating
from .base import Callback, MinimizeResult, Solver
from .first_order import COCOB, Adam, FirstOrder, GradientDescent, Update
from .lbfgs import LBFGS

__all__ = [
    "COCOB",
    "LBFGS",
    "Adam",
    "Alternating",
    "FirstOrder",
    "GradientDescent",
    "MinimizeResult",
    "Solver",
    "Update",
    "get_solver",
    "list_solvers",
    "minimize",
]

# A new solver: one class in a file of this folder, and one line here.
_SOLVERS: dict[str, Callable[[], Solver]] = {
    "lbfgs": LBFGS,
    "first_order": FirstOrder,
    "cocob": lambda: FirstOrder("cocob"),
    "alternating": Alternating,
}


def list_solvers() -> list[str]:
    """Return the names of the solvers.

    Examples
    --------
    >>> from certivote.solvers import list_solvers
    >>> list_solvers()[:3]
    ['lbfgs', 'first_order', 'cocob']
    """
    return list(_SOLVERS)


def get_solver(name: str | Solver) -> Solver:
    """Return a solver by its name, with its default settings.

    Parameters
    ----------
    name : str or Solver
        One of `list_solvers`. A solver is returned as it is.

    Examples
    --------
    >>> from certivote.solvers import get_solver
    >>> get_solver("lbfgs")
    LBFGS()
    """
    if isinstance(name, Solver):
        return name
    if not isinstance(name, str) or name not in _SOLVERS:
        raise ValueError(
            f"solver must be one of {', '.join(_SOLVERS)} or a solver object, got {name!r}."
        )
    return _SOLVERS[name]()


def minimize(
    bound: str | Bound,
    statistics: Statistics,
    prior: ArrayLike | None = None,
    solver: str | Solver = "lbfgs",
    random_state: int | np.random.RandomState | None = 0,
    callback: Callback | None = None,
) -> MinimizeResult:
    """Find the weights with the smallest certificate.

    Parameters
    ----------
    bound : str or Bound
        The certificate to minimise, by name or as an object with its settings.
    statistics : Statistics
        What the certification sample says about the voters.
    prior : array-like of shape (n,), default=None
        A distribution on the voters fixed without looking at the sample; uniform if None. A voter
        of prior 0 gets no weight.
    solver : str or Solver, default="lbfgs"
        How to minimise it, by name or as an object with its settings.
    random_state : int, RandomState or None, default=0
        The seed of what is random in the solver.
    callback : callable, default=None
        Called as ``callback(iteration, value)`` after each iteration.

    Returns
    -------
    MinimizeResult
        The weights, their certificate, and how the solver fared. The certificate is valid even if
        the solver did not converge, which a warning says.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import VoteStatistics, minimize
    >>> losses = np.random.default_rng(0).random((1000, 20)) < 0.2
    >>> result = minimize("lacasse", VoteStatistics.from_losses(losses))
    >>> bool(result.value < minimize("mcallester", VoteStatistics.from_losses(losses)).value)
    True
    """
    return get_solver(solver).solve(
        get_bound(bound), statistics, prior, random_state=random_state, callback=callback
    )


publish(__name__)
