"""From files to a table: its columns, labels, groups and time, and how it was read."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.files import file_sha256
from .._utils.spelling import groups_alike
from .._utils.words import names_a_row, names_an_identifier
from .archives import table_name
from .asked import Asked
from .checks import (
    IDENTIFIERS,
    ORDER,
    check_identifiers,
    check_order,
    remark_on_dates,
    times_in,
)
from .columns import Columns
from .files import open_tables
from .names import require, require_all
from .table import Table
from .target import find_target, labelled, labels
from .telling import telling

__all__ = ["examine", "read_asked", "read_table", "reading_of", "sha256_of"]

_NO_NAME = "the first column has no name, as an index of pandas"
_ROW_NUMBERS = "it numbers the rows, and is left out"
# Fewer rows may be counted by chance.
_FEW_ROWS = 20
_Path = str | os.PathLike[str]


def read_table(
    paths: _Path | Sequence[_Path],
    target: str | None = None,
    *,
    drop: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    group: str | Sequence[str] = (),
    time: str | None = None,
    na_values: str | Sequence[str] | None = None,
    keep_na: bool = False,
    drop_missing_target: bool = False,
    has_target: bool = True,
    by: str | Sequence[str] = (),
) -> Table:
    """Read a table from files, as ``certivote certify`` does, and refuse what cannot be certified.

    CSV with any usual separator, Parquet, JSON Lines and Excel, packed or not. Each column is one
    of numbers, dates or categories as a whole, and what a certificate must not be silent of, such
    as an identifier that repeats, is among the ``findings`` of what is returned:
    ``vote.certificate_ = table.annotate(vote.certificate_)`` writes them into a certificate. It
    takes pandas.

    Parameters
    ----------
    paths : path, or sequence of paths
        A file with one row per example; several files with the same columns are one table.
    target : str, default=None
        The column that holds the labels. If None: the one called target, class, label or y, else
        the last one.
    drop : str or sequence of str, default=()
        Columns to leave out, such as an identifier.
    categorical : str or sequence of str, default=()
        Columns of numbers, or of numbers and text, that are names.
    group : str or sequence of str, default=()
        The column that says which rows belong together; of several, those do in which all are the
        same. It is no feature.
    time : str, default=None
        The column that says when a row came. It is no feature.
    na_values : str or sequence of str, default=None
        Texts that mean missing, instead of NA, None, nan, ? and the like. An empty cell is missing
        always.
    keep_na : bool, default=False
        Whether texts such as None and NA in the target are labels.
    drop_missing_target : bool, default=False
        Whether rows without a label are left out, which is a finding.
    has_target : bool, default=True
        Whether a target is looked for if none is named. Rows to predict have none.
    by : str or sequence of str, default=()
        Columns that claims are about, such as ``"error by region"``. They are features too, unless
        they are dropped.

    Returns
    -------
    Table
        With ``X``, ``y``, ``groups``, ``time`` and ``by`` as `MajorityVoteClassifier.fit` takes
        them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from certivote.tables import read_table
    >>> lines = "town,born,ill", "Ulm,1990-05-01,no", "Bonn,1985-12-24,yes", "Ulm,,no"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     _ = path.write_text(chr(10).join(lines))
    ...     table = read_table(path, target="ill")
    >>> table.X
       town         born
    0   Ulm  641520000.0
    1  Bonn  504230400.0
    2   Ulm          NaN
    >>> table.y
    array(['no', 'yes', 'no'], dtype='<U3')
    >>> [(column["name"], column["kind"]) for column in table.reading["columns"]]
    [('town', 'category'), ('born', 'date'), ('ill', 'target')]
    """
    asked = Asked(
        target=target,
        drop=_several(drop),
        categorical=_several(categorical),
        group=list(dict.fromkeys(_several(group))),
        time=time,
        na_values=None if na_values is None else _several(na_values),
        keep_na=keep_na,
        drop_missing_target=drop_missing_target,
        has_target=has_target,
        by=_several(by),
    )
    return read_asked([paths] if isinstance(paths, str | os.PathLike) else list(paths), asked)


def _several(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def read_asked(paths: Sequence[_Path], asked: Asked) -> Table:
    """Read the files of one table, with the rows in their order, as it is asked."""
    files = [Path(path) for path in paths]
    _check_files(files)
    path, file = ", ".join(map(str, paths)), open_tables(files)
    guess = ""
    try:
        _check_names(asked, file.names, path)
        if asked.has_target or asked.target is not None:
            target, guess = find_target(asked, file.names, path)
            asked = replace(asked, target=target)
    except ValueError as error:  # what is not there may be in another sheet
        hints = [*(f"{text}." for text in file.remarks), *_blanks(file.names)]
        raise ValueError(" ".join([str(error), *hints])) from error
    frame = file.read(asked, _as_text(asked))
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows.")
    features, numbers = _without_row_numbers(_features(asked, file.names, path), frame, asked)
    provenance = _provenance(files, asked)
    y, classes, findings = None, dict[str, int](), list[str]()
    if asked.target is not None:
        frame, left_out = labelled(frame, asked, file, path)
        if left_out:
            provenance["rows_without_label"], finding = left_out
            findings.append(finding)
        y, classes, alike = labels(frame[asked.target], asked, file.typed)
        findings += alike
    columns = Columns(frame, path, asked.spelled)
    X = columns.taken(features, asked)
    nameless = f"{_NO_NAME}: it is {'left out' if asked.has_target else 'kept as it is'}"
    columns.say_padded(file.padded)
    if y is not None and not (asked.as_read or asked.features):  # a model has its columns already
        columns.say_telling(telling(X, y))
    for name in frame.columns:
        if name == asked.target:
            columns.leave(name, "target", guess)
        elif name not in features:
            columns.leave(
                name, "dropped", _ROW_NUMBERS if name in numbers else nameless * (not name)
            )
    table = Table(table_name(files[0]), X, y, provenance, findings=findings)
    table.reading, table.remarks = reading_of(columns, classes), list(file.remarks)
    if asked.group:
        table.groups = _groups(columns, asked.group)
    for name in asked.group:
        table.findings += groups_alike(name, set(_texts(columns, name)))
    if asked.time is not None:
        table.time = _time(columns, asked.time)
    table.by = {name: _named(columns, "by", name) for name in asked.by}
    if asked.has_target:
        examine(table, columns, [name for name in frame.columns if name not in asked.apart])
    else:
        table.others = file.verbatim([name for name in frame.columns if name not in features])
    return table


def _check_files(paths: Sequence[Path]) -> None:
    """Refuse files that are not there, and one that is named twice."""
    if not paths:
        raise ValueError("paths must name a file, got none.")
    for i, path in enumerate(paths):
        if not path.exists():
            raise ValueError(f"there is no file {path}.")
        if path.is_dir():
            raise ValueError(f"{path} is a folder: give the files in it.")
        if path.stat().st_size == 0:
            raise ValueError(f"{path} is empty.")
        if any(path.samefile(other) for other in paths[:i]):
            raise ValueError(f"{path} is given twice: its rows would count twice.")


def _check_names(asked: Asked, names: Sequence[str], path: str) -> None:
    """Refuse columns that are not there."""
    wanted = {"drop": asked.drop, "categorical": asked.categorical, "by": asked.by}
    wanted |= {"group": asked.group, "time": [] if asked.time is None else [asked.time]}
    for argument, columns in wanted.items():
        for name in columns:
            require(asked.spelled(argument), name, names, path)


def _as_text(asked: Asked) -> list[str]:
    """Return the columns to read as text, whatever they look like."""
    names = [*asked.categorical, *(asked.names_only or ())]
    if asked.target is not None:
        names.append(asked.target)
    # 001 is one group in every file, whatever stands in the others.
    return [*names, *(name for name in asked.group if name not in (asked.features or ()))]


def _features(asked: Asked, names: Sequence[str], path: str) -> list[str]:
    """Return the columns that are features."""
    left = [name for name in names if name not in (*asked.drop, *asked.apart)]
    if asked.features is not None:
        otherwise = dict.fromkeys(asked.drop, "is dropped") | {asked.target: "is the target"}
        require_all(asked.features, [*left, *asked.aside], path, otherwise)
        return list(asked.features)
    if not left:
        what = f"{path} has no column but the target {asked.target!r}: nothing to learn from."
        raise ValueError(" ".join([what, *_blanks(names)]))
    return left


def _without_row_numbers(
    features: list[str], frame: Any, asked: Asked
) -> tuple[list[str], list[str]]:
    """Return the features apart from columns that number the rows, and these columns.

    What a model was trained on, and what is called a category, stays.
    """
    given = asked.features is not None or asked.as_read
    if given or not asked.has_target or len(frame) < _FEW_ROWS:
        return features, []
    numbers = [name for name in features if name not in asked.categorical]
    numbers = [name for name in numbers if _counts_rows(name, frame[name])]
    left = [name for name in features if name not in numbers]
    return (left, numbers) if left else (features, [])


def _counts_rows(name: str, column: Any) -> bool:
    """Tell whether whole numbers count the rows, or are called so and all different.

    Of a table that was filtered or shuffled the numbers of the rows have gaps, or are in no order.
    """
    if column.dtype.kind not in "iuf" or column.hasnans:
        return False
    if names_a_row(name) or names_an_identifier(name):
        numbers = column.to_numpy()
        return bool(column.is_unique and np.all(numbers == np.rint(numbers)))
    if column.iloc[0] not in (0, 1):
        return False
    return bool(np.array_equal(column.to_numpy(), column.iloc[0] + np.arange(len(column))))


def _blanks(names: Sequence[str]) -> list[str]:
    """Return a hint for a table of one column, whose name may be several."""
    if len(names) == 1 and len(names[0].split()) > 1:
        return ["Are its cells separated by blanks? Separate them by commas."]
    return []


def _provenance(paths: Sequence[Path], asked: Asked) -> dict[str, Any]:
    """Return what a certificate says of files, and of how they were read."""
    said: dict[str, Any] = {
        "data": ", ".join(path.name for path in paths).encode("utf-8", "replace").decode(),
        "data_sha256": sha256_of(paths),
    }
    if asked.target is not None:
        said["target"] = asked.target
    if asked.drop:
        said["dropped"] = json.dumps(list(asked.drop))
    if asked.categorical:
        said["categorical"] = json.dumps(list(asked.categorical))
    if asked.na_values is not None:
        said["na_values"] = json.dumps(list(asked.na_values))
    if asked.keep_na:
        said["keep_na"] = True
    return said


def sha256_of(paths: Sequence[_Path]) -> str:
    """Return the SHA-256 of a file; of several that of theirs, a line each, in their order."""
    digests = [file_sha256(path) for path in paths]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def _groups(columns: Columns, names: Sequence[str]) -> Any:
    """Return which rows belong together, by columns of any kind that are missing nowhere."""
    import pandas as pd

    index = columns.frame.index
    if len(names) == 1:
        return pd.Series(_named(columns, "group", names[0]), index=index, name=names[0])
    texts = [_named(columns, "group", name) for name in names]
    codes = np.zeros(len(index), dtype=np.int64)
    for column in texts:
        of_column, values = pd.factorize(column)
        codes = pd.factorize(codes * len(values) + of_column)[0]
    # Called by the digest of their texts: a vote knows them again, of another file too.
    first = np.unique(codes, return_index=True)[1]
    called = [json.dumps([column[i] for column in texts]) for i in first]
    digests = [hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in called]
    return pd.Series(np.array(digests)[codes], index=index, name=json.dumps(list(names)))


def _named(columns: Columns, argument: str, name: str) -> NDArray[Any]:
    """Return the values of a column that is missing nowhere as texts.

    1 and "1" are one: that two are taken for one costs examples, the other way the claim.
    """
    values = columns.values(name)
    _refuse_missing(columns, argument, name, values.missing)
    return np.asarray(np.array(_texts(columns, name), dtype=object)[values.codes])


def _texts(columns: Columns, name: str) -> list[str]:
    """Return the values of a column as texts: 7 and 7.0 are one."""
    texts = columns.values(name).texts
    return [re.sub(r"^(-?\d+)\.0$", r"\1", text.strip()) for text in texts]


def _time(columns: Columns, name: str) -> Any:
    """Return when each row came, by a column of numbers or dates that is missing nowhere."""
    import pandas as pd

    _refuse_missing(columns, "time", name, int(columns.frame[name].isna().sum()))
    ways = times_in(columns, name, named=True)
    if len(ways) != 1 or len(ways[0]) < len(columns.frame):
        what, cells = "dates that can be read in two ways", [columns.frame[name].iloc[0]]
        if len(ways) < 2:
            what, cells = "what is neither a date nor a number", columns.values(name).slips
        raise ValueError(
            f"{columns.spelled('time')} {name!r} of {columns.path} holds {what}, such as "
            f"{', '.join(map(repr, cells))}: write it as 2026-01-31."
        )
    return pd.Series(ways[0], index=columns.frame.index, name=name)


def _refuse_missing(columns: Columns, argument: str, name: str, missing: int) -> None:
    if missing:
        raise ValueError(
            f"{columns.spelled(argument)} {name!r} is missing in {missing} of {len(columns.frame)} "
            f"rows of {columns.path}: fill it in, or remove these rows."
        )


def examine(table: Table, columns: Columns, names: list[str]) -> None:
    """Look in a whole table, before it is split, for what its certificate must not be silent of."""
    split_by = None if table.time is None else str(table.time.name)
    looked = {
        IDENTIFIERS: check_identifiers(columns, names, table.groups, split_by),
        ORDER: check_order(columns, names, split_by, table.groups is not None),
    }
    for topic, (found, cleared) in looked.items():
        table.findings += found
        if not found:
            table.checks[topic] = cleared
    if table.groups is None and table.time is None and ORDER in table.checks:
        table.remarks += remark_on_dates(columns, names)


def reading_of(columns: Columns, classes: dict[str, int]) -> dict[str, Any]:
    """Return how the columns were read, in the order of the file, and how many rows there are."""
    entries = [columns.read[name] for name in columns.frame.columns]
    return {"columns": entries, "rows": len(columns.frame), "classes": classes}
