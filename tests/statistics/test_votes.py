"""Counts against numpy's integers, moments against the erring weights themselves."""

import hashlib
import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certivote import Moments, VoteStatistics, certify
from certivote.bounds import get_bound
from certivote.statistics import counting


def random_losses(m, n, seed=0, rate=0.3):
    return np.random.default_rng(seed).random((m, n)) < rate


def gram(losses):
    losses = np.asarray(losses)
    # Integers, or where that is slow 64-bit floats, which are as exact up to 2**53.
    losses = losses.astype(np.int64 if losses.size < 10**6 else np.float64)
    return (losses.T @ losses).astype(np.int64)


def assert_counts(statistics, losses):
    losses = np.asarray(losses)
    assert statistics.n_samples == len(losses)
    assert statistics.n_voters == losses.shape[1]
    assert statistics.tandem.dtype == statistics.errors.dtype == np.int64
    np.testing.assert_array_equal(statistics.tandem, gram(losses))
    np.testing.assert_array_equal(statistics.errors, losses.astype(np.int64).sum(axis=0))


def brute_moments(losses, weights):
    erring = np.asarray(losses, dtype=float) @ weights
    return erring.mean(), (erring**2).mean(), 2 * (erring * (1 - erring)).mean()


# --- counting ---

DTYPES = ["bool", "uint8", "int8", "uint16", "int32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", "longdouble", ">i2", ">i8", ">u4", ">f4", ">f8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_of_every_type(dtype):
    losses = random_losses(1001, 13)
    assert_counts(VoteStatistics.from_losses(losses.astype(dtype)), losses)
    assert_counts(VoteStatistics.from_losses(losses.astype(dtype), keep_rows=True), losses)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_counts_of_other_memory_layouts(dtype):
    base = random_losses(600, 40, seed=1).astype(dtype)
    views = {
        "fortran": np.asfortranarray(base),
        "transpose": np.ascontiguousarray(base.T).T,
        "every other row": base[::2],
        "every third voter": base[:, ::3],
        "reversed": base[::-1, ::-1],
    }
    for view in views.values():
        assert_counts(VoteStatistics.from_losses(view, keep_rows=True), view)
    base.flags.writeable = False
    assert_counts(VoteStatistics.from_losses(base), base)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 9), (9, 1), (5, 7), (3, 8), (40, 17), (2, 300)])
def test_counts_of_small_shapes(m, n):
    losses = random_losses(m, n, seed=m * n, rate=0.5)
    assert_counts(VoteStatistics.from_losses(losses.tolist()), losses)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_counts_of_constant_losses(rate):
    losses = np.full((70, 5), bool(rate))
    assert_counts(VoteStatistics.from_losses(losses), losses)


@pytest.mark.parametrize("m", [16_383, 16_384, 16_385, 5 * 16_384 + 3])
@pytest.mark.parametrize("dtype", ["bool", "float64"])
def test_counts_over_several_blocks_and_threads(m, dtype):
    losses = random_losses(m, 6, seed=2)
    assert_counts(VoteStatistics.from_losses(losses.astype(dtype), keep_rows=True), losses)


@pytest.mark.parametrize("words", [1, 64, 500])
def test_counts_when_many_voters_make_the_blocks_short(monkeypatch, words):
    monkeypatch.setattr(counting, "_BLOCK_WORDS", words)
    losses = random_losses(500, 30, seed=3)
    assert_counts(VoteStatistics.from_losses(losses), losses)


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_counts_do_not_depend_on_the_number_of_threads(monkeypatch, cores):
    monkeypatch.setattr(counting, "available_cores", lambda: cores)
    monkeypatch.setattr(counting, "_SMALLEST_SHARE", 50)
    losses = random_losses(5003, 12, seed=4)
    assert_counts(VoteStatistics.from_losses(losses), losses)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("compiled", [False, True])
def test_counts_of_more_rows_than_fit_into_a_block(monkeypatch, cores, compiled):
    monkeypatch.setattr(counting, "available_cores", lambda: cores)
    monkeypatch.setattr(counting, "_WORTH_COMPILING", 1 if compiled else 10**9)
    losses = random_losses(300_001, 3, seed=5, rate=0.9)
    assert_counts(VoteStatistics.from_losses(losses), losses)


def test_a_full_block_of_errors_does_not_overflow(monkeypatch):
    monkeypatch.setattr(counting, "available_cores", lambda: 1)
    monkeypatch.setattr(counting, "_WORTH_COMPILING", 10**9)
    m = 64 * counting._MOST_WORDS
    losses = np.ones((2 * m + 1, 2), dtype=np.uint8)
    assert VoteStatistics.from_losses(losses[:m]).tandem.tolist() == [[m, m], [m, m]]
    assert_counts(VoteStatistics.from_losses(losses), losses)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_counts_of_losses_that_start_anywhere_in_memory(offset):
    memory = np.zeros(70 * 5 + 8, dtype=np.uint8)
    losses = memory[offset : offset + 350].reshape(70, 5)
    losses[...] = random_losses(70, 5, seed=6)
    assert_counts(VoteStatistics.from_losses(losses), losses)


def test_counts_of_the_sum_of_large_shards_are_exact():
    big = 2**40 + 1
    shard = VoteStatistics(big, [big], [[big]])
    other = VoteStatistics(big, [big - 1], [[big - 1]])
    assert (shard + other).tandem[0, 0] == 2**41 + 1


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 60),
    n=st.integers(1, 11),
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(1, 59), max_size=6),
    keep_rows=st.booleans(),
)
def test_any_cut_into_chunks_or_shards_gives_the_same_statistics(m, n, seed, cuts, keep_rows):
    losses = random_losses(m, n, seed=seed, rate=0.4)
    pieces = np.split(losses, sorted({cut for cut in cuts if cut < m}))
    whole = VoteStatistics.from_losses(losses, keep_rows=keep_rows)
    chunked = VoteStatistics.from_chunks(iter(pieces), keep_rows=keep_rows)
    merged = sum(VoteStatistics.from_losses(piece, keep_rows=keep_rows) for piece in pieces)
    for other in (chunked, merged):
        assert_counts(other, losses)
        assert other == whole
        assert other.sha256 == whole.sha256
        if keep_rows:
            np.testing.assert_array_equal(other.rows, whole.rows)
        else:
            assert other.rows is None


def test_chunks_may_come_in_one_buffer_that_is_used_again():
    # Readers do that (readinto, memory maps): what is yielded must be counted before the next one.
    pieces = [random_losses(16_384, 64, seed=s, rate=0.2 + 0.05 * s) for s in range(8)]

    def reader():
        buffer = np.empty_like(pieces[0])
        for piece in pieces:
            buffer[...] = piece
            yield buffer

    assert_counts(VoteStatistics.from_chunks(reader()), np.concatenate(pieces))


def test_chunks_of_different_types_and_lengths():
    losses = random_losses(30, 4, seed=6)
    pieces = [losses[:7].tolist(), losses[7:8].astype(float), losses[8:].astype(np.uint8)]
    assert_counts(VoteStatistics.from_chunks(pieces), losses)


def test_chunks_are_not_held_in_memory(monkeypatch):
    monkeypatch.setattr(counting, "available_cores", lambda: 2)
    chunk_bytes = 20_000 * 64

    def chunks():
        rng = np.random.default_rng(7)
        for _ in range(50):
            yield rng.integers(2, size=(20_000, 64), dtype=np.int8)

    VoteStatistics.from_chunks([next(chunks())])  # what has to be loaded once is loaded now
    tracemalloc.start()
    try:
        statistics = VoteStatistics.from_chunks(chunks())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert statistics.n_samples == 10**6
    # Two chunks under way and one to come, next to two float32 blocks: far from all fifty chunks.
    assert peak < 15 * chunk_bytes


# --- votes ---


def label_arrays():
    rng = np.random.default_rng(8)
    codes, votes = rng.integers(4, size=200), rng.integers(4, size=(200, 5))
    names = np.array(["ant", "bee", "cat", "a much longer name"])
    kinds = {
        "int64": np.array([-3, 0, 5, 2**40]),
        "int8": np.array([-3, 0, 5, 100], dtype=np.int8),
        "uint64": np.array([0, 1, 2, 2**63], dtype=np.uint64),
        "float": np.array([-0.5, 0.0, 1.5, 1e300]),
        "str": names,
        "bytes": names.astype("S"),
        "object of str": names.astype(object),
        "object of int": np.array([1, 2, 3, 10**30], dtype=object),
        "object of both": np.array([1, "one", 2.5, "two"], dtype=object),
        "bool": np.array([False, True, False, True]),
    }
    return {name: (table[votes], table[codes]) for name, table in kinds.items()}


LABELS = label_arrays()


@pytest.mark.parametrize("kind", LABELS)
def test_votes_of_any_kind_of_label(kind):
    votes, y = LABELS[kind]
    losses = np.array(
        [[bool(vote != label) for vote in row] for row, label in zip(votes, y, strict=True)]
    )
    assert 0 < losses.mean() < 1
    assert_counts(VoteStatistics.from_votes(votes, y), losses)
    assert_counts(VoteStatistics.from_votes(votes.tolist(), y.tolist()), losses)


def test_votes_and_labels_of_different_but_comparable_types():
    votes, y = LABELS["int8"]
    expected = VoteStatistics.from_votes(votes, y)
    for votes_type, y_type in [("int64", "int8"), ("float64", "int16"), ("object", "int64")]:
        assert VoteStatistics.from_votes(votes.astype(votes_type), y.astype(y_type)) == expected
    votes, y = LABELS["str"]
    expected = VoteStatistics.from_votes(votes, y)
    assert VoteStatistics.from_votes(votes.astype(object), y) == expected
    assert VoteStatistics.from_votes(votes.astype("U40"), y.astype(object)) == expected


def test_votes_over_several_blocks():
    rng = np.random.default_rng(9)
    y = rng.integers(5, size=40_001)
    votes = np.where(rng.random((40_001, 3)) < 0.6, y[:, None], rng.integers(5, size=(40_001, 3)))
    assert_counts(VoteStatistics.from_votes(votes, y, keep_rows=True), votes != y[:, None])


# --- moments ---


@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_moments_are_those_of_the_erring_weight(n):
    losses = random_losses(333, n, seed=n)
    rng = np.random.default_rng(n)
    statistics = VoteStatistics.from_losses(losses)
    for weights in (np.full(n, 1 / n), rng.dirichlet(np.ones(n)), np.eye(n)[0]):
        moments = statistics.moments(weights)
        r, e, d = brute_moments(losses, weights)
        assert moments.gibbs_risk == pytest.approx(r, rel=1e-13, abs=1e-15)
        assert moments.joint_error == pytest.approx(e, rel=1e-13, abs=1e-15)
        assert moments.disagreement == pytest.approx(d, rel=1e-12, abs=1e-14)
        assert moments.gibbs_size == moments.joint_size == moments.disagreement_size == 333


@settings(max_examples=80, deadline=None)
@given(m=st.integers(1, 40), n=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_moments_are_possible_ones(m, n, seed):
    rng = np.random.default_rng(seed)
    losses = random_losses(m, n, seed=seed, rate=rng.random())
    moments = VoteStatistics.from_losses(losses).moments(rng.dirichlet(np.full(n, 0.3)))
    r, e, d = moments.gibbs_risk, moments.joint_error, moments.disagreement
    assert 0.0 <= e <= r <= 1.0
    assert d == 2.0 * (r - e)
    assert e >= r**2 - 1e-12
    # They can be written to a certificate and read again.
    assert Moments.from_dict(moments.to_dict()).to_dict() == moments.to_dict()
    assert Moments.from_scalars(r, e, m).to_dict() == moments.to_dict()


def test_gradients_of_moments_are_those_of_finite_differences():
    losses = random_losses(200, 7, seed=10)
    weights = np.random.default_rng(10).dirichlet(np.ones(7))
    moments = VoteStatistics.from_losses(losses).moments(weights)
    step = 1e-6

    def brute_polynomials(q):
        # r and e as polynomials in any q; d = 2(r − e) off the simplex too.
        erring = losses @ q
        r, e = erring.mean(), (erring**2).mean()
        return np.array([r, e, 2 * (r - e)])

    gradients = (moments.gibbs_gradient, moments.joint_gradient, moments.disagreement_gradient)
    for j, unit in enumerate(np.eye(7)):
        numeric = brute_polynomials(weights + step * unit) - brute_polynomials(
            weights - step * unit
        )
        np.testing.assert_allclose([g[j] for g in gradients], numeric / (2 * step), rtol=1e-8)


def test_what_moments_return_is_not_the_memory_of_the_statistics():
    statistics = VoteStatistics.from_losses(random_losses(50, 4))
    weights = np.full(4, 0.25)
    before = statistics.moments(weights).to_dict()
    first = statistics.moments(weights)
    for name in ("gibbs_gradient", "joint_gradient", "disagreement_gradient"):
        gradient = getattr(first, name)
        if gradient.flags.writeable:
            gradient *= 3.0
    assert statistics.moments(weights).to_dict() == before


def test_weights_are_normalised_but_only_from_close_to_one():
    statistics = VoteStatistics.from_losses(random_losses(50, 4))
    near = statistics.moments(np.full(4, 0.25) * (1 + 1e-9))
    assert near.gibbs_risk == pytest.approx(statistics.moments([0.25] * 4).gibbs_risk, rel=1e-14)
    with pytest.raises(ValueError, match="weights must sum to 1"):
        statistics.moments([0.26] * 4)


BAD_WEIGHTS = {
    "short": [0.5, 0.5],
    "2-d": [[0.25] * 4],
    "negative": [0.75, 0.75, -0.25, -0.25],
    "nan": [np.nan, 0.5, 0.25, 0.25],
    "infinite": [np.inf, 0.0, 0.0, 0.0],
    "zero": [0.0] * 4,
    "text": ["a", "b", "c", "d"],
    "none": None,
}


@pytest.mark.parametrize("weights", BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights_are_refused(weights):
    statistics = VoteStatistics.from_losses(random_losses(50, 4), keep_rows=True)
    for method in (statistics.moments, statistics.erring_weight, statistics.vote_errors):
        with pytest.raises(ValueError, match="weights must"):
            method(weights)


BAD_MOMENTS = [
    ((-0.1, 0.0, 10), "gibbs_risk"),
    ((1.1, 0.5, 10), "gibbs_risk"),
    ((np.nan, 0.1, 10), "gibbs_risk"),
    ((0.2, 0.3, 10), "joint_error"),
    ((0.2, np.nan, 10), "joint_error"),
    ((0.9, 0.0, 10), "disagreement"),
    ((0.2, 0.1, 0), "gibbs_size"),
    ((0.2, 0.1, -5), "gibbs_size"),
    ((0.2, 0.1, 2.5), "gibbs_size"),
]


@pytest.mark.parametrize(("scalars", "name"), BAD_MOMENTS)
def test_impossible_moments_are_refused(scalars, name):
    with pytest.raises(ValueError, match=name):
        Moments.from_scalars(*scalars)


@pytest.mark.parametrize("name", Moments.from_scalars(0.2, 0.1, 10).to_dict())
@pytest.mark.parametrize("value", [None, "0.1", True, [0.1]])
def test_moments_that_are_no_numbers_are_refused(name, value):
    numbers = Moments.from_scalars(0.2, 0.1, 10).to_dict()
    with pytest.raises(ValueError, match=name):
        Moments.from_dict(numbers | {name: value})
    del numbers[name]
    with pytest.raises(ValueError, match=name):
        Moments.from_dict(numbers)


# --- rows ---


@pytest.mark.parametrize("n", [1, 7, 8, 9, 33])
def test_erring_weight_and_vote_errors(n):
    losses = random_losses(16_384 + 77, n, seed=n, rate=0.45)
    weights = np.random.default_rng(n).dirichlet(np.ones(n))
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    erring = losses @ weights
    np.testing.assert_allclose(statistics.erring_weight(weights), erring, rtol=1e-12, atol=1e-15)
    assert statistics.vote_errors(weights) == np.count_nonzero(erring >= 0.5)


def test_an_exact_tie_counts_as_an_error():
    # Ten weights of 0.1: five of them sum to a half only up to rounding.
    losses = np.array([[1] * 5 + [0] * 5, [0] * 5 + [1] * 5, [1, 0] * 5, [1] * 4 + [0] * 6])
    for weights in (np.full(10, 0.1), np.array([0.1, 0.3, 0.05, 0.05, 0.0] * 2)):
        statistics = VoteStatistics.from_losses(losses, keep_rows=True)
        ties = sum(
            sum(round(100 * q) for q in weights[row == 1]) >= 50 for row in losses.astype(int)
        )
        assert statistics.vote_errors(weights) == ties
    two = VoteStatistics.from_losses([[1, 0], [0, 1], [0, 0]], keep_rows=True)
    assert two.vote_errors([0.5, 0.5]) == 2
    assert two.vote_errors([0.5 - 1e-9, 0.5 + 1e-9]) == 1


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 30), seed=st.integers(0, 10**6))
def test_uniform_ties_are_never_lost_to_rounding(n, seed):
    losses = random_losses(40, 2 * n, seed=seed, rate=0.5)
    statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    assert statistics.vote_errors(np.full(2 * n, 0.5 / n)) == np.count_nonzero(
        losses.sum(axis=1) >= n
    )


def test_the_vote_never_errs_more_often_than_vote_errors_says():
    rng = np.random.default_rng(11)
    y, votes = rng.integers(4, size=500), rng.integers(4, size=(500, 6))
    votes = np.where(rng.random((500, 6)) < 0.4, y[:, None], votes)
    weights = rng.dirichlet(np.ones(6))
    scores = np.stack([(votes == label) @ weights for label in range(4)], axis=1)
    statistics = VoteStatistics.from_votes(votes, y, keep_rows=True)
    assert np.count_nonzero(scores.argmax(axis=1) != y) <= statistics.vote_errors(weights)


def test_rows_are_needed_and_said_to_be():
    statistics = VoteStatistics.from_losses(random_losses(20, 3))
    assert statistics.offers == {"moments", "joint", "voter errors"}
    assert VoteStatistics.from_losses(random_losses(20, 3), keep_rows=True).offers == {
        "moments",
        "joint",
        "voter errors",
        "rows",
        "fixed votes",
    }
    for method in (statistics.erring_weight, statistics.vote_errors):
        with pytest.raises(ValueError, match="keep_rows=True"):
            method([0.5, 0.25, 0.25])


# --- merging ---


def test_merging_keeps_rows_only_if_both_have_them():
    first, second = random_losses(20, 11, seed=1), random_losses(30, 11, seed=2)
    kept = [VoteStatistics.from_losses(part, keep_rows=True) for part in (first, second)]
    counts = VoteStatistics.from_losses(second)
    weights = np.full(11, 1 / 11)
    both = kept[0] + kept[1]
    np.testing.assert_allclose(both.erring_weight(weights), np.vstack([first, second]) @ weights)
    for mixed in (kept[0] + counts, counts + kept[0]):
        assert mixed.rows is None
        assert_counts(mixed, np.vstack([first, second]))


def test_merging_with_itself_warns():
    statistics = VoteStatistics.from_losses(random_losses(20, 3))
    with pytest.warns(UserWarning, match="very same counts were merged"):
        doubled = statistics + statistics
    assert doubled.n_samples == 40
    with pytest.warns(UserWarning, match="very same counts were merged"):
        sum([statistics, statistics])


TWICE = "very same counts were merged"


def shards_of(k, m=400, n=5, seed=0):
    losses = random_losses(k * m, n, seed)
    return [VoteStatistics.from_losses(part) for part in np.split(losses, k)]


@pytest.mark.parametrize("how", ["memory", "files", "pickles"])
@pytest.mark.parametrize("order", [(0, 1, 0), (0, 1, 2, 1), (2, 0, 1, 1)])
def test_a_shard_that_is_merged_twice_among_others_is_told(order, how, tmp_path):
    shards = shards_of(3)
    total = sum(shards[number] for number in order[:-1])
    assert total.findings == ()
    if how == "files":
        total.save(tmp_path / "so-far.npz")
        total = VoteStatistics.load(tmp_path / "so-far.npz")
    elif how == "pickles":
        total = pickle.loads(pickle.dumps(total))
    with pytest.warns(UserWarning, match=TWICE):
        total = total + shards[order[-1]]
    assert [TWICE in text for text in total.findings] == [True]
    assert certify(total).findings == total.findings


def test_a_list_of_untelling_shards_that_comes_twice_is_told():
    """One count a shard: two of a hundred shards are alike by chance, a list of them is not."""
    shards = [VoteStatistics.from_losses(random_losses(60, 1, seed, 0.2)) for seed in range(8)]
    with pytest.warns(UserWarning, match=TWICE):
        assert len(sum(shards + shards).findings) == 1


@pytest.mark.parametrize(("k", "m", "n"), [(2000, 100, 1), (2000, 50, 2), (500, 1000, 3)])
@pytest.mark.filterwarnings("error")
def test_shards_that_are_alike_by_chance_are_no_finding(k, m, n):
    """Of so many shards some have the very same counts, as many do in independent draws."""
    shards = shards_of(k, m, n)
    counts = {(s.errors.tobytes(), s.tandem.tobytes()) for s in shards}
    assert n == 3 or len(counts) < k
    assert sum(shards).findings == ()


@pytest.mark.filterwarnings("error")
def test_voters_that_err_together_are_no_twenty_coincidences():
    """Each errs on what the one before errs on, but for a row now and then."""
    rng = np.random.default_rng(0)
    first = rng.random((2000, 60, 1)) < 0.3
    others = first ^ (rng.random((2000, 60, 20)) < 0.001)
    shards = [VoteStatistics.from_losses(losses) for losses in others]
    assert len({s.tandem.tobytes() for s in shards}) < len(shards)
    assert sum(shards).findings == ()


def test_the_surprise_is_the_chance_of_the_same_counts():
    """Against draws: how often two samples have the same errors."""
    rng = np.random.default_rng(0)
    losses = random_losses(200, 2, seed=1)
    losses[:, 1] = np.where(rng.random(200) < 0.5, losses[:, 0], losses[:, 1])
    drawn = losses[rng.integers(200, size=(40_000, 200))].sum(axis=1)
    same = np.mean(np.all(drawn[::2] == drawn[1::2], axis=1))
    (surprise,) = VoteStatistics.from_losses(losses).parts.surprises
    assert np.exp(-surprise) == pytest.approx(same, rel=0.1)


def test_merging_leaves_the_parts_as_they_were():
    first, second = random_losses(20, 3, seed=1), random_losses(30, 3, seed=2)
    parts = [VoteStatistics.from_losses(part) for part in (first, second)]
    digests = [part.sha256 for part in parts]
    total = sum(parts)
    with pytest.raises(ValueError, match="read-only"):
        total.tandem[...] = 0
    assert_counts(parts[0], first)
    assert_counts(parts[1], second)
    assert digests == [part.sha256 for part in parts]


def test_merging_refuses_other_voters_and_other_things():
    statistics = VoteStatistics.from_losses(random_losses(20, 3))
    with pytest.raises(ValueError, match="same voters, got 3 and 4 voters"):
        statistics + VoteStatistics.from_losses(random_losses(20, 4))
    for other in (1, "statistics", None, np.ones((3, 3))):
        with pytest.raises(TypeError):
            statistics + other
    with pytest.raises(TypeError):
        5 + statistics


# --- identity ---


def test_sha256_is_that_of_the_documented_bytes():
    statistics = VoteStatistics(5, [2, 3], [[2, 1], [1, 3]])
    numbers = np.array([5, 2, 2, 3, 2, 1, 1, 3], dtype="<i8").tobytes()
    expected = hashlib.sha256(b"certivote statistics 1" + numbers).hexdigest()
    assert statistics.sha256 == expected


def test_sha256_depends_on_the_counts_only():
    losses = random_losses(60, 5, seed=12)
    base = VoteStatistics.from_losses(losses)
    order = np.random.default_rng(0).permutation(60)
    assert VoteStatistics.from_losses(losses[order], keep_rows=True).sha256 == base.sha256
    assert VoteStatistics.from_losses(losses.astype(float)).sha256 == base.sha256
    flipped = losses.copy()
    flipped[17, 3] ^= True
    assert VoteStatistics.from_losses(flipped).sha256 != base.sha256
    assert VoteStatistics.from_losses(losses[:, ::-1]).sha256 != base.sha256
    longer = np.vstack([losses, np.zeros((1, 5), dtype=bool)])  # one more example, no more errors
    assert VoteStatistics.from_losses(longer).sha256 != base.sha256


def test_equality():
    losses = random_losses(60, 5, seed=13)
    base = VoteStatistics.from_losses(losses)
    assert base == VoteStatistics.from_losses(losses, keep_rows=True)
    assert base != VoteStatistics.from_losses(losses[:-1])
    assert base != VoteStatistics.from_losses(losses[:, :4])
    assert base != "statistics"
    with pytest.raises(TypeError):
        hash(base)


# --- bad input ---

BAD_LOSSES = {
    "two": [[0, 2]],
    "minus one": [[0, -1]],
    "minus one int8": np.array([[0, -1]], dtype=np.int8),
    "two big-endian": np.array([[0, 2]], dtype=">i4"),
    "half": [[0.0, 0.5]],
    "nan": [[0.0, np.nan]],
    "infinite": [[0.0, np.inf]],
    "text": [["0", "1"]],
    "objects": np.array([[0, 1]], dtype=object),
    "complex": np.array([[0, 1j]]),
    "no rows": np.zeros((0, 3)),
    "no voters": np.zeros((3, 0)),
    "1-d": [0, 1, 0],
    "0-d": 1,
    "3-d": np.zeros((2, 2, 2)),
    "none": None,
}


@pytest.mark.parametrize("keep_rows", [False, True])
@pytest.mark.parametrize("losses", BAD_LOSSES.values(), ids=BAD_LOSSES)
def test_bad_losses_are_refused(losses, keep_rows):
    with pytest.raises(ValueError, match="losses must"):
        VoteStatistics.from_losses(losses, keep_rows=keep_rows)


@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan])
def test_one_bad_loss_among_many_is_found(value):
    losses = random_losses(40_000, 3).astype(float)
    losses[33_333, 1] = value
    with pytest.raises(ValueError, match="losses must be 0 or 1"):
        VoteStatistics.from_losses(losses)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((2, 4)), r"losses \(chunk 2\) must have 3 voters like the rows before, got 4"),
        (np.full((2, 3), 7), r"losses \(chunk 2\) must be 0 or 1"),
        (np.zeros(3), r"losses \(chunk 2\) must have shape"),
        (np.zeros((0, 3)), r"losses \(chunk 2\) must have shape"),
        ([["a", "b", "c"]], r"losses \(chunk 2\) must be numbers"),
    ],
)
def test_a_bad_chunk_is_named(bad, message):
    good = random_losses(5, 3)
    with pytest.raises(ValueError, match=message):
        VoteStatistics.from_chunks([good, good, bad, good])


def test_no_chunks_are_refused():
    with pytest.raises(ValueError, match="losses must hold at least one example"):
        VoteStatistics.from_chunks([])


BAD_VOTES = {
    "votes 1-d": ([1, 0], [1, 0], "votes must have 2 dimension"),
    "votes 3-d": (np.zeros((2, 2, 2)), [1, 0], "votes must have 2 dimension"),
    "y 2-d": ([[1], [0]], [[1], [0]], "y must have 1 dimension"),
    "y 0-d": ([[1]], 1, "y must have 1 dimension"),
    "votes empty": (np.zeros((0, 2)), np.zeros(0), "votes must not be empty"),
    "no voters": (np.zeros((2, 0)), [1, 0], "votes must not be empty"),
    "y empty": ([[1], [0]], [], "y must not be empty"),
    "lengths": ([[1], [0]], [1, 0, 1], "votes and y must have the same number of rows"),
    "one label": ([[1], [0]], [1], "votes and y must have the same number of rows"),
    "text and numbers": ([["1"], ["0"]], [1, 0], "votes and y must hold labels of one kind"),
    "numbers and text": ([[1], [0]], ["1", "0"], "votes and y must hold labels of one kind"),
    "bytes and text": ([[b"a"], [b"b"]], ["a", "b"], "votes and y must hold labels of one kind"),
    "nan votes": ([[np.nan], [0]], [1, 0], "votes must not have missing labels"),
    "nan labels": ([[1], [0]], [np.nan, 0], "y must not have missing labels"),
    "none votes": ([[None], ["a"]], ["a", "b"], "votes must not have missing labels"),
    "none labels": ([["a"], ["b"]], [None, "b"], "y must not have missing labels"),
    "nan objects": (
        np.array([[np.nan], ["a"]], dtype=object),
        ["a", "b"],
        "votes must not have missing labels",
    ),
    "not a time": (
        np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]"),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        "votes must not have missing labels",
    ),
}


@pytest.mark.parametrize(("votes", "y", "message"), BAD_VOTES.values(), ids=BAD_VOTES)
def test_bad_votes_are_refused(votes, y, message):
    with pytest.raises(ValueError, match=message):
        VoteStatistics.from_votes(votes, y)


BAD_COUNTS = {
    "no samples": ((0, [0], [[0]]), "n_samples must be"),
    "negative samples": ((-3, [0], [[0]]), "n_samples must be"),
    "fractional samples": ((2.9, [1], [[1]]), "n_samples must be"),
    "no voters": ((3, np.zeros(0, int), np.zeros((0, 0), int)), "errors must"),
    "float errors": ((3, [1.0], [[1]]), "errors must be integers"),
    "float tandem": ((3, [1], [[1.0]]), "tandem must be integers"),
    "2-d errors": ((3, [[1]], [[1]]), "errors must be integers in 1"),
    "1-d tandem": ((3, [1], [1]), "tandem must be integers in 2"),
    "tandem shape": ((3, [1, 1], [[1]]), "tandem must have shape"),
    "diagonal": ((3, [1, 2], [[1, 1], [1, 1]]), "tandem must have errors on its diagonal"),
    "asymmetric": ((3, [1, 2], [[1, 1], [0, 2]]), "tandem must be symmetric"),
    "errors above m": ((3, [4], [[4]]), "errors must be between"),
    "errors below 0": ((3, [-1], [[-1]]), "errors must be between"),
    "joint above single": ((9, [1, 4], [[1, 2], [2, 4]]), "tandem counts must be possible"),
    "joint below 0": ((9, [1, 4], [[1, -1], [-1, 4]]), "tandem counts must be possible"),
    "joint too rare": ((5, [4, 4], [[4, 2], [2, 4]]), "tandem counts must be possible"),
    "rows shape": ((3, [1], [[1]], np.zeros((3, 2), np.uint8)), "rows must be uint8 of shape"),
    "rows of another type": ((3, [0], [[0]], np.zeros((3, 1))), "rows must"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_COUNTS.values(), ids=BAD_COUNTS)
def test_impossible_counts_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        VoteStatistics(*arguments)


def test_possible_counts_are_accepted_at_their_limits():
    assert VoteStatistics(5, [4, 4], [[4, 3], [3, 4]]).n_voters == 2
    assert VoteStatistics(5, [0, 5], [[0, 0], [0, 5]]).moments([0.5, 0.5]).gibbs_risk == 0.5


def test_the_constructor_copies_its_counts():
    errors, tandem = np.array([1]), np.array([[1]])
    statistics = VoteStatistics(3, errors, tandem)
    errors[0] = tandem[0, 0] = 2
    assert statistics.errors.tolist() == [1]
    assert statistics.tandem.tolist() == [[1]]


def test_missing_labels_among_texts_are_refused():
    with pytest.raises(ValueError, match="votes must not have missing labels"):
        VoteStatistics.from_votes([["a"], [float("nan")]], ["a", "nan"])
    with pytest.raises(ValueError, match="y must not have missing labels"):
        VoteStatistics.from_votes([["a"], ["None"]], ["a", None])


def test_rows_that_are_not_the_counted_ones_are_refused():
    with pytest.raises(ValueError, match="rows must hold the losses that errors counts"):
        VoteStatistics(3, [1], [[1]], np.zeros((3, 1), np.uint8))


def test_masked_losses_and_votes_are_refused():
    losses = np.ma.masked_array(np.zeros((5, 2), int), mask=np.eye(5, 2, dtype=bool))
    with pytest.raises(ValueError, match="losses must not have masked values"):
        VoteStatistics.from_losses(losses)
    with pytest.raises(ValueError, match="votes must not have masked values"):
        VoteStatistics.from_votes(losses, np.zeros(5, int))


@pytest.mark.parametrize("byte", [2, 128, 255])
def test_a_mask_read_from_memory_counts_every_byte_but_zero(byte):
    losses = random_losses(120_000, 11, seed=3, rate=0.3)
    mask = (losses.astype(np.uint8) * np.uint8(byte)).view(bool)
    assert_counts(VoteStatistics.from_losses(mask), losses)


def test_samples_with_the_same_counts_are_suspicious():
    losses = random_losses(2_000, 5, seed=4)
    with pytest.warns(UserWarning, match="very same counts"):
        VoteStatistics.from_losses(losses) + VoteStatistics.from_losses(losses)


def test_impossible_counts_give_no_evidence():
    # Four voters that err on 30% each and never together would need 120% of the examples.
    impossible = VoteStatistics(1000, [300] * 4, np.diag([300] * 4))
    with pytest.raises(ValueError, match="joint_error must be at least the square"):
        certify(impossible)
    with pytest.raises(ValueError, match="joint_error must be at least the square"):
        get_bound("tandem").value(impossible, [0.25] * 4)


def test_large_labels_of_two_types_are_refused():
    """As floats they would all be equal, and no voter would ever err."""
    y = 2**60 + np.arange(50)
    votes = np.tile(y[::-1, None], 3)
    assert VoteStatistics.from_votes(votes, y).errors.tolist() == [50, 50, 50]
    with pytest.raises(ValueError, match=r"must hold numbers below 2\*\*53"):
        VoteStatistics.from_votes(votes, y.astype(float))


@pytest.mark.parametrize("broken", ["raise ImportError('numba needs another numpy')", "njit = 1"])
def test_a_numba_that_does_not_work_is_not_needed(tmp_path, broken):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text(broken)
    code = (
        "import numpy as np; from certivote import VoteStatistics as V;"
        "print(V.from_losses(np.ones((20_000, 100), bool)).errors.sum())"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "2000000"
