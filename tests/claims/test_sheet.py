"""From words to families, and how these share δ."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from certivote import certify
from certivote.claims import (
    ClassFamily,
    CostFamily,
    F1Family,
    Family,
    GroupFamily,
    PrecisionFamily,
    ShiftFamily,
    parse_claim,
    register,
    shared,
)
from certivote.claims.sheet import FAMILIES

COSTS = {"classes": ["a", "b"], "costs": [[0, 1], [2, 0]]}


@pytest.mark.parametrize(
    ("claim", "family"),
    [
        ("recall", ClassFamily()),
        ("balanced", ClassFamily(recall=False, balanced=True)),
        ("precision", PrecisionFamily()),
        ("f1", F1Family()),
        ("f1 of a b", F1Family(positive="a b")),
        ("error by region", GroupFamily(column="region")),
        ("error by f1 of x", GroupFamily(column="f1 of x")),
    ],
)
def test_words(claim, family):
    assert parse_claim(claim) == family
    assert parse_claim(family) is family


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("recal", "did you mean 'recall'"),
        ("Precision", "did you mean 'precision'"),
        ("", "claims must be one of"),
        ("error by ", "claims must be one of"),
        ("f1 of ", "claims must be one of"),
        (None, "got None"),
        (3, "got 3"),
        (ClassFamily(delta=0.01), "without evidence or δ"),
        (PrecisionFamily(0.0, {"a": {"vote_errors": 1, "vote_size": 2}}), "without evidence or δ"),
    ],
)
def test_what_is_no_claim_is_refused(claim, message):
    with pytest.raises(ValueError, match=message):
        parse_claim(claim)


def test_half_is_for_the_error_and_the_rest_in_equal_parts():
    claims = ["recall", "balanced", "precision", "f1", ShiftFamily(distance="tv", radius=0.1)]
    own, families = shared(claims, 0.06)
    assert own == 0.03
    assert [family.name for family in families] == ["recall", "precision", "f1", "shift tv=0.1"]
    assert [family.delta for family in families] == pytest.approx([0.01, 0.01, 0.01, 0.0])
    assert families[0] == ClassFamily(delta=families[0].delta, balanced=True)


@pytest.mark.parametrize("n", [1, 3, 7, 20])
def test_the_parts_sum_to_no_more_than_delta(n):
    own, families = shared([f"error by {j}" for j in range(n)], 0.05)
    assert math.fsum([own, *(family.delta for family in families)]) <= 0.05 * (1 + 1e-15)


def test_nothing_is_shared_where_nothing_is_claimed():
    assert shared(None, 0.05) == (0.05, ())
    assert shared([], 0.05) == (0.05, ())
    assert shared("recall", 0.05)[1] == (ClassFamily(delta=0.025),)
    own, (shift,) = shared([ShiftFamily(radius=0.1)], 0.05)
    assert (own, shift.delta) == (0.05, 0.0)


@pytest.mark.parametrize(
    ("claims", "shares", "message"),
    [
        (["recall"], {"error": 0.6, "recall": 0.5}, r"sum to 1, got 1\.1"),
        (["recall"], {"error": 0.6, "recall": 0.3}, r"sum to 1, got 0\.9"),
        (["recall"], {"recall": 1.0}, "shares must name each of 'error', 'recall'"),
        (["recall"], {"error": 0.5, "recal": 0.5}, "got 'error', 'recal'"),
        (["recall"], {"error": 0.5, "recall": 0.2, "f1": 0.1}, "shares must name each"),
        (["recall"], {"error": 0.0, "recall": 1.0}, "the share of 'error'"),
        (["recall"], {"error": 0.5, "recall": -0.1}, "the share of 'recall'"),
        (["recall"], {"error": 0.5, "recall": math.nan}, "the share of 'recall'"),
        (["recall"], [0.5, 0.5], "shares must name each"),
        (None, {"error": 1.0}, "shares must not be given"),
        ([ShiftFamily(radius=0.1)], {"error": 1.0}, "shares must not be given"),
    ],
)
def test_shares_that_are_none_are_refused(claims, shares, message):
    with pytest.raises(ValueError, match=message):
        shared(claims, 0.05, shares)


def test_shares_may_miss_1_by_rounding_and_are_then_not_above_it():
    claims = ["recall", "precision", "f1"]
    for third in (1 / 3, 0.33333333333, 0.33333333345):
        shares = dict.fromkeys(claims, third * 0.9) | {"error": 0.1}
        own, families = shared(claims, 0.05, shares)
        total = math.fsum([own, *(family.delta for family in families)])
        assert 0.05 * (1 - 1e-9) <= total <= 0.05 * (1 + 1e-15)


def test_a_claim_that_is_made_twice_is_one():
    assert len(shared(["recall", "recall"], 0.05)[1]) == 1
    assert len(shared(["precision", PrecisionFamily()], 0.05)[1]) == 1
    costs = [CostFamily(**COSTS), CostFamily(**COSTS)]
    assert len(shared(costs, 0.05)[1]) == 1
    frequencies = [ClassFamily(recall=False, frequencies=({"a": x, "b": 1 - x},)) for x in (0, 1)]
    (family,) = shared([*frequencies, frequencies[0]], 0.05)[1]
    assert family.frequencies == ({"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 0.0})
    assert not family.recall


def test_two_costs_at_once_are_refused():
    other = {**COSTS, "costs": [[0, 1], [3, 0]]}
    with pytest.raises(ValueError, match="say once what they ask for, got 'cost' twice"):
        shared([CostFamily(**COSTS), CostFamily(**other)], 0.05)


def test_every_limit_grows_with_the_number_of_families():
    """Whoever claims more pays for it, in every claim."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], size=300)
    predicted = np.where(rng.random(300) < 0.1, np.where(y == "a", "b", "a"), y)
    few = certify(predicted, y, claims=["recall"])
    many = certify(predicted, y, claims=["recall", "precision", "f1"])
    assert many.risk_bound == few.risk_bound > certify(predicted, y).risk_bound
    for less, more in zip(few.claims[1:3], many.claims[1:3], strict=True):
        assert more.about == less.about
        assert more.lower < less.lower


def test_only_families_with_a_name_of_their_own_are_registered():
    @dataclass(frozen=True)
    class Taken(ClassFamily):
        pass

    class Plain(Family):
        kind = "plain"

    @dataclass(frozen=True)
    class Unfinished(Family):
        kind = "unfinished"

    @dataclass(frozen=True)
    class Nameless(Family):
        pass

    known = dict(FAMILIES)
    for family, error, said in (
        (Taken, ValueError, "kind 'recall' is taken by ClassFamily"),
        (Plain, TypeError, "must be a frozen dataclass"),
        (Unfinished, TypeError, "must write check, claims, count"),
        (Nameless, ValueError, "must say its name"),
        (ClassFamily(), TypeError, "must be a subclass of Family"),
    ):
        with pytest.raises(error, match=said):
            register(family)
    assert known == FAMILIES
