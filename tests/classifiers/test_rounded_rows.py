"""Rows of the fit that come again in another precision."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator

from certivote import MajorityVoteClassifier, certify_model
from certivote.classifiers import _guards
from certivote.classifiers._fingerprints import SeenRows, row_fingerprints

X, Y = make_classification(1600, 12, n_informative=6, flip_y=0.2, random_state=1)
OLD, NEW = slice(0, 600), slice(600, None)
ORDER = np.random.default_rng(0).permutation(600)
FORMS = {
    "float16": lambda rows: rows.astype(np.float16),
    "6 digits": lambda rows: np.round(rows, 6),
    "4 digits": lambda rows: np.round(rows, 4),
    "3 significant": lambda rows: np.vectorize(lambda x: float(f"{x:.3g}"))(rows),
    "frame": lambda rows: pd.DataFrame(np.round(rows, 5)),
}


def small(**settings):
    return MajorityVoteClassifier(
        **{"voters": "trees", "n_voters": 5, "random_state": 0, **settings}
    )


def found(certificate):
    return [text for text in certificate.findings if "rows of the fit when rounded" in text]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rounded_rows_of_the_fit_are_found(form, tmp_path):
    first = small().fit(pd.DataFrame(X[OLD]) if form is FORMS["frame"] else X[OLD], Y[OLD])
    joblib.dump(first, tmp_path / "vote.joblib")
    vote = joblib.load(tmp_path / "vote.joblib")
    rows, y = form(X[OLD][ORDER]), Y[OLD][ORDER]
    assert vote.known_share(rows) < 0.1  # by their last digits they are others
    around = small(voters=FrozenEstimator(vote))
    for certificate in (
        vote.certify(rows, y),
        certify_model(vote, rows, y),
        around.fit(rows, y).certificate_,
        first.partial_fit(rows, y).certificate_,
    ):
        (finding,) = found(certificate)
        known = int(finding.split()[0])
        assert 300 < known <= 600
        assert "training rows" not in certificate.checks
    vote.verify(rows, y, vote.certify(rows, y))


def test_new_rows_are_none_and_the_check_says_what_was_compared():
    vote = small().fit(X[OLD], Y[OLD])
    certificate = vote.certify(X[NEW], Y[NEW])
    assert certificate.findings == ()
    told = certificate.checks["training rows"]
    assert told.startswith("None of the 1000 rows is known from the fit, compared to seven digits.")
    assert "Rounded to 1 digit in 12 columns of broken numbers, none is like one of these." in told
    vote.verify(X[NEW], Y[NEW], certificate)


@pytest.mark.parametrize("columns", [1, 2, 3, 8])
@pytest.mark.parametrize("digits", [0, 1, 2, 6])
def test_new_rows_with_few_values_or_columns_are_no_finding(columns, digits):
    """Rows of few columns, or few digits, agree by chance: none of these was seen."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = np.round(rng.normal(size=(3000, columns)), digits)
        y = (rows[:, 0] + rng.normal(size=3000) > 0).astype(int)
        seen = small().fit(rows[:1000], y[:1000])._seen
        with_more = small().fit(rows[:400], y[:400])._seen
        for memory, new in ((seen, slice(1000, None)), (with_more, slice(400, 1000))):
            look = _guards.Examination()
            _guards.rounded_rows(look, memory, rows[new], row_fingerprints(rows[new]))
            assert look.findings == []


def test_as_rows_are_added_chance_is_still_excluded():
    """Batch after batch of new rows in two columns: rounded ones are alike by chance at last."""
    rng = np.random.default_rng(0)
    memory, told = SeenRows(), []
    for _ in range(60):
        X = rng.normal(size=(400, 2))
        rows = row_fingerprints(X)
        look = _guards.Examination()
        _guards.rounded_rows(look, memory, X, rows)
        assert look.findings == []
        memory.add(rows)
        memory.add_rounded(X)
        told.append(memory.known_rounded(X, rows) is not None)
    # It was looked for as long as it tells anything, and not again after that.
    assert told[0]
    assert not told[-1]
    assert sorted(told, reverse=True) == told


def test_votes_of_before_know_nothing_of_rounding():
    vote = small().fit(X[OLD], Y[OLD])
    for name in ("_rounded", "_columns", "_bits"):
        vars(vote._seen).pop(name, None)
    certificate = vote.certify(X[NEW], Y[NEW])
    assert certificate.checks["training rows"].endswith("compared to seven digits.")


def test_few_rows_are_alike_by_chance():
    """Forty numbers may all differ in two digits, and each of eighty new ones meets forty."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.integers(2, size=(120, 3)), rng.random(120)])
        y = (X[:, 3] > 0.5).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what else is said of so few rows
            vote = MajorityVoteClassifier("trees", n_voters=2, random_state=0).fit(X[:40], y[:40])
            certificate = vote.certify(X[40:], y[40:])
        assert not any("when rounded" in text for text in certificate.findings)
