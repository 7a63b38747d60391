"""Where the raw files are, how they are fetched, and the proof that they are the right ones."""

import gzip
import hashlib
import importlib
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from zipfile import BadZipFile

from .._utils.progress import Progress, progress_bar

__all__ = ["FILES", "CorruptFileError", "read"]

ENVIRONMENT = "CERTIVOTE_DATA"
# Debian's package dataset-fashion-mnist installs the folder fashion-mnist here.
DEBIAN = Path("/usr/share/datasets")

_UCI = "https://archive.ics.uci.edu"
_MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
_FASHION = (
    "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
)


class CorruptFileError(ValueError):
    """A raw file whose content is not what was published."""


@dataclass(frozen=True)
class Source:
    """The SHA-256 of a file's content after decompression, and where to download it."""

    sha256: str
    urls: tuple[str, ...]


def _uci(folder: str, archive: str, name: str, sha256: str) -> tuple[str, Source]:
    urls = (
        f"{_UCI}/ml/machine-learning-databases/{folder}/{name}",
        f"{_UCI}/static/public/{archive}.zip",
    )
    return f"uci/{name}", Source(sha256, urls)


def _idx(folder: str, mirrors: tuple[str, ...], name: str, sha256: str) -> tuple[str, Source]:
    return f"{folder}/{name}", Source(sha256, tuple(f"{mirror}/{name}.gz" for mirror in mirrors))


FILES: dict[str, Source] = dict(
    [
        _uci(
            "letter-recognition",
            "59/letter+recognition",
            "letter-recognition.data",
            "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
        ),
        _uci(
            "credit-screening",
            "27/credit+approval",
            "crx.data",
            "fff49bc186cbddb3ace7371d40d9fbbb3af4f126019c13ff3f562249b1454f4d",
        ),
        _uci(
            "glass",
            "42/glass+identification",
            "glass.data",
            "dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d",
        ),
        _uci(
            "heart-disease",
            "45/heart+disease",
            "processed.cleveland.data",
            "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
        ),
        _uci(
            "tic-tac-toe",
            "101/tic+tac+toe+endgame",
            "tic-tac-toe.data",
            "a996a756484d0cf8cbad1680d823aadbfcff8ae2d78c450e6999362d580301c5",
        ),
        _uci(
            "voting-records",
            "105/congressional+voting+records",
            "house-votes-84.data",
            "c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e",
        ),
        _uci(
            "breast-cancer-wisconsin",
            "17/breast+cancer+wisconsin+diagnostic",
            "wdbc.data",
            "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
        ),
        _uci(
            "adult",
            "2/adult",
            "adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        _uci(
            "adult",
            "2/adult",
            "adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
        _idx(
            "mnist",
            _MNIST,
            "train-images-idx3-ubyte",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        _idx(
            "mnist",
            _MNIST,
            "train-labels-idx1-ubyte",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        _idx(
            "mnist",
            _MNIST,
            "t10k-images-idx3-ubyte",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        _idx(
            "mnist",
            _MNIST,
            "t10k-labels-idx1-ubyte",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        _idx(
            "fashion-mnist",
            _FASHION,
            "train-images-idx3-ubyte",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        _idx(
            "fashion-mnist",
            _FASHION,
            "train-labels-idx1-ubyte",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        _idx(
            "fashion-mnist",
            _FASHION,
            "t10k-images-idx3-ubyte",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        _idx(
            "fashion-mnist",
            _FASHION,
            "t10k-labels-idx1-ubyte",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ]
)


def read(name: str, *, download: bool) -> bytes:
    """Return the checked content of a raw file, from the first place that has it.

    Parameters
    ----------
    name : str
        A key of `FILES`.
    download : bool
        Whether a file that is nowhere on this machine is downloaded into the user's cache.
    """
    for _, root in _roots(name):
        for path in _paths(root, name):
            if path.is_file():
                return _read_checked(path, FILES[name].sha256)
    if not download:
        raise _missing(name, ["download is False"])
    pooch = _import_pooch()
    if pooch is None:
        raise _missing(name, ["pooch, which downloads it, is not installed"])
    failures = []
    for url in FILES[name].urls:
        try:
            return _download(pooch, url, name)
        except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as error:
            failures.append(f"{url}: {error}")
    raise _missing(name, failures)


def _roots(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the directories to look in, each with what it is, in order."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        yield f"${ENVIRONMENT}", Path(chosen).expanduser()
    yield "the user's cache", _cache()
    if name.startswith("fashion-mnist/"):
        yield "Debian's package dataset-fashion-mnist", DEBIAN


def _paths(root: Path, name: str) -> tuple[Path, Path]:
    return root / name, root / f"{name}.gz"


def _import_pooch() -> ModuleType | None:
    try:
        return importlib.import_module("pooch")
    except ImportError:
        return None


def _cache() -> Path:
    pooch = _import_pooch()
    if pooch is not None:
        return Path(pooch.os_cache("certivote"))
    # The same place as pooch's, so that what pooch once fetched is found without it.
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, "certivote", "certivote", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "certivote"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "certivote")


# The files whose content this process has checked: path, size, time of change and hash.
_CHECKED: set[tuple[str, int, int, str]] = set()


def _read_checked(path: Path, sha256: str) -> bytes:
    """Return the content of a file, decompressed, if it is the one that was published."""
    status = path.stat()
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns, sha256)
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise _corrupt(path, sha256, content, f" It does not decompress: {error}.") from error
    if key not in _CHECKED:
        if hashlib.sha256(content).hexdigest() != sha256:
            raise _corrupt(path, sha256, content)
        _CHECKED.add(key)
    return content


def _corrupt(path: Path, sha256: str, content: bytes, why: str = "") -> CorruptFileError:
    found = hashlib.sha256(content).hexdigest()
    return CorruptFileError(
        f"{path} is corrupt or truncated ({len(content)} bytes).{why}\n"
        f"  expected SHA-256 of the content: {sha256}\n"
        f"  found:                           {found}\n"
        "Delete it to have it downloaded again, or put a good copy in its place."
    )


def _missing(name: str, failures: list[str]) -> FileNotFoundError:
    places = [f"{what}: {root / name}, also as .gz" for what, root in _roots(name)]
    if not os.environ.get(ENVIRONMENT):
        places.insert(0, f"${ENVIRONMENT}: not set")
    lines = "\n".join(f"  - {place}" for place in places)
    reasons = "\n".join(f"  - {failure}" for failure in failures)
    return FileNotFoundError(
        f"The raw file {name} is missing. It was looked for in\n{lines}\n"
        f"and was not downloaded:\n{reasons}\n"
        f"There are two ways to get it: set {ENVIRONMENT} to a directory that holds {name}; or be "
        'online with pooch (pip install "certivote[data]") and leave download=True.'
    )


class _DownloadBar:
    """The project's progress bar, with the four names that pooch asks of one."""

    def __init__(self, what: str, stack: ExitStack) -> None:
        self.total = 0
        self._what, self._done = what, 0
        self._stack = stack
        self._advance: Progress | None = None

    def update(self, steps: int) -> None:
        if self._advance is None:
            self._advance = self._stack.enter_context(progress_bar(self._what, self.total, 1))
        # Pooch counts whole blocks, and the whole file once more at its end.
        steps = min(steps, self.total - self._done)
        self._done += steps
        self._advance(steps)

    def reset(self) -> None:
        """Stay: what pooch counts after this only fills the bar up."""

    def close(self) -> None:
        """Stay: the caller's stack closes the bar, after a failure too."""


def _download(pooch: ModuleType, url: str, name: str) -> bytes:
    """Download a file into the user's cache, where it appears whole and checked or not at all."""
    target, base = _cache() / name, Path(name).name
    target.parent.mkdir(parents=True, exist_ok=True)
    sha256, processor, known = FILES[name].sha256, None, None
    if url.endswith(".gz"):
        processor = pooch.Decompress(name=base)
    elif url.endswith(".zip"):
        processor = pooch.Unzip(members=[base])
    else:
        known = f"sha256:{sha256}"
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, ExitStack() as stack:
        bar = _DownloadBar(f"Downloading {name}", stack)
        # Pooch would advise to write down the hash of each archive.
        logger = pooch.get_logger()
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel("WARNING")
        fetched = pooch.retrieve(
            url,
            known_hash=known,
            fname=url.rsplit("/", 1)[1],
            path=folder,
            processor=processor,
            progressbar=bar,
        )
        # An archive gives the list of its members.
        path = Path(fetched[0] if isinstance(fetched, list) else fetched)
        content = path.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise CorruptFileError(f"its content has SHA-256 {found}, expected {sha256}")
        os.replace(path, target)
    return content
