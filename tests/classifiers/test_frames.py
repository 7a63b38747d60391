"""Votes of tables as people have them: names, dates, gaps and texts, in frames or alone."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from certivote import CBBoostClassifier, MajorityVoteClassifier, certify_model
from certivote.voters import PredictionTable

M = 300
GOOD, BAD = ["good", "clean", "kind"], ["bad", "dirty", "rude"]


def people(m, seed):
    """A frame with a column of each kind, gaps in most of them, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    said = [
        " ".join([f"no{rng.integers(10**6)}", *rng.choice(BAD if bad else GOOD, 3), "room"])
        for bad in y
    ]
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(m) < 0.2, np.nan, rng.normal(40 + 5 * y, 5)),
            "town": pd.Series(rng.choice(["Ulm", "Bonn"], m)).mask(rng.random(m) < 0.1),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], m)),
            "member": rng.random(m) < 0.2 + 0.5 * y,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=m), "D"),
            "seen": pd.date_range("2021-01-01", periods=m, freq="h", tz="Asia/Kolkata"),
            "said": said,
            "nothing": np.full(m, np.nan),
        }
    )
    return frame, np.where(y, "left", "stayed")


FRAME, LABELS = people(M, 0)
NEW, NEW_LABELS = people(M, 1)
KINDS = ["number", *["category"] * 3, "date", "date", "text", "number"]


def vote(**settings):
    return MajorityVoteClassifier(
        **{"voters": "trees", "n_voters": 20, "random_state": 0, **settings}
    )


def features_of(fitted):
    return fitted.voters_.groups[0].transformers[0]


@pytest.fixture(scope="module")
def fitted():
    return vote().fit(FRAME, LABELS)


def test_a_frame_with_columns_of_all_kinds(fitted):
    assert features_of(fitted).kinds_ == KINDS
    assert fitted.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert fitted.n_features_in_ == 8
    assert fitted.certificate_.risk_bound < 0.3
    assert fitted.score(NEW, NEW_LABELS) > 0.9
    assert fitted.predict_proba(NEW).shape == (M, 2)
    fitted.verify(FRAME, LABELS)


def test_the_vote_is_certified_on_other_frames(fitted):
    certificate = fitted.certify(NEW, NEW_LABELS)
    assert certificate.neighbours.errors == np.count_nonzero(fitted.predict(NEW) != NEW_LABELS)
    fitted.verify(NEW, NEW_LABELS, certificate)
    assert certify_model(fitted, NEW, NEW_LABELS).risk_bound == certificate.risk_bound
    with pytest.raises(ValueError, match="new data"):
        fitted.certify(FRAME, LABELS)
    added = vote().fit(FRAME, LABELS).partial_fit(NEW, NEW_LABELS)
    assert added.certificate_.n_samples == M // 2 + M


@pytest.mark.parametrize("settings", [{"voters": "stumps"}, {"prior": "learned"}], ids=str)
def test_other_voters_and_priors(settings):
    other = vote(**settings).fit(FRAME, LABELS)
    other.verify(FRAME, LABELS)
    assert other.score(NEW, NEW_LABELS) > 0.7


def test_other_learners():
    assert CBBoostClassifier(random_state=0).fit(FRAME, LABELS).score(NEW, NEW_LABELS) > 0.7


def test_cross_validation():
    assert cross_val_score(vote(), FRAME, LABELS, cv=3).mean() > 0.8


def test_polars(fitted):
    """A frame of the same columns gives the same vote."""
    other = vote().fit(pl.from_pandas(FRAME), LABELS)
    assert features_of(other).kinds_ == KINDS
    assert np.array_equal(other.weights_, fitted.weights_)
    assert other.certificate_.risk_bound == fitted.certificate_.risk_bound


def test_numbers_with_and_without_names_give_the_same_vote():
    X = np.random.default_rng(0).normal(size=(M, 4))
    y = X[:, 0] > 0
    for voters in (None, "stumps"):
        bare, named = (vote(voters=voters).fit(table, y) for table in (X, pd.DataFrame(X)))
        assert bare.certificate_ == named.certificate_
        assert np.array_equal(bare.predict_proba(X), named.predict_proba(pd.DataFrame(X)))


def test_nothing_looks_at_part_b(fitted):
    """Whatever is in the rows that certify, the features and the trees are the same."""
    part_b = np.random.RandomState(0).permutation(M)[M // 2 :]
    other = FRAME.copy()
    other["size"] = other["size"].astype(str)
    other.iloc[part_b, 0] = 1e6
    other.iloc[part_b, 1] = "elsewhere"
    other.iloc[part_b, 2] = "XXL"
    other.iloc[part_b, 6] = "always the same words"
    other.iloc[part_b, 7] = 5.0
    again = vote().fit(other, LABELS)
    assert joblib.hash(features_of(again)) == joblib.hash(features_of(fitted))
    assert joblib.hash(again.voters_) == joblib.hash(fitted.voters_)
    # Of part A it would be another one: the test can fail.
    part_a = np.setdiff1d(np.arange(M), part_b)
    other = FRAME.copy()
    other.iloc[part_a[:5], 0] = 1e6
    assert joblib.hash(features_of(vote().fit(other, LABELS))) != joblib.hash(features_of(fitted))


def test_gaps_in_part_b_alone():
    """They decide nothing either: they become the median of part A."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(M, 2)), columns=["a", "b"])
    y = X["a"] > 0
    part_b = np.random.RandomState(0).permutation(M)[M // 2 :]
    holed = X.copy()
    holed.iloc[part_b[:20], 1] = np.nan
    filled = holed.fillna(X.drop(index=part_b).median())
    holed, filled = vote().fit(holed, y), vote().fit(filled, y)
    assert holed.certificate_.statistics_sha256 == filled.certificate_.statistics_sha256


def test_new_categories_and_gaps_are_predicted(fitted):
    strange = NEW.assign(town="Paris", size="XXL", member=None, said=None, since=pd.NaT, age=None)
    assert set(fitted.predict(strange)) <= {"left", "stayed"}


def test_columns_in_another_order_are_refused(fitted):
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(NEW[NEW.columns[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(NEW.drop(columns="town"))
    with pytest.raises(ValueError, match="'age' of X must hold numbers, as at the fit, got 'old'"):
        fitted.predict(NEW.assign(age="old"))


# --- texts alone ---

TEXTS = FRAME["said"]
FORMS = {
    "list": list,
    "series": pd.Series,
    "strings": lambda texts: pd.Series(texts, dtype="string"),
    "objects": lambda texts: np.array(texts, dtype=object),
    "array": lambda texts: np.array(texts, dtype=str),
    "polars": lambda texts: pl.Series(list(texts)),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_texts_alone(form):
    texts, new = form(list(TEXTS)), form(list(NEW["said"]))
    own = vote().fit(texts, LABELS)
    frame = vote().fit(FRAME[["said"]], LABELS)
    assert own.certificate_ == frame.certificate_
    assert features_of(own).kinds_ == ["text"]
    assert not hasattr(own, "n_features_in_")
    assert own.score(new, NEW_LABELS) > 0.9
    own.verify(texts, LABELS)
    assert own.certify(new, NEW_LABELS).n_samples == M
    with pytest.raises(ValueError, match="new data"):
        own.certify(texts, LABELS)


def test_texts_that_repeat_are_found():
    texts = [*TEXTS[:150], *TEXTS[:150]]
    with pytest.warns(UserWarning, match="have a twin"):
        vote().fit(texts, [*LABELS[:150], *LABELS[:150]])


def test_missing_texts():
    texts = [None, np.nan, *TEXTS[2:]]
    assert vote().fit(texts, LABELS).score(list(NEW["said"]), NEW_LABELS) > 0.9


def test_own_pipelines_take_texts():
    words = make_pipeline(TfidfVectorizer(), LogisticRegression())
    own = vote(voters=[clone(words), clone(words)]).fit(TEXTS, LABELS)
    own.verify(TEXTS, LABELS)
    assert own.score(NEW["said"], NEW_LABELS) > 0.9


@pytest.mark.parametrize("bad", [[1.0] * M, ["a", 1.0] * (M // 2), [None] * M], ids=str)
def test_a_column_that_is_none_of_texts_is_refused(bad):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        vote().fit(np.array(bad, dtype=object), LABELS)


def test_texts_are_no_table_of_predictions():
    with pytest.raises(ValueError, match="X must be a table with a column of predictions"):
        vote(voters=PredictionTable()).fit(list(LABELS), LABELS)
