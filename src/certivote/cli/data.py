"""Tables from files and built-in names: columns of numbers or categories, and a target."""

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.files import file_sha256
from ..datasets import list_datasets, load
from .columns import Columns, Values
from .table_checks import IDENTIFIERS, ORDER, check_identifiers, check_order, times_in
from .table_files import NO_NAME, USUAL, Missing, TableFile, open_tables, table_name

__all__ = ["Table", "builtin_names", "builtin_table", "read_table", "sha256_of"]

_SCIKIT_LEARN = ("breast-cancer", "digits")
_USUAL_TARGETS = ("target", "class", "label", "y")
# So many columns with the same note have a line each.
_ALIKE = 3
# More classes than so many are none, and more different whole numbers are a quantity.
_MOST_CLASSES, _MOST_NUMBERS = 1000, 100


@dataclass
class Table:
    """Examples and their labels."""

    name: str
    # A frame: columns of numbers, or of text for categories.
    X: Any
    # None where labels are not needed.
    y: Any
    # What a certificate says of the data: enough to read it again in the same way.
    provenance: dict[str, Any] = field(default_factory=dict)
    # Test examples and labels, where the data set has its own.
    test: tuple[Any, NDArray[Any]] | None = None
    # Which rows belong together, and when they came, where this was asked for.
    groups: Any = None
    time: Any = None
    # The columns that are no features, as they are written, where labels are not needed.
    others: Any = None
    # How it was read: of each column its name, kind, missing values and a note; rows; classes.
    reading: dict[str, Any] = field(default_factory=dict)
    # What was looked for in all of it and not found, by topic, and what was found.
    checks: dict[str, str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    # What is worth a word about the file as a whole.
    remarks: list[str] = field(default_factory=list)

    def unusual(self) -> list[str]:
        """Return what is unusual about the file, and about each column, or many alike."""
        lines, notes = list(self.remarks), dict[str, list[str]]()
        for column in self.reading.get("columns", ()):
            if column["note"] and (column["kind"] != "dropped" or not column["name"]):
                notes.setdefault(column["note"], []).append(column["name"])
        for note, names in notes.items():
            if len(names) > _ALIKE:
                lines.append(f"{len(names)} columns, such as {names[0]!r}: {note}")
            else:
                lines += [f"column {name!r}: {note}" if name else note for name in names]
        return lines


def builtin_names() -> list[str]:
    """Return the names that stand for data instead of a file."""
    return [*_SCIKIT_LEARN, *list_datasets()]


def read_table(
    data: str | Sequence[str],
    target: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    group: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    names_only: Sequence[str] | None = None,
    labelled: bool = True,
    as_read: bool = False,
    quiet: bool = False,
    missing: Missing = USUAL,
) -> Table:
    """Read examples from files or a built-in name, and refuse what cannot be certified.

    Several files are one table, with the rows in their order.

    The target is guessed if it is None. ``features`` are the columns that a model needs, where it
    knows their names, and ``names_only`` those of them that hold categories, where it is known that
    the others hold numbers: what the file looks like does not count then. Without ``labelled`` a
    column that is neither a feature nor named is ignored. ``as_read`` leaves the features as pandas
    reads them, as a model expects that was trained elsewhere. The columns ``group`` and ``time``
    are no features, unless a model needs them. ``quiet`` leaves out the note on a column without a
    name, which is never read.
    """
    names = [data] if isinstance(data, str) else list(data)
    if not all(names):
        raise ValueError("DATA must be a file or a built-in name, got an empty text.")
    paths, path = [Path(name) for name in names], ", ".join(names)
    if path in builtin_names() and not paths[0].exists():
        refused: dict[str, Any] = {"--target": target, "--drop": drop, "--categorical": categorical}
        refused |= {"--group": group, "--time": time, "--na-values": missing.na_values}
        refused |= {"--keep-na": missing.keep_na, "--drop-missing-target": missing.drop_unlabelled}
        for option, value in refused.items():
            if value:
                raise ValueError(f"{option} is for files: {path} is built in, as it is.")
        return builtin_table(path)
    _check_files(paths)
    file = open_tables(paths, quiet)
    aside = [name for name in (group, time) if name is not None]
    options = {"--drop": drop, "--categorical": categorical}
    options |= {"--group": aside[:1] if group else (), "--time": aside[-1:] if time else ()}
    for option, wanted in options.items():
        for name in wanted:
            _require(option, name, file.names, path)
    if target in aside:
        raise ValueError(f"the target {target!r} can be neither --group nor --time.")
    guess = ""
    if labelled or target is not None:
        rest = [name for name in file.names if name not in drop and name not in aside]
        target, guess = _find_target(target, rest, features, path)
    as_text = [*categorical, *(names_only or ()), *([] if target is None else [target])]
    if group is not None and group not in (features or ()):
        as_text.append(group)  # 001 is one group in every file, whatever stands in the others
    frame = file.read(as_text, as_read, missing, target)
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows.")
    provenance: dict[str, Any] = {
        "data": ", ".join(part.name for part in paths).encode("utf-8", "replace").decode(),
        "data_sha256": sha256_of(names),
    }
    y, classes, findings = None, dict[str, int](), list[str]()
    if target is not None:
        provenance["target"] = target
        frame, left_out = _labelled(frame, target, file, missing, path)
        if left_out:
            provenance["rows_without_label"], finding = left_out
            findings.append(finding)
        y, classes = _labels(frame[target], target, path, named=target in categorical)
        findings += _alike(classes, target)
    left = [name for name in file.names if name not in (*drop, *aside, target)]
    if features is not None:
        _require_all(
            features,
            [*left, *aside],
            path,
            {target: "is the target", **dict.fromkeys(drop, "is dropped")},
        )
        left = list(features)
    if not left:
        raise ValueError(f"{path} has no column but the target {target!r}: nothing to learn from.")
    if drop:
        provenance["dropped"] = json.dumps(list(drop))
    if categorical:
        provenance["categorical"] = json.dumps(list(categorical))
    if missing.na_values is not None:
        provenance["na_values"] = json.dumps(list(missing.na_values))
    if missing.keep_na:
        provenance["keep_na"] = True
    columns = Columns(frame, path)
    if as_read:
        X = columns.as_they_are(left)
    elif names_only is None:
        X = columns.typed(left, categorical)
    else:
        X = columns.typed_as(left, names_only)
    for name in frame.columns:
        if name == target:
            columns.leave(name, "target", guess)
        elif name not in left:
            columns.leave(name, "dropped", "" if name else f"the first column {NO_NAME}")
    reading = _reading(columns, classes)
    table = Table(table_name(paths[0]), X, y, provenance, reading=reading, findings=findings)
    table.remarks += file.remarks
    if group is not None:
        table.groups = _groups(columns, group, path)
    if time is not None:
        table.time = _time(columns, time, path)
    if not labelled:
        table.others = file.verbatim([name for name in file.names if name not in left])
    else:
        _examine(table, columns, [name for name in frame.columns if name not in (target, *aside)])
    return table


def _groups(columns: Columns, name: str, path: str) -> Any:
    """Return which rows belong together, by a column of any kind that is missing nowhere."""
    import pandas as pd

    values = columns.values(name)
    _refuse_missing(
        "--group", name, int(np.count_nonzero(values.codes < 0)), len(values.codes), path
    )
    # 1 and "1" are one group: that two are taken for one costs examples, the other way the claim.
    texts = [re.sub(r"^(-?\d+)\.0$", r"\1", text.strip()) for text in values.texts]
    codes = pd.factorize(np.array(texts, dtype=object))[0]
    return pd.Series(codes[values.codes], index=columns.frame.index, name=name)


def _time(columns: Columns, name: str, path: str) -> Any:
    """Return when each row came, by a column of numbers or dates that is missing nowhere."""
    import pandas as pd

    missing = int(columns.frame[name].isna().sum())
    _refuse_missing("--time", name, missing, len(columns.frame), path)
    ways = times_in(columns, name, named=True)
    if len(ways) != 1:
        what = "neither dates nor numbers" if not ways else "dates that can be read in two ways"
        raise ValueError(
            f"--time {name!r} of {path} holds {what}, such as {columns.frame[name].iloc[0]!r}: "
            "write it as 2026-01-31."
        )
    return pd.Series(ways[0], index=columns.frame.index, name=name)


def _refuse_missing(option: str, name: str, missing: int, rows: int, path: str) -> None:
    if missing:
        raise ValueError(
            f"{option} {name!r} is missing in {missing} of {rows} rows of {path}: fill it in, or "
            "remove these rows."
        )


def _examine(table: Table, columns: Columns, names: list[str]) -> None:
    """Look in a whole table, before it is split, for what its certificate must not be silent of."""
    for topic, check in ((IDENTIFIERS, check_identifiers), (ORDER, check_order)):
        found, cleared = check(columns, names)
        table.findings += found
        if not found:
            table.checks[topic] = cleared


def _reading(columns: Columns, classes: dict[str, int]) -> dict[str, Any]:
    """Return how the columns were read, in the order of the file, and how many rows there are."""
    entries = [columns.read[name] for name in columns.frame.columns]
    return {"columns": entries, "rows": len(columns.frame), "classes": classes}


def builtin_table(name: str) -> Table:
    """Return the data that a built-in name stands for."""
    import pandas as pd

    test = None
    if name in _SCIKIT_LEARN:
        from sklearn.datasets import load_breast_cancer, load_digits

        bunch = (load_breast_cancer if name == "breast-cancer" else load_digits)(as_frame=True)
        X, y = bunch.data, np.asarray(bunch.target_names[bunch.target.to_numpy()])
    else:
        data = load(name)
        names = [f"x{j}" for j in range(data.X_train.shape[1])]
        X, X_test = (pd.DataFrame(part, columns=names) for part in (data.X_train, data.X_test))
        y, test = data.y_train, (X_test, data.y_test)
    columns = Columns(X, name)
    kinds, codes = np.unique(y, return_inverse=True)
    X = columns.typed(list(X.columns), ())
    reading = _reading(columns, _class_counts(kinds, codes))
    table = Table(name, X, y, {"data": name}, test, others=X[[]], reading=reading)
    _examine(table, columns, list(X.columns))
    return table


def sha256_of(data: Sequence[str]) -> str:
    """Return the SHA-256 of a file; of several that of theirs, a line each, in their order."""
    digests = [file_sha256(name) for name in data]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def _check_files(paths: Sequence[Path]) -> None:
    """Refuse files that are not there, and one that is named twice."""
    for path in paths:
        _check_file(path)
    for i, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:i]):
            raise ValueError(f"{path} is given twice: its rows would count twice.")


def _check_file(path: Path) -> None:
    if not path.exists():
        near = difflib.get_close_matches(str(path), builtin_names(), n=1)
        hint = f" Did you mean the built-in {near[0]}?" if near else ""
        raise ValueError(f"there is no file {path}.{hint}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the files in it.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def _require(who: str, name: str, names: Sequence[str], path: str) -> None:
    if name in names:
        return
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    hint = (
        f"did you mean {lower[near[0]]!r}?"
        if near
        else f"it has {', '.join(names[:8])}" + (", …" if len(names) > 8 else ".")
    )
    raise ValueError(f"{who} asks for a column {name!r}, which {path} does not have: {hint}")


def _require_all(
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
        _require("the model", name, names, path)


def _find_target(
    target: str | None, names: list[str], features: Sequence[str] | None, path: str
) -> tuple[str, str]:
    """Return the target, and how it was found if nobody named it."""
    if target is not None:
        _require("--target", target, names, path)
        return target, ""
    # What the model does not use must be the label, if it is one column.
    others = [name for name in names if features is None or name not in features]
    if not others:
        raise ValueError(f"{path} has no column besides the model's: where are the labels?")
    usual = [name for name in others if name.lower() in _USUAL_TARGETS]
    why = (
        "by its name"
        if usual
        else "as the last one" + " that the model does not use" * (features is not None)
    )
    return (usual or others[-1:])[0], f"taken as the target, {why}; --target names another"


def _labelled(
    frame: Any, target: str, file: TableFile, missing: Missing, path: str
) -> tuple[Any, tuple[int, str] | None]:
    """Return the rows that have a label, and of the others, if any, how many and a finding."""
    gaps = frame[target].isna().to_numpy()
    n, rows = int(np.count_nonzero(gaps)), len(frame)
    if not n:
        return frame, None
    texts = file.verbatim([target])[target][gaps].dropna().astype(str)
    counts = texts[texts != ""].value_counts()
    listed = [f"the text {text!r} in {count:,} rows" for text, count in counts[:8].items()]
    held = ", ".join(listed)
    if n == rows or not missing.drop_unlabelled:
        if held and missing.na_values is None:
            raise ValueError(
                f"the target {target!r} of {path} holds {held}, which reads as missing: keep it "
                "as a class with --keep-na, name what is missing with --na-values, or leave rows "
                "without a label out with --drop-missing-target."
            )
        where = f"all {rows:,} rows" if n == rows else f"{n:,} of {rows:,} rows"
        advice = "" if n == rows else "leave these rows out with --drop-missing-target, or "
        raise ValueError(
            f"the target {target!r} is missing in {where} of {path}: {advice}name another column "
            "with --target."
        )
    finding = (
        f"{n:,} of {rows:,} rows had no label and were left out: the claim is about rows that have "
        "one."
    )
    if held:
        finding += f" Read as missing was {held}."
    return frame[~gaps].reset_index(drop=True), (n, finding)


def _alike(classes: Iterable[str], target: str) -> list[str]:
    """Return a finding on labels that are the same but for capitals and blanks."""
    spellings: dict[str, list[str]] = {}
    for label in classes:
        spellings.setdefault(" ".join(label.split()).casefold(), []).append(label)
    several = [" and ".join(map(repr, found)) for found in spellings.values() if len(found) > 1]
    if not several:
        return []
    return [
        f"The target {target!r} has labels that differ by capitals or blanks only, and are "
        f"different classes here: {'; '.join(several[:8])}. Write each in one way."
    ]


def _labels(
    column: Any, target: str, path: str, named: bool
) -> tuple[NDArray[Any], dict[str, int]]:
    """Return the labels, which may be `named` numbers, and how many rows are of each."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype) and (texts := Values(column)).mixed:
        raise ValueError(
            f"the target {target!r} mixes numbers and text, such as {texts.examples}: write "
            "each label in one way, or name another column with --target."
        )
    codes, kinds = pd.factorize(column)
    kinds, merged = np.unique(_label_values(kinds, target), return_inverse=True)
    codes = merged[codes]
    if kinds.size < 2:
        raise ValueError(
            f"the target {target!r} has one value only, {kinds[0].item()!r}: there is nothing to "
            "tell apart."
        )
    numbers = kinds.dtype.kind in "iuf" and kinds.size > _MOST_NUMBERS
    fractions = kinds.dtype.kind == "f" and bool(np.any(kinds != np.round(kinds)))
    most = min(max(50, len(codes) // 2), _MOST_CLASSES)
    if fractions or kinds.size == len(codes) or kinds.size > most or (numbers and not named):
        numbered = f", or say that its numbers are names with --categorical {target!r}"
        raise ValueError(
            f"the target {target!r} has {kinds.size} different values in {len(codes)} rows: that "
            "is a quantity (regression) or an identifier, and certivote certifies classifiers. "
            "Name a column of classes with --target, or make classes of it, such as above and "
            f"below a limit{numbered if numbers and kinds.size <= most else ''}."
        )
    return kinds[codes], _class_counts(kinds, codes)


def _class_counts(kinds: NDArray[Any], codes: NDArray[np.intp]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(kinds)).tolist()
    return {str(kind): count for kind, count in zip(kinds.tolist(), counts, strict=True)}


def _label_values(kinds: Any, target: str) -> NDArray[Any]:
    """Return labels as whole numbers or true and false where they are written so, else as text."""
    values = np.asarray(kinds)
    if values.dtype.kind in "biu":
        return values
    if values.dtype.kind == "f":
        if bool(np.any(np.abs(values) >= 2.0**53)):
            raise ValueError(
                f"the target {target!r} holds numbers that are not exact, beside gaps or at this "
                "size: write them as text."
            )
        whole = bool(np.all(values == np.round(values)))
        return values.astype(np.int64) if whole else values
    texts = [str(value) for value in values]
    if any(text.endswith("\0") for text in texts):
        raise ValueError(f"the target {target!r} has labels that end in a null character.")
    if set(texts) == {"True", "False"}:
        return np.array([text == "True" for text in texts])
    # 01 is not 1: only what says the same after being read and written is a number.
    if all(re.fullmatch(r"(-?[1-9]\d{0,14}|0)(\.0+)?", text) for text in texts):
        return np.array([int(text.partition(".")[0]) for text in texts], dtype=np.int64)
    if all(re.fullmatch(r"-?\d*\.\d+([eE][-+]?\d+)?", text) for text in texts):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=np.str_)
