"""What tests of several rooms compare with."""

import os
from pathlib import Path

import pytest

import reference
from certivote.bounds.registry import BOUNDS


@pytest.fixture(scope="session")
def exact():
    """The theory in 50 digits: everything in tests/reference.py, as attributes."""
    return reference


@pytest.fixture(scope="session")
def wdbc():
    """The errors of the paper's hundred trees on its certification half of wdbc."""
    return reference.wdbc_statistics()


@pytest.fixture(scope="session")
def registry():
    """The bounds by their names: what a test adds to it, it takes away again."""
    return BOUNDS


@pytest.fixture(scope="session")
def task_data():
    """The raw files of the paper's tasks."""
    if not os.environ.get("CERTIVOTE_DATA"):
        pytest.skip("CERTIVOTE_DATA is not set: the raw files are needed")
    return Path(os.environ["CERTIVOTE_DATA"])
