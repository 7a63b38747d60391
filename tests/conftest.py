"""The theory once more, in 50 digits and by other means: what the tests compare with."""

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

MP = mpmath.MPContext()
MP.dps = 50
mpf = MP.mpf
_BISECTIONS = 180
_NEGLIGIBLE = mpf(10) ** -40


def _kl(a, b):
    """kl(a‖b) in 50 digits."""
    total = mpf(0)
    for x, y in ((a, b), (1 - a, 1 - b)):
        if x > 0:
            if y <= 0:
                return MP.inf
            total += x * MP.log(x / y)
    return total


def _inverse(a, psi, far):
    """The b between a and `far` with kl(a‖b) = psi, by bisection."""
    near, far = mpf(a), mpf(far)
    if _kl(near, far) <= psi:
        return far
    for _ in range(_BISECTIONS):
        middle = (near + far) / 2
        if _kl(a, middle) <= psi:
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


def c_bound(r, d):
    return 1 - (1 - 2 * r) ** 2 / (1 - 2 * d)


def radius_of_plateau(e, d):
    """The radius at which the ball around (e, d) meets 2e + d = 1."""
    return mpf(0) if 2 * e + d >= 1 else (1 - d) * _kl(e / (1 - d), mpf(1) / 2)


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
    """sup of C over kl₃(e, d‖E, D) ≤ kappa, D < ½: Newton on the two equations of the maximum.

    A root counts only with ∂_E kl₃ > 0, 2E + D < 1 and D < ½, which is sufficient.
    """
    e, d, kappa = mpf(e), mpf(d), mpf(kappa)
    if kappa >= radius_of_plateau(e, d):
        return mpf(1)
    if d < _NEGLIGIBLE:
        worst = kl_upper(e, kappa)
        return 4 * worst * (1 - worst)
    rest = 1 - e - d
    start_e, start_d, start_value = _primal_start(float(e), float(d), float(kappa))
    E, D = mpf(float(start_e)), mpf(float(start_d))
    for _ in range(100):
        left = 1 - E - D
        divergence = d * MP.log(d / D) + rest * MP.log(rest / left)
        if e > 0:
            divergence += e * MP.log(e / E)
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
    return value


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


_PHI = {j: MP.exp(mpf(4) / 2**j) - mpf(4) / 2**j - 1 for j in range(20)}


def bennett_losses(e, d, kl, m, c2, delta):
    """The smallest bound on the μ-tandem loss over 20 values of γ, for each of 25 of μ."""
    e, d, kl, c2, delta = map(mpf, (e, d, kl, c2, delta))
    psi = (2 * kl + MP.log(4 * c2 / delta)) / m
    largest_e, largest_d = kl_upper(e, psi), kl_upper(max(d, mpf(0)), psi)
    losses = {}
    for k in range(25):
        mu = mpf(1) / 2 - mpf(2) ** (-mpf(k) / 8)
        loss = (1 - mu) ** 2 * e - mu * (1 - mu) * d + mu**2 * (1 - e - d)
        variance = (1 - 2 * mu) ** 2 * largest_e + mu**2 * largest_d
        K = max(1 - mu, 1 - 2 * mu)
        losses[mu] = loss + min(
            (phi / K**2 * variance + (2 * kl + MP.log(2 * 500 / delta)) / m) * K * 2**j / 4
            for j, phi in _PHI.items()
        )
    return losses


def bennett(e, d, kl, m, c2, delta):
    """The smallest value over 25·20 points, spelled out."""
    losses = bennett_losses(e, d, kl, m, c2, delta)
    return min(loss / (mpf(1) / 2 - mu) ** 2 for mu, loss in losses.items())


def from_moments(name, r, e, kl, m, delta, constant):
    """A bound of THEORY.md §4 and §5, at exact moments."""
    r, e, kl, delta = mpf(r), mpf(e), mpf(kl), mpf(delta)
    d = 2 * (r - e)
    c2 = 2 * MP.sqrt(m) if constant == "maurer" else xi(m)
    if name == "gibbs":
        return 2 * kl_upper(r, (kl + MP.log(c2 / delta)) / m)
    if name == "tandem":
        return 4 * kl_upper(e, (2 * kl + MP.log(c2 / delta)) / m)
    if name == "lacasse":
        return supremum(e, d, (2 * kl + MP.log((c2 + m) / delta)) / m)
    if name == "bennett":
        return bennett(e, d, kl, m, c2, delta)
    if name == "splitkl":
        psi = (2 * kl + MP.log(3 * c2 / delta)) / m
        both, some = kl_upper(e, psi), kl_upper(min(mpf(1), e + d), psi)
        one = kl_lower(max(d, mpf(0)), psi)
        return smallest_over_mu(both, both + one / 2, (both + some) / 2)
    psi_r = (kl + MP.log(2 * c2 / delta)) / m
    psi_d = (2 * kl + MP.log(2 * c2 / delta)) / m
    if name == "dis":
        return 4 * kl_upper(r, psi_r) - 2 * kl_lower(max(d, mpf(0)), psi_d)
    if name == "cantelli":
        return smallest_over_mu(kl_upper(e, psi_d), kl_lower(r, psi_r), kl_upper(r, psi_r))
    if name == "mcallester":
        r, d = r + MP.sqrt(psi_r / 2), max(mpf(0), d - MP.sqrt(psi_d / 2))
    elif name == "seeger":
        r, d = kl_upper(r, psi_r), kl_lower(max(d, mpf(0)), psi_d)
    else:
        raise AssertionError(f"the reference has no formula for the bound {name!r}: add it")
    return mpf(1) if 2 * r >= 1 else c_bound(r, d)


def moments(statistics, weights):
    """r and e of float weights, normalised exactly."""
    q = [mpf(float(x)) for x in weights]
    total, m = MP.fsum(q), statistics.n_samples
    q = [x / total for x in q]
    r = MP.fdot(q, [int(x) for x in statistics.errors]) / m
    rows = [MP.fdot(q, [int(x) for x in row]) for row in statistics.tandem]
    return r, MP.fdot(q, rows) / m


def kl_divergence(weights, prior):
    q, p = ([mpf(float(x)) for x in values] for values in (weights, prior))
    q, p = ([x / MP.fsum(values) for x in values] for values in (q, p))
    return MP.fsum(x * MP.log(x / y) for x, y in zip(q, p, strict=True) if x > 0)


def value(bound, statistics, weights, prior=None):
    """The exact value of a bound object at float weights."""
    if prior is None:
        prior = [1.0] * statistics.n_voters
    r, e = moments(statistics, weights)
    kl = kl_divergence(weights, prior)
    return from_moments(bound.name, r, e, kl, statistics.n_samples, bound.delta, bound.constant)


@pytest.fixture(scope="session")
def exact():
    """Everything above, as attributes."""
    return SimpleNamespace(
        mpf=mpf,
        exp=MP.exp,
        log=MP.log,
        sqrt=MP.sqrt,
        kl=_kl,
        kl_upper=kl_upper,
        kl_lower=kl_lower,
        xi=xi,
        supremum=supremum,
        bennett_losses=bennett_losses,
        radius_of_plateau=radius_of_plateau,
        from_moments=from_moments,
        value=value,
    )
