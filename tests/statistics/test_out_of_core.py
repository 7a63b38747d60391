"""Samples larger than memory: maps, Parquet files, generators, checkpoints, and accidents."""

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from certivote import IncompleteStatisticsError, VoteStatistics
from certivote.parquet import ParquetLosses
from certivote.statistics import mapped as _mapped


def random_losses(m, n, seed=0, rate=0.3):
    return (np.random.default_rng(seed).random((m, n)) < rate).astype(np.uint8)


def assert_counts(statistics, losses):
    wide = np.asarray(losses, dtype=np.int64)
    assert statistics.n_samples == len(wide)
    np.testing.assert_array_equal(statistics.tandem, wide.T @ wide)


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of 16 KiB: 2048 rows of 8 voters."""
    monkeypatch.setattr(_mapped, "_PIECE_BYTES", 2**14)


def mapped(path, losses, mode="r", offset=0, order="C"):
    with open(path, "wb") as file:
        file.write(b"x" * offset + losses.tobytes(order))
    return np.memmap(path, losses.dtype, mode, offset, losses.shape, order)


# --- memory maps ---


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("offset", [0, 7, 128, 70_000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_counts_of_a_memory_map(tmp_path, small_pieces, mode, offset, order):
    losses = random_losses(20_011, 8)
    table = mapped(tmp_path / "losses", losses, mode, offset, order)
    assert_counts(VoteStatistics.from_chunks(table), losses)
    assert_counts(VoteStatistics.from_losses(table), losses)
    assert_counts(VoteStatistics.from_chunks([table[:5000], table[5000:]]), losses)
    assert_counts(VoteStatistics.from_chunks([np.asarray(table)[::3, 1:]]), losses[::3, 1:])


def test_counts_of_a_saved_array(tmp_path, small_pieces):
    losses = random_losses(9_000, 8)
    np.save(tmp_path / "losses.npy", losses)
    table = np.load(tmp_path / "losses.npy", mmap_mode="r")
    statistics = VoteStatistics.from_chunks(table, keep_rows=True)
    assert_counts(statistics, losses)
    np.testing.assert_array_equal(np.unpackbits(statistics.rows, axis=1, count=8), losses)


def test_changes_of_a_private_map_are_not_lost(tmp_path, small_pieces):
    losses = random_losses(20_000, 8)
    table = mapped(tmp_path / "losses", losses, "c")
    table[...] = 1 - table
    assert_counts(VoteStatistics.from_chunks(table), 1 - losses)
    np.testing.assert_array_equal(table, 1 - losses)


def test_changes_of_a_shared_map_are_not_lost(tmp_path, small_pieces):
    losses = random_losses(20_000, 8)
    table = mapped(tmp_path / "losses", losses, "r+")
    table[...] = 1 - table
    VoteStatistics.from_chunks(table)
    np.testing.assert_array_equal(table, 1 - losses)
    table.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "losses", np.uint8), (1 - losses).ravel())


MEASURE = """
import sys, threading, time
import numpy as np
from certivote import VoteStatistics

def status(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) / 1024

table = np.memmap(sys.argv[1], np.uint8, "r", shape=(4_000_000, 100))
VoteStatistics.from_chunks(table[:200_000])
peak, stop = {"RssFile": 0.0, "RssAnon": 0.0}, threading.Event()

def watch():
    while not stop.wait(0.002):
        for field in peak:
            peak[field] = max(peak[field], status(field))

before = {field: status(field) for field in peak}
thread = threading.Thread(target=watch)
thread.start()
VoteStatistics.from_chunks(table)
stop.set()
thread.join()
print(*(peak[field] - before[field] for field in ("RssFile", "RssAnon")))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    with open(tmp_path / "losses", "wb") as file:
        file.truncate(4_000_000 * 100)  # 381 MiB of zeros, which take no room on the disk
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "losses")],
        capture_output=True,
        text=True,
        check=True,
    )
    mapped_pages, anonymous = map(float, run.stdout.split())
    # A piece of 64 MiB at a time, and a page table's worth around it.
    assert mapped_pages < 140, "mapped pages must be released as it goes"
    assert anonymous < 100


def test_a_map_that_was_cut_short_is_refused_where_it_ends(tmp_path, small_pieces):
    losses = random_losses(20_000, 8)
    table = mapped(tmp_path / "losses", losses, offset=70_000)
    os.truncate(tmp_path / "losses", 70_000 + 8 * 10_000)
    with pytest.raises(
        IncompleteStatisticsError, match=r"losses \(chunk 4\) cannot be read"
    ) as info:
        VoteStatistics.from_chunks(table)
    assert "has been cut to 150000 bytes" in str(info.value)
    assert_counts(info.value.statistics, losses[: 4 * 2048])
    with pytest.raises(ValueError, match="has been cut to 150000 bytes"):
        VoteStatistics.from_losses(table)


# --- generators ---


def test_an_error_of_a_generator_names_the_chunk_and_keeps_the_counts():
    losses = random_losses(60_000, 5)

    def broken():
        yield losses[:20_000]
        yield losses[20_000:]
        raise OSError("disk on fire")

    message = r"losses \(chunk 2\) cannot be read: OSError: disk on fire"
    with pytest.raises(IncompleteStatisticsError, match=message) as info:
        VoteStatistics.from_chunks(broken(), keep_rows=True)
    assert info.value.chunk == 2
    assert isinstance(info.value.__cause__, OSError)
    assert_counts(info.value.statistics, losses)
    np.testing.assert_array_equal(info.value.statistics.rows, np.packbits(losses, axis=1))


def test_an_error_before_the_first_chunk_has_nothing_to_keep():
    def broken():
        yield from [1 / 0]

    with pytest.raises(IncompleteStatisticsError, match=r"chunk 0.*ZeroDivisionError") as info:
        VoteStatistics.from_chunks(broken())
    assert info.value.statistics is None


@pytest.mark.parametrize("keep_rows", [False, True])
@pytest.mark.parametrize("n", [5, 12])  # from 2**20 losses on, numba counts
def test_nothing_of_a_bad_chunk_is_counted(n, keep_rows):
    losses = random_losses(300_000, n)
    bad = losses[100_000:200_000].copy()
    bad[-1, -1] = 2  # all but the last block of it are fine
    with pytest.raises(IncompleteStatisticsError, match=r"\(chunk 1\) must be 0 or 1") as info:
        VoteStatistics.from_chunks([losses[:100_000], bad, losses[200_000:]], keep_rows=keep_rows)
    assert_counts(info.value.statistics, losses[:100_000])
    assert (info.value.statistics.rows is not None) == keep_rows
    rest = VoteStatistics.from_chunks([losses[100_000:]], keep_rows=keep_rows)
    assert_counts(info.value.statistics + rest, losses)


def test_a_chunk_with_other_voters_keeps_the_counts():
    losses = random_losses(30, 5)
    message = r"\(chunk 1\) must have 5 voters like the rows before, got 4"
    with pytest.raises(IncompleteStatisticsError, match=message) as info:
        VoteStatistics.from_chunks([losses, losses[:, :4]])
    assert_counts(info.value.statistics, losses)


# --- Parquet ---


def write_votes(path, votes, y, **options):
    columns = {f"voter {j}": column for j, column in enumerate(np.asarray(votes).T)}
    pq.write_table(pa.table(columns | {"truth": y}), path, **options)


@pytest.mark.parametrize("kind", ["int64", "int8", "float32", "bool", "str"])
@pytest.mark.parametrize("batch", [2**24, 300])
def test_counts_of_a_parquet_file(tmp_path, monkeypatch, kind, batch):
    monkeypatch.setattr("certivote.parquet._BATCH_VALUES", batch)
    rng = np.random.default_rng(1)
    votes, y = rng.integers(2, size=(1000, 5)).astype(kind), rng.integers(2, size=1000).astype(kind)
    write_votes(tmp_path / "votes.parquet", votes, y, row_group_size=300)
    losses = ParquetLosses(tmp_path / "votes.parquet", label="truth")
    assert losses.n_samples == 1000
    for _ in range(2):
        assert_counts(VoteStatistics.from_chunks(losses), votes != y[:, None])
    chosen = ParquetLosses(tmp_path / "votes.parquet", "truth", voters=["voter 3", "voter 0"])
    assert_counts(VoteStatistics.from_chunks(chosen), (votes != y[:, None])[:, [3, 0]])


def test_dictionaries_in_a_parquet_file(tmp_path):
    votes = pa.array(["a", "b", "a", "c"]).dictionary_encode()
    table = pa.table({"one": votes, "y": ["a", "a", "a", "c"]})
    pq.write_table(table, tmp_path / "votes.parquet")
    statistics = VoteStatistics.from_chunks(ParquetLosses(tmp_path / "votes.parquet", "y"))
    assert statistics.errors.tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "nothing"}, "label and voters must be columns of .*, got 'nothing'"),
        ({"label": "truth", "voters": ["nobody"]}, "must be columns of .*, got 'nobody'"),
        ({"label": "truth", "voters": ["truth"]}, "voters must not include 'truth'"),
        ({"label": "truth", "voters": []}, "voters must be columns"),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path, arguments, message):
    write_votes(tmp_path / "votes.parquet", [[1, 0]], [1])
    with pytest.raises(ValueError, match=message):
        ParquetLosses(tmp_path / "votes.parquet", **arguments)


@pytest.mark.parametrize("column", ["one", "y"])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_in_a_parquet_file_keeps_the_row_groups_before(tmp_path, column, missing):
    columns = {"one": [0.0, 1.0, 1.0, 1.0], "y": [0.0, 0.0, 1.0, 1.0]}
    columns[column][3] = missing
    pq.write_table(pa.table(columns), tmp_path / "votes.parquet", row_group_size=2)
    message = f"column '{column}' must not have missing labels, but row group 1"
    with pytest.raises(IncompleteStatisticsError, match=message) as info:
        VoteStatistics.from_chunks(ParquetLosses(tmp_path / "votes.parquet", "y"))
    assert info.value.statistics.n_samples == 2
    assert info.value.statistics.errors.tolist() == [1]


def test_labels_of_different_kinds_in_a_parquet_file_are_refused(tmp_path):
    pq.write_table(pa.table({"one": [1, 2], "y": ["1", "2"]}), tmp_path / "votes.parquet")
    with pytest.raises(ValueError, match=r"column 'one' must hold labels of one kind with 'y'"):
        VoteStatistics.from_chunks(ParquetLosses(tmp_path / "votes.parquet", "y"))


# --- progress ---


def test_progress_by_rich_has_a_rate_and_the_time_left(capsys):
    VoteStatistics.from_chunks([random_losses(1000, 3)] * 3, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    line = next(line for line in err.splitlines() if "counting" in line)
    assert "100%" in line
    assert re.search(r"\d:\d\d:\d\d +[\d,]+ examples/s", line)


@pytest.mark.parametrize("known", [True, False])
def test_progress_in_plain_text(capsys, monkeypatch, known):
    monkeypatch.setattr("certivote._utils.progress.find_spec", lambda name: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = iter(range(0, 100, 2))
    monkeypatch.setattr("certivote._utils.progress.time.perf_counter", lambda: next(now))
    chunks = [random_losses(1000, 3)] * 2
    VoteStatistics.from_chunks(chunks if known else iter(chunks), verbose=1)
    first, second = ("/2000", "/2000") if known else ("", "")
    left = (", 2 s left", ", 0 s left") if known else ("", "")
    assert capsys.readouterr().err == (
        f"\rcounting: 1000{first}, 500 examples/s{left[0]}\x1b[K"
        f"\rcounting: 2000{second}, 500 examples/s{left[1]}\x1b[K\n"
    )


# --- checkpoints ---


@pytest.mark.parametrize("keep_rows", [False, True])
def test_a_checkpoint_comes_back_as_it_was(tmp_path, keep_rows):
    losses = random_losses(1234, 11)
    statistics = VoteStatistics.from_losses(losses, keep_rows=keep_rows)
    path = tmp_path / "so far.npz"
    statistics.save(path)
    loaded = VoteStatistics.load(path)
    assert_counts(loaded, losses)
    assert loaded == statistics
    assert loaded.sha256 == statistics.sha256
    if keep_rows:
        np.testing.assert_array_equal(loaded.rows, statistics.rows)
    else:
        assert loaded.rows is None
    statistics.save(path)  # over the old one
    assert os.listdir(tmp_path) == ["so far.npz"]


def test_a_checkpoint_has_the_errors_of_fixed_votes(tmp_path):
    rng = np.random.default_rng(0)
    votes, y = rng.integers(3, size=(50, 3)), rng.integers(3, size=50)
    weights = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
    VoteStatistics.from_votes(votes, y, fixed_votes=weights).save(tmp_path / "fixed.npz")
    loaded = VoteStatistics.load(tmp_path / "fixed.npz")
    assert loaded.vote_errors(weights[1]) == np.count_nonzero(votes[:, 1] != y)
    assert "fixed votes" in loaded.offers


def test_a_checkpoint_is_the_old_or_the_new_one(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.npz"
    old = VoteStatistics.from_losses(random_losses(10, 3))
    old.save(path)

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        VoteStatistics.from_losses(random_losses(20, 3)).save(path)
    assert os.listdir(tmp_path) == ["checkpoint.npz"]
    assert VoteStatistics.load(path) == old


def test_every_flipped_byte_of_a_checkpoint_is_found_or_harmless(tmp_path):
    statistics = VoteStatistics.from_losses(random_losses(40, 3), keep_rows=True)
    path = tmp_path / "checkpoint.npz"
    statistics.save(path)
    whole, refused = path.read_bytes(), 0
    for position in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        try:
            loaded = VoteStatistics.load(path)
        except ValueError:
            refused += 1
        else:  # a byte of the archive that says nothing of the content, such as a date
            assert loaded == statistics
            np.testing.assert_array_equal(loaded.rows, statistics.rows)
    assert refused > 0.5 * len(whole) / 5


@pytest.mark.parametrize("length", [0, 1, 100, -1, -200])
def test_a_part_of_a_checkpoint_is_refused(tmp_path, length):
    path = tmp_path / "checkpoint.npz"
    VoteStatistics.from_losses(random_losses(40, 3)).save(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match="must be a file of statistics, whole and unchanged"):
        VoteStatistics.load(path)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "other"
    with pytest.raises(FileNotFoundError):
        VoteStatistics.load(path)
    np.save(path.with_suffix(".npy"), np.arange(3))
    np.savez(path.with_suffix(".npz"), n_samples=3, errors=[1], tandem=[[1]])
    np.savez(
        path.with_suffix(".bad.npz"),
        n_samples=3,
        errors=[1],
        tandem=[[1]],
        sha256=np.array("0" * 64),
    )
    path.with_suffix(".txt").write_text("hello")
    for suffix in (".npy", ".npz", ".bad.npz", ".txt"):
        with pytest.raises(ValueError, match="must be a file of statistics, whole and unchanged"):
            VoteStatistics.load(path.with_suffix(suffix))


def test_the_checksum_is_of_the_content(tmp_path):
    # A third party can compute it: kind, then name, type, shape and bytes of each array, by name.
    path = tmp_path / "checkpoint.npz"
    VoteStatistics(3, [1], [[1]]).save(path)
    digest = hashlib.sha256(b"certivote statistics 1")
    for name, shape, value in (
        ("errors", "(1,)", 1),
        ("n_samples", "()", 3),
        ("tandem", "(1, 1)", 1),
    ):
        digest.update(f"|{name} <i8 {shape}|".encode() + value.to_bytes(8, "little"))
    with np.load(path) as file:
        assert str(file["sha256"]) == digest.hexdigest()


def test_counting_goes_on_from_a_checkpoint(tmp_path):
    losses = random_losses(3000, 6)
    pieces = np.split(losses, 3)
    with pytest.raises(IncompleteStatisticsError) as info:
        VoteStatistics.from_chunks([pieces[0], pieces[1], "not a chunk"])
    info.value.statistics.save(tmp_path / "so-far.npz")
    resumed = VoteStatistics.load(tmp_path / "so-far.npz")
    assert_counts(resumed + VoteStatistics.from_chunks(pieces[info.value.chunk :]), losses)


@pytest.mark.parametrize("errors", [[-1], [41], [5, 5], [2.0]])
def test_errors_of_fixed_votes_that_cannot_be(tmp_path, errors):
    rng = np.random.default_rng(0)
    votes, y = rng.integers(2, size=(40, 3)), rng.integers(2, size=40)
    statistics = VoteStatistics.from_votes(votes, y, fixed_votes=[[0.2, 0.3, 0.5]])
    statistics.save(tmp_path / "honest.npz")
    assert VoteStatistics.load(tmp_path / "honest.npz").vote_errors([0.2, 0.3, 0.5]) >= 0
    statistics.fixed_votes = replace(statistics.fixed_votes, errors=np.array(errors))
    statistics.save(tmp_path / "forged.npz")
    with pytest.raises(ValueError, match=r"(errors of fixed votes|tested_errors) must be"):
        VoteStatistics.load(tmp_path / "forged.npz")


def test_a_parquet_file_that_is_cut_short_is_named(tmp_path):
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({"one": [0, 1], "y": [1, 1]}), path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"votes\.parquet must be a whole Parquet file"):
        ParquetLosses(path, label="y")
