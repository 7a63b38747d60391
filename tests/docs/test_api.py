"""The API reference has every public name, and none that does not exist."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "api" / "index.rst"
MODULES = (
    *("bounds", "certificate", "claims", "datasets", "distributed", "divergences", "learners"),
    *("parquet", "planning", "plotting", "report", "reproduce", "solvers", "statistics", "tables"),
)


def listed():
    """Return the names on the page, by module."""
    names, module = {}, None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if place := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
            module = place[1]
        elif name := re.fullmatch(r"   (\w+)", line):
            names.setdefault(module, set()).add(name[1])
    return names


def test_every_public_name_is_on_the_page():
    """What the package itself offers need not be listed again where it comes from."""
    names = listed()
    offered = set(import_module("certivote").__all__) - {"__version__"}
    assert offered - set().union(*names.values()) == set()
    for module in MODULES:
        own = set(import_module(f"certivote.{module}").__all__) - offered
        assert own - names[f"certivote.{module}"] == set(), module


@pytest.mark.parametrize(("module", "names"), listed().items())
def test_every_name_on_the_page_exists(module, names):
    assert names - set(import_module(module).__all__) == set()


@pytest.mark.parametrize(("module", "names"), listed().items())
def test_every_name_has_an_example(module, names):
    """They are run with the tests; what is no class or function has no docstring of its own."""
    offered = {name: getattr(import_module(module), name) for name in names}
    without = {
        name
        for name, what in offered.items()
        if callable(what) and ">>> " not in (inspect.getdoc(what) or "")
    }
    assert without == set()
