"""The paper's experiment, in one command: ``certivote reproduce``."""

from .protocol import LEARNERS, Record
from .records import RecordStore
from .run import run
from .table import Table1, read_reference

__all__ = ["LEARNERS", "Record", "RecordStore", "Table1", "read_reference", "run"]
