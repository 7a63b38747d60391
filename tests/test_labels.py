"""Labels as indices into classes; whatever else the one checker refuses is in tests/doors."""

import numpy as np
import pytest

from certivote.labels import codes_of


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
