"""The Dirichlet-margin bound: tails, divergences and values in 50 digits, limits and refusals."""

import math

import numpy as np
import pytest

from certivote import Certificate, VoteStatistics, certify, minimize
from certivote.bounds import DirichletBound, get_bound
from certivote.bounds.dirichlet import bound as dirichlet
from certivote.bounds.dirichlet.beta import NEGLIGIBLE, tails_of, upper_tail
from certivote.certificate import CertificateError
from certivote.divergences import binet, dirichlet_kl, kl_inverse_upper
from certivote.solvers import LBFGS, FirstOrder
from certivote.statistics import packed
from certivote.statistics.packed import erring_weight, tables_of, transposed_product
from reference import MP, beta_tail, dirichlet_from_losses, mpf
from reference import dirichlet_kl as exact_kl

ONE_CELL = ((30.0, 1.5, 1.0),)


def sample(seed, m=300, n=7, keep_rows=True):
    rng = np.random.default_rng([seed, m, n])
    losses = rng.random((m, n)) < rng.beta(0.3, 2.0, size=(m, 1)) * rng.uniform(0.4, 1.6, size=n)
    return losses, VoteStatistics.from_losses(losses, keep_rows=keep_rows)


# ------------------------------------------------------------------ tails of beta distributions

CONCENTRATIONS = (0.7, 3.0, 30.0, 3000.0, 1e6)


def shares_around(x, k, seed=0):
    rng = np.random.default_rng(seed)
    near = x + np.append(rng.normal(size=5) * 3.0, 0.0) / (2 * math.sqrt(k + 1.0))
    return np.append(np.clip(near, 1e-3, 1 - 1e-3), [1e-9, 1 - 1e-9])


@pytest.mark.parametrize("x", [0.498, 0.365])
@pytest.mark.parametrize("k", CONCENTRATIONS)
def test_tails_against_fifty_digits(k, x):
    shares = shares_around(x, k)
    found, fast = upper_tail(shares, k, x), tails_of(k, x)(shares)[0]
    for share, tail, quick in zip(shares, found, fast, strict=True):
        reference = beta_tail(mpf(k) * mpf(share), mpf(k) * (1 - mpf(share)), x)
        assert tail == pytest.approx(float(reference), rel=1e-9, abs=2e-16 * k + 1e-15)
        assert quick == pytest.approx(float(reference), rel=1e-8, abs=1e-8 if k < 1 else 1e-11)


@pytest.mark.parametrize("x", [0.498, 0.365])
@pytest.mark.parametrize("k", CONCENTRATIONS)
def test_derivatives_of_tails_against_fifty_digits(k, x):
    shares = shares_around(x, k, seed=1)
    _, in_a, in_b = tails_of(k, x)(shares)
    for share, by_a, by_b in zip(shares, in_a, in_b, strict=True):
        a, b = mpf(k) * mpf(share), mpf(k) * (1 - mpf(share))
        h, g = a / mpf(10) ** 12, b / mpf(10) ** 12
        slope_a = (beta_tail(a + h, b, x) - beta_tail(a - h, b, x)) / (2 * h)
        slope_b = (beta_tail(a, b + g, x) - beta_tail(a, b - g, x)) / (2 * g)
        digits = 1e-5 if k < 1 else 1e-9
        assert by_a == pytest.approx(float(slope_a), rel=digits, abs=1e-20)
        assert by_b == pytest.approx(float(slope_b), rel=digits, abs=1e-20)
        assert by_a >= 0.0 >= by_b


@pytest.mark.parametrize("k", [30.0, 3000.0, 1e6])
def test_what_counts_as_far_is_negligible(k):
    x = 0.47
    for side in (-1.0, 1.0):
        share = x + side * 1.000001 * math.sqrt(-math.log(NEGLIGIBLE) / (2 * (k + 1)))
        if not 0.0 < share < 1.0:
            continue
        tail = beta_tail(mpf(k) * mpf(share), mpf(k) * (1 - mpf(share)), x)
        assert min(tail, 1 - tail) < NEGLIGIBLE
        assert upper_tail(np.array([share]), k, x)[0] == (side > 0.0)


@pytest.mark.parametrize("k", [2.0, 30.0, 3000.0, 1e6])
def test_splines_are_what_they_interpolate(k):
    x = 0.44
    shares = np.linspace(
        max(1e-6, x - 3.0 / math.sqrt(k)), min(1 - 1e-6, x + 3 / math.sqrt(k)), 9_001
    )
    tails = tails_of(k, x)
    many, few = tails(shares), np.hstack([tails(part) for part in np.array_split(shares, 30)])
    for one, other in zip(many, few, strict=True):
        assert np.abs(one - other).max() < 3e-8 * np.abs(other).max()
    assert np.any(many[0] != few[0])


def test_no_weight_and_all_weight():
    shares = np.array([0.0, 1.0])
    for tail in (upper_tail(shares, 50.0, 0.4), tails_of(50.0, 0.4)(shares)[0]):
        assert tail.tolist() == [0.0, 1.0]


# ------------------------------------------------------------------ divergences


@pytest.mark.parametrize("x", [1e-8, 0.3, 1.0, 9.999, 10.0, 37.5, 1e4, 1e12])
def test_binet_function(x):
    x = mpf(x)
    reference = MP.loggamma(x) - (x - mpf(1) / 2) * MP.log(x) + x - MP.log(2 * MP.pi) / 2
    assert float(binet(float(x))) == pytest.approx(float(reference), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("spread", [0.0, 1e-6, 1e-2, 1.0, 8.0])
@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 1.1, 20.0])
@pytest.mark.parametrize("prior", [1.0, 30.0, 3000.0, 1e6, 1e9])
def test_dirichlet_divergence_against_fifty_digits(prior, factor, spread):
    rng = np.random.default_rng(int(prior))
    p = rng.dirichlet(np.full(20, 2.0))
    q = p * np.exp(spread * rng.standard_normal(20))
    q /= q.sum()
    reference = exact_kl(q, factor * prior, p, prior)
    found = dirichlet_kl(q, factor * prior, p, prior)
    assert reference <= found <= reference + 2e-11 * max(1, reference)


@pytest.mark.parametrize("smallest", [9.0, 0.5])
def test_dirichlet_divergence_of_few_against_many(smallest):
    """Where the slope of what Stirling leaves is a small difference, it is rounded up more."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        p, q = rng.dirichlet(np.full(50, 50.0)), rng.dirichlet(np.full(50, 50.0))
        reference = exact_kl(q, smallest / q.min(), p, 1e7)
        found = dirichlet_kl(q, smallest / q.min(), p, 1e7)
        assert reference <= found <= reference + 2e-11 * max(1, reference)


def test_dirichlet_divergence_at_the_edges():
    assert dirichlet_kl([1.0], 7.0, [1.0], 300.0) < 1e-12
    assert dirichlet_kl([0.5, 0.5, 0.0], 9.0, [0.3, 0.7, 0.0], 9.0) == pytest.approx(
        dirichlet_kl([0.5, 0.5], 9.0, [0.3, 0.7], 9.0), rel=1e-12
    )
    assert dirichlet_kl([1.0, 0.0], 9.0, [0.3, 0.7], 9.0) == math.inf
    assert dirichlet_kl([0.5, 0.5], 9.0, [1.0, 0.0], 9.0) == math.inf
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="concentration"):
            dirichlet_kl([1.0], wrong, [1.0], 1.0)


# ------------------------------------------------------------------ products with packed rows


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100])
def test_products_with_packed_rows(n):
    rng = np.random.default_rng(n)
    losses, q, v = rng.random((50, n)) < 0.4, rng.dirichlet(np.ones(n)), rng.standard_normal(50)
    rows = np.packbits(losses, axis=1)
    np.testing.assert_allclose(erring_weight(rows, tables_of(q)), losses @ q, atol=1e-15)
    np.testing.assert_allclose(transposed_product(rows, v, n), losses.T @ v, atol=1e-13)
    empty, full = (np.packbits(np.full((1, n), b), axis=1) for b in (False, True))
    assert erring_weight(empty, tables_of(q))[0] == 0.0
    assert erring_weight(full, tables_of(q))[0] == pytest.approx(1.0, abs=1e-14)


def test_the_value_does_not_depend_on_the_chunks(monkeypatch):
    _, statistics = sample(0)
    q = np.random.default_rng(0).dirichlet(np.full(7, 3.0))
    value, gradient = DirichletBound().value_and_gradient(statistics, q)
    monkeypatch.setattr(packed, "_ROWS_AT_ONCE", 11)
    assert len(list(statistics.packed_chunks())) > 20
    again, gradient_again = DirichletBound().value_and_gradient(statistics, q)
    assert again == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(gradient_again, gradient, rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------ values


@pytest.mark.parametrize("constant", ["maurer", "exact"])
@pytest.mark.parametrize("seed", range(4))
def test_value_against_fifty_digits(seed, constant):
    bound = DirichletBound(delta=0.03, constant=constant)
    losses, statistics = sample(seed, m=(20, 200)[seed % 2], n=5)
    rng = np.random.default_rng(seed)
    drawn = rng.dirichlet(np.ones(5))
    for q in (np.full(5, 0.2), 0.9 / 5 + 0.1 * drawn, drawn):
        evidence = bound.evidence(statistics, q)
        reference = dirichlet_from_losses(bound, losses, q, np.ones(5), evidence)
        assert reference <= bound.value(statistics, q) <= reference + 1e-9


_HALF = np.arange(30)[:, None] % 2
CORNERS = {
    "no errors": np.zeros((30, 3), int),
    "only errors": np.ones((30, 3), int),
    "complementary voters": np.concatenate([_HALF, 1 - _HALF], axis=1),
    "a perfect voter": np.concatenate([0 * _HALF, _HALF, _HALF], axis=1),
    "one example": np.array([[0, 1, 0]]),
    "one example, all err": np.array([[1, 1, 1]]),
    "one voter": (np.arange(30) % 7 == 0).astype(int)[:, None],
    "one voter, one example": np.array([[0]]),
}


@pytest.mark.parametrize("losses", CORNERS.values(), ids=CORNERS)
def test_corners(losses):
    bound, n = DirichletBound(), losses.shape[1]
    statistics, q = VoteStatistics.from_losses(losses, keep_rows=True), np.full(n, 1 / n)
    value, gradient = bound.value_and_gradient(statistics, q)
    evidence = bound.evidence(statistics, q)
    reference = dirichlet_from_losses(bound, losses, q, np.ones(n), evidence)
    assert reference <= value <= reference + 1e-9
    assert value >= statistics.vote_errors(q) / len(losses)
    assert np.isfinite(gradient).all()


def test_a_voter_without_weight_makes_it_vacuous():
    _, statistics = sample(1)
    value, gradient = DirichletBound().value_and_gradient(statistics, [0.0, *[1 / 6] * 6])
    assert value == 1.0
    assert gradient.tolist() == [0.0] * 7


def test_a_large_prior_concentration_leaves_the_count_of_errors():
    """At q = p the limit is kl⁺ of how often W ≥ ½−γ, as for a vote fixed in advance."""
    rng = np.random.default_rng(5)
    losses = rng.random((2_000, 31)) < rng.beta(0.4, 1.5, size=(2_000, 1))
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    errors = int(np.sum(losses.mean(axis=1) >= 0.5))
    limit = kl_inverse_upper(errors / 2_000, math.log(2 * math.sqrt(2_000) / 0.05) / 2_000)
    gaps = []
    for prior in (300.0, 1e4, 1e8):
        bound = DirichletBound(constant="maurer", cells=((prior, 5.0, 1.0),))
        value = bound.value(statistics, np.full(31, 1 / 31))
        gaps.append(value - limit)
    assert gaps[0] > gaps[1] > gaps[2] > 0.0
    assert gaps[2] < 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_no_other_concentration_or_cell_is_better(seed):
    bound, (_, statistics) = DirichletBound(), sample(seed, m=500, n=20)
    rng, uniform = np.random.default_rng(seed), np.full(20, 1 / 20)
    for q in (uniform, 0.5 * uniform + 0.5 * rng.dirichlet(np.ones(20))):
        value = bound.value(statistics, q)
        others = []
        for number, (prior, _, _) in enumerate(bound.cells):
            for factor in np.exp(np.linspace(-3.0, 6.0, 60)):
                choice = {"cell": number, "concentration": float(prior * factor)}
                evidence = bound.evidence_again(choice, statistics, q)
                others.append(bound.from_evidence(evidence, q, uniform))
        assert value <= min(others) + 1e-9
        assert min(others) < value + 0.02


def test_copies_of_voters_never_help():
    """Merging copies is a function of the drawn vote: it cannot raise the divergence."""
    losses, statistics = sample(2)
    rng = np.random.default_rng(2)
    q, index = rng.dirichlet(np.full(7, 4.0)), np.repeat(np.arange(7), [1, 2, 1, 3, 1, 1, 4])
    copies = np.bincount(index)
    split = VoteStatistics.from_losses(losses[:, index], keep_rows=True)
    whole = DirichletBound().value(statistics, q)
    value = DirichletBound().value(split, (q / copies)[index], (1 / (7 * copies))[index])
    assert whole - 1e-12 <= value < whole + 0.1


def test_a_vote_that_errs_though_barely_is_covered():
    """`predict` calls shares within 1e-12 a tie: W may be that much below one half."""
    for k, x in ((30.0, 0.36), (3000.0, 0.48), (1e6, 0.498)):
        share = mpf(1) / 2 - mpf(10) ** -12
        exact_failure = 1 - beta_tail(k * share, k * (1 - share), x)
        found, in_k = dirichlet._failure(k, x, 10)
        assert exact_failure <= found <= exact_failure * (1 + mpf(10) ** -8)
        h = mpf(k) / 10**12
        up, down = (1 - beta_tail((k + s) * share, (k + s) * (1 - share), x) for s in (h, -h))
        assert in_k == pytest.approx(float((up - down) / (2 * h)), rel=1e-6)


# ------------------------------------------------------------------ descending it


@pytest.mark.parametrize("easy", [True, False])
@pytest.mark.parametrize("cell", DirichletBound().cells)
def test_gradient_of_what_is_descended(cell, easy):
    """Below and above the level where the value becomes flat, in the scale of the logits too."""
    bound, rng = DirichletBound(cells=((*cell[:2], 1.0),)), np.random.default_rng(0)
    losses, statistics = sample(0, m=400, n=6)
    if not easy:
        statistics = VoteStatistics.from_losses(~losses[:15], keep_rows=True)
    prior = rng.dirichlet(np.full(6, 5.0))
    size = 0.3 / math.sqrt(cell[0]) * 10
    for _ in range(3):
        logits = size * rng.standard_normal(6) + rng.uniform(-0.2, 0.5)
        value, gradient = bound.descent(statistics, logits, prior, np.log(prior))
        assert (value < 0.99) is easy
        for direction in (rng.standard_normal(6), np.ones(6)):
            h = 1e-4 / math.sqrt(cell[0])
            one, two = (
                bound.descent(statistics, logits + k * h * direction, prior, np.log(prior))[0]
                - bound.descent(statistics, logits - k * h * direction, prior, np.log(prior))[0]
                for k in (1, 2)
            )
            slope = (8 * one - two) / (12 * h)
            assert gradient @ direction == pytest.approx(
                slope, rel=1e-4, abs=1e-5 * float(np.abs(gradient).sum())
            )


def test_what_is_descended_is_the_value_at_that_concentration():
    bound, (_, statistics) = DirichletBound(cells=ONE_CELL), sample(3)
    prior, logits = np.full(7, 1 / 7), np.array([0.9, 0.1, 0.2, -0.1, 0.0, 0.3, 0.2])
    alpha = 30.0 * prior * np.exp(logits)
    choice = {"cell": 0, "concentration": float(alpha.sum())}
    evidence = bound.evidence_again(choice, statistics, alpha / alpha.sum())
    expected = bound.from_evidence(evidence, alpha / alpha.sum(), prior)
    value, _ = bound.descent(statistics, logits, prior, np.log(prior))
    assert value == pytest.approx(expected, abs=1e-9)
    assert value < 0.99


@pytest.mark.parametrize("seed", range(2))
def test_two_voters_against_brute_force(seed):
    bound, (_, statistics) = DirichletBound(), sample(seed, m=500, n=2)
    shares = 0.5 + np.sin(np.linspace(-1.55, 1.55, 81)) / 2
    best = min(bound.value(statistics, [share, 1 - share]) for share in shares)
    assert minimize(bound, statistics).value <= best + 1e-6


def test_a_good_voter_among_coins_is_found():
    rng = np.random.default_rng(0)
    losses = rng.random((2_000, 9)) < 0.5
    losses[:, 4] = rng.random(2_000) < 0.05
    statistics, bound = VoteStatistics.from_losses(losses, keep_rows=True), DirichletBound()
    result = minimize(bound, statistics)
    assert result.weights.argmax() == 4
    assert result.value < 0.2 < 0.4 < bound.value(statistics, np.full(9, 1 / 9))
    assert result.value == bound.value(statistics, result.weights)


@pytest.mark.parametrize("solver", [LBFGS(), LBFGS(0, 0), FirstOrder("cocob", n_iter=10)])
def test_never_above_the_prior(solver):
    bound = DirichletBound()
    for seed in range(3):
        _, statistics = sample(seed, m=60, n=20)
        value = minimize(bound, statistics, solver=solver).value
        assert value <= bound.value(statistics, np.full(20, 1 / 20))


# ------------------------------------------------------------------ parameters and certificates


@pytest.mark.parametrize(
    "cells",
    [
        (),
        "abc",
        None,
        3.0,
        (1.0, 2.0, 3.0),
        ((30.0, 1.5),),
        ((30.0, 1.5, 0.6), (300.0, 1.5, 0.41)),
        ((30.0, 1.5, 0.0),),
        ((30.0, 1.5, -0.1),),
        ((30.0, 1.5, 1.1),),
        ((30.0, 0.0, 1.0),),
        ((30.0, 6.0, 1.0),),
        ((0.0, 0.5, 1.0),),
        ((math.inf, 1.5, 1.0),),
        ((math.nan, 1.5, 1.0),),
        (("a", 1.5, 1.0),),
    ],
)
def test_bad_cells_are_refused_by_name(cells):
    with pytest.raises(ValueError, match="cells"):
        get_bound("dirichlet", cells=cells)


def test_cells_share_delta():
    """One cell with half of δ is the same as one that has all of half the δ."""
    _, statistics = sample(0)
    q = np.full(7, 1 / 7)
    half = DirichletBound(delta=0.1, constant="maurer", cells=((30.0, 1.5, 0.5),))
    whole = DirichletBound(delta=0.05, constant="maurer", cells=[[30.0, 1.5, 1.0]])
    assert half.value(statistics, q) == whole.value(statistics, q)
    members = DirichletBound(delta=0.1).members()
    assert sum(member.delta for member in members) == pytest.approx(0.1)
    assert min(member.value(statistics, q) for member in members) == pytest.approx(
        DirichletBound(delta=0.1).value(statistics, q), abs=1e-9
    )


def votes_of(seed=0, m=400, n=15, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=m)
    wrong = (y[:, None] + rng.integers(1, classes, size=(m, n))) % classes
    return np.where(rng.random((m, n)) < 0.3, wrong, y[:, None]), y


def test_certificate_with_three_classes(tmp_path):
    votes, y = votes_of()
    certificate = certify(votes, y, bound="dirichlet")
    vote = np.array([np.bincount(row, weights=certificate.weights).argmax() for row in votes])
    assert np.mean(vote != y) < certificate.risk_bound < 1.0
    certificate.verify(votes, y)
    certificate.to_json(tmp_path / "c.json")
    read = Certificate.from_json(tmp_path / "c.json")
    read.verify(votes, y)
    assert read.to_dict() == certificate.to_dict()
    assert "margin loss" in str(read)
    assert read.gibbs_risk is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("margin_loss", 0.0),
        ("margin_loss", 1.5),
        ("margin_loss", None),
        ("cell", 9),
        ("cell", -1),
        ("cell", 0.0),
        ("cell", True),
        ("concentration", 0.0),
        ("concentration", math.inf),
        ("concentration", "a"),
        ("margin_size", 0),
        ("margin_size", 4_000),
        ("gibbs_risk", 0.1),
    ],
)
def test_evidence_that_is_wrong_is_refused_by_name(field, value):
    votes, y = votes_of()
    certificate = certify(votes, y, bound="dirichlet")
    fields = certificate.to_dict()
    fields["evidence"][field] = value
    with pytest.raises(CertificateError, match=f"{field}|votes and labels"):
        Certificate.from_dict(fields).verify(votes, y)


def test_another_concentration_in_the_evidence_does_not_hold_up():
    votes, y = votes_of()
    fields = certify(votes, y, bound="dirichlet").to_dict()
    fields["evidence"]["concentration"] *= 1.5
    with pytest.raises(CertificateError, match=r"risk_bound|margin_loss"):
        Certificate.from_dict(fields).verify(votes, y)


def test_a_larger_claim_by_another_choice_holds_up():
    """A certificate need not have been made by this program's choice of K."""
    votes, y = votes_of()
    certificate, bound = certify(votes, y, bound="dirichlet"), DirichletBound()
    statistics = VoteStatistics.from_votes(votes, y, keep_rows=True)
    vote = (certificate.weights, certificate.prior)
    evidence = bound.evidence_again({"cell": 2, "concentration": 500.0}, statistics, *vote)
    fields = certificate.to_dict() | {
        "evidence": evidence,
        "risk_bound": bound.from_evidence(evidence, *vote),
    }
    fields["claim"] = certificate.claim.rsplit(" ", 1)[0] + f" {claimed(fields['risk_bound'])}."
    Certificate.from_dict(fields).verify(votes, y)


def claimed(risk_bound):
    return f"{math.ceil(risk_bound * 1e4) / 1e4:.4f}"


def test_statistics_without_rows_are_refused():
    _, statistics = sample(0, keep_rows=False)
    with pytest.raises(ValueError, match=r"dirichlet.*needs rows"):
        DirichletBound().value(statistics, np.full(7, 1 / 7))


@pytest.mark.parametrize("cells", [((1.6e6, 4.0, 1.0),), ((1e9, 4.0, 1.0),), ((1.0, 1.414, 1.0),)])
def test_cells_at_their_limits_have_a_value(cells):
    losses = np.random.default_rng(0).random((300, 30)) < 0.25
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    uneven = np.repeat([1 / 15 - 1e-6, 1e-6], 15)
    for weights in (np.full(30, 1 / 30), uneven):
        bound = DirichletBound(cells=cells)
        assert 0.0 < bound.value(statistics, weights) <= 1.0
        assert 1e-3 <= bound.evidence(statistics, weights)["concentration"] <= 1e10


def test_dirichlet_divergence_of_next_to_nothing():
    tiny = np.array([1e-320, *[0.1] * 10])
    assert dirichlet_kl(tiny, 30.0, np.full(11, 1 / 11), 30.0) == math.inf
    q, p = (
        np.array([1.358674962639604e-12, 1.0]),
        np.array([0.4847075720904193, 0.5152924279095807]),
    )
    q[1] -= q[0]
    concentration, prior = 5203703497.261151, 3.532944157929302
    reference = exact_kl(q, concentration, p, prior)
    assert reference <= dirichlet_kl(q, concentration, p, prior) <= reference + 1e-10
