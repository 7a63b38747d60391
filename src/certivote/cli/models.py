"""Voters for tables of numbers and categories, and models from files."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._version import __version__
from ..classifiers import CertifiedVote
from ..classifiers.model import two_answers
from ..tables import Table
from ..tables.asked import Asked
from ..voters import Mixed, Stumps, TableFeatures, Trees, predictions
from ..voters.sources import DEFAULT_VOTERS
from .data import read
from .output import is_safe, note

__all__ = [
    "TRUST",
    "answers",
    "blame",
    "check_prior",
    "compared",
    "frozen",
    "is_vote",
    "load_model",
    "make_voters",
    "read_for",
    "say_texts",
]

# One line of a terminal, as a note.
TRUST = "loading a .joblib file runs code that is in it: load only what you trust."
_KINDS = ("mixed", "trees", "forest", "extra-trees", "stumps")


def check_prior(prior: str | None) -> None:
    """Refuse anything but the two priors that the command line knows, or none."""
    if prior not in (None, "uniform", "learned"):
        raise ValueError(f"--prior must be uniform or learned, got {prior!r}.")


def make_voters(kind: str | None, n_voters: int | None, n_jobs: int | None) -> Pipeline:
    """Return unfitted voters, mixed if None, after `TableFeatures`: both see part A only."""
    if kind is None:
        kind = DEFAULT_VOTERS
    if kind not in _KINDS:
        raise ValueError(f"--voters must be one of {', '.join(_KINDS)}, got {kind!r}.")
    if n_voters is not None and n_voters < 1:
        raise ValueError(f"--n-voters must be at least 1, got {n_voters}.")
    if kind == "stumps":
        if n_voters is not None:
            raise ValueError("--n-voters is for trees: stumps are ten thresholds per column.")
        voters: Any = Stumps()
    elif kind in ("mixed", "trees"):
        voters = (Mixed if kind == "mixed" else Trees)(n_voters=n_voters or 100)
    else:
        ensemble = RandomForestClassifier if kind == "forest" else ExtraTreesClassifier
        voters = ensemble(n_voters or 100, n_jobs=n_jobs)
    return Pipeline([("columns", TableFeatures()), ("voters", voters)])


def load_model(path: Path, quiet: bool) -> Any:
    """Return the classifier, or the list of classifiers, in a file that the user named."""
    if not path.is_file():
        raise ValueError(f"there is no model file {path}.")
    if is_safe(path):
        from .safe import load_safe

        model = load_safe(path)
    else:
        model = _unpickled(path, quiet)
    members = model if isinstance(model, list | tuple) else [model]
    for member in members or [model]:
        if not hasattr(member, "predict"):
            raise ValueError(
                f"{path} holds a {type(member).__name__}, which has no predict: save a fitted "
                "classifier, or a list of them, with joblib.dump."
            )
        if isinstance(member, BaseEstimator) and is_regressor(member):
            raise ValueError(
                f"{path} holds a {type(member).__name__}, which predicts quantities: certivote "
                "certifies classifiers."
            )
    return model


def answers(model: Any, table: Table) -> Any:
    """Return what a model predicts; where it raises, in words that say that it is the model."""
    try:
        return model.predict(table.X)
    except Exception as error:  # whatever a model of other people raises
        text = str(error).strip()
        stop = "" if text.endswith((".", "?", "!")) else "."
        raise ValueError(
            f"the model cannot predict the rows of {table.name}: {type(error).__name__}: "
            f"{text}{stop} It may want other columns, or other values: is this the table that it "
            "is for? --categorical keeps codes such as 003 as text; columns of pandas' type "
            "category, and dates, are kept by a Parquet file."
        ) from error


def blame(model: Any, table: Table, positive: str | None) -> None:
    """Say, after an error, if it is the model: it raises, or answers labels of another kind."""
    predicted = np.asarray(answers(model, table))
    unknown = positive is None and not hasattr(model, "classes_")
    if unknown and predicted.ndim == 1 and predicted.dtype.kind in "biuU":
        _check_classes(np.unique(predicted), table)


def compared(model: Any, table: Table, positive: str | None) -> NDArray[Any]:
    """Return what another model answers on the rows of a table, in the words of the table.

    Where one label is called positive, the larger of the two that the model knows stands for it.
    """
    try:
        predicted = predictions(model, table.X)
    except Exception:
        blame(model, table, positive)
        raise
    labels = np.unique(table.y)
    if positive is None or len(labels) != 2 or np.isin(predicted, labels).any():
        return predicted
    two = two_answers(np.asarray(getattr(model, "classes_", np.unique(predicted))))
    if len(two) != 2 or positive not in map(str, labels):
        return predicted
    place = [str(label) for label in labels].index(positive)
    return np.asarray(np.where(predicted == two[1], labels[place], labels[1 - place]))


def _unpickled(path: Path, quiet: bool) -> Any:
    """Return what is in a .joblib file, after a word of warning."""
    import joblib

    if not quiet:
        note(TRUST)
    try:
        return joblib.load(path)
    except Exception as error:
        writer = _writer(path)
        if writer is not None and writer != __version__:
            raise ValueError(
                f"{path} was written by certivote {writer}, and this is {__version__}, which "
                "cannot load it: run certify again with this version, or install "
                f"certivote=={writer} to use it."
            ) from error
        hint = ""
        if isinstance(error, ModuleNotFoundError):
            hint = (
                ". Install what it is made with, or name the folder of that module in PYTHONPATH."
            )
        elif isinstance(error, AttributeError) and "__main__" in str(error):
            hint = (
                ". Its class was defined in a script or a notebook: define it in a module of its "
                "own, save the model again, and name the folder of that module in PYTHONPATH."
            )
        raise ValueError(
            f"{path} is not a model that joblib can load: {type(error).__name__}: {error}{hint}"
        ) from error


def _writer(path: Path) -> str | None:
    """Return the version of certivote that wrote a model, as its certificate says in the file."""
    found = re.search(
        rb"certivote_version.{0,4}?\x8c.([0-9][\w.+-]*)", path.read_bytes(), re.DOTALL
    )
    return None if found is None else found.group(1).decode("ascii")


def read_for(
    model: Any,
    data: Sequence[str],
    asked: Asked,
    positive: str | None = None,
    members: bool = False,
) -> Table:
    """Read data as a model takes it: its columns, of its types, and labels that it knows.

    A model that knows the number of its columns, but no names, takes an array; one of texts their
    column; one that knows neither takes all columns by their names. Where one label is called
    positive the others may be written as they like, but not by the members of a model.
    """
    features = _feature_names(model)
    categories = None if features is None else _category_names(model)
    asked = replace(asked, features=features, names_only=categories, as_read=categories is None)
    table = read(data, asked)
    if asked.has_target and positive is None and hasattr(_first(model), "classes_"):
        _check_classes(np.asarray(_first(model).classes_), table, hint=not members)
    if features is None:
        _as_array(_first(model), table)
    return table


def _as_array(model: Any, table: Table) -> None:
    """Let the features be an array, or a column of texts, for a model that knows no names."""
    texts = _takes_texts(model)
    # CatBoost forgets how many there were, and says 0.
    known = getattr(model, "n_features_in_", None) or None
    wanted, n_columns = 1 if texts else known, table.X.shape[1]
    if wanted not in (None, n_columns):
        what = "one column of text" if texts else f"{wanted} columns"
        raise ValueError(
            f"the model takes {what}, but {table.name} has {n_columns} besides the target: "
            + ("name what to leave out with --drop." if n_columns > wanted else "some lack.")
        )
    if not texts and wanted != 1:
        table.remarks.append(
            "the model knows no names of columns: it takes those of the file in their order, "
            f"{_listed(table.X.columns.to_numpy(dtype=object))}"
        )
    if wanted is not None:
        table.X = table.X.iloc[:, 0] if texts else table.X.to_numpy()


def _takes_texts(model: Any) -> bool:
    """Tell whether a model begins with what takes a text of each example, and no row of a table."""
    if is_vote(model):
        return not hasattr(model, "n_features_in_")
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if not isinstance(first, BaseEstimator):
        return False
    takes = get_tags(first).input_tags
    return bool(takes.string and not takes.two_d_array)


def _feature_names(model: Any) -> list[str] | None:
    """Return the columns that a model was fitted on, where it knows their names."""
    names = getattr(_first(model), "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _category_names(model: Any) -> list[str] | None:
    """Return the columns of categories and texts of a vote of a table; None for other models."""
    features = _table_features(model)
    return None if features is None else features.named("category", "text")


def _table_features(model: Any) -> TableFeatures | None:
    """Return what is in front of the voters of a vote of a table."""
    for group in model.voters_.groups if is_vote(model) else ():
        # Voters at the end of a pipeline keep what comes before them.
        for _, step in getattr(getattr(group, "transformers", None), "steps", ()):
            if isinstance(step, TableFeatures):
                return step
    return None


def say_texts(vote: Any, table: Table) -> None:
    """Say of the columns that a vote took for texts that it did."""
    features = _table_features(vote)
    texts = [] if features is None else features.named("text")
    for column in table.reading.get("columns", ()):
        if column["name"] in texts:
            column |= {"kind": "text", "note": "text: turned into words"}


def _check_classes(known: NDArray[Any], table: Table, hint: bool = True) -> None:
    """Refuse labels of which the model knows none."""
    labels = np.unique(table.y)
    one_kind = (known.dtype.kind in "biuf") == (labels.dtype.kind in "biuf")
    if not one_kind or not np.isin(labels, known).any():
        also = ""
        if hint and len(known) == len(labels) == 2:
            also = (
                f" Or does {known[1]} stand for one of them: --positive {labels[0]}, or --positive "
                f"{labels[1]}?"
            )
        elif hint and len(known) >= len(labels):
            also = " If they stand for each other, write the target as the model answers it."
        raise ValueError(
            f"the model predicts {_listed(known)}, but the target of {table.name} holds "
            f"{_listed(labels)}: is it the right column (--target)?{also}"
        )


def _listed(labels: NDArray[Any]) -> str:
    shown = [repr(label) for label in labels[:8].tolist()]
    return ", ".join(shown + ["…"] * (len(labels) > 8))


def _first(model: Any) -> Any:
    return model[0] if isinstance(model, list | tuple) else model


def frozen(model: Any) -> Any:
    """Return fitted classifiers, one or a list, as voters that stay as they are."""
    if isinstance(model, list | tuple):
        return [FrozenEstimator(member) for member in model]
    return FrozenEstimator(model)


def is_vote(model: Any) -> bool:
    """Tell whether a model is a vote of this library."""
    return isinstance(model, CertifiedVote)
