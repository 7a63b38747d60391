"""Columns of a table as features, held against pandas and scikit-learn one by one."""

import datetime
import pickle
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from certivote.voters import TableFeatures, fit_voters

rng = np.random.default_rng(0)
M = 60
WORDS = np.array(["good", "bad", "very", "room", "food", "staff", "dirty", "clean", "bus", "sea"])
TEXTS = [f"number {j} " + " ".join(rng.choice(WORDS, 5)) for j in range(M)]
TOWNS = rng.choice(["Ulm", "Bonn", "Köln"], M)


def gaps(values, share=0.2):
    column = pd.Series(values)
    return column.mask(np.random.default_rng(1).random(len(column)) < share)


def features(column):
    return TableFeatures().fit_transform(pd.DataFrame({"x": column}))


def kind(column):
    return TableFeatures().fit(pd.DataFrame({"x": column})).kinds_[0]


def test_numbers_are_left_as_they_are():
    frame = pd.DataFrame({"a": rng.normal(size=M), "b": rng.integers(9, size=M)})
    assert np.array_equal(TableFeatures().fit_transform(frame), frame.to_numpy())


def test_numbers_and_categories_are_as_of_scikit_learn():
    """The order too: numbers, what was missing, categories, wherever the columns stand."""
    frame = pd.DataFrame(
        {
            "town": gaps(TOWNS).astype(object).where(lambda s: s.notna(), None),
            "a": gaps(rng.normal(size=M)),
            "many": [f"v{j}" for j in range(M - 10)] + ["often"] * 10,
            "b": rng.normal(size=M),
        }
    )
    theirs = make_column_transformer(
        (SimpleImputer(strategy="median", add_indicator=True), ["a", "b"]),
        (
            OneHotEncoder(
                handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False
            ),
            ["town", "many"],
        ),
        sparse_threshold=0,
    )
    new = frame.sample(frac=1, random_state=0)
    new.iloc[:5, 0], new.iloc[:5, 2] = "Paris", "never seen"
    ours = TableFeatures().fit(frame)
    assert ours.kinds_ == ["category", "number", "category", "number"]
    assert np.array_equal(ours.transform(new), theirs.fit(frame).transform(new))


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 2, None, 4], dtype="Int64"),
        np.array([1, 2.0, None, 4], dtype=object),
        np.array([Decimal(1), 2, np.nan, 4], dtype=object),
        pd.array([1.0, 2.0, None, 4.0], dtype="Float32"),
    ],
    ids=["nullable", "objects", "decimals", "nullable floats"],
)
def test_numbers_of_any_type(column):
    assert features(column).tolist() == [[1, 0], [2, 0], [2, 1], [4, 0]]


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True, True],
        pd.array([True, False, True, None], dtype="boolean"),
        np.array([True, False, None, True], dtype=object),
        pd.Categorical([3, 1, 3, 1]),
        pd.Categorical(["x", "y", None, "x"]),
        pd.array(["x", "y", None, "x"], dtype="string"),
        np.array(["x", 1, b"y", "x"], dtype=object),
    ],
    ids=["bool", "nullable", "objects", "numbers", "categories", "string", "mixed"],
)
def test_categories_of_any_type(values):
    column = pd.Series(values)
    own = features(column)
    names = column.astype(object).map(str, na_action="ignore").fillna("missing").map(str)
    expected = pd.get_dummies(names).to_numpy(float)
    assert sorted(map(tuple, own.T)) == sorted(map(tuple, expected.T))
    assert kind(column) == "category"


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_dates_become_seconds(unit, zone):
    moments = [datetime.datetime(2020, 2, 29, 12, 30), datetime.datetime(1969, 12, 31)]
    zones = [moment.replace(tzinfo=ZoneInfo(zone or "UTC")) for moment in moments]
    column = pd.Series(moments).astype(f"datetime64[{unit}]")
    column = column if zone is None else column.dt.tz_localize(zone)
    assert features(column).ravel().tolist() == [moment.timestamp() for moment in zones]
    assert kind(column) == "date"
    given = zones if zone else moments
    assert np.array_equal(features(np.array(given, dtype=object)), features(column))


def test_dates_with_gaps_and_days_and_spans():
    column = pd.Series([pd.Timestamp("2020-01-01"), pd.NaT, pd.Timestamp("2020-01-03")])
    day = 86400.0
    first = pd.Timestamp("2020-01-01").timestamp()
    expected = [[first, 0.0], [first + day, 1.0], [first + 2 * day, 0.0]]
    assert features(column).tolist() == expected
    days = [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 3)]
    assert features(np.array(days, dtype=object)).tolist() == expected
    spans = pd.Series([pd.Timedelta(days=1), pd.NaT, pd.Timedelta(days=3)])
    assert features(spans).tolist() == [[day, 0], [2 * day, 1], [3 * day, 0]]


def test_texts_become_words():
    frame = pd.DataFrame({"comment": [None, *TEXTS[1:]], "town": TOWNS})
    ours = TableFeatures().fit(frame)
    assert ours.kinds_ == ["text", "category"]
    words = TfidfVectorizer(token_pattern=r"\w+").fit_transform(["", *TEXTS[1:]]).toarray()
    np.testing.assert_allclose(ours.transform(frame)[:, 3:], words, rtol=1e-12)
    assert ours.named("text") == ["comment"]
    assert ours.named("text", "category") == ["comment", "town"]


def test_no_more_words_than_these():
    texts = [" ".join(f"w{j * 10 + i}" for i in range(10)) for j in range(50)]
    assert features(texts).shape == (50, 300)


@pytest.mark.parametrize(
    "values",
    [
        TEXTS[:19],  # too few to tell
        TEXTS[:30] * 2,  # they repeat
        [f"key-{j}" for j in range(M)],  # two words
        [f"{j}" + " ... --- !!!" for j in range(M)],  # one word
    ],
    ids=["few", "repeated", "keys", "signs"],
)
def test_what_is_no_text(values):
    assert kind(values) == "category"


@pytest.mark.parametrize("make", [list, np.array, pd.Series, lambda t: np.array(t, dtype=object)])
def test_texts_alone_are_texts_however_short(make):
    """Given alone they are not taken for categories."""
    short = ["good food", "bad", "good"]
    ours = TableFeatures().fit(make(short))
    expected = TfidfVectorizer(token_pattern=r"\w+").fit_transform(short).toarray()
    assert ours.kinds_ == ["text"]
    assert np.array_equal(ours.transform(make(short)), expected)
    assert ours.named("text") == []


@pytest.mark.parametrize("missing", [np.nan, None], ids=["numbers", "objects"])
def test_a_column_without_any_value(missing):
    """There is nothing to learn from it, and whatever comes later is taken."""
    frame = pd.DataFrame({"x": pd.Series([missing] * 3, dtype=float if missing else object)})
    ours = TableFeatures().fit(frame)
    assert np.ptp(ours.transform(frame), axis=0).max() == 0.0
    assert len(ours.transform(pd.DataFrame({"x": [7.0, 8.0]}))) == 2


def test_a_gap_that_the_fit_did_not_have():
    ours = TableFeatures().fit(pd.DataFrame({"x": [1.0, 3.0], "y": ["a", "b"]}))
    new = pd.DataFrame({"x": [np.nan, 1.0], "y": [None, "b"]})
    assert ours.transform(new).tolist() == [[2.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    nothing = pd.DataFrame({"x": [None, None], "y": [np.nan, np.nan]})
    assert ours.transform(nothing).tolist() == [[2.0, 0.0, 0.0]] * 2


def test_numbers_where_names_were():
    """A column of names such as 01 and A7 may hold numbers only in a part of the rows."""
    ours = TableFeatures().fit(pd.DataFrame({"x": ["1", "2", "A7"]}))
    assert ours.transform(pd.DataFrame({"x": [2.0, 1.0]})).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_frames_of_polars():
    moments = [datetime.datetime(2020, 1, 1 + j % 28) for j in range(M)]
    data = {
        "a": [None, *rng.normal(size=M - 1).tolist()],
        "n": [None, *range(1, M)],
        "town": [None, *TOWNS[1:].tolist()],
        "yes": [None, *(TOWNS[1:] == "Ulm").tolist()],
        "when": [None, *moments[1:]],
        "comment": TEXTS,
    }
    table = pl.DataFrame(data)
    table = table.with_columns(zone=pl.col("when").dt.replace_time_zone("Asia/Kolkata"))
    frame = pd.DataFrame(data)
    frame["zone"] = frame["when"].dt.tz_localize("Asia/Kolkata")
    theirs = TableFeatures().fit(table)
    assert theirs.kinds_ == [*["number"] * 2, *["category"] * 2, "date", "text", "date"]
    assert np.array_equal(theirs.transform(table), TableFeatures().fit_transform(frame))
    assert np.array_equal(theirs.transform(table), theirs.transform(frame))
    as_category = table.with_columns(pl.col("town").cast(pl.Categorical))
    assert np.array_equal(theirs.transform(as_category), theirs.transform(table))


def test_bad_input():
    frame = pd.DataFrame({"age": [1.0, 2.0], "town": ["Ulm", "Bonn"]})
    with pytest.raises(NotFittedError):
        TableFeatures().transform(frame)
    ours = TableFeatures().fit(frame)
    with pytest.raises(ValueError, match="'age' of X must hold numbers, as at the fit, got 'old'"):
        ours.transform(frame.assign(age=["old", "7"]))
    with pytest.raises(ValueError, match="feature names"):
        ours.transform(frame[["town", "age"]])
    with pytest.raises(ValueError, match="expecting 2 features"):
        TableFeatures().fit(frame.set_axis([0, 1], axis=1)).transform(frame[["age"]].to_numpy())
    with pytest.raises(ValueError, match="infinity"):
        ours.transform(frame.assign(age=np.inf))
    with pytest.raises(ValueError, match="'when' of X must hold dates"):
        TableFeatures().fit(pd.DataFrame({"when": pd.to_datetime(["2020"])})).transform(
            pd.DataFrame({"when": ["soon"]})
        )


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ([True, False], [1, 0], "must hold True or False, as at the fit, got 1"),
        ([True, None], [0.0, 1.0], "must hold True or False, as at the fit, got 0"),
        (pd.to_datetime(["2020", "2021"]), [1.5, 2.5], "must hold dates, as at the fit, got 1.5"),
        ([1, 2], pd.to_datetime(["2020", "2021"]), "must hold numbers, as at the fit, got "),
    ],
)
def test_another_kind_than_at_the_fit(then, now, words):
    ours = TableFeatures().fit(pd.DataFrame({"x": then}))
    with pytest.raises(ValueError, match=f"column 'x' of X {words}"):
        ours.transform(pd.DataFrame({"x": now}))
    ours.transform(pd.DataFrame({"x": then}))
    ours.transform(pd.DataFrame({"x": [np.nan, np.nan]}))  # nothing is of any kind


def test_it_is_copied_and_pickled():
    frame = pd.DataFrame({"age": gaps(np.arange(M)), "comment": TEXTS, "town": TOWNS})
    ours = TableFeatures().fit(frame)
    again = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(again.transform(frame), ours.transform(frame))
    assert not hasattr(clone(ours), "kinds_")


@pytest.mark.parametrize("voters", [None, "trees", "stumps"])
def test_named_voters_have_it_in_front_for_frames(voters):
    frame = pd.DataFrame({"town": TOWNS, "age": np.arange(M)})
    y = (TOWNS == "Ulm").astype(int)
    fitted = fit_voters(voters, frame, y, 3, np.random.RandomState(0))
    assert isinstance(fitted.groups[0].transformers.steps[0][1], TableFeatures)
    bare = fit_voters(voters, frame[["age"]].to_numpy(), y, 3, np.random.RandomState(0))
    assert not hasattr(bare.groups[0], "transformers")


def test_own_estimators_get_the_data_as_it_is():
    frame = pd.DataFrame({"town": TOWNS})
    with pytest.raises(ValueError, match="could not convert string to float"):
        fit_voters(RandomForestClassifier(2), frame, TOWNS == "Ulm")


@pytest.mark.parametrize(
    "value",
    [
        datetime.date(2020, 1, 1),
        pd.Timestamp("2020-01-01"),
        Decimal("1.10"),
        2**60 + 1,
        np.float32(0.1),
    ],
    ids=["date", "timestamp", "decimal", "large", "float32"],
)
def test_a_cell_is_written_alike_whatever_stands_beside(value):
    """In a column that mixes it with text, and in a row by itself."""
    frame = pd.DataFrame({"when": pd.Series([value, "unknown"] * 20, dtype=object)})
    prepared = TableFeatures().fit(frame)
    alone = np.vstack([prepared.transform(frame.iloc[[i]]) for i in range(4)])
    assert np.array_equal(alone, prepared.transform(frame)[:4])
    assert np.array_equal(prepared.transform(frame.iloc[::2]), prepared.transform(frame)[::2])
