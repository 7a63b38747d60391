"""Do certificates hold where votes are missing? Panels that seldom speak, and err if they do."""

import numpy as np
import pytest

from certivote import MajorityVoteClassifier
from certivote.bounds import get_bound
from certivote.voters import PredictionTable

from .judge import holds

pytestmark = pytest.mark.slow

DELTA, DRAWS, FITS, SIZE = 0.05, 2000, 400, 2000
MARKER = "refused"

# The number of voters, how often each is silent, how often it errs if not, and rows in a sample.
PANELS = {
    "half silent, good": (9, 0.5, 0.1, 150),
    "hardly silent, good": (15, 0.1, 0.1, 150),
    "mostly silent, bad": (9, 0.95, 0.42, 150),
    "two, often silent": (2, 0.6, 0.3, 60),
}


def population(name):
    """Labels of three kinds, and a table of votes: on some rows nobody has an opinion."""
    n, silence, noise, m = PANELS[name]
    rng = np.random.default_rng(list(PANELS).index(name))
    names, y = np.array(["ant", "bee", "cow"]), rng.integers(3, size=SIZE)
    wrong = rng.random((SIZE, n)) < noise
    votes = names[np.where(wrong, y[:, None] + 1, y[:, None]) % 3].astype("<U7")
    votes[rng.random((SIZE, n)) < silence] = MARKER
    return votes, names[y], m


def false_claims(name, rule, draws):
    """How many samples lead to a claim below the share of errors of the vote on all there is."""
    votes, y, m = population(name)
    rng, false = np.random.default_rng(60), 0
    even = np.mean(plurality(votes) != y)
    for _ in range(draws):
        rows = rng.integers(SIZE, size=m)
        limit, predict = rule(votes[rows], y[rows])
        false += limit < (even if predict is None else np.mean(predict(votes) != y))
    return false


def plurality(votes):
    """What most of those say who speak, the first one on a tie; the marker if nobody does."""
    names = np.array(["ant", "bee", "cow"])
    counts = np.stack([np.sum(votes == name, axis=1) for name in names], axis=1)
    return np.where(counts.any(axis=1), names[counts.argmax(axis=1)], MARKER)


def fitted(bound):
    def rule(votes, y):
        vote = MajorityVoteClassifier(voters=PredictionTable(missing=MARKER), bound=bound)
        vote.fit(votes, y)
        return vote.certificate_.risk_bound, vote.predict

    return rule


@pytest.mark.parametrize("bound", ["tandem", "heldout"])
@pytest.mark.parametrize("name", PANELS)
def test_certificates_hold(name, bound, validity_table):
    false = false_claims(name, fitted(bound), FITS)
    validity_table("pipeline", f"missing votes, {bound}, {name}", DELTA, FITS, false)
    assert holds(false, FITS, DELTA)


def even_vote(bound, votes, y, missing):
    """The limit for equal weights, of the plurality."""
    weights = np.full(votes.shape[1], 1.0 / votes.shape[1])
    own = get_bound(bound, delta=DELTA)
    return own.value(own.count(votes, y, None, missing), weights), None


@pytest.mark.parametrize("bound", ["tandem", "gibbs", "lacasse", "heldout"])
@pytest.mark.parametrize("name", PANELS)
def test_limits_of_the_even_vote_hold(name, bound, validity_table):
    false = false_claims(name, lambda votes, y: even_vote(bound, votes, y, MARKER), DRAWS)
    validity_table("pipeline", f"missing votes, {bound} (even vote), {name}", DELTA, DRAWS, false)
    assert holds(false, DRAWS, DELTA)


def test_silence_counted_as_right_is_caught():
    def broken(votes, y):
        return even_vote("tandem", np.where(votes == MARKER, y[:, None], votes), y, None)

    assert not holds(false_claims("mostly silent, bad", broken, DRAWS), DRAWS, DELTA)
