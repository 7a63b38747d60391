"""The table of violation rates that a long run leaves, if a file is named for it."""

import os
from pathlib import Path

import pytest

HEADER = "| scenario | bound | constant | δ | draws | violations | rate |\n"
HEADER += "|---|---|---|---|---|---|---|\n"


@pytest.fixture
def validity_table():
    """Append one row to the file in CERTIVOTE_VALIDITY_TABLE, or do nothing without one."""

    def record(scenario, bound, constant, delta, draws, violations):
        if "CERTIVOTE_VALIDITY_TABLE" not in os.environ:
            return
        path = Path(os.environ["CERTIVOTE_VALIDITY_TABLE"])
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(HEADER)
        except FileExistsError:
            pass
        row = (scenario, bound, constant, f"{delta:g}", draws, violations)
        rate = f"{violations / draws:.2g}"
        # One short write at the end of the file: processes of pytest-xdist do not mix their rows.
        with path.open("a", encoding="utf-8") as file:
            file.write("| " + " | ".join(map(str, (*row, rate))) + " |\n")

    return record
