"""What the quick commands import: seconds differ by machine, imports do not."""

import subprocess
import sys
from pathlib import Path

import pytest

CERTIFICATES = Path(__file__).parent / "certificate" / "version_2"
HEAVY = {
    *("joblib", "matplotlib", "pandas", "pooch", "pyarrow", "scipy.interpolate", "scipy.optimize"),
    *("scipy.sparse", "scipy.stats", "sklearn"),
}
MOMENTS = ("--gibbs", "0.1", "--disagreement", "0.12", "--kl", "2")
RUN = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from certivote.cli import main
main()
"""


# Older versions of scipy bring some of these with its special functions.
BROUGHT = subprocess.run(
    [sys.executable, "-c", "import sys, scipy.special; print(*sys.modules)"],
    capture_output=True,
    encoding="utf-8",
    check=True,
).stdout.split()
HEAVY -= set(BROUGHT)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Run a command in a process of its own, and return what it has imported."""

    def imported(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", RUN, *map(str, arguments)],
            cwd=tmp_path_factory.mktemp("empty"),
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
        return set(done.stderr.splitlines()[-1].split())

    return imported


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [
        (("--help",), "typer"),
        (("certify", "--help"), "typer"),
        (("bound", *MOMENTS, "-m", "1000"), "certivote.bounds"),
        (("plan", "--target", "0.25", *MOMENTS), "certivote.planning"),
        (("plan", "--target", "0.1", "--risk", "0.05"), "certivote.planning"),
        (("plan", "--target", "0.1", "--pilot", CERTIFICATES / "best.json"), "certivote.planning"),
        (("datasets",), "certivote.datasets"),
        *((("verify", path), "certivote.certificate") for path in CERTIFICATES.glob("*.json")),
    ],
    ids=str,
)
def test_a_quick_command_imports_nothing_heavy(arguments, needs, imported):
    modules = imported(*arguments)
    assert needs in modules
    assert not modules & HEAVY


def test_help_does_without_numpy(imported):
    assert "numpy" not in imported("--help")


def test_a_quick_command_knows_no_classifiers(imported, tmp_path):
    """Not even where a model lies beside the certificate, whose digest is all that counts."""
    (tmp_path / "certificate.json").write_bytes((CERTIFICATES / "heldout.json").read_bytes())
    (tmp_path / "model.joblib").write_bytes(b"never loaded")
    modules = imported("verify", tmp_path / "certificate.json")
    assert not {"certivote.classifiers", "certivote.voters", *HEAVY} & modules


@pytest.mark.parametrize(
    "room", ["labels", "voting", "statistics", "bounds", "solvers", "certificate", "planning"]
)
def test_a_room_below_the_voters_imports_nothing_heavy(room):
    code = f"import sys, certivote.{room}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
