"""Convex quadratic programs, by Clarabel."""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["InfeasibleError", "solve_qp"]


class InfeasibleError(ValueError):
    """The constraints of a program contradict each other.

    Examples
    --------
    >>> from certivote.learners import InfeasibleError
    >>> issubclass(InfeasibleError, ValueError)
    True
    """


def solve_qp(
    hessian: NDArray[np.float64],
    linear: NDArray[np.float64],
    equalities: NDArray[np.float64],
    equal_to: NDArray[np.float64],
    inequalities: NDArray[np.float64],
    at_most: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise ``½xᵀHx + c·x`` under ``Ax = b`` and ``Gx ≤ h``; return x and the prices of both."""
    if find_spec("clarabel") is None:
        raise ImportError(
            "MinCq and CqBoost solve quadratic programs with clarabel: pip install 'certivote[qp]'."
        )
    import clarabel

    for tolerance in (1e-10, 1e-8, 1e-6):  # the tightest that this program can be solved to
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        # All numbers are of size 1 here, and its scaling was seen to stall on such programs.
        settings.equilibrate_enable = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(hessian)),
            linear,
            sparse.csc_matrix(np.vstack([equalities, inequalities])),
            np.concatenate([equal_to, at_most]),
            [clarabel.ZeroConeT(len(equal_to)), clarabel.NonnegativeConeT(len(at_most))],
            settings,
        ).solve()
        status = str(solution.status)
        if "Infeasible" in status:
            raise InfeasibleError("no weights meet the constraints.")
        if "Solved" in status:
            return np.asarray(solution.x), np.asarray(solution.z)
    raise RuntimeError(f"the quadratic program was not solved: {status}.")
