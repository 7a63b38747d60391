"""When, and with which libraries, a certificate was made."""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

__all__ = ["made_now"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def made_now(*more: str) -> dict[str, str]:
    """Return the date, and the versions of Python and of the libraries, more than the usual ones.

    The date is that of ``SOURCE_DATE_EPOCH``, where the environment has it.
    """
    found = {name: _version(name) for name in (*_LIBRARIES, *more)}
    versions = {name: number for name, number in found.items() if number}
    return {"date": _date(), "python": platform.python_version(), **versions}


def _version(name: str) -> str:
    """Return the version of a package, by its name or by that of its module; empty if unknown."""
    try:
        return version(name)
    except (PackageNotFoundError, ValueError):
        return str(getattr(sys.modules.get(name), "__version__", ""))


def _date() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.now(UTC) if not epoch else datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(
            f"SOURCE_DATE_EPOCH must be seconds since 1970, got {epoch!r}: correct or unset it."
        ) from error
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
