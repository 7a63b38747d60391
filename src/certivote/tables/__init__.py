"""Tables from files: columns of numbers, dates and categories, labels, groups and time."""

from .reading import read_table
from .table import Table

__all__ = ["Table", "read_table"]
