"""The command as users run it, a table to run it on, and one run that many tests look at."""

import contextlib
import json
import os
import struct
import subprocess
import sys
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from certivote.cli.app import app
from options import trees


@pytest.fixture(scope="session")
def command():
    """How to start the installed command, or the module where no script is installed."""
    script = Path(sys.executable).with_name("certivote")
    return [str(script)] if script.exists() else [sys.executable, "-m", "certivote"]


@pytest.fixture(scope="session")
def run(command):
    """Run the command in a process of its own."""

    def run(*arguments, cwd, status=0, **environment):
        done = subprocess.run(
            [*command, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **environment},
            capture_output=True,
            encoding="utf-8",
            timeout=150,
        )
        assert done.returncode == status, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture(scope="session")
def on_a_terminal(command):
    """Run the command on a terminal of some lines and columns, and return what it prints there."""

    def on_a_terminal(*arguments, cwd, size=(50, 100), **environment):
        fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        unset = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**kept, "TERM": "xterm-256color", **environment},
        )
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(ours, 65536):
                printed += piece
        os.close(ours)
        assert process.wait(timeout=60) == 0, printed.decode()
        return printed.decode()

    return on_a_terminal


@pytest.fixture(scope="session")
def invoke():
    """Run the command in this process, which has scikit-learn at hand."""
    runner = CliRunner()

    def invoke(*arguments, cwd, status=0, **environment):
        with contextlib.chdir(cwd):
            result = runner.invoke(app, [str(part) for part in arguments], env=environment)
        assert result.exit_code == status, f"{arguments}\n{result.stdout}\n{result.stderr}"
        return result

    return invoke


@pytest.fixture(scope="session")
def round_up():
    """A number at four digits, never below what it was."""

    def round_up(value, digits=4):
        return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))

    return round_up


@pytest.fixture(scope="session")
def split():
    """The rows of part A and of part B, as the documentation draws them."""

    def split(m, seed=0, part_b=0.5):
        order = np.random.RandomState(seed).permutation(m)
        size = int(np.ceil(part_b * m))
        return order[: m - size], order[m - size :]

    return split


@pytest.fixture(scope="session")
def loans():
    """300 loans: an identifier, numbers, categories, missing values, and the labels last."""
    rng, m = np.random.default_rng(0), 300
    y = rng.integers(2, size=m)
    frame = pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + m),
            "income": np.round(y + rng.normal(0, 0.6, m), 3),
            "age": rng.integers(18, 80, m) + 5 * y,
            "city": np.where(rng.random(m) < 0.7, np.where(y == 1, "Metz", "Lyon"), "Paris"),
            "branch": np.where(y == 1, rng.integers(101, 107, m), rng.integers(104, 110, m)),
            "repaid": np.where(y == 1, "yes", "no"),
        }
    )
    frame.loc[rng.random(m) < 0.1, "income"] = np.nan
    frame.loc[rng.random(m) < 0.1, "city"] = None
    return frame


@pytest.fixture(scope="session")
def as_trained():
    """The columns of a saved vote, as pandas has them."""

    def as_trained(frame, vote):
        return frame[list(vote.feature_names_in_)]

    return as_trained


@pytest.fixture(scope="session")
def numbers():
    """400 rows of numbers only, with two classes, none of them missing."""
    rng, m = np.random.default_rng(1), 400
    y = rng.integers(2, size=m)
    X = rng.normal(0, 1, (m, 5)) + 1.2 * y[:, None]
    return pd.DataFrame(np.round(X, 4), columns=list("abcde")).assign(label=y)


@pytest.fixture(scope="session")
def certified(run, loans, tmp_path_factory):
    """One run of ``certivote certify`` on the loans, and what it wrote. Look, do not touch."""
    folder = tmp_path_factory.mktemp("certified")
    data = folder / "loans.csv"
    loans.to_csv(data, index=False)
    done = run("certify", "loans.csv", "--bound", "lacasse", "--drop", "id", *trees(10), cwd=folder)
    results = folder / "loans-certificate"
    return SimpleNamespace(
        folder=results,
        data=data,
        stdout=done.stdout,
        stderr=done.stderr,
        claim=next(line for line in done.stdout.splitlines() if line.startswith("With ")),
        certificate_path=results / "certificate.json",
        certificate=json.loads((results / "certificate.json").read_text(encoding="utf-8")),
        model_path=results / "model.joblib",
        vote=joblib.load(results / "model.joblib"),
    )
