"""The bytes of a table: a file, or what is packed in one."""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

__all__ = ["JSON_LINES", "ZIP", "Source", "listed", "table_name", "unpacked"]

# How packed files begin, and what else is told by its first bytes or by its name.
_PACKED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zip")
ZIP, _EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"
_WORKBOOK = "xl/workbook.xml"
JSON_LINES = (".jsonl", ".ndjson")
_ENDINGS = (".csv", ".tsv", ".parquet", ".xlsx", *JSON_LINES)


@dataclass(frozen=True)
class Source:
    """The bytes of a table, which are a file, or were unpacked from one."""

    path: Path
    # That of what was unpacked.
    name: str
    content: bytes | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.path.stat().st_size if self.content is None else len(self.content)

    def open(self) -> BinaryIO:
        """Return the bytes from their beginning."""
        return self.path.open("rb") if self.content is None else io.BytesIO(self.content)


def table_name(path: Path) -> str:
    """Return what a table is called after its file: no ending, and no two of a packed one."""
    return Path(path.stem if path.suffix.lower() in _PACKED_ENDINGS else path.name).stem


def unpacked(path: Path) -> Source:
    """Return the table in a file, unpacked if it is an archive."""
    with path.open("rb") as file:
        head = file.read(8)
    try:
        for magic, unpack in _PACKED.items():
            if head.startswith(magic):
                return Source(path, path.stem, unpack(path.read_bytes()))
        if head.startswith((ZIP, _EMPTY_ZIP)):
            return _unzipped(path)
    except (OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, BadZipFile) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}.") from error
    return Source(path, path.name)


def _unzipped(path: Path) -> Source:
    """Return the only table in an archive; an Excel file is an archive too, and stays as it is."""
    with ZipFile(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if _WORKBOOK in names:
            return Source(path, path.name)
        # macOS adds what nobody asked for.
        names = [name for name in names if not re.search(r"(^|/)(\.|__MACOSX/)", name)]
        names = [name for name in names if name.lower().endswith(_ENDINGS)] or names
        if not names:
            raise ValueError(f"{path} holds no table.")
        if len(names) > 1:
            raise ValueError(
                f"{path} holds several tables, {listed(names)}: unpack it and name one of them, "
                "or each of them if they are parts of one table."
            )
        return Source(path, names[0], archive.read(names[0]))


def listed(names: Sequence[str]) -> str:
    """Return the first of some names in words."""
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
