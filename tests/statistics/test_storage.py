"""Files of statistics that lie: each is refused in words, before memory is taken for it."""

import hashlib
import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certivote import UnlabelledStatistics, VoteStatistics

MEGABYTE = 2**20


def checksum(arrays):
    """The checksum of the arrays of a file, as the documentation of the format has it."""
    digest = hashlib.sha256(b"certivote statistics 1")
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"|{name} {array.dtype.str} {np.shape(arrays[name])}|".encode())
        digest.update(array.tobytes())
    return np.array(digest.hexdigest())


def honest(**changes):
    """The arrays of a file about one voter that errs once in three examples, or others."""
    arrays = {"n_samples": np.int64(3), "errors": np.array([1]), "tandem": np.array([[1]])}
    arrays |= changes
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}


def forge(path, compression=zipfile.ZIP_STORED, lies=(), more=(), **changes):
    """Write a file whose checksum is right, whatever it says; `lies` are headers of arrays."""
    arrays = honest(**changes)
    arrays["sha256"] = checksum(arrays)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in (*arrays.items(), *more):
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array), allow_pickle=True)
            if name in dict(lies):
                content = io.BytesIO(dict(lies)[name] + np.asarray(array).tobytes())
            archive.writestr(f"{name}.npy", content.getvalue())
    return path


def header(shape, descr="<i8", length=118, order="False"):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    return (
        b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + text.ljust(length - 1).encode() + b"\n"
    )


def refuse(path, match="must be a file of statistics, whole and unchanged", memory=4 * MEGABYTE):
    """Load a file that must be refused in words, without taking memory for it."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            VoteStatistics.load(path)
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()


def test_what_is_not_forged_is_read(tmp_path):
    statistics = VoteStatistics.load(forge(tmp_path / "honest.npz"))
    assert (statistics.n_samples, statistics.tandem.tolist()) == (3, [[1]])


# --- archives ---


@pytest.mark.parametrize("keep_rows", [False, True])
def test_the_records_of_an_archive_of_gigabytes_are_read(keep_rows, tmp_path, monkeypatch):
    losses = np.random.default_rng(0).integers(2, size=(40, 3))
    statistics = VoteStatistics.from_losses(losses, keep_rows=keep_rows)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    statistics.save(tmp_path / "large.npz")
    assert b"PK\6\6" in (tmp_path / "large.npz").read_bytes()
    assert VoteStatistics.load(tmp_path / "large.npz") == statistics


def test_a_compressed_archive_is_refused_before_it_is_unpacked(tmp_path):
    n = 4000  # a table of 128 MB that fits into 128 kB
    zeros = {"errors": np.zeros(n, int), "tandem": np.zeros((n, n), int)}
    path = forge(tmp_path / "bomb.npz", zipfile.ZIP_DEFLATED, **zeros)
    assert path.stat().st_size < MEGABYTE
    refuse(path, "unpacks to more than it is large")
    refuse(forge(tmp_path / "small.npz", zipfile.ZIP_DEFLATED), "must not be compressed")


def test_members_that_share_their_bytes_are_refused(tmp_path):
    # Every member points to the bytes of the largest one.
    n = 300
    path = forge(tmp_path / "shared.npz", errors=np.zeros(n, int), tandem=np.zeros((n, n), int))
    with zipfile.ZipFile(path) as archive:
        large = archive.getinfo("tandem.npy")
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\1\2")
    while content[at : at + 4] == b"PK\1\2":
        lengths = struct.unpack_from("<3H", content, at + 28)
        struct.pack_into("<3I", content, at + 16, large.CRC, *[large.file_size] * 2)
        struct.pack_into("<I", content, at + 42, large.header_offset)
        at += 46 + sum(lengths)
    path.write_bytes(content)
    refuse(path, "unpacks to more than it is large")


def test_a_list_of_a_million_members_is_not_read(tmp_path):
    path = forge(tmp_path / "list.npz")
    content = path.read_bytes()
    start = content.find(b"PK\1\2")
    listed, end = content[start:-22], bytearray(content[-22:])
    many = listed * (40 * MEGABYTE // len(listed))
    struct.pack_into("<I", end, 12, len(many))
    path.write_bytes(content[:start] + many + end)
    refuse(path, "lists too many arrays")
    # The same, where the list is told to be elsewhere by the records of large archives.
    at = start + len(many)
    large = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 4, 4, len(many), start)
    finder = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    struct.pack_into("<I", end, 12, 0)
    path.write_bytes(content[:start] + many + large + finder + end)
    refuse(path, "lists too many arrays")
    path.write_bytes(content[:start] + large + many + large + finder + end)
    refuse(path, "has no end")


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ([("weights", 1)], "must not hold 'weights'"),
        ([("../errors", 1)], "must not hold '../errors'"),
        ([("errors", [1])], "must not hold 'errors'"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_no_statistics_have(more, match, tmp_path):
    refuse(forge(tmp_path / "more.npz", more=more), match)


# --- arrays ---


@pytest.mark.parametrize(
    ("name", "lie", "match"),
    [
        ("tandem", header((10**6, 10**6)), "as large as its shape"),
        ("tandem", header((2**62, 2**62)), "as large as its shape"),
        ("tandem", header((0, 0)), "as large as its shape"),
        ("tandem", header((-1, -1)), "must be <i8 in 2 dimensions"),
        ("tandem", header((1, 1, 1)), "must be <i8 in 2 dimensions"),
        ("tandem", header((1, 1), "|O"), "must be <i8 in 2 dimensions"),
        ("tandem", header((1, 1), "<f8"), "must be <i8 in 2 dimensions"),
        ("errors", header((1,), "<M8[s]"), "must be <i8 in 1 dimension"),
        ("errors", header((1,), "<u8"), "must be <i8 in 1 dimension"),
        ("errors", header((1,), "V8"), "must be <i8 in 1 dimension"),
        ("n_samples", header((1,)), "must be <i8 in 0 dimension"),
        ("errors", header("(1,)" + " " * 3000, length=4000), "cannot be read"),
        ("errors", header("(" * 900, length=1000), "cannot be read"),
        ("errors", b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31), "version 1.0"),
        ("sha256", header((), "<U67108864"), "sha256 must be <U64"),
    ],
)
def test_headers_that_lie(name, lie, match, tmp_path):
    refuse(forge(tmp_path / "lie.npz", lies=[(name, lie)]), match)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"n_samples": None}, "must hold n_samples"),
        ({"errors": None}, "must hold errors"),
        ({"tandem": None}, "tandem must not be None"),
        ({"tested_weights": [[1.0]]}, "must hold tested_errors"),
        ({"tested_errors": [1]}, "must hold tested_weights"),
        ({"disagreements": [[0]]}, "must hold unlabelled_samples"),
        ({"unlabelled_samples": 1}, "must hold disagreements"),
        ({"unlabelled_samples": 2, "disagreements": [[0, 1], [1, 0]]}, "of the same 1 voters"),
        ({"n_samples": 0}, "n_samples must be a positive integer"),
        ({"n_samples": 2**62}, "n_samples must be at most"),
        ({"errors": np.zeros(0, int), "tandem": np.zeros((0, 0), int)}, "at least one voter"),
        ({"rows": np.zeros((10**5, 1), np.uint8)}, "rows must be uint8 of shape"),
        ({"errors": np.array([{}], dtype=object)}, "errors must be <i8"),
    ],
)
def test_arrays_that_do_not_go_together(changes, match, tmp_path):
    refuse(forge(tmp_path / "odd.npz", **changes), match)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "it is no file")
    refuse(tmp_path, "it is no file")


# --- fuzz ---


@pytest.mark.parametrize("seed", range(8))
def test_spoiled_files_are_refused_or_harmless(seed, tmp_path):
    rng = np.random.default_rng(seed)
    votes, y = rng.integers(2, size=(40, 5)), rng.integers(2, size=40)
    statistics = VoteStatistics.from_votes(votes, y, keep_rows=seed % 2 > 0, fixed_votes=np.eye(5))
    if seed % 4 > 1:
        others = rng.integers(2, size=(60, 5))
        statistics = statistics.with_unlabelled(UnlabelledStatistics.from_votes(others))
    path = tmp_path / "statistics.npz"
    statistics.save(path)
    whole, refused = path.read_bytes(), 0
    tracemalloc.start()
    try:
        for trial in range(150):
            spoiled = bytearray(whole)
            if trial % 3 == 0:
                del spoiled[rng.integers(len(whole)) :]
            for _ in range(rng.integers(1, 5) if trial % 3 else 0):
                at = rng.integers(len(whole))
                spoiled[at] = rng.integers(256) if trial % 3 == 1 else spoiled[at] ^ 1
            path.write_bytes(spoiled)
            try:
                loaded = VoteStatistics.load(path)
            except ValueError:
                refused += 1
            else:  # a byte of the archive that says nothing of the content, such as a date
                assert loaded == statistics
        assert tracemalloc.get_traced_memory()[1] < 4 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert refused > 100


# --- errors of fixed votes ---


def loaded_with(path, votes, y, weights, keep_rows, errors=None):
    """Save the statistics of votes, with other errors of the fixed one if given, and load them."""
    statistics = VoteStatistics.from_votes(votes, y, keep_rows=keep_rows, fixed_votes=[weights])
    statistics.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "sha256"}
    if errors is not None:
        arrays["tested_errors"] = np.array([errors])
    return VoteStatistics.load(forge(path, **arrays))


@st.composite
def ballots(draw):
    m, n = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    classes = draw(st.integers(2, 5))
    labels = st.integers(0, classes - 1)
    votes = draw(st.lists(st.lists(labels, min_size=n, max_size=n), min_size=m, max_size=m))
    y = draw(st.lists(labels, min_size=m, max_size=m))
    # Few different weights: many ties, and many halves.
    parts = draw(st.lists(st.sampled_from([0, 1, 2, 3, 0.1, 1e-13]), min_size=n, max_size=n))
    weights = np.array(parts if sum(parts) > 0 else [1] * n, dtype=float)
    return np.array(votes), np.array(y), weights / weights.sum()


@settings(max_examples=300, deadline=None)
@given(ballots(), st.booleans())
def test_what_votes_gave_is_never_refused(tmp_path_factory, drawn, keep_rows):
    votes, y, weights = drawn
    path = tmp_path_factory.getbasetemp() / "property.npz"
    loaded = loaded_with(path, votes, y, weights, keep_rows)
    assert loaded.fixed_votes.errors.shape == (1,)


def test_what_many_votes_gave_is_never_refused(tmp_path):
    rng = np.random.default_rng(0)
    for trial in range(60):
        m, n, classes = 300, int(rng.integers(1, 40)), int(rng.integers(2, 12))
        y = rng.integers(classes, size=m)
        right = rng.random((m, n)) < rng.random(n)
        votes = np.where(right, y[:, None], rng.integers(classes, size=(m, n)))
        weights = rng.dirichlet(np.full(n, rng.choice([0.05, 1.0, 50.0])))
        loaded_with(tmp_path / "votes.npz", votes, y, weights, trial % 2 > 0)


@pytest.mark.parametrize("keep_rows", [False, True])
def test_errors_of_a_voter_that_decides_alone(keep_rows, tmp_path):
    rng = np.random.default_rng(0)
    votes, y = rng.integers(3, size=(200, 3)), rng.integers(3, size=200)
    weights, path = [0.2, 0.2, 0.6], tmp_path / "alone.npz"
    errors = np.count_nonzero(votes[:, 2] != y)
    assert loaded_with(path, votes, y, weights, keep_rows).fixed_votes.errors.tolist() == [errors]
    for forged in (0, errors - 1, errors + 1, 200):
        with pytest.raises(ValueError, match="errors of fixed votes must be possible"):
            loaded_with(path, votes, y, weights, keep_rows, forged)


@pytest.mark.parametrize("keep_rows", [False, True])
def test_errors_that_no_votes_could_have_made(keep_rows, tmp_path):
    # All voters err on 50 of 200 examples, and none on the others: every vote errs on these 50.
    y = np.zeros(200, dtype=int)
    votes = np.repeat((np.arange(200) < 50).astype(int)[:, None], 4, axis=1)
    path = tmp_path / "agreed.npz"
    loaded = loaded_with(path, votes, y, [0.25] * 4, keep_rows)
    assert loaded.fixed_votes.errors.tolist() == [50]
    for forged in (-1, 0, 49, 51, 200, 201):
        with pytest.raises(ValueError, match="errors of fixed votes must be possible"):
            loaded_with(path, votes, y, [0.25] * 4, keep_rows, forged)


def test_with_rows_errors_are_between_what_the_rows_allow(tmp_path):
    # W is 0, 1/4, 1/2, 3/4 or 1 on 40 examples each: an error where W > 3/4 for certain, and where
    # W ≥ 1/2 perhaps.
    y = np.zeros(200, dtype=int)
    votes = (np.arange(4) < np.arange(5)[:, None]).astype(int).repeat(40, axis=0)
    for errors in range(0, 201, 10):
        if 40 <= errors <= 120:
            loaded_with(tmp_path / "steps.npz", votes, y, [0.25] * 4, True, errors)
            continue
        with pytest.raises(ValueError, match="between 40 and 120"):
            loaded_with(tmp_path / "steps.npz", votes, y, [0.25] * 4, True, errors)
