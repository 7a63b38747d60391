"""Do the certificates hold, from data to claim? Fit a vote, and ask what `predict` does in truth.

A world is a finite population of examples and a way to fit a vote on a sample from it, drawn with
replacement. The risk of the vote is the share of the whole population on which `predict` is wrong:
no estimate, and nothing of the program but `predict`. All is as it is for users: the default δ, one
fit, one claim. `holds` is the only judge, and pipelines that are broken on purpose do not pass it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from certivote import CBBoostClassifier, MajorityVoteClassifier, VoteStatistics
from certivote.bounds import clopper_pearson, get_bound
from certivote.learners import logistic
from certivote.voters import Mixed, PredictionTable

from .judge import holds

pytestmark = [
    pytest.mark.slow,
    # scikit-learn thinks of regression where labels are many.
    pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%"),
    # Draws from a finite population repeat some of its rows.
    pytest.mark.filterwarnings("ignore:.* have a twin among:UserWarning"),
    pytest.mark.filterwarnings("ignore:Rows come several times among:UserWarning"),
    # One of the pipelines that are broken on purpose is found out.
    pytest.mark.filterwarnings("ignore:The model seems to have been trained on:UserWarning"),
]

DELTA = 0.05  # the default of all that is fitted here
SIZE = 6000
FITS = 400


# --- populations ---


@dataclass(frozen=True, eq=False)
class Population:
    """All examples that there are, each as likely as any other."""

    X: np.ndarray
    y: np.ndarray

    def draw(self, m, rng):
        rows = rng.integers(len(self.y), size=m)
        return self.X[rows], self.y[rows]

    def risk(self, predicted):
        return float(np.mean(np.asarray(predicted) != self.y))


def noisy():
    """Three classes in eight dimensions, some labels at random."""
    return Population(
        *make_classification(
            SIZE, n_features=8, n_informative=5, n_classes=3, flip_y=0.15, random_state=0
        )
    )


def discrete():
    """Five features of two values: rows repeat all the time, and no vote is right everywhere."""
    rng = np.random.default_rng(1)
    X = rng.integers(2, size=(SIZE, 5))
    return Population(X, np.where(rng.random(SIZE) < 0.2, 1 - X[:, 0], X[:, 0] ^ X[:, 1]))


def predictions(n_labels, power, n_voters, noise, seed):
    """Many labels, of which a sample holds a part, and voters that name any of them."""
    rng = np.random.default_rng(seed)
    frequencies = np.arange(1, n_labels + 1.0) ** -power
    names = np.array([f"label {j:04d}" for j in rng.permutation(n_labels)])
    y = rng.choice(n_labels, size=SIZE, p=frequencies / frequencies.sum())
    wrong = rng.random((SIZE, n_voters)) < noise
    votes = np.where(wrong, rng.integers(n_labels, size=wrong.shape), y[:, None])
    return Population(names[votes], names[y])


class Column(ClassifierMixin, BaseEstimator):
    """Name the label in a column of X. It has no `classes_`, and nothing to learn."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(X)[:, self.column]


def with_names(X, rng):
    """Rows of predictions with a column that tells them apart, so that no row comes twice."""
    return np.column_stack([X, rng.integers(10**12, size=len(X)).astype(str)])


# --- worlds ---


@dataclass(frozen=True)
class World:
    """A population, and a claim about a vote that is fitted on a sample from it.

    `claim` takes the population and a generator, and returns the claim and a function that predicts
    the labels of the population.
    """

    population: Callable[[], Population]
    claim: Callable[..., tuple[float, Callable]]
    fits: int = FITS


def fitted(m, **settings):
    """Fit on m examples, and take the claim of the fit."""

    def claim(population, rng):
        seed = int(rng.integers(2**31))
        vote = MajorityVoteClassifier(
            **{"voters": "trees", "n_voters": 8, "random_state": seed, **settings}
        )
        vote.fit(*population.draw(m, rng))
        return vote.certificate_.risk_bound, vote.predict

    return claim


def grown(population, rng):
    """Frozen voters without classes, and a sample in three batches of sizes fixed in advance."""
    voters = [FrozenEstimator(Column(j)) for j in range(population.X.shape[1])]
    vote = MajorityVoteClassifier(voters=voters, bound="heldout")
    for m in (60, 40, 50):
        X, y = population.draw(m, rng)
        # Announced, or a label that comes later would be told of.
        vote.partial_fit(with_names(X, rng), y, classes=np.unique(population.y))
    return vote.certificate_.risk_bound, lambda X: vote.predict(with_names(X, rng))


def certified_anew(population, rng):
    """A vote of two classes with complements, certified on examples that it was not fitted on."""
    vote = CBBoostClassifier(n_voters=8, random_state=int(rng.integers(2**31)))
    vote.fit(*population.draw(100, rng))
    X, y = population.draw(150, rng)
    certificate = vote.certify(X, y, bound="heldout")
    return certificate.risk_bound, vote.predict


def weak(n_voters):
    """Many voters that are hardly better than chance."""
    return predictions(2, 0.0, n_voters, 0.9, seed=6)


# Quick ones of several kinds, which are asked about rows that they were not trained on.
MIXED = Mixed(["forest", "logistic", "bayes"], n_voters=3)
LIST = [DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(), GaussianNB()]
# Its default members are too slow for so many fits.
BEST = get_bound("best", shares=(("heldout", 0.9), ("lacasse", 0.1)))
WORLDS = {
    "trees, weights fixed": World(noisy, fitted(200, bound="heldout")),
    "trees, weights learned": World(noisy, fitted(300, bound="lacasse")),
    "trees, the best of two bounds": World(noisy, fitted(200, bound=BEST)),
    "mixed, weights from cross-fitting": World(noisy, fitted(120, voters=MIXED), 200),
    "mixed, learned further": World(noisy, fitted(120, voters=MIXED, bound=BEST), 200),
    "a list, weights from cross-fitting": World(
        noisy, fitted(150, voters=LIST, prior="learned"), 200
    ),
    "features that repeat, ties": World(discrete, fitted(80, bound="heldout", n_voters=2)),
    "400 labels by Zipf's law": World(
        lambda: predictions(400, 1.0, 5, 0.3, seed=2),
        fitted(200, voters=PredictionTable(), bound="heldout"),
    ),
    "1,000 labels, voters that hardly err": World(
        lambda: predictions(1000, 0.0, 3, 0.02, seed=3),
        fitted(200, voters=PredictionTable(), bound="heldout"),
    ),
    "two voters that tie": World(
        lambda: predictions(30, 0.5, 2, 0.4, seed=4),
        fitted(100, voters=PredictionTable(), bound="heldout"),
    ),
    "sample in batches": World(lambda: predictions(100, 1.0, 4, 0.3, seed=5), grown),
    "certified anew": World(discrete, certified_anew),
}


def failures_of(world, seed):
    """How often the claim lies below the risk."""
    population, rng, count = world.population(), np.random.default_rng(seed), 0
    for _ in range(world.fits):
        claim, predict = world.claim(population, rng)
        count += claim < population.risk(predict(population.X))
    return int(count)


@pytest.mark.parametrize("name", WORLDS)
def test_claims_hold_from_data_to_predict(name, validity_table):
    world = WORLDS[name]
    failures = failures_of(world, seed=10)
    validity_table("pipeline", name, DELTA, world.fits, failures)
    assert holds(failures, world.fits, DELTA)


# --- broken on purpose ---


def labels_read_off_the_sample(population, rng):
    """A label that the sample does not hold has no say in the vote."""
    m, labels = 200, np.unique(population.X)
    votes, y = population.draw(m, rng)
    known = np.unique(y)

    def predict(table):
        codes = np.searchsorted(known, table).clip(max=len(known) - 1)
        shares = np.zeros((len(table), len(known)))
        for column, named in zip(codes.T, (known[codes] == table).T, strict=True):
            shares[np.flatnonzero(named), column[named]] += 1.0
        return known[shares.argmax(axis=1)]

    assert len(known) < len(labels)
    return clopper_pearson(int(np.sum(predict(votes) != y)), m, DELTA), predict


def training_rows_certified(population, rng):
    """Trees are trained on the sample, and the sample certifies them."""
    X, y = population.draw(200, rng)
    trees = [
        DecisionTreeClassifier(max_features=3, max_depth=6, random_state=int(seed)).fit(X, y)
        for seed in rng.integers(2**31, size=8)
    ]
    voters = [FrozenEstimator(tree) for tree in trees]
    vote = MajorityVoteClassifier(voters=voters, bound="heldout").fit(X, y)
    return vote.certificate_.risk_bound, vote.predict


def the_smallest_of_several_splits(population, rng):
    """The split is drawn again and again, and the smallest claim is kept."""
    X, y = population.draw(120, rng)
    votes = [
        MajorityVoteClassifier("trees", bound="heldout", n_voters=2, random_state=seed).fit(X, y)
        for seed in range(8)
    ]
    best = min(votes, key=lambda vote: vote.certificate_.risk_bound)
    return best.certificate_.risk_bound, best.predict


def weights_that_saw_part_b(population, rng):
    """The weights are learned on the sample, and tested on it as if they were fixed."""
    X, y = population.draw(80, rng)
    learned = logistic(VoteStatistics.from_votes(X, y, keep_rows=True))
    vote = MajorityVoteClassifier(voters=PredictionTable(), bound="heldout", prior=learned)
    vote.fit(X, y)
    return vote.certificate_.risk_bound, vote.predict


BROKEN = {
    "weights that saw part B": World(lambda: weak(60), weights_that_saw_part_b, 80),
    "labels read off the sample": World(
        lambda: predictions(400, 1.0, 5, 0.3, seed=2), labels_read_off_the_sample, 40
    ),
    "training rows certified": World(noisy, training_rows_certified, 40),
    "the smallest of several splits": World(noisy, the_smallest_of_several_splits, 80),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pipelines_are_caught(name):
    world = BROKEN[name]
    assert not holds(failures_of(world, seed=20), world.fits, DELTA)
