"""Where the raw files are, how they are fetched, and the proof that they are the right ones."""

import gzip
import hashlib
import importlib
import io
import os
import sys
import zlib
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

__all__ = ["FILES", "CorruptFileError", "find", "read"]

ENVIRONMENT = "CERTIVOTE_DATA"
# Debian's package dataset-fashion-mnist installs the folder fashion-mnist here.
DEBIAN = Path("/usr/share/datasets")


class CorruptFileError(ValueError):
    """A raw file whose content is not what was published.

    Examples
    --------
    >>> from certivote.datasets import CorruptFileError
    >>> issubclass(CorruptFileError, ValueError)
    True
    """


class Source(NamedTuple):
    """The SHA-256 of a file's content after decompression, and where to download it."""

    sha256: str
    urls: tuple[str, ...]


def _read_registry() -> dict[str, Source]:
    """Return what registry.txt says of each file; pooch, which may be absent, is not asked."""
    text = resources.files(__package__).joinpath("registry.txt").read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: Source(sha256, tuple(urls)) for name, sha256, *urls in rows}


FILES = _read_registry()


def read(name: str, *, download: bool) -> bytes:
    """Return the checked content of a file of the registry, from the first place that has it.

    A file that is nowhere on this machine is downloaded into the user's cache, if it may be.
    """
    path = find(name)
    if path is not None:
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
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            failures.append(f"{url}: {error}")
    raise _missing(name, failures)


def find(name: str) -> Path | None:
    """Return the first place on this machine that has a file of the registry, if there is one."""
    for _, root in _roots(name):
        for path in (root / name, root / f"{name}.gz"):
            if path.is_file():
                return path
    return None


def _roots(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the directories to look in, each with what it is, in order."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        yield f"${ENVIRONMENT}", Path(chosen).expanduser()
    yield "the user's cache", user_cache()
    if name.startswith("fashion-mnist/"):
        yield "Debian's package dataset-fashion-mnist", DEBIAN


def _import_pooch() -> ModuleType | None:
    try:
        return importlib.import_module("pooch")
    except ImportError:
        return None


def user_cache() -> Path:
    """Return where downloads are kept: the place of `pooch.os_cache`, which need not be there."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, "certivote", "certivote", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "certivote"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "certivote")


def _read_checked(path: Path, sha256: str) -> bytes:
    """Return the content of a file, decompressed, if it is the one that was published."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise _corrupt(path, sha256, content, f" It does not decompress: {error}.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _corrupt(path, sha256, content)
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


def _download(pooch: ModuleType, url: str, name: str) -> bytes:
    """Download a file into the user's cache, where it appears whole and checked or not at all."""
    registry = pooch.create(
        path=user_cache(),
        base_url="",
        registry={name: f"sha256:{FILES[name].sha256}"},
        urls={name: url},
    )
    # The bar is tqdm's, which comes with certivote[data].
    http = pooch.HTTPDownloader(progressbar=find_spec("tqdm") is not None)

    def unpack(url: str, target: str, registry: Any) -> None:
        # Archives may be compressed anew any day: what pooch gets to check is what is inside.
        packed = io.BytesIO()
        http(url, packed, registry)
        content = packed.getvalue()
        if url.endswith(".gz"):
            content = gzip.decompress(content)
        elif url.endswith(".zip"):
            with ZipFile(packed) as archive:
                content = archive.read(Path(name).name)
        Path(target).write_bytes(content)

    return Path(registry.fetch(name, downloader=unpack)).read_bytes()
