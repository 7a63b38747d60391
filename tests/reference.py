"""The theory once more, by other means: what tests and benchmarks compare bounds with.

First the mathematics, in 50 digits. Then `REFERENCES`: whatever tests know about a bound, once. A
new bound is one class, one line in the registry and one entry there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import mpmath
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from certivote import VoteStatistics
from certivote.bounds import get_bound

MP = mpmath.MPContext()
MP.dps = 50
mpf = MP.mpf
exp, log, sqrt = MP.exp, MP.log, MP.sqrt
_BISECTIONS = 180
_NEGLIGIBLE = mpf(10) ** -40


def binary_kl(a, b):
    """kl(a‖b) in 50 digits."""
    total = mpf(0)
    for x, y in ((a, b), (1 - a, 1 - b)):
        if x > 0:
            if y <= 0:
                return MP.inf
            total += x * log(x / y)
    return total


def _inverse(a, psi, far):
    """The b between a and `far` with kl(a‖b) = psi, by bisection."""
    near, far = mpf(a), mpf(far)
    if binary_kl(near, far) <= psi:
        return far
    for _ in range(_BISECTIONS):
        middle = (near + far) / 2
        if binary_kl(a, middle) <= psi:
            near = middle
        else:
            far = middle
    return near


def kl_upper(a, psi):
    return _inverse(mpf(a), mpf(psi), 1)


def kl_lower(a, psi):
    return _inverse(mpf(a), mpf(psi), 0)


_XI: dict[int, object] = {}


def xi(m):
    """1 + Σ_{k≥1} m!/((m−k)! mᵏ), until the terms vanish."""
    if m not in _XI:
        term, total, k = mpf(1), mpf(2), 1
        while term > mpf(10) ** -60 and k < m:
            term = term * (m - k) / m
            total, k = total + term, k + 1
        _XI[m] = total
    return _XI[m]


def largest_xi_plus(m, p):
    """ξ₊(m, p) = P(k ≥ mp) + Σ_{k<mp} C(m,k)(k/m)ᵏ(1−k/m)ᵐ⁻ᵏ, all terms added up."""
    total = mpf(0)
    for k in range(m + 1):
        x = mpf(k) / m if k < m * p else mpf(p)
        total += MP.binomial(m, k) * x**k * (1 - x) ** (m - k)
    return total


def one_sided(p, m):
    """The constant that upper limits pay at a truth of p: a concave logarithm, in 50 digits."""

    def at(p):
        return log((9 + sqrt(1 + 200 * m / MP.pi * MP.asin(sqrt(p)) ** 2)) / 10)

    bend = mpf("0.4")
    slope = _bend_slope(m)
    return exp(at(mpf(p)) if p <= bend else at(bend) + (p - bend) * slope)


@cache
def _bend_slope(m):
    """The derivative of ln((9 + √(1 + (200m/π)·arcsin²√p))/10) at p = 0.4."""
    p = mpf("0.4")
    angle, c = MP.asin(sqrt(p)), 200 * m / MP.pi
    root = sqrt(1 + c * angle**2)
    return c * angle / (2 * sqrt(p * (1 - p)) * root * (9 + root))


def one_sided_upper(a, cost, m):
    """The largest b with m·kl(a‖b) ≤ cost + ln min(one-sided constant at b, ξ(m)), by bisection."""
    inside, outside = mpf(a), mpf(1)
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        constant = min(one_sided(middle, m), xi(m))
        if m * binary_kl(mpf(a), middle) <= cost + log(constant):
            inside = middle
        else:
            outside = middle
    return inside


def c_bound(r, d):
    """C(r, d), and 1 where voters are no better than chance."""
    return mpf(1) if 2 * r >= 1 else 1 - (1 - 2 * r) ** 2 / (1 - 2 * d)


def radius_of_plateau(e, d):
    """The radius at which the ball around (e, d) meets 2e + d = 1."""
    return mpf(0) if 2 * e + d >= 1 else (1 - d) * binary_kl(e / (1 - d), mpf(1) / 2)


def _primal_start(e, d, kappa):
    """A float64 maximiser of C over the ball: a grid over d, the largest e for each, zoomed in."""
    rest = 1.0 - e - d

    def kl3(upper, other):
        total = np.zeros_like(other)
        for a, b in ((e, upper), (d, other), (rest, 1.0 - upper - other)):
            if a > 0.0:
                total = total + a * np.log(a / b)
        return total

    low, high = 0.0, 0.5
    with np.errstate(all="ignore"):
        for _ in range(6):
            others = np.linspace(low, high, 83)[1:-1]
            centre = (1.0 - others) * e / (e + rest)
            inside, outside = centre, 1.0 - others
            for _ in range(60):
                middle = 0.5 * (inside + outside)
                fits = kl3(middle, others) <= kappa
                inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
            values = 1.0 - (1.0 - 2.0 * inside - others) ** 2 / (1.0 - 2.0 * others)
            # A d that no e makes feasible: go towards the centre of the ball.
            feasible = kl3(centre, others) <= kappa
            values = np.where(feasible, values, -1e3 - np.abs(others - d))
            best = int(np.argmax(values))
            step = others[1] - others[0]
            low, high = max(low, others[best] - 2 * step), min(high, others[best] + 2 * step)
    return inside[best], others[best], values[best]


def supremum(e, d, kappa):
    """sup of C over kl₃(e, d‖E, D) ≤ kappa, D < ½."""
    return worst_of_ball(e, d, kappa)[0]


def worst_of_ball(e, d, kappa):
    """That supremum, and the E that reaches it: Newton on the two equations of the maximum.

    A root counts only with ∂_E kl₃ > 0, 2E + D < 1 and D < ½, which is sufficient. Where C is 1,
    the E of the point nearest to the centre.
    """
    e, d, kappa = mpf(e), mpf(d), mpf(kappa)
    if kappa >= radius_of_plateau(e, d):
        return mpf(1), (1 - d) / 2
    if d < _NEGLIGIBLE:
        worst = kl_upper(e, kappa)
        return 4 * worst * (1 - worst), worst
    rest = 1 - e - d
    start_e, start_d, start_value = _primal_start(float(e), float(d), float(kappa))
    E, D = mpf(float(start_e)), mpf(float(start_d))
    for _ in range(100):
        left = 1 - E - D
        divergence = d * log(d / D) + rest * log(rest / left)
        if e > 0:
            divergence += e * log(e / E)
        weight, bend, spread = rest / left, rest / left**2, 1 - 2 * D
        in_e, in_d = weight - e / E, weight - d / D
        slope = (2 * E - D) / (2 * spread)
        first, second = divergence - kappa, slope * in_e - in_d
        a, b = in_e, in_d
        p = in_e / spread + slope * (e / E**2 + bend) - bend
        q = in_e * (2 * (2 * E - D) - spread) / (2 * spread**2) + slope * bend - (d / D**2 + bend)
        determinant = a * q - b * p
        move_e, move_d = (
            (b * second - q * first) / determinant,
            (p * first - a * second) / determinant,
        )
        while E + move_e <= 0 or D + move_d <= 0 or E + D + move_e + move_d >= 1:
            move_e, move_d = move_e / 2, move_d / 2
        E, D = E + move_e, D + move_d
        if abs(move_e) + abs(move_d) < mpf(10) ** -35:
            break
    else:
        raise AssertionError(f"the reference did not converge at {e}, {d}, {kappa}")
    if not (in_e > 0 and 2 * E + D < 1 and mpf(1) / 2 > D):
        raise AssertionError(f"the reference met a wrong root at {e}, {d}, {kappa}")
    value = c_bound(E + D / 2, D)
    if value < start_value - 1e-6:
        raise AssertionError(f"the reference is below a feasible point at {e}, {d}, {kappa}")
    return value, E


def trinomial_kl(a, b):
    """Σ aᵢ ln(aᵢ/bᵢ) over three outcomes, infinite where b excludes what a allows."""
    if any(x > 0 and y <= 0 for x, y in zip(a, b, strict=True)):
        return MP.inf
    return sum(x * log(x / y) for x, y in zip(a, b, strict=True) if x > 0)


def supremum_of_cut(e, d, kappa, largest_e):
    """sup of C over the ball, E ≤ largest_e and D ≤ ½: on the ball, or else on the line at E."""
    value, worst = worst_of_ball(e, d, kappa)
    if worst <= largest_e:
        return value
    seen, E = (e, d, 1 - e - d), largest_e
    nearest, ends = (1 - E) * d / (1 - e), []
    for far in (mpf(0), 1 - E):
        near = nearest
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            inside = trinomial_kl(seen, (E, middle, 1 - E - middle)) <= kappa
            near, far = (middle, far) if inside else (near, middle)
        ends.append(near)
    low, high = ends
    values = [c_bound(E + D / 2, D) for D in (low, high, 2 * E) if low <= D <= high and 2 * D < 1]
    if (2 * low <= 1 <= 2 * high and 4 * E >= 1) or not values:
        return mpf(1)  # at D = ½, or where no vote has such moments
    return max(values)


def supremum_of_sum(e, d, kappa):
    """sup of e + 3d/2 over the ball, at a point of it: bᵢ ∝ aᵢ/(λ−vᵢ) on its boundary."""
    seen, v = (mpf(e), mpf(d), 1 - mpf(e) - mpf(d)), (mpf(1), mpf(3) / 2, mpf(0))

    def point(log_gap):
        scaled = [a / (mpf(3) / 2 - w + exp(log_gap)) for a, w in zip(seen, v, strict=True)]
        return [x / sum(scaled) for x in scaled]

    if d == 0:
        left = exp(-kappa + sum(a * log(mpf(3) / 2 - w) for a, w in zip(seen, v, strict=True) if a))
        both, none = left * seen[0] * 2, left * seen[2] * 2 / 3
        if both + none <= 1:
            return both + mpf(3) / 2 * (1 - both - none)
    low, high = mpf(-2000), mpf(200)
    for _ in range(220):
        middle = (low + high) / 2
        if trinomial_kl(seen, point(middle)) > kappa:
            low = middle
        else:
            high = middle
    return sum(b * w for b, w in zip(point(high), v, strict=True))


def smallest_over_mu(e, low, high):
    """min over μ of (e − 2μr + μ²)/(½−μ)², r = low for μ ≥ 0 and high for μ < 0.

    In s = 1/(½−μ) it is a quadratic, s²(e−r+¼) − s(1−2r) + 1, on s ≥ 2 and on 0 < s < 2.
    """
    quarter, values = mpf(1) / 4, [mpf(1), 4 * e]  # s → 0, and s = 2
    for r, first, last in ((low, 2, MP.inf), (high, 0, 2)):
        bend, slope = e - r + quarter, 1 - 2 * r
        if bend <= 0 and first == 2:
            raise AssertionError(f"no vote has the moments {e}, {r}")
        vertex = slope / (2 * bend) if bend > 0 else -1  # bent down, it is smallest at an end
        if first <= vertex <= last:
            values.append(1 - slope**2 / (4 * bend))
    return min(values)


def binomial_tail(k, m, x):
    """The probability of at most k errors in m trials at rate x, added up."""
    odds, total = mpf(x) / (1 - mpf(x)), (1 - mpf(x)) ** m
    term = total
    for i in range(k):
        term *= odds * (m - i) / (i + 1)
        total += term
    return total


def beta_tail(a, b, x):
    """P(Beta(a, b) ≥ x): the smaller tail, integrated in s = ln(t/(1−t)), piece by piece."""
    a, b, x = mpf(a), mpf(b), mpf(x)
    if a > (a + b) * x:
        return 1 - beta_tail(b, a, 1 - x)
    k, start = a + b, log(x / (1 - x))

    def log_density(s):
        return a * s - k * MP.log1p(exp(s))

    step, ends = 1 / sqrt(k * x * (1 - x)), [start]
    while log_density(start) - log_density(ends[-1]) < 110:
        ends.append(ends[-1] + step)
        step *= mpf("1.5")
    constant = MP.loggamma(k) - MP.loggamma(a) - MP.loggamma(b)
    return MP.quad(lambda s: exp(log_density(s) + constant), ends)


def normalised(weights):
    """Float weights, divided by their exact sum."""
    exact = [mpf(float(x)) for x in weights]
    total = MP.fsum(exact)
    return [x / total for x in exact]


def kl_divergence(weights, prior):
    pairs = zip(normalised(weights), normalised(prior), strict=True)
    return MP.fsum(x * log(x / y) for x, y in pairs if x > 0)


def dirichlet_kl(weights, concentration, prior, prior_concentration):
    """KL of two Dirichlet distributions by its definition."""
    q = [mpf(concentration) * x for x in normalised(weights)]
    p = [mpf(prior_concentration) * x for x in normalised(prior)]
    total = MP.loggamma(MP.fsum(q)) - MP.loggamma(MP.fsum(p))
    for a, b in zip(q, p, strict=True):
        total += MP.loggamma(b) - MP.loggamma(a)
        total += (a - b) * (MP.digamma(a) - MP.digamma(MP.fsum(q)))
    return total


def constant_of(m, constant):
    """c₂(m) in both directions: 2√m, that of all sizes, or ξ(m) if it is another one or None."""
    if constant == "anytime":
        return sqrt(MP.pi) * MP.gammaprod([m + 1], [m + mpf(1) / 2])
    return 2 * sqrt(m) if constant == "maurer" else xi(m)


# ------------------------------------------------------------------ what bounds on moments say


class Observed(NamedTuple):
    """What a bound on moments sees, in 50 digits, and how far its statements let the truth be."""

    r: object
    e: object
    d: object
    kl: object
    m: int
    delta: object
    constant: str | None
    disagreement_size: int

    def psi(self, copies, parts=1, m=None, outcomes=2):
        """[copies·KL + ln(c(m)/δ')]/m, where δ' is one of so many equal parts of δ."""
        m = m or self.m
        c = constant_of(m, self.constant) + (m if outcomes == 3 else 0)
        if outcomes == 3 and self.constant == "anytime":
            c = 2 * mpf(m) + 1
        return (copies * self.kl + log(parts * c / self.delta)) / m

    def upper(self, a, copies, parts=1):
        """The largest mean behind a frequency: one-sided, unless the constant is two-sided."""
        if self.constant in ("anytime", "maurer", "exact"):
            return kl_upper(a, self.psi(copies, parts))
        return one_sided_upper(a, copies * self.kl + log(parts / self.delta), self.m)


def observed(r, e, kl, m, delta=0.05, constant="maurer", d=None, disagreement_size=None):
    """Moments of one sample; d and its size are others where unlabelled examples count."""
    r, e, kl, delta = mpf(r), mpf(e), mpf(kl), mpf(delta)
    d = max(mpf(0), 2 * (r - e) if d is None else mpf(d))
    return Observed(r, e, d, kl, m, delta, constant, disagreement_size or m)


def largest_gibbs_risk(s):
    return s.upper(s.r, 1)


def largest_joint_error(s):
    return s.upper(s.e, 2)


def gibbs_region(s):
    largest_r = largest_gibbs_risk(s)
    return lambda e, d: e + d / 2 <= largest_r


def tandem_region(s):
    largest_e = largest_joint_error(s)
    return lambda e, d: e <= largest_e


def hoeffding_split(s):
    """The largest r and the smallest d, by Pinsker's inequality."""
    psi_r, psi_d = s.psi(1, parts=2), s.psi(2, parts=2, m=s.disagreement_size)
    return s.r + sqrt(psi_r / 2), max(mpf(0), s.d - sqrt(psi_d / 2))


def kl_split(s):
    """The largest r and the smallest d."""
    psi_d = s.psi(2, parts=2, m=s.disagreement_size)
    return s.upper(s.r, 1, parts=2), kl_lower(s.d, psi_d)


def seeger(s):
    """The C-bound, or twice the largest r, which the published one does not look at."""
    value, largest_r = c_bound(*kl_split(s)), kl_split(s)[0]
    return value if s.constant == "maurer" else min(value, 2 * largest_r)


def cantelli(s):
    """The best over μ, or twice the largest r, which the published one does not look at."""
    value, largest_r = smallest_over_mu(*largest_e_and_both_r(s)), largest_e_and_both_r(s)[2]
    return value if s.constant == "maurer" else min(value, 2 * largest_r)


def largest_e_and_both_r(s):
    """The largest e, and between which r is."""
    psi_r = s.psi(1, parts=2)
    return s.upper(s.e, 2, parts=2), kl_lower(s.r, psi_r), kl_upper(s.r, psi_r)


def three_of_a_pair(s):
    """The largest e, the smallest d and the largest e + d."""
    psi = s.psi(2, parts=3)
    some = s.upper(min(mpf(1), s.e + s.d), 2, parts=3)
    return s.upper(s.e, 2, parts=3), kl_lower(s.d, psi), some


def splitkl(s):
    both, one, some = three_of_a_pair(s)
    return smallest_over_mu(both, both + one / 2, (both + some) / 2)


# The values of μ that `bennett` tries, and φ(x) = eˣ − x − 1 at its 20 values of x = Kγ.
BENNETT_GRID = [0.5 - 2 ** (-k / 8) for k in range(25)]
_PHI = {j: exp(mpf(4) / 2**j) - mpf(4) / 2**j - 1 for j in range(20)}


def bennett_variances(s):
    """The largest e and the largest d."""
    return s.upper(s.e, 2, parts=4), s.upper(s.d, 2, parts=4)


def bennett_losses(s):
    """The smallest bound on the μ-tandem loss over 20 values of γ, for each of 25 of μ."""
    largest_e, largest_d = bennett_variances(s)
    losses = {}
    for k in range(25):
        mu = mpf(1) / 2 - mpf(2) ** (-mpf(k) / 8)
        loss = (1 - mu) ** 2 * s.e - mu * (1 - mu) * s.d + mu**2 * (1 - s.e - s.d)
        variance = (1 - 2 * mu) ** 2 * largest_e + mu**2 * largest_d
        K = max(1 - mu, 1 - 2 * mu)
        losses[mu] = loss + min(
            (phi / K**2 * variance + (2 * s.kl + log(2 * 500 / s.delta)) / s.m) * K * 2**j / 4
            for j, phi in _PHI.items()
        )
    return losses


def bennett(s):
    """The smallest value over 25·20 points, spelled out."""
    return min(loss / (mpf(1) / 2 - mu) ** 2 for mu, loss in bennett_losses(s).items())


def bennett_region(s):
    (largest_e, largest_d), limits = bennett_variances(s), bennett_losses(s)
    return lambda e, d: (
        e <= largest_e
        and d <= largest_d
        and all(e - mu * (2 * e + d) + mu**2 <= limit for mu, limit in limits.items())
    )


def in_split(estimates):
    """Which (e, d) an upper bound of r and a lower bound of d allow."""

    def region(s):
        largest_r, smallest_d = estimates(s)
        return lambda e, d: e + d / 2 <= largest_r and d >= smallest_d

    return region


def in_ball(s, parts=1):
    """Which (e, d) are in the ball of kl₃."""
    kappa, seen = s.psi(2, parts, outcomes=3), (s.e, s.d, 1 - s.e - s.d)
    return lambda e, d: trinomial_kl(seen, (mpf(e), mpf(d), 1 - mpf(e) - mpf(d))) <= kappa


def in_cut_ball(s):
    inside, largest_e = in_ball(s, parts=2), s.upper(s.e, 2, parts=2)
    return lambda e, d: e <= largest_e and 2 * d <= 1 and inside(e, d)


def lacasse2(s):
    kappa = s.psi(2, parts=2, outcomes=3)
    return supremum_of_cut(s.e, s.d, kappa, s.upper(s.e, 2, parts=2))


def sharp(s):
    kappa = s.psi(2, outcomes=3)
    return min(supremum(s.e, s.d, kappa), supremum_of_sum(s.e, s.d, kappa))


def in_cantelli(s):
    largest_e, low, high = largest_e_and_both_r(s)
    return lambda e, d: e <= largest_e and low <= e + d / 2 <= high


def in_splitkl(s):
    both, one, some = three_of_a_pair(s)
    return lambda e, d: e <= both and e + d <= some and d >= one


# ------------------------------------------------------------------ bounds at known moments


def twice_r(r, e):
    return 2 * r


def four_e(r, e):
    return 4 * e


def c_of(r, e):
    """The C-bound of votes that can exist, and 1 where r ≥ ½."""
    spread = np.where(r < 0.5, 1 - 4 * (r - e), 1.0)
    # [()] makes a number of an array without dimensions.
    return np.where(r < 0.5, 1 - (1 - 2 * r) ** 2 / spread, 1.0)[()]


def c_or_twice_r(r, e):
    """The smaller of the C-bound and 2r."""
    return np.minimum(c_of(r, e), 2 * r)


def sharp_of(r, e):
    """The smaller of the C-bound and 3r − 2e."""
    return np.minimum(c_of(r, e), 3 * r - 2 * e)


def best_of_bennett_grid(r, e):
    return np.min([(e - 2 * mu * r + mu**2) / (0.5 - mu) ** 2 for mu in BENNETT_GRID], axis=0)


# ------------------------------------------------------------------ bounds that see every example


def heldout_from_losses(bound, losses, weights, prior, evidence):
    """The rate at which so few errors of a vote fixed in advance have probability δ.

    It errs where W ≥ ½.
    """
    erring = [
        MP.fsum(w for w, errs in zip(normalised(weights), row, strict=True) if errs)
        for row in losses
    ]
    k = sum(w >= mpf(1) / 2 - mpf(10) ** -12 for w in erring)
    return binomial_limit(k, len(losses), bound.delta)


def occam_from_losses(bound, losses, weights, prior, evidence):
    """That of the one voter with weight, at its prior's part of δ; 1 for several voters."""
    voter = int(np.argmax(weights))
    if np.count_nonzero(weights) > 1:
        return mpf(1)
    k = int(np.sum(losses[:, voter]))
    return binomial_limit(k, len(losses), mpf(bound.delta) * normalised(prior)[voter])


def binomial_limit(k, m, delta):
    """The rate at which at most k errors in m trials have probability δ."""
    low, high = mpf(k) / m, mpf(1)
    for _ in range(_BISECTIONS if k < m else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if binomial_tail(k, m, middle) <= delta else (middle, high)
    return high


def sequential_limit(k, m, delta, c=0, d=1):
    """The rate at which the mixture over smaller rates is 1/δ: the largest that it does not refute.

    The mean of uᵏ ((1−pu)/(1−p))ᵐ⁻ᵏ over u from c to d, where ∫₀ᵖ tᵏ(1−t)ᵐ⁻ᵏ dt is the integral
    from 0 to 1 times pᵏ⁺¹(1−p)ᵐ⁻ᵏ, and has the probability of more than k errors in m + 1 trials at
    rate p as its share of the whole.
    """
    c, d = mpf(c), mpf(d)
    whole = 1 / ((m + 1) * MP.binomial(m, k))
    low, high = mpf(k) / m, mpf(1)
    for _ in range(_BISECTIONS if k < m else 0):
        middle = (low + high) / 2
        # By the tails that are small: more than k errors are at most m − k right answers.
        if c * middle * m > k:
            share = binomial_tail(k, m + 1, c * middle) - binomial_tail(k, m + 1, d * middle)
        else:
            share = binomial_tail(m - k, m + 1, 1 - d * middle)
            share -= binomial_tail(m - k, m + 1, 1 - c * middle) if c > 0 else 0
        mixture = whole * share / ((d - c) * middle ** (k + 1) * (1 - middle) ** (m - k))
        low, high = (low, middle) if mixture >= 1 / delta else (middle, high)
    return high


def dirichlet_from_losses(bound, losses, weights, prior, evidence):
    """The bound at the concentration and cell of the evidence."""
    concentration, z, share = (mpf(x) for x in bound.cells[evidence["cell"]])
    k, m = mpf(evidence["concentration"]), len(losses)
    x = mpf(1) / 2 - z / (2 * sqrt(concentration + 1))
    mean = mpf(0)
    for pattern, count in zip(*np.unique(losses, axis=0, return_counts=True), strict=True):
        erring = MP.fsum(w for w, errs in zip(normalised(weights), pattern, strict=True) if errs)
        if pattern.all():
            mean += int(count)
        elif erring > 0:
            mean += int(count) * beta_tail(k * erring, k * (1 - erring), x)
    divergence = dirichlet_kl(weights, k, prior, concentration)
    epsilon = 1 - beta_tail(k / 2, k / 2, x)
    parts = 1 / share
    s = observed(0, 0, divergence, m, bound.delta, bound.constant)
    return min(mpf(1), s.upper(mean / m, 1, parts) / (1 - epsilon))


def best_from_losses(bound, losses, weights, prior, evidence):
    """That of the winner at its share of δ."""
    winner = evidence["winner"]
    shares = dict(bound.shares or (("heldout", 0.9), ("occam", 0.05), ("dirichlet", 0.05)))
    member = get_bound(winner, delta=bound.delta * shares[winner])
    if "constant" in member.get_params():
        member.set_params(constant=bound.constant)
    return REFERENCES[winner].from_losses(member, losses, weights, prior, evidence)


# ------------------------------------------------------------------ one entry for each bound


class OneMoment(NamedTuple):
    """A bound that is ``scale · kl⁺(moment | [copies·KL + ln(c₂/δ)]/m)``, and has a relaxation."""

    moment: str
    copies: int
    scale: int


class Minimum(NamedTuple):
    """The smallest value known on `wdbc`, at δ = 0.05 with the published constants."""

    value: float
    source: str


_PAPER = "Viallard et al., ECML PKDD 2021, its table"
_FOUND = "found outside this library"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What is known about a bound without asking it.

    A bound on moments has `value`, `oracle` and `region`, any other one `from_losses`; the defaults
    of the rest suit a bound that needs nothing but moments.
    """

    # The value of what was `observed`, in 50 digits.
    value: Callable | None = None
    # The value at known r and e, numbers or arrays, for votes that can exist.
    oracle: Callable | None = None
    # The same with the published constant, where it is more.
    published_oracle: Callable | None = None
    # Which true (e, d) the statements of the bound allow, as a predicate, from what was `observed`.
    region: Callable | None = None
    # The value of (bound, losses, weights, prior, evidence), in 50 digits.
    from_losses: Callable | None = None
    minimum: Minimum | None = None
    # What statistics must offer, and whether unlabelled examples are of use.
    needs: frozenset = frozenset({"moments"})
    uses_unlabelled: bool = False
    # The constant that it takes if it is told none.
    smallest: str = "exact"
    # Whether it speaks of any weights, or only of votes that were fixed in advance.
    any_weights: bool = True
    # Whether it speaks of single voters only.
    single_voters: bool = False
    # Whether solvers go down its gradient.
    descended: bool = True
    # Whether it is flat at 1 where it says nothing, and has something else to descend there.
    flat: bool = False
    # Whether one of its statements is a lower bound of d.
    limits_disagreement: bool = False
    # Whether its value may be above the worst oracle bound of its region.
    covers_more: bool = False
    one_moment: OneMoment | None = None
    # How many times δ, and how often each example, a broken one must take to be caught.
    lies: tuple[int, int] = (10, 2)
    # How many samples a long run draws, and at how many weights an adversary looks in each.
    long_run: int = 2_000
    adversary: int = 8


_JOINT = frozenset({"moments", "joint"})

REFERENCES = {
    "mcallester": Reference(
        value=lambda s: c_bound(*hoeffding_split(s)),
        oracle=c_of,
        region=in_split(hoeffding_split),
        minimum=Minimum(0.7254, _PAPER),
        uses_unlabelled=True,
        flat=True,
        limits_disagreement=True,
    ),
    "seeger": Reference(
        smallest="one-sided",
        value=seeger,
        oracle=c_or_twice_r,
        published_oracle=c_of,
        region=in_split(kl_split),
        minimum=Minimum(0.6031, _PAPER),
        uses_unlabelled=True,
        flat=True,
        limits_disagreement=True,
        covers_more=True,  # where 2r is the smaller one, the worst r needs another d
    ),
    "lacasse": Reference(
        value=lambda s: supremum(s.e, s.d, s.psi(2, outcomes=3)),
        oracle=c_of,
        region=in_ball,
        minimum=Minimum(0.5233, _PAPER),
        needs=_JOINT,
        flat=True,
        limits_disagreement=True,
    ),
    "lacasse2": Reference(
        smallest="one-sided",
        value=lacasse2,
        oracle=c_of,
        region=in_cut_ball,
        needs=_JOINT,
        flat=True,
        limits_disagreement=True,
    ),
    "sharp": Reference(
        value=sharp,
        oracle=sharp_of,
        region=in_ball,
        needs=_JOINT,
        limits_disagreement=True,
        covers_more=True,  # the worst points of the two are not the same
    ),
    "gibbs": Reference(
        smallest="one-sided",
        value=lambda s: 2 * largest_gibbs_risk(s),
        oracle=twice_r,
        region=gibbs_region,
        minimum=Minimum(0.3617, _FOUND),
        one_moment=OneMoment("gibbs_risk", copies=1, scale=2),
    ),
    "tandem": Reference(
        smallest="one-sided",
        value=lambda s: 4 * largest_joint_error(s),
        oracle=four_e,
        region=tandem_region,
        minimum=Minimum(0.5046, _FOUND),
        one_moment=OneMoment("joint_error", copies=2, scale=4),
    ),
    "dis": Reference(
        smallest="one-sided",
        value=lambda s: 4 * kl_split(s)[0] - 2 * kl_split(s)[1],
        oracle=four_e,
        region=in_split(kl_split),
        minimum=Minimum(0.7323, _FOUND),
        uses_unlabelled=True,
        limits_disagreement=True,
    ),
    "cantelli": Reference(
        smallest="one-sided",
        value=cantelli,
        oracle=c_or_twice_r,
        published_oracle=c_of,
        region=in_cantelli,
        minimum=Minimum(0.5068, _FOUND),
        flat=True,
        covers_more=True,  # it does not use that e ≤ r
    ),
    "splitkl": Reference(
        smallest="one-sided",
        value=splitkl,
        oracle=c_of,
        region=in_splitkl,
        minimum=Minimum(0.5188, _FOUND),
        needs=_JOINT,
        flat=True,
        limits_disagreement=True,
    ),
    "bennett": Reference(
        smallest="one-sided",
        value=bennett,
        oracle=best_of_bennett_grid,
        region=bennett_region,
        minimum=Minimum(0.7308, _FOUND),
        needs=_JOINT,
        covers_more=True,  # it uses one of its statements at a time
        lies=(10**5, 4),  # it pays for a grid of 500 points, of which a lucky voter uses few
    ),
    "heldout": Reference(
        from_losses=heldout_from_losses,
        needs=frozenset({"fixed votes"}),
        any_weights=False,
        descended=False,
        adversary=0,
    ),
    "occam": Reference(
        from_losses=occam_from_losses,
        needs=frozenset({"voter errors"}),
        single_voters=True,
        descended=False,
        adversary=0,
    ),
    "dirichlet": Reference(
        smallest="one-sided",
        from_losses=dirichlet_from_losses,
        needs=frozenset({"rows"}),
        long_run=500,  # a value takes as long as hundreds of others
        adversary=2,
    ),
    "best": Reference(
        smallest="one-sided",
        from_losses=best_from_losses,
        needs=frozenset({"rows", "fixed votes", "voter errors"}),
        descended=False,
        long_run=1_000,
        adversary=0,
    ),
}

MOMENT_BOUNDS = [name for name, entry in REFERENCES.items() if entry.value is not None]
# Those that are minimised by going down a gradient.
DESCENDED = [name for name, entry in REFERENCES.items() if entry.descended]


def from_moments(name, r, e, kl, m, delta, constant):
    """A bound on moments of docs/mathematics.md, at exact moments."""
    return REFERENCES[name].value(observed(r, e, kl, m, delta, constant))


def moments(statistics, weights):
    """r and e of float weights, normalised exactly."""
    q, m = normalised(weights), statistics.n_samples
    r = MP.fdot(q, [int(x) for x in statistics.errors]) / m
    rows = [MP.fdot(q, [int(x) for x in row]) for row in statistics.tandem]
    return r, MP.fdot(q, rows) / m


def value(bound, statistics, weights, prior=None):
    """The exact value of a bound object on moments at float weights."""
    kl = kl_divergence(weights, [1.0] * statistics.n_voters if prior is None else prior)
    r, e = moments(statistics, weights)
    m, constant = statistics.n_samples, getattr(bound, "constant", None)
    return from_moments(bound.name, r, e, kl, m, bound.delta, constant)


# ------------------------------------------------------------------ where minima are known


class Task(NamedTuple):
    """Labelled examples in three parts: to train voters, to certify the vote, to test it."""

    X_voters: np.ndarray
    y_voters: np.ndarray
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def wdbc():
    """The breast-cancer data as the paper prepares it: scaled, permuted, half of it to test."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    order = np.arange(len(y))
    np.random.RandomState(42).shuffle(order)  # what np.random.seed(42) starts
    X, y = X[order], np.where(y == 0, -1, 1)[order]
    n_test = len(y) // 2
    half = n_test + (len(y) - n_test) // 2
    return Task(X[n_test:half], y[n_test:half], X[half:], y[half:], X[:n_test], y[:n_test])


N_TREES = 100


def paper_trees(X, y):
    """The paper's trees, trained."""
    return [
        DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(X, y)
        for seed in range(N_TREES)
    ]


@cache
def wdbc_statistics():
    """The errors of the paper's trees on its certification half of wdbc."""
    task = wdbc()
    trees = paper_trees(task.X_voters, task.y_voters)
    votes = np.stack([tree.predict(task.X) for tree in trees], axis=1)
    return VoteStatistics.from_votes(votes, task.y)
