"""Where raw files come from, in which order, and what is said when they are missing or wrong."""

import gzip
import hashlib
import io
import os
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from certivote.datasets import CorruptFileError, load
from certivote.datasets import _sources as sources

CONTENT = b"1,2,3\n" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PLAIN = "uci/glass.data"
PACKED = "fashion-mnist/train-labels-idx1-ubyte"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Small published files, and a machine that has none of them."""
    for name in (PLAIN, PACKED):
        source = sources.Source(SHA256, sources.FILES[name].urls)
        monkeypatch.setitem(sources.FILES, name, source)
    monkeypatch.setattr(sources, "DEBIAN", tmp_path / "debian")
    monkeypatch.delenv("CERTIVOTE_DATA", raising=False)
    monkeypatch.setattr(sources, "user_cache", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def refuse(url):
    raise AssertionError("nothing may be downloaded here")


def offline(url):
    raise ConnectionError("no route to host")


def replace_network(monkeypatch, answer):
    """Have `answer(url)` give the bytes of every download; pooch does all the rest."""
    pooch = pytest.importorskip("pooch")

    def download(self, url, output_file, pooch):
        output_file.write(answer(url))

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", download)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("place", ["environment", "cache", "debian"])
def test_each_place_is_read(place, suffix, cache, tmp_path, monkeypatch):
    if place == "environment":
        monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path / place))
    put(tmp_path / place / f"{PACKED}{suffix}", gzip.compress(CONTENT) if suffix else CONTENT)
    assert sources.read(PACKED, download=False) == CONTENT


def test_the_environment_comes_before_the_cache(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path))
    put(tmp_path / PLAIN, CONTENT)
    put(cache / PLAIN, b"never opened")
    assert sources.read(PLAIN, download=False) == CONTENT


def test_a_file_that_the_environment_lacks_is_taken_from_the_cache(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path / "nowhere"))
    put(cache / PLAIN, CONTENT)
    assert sources.read(PLAIN, download=False) == CONTENT


def test_debian_has_fashion_only(cache, tmp_path):
    put(tmp_path / "debian" / PLAIN, CONTENT)
    with pytest.raises(FileNotFoundError) as caught:
        sources.read(PLAIN, download=False)
    assert "Debian" not in str(caught.value)


def test_debians_folder():
    # As `dpkg -L dataset-fashion-mnist` lists it.
    assert str(sources.DEBIAN / "fashion-mnist") == "/usr/share/datasets/fashion-mnist"


@pytest.mark.parametrize("wrong", [b"", CONTENT[:-1], CONTENT + b"\n", CONTENT[:-2] + b"4\n"])
def test_a_wrong_file_is_named_with_both_hashes(wrong, cache, monkeypatch):
    replace_network(monkeypatch, refuse)
    path = put(cache / PLAIN, wrong)
    with pytest.raises(CorruptFileError) as caught:
        sources.read(PLAIN, download=True)
    for part in (str(path), SHA256, hashlib.sha256(wrong).hexdigest(), "Delete it"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        gzip.compress(CONTENT)[:-20],
        gzip.compress(CONTENT)[:15] + b"xxxx" + gzip.compress(CONTENT)[19:],
        gzip.compress(CONTENT[:-1]),
        CONTENT,
        b"",
    ],
    ids=["truncated", "damaged", "other content", "not compressed", "empty"],
)
def test_a_wrong_archive_is_named_with_the_expected_hash(wrong, cache):
    path = put(cache / f"{PACKED}.gz", wrong)
    with pytest.raises(CorruptFileError) as caught:
        sources.read(PACKED, download=False)
    assert str(path) in str(caught.value)
    assert SHA256 in str(caught.value)


def test_a_file_that_changed_is_noticed_even_if_it_looks_the_same(cache):
    path = put(cache / PLAIN, CONTENT)
    assert sources.read(PLAIN, download=False) == CONTENT
    before = path.stat()
    path.write_bytes(CONTENT[:-2] + b"4\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CorruptFileError):
        sources.read(PLAIN, download=False)


def assert_complete(message, cache, *parts):
    for part in (PLAIN, str(cache / PLAIN), "CERTIVOTE_DATA", "certivote[data]", *parts):
        assert part in message


def test_missing_without_download(cache, monkeypatch):
    replace_network(monkeypatch, refuse)
    with pytest.raises(FileNotFoundError) as caught:
        sources.read(PLAIN, download=False)
    assert_complete(str(caught.value), cache, "download is False", "not set")


def test_missing_without_network(cache, tmp_path, monkeypatch):
    replace_network(monkeypatch, offline)
    monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path / "mine"))
    with pytest.raises(FileNotFoundError) as caught:
        sources.read(PLAIN, download=True)
    place = str(tmp_path / "mine" / PLAIN)
    assert_complete(str(caught.value), cache, "no route", place, *sources.FILES[PLAIN].urls)
    assert "not set" not in str(caught.value)
    assert list((cache / "uci").iterdir()) == []


def test_missing_without_pooch(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError) as caught:
        sources.read(PLAIN, download=True)
    assert_complete(str(caught.value), cache, "pooch, which downloads it, is not installed")


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME is Linux's")
def test_the_cache_is_that_of_pooch(monkeypatch):
    pooch = pytest.importorskip("pooch")
    for value in (None, "", "/somewhere"):
        if value is not None:
            monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert sources.user_cache() == pooch.os_cache("certivote")


def test_the_next_source_is_tried_when_one_fails_or_lies(cache, monkeypatch):
    asked = []

    def answer(url):
        asked.append(url)
        right = url == sources.FILES[PACKED].urls[1]
        return gzip.compress(CONTENT) if right else gzip.compress(b"<html>Sign in</html>")

    replace_network(monkeypatch, answer)
    assert sources.read(PACKED, download=True) == CONTENT
    assert asked == list(sources.FILES[PACKED].urls)
    assert [path.name for path in (cache / "fashion-mnist").iterdir()] == [Path(PACKED).name]
    replace_network(monkeypatch, refuse)
    assert sources.read(PACKED, download=True) == CONTENT


def test_a_wrong_download_is_not_kept(cache, monkeypatch):
    replace_network(monkeypatch, lambda url: gzip.compress(b"wrong"))
    with pytest.raises(FileNotFoundError) as caught:
        sources.read(PACKED, download=True)
    assert SHA256 in str(caught.value)
    assert hashlib.sha256(b"wrong").hexdigest() in str(caught.value)
    assert list((cache / "fashion-mnist").iterdir()) == []


@pytest.mark.parametrize("name", [PLAIN, PACKED])
def test_what_is_no_archive_is_a_failure_like_another(name, cache, monkeypatch):
    """A page to sign in, or an archive of other files, says so; no traceback of a decompressor."""
    replace_network(
        monkeypatch, lambda url: zipped("other", b"") if url.endswith("zip") else b"<html>"
    )
    with pytest.raises(FileNotFoundError) as caught:
        sources.read(name, download=True)
    for url in sources.FILES[name].urls:
        assert f"{url}: " in str(caught.value)
    assert list((cache / name).parent.iterdir()) == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """A web server on this machine; its address and the folder it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", folder
        http.shutdown()
        thread.join()


def zipped(name, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("Index", b"other")
        archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("file", "pack"),
    [
        ("glass.data", lambda content: content),
        ("glass.data.gz", gzip.compress),
        ("glass+identification.zip", partial(zipped, "glass.data")),
    ],
)
@pytest.mark.parametrize("wrong", [False, True])
def test_pooch_itself_fetches_every_format(file, pack, wrong, server, cache, monkeypatch, capfd):
    pooch = pytest.importorskip("pooch")
    # Where pooch tells what it does, as it was when pooch was imported.
    monkeypatch.setattr(pooch.get_logger().handlers[0], "stream", sys.stderr)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    address, folder = server
    put(folder / file, pack(CONTENT[:-1] if wrong else CONTENT))
    monkeypatch.setitem(
        sources.FILES, PLAIN, sources.Source(SHA256, (f"{address}/none", f"{address}/{file}"))
    )
    if wrong:
        with pytest.raises(FileNotFoundError) as caught:
            sources.read(PLAIN, download=True)
        assert SHA256 in str(caught.value)
        assert list((cache / "uci").iterdir()) == []
    else:
        assert sources.read(PLAIN, download=True) == CONTENT
        assert [path.name for path in (cache / "uci").iterdir()] == ["glass.data"]
        assert sources.read(PLAIN, download=False) == CONTENT
    shown = capfd.readouterr().err
    assert f"Downloading file 'uci/glass.data' from '{address}/{file}'" in shown
    assert "known_hash" not in shown
    assert ("100%" in shown) == (find_spec("tqdm") is not None)


def test_every_file_has_a_hash_and_two_addresses():
    assert len(sources.FILES) == 17
    for name, source in sources.FILES.items():
        assert len(source.sha256) == 64
        assert len(source.urls) == len(set(source.urls)) == 2
        assert source.urls[0].removesuffix(".gz").endswith(Path(name).name)


def test_the_raw_files_are_those_of_the_registry(data):
    for name in sources.FILES:
        assert sources.read(name, download=False)


def test_a_damaged_copy_of_a_real_file(data, tmp_path, monkeypatch):
    content = bytearray((data / PLAIN).read_bytes())
    content[100] ^= 1
    path = put(tmp_path / PLAIN, bytes(content))
    monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path))
    with pytest.raises(CorruptFileError) as caught:
        load("glass")
    assert str(path) in str(caught.value)
    assert sources.FILES[PLAIN].sha256 in str(caught.value)


@pytest.mark.parametrize("name", ["heart", "fash:TOvsPU"])
def test_a_task_that_is_downloaded_equals_the_local_one(name, data, tmp_path, monkeypatch):
    expected = load(name)

    def answer(url):
        file = url.rsplit("/", 1)[1]
        if not file.endswith(".gz"):
            return (data / "uci" / file).read_bytes()
        packed = data / "fashion-mnist" / file
        if packed.is_file():
            return packed.read_bytes()
        return gzip.compress(packed.with_suffix("").read_bytes())

    replace_network(monkeypatch, answer)
    monkeypatch.delenv("CERTIVOTE_DATA")
    monkeypatch.setattr(sources, "DEBIAN", tmp_path / "debian")
    monkeypatch.setattr(sources, "user_cache", lambda: tmp_path / "cache")
    with pytest.raises(FileNotFoundError, match="missing"):
        load(name, download=False)
    found = load(name)
    for part in ("X_train", "y_train", "X_test", "y_test"):
        assert (getattr(found, part) == getattr(expected, part)).all()
    replace_network(monkeypatch, refuse)
    load(name)
