import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data():
    """The directory with the raw files of all the tasks."""
    if not os.environ.get("CERTIVOTE_DATA"):
        pytest.skip("CERTIVOTE_DATA is not set: the raw files are needed")
    return Path(os.environ["CERTIVOTE_DATA"])
