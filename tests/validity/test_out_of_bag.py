"""Do certificates from bags hold, where each voter is tested outside its own?

First on voters that are tables: the label has a known probability in each of some cells, and all
risks are sums over them. Then from data to claim, as users go. `holds` is the only judge, and ways
to count that are broken on purpose do not pass it.
"""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from certivote import MajorityVoteClassifier, minimize
from certivote.bounds import get_bound
from certivote.divergences import kl_inverse_lower, xi
from certivote.statistics import OutOfBagStatistics
from certivote.voters.bagged import even_bags
from reference import MOMENT_BOUNDS

from .judge import holds

pytestmark = [
    pytest.mark.slow,
    # Draws with replacement come again.
    pytest.mark.filterwarnings("ignore:.* of the rows have a twin:UserWarning"),
]

N_CELLS, N_VOTERS, M = 60, 5, 400
CELLS = np.random.default_rng(0).dirichlet(np.full(N_CELLS, 2.0))
POSITIVE = np.random.default_rng(1).beta(0.4, 0.4, size=N_CELLS)
DRAWS, DELTA = 200, 0.2
IDENTICAL, DIFFERENT = "identical", "very different"


def blind_bags(y, rng):
    """A third of the rows in each bag, whatever they are."""
    return rng.random((len(y), N_VOTERS)).argsort(axis=0) < len(y) // 3


def large_bags(y, rng):
    """Two thirds of the rows in each bag, whatever they are."""
    return rng.random((len(y), N_VOTERS)).argsort(axis=0) < 2 * len(y) // 3


def same_in_common(y, rng):
    """A third of the rows in each bag, and as many of them in any two, whatever they are."""
    return even_bags(len(y), N_VOTERS, len(y) // 3, int(rng.integers(2**31)))


def balanced_bags(y, rng):
    """As many of either class in each bag: nearly all of the rare one, few of the other."""
    bags, rare = np.zeros((len(y), N_VOTERS), dtype=bool), y == (y.mean() < 0.5)
    for j in range(N_VOTERS):
        for part in (rare, ~rare):
            own = np.flatnonzero(part)
            bags[rng.permutation(own)[: int(0.9 * rare.sum())], j] = True
    return bags


def drawn(rng, voters, bags=blind_bags, positive=POSITIVE):
    """Votes and labels of one sample, the bags, and what each voter says in each cell."""
    cells = rng.choice(N_CELLS, size=M, p=CELLS)
    y = rng.random(M) < positive[cells]
    in_bag = bags(y, rng)
    says = np.tile(positive > 0.3, (N_VOTERS, 1))
    if voters == DIFFERENT:
        for j in range(N_VOTERS):
            # The first tells three groups of cells apart, the last all cells: it learns by heart.
            view = np.arange(N_CELLS) % (3 if j == 0 else N_CELLS // (N_VOTERS - j))
            bag = in_bag[:, j]
            ones = np.bincount(view[cells[bag]], weights=2.0 * y[bag] - 1, minlength=N_CELLS)
            says[j] = ones[view] > 0
    return says[:, cells].T, y, in_bag, says


def true_moments(says, weights, positive=POSITIVE):
    """r and e of these voters: the weight that errs where the label is 1, and where it is 0."""
    ones = weights @ says
    r = CELLS @ (positive * (1 - ones) + (1 - positive) * ones)
    return r, CELLS @ (positive * (1 - ones) ** 2 + (1 - positive) * ones**2)


@pytest.mark.parametrize(
    ("voters", "bags", "words"),
    [
        (IDENTICAL, blind_bags, "identical voters"),
        (DIFFERENT, blind_bags, "different voters"),
        (DIFFERENT, same_in_common, "different voters, bags with as much in common"),
    ],
)
@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_bounds_hold_for_learned_weights(name, voters, bags, words, validity_table):
    """The bound's own formula at the true moments, which is more than the risk of the vote."""
    rng, bound, failures = np.random.default_rng(2), get_bound(name, delta=DELTA), 0
    for _ in range(DRAWS):
        votes, y, in_bag, says = drawn(rng, voters, bags)
        statistics = OutOfBagStatistics.from_votes(votes, y, in_bag)
        luckiest = np.eye(N_VOTERS)[statistics.error_rates.argmin()]
        failed = False
        for weights in (minimize(bound, statistics).weights, luckiest):
            truth = bound.oracle(*true_moments(says, weights))
            failed |= bound.value(statistics, weights) < truth - 1e-9
        failures += failed
    validity_table("pipeline", f"bags, {name}, {words}", DELTA, DRAWS, failures)
    assert holds(failures, DRAWS, DELTA)


# --- broken on purpose ---


def gibbs_failures(seed, voters, count, bags=blind_bags, positive=POSITIVE):
    """How often the smallest Gibbs limit of a single voter is below its error."""
    rng, bound, failures = np.random.default_rng(seed), get_bound("gibbs", delta=DELTA), 0
    for _ in range(DRAWS):
        votes, y, in_bag, says = drawn(rng, voters, bags, positive)
        statistics = count(votes, y, in_bag)
        luckiest = np.eye(N_VOTERS)[statistics.error_rates.argmin()]
        truth = bound.oracle(*true_moments(says, luckiest, positive))
        failures += bound.value(statistics, luckiest) < truth
    return failures


def in_bag_too(votes, y, in_bag):
    """Count the rows that trained a voter as well."""
    return OutOfBagStatistics.from_votes(votes, y, np.zeros_like(in_bag))


def test_rows_in_the_bag_must_not_count():
    honest = OutOfBagStatistics.from_votes
    hard = np.full(N_CELLS, 0.45)  # nothing to be learned, but by heart
    bags = (large_bags, hard)
    assert holds(gibbs_failures(3, DIFFERENT, honest, *bags), DRAWS, DELTA)
    assert not holds(gibbs_failures(3, DIFFERENT, in_bag_too, *bags), DRAWS, DELTA)


def test_bags_must_not_look_at_labels():
    honest = OutOfBagStatistics.from_votes
    rare = np.full(N_CELLS, 0.2)
    assert holds(gibbs_failures(4, IDENTICAL, honest, positive=rare), DRAWS, DELTA)
    broken = gibbs_failures(4, IDENTICAL, honest, balanced_bags, rare)
    assert not holds(broken, DRAWS, DELTA)


def test_the_disagreement_must_be_counted_per_pair():
    """Two voters that never differ, and whose bags leave few rows to both: 2(r − e) says they do.

    Then a lower limit of the disagreement above 0 is false.
    """
    rng, broken, honest = np.random.default_rng(5), 0, 0
    for _ in range(DRAWS):
        losses = np.repeat(rng.random((400, 1)) < 0.3, 2, axis=1)
        in_bag = np.zeros((400, 2), dtype=bool)
        in_bag[:180, 0] = in_bag[180:360, 1] = True
        moments = OutOfBagStatistics.from_losses(losses, in_bag).moments([0.5, 0.5])
        m = moments.disagreement_size
        assert m == 40
        radius = np.log(xi(m) / 0.05) / m
        gap = 2.0 * (moments.gibbs_risk - moments.joint_error)
        broken += kl_inverse_lower(max(0.0, gap), radius) > 0.0
        honest += kl_inverse_lower(moments.disagreement, radius) > 0.0
    assert holds(honest, DRAWS, 0.05)
    assert not holds(broken, DRAWS, 0.05)


# --- from data to predict ---

SIZE, FITS = 6000, 100
X, Y = make_classification(
    SIZE, n_features=8, n_informative=5, n_classes=3, flip_y=0.15, random_state=0
)


def trained_before(kind):
    """A forest that was trained on all rows, and is certified on them."""

    def voters(rows, labels, seed):
        return FrozenEstimator(kind(8, bootstrap=True, random_state=seed).fit(rows, labels))

    return voters


WORLDS = {
    "out of bag, trees, weights learned": (lambda *_: None, "lacasse"),
    "out of bag, trees, one voter": (lambda *_: None, "gibbs"),
    "out of bag, a forest trained before": (trained_before(RandomForestClassifier), "lacasse"),
    "out of bag, extra trees trained before": (trained_before(ExtraTreesClassifier), "tandem"),
}


@pytest.mark.parametrize("name", WORLDS)
def test_claims_hold_from_data_to_predict(name, validity_table):
    voters, bound = WORLDS[name]
    rng, failures = np.random.default_rng(6), 0
    for _ in range(FITS):
        rows, seed = rng.integers(SIZE, size=300), int(rng.integers(2**31))
        vote = MajorityVoteClassifier(
            voters(X[rows], Y[rows], seed),
            certification="oob",
            bound=bound,
            n_voters=8,
            random_state=seed,
        ).fit(X[rows], Y[rows])
        failures += vote.certificate_.risk_bound < np.mean(vote.predict(X) != Y)
    validity_table("pipeline", name, 0.05, FITS, failures)
    assert holds(failures, FITS, 0.05)
