"""What a user gets from the wheel: the data files, three dependencies, a working library."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
DEPENDENCIES = {"numpy", "scipy", "scikit-learn"}

SCRIPT = """
import json
import numpy as np
import certivote
from certivote import VoteStatistics, minimize
from certivote.bounds import get_bound

losses = np.random.default_rng(0).random((2000, 10)) < 0.2
result = minimize(get_bound("lacasse"), VoteStatistics.from_losses(losses))
print(json.dumps({"file": certivote.__file__, "value": float(result.value)}))
"""


def run(*command, cwd):
    """Run a command outside the source tree and return what it prints; show it all on failure."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def needed(requirements):
    """Names among `requirements` that a plain install brings in: no extras, this Python."""
    parsed = [Requirement(line) for line in requirements]
    return {
        canonicalize_name(requirement.name)
        for requirement in parsed
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }


def closure(names, requirements):
    """`names` and all that they need, directly or not, by the table `requirements`."""
    found, frontier = set(), set(names)
    while frontier:
        found |= frontier
        frontier = set().union(*(requirements[name] for name in frontier)) - found
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    # The backend is in the `test` extra, so no isolated environment has to be downloaded.
    folder = tmp_path_factory.mktemp("wheel")
    run(
        *(sys.executable, "-m", "build", "--wheel", "--no-isolation"),
        *("--outdir", folder, ROOT),
        cwd=folder,
    )
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_the_data_files(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {
        *("py.typed", "certificate/certificate.schema.json", "datasets/registry.txt"),
        *("report/report.css", "report/page.html.jinja"),
    }
    assert {f"certivote/{name}" for name in data} <= names
    modules = (ROOT / "src" / "certivote").rglob("*.py")
    on_disk = {path.relative_to(ROOT / "src").as_posix() for path in modules}
    assert on_disk <= names


def test_wheel_metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(archive.read(name).decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = {}
    exec((ROOT / "src" / "certivote" / "_version.py").read_text(), version)
    assert metadata["Version"] == version["__version__"]
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra")) == set(project["optional-dependencies"])
    assert needed(metadata.get_all("Requires-Dist")) == DEPENDENCIES


def test_wheel_works_alone_in_a_fresh_environment(wheel, tmp_path):
    # Without pip inside, the environment holds the wheel and what it pulls in, nothing else.
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", wheel, cwd=tmp_path)

    listed = json.loads(run(*pip, "list", "--format=json", cwd=tmp_path))
    installed = {canonicalize_name(entry["name"]) for entry in listed}
    purelib = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path
    ).strip()
    requirements = {
        canonicalize_name(distribution.name): needed(distribution.requires or [])
        for distribution in distributions(path=[purelib])
    }
    # scikit-learn's own needs change from one release to the next, so they are looked up.
    assert installed == {"certivote"} | closure(DEPENDENCIES, requirements)

    printed = json.loads(run(python, "-I", "-c", SCRIPT, cwd=tmp_path))
    assert Path(printed["file"]).is_relative_to(purelib)
    assert 0 < printed["value"] <= 1
