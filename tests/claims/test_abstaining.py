"""Answering only where the vote is sure: tests in a fixed order, and where they begin."""

import json
import pickle
import warnings
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    SelectiveClassifier,
    certify,
    certify_model,
    verify_model,
)
from certivote.bounds import get_bound
from certivote.claims import AbstainFamily
from certivote.claims.abstaining import SHARES, answered
from certivote.claims.base import Outcome, Scores, Vote

DELTA = 0.05
ONE = np.ones(1)
VOTE = Vote(get_bound("heldout", delta=DELTA), {"vote_errors": 0, "vote_size": 1}, ONE, ONE, 1.0)
# The part of a family's δ that is for the test.
PART = 0.9


def counted(shares, wrong, target, reference=None):
    """Return the family on one sample, tested at DELTA itself."""
    origin = None if reference is None else "unlabelled rows"
    scores = Scores(np.asarray(shares, dtype=float), True, reference, origin)
    outcome = Outcome(np.zeros(len(wrong), dtype=bool), np.asarray(wrong), scores=scores)
    return AbstainFamily(delta=DELTA / PART, target=target).count(outcome, VOTE)


def by_hand(shares, wrong, target, start, delta):
    """Return the last level passed, by scipy's tail and nothing else."""
    last = None
    for level in SHARES[start:]:
        of = shares >= level - 1e-12
        if of.sum() == 0 or binom.cdf(wrong[of].sum(), of.sum(), target) > delta:
            break
        last = level
    return last


@pytest.mark.parametrize("seed", range(12))
def test_the_level_is_the_last_of_those_passed(seed):
    rng = np.random.default_rng(seed)
    shares = np.round(rng.uniform(0.5, 1.0, 800), 2)
    wrong = rng.random(800) < 0.6 * (1.0 - shares)
    reference = np.round(rng.uniform(0.5, 1.0, 4000), 2)
    target = rng.choice([0.03, 0.05, 0.1, 0.2])
    family = counted(shares, wrong, target, reference)
    # The first level where 1.2 times as many are expected as could pass without an error, less a
    # standard error of the reference.
    fewest = 1.2 * np.log(DELTA) / np.log(1.0 - target)
    of = np.array([np.mean(reference >= level - 1e-12) for level in SHARES])
    expected = 800 * (of - np.sqrt(of * (1 - of) / 4000))
    start = next(i for i, number in enumerate(expected) if number >= fewest)
    assert family.start == start
    level = by_hand(shares, wrong, target, start, DELTA)
    assert family.level(VOTE) == level
    error, coverage = family.claims(VOTE)
    if level is None:
        assert (error.upper, coverage.lower) == (1.0, 0.0)
    else:
        of = shares >= level - 1e-12
        assert error.upper == target
        delta = DELTA / PART * (1.0 - PART) / (len(SHARES) - start)
        low = 1.0 if level == 0.0 else beta.ppf(delta, of.sum(), 800 - of.sum() + 1)
        assert coverage.lower == pytest.approx(low, abs=1e-9)
        assert coverage.lower <= low


def test_the_pilot_does_not_test():
    rng = np.random.default_rng(0)
    shares, wrong = rng.uniform(0.5, 1.0, 1000), rng.random(1000) < 0.05
    family = counted(shares, wrong, 0.2)
    assert family.start_from == "a pilot"
    assert family.evidence["pilot"] == 100
    assert family.evidence["n_samples"] == family.evidence["answered"][-1] == 900


def violations(draw, target, risks, choose, times=2000):
    """Count the samples on which the level chosen has too large an error."""
    false = 0
    for seed in range(times):
        level = choose(*draw(np.random.default_rng(seed)), target)
        false += level is not None and risks(level) > target
    return false


def flat(rng):
    """Return shares and errors where every level errs a little more often than it may."""
    shares = rng.uniform(0.5, 1.0, 400)
    return shares, rng.random(400) < 0.11


def fixed_sequence(shares, wrong, target):
    reference = np.linspace(0.5, 1.0, 1001)
    return counted(shares, wrong, target, reference).level(VOTE)


def any_level(shares, wrong, target):
    """Take the largest of all levels that pass: a choice among many, which nobody pays for."""
    levels = SHARES[:51]
    passed = [one for one in levels if by_hand(shares, wrong, target, levels.index(one), DELTA)]
    return min(passed) if passed else None


def start_on_the_sample(shares, wrong, target):
    """Begin where the sample says that it pays to begin."""
    for start in range(51):
        level = by_hand(shares, wrong, target, start, DELTA)
        if level is not None:
            return level
    return None


def test_validity_where_every_level_errs_too_often():
    """The fixed sequence errs as often as it may; those that look at the sample do not."""
    ceiling = binom.ppf(0.995, 400, DELTA)
    assert violations(flat, 0.1, lambda level: 0.11, fixed_sequence, 400) <= ceiling
    assert violations(flat, 0.1, lambda level: 0.11, start_on_the_sample, 400) > ceiling
    assert violations(flat, 0.1, lambda level: 0.11, any_level, 400) > ceiling


def test_validity_where_the_risk_is_not_monotone():
    """Bad at the top, good below, bad again: a level that holds may come after one that does not.

    Of the examples with a share above 0.9 too many are wrong; so many of the others are right that
    the levels around 0.8 are fine.
    """
    edges, errors = np.array([0.5, 0.6, 0.9, 1.0]), np.array([0.5, 0.02, 0.12])

    def risks(level):
        low = np.maximum(edges[:-1], max(level, 0.5))
        mass = np.maximum(0.0, edges[1:] - low)
        return float(np.sum(mass * errors) / mass.sum())

    def draw(rng):
        shares = rng.uniform(0.5, 1.0, 600)
        return shares, rng.random(600) < errors[np.searchsorted(edges, shares) - 1]

    assert risks(0.95) > 0.1 > risks(0.7)
    assert risks(0.0) > 0.1
    assert violations(draw, 0.1, risks, fixed_sequence, 400) <= binom.ppf(0.995, 400, DELTA)


# --- votes and models ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / 16.0, y[order]


def test_a_vote_starts_from_part_a(digits):
    X, y = digits
    vote = MajorityVoteClassifier("trees", n_voters=30, random_state=0, abstain=0.05).fit(X, y)
    (family,) = vote.certificate_.families
    assert family.start_from == "part A"
    assert family.evidence["pilot"] == 0
    vote.verify(X, y)
    answer = vote.certificate_.claims[1].statement
    level = float(answer.partition("at least ")[2].partition(",")[0])
    accepted = vote.accepts(X)
    shares = vote.predict_proba(X).max(axis=1)
    np.testing.assert_array_equal(accepted, shares >= level - 1e-12)
    assert 0.5 < accepted.mean() < 1.0
    # All trees agree on the rows that trained them: from these nothing would be learned.
    assert family.start > 0


def test_a_forged_start_is_found(digits):
    X, y = digits
    vote = MajorityVoteClassifier("trees", n_voters=20, random_state=0, abstain=0.05).fit(X, y)
    fields = vote.certificate_.to_dict()
    fields["families"][0]["start"] += 1
    with pytest.raises(CertificateError, match="must follow from its evidence"):
        Certificate.from_dict(json.loads(json.dumps(fields)))
    family = replace(vote.certificate_.families[0], start=fields["families"][0]["start"])
    with pytest.raises(CertificateError):
        vote.verify(X, y, replace(vote.certificate_, families=(family,)))


def test_unlabelled_rows_say_where_to_begin(digits):
    X, y = digits
    vote = MajorityVoteClassifier("trees", n_voters=20, random_state=0, abstain=0.05)
    vote.fit(X[:1200], y[:1200], unlabelled=X[1200:])
    assert vote.certificate_.families[0].start_from == "unlabelled rows"
    with pytest.warns(UserWarning, match="not checked: at which level testing began"):
        vote.verify(X[:1200], y[:1200])
    vote.verify(X[:1200], y[:1200], unlabelled=X[1200:])
    with pytest.raises(CertificateError, match="are among the unlabelled"):
        vote.verify(X[:1200], y[:1200], unlabelled=X[:1200])
    frozen = MajorityVoteClassifier(
        voters=FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])),
        random_state=0,
        abstain=0.1,
        bound="heldout",
    )
    frozen.fit(X[600:], y[600:])
    assert frozen.certificate_.families[0].start_from == "a pilot"
    frozen.verify(X[600:], y[600:])


@pytest.mark.parametrize("kind", ["model", "vote", "selective"])
def test_a_start_that_was_chosen_on_the_sample_does_not_verify(digits, kind):
    """Levels and start are invented so that the first test is of the most rows that pass."""
    X, y = digits
    new, labels, others = X[600:1200], y[600:1200], X[1200:]
    if kind == "vote":
        model = MajorityVoteClassifier("trees", n_voters=20, random_state=0).fit(X[:600], y[:600])
    else:
        model = RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])
    certificate = certify_model(model, new, labels, abstain=0.02, unlabelled=others)
    verified = partial(verify_model, model, new, labels)
    if kind == "selective":
        selective = SelectiveClassifier(model, target=0.02)
        assert selective.certify(new, labels, unlabelled=others) == certificate
        selective.verify(new, labels, unlabelled=others)
    verified(certificate, unlabelled=others)
    with pytest.warns(UserWarning, match=r"not checked: .* taken at its word"):
        verified(certificate)
    (family,) = certificate.families
    forged = replace(certificate, families=(replace(family, start=family.start + 1),))
    with pytest.warns(UserWarning, match="not checked"):
        verified(forged)  # by the labelled rows alone nobody can tell
    with pytest.raises(CertificateError, match=rf"'start': {family.start + 1}.*{family.start}"):
        verified(forged, unlabelled=others)
    with pytest.raises(CertificateError, match="are among the unlabelled"):
        verified(certificate, unlabelled=new)
    with pytest.raises(CertificateError, match="start_from must not be 'part A'"):
        replace(certificate, families=(replace(family, start_from="part A"),))
    pilot = certify_model(model, new, labels, abstain=0.02)
    with pytest.raises(ValueError, match="the certificate used none"):
        verified(pilot, unlabelled=others)


def test_a_table_of_votes_has_no_unlabelled_start():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    votes = np.where(rng.random((500, 9)) < 0.2, 1 - y[:, None], y[:, None])
    certificate = certify(votes, y, abstain=0.1)
    (family,) = certificate.families
    evidence = family.evidence | {"pilot": 0, "n_samples": 500}
    evidence["answered"] = [*evidence["answered"][:-1], 500]
    invented = replace(family, start_from="unlabelled rows", evidence=evidence)
    with pytest.raises(CertificateError, match="start_from must not be 'unlabelled rows'"):
        replace(certificate, families=(invented,))


def test_rows_that_certify_do_not_say_where_to_begin(digits):
    X, y = digits
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0, abstain=0.2)
    with pytest.raises(ValueError, match="unlabelled must hold other examples"):
        vote.fit(X[:1200], y[:1200], unlabelled=X[:1200])
    vote.fit(X[:600], y[:600], unlabelled=X[1200:])
    assert not any("unlabelled" in text for text in vote.certificate_.findings)
    model = RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])
    new, labels = X[600:1000], y[600:1000]
    for certified in (vote.certify, partial(certify_model, model)):
        with pytest.raises(ValueError, match="unlabelled must hold other examples"):
            certified(new, labels, abstain=0.2, unlabelled=new[::-1])
        few = np.concatenate([X[1000:1600], new[:5]])
        with pytest.warns(UserWarning, match="are among the unlabelled"):
            certificate = certified(new, labels, abstain=0.2, unlabelled=few)
        # Five of 400 that certify, and of 605 unlabelled ones.
        assert any("(1.2% of one" in text for text in certificate.findings)


def test_discrete_rows_that_certify_do_not_say_where_to_begin():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(900, 3)).astype(float)
    y = (X.sum(axis=1) + rng.integers(2, size=900) > 3).astype(int)
    model = DecisionTreeClassifier(max_depth=2).fit(X[:300], y[:300])
    new, labels = X[300:600], y[300:600]
    for unlabelled in (new, new[:250], np.concatenate([new, X[:30]])):
        with pytest.raises(ValueError, match="unlabelled must hold other examples"):
            certify_model(model, new, labels, abstain=0.4, unlabelled=unlabelled)
    # Independent rows of few values are equal to others by chance.
    certificate = certify_model(model, new, labels, abstain=0.4, unlabelled=X[600:])
    assert not any("unlabelled" in text for text in certificate.findings)


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(30, random_state=0), LinearSVC(), LogisticRegression(max_iter=5000)],
)
def test_a_model_of_ones_own(digits, model):
    X, y = digits
    model.fit(X[:600], y[:600])
    careful = SelectiveClassifier(model, target=0.05)
    with pytest.raises(NotFittedError, match="certify first"):
        careful.accepts(X)
    certificate = careful.certify(X[600:], y[600:], claims=["recall"])
    careful.verify(X[600:], y[600:])
    np.testing.assert_array_equal(careful.predict(X), model.predict(X))
    accepted = careful.accepts(X[600:])
    wrong = model.predict(X[600:]) != y[600:]
    assert accepted.any()
    assert wrong[accepted].mean() < 0.05
    # The sentence is about the very level: a shorter number may be below it.
    said = [
        claim.statement for claim in certificate.claims if "score of at least" in claim.statement
    ]
    level = float(said[0].split("score of at least ")[1].split(", it")[0])
    [family] = [family for family in certificate.families if family.kind == "abstain"]
    assert level in family.levels
    assert certificate == Certificate.from_dict(certificate.to_dict())
    verify_model(model, X[600:], y[600:], certificate)
    with pytest.raises(CertificateError):
        verify_model(model, X[600:], np.roll(y[600:], 1), certificate)


class Ranked:
    """It answers each row by itself, but is sure by the rows beside, or by chance."""

    def __init__(self, by_chance):
        self.by_chance = by_chance
        self.classes_ = np.array([0, 1])
        self.rng = np.random.default_rng(0)

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)

    def predict_proba(self, X):
        ranks = np.argsort(np.argsort(np.abs(X[:, 0]))) / max(1, len(X) - 1)
        sure = 0.5 + 0.5 * (self.rng.random(len(X)) if self.by_chance else ranks)
        proba = np.stack([1 - sure, sure], axis=1)
        return np.where(self.predict(X)[:, None] == 1, proba, proba[:, ::-1])


@pytest.mark.parametrize("by_chance", [False, True])
def test_scores_that_are_not_those_of_a_row_are_found(by_chance):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 1))
    y = ((X[:, 0] + 0.3 * rng.normal(size=1000)) > 0).astype(int)
    model = Ranked(by_chance)
    with pytest.warns(UserWarning, match="answered otherwise, or was less or more sure, on"):
        certificate = SelectiveClassifier(model, target=0.05).certify(X, y)
    assert any("depend on chance or on the examples beside" in one for one in certificate.findings)
    # Where no claim is about how sure it is, its answers are all that counts.
    assert certify_model(model, X, y).findings == ()


def test_what_cannot_abstain(digits):
    class Bare:
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    X, y = digits
    with pytest.raises(ValueError, match="how sure each answer is"):
        certify_model(Bare(), X, y, abstain=0.1)
    with pytest.raises(ValueError, match="how sure each answer is"):
        certify(y, y, abstain=0.1)
    votes = np.stack([y, y, np.roll(y, 1)], axis=1)
    for target in (0, 1, -0.1, 1.5, np.nan, "much"):
        with pytest.raises(ValueError, match="abstain"):
            certify(votes, y, abstain=target)
    with pytest.raises(ValueError, match="fixed before the sample"):
        certify(votes, y, bound="tandem", abstain=0.1)


def test_where_no_abstaining_is_needed(digits):
    _, y = digits
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((len(y), 9)) < 0.2, rng.permutation(y)[:, None], y[:, None])
    error, coverage = certify(votes, y, abstain=0.3).claims[1:]
    assert error.statement.startswith("It need not abstain: on all examples")
    assert coverage.lower == 1.0


def test_how_many_rows_it_would_take():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=100)
    votes = np.where(rng.random((100, 25)) < 0.1, 1 - y[:, None], y[:, None])
    error, _ = certify(votes, y, abstain=0.001).claims[1:]
    assert "Nowhere is it shown" in error.statement
    rows = int(error.statement.split("About ")[1].split()[0])
    # Without an error so many answers are needed, at the level that all of the tests were at.
    needed = np.log(0.9 * 0.9 * DELTA / 2) / np.log(1.0 - 0.001)
    assert needed <= rows <= 1.5 * needed


def test_fewer_rows_than_there_are_would_not_show_it():
    """Where the surest answers are as often wrong as all others, the first test fails for long."""
    rng = np.random.default_rng(0)
    wrong, shares = rng.random(2000) < 0.14, rng.uniform(0.5, 1.0, 2000)
    wrong[np.argsort(-shares)[:30]] = True
    error, _ = counted(shares, wrong, 0.3, reference=rng.uniform(0.5, 1.0, 2000)).claims(VOTE)
    assert error.statement.startswith(
        "Nowhere is it shown to err with probability at most 0.3. The"
    )
    assert "About" not in error.statement
    first = int(error.statement.split("first test was of the ")[1].split()[0])
    assert f"{first} examples that it is surest of, " in error.statement


def test_scores_are_answered_from_the_level_on():
    scores = np.array([0.1, 0.5, 0.7])
    np.testing.assert_array_equal(answered(scores, 0.5), [False, True, True])
    np.testing.assert_array_equal(answered(scores, None), [False, False, False])


def test_more_is_answered_than_by_a_peer():
    """The same samples at the same confidence, MAPIE's default and its split fixed sequence."""
    risk_control = pytest.importorskip("mapie.risk_control")
    warnings.filterwarnings("ignore", message="No predict parameters", category=UserWarning)
    rng = np.random.default_rng(3)
    mine, theirs = [], {"bonferroni_holm": [], "split_fixed_sequence": []}
    for _ in range(10):
        shares = np.round(rng.uniform(0.5, 1.0, 2000), 2)
        wrong = rng.random(2000) < 0.5 * (1.0 - shares)
        reference = np.round(rng.uniform(0.5, 1.0, 5000), 2)
        level = counted(shares, wrong, 0.08, reference).level(VOTE)
        mine.append(answered(reference, level).mean())
        for method, found in theirs.items():
            controller = risk_control.BinaryClassificationController(
                lambda X: np.column_stack([1.0 - X[:, 0], X[:, 0]]),
                risk_control.precision,
                0.92,
                confidence_level=1.0 - DELTA,
                fwer_method=method,
            )
            half = 1000 if method == "split_fixed_sequence" else 0
            right = (~wrong).astype(int)
            if half:
                controller.learn_fixed_sequence_order(shares[:half, None], right[:half])
            controller.calibrate(shares[half:, None], right[half:])
            best = controller.best_predict_param
            found.append(0.0 if best is None else answered(reference, float(best)).mean())
    assert np.mean(mine) >= 1.05 * np.mean(theirs["bonferroni_holm"])
    assert np.mean(mine) >= np.mean(theirs["split_fixed_sequence"])


def test_another_model_must_be_certified_anew(digits):
    X, y = digits
    model = RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])
    worse = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:600], y[:600])
    selective = SelectiveClassifier(model, target=0.1)
    selective.certify(X[600:], y[600:])
    for same in (selective, pickle.loads(pickle.dumps(selective)), deepcopy(selective)):
        np.testing.assert_array_equal(same.predict(X), model.predict(X))
        before = same.accepts(X[600:])
        same.set_params(model=worse)
        for ask in (same.predict, same.accepts, partial(same.verify, y=y[600:])):
            with pytest.raises(ValueError, match="must be the one that was certified"):
                ask(X[600:])
        same.certify(X[600:], y[600:])
        assert not np.array_equal(same.accepts(X[600:]), before)
        np.testing.assert_array_equal(same.predict(X), worse.predict(X))
