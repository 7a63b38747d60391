"""``certivote datasets``: the data sets that have a name."""

from . import options
from .output import print_json, print_table, say

__all__ = ["datasets"]

# Those that come with scikit-learn, which takes long to import only to be asked.
_SCIKIT_LEARN = {"breast-cancer": (569, 0, 30, 2), "digits": (1797, 0, 64, 10)}


@options.command
def datasets(
    quiet: options.Quiet = False, as_json: options.Json = False, debug: options.Debug = False
) -> None:
    """List the built-in data sets, and which of them are on this machine."""
    from ..datasets import Sizes, sizes_here
    from .data import builtin_names

    nothing = (None,) * len(Sizes._fields)
    found = []
    for name in builtin_names():
        sizes = _SCIKIT_LEARN.get(name) or sizes_here(name) or nothing
        found.append({"name": name, **dict(zip(Sizes._fields, sizes, strict=True))})
    if as_json:
        print_json(found)
        return
    print_table(
        ["name", *(size.replace("_", " ") for size in Sizes._fields)],
        [["not here" if cell is None else str(cell) for cell in entry.values()] for entry in found],
    )
    if not quiet and any(entry["rows"] is None for entry in found):
        say(
            "Those that are not here are downloaded on first use, or read from the folder in "
            "$CERTIVOTE_DATA."
        )
