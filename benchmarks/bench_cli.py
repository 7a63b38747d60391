"""What the command line adds: to a start, and to a long job."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from timing import Row, ratio

TITLE = "The command line"

ROWS, COLUMNS = 100_000, 50


def certify() -> float:
    """Return the share of training and voting in one `certivote certify`, from start to exit."""
    X, y = make_classification(ROWS, COLUMNS, n_informative=20, flip_y=0.05, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
        frame.assign(label=np.where(y, "yes", "no")).to_csv(Path(folder, "data.csv"), index=False)
        start = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-m", "certivote", "certify", "data.csv", "--json"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        total = time.perf_counter() - start
    seconds = json.loads(run.stdout)["seconds"]
    return (seconds["training"] + seconds["voting"]) / total


def run() -> list[Row]:
    def start(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    help_ratio = ratio(
        lambda: start("-m", "certivote", "--help"), lambda: start("-c", "import sklearn.ensemble")
    )
    return [
        Row("`certivote --help` over `import sklearn.ensemble`", help_ratio, 0.5),
        Row(
            f"`certivote certify`, {ROWS:,} rows × {COLUMNS} columns: share of time that is "
            "neither training nor voting",
            1.0 - certify(),
            0.1,
        ),
    ]
