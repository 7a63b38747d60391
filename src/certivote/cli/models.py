"""Voters for tables of numbers and categories, and models from files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from .._utils.files import file_sha256
from ..bounds import Bound, get_bound
from ..certificate import Certificate, CertificateError
from ..classifiers.base import CertifiedVote
from ..voters import Stumps
from ..voters.estimators import Prepared
from .data import Table
from .output import note

__all__ = [
    "CERTIFICATE",
    "MODEL",
    "REPORT",
    "category_names",
    "check_belongs",
    "check_classes",
    "feature_names",
    "frozen",
    "is_vote",
    "load_model",
    "make_bound",
    "make_voters",
    "match_columns",
]

# What certify writes.
MODEL, REPORT, CERTIFICATE = "model.joblib", "report.html", "certificate.json"
TRUST = "loading a .joblib file runs code that is in it: load only files that you trust."
_COLUMNS, _CATEGORIES = "columns", "categories"
_KINDS = ("trees", "forest", "extra-trees", "stumps")
# A category beyond these, by frequency on part A, counts as "another one".
_MOST_CATEGORIES = 50


def make_bound(name: str, delta: float, constant: str) -> Bound:
    """Return a bound by its name, with the settings that it has.

    Parameters
    ----------
    name : str
        One of `certivote.bounds.list_bounds`.
    delta : float
        The probability that the certificate may fail.
    constant : str
        "exact" or "maurer", for the bounds that have one.
    """
    settings = {"delta": delta, "constant": constant}
    own = get_bound(name).get_params(deep=False)
    return get_bound(name, **{key: value for key, value in settings.items() if key in own})


def check_prior_option(prior: str) -> None:
    """Refuse anything but the two priors that the command line knows.

    Parameters
    ----------
    prior : str
        The option.
    """
    if prior not in ("uniform", "learned"):
        raise ValueError(f"--prior must be uniform or learned, got {prior!r}.")


def make_voters(kind: str, n_voters: int | None, n_jobs: int | None) -> Pipeline:
    """Return unfitted voters after a preprocessing: both are fitted on part A only.

    Missing numbers become the median, with a column that says so; categories become columns of
    their own, a missing one too.

    Parameters
    ----------
    kind : str
        One of trees, forest, extra-trees, stumps.
    n_voters : int or None
        The number of trees; 100 if None.
    n_jobs : int or None
        How many trees are trained at the same time.
    """
    if kind not in _KINDS:
        raise ValueError(f"--voters must be one of {', '.join(_KINDS)}, got {kind!r}.")
    if n_voters is not None and n_voters < 1:
        raise ValueError(f"--n-voters must be at least 1, got {n_voters}.")
    if kind == "stumps":
        if n_voters is not None:
            raise ValueError("--n-voters is for trees: stumps are ten thresholds per column.")
        voters: Any = Stumps()
    else:
        settings = {"n_estimators": n_voters or 100, "n_jobs": n_jobs}
        if kind == "extra-trees":
            voters = ExtraTreesClassifier(**settings)
        else:
            voters = RandomForestClassifier(bootstrap=kind == "forest", **settings)
    return Pipeline([(_COLUMNS, _preprocessing()), ("voters", voters)])


def _preprocessing() -> ColumnTransformer:
    numbers = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    categories = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=_MOST_CATEGORIES,
        sparse_output=False,
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include=np.number)),
            (_CATEGORIES, categories, make_column_selector(dtype_exclude=np.number)),
        ]
    )


def load_model(path: Path, quiet: bool = False) -> Any:
    """Return the classifier, or the list of classifiers, in a file that the user named.

    Parameters
    ----------
    path : Path
        A file that joblib wrote.
    quiet : bool, default=False
        Whether to leave out the warning that loading runs code.
    """
    import joblib

    if not path.is_file():
        raise ValueError(f"there is no model file {path}.")
    if not quiet:
        note(TRUST)
    try:
        model = joblib.load(path)
    except Exception as error:
        raise ValueError(
            f"{path} is not a model that joblib can load: {type(error).__name__}: {error}"
        ) from error
    members = model if isinstance(model, list | tuple) else [model]
    for member in members or [model]:
        if not (hasattr(member, "predict") and is_classifier(member)):
            raise ValueError(
                f"{path} holds a {type(member).__name__}, which is not a classifier: save a fitted "
                "scikit-learn classifier, or a list of them, with joblib.dump."
            )
    return model


def check_belongs(certificate: Certificate, path: Path, model: Path) -> list[str]:
    """Refuse files of another run than a certificate, as far as it says what it was written with.

    Parameters
    ----------
    certificate : Certificate
        The certificate.
    path : Path
        Its file. What else was written with it is looked for beside it.
    model : Path
        The file of the model.

    Returns
    -------
    list of str
        The files that are there, and of which it carries no digest.
    """
    unbound = []
    for name, file in ((MODEL, model), (REPORT, path.with_name(REPORT))):
        digest = certificate.files.get(name)
        if not file.is_file():
            continue
        if digest is None:
            unbound.append(str(file))
        elif file_sha256(file) != digest:
            raise CertificateError(
                f"{file} is not the file that was written with {path}: one of them is of another "
                "run, or has changed since. Take both from one run, or run certify again."
            )
    return unbound


def frozen(model: Any) -> Any:
    """Return fitted classifiers as voters that stay as they are.

    Parameters
    ----------
    model : classifier or list of classifiers
        What `load_model` returned.
    """
    if isinstance(model, list | tuple):
        return [FrozenEstimator(member) for member in model]
    return FrozenEstimator(model)


def _first(model: Any) -> Any:
    return model[0] if isinstance(model, list | tuple) else model


def feature_names(model: Any) -> list[str] | None:
    """Return the columns that a model was fitted on, where it knows their names.

    Parameters
    ----------
    model : classifier or list of classifiers
        What `load_model` returned.
    """
    names = getattr(_first(model), "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def category_names(model: Any) -> list[str] | None:
    """Return the columns that hold categories for a vote of `make_voters`; None for other models.

    Parameters
    ----------
    model : classifier or list of classifiers
        What `load_model` returned.
    """
    for group in model.voters_.groups if is_vote(model) else ():
        steps = dict(group.transformers.steps) if isinstance(group, Prepared) else {}
        if isinstance(steps.get(_COLUMNS), ColumnTransformer):
            chosen = {name: list(names) for name, _, names in steps[_COLUMNS].transformers_}
            return chosen.get(_CATEGORIES, [])
    return None


def match_columns(model: Any, table: Table) -> Any:
    """Return the features as the model takes them.

    Parameters
    ----------
    model : classifier or list of classifiers
        What `load_model` returned.
    table : Table
        The data, read with the model's `feature_names`.
    """
    if feature_names(model) is not None:
        return table.X
    wanted = getattr(_first(model), "n_features_in_", table.X.shape[1])
    if wanted != table.X.shape[1]:
        raise ValueError(
            f"the model takes {wanted} columns, but {table.name} has {table.X.shape[1]} besides "
            "the target: name what to leave out with --drop."
        )
    return table.X.to_numpy()


def check_classes(model: Any, table: Table) -> None:
    """Refuse labels that the model does not know.

    Parameters
    ----------
    model : classifier or list of classifiers
        What `load_model` returned.
    table : Table
        The data.
    """
    if not hasattr(_first(model), "classes_"):
        return
    known = np.asarray(_first(model).classes_)
    labels = np.unique(table.y)
    if (known.dtype.kind in "biuf") == (labels.dtype.kind in "biuf"):
        strange = labels[~np.isin(labels, known)]
    else:
        strange = labels
    if strange.size:
        rows = np.count_nonzero(np.isin(table.y, strange))
        raise ValueError(
            f"the model knows the classes {_listed(known)}, but the target of {table.name} holds "
            f"{_listed(strange)} in {rows} rows: is it the right column (--target)?"
        )


def _listed(labels: NDArray[Any]) -> str:
    shown = [repr(label) for label in labels[:8].tolist()]
    return ", ".join(shown + ["…"] * (len(labels) > 8))


def is_vote(model: Any) -> bool:
    """Tell whether a model is a vote of this library.

    Parameters
    ----------
    model : object
        What `load_model` returned.
    """
    return isinstance(model, CertifiedVote)
