"""What a vote predicts: by hand, in ties, for labels of any type and from tables."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import DataConversionWarning

from certivote import (
    CBBoostClassifier,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
    VoteStatistics,
)
from certivote.voters import PredictionTable, Stumps

BINARY = [CBBoostClassifier, MinCqClassifier, CqBoostClassifier]


@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_predict_is_the_weighted_hard_vote(kind, data, small, votes_by_hand):
    X, y, X_new, y_new = data
    names = np.array(["no", "yes"])
    vote = small(kind).fit(X, names[y])
    yes = votes_by_hand(vote, X_new) == "yes"
    if kind is MajorityVoteClassifier:
        share = yes @ vote.weights_
    else:
        n = yes.shape[1]
        share = yes @ vote.weights_[:n] + (~yes) @ vote.weights_[n:]
    assert vote.weights_.sum() == pytest.approx(1.0, abs=1e-12)
    assert vote.predict_proba(X_new) == pytest.approx(
        np.column_stack([1 - share, share]), abs=1e-12
    )
    clear = np.abs(share - 0.5) > 1e-9
    assert clear.sum() > 250
    expected = np.where(share > 0.5 + 1e-9, "yes", "no")
    assert np.array_equal(vote.predict(X_new), expected)
    assert vote.score(X_new, names[y_new]) == pytest.approx(np.mean(expected == names[y_new]))


def test_multiclass_vote_by_hand(three, votes_by_hand):
    _, _, X, y, X_new, y_new = three
    vote = MajorityVoteClassifier("trees", bound="lacasse", n_voters=12, random_state=0).fit(X, y)
    predicted = votes_by_hand(vote, X_new)
    shares = np.stack([(predicted == label) @ vote.weights_ for label in range(3)], axis=1)
    assert vote.predict_proba(X_new) == pytest.approx(shares, abs=1e-12)
    assert vote.predict_proba(X_new).sum(axis=1) == pytest.approx(np.ones(len(X_new)), abs=1e-12)
    assert np.array_equal(vote.predict(X_new), shares.argmax(axis=1))
    assert vote.score(X_new, y_new) == np.mean(shares.argmax(axis=1) == y_new)


@pytest.fixture(scope="module")
def table_vote():
    """A vote of five columns over the labels a, b, c and d."""
    rng = np.random.default_rng(0)
    y = rng.choice(list("abcd"), size=400)
    table = np.where(rng.random((400, 5)) < 0.3, rng.choice(list("abcd"), (400, 5)), y[:, None])
    vote = MajorityVoteClassifier(voters=PredictionTable(), bound="lacasse", random_state=0)
    return vote.fit(table, y)


@pytest.mark.parametrize(
    ("weights", "row", "winner"),
    [
        ([0.2, 0.2, 0.2, 0.2, 0.2], "bbaad", "a"),
        ([0.1, 0.4, 0.2, 0.3, 0.0], "babab", "a"),
        # 0.1 + 0.2 is above 0.3 by one rounding: a tie all the same.
        ([0.1, 0.2, 0.3, 0.1, 0.3], "ccadb", "a"),
        ([0.1, 0.2, 0.3, 0.1, 0.3], "ddbac", "b"),
        ([0.25, 0.25, 0.25, 0.25, 0.0], "dcbaa", "a"),
        ([0.2, 0.2, 0.2, 0.2, 0.2], "ddaac", "a"),
        ([0.2, 0.2, 0.2, 0.2, 0.2], "dddaa", "d"),
    ],
)
def test_ties_go_to_the_first_class(table_vote, weights, row, winner):
    vote = pickle.loads(pickle.dumps(table_vote))
    vote.weights_ = np.array(weights)
    assert vote.predict([list(row)]).tolist() == [winner]


@pytest.mark.parametrize("kind", BINARY)
def test_ties_of_voters_and_complements_go_to_the_first_class(kind, data, small):
    X, y, X_new, _ = data
    vote = small(kind, n_voters=3).fit(X, np.where(y == 0, "z", "a"))
    vote.weights_ = np.full(6, 1 / 6)
    assert set(vote.predict(X_new)) == {"a"}
    assert vote.predict_proba(X_new) == pytest.approx(np.full((len(X_new), 2), 0.5))


LABELS = {
    "strings": np.array(["no", "yes"]),
    "words of different length": np.array(["a", "much longer"]),
    "bool": np.array([False, True]),
    "negative": np.array([-1, 1]),
    "far apart": np.array([-500, 70_000]),
    "objects": np.array(["no", "yes"], dtype=object),
    "floats": np.array([1.0, 2.0]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("kind", [MajorityVoteClassifier, *BINARY])
def test_labels_of_any_type(kind, labels, data, small):
    X, y, X_new, y_new = data
    plain, vote = small(kind).fit(X, y), small(kind).fit(X, labels[y])
    assert np.array_equal(vote.classes_, labels)
    assert np.array_equal(vote.predict(X_new), labels[plain.predict(X_new)])
    assert vote.predict(X_new).dtype.kind == labels.dtype.kind
    assert np.array_equal(vote.weights_, plain.weights_)
    assert vote.certify(X_new, labels[y_new]).statistics_sha256 == (
        plain.certify(X_new, y_new).statistics_sha256
    )


def test_labels_in_a_column_warn(data, small):
    X, y, *_ = data
    with pytest.warns(DataConversionWarning, match="column-vector"):
        vote = small(MajorityVoteClassifier).fit(X, y[:, None])
    assert np.array_equal(vote.weights_, small(MajorityVoteClassifier).fit(X, y).weights_)


@pytest.mark.parametrize(
    ("load", "n_train", "voters"),
    [(load_iris, 90, None), (load_digits, 1000, None), (load_digits, 1000, "forest")],
)
def test_multiclass_certificate_is_above_the_error_on_new_data(load, n_train, voters):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    names = np.array([f"class {label}" for label in np.unique(y)])
    if voters == "forest":
        voters = RandomForestClassifier(30, max_features=0.3)
    vote = MajorityVoteClassifier(voters=voters, n_voters=50, bound="tandem", random_state=0)
    vote.fit(X[:n_train], names[y[:n_train]])
    error = np.mean(vote.predict(X[n_train:]) != names[y[n_train:]])
    assert vote.classes_.tolist() == sorted(names)
    assert vote.score(X[n_train:], names[y[n_train:]]) == pytest.approx(1 - error)
    assert error < 0.12
    assert error <= vote.certificate_.risk_bound
    assert vote.certificate_.gibbs_risk < 0.5


def test_table_of_predictions(table_vote):
    rng = np.random.default_rng(1)
    y = rng.choice(list("abcd"), size=300)
    table = np.where(rng.random((300, 5)) < 0.3, rng.choice(list("abcd"), (300, 5)), y[:, None])
    certificate = table_vote.certify(table, y, bound="lacasse")
    certificate.verify(statistics=VoteStatistics.from_votes(table, y))
    assert table_vote.certificate_.provenance["voters_from"].startswith("frozen")
    with pytest.raises(ValueError, match="5 features"):
        table_vote.predict(table[:, :4])


def test_a_label_that_is_no_class_has_its_say(table_vote):
    vote = pickle.loads(pickle.dumps(table_vote))
    vote.weights_ = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    rows = [list("?bccc"), list("?????"), list("?bbcc")]
    expected = [[0, 0.3, 0.3, 0], [0, 0, 0, 0], [0, 0.4, 0.2, 0]]
    assert vote.predict_proba(rows) == pytest.approx(np.array(expected))
    # The last one is tied, and the question mark comes before letters.
    assert vote.predict(rows).tolist() == ["?", "?", "?"]
    table = np.array(rows * 10)
    y = np.array(["c", "a", "b"] * 10)
    certificate = vote.certify(table, y, bound="lacasse")
    losses = (table != y[:, None]).astype(int)
    assert certificate.gibbs_risk == pytest.approx((losses @ vote.weights_).mean())
    certificate.verify(statistics=VoteStatistics.from_losses(losses))


def test_stumps_with_settings(data):
    X, y, *_ = data
    stumps = Stumps(n_thresholds=3)
    vote = MajorityVoteClassifier(voters=stumps, bound="lacasse", random_state=0).fit(X, y)
    assert len(vote.voters_) == 8 * 3 * 2
    assert vote.score(X, y) > 0.6
