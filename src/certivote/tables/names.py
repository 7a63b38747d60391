"""Names of columns: those that are not there, and what a name says."""

import difflib
import re
from collections.abc import Mapping, Sequence

__all__ = [
    "names_a_person",
    "names_a_row",
    "names_a_time",
    "names_a_year",
    "names_an_identifier",
    "names_an_occasion",
    "require",
    "require_all",
]

# How alike a name is to one that may be meant: one slip in four letters.
_NEAR = 0.75
# The last word of a name that stands for an identifier; whom it is of; and for a time.
_IDENTIFIERS = {"id", "ids", "identifier", "identifiant", "uid", "uuid", "guid", "nr", "subjid"}
_WHOSE = {"account", "applicant", "client", "customer", "donor", "driver", "employee", "household"}
_WHOSE |= {"individual", "member", "participant", "patient", "person", "player", "pupil"}
_WHOSE |= {"respondent", "student", "subject", "user", "worker", "animal", "case", "device"}
_WHOSE |= {
    "encounter",
    "family",
    "mrn",
    "nhs",
    "record",
    "speaker",
    "ssn",
    "stay",
    "username",
    "vin",
}
_WHOSE |= {"email", "phone", "pt"}
# What stands for a person only before id: pid, childid.
_BEFORE_ID = {"child", "p", "pat", "r"}
_NUMBERED = {"code", "hash", "key", "name", "nbr", "no", "num", "number", "ref"}
_TIMES = {"date", "datetime", "day", "epoch", "month", "period", "quarter", "time", "timestamp"}
_TIMES |= {"hour", "hr", "minute", "mnth", "mon", "ts", "week", "year", "yr"}

# What the numbers of rows are called, by pandas, R and others.
_ROWS = {"unnamed", "index", "row", "rowname", "rownames", "rowid", "rownumber", "rownr", "obs"}
# What may be counted where it is not dated.
_OCCASIONS = {"occasion", "round", "session", "visit", "wave"}


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters: PatientID, patient_id and "patient id" alike."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+", name)
    return [part.lower() for part in parts]


def names_a_row(name: str) -> bool:
    """Tell whether a name is that of the index of a table: Unnamed: 0, rownames, index."""
    words = [word for word in _words(name) if not word.isdigit()]
    return "".join(words) in _ROWS


def names_an_identifier(name: str) -> bool:
    """Tell whether a name ends in id, nr and the like, or says of whom it is."""
    words = _words(name)
    return bool(words) and (words[-1] in _IDENTIFIERS or names_a_person(name))


def names_a_person(name: str) -> bool:
    """Tell whether a name ends in whom it is of: patient, user_id, customer number.

    ``customer_age`` ends in something else, and is none.
    """
    words = _words(name)
    while len(words) > 1 and (words[-1] in _IDENTIFIERS | _NUMBERED or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    last = words[-1].removesuffix("id") if len(words[-1]) > 2 else words[-1]
    return last in _WHOSE or (last in _BEFORE_ID and last != words[-1])


def names_a_time(name: str) -> bool:
    """Tell whether a name ends in a word such as year, date or timestamp."""
    words = _words(name)
    return bool(words) and words[-1] in _TIMES


def names_a_year(name: str) -> bool:
    """Tell whether a name ends in a word for what does not come again, such as year or date."""
    words = _words(name)
    return bool(words) and words[-1] in {"date", "datetime", "epoch", "timestamp", "year", "yr"}


def names_an_occasion(name: str) -> bool:
    """Tell whether a name ends in a word for a time, or for one of several occasions."""
    words = _words(name)
    return names_a_time(name) or (bool(words) and words[-1] in _OCCASIONS)


def require(who: str, name: str, names: Sequence[str], path: str) -> None:
    """Refuse the name of a column that a table lacks, and say which is meant."""
    if name in names:
        return
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=_NEAR)
    hint = (
        f"did you mean {lower[near[0]]!r}?"
        if near
        else f"it has {', '.join(names[:8])}" + (", …" if len(names) > 8 else ".")
    )
    raise ValueError(f"{who} asks for a column {name!r}, which {path} does not have: {hint}")


def require_all(
    features: Sequence[str], names: Sequence[str], path: str, otherwise: Mapping[str | None, str]
) -> None:
    """Refuse a table that lacks columns of a model, or has them for something else."""
    for name in features:
        if name in otherwise:
            raise ValueError(
                f"the model asks for the column {name!r}, which {otherwise[name]} here."
            )
    lacking = [name for name in features if name not in names]
    if len(lacking) > 1:
        listed = ", ".join(map(repr, lacking[:8])) + (", …" if len(lacking) > 8 else "")
        raise ValueError(
            f"the model asks for {len(lacking)} columns that {path} does not have: {listed}. Is "
            "this the table that it is for?"
        )
    for name in lacking:
        require("the model", name, names, path)
