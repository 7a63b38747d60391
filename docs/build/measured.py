"""Write the tables of pages that a program in benchmarks/ prints, with the version that made them.

python docs/build/measured.py [PAGE ...]; `make tables` does it for all of them.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from marks import replaced

from certivote._utils.files import write_whole

DOCS = Path(__file__).resolve().parents[1]
# The pages, and the program that prints the rows of the tables on each.
PAGES = {
    "cluster.md": "cluster.py",
    "fewer-voters.md": "smallest.py",
    "out-of-bag.md": "out_of_bag.py",
    "out-of-core.md": "products.py",
    "plurality.md": "plurality.py",
}


def tables_in(printed: str) -> str:
    """Return the tables among the lines, with a blank line between them."""
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    # The row above one of dashes is a heading.
    for i in reversed([i for i, row in enumerate(rows) if set(row) <= set("|:-")]):
        rows.insert(i - 1, "")
    return "\n".join(rows).strip() + "\n"


def rows_of(program: str) -> str:
    """Return the tables that a program prints, and let the rest be seen."""
    command = [sys.executable, str(DOCS.parent / "benchmarks" / program)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(printed, file=sys.stderr)
    return tables_in(printed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables into their pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)}; or all")
    asked = parser.parse_args(arguments).pages or list(PAGES)
    if unknown := set(asked) - set(PAGES):
        parser.error(f"there is no page {', '.join(sorted(unknown))}.")
    for name in asked:
        page = DOCS / name
        table = rows_of(PAGES[name])
        write_whole(page, replaced(page.read_text(encoding="utf-8"), "measured", table))


if __name__ == "__main__":
    main()
