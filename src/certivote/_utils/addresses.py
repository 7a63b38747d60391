"""Stable addresses: where a pickle looks for a class or a function."""

import sys
from types import FunctionType


def publish(package: str) -> None:
    """Give what a package names in `__all__` the address of the package, not of a module inside.

    Pickles then name the package alone, and its modules may move. What comes from elsewhere keeps
    its address. Call it as ``publish(__name__)`` at the end of the package's ``__init__``.
    """
    offered = vars(sys.modules[package])
    for name in offered["__all__"]:
        value = offered[name]
        if isinstance(value, type | FunctionType) and value.__module__.startswith(f"{package}."):
            # Methods go with their class: doctest looks for both in one module.
            for member in vars(value).values() if isinstance(value, type) else ():
                function = getattr(member, "__func__", member)
                if isinstance(function, FunctionType) and function.__module__ == value.__module__:
                    function.__module__ = package
            value.__module__ = package
