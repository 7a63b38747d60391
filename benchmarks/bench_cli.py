"""What the command line adds: to a start, to a small job and to a long one."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from timing import Row, of_children, ratio

TITLE = "The command line"

CERTIFICATE = Path(__file__).parents[1] / "tests" / "certificate" / "version_2" / "best.json"
# What is quick, by what stands in the table.
QUICK = {
    "`certivote --help`": "--help",
    "`certivote bound`": "bound --gibbs .2 --disagreement .3 -m 1000 --kl 2",
    "`certivote plan`": "plan --target .25 --gibbs .1 --disagreement .12 --kl 2",
    "`certivote datasets`": "datasets",
    "`certivote verify` without data": f"verify {CERTIFICATE.name}",
}
ROWS, COLUMNS = 100_000, 50
FEW_ROWS, FEW_COLUMNS = 1_000, 20
# The voters of `--voters trees`, on as many rows as part A has.
TREES = """
import numpy as np
import pandas
from sklearn.tree import DecisionTreeClassifier

data = np.load("part_a.npz")
for seed in range(100):
    DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(data["X"], data["y"])
"""


def start(*arguments: str, folder: str | Path | None = None) -> str:
    """Run Python, and return what it prints; what is imported is compiled, as once installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def write_table(rows: int, columns: int, folder: str) -> None:
    """Write a table of numbers with a target, and half of its rows as arrays."""
    X, y = make_classification(
        rows, columns, n_informative=2 * columns // 5, flip_y=0.05, random_state=0
    )
    labels = np.where(y, "yes", "no")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)])
    frame.assign(label=labels).to_csv(Path(folder, "data.csv"), index=False)
    half = rows // 2
    np.savez(Path(folder, "part_a.npz"), X=X[:half].astype(np.float32), y=labels[:half])


def certify() -> float:
    """Return the share of training and voting in one `certivote certify`, from start to exit."""
    with tempfile.TemporaryDirectory() as folder:
        write_table(ROWS, COLUMNS, folder)
        begin = time.perf_counter()
        printed = start("-m", "certivote", "certify", "data.csv", "--json", folder=folder)
        total = time.perf_counter() - begin
    seconds = json.loads(printed)["seconds"]
    return (seconds["training"] + seconds["voting"]) / total


def certify_few() -> float:
    """Return the computing of `certify` on a small table over that of imports and training."""
    with tempfile.TemporaryDirectory() as folder:
        write_table(FEW_ROWS, FEW_COLUMNS, folder)
        command = ("-m", "certivote", "certify", "data.csv", "--voters", "trees", "--out", "out")
        return ratio(
            lambda: start(*command, folder=folder),
            lambda: start("-c", TREES, folder=folder),
            of_children,
        )


def over_import(command: str, module: str) -> float:
    """Return the seconds of computing of a command over those of an import."""
    return ratio(
        lambda: start("-m", "certivote", *command.split(), folder=CERTIFICATE.parent),
        lambda: start("-c", f"import {module}"),
        of_children,
    )


def run() -> list[Row]:
    help_ratio = over_import("--help", "sklearn.ensemble")
    quick = [
        Row(f"{name} over `import pandas`", over_import(command, "pandas"), 2.0)
        for name, command in QUICK.items()
    ]
    return [
        Row("`certivote --help` over `import sklearn.ensemble`", help_ratio, 0.5),
        *quick,
        Row(
            f"`certivote certify --voters trees`, {FEW_ROWS:,} rows × {FEW_COLUMNS} columns, over "
            "importing scikit-learn and pandas and training 100 such trees",
            certify_few(),
            1.6,
        ),
        Row(
            f"`certivote certify`, {ROWS:,} rows × {COLUMNS} columns: share of time that is "
            "neither training nor voting",
            1.0 - certify(),
            0.1,
        ),
    ]
