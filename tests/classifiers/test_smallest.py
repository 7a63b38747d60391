"""Votes of the fewest voters that are enough, chosen on the sample or on part A."""

import math
from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from certivote import Certificate, CertificateError, MajorityVoteClassifier
from certivote.bounds import get_bound, list_bounds
from certivote.classifiers._sizes import Sizes, sizes_up_to
from certivote.classifiers._split import Rows, split
from certivote.voters import Mixed

X, Y = make_classification(600, 8, n_informative=5, flip_y=0.1, random_state=0)
N = 20
SAID = ("fewest_within", "fewest_by")
PRIOR = np.arange(1.0, N + 1) / 210
TREES = [DecisionTreeClassifier(max_features=2, random_state=seed) for seed in range(N)]


# Its default members are slower, and here only its tested one matters.
BEST = get_bound("best", shares=(("heldout", 0.9), ("lacasse", 0.1)))


def kept(vote):
    return int(np.count_nonzero(vote.weights_))


def fitted(bound="tandem", **settings):
    settings = {"voters": "trees", "n_voters": N, "random_state": 0, **settings}
    return MajorityVoteClassifier(bound=bound, **settings).fit(X, Y)


@pytest.fixture(scope="module")
def learned():
    return fitted()


@pytest.fixture(scope="module")
def tested():
    return fitted(BEST)


def beta_limit(errors, m, delta):
    return beta.ppf(1 - delta, errors + 1, m - errors)


# --- on the certification sample ---


@pytest.mark.parametrize("tolerance", [0.005, 0.02, 0.1])
def test_the_fewest_are_those_within_the_tolerance(learned, tolerance):
    smaller = learned.smallest(tolerance)
    k, allowed = kept(smaller), learned.certificate_.risk_bound + tolerance
    assert 1 <= k < N
    order = sorted(range(N), key=lambda j: -learned.weights_[j])
    values = []
    for size in range(1, N + 1):
        weights = np.zeros(N)
        weights[order[:size]] = learned.weights_[order[:size]]
        weights /= weights.sum()
        values.append(get_bound("tandem").value(learned.statistics_, weights))
        if size == k:
            np.testing.assert_allclose(smaller.weights_, weights, rtol=1e-12)
    assert smaller.certificate_.risk_bound == pytest.approx(values[k - 1], rel=1e-12)
    assert values[k - 1] <= allowed < min(values[: k - 1])
    assert smaller.sizes_["n_voters"].tolist() == list(range(1, N + 1))
    np.testing.assert_allclose(smaller.sizes_["limits"], np.minimum(values, 1.0), rtol=1e-12)


def test_the_divergence_is_paid_to_the_prior_on_all_voters(learned):
    smaller = learned.smallest(0.05)
    assert np.array_equal(smaller.certificate_.prior, np.full(N, 1 / N))
    q = smaller.weights_[smaller.weights_ > 0]
    assert smaller.certificate_.kl == pytest.approx(np.sum(q * np.log(q * N)))
    assert smaller.certificate_.kl > math.log(N / kept(smaller)) - 1e-9


@pytest.mark.parametrize("name", list_bounds())
def test_every_bound_gives_a_smaller_vote_or_says_what_it_needs(name):
    vote = fitted(name, n_voters=6)
    if "fixed votes" in get_bound(name).needs:
        with pytest.raises(ValueError, match="smallest needs X and y"):
            vote.smallest(0.5)
    else:
        smaller = vote.smallest(0.5)
        assert smaller.certificate_.risk_bound <= vote.certificate_.risk_bound + 0.5
        smaller.verify(X, Y)
    vote.smallest(0.5, X, Y).verify(X, Y)


def test_out_of_bag_the_sample_chooses():
    vote = fitted(certification="oob")
    smaller = vote.smallest(0.05)
    assert kept(smaller) < N
    smaller.verify(X, Y)
    with pytest.raises(ValueError, match="no part A to choose on"):
        vote.smallest(0.05, X, Y)


def test_frozen_voters_are_chosen_on_the_sample_only():
    trees = [FrozenEstimator(clone(tree).fit(X[:200], Y[:200])) for tree in TREES]
    vote = MajorityVoteClassifier(trees, bound="lacasse").fit(X[200:], Y[200:])
    smaller = vote.smallest(0.05)
    assert kept(smaller) < N
    smaller.verify(X[200:], Y[200:])
    with pytest.raises(ValueError, match="no part A to choose on"):
        vote.smallest(0.05, X[200:], Y[200:])
    tested = MajorityVoteClassifier(trees).fit(X[200:], Y[200:])
    with pytest.raises(ValueError, match="Where there is no part A, fit with a bound that"):
        tested.smallest(0.05)


# --- on part A ---


def parts():
    return split(Rows(len(Y), None, None), 0.5, False, np.random.RandomState(0))


def by_hand(X_a, y_a):
    """Errors of the first 1, 2, … trees on part A, if they are trained on four fifths of it.

    The limit of all, and what fewer err more, with its standard error.
    """
    errs = np.zeros((N, len(y_a)), dtype=bool)
    # Dealt out like cards, one class after the other.
    order = np.random.RandomState(0).permutation(len(y_a))
    dealt = [row for label in (0, 1) for row in order if y_a[row] == label]
    for first in range(5):
        fold = dealt[first::5]
        rest = [row for row in range(len(y_a)) if row not in set(fold)]
        trees = [clone(tree).fit(X_a[rest], y_a[rest]) for tree in TREES]
        votes = np.array([tree.predict(X_a[fold]) for tree in trees])
        for size in range(1, N + 1):
            errs[size - 1, fold] = (2 * votes[:size].sum(axis=0) > size) != y_a[fold]
    changes = errs.astype(int) - errs[-1]
    excess = (changes.sum(axis=1) + np.sqrt(np.sum(changes != 0, axis=1))) / len(y_a)
    return beta_limit(errs[-1].sum(), len(y_a), 0.05) + excess


@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.06])
def test_part_a_says_how_many_are_enough_and_part_b_tests_them(tolerance):
    vote = MajorityVoteClassifier(TREES, bound="heldout", random_state=0).fit(X, Y)
    smaller = vote.smallest(tolerance, X, Y)
    part_a, part_b = parts()
    limits = by_hand(X[part_a], Y[part_a])
    np.testing.assert_allclose(smaller.sizes_["limits"], limits, rtol=1e-9)
    k = max([size for size in range(1, N) if limits[size - 1] > limits[-1] + tolerance], default=0)
    assert kept(smaller) == k + 1
    assert np.array_equal(smaller.weights_ > 0, np.arange(N) <= k)
    assert np.ptp(smaller.weights_[: k + 1]) == 0.0
    errors = np.sum(smaller.predict(X[part_b]) != Y[part_b])
    claimed = smaller.certificate_
    assert claimed.risk_bound == pytest.approx(beta_limit(errors, len(part_b), 0.05), rel=1e-9)
    assert (claimed.kl, claimed.provenance["prior"]) == (0.0, "learned on part A")


def test_part_b_has_no_say_in_the_choice(tested):
    """Labels there that are all wrong change the certificate, and nothing of the choice."""
    _, part_b = parts()
    turned = Y.copy()
    turned[part_b] = 1 - turned[part_b]
    other = MajorityVoteClassifier("trees", bound=BEST, n_voters=N, random_state=0).fit(X, turned)
    first, second = tested.smallest(0.02, X, Y), other.smallest(0.02, X, turned)
    assert np.array_equal(first.certificate_.prior, second.certificate_.prior)
    assert np.array_equal(first.sizes_["limits"], second.sizes_["limits"])
    assert first.certificate_.risk_bound < 0.3 < 0.7 < second.certificate_.risk_bound


@pytest.mark.parametrize(
    "settings",
    [
        {"voters": "stumps", "prior": "learned", "bound": "heldout"},
        {"prior": PRIOR},
        {"voters": [GaussianNB(), *TREES[:4]], "prior": "learned"},
        {"voters": Mixed(["forest", "logistic", "bayes"], n_voters=5)},
        {"bound": "lacasse"},
        {"abstain": 0.2},
        {"claims": ["recall"]},
        {"anytime": True, "bound": "heldout"},
    ],
    ids=[
        "stumps",
        "given prior",
        "list",
        "mixed",
        "learned weights",
        "abstaining",
        "claims",
        "anytime",
    ],
)
def test_what_was_chosen_on_part_a_can_be_verified(settings, tmp_path):
    vote = fitted(**{"bound": BEST, **settings})
    smaller = vote.smallest(0.05, X, Y)
    assert kept(smaller) < kept(vote)
    smaller.verify(X, Y)
    assert len(smaller.certificate_.families) == len(vote.certificate_.families)
    assert smaller.certificate_.delta == vote.certificate_.delta
    joblib.dump(smaller, tmp_path / "vote.joblib")
    smaller.certificate_.to_json(tmp_path / "certificate.json")
    read = Certificate.from_json(tmp_path / "certificate.json")
    assert read == smaller.certificate_
    again = joblib.load(tmp_path / "vote.joblib")
    again.verify(X, Y, read)
    assert np.array_equal(again.predict(X), smaller.predict(X))


def test_a_given_prior_orders_the_voters():
    smaller = fitted("heldout", prior=PRIOR).smallest(0.05, X, Y)
    assert np.array_equal(smaller.weights_ > 0, np.arange(N) >= N - kept(smaller))
    expected = np.where(smaller.weights_ > 0, PRIOR, 0.0)
    np.testing.assert_allclose(smaller.weights_, expected / expected.sum(), rtol=1e-12)
    assert smaller.certificate_.provenance["prior"] == "given by the user"


def test_many_classes_and_groups():
    X, y = load_digits(return_X_y=True)
    groups = np.arange(len(y)) // 2
    vote = MajorityVoteClassifier("trees", bound="heldout", n_voters=N, random_state=0)
    vote.fit(X, y, groups=groups, by={"odd": y % 2})
    smaller = vote.smallest(0.05, X, y, groups=groups, by={"odd": y % 2})
    assert kept(smaller) < N
    smaller.verify(X, y, groups=groups)
    with pytest.raises(ValueError, match="groups must be given"):
        vote.smallest(0.05, X, y)


# --- what comes of it ---


class Counted(DecisionTreeClassifier):
    """A tree that remembers which ones were asked."""

    def predict(self, X, check_input=True):
        ASKED.append(self.random_state)
        return super().predict(X, check_input)


ASKED = []


def test_the_others_are_not_asked_any_more():
    voters = [Counted(max_features=2, random_state=seed) for seed in range(N)]
    vote = MajorityVoteClassifier(voters, bound="gibbs", random_state=0).fit(X, Y)
    for smaller in (vote.smallest(0.1), vote.smallest(0.05, X, Y)):
        ASKED.clear()
        answers = smaller.predict(X)
        assert sorted(ASKED) == np.flatnonzero(smaller.weights_).tolist()
        assert len(ASKED) < N
        ones = sum(
            weight * tree.predict(X)
            for weight, tree in zip(smaller.weights_, smaller.voters_, strict=True)
        )
        assert np.array_equal(answers, ones > 0.5 + 1e-12)


def test_the_certificate_says_how_it_was_chosen(learned, tested):
    for smaller, by in (
        (learned.smallest(0.03), "the certification examples"),
        (tested.smallest(0.03, X, Y), "part A"),
    ):
        provenance = smaller.certificate_.provenance
        assert [provenance[key] for key in SAID] == [0.03, by]
        assert f"fewest by     {by}" in str(smaller.certificate_)
        forged = replace(smaller.certificate_, provenance={**provenance, "fewest_within": 0.5})
        with pytest.raises(CertificateError, match="fewest_within is claimed to be"):
            smaller.verify(X, Y, forged)


def test_a_choice_that_part_a_does_not_make_is_found_out(tested):
    first, other = (tested.smallest(tolerance, X, Y) for tolerance in (0.02, 1.0))
    forged = other._with(_provenance=first._provenance)
    forged.certificate_ = replace(other.certificate_, provenance=first.certificate_.provenance)
    with pytest.raises(CertificateError, match="the prior of the certificate is not the one"):
        forged.verify(X, Y)


def test_the_vote_stays_as_it_was(learned, tested):
    for vote, data in ((learned, ()), (tested, (X, Y))):
        before, answers = vote.certificate_, vote.predict(X)
        vote.smallest(0.5, *data)
        assert vote.certificate_ is before
        assert not set(SAID) & set(vote.certificate_.provenance)
        assert np.array_equal(vote.predict(X), answers)
        assert not hasattr(vote, "sizes_")
        vote.verify(X, Y)


def test_everything_is_allowed_or_nothing(learned, tested):
    assert kept(learned.smallest(1.0)) == 1
    assert kept(tested.smallest(1, X, Y)) == 1
    assert np.array_equal(learned.smallest(0.0).weights_, learned.weights_)


def test_one_voter_stays(tmp_path):
    tree = DecisionTreeClassifier(random_state=0)
    for bound, data in (("gibbs", ()), ("heldout", (X, Y))):
        vote = MajorityVoteClassifier(tree, bound=bound, random_state=0).fit(X, Y)
        smaller = vote.smallest(0.01, *data)
        assert smaller.weights_.tolist() == [1.0]
        assert smaller.certificate_.risk_bound == vote.certificate_.risk_bound
        smaller.verify(X, Y)


def test_more_rows_for_a_smaller_vote(learned, tested):
    more = make_classification(800, 8, n_informative=5, flip_y=0.1, random_state=0)
    more = more[0][600:] + 1e-3, more[1][600:]
    again = learned.smallest(0.05).partial_fit(*more)
    assert kept(again) > kept(learned.smallest(0.05))
    assert not set(SAID) & set(again.certificate_.provenance)
    smaller = tested.smallest(0.02, X, Y)
    before = smaller.weights_
    assert np.array_equal(smaller.partial_fit(*more).weights_, before)
    assert smaller.certificate_.n_samples == 500
    pruned = learned.smallest(0.02).prune(0.06)
    assert not set(SAID) & set(pruned.certificate_.provenance)
    pruned.verify(X, Y)


# --- what is refused ---


@pytest.mark.parametrize("tolerance", [-0.01, math.nan, 1.5, math.inf, "0.01", None, True])
def test_a_tolerance_that_is_none(learned, tolerance):
    with pytest.raises(ValueError, match="tolerance must be"):
        learned.smallest(tolerance)


def test_an_unfitted_vote():
    with pytest.raises(NotFittedError):
        MajorityVoteClassifier().smallest()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.1, X), "X and y must be given together"),
        ((0.1, X[::-1], Y[::-1]), "X and y must be what fit was given"),
        ((0.1, X, 1 - Y), "X and y must be what fit was given"),
        ((0.1, X[:400], Y[:400]), "X and y must be what fit was given"),
        ((0.1, X[:, :3], Y), "features"),
    ],
)
def test_other_data_than_that_of_the_fit(tested, arguments, message):
    with pytest.raises(ValueError, match=message):
        tested.smallest(*arguments)


def test_what_belongs_to_x_alone(learned):
    with pytest.raises(ValueError, match="groups must be None where there is no X"):
        learned.smallest(0.1, groups=Y)


def test_a_smaller_vote_is_not_made_smaller_again(learned, tested):
    for smaller, data in ((learned.smallest(), ()), (tested.smallest(0.01, X, Y), (X, Y))):
        with pytest.raises(ValueError, match="call it on the one that this was made from"):
            smaller.smallest(0.1, *data)


def test_a_split_that_cannot_be_drawn_again():
    vote = fitted("heldout", random_state=np.random.RandomState(0))
    with pytest.raises(ValueError, match="it cannot be drawn again"):
        vote.smallest(0.1, X, Y)
    grown = MajorityVoteClassifier("trees", bound=BEST, n_voters=N, random_state=0).fit(
        X[:500], Y[:500]
    )
    with pytest.raises(ValueError, match="it cannot be redone"):
        grown.partial_fit(X[500:], Y[500:]).smallest(0.1, X, Y)


def test_claims_must_be_counted_again():
    vote = fitted("gibbs", claims=["recall"])
    with pytest.raises(ValueError, match="what is claimed besides must be counted again"):
        vote.smallest(0.1)
    assert len(vote.smallest(0.5, X, Y).certificate_.families) == 1


def test_too_few_rows_to_choose_on():
    vote = MajorityVoteClassifier("trees", n_voters=5, bound="heldout", random_state=0).fit(
        X[:30], Y[:30]
    )
    with pytest.raises(ValueError, match="at least 20 rows in part A"):
        vote.smallest(0.1, X[:30], Y[:30])


def test_voters_that_are_fewer_on_fewer_rows():
    rows = np.argsort(np.abs(X[:, 0]))[-200:]
    easy = (X[rows, 0] > 0).astype(int)
    part_a, _ = split(Rows(200, None, None), 0.5, False, np.random.RandomState(3))
    easy[part_a[0]] ^= 1  # boosting goes on because of this row, where it is there
    boosting = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5)
    vote = MajorityVoteClassifier(boosting, random_state=3).fit(X[rows], easy)
    assert len(vote.voters_) > 1
    with pytest.raises(ValueError, match="as many voters from four fifths of part A"):
        vote.smallest(0.1, X[rows], easy)


# --- the numbers that are looked at ---


def test_of_many_voters_a_hundred_sizes_at_most():
    assert sizes_up_to(100).tolist() == list(range(1, 101))
    for n in (101, 1000, 20_000):
        sizes = sizes_up_to(n)
        assert len(sizes) <= 100
        assert (sizes[0], sizes[-1]) == (1, n)
        assert np.all(np.diff(sizes) > 0)


def test_a_lucky_number_is_not_enough_on_part_a():
    sizes = Sizes(np.array([1, 2, 3, 4]), np.array([0.1, 0.3, 0.12, 0.1]))
    assert (sizes.first_within(0.02), sizes.always_within(0.02)) == (1, 3)
    assert (sizes.first_within(0.2), sizes.always_within(0.2)) == (1, 1)
    assert (sizes.first_within(0.0), sizes.always_within(0.0)) == (1, 4)
