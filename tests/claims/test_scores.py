"""F1 and costs: limits by hand, and all samples of small worlds."""

import math
from itertools import product

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import beta, multinomial

from certivote import certify
from certivote.bounds import HeldoutBound
from certivote.claims import CostFamily, F1Family

RNG = np.random.default_rng(0)
M = 700
Y = RNG.choice(["a", "b", "c"], size=M, p=[0.6, 0.3, 0.1])
PREDICTED = np.where(RNG.random(M) < 0.2, RNG.choice(["a", "b", "c"], size=M), Y)


def lower(k, n, delta):
    """The lower limit of Clopper and Pearson, by scipy's quantiles."""
    return float(beta.ppf(delta, k, n - k + 1)) if k else 0.0


def f1_by_hand(name, delta):
    """The lower limit of the F1 score of a class, from the counts of a sample."""
    true, answered = name == Y, name == PREDICTED
    share = lower(int(np.sum(true & answered)), int(np.sum(true | answered)), delta)
    return 2 * share / (1 + share)


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_f1_of_a_class(name):
    claim = certify(PREDICTED, Y, claims=[f"f1 of {name}"]).claims[1]
    assert claim.about == f"f1 of {name}"
    assert claim.lower == pytest.approx(f1_by_hand(name, 0.025), abs=1e-9)
    assert claim.lower <= f1_by_hand(name, 0.025) + 1e-13
    assert claim.upper is None
    said = float(claim.statement.removesuffix(".").rsplit(" ", 1)[1])
    assert claim.lower - 1e-4 <= said <= claim.lower


def test_the_mean_of_f1_shares_delta_by_the_examples_of_each_class():
    claim = certify(PREDICTED, Y, claims=["f1"]).claims[1]
    parts = {name: np.sum((name == Y) | (name == PREDICTED)) / (2 * M) for name in "abc"}
    assert sum(parts.values()) <= 1
    expected = np.mean([f1_by_hand(name, 0.025 * part) for name, part in parts.items()])
    assert claim.lower == pytest.approx(expected, abs=1e-9)
    assert claim.lower <= expected + 1e-13
    assert claim.statement.startswith("The mean of the F1 scores of a, b, c is at least 0.")
    assert claim.evidence["a"] == {
        "right": int(np.sum((Y == "a") & (PREDICTED == "a"))),
        "true_or_answered": int(np.sum((Y == "a") | (PREDICTED == "a"))),
    }


def test_several_fixed_votes_share_delta():
    votes = np.column_stack([PREDICTED, Y[::-1], PREDICTED])
    bound = HeldoutBound(fixed_votes=np.eye(3))
    costs = CostFamily(classes=["a", "b", "c"], costs=1 - np.eye(3))
    certificate = certify(votes, Y, np.eye(3)[0], bound, claims=["f1 of b", costs])
    _, f1, cost = certificate.claims
    assert f1.lower == pytest.approx(f1_by_hand("b", 0.0125 / 3), abs=1e-9)
    k = int(np.sum(PREDICTED != Y))
    assert cost.upper == pytest.approx(beta.ppf(1 - 0.0125 / 3, k + 1, M - k), abs=1e-9)


def failures(cells, probabilities, m, delta, limit_of):
    """The probability that the mean of F1 is claimed too large, as a sum over all samples.

    A cell is a pair (truth, answer); `limit_of` gets right answers, union, and how many classes
    there are.
    """
    classes = sorted({label for cell in cells for label in cell})
    table = dict(zip(cells, probabilities, strict=True))
    truth = {}
    for c in classes:
        union = sum(p for cell, p in table.items() if c in cell)
        share = table.get((c, c), 0.0) / union
        truth[c] = 2 * share / (1 + share)
    total = 0.0
    for counts in product(range(m + 1), repeat=len(cells)):
        if sum(counts) != m:
            continue
        of = dict(zip(cells, counts, strict=True))
        unions = {c: sum(n for cell, n in of.items() if c in cell) for c in classes}
        seen = [c for c in classes if unions[c]]
        shares = [limit_of(of.get((c, c), 0), unions[c], len(seen)) for c in seen]
        claimed = sum(2 * share / (1 + share) for share in shares)
        if claimed > sum(truth[c] for c in seen) + 1e-12:
            total += multinomial.pmf(counts, m, probabilities)
    return total


def test_the_mean_of_f1_does_not_count_the_classes_that_it_sees():
    """δ/C with as many classes C as the sample has is false too often: errors name more classes."""
    cells = [(0, 0), (1, 0), (1, 1), (1, 2)]
    probabilities = [0.1214, 0.5064, 0.1935, 0.1787]
    m, delta = 2, 0.05

    def by_classes(k, n, c):
        return lower(k, n, delta / c)

    def by_examples(k, n, c):
        return lower(k, n, delta * n / (2 * m))

    assert failures(cells, probabilities, m, delta, by_classes) > 1.03 * delta
    assert failures(cells, probabilities, m, delta, by_examples) <= delta
    y, predicted = np.array([1, 1]), np.array([1, 2])
    claim = certify(predicted, y, delta=2 * delta, claims=["f1"]).claims[1]
    shares = [by_examples(1, 2, 2), by_examples(0, 1, 2)]
    expected = np.mean([2 * share / (1 + share) for share in shares])
    assert claim.lower == pytest.approx(expected, abs=1e-9)


def cost_by_hand(costs, classes, delta):
    """The limit of the expected cost: each level by itself, the counts from the rows."""
    table = {(t, a): costs[i][j] for i, t in enumerate(classes) for j, a in enumerate(classes)}
    paid = np.array([table[pair] for pair in zip(Y, PREDICTED, strict=True)])
    levels = sorted({cost for row in costs for cost in row if cost > 0})
    total, before = 0.0, 0.0
    for level in levels:
        k = int(np.sum(paid >= level))
        limit = 1.0 if k == M else beta.ppf(1 - delta / len(levels), k + 1, M - k)
        total, before = total + (level - before) * limit, level
    return total


COSTS = {
    "0 and 1": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
    "several levels": [[0, 1, 2.5], [10, 0, 2.5], [10, 3, 0]],
    "large and small": [[0, 1e-6, 1e-6], [1e6, 0, 1e6], [1, 1, 0]],
    "right answers cost too": [[1, 2, 2], [2, 1, 2], [2, 2, 1]],
    "no costs": [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
}


@pytest.mark.parametrize("name", COSTS)
def test_costs(name):
    costs, classes = COSTS[name], ["c", "a", "b"]
    claim = certify(PREDICTED, Y, claims=[CostFamily(classes=classes, costs=costs)]).claims[1]
    expected = cost_by_hand(costs, classes, 0.025)
    assert claim.upper == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert claim.upper >= expected * (1 - 1e-13)
    said = float(claim.statement.split("at most ")[1].split()[0])
    assert claim.upper <= said <= claim.upper + 1e-4 * (1 + 1e-9)
    assert claim.about == "cost"


def test_costs_of_0_and_1_are_the_error():
    costs = CostFamily(classes=["a", "b", "c"], costs=1 - np.eye(3))
    certificate = certify(PREDICTED, Y, claims=[costs], shares={"error": 0.5, "cost": 0.5})
    assert certificate.claims[1].upper == pytest.approx(certificate.risk_bound, abs=1e-11)


def test_a_cost_is_rounded_up():
    with mp.workdps(40):
        for errors in (0, 3, 40):
            y = np.zeros(60, dtype=int)
            y[0] = 1
            predicted = y.copy()
            predicted[1 : errors + 1] = 1
            family = CostFamily(classes=["0", "1"], costs=[[0, 0.1], [0.3, 0]])
            claim = certify(predicted, y, claims=[family]).claims[1]
            # Two levels: 0.1 on all errors, 0.3 on none.
            exact, delta = mp.mpf(0), mp.mpf("0.0125")
            for step, k in ((mp.mpf(0.1), errors), (mp.mpf(0.3) - mp.mpf(0.1), 0)):
                low, high = mp.mpf(0), mp.mpf(1)
                for _ in range(100):
                    x = (low + high) / 2
                    far = mp.betainc(k + 1, 60 - k, x, 1, regularized=True) <= delta
                    low, high = (low, x) if far else (x, high)
                exact += step * high
            assert exact <= mp.mpf(claim.upper) <= exact * (1 + mp.mpf("1e-8"))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: CostFamily(), "costs must be of classes"),
        (lambda: CostFamily(classes="ab", costs=[[0, 1], [1, 0]]), "the names of classes"),
        (lambda: CostFamily(classes=None, costs=[[0, 1], [1, 0]]), "the names of classes"),
        (lambda: CostFamily(classes=["a", "a"], costs=[[0, 1], [1, 0]]), "each named once"),
        (lambda: CostFamily(classes=["a", "b"], costs=[0, 1]), "must be a table"),
        (lambda: CostFamily(classes=["a", "b"], costs=[[0, 1]]), "a row and a column for each"),
        (lambda: CostFamily(classes=["a", "b"], costs=[[0, 1], [1, 0], [1, 1]]), "3 row"),
        (lambda: CostFamily(classes=["a", "b"], costs=[[0, 1, 2], [1, 0, 2]]), "row and a column"),
        (lambda: CostFamily(classes=["a", "b"], costs=[[0, -1], [1, 0]]), "a cost must be in"),
        (lambda: CostFamily(classes=["a", "b"], costs=[[0, math.nan], [1, 0]]), "a cost must be"),
        (lambda: CostFamily(classes=["a", "b"], costs=[[0, math.inf], [1, 0]]), "a cost must be"),
        (lambda: CostFamily(classes=["a", "b"], costs=[["0", "1"], ["1", "0"]]), "be a number"),
        (lambda: F1Family(0.05, {"a": {"right": 3, "true_or_answered": 2}}), "at most 2 right"),
        (lambda: F1Family(0.05, {"a": {"right": 1.0, "true_or_answered": 2}}), "must be counts"),
        (lambda: F1Family(0.05, {"a": {"right": 1}}), "true_or_answered"),
        (lambda: F1Family(0.05, {"a": 1}), "right, true_or_answered"),
    ],
)
def test_what_is_no_family_is_refused(made, message):
    with pytest.raises(ValueError, match=message):
        made()


def test_a_class_without_costs_is_refused():
    costs = CostFamily(classes=["a", "bb"], costs=[[0, 1], [1, 0]])
    y = np.repeat(["a", "b"], 20)
    with pytest.raises(ValueError, match="lack 'b': did you mean 'bb'"):
        certify(y, y, claims=[costs])
    # One that is only answered costs something too.
    with pytest.raises(ValueError, match="lack 'b'"):
        certify(y, np.repeat("a", 40), claims=[costs])


def test_an_unknown_class_of_f1_is_refused_with_a_hint():
    y = np.repeat(["healthy", "ill"], 30)
    with pytest.raises(ValueError, match="got 'il': did you mean 'ill'"):
        certify(y, y, claims=["f1 of il"])


def test_f1_of_a_class_that_is_a_number():
    y = np.repeat([0, 1], 30)
    (_, text), (_, number) = (
        certify(y, y, claims=[claim]).claims for claim in ("f1 of 1", F1Family(positive=1))
    )
    assert text == number
