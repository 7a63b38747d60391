"""How a table was read, as far as a reader wants to know it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["Reading"]

# A table of more columns than this is folded, and not all of those above that are shown.
_FEW = 12
_MOST = 30
# What several columns of one kind are called.
_PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}


class Reading:
    """The columns of a table that are shown, and the others by their numbers.

    Those that are plain, numbers without a missing value or a note, are left out first.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        try:
            self.rows, self.classes = int(table["rows"]), dict(table["classes"])
            columns = [
                {name: column[name] for name in ("name", "kind", "missing", "note")}
                for column in table["columns"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "table must have rows, classes and columns, each of these with name, kind, missing "
                f"and note: {error!r}."
            ) from error
        order = sorted(range(len(columns)), key=lambda j: _is_plain(columns[j]))
        shown = set(order[:_MOST])
        self.columns = [columns[j] for j in sorted(shown)]
        self.others = _count(columns[j]["kind"] for j in order[_MOST:])
        self.n_columns = len(columns)
        self.kinds = _count(column["kind"] for column in columns)
        self.folded = len(columns) > _FEW


def _is_plain(column: Mapping[str, Any]) -> bool:
    return column["kind"] == "number" and not column["missing"] and not column["note"]


def _count(kinds: Iterable[str]) -> list[tuple[int, str]]:
    """Return how many there are of each kind, with the word for so many."""
    return [
        (count, kind if count == 1 else _PLURALS.get(kind, kind))
        for kind, count in Counter(kinds).items()
    ]
