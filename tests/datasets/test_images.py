"""Images: the idx format, and the classes behind the names of the pairs."""

import gzip

import numpy as np
import pytest

from certivote.datasets import load
from certivote.datasets._images import PAIRS, read_idx


def test_idx():
    content = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(6)])
    np.testing.assert_array_equal(read_idx(content), [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize("content", [b"", b"\0\0\x0d\1", b"P5 28 28"])
def test_what_is_no_idx_is_refused(content):
    with pytest.raises(ValueError, match="must be an idx file"):
        read_idx(content)


@pytest.mark.parametrize("values", [b"abc", b"abcde"])
def test_an_idx_of_the_wrong_length_is_refused(values):
    with pytest.raises(ValueError, match="must have 12 bytes"):
        read_idx(b"\0\0\x08\1\0\0\0\4" + values)


def raw(data, name, header):
    plain = data / name
    content = (
        plain.read_bytes()
        if plain.is_file()
        else gzip.decompress((data / f"{name}.gz").read_bytes())
    )
    return np.frombuffer(content, np.uint8, offset=header)


@pytest.mark.parametrize("name", ["mnist:4vs9", "fash:COvsSH", "fash:SAvsBO", "fash:TOvsPU"])
def test_rows_keep_their_order_and_the_first_class_is_negative(name, data):
    folder, first, second = PAIRS[name]
    dataset = load(name)
    for part, X, y in (
        ("train", dataset.X_train, dataset.y_train),
        ("t10k", dataset.X_test, dataset.y_test),
    ):
        classes = raw(data, f"{folder}/{part}-labels-idx1-ubyte", 8)
        images = raw(data, f"{folder}/{part}-images-idx3-ubyte", 16).reshape(-1, 784)
        kept = np.isin(classes, [first, second])
        np.testing.assert_array_equal(np.where(y == -1, first, second), classes[kept])
        np.testing.assert_array_equal(X[:50], images[kept][:50].astype(np.float32) / 255)


def test_the_names_of_the_pairs_are_these_classes():
    names = ["TO", "", "PU", "", "CO", "SA", "SH", "", "", "BO"]
    for task, (folder, first, second) in PAIRS.items():
        kind, _, pair = task.partition(":")
        found = f"{first}vs{second}" if kind == "mnist" else f"{names[first]}vs{names[second]}"
        assert pair == found
        assert folder == {"mnist": "mnist", "fash": "fashion-mnist"}[kind]
