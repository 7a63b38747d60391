"""The kinds of statistics by name: what a certificate needs to know of them when it is read."""

from collections.abc import Mapping
from typing import Any, TypeVar

from .._utils.registering import add_class
from .base import DEFAULT_KIND, Statistics
from .out_of_bag import OutOfBagStatistics
from .votes import VoteStatistics

__all__ = ["is_statistics", "kind_of", "register"]

# A new kind of statistics: one class in a file of this folder, and one line here.
KINDS: dict[str, type[Statistics]] = {
    kind.kind: kind for kind in (VoteStatistics, OutOfBagStatistics)
}

Kind = TypeVar("Kind", bound=type[Statistics])


def register(kind: Kind) -> Kind:
    """Make a kind of statistics known, so that certificates from them can be written and read.

    Parameters
    ----------
    kind : type
        A subclass of `Statistics` with a name, `kind`, that no other has.

    Returns
    -------
    type
        The class: this can decorate it.

    Examples
    --------
    >>> from certivote.statistics import VoteStatistics, kind_of, register
    >>> from certivote.statistics.kinds import KINDS
    >>> @register
    ... class PanelStatistics(VoteStatistics):
    ...     '''Counts of errors where a panel of experts gave the labels.'''
    ...     kind = "panel"
    >>> kind_of({"statistics": "panel"}).__name__
    'PanelStatistics'
    >>> del KINDS["panel"]
    """
    add_class(KINDS, "kind", kind, Statistics, "kind")
    return kind


def kind_of(facts: Mapping[str, Any]) -> type[Statistics]:
    """Return the kind of statistics that a certificate's facts name.

    Parameters
    ----------
    facts : mapping
        What `Statistics.facts` returned, perhaps elsewhere.

    Examples
    --------
    >>> from certivote.statistics import kind_of
    >>> kind_of({"statistics": "out of bag"}).__name__, kind_of({}).__name__
    ('OutOfBagStatistics', 'VoteStatistics')
    """
    name = facts.get("statistics", DEFAULT_KIND)
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(
            f"statistics must be one of {', '.join(map(repr, KINDS))}, got {name!r}: a kind of "
            "one's own must be registered first."
        )
    return KINDS[name]


def is_statistics(value: object) -> bool:
    """Tell whether something is statistics, of any kind.

    Parameters
    ----------
    value : object
        Anything.

    Examples
    --------
    >>> from certivote.statistics import VoteStatistics, is_statistics
    >>> is_statistics(VoteStatistics.from_losses([[0, 1]])), is_statistics([[0, 1]])
    (True, False)
    """
    return isinstance(value, Statistics)
