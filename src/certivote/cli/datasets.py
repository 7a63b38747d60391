"""``certivote datasets``: the data sets that have a name."""

from typing import Any

from . import options
from .output import print_json, print_table, say

__all__ = ["datasets"]

_SIZES = ("rows", "test_rows", "features", "classes")


@options.command
def datasets(
    quiet: options.Quiet = False, as_json: options.Json = False, debug: options.Debug = False
) -> None:
    """List the built-in data sets, and which of them are on this machine."""
    from .data import builtin_names

    found = [{"name": name, **_sizes(name)} for name in builtin_names()]
    if as_json:
        print_json(found)
        return
    print_table(
        ["name", *(size.replace("_", " ") for size in _SIZES)],
        [["not here" if cell is None else str(cell) for cell in entry.values()] for entry in found],
    )
    if not quiet and any(entry["rows"] is None for entry in found):
        say(
            "Those that are not here are downloaded on first use, or read from the folder in "
            "$CERTIVOTE_DATA."
        )


def _sizes(name: str) -> dict[str, Any]:
    """Return the sizes of a data set; None where it is not on this machine."""
    from .data import builtin_table

    try:
        table = builtin_table(name, download=False)
    except FileNotFoundError:
        return dict.fromkeys(_SIZES)
    n_test = 0 if table.test is None else len(table.test[1])
    sizes = (len(table.y), n_test, table.X.shape[1], len(set(table.y.tolist())))
    return dict(zip(_SIZES, sizes, strict=True))
