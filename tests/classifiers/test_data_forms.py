"""The same vote from any form of data, and with any number of jobs."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import CBBoostClassifier, CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]
VOTER_SOURCES = {
    "trees": "trees",
    "stumps": "stumps",
    "forest": RandomForestClassifier(4),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 4, max_features=0.7),
    "list": [DecisionTreeClassifier(max_depth=2), GaussianNB()],
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(4)),
}


@pytest.mark.parametrize("voters", VOTER_SOURCES.values(), ids=VOTER_SOURCES)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(frame, voters, data, small):
    X, y, X_new, _ = data
    names = [f"feature {j}" for j in range(8)]
    table, new = (frame(dict(zip(names, rows.T, strict=True))) for rows in (X, X_new))
    bare = small(MajorityVoteClassifier, voters=voters).fit(X, y)
    vote = small(MajorityVoteClassifier, voters=voters).fit(table, y)
    assert vote.feature_names_in_.tolist() == names
    assert not hasattr(bare, "feature_names_in_")
    assert np.array_equal(vote.weights_, bare.weights_)
    assert np.array_equal(vote.predict_proba(new), bare.predict_proba(X_new))
    with pytest.raises(ValueError, match="feature names"):
        vote.predict(frame(dict(zip(names[::-1], X_new.T, strict=True))))
    with pytest.raises(ValueError, match="new data"):
        vote.certify(table, y)
    certificate = vote.certify(new, pd.Series(data[3]))
    assert certificate.statistics_sha256 == bare.certify(X_new, data[3]).statistics_sha256


def test_labels_in_series(data, small):
    X, y, X_new, _ = data
    words = np.array(["no", "yes"])
    plain = small(MajorityVoteClassifier).fit(X, words[y])
    for labels in (
        pd.Series(words[y], index=np.arange(300)[::-1]),
        pl.Series(words[y]),
        y.tolist(),
    ):
        vote = small(MajorityVoteClassifier).fit(X, labels)
        assert np.array_equal(vote.weights_, plain.weights_)
    categorical = small(MajorityVoteClassifier).fit(X, pd.Series(words[y], dtype="category"))
    assert np.array_equal(categorical.predict(X_new), plain.predict(X_new))


def test_frame_with_texts_and_a_pipeline_that_encodes_them():
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    colours, size = rng.choice(["red", "blue"], 200), rng.normal(size=200)
    y = np.where((colours == "red") ^ (size > 0), "in", "out")
    table = pd.DataFrame({"colour": colours, "size": size})
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    vote = MajorityVoteClassifier(
        voters=make_pipeline(encode, RandomForestClassifier(20)), random_state=0
    )
    vote.fit(table.iloc[:150], y[:150])
    assert vote.score(table.iloc[150:], y[150:]) > 0.9
    with pytest.raises(ValueError, match="new data"):
        vote.certify(table.iloc[:150], y[:150])


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
@pytest.mark.parametrize("voters", ["mixed", "trees", "stumps"])
def test_missing_values_pass(kind, voters, data, small):
    X, y, X_new, y_new = data
    X, X_new = X.copy(), X_new.copy()
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X_new[rng.random(X_new.shape) < 0.1] = np.nan
    vote = small(kind, voters=voters).fit(X, y)
    assert vote.score(X_new, y_new) > 0.6
    assert vote.certify(X_new, y_new).n_samples == 300
    with pytest.raises(ValueError, match="new data"):
        vote.certify(X, y)


def test_missing_values_that_the_voters_refuse(data):
    X, y, *_ = data
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        MajorityVoteClassifier(voters=[GaussianNB()], random_state=0).fit(
            np.where(np.isnan(X), np.nan, X), y
        )


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize(
    "voters",
    [
        "trees",
        RandomForestClassifier(4),
        BaggingClassifier(DecisionTreeClassifier(), 4, max_features=0.7),
        [DecisionTreeClassifier()],
    ],
    ids=["trees", "forest", "bagging", "list"],
)
def test_sparse_equals_dense(form, voters, data, small):
    X, y, X_new, y_new = data
    X, X_new = (np.where(rows > 0.5, rows, 0.0) for rows in (X, X_new))
    dense = small(MajorityVoteClassifier, voters=voters).fit(X, y)
    vote = small(MajorityVoteClassifier, voters=voters).fit(form(X), y)
    assert np.array_equal(vote.weights_, dense.weights_)
    assert np.array_equal(vote.predict_proba(form(X_new)), dense.predict_proba(X_new))
    assert vote.certificate_ == dense.certificate_
    with warnings.catch_warnings():
        # With so many zeros a few rows may well be the same.
        warnings.simplefilter("ignore")
        certificates = vote.certify(form(X_new), y_new), dense.certify(X_new, y_new)
    assert certificates[0] == certificates[1]


def test_lists_of_lists(data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier).fit(X.tolist(), y.tolist())
    arrays = small(MajorityVoteClassifier).fit(X, y)
    assert np.array_equal(vote.weights_, arrays.weights_)
    assert np.array_equal(vote.predict(X_new.tolist()), arrays.predict(X_new))
    vote.partial_fit(X_new.tolist(), y_new.tolist())
    assert vote.statistics_ == arrays.partial_fit(X_new, y_new).statistics_


@pytest.mark.parametrize("voters", VOTER_SOURCES.values(), ids=VOTER_SOURCES)
def test_n_jobs_changes_nothing(voters, data, small):
    X, y, X_new, _ = data
    one, two = (
        small(MajorityVoteClassifier, voters=voters, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    )
    assert one.weights_.tobytes() == two.weights_.tobytes()
    assert one.certificate_ == two.certificate_
    assert np.array_equal(one.predict_proba(X_new), two.predict_proba(X_new))
