"""What the tests of pages share."""

import sys

import pytest


@pytest.fixture
def no_matplotlib(monkeypatch):
    """Pages without plots, which take a hundred times less time."""
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
