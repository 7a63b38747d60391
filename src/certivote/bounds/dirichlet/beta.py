"""The upper tail of a beta distribution, with its derivatives in both parameters."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, psi, xlog1py

from ...divergences import binet

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

__all__ = ["NEGLIGIBLE", "Tails", "tails_of", "upper_tail"]

_Array = NDArray[np.float64]
# Means W ↦ the tails P(B ≥ x), and their derivatives in a = K·W and b = K(1−W).
Tails = Callable[[_Array], _Array]

# A beta distribution whose parameters sum to K is sub-Gaussian with variance 1/(4(K+1)) (Marchal
# and Arbel 2017, arXiv:1705.00048): at most exp(−2(K+1)t²) of it lies beyond t from its mean. A
# tail that is smaller than this counts as 0, and its complement as 1.
NEGLIGIBLE = 1e-22
_FAR = -np.log(NEGLIGIBLE) / 2.0

# The rule on [0, 1] (u ↦ u² puts its nodes where the integrand is large), and by how much the
# logarithm of the integrand falls from 0 to 1.
_HALF_NODES, _HALF_WEIGHTS = np.polynomial.legendre.leggauss(32)
_NODES = (0.5 + 0.5 * _HALF_NODES) ** 2
_WEIGHTS = (0.5 + 0.5 * _HALF_NODES) * _HALF_WEIGHTS
_DROP = 38.0
# No exponential overflows up to here; it is only for thresholds near 0 or 1 that more is needed.
_FARTHEST = 600.0

# At so many knots the spline is as good as the descent of a bound needs: about nine digits.
_KNOTS = 513


def _near(share: _Array, concentration: float, threshold: float) -> NDArray[np.bool_]:
    """Return where a tail is neither 0 nor 1 already."""
    close: NDArray[np.bool_] = (concentration + 1.0) * (share - threshold) ** 2 <= _FAR
    close &= (share > 0.0) & (share < 1.0)
    return close


def upper_tail(share: _Array, concentration: float, threshold: float) -> _Array:
    """Return ``P(B ≥ x)`` for ``B ~ Beta(K·W, K(1−W))``, to the last bits or `NEGLIGIBLE`.

    Parameters
    ----------
    share : ndarray
        W in [0, 1], the means. At 0 the distribution is all at 0, at 1 all at 1.
    concentration : float
        K > 0.
    threshold : float
        x in (0, 1).
    """
    tail = (share > threshold).astype(np.float64)
    near = _near(share, concentration, threshold)
    distinct, inverse = np.unique(share[near], return_inverse=True)
    a = concentration * distinct
    tail[near] = betaincc(a, concentration - a, threshold)[inverse]
    return tail


def tails_of(concentration: float, threshold: float) -> Tails:
    """Return a function from means to tails and derivatives.

    A few means get twelve digits each; very many share splines, which have nine.

    Parameters
    ----------
    concentration, threshold : float
        As in `upper_tail`. A K outside [0.5, 1e12] counts as the nearest one inside.
    """
    k, x = min(max(concentration, 0.5), 1e12), threshold
    splines: list[CubicSpline] = []

    def tails(share: _Array) -> _Array:
        values = np.zeros((3, share.size))
        values[0] = share > x
        near = np.flatnonzero(_near(share, k, x))
        if near.size <= 2 * _KNOTS:
            values[:, near] = _by_quadrature(share[near], k, x)
        else:
            if not splines:
                splines.append(_splines(k, x))
            knots = splines[0].x
            values[:, near] = splines[0](np.clip(share[near], knots[0], knots[-1])).T
        return values

    return tails


def _splines(concentration: float, threshold: float) -> "CubicSpline":
    from scipy.interpolate import CubicSpline

    width = np.sqrt(_FAR / (concentration + 1.0)) * (1.0 - 1e-9)
    edges = np.clip([threshold - width, threshold + width], 1e-9, 1.0 - 1e-9)
    knots = np.linspace(edges[0], edges[1], _KNOTS)
    return CubicSpline(knots, _by_quadrature(knots, concentration, threshold).T)


def _by_quadrature(share: _Array, concentration: float, threshold: float) -> _Array:
    """Return tails, and derivatives in a and b, of means strictly between 0 and 1.

    Of the two tails the smaller one, T, is integrated. Its derivative in a is
    ``T·(E[ln B | tail] − E[ln B])``, and the same with ``ln(1−B)`` for b: the normalising constant
    cancels. In ``s = ln(B/(1−B))`` the density is log-concave and falls from the threshold
    outwards, so that one Gauss–Legendre rule fits all.
    """
    values = np.empty((3, share.size))
    upper = share <= threshold
    mean = share[upper]
    values[:, upper] = _smaller_tail(mean, 1.0 - mean, concentration, threshold)
    # P(B ≥ x) = 1 − P(1−B ≥ 1−x), and 1−B has the parameters b and a.
    mean = share[~upper]
    rest, in_b, in_a = _smaller_tail(1.0 - mean, mean, concentration, 1.0 - threshold)
    values[:, ~upper] = 1.0 - rest, -in_a, -in_b
    return values


def _smaller_tail(
    mean: _Array, rest: _Array, concentration: float, x: float
) -> tuple[_Array, _Array, _Array]:
    """Return P(B ≥ x) and its derivatives in a and b, for means up to x; ``rest`` is 1 − mean."""
    if not mean.size:
        return mean, mean, mean
    a, b = concentration * mean, concentration * rest
    # In s from that of x on, the logarithm of the density falls by K ln(1 + x(eˢ−1)) − a·s: convex,
    # so that Newton's method finds where it has fallen far enough.
    slope = concentration * (x - mean)
    reach = 2.0 * _DROP / (slope + np.sqrt(slope**2 + 2.0 * _DROP * concentration * x * (1.0 - x)))
    for _ in range(3):
        np.minimum(reach, _FARTHEST, out=reach)
        grown = x * np.expm1(reach)
        fall = concentration * np.log1p(grown) - a * reach
        reach -= (fall - _DROP) / (concentration * (x + grown) / (1.0 + grown) - a)
    np.minimum(reach, _FARTHEST, out=reach)
    s = reach[:, None] * _NODES
    growth = np.log1p(x * np.expm1(s))
    density = np.exp(a[:, None] * s - concentration * growth) * _WEIGHTS
    total = density.sum(axis=1)
    mean_s, mean_growth = ((f * density).sum(axis=1) / total for f in (s, growth))
    # The density at x, by Stirling's formula with Binet's remainder: no large terms that cancel.
    shift = x - mean
    divergence = -xlog1py(mean, shift / mean) - xlog1py(rest, -shift / rest)
    whole, of_a, of_b = np.split(binet(np.concatenate([[concentration], a, b])), [1, 1 + a.size])
    remainder = whole - of_a - of_b
    at_x = np.sqrt(mean * b / (2.0 * np.pi)) * np.exp(remainder - concentration * divergence)
    tail = at_x * reach * total
    common = psi(concentration)
    in_a = tail * (np.log(x) + mean_s - mean_growth - (psi(a) - common))
    in_b = tail * (np.log1p(-x) - mean_growth - (psi(b) - common))
    return tail, in_a, in_b
