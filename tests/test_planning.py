"""How many certification examples a claim needs: the smallest number, and no number too small."""

import numpy as np
import pytest
from scipy.stats import binom

from certivote import samples_needed, samples_to_test
from certivote.bounds import Bound, clopper_pearson, get_bound
from certivote.planning import success
from reference import MOMENT_BOUNDS, REFERENCES

# Gibbs risk, joint error (at least its square, at most itself) and KL.
VOTES = [
    (0.1, 0.04, 2.0),
    (0.2, 0.05, 0.0),
    (0.05, 0.05, 7.5),
    (0.3, 0.1, 0.5),
    (0.01, 0.0002, 4.0),
    (0.0, 0.0, 1.0),
]


@pytest.mark.parametrize("constant", ["exact", "maurer"])
@pytest.mark.parametrize("name", MOMENT_BOUNDS)
@pytest.mark.parametrize("vote", VOTES)
def test_it_is_the_smallest_number_in_fifty_digits(name, vote, constant, exact):
    r, e, kl = vote
    target = min(0.95, REFERENCES[name].oracle(r, e) + 0.1)
    bound = get_bound(name, delta=0.03, constant=constant)
    m = samples_needed(bound, target, r, e, kl)
    assert type(m) is int
    assert exact.from_moments(name, r, e, kl, m, 0.03, constant) <= target
    # One example less is not enough; the library rounds its bounds up by less than 1e-11.
    assert exact.from_moments(name, r, e, kl, m - 1, 0.03, constant) > target - 1e-11


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_counting_up_from_one_finds_the_same(name):
    bound = get_bound(name, delta=0.1)
    target = REFERENCES[name].oracle(0.05, 0.01) + 0.35
    first = next(m for m in range(1, 10**5) if bound.from_moments(0.05, 0.01, 0.5, m) <= target)
    assert samples_needed(name, target, 0.05, 0.01, 0.5, delta=0.1) == first > 10


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_more_examples_never_undo_it(name):
    rng = np.random.default_rng(0)
    for _ in range(20):
        r = rng.uniform(0.01, 0.3)
        e = rng.uniform(r**2, r)
        kl = rng.exponential(3.0)
        target = rng.uniform(0.2, 1.0)
        bound = get_bound(name)
        m = samples_needed(name, target, r, e, kl)
        if m is None:
            continue
        for more in (m * rng.lognormal(1.0, 2.0, 20).clip(1.0)).astype(int).tolist():
            assert bound.from_moments(r, e, kl, more) <= target


@pytest.mark.parametrize("constant", ["exact", "maurer"])
@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_a_certificate_falls_with_the_sample(name, constant):
    bound = get_bound(name, delta=0.9, constant=constant)
    sizes = [*range(1, 60), *np.geomspace(60, 10**12, 200).astype(int).tolist()]
    for r, e, kl in VOTES:
        values = np.array([bound.from_moments(r, e, kl, m) for m in sizes])
        assert np.all(np.diff(values) <= 1e-11)


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
@pytest.mark.parametrize(("r", "e"), [(0.1, 0.04), (0.2, 0.05), (0.3, 0.1)])
def test_the_oracle_value_is_where_it_ends(name, r, e):
    limit = REFERENCES[name].oracle(r, e)
    assert samples_needed(name, limit - 1e-3, r, e) is None
    assert samples_needed(name, limit, r, e) is None
    assert samples_needed(name, limit + 1e-3, r, e) > 1000


def test_it_grows_with_what_is_asked():
    plain = samples_needed("lacasse", 0.3, 0.1, 0.04, 2.0)
    assert samples_needed("lacasse", 0.25, 0.1, 0.04, 2.0) > plain
    assert samples_needed("lacasse", 0.3, 0.1, 0.04, 3.0) > plain
    assert samples_needed("lacasse", 0.3, 0.1, 0.04, 2.0, delta=0.01) > plain
    exact, maurer = (get_bound("lacasse", constant=constant) for constant in ("exact", "maurer"))
    assert samples_needed(exact, 0.3, 0.1, 0.04, 2.0) == plain
    assert samples_needed(maurer, 0.3, 0.1, 0.04, 2.0) > plain


def test_a_bound_object_has_its_own_delta():
    bound = get_bound("gibbs", delta=0.01)
    named = samples_needed("gibbs", 0.3, 0.1, 0.04, delta=0.01)
    assert samples_needed(bound, 0.3, 0.1, 0.04) == named
    with pytest.raises(ValueError, match="a bound object has its parameters already"):
        samples_needed(bound, 0.3, 0.1, 0.04, delta=0.05)


def test_the_default_is_five_percent():
    explicit = samples_needed("tandem", 0.3, 0.1, 0.04, 1.0, delta=0.05)
    assert samples_needed("tandem", 0.3, 0.1, 0.04, 1.0) == explicit


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gibs", 0.3, 0.1, 0.04), "bound must be one of"),
        (("gibbs", -0.1, 0.1, 0.04), "target must be"),
        (("gibbs", 1.1, 0.1, 0.04), "target must be"),
        (("gibbs", float("nan"), 0.1, 0.04), "target must be"),
        (("gibbs", 0.3, 1.1, 0.04), "gibbs_risk must be"),
        (("gibbs", 0.3, 0.1, 0.2), "joint_error must be"),
        (("gibbs", 0.3, 0.1, 0.04, -1.0), "kl must be"),
        (("gibbs", 0.3, 0.1, 0.04, 0.0, 1.5), "delta must be"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        samples_needed(*arguments)


class Counting(Bound):
    """A bound that looks at every example, not at moments."""

    name = "counting"

    def evidence(self, statistics, weights, prior=None):
        raise AssertionError("not asked for")

    def from_evidence(self, evidence, kl):
        raise AssertionError("not asked for")

    def evaluate(self, statistics, q, p):
        raise AssertionError("not asked for")


def test_a_bound_that_is_no_function_of_moments_is_refused():
    with pytest.raises(ValueError, match="'counting' is not a function of moments and KL"):
        samples_needed(Counting(), 0.3, 0.1, 0.04)


# --- tests of a finished vote --------------------------------------------------------------------


def allowed(sizes, target, delta):
    """The most errors with which a test of each size makes the claim, −1 if none."""
    most = binom.ppf(delta, sizes, target)
    return most - (binom.cdf(most, sizes, target) > delta)


def by_scipy(sizes, target, risk, delta):
    """How probable the claim is with each size."""
    most = allowed(sizes, target, delta)
    return np.where(most < 0, 0.0, binom.cdf(most, sizes, risk))


PLANS = [
    (target, risk)
    for risk in (0.0, 0.005, 0.03, 0.1)
    for target in (0.02, 0.05, 0.2)
    if target > risk
]


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize(("target", "risk"), PLANS)
def test_a_test_is_the_smallest_that_succeeds_as_often_as_asked(target, risk, power):
    m = samples_to_test(target, risk, power=power)
    sizes = np.arange(1, 2 * m + 1)
    enough = by_scipy(sizes, target, risk, 0.05) >= power
    assert enough[m - 1 :].all()
    failing = sizes[~enough].max(initial=0)
    assert m == failing + 1


@pytest.mark.parametrize(("target", "risk"), PLANS)
def test_in_simulated_samples_it_succeeds(target, risk):
    """The library's own certificate is at most the target in four of five samples, and more."""
    rng = np.random.default_rng(0)
    needed = samples_to_test(target, risk)
    slack = 3.0 * np.sqrt(0.8 * 0.2 / 2000)
    for m in np.unique(np.linspace(needed, 2 * needed, 5).astype(int)).tolist():
        errors, times = np.unique(rng.binomial(m, risk, size=2000), return_counts=True)
        made = [clopper_pearson(int(k), m) <= target for k in errors]
        assert times[made].sum() >= 2000 * (0.8 - slack)


def test_random_plans():
    rng = np.random.default_rng(5)
    for _ in range(100):
        risk, delta = float(rng.uniform(0.0, 0.6)), float(rng.uniform(0.001, 0.5))
        target, power = float(rng.uniform(risk + 0.03, 0.99)), float(rng.uniform(0.1, 0.99))
        m = samples_to_test(target, risk, delta, power)
        sizes = np.arange(1, 3 * m + 100)
        enough = by_scipy(sizes, target, risk, delta) >= power
        assert m == sizes[: 2 * m][~enough[: 2 * m]].max(initial=0) + 1
        some = int(rng.integers(1, sizes.size))
        expected = by_scipy(sizes[some - 1], target, risk, delta)
        assert success(some, target, risk, delta) == pytest.approx(expected, abs=1e-10)


def test_a_large_plan():
    target, risk = 0.1001, 0.1
    m = samples_to_test(target, risk)
    assert m > 10**7
    assert by_scipy(np.array([m - 1]), target, risk, 0.05) < 0.8
    later = m + np.append(np.arange(100), np.random.default_rng(0).integers(m, size=100))
    assert np.all(by_scipy(later, target, risk, 0.05) >= 0.8)


def test_without_errors_it_is_a_closed_form():
    for target, delta in ((0.05, 0.05), (0.001, 0.01)):
        assert samples_to_test(target, 0.0, delta) == int(
            np.ceil(np.log(delta) / np.log1p(-target))
        )


def test_it_grows_with_the_power():
    sizes = [samples_to_test(0.05, 0.03, power=power) for power in (0.1, 0.5, 0.8, 0.95, 0.999)]
    assert sizes == sorted(set(sizes))


def test_no_number_of_examples_certifies_less_than_the_risk():
    assert samples_to_test(0.1, 0.1) is None
    assert samples_to_test(0.1, 0.2) is None
    assert samples_to_test(0.1 + 1e-9, 0.1) is None


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0, 0.1), "target"),
        ((0.1, -0.1), "risk"),
        ((0.1, 0.05, 0.0), "delta"),
        ((0.1, 0.05, 0.05, 1.0), "power"),
        ((0.1, 0.05, 0.05, 80), "power"),
    ],
)
def test_tests_that_cannot_be_planned(arguments, name):
    with pytest.raises(ValueError, match=name):
        samples_to_test(*arguments)
