"""Bounds on the vote's risk at known moments: what the certificates estimate from above.

Markov's inequality on the weight W of the erring voters: the vote errs only where W ≥ ½.
"""

__all__ = [
    "c_bound",
    "c_bound_above",
    "first_order_bound",
    "second_order_bound",
    "sharp_bound",
]

_EPS = 2.0**-52

# A variance this far below 0 is rounding.
_ROUNDING = 1e-12


def first_order_bound(gibbs_risk: float) -> float:
    """Return ``2r``.

    Parameters
    ----------
    gibbs_risk : float
        r, the mean of W.

    Examples
    --------
    >>> from certivote.bounds.oracle import first_order_bound
    >>> first_order_bound(0.125)
    0.25
    """
    return 2.0 * gibbs_risk


def second_order_bound(joint_error: float) -> float:
    """Return ``4e``, the tandem bound.

    Parameters
    ----------
    joint_error : float
        e, the mean of W².

    Examples
    --------
    >>> from certivote.bounds.oracle import second_order_bound
    >>> second_order_bound(0.125)
    0.5
    """
    return 4.0 * joint_error


def c_bound(gibbs_risk: float, disagreement: float) -> float:
    """Return the C-bound, ``1 − (1−2r)²/(1−2d)``, or 1 where it says nothing.

    At the moments of a sample it is the *empirical* C-bound, which certifies nothing.

    Parameters
    ----------
    gibbs_risk : float
        r, the mean of W.
    disagreement : float
        d, how often exactly one of two voters errs: ``2(r − e)``.

    Returns
    -------
    float
        At most ``4e``, and the smallest that r and d alone allow (Cantelli's inequality). It is 1
        if ``r ≥ ½``, and where no vote has these moments (``d ≥ ½``, or a variance below 0).

    Examples
    --------
    >>> from certivote.bounds.oracle import c_bound
    >>> c_bound(0.25, 0.25)
    0.5
    >>> c_bound(0.6, 0.25)
    1.0
    """
    if gibbs_risk >= 0.5 or disagreement >= 0.5:
        return 1.0
    spread = 1.0 - 2.0 * disagreement
    value = 1.0 - (1.0 - 2.0 * gibbs_risk) ** 2 / spread
    if value < -_ROUNDING / spread:
        return 1.0
    return max(0.0, value)


def sharp_bound(gibbs_risk: float, disagreement: float) -> float:
    """Return the smaller of the C-bound and ``r + d``: the smallest that r and d allow.

    Parameters
    ----------
    gibbs_risk, disagreement
        As in `c_bound`.

    Examples
    --------
    >>> from certivote.bounds.oracle import sharp_bound
    >>> sharp_bound(0.25, 0.125)
    0.375
    """
    return min(c_bound(gibbs_risk, disagreement), gibbs_risk + disagreement)


def c_bound_above(gibbs_risk: float, disagreement: float) -> float:
    """Return the C-bound of two estimates, with what rounding may have taken from it.

    Never below the C-bound. It is 1 where that says nothing; and where it would not be positive: no
    vote has such moments, and the statements behind the estimates have failed.
    """
    margin, spread = 1.0 - 2.0 * gibbs_risk, 1.0 - 2.0 * disagreement
    if margin <= 0.0 or spread <= 0.0:
        return 1.0
    # Both differences are exact to one rounding of a number near 1.
    relative = 4.0 * _EPS * (1.0 / margin + 1.0 / spread)
    value = 1.0 - margin * margin / spread * (1.0 - relative)
    return min(1.0, value) if value > 0.0 else 1.0
