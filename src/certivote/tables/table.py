"""A table that was read: the examples, their labels, and how it was read."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..certificate import Certificate

__all__ = ["Table"]

# So many columns with the same note have a line each.
_ALIKE = 3


@dataclass
class Table:
    r"""Examples and their labels, as `read_table` returns them.

    Attributes
    ----------
    name : str
        What the table is called after its file.
    X : DataFrame
        The features: columns of floats, in seconds since 1970 for dates, or of text for categories.
    y : ndarray or None
        The labels; None if there are none.
    provenance : dict
        What a certificate says of the data: enough to read it again in the same way.
    test : tuple of (DataFrame, ndarray), or None
        Test examples and labels, where the data set has its own.
    groups, time : Series or None
        Which rows belong together, and when they came, where this was asked for.
    by : dict of str to ndarray
        The columns that claims are about, as texts.
    others : DataFrame or None
        The columns that are no features, as they are written, where labels are not needed.
    reading : dict
        How it was read: ``"columns"``, of each its name, kind, missing values and a note;
        ``"rows"`` and ``"classes"``.
    checks : dict of str to str
        What was looked for in all rows and not found, by topic.
    findings : list of str
        What was found, and throws doubt on a certificate.
    remarks : list of str
        What is worth a word about the file as a whole.

    Examples
    --------
    >>> import pathlib
    >>> from certivote.tables import read_table
    >>> rows = "\n".join(f"{i % 7},{i % 3 > 0}" for i in range(60))
    >>> _ = pathlib.Path("visits.csv").write_text("length,bought\n" + rows)
    >>> table = read_table("visits.csv", target="bought")
    >>> table.name, table.X.columns.tolist(), table.y.shape
    ('visits', ['length'], (60,))
    """

    name: str
    X: Any
    y: Any
    provenance: dict[str, Any] = field(default_factory=dict)
    test: tuple[Any, NDArray[Any]] | None = None
    groups: Any = None
    time: Any = None
    by: dict[str, NDArray[Any]] = field(default_factory=dict)
    others: Any = None
    reading: dict[str, Any] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def unusual(self) -> list[str]:
        """Return what is unusual about the file, and about each column, or many alike."""
        lines, notes = list(self.remarks), dict[str, list[str]]()
        for column in self.reading.get("columns", ()):
            if column["note"]:
                notes.setdefault(column["note"], []).append(column["name"])
        for note, names in notes.items():
            if len(names) > _ALIKE:
                lines.append(f"{len(names)} columns, such as {names[0]!r}: {note}")
            else:
                lines += [f"column {name!r}: {note}" if name else note for name in names]
        return lines

    def annotate(self, certificate: "Certificate") -> "Certificate":
        """Return a certificate that says of which table it is, how it was read, what was found.

        Parameters
        ----------
        certificate : Certificate
            One of a vote or a classifier that was certified on this table.
        """
        return replace(
            certificate,
            provenance={**self.provenance, **certificate.provenance},
            findings=tuple(dict.fromkeys([*certificate.findings, *self.findings])),
            checks={**certificate.checks, **self.checks},
        )
