"""Which rows train the voters and which certify, and what is recorded of it."""

from fractions import Fraction
from math import ceil, sqrt
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from certivote import CBBoostClassifier, CqBoostClassifier, MajorityVoteClassifier, MinCqClassifier

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


class Recorder(ClassifierMixin, BaseEstimator):
    """Predict the most frequent label, and remember the first column of all that it was shown."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.label_ = self.classes_[counts.argmax()]
        self.trained_on_ = np.array(X)[:, 0].astype(int)
        return self

    def predict(self, X):
        # A few rows are asked for again.
        if len(X) > len(getattr(self, "asked_about_", ())):
            self.asked_about_ = np.array(X)[:, 0].astype(int)
        return np.full(len(X), self.label_)


class RecordingScaler(TransformerMixin, BaseEstimator):
    """Do nothing, and remember which rows it was fitted on, over all copies."""

    fitted_on: ClassVar[list] = []

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        self.fitted_on.append(set(np.asarray(X)[:, 0].tolist()))
        return self

    def transform(self, X):
        return X


def numbered(m):
    """Rows whose first feature is their number."""
    rng = np.random.default_rng(0)
    return np.column_stack([np.arange(m, dtype=float), rng.normal(size=m)])


def parts(m, y=None, **settings):
    """The rows of part A and part B of a fit on m rows."""
    X, y = numbered(m), np.zeros(m) if y is None else y
    vote = MajorityVoteClassifier(voters=[Recorder()], **settings).fit(X, y)
    return vote.voters_[0].trained_on_, vote.voters_[0].asked_about_, vote


@pytest.mark.parametrize("m", [10, 37, 100, 101])
@pytest.mark.parametrize("size", [0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_share_that_certifies(m, size):
    a, b, vote = parts(m, certify_size=size, random_state=0)
    # As train_test_split rounds: up, but of the share that was written, not of its binary image.
    assert len(b) == ceil(Fraction(str(size)) * m)
    assert sorted([*a, *b]) == list(range(m))
    assert vote.certificate_.n_samples == len(b)


@pytest.mark.parametrize("size", [1, 7, 99, np.int64(40)])
def test_number_that_certifies(size):
    a, b, vote = parts(100, certify_size=size, random_state=0)
    assert len(b) == size
    assert sorted([*a, *b]) == list(range(100))
    assert vote.certificate_.n_samples == size


@pytest.mark.parametrize(("m", "expected"), [(10, 5), (4999, 2500), (5000, 1500), (6001, 1801)])
def test_half_of_few_certify_and_three_tenths_of_many(m, expected):
    _, b, vote = parts(m, certify_size="auto", random_state=0)
    assert len(b) == expected
    # The number is recorded, and makes the same split again.
    share = vote.certificate_.provenance["certify_size"]
    assert share == (0.5 if m < 5000 else 0.3)
    _, again, _ = parts(m, certify_size=share, random_state=0)
    np.testing.assert_array_equal(again, b)
    vote.verify(numbered(m), np.zeros(m))


def test_groups_are_what_is_counted():
    m = 6000
    X, y = numbered(m), np.zeros(m)
    vote = MajorityVoteClassifier([Recorder()], certify_size="auto", random_state=0)
    vote.fit(X, y, groups=np.arange(m) // 2)
    assert vote.certificate_.provenance["certify_size"] == 0.5


def test_split_does_not_look_at_labels():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    _, first, _ = parts(80, y=y, random_state=3)
    for labels in (rng.permutation(y), 1 - y, np.sort(y), (np.arange(80) > 70).astype(int)):
        _, other, _ = parts(80, y=labels, random_state=3)
        assert np.array_equal(first, other)


def test_split_is_a_random_permutation():
    counts = np.zeros(20)
    for seed in range(300):
        _, b, _ = parts(20, random_state=seed)
        counts[b] += 1
    # Each row certifies in half of the seeds; five standard errors of 300 tosses.
    assert np.all(np.abs(counts - 150) < 5 * sqrt(300 / 4))


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_same_seed_same_bits(kind, data, small):
    X, y, X_new, _ = data
    first, again, other = (small(kind, random_state=seed).fit(X, y) for seed in (5, 5, 6))
    assert first.weights_.tobytes() == again.weights_.tobytes()
    assert first.certificate_ == again.certificate_
    assert first.predict_proba(X_new).tobytes() == again.predict_proba(X_new).tobytes()
    assert first.certificate_.statistics_sha256 != other.certificate_.statistics_sha256


@pytest.mark.parametrize(
    "voters",
    [
        None,
        "stumps",
        RandomForestClassifier(5),
        GridSearchCV(ExtraTreesClassifier(4), {"max_depth": [1, 3]}, cv=2),
        [DecisionTreeClassifier(max_features=2), make_pipeline(RandomForestClassifier(3))],
    ],
)
def test_recorded_seed_gives_the_vote_again(voters, data):
    X, y, X_new, _ = data
    vote = MajorityVoteClassifier(voters=voters, n_voters=5).fit(X, y)
    seed = vote.certificate_.provenance["seed"]
    assert isinstance(seed, int)
    again = clone(vote).set_params(random_state=seed).fit(X, y)
    assert again.certificate_ == vote.certificate_
    assert np.array_equal(again.predict_proba(X_new), vote.predict_proba(X_new))


def test_two_fits_without_a_seed_differ(data):
    X, y, *_ = data
    seeds = {
        MajorityVoteClassifier("trees", n_voters=2).fit(X, y).certificate_.provenance["seed"]
        for _ in range(3)
    }
    assert len(seeds) == 3


@pytest.mark.parametrize(
    "size", [0.25, 60, np.float64(0.25), np.float32(0.25), np.int64(60)], ids=repr
)
def test_certificate_records_the_split(size, data, tmp_path, small):
    X, y, *_ = data
    vote = small(MajorityVoteClassifier, certify_size=size, random_state=np.int64(11)).fit(X, y)
    n_b = 75 if size < 1 else 60
    provenance = vote.certificate_.provenance
    assert provenance["seed"] == 11
    assert provenance["voter_samples"] == 300 - n_b
    assert provenance["certify_size"] == size
    assert vote.certificate_.n_samples == n_b
    vote.certificate_.to_json(tmp_path / "certificate.json")
    read = type(vote.certificate_).from_json(tmp_path / "certificate.json")
    assert read.provenance == provenance


def test_a_generator_is_recorded_as_such(data, small):
    X, y, *_ = data
    generators = [np.random.RandomState(2) for _ in range(2)]
    first, again = (
        small(MajorityVoteClassifier, random_state=generator).fit(X, y) for generator in generators
    )
    assert "generator" in first.certificate_.provenance["seed"]
    assert np.array_equal(first.weights_, again.weights_)


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_frozen_voters_leave_all_data_to_certify(kind, data, small, frozen_trees):
    X, y, X_new, y_new = data
    vote = small(kind, voters=frozen_trees(X, y), certify_size=0.2).fit(X_new, y_new)
    assert vote.certificate_.n_samples == len(y_new)
    assert vote.certificate_.provenance == {"voters_from": "frozen, trained elsewhere"}
    assert not any("part A" in text for text in vote.certificate_.assumptions)
    assert any("frozen" in text for text in vote.certificate_.assumptions)
    assert "search around this classifier" in str(vote.certificate_)


def test_a_list_of_frozen_and_unfitted_voters_is_refused(data, frozen_trees):
    X, y, X_new, y_new = data
    voters = [*frozen_trees(X, y, 1), GaussianNB()]
    with pytest.raises(ValueError, match="voters must be all frozen or all to be trained"):
        MajorityVoteClassifier(voters=voters, random_state=0).fit(X_new, y_new)


def test_preprocessing_inside_sees_part_a_only():
    RecordingScaler.fitted_on.clear()
    X, y = numbered(60), np.arange(60) % 2
    tree = DecisionTreeClassifier(max_depth=2)
    pipeline = make_pipeline(RecordingScaler(), RandomForestClassifier(2))
    search = GridSearchCV(pipeline, {"randomforestclassifier__max_depth": [1, 2]}, cv=2)
    MajorityVoteClassifier(
        voters=[Recorder(), search, make_pipeline(RecordingScaler(), tree)], random_state=4
    ).fit(X, y)
    part_a, part_b, _ = parts(60, y=y, random_state=4)
    assert len(RecordingScaler.fitted_on) == 6  # four folds, the refit, the pipeline
    for rows in RecordingScaler.fitted_on:
        assert rows <= set(part_a.tolist())
        assert not rows & set(part_b.tolist())
