"""Divergences, their inverses and ξ(m) against 60-digit arithmetic, always on the safe side."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import betainc, gammaln, rel_entr, xlog1py, xlogy
from scipy.stats import poisson

import reference
from certivote.divergences import (
    anytime_constant,
    binary_kl,
    kl_divergence,
    kl_inverse_lower,
    kl_inverse_lower_with_derivatives,
    kl_inverse_upper,
    kl_inverse_upper_with_derivatives,
    one_sided_constant,
    one_sided_radius,
    one_sided_upper,
    trinomial_kl,
    xi,
)

A_CORNERS = (0.0, 1e-300, 1e-20, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, 1 - 2.0**-53, 1.0)
PSI_CORNERS = (0.0, 1e-300, 1e-15, 1e-9, 0.01, 1.0, 30.0, 800.0, 1e6)
TOLERANCE = 1e-12


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def exact_kl(a, b):
    """Σ aᵢ ln(aᵢ/bᵢ) of two distributions in mpmath, infinite where b excludes what a allows."""
    total = mpmath.mpf(0)
    for x, y in zip(a, b, strict=True):
        if x > 0:
            if y <= 0:
                return mpmath.inf
            total += x * mpmath.log(x / y)
    return total


def pair(a):
    a = mpmath.mpf(a)
    return a, 1 - a


def exact_exponent(a, c, psi):
    """The u ≥ 0 with kl(a‖b) = psi at 1 − b = c e^{−u}, where c = 1 − a."""
    if a == 0:
        return psi

    def excess(u):
        return c * u - a * mpmath.log1p(-c * mpmath.expm1(-u) / a) - psi

    # Newton's method from above the root of a convex increasing function comes down to it. Above:
    # a + t ≤ 1, and kl(a‖a+t) ≥ t²/(2(a+t)) for t = b − a.
    u = (psi - a * mpmath.log(a)) / c
    t = psi + mpmath.sqrt(psi * (psi + 2 * a))
    if t < c:
        u = min(u, -mpmath.log1p(-t / c))
    for _ in range(100):
        t = -c * mpmath.expm1(-u)
        step = excess(u) * (a + t) / t
        u -= step
        if abs(step) < u * mpmath.mpf(10) ** -22:
            break
    # Whatever the method, a change of sign proves the digits.
    margin = u * mpmath.mpf(10) ** -25
    assert excess(u + margin) > 0 > excess(u - margin)
    return u


def enough_digits(a, psi):
    # The terms cancel to psi: the smallest need more than sixty digits.
    return mpmath.workdps(60 if psi > 1e-17 and not 0 < a < 1e-100 else 700)


def exact_upper(a, psi):
    with enough_digits(a, psi):
        a, psi = mpmath.mpf(a), mpmath.mpf(psi)
        if a == 1 or psi == 0:
            return a
        return 1 - (1 - a) * mpmath.exp(-exact_exponent(a, 1 - a, psi))


def exact_lower(a, psi):
    with enough_digits(a, psi):
        a, psi = mpmath.mpf(a), mpmath.mpf(psi)
        if a == 0 or psi == 0:
            return a
        return a * mpmath.exp(-exact_exponent(1 - a, a, psi))


def inverse_cases():
    cases = list(itertools.product(A_CORNERS, PSI_CORNERS))
    rng = np.random.default_rng(0)
    for _ in range(1000):
        a = float(rng.random() ** rng.choice([1, 4, 20]))
        if rng.random() < 0.3:
            a = 1.0 - a
        cases.append((a, float(10.0 ** rng.uniform(-16, 3))))
    return cases


CASES = inverse_cases()


def test_the_oracle_inverts_kl():
    for a, psi in ((0.1, 0.05), (1e-9, 0.01), (0.9, 1e-9), (1e-20, 1.0)):
        assert abs(exact_kl(pair(a), pair(exact_upper(a, psi))) - psi) < 1e-20
        assert abs(exact_kl(pair(a), pair(exact_lower(a, psi))) - psi) < 1e-20


# --- divergences ---


def relative_error(value, exact):
    if exact == 0 or mpmath.isinf(exact):
        return 0.0 if value == exact else math.inf
    return float(abs(value - exact) / exact)


@pytest.mark.parametrize("a", [0.0, 1e-12, 0.1, 0.25, 0.5, 0.75, 1 - 1e-12, 1.0])
def test_binary_kl_at_the_corners(a):
    for b in (0.0, 1e-300, 1e-17, 1e-10, 0.1, 0.25, 0.5, 0.75, 1 - 2.0**-53, 1.0):
        with mpmath.workdps(700):  # 1 − 1e-300 is not 1
            exact = exact_kl(pair(a), pair(b))
        assert relative_error(binary_kl(a, b), exact) < 1e-9, (a, b)


def test_binary_kl_of_random_pairs():
    rng = np.random.default_rng(1)
    for _ in range(500):
        a, b = (float(x) for x in rng.random(2) ** rng.choice([1, 3]))
        exact = exact_kl(pair(a), pair(b))
        assert float(abs(binary_kl(a, b) - exact)) < 1e-13 * (1 + float(exact)), (a, b)


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_binary_kl_does_not_cancel_at_close_arguments(distance):
    # The terms cancel to about distance², so the plain formula is left with no digit at 1e-9.
    for a in (0.01, 0.3, 0.5, 0.9):
        b = a + distance
        exact = exact_kl(pair(a), pair(b))
        scale = distance * 2.0**-52  # the rounding of the two leading terms
        assert float(abs(binary_kl(a, b) - exact)) < 4 * scale + 1e-3 * float(exact)
        assert binary_kl(a, b) >= 0.0


def test_binary_kl_is_zero_only_at_equality():
    for a in (0.0, 0.3, 0.7, 1.0):
        assert binary_kl(a, a) == 0.0
    assert binary_kl(0.3, 0.300001) > 0.0


def test_trinomial_kl_of_random_points():
    rng = np.random.default_rng(2)
    for _ in range(500):
        a1, a2, _ = (float(x) for x in rng.dirichlet([0.7, 0.7, 0.7]))
        b1, b2, _ = (float(x) for x in rng.dirichlet([2.0, 2.0, 2.0]))
        a = (mpmath.mpf(a1), mpmath.mpf(a2), 1 - mpmath.mpf(a1) - mpmath.mpf(a2))
        b = (mpmath.mpf(b1), mpmath.mpf(b2), 1 - mpmath.mpf(b1) - mpmath.mpf(b2))
        exact = exact_kl(a, b)
        value = trinomial_kl(a1, a2, b1, b2)
        assert float(abs(value - exact)) < 1e-12 * (1 + float(exact))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((0.25, 0.25), (0.0, 0.5)),
        ((0.25, 0.25), (0.5, 0.0)),
        ((0.25, 0.25), (0.5, 0.5)),
        ((0.25, 0.25), (0.25, 0.75)),
        ((0.0, 0.0), (1.0, 0.0)),
    ],
)
def test_trinomial_kl_is_infinite_where_an_outcome_is_excluded(a, b):
    assert trinomial_kl(*a, *b) == math.inf


@pytest.mark.parametrize("a", [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.25, 0.5)])
def test_trinomial_kl_is_finite_where_only_b_has_mass(a):
    exact = exact_kl(
        (*map(mpmath.mpf, a), 1 - sum(map(mpmath.mpf, a))),
        (mpmath.mpf(1) / 4,) * 2 + (mpmath.mpf(1) / 2,),
    )
    assert trinomial_kl(*a, 0.25, 0.25) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("b1", "b2"), [(1e-300, 0.5), (0.5, 1e-17), (1e-10, 1e-10)])
def test_trinomial_kl_of_a_nearly_excluded_outcome(b1, b2):
    a = tuple(map(mpmath.mpf, (0.25, 0.5, 0.25)))
    b = (mpmath.mpf(b1), mpmath.mpf(b2), 1 - mpmath.mpf(b1) - mpmath.mpf(b2))
    assert relative_error(trinomial_kl(0.25, 0.5, b1, b2), exact_kl(a, b)) < 1e-9


def test_kl_divergence_is_the_sum_of_relative_entropies():
    rng = np.random.default_rng(3)
    for n in (1, 2, 10, 500):
        q, p = rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(n, 2.0))
        q[rng.random(n) < 0.3] = 0.0
        q = q / q.sum() if q.sum() else np.eye(n)[0]
        assert kl_divergence(q, p) == pytest.approx(rel_entr(q, p).sum(), rel=1e-12, abs=1e-15)


def test_kl_divergence_of_simple_distributions():
    assert kl_divergence([0.25] * 4, [0.25] * 4) == 0.0
    assert kl_divergence([1, 0, 0, 0], [0.25] * 4) == pytest.approx(math.log(4), rel=1e-15)
    assert kl_divergence([0.5, 0.5, 0.0], [0.25, 0.75, 0.0]) == pytest.approx(
        0.5 * math.log(2) + 0.5 * math.log(2 / 3), rel=1e-14
    )


def test_kl_divergence_is_infinite_where_the_prior_is_zero():
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == math.inf
    assert kl_divergence([1e-300, 1.0], [0.0, 1.0]) == math.inf
    assert kl_divergence([0.0, 1.0], [0.0, 1.0]) == 0.0


# --- inverses ---


def test_the_upper_inverse_is_never_below_and_within_tolerance():
    for a, psi in CASES:
        value, exact = kl_inverse_upper(a, psi), exact_upper(a, psi)
        assert value >= exact, (a, psi)
        assert value - exact <= TOLERANCE, (a, psi)
        assert value <= 1.0


def test_the_lower_inverse_is_never_above_and_within_tolerance():
    for a, psi in CASES:
        value, exact = kl_inverse_lower(a, psi), exact_lower(a, psi)
        assert value <= exact, (a, psi)
        assert exact - value <= TOLERANCE, (a, psi)
        assert value >= 0.0


@pytest.mark.parametrize("psi", PSI_CORNERS)
def test_inverses_at_the_ends_have_closed_forms(psi):
    assert kl_inverse_upper(0.0, psi) == pytest.approx(-math.expm1(-psi), rel=1e-14, abs=0)
    assert kl_inverse_upper(1.0, psi) == 1.0
    assert kl_inverse_lower(0.0, psi) == 0.0
    assert kl_inverse_lower(1.0, psi) == pytest.approx(math.exp(-psi), rel=1e-13, abs=1e-14)


def test_an_infinite_psi_allows_everything():
    for a in (0.0, 0.1, 0.9):
        assert kl_inverse_upper(a, math.inf) == 1.0
    for a in (0.1, 0.9, 1.0):
        assert kl_inverse_lower(a, math.inf) == 0.0


def test_inverses_are_monotone():
    grid = np.linspace(0.0, 1.0, 41)
    for psi in (1e-12, 1e-3, 0.5):
        for inverse in (kl_inverse_upper, kl_inverse_lower):
            assert np.all(np.diff([inverse(a, psi) for a in grid]) >= -1e-12)
    radii = np.logspace(-14, 2, 41)
    for a in (0.0, 1e-9, 0.3, 0.99):
        assert np.all(np.diff([kl_inverse_upper(a, psi) for psi in radii]) >= 0.0)
        assert np.all(np.diff([kl_inverse_lower(a, psi) for psi in radii]) <= 0.0)


@pytest.mark.parametrize(
    ("with_derivatives", "inverse", "oracle"),
    [
        (kl_inverse_upper_with_derivatives, kl_inverse_upper, exact_upper),
        (kl_inverse_lower_with_derivatives, kl_inverse_lower, exact_lower),
    ],
    ids=["upper", "lower"],
)
class TestDerivatives:
    @pytest.mark.parametrize("a", [1e-6, 0.01, 0.1, 0.5, 0.9, 0.999])
    @pytest.mark.parametrize("psi", [1e-8, 1e-3, 0.05, 1.0, 5.0])
    def test_derivatives_are_those_of_the_exact_inverse(
        self, with_derivatives, inverse, oracle, a, psi
    ):
        # Central differences at a relative step of 1e-10: an error of about 1e-20 in 60 digits,
        # against an oracle with 30 digits.
        result = with_derivatives(a, psi)
        step = mpmath.mpf(min(a, 1 - a)) * mpmath.mpf(10) ** -10
        in_a = (oracle(a + step, psi) - oracle(a - step, psi)) / (2 * step)
        step = mpmath.mpf(psi) * mpmath.mpf(10) ** -10
        in_psi = (oracle(a, psi + step) - oracle(a, psi - step)) / (2 * step)
        assert result.frequency == pytest.approx(float(in_a), rel=1e-7)
        assert result.psi == pytest.approx(float(in_psi), rel=1e-7)

    def test_the_value_is_that_of_the_plain_inverse(self, with_derivatives, inverse, oracle):
        for a, psi in CASES:
            assert with_derivatives(a, psi).value == inverse(a, psi)

    def test_no_corner_gives_nan(self, with_derivatives, inverse, oracle):
        for a, psi in itertools.product(A_CORNERS, PSI_CORNERS):
            assert not any(math.isnan(x) for x in with_derivatives(a, psi)), (a, psi)


def test_derivatives_at_the_corners():
    assert kl_inverse_upper_with_derivatives(0.0, 0.5).frequency == math.inf
    assert kl_inverse_upper_with_derivatives(0.0, 0.5).psi == pytest.approx(math.exp(-0.5))
    assert kl_inverse_lower_with_derivatives(1.0, 0.5).frequency == math.inf
    assert kl_inverse_lower_with_derivatives(1.0, 0.5).psi == pytest.approx(-math.exp(-0.5))
    assert kl_inverse_upper_with_derivatives(1.0, 0.5)[1:] == (0.0, 0.0)
    assert kl_inverse_lower_with_derivatives(0.0, 0.5)[1:] == (0.0, 0.0)
    assert kl_inverse_upper_with_derivatives(0.3, 0.0)[1:] == (1.0, math.inf)


# --- ξ(m) ---


def xi_by_binomials(m):
    """Σₖ C(m,k) kᵏ (m−k)ᵐ⁻ᵏ / mᵐ, the numerator in exact integers."""
    total = sum(math.comb(m, k) * k**k * (m - k) ** (m - k) for k in range(m + 1))
    return mpmath.mpf(total) / mpmath.mpf(m) ** m


def xi_by_series(m):
    """1 + Σ m!/((m−k)! mᵏ) in 200-bit integers, until the terms vanish."""
    one = 1 << 200
    total, term, k = one, one, 0
    while term:
        total += term
        k += 1
        term = term * (m - k) // m
        if k == m:
            break
    return mpmath.mpf(total) / one


def xi_by_gamma(m):
    """1 + m! eᵐ/(2mᵐ) − θ(m), with Ramanujan's θ = 1/3 + 4/(135m) − 8/(2835m²) − …"""
    with mpmath.workdps(80):
        m = mpmath.mpf(m)
        peak = mpmath.exp(mpmath.loggamma(m + 1) + m - m * mpmath.log(m)) / 2
        theta = mpmath.mpf(1) / 3 + 4 / (135 * m) - 8 / (2835 * m**2)
        return 1 + peak - theta


def assert_just_above(value, exact):
    assert value >= exact
    assert value - exact <= 1e-9 * exact


def test_the_three_oracles_of_xi_agree():
    assert abs(xi_by_series(300) - xi_by_binomials(300)) < 1e-50
    for m in (1000, 100_000):
        assert abs(xi_by_series(m) - xi_by_gamma(m)) < 16 / mpmath.mpf(8505) / m**3 * 2


def test_xi_against_the_binomial_sum():
    for m in [*range(1, 120), 150, 200, 256, 300]:
        assert_just_above(xi(m), xi_by_binomials(m))


@pytest.mark.parametrize("m", [301, 1000, 4097, 10**4, 123_457, 10**6 - 1, 10**6, 10**6 + 1])
def test_xi_against_the_series(m):
    assert_just_above(xi(m), xi_by_series(m))


@pytest.mark.parametrize("m", [10**7, 3 * 10**7 + 1, 10**8])
def test_xi_of_many_examples_against_the_series(m):
    assert_just_above(xi(m), xi_by_series(m))


@pytest.mark.parametrize("m", [10**9, 10**10, 10**12, 10**15])
def test_xi_of_very_many_examples_against_ramanujan(m):
    assert_just_above(xi(m), xi_by_gamma(m))


def test_xi_rises_across_the_switch_of_formulas():
    values = [xi(m) for m in range(10**6 - 3, 10**6 + 5)]
    assert all(later > earlier for earlier, later in itertools.pairwise(values))


def test_xi_is_below_maurers_constant_and_above_the_plain_asymptotic():
    # √m ≤ ξ(m) ≤ 2√m (Maurer 2004), and √(πm/2) + 2/3 must not stand in for ξ.
    for m in (1, 2, 3, 8, 50, 10**3, 10**5, 10**6, 10**6 + 1):
        assert math.sqrt(m) <= xi(m) <= 2.0 * math.sqrt(m) * (1 + 1e-14)
        naive = mpmath.sqrt(mpmath.pi * m / 2) + mpmath.mpf(2) / 3
        assert naive < xi_by_series(m) <= xi(m)


# --- bad input ---


@pytest.mark.parametrize("function", [kl_inverse_upper, kl_inverse_lower])
@pytest.mark.parametrize("suffix", ["plain", "with_derivatives"])
def test_inverses_refuse_bad_input(function, suffix):
    if suffix == "with_derivatives":
        function = {
            kl_inverse_upper: kl_inverse_upper_with_derivatives,
            kl_inverse_lower: kl_inverse_lower_with_derivatives,
        }[function]
    for a in (-1e-9, 1.0000001, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^a must be in \[0, 1\]"):
            function(a, 0.1)
    for psi in (-1e-300, -1.0, math.nan, -math.inf):
        with pytest.raises(ValueError, match="psi must be non-negative"):
            function(0.1, psi)


def test_divergences_refuse_bad_input():
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="a must be in"):
            binary_kl(bad, 0.5)
        with pytest.raises(ValueError, match="b must be in"):
            binary_kl(0.5, bad)
        for position, name in enumerate(("a1", "a2", "b1", "b2")):
            arguments = [0.2, 0.2, 0.2, 0.2]
            arguments[position] = bad
            with pytest.raises(ValueError, match=f"{name} must be in"):
                trinomial_kl(*arguments)
    with pytest.raises(ValueError, match=r"a1 \+ a2 must be at most 1"):
        trinomial_kl(0.6, 0.6, 0.2, 0.2)
    with pytest.raises(ValueError, match=r"b1 \+ b2 must be at most 1"):
        trinomial_kl(0.2, 0.2, 0.6, 0.6)


@pytest.mark.parametrize(
    ("posterior", "prior"),
    [([0.5, 0.5], [1.0]), ([[0.5, 0.5]], [[0.5, 0.5]]), (1.0, 1.0)],
    ids=["lengths", "2-d", "0-d"],
)
def test_kl_divergence_refuses_other_shapes(posterior, prior):
    with pytest.raises(ValueError, match="must have shape"):
        kl_divergence(posterior, prior)


@pytest.mark.parametrize(
    ("posterior", "prior", "name"),
    [
        ([math.nan, 1.0], [0.5, 0.5], "posterior"),
        ([-1.0, 2.0], [0.5, 0.5], "posterior"),
        ([0.5, 0.5], [-0.5, 1.5], "prior"),
        ([0.5, 0.5], [math.nan, 0.5], "prior"),
    ],
)
def test_kl_divergence_refuses_what_is_no_distribution(posterior, prior, name):
    # A NaN must never come out as 0, the smallest divergence there is.
    with pytest.raises(ValueError, match=name):
        kl_divergence(posterior, prior)


@pytest.mark.parametrize("m", [0, -1, 0.5, 2.5, math.nan])
def test_xi_refuses_what_is_no_sample_size(m):
    with pytest.raises(ValueError, match="m must be"):
        xi(m)


# --- what an upper limit alone pays ---


@pytest.mark.parametrize("m", [1, 2, 3, 7, 20, 61])
def test_the_one_sided_constant_is_at_least_what_all_terms_add_up_to(m):
    for p in [*np.linspace(0.0, 1.0, 41), *(10.0 ** -np.arange(2, 9))]:
        exact = reference.largest_xi_plus(m, mpmath.mpf(float(p)))
        assert exact <= one_sided_constant(float(p), m) * (1 + 1e-13)
    assert one_sided_constant(0.0, m) == pytest.approx(1.0, rel=1e-15)  # tight where nobody errs


# That ξ₊ ≤ c₊ for every m and p. Both sides grow with p: between two points ξ₊ is at most its value
# at the right one, and c₊ at least its value at the left one. For mp ≤ 1/32 ξ₊ is at most 1 + mp,
# which is below c₊ ≥ 0.9 + √(0.01 + 2mp/π).
_FEW, _ADDED, _BERRY_ESSEEN = 300, 40, 0.4748


def terms_of(m, k):
    """C(m,k)(k/m)ᵏ(1−k/m)ᵐ⁻ᵏ: with g(n) = nⁿ/n!, g(k)·g(m−k)/g(m), which falls with m."""
    logs = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1) + xlogy(k, k / m)
    return np.exp(logs + xlog1py(m - k, -k / m))


def constants(p, m):
    """c₊ on a table of p."""
    inner = np.minimum(p, 0.4)
    scale, angle = math.sqrt(2 * m / math.pi), np.arcsin(np.sqrt(inner))
    root = np.hypot(0.1, scale * angle)
    bend = math.asin(math.sqrt(0.4)) / (2 * math.sqrt(0.24))
    return (0.9 + root) * np.exp((p - inner) * scale**2 * bend / (root * (0.9 + root)))


def smallest_margin(m, n_counts, steps):
    """The least of c₊ − ξ₊, or less than that, for 1/32 ≤ mp ≤ n_counts."""
    k, parts = np.arange(n_counts)[:, None], np.linspace(0.0, 1.0, steps + 1)
    left, right = (k + parts[:-1]) / m, (k + parts[1:]) / m
    largest = np.cumsum(terms_of(m, k), axis=0) + betainc(k + 1, m - k, right)
    margins = constants(left, m) - largest
    return margins[m * right > 1 / 32].min()


def first_terms(m):
    """What ξ₊ has beyond √(2m/π)·arcsin√((k+½)/m), k the last of its terms."""
    return terms_of(m, np.arange(_ADDED + 1)).sum() - math.sqrt(2 * m / math.pi) * math.asin(
        math.sqrt((_ADDED + 0.5) / m)
    )


def enough_variance(first):
    """The variance σ² from which on ξ₊ ≤ c₊ for p ≤ ½.

    With u = k + ½ − mp in [−½, ½] P(> k) is at most Φ(−u/σ) + 0.4748/σ, by Berry and Esseen; it and
    √(2m/π)·arcsin√(p + u/m) are at most ½ + √(2m/π)·arcsin√p + 0.4748/σ + 0.01/σ³ together, for the
    arcsine is below its tangent at p, of which the slope is that of Φ. c₊ is at least
    0.9 + √(2m/π)·arcsin√p, beyond 0.4 too: there its tangent is above that of the arcsine.
    """
    return (_BERRY_ESSEEN / (0.9 - first - 0.5 - 1e-4)) ** 2


def rates_beyond_half(m):
    """Cells of p from ½ on, and what P(k ≥ mp) is there at most."""
    edges = np.linspace(0.5, 1.0, 2_001)
    left, right = edges[:-1], edges[1:]
    with np.errstate(divide="ignore"):
        tail = np.minimum(1.0, 0.5 + _BERRY_ESSEEN / np.sqrt(m * right * (1 - right)))
    return left, np.minimum(right + 0.5 / m, 1.0), tail


@pytest.mark.parametrize("m", [1, 4, 400, 10**5])
@pytest.mark.parametrize("p", [0.0, 1e-6, 0.1, 0.4, 0.5, 1.0])
def test_the_proof_is_about_the_constant_in_use(m, p):
    assert constants(np.array(p), m) == pytest.approx(one_sided_constant(p, m), rel=1e-12)


@pytest.mark.parametrize("m", [*range(1, 20), *range(20, _FEW + 1, 20)])
def test_the_one_sided_constant_is_large_enough_for_few_examples(m):
    assert smallest_margin(m, m, 512) > 0.01


def check_many_examples(m):
    first, scale = first_terms(m), math.sqrt(2 * m / math.pi)
    variance = enough_variance(first)
    # Where m·p·(1−p) is smaller, p is below this.
    rate = (1 - math.sqrt(1 - 4 * variance / m)) / 2
    assert smallest_margin(m, math.ceil(m * rate) + 1, 32) > 0.01
    left, right, tail = rates_beyond_half(m)
    assert np.all(constants(left, m) > 0.05 + first + tail + scale * np.arcsin(np.sqrt(right)))


@pytest.mark.parametrize("m", [301, 302, 310, 400, 1_000, 3_001, 9_999, 10_000])
def test_the_one_sided_constant_is_large_enough_for_many_examples(m):
    check_many_examples(m)


@pytest.mark.slow
def test_the_one_sided_constant_is_large_enough_up_to_ten_thousand():
    for m in range(1, _FEW + 1):
        assert smallest_margin(m, m, 512) > 0.01
    for m in range(_FEW + 1, 10_001):
        check_many_examples(m)


def test_the_one_sided_constant_is_large_enough_beyond_ten_thousand():
    m = 10_000
    # √(2m/π)·arcsin√(40.5/m) is above √(81/π).
    first = terms_of(m, np.arange(_ADDED + 1)).sum() - math.sqrt(81 / math.pi)
    variance = enough_variance(first)
    # Of a smaller variance: Poisson's probabilities, from which those of the binomial differ by p.
    k, parts = np.arange(math.ceil(variance) + 2)[:, None], np.linspace(0.0, 1.0, 257)
    assert (1 - math.sqrt(1 - 4 * variance / m)) / 2 * m < k[-1] + 1
    left, right = k + parts[:-1], k + parts[1:]
    largest = np.cumsum(terms_of(m, k), axis=0) + poisson.sf(k, right) + right / m
    margins = 0.9 + np.sqrt(0.01 + 2 * left / math.pi) - largest
    assert margins[right > 1 / 32].min() > 0.01
    # Beyond ½: c₊ is at least s·a·eᵗ + 0.9·eᵗ(1−t), s = √(2m/π), a = arcsin√0.4, t = (p − 0.4)·a′/a
    # (but for 2·10⁻⁶ of it). What s is multiplied with is positive: the difference grows with m.
    angle = math.asin(math.sqrt(0.4))
    left, right, tail = rates_beyond_half(m)
    low = (left - 0.4) / (2 * math.sqrt(0.24)) / angle * (1 - 2e-6)
    high = low + 0.001
    growing = angle * np.exp(low) - np.arcsin(np.sqrt(right))
    assert growing.min() > 0.0
    rest = 0.9 * np.exp(high) * (1 - high) - first - tail
    assert np.all(math.sqrt(2 * m / math.pi) * growing + rest > 0.5)


@pytest.mark.parametrize("m", [1, 10, 1_000, 10**6, 10**12])
def test_the_logarithm_of_the_one_sided_constant_is_concave(m):
    logs = np.log([one_sided_constant(p, m) for p in np.linspace(0.0, 1.0, 2_001)])
    assert np.diff(logs, 2).max() <= 1e-14
    assert np.diff(logs).min() > 0.0


def test_the_one_sided_constant_pays_less_for_each_of_more_examples():
    for p in (1e-6, 0.01, 0.3, 0.4, 0.7, 1.0):
        rates = [math.log(one_sided_constant(p, m)) / m for m in range(1, 300)]
        assert rates == sorted(rates, reverse=True)


def test_one_sided_limits_against_fifty_digits():
    rng = np.random.default_rng(5)
    # Few sizes: the reference adds up ξ(m) once for each.
    sizes = [1, 2, 5, *(10 ** rng.uniform(0.5, 6, size=20)).astype(int).tolist(), 10**8]
    for m in sizes * 12:
        a = float(rng.choice([0.0, 1.0, rng.random(), 10.0 ** -rng.uniform(0, 9)]))
        cost = float(10 ** rng.uniform(-3, 3))
        limit = one_sided_upper(a, cost, m)
        exact = reference.one_sided_upper(a, mpmath.mpf(cost), m)
        assert exact <= limit.value <= exact + 1e-12
        assert limit.value <= kl_inverse_upper(a, (cost + math.log(xi(m))) / m)


def test_derivatives_of_one_sided_limits():
    for a, cost, m in ((0.1, 4.0, 500), (0.02, 8.0, 3_000), (0.5, 3.0, 40), (0.3, 1.0, 10**6)):
        limit = one_sided_upper(a, cost, m)
        h = 1e-6
        for number, direction in ((limit.frequency, (h * a, 0.0)), (limit.psi, (0.0, h * cost))):
            up, down = (
                one_sided_upper(a + sign * direction[0], cost + sign * direction[1], m).value
                for sign in (1, -1)
            )
            step = 2 * (direction[0] or direction[1] / m)
            assert number == pytest.approx((up - down) / step, rel=1e-5)
    assert one_sided_upper(0.0, 3.0, 100).frequency == math.inf
    assert one_sided_upper(1.0, 3.0, 100).value == 1.0
    assert one_sided_upper(0.2, math.inf, 100).value == 1.0


def test_the_one_sided_radius_is_the_divergence_at_the_limit():
    for a, cost, m in ((0.1, 4.0, 500), (0.6, 8.0, 300), (0.0, 3.0, 2), (0.9, 30.0, 50)):
        limit = one_sided_upper(a, cost, m).value
        radius, slope = one_sided_radius(limit, cost, m)
        assert radius == pytest.approx(binary_kl(a, limit), rel=1e-9)
        there = one_sided_radius(limit + 1e-7, cost, m)[0] - one_sided_radius(limit, cost, m)[0]
        assert slope == pytest.approx(there / 1e-7, rel=1e-4, abs=1e-9)


# --- what holds at all sizes at once ---


@pytest.mark.parametrize("m", [1, 2, 7, 100, 1_000, 1_001, 12_345, 10**7, 10**12])
def test_the_constant_for_all_sizes_against_sixty_digits(m):
    exact = mpmath.sqrt(mpmath.pi) * mpmath.gammaprod([m + 1], [m + mpmath.mpf(1) / 2])
    assert exact <= anytime_constant(m) <= exact * (1 + 1e-9)
    assert anytime_constant(m) <= 2 * math.sqrt(m) * (1 + 1e-12)


@pytest.mark.parametrize("m", [1, 2, 5, 40])
def test_no_mixture_is_below_the_largest_likelihood_by_more(m):
    """Beta(½, ½) and Dir(½, ½, ½) mixtures against the largest likelihood, at all counts."""

    def ratio(counts):
        n = len(counts)
        logs = gammaln(m + n / 2) - gammaln(n / 2)
        for x in counts:
            logs += xlogy(x, x / m) - gammaln(x + 0.5) + gammaln(0.5)
        return math.exp(logs)

    two = max(ratio((k, m - k)) for k in range(m + 1))
    assert two == pytest.approx(anytime_constant(m), rel=1e-9)
    three = max(ratio((i, j, m - i - j)) for i in range(m + 1) for j in range(m + 1 - i))
    assert three == pytest.approx(anytime_constant(m, 3), rel=1e-9)
