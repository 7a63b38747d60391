"""Where the true (e, d) may be by each bound, and where it would be worst."""

import math

import numpy as np
import pytest

from certivote.bounds import get_bound
from certivote.plotting import PlaneDisplay
from reference import MOMENT_BOUNDS, REFERENCES, observed

every_bound = pytest.mark.parametrize("name", MOMENT_BOUNDS)


def oracle(name, e, d):
    return REFERENCES[name].oracle(e + d / 2, e)


def random_evidences(seed, count):
    """r, e, KL and m of votes on samples small and large."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        weight, masses = (
            rng.uniform(0, 0.9, size=3) ** rng.choice([1, 3]),
            rng.dirichlet(np.ones(3)),
        )
        r, e = float(masses @ weight), float(masses @ weight**2)
        yield r, e, float(10 ** rng.uniform(-4, 1)), int(10 ** rng.uniform(0.5, 6))


def points_near(rng, e, d, count=4000):
    """Points (e, d) of votes that can exist, at all distances from one."""
    scale = 10.0 ** rng.uniform(-4, 0, size=count)
    x, y = e + scale * rng.uniform(-1, 1, count), d + scale * rng.uniform(-1, 1, count)
    exists = (x > 0) & (x < 1) & (y > 0)
    x, y = x[exists], y[exists]
    exists = y < 2 * (np.sqrt(x) - x)
    return x[exists], y[exists]


CORNERS = [
    (r, e, kl, m)
    for r, e in ((0, 0), (1, 1), (0.5, 0.25), (0.25, 0.0625), (0.5, 0.5), (1e-3, 1e-6), (0.1, 0.1))
    for kl, m in ((0.0, 1), (3.0, 1_000), (0.0, 10**9))
]
EVIDENCES = [*random_evidences(0, count=15), *CORNERS]


@every_bound
def test_the_certificate_is_the_worst_oracle_bound_of_its_region(name, certificate_at):
    bound, rng = get_bound(name, constant="maurer"), np.random.default_rng(1)
    seen = 0
    for r, e, kl, m in EVIDENCES:
        certificate = certificate_at(name, r, e, kl, m)
        x, y = points_near(rng, e, 2 * (r - e))
        inside = bound.confidence_region(certificate.evidence, kl)(x, y) <= 0
        value = bound.from_moments(r, e, kl, m)
        assert np.all(oracle(name, x[inside], y[inside]) <= value + 1e-12)
        seen += np.count_nonzero(inside)
    assert seen > 10_000


@every_bound
def test_the_region_is_that_of_the_theory(name, certificate_at):
    bound, rng = get_bound(name, constant="maurer"), np.random.default_rng(2)
    verdicts = []
    for r, e, kl, m in random_evidences(3, count=15):
        evidence = certificate_at(name, r, e, kl, m).evidence
        x, y = (values[:60] for values in points_near(rng, e, 2 * (r - e)))
        allowed = REFERENCES[name].region(observed(r, e, kl, m))
        excess = bound.confidence_region(evidence, kl)(x, y)
        for e_true, d_true, outside in zip(x, y, excess, strict=True):
            if abs(outside) > 1e-9:
                expected = allowed(float(e_true), float(d_true))
                assert expected == (outside < 0)
                verdicts.append(expected)
    assert 100 < sum(verdicts) < len(verdicts) - 100


@every_bound
def test_what_is_observed_is_inside(name, certificate_at):
    for r, e, kl, m in EVIDENCES:
        evidence = certificate_at(name, r, e, kl, m).evidence
        assert (
            get_bound(name, constant="maurer").confidence_region(evidence, kl)(e, 2 * (r - e)) <= 0
        )


@every_bound
def test_points_broadcast(name, certificate_at):
    evidence = certificate_at(name, 0.1, 0.04, 1.0, 500).evidence
    e, d = np.linspace(0.01, 0.2, 4), np.linspace(0.05, 0.2, 3)[:, None]
    table = get_bound(name, constant="maurer").confidence_region(evidence, 1.0)(e, d)
    assert table.shape == (3, 4)
    assert table[2, 1] == get_bound(name, constant="maurer").confidence_region(evidence, 1.0)(
        e[1], d[2, 0]
    )


@every_bound
def test_impossible_evidence_is_refused(name, certificate_at):
    bound, evidence = (
        get_bound(name, constant="maurer"),
        certificate_at(name, 0.1, 0.04, 1.0, 500).evidence,
    )
    with pytest.raises(ValueError, match="gibbs_risk"):
        bound.confidence_region({**evidence, "gibbs_risk": 0.2}, 1.0)
    with pytest.raises(ValueError, match="kl"):
        bound.confidence_region(evidence, -1.0)


@every_bound
def test_the_drawn_region_ends_where_the_true_one_does(name, certificate_at, ax):
    bound = get_bound(name, constant="maurer")
    for r, e, kl, m in [*random_evidences(4, count=8), (0.0, 0.0, 0.0, 100), (0.5, 0.25, 0.0, 50)]:
        certificate = certificate_at(name, r, e, kl, m)
        d, first, last = PlaneDisplay.from_certificate(certificate, ax=ax).region
        assert np.all(np.diff(d) > 0)
        for end, outwards in ((first, -1e-7), (last, 1e-7)):
            assert np.all(bound.confidence_region(certificate.evidence, kl)(end, d) <= 0)
            x = end + outwards
            # Beyond it a point is outside the region, or no vote has it.
            outside = bound.confidence_region(certificate.evidence, kl)(x, d) > 0
            assert np.all(outside | (x < 0) | (d > 2 * (np.sqrt(np.abs(x)) - x)))
        x, y = points_near(np.random.default_rng(5), e, 2 * (r - e))
        inside = bound.confidence_region(certificate.evidence, kl)(x, y) <= 0
        assert np.all((y[inside] >= d[0] - 1e-9) & (y[inside] <= d[-1] + 1e-9))


@every_bound
def test_the_worst_point_is_in_the_region_and_as_bad_as_the_certificate(name, certificate_at, ax):
    bound = get_bound(name, constant="maurer")
    vacuous = 0
    for r, e, kl, m in EVIDENCES[::2]:
        certificate = certificate_at(name, r, e, kl, m)
        x, y = PlaneDisplay.from_certificate(certificate, ax=ax).worst
        ax.clear()
        assert bound.confidence_region(certificate.evidence, kl)(x, y) <= 1e-12
        assert 0 <= y <= 2 * (math.sqrt(x) - x) + 1e-9
        worst = min(1.0, float(oracle(name, x, y)))
        if REFERENCES[name].covers_more:
            assert worst <= certificate.risk_bound + 1e-7
        else:
            assert worst == pytest.approx(certificate.risk_bound, abs=1e-7)
        vacuous += certificate.vacuous
    assert 3 <= vacuous <= 15


def test_a_bound_that_covers_more_than_its_region_is_near_it(certificate_at, ax):
    for name, r, e in (("cantelli", 0.1, 0.04), ("cantelli", 0.3, 0.1), ("bennett", 0.1, 0.04)):
        certificate = certificate_at(name, r, e, 1.0, 20_000)
        x, y = PlaneDisplay.from_certificate(certificate, ax=ax).worst
        expected = 0 if name == "cantelli" else 0.05
        gap = certificate.risk_bound / float(oracle(name, x, y)) - 1
        assert -1e-9 <= gap <= expected + 1e-7
        ax.clear()
