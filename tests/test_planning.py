"""How many certification examples a claim needs: the smallest number, and no number too small."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betaincc
from scipy.stats import binom

from certivote import samples_needed, samples_to_test
from certivote.bounds import Bound, clopper_pearson, get_bound
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


# --- tests of a finished vote ---


# Shares of errors as fractions, and how far the target is above them.
SHARES = [Fraction(1, 300), Fraction(1, 10), Fraction(1, 3), Fraction(7, 23), Fraction(9, 10)]
GAPS = (0.02, 0.05, 0.09)


def claims(share, target, delta, sizes):
    """Whether a test of each size reaches the target, with the vote's share of errors, rounded up.

    As a table of scipy's binomial distribution, not by the library.
    """
    errors = np.array([-(-share.numerator * m // share.denominator) for m in sizes.tolist()])
    return binom.cdf(errors, sizes, target) <= delta


@pytest.mark.parametrize("delta", [0.05, 0.5, 1e-6])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("share", SHARES)
def test_a_test_is_the_smallest_from_which_on_the_claim_is_reached(share, gap, delta):
    target = float(share) + gap
    m = samples_to_test(target, float(share), delta)
    sizes = np.arange(1, 4 * m + 2000)
    reached = claims(share, target, delta, sizes)
    assert m == sizes[~reached].max() + 1


def test_every_error_lifts_the_certificate():
    # One error in a little less than 300 examples claims 0.02; two in 301 do not.
    share, target, delta = Fraction(1, 300), 0.02, 0.05
    sizes = np.arange(1, 5000)
    reached = claims(share, target, delta, sizes)
    first, m = sizes[reached][0], samples_to_test(target, 1 / 300, delta)
    assert first < 300 < m
    assert not reached[300]  # 301 examples, 2 errors
    assert not reached[m - 2]
    assert reached[m - 1 :].all()


@pytest.mark.parametrize(("risk", "target"), [(0.0, 0.05), (0.1, 0.11), (0.25, 0.3), (0.01, 0.5)])
@pytest.mark.parametrize("delta", [0.05, 1e-6, 1e-300])
def test_the_library_gives_the_certificate_that_was_planned(risk, target, delta):
    m, share = samples_to_test(target, risk, delta), Fraction(str(risk))
    for size in (m, m + 1, 2 * m, 10 * m + 3):
        assert clopper_pearson(math.ceil(share * size), size, delta) <= target
    assert clopper_pearson(math.ceil(share * (m - 1)), m - 1, delta) > target


def test_random_plans():
    rng = np.random.default_rng(5)
    for _ in range(200):
        risk, delta = float(rng.uniform(0.0, 0.6)), float(rng.uniform(0.001, 0.9))
        target = float(rng.uniform(risk + 0.03, 1.0))
        m = samples_to_test(target, risk, delta)
        sizes = np.arange(1, 3 * m + 500)
        assert m == sizes[~claims(Fraction(risk), target, delta, sizes)].max(initial=0) + 1


def test_a_large_plan():
    # One error of ten in billions: the saw is fine there, and the last failing tooth still found.
    target, share = 0.10001, Fraction(1, 10)
    m = samples_to_test(target, 0.1)
    assert m > 10**9
    errors = math.ceil(share * (m - 1))
    assert clopper_pearson(errors, m - 1) > target
    later = m + np.append(np.arange(100), np.random.default_rng(0).integers(10**6, size=100))
    for size in later.tolist():
        assert clopper_pearson(math.ceil(share * size), size) <= target


def test_with_a_share_of_errors_and_one_more_the_tail_falls():
    # On this the search for the last failing tooth is built.
    rng = np.random.default_rng(6)
    for _ in range(200):
        p = rng.uniform(0.0, 1.0)
        x = rng.uniform(p, 1.0)
        sizes = np.unique(np.concatenate([np.geomspace(1, 1e5, 200), np.arange(1.0, 100.0)]))
        sizes = sizes[p * sizes + 1.0 < sizes]
        tails = betaincc(p * sizes + 2.0, sizes - p * sizes - 1.0, x)
        assert np.all(np.diff(tails) <= 1e-9 * tails[:-1])


def test_without_errors_it_is_a_closed_form():
    for target, delta in ((0.05, 0.05), (0.001, 0.01)):
        assert samples_to_test(target, 0.0, delta) == int(
            np.ceil(np.log(delta) / np.log1p(-target))
        )


def test_no_number_of_examples_certifies_less_than_the_risk():
    assert samples_to_test(0.1, 0.1) is None
    assert samples_to_test(0.1, 0.2) is None


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0.0, 0.1), "target"), ((0.1, -0.1), "risk"), ((0.1, 0.05, 0.0), "delta")],
)
def test_tests_that_cannot_be_planned(arguments, name):
    with pytest.raises(ValueError, match=name):
        samples_to_test(*arguments)
