"""Missing labels, by whatever door: refused by the name of the argument, never taken for a label.

A `door` takes labels to where they are looked at; a `hole` makes a form of these labels in which
one is missing.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.frozen import FrozenEstimator

from certivote import MajorityVoteClassifier, UnlabelledStatistics, VoteStatistics, certify
from certivote.bounds import get_bound
from certivote.voters import PredictionTable

M = 40
PLACE = 17  # where the missing label is


# --- the holes ---


def objects(y, missing):
    """An array of objects with one label missing."""
    array = np.array(y.tolist(), dtype=object)
    array[PLACE] = missing
    return array


def words(y):
    return np.array(["no", "yes"])[y]


def masked(y):
    mask = np.zeros(np.shape(y), dtype=bool)
    mask[PLACE] = True
    return np.ma.array(y, mask=mask)


def nat(y, kind):
    array = np.asarray(y).astype(f"{kind}[D]")
    array[PLACE] = "NaT"
    return array


# numpy warns where it makes NaN of a masked entry: then it is too late.
HOLES = {
    "masked numbers": masked,
    "masked texts": lambda y: masked(words(y)),
    "masked objects": lambda y: masked(words(y).astype(object)),
    "masked in a list": lambda y: objects(y, np.ma.masked).tolist(),
    "masked in a list of texts": lambda y: objects(words(y), np.ma.masked).tolist(),
    "masked in objects": lambda y: objects(y, np.ma.masked),
    "masked arrays in a list": lambda y: list(masked(y)),
    "NaN": lambda y: np.where(np.arange(M) == PLACE, np.nan, y),
    "NaN in a list of texts": lambda y: objects(words(y), float("nan")).tolist(),
    "NaN in a tuple of texts": lambda y: tuple(objects(words(y), float("nan")).tolist()),
    "None in a list of texts": lambda y: objects(words(y), None).tolist(),
    "None in a list of numbers": lambda y: objects(y, None).tolist(),
    "None in a tuple of texts": lambda y: tuple(objects(words(y), None).tolist()),
    "NaN in objects": lambda y: objects(words(y), float("nan")),
    "numpy's NaN in objects": lambda y: objects(words(y), np.float64("nan")),
    "None in objects": lambda y: objects(words(y), None),
    "NA in a list": lambda y: objects(words(y), pd.NA).tolist(),
    "NA in objects": lambda y: objects(words(y), pd.NA),
    "NaT among objects": lambda y: objects(words(y), np.datetime64("NaT", "s")),
    "NaT of pandas in a list": lambda y: objects(words(y), pd.NaT).tolist(),
    "datetime64": lambda y: nat(y, "datetime64"),
    "timedelta64": lambda y: nat(y, "timedelta64"),
    "Series of objects": lambda y: pd.Series(objects(words(y), None), dtype=object),
    "Series of text": lambda y: pd.Series(objects(words(y), None), dtype="string"),
    "Series of str": lambda y: pd.Series(objects(words(y), None), dtype="str"),
    "Series of pyarrow text": lambda y: pd.Series(
        pd.array(objects(words(y), None).tolist(), dtype="string[pyarrow]")
    ),
    "Series of Int64": lambda y: pd.Series(objects(y, None).tolist(), dtype="Int64"),
    "Series of boolean": lambda y: pd.Series(objects(y == 1, None).tolist(), dtype="boolean"),
    "Series of dates": lambda y: pd.Series(nat(y, "datetime64")),
    "Series of categories": lambda y: pd.Series(objects(words(y), None)).astype("category"),
    "Categorical": lambda y: pd.Categorical(objects(words(y), None)),
    "Categorical of numbers": lambda y: pd.Categorical(objects(y, None)),
    "polars text": lambda y: pl.Series(objects(words(y), None).tolist()),
    "polars numbers": lambda y: pl.Series(objects(y, None).tolist()),
    "polars NaN": lambda y: pl.Series(np.where(np.arange(M) == PLACE, np.nan, y)),
    "polars categories": lambda y: pl.Series(objects(words(y), None).tolist()).cast(pl.Categorical),
    "pyarrow text": lambda y: pa.array(objects(words(y), None).tolist()),
    "pyarrow numbers": lambda y: pa.array(objects(y, None).tolist()),
    "pyarrow in chunks": lambda y: pa.chunked_array([objects(words(y), None).tolist()]),
    "pyarrow dictionary": lambda y: pa.array(objects(words(y), None).tolist()).dictionary_encode(),
}


def kind_of(hole):
    """What the labels would be, if none were missing."""
    if any(name in hole for name in ("datetime64", "dates")):
        return lambda y: np.asarray(y).astype("datetime64[D]")
    if "timedelta64" in hole:
        return lambda y: np.asarray(y).astype("timedelta64[D]")
    if "boolean" in hole:
        return lambda y: y == 1
    plain = ("numbers", "Int64", "polars NaN", "masked in a list", "masked in objects", "arrays")
    if hole == "NaN" or any(hole.endswith(name) for name in plain) or "arrays in" in hole:
        return lambda y: y
    return words


@pytest.fixture
def y():
    return np.arange(M) % 2


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(M, 3))


# --- the doors of y ---


def fitted(X, y):
    return MajorityVoteClassifier("trees", n_voters=3, bound="lacasse", random_state=0).fit(X, y)


def table(y):
    return np.stack([y, y], axis=1)


Y_DOORS = {
    "fit": lambda X, y, holed: MajorityVoteClassifier("trees", n_voters=3, random_state=0).fit(
        X, holed
    ),
    "first partial_fit": lambda X, y, holed: MajorityVoteClassifier(
        "trees", n_voters=3, random_state=0
    ).partial_fit(X, holed),
    "partial_fit": lambda X, y, holed: fitted(X, y).partial_fit(X + 1, holed),
    "certify of a vote": lambda X, y, holed: fitted(X, y).certify(X + 1, holed),
    "verify of a vote": lambda X, y, holed: fitted(X, y).verify(X, holed),
    "certify": lambda X, y, holed: certify(table(y), holed),
    "certify of one classifier": lambda X, y, holed: certify(y, holed),
    "from_votes": lambda X, y, holed: VoteStatistics.from_votes(table(y), holed),
    "count": lambda X, y, holed: get_bound("heldout").count(table(y), holed),
}


@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.parametrize("door", Y_DOORS)
def test_missing_labels_in_y(door, hole, X, y):
    with pytest.raises(ValueError, match=r"\by\b"):
        Y_DOORS[door](X, kind_of(hole)(y), HOLES[hole](y))


# --- the doors of votes ---

ONE_COLUMN_DOORS = {
    "certify": (certify, "votes"),
    "certify, test-set bound": (lambda votes, y: certify(votes, y, bound="lacasse"), "votes"),
}


@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.parametrize("door", ONE_COLUMN_DOORS)
def test_missing_labels_in_votes_of_one_classifier(door, hole, y):
    call, name = ONE_COLUMN_DOORS[door]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call(HOLES[hole](y), kind_of(hole)(y))


def frame(y, missing, **settings):
    return pd.DataFrame({"a": objects(words(y), missing), "b": words(y)}, **settings)


TABLE_HOLES = {
    "masked": lambda y: np.ma.stack([masked(y), masked(y)], axis=1),
    "masked texts": lambda y: np.ma.stack([masked(words(y)), masked(words(y))], axis=1),
    "masked rows in a list": lambda y: [
        np.ma.array([label, label], mask=[k == PLACE, False]) for k, label in enumerate(y)
    ],
    "masked in lists": lambda y: [[a, b] for a, b in zip(objects(y, np.ma.masked), y, strict=True)],
    "NaN": lambda y: table(HOLES["NaN"](y)),
    "NaN among texts in lists": lambda y: table(objects(words(y), float("nan"))).tolist(),
    "None among texts in lists": lambda y: table(objects(words(y), None)).tolist(),
    "None among texts in tuples": lambda y: tuple(
        tuple(row) for row in table(objects(words(y), None))
    ),
    "arrays of objects in a list": lambda y: list(table(objects(words(y), None))),
    "NaN in objects": lambda y: table(objects(words(y), float("nan"))),
    "None in objects": lambda y: table(objects(words(y), None)),
    "NA in objects": lambda y: table(objects(words(y), pd.NA)),
    "datetime64": lambda y: table(nat(y, "datetime64")),
    "timedelta64": lambda y: table(nat(y, "timedelta64")),
    "frame": lambda y: frame(y, None),
    "frame of objects": lambda y: frame(y, float("nan"), dtype=object),
    "frame of text": lambda y: frame(y, None, dtype="string"),
    "frame of categories": lambda y: frame(y, None).astype("category"),
    "frame of Int64": lambda y: pd.DataFrame({"a": pd.array(objects(y, None), "Int64"), "b": y}),
    "polars": lambda y: pl.DataFrame({"a": objects(words(y), None).tolist(), "b": words(y)}),
    "polars numbers": lambda y: pl.DataFrame({"a": objects(y, None).tolist(), "b": y}),
    "pyarrow": lambda y: pa.table({"a": objects(words(y), None).tolist(), "b": words(y).tolist()}),
    "pyarrow numbers": lambda y: pa.table({"a": objects(y, None).tolist(), "b": y}),
}


def table_kind_of(hole):
    if "datetime64" in hole or "timedelta64" in hole:
        return kind_of(hole)
    numbers = ("masked", "masked rows in a list", "masked in lists", "NaN", "frame of Int64")
    return (lambda y: y) if hole in numbers or hole.endswith("numbers") else words


def table_vote(y, like):
    """A vote fitted on a whole table, with names if the other one has names."""
    whole = pd.DataFrame(table(y), columns=["a", "b"]) if hasattr(like, "columns") else table(y)
    return MajorityVoteClassifier(voters=PredictionTable(), bound="heldout").fit(whole, y)


TABLE_DOORS = {
    "certify": (lambda holed, y: certify(holed, y), "votes"),
    "from_votes": (lambda holed, y: VoteStatistics.from_votes(holed, y), "votes"),
    "count": (lambda holed, y: get_bound("heldout").count(holed, y), "votes"),
    "unlabelled": (lambda holed, y: UnlabelledStatistics.from_votes(holed), "unlabelled"),
    "certify with unlabelled": (
        lambda holed, y: certify(table(y), y, bound="seeger", unlabelled=holed),
        "unlabelled",
    ),
    "fit of a table": (
        lambda holed, y: MajorityVoteClassifier(voters=PredictionTable()).fit(holed, y),
        "X",
    ),
    "predict of a table": (lambda holed, y: table_vote(y, holed).predict(holed), "X"),
    "predict_proba of a table": (lambda holed, y: table_vote(y, holed).predict_proba(holed), "X"),
}


@pytest.mark.parametrize(
    ("door", "hole"),
    [
        (door, hole)
        for door, (_, name) in TABLE_DOORS.items()
        for hole in TABLE_HOLES
        if name != "X" or "pyarrow" not in hole  # X is no table of pyarrow's
    ],
)
def test_missing_labels_in_tables(door, hole, y):
    call, name = TABLE_DOORS[door]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call(TABLE_HOLES[hole](y), table_kind_of(hole)(y))


# --- other doors ---


@pytest.mark.parametrize(
    "classes",
    [
        [0, 1, None],
        [0, 1, float("nan")],
        np.array([0, 1, np.nan]),
        np.ma.array([0, 1, 2], mask=[False, False, True]),
        [0, 1, np.ma.masked],
        pd.Series([0, 1, None], dtype="Int64"),
    ],
    ids=repr,
)
def test_missing_labels_in_classes(classes, X, y):
    with pytest.raises(ValueError, match=r"\bclasses\b"):
        MajorityVoteClassifier("trees", n_voters=3, random_state=0).partial_fit(
            X, y, classes=classes
        )


@pytest.mark.parametrize("missing", [None, float("nan"), np.ma.masked, pd.NA], ids=repr)
def test_voters_that_predict_nothing(missing, reader, readable):
    """They know no classes: that one is missing shows when they vote."""
    rng = np.random.default_rng(0)
    names = np.array(["no", "yes", None], dtype=object)
    names[2] = missing
    voters = [FrozenEstimator(reader(j, names)) for j in range(3)]
    codes = rng.integers(2, size=(60, 3))
    vote = MajorityVoteClassifier(voters=voters, bound="heldout")
    vote.fit(readable(codes, rng), names[codes[:, 0]])
    codes[5, 1] = 2
    with pytest.raises(ValueError, match=r"vote|predict"):
        vote.predict(readable(codes, rng))
    with pytest.raises(ValueError, match=r"vote|predict"):
        MajorityVoteClassifier(voters=voters).fit(readable(codes, rng), names[codes[:, 0]])


def test_voters_that_predict_a_masked_label(reader, readable):
    rng = np.random.default_rng(0)

    class Masked(reader):
        def predict(self, X):
            labels = super().predict(X)
            return np.ma.array(labels, mask=np.arange(len(labels)) == 3)

    voters = [FrozenEstimator(Masked(j, np.array([0, 1]))) for j in range(3)]
    codes = rng.integers(2, size=(60, 3))
    with pytest.raises(ValueError, match=r"vote|predict"):
        MajorityVoteClassifier(voters=voters).fit(readable(codes, rng), codes[:, 0])


# --- nothing missing ---


def test_masked_arrays_without_a_masked_entry_are_arrays(X, y):
    whole = np.ma.array(y, mask=np.zeros(M, dtype=bool))
    certificate = certify(np.ma.array(table(y)), whole, bound="lacasse")
    assert certificate == certify(table(y), y, bound="lacasse")
    assert certify(whole, whole) == certify(y, y)
    statistics = VoteStatistics.from_votes(np.ma.array(table(y)), whole)
    assert statistics == VoteStatistics.from_votes(table(y), y)
    vote, plain = fitted(X, whole), fitted(X, y)
    assert vote.certificate_ == plain.certificate_
    vote.verify(X, whole)
    assert vote.certify(X + 1, whole) == plain.certify(X + 1, y)
    vote.partial_fit(X + 1, whole)
    assert vote.certificate_ == plain.partial_fit(X + 1, y).certificate_


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        lambda y: y.astype(object),
        pd.Series,
        lambda y: pd.Series(y, dtype="string"),
        lambda y: pd.Series(y).astype("category"),
        pd.Categorical,
        lambda y: pl.Series(y.tolist()),
        lambda y: pa.array(y.tolist()),
        lambda y: pa.chunked_array([y[:9].tolist(), y[9:].tolist()]),
    ],
    ids=["list", "tuple", "objects", "Series", "text", "category", "Categorical", "pl", "pa", "ca"],
)
def test_whole_labels_of_any_form_are_accepted(form, X, y):
    """The text 'nan' is a label like any other."""
    y = np.array(["nan", "None"])[y]
    certificate = certify(table(y), form(y), bound="lacasse")
    assert certificate.evidence == certify(table(y), y, bound="lacasse").evidence
    assert certify(form(y), y).evidence == certify(y, y).evidence
    assert fitted(X, form(y)).certificate_.evidence == fitted(X, y).certificate_.evidence
