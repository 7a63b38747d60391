"""Do the certificates hold? Draw samples from known distributions and count how often they fail.

A certificate at δ may fail in a fraction δ of the samples, whatever the weights. Two statements are
checked on every sample: the value is at least the true risk of the vote, and, stronger, at least
the bound's own formula at the true moments. `holds` is the only judge, and bounds that are broken
on purpose must not pass it.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest
from scipy.special import betainc, betaln, rel_entr
from scipy.stats import binom

from certivote import UnlabelledStatistics, VoteStatistics, certify, minimize
from certivote.bounds import DirichletBound, clopper_pearson, get_bound, sequential_limit
from certivote.bounds.dirichlet import bound as dirichlet
from certivote.divergences import anytime_constant, binary_kl, kl_divergence, kl_inverse_upper
from certivote.solvers import LBFGS
from reference import MOMENT_BOUNDS, REFERENCES

from .judge import holds

# Rounding of the two numbers that are compared.
ROUNDING = 1e-9
ALL_BOUNDS = [(name, constant) for name in MOMENT_BOUNDS for constant in get_bound(name).constants]
UNLABELLED_BOUNDS = [name for name in REFERENCES if REFERENCES[name].uses_unlabelled]


def test_the_judge_accepts_delta_and_rejects_much_more():
    rng = np.random.default_rng(0)
    for delta, draws in ((0.2, 60), (0.05, 2000), (1e-5, 10**7)):
        assert holds(0, draws, delta)
        assert all(holds(k, draws, delta) for k in rng.binomial(draws, delta, size=100))
        assert not holds(math.ceil(2 * draws * delta + 12), draws, delta)


# --- one lucky voter: the bounds at their tightest ---
#
# The certified vote is a single voter: n voters, independent, each errs with probability p, and the
# weight goes to the one with the fewest errors k. Then e = r = p and d = 0, the value depends on k
# only, and the distribution of k is known: the probability of a failure is computed, not sampled.


def broken_delta(bound, k, m, kl):
    """Spends ten times the δ that it claims, or more."""
    factor, _ = REFERENCES[bound.name].lies
    worse = type(bound)(delta=factor * bound.delta, constant=bound.constant)
    worse.check_parameters = lambda: None  # δ may come out above 1
    return worse.from_moments(k / m, k / m, kl, m)


def broken_size(bound, k, m, kl):
    """Counts every example twice, or more often."""
    _, times = REFERENCES[bound.name].lies
    return bound.from_moments(k / m, k / m, kl, times * m)


def broken_divergence(bound, k, m, kl):
    """Forgets that the weights were chosen after seeing the sample."""
    return bound.from_moments(k / m, k / m, 0.0, m)


def correct(bound, k, m, kl):
    return bound.from_moments(k / m, k / m, kl, m)


BREAKAGES = (broken_delta, broken_size, broken_divergence)

# Sample size, δ, number of voters.
LUCKY = [
    (1, 0.25, 1),
    (1, 0.09, 1),
    (2, 0.2, 1),
    (2, 0.24, 1),
    (3, 0.1, 1),
    (4, 0.1, 1),
    (8, 1e-3, 1),
    (16, 1e-3, 1),
    (50, 1e-4, 1),
    (200, 1e-5, 1),
    (8, 0.05, 1000),
    (20, 0.1, 10**6),
    (100, 0.1, 10**6),
]
ERROR_RATES = np.linspace(0.001, 0.999, 999)


@cache
def distribution_of_best(m, n):
    """Row p: the probabilities that the best of n voters makes 0, …, m errors."""
    one = binom.cdf(np.arange(m), m, ERROR_RATES[:, None])
    with np.errstate(divide="ignore"):  # ln 0 = −∞ where the errors are surely at most k
        some = -np.expm1(n * np.log1p(-one))  # at least one of n has at most k errors
    full = np.column_stack([np.zeros(len(ERROR_RATES)), some, np.ones(len(ERROR_RATES))])
    return np.maximum(np.diff(full, axis=1), 0.0)


@cache
def lucky_violations(name, constant, m, delta, n, variant):
    """Row p, column k: whether the value for k errors is below the truth for p.

    None where the broken δ exceeds the constant: a negative radius is no bound, nothing to catch.
    """
    bound = get_bound(name, delta=delta, constant=constant)
    try:
        values = np.array([variant(bound, k, m, math.log(n)) for k in range(m + 1)])
    except ValueError:
        if variant is not broken_delta:
            raise
        return None
    truth = np.array([max(p, bound.oracle(p, p)) for p in ERROR_RATES])
    return values < truth[:, None] - ROUNDING


def lucky_probability(name, constant, m, delta, n, variant):
    """The largest probability, over p, that the value lies below the truth."""
    violations = lucky_violations(name, constant, m, delta, n, variant)
    if violations is None:
        return 0.0
    return float((violations * distribution_of_best(m, n)).sum(axis=1).max())


def test_the_distribution_of_the_best_voter_is_that_of_a_simulation():
    rng = np.random.default_rng(1)
    row = 299
    best = rng.binomial(8, ERROR_RATES[row], size=(20_000, 25)).min(axis=1)
    seen = np.bincount(best, minlength=9) / 20_000
    np.testing.assert_allclose(distribution_of_best(8, 25)[row], seen, atol=0.015)


# --- the best of two on counts alone, where one of them speaks of r and the other of e and d ---

COUNTED = [(m, delta, n) for m, delta, n in LUCKY if n <= 1000]


def best_probability(m, delta, n, factor=1):
    """The largest probability that `best` at so many times δ is below the smaller oracle bound."""
    bound = get_bound("best", delta=factor * delta)
    values = []
    for k in range(m + 1):
        errors = k * np.eye(n, dtype=np.int64)[0]
        values.append(bound.value(VoteStatistics(m, errors, np.diag(errors)), np.eye(n)[0]))
    oracles = [get_bound(name).oracle for name in ("gibbs", "cantelli")]
    truth = np.array([max(p, min(oracle(p, p) for oracle in oracles)) for p in ERROR_RATES])
    violations = np.array(values) < truth[:, None] - ROUNDING
    return float((violations * distribution_of_best(m, n)).sum(axis=1).max())


def test_a_lucky_voter_is_certified_rightly_by_the_best_of_two():
    for m, delta, n in COUNTED:
        assert best_probability(m, delta, n) <= delta, (m, delta, n)


def test_the_best_of_two_with_too_much_delta_is_caught():
    assert any(
        best_probability(m, delta, n, factor=20) > 1.1 * delta
        for m, delta, n in COUNTED
        if 20 * delta < 1.0
    )


# --- one voter, at the default settings: how often its certificate fails, by its own sum ---


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
@pytest.mark.parametrize("m", [5, 20, 100, 700, 5_000])
def test_certificates_of_one_voter_fail_as_rarely_as_they_say(name, m):
    bound, k = get_bound(name), np.arange(m + 1)
    values = np.array([bound.from_moments(i / m, i / m, 0.0, m) for i in k])
    for p in np.geomspace(0.005, 0.5, 25):
        failing = binom.pmf(k[values < bound.oracle(p, p) - ROUNDING], m, p).sum()
        assert failing <= bound.delta
    # The same check catches a limit that has no constant and spends more than it says.
    free = np.array([kl_inverse_upper(i / m, -math.log(0.3) / m) for i in k])
    assert max(binom.pmf(k[free < p], m, p).sum() for p in np.geomspace(0.005, 0.5, 25)) > 0.05


def largest_refuted(name, m, p):
    """The largest number of errors of one voter in m examples with a certificate below p, or −1."""
    bound = get_bound(name)

    def value(k):
        votes = np.arange(m)[:, None] < k
        return bound.value(bound.count(votes, np.zeros(m, dtype=bool)), [1.0])

    low, high = -1, m  # the certificate of m errors is 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) < p - ROUNDING else (low, middle)
    return low


@pytest.mark.parametrize("name", [name for name in REFERENCES if name not in MOMENT_BOUNDS])
@pytest.mark.parametrize("m", [5, 100, 5_000])
def test_certificates_of_one_voter_that_see_all_rows_fail_as_rarely(name, m):
    """The more errors, the larger the certificate: a binomial probability says how often it fails.

    Nearly all of δ is used up, if there is but one test: more δ would be caught.
    """
    rates = np.geomspace(0.005, 0.5, 7)
    failing = [float(binom.cdf(largest_refuted(name, m, p), m, p)) for p in rates]
    assert max(failing) <= 0.05
    if name in ("heldout", "occam") and m == 5_000:
        assert max(failing) > 0.04


@pytest.mark.parametrize(("m", "n"), [(5, 2), (50, 10), (700, 3), (5_000, 40)])
def test_the_luckiest_of_many_voters_is_certified_rightly(m, n):
    """n independent voters of rates in [0.005, 0.5]: one is chosen, at the default settings."""
    rng = np.random.default_rng([m, n])
    failures = broken = 0
    for _ in range(150):
        for rates in (np.geomspace(0.005, 0.5, n), np.full(n, 0.1)):
            statistics = VoteStatistics.from_losses(rng.random((m, n)) < rates)
            result = minimize(get_bound("occam"), statistics)
            failures += result.value < rates[int(np.argmax(result.weights))]
        broken += clopper_pearson(int(statistics.errors.min()), m) < 0.1
    assert holds(failures, 300, 0.05)
    if n >= 10:
        assert not holds(broken, 150, 0.05)  # it forgets how many there were to choose from


# --- one voter on a growing sample, looked at after every example ---

LOOKS = np.arange(1, 5_001)


def refuted_at_some_size(rng, p, log_constants, delta, draws=400):
    """How many sequences have a size at which kl(k/m‖p) is beyond ln(c(m)/δ)/m."""
    m = np.arange(1, len(log_constants) + 1)
    failures = 0
    for _ in range(draws):
        k = np.cumsum(rng.random(len(m)) < p)
        divergence = rel_entr(k / m, p) + rel_entr(1 - k / m, 1 - p)
        failures += bool(np.any(m * divergence > log_constants - math.log(delta)))
    return failures


def of_all_sizes():
    """The constants of all sizes, in logarithms."""
    return np.log([anytime_constant(int(m)) for m in LOOKS])


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
def test_limits_for_all_sizes_hold_at_every_one_of_them(p):
    logs, bound = of_all_sizes(), get_bound("gibbs", constant="anytime", delta=0.1)
    for m in (1, 10, 5_000):  # what is simulated is the bound's own statement
        value = bound.from_moments(0.1, 0.05, 0.0, m)
        assert m * binary_kl(0.1, value / 2) == pytest.approx(logs[m - 1] - math.log(0.1), rel=1e-6)
    assert holds(refuted_at_some_size(np.random.default_rng(0), p, logs, 0.1), 400, 0.1)
    # Without a constant looking again and again is caught.
    free = refuted_at_some_size(np.random.default_rng(0), p, np.zeros(5_000), 0.1)
    assert not holds(free, 400, 0.1)


def refuted_of_three(rng, shares, logs, draws=400):
    """How many sequences leave the ball of three outcomes at some size."""
    truth, failures = np.array([*shares, 1 - sum(shares)]), 0
    for _ in range(draws):
        outcomes = rng.choice(3, size=LOOKS.size, p=truth)
        seen = np.cumsum(outcomes[:, None] == np.arange(3), axis=0) / LOOKS[:, None]
        failures += bool(np.any(LOOKS * rel_entr(seen, truth).sum(axis=1) > logs))
    return failures


def of_three_outcomes(delta):
    """What the divergence from the truth may be in the ball of lacasse, times each size."""
    bound = get_bound("lacasse", constant="anytime", delta=delta)
    return np.array([bound.radius(2, 0.0, int(m), outcomes=3) * m for m in LOOKS])


@pytest.mark.parametrize("shares", [(0.01, 0.05), (0.1, 0.2), (0.3, 0.4)])
def test_limits_of_three_outcomes_hold_at_every_size(shares):
    """Both of two voters err, one of them, none: lacasse's ball, after every example."""
    delta, logs = 0.1, of_three_outcomes(0.1)
    np.testing.assert_allclose(logs, np.log((2 * LOOKS + 1) / delta), rtol=1e-12)
    assert holds(refuted_of_three(np.random.default_rng(2), shares, logs), 400, delta)
    # Looking again and again without a constant is caught.
    free = refuted_of_three(np.random.default_rng(2), shares, -math.log(delta))
    assert not holds(free, 400, delta)


def mixtures(k, p, c, d):
    """The logarithm of the mixture at p, at each size: it reaches ln(1/δ) where the limit is below.

    It grows with p.
    """
    inside = betainc(k + 1, LOOKS - k + 1, d * p) - betainc(k + 1, LOOKS - k + 1, c * p)
    with np.errstate(divide="ignore"):  # far off, nothing is inside
        logs = betaln(k + 1, LOOKS - k + 1) + np.log(np.maximum(inside, 0.0) / (d - c))
    return logs - ((k + 1) * np.log(p) + (LOOKS - k) * np.log1p(-p))


@pytest.mark.parametrize(("c", "d"), [(0.0, 1.0), (0.3, 0.8)])
@pytest.mark.parametrize("p", [0.005, 0.1, 0.5])
def test_sequential_limits_hold_at_every_size(p, c, d):
    rng, failures, fixed = np.random.default_rng(1), 0, 0
    for _ in range(400):
        k = np.cumsum(rng.random(LOOKS.size) < p)
        logs = mixtures(k, p, c, d)
        failures += bool(np.any(logs >= math.log(10)))
        fixed += bool(np.any(binom.cdf(k, LOOKS, p) <= 0.1))
    last = sequential_limit(int(k[-1]), 5_000, 0.1, (c, d))
    assert (last < p) == (logs[-1] >= math.log(10))
    assert holds(failures, 400, 0.1)
    assert not holds(fixed, 400, 0.1)  # the limit of one size does not survive looking again


def refuted_by_mixture(rng, p, pair, delta, draws):
    """How many sequences have a size at which the sequential limit is below p."""
    failures = 0
    for _ in range(draws):
        k = np.cumsum(rng.random(LOOKS.size) < p)
        failures += bool(np.any(mixtures(k, p, *pair) >= -math.log(delta)))
    return failures


# The same on more sequences, at the default δ.
EVERY_SIZE = {
    **{
        f"gibbs, p = {p}": lambda rng, delta, draws, p=p: refuted_at_some_size(
            rng, p, of_all_sizes(), delta, draws
        )
        for p in (0.01, 0.1, 0.5)
    },
    **{
        f"lacasse, p = {', '.join(map(str, shares))}": lambda rng, delta, draws, shares=shares: (
            refuted_of_three(rng, shares, of_three_outcomes(delta), draws)
        )
        for shares in ((0.01, 0.05), (0.1, 0.2), (0.3, 0.4))
    },
    **{
        f"heldout, mixture {pair}, p = {p}": lambda rng, delta, draws, p=p, pair=pair: (
            refuted_by_mixture(rng, p, pair, delta, draws)
        )
        for pair in ((0.0, 1.0), (0.3, 0.8))
        for p in (0.005, 0.1, 0.5)
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY_SIZE)
def test_limits_hold_at_every_size_on_many_sequences(name, validity_table):
    delta, sequences = 0.05, 2000
    failures = EVERY_SIZE[name](np.random.default_rng(3), delta, sequences)
    validity_table("pipeline", f"every size, {name}", delta, sequences, failures)
    assert holds(failures, sequences, delta)


# --- two voters that disagree: the statement on d ---
#
# Two voters of weight ½ that never err together: one of them errs on k of m examples, and then
# r = d = 2e = k/2m. Where k is too large only the statement on d can fail, and only with it does
# the true (e, d) leave the region that a bound claims.

SPLIT_BOUNDS = [pair for pair in ALL_BOUNDS if REFERENCES[pair[0]].limits_disagreement]
DISAGREEING = [(200, 1e-3), (50, 1e-4), (1000, 1e-5)]


def disagreement_probability(name, constant, m, delta, times):
    """The largest probability, over p, that d is below what examples counted so often claim."""
    bound = get_bound(name, delta=delta, constant=constant)
    rates = np.linspace(0.02, 0.98, 49)
    k = np.arange(m + 1)
    outside = np.empty((len(rates), m + 1), dtype=bool)
    for i in k:
        moments = {"gibbs_risk": i / m / 2, "joint_error": i / m / 4, "disagreement": i / m / 2}
        sizes = dict.fromkeys(("gibbs_size", "joint_size", "disagreement_size"), times * m)
        excess = bound.confidence_region(moments | sizes, 0.0)
        outside[:, i] = excess(rates / 4, rates / 2) > ROUNDING
    too_large = k > rates[:, None] * m
    return float(np.sum(outside * too_large * binom.pmf(k, m, rates[:, None]), axis=1).max())


@pytest.mark.parametrize(("name", "constant"), SPLIT_BOUNDS)
def test_the_statement_on_the_disagreement_holds(name, constant):
    for m, delta in DISAGREEING:
        assert disagreement_probability(name, constant, m, delta, times=1) <= delta


@pytest.mark.parametrize(("name", "constant"), SPLIT_BOUNDS)
def test_a_broken_statement_on_the_disagreement_is_caught(name, constant):
    assert any(
        disagreement_probability(name, constant, m, delta, times=30) > 2 * delta
        for m, delta in DISAGREEING
    )


# --- votes of several voters, with weights that an adversary chooses ---


@dataclass(frozen=True, eq=False)
class World:
    """A distribution on finitely many loss patterns, so that every true risk is known."""

    patterns: np.ndarray
    probabilities: np.ndarray
    m: int
    delta: float

    @property
    def n(self):
        return self.patterns.shape[1]

    def draw(self, rng):
        counts = rng.multinomial(self.m, self.probabilities)
        tandem = self.patterns.T @ (counts[:, None] * self.patterns)
        return VoteStatistics(self.m, np.diagonal(tandem), tandem)

    def truth(self, weights):
        """The true r, e and P(W ≥ ½) for each row of weights."""
        erring = self.patterns @ weights.T
        risk = self.probabilities @ (erring >= 0.5 - 1e-12)
        return self.probabilities @ erring, self.probabilities @ erring**2, risk

    @cached_property
    def fixed_weights(self):
        rng = np.random.default_rng(0)
        mixed = [rng.dirichlet(np.full(self.n, a), size=8) for a in (0.2, 1.0)]
        return np.vstack([np.full((1, self.n), 1 / self.n), np.eye(self.n), *mixed])

    def lucky_weights(self, statistics):
        """Weights on the voters that look good, and on those that look better than they are."""
        looks = statistics.errors / self.m
        better = looks - self.probabilities @ self.patterns
        logits = np.vstack([-t * x for x in (looks, better) for t in (3.0, 10.0, 30.0)])
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def make_world(n, n_patterns, rate, m, delta, seed, together=0.0, spread=1.0):
    """Random patterns: every voter errs at `rate`, and all at once with probability `together`."""
    rng = np.random.default_rng(seed)
    patterns = rng.random((n_patterns, n)) < rate * rng.uniform(1 - spread, 1 + spread, size=n)
    patterns[0] = True
    probabilities = rng.dirichlet(np.ones(n_patterns - 1)) * (1 - together)
    return World(patterns.astype(np.int64), np.append(together, probabilities), m, delta)


WORLDS = {
    "easy": make_world(8, 60, 0.15, m=200, delta=0.1, seed=1),
    "hard": make_world(8, 60, 0.45, m=60, delta=0.2, seed=2, spread=0.3),
    "small sample": make_world(5, 20, 0.1, m=6, delta=0.3, seed=3),
    "more voters than examples": make_world(60, 40, 0.3, m=20, delta=0.2, seed=4, spread=0.5),
    "all err together": make_world(10, 50, 0.1, m=100, delta=0.2, seed=5, together=0.15),
    # Two voters that never err together: the even vote is tied wherever one errs.
    "ties": World(np.array([[1, 0], [0, 1], [0, 0]]), np.array([0.2, 0.2, 0.6]), 30, 0.3),
}


def truth_for(bound, world, weights):
    """What the value must not lie below: the true risk, and the bound's formula at the truth."""
    r, e, risk = world.truth(weights)
    if not hasattr(bound, "oracle"):
        return risk
    published = REFERENCES[bound.name].published_oracle if bound.constant == "maurer" else None
    oracle = published or bound.oracle
    return np.maximum(risk, [oracle(*pair) for pair in zip(r, np.minimum(e, r), strict=True)])


def adversary_violations(name, constant, world, draws, seed):
    """Samples on which an adversary who knows the truth finds weights that refute the bound."""
    bound = get_bound(name, delta=world.delta, constant=constant)
    prior = np.full(world.n, 1 / world.n)
    fixed = world.fixed_weights
    fixed_truth = truth_for(bound, world, fixed)
    fixed_kl = [kl_divergence(q, prior) for q in fixed]
    rng, violations = np.random.default_rng(seed), 0
    for _ in range(draws):
        statistics = world.draw(rng)
        chosen = np.vstack([world.lucky_weights(statistics), learned(bound, statistics)])
        weights = np.vstack([fixed, chosen])
        r = weights @ statistics.errors / world.m
        e = np.minimum(r, np.sum(weights @ statistics.tandem * weights, axis=1) / world.m)
        kl = fixed_kl + [kl_divergence(q, prior) for q in chosen]
        values = [bound.from_moments(*point, world.m) for point in zip(r, e, kl, strict=True)]
        truth = np.append(fixed_truth, truth_for(bound, world, chosen))
        violations += bool(np.any(values < truth - ROUNDING))
    return violations


def learned(bound, statistics):
    """The weights with the smallest certificate, or nearly."""
    solver = LBFGS(n_tempered=1, n_single=1, tol=1e-3)
    return minimize(bound, statistics, solver=solver).weights


def learner_violations(name, constant, world, draws, seed):
    """Samples on which the weights with the smallest certificate refute it."""
    bound = get_bound(name, delta=world.delta, constant=constant)
    rng, violations = np.random.default_rng(seed), 0
    for _ in range(draws):
        statistics = world.draw(rng)
        weights = learned(bound, statistics)
        value = bound.value(statistics, weights)
        violations += bool(value < truth_for(bound, world, weights[None, :])[0] - ROUNDING)
    return violations


def test_the_truth_of_a_world_is_that_of_a_large_sample():
    world = WORLDS["all err together"]
    rng = np.random.default_rng(2)
    sample = world.patterns[rng.choice(len(world.patterns), size=200_000, p=world.probabilities)]
    weights = rng.dirichlet(np.ones(world.n))
    erring = sample @ weights
    r, e, risk = world.truth(weights[None, :])
    assert erring.mean() == pytest.approx(r[0], abs=5e-3)
    assert (erring**2).mean() == pytest.approx(e[0], abs=5e-3)
    assert (erring >= 0.5).mean() == pytest.approx(risk[0], abs=5e-3)
    assert 0.15 <= risk[0] < 1.0
    tied = WORLDS["ties"].truth(np.array([[0.5, 0.5], [0.6, 0.4]]))[2]
    np.testing.assert_allclose(tied, [0.4, 0.2])


class ValidityKit:
    """For any bound that r, e, d, KL and m determine, with either constant."""

    def test_a_lucky_voter_is_certified_rightly(self, name, constant):
        for m, delta, n in LUCKY:
            assert lucky_probability(name, constant, m, delta, n, correct) <= delta, (m, delta, n)

    @pytest.mark.parametrize("breakage", BREAKAGES)
    def test_a_broken_bound_is_caught(self, name, constant, breakage):
        # By more than a tenth of δ: not by rounding.
        assert any(
            lucky_probability(name, constant, m, delta, n, breakage) > 1.1 * delta
            for m, delta, n in LUCKY
        )

    @pytest.mark.parametrize("scenario", WORLDS)
    def test_certificates_hold_against_an_adversary(self, name, constant, scenario):
        world = WORLDS[scenario]
        assert holds(adversary_violations(name, constant, world, 30, seed=10), 30, world.delta)

    @pytest.mark.parametrize("scenario", ["hard", "small sample", "more voters than examples"])
    def test_certificates_of_learned_weights_hold(self, name, constant, scenario):
        world = WORLDS[scenario]
        assert holds(learner_violations(name, constant, world, 12, seed=11), 12, world.delta)


@pytest.mark.parametrize(("name", "constant"), ALL_BOUNDS)
class TestMomentBounds(ValidityKit):
    pass


@pytest.mark.parametrize("scenario", WORLDS)
def test_the_best_of_two_on_counts_holds_against_an_adversary(scenario):
    """No row is kept, so that the members are bounds on moments; they hold both at once."""
    world, rng, draws = WORLDS[scenario], np.random.default_rng(15), 30
    bound = get_bound("best", delta=world.delta)
    oracles = [get_bound(name) for name in ("gibbs", "cantelli")]
    violations = 0
    for _ in range(draws):
        statistics = world.draw(rng)
        chosen = [world.lucky_weights(statistics), learned(bound, statistics)]
        weights = np.vstack([world.fixed_weights, *chosen])
        values = [bound.value(statistics, q) for q in weights]
        truth = np.min([truth_for(oracle, world, weights) for oracle in oracles], axis=0)
        violations += bool(np.any(values < truth - ROUNDING))
    assert holds(violations, draws, world.delta)
    certificate = certify(statistics, delta=world.delta)
    assert dict(certificate.bound_parameters["shares"]) == {"gibbs": 0.5, "cantelli": 0.5}


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_an_empirical_value_is_caught_by_the_same_check(name, monkeypatch):
    # The bound's formula at the empirical moments certifies nothing.
    bound_class = type(get_bound(name))
    monkeypatch.setattr(
        bound_class, "from_moments", lambda self, r, e, kl, m: self.oracle(r, e), raising=True
    )
    world = WORLDS["all err together"]
    violations = adversary_violations(name, "maurer", world, 40, seed=12)
    assert not holds(violations, 40, world.delta)


# --- unlabelled examples ---
#
# With two classes two voters disagree where one of them errs: patterns of losses are enough.

UNLABELLED = [(name, constant) for name, constant in ALL_BOUNDS if name in UNLABELLED_BOUNDS]
# Labelled and unlabelled examples, and δ.
UNLABELLED_WORLDS = {
    "few labels": (make_world(8, 60, 0.3, m=100, delta=0.2, seed=31, spread=0.5), 3_000),
    "all err together": (make_world(8, 60, 0.15, 150, 0.3, seed=32, together=0.2), 1_000),
    "many labels": (make_world(8, 60, 0.15, 20_000, 0.1, seed=35, together=0.2), 10**6),
    "as many as labels": (make_world(5, 30, 0.45, m=40, delta=0.3, seed=33, spread=0.2), 40),
    "more voters than examples": (make_world(60, 40, 0.3, 20, 0.2, seed=34, spread=0.5), 30),
}


def draw_unlabelled(world, m, rng):
    counts = rng.multinomial(m, world.probabilities)
    both = world.patterns.T @ (counts[:, None] * world.patterns)
    alone = np.diagonal(both)
    return UnlabelledStatistics(m, alone[:, None] + alone - 2 * both)


def as_it_is(statistics, unlabelled):
    return statistics.with_unlabelled(unlabelled)


def other_distribution(statistics, unlabelled):
    """Unlabelled examples of another kind: the voters disagree wherever they can."""
    n = statistics.n_voters
    sides = np.arange(n) % 2
    split = unlabelled.n_samples * (sides[:, None] != sides)
    return statistics.with_unlabelled(UnlabelledStatistics(unlabelled.n_samples, split))


def both_err(statistics, unlabelled):
    """Three classes: voters that err alike also differ, half of the time."""
    n, m = statistics.n_voters, unlabelled.n_samples
    more = unlabelled.disagreements + statistics.tandem * m // (2 * statistics.n_samples)
    more = np.minimum(more * (1 - np.eye(n, dtype=np.int64)), m)
    return statistics.with_unlabelled(UnlabelledStatistics(m, more))


def unlabelled_violations(name, constant, scenario, draws, seed, join=as_it_is):
    """Samples on which some weights refute the bound, its d from unlabelled examples too."""
    world, m = UNLABELLED_WORLDS[scenario]
    bound = get_bound(name, delta=world.delta, constant=constant)
    rng, violations = np.random.default_rng(seed), 0
    for _ in range(draws):
        statistics = join(world.draw(rng), draw_unlabelled(world, m, rng))
        weights = np.vstack(
            [world.fixed_weights, world.lucky_weights(statistics), learned(bound, statistics)]
        )
        values = [bound.value(statistics, q) for q in weights]
        violations += bool(np.any(values < truth_for(bound, world, weights) - ROUNDING))
    return violations


@pytest.mark.parametrize("scenario", UNLABELLED_WORLDS)
@pytest.mark.parametrize(("name", "constant"), UNLABELLED)
def test_certificates_with_unlabelled_examples_hold(name, constant, scenario):
    delta = UNLABELLED_WORLDS[scenario][0].delta
    assert holds(unlabelled_violations(name, constant, scenario, 10, seed=13), 10, delta)


@pytest.mark.parametrize("join", [other_distribution, both_err])
@pytest.mark.parametrize("name", UNLABELLED_BOUNDS)
def test_unlabelled_examples_that_break_the_assumptions_are_caught(name, join):
    violations = unlabelled_violations(name, "maurer", "many labels", 15, seed=14, join=join)
    assert not holds(violations, 15, UNLABELLED_WORLDS["many labels"][0].delta)


@pytest.mark.slow
@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_a_lucky_voter_is_certified_rightly_for_many_sizes(name):
    for m in (1, 2, 3, 5, 8, 13, 21, 34, 89, 233):
        for delta, n in ((0.3, 1), (0.05, 1), (1e-3, 1), (0.3, 50), (0.05, 10**5)):
            assert lucky_probability(name, "exact", m, delta, n, correct) <= delta


# --- votes drawn near the weights: the bound that sees every example ---

# Cells for samples as small as these.
MARGIN_CELLS = ((1e4, 3.0, 0.4), (30.0, 1.0, 0.3), (5.0, 0.5, 0.3))


def multiclass_world(seed, m, delta, n=7, classes=4):
    """Voters that name a class: the risk is that of the plurality vote, not P(W ≥ ½)."""
    rng = np.random.default_rng(seed)
    named = np.where(rng.random((60, n)) < 0.4, rng.integers(1, classes, size=(60, n)), 0)
    world = World((named > 0).astype(np.int64), rng.dirichlet(np.ones(60)), m, delta)
    return world, named


def risk_of(world, weights, named=None):
    if named is None:
        return float(world.truth(weights[None, :])[2][0])
    shares = np.stack([(named == label) @ weights for label in range(named.max() + 1)], axis=1)
    # The right class is 0, and loses every tie.
    return float(world.probabilities @ (shares[:, 1:].max(axis=1) >= shares[:, 0] - 1e-12))


def draw_rows(world, rng):
    counts = rng.multinomial(world.m, world.probabilities)
    return VoteStatistics.from_losses(np.repeat(world.patterns, counts, axis=0), keep_rows=True)


def candidates(world, bound, statistics):
    """Weights that an adversary may choose: the prior, lucky ones near it, and the learned ones."""
    prior = np.full(world.n, 1 / world.n)
    lucky = world.lucky_weights(statistics)
    near = [0.5 * prior + 0.5 * weights for weights in lucky[[0, 2, 3, 5]]]
    solver = LBFGS(n_tempered=1, n_single=0, tol=1e-3)
    return [prior, *near, minimize(bound, statistics, solver=solver).weights]


def margin_violations(world, draws, seed, named=None, constant="maurer"):
    bound = DirichletBound(world.delta, constant, MARGIN_CELLS)
    rng, count, informative = np.random.default_rng(seed), 0, 0
    for _ in range(draws):
        statistics = draw_rows(world, rng)
        weights = candidates(world, bound, statistics)
        values = [bound.value(statistics, q) for q in weights]
        truth = [risk_of(world, q, named) for q in weights]
        count += any(value < risk - 1e-9 for value, risk in zip(values, truth, strict=True))
        informative += min(values) < 0.999
    return count, informative


@pytest.mark.parametrize("scenario", WORLDS)
def test_margin_certificates_hold_against_an_adversary(scenario):
    world, draws = WORLDS[scenario], 12
    count, informative = margin_violations(world, draws, seed=10)
    assert holds(count, draws, world.delta)
    assert informative > 0 or scenario in ("hard", "ties")


def test_certificates_of_plurality_votes_hold():
    world, named = multiclass_world(0, m=150, delta=0.2)
    uniform = np.full(7, 1 / 7)
    # With several classes the vote may be right where most voters err.
    assert risk_of(world, uniform, named) < risk_of(world, uniform)
    count, informative = margin_violations(world, 12, seed=11, named=named)
    assert holds(count, 12, 0.2)
    assert informative > 0


# --- one voter, where the bound is at its tightest: with it, the loss with margin is the loss ---

ALONE = [(1, 0.25), (1, 0.09), (2, 0.2), (3, 0.1), (8, 1e-3), (50, 1e-4)]


def failure_probability(m, bound, size):
    """The largest probability, over the error rate, that the value is below it."""
    cell = {"cell": 0, "concentration": 1e6}
    values = np.array(
        [
            bound.from_evidence({**cell, "margin_loss": k / m, "margin_size": size}, [1.0], [1.0])
            for k in range(m + 1)
        ]
    )
    below = values < ERROR_RATES[:, None] - 1e-9
    return float((below * binom.pmf(np.arange(m + 1), m, ERROR_RATES[:, None])).sum(axis=1).max())


@pytest.mark.parametrize("constant", DirichletBound.constants)
def test_one_voter_is_certified_rightly(constant):
    for m, delta in (*ALONE, (5, 0.05), (700, 0.05)):
        bound = DirichletBound(delta, constant, ((1e6, 4.0, 1.0),))
        assert failure_probability(m, bound, m) <= delta


def test_ten_times_the_delta_is_caught():
    probabilities = [
        failure_probability(m, DirichletBound(10 * delta, "exact", ((1e6, 4.0, 1.0),)), m)
        for m, delta in ALONE
        if 10 * delta < 1.0
    ]
    deltas = [delta for _, delta in ALONE if 10 * delta < 1.0]
    assert any(p > delta for p, delta in zip(probabilities, deltas, strict=True))


def test_examples_that_count_twice_are_caught():
    assert any(
        failure_probability(m, DirichletBound(delta, "exact", ((1e6, 4.0, 1.0),)), 2 * m) > delta
        for m, delta in ALONE
    )


def chosen_violations(draws=60, m=20, n=200, delta=0.1):
    """Coins, and nearly all weight on the one that looks best: its risk is ½ nevertheless."""
    bound = DirichletBound(delta, cells=((30.0, 1.5, 1.0),))
    rng, count = np.random.default_rng(3), 0
    for _ in range(draws):
        losses = rng.random((m, n)) < 0.5
        weights = np.full(n, 0.1 / n)
        weights[losses.sum(axis=0).argmin()] += 0.9
        statistics = VoteStatistics.from_losses(losses, keep_rows=True)
        evidence = bound.evidence_again({"cell": 0, "concentration": 100.0}, statistics, weights)
        count += bound.from_evidence(evidence, weights, np.full(n, 1 / n)) < 0.5
    return count, draws, delta


def test_a_forgotten_divergence_is_caught(monkeypatch):
    assert holds(*chosen_violations())
    monkeypatch.setattr(dirichlet, "dirichlet_kl", lambda *arguments: 0.0)
    assert not holds(*chosen_violations())


def tied_violations(draws=40, m=200, delta=0.1):
    """Of two voters always one errs: the even vote is always tied, and errs with every one."""
    bound = DirichletBound(delta, cells=((30.0, 0.05, 1.0),))
    rng, count = np.random.default_rng(4), 0
    for _ in range(draws):
        first = rng.random(m) < 0.5
        statistics = VoteStatistics.from_losses(np.stack([first, ~first], 1), keep_rows=True)
        evidence = bound.evidence_again({"cell": 0, "concentration": 30.0}, statistics, [0.5, 0.5])
        count += bound.from_evidence(evidence, [0.5, 0.5], [0.5, 0.5]) < 1.0 - 1e-9
    return count, draws, delta


def test_a_forgotten_margin_is_caught(monkeypatch):
    assert holds(*tied_violations())
    monkeypatch.setattr(dirichlet, "_failure", lambda *arguments: (0.0, 0.0))
    assert not holds(*tied_violations())
