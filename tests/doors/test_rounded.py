"""Rows that come again in one table, but for rounding."""

import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from certivote import MajorityVoteClassifier, certify_model
from certivote.classifiers._fingerprints import alike_rounded


def small(**settings):
    return MajorityVoteClassifier("trees", n_voters=5, random_state=0, **settings)


def joined_with_rounded(X, y, how):
    copy = X.astype(np.float16).astype(float) if how == "float16" else np.round(X, how)
    return np.concatenate([copy, X]), np.concatenate([y, y])


@pytest.mark.parametrize("how", [2, 4, "float16"])
def test_a_table_joined_with_a_rounded_copy_is_found(how):
    """All labels are by chance, and trees that know a row's copy know its label."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)) * [1.0, 5.0, 20.0, 100.0], rng.integers(2, size=400)
    words = "like another one when rounded"
    both = joined_with_rounded(X, y, how)
    model = DecisionTreeClassifier(max_depth=3).fit(rng.normal(size=X.shape), y)
    for door in (
        lambda X, y: small().fit(X, y).certificate_,
        lambda X, y: small(certification="oob").fit(X, y).certificate_,
        lambda X, y: certify_model(model, X, y),
        lambda X, y: small().fit(rng.normal(size=X.shape), y).certify(X, y),
    ):
        with pytest.warns(UserWarning, match=words):
            certificate = door(*both)
        assert any(words in text for text in certificate.findings)
        assert "duplicates" not in certificate.checks
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "duplicates" in door(X, y).checks
    with pytest.warns(UserWarning, match=words):
        vote = small().fit(*both)
    vote.verify(*both)


def test_rounded_copies_in_one_group_are_no_finding():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(2, size=400)
    groups = np.tile(np.arange(400), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small().fit(*joined_with_rounded(X, y, 3), groups=groups)


WORLDS = {
    "one column": lambda rng, m: rng.normal(size=(m, 1)),
    "many columns": lambda rng, m: rng.normal(size=(m, 12)),
    "heavy tails": lambda rng, m: rng.standard_cauchy((m, 3)),
    "a narrow range": lambda rng, m: 1000.0 + rng.random((m, 2)),
    "few decimals": lambda rng, m: np.round(rng.gamma(2.0, 10.0, size=(m, 2)), 1),
    "half zeros": lambda rng, m: np.where(rng.random((m, 3)) < 0.5, 0.0, rng.normal(size=(m, 3))),
    "tight clusters": lambda rng, m: (
        rng.normal(size=(50, 6))[rng.integers(50, size=m)] + 1e-3 * rng.normal(size=(m, 6))
    ),
    "clusters of two": lambda rng, m: (
        rng.normal(size=(m // 2, 6))[rng.integers(m // 2, size=m)] + 1e-3 * rng.normal(size=(m, 6))
    ),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_independent_rows_are_alike_when_rounded_as_by_chance(world):
    rng = np.random.default_rng(0)
    for m in (60, 400, 2500):
        for _ in range(10):
            assert alike_rounded(world(rng, m), m // 100) is None


def test_of_many_rows_those_in_some_cells_are_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250_000, 3))
    assert alike_rounded(X, 2_500) is None
    alike = alike_rounded(np.concatenate([X, np.round(X[:50_000], 5)]), 3_000)
    assert 3_000 < alike.rows < 60_000
