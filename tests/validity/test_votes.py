"""Do the certificates hold? Samples of votes are drawn from populations with known risks.

A population is a finite set of examples with votes and labels; a sample is drawn from it with
replacement, and the risk of any vote is its share of errors in the whole population, by the rule of
`predict`: counted here by argmax over exact sums of weights. The long runs fill the table of
docs/validity.md; the same count must catch what is broken on purpose.
"""

import os
import re
import runpy
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

import certivote
from certivote import (
    MajorityVoteClassifier,
    UnlabelledStatistics,
    VoteStatistics,
    certify,
    minimize,
)
from certivote.bounds import (
    HeldoutBound,
    clopper_pearson,
    get_bound,
    list_bounds,
)
from certivote.solvers import LBFGS
from reference import MOMENT_BOUNDS, REFERENCES

from .judge import holds

NAMES = [name for name in REFERENCES if name not in MOMENT_BOUNDS]
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Population:
    """Votes and labels of all examples, the size of a sample, δ, and how the prior is made."""

    votes: np.ndarray
    y: np.ndarray
    m: int
    delta: float
    learned_prior: bool = False

    @property
    def n(self):
        return self.votes.shape[1]

    @cached_property
    def losses(self):
        return (self.votes != self.y[:, None]).astype(float)

    @cached_property
    def ballots(self):
        """Who votes for the first, second, … of the labels of an example, and which one is right.

        As floats of shape (labels, examples, voters), and a number for each example, −1 if nobody
        is right.
        """
        order = np.argsort(self.votes, axis=1, kind="stable")
        new = np.diff(np.take_along_axis(self.votes, order, axis=1), axis=1) != 0
        ranks = np.cumsum(np.column_stack([np.zeros(len(new), dtype=int), new]), axis=1)
        local = np.empty_like(ranks)
        np.put_along_axis(local, order, ranks, axis=1)
        right = np.where(self.votes == self.y[:, None], local, -1).max(axis=1)
        return np.stack([local == rank for rank in range(local.max() + 1)]).astype(float), right

    def risks(self, weights):
        """The share of examples on which each vote is wrong, the first label winning ties."""
        supporters, right = self.ballots
        winners = (supporters @ weights.T).round(10).argmax(axis=0)
        return np.mean(winners != right[:, None], axis=0)

    def risk(self, weights):
        return float(self.risks(np.asarray(weights)[None, :])[0])

    def truths(self, bound, weights):
        """What certificates must not lie below: the risk, and a bound's formula at true moments.

        Above 1 neither a certificate nor the formula says anything.
        """
        risks = self.risks(weights)
        if not hasattr(bound, "oracle"):
            return risks
        erring = self.losses @ weights.T
        r, e = erring.mean(axis=0), np.square(erring).mean(axis=0)
        formula = [bound.oracle(*pair) for pair in zip(r, np.minimum(e, r), strict=True)]
        return np.maximum(risks, np.minimum(1.0, formula))

    def rows(self, rng):
        return rng.integers(len(self.y), size=self.m)

    def draw(self, rng):
        rows = self.rows(rng)
        return self.votes[rows], self.y[rows]

    def prior(self, rng):
        """The uniform vote, or weights that fit another sample far too well."""
        if not self.learned_prior:
            return np.full(self.n, 1 / self.n)
        votes, y = self.draw(rng)
        weights = np.exp(-30.0 * np.mean(votes != y[:, None], axis=0))
        return weights / weights.sum()


def make_population(n, k, rate, m, delta, seed, size=2000, learned_prior=False, zipf=False):
    """Voters that err at about `rate`, more on hard examples; errors are random labels."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, k + 1) if zipf else np.ones(k)
    y = rng.choice(k, size=size, p=shares / shares.sum()) if zipf else rng.integers(k, size=size)
    hard = rng.beta(0.5, 0.5 / rate - 0.5, size=(size, 1))
    wrong = rng.random((size, n)) < hard * rng.uniform(0.6, 1.4, size=n)
    other = (y[:, None] + rng.integers(1, max(k, 2), size=(size, n))) % k
    return Population(np.where(wrong, other, y[:, None]), y, m, delta, learned_prior)


POPULATIONS = {
    "easy": make_population(9, 2, 0.1, m=200, delta=0.1, seed=1),
    "hard": make_population(8, 2, 0.4, m=60, delta=0.2, seed=2),
    "small sample": make_population(5, 2, 0.3, m=10, delta=0.3, seed=3),
    "more voters than examples": make_population(60, 2, 0.3, m=20, delta=0.2, seed=4),
    "ten classes": make_population(12, 10, 0.5, m=100, delta=0.2, seed=5),
    "unseen labels": make_population(9, 400, 0.5, m=100, delta=0.2, seed=9, zipf=True),
    "ties": make_population(2, 2, 0.3, m=40, delta=0.2, seed=6),
    "learned prior": make_population(20, 3, 0.4, m=80, delta=0.2, seed=7, learned_prior=True),
}


def alike(rate, m, size=2000):
    """Eight voters, each of which errs on that share of the examples, whatever the others do."""
    rng = np.random.default_rng([m, round(size * rate)])
    y = rng.integers(2, size=size)
    wrong = rng.permuted(np.tile(np.arange(size)[:, None] < round(size * rate), 8), axis=0)
    return Population(np.where(wrong, 1 - y[:, None], y[:, None]), y, m, DELTA)


DELTA = 0.05  # the default
# The luckiest of voters that are alike: where a bound on single voters is at its tightest.
SINGLE_VOTERS = [
    alike(rate, m) for rate in np.geomspace(0.005, 0.5, 5) for m in (5, 50, 500, 5_000)
]


def violations_of(value_of, population, draws, seed):
    """How often the value lies below the risk of the vote that it is about."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(draws):
        prior = population.prior(rng)
        weights, value = value_of(*population.draw(rng), prior, population)
        count += value < population.risk(weights) - ROUNDING
    return int(count)


def learn(bound, votes, y, prior, solver=None):
    statistics = bound.count(votes, y, prior)
    return minimize(bound, statistics, prior, solver=solver or LBFGS(1, 1, tol=1e-3))


def certified(name):
    def value_of(votes, y, prior, population):
        result = learn(get_bound(name, delta=population.delta), votes, y, prior)
        return result.weights, result.value

    return value_of


def test_the_risk_of_a_population_is_that_of_a_large_sample():
    for population in POPULATIONS.values():
        weights = np.random.default_rng(0).dirichlet(np.ones(population.n))
        rows = np.random.default_rng(1).integers(2000, size=50_000)
        votes, y = population.votes[rows], population.y[rows]
        statistics = VoteStatistics.from_votes(votes, y, fixed_votes=[weights])
        assert statistics.vote_errors(weights) / 50_000 == pytest.approx(
            population.risk(weights), abs=1e-2
        )


# Few rows, few errors, and both in plenty: the bounds that have no moments, at their default.
@pytest.mark.parametrize("name", NAMES)
def test_certificates_of_lucky_voters_hold(name):
    few = [one for one in SINGLE_VOTERS if one.m <= 500][::2]
    failures = sum(violations_of(certified(name), one, 4, seed=11) for one in few)
    assert holds(failures, 4 * len(few), DELTA)


@pytest.mark.parametrize("scenario", POPULATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_certificates_hold(name, scenario):
    population = POPULATIONS[scenario]
    assert holds(violations_of(certified(name), population, 25, seed=10), 25, population.delta)


# --- the table: every bound, in every world ---

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "build" / "validity.py"))
# So loose, as any weights are as valid as the best.
QUICK = LBFGS(0, 0, tol=1e-2)
TWO_LABELS = ("easy", "hard", "small sample", "more voters than examples", "ties")
# `best` takes one of them where there are unlabelled examples.
UNLABELLED = [*(name for name in REFERENCES if REFERENCES[name].uses_unlabelled), "best"]


def tight(name, delta):
    """The bound with its smallest constant, the default: what holds with it holds with others."""
    return get_bound(name, delta=delta)


def lucky_weights(population, losses, prior):
    """Weights on voters that look better than they are, and on those that look good."""
    looks = losses.mean(axis=0)
    better = looks - population.losses.mean(axis=0)
    tilted = [prior * np.exp(-t * x) for t in (10.0, 3.0, 30.0) for x in (better, looks)]
    tilted += [np.eye(population.n)[x.argmin()] for x in (better, looks)]
    return [weights / weights.sum() for weights in tilted]


def is_refuted(bound, population, rng, unlabelled=0):
    """Draw one sample, and tell whether a certificate on it is false.

    Of the learned weights, or, as bounds hold for all weights at once, of some that an adversary
    chooses who knows the sample and the truth.
    """
    prior = population.prior(rng)
    votes, y = population.draw(rng)
    more = None
    if unlabelled:
        more = population.votes[rng.integers(len(population.y), size=unlabelled)]
    certificate = certify(votes, y, bound=bound, prior=prior, solver=QUICK, unlabelled=more)
    weights, values = [certificate.weights], [certificate.risk_bound]
    number = REFERENCES[bound.name].adversary
    if number:
        statistics = bound.count(votes, y, prior)
        if unlabelled:
            statistics = statistics.with_unlabelled(UnlabelledStatistics.from_votes(more))
        weights += lucky_weights(population, votes != y[:, None], prior)[:number]
        values += [bound.value(statistics, q, prior) for q in weights[1:]]
    truths = population.truths(bound, np.array(weights))
    return bool(np.any(values < truths - ROUNDING))


def refutations(bound, population, draws, seed, unlabelled=0):
    rng = np.random.default_rng(seed)
    return sum(is_refuted(bound, population, rng, unlabelled) for _ in range(draws))


class Voter(ClassifierMixin, BaseEstimator):
    """A voter of a population: an example is its number, and a fraction that makes it new."""

    def __init__(self, votes):
        self.votes = votes

    def fit(self, X, y):
        raise AssertionError("a frozen voter is not trained")

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return self.votes[np.asarray(X)[:, 0].astype(int)]


def is_refuted_at_some_look(bound, population, rng, looks, anytime=True):
    """Let a sample grow, and tell whether any certificate on the way is false.

    The votes are those of `predict`, and so is the truth.
    """
    voters = [FrozenEstimator(Voter(column)) for column in population.votes.T]
    prior = population.prior(rng)
    vote = MajorityVoteClassifier(voters, bound=bound, prior=prior, solver=QUICK, anytime=anytime)
    everything = np.column_stack([np.arange(len(population.y)), np.zeros(len(population.y))])
    for rows in np.array_split(population.rows(rng), looks):
        X = np.column_stack([rows, rng.random(len(rows))])
        vote.partial_fit(X, population.y[rows])
        risk = np.mean(vote.predict(everything) != population.y)
        if vote.certificate_.risk_bound < risk - ROUNDING:
            return True
    return False


def in_the_table(scenario):
    """The populations of a column."""
    if scenario == "single voters":
        return SINGLE_VOTERS
    return [replace(POPULATIONS[scenario], delta=DELTA)]


# Labels that come late are warned of, as they should be.
@pytest.mark.filterwarnings("default")
@pytest.mark.slow
@pytest.mark.parametrize("scenario", TABLE["WORLDS"])
@pytest.mark.parametrize(("name", "sequences"), [("best", 250), ("heldout", 1000)])
def test_certificates_at_all_looks_hold_on_many_samples(name, sequences, scenario, validity_table):
    populations, rng = in_the_table(scenario), np.random.default_rng(23)
    bound, draws = tight(name, DELTA), -(-sequences // len(populations))
    failures = sum(
        is_refuted_at_some_look(bound, population, rng, 3)
        for population in populations
        for _ in range(draws)
    )
    sequences = draws * len(populations)
    validity_table(f"{name}, anytime", scenario, DELTA, sequences, failures)
    assert holds(failures, sequences, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", TABLE["WORLDS"])
@pytest.mark.parametrize("name", list(REFERENCES)[::-1])  # the slow ones first
def test_certificates_hold_on_many_samples(name, scenario, validity_table):
    populations, draws = in_the_table(scenario), REFERENCES[name].long_run
    each = draws // len(populations)
    failures = sum(refutations(tight(name, DELTA), one, each, seed=20) for one in populations)
    validity_table(name, scenario, DELTA, draws, failures)
    assert holds(failures, draws, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", TWO_LABELS)
@pytest.mark.parametrize("name", UNLABELLED)
def test_certificates_with_unlabelled_examples_hold_on_many_samples(name, scenario, validity_table):
    (population,) = in_the_table(scenario)
    failures = refutations(tight(name, DELTA), population, 1000, 22, unlabelled=5 * population.m)
    validity_table(f"{name}, unlabelled", scenario, DELTA, 1000, failures)
    assert holds(failures, 1000, DELTA)


# --- the page ---

# One of each kind, in the order of the page.
FITS = (
    *("whole fits", "out of bag, trees", "bags, gibbs, identical voters", "trees, the fewest"),
    *("claims: recall", "certify_difference, equal", "missing votes, tandem, two, often silent"),
    "every size, gibbs, p = 0.1",
)
DAY = date(2026, 2, 3)


def rows_of_all_cells():
    return [
        *(
            {"bound": name, "world": world, "delta": 0.05, "samples": 2000, "failures": 100}
            for name in TABLE["EVERYWHERE"]
            for world in TABLE["WORLDS"]
        ),
        *(
            {"bound": "pipeline", "world": name, "delta": 0.1, "samples": 300, "failures": 6}
            for name in FITS
        ),
    ]


def test_the_worlds_are_what_the_page_says():
    for world, words in TABLE["WORLDS"].items():
        if world not in POPULATIONS:
            continue
        population = POPULATIONS[world]
        labels = {2: "two labels", 3: "three labels"}.get(population.y.max() + 1, "400 labels")
        assert words.startswith(f"{population.n} voters that err on ")
        assert f"{labels}" in words
        assert f"samples of {population.m}" in words
        rate = float(words.split("%")[0].split()[-1]) / 100
        assert population.losses.mean() == pytest.approx(rate, abs=0.05)
    (words,) = (words for world, words in TABLE["WORLDS"].items() if world not in POPULATIONS)
    numbers = [float(x.replace(",", "")) for x in re.findall(r"[0-9][0-9.,]*[0-9]|[0-9]", words)]
    rates = sorted({100 * float(x.losses[:, 0].mean()) for x in SINGLE_VOTERS})
    sizes = sorted({x.m for x in SINGLE_VOTERS})
    assert numbers == [8, *(pytest.approx(rate, abs=0.5) for rate in rates), *sizes]
    for one in SINGLE_VOTERS:
        assert one.votes.shape[1] == 8
        assert np.ptp(one.losses.mean(axis=0)) == 0.0  # all of them equally often
    unseen = POPULATIONS["unseen labels"]
    seen = np.unique(unseen.draw(np.random.default_rng(0))[1])
    assert len(seen) < len(np.unique(unseen.y)) / 2


def test_an_interval_is_that_of_clopper_and_pearson():
    low, high = beta.ppf(0.005, 100, 1901), beta.ppf(0.995, 101, 1900)
    shown = TABLE["interval"]({"samples": 2000, "failures": 100})
    assert shown == f"{100 * low:.2f}–{100 * high:.2f}%"
    high = -np.expm1(np.log(0.005) / 2000)  # (1−x)^m = 0.005
    shown = TABLE["interval"]({"samples": 2000, "failures": 0})
    assert shown == f"0–{100 * high:.2f}%"


def tables_of(page):
    """The cells of each table, by the heading above it."""
    tables, heading = {}, ""
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        if line.startswith("|") and not line.startswith("|---"):
            tables.setdefault(heading, []).append([cell.strip() for cell in line.split("|")[1:-1]])
    return tables


def test_the_page_has_one_table_with_every_bound():
    rows = rows_of_all_cells()
    rows[1] = {**rows[1], "failures": 121}  # the first bound, in the second world
    page = TABLE["page_of"](rows, DAY)
    head, *table = tables_of(page)["Every bound, in every world"]
    worlds = list(TABLE["WORLDS"])
    assert head == ["", "δ", "samples", *worlds, "interval of the largest"]
    assert [line[0].strip("*") for line in table] == [
        *list_bounds(),
        "best, anytime",
        "heldout, anytime",
    ]
    assert all(line[1:3] == ["5%", "2,000"] for line in table)
    assert table[0][3:-1] == ["5%", "6.05%", *["5%"] * (len(worlds) - 2)]
    low, high = beta.ppf(0.005, 121, 1880), beta.ppf(0.995, 122, 1879)
    assert table[0][-1] == f"{100 * low:.2f}–{100 * high:.2f}%"
    words = " ".join(page.split())
    assert f"{sum(row['samples'] for row in rows):,} samples in all" in words
    assert f"by certivote {certivote.__version__} on 3 February 2026." in words
    assert f"121 of 2,000 at δ = 5% ({list_bounds()[0]}, {worlds[1]})" in words


def test_every_kind_of_fit_has_a_table_of_its_own():
    page = TABLE["page_of"](rows_of_all_cells(), DAY)
    _, *tables = tables_of(page).values()
    low, high = beta.ppf(0.005, 6, 295), beta.ppf(0.995, 7, 294)
    seen = ["10%", "300", "2%", f"{100 * low:.2f}–{100 * high:.2f}%"]
    names = [
        *("whole fits", "trees", "**gibbs**", "trees, the fewest", "recall", "equal"),
        *("**tandem**", "gibbs, p = 0.1"),
    ]
    assert [table[1:] for table in tables] == [[[name, *seen]] for name in names]
    # Where two things vary, one is a row and the other a column.
    columns = [table[0][3] for table in tables if table[0][-1] == "interval of the largest"]
    assert columns == ["identical voters", "two, often silent"]


@pytest.mark.parametrize("name", FITS)
def test_a_page_is_not_written_without_a_kind(name):
    rows = [row for row in rows_of_all_cells() if row["world"] != name]
    with pytest.raises(SystemExit, match="the page is not written from a part"):
        TABLE["page_of"](rows, DAY)


def test_a_page_is_not_written_from_a_part_or_from_two_runs():
    rows = rows_of_all_cells()
    first = list_bounds()[0]
    with pytest.raises(SystemExit, match=f"1 cells were not run, such as {first!r} in 'easy'"):
        TABLE["page_of"](rows[1:], DAY)
    for again in (rows[0], rows[-1]):
        with pytest.raises(SystemExit, match="recorded twice"):
            TABLE["page_of"]([*rows, again], DAY)
    with pytest.raises(SystemExit, match="describe the world 'nowhere'"):
        TABLE["page_of"]([*rows, {**rows[0], "world": "nowhere"}], DAY)
    with pytest.raises(SystemExit, match=f"{first!r} in 'easy' is false more often"):
        TABLE["page_of"]([{**rows[0], "failures": 150}, *rows[1:]], DAY)


def test_a_recorded_row_is_read_again(validity_table, monkeypatch, tmp_path):
    monkeypatch.delenv("CERTIVOTE_VALIDITY_TABLE", raising=False)
    validity_table("gibbs", "easy", 0.05, 2000, 100)
    monkeypatch.setenv("CERTIVOTE_VALIDITY_TABLE", str(tmp_path / "rows"))
    for row in rows_of_all_cells():
        validity_table(**row)
    os.utime(tmp_path / "rows", (0, datetime(2026, 2, 3, 12, tzinfo=UTC).timestamp()))
    TABLE["main"](tmp_path / "rows", tmp_path / "page.md")
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert written == TABLE["page_of"](rows_of_all_cells(), DAY)


# --- broken on purpose ---


def more_delta(votes, y, prior, population):
    """Spends four times the δ that it claims."""
    bound = HeldoutBound(min(0.99, 4 * population.delta))
    return prior, bound.value(bound.count(votes, y, prior), prior, prior)


def doubled_sample(votes, y, prior, population):
    """Counts every example twice."""
    bound = HeldoutBound(population.delta)
    errors = bound.count(votes, y, prior).vote_errors(prior)
    return prior, clopper_pearson(2 * errors, 2 * len(y), population.delta)


def best_of_many_for_the_price_of_one(votes, y, prior, population):
    """Tries every voter alone on the sample, and pays for one test."""
    errors = np.count_nonzero(votes != y[:, None], axis=0)
    weights = np.eye(population.n)[errors.argmin()]
    return weights, clopper_pearson(int(errors.min()), len(y), population.delta)


def learned_and_tested_on_the_same_sample(votes, y, prior, population):
    """Takes weights that fit the sample for a vote that was fixed before it."""
    weights = np.exp(-60.0 * np.mean(votes != y[:, None], axis=0))
    weights /= weights.sum()
    errors = VoteStatistics.from_votes(votes, y, fixed_votes=[weights]).vote_errors(weights)
    return weights, clopper_pearson(errors, len(y), population.delta)


class Empirical(type(get_bound("tandem"))):
    """Takes the moments of the sample for the true ones."""

    name = "empirical"

    def evaluate_moments(self, moments, kl):
        return super().evaluate_moments(moments, kl)._replace(value=4.0 * moments.joint_error)


def test_a_bound_without_a_radius_is_caught_by_the_count_of_the_table(registry, monkeypatch):
    monkeypatch.setitem(registry, Empirical.name, Empirical)
    monkeypatch.setitem(REFERENCES, Empirical.name, REFERENCES["tandem"])
    population = POPULATIONS["easy"]
    assert holds(refutations(tight("tandem", 0.1), population, 30, seed=31), 30, 0.1)
    assert not holds(refutations(Empirical(0.1), population, 30, seed=31), 30, 0.1)


def test_looks_at_the_price_of_one_are_caught():
    population = make_population(3, 2, 0.4, m=240, delta=0.2, seed=10, size=300)
    for anytime in (True, False):
        rng = np.random.default_rng(32)
        failures = sum(
            is_refuted_at_some_look(HeldoutBound(0.2), population, rng, 12, anytime)
            for _ in range(30)
        )
        assert holds(failures, 30, 0.2) == anytime


STRICT = make_population(8, 2, 0.4, m=60, delta=0.02, seed=2)
# Voters alike in the population: whichever looks best was lucky.
ALIKE = make_population(60, 2, 0.3, m=50, delta=0.05, seed=8)


@pytest.mark.parametrize(
    ("broken", "population"),
    [
        (more_delta, STRICT),
        (doubled_sample, STRICT),
        (best_of_many_for_the_price_of_one, ALIKE),
        (learned_and_tested_on_the_same_sample, ALIKE),
    ],
)
def test_broken_tests_are_caught(broken, population):
    assert not holds(violations_of(broken, population, 400, seed=30), 400, population.delta)


def test_the_luckiest_voter_at_the_price_of_one_is_caught():
    broken = best_of_many_for_the_price_of_one
    failures = sum(violations_of(broken, one, 20, seed=34) for one in SINGLE_VOTERS)
    assert not holds(failures, 20 * len(SINGLE_VOTERS), DELTA)


def test_the_best_of_many_at_its_own_price_holds():
    """The same voters and samples, by the bound that pays for their number."""

    def value_of(votes, y, prior, population):
        bound = HeldoutBound(population.delta, fixed_votes=np.eye(population.n))
        result = learn(bound, votes, y, None)
        return result.weights, result.value

    assert holds(violations_of(value_of, ALIKE, 100, seed=30), 100, ALIKE.delta)
