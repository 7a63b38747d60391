"""Labels of every type, odd names, classes that are known but not seen, and columns of groups."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from certivote import Certificate, certify, certify_model, verify_model
from certivote.claims import ClassFamily, CostFamily

ALL = ["recall", "precision", "f1", "balanced", "error by g"]
RNG = np.random.default_rng(0)
M = 240
CODES = (RNG.random(M) < 0.4).astype(int)
ANSWERS = np.where(RNG.random(M) < 0.1, 1 - CODES, CODES)
GROUPS = RNG.choice(["x", "y", "z"], size=M)


class Named(ClassifierMixin, BaseEstimator):
    """Answer what stands in a column, in words of its own; it may know more classes than these."""

    def __init__(self, words=(0, 1), classes=None, dtype=None):
        self.words = words
        self.classes = classes
        self.dtype = dtype
        if classes is not None:
            self.classes_ = np.asarray(classes, dtype=dtype)

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(self.words, dtype=self.dtype)[np.asarray(X)[:, 0].astype(int)]


def rows(codes):
    """The rows of a table whose first column is what `Named` answers, each another one."""
    return np.column_stack([codes, np.arange(len(codes))])


def labels(words, codes, dtype=None):
    """The labels of examples, in an array of just this type."""
    values = np.empty(len(words), dtype=dtype or np.asarray(words).dtype)
    values[:] = words
    return values[codes]


TYPES = {
    "ints": [3, -7],
    "bools": [False, True],
    "floats": [0.5, 2.0],
    "text": ["no", "yes"],
    "odd text": ["a b", 'it\'s "so"'],
    "empty text": ["", " "],
    "steering text": ["<b>x</b>", "line\nbreak \x1b[31m"],
    "letters of all kinds": ["日本", "ünïcode"],
    "numbers as text": ["1", "1.0"],
    "bytes": [b"a", b"b"],
    "dates": [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
}
OBJECTS = {
    "ints": [10**30, 1],
    "text": ["no", "yes"],
    "dates": [date(2020, 1, 1), date(2021, 1, 1)],
}


@pytest.mark.parametrize("name", TYPES)
def test_labels_of_every_type(name, tmp_path):
    words = TYPES[name]
    y, predicted = labels(words, CODES), labels(words, ANSWERS)
    certificate = certify(predicted, y, claims=ALL, by={"g": GROUPS})
    plain = certify(ANSWERS, CODES, claims=ALL, by={"g": GROUPS})
    assert sorted((claim.upper or 0, claim.lower or 0) for claim in certificate.claims) == sorted(
        (claim.upper or 0, claim.lower or 0) for claim in plain.claims
    )
    called = [str(word) for word in sorted(words)]
    assert [claim.about for claim in certificate.claims[1:3]] == [f"recall of {x}" for x in called]
    certificate.verify(predicted, y, by={"g": GROUPS})
    certificate.to_json(tmp_path / "c.json")
    assert Certificate.from_json(tmp_path / "c.json") == certificate


@pytest.mark.parametrize("name", OBJECTS)
def test_labels_that_are_objects(name):
    words = OBJECTS[name]
    y, predicted = (labels(words, codes, object) for codes in (CODES, ANSWERS))
    certificate = certify(predicted, y, claims=ALL, by={"g": y})
    assert certificate.claims[1].about == f"recall of {min(words)}"
    certificate.verify(predicted, y, by={"g": y})


MIXED = {
    "answers are floats": (CODES, (0.0, 1.0), float),
    "labels are floats": (CODES.astype(float), (0, 1), int),
    "labels are true or false": (CODES.astype(bool), (0, 1), int),
    "answers are true or false": (CODES, (False, True), bool),
    "labels are objects": (CODES.astype(object), (0, 1), int),
    "answers are objects": (labels(["no", "yes"], CODES), ("no", "yes"), object),
    "short integers": (CODES.astype(np.int8), (0, 1), np.uint64),
}


@pytest.mark.parametrize("name", MIXED)
def test_classes_are_called_as_they_are_in_the_labels(name):
    """A classifier may have learned 1.0 where 1 is the label: the same class, with one name."""
    y, words, dtype = MIXED[name]
    model = Named(words, classes=words, dtype=dtype)
    certificate = certify_model(model, rows(ANSWERS), y, claims=ALL, by={"g": GROUPS})
    called = [str(label) for label in np.unique(y)]
    for claim, what in zip(certificate.claims[1:3], called, strict=True):
        assert claim.about == f"recall of {what}"
    assert {family.name: list(family.evidence) for family in certificate.families} == {
        "recall": called,
        "precision": called,
        "f1": called,
        "error by g": ["x", "y", "z"],
    }
    verify_model(model, rows(ANSWERS), y, certificate, by={"g": GROUPS})


def test_1_and_its_text_are_two_groups():
    column = np.array([1, "1", 2.5, "a b"] * (M // 4), dtype=object)
    certificate = certify(ANSWERS, CODES, claims=["error by g"], by={"g": column})
    assert [claim.about for claim in certificate.claims[1:]] == [
        *("error where g = 1", "error where g = '1'"),
        *("error where g = 2.5", "error where g = 'a b'"),
    ]
    certificate.verify(ANSWERS, CODES, by={"g": column})


def test_odd_names_are_quoted_in_sentences():
    y = labels(["a b", "c-d.e"], CODES)
    column = labels(["x'y", "ok"], ANSWERS)
    claims = certify(y, y, claims=["recall", "error by my column"], by={"my column": column}).claims
    assert claims[1].statement.startswith("On examples of class 'a b' it errs")
    assert claims[2].statement.startswith("On examples of class c-d.e it errs")
    assert claims[3].statement.startswith("Where 'my column' = ok it errs")
    assert claims[4].statement.startswith("Where 'my column' = \"x'y\" it errs")


# --- classes that are known, but not seen ---


def test_a_class_that_is_known_and_not_seen():
    model = Named((0, 1), classes=(0, 1, 2))
    certificate = certify_model(model, rows(ANSWERS), CODES, claims=["recall", "balanced", "f1"])
    _, zero, one, two, balanced, f1 = certificate.claims
    assert two.lower == 0.0
    assert two.statement == (
        "On examples of class 2 it errs with probability at most 1.0000. That says nothing."
    )
    assert balanced.upper == pytest.approx((2 - zero.lower - one.lower + 1) / 3, abs=1e-9)
    fewer = certify_model(Named(), rows(ANSWERS), CODES, claims=["recall", "balanced", "f1"])
    # What is seen is claimed as if the other class were not there.
    assert [claim.lower for claim in fewer.claims[1:3]] == [zero.lower, one.lower]
    assert f1.lower == pytest.approx(fewer.claims[-1].lower * 2 / 3, abs=1e-9)
    verify_model(model, rows(ANSWERS), CODES, certificate)
    certificate.verify(ANSWERS, CODES)
    with pytest.raises(ValueError, match="the evidence for 'recall' is claimed to be"):
        verify_model(model, rows(ANSWERS), CODES, fewer)


def test_frequencies_of_a_class_that_is_not_seen():
    asked = ClassFamily(recall=False, frequencies=({"0": 0.5, "2": 0.5},))
    model = Named((0, 1), classes=(0, 1, 2))
    (_, claim) = certify_model(model, rows(ANSWERS), CODES, claims=[asked]).claims
    assert 0.5 < claim.upper < 0.6
    with pytest.raises(ValueError, match="must be of the classes, got '2': there are 0, 1"):
        certify_model(Named(), rows(ANSWERS), CODES, claims=[asked])


def test_an_answer_that_is_no_class_of_the_sample():
    y, predicted = np.zeros(50, dtype=int), np.repeat([0, 7], [45, 5])
    certificate = certify(predicted, y, claims=["recall", "precision", "f1"])
    recall, precision, f1 = certificate.families
    assert list(recall.evidence) == ["0"]
    assert precision.evidence["7"] == {"vote_errors": 5, "vote_size": 5}
    assert f1.evidence["7"] == {"right": 0, "true_or_answered": 5}
    certificate.verify(predicted, y)


def test_costs_need_the_classes_that_are_known():
    costs = CostFamily(classes=[0, 1], costs=[[0, 1], [1, 0]])
    model = Named((0, 1), classes=(0, 1, 2))
    with pytest.raises(ValueError, match="lack '2'"):
        certify_model(model, rows(ANSWERS), CODES, claims=[costs])
    more = CostFamily(classes=[2, 1, 0], costs=1 - np.eye(3))
    certificate = certify_model(model, rows(ANSWERS), CODES, claims=[more])
    assert certificate.families[0].evidence == {
        "n_samples": M,
        "at_least": [int(np.sum(ANSWERS != CODES))],
    }


def test_another_word_for_the_positive_class():
    y = labels(["dead", "alive"], CODES)
    certificate = certify_model(
        Named(), rows(ANSWERS), y, positive="alive", claims=["recall", "precision", "f1 of alive"]
    )
    assert [claim.about for claim in certificate.claims[1:]] == [
        *("recall of alive", "recall of dead", "precision of alive", "precision of dead"),
        "f1 of alive",
    ]
    plain = certify_model(
        Named(), rows(ANSWERS), CODES, claims=["recall", "precision", "f1 of 1"]
    ).claims
    assert certificate.claims[1].lower == plain[2].lower
    assert certificate.claims[-1].lower == plain[-1].lower
    verify_model(Named(), rows(ANSWERS), y, certificate)


# --- columns ---


def claim_by(column, name="g", **given):
    y = given.get("y", CODES)
    predicted = given.get("predicted", ANSWERS)
    return certify(predicted, y, claims=["error by g"], by={name: column})


@pytest.mark.parametrize(
    "column",
    [
        [None, *GROUPS[1:]],
        np.array([np.nan, *range(M - 1)]),
        np.array(["NaT", *["2020-01-01"] * (M - 1)], dtype="datetime64[D]"),
        pd.Series([pd.NA, *GROUPS[1:]]),
        pd.Series([None, *GROUPS[1:]], dtype="category"),
        np.ma.masked_array(CODES, mask=CODES == 1),
    ],
)
def test_missing_groups_are_refused(column):
    with pytest.raises(ValueError, match=r"by\['g'\] must not"):
        claim_by(column)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"g": GROUPS[1:]}, r"by\['g'\] must have one value for each of 240 examples, got 239"),
        ({"g": GROUPS[:, None]}, r"by\['g'\] must have 1 dimension"),
        ({"g": []}, r"by\['g'\] must not be empty"),
        ({"gg": GROUPS}, "column 'g' that is claimed: did you mean 'gg'"),
        ({"group": GROUPS}, "column 'g' that is claimed: there are group"),
        ({}, "it is empty"),
        (None, "it is empty"),
        (GROUPS, "by must be columns by their names"),
        ({3: GROUPS}, "by must be columns by their names"),
    ],
)
def test_columns_that_are_none_are_refused(by, message):
    with pytest.raises(ValueError, match=message):
        certify(ANSWERS, CODES, claims=["error by g"], by=by)


def test_a_name_that_is_nearly_right():
    with pytest.raises(ValueError, match="did you mean 'region'"):
        certify(ANSWERS, CODES, claims=["error by regoin"], by={"region": GROUPS})


@pytest.mark.parametrize("beside", ["y", "votes"])
def test_rows_in_another_order_are_refused(beside):
    """Whichever table has an index: a column in another order says something else."""
    given = {"votes": ANSWERS, "y": CODES}
    given[beside] = pd.Series(given[beside])
    column = {"g": pd.Series(GROUPS)[::-1]}
    message = rf"{beside} and by\['g'\] must have the same index"
    with pytest.raises(ValueError, match=message):
        certify(**given, claims=["error by g"], by=column)
    certificate = certify(**given, claims=["error by g"], by={"g": pd.Series(GROUPS)})
    with pytest.raises(ValueError, match=message):
        certificate.verify(**given, by=column)


def test_rows_in_another_order_than_the_data_are_refused():
    X, column = pd.DataFrame(rows(ANSWERS)), {"g": pd.Series(GROUPS)[::-1]}
    with pytest.raises(ValueError, match=r"X and by\['g'\] must have the same index"):
        certify_model(Named(), X, CODES, claims=["error by g"], by=column)


def test_columns_of_every_kind_say_the_same():
    plain = claim_by(GROUPS)
    for column in (
        GROUPS.tolist(),
        GROUPS.astype(object),
        pd.Series(GROUPS),
        pd.Series(GROUPS, dtype="category"),
        pd.Series(GROUPS, dtype="string"),
    ):
        assert claim_by(column).families == plain.families


def test_more_than_a_thousand_values_are_no_groups():
    y = np.zeros(1001, dtype=int)
    with pytest.raises(ValueError, match=r"would be 1001 claims: .* at most 1000"):
        certify(y, y, claims=["error by id"], by={"id": np.arange(1001)})
    fine = certify(y, y, claims=["error by id"], by={"id": np.arange(1001) % 1000})
    assert len(fine.claims) == 1001
    with pytest.raises(ValueError, match="'recall' would be 1001 claims"):
        certify(np.arange(1001), np.arange(1001), claims=["recall"])
