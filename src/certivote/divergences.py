"""Divergences between distributions, their inverses, and the constants of PAC-Bayes bounds.

Everything here works on Python floats. Whatever feeds a certificate is rounded outwards: an upper
inverse is never below the true value, a lower inverse never above it.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, psi

from ._utils.validation import check_count, check_distribution, check_positive

__all__ = [
    "Inverse",
    "anytime_constant",
    "binary_kl",
    "binet",
    "dirichlet_kl",
    "kl_divergence",
    "kl_inverse_lower",
    "kl_inverse_lower_with_derivatives",
    "kl_inverse_upper",
    "kl_inverse_upper_with_derivatives",
    "one_sided_constant",
    "one_sided_radius",
    "one_sided_upper",
    "trinomial_kl",
    "weights_kl",
    "xi",
]

_EPS = 2.0**-52
# Rounding of the few operations behind an inverse, in units of the last place.
_ULPS = 16
# The same for the divergence of Dirichlet distributions, in units of the sizes of its parts.
_DIRICHLET_ULPS = 64
# Up to here the logarithm of the one-sided constant is a concave function of the truth; from here
# on it is continued by its tangent.
_BEND = 0.4


def _check_probability(name: str, value: float) -> float:
    value = float(value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value!r}.")
    return value


def _check_nonnegative(name: str, value: float) -> float:
    value = float(value)
    if not value >= 0.0:
        raise ValueError(f"{name} must be non-negative, got {value!r}.")
    return value


def _surprise(a: float, b: float, shift: float) -> float:
    """``a ln(a/b)``, accurate for small ``shift = b − a``."""
    if a == 0.0:
        return 0.0
    if b <= 0.0:
        return math.inf
    return -a * math.log1p(shift / a) if abs(shift) < 0.5 * a else a * math.log(a / b)


def binary_kl(a: float, b: float) -> float:
    """Return ``kl(a‖b) = a ln(a/b) + (1−a) ln((1−a)/(1−b))``, ∞ where b excludes what a allows.

    Examples
    --------
    >>> from certivote.divergences import binary_kl
    >>> round(binary_kl(0.5, 0.25), 12)
    0.143841036226
    >>> binary_kl(0.1, 0.0)
    inf
    """
    a, b = _check_probability("a", a), _check_probability("b", b)
    return max(0.0, _surprise(a, b, b - a) + _surprise(1.0 - a, 1.0 - b, a - b))


def trinomial_kl(a1: float, a2: float, b1: float, b2: float) -> float:
    """Return the divergence between two distributions on three outcomes.

    ``kl₃(a₁, a₂‖b₁, b₂) = Σᵢ aᵢ ln(aᵢ/bᵢ)`` with ``a₃ = 1 − a₁ − a₂`` and ``b₃ = 1 − b₁ − b₂``.

    Examples
    --------
    >>> from certivote.divergences import binary_kl, trinomial_kl
    >>> trinomial_kl(0.2, 0.0, 0.3, 0.0) == binary_kl(0.2, 0.3)
    True
    """
    for name, value in (("a1", a1), ("a2", a2), ("b1", b1), ("b2", b2)):
        _check_probability(name, value)
    for name, total in (("a1 + a2", a1 + a2), ("b1 + b2", b1 + b2)):
        if total > 1.0 + 4 * _EPS:
            raise ValueError(f"{name} must be at most 1, got {total!r}.")
    a3, b3 = max(0.0, 1.0 - a1 - a2), max(0.0, 1.0 - b1 - b2)
    shift3 = (a1 - b1) + (a2 - b2)
    divergence = _surprise(a1, b1, b1 - a1) + _surprise(a2, b2, b2 - a2) + _surprise(a3, b3, shift3)
    return max(0.0, divergence)


def _gap(a: float, c: float, psi: float) -> float:
    """Return the t in [0, c] with ``kl(a‖a+t) = psi``, where ``c = 1 − a``.

    In the variable ``u = −ln(1 − t/c)`` the divergence is ``c u − a ln(1 + t/a)``: convex,
    increasing, and linear far out, so that Newton's method started above the root comes down to it
    monotonically, for the smallest psi as for the largest.
    """
    if c == 0.0 or psi == 0.0:
        return 0.0
    if a == 0.0:
        return -math.expm1(-psi)
    # Two upper bounds of the root: kl(a‖a+t) ≥ t²/(2(a+t)), and a + t ≤ 1.
    t = psi + math.sqrt(psi * (psi + 2.0 * a))
    u = (psi - a * math.log(a)) / c
    if t < c:
        u = min(u, -math.log1p(-t / c))
    for _ in range(100):
        t = -c * math.expm1(-u)
        slope = t / (a + t)
        if slope == 0.0:  # u underflowed: the root is not distinguishable from 0
            break
        step = (c * u - a * math.log1p(t / a) - psi) / slope
        u -= step
        if abs(step) <= 1e-10 * u:
            break
    return -c * math.expm1(-u)


def _upper_end(a: float, gap: float) -> float:
    return min(1.0, (a + gap) * (1.0 + _ULPS * _EPS))


def _lower_end(a: float, gap: float) -> float:
    return max(0.0, a * (1.0 - _ULPS * _EPS) - gap)


def kl_inverse_upper(a: float, psi: float) -> float:
    """Return ``max{b : kl(a‖b) ≤ psi}``, never below the true value and within 1e-12 of it.

    Examples
    --------
    >>> from certivote.divergences import kl_inverse_upper
    >>> round(kl_inverse_upper(0.1, 0.05), 6)
    0.220079
    >>> kl_inverse_upper(1.0, 0.3)
    1.0
    """
    a, psi = _check_probability("a", a), _check_nonnegative("psi", psi)
    return _upper_end(a, _gap(a, 1.0 - a, psi))


def kl_inverse_lower(a: float, psi: float) -> float:
    """Return ``min{b : kl(a‖b) ≤ psi}``, never above the true value and within 1e-12 of it.

    Examples
    --------
    >>> from certivote.divergences import kl_inverse_lower
    >>> round(kl_inverse_lower(0.1, 0.05), 6)
    0.031278
    >>> kl_inverse_lower(0.0, 0.3)
    0.0
    """
    a, psi = _check_probability("a", a), _check_nonnegative("psi", psi)
    return _lower_end(a, _gap(1.0 - a, a, psi))


class Inverse(NamedTuple):
    """An inverse of kl, rounded outwards, and its derivatives in the frequency and in psi.

    Examples
    --------
    >>> from certivote.divergences import kl_inverse_upper_with_derivatives
    >>> inverse = kl_inverse_upper_with_derivatives(0.0, 0.5)  # 1 − exp(−ψ), and its derivative
    >>> round(inverse.value, 6), round(inverse.psi, 6)
    (0.393469, 0.606531)
    """

    value: float
    frequency: float
    psi: float


def _derivatives(a: float, c: float, gap: float, psi: float) -> tuple[float, float]:
    """Return the derivatives in a and psi of ``a + gap``, where ``c = 1 − a``.

    With ``A = c/(c−t)`` and ``B = a/(a+t)`` they are ``ln(A/B)/(A−B)`` and ``1/(A−B)``, and
    ``A − B = t/((c−t)(a+t))`` without cancellation.
    """
    if psi == 0.0:
        return 1.0, math.inf
    if gap >= c:
        return 0.0, 0.0
    spread = (c - gap) * (a + gap) / gap
    if a == 0.0:
        return math.inf, spread
    return (math.log1p(gap / a) - math.log1p(-gap / c)) * spread, spread


def kl_inverse_upper_with_derivatives(a: float, psi: float) -> Inverse:
    """Return `kl_inverse_upper` with its derivatives: infinite at ``a = 0``, and at ``psi = 0``.

    Examples
    --------
    >>> from certivote.divergences import kl_inverse_upper_with_derivatives
    >>> [round(x, 4) for x in kl_inverse_upper_with_derivatives(0.1, 0.05)]
    [0.2201, 1.3323, 1.4294]
    """
    a, psi = _check_probability("a", a), _check_nonnegative("psi", psi)
    gap = _gap(a, 1.0 - a, psi)
    return Inverse(_upper_end(a, gap), *_derivatives(a, 1.0 - a, gap, psi))


def kl_inverse_lower_with_derivatives(a: float, psi: float) -> Inverse:
    """Return `kl_inverse_lower` with its derivatives: infinite at ``a = 1``, and at ``psi = 0``.

    Examples
    --------
    >>> from certivote.divergences import kl_inverse_lower_with_derivatives
    >>> [round(x, 4) for x in kl_inverse_lower_with_derivatives(0.1, 0.05)]
    [0.0313, 0.5449, -0.4409]
    """
    a, psi = _check_probability("a", a), _check_nonnegative("psi", psi)
    gap = _gap(1.0 - a, a, psi)  # kl⁻(a|ψ) = 1 − kl⁺(1−a|ψ)
    frequency, spread = _derivatives(1.0 - a, a, gap, psi)
    return Inverse(_lower_end(a, gap), frequency, -spread)


def kl_divergence(posterior: ArrayLike, prior: ArrayLike) -> float:
    """Return ``KL(q‖p) = Σⱼ qⱼ ln(qⱼ/pⱼ)``, infinite if a voter has weight and no prior.

    Examples
    --------
    >>> from certivote.divergences import kl_divergence
    >>> kl_divergence([1.0, 0.0], [0.5, 0.5])
    0.6931471805599453
    >>> kl_divergence([0.5, 0.5], [1.0, 0.0])
    inf
    """
    q = check_distribution("posterior", posterior, np.size(posterior))
    return weights_kl(q, check_distribution("prior", prior, q.size))


def weights_kl(q: NDArray[np.float64], p: NDArray[np.float64]) -> float:
    """Return `kl_divergence` of distributions that have been checked.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote.divergences import weights_kl
    >>> round(weights_kl(np.array([1.0, 0.0]), np.array([0.5, 0.5])), 6)  # ln 2
    0.693147
    """
    support = q > 0.0
    if np.any(p[support] == 0.0):
        return math.inf
    q, p = q[support], p[support]
    return max(0.0, float(q @ (np.log(q) - np.log(p))))


# Binet's function and its derivative as series in 1/x: B₂ₖ/(2k(2k−1)) x^{1−2k}.
_BINET = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
_BINET_SLOPE = [-(2 * k + 1) * coefficient for k, coefficient in enumerate(_BINET)]


def binet(x: ArrayLike) -> NDArray[np.float64]:
    """Return ``μ(x) = ln Γ(x) − (x−½) ln x + x − ½ ln 2π``, what Stirling's formula leaves.

    Examples
    --------
    >>> from certivote.divergences import binet
    >>> [round(float(binet(x)), 12) for x in (1.0, 1e6)]
    [0.081061466795, 8.3333e-08]
    """
    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, 10.0)
    series: NDArray[np.float64] = np.asarray(_horner(_BINET, large**-2.0) / large)
    small = x[x < 10.0]
    direct = gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    series[x < 10.0] = direct
    return series


def _horner(coefficients: list[float], x: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total *= x
        total += coefficient
    return total


def _binet_slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
    large = np.maximum(x, 10.0)
    slope: NDArray[np.float64] = _horner(_BINET_SLOPE, large**-2.0) / large**2
    small = x[x < 10.0]
    slope[x < 10.0] = psi(small) - np.log(small) + 0.5 / small
    return slope


def dirichlet_kl(
    weights: ArrayLike, concentration: float, prior: ArrayLike, prior_concentration: float
) -> float:
    """Return ``KL(Dir(K·q) ‖ Dir(K₀·p))``, rounded up.

    With ``D(a, b) = ln Γ(b) − ln Γ(a) + (a−b) ψ(a)`` it is ``Σⱼ D(K qⱼ, K₀ pⱼ) − D(K, K₀)``, a
    small difference of numbers as large as K. Stirling's formula takes the large part out:
    ``D(a, b) = b ln(b/a) + a − b + ½(b/a − 1 − ln(b/a)) + M(a, b)``, where the first part sums to
    ``K₀ KL(p‖q)`` and ``M(a, b) = μ(b) − μ(a) + (a−b) μ′(a)`` is small, with Binet's μ. It is
    infinite if only one of q and p has weight on a voter; voters without either are left out.

    Examples
    --------
    >>> from certivote.divergences import dirichlet_kl
    >>> dirichlet_kl([0.5, 0.5], 10.0, [0.5, 0.5], 10.0) < 1e-12
    True
    >>> round(dirichlet_kl([0.5, 0.5], 2.0, [0.2, 0.8], 10.0), 6)
    3.723334
    """
    q = check_distribution("weights", weights, np.size(weights))
    p = check_distribution("prior", prior, q.size)
    check_positive("concentration", concentration)
    check_positive("prior_concentration", prior_concentration)
    return _dirichlet_kl(q, float(concentration), p, float(prior_concentration))


def _dirichlet_kl(
    q: NDArray[np.float64], concentration: float, p: NDArray[np.float64], prior: float
) -> float:
    if np.any((q > 0.0) != (p > 0.0)):
        return math.inf
    q, p = q[p > 0.0], p[p > 0.0]
    if q.size == 1:
        return 0.0
    with np.errstate(over="ignore"):
        ratio, scale = p / q, prior / concentration
    if not np.all(np.isfinite(ratio)):
        return math.inf
    shift = (p - q) / q
    log_ratio = _log_of_ratio(ratio, shift)
    # Each term is a divergence by itself, and sums of weights that are off by rounding cancel.
    main = prior * float(np.sum(q * (ratio * log_ratio - shift)))
    # b/a − 1 and ln(b/a), for the voters and, last, for the sums.
    near = np.abs(shift) < 0.5
    excess = np.where(near, shift + (scale - 1.0) * ratio, scale * ratio - 1.0)
    excess = np.append(excess, scale - 1.0)
    logarithm = _log_of_ratio(np.append(scale * ratio, scale), excess)
    a, b = concentration * np.append(q, 1.0), prior * np.append(p, 1.0)
    of_a, of_b = binet(np.stack([a, b]))
    terms = 0.5 * (excess - logarithm) + of_b - of_a + (a - b) * _binet_slope(a)
    divergence = main + float(terms[:-1].sum()) - float(terms[-1])
    size = main + float(np.abs(terms).sum()) + prior * float(np.abs(p - q).sum()) + q.size
    # Below ten the slope is a difference of larger numbers.
    few = a < 10.0
    size += float(np.sum(np.abs(a - b)[few] * (np.abs(np.log(a[few])) + 1.0 / a[few])))
    return max(0.0, divergence) + _DIRICHLET_ULPS * _EPS * size


def _log_of_ratio(ratio: NDArray[np.float64], excess: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``ln(ratio)``, accurate near 1, where ``excess = ratio − 1`` says more."""
    near = np.abs(excess) < 0.5
    return np.where(near, np.log1p(np.where(near, excess, 0.0)), np.log(ratio))


@lru_cache(maxsize=256)
def anytime_constant(m: int, outcomes: int = 2) -> float:
    """Return what a statement pays that holds for all sample sizes at once, rounded up.

    ``c(m) = √π Γ(m+1)/Γ(m+½) ≤ 2√m`` for two outcomes, and ``2m + 1`` for three. For one fixed
    voter, the likelihood of its errors mixed over their rate by Beta(½, ½) (Krichevsky and
    Trofimov), over that at the true rate, is a martingale of mean 1 in m; so is its average over
    the prior, and by Ville's inequality it is at most 1/δ at all m at once with probability 1 − δ.
    It is at least ``e^{m·kl}/c(m)``: the logarithm of the largest likelihood over the mixed one is
    a sum of ``x ln x − ln Γ(x+½)`` over the counts x, which is convex, as ``ψ′(x+½) < 1/x``, and
    so is largest where all the examples have the same outcome. With Dir(½, ½, ½) the same holds for
    three outcomes.

    Examples
    --------
    >>> from certivote.divergences import anytime_constant
    >>> round(anytime_constant(1), 9), round(anytime_constant(1000), 6), anytime_constant(1000, 3)
    (2.0, 56.056919, 2001.0)
    """
    m = check_count("m", m)
    if outcomes == 3:
        return 2.0 * m + 1.0
    if m > 1000:
        # Γ(m+1)/Γ(m+½) is at most √(m + ¼ + 1/(32m)): its square has an enveloping series.
        return math.sqrt(math.pi * (m + 0.25 + 1.0 / (32.0 * m))) * (1.0 + 16 * _EPS)
    k = np.arange(1, m + 1)
    return float(np.prod(k / (k - 0.5))) * (1.0 + 4 * m * _EPS)


@lru_cache(maxsize=256)
def xi(m: int) -> float:
    """Return ``ξ(m) = Σₖ C(m,k) (k/m)ᵏ (1−k/m)ᵐ⁻ᵏ``, rounded up.

    Up to a million by the series ``1 + Σ_{k≥1} m!/((m−k)! mᵏ)``, of which some 9√m terms count,
    with a bound of the rest. Beyond, by ``√(πm/2) e^{1/(12m)} + ⅔``: the series is
    ``1 + m! eᵐ/(2mᵐ) − θ`` with Ramanujan's ``θ > ⅓`` (Szegő 1928), and Stirling's formula with
    Robbins' remainder bounds the factorial. There it exceeds ξ by less than ``1/(30 m)``. Never
    below ξ(m), and at most a relative 1e-9 above it.

    Examples
    --------
    >>> from certivote.divergences import xi
    >>> round(xi(1), 9), round(xi(2), 9), round(xi(1000), 6)
    (2.0, 2.5, 40.303213)
    """
    m = check_count("m", m)
    if m > 1_000_000:
        return (math.sqrt(math.pi * m / 2) * math.exp(1 / (12 * m)) + 2 / 3) * (1 + 16 * _EPS)
    n_terms = min(m, math.ceil(9 * math.sqrt(m)) + 1)
    terms = np.cumprod(1.0 - np.arange(n_terms) / m)
    # Beyond the last term the ratio of neighbours is at most 1 − n_terms/m.
    rest = float(terms[-1]) * (m / n_terms - 1.0)
    return (1.0 + float(terms.sum()) + rest) * (1.0 + 4 * n_terms * _EPS)


def one_sided_constant(truth: float, m: int) -> float:
    """Return ``c₊(m, p) = (9 + √(1 + (200m/π)·arcsin²√p))/10``, what an upper limit alone pays.

    An upper limit fails only where the sample is too good. For k errors in m trials at rate p, with
    ``kl₊(a‖p) = kl(a‖p)`` if a < p and 0 otherwise, p cancels in all terms of

        ``E e^{m·kl₊(k/m‖p)} = P(k ≥ mp) + Σ_{k<mp} C(m,k) (k/m)ᵏ (1−k/m)ᵐ⁻ᵏ = ξ₊(m, p)``

    but the first: ξ₊ grows with p from 1 to ξ(m). It is at most c₊, of which the logarithm is
    concave in p (from p = 0.4 on it is continued by its tangent). ``m·kl₊(r_S‖r) − ln c₊(m, r)`` is
    therefore convex in (r_S, r), and Jensen's inequality applies to it as to kl: with probability
    1 − δ it is at most ``KL + ln(1/δ)`` for all weights at once.

    **Why ξ₊ ≤ c₊.** The terms fall with m and are at most ``√(m/(2πk(m−k)))`` (Stirling), a convex
    function of k, at most its integral from k − ½ to k + ½; so beyond the first forty, which are
    added up, they sum to at most a difference of ``√(2m/π)·arcsin√((k+½)/m)``. Where the variance
    ``mp(1−p)`` is at least 82, Berry and Esseen's theorem bounds P(k ≥ mp), and ξ₊ is at most
    ``0.9 + √(2m/π)·arcsin√p``. Where it is smaller both sides, which grow with p, are computed: for
    every m up to 10⁴, and beyond by Poisson's probabilities, within p. The tests do all of it.

    **Why ln c₊ is concave.** With ``p = sin²θ``, ``y = √(2m/π)·θ`` and ``h = √(0.01 + y²)`` it is
    if ``0.01/h² − y²/(h(0.9+h)) ≤ 2θ·cot 2θ``. The right is positive below θ = π/4, and the left
    negative from y = 0.22 on; before, the left is at most ``1/(1 + 100y²)`` and the right at least
    ``1 − 2.3y²``.

    ``ln c₊(m, p)/m`` falls with m: ``ln c₊`` is a concave function of m that is 0 at m = 0. Where
    voters are counted on different numbers of examples, the smallest number may stand for all.

    Examples
    --------
    >>> from certivote.divergences import one_sided_constant, xi
    >>> round(one_sided_constant(0.05, 1000), 4), round(xi(1000), 4)
    (6.5909, 40.3032)
    """
    m = check_count("m", m)
    return math.exp(_log_one_sided(_check_probability("truth", truth), m)[0])


def _log_one_sided(p: float, m: int) -> tuple[float, float]:
    """Return ``ln c₊(m, p)`` and its derivative in p."""
    inner = min(p, _BEND)
    sine = math.sqrt(inner)
    scale, angle = 2.0 * m / math.pi, math.asin(sine)
    root = math.hypot(0.1, math.sqrt(scale) * angle)
    constant = 0.9 + root
    angle_over_sine = angle / sine if sine > 0.0 else 1.0
    slope = scale * angle_over_sine / (2.0 * root * constant * math.sqrt(1.0 - inner))
    return math.log(constant) + (p - inner) * slope, slope


def one_sided_radius(truth: float, cost: float, m: int) -> tuple[float, float]:
    """Return ``(cost + ln min(c₊(m, p), ξ(m), 2√m))/m`` and its derivative in p.

    It is the divergence from which on `one_sided_upper` excludes that p is the truth.

    Examples
    --------
    >>> from certivote.divergences import binary_kl, one_sided_radius, one_sided_upper
    >>> limit = one_sided_upper(0.1, 3.0, 1000).value
    >>> abs(one_sided_radius(limit, 3.0, 1000)[0] - binary_kl(0.1, limit)) < 1e-12
    True
    """
    log_constant, slope = _log_one_sided(truth, m)
    largest = _log_two_sided(m)
    if largest < log_constant:
        log_constant, slope = largest, 0.0
    return (cost + log_constant) / m, slope / m


def _log_two_sided(m: int) -> float:
    """Return ``ln min(ξ(m), 2√m)``: ξ is rounded up, and at m = 1 it is 2√m."""
    return math.log(min(xi(m), 2.0 * math.sqrt(m)))


def one_sided_upper(a: float, cost: float, m: int) -> Inverse:
    """Return the largest b with ``m·kl(a‖b) − ln c₊(m, b) ≤ cost``, rounded up.

    It is at most ``kl⁺(a | (cost + ln min(ξ(m), 2√m))/m)``, which is as valid and is returned where
    it is smaller. The derivatives are those in a and in cost/m.

    Examples
    --------
    >>> from certivote.divergences import kl_inverse_upper, one_sided_upper, xi
    >>> round(one_sided_upper(0.1, 3.0, 1000).value, 6)
    0.133812
    >>> import math
    >>> round(kl_inverse_upper(0.1, (3.0 + math.log(xi(1000))) / 1000), 6)
    0.138247
    """
    a, cost, m = _check_probability("a", a), _check_nonnegative("cost", cost), check_count("m", m)
    psi, c = (cost + _log_two_sided(m)) / m, 1.0 - a
    start = gap = _gap(a, c, psi)
    while 0.0 < gap < c:
        # A convex function of the gap: Newton's method from above comes down to its root.
        log_constant, slope = _log_one_sided(a + gap, m)
        rise = gap / ((a + gap) * (c - gap)) - slope / m
        excess = _kl_of_gap(a, c, gap) - (cost + log_constant) / m
        if gap == start and (excess <= 0.0 or rise <= 0.0):
            break
        gap -= excess / rise
        if abs(excess) <= 1e-10 * gap * rise:
            frequency = math.log1p(gap / a) - math.log1p(-gap / c) if a > 0.0 else math.inf
            return Inverse(_upper_end(a, gap), frequency / rise, 1.0 / rise)
    return Inverse(_upper_end(a, start), *_derivatives(a, c, start, psi))


def _kl_of_gap(a: float, c: float, gap: float) -> float:
    """Return ``kl(a‖a+gap)``, where ``c = 1 − a``."""
    return -(a * math.log1p(gap / a) if a > 0.0 else 0.0) - c * math.log1p(-gap / c)
