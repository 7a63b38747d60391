"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file so that whoever reads it sees the old one or the new one, never a part."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is not a folder: make it first.")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
