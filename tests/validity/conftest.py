"""The rows of docs/validity.md that a long run leaves, if a file is named for them."""

import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def validity_table():
    """Return a function (bound, world, delta, samples, failures) that records a cell of the table.

    The table is that of docs/validity.md. A line is added to the file that is named in
    CERTIVOTE_VALIDITY_TABLE, and nothing is done without one: ``make validity`` names one, and
    writes the page from it by docs/build/validity.py.

    bound : str
        The row: the name of a bound, and what else is claimed; "pipeline" for whole fits, which
        have a table of their own.
    world : str
        The column: one of WORLDS of docs/build/validity.py, which describes it. For "pipeline",
        what was fitted, in words.
    delta : float
        How often a failure is allowed.
    samples : int
        How many samples were really drawn and certified: nothing else counts.
    failures : int
        On how many of them a certificate was false.
    """

    def record(bound, world, delta, samples, failures):
        if "CERTIVOTE_VALIDITY_TABLE" not in os.environ:
            return
        row = {"bound": bound, "world": world, "delta": float(delta)}
        row |= {"samples": int(samples), "failures": int(failures)}
        # One short write at the end of the file: processes of pytest-xdist do not mix their rows.
        with Path(os.environ["CERTIVOTE_VALIDITY_TABLE"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    return record
