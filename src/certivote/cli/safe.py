"""Models in files that can be loaded without running code in them."""

import io
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..bounds.registry import BOUNDS
from ..claims.sheet import FAMILIES
from ..solvers import get_solver, list_solvers
from .compiled import check_compiled

__all__ = ["dump_safe", "load_safe"]

# Files of earlier ones could make them call what nobody had trusted.
_OLDEST_SKOPS = (0, 16)
# A model is read back, and asked for the labels of at most so many rows.
_ROWS = 1000
# Of what a file must not name, so many are said.
_NAMES = 8

# What a file may name, besides what skops itself trusts. Each of these may be *called* by a file,
# with whatever it likes: so none of them reads, writes, or calls what it is given by name.
_OWN = {
    "certivote.certificate": ("Certificate", "Neighbours"),
    "certivote.classifiers": (
        "CBBoostClassifier",
        "CqBoostClassifier",
        "MajorityVoteClassifier",
        "MinCqClassifier",
        "SeenRows",
    ),
    "certivote.solvers": ("COCOB", "Adam", "GradientDescent", "MinimizeResult"),
    # Those that an estimator counts. Others are in no vote, and what they do is not for files.
    "certivote.statistics": ("OutOfBagStatistics", "VoteStatistics"),
    "certivote.voters": (
        "BaggedTrees",
        "Dense",
        "EmptyColumns",
        "EstimatorGroup",
        "Joined",
        "Mixed",
        "Neighbours",
        "PredictionTable",
        "Preparation",
        "Prepared",
        "Stump",
        "Stumps",
        "TableFeatures",
        "TableGroup",
        "Trees",
        "Voters",
        "as_bare_array",
        "as_tree_data",
    ),
    "certivote.voting": ("FixedVotes",),
}
_OTHERS = {
    "numpy": ("dtype", "number"),
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration"),
    "sklearn.compose._column_transformer": ("make_column_selector",),
    # Its numbers are checked: see check_compiled.
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.feature_selection._univariate_selection": ("f_classif",),
    "sklearn.metrics._classification": (
        "accuracy_score",
        "balanced_accuracy_score",
        "f1_score",
        "precision_score",
        "recall_score",
    ),
    "sklearn.metrics._scorer": ("_CurveScorer", "_PassthroughScorer", "_Scorer"),
    "sklearn.model_selection._split": ("KFold", "StratifiedKFold"),
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    # Its numbers are checked: see check_compiled.
    "sklearn.tree._tree": ("Tree",),
    "sklearn.utils._bunch": ("Bunch",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
}


def _trusted() -> list[str]:
    """Return the addresses that a file may name: what is here; our bounds, claims and solvers."""
    solvers = {type(get_solver(name)) for name in list_solvers()}
    kinds: list[type] = [*BOUNDS.values(), *FAMILIES.values(), *solvers]
    registered = ((kind.__module__, [kind.__name__]) for kind in kinds)
    own: Iterable[tuple[str, Iterable[str]]] = (*_OWN.items(), *_OTHERS.items())
    # What somebody has registered is no address of ours: no file may call it.
    ours = ("certivote.bounds", "certivote.claims", "certivote.solvers")
    own = (*own, *(pair for pair in registered if pair[0] in ours))
    return [f"{module}.{name}" for module, names in own for name in names]


def _skops() -> Any:
    """Return the library that reads and writes such files, or say how to get it."""
    try:
        import skops
        import skops.io
    except ImportError as error:
        raise ValueError("a .skops file needs skops: pip install 'certivote[safe]'.") from error
    version = tuple(int(number) for number in re.findall(r"\d+", skops.__version__)[:2])
    if version < _OLDEST_SKOPS:
        raise ValueError(
            f"skops {skops.__version__} is too old to be safe: pip install 'certivote[safe]'."
        )
    return skops.io


def dump_safe(model: Any, path: Path, X: Any) -> None:
    """Write a model to a file, if it can be loaded from there and predicts the same on X.

    The file is the same for the same model. A ValueError says why there is none.
    """
    skops = _skops()
    rows = _safe_indexing(X, slice(0, min(_ROWS, _num_samples(X))))
    data = _attempt("skops cannot write this model", lambda: _stable(skops.dumps(model)))
    again = _construct(skops, data)
    labels = _attempt("it does not predict when loaded back", lambda: again.predict(rows))
    if not np.array_equal(labels, model.predict(rows)):
        raise ValueError("loaded back, it predicts other labels.")
    path.write_bytes(data)


def load_safe(path: Path) -> Any:
    """Return the model in a file, or refuse it before anything that it names is run.

    A file that is too large for the memory is not guarded against.
    """
    skops = _skops()
    try:
        return _construct(skops, path.read_bytes())
    except ValueError as error:
        raise ValueError(
            f"{path} was not loaded: {error} If you trust its author with all that you can do on "
            "this machine, ask for the model as .joblib."
        ) from error


def _construct(skops: Any, data: bytes) -> Any:
    """Return the object in the bytes of a file, or raise a ValueError."""
    from skops.io.exceptions import UntrustedTypesFoundException

    trusted = _trusted()
    try:
        model = skops.loads(data, trusted=trusted)
    except UntrustedTypesFoundException:
        names = sorted({*skops.get_untrusted_types(data=data)}.difference(trusted))
        more = [f"and {len(names) - _NAMES} more"] if len(names) > _NAMES else []
        raise ValueError(
            f"it names {', '.join(names[:_NAMES] + more)}, which may not be harmless to load or to "
            "use."
        ) from None
    except Exception as error:
        raise ValueError(
            f"it is not a model that skops can load: {type(error).__name__}: {error}."
        ) from error
    check_compiled(model)
    return model


def _attempt(what: str, work: Callable[[], Any]) -> Any:
    """Do something with a model, of which anything may fail, and say in words what did."""
    try:
        return work()
    except Exception as error:
        raise ValueError(f"{what}: {type(error).__name__}: {error}.") from error


def _stable(data: bytes) -> bytes:
    """Return the file without dates, and with its objects numbered as they come.

    skops calls them by where they were in the memory, and writes what lay between.
    """
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return found[1] + numbers.setdefault(found[2], str(len(numbers) + 1))

    written = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as old, ZipFile(written, "w") as new:
        # Within a text of JSON there is no quotation mark without a backslash before it.
        schema = re.sub(r'((?<!\\)"__id__": |(?<!\\)"file": ")([\w-]+)', number, _schema(old))
        new.writestr(_entry("schema.json"), schema, compresslevel=1)
        for name in old.namelist():
            stem, dot, suffix = name.rpartition(".")
            if stem in numbers:
                content = old.read(name)
                if suffix == "npy":
                    content = _without_gaps(content)
                new.writestr(_entry(numbers[stem] + dot + suffix), content, compresslevel=1)
    return written.getvalue()


def _without_gaps(data: bytes) -> bytes:
    """Return an array in a file with zeros between its fields: the nodes of a tree have gaps.

    There is whatever was in the memory.
    """
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names:
        clean[name] = array[name]
    written = io.BytesIO()
    np.save(written, clean, allow_pickle=False)
    return written.getvalue()


def _schema(file: ZipFile) -> str:
    return json.dumps(json.loads(file.read("schema.json")))


def _entry(name: str) -> ZipInfo:
    """Return the head of a file in an archive, of the first date that there is in one."""
    head = ZipInfo(name)
    head.compress_type = ZIP_DEFLATED
    return head
