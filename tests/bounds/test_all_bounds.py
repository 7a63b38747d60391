"""What must hold for every bound of the registry, with any constant.

The kits are classes of tests that take the name of a bound, and ask tests/reference.py for what is
known about it: test_register.py runs them on a bound that is not the library's.
"""

import gc
import importlib
import math
import pickle
import pkgutil
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import certivote.bounds
from certivote import VoteStatistics
from certivote.bounds import Bound, MomentBound, get_bound, list_bounds, list_moment_bounds
from reference import DESCENDED, MOMENT_BOUNDS, REFERENCES

# None is the smallest valid one, which is another for some.
CONSTANTS = ("maurer", "exact", None)
SIZES = (20, 60, 200, 1_000, 10_000, 100_000)
SEEDS = range(6)

every_constant = pytest.mark.parametrize("constant", CONSTANTS)


def losses_of(seed, m, n, easy=True):
    """Correlated losses: every example has its difficulty, every voter its skill."""
    rng = np.random.default_rng([seed, m, n])
    difficulty = rng.beta(0.3, 2.5 if easy else 0.7, size=(m, 1))
    skill = rng.uniform(0.6, 1.4, size=n)
    return rng.random((m, n)) < np.clip(difficulty * skill, 0.0, 1.0)


def statistics_of(losses):
    """Statistics that have all that any bound needs."""
    return VoteStatistics.from_losses(losses, keep_rows=True)


def of_voters(statistics, index):
    """The statistics of some of the voters, in any order, perhaps several times."""
    losses = np.unpackbits(statistics.rows, axis=1, count=statistics.n_voters)
    return statistics_of(losses[:, index])


@cache
def instance(seed, m, easy=True):
    """Statistics, weights well inside the simplex and a positive prior."""
    rng = np.random.default_rng([seed, m])
    n = int(rng.integers(2, 12))
    statistics = statistics_of(losses_of(seed, m, n, easy))
    prior = rng.dirichlet(np.full(n, 3.0)) * 0.9 + 0.1 / n
    weights = rng.dirichlet(np.full(n, 2.0)) * 0.9 + 0.1 / n
    if seed % 3 == 0:  # near the prior, where small samples still certify something
        weights = 0.95 * prior + 0.05 * weights
    return statistics, weights / weights.sum(), prior / prior.sum()


def tangents(rng, weights, count=3):
    """Directions along the simplex, none moving a weight by more than itself."""
    for _ in range(count):
        direction = rng.standard_normal(weights.size)
        direction -= direction.mean()
        yield direction * weights.min() / np.abs(direction).max()


def central_difference(function, weights, direction, h=3e-3):
    """A derivative of fourth order: (8(f₁−f₋₁) − (f₂−f₋₂))/12h."""
    one, two = (
        function(weights + k * h * direction) - function(weights - k * h * direction)
        for k in (1, 2)
    )
    return (8 * one - two) / (12 * h)


_BASE = losses_of(11, 50, 3)
_HALF = np.arange(50)[:, None] % 2
CORNERS = {
    "no errors": np.zeros((50, 3), int),
    "only errors": np.ones((50, 3), int),
    "identical voters": np.repeat(_BASE[:, :1], 3, axis=1),
    "a perfect voter": np.concatenate([np.zeros((50, 1), bool), _BASE[:, 1:]], axis=1),
    "every other example": np.repeat(_HALF, 3, axis=1),
    "complementary voters": np.concatenate([_HALF, 1 - _HALF, _HALF], axis=1),
    "one example": np.array([[0, 1, 0]]),
    "one example, all err": np.array([[1, 1, 1]]),
    "many examples": losses_of(12, 20_000, 3),
}
CORNER_WEIGHTS = {
    "uniform": [1 / 3, 1 / 3, 1 / 3],
    "one voter without weight": [0.0, 0.5, 0.5],
    "one voter with weight": [1.0, 0.0, 0.0],
    "tiny weight": [1.0 - 2e-60, 1e-60, 1e-60],
}


class BoundKit:
    """For any bound that solvers descend."""

    @pytest.mark.parametrize("m", SIZES)
    @every_constant
    def test_gradient_against_finite_differences(self, name, constant, m):
        bound = get_bound(name, constant=constant)
        rng = np.random.default_rng(m)
        checked = 0
        # What sees single examples changes within a small step of the weights.
        h = 3e-3 if isinstance(bound, MomentBound) else 3e-5
        for seed in SEEDS if isinstance(bound, MomentBound) or m < 10_000 else SEEDS[:3]:
            statistics, weights, prior = instance(seed, m)
            value, gradient = bound.value_and_gradient(statistics, weights, prior)
            if value >= 0.999:
                continue
            checked += 1
            for direction in tangents(rng, weights):
                slope = central_difference(
                    lambda q: bound.value(statistics, q, prior),  # noqa: B023
                    weights,
                    direction,
                    h,
                )
                size = float(np.abs(gradient) @ np.abs(direction))
                assert float(gradient @ direction) == pytest.approx(
                    slope, rel=1e-6, abs=1e-7 * size
                )
        assert checked >= (3 if m >= 1_000 else 0)

    @every_constant
    def test_small_samples_are_checked_too(self, name, constant):
        """The test above skips flat values: not all of those of small samples may be."""
        bound = get_bound(name, constant=constant)
        values = [bound.value(*instance(seed, m)) for m in (60, 200) for seed in SEEDS]
        assert sum(value < 0.999 for value in values) >= 2

    @pytest.mark.parametrize("m", SIZES)
    def test_fused_value_is_the_value(self, name, m):
        bound = get_bound(name)
        for seed in SEEDS:
            arguments = instance(seed, m)
            assert bound.value_and_gradient(*arguments)[0] == bound.value(*arguments)

    @pytest.mark.parametrize("m", SIZES)
    def test_exact_constant_is_never_worse(self, name, m):
        smaller = 0
        for seed in SEEDS:
            arguments = instance(seed, m)
            exact_value = get_bound(name, constant="exact").value(*arguments)
            published = get_bound(name, constant="maurer").value(*arguments)
            assert exact_value <= published
            assert get_bound(name).value(*arguments) <= exact_value
            smaller += exact_value < published
        assert smaller > 0 or REFERENCES[name].flat

    def test_value_is_the_value_of_its_evidence(self, name):
        bound = get_bound(name)
        for seed in SEEDS:
            statistics, weights, prior = instance(seed, 200)
            evidence = bound.evidence(statistics, weights, prior)
            again = bound.from_evidence(evidence, weights, prior)
            assert again == pytest.approx(bound.value(statistics, weights, prior), abs=1e-13)

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(data=st.data())
    def test_order_of_the_voters_is_irrelevant(self, name, data):
        seed, m = data.draw(st.sampled_from(SEEDS)), data.draw(st.sampled_from(SIZES[:4]))
        statistics, weights, prior = instance(seed, m)
        order = np.array(data.draw(st.permutations(range(weights.size))))
        shuffled = of_voters(statistics, order)
        bound = get_bound(name)
        value, gradient = bound.value_and_gradient(statistics, weights, prior)
        again, gradient_again = bound.value_and_gradient(shuffled, weights[order], prior[order])
        assert again == pytest.approx(value, abs=1e-12)
        assert gradient_again == pytest.approx(gradient[order], abs=1e-9 * np.abs(gradient).max())

    def test_a_voter_the_prior_excludes_does_not_count(self, name):
        statistics, _, _ = instance(4, 1_000)
        n = statistics.n_voters
        weights, prior = (
            np.r_[np.full(n - 1, 1 / (n - 1)), 0.0],
            np.r_[np.full(n - 1, 1 / (n - 1)), 0],
        )
        fewer = of_voters(statistics, np.arange(n - 1))
        bound = get_bound(name)
        value, gradient = bound.value_and_gradient(statistics, weights, prior)
        expected, expected_gradient = bound.value_and_gradient(fewer, weights[:-1], prior[:-1])
        assert value == pytest.approx(expected, abs=1e-12)
        assert gradient[:-1] == pytest.approx(expected_gradient, abs=1e-9)

    def test_the_weight_of_a_voter_falls_to_zero_without_a_jump(self, name):
        statistics, weights, prior = instance(2, 1_000)
        bound = get_bound(name)

        def value(share):
            q = np.r_[share, weights[1:] / weights[1:].sum() * (1 - share)]
            return bound.value(statistics, q, prior)

        assert value(1e-12) == pytest.approx(value(0.0), abs=1e-9)
        assert value(1e-3) != value(0.0)

    @pytest.mark.parametrize("m", SIZES[:4])
    def test_no_value_is_below_the_least(self, name, m):
        """What solvers skip by it could not have won."""
        bound = get_bound(name)
        for seed in SEEDS[:3]:
            statistics, weights, prior = instance(seed, m, easy=seed > 0)
            n = prior.size
            for p in (prior, np.r_[0.0, prior[1:] / prior[1:].sum()]):
                least = min(member.least(statistics, p) for member in bound.members())
                assert least >= 0.0
                tried = [p, p * weights / (p @ weights), *np.eye(n)[p > 0]]
                assert min(bound.value(statistics, q, p) for q in tried) >= least - 1e-12

    @every_constant
    def test_less_confidence_costs_less(self, name, constant):
        for seed in SEEDS:
            arguments = instance(seed, 1_000)
            values = [
                get_bound(name, delta=delta, constant=constant).value(*arguments)
                for delta in (1e-300, 1e-9, 1e-3, 0.01, 0.05, 0.3, 0.999)
            ]
            assert values == sorted(values, reverse=True)
            assert values[-1] < values[1]

    @every_constant
    def test_clone_pickle_and_parameters(self, name, constant):
        bound = get_bound(name, delta=0.01, constant=constant)
        arguments = instance(1, 200)
        for copy in (clone(bound), pickle.loads(pickle.dumps(bound))):
            assert type(copy) is type(bound)
            assert copy is not bound
            assert copy.get_params() == {
                **type(bound)().get_params(),
                "delta": 0.01,
                "constant": constant,
            }
            assert copy.value(*arguments) == bound.value(*arguments)
        other = clone(bound).set_params(delta=0.2)
        assert other.delta == 0.2
        assert bound.delta == 0.01
        assert other.value(*arguments) <= bound.value(*arguments)
        assert type(bound).__name__ in repr(bound)
        assert "delta=0.01" in repr(bound)

    def test_facts_are_declared(self, name):
        bound = get_bound(name)
        assert bound.name == name
        assert bound.formula
        assert any(mark in bound.reference for mark in ("doi:", "arXiv:", "NIPS", "NeurIPS"))
        assert bound.needs
        assert bound.needs <= {"moments", "joint", "rows"}

    @pytest.mark.parametrize(
        "weights",
        [
            [-0.1, 0.6, 0.5],
            [math.nan, 0.5, 0.5],
            [math.inf, 0.0, 0.0],
            [0.2, 0.2, 0.2],
            [0.5, 0.5],
            [[0.2, 0.3, 0.5]],
            0.5,
            "abc",
            ["a", "b", "c"],
            [0.0, 0.0, 0.0],
        ],
    )
    @pytest.mark.parametrize("argument", ["weights", "prior"])
    def test_bad_distributions_are_refused_by_name(self, name, argument, weights):
        statistics, bound = statistics_of(_BASE), get_bound(name)
        arguments = {"weights": [0.2, 0.3, 0.5], argument: weights}
        for method in (bound.value, bound.value_and_gradient):
            with pytest.raises(ValueError, match=argument):
                method(statistics, **arguments)

    def test_a_prior_that_excludes_a_voter_with_weight(self, name):
        statistics = statistics_of(_BASE)
        with pytest.raises(ValueError, match=r"prior .*voter 1 "):
            get_bound(name).value(statistics, [0.5, 0.5, 0.0], [0.5, 0.0, 0.5])

    @pytest.mark.parametrize("delta", [0, 1, -1, 0.0, 1.0, 2.5, math.nan, "a", None, math.inf])
    def test_bad_deltas_are_refused(self, name, delta):
        statistics = statistics_of(_BASE)
        with pytest.raises(ValueError, match="delta"):
            get_bound(name, delta=delta)
        bound = type(get_bound(name))(delta=delta)  # stored as it is, refused when used
        with pytest.raises(ValueError, match="delta"):
            bound.value(statistics, np.full(3, 1 / 3))
        if isinstance(bound, MomentBound):
            with pytest.raises(ValueError, match="delta"):
                bound.from_moments(0.1, 0.05, 0.0, 100)

    def test_unknown_constants_are_refused(self, name):
        with pytest.raises(ValueError, match=r"constant .*'maurer', 'exact'.*'langford'"):
            get_bound(name, constant="langford")
        bound = type(get_bound(name))(constant="langford")  # stored as it is, refused when used
        with pytest.raises(ValueError, match="constant"):
            bound.value(statistics_of(_BASE), [1, 0, 0])

    def test_no_constant_is_the_smallest_valid_one(self, name):
        bound, same = get_bound(name), get_bound(name, constant=REFERENCES[name].smallest)
        assert bound.constant is None
        for seed in SEEDS[:3]:
            arguments = instance(seed, 1_000)
            assert bound.value(*arguments) == same.value(*arguments)
        assert bound.settled(bound.needs).get_params() == same.get_params()
        assert bound.constant is None

    def test_statistics_that_lack_something_are_refused_by_naming_it(self, name):
        bound = get_bound(name)
        nothing = SimpleNamespace(offers=frozenset(), n_voters=1)
        for need in bound.needs:
            with pytest.raises(ValueError, match=f"{name}.*{need}"):
                bound.value(nothing, [1.0])
            others = SimpleNamespace(offers=bound.needs - {need}, n_voters=1)
            with pytest.raises(ValueError, match=f"{name}.*needs {need},"):
                bound.check_statistics(others)
        bound.check_statistics(SimpleNamespace(offers=bound.needs, n_voters=1))
        with pytest.raises(TypeError, match=r"statistics must be Statistics.*ndarray"):
            bound.value(np.zeros((3, 1)), [1.0])


class MomentBoundKit:
    """For any bound that r, e, d, KL and m determine."""

    @pytest.mark.parametrize("m", SIZES)
    @every_constant
    def test_value_against_fifty_digits(self, name, constant, m, exact):
        bound = get_bound(name, constant=constant, delta=0.03)
        for seed in SEEDS:
            statistics, weights, prior = instance(seed, m)
            value = bound.value(statistics, weights, prior)
            reference = exact.value(bound, statistics, weights, prior)
            assert reference <= value <= reference + 1e-11 * max(1, reference)

    @every_constant
    def test_value_from_moments_against_fifty_digits(self, name, constant, exact):
        bound = get_bound(name, constant=constant)
        rng = np.random.default_rng(7)
        for _ in range(15):
            spread = rng.uniform(0.0, 0.6, size=3) ** rng.choice([1, 3])
            masses = rng.dirichlet(np.ones(3))
            r, e = float(masses @ spread), float(masses @ spread**2)
            m, kl = int(10 ** rng.uniform(1, 5)), float(10 ** rng.uniform(-6, 2))
            value = bound.from_moments(r, e, kl, m)
            reference = exact.from_moments(name, r, e, kl, m, 0.05, constant)
            # d = 2(r − e) is rounded once before it gets here.
            assert reference - 1e-15 <= value <= reference + 1e-11 * max(1, reference)

    def test_objective_is_the_value_below_one_and_continuous(self, name):
        bound = get_bound(name)
        losses = np.concatenate([losses_of(0, 2_000, 3), np.ones((2_000, 1), bool)], axis=1)
        statistics, prior = VoteStatistics.from_losses(losses), np.full(4, 0.25)
        good, bad = np.array([0.3, 0.4, 0.29, 0.01]), np.array([0.01, 0.01, 0.01, 0.97])

        def objective(share):
            return bound.objective(statistics, good + share * (bad - good), prior)[0]

        assert objective(0.0) == pytest.approx(bound.value(statistics, good, prior), abs=1e-11)
        assert objective(0.0) < 1.0 < objective(1.0)
        low, high = 0.0, 1.0
        while high - low > 1e-9:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if objective(middle) < 1.0 else (low, middle)
        assert objective(high) - objective(low) < 1e-7

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(data=st.data())
    def test_copies_of_a_voter_are_that_voter(self, name, data):
        """A voter may be split into copies, as long as its prior is split like its weight."""
        seed = data.draw(st.sampled_from(SEEDS))
        statistics, weights, prior = instance(seed, 1_000)
        copies = np.array(
            data.draw(st.lists(st.integers(1, 4), min_size=weights.size, max_size=weights.size))
        )
        index = np.repeat(np.arange(weights.size), copies)
        split = of_voters(statistics, index)
        bound = get_bound(name)
        value = bound.value(split, (weights / copies)[index], (prior / copies)[index])
        assert value == pytest.approx(bound.value(statistics, weights, prior), abs=1e-12)

    def test_copies_of_one_voter_alone(self, name):
        losses = losses_of(3, 500, 1)
        one, many = statistics_of(losses), statistics_of(np.repeat(losses, 7, axis=1))
        bound = get_bound(name)
        expected = bound.value(one, [1.0])
        for weights in (np.full(7, 1 / 7), [0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.3]):
            assert bound.value(many, weights, weights) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("weights", CORNER_WEIGHTS.values(), ids=CORNER_WEIGHTS)
    @pytest.mark.parametrize("losses", CORNERS.values(), ids=CORNERS)
    def test_corners(self, name, losses, weights, exact):
        """Finite, above the empirical oracle and the exact value, without a warning."""
        statistics, bound = VoteStatistics.from_losses(losses), get_bound(name)
        value, gradient = bound.value_and_gradient(statistics, weights)
        moments = statistics.moments(weights)
        assert math.isfinite(value)
        assert value >= 0.0
        assert value >= REFERENCES[name].oracle(moments.gibbs_risk, moments.joint_error)
        reference = exact.value(bound, statistics, weights)
        assert reference <= value <= reference + 1e-11 * max(1, reference)
        assert np.all(np.isfinite(gradient[np.array(weights) > 0]))

    @pytest.mark.parametrize("m", [1, 2, 50, 1_000])
    def test_a_single_voter(self, name, m, exact):
        bound = get_bound(name)
        for errors in {0, m // 10, m // 2, m}:
            statistics = VoteStatistics(m, [errors], [[errors]])
            value, gradient = bound.value_and_gradient(statistics, [1.0])
            reference = exact.value(bound, statistics, [1.0])
            assert reference <= value <= reference + 1e-11 * max(1, reference)
            assert np.isfinite(gradient).all()

    @every_constant
    def test_distance_from_the_prior_costs(self, name, constant):
        bound = get_bound(name, constant=constant)
        for r, e in ((0.05, 0.01), (0.1, 0.1), (0.2, 0.08), (0.0, 0.0), (0.3, 0.15)):
            values = [bound.from_moments(r, e, kl, 2_000) for kl in (0, 1e-6, 0.1, 1, 10, 100, 1e9)]
            assert values == sorted(values)
            assert values[0] < values[3]
            assert values[-1] >= 1.0

    @every_constant
    def test_an_infinite_sample_leaves_the_oracle_bound(self, name, constant):
        bound, entry = get_bound(name, constant=constant), REFERENCES[name]
        published = entry.published_oracle if constant == "maurer" else None
        for r, e in ((0.05, 0.01), (0.1, 0.1), (0.2, 0.08), (0.3, 0.15)):
            assert type(bound).oracle(r, e) == pytest.approx(entry.oracle(r, e), rel=1e-12)
            oracle = (published or entry.oracle)(r, e)
            gaps = [bound.from_moments(r, e, 0.0, m) - oracle for m in (10**4, 10**8, 10**12)]
            # Each factor of 10⁴ in the sample is one of nearly 10² in the gap.
            assert 0.0 < gaps[2] < 1e-4
            assert gaps[2] < gaps[1] / 50 < gaps[0] / 2_500

    @pytest.mark.parametrize("kl", [-1.0, -1e-9, math.nan])
    def test_a_negative_divergence_is_refused(self, name, kl):
        with pytest.raises(ValueError, match="kl"):
            get_bound(name).from_moments(0.1, 0.05, kl, 100)

    @pytest.mark.parametrize(
        ("moments", "word"),
        [
            ((1.1, 0.1, 100), "gibbs_risk"),
            ((0.1, -0.1, 100), "joint_error"),
            ((0.1, 0.2, 100), "joint_error"),
            ((math.nan, 0.1, 100), "gibbs_risk"),
            ((0.1, 0.1, 0), "size"),
            ((0.1, 0.1, 1.5), "size"),
            ((0.9, 0.2, 100), "disagreement"),
        ],
    )
    def test_impossible_moments_are_refused(self, name, moments, word):
        r, e, m = moments
        with pytest.raises(ValueError, match=word):
            get_bound(name).from_moments(r, e, 1.0, m)


class FlatBoundKit:
    """For bounds that are 1 wherever they say nothing: what solvers descend there."""

    @every_constant
    def test_objective_on_the_plateau(self, name, constant):
        """Where the value is 1 the objective is at least 1, and its gradient is its own."""
        bound = get_bound(name, constant=constant)
        rng = np.random.default_rng(0)
        below_half = checked = 0
        for seed in SEEDS:
            for m in (20, 60, 200, 1_000):
                statistics, weights, prior = instance(seed, m, easy=False)
                if bound.value(statistics, weights, prior) < 1.0:
                    continue
                value, gradient = bound.objective(statistics, weights, prior)
                checked += 1
                below_half += statistics.moments(weights).gibbs_risk < 0.5
                assert value >= 1.0
                for direction in tangents(rng, weights):
                    slope = central_difference(
                        lambda q: bound.objective(statistics, q, prior)[0],  # noqa: B023
                        weights,
                        direction,
                    )
                    size = float(np.abs(gradient) @ np.abs(direction))
                    assert size > 0.0
                    assert float(gradient @ direction) == pytest.approx(
                        slope, rel=1e-6, abs=1e-7 * size
                    )
        assert checked >= 10
        assert below_half >= 3

    def test_objective_on_the_plateau_of_bad_voters(self, name):
        """The same for voters worse than chance, where other formulas apply."""
        bound = get_bound(name)
        rng = np.random.default_rng(1)
        for seed in SEEDS:
            losses = ~losses_of(seed, 300, 5)
            statistics = VoteStatistics.from_losses(losses)
            weights = rng.dirichlet(np.full(5, 3.0)) * 0.9 + 0.02
            prior = np.full(5, 0.2)
            value, gradient = bound.objective(statistics, weights, prior)
            assert bound.value(statistics, weights, prior) == 1.0
            assert value > 1.0
            for direction in tangents(rng, weights):
                slope = central_difference(
                    lambda q: bound.objective(statistics, q, prior)[0],  # noqa: B023
                    weights,
                    direction,
                )
                assert float(gradient @ direction) == pytest.approx(slope, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", DESCENDED)
class TestDescended(BoundKit):
    pass


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
class TestMomentBounds(MomentBoundKit):
    pass


@pytest.mark.parametrize("name", [name for name in REFERENCES if REFERENCES[name].flat])
class TestFlatBounds(FlatBoundKit):
    pass


@pytest.mark.parametrize("m", [1, 20, 100])
@pytest.mark.parametrize("name", [name for name in REFERENCES if REFERENCES[name].from_losses])
def test_value_from_losses_against_fifty_digits(name, m):
    """Bounds that see every example: at the prior, or at one voter."""
    bound, prior = get_bound(name, delta=0.03), np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    for seed in range(3):
        losses = losses_of(seed, m, 5)
        statistics = statistics_of(losses)
        weights = np.eye(5)[1] if REFERENCES[name].single_voters else prior
        evidence = bound.evidence(statistics, weights, prior)
        reference = REFERENCES[name].from_losses(bound, losses, weights, prior, evidence)
        assert reference <= bound.value(statistics, weights, prior) <= reference + 1e-9


# ------------------------------------------------------------------ the registry


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="nonesuch") as error:
        get_bound("nonesuch")
    for name in list_moment_bounds():
        assert name in str(error.value)


def test_a_bound_object_is_returned_as_it_is():
    bound = get_bound("seeger", delta=0.2)
    assert get_bound(bound) is bound
    with pytest.raises(ValueError, match="delta"):
        get_bound(bound, delta=0.1)


def _subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)


def test_every_bound_is_in_the_registry():
    """A class with a name is a bound, and a bound that is not listed is a mistake."""
    gc.collect()  # bounds of examples that were run before
    for module in pkgutil.walk_packages(certivote.bounds.__path__, "certivote.bounds."):
        importlib.import_module(module.name)
    named = {
        cls
        for cls in _subclasses(Bound)
        if cls.__module__.startswith("certivote.bounds") and hasattr(cls, "name")
    }
    assert {cls.name for cls in named} == set(list_bounds())
    assert {type(get_bound(name)) for name in list_bounds()} == named


def test_every_bound_has_an_entry_in_the_reference():
    for name in list_bounds():
        assert name in REFERENCES, f"{name!r} is not known: add an entry to tests/reference.py"
    assert set(REFERENCES) == set(list_bounds())


@pytest.mark.parametrize("name", REFERENCES)
def test_the_entry_is_whole_and_says_what_the_bound_says(name):
    bound, entry = get_bound(name), REFERENCES[name]
    words = ("value", "oracle", "region") if isinstance(bound, MomentBound) else ("from_losses",)
    for word in words:
        assert getattr(entry, word), f"add the {word} of {name!r} to tests/reference.py"
    assert (name in MOMENT_BOUNDS) == isinstance(bound, MomentBound)
    assert bound.needs == entry.needs
    assert bound.uses_unlabelled == entry.uses_unlabelled
    assert ({member.name for member in bound.members()} == {name}) == entry.descended


@pytest.mark.parametrize("name", [*MOMENT_BOUNDS, "dirichlet"])
def test_what_holds_for_all_sizes(name, exact):
    bound = get_bound(name)
    if name == "bennett":
        assert bound.for_all_sizes() is None
        with pytest.raises(ValueError, match=r"constant .* for the bound 'bennett', got 'anytime'"):
            get_bound(name, constant="anytime")
        return
    always = bound.for_all_sizes()
    assert (always.constant, always.is_anytime, bound.is_anytime) == ("anytime", True, False)
    assert get_bound(name, constant="maurer").for_all_sizes() is None  # it was told another one
    for m in (20, 200, 1_000, 10_000):
        arguments = instance(0, m)
        value = always.value(*arguments)
        assert value >= get_bound(name, constant="exact").value(*arguments)
        if name not in ("lacasse", "lacasse2", "sharp"):  # there c₃ is larger
            assert value <= get_bound(name, constant="maurer").value(*arguments)
        if isinstance(bound, MomentBound):
            reference = exact.value(always, *arguments)
            assert reference <= value <= reference + 1e-11 * max(1, reference)


@pytest.mark.parametrize("name", ["mcallester", "lacasse"])
def test_a_bound_without_a_one_sided_form_refuses_it_by_its_name(name):
    with pytest.raises(ValueError, match=f"constant .*'exact' for the bound '{name}', got 'one-"):
        get_bound(name, constant="one-sided")


def test_the_members_of_best_take_the_constant_that_they_have():
    shares = (("gibbs", 0.5), ("lacasse", 0.5))
    for constant in ("one-sided", None):
        members = get_bound("best", constant=constant, shares=shares).members()
        settled = [member.settled(member.needs).constant for member in members]
        assert settled == ["one-sided", "exact"]


def test_lacasse_needs_joint_counts():
    """Its ball is that of the pair (e, d): both must come from the same examples."""
    assert "joint" in get_bound("lacasse").needs
