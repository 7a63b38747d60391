"""What is asked of a table: which column is what, and which texts mean that there is nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..certificate.provenance import column_names, group_columns

__all__ = ["USUALLY_MISSING", "Asked"]

# What reads as missing: what pandas takes for it, and UCI's mark.
USUALLY_MISSING: tuple[str, ...] = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN")
USUALLY_MISSING += ("-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a")
USUALLY_MISSING += ("nan", "null", "?")


@dataclass(frozen=True)
class Asked:
    """What is asked of a table; the first ones are explained at `read_table`."""

    target: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    # Rows of which all of these are the same belong together.
    group: Sequence[str] = ()
    time: str | None = None
    na_values: Sequence[str] | None = None
    keep_na: bool = False
    drop_missing_target: bool = False
    has_target: bool = True
    # The columns that claims are about. They are features too, unless they are dropped.
    by: Sequence[str] = ()
    # The columns that a model needs, where it knows their names, and those of them that hold
    # categories, where it is known that the others hold numbers: what they look like does not count
    # then.
    features: Sequence[str] | None = None
    names_only: Sequence[str] | None = None
    # Features are left as pandas reads them, as a model expects that was trained elsewhere.
    as_read: bool = False
    # How whoever asks writes the name of an argument.
    spelled: Callable[[str], str] = str

    @classmethod
    def certified(
        cls, provenance: Mapping[str, Any], spelled: Callable[[str], str] = str
    ) -> "Asked":
        """Return what was asked for when a certificate of this provenance was made."""
        texts = provenance.get("na_values")
        return cls(
            target=provenance.get("target"),
            drop=column_names("dropped", provenance.get("dropped", "[]")),
            categorical=column_names("categorical", provenance.get("categorical", "[]")),
            group=group_columns(provenance["grouped_by"]) if "grouped_by" in provenance else (),
            time=provenance.get("split_by_time"),
            na_values=None if texts is None else column_names("na_values", texts),
            keep_na="keep_na" in provenance,
            drop_missing_target="rows_without_label" in provenance,
            spelled=spelled,
        )

    @property
    def aside(self) -> list[str]:
        """The columns that say which rows belong together, and when they came."""
        return [*self.group, *([] if self.time is None else [self.time])]

    @property
    def apart(self) -> list[str | None]:
        """These, and the target: what is no feature, and is not dropped."""
        return [self.target, *self.aside]

    @property
    def given(self) -> dict[str, Any]:
        """What a file is needed for, by how it is written."""
        names = ["target", "drop", "categorical", "group", "time"]
        names += ["na_values", "keep_na", "drop_missing_target"]
        values = {self.spelled(name): getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value}

    def missing_texts(self, column: str) -> list[str]:
        """Return the texts that are missing in a column; a cell without text is so always."""
        if column == self.target and self.keep_na:
            return [""]
        if self.na_values is not None:
            return ["", *self.na_values]
        # A model that was trained elsewhere knows what pandas reads: ? is a text there.
        return [text for text in USUALLY_MISSING if not (self.as_read and text == "?")]
