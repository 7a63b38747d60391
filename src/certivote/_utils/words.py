"""What the name of a column says: of a row, a person, a time."""

import re

__all__ = [
    "names_a_person",
    "names_a_row",
    "names_a_time",
    "names_a_year",
    "names_an_identifier",
    "names_an_occasion",
]

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

# What is counted in a time is none: trainings last year, visits per month.
_COUNTED_IN = {"last", "past", "per"}
_SPANS = {"day", "hour", "hr", "minute", "mnth", "mon", "month", "quarter", "week", "year", "yr"}

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
    """Tell whether a name ends in a word such as year, date or timestamp.

    ``trainings_last_year`` and ``visits per month`` are numbers of something else.
    """
    words = _words(name)
    counted = len(words) > 2 and words[-2] in _COUNTED_IN and words[-1] in _SPANS
    return bool(words) and words[-1] in _TIMES and not counted


def names_a_year(name: str) -> bool:
    """Tell whether a name ends in a word for what does not come again, such as year or date."""
    years = {"date", "datetime", "epoch", "timestamp", "year", "yr"}
    return names_a_time(name) and _words(name)[-1] in years


def names_an_occasion(name: str) -> bool:
    """Tell whether a name ends in a word for a time, or for one of several occasions."""
    words = _words(name)
    return names_a_time(name) or (bool(words) and words[-1] in _OCCASIONS)
