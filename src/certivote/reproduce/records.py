"""Results on disk: one small file a cell, written whole or not at all."""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path

from .._utils.files import write_whole
from .._version import __version__
from .protocol import PROTOCOL, Record

__all__ = ["RecordStore"]


class RecordStore:
    """A folder of records. A run that is killed loses at most the cell it was at.

    Examples
    --------
    >>> from certivote.reproduce import RecordStore
    >>> RecordStore("records").read("glass", "lacasse", "lbfgs") is None  # it was not run yet
    True
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def _path(self, dataset: str, learner: str, solver: str) -> Path:
        return self.folder / f"{dataset.replace(':', '-')}.{learner}.{solver}.json"

    def write(self, record: Record, solver: str) -> None:
        """Write one record of a run with this solver."""
        path = self._path(record.dataset, record.learner, solver)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(asdict(record), indent=1))

    def read(self, dataset: str, learner: str, solver: str) -> Record | None:
        """Return a record, None if it is not there, and refuse one of another protocol."""
        path = self._path(dataset, learner, solver)
        if not path.exists():
            return None
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path} is not a record: {error}. Remove it to run it again."
            ) from error
        expected = {item.name for item in fields(Record)}
        if not isinstance(values, dict) or values.get("protocol") != PROTOCOL:
            found = values.get("protocol") if isinstance(values, dict) else None
            raise ValueError(
                f"{path} is a record of protocol {found!r}, this is protocol {PROTOCOL}: they do "
                "not belong in one table. Choose another folder, or remove it."
            )
        if values.get("certivote_version") != __version__:
            raise ValueError(
                f"{path} is a record of certivote {values.get('certivote_version')!r}, this is "
                f"{__version__}: they do not belong in one table. Choose another folder, or "
                "remove it."
            )
        if set(values) != expected:
            wrong = ", ".join(sorted(expected ^ set(values)))
            raise ValueError(f"{path} is not a record of this version: {wrong}.")
        return Record(**values)
