"""The names of the package, and how cheaply it is imported."""

import subprocess
import sys

import pytest

import certivote


@pytest.mark.parametrize("name", certivote.__all__)
def test_every_public_name_is_there(name):
    assert getattr(certivote, name) is not None
    assert name in dir(certivote)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        certivote.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, certivote; heavy = {'numpy', 'scipy', 'sklearn'} & set(sys.modules); "
        "assert not heavy, heavy; assert certivote.certify and 'numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
