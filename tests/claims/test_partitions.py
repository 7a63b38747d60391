"""Errors on classes, answers and groups: limits by hand, from scipy's beta distribution."""

import math

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import beta, binom

from certivote import VoteStatistics, certify
from certivote.bounds import HeldoutBound, get_bound
from certivote.claims import ClassFamily, GroupFamily, PrecisionFamily
from certivote.claims.base import sidak

RNG = np.random.default_rng(0)
M = 900
Y = RNG.choice(["a", "b", "c"], size=M, p=[0.6, 0.3, 0.1])
# Of several voters, which err on some classes more than on others.
WRONG = RNG.random((M, 9)) < np.where(Y == "c", 0.4, 0.15)[:, None]
VOTES = np.where(WRONG, RNG.choice(["a", "b", "c"], size=(M, 9)), Y[:, None])
PREDICTED = VOTES[:, 0]
REGION = RNG.choice(["north", "south", "east", "west"], size=M)


def upper(k, m, delta):
    """The limit of Clopper and Pearson, by scipy's quantiles."""
    return 1.0 if k == m else float(beta.ppf(1 - delta, k + 1, m - k))


def parts_by_hand(column, predicted, delta):
    """Limits of the errors on the values of a column that hold together at delta."""
    values = sorted(set(column.tolist()))
    each = 1 - (1 - delta) ** (1 / len(values))
    return {
        value: upper(int(np.sum((predicted != Y)[column == value])), np.sum(column == value), each)
        for value in values
    }


def limits_of(certificate, what):
    """The upper limits of the errors on the parts of a family, by the beginning of its claims."""
    return {
        claim.about.removeprefix(what): 1 - claim.lower if claim.upper is None else claim.upper
        for claim in certificate.claims
        if claim.about.startswith(what)
    }


@pytest.mark.parametrize(
    ("claim", "what", "column"),
    [
        ("recall", "recall of ", Y),
        ("precision", "precision of ", PREDICTED),
        ("error by region", "error where region = ", REGION),
    ],
)
@pytest.mark.parametrize("delta", [0.05, 0.3, 1e-6])
def test_parts_are_those_by_hand(claim, what, column, delta):
    certificate = certify(PREDICTED, Y, delta=delta, claims=[claim], by={"region": REGION})
    expected = parts_by_hand(column, PREDICTED, delta / 2)
    found = limits_of(certificate, what)
    assert found == pytest.approx(expected, abs=1e-9)
    assert all(found[part] >= expected[part] - 1e-13 for part in expected)
    k = int(np.sum(PREDICTED != Y))
    assert certificate.risk_bound == pytest.approx(upper(k, M, delta / 2), abs=1e-9)
    assert certificate.delta == delta


def test_families_share_delta_and_each_shares_its_own():
    claims = ["recall", "precision", "error by region", "error by half"]
    by = {"region": REGION, "half": np.arange(M) < 400}
    certificate = certify(PREDICTED, Y, claims=claims, by=by)
    part = 0.025 / 4
    assert limits_of(certificate, "recall of ") == pytest.approx(parts_by_hand(Y, PREDICTED, part))
    assert limits_of(certificate, "precision of ") == pytest.approx(
        parts_by_hand(PREDICTED, PREDICTED, part)
    )
    for name, column in by.items():
        limits = parts_by_hand(column, PREDICTED, part)
        assert limits_of(certificate, f"error where {name} = ") == pytest.approx(
            {str(value): limit for value, limit in limits.items()}
        )
    assert [family.name for family in certificate.families] == claims
    assert math.fsum([0.025, *(family.delta for family in certificate.families)]) <= 0.05
    assert len(certificate.claims) == 1 + 3 + 3 + 4 + 2


def test_shares_are_those_that_were_given():
    shares = {"error": 0.1, "recall": 0.7, "precision": 0.2}
    certificate = certify(PREDICTED, Y, claims=["recall", "precision"], shares=shares)
    assert limits_of(certificate, "recall of ") == pytest.approx(
        parts_by_hand(Y, PREDICTED, 0.035), abs=1e-9
    )
    k = int(np.sum(PREDICTED != Y))
    assert certificate.risk_bound == pytest.approx(upper(k, M, 0.005), abs=1e-9)
    assert certificate.delta == 0.05


def test_the_winner_of_the_best_pays_for_the_choice():
    """A vote that is best as it was fixed: its claims have the share of the test, not all of δ."""
    prior = np.full(9, 1 / 9)
    bound = get_bound("best", shares=(("heldout", 0.8), ("lacasse", 0.2)))
    certificate = certify(VOTES, Y, prior, bound, claims=["recall", "precision"])
    assert certificate.evidence["winner"] == "heldout"
    names = np.array(["a", "b", "c"])
    predicted = names[(VOTES[:, :, None] == names).sum(axis=1).argmax(axis=1)]
    part = 0.8 * 0.0125
    assert limits_of(certificate, "recall of ") == pytest.approx(
        parts_by_hand(Y, predicted, part), abs=1e-9
    )
    assert limits_of(certificate, "precision of ") == pytest.approx(
        parts_by_hand(predicted, predicted, part), abs=1e-9
    )


def test_several_fixed_votes_are_paid_for_before_the_parts():
    """Each vote parts the examples by its own answers: δ/M each, and Šidák inside."""
    fixed = np.eye(9)[:4]
    certificate = certify(
        VOTES, Y, fixed[0], HeldoutBound(fixed_votes=fixed), claims=["precision", "recall"]
    )
    for what, column in (("precision of ", PREDICTED), ("recall of ", Y)):
        expected = parts_by_hand(column, PREDICTED, 0.0125 / 4)
        found = limits_of(certificate, what)
        assert found == pytest.approx(expected, abs=1e-9)
        assert all(found[part] >= expected[part] - 1e-13 for part in expected)


BEST = get_bound("best", shares=(("dirichlet", 0.7), ("gibbs", 0.3)))


@pytest.mark.parametrize("bound", ["lacasse", "tandem", "dirichlet", "gibbs", BEST])
def test_learned_weights_have_the_bound_on_the_examples_of_each_part(bound):
    certificate = certify(
        VOTES, Y, bound=bound, claims=["recall", "error by region"], by={"region": REGION}
    )
    name, share = (bound, 1.0) if isinstance(bound, str) else ("dirichlet", 0.7)
    assert certificate.evidence.get("winner", name) == name
    for what, column in (("recall of ", Y), ("error where region = ", REGION)):
        values = sorted(set(column.tolist()))
        each = 1 - (1 - 0.0125 * share) ** (1 / len(values))
        expected = {}
        for value in values:
            rows = column == value
            own = get_bound(name, delta=each)
            statistics = VoteStatistics.from_votes(VOTES[rows], Y[rows], keep_rows=True)
            expected[value] = min(1.0, own.value(statistics, certificate.weights))
        assert limits_of(certificate, what) == pytest.approx(expected, rel=1e-9)
    certificate.verify(VOTES, Y, by={"region": REGION})


@pytest.mark.parametrize("claim", ["precision", "f1", "f1 of a"])
@pytest.mark.parametrize("bound", ["lacasse", "tandem"])
def test_what_needs_a_fixed_vote_is_refused_of_learned_weights(claim, bound):
    with pytest.raises(ValueError, match=f"{claim!r} can be claimed only of a vote that was fixed"):
        certify(VOTES, Y, bound=bound, claims=[claim])


def test_limits_are_never_below_the_exact_ones():
    """Of many counts, in 40 digits: the tail at the limit is at most the δ of the part."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        m = int(rng.integers(2, 400))
        k = int(rng.integers(0, m))
        other = int(rng.integers(1, 50))
        y = np.zeros(m + other, dtype=int)
        y[m:] = 1
        predicted = y.copy()
        predicted[:k] = 1
        delta = float(rng.choice([0.5, 0.05, 1e-5]))
        claim = certify(predicted, y, delta=delta, claims=["recall"]).claims[1]
        with mp.workdps(40):
            each = 1 - (1 - mp.mpf(delta) / 2) ** (mp.mpf(1) / 2)
            x = 1 - mp.mpf(claim.lower)  # at least the limit
            tail = mp.betainc(k + 1, m - k, x, 1, regularized=True)
            assert tail <= each
            assert tail >= each * (1 - mp.mpf("1e-6"))
        printed = float(claim.statement.rsplit(" ", 1)[1].rstrip("."))
        assert float(x) - 1e-15 <= printed <= float(x) + 1e-4 + 1e-12


def test_sidak_is_exact_and_on_the_safe_side():
    for delta in (0.5, 0.05, 1e-9):
        for n in (1, 2, 7, 1000):
            with mp.workdps(40):
                exact = 1 - (1 - mp.mpf(delta)) ** (mp.mpf(1) / n)
                found = mp.mpf(sidak(delta, n))
                assert exact * (1 - mp.mpf("1e-14")) <= found <= exact


def test_independent_parts_hold_together_just_so():
    """The probability that all limits hold, as a sum over all counts: at least 1 − δ."""
    sizes, risks, delta = (12, 7), (0.21, 0.13), 0.3
    each = sidak(delta, 2)
    holding = 1.0
    for m, p in zip(sizes, risks, strict=True):
        fine = [k for k in range(m + 1) if upper(k, m, each) >= p]
        holding *= sum(binom.pmf(k, m, p) for k in fine)
    assert holding >= 1 - delta


def test_balanced_error_and_frequencies_follow_from_the_classes():
    frequencies = ({"a": 0.2, "b": 0.3, "c": 0.5}, {"c": 1.0})
    claims = ["recall", "balanced", ClassFamily(recall=False, frequencies=frequencies)]
    certificate = certify(PREDICTED, Y, claims=claims)
    assert len(certificate.families) == 1
    limits = parts_by_hand(Y, PREDICTED, 0.025)
    _, *classes, balanced, mix, pure = certificate.claims
    assert [claim.about for claim in classes] == ["recall of a", "recall of b", "recall of c"]
    assert balanced.about == "balanced error"
    assert balanced.upper == pytest.approx(np.mean(list(limits.values())), abs=1e-9)
    assert mix.upper == pytest.approx(
        0.2 * limits["a"] + 0.3 * limits["b"] + 0.5 * limits["c"], abs=1e-9
    )
    assert pure.upper == pytest.approx(limits["c"], abs=1e-9)
    assert pure.upper >= 1 - classes[2].lower - 1e-14
    assert "a 0.2, b 0.3, c 0.5" in mix.statement
    alone = certify(PREDICTED, Y, claims=["balanced"])
    assert [claim.about for claim in alone.claims] == ["error", "balanced error"]
    assert alone.claims[1].upper == pytest.approx(balanced.upper, abs=1e-12)


def test_frequencies_are_said_exactly():
    frequencies = ({"a": 0.123456789, "b": 0.876543211, "c": 0.0},)
    claim = certify(PREDICTED, Y, claims=[ClassFamily(frequencies=frequencies)]).claims[-1]
    assert "a 0.123456789, b 0.876543211, c 0," in claim.statement


def test_frequencies_that_miss_a_little_cost_it():
    short = {"a": 0.5, "b": 0.5 - 9e-10}
    limits = parts_by_hand(Y, PREDICTED, 0.025)
    claim = certify(PREDICTED, Y, claims=[ClassFamily(frequencies=(short,))]).claims[-1]
    exact = 0.5 * limits["a"] + short["b"] * limits["b"] + 9e-10
    assert exact <= claim.upper <= exact + 1e-10


def test_a_part_that_says_nothing_gets_1_and_a_word():
    y = np.array(["a"] * 50 + ["b"])
    predicted = np.array(["a"] * 51)
    claims = certify(predicted, y, claims=["recall", "precision"]).claims
    assert claims[2].lower == 0.0
    assert claims[2].statement.endswith("at most 1.0000. That says nothing.")
    assert "nothing" not in claims[1].statement
    assert [claim.about for claim in claims] == [
        *("error", "recall of a", "recall of b", "precision of a"),
    ]


@pytest.mark.parametrize("bound", ["lacasse", "tandem", "gibbs", "dis", "seeger", "dirichlet"])
def test_a_part_of_one_example_is_no_obstacle_to_learned_weights(bound):
    group = np.where(np.arange(M) == 5, "alone", "others")
    certificate = certify(VOTES, Y, bound=bound, claims=["error by g"], by={"g": group})
    alone, others = certificate.claims[1:]
    assert alone.upper > 0.98
    assert others.upper >= certificate.risk_bound
    certificate.verify(VOTES, Y, by={"g": group})


def test_evidence_is_counted_on_each_part():
    certificate = certify(PREDICTED, Y, claims=["recall", "precision"])
    recall, precision = certificate.families
    for name in "abc":
        assert recall.evidence[name] == {
            "vote_errors": int(np.sum((name == Y) & (name != PREDICTED))),
            "vote_size": int(np.sum(name == Y)),
        }
        assert precision.evidence[name] == {
            "vote_errors": int(np.sum((name != Y) & (name == PREDICTED))),
            "vote_size": int(np.sum(name == PREDICTED)),
        }
    claim = certificate.claims[1]
    assert claim.evidence == recall.evidence["a"]
    assert claim.upper is None


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ClassFamily(recall=False), "must be recall, balanced or frequencies"),
        (lambda: ClassFamily(recall=1), "recall must be true or false"),
        (lambda: ClassFamily(frequencies={"a": 1.0}), "must be a tuple"),
        (lambda: ClassFamily(frequencies=("a",)), "by the names of classes"),
        (lambda: ClassFamily(frequencies=({"a": 0.9, "b": 0.2},)), r"sum to 1, .* sum of 1\.1"),
        (lambda: ClassFamily(frequencies=({"a": 0.5},)), "sum to 1"),
        (lambda: ClassFamily(frequencies=({},)), "sum to 1"),
        (lambda: ClassFamily(frequencies=({"a": 1.5, "b": -0.5},)), "the frequency of 'a'"),
        (lambda: ClassFamily(frequencies=({"a": math.nan, "b": 1.0},)), "the frequency of 'a'"),
        (lambda: ClassFamily(frequencies=({"a": "1"},)), "the frequency of 'a' must be a number"),
        (lambda: GroupFamily(column=""), "column must be a name"),
        (lambda: GroupFamily(column=3), "column must be a name"),
        (lambda: PrecisionFamily(0.05, {"a": 3}), "the evidence on 'a' must be an object"),
        (lambda: PrecisionFamily(0.9), "delta"),
    ],
)
def test_what_is_no_family_is_refused(made, message):
    with pytest.raises(ValueError, match=message):
        made()


def test_frequencies_of_unknown_classes_are_refused_with_a_hint():
    asked = ClassFamily(frequencies=({"healthy": 0.5, "il": 0.5},))
    y = np.repeat(["healthy", "ill"], 30)
    with pytest.raises(ValueError, match="got 'il': did you mean 'ill'"):
        certify(y, y, claims=[asked])
