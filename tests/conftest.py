"""What tests of several rooms compare with."""

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
