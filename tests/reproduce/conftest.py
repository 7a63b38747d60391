import os
from pathlib import Path

import pytest

needs_data = "needs the raw data files: set CERTIVOTE_DATA to their directory"


@pytest.fixture(scope="session")
def reference_path():
    """The authors' table, beside the data."""
    if "CERTIVOTE_DATA" not in os.environ:
        pytest.skip(needs_data)
    return Path(os.environ["CERTIVOTE_DATA"]).parent / "reference" / "table1.csv"
