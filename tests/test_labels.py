"""Labels as indices into classes; whatever else the one checker refuses is in tests/doors."""

import numpy as np
import pytest
from scipy import sparse

from certivote import VoteStatistics, certify
from certivote.labels import as_votes, codes_of


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        ([3, 9, 7, 3], [3, 7, 9], [0, 2, 1, 0]),
        ([0, 5, 10, 8, -4], [3, 7, 9], [-1] * 5),
        (["b", "a", "z", ""], ["a", "b"], [1, 0, -1, -1]),
        (["longer", "a"], ["a", "b"], [-1, 0]),
        ([True, False], [False, True], [1, 0]),
        ([1.0, 2.5, np.nan], [1, 2], [0, -1, -1]),
        ([-1, 1, 0], [-1, 1], [0, 1, -1]),
        ([7], [7], [0]),
        ([8], [7], [-1]),
        (np.array(["b", "c"], dtype=object), ["a", "b"], [1, -1]),
        (["b", "c"], np.array(["a", "b"], dtype=object), [1, -1]),
        ([], [1, 2], []),
    ],
    ids=str,
)
def test_codes(labels, classes, expected):
    assert codes_of(np.asarray(labels), np.asarray(classes)).tolist() == expected


def test_codes_against_a_dictionary():
    rng = np.random.default_rng(0)
    classes = np.unique(rng.integers(-50, 50, size=30))
    labels = rng.integers(-60, 60, size=1000)
    index = {label: code for code, label in enumerate(classes.tolist())}
    expected = [index.get(label, -1) for label in labels.tolist()]
    assert codes_of(labels, classes).tolist() == expected


@pytest.mark.parametrize("labels", [np.array([1, 2]), np.array([0.5])])
def test_codes_of_another_kind(labels):
    words = np.array(["a", "b"])
    for first, second in ((labels, words), (words, labels)):
        with pytest.raises(ValueError, match="labels"):
            codes_of(first, second)


PROBA = np.random.default_rng(3).random(40)


@pytest.mark.parametrize("y", [np.arange(40) % 2, np.arange(40) % 2 * 1.0, ["no", "yes"] * 20])
@pytest.mark.parametrize(
    ("votes", "words"),
    [
        (PROBA, r"probabilities, such as .*classes\[\(proba > 0\.5\)\.astype\(int\)\]"),
        (np.c_[1.0 - PROBA, PROBA], r"a probability for each class, .*argmax\(axis=1\)"),
        (np.c_[PROBA, PROBA**2, PROBA**3].tolist(), "probabilities"),
    ],
)
def test_probabilities_are_no_votes(votes, words, y):
    with pytest.raises(ValueError, match=f"^votes must be predicted labels, but look like {words}"):
        certify(votes, y)


def test_probabilities_are_no_votes_for_statistics():
    with pytest.raises(ValueError, match="a probability for each class"):
        VoteStatistics.from_votes(np.c_[PROBA, 1.0 - PROBA], np.arange(40) % 2)


@pytest.mark.parametrize(
    ("votes", "y"),
    [
        ([0.0, 1.0, 1.0], [0, 1, 1]),  # whole
        ([0.5, 1.0, 0.5], [0.5, 0.5, 1.0]),  # the labels are such numbers
        ([0.5, 1.5, 2.5], [1, 2, 3]),  # not between 0 and 1
        ([0.25, 1.0, np.inf], [0.0, 1.0, 1.0]),
        ([0.25, 1.0, 0.5], [0.0, 1.0, np.inf]),
    ],
)
def test_other_numbers_are_votes(votes, y):
    table, labels = as_votes(votes, y)
    assert table[:, 0].tolist() == votes
    assert labels.tolist() == y


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_labels_are_refused_in_words(form):
    votes = np.random.default_rng(0).integers(2, size=(40, 3))
    y = votes[:, 0]
    for votes_, y_ in ((form(votes), y), (form(votes[:, :1]), y), (votes, form(y[:, None]))):
        with pytest.raises(ValueError, match=r"(votes|y) must not be sparse: .*\.toarray\(\)"):
            certify(votes_, y_)
    with pytest.raises(ValueError, match=r"votes must not be sparse"):
        VoteStatistics.from_votes(form(votes), y)
    assert certify(form(votes).toarray(), y) == certify(votes, y)
