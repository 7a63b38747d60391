"""Classes that are known by a name, each by one of its own."""

from collections.abc import MutableMapping
from typing import Any

__all__ = ["add_class"]


def add_class(
    known: MutableMapping[str, Any],
    argument: str,
    added: type,
    base: type,
    name: str,
    *facts: str,
) -> None:
    """Make a class known by its class attribute `name`, and refuse what nobody could find or use.

    That is anything but a whole subclass of `base`, one without a name or one of the other `facts`,
    which are texts in class attributes too, or one whose name is another's.
    """
    if not (isinstance(added, type) and issubclass(added, base)):
        raise TypeError(f"{argument} must be a subclass of {base.__name__}, got {added!r}.")
    for fact in (name, *facts):
        said = getattr(added, fact, None)
        if not isinstance(said, str) or not said:
            what = "name" if fact == name else fact
            raise ValueError(
                f"{added.__name__} must say its {what} in the class attribute {fact!r}."
            )
    called = getattr(added, name)
    if known.get(called, added) is not added:
        raise ValueError(
            f"{name} {called!r} is taken by {known[called].__name__}: choose another name."
        )
    missing: frozenset[str] = getattr(added, "__abstractmethods__", frozenset())
    if missing:
        raise TypeError(f"{added.__name__} must write {', '.join(sorted(missing))}.")
    known[called] = added
