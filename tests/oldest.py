"""The oldest versions that the metadata allows, as constraints for pip: `make test-oldest`.

Requirements of what users install, extras included; those of tests and of the site are not.
"""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
# What no user needs, and the oldest libraries know in an older version only.
BESIDE = {"polars": "1.20.0"}
# What only developers install.
OTHERS = {"test", "lint", "docs"}


def oldest() -> dict[str, str]:
    """Return the oldest version of each library that is required, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(r for e in extras.keys() - OTHERS for r in extras[e])]
    versions = {}
    for requirement in map(Requirement, lines):
        if requirement.name == project["name"]:
            continue
        least = [part.version for part in requirement.specifier if part.operator == ">="]
        if len(least) != 1:
            raise ValueError(f"{requirement}: say from which version on (>=).")
        if versions.setdefault(requirement.name, least[0]) != least[0]:
            raise ValueError(f"{requirement}: from {versions[requirement.name]} on elsewhere.")
    return versions


if __name__ == "__main__":
    for name, version in sorted((oldest() | BESIDE).items()):
        print(f"{name}=={version}")
