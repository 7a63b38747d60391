import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def script():
    """Return a function that loads a script of docs/build by its name."""

    def load(name):
        return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "build" / f"{name}.py")))

    return load


@pytest.fixture(scope="session")
def reference_path():
    """The authors' table, beside the data."""
    if "CERTIVOTE_DATA" not in os.environ:
        pytest.skip("needs the raw data files: set CERTIVOTE_DATA to their directory")
    return Path(os.environ["CERTIVOTE_DATA"]).parent / "reference" / "table1.csv"
