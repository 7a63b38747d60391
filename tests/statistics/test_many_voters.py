"""Many voters on fewer examples: the same results without the table of pairs."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certivote import IncompleteStatisticsError, VoteStatistics, certify, minimize
from certivote.bounds import get_bound, list_moment_bounds
from certivote.learners import self_complemented
from certivote.statistics import counting


@pytest.fixture
def few(monkeypatch):
    """Nine voters are many."""
    monkeypatch.setattr(counting, "_MANY_VOTERS", 9)


def random_losses(m, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((m, n)) < rng.beta(0.5, 1.5, (m, 1)) * rng.uniform(0.1, 0.9, n)


def gram(losses):
    wide = losses.astype(np.int64)
    return wide.T @ wide


def table_of(losses):
    """Statistics that are made of counts, whatever their shape."""
    return VoteStatistics(len(losses), losses.astype(np.int64).sum(axis=0), gram(losses))


def has_table(statistics):
    return "counts" in vars(statistics.pairs)


@pytest.mark.parametrize(
    ("m", "n", "table"),
    [(8, 8, True), (8, 9, False), (9, 9, True), (1, 500, False), (500, 500, True)],
)
def test_the_table_is_formed_by_the_rule(few, m, n, table):
    losses = random_losses(m, n)
    for statistics in (
        VoteStatistics.from_losses(losses),
        VoteStatistics.from_chunks(losses[i : i + 1] for i in range(m)),
        VoteStatistics.from_votes(np.where(losses, "a", "b"), ["b"] * m, keep_rows=True),
        sum(VoteStatistics.from_losses(losses[i : i + 1]) for i in range(m)),
    ):
        assert has_table(statistics) == table
        assert statistics.n_samples == m
        np.testing.assert_array_equal(statistics.errors, losses.sum(axis=0))
        np.testing.assert_array_equal(statistics.tandem, gram(losses))


def test_the_rule_is_the_documented_one():
    assert not counting.prefer_bits(4095, 4095)
    assert not counting.prefer_bits(4096, 4096)
    assert counting.prefer_bits(4095, 4096)


@pytest.mark.parametrize("n", [9, 64, 65, 1030])
def test_moments_and_gradients_are_those_of_the_erring_weights(few, n):
    losses = random_losses(n - 2, n)
    statistics = VoteStatistics.from_losses(losses)
    weights = np.random.default_rng(1).dirichlet(np.full(n, 0.3))
    moments = statistics.moments(weights)
    erring = losses @ weights
    assert moments.gibbs_risk == pytest.approx(erring.mean(), rel=1e-13)
    assert moments.joint_error == pytest.approx((erring**2).mean(), rel=1e-13)
    expected = 2 * losses.T @ erring / len(losses)
    np.testing.assert_allclose(moments.joint_gradient, expected, rtol=1e-12, atol=1e-16)
    assert not has_table(statistics)


@pytest.mark.parametrize("name", list_moment_bounds())
def test_bounds_and_their_minima_are_those_of_the_table(few, name):
    losses = random_losses(150, 200, seed=2)
    packed, table = VoteStatistics.from_losses(losses), table_of(losses)
    bound = get_bound(name)
    weights = np.random.default_rng(1).dirichlet(np.ones(200))
    value, gradient = bound.value_and_gradient(packed, weights)
    expected, slope = bound.value_and_gradient(table, weights)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)
    assert minimize(name, packed).value == pytest.approx(minimize(name, table).value, rel=1e-5)
    assert not has_table(packed)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    m=st.integers(1, 30),
    n=st.integers(9, 20),
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(1, 29), max_size=6),
    keep_rows=st.booleans(),
)
def test_any_cut_gives_the_same_statistics(few, m, n, seed, cuts, keep_rows):
    losses = random_losses(m, n, seed=seed)
    pieces = np.split(losses, sorted({cut for cut in cuts if cut < m}))
    whole = VoteStatistics.from_losses(losses, keep_rows=keep_rows)
    chunked = VoteStatistics.from_chunks(iter(pieces), keep_rows=keep_rows)
    merged = sum(VoteStatistics.from_losses(piece, keep_rows=keep_rows) for piece in pieces)
    for other in (whole, chunked, merged):
        assert other == whole
        assert other.sha256 == whole.sha256
        assert has_table(other) or m < n
        np.testing.assert_array_equal(other.tandem, gram(losses))
        assert other.offers == whole.offers
        assert ("rows" in other.offers) == keep_rows
        if keep_rows:
            np.testing.assert_array_equal(other.rows, np.packbits(losses, axis=1))


@pytest.mark.parametrize("bad_at", [1, 3, 4, 5, 7])
@pytest.mark.parametrize("keep_rows", [False, True])
def test_what_came_before_a_bad_chunk_is_kept_on_both_sides_of_the_rule(few, bad_at, keep_rows):
    losses = random_losses(80, 41)  # chunks of ten: the fifth one leads over to the table
    chunks = [losses[10 * k : 10 * k + 10] for k in range(8)]
    chunks[bad_at] = chunks[bad_at] + 2
    with pytest.raises(IncompleteStatisticsError, match=rf"\(chunk {bad_at}\)") as info:
        VoteStatistics.from_chunks(chunks, keep_rows=keep_rows)
    kept = info.value.statistics
    assert kept.n_samples == 10 * bad_at
    np.testing.assert_array_equal(kept.tandem, gram(losses[: 10 * bad_at]))
    assert (kept.rows is not None) == keep_rows


def test_the_digest_is_of_the_examples_in_any_order(few):
    losses = random_losses(20, 30)
    statistics = VoteStatistics.from_losses(losses)
    rows = sorted(hashlib.sha256(bytes(row)).digest() for row in np.packbits(losses, axis=1))
    text = b"certivote statistics 2" + (20).to_bytes(8, "little") + (30).to_bytes(8, "little")
    assert statistics.sha256 == hashlib.sha256(text + b"".join(rows)).hexdigest()
    assert VoteStatistics.from_losses(losses[::-1]).sha256 == statistics.sha256
    changed = losses.copy()
    changed[3, 4] ^= True
    assert VoteStatistics.from_losses(changed).sha256 != statistics.sha256
    assert VoteStatistics.from_losses(changed) != statistics
    statistics.tandem  # noqa: B018 (formed now)
    assert VoteStatistics.from_losses(losses).sha256 == statistics.sha256


def test_equal_counts_of_other_examples_are_equal(few):
    first = np.zeros((4, 9), bool)
    first[:, :3] = [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    second = np.zeros((4, 9), bool)
    second[:, :3] = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0]]
    np.testing.assert_array_equal(gram(first), gram(second))
    assert VoteStatistics.from_losses(first) == VoteStatistics.from_losses(second)


@pytest.mark.parametrize("keep_rows", [False, True])
def test_a_checkpoint_comes_back_as_it_was(few, tmp_path, keep_rows):
    losses = random_losses(20, 30)
    statistics = VoteStatistics.from_losses(losses, keep_rows=keep_rows)
    statistics.save(tmp_path / "checkpoint.npz")
    loaded = VoteStatistics.load(tmp_path / "checkpoint.npz")
    assert not has_table(loaded)
    assert not has_table(statistics)
    assert loaded == statistics
    assert loaded.sha256 == statistics.sha256
    assert loaded.offers == statistics.offers
    more = loaded + VoteStatistics.from_losses(random_losses(20, 30, seed=3), keep_rows=keep_rows)
    assert has_table(more)
    assert (more.rows is not None) == keep_rows


def test_certificates_and_the_other_learners_work(few):
    losses = random_losses(60, 100)
    y = np.ones(60, int)
    votes = np.where(losses, 0, 1)
    certify(votes, y).verify(votes, y)
    certificate = certify(votes, y, bound="lacasse")
    certificate.verify(votes, y)
    certificate.verify(statistics=VoteStatistics.from_losses(losses[::-1]))
    doubled = self_complemented(VoteStatistics.from_losses(losses))
    np.testing.assert_array_equal(doubled.tandem, gram(np.hstack([losses, ~losses])))


def test_rows_can_stand_for_the_table():
    losses = random_losses(20, 11)
    rows, errors = np.packbits(losses, axis=1), losses.sum(axis=0)
    statistics = VoteStatistics(20, errors, None, rows)
    assert statistics.sha256 == table_of(losses).sha256
    assert statistics == table_of(losses)
    with pytest.raises(ValueError, match="tandem must not be None unless there are rows"):
        VoteStatistics(20, errors, None)
    with pytest.raises(ValueError, match="rows must hold the losses that errors counts"):
        VoteStatistics(20, errors, None, np.roll(rows, 1, axis=1))


TWENTY_THOUSAND = """
import re
import numpy as np
from certivote import VoteStatistics, certify
losses = np.random.default_rng(0).integers(8, size=(1000, 20_000), dtype=np.uint8) == 0
statistics = VoteStatistics.from_losses(losses)
certificate = certify(statistics, weights=np.full(20_000, 1 / 20_000))
certificate.verify(statistics=VoteStatistics.from_losses(losses))
# Not getrusage, whose maximum begins with that of the process that started this one.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_twenty_thousand_voters_fit_into_little_memory():
    run = subprocess.run(
        [sys.executable, "-c", TWENTY_THOUSAND], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 0.75  # GiB; the table alone would take 3
