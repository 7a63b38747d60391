"""The target of a table: which column it is, its labels, and rows that have none."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.spelling import spelled_alike
from .asked import Asked
from .files import TableFile
from .names import require
from .values import Values

__all__ = ["class_counts", "find_target", "labelled", "labels"]

_USUAL_TARGETS = ("target", "class", "label", "y")
# More classes than so many are none, and more different whole numbers are a quantity.
_MOST_CLASSES, _MOST_NUMBERS = 1000, 100


def find_target(asked: Asked, names: Sequence[str], path: str) -> tuple[str, str]:
    """Return the target, and how it was found if nobody named it."""
    known = [name for name in names if name not in asked.drop and name not in asked.aside]
    if asked.target is not None:
        if asked.target in asked.aside:
            group, time = map(asked.spelled, ("group", "time"))
            raise ValueError(f"the target {asked.target!r} can be neither {group} nor {time}.")
        require(asked.spelled("target"), asked.target, known, path)
        return asked.target, ""
    # What the model does not use must be the label, if it is one column.
    others = [name for name in known if name not in (asked.features or ())]
    if not others:
        raise ValueError(f"{path} has no column besides the model's: where are the labels?")
    usual = [name for name in others if name.lower() in _USUAL_TARGETS]
    why = (
        "by its name"
        if usual
        else "as the last one" + " that the model does not use" * (asked.features is not None)
    )
    another = f"{asked.spelled('target')} names another"
    return (usual or others[-1:])[0], f"taken as the target, {why}; {another}"


def labelled(
    frame: Any, asked: Asked, file: TableFile, path: str
) -> tuple[Any, tuple[int, str] | None]:
    """Return the rows that have a label, and of the others, if any, how many and a finding."""
    target, spelled = asked.target, asked.spelled
    gaps = frame[target].isna().to_numpy()
    n, rows = int(np.count_nonzero(gaps)), len(frame)
    if not n:
        return frame, None
    texts = file.verbatim([str(target)])[target][gaps].dropna().astype(str)
    counts = texts[texts != ""].value_counts()
    held = ", ".join(f"the text {text!r} in {count:,} rows" for text, count in counts[:8].items())
    if n == rows or not asked.drop_missing_target:
        if held and asked.na_values is None:
            raise ValueError(
                f"the target {target!r} of {path} holds {held}, which reads as missing: keep it "
                f"as a class with {spelled('keep_na')}, name what is missing with "
                f"{spelled('na_values')}, or leave rows without a label out with "
                f"{spelled('drop_missing_target')}."
            )
        where = f"all {rows:,} rows" if n == rows else f"{n:,} of {rows:,} rows"
        advice = f"leave these rows out with {spelled('drop_missing_target')}, or " * (n < rows)
        raise ValueError(
            f"the target {target!r} is missing in {where} of {path}: {advice}name another column "
            f"with {spelled('target')}."
        )
    finding = (
        f"{n:,} of {rows:,} rows had no label and were left out: the claim is about rows that have "
        "one."
    )
    if held:
        finding += f" Read as missing was {held}."
    return frame[~gaps].reset_index(drop=True), (n, finding)


def labels(
    column: Any, asked: Asked, typed: bool = False
) -> tuple[NDArray[Any], dict[str, int], list[str]]:
    """Return the labels, how many rows are of each, and what was found.

    They are names if all are texts in a file that is `typed`, or if the user says so: what looks
    like a number is no quantity then.
    """
    import pandas as pd

    target, spelled = asked.target, asked.spelled
    codes, kinds = pd.factorize(column)
    as_texts = typed and all(isinstance(kind, str) for kind in kinds)
    named = as_texts or target in asked.categorical
    one_kind = as_texts or pd.api.types.is_numeric_dtype(column.dtype)
    if not (one_kind or named) and (texts := Values(column)).mixed:
        raise ValueError(
            f"the target {target!r} mixes numbers and text, such as {texts.examples}: write each "
            f"label in one way, say that all of them are names with {spelled('categorical')} "
            f"{target!r}, or name another column with {spelled('target')}."
        )
    values = _label_values(kinds, str(target))
    if values.dtype.kind == "f" and named:  # half stars are names of classes
        values = np.array([format(value, ".15g") for value in values.tolist()])
    kinds, merged = np.unique(values, return_inverse=True)
    codes = merged[codes]
    if kinds.size < 2:
        raise ValueError(
            f"the target {target!r} has one value only, {kinds[0].item()!r}: there is nothing to "
            "tell apart."
        )
    _refuse_quantity(kinds, len(codes), asked, named)
    classes = class_counts(kinds, codes)
    if alike := spelled_alike(classes):
        return (
            kinds[codes],
            classes,
            [
                f"The target {target!r} has labels that differ by capitals or blanks only, and are "
                f"different classes here: {alike}. Write each in one way."
            ],
        )
    return kinds[codes], classes, []


def _refuse_quantity(kinds: NDArray[Any], rows: int, asked: Asked, named: bool) -> None:
    """Refuse labels that are no classes, but a quantity or an identifier."""
    target, spelled = asked.target, asked.spelled
    fractions = kinds.dtype.kind == "f"
    numbers = fractions or (kinds.dtype.kind in "iu" and kinds.size > _MOST_NUMBERS)
    most = min(max(50, rows // 2), _MOST_CLASSES)
    if kinds.size == rows or kinds.size > most or (numbers and not named):
        numbered = f", or say that its numbers are names with {spelled('categorical')} {target!r}"
        raise ValueError(
            f"the target {target!r} has {kinds.size} different values in {rows} rows: that is a "
            "quantity (regression) or an identifier, and certivote certifies classifiers. Name a "
            f"column of classes with {spelled('target')}, or make classes of it, such as above and "
            f"below a limit{numbered if numbers and kinds.size <= most else ''}."
        )


def class_counts(kinds: NDArray[Any], codes: NDArray[np.intp]) -> dict[str, int]:
    """Return how many rows are of each class."""
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
    # Some of the numbers of a quantity are whole.
    number = r"-?(\d+|\d*\.\d+)([eE][-+]?\d+)?"
    if any("." in text for text in texts) and all(re.fullmatch(number, text) for text in texts):
        return np.array([float(text) for text in texts])
    return np.array(texts, dtype=np.str_)
