"""``certivote predict``: the labels of the saved vote, whatever else the file holds."""

import io
import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

from options import trees

FEATURES = ["income", "age", "city", "branch"]


@pytest.fixture(scope="module")
def fresh():
    """50 rows without labels, some of them with gaps."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "income": np.round(rng.normal(0.5, 0.8, 50), 3),
            "age": rng.integers(18, 85, 50),
            "city": rng.choice(["Metz", "Lyon", "Paris"], 50).astype(object),
            "branch": rng.integers(101, 110, 50),
        }
    )
    frame.loc[:3, "income"] = np.nan
    frame.loc[2:5, "city"] = None
    return frame


@pytest.fixture
def predict(invoke, certified, tmp_path):
    """Predict the rows of a frame from a CSV file."""

    def predict(frame, *arguments, status=0, model=certified.model_path):
        frame.to_csv(tmp_path / "fresh.csv", index=False)
        return invoke("predict", model, "fresh.csv", *arguments, cwd=tmp_path, status=status)

    return predict


def read(text):
    return pd.read_csv(io.StringIO(text))


def test_labels_are_those_of_the_loaded_vote(run, certified, fresh, as_trained, tmp_path):
    fresh.to_csv(tmp_path / "fresh.csv", index=False)
    done = run("predict", certified.model_path, "fresh.csv", cwd=tmp_path)
    labels = read(done.stdout)
    assert list(labels.columns) == ["prediction", "share"]
    expected = certified.vote.predict(as_trained(fresh, certified.vote))
    assert labels["prediction"].tolist() == expected.tolist()
    assert set(expected) == {"no", "yes"}
    assert done.stderr.startswith("note: ")
    assert "runs code" in done.stderr


def test_several_files_are_one_table(predict, invoke, fresh, certified, tmp_path):
    whole = predict(fresh, "-q").stdout
    fresh.iloc[:7].to_csv(tmp_path / "a.csv", index=False)
    fresh.iloc[7:].to_csv(tmp_path / "b.csv", index=False)
    parts = ("predict", certified.model_path, "a.csv", "b.csv", "-q")
    assert invoke(*parts, cwd=tmp_path).stdout == whole
    done = invoke(*parts, "--out", "b.csv", cwd=tmp_path, status=2)
    assert "b.csv is b.csv, which would be lost" in done.stderr


def test_shares_are_of_the_vote(predict, fresh, certified, as_trained):
    frame = read(predict(fresh, "--shares").stdout)
    shares = frame[["share no", "share yes"]].to_numpy()
    assert np.allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert np.allclose(
        shares, certified.vote.predict_proba(as_trained(fresh, certified.vote)), atol=1e-12
    )
    winners = np.where(shares[:, 1] > shares[:, 0] + 1e-12, "yes", "no")
    assert frame["prediction"].tolist() == winners.tolist()


def test_shares_are_written_without_the_dust_of_sums(predict, fresh):
    """As 0.62, not as 0.6199999999999999."""
    table = pd.read_csv(io.StringIO(predict(fresh, "--shares", "-q").stdout), dtype=str)
    for name in ("share", "share no", "share yes"):
        assert max(len(text) for text in table[name]) <= len("0.") + 12


def test_out_is_a_file(predict, fresh, tmp_path):
    printed = predict(fresh, "--shares").stdout
    done = predict(fresh, "--shares", "--out", "labels.csv")
    assert done.stdout == ""
    assert "Written: labels.csv" in done.stderr
    assert (tmp_path / "labels.csv").read_text(encoding="utf-8") == printed
    assert {path.name for path in tmp_path.iterdir()} == {"fresh.csv", "labels.csv"}


def test_json_and_quiet(predict, fresh):
    frame = read(predict(fresh, "--shares").stdout)
    done = predict(fresh, "--shares", "--json")
    records = json.loads(done.stdout)
    assert done.stderr == ""
    assert [record["prediction"] for record in records] == frame["prediction"].tolist()
    shares = [record["share yes"] for record in records]
    assert shares == pytest.approx(frame["share yes"].tolist(), abs=1e-9)
    assert predict(fresh, "--quiet").stderr == ""


def test_order_of_columns_and_other_columns_do_not_matter(predict, fresh):
    plain = read(predict(fresh).stdout)
    odd = [f"{i}" if i % 2 else "a" for i in fresh.age]
    mixed = fresh[FEATURES[::-1]].assign(note="x", odd=odd)
    for arguments in ((), ("--drop", "note")):
        frame = read(predict(mixed, *arguments).stdout)
        assert frame.columns.tolist() == ["note", "odd", "prediction", "share"]
        assert frame[["prediction", "share"]].equals(plain)
        assert frame["odd"].tolist() == odd


def test_columns_that_the_model_does_not_use_stay_as_they_are_written(predict, fresh):
    ids = [f"{i:03}" for i in range(46)] + ["NA", "?", "a,b", " 7.50"]
    frame = fresh.assign(id=ids, repaid="no")[["id", *FEATURES, "repaid"]]
    lines = predict(frame).stdout.splitlines()
    assert lines[0] == "id,repaid,prediction,share"
    assert [line.split(",no,")[0] for line in lines[1:]] == [*ids[:48], '"a,b"', " 7.50"]


def test_an_index_without_a_name_stays(invoke, certified, fresh, tmp_path):
    names = [f"{i:03}" for i in np.random.default_rng(0).permutation(50)]
    fresh.set_index(pd.Index(names)).to_csv(tmp_path / "f.csv")
    done = invoke("predict", certified.model_path, "f.csv", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0] == ",prediction,share"
    assert [line.split(",")[0] for line in lines[1:]] == names
    assert "the first column has no name, as an index of pandas: it is kept as it is" in done.stderr


def test_columns_of_parquet_stay(invoke, certified, fresh, tmp_path):
    days = pd.date_range("2020-01-01", periods=50)
    fresh.assign(id=np.arange(50) + 10**17, day=days).to_parquet(tmp_path / "f.parquet")
    frame = read(invoke("predict", certified.model_path, "f.parquet", cwd=tmp_path).stdout)
    assert frame["id"].tolist() == list(range(10**17, 10**17 + 50))
    assert frame["day"].tolist() == days.strftime("%Y-%m-%d").tolist()


def test_the_share_is_that_of_the_prediction(predict, fresh):
    frame = read(predict(fresh, "--shares").stdout)
    assert list(frame.columns) == ["prediction", "share", "share no", "share yes"]
    expected = np.where(frame["prediction"] == "yes", frame["share yes"], frame["share no"])
    assert frame["share"].tolist() == expected.tolist()
    assert frame["share"].min() >= 0.5 - 1e-12
    assert frame["share"].nunique() > 2


def test_names_that_are_taken(predict, fresh):
    mixed = fresh.assign(**{"prediction": "old", "prediction (table)": "older", "share yes": 1})
    done = predict(mixed, "--shares")
    frame = read(done.stdout)
    added = ["prediction", "share", "share no", "share yes"]
    tables = ["prediction (table)", "prediction (table) (table)", "share yes (table)"]
    assert frame.columns.tolist() == [*tables, *added]
    assert set(frame[tables[0]]) == {"old"}
    assert set(frame[tables[1]]) == {"older"}
    assert frame[added].equals(read(predict(fresh, "--shares").stdout))
    words = "note: 'prediction', 'share yes' of the table: called 'prediction (table)' here."
    assert words in done.stderr.splitlines()


@pytest.fixture
def own(numbers, tmp_path):
    """Save a classifier that was fitted on some of the numbers."""

    def own(model, names=True):
        X = numbers[list("abcde")]
        model.fit(X[:200] if names else X[:200].to_numpy(), numbers["label"][:200])
        joblib.dump(model, tmp_path / "own.joblib")
        return model

    return own


def test_a_classifier_of_ones_own_claims_a_probability(own, invoke, numbers, tmp_path):
    # Its threshold is not at a half: the predicted class is not always the likelier one.
    model = own(FixedThresholdClassifier(LogisticRegression(), threshold=0.8))
    numbers.assign(id=np.arange(400)).to_csv(tmp_path / "n.csv", index=False)
    frame = read(invoke("predict", "own.joblib", "n.csv", "--shares", cwd=tmp_path).stdout)
    names = ["label", "id", "prediction", "probability", "probability 0", "probability 1"]
    assert frame.columns.tolist() == names
    proba = model.predict_proba(numbers[list("abcde")])
    labels = model.predict(numbers[list("abcde")])
    assert frame["prediction"].tolist() == labels.tolist()
    expected = np.where(labels == 1, proba[:, 1], proba[:, 0])
    assert np.allclose(frame["probability"], expected, atol=1e-12)
    assert frame["probability"].min() < 0.5


def test_a_classifier_that_claims_nothing(own, invoke, numbers, tmp_path):
    model = own(RidgeClassifier())
    numbers.drop(columns="label").to_csv(tmp_path / "n.csv", index=False)
    frame = read(invoke("predict", "own.joblib", "n.csv", cwd=tmp_path).stdout)
    assert frame.columns.tolist() == ["prediction"]
    assert frame["prediction"].tolist() == model.predict(numbers[list("abcde")]).tolist()
    done = invoke("predict", "own.joblib", "n.csv", "--shares", "-q", cwd=tmp_path, status=2)
    assert done.stderr == (
        "error: own.joblib knows no shares or probabilities: leave --shares out.\n"
    )


def test_what_a_certificate_left_out_is_not_given_to_its_model(own, invoke, numbers, tmp_path):
    """A model that was fitted on an array counts columns, and does not know their names."""
    model = own(DecisionTreeClassifier(random_state=0), names=False)
    table = numbers.assign(id=np.arange(400))[["id", *numbers.columns]]
    table[200:].to_csv(tmp_path / "new.csv", index=False)
    options = ("--model", "own.joblib", "--drop", "id", "--target", "label", "--quiet")
    invoke("certify", "new.csv", *options, cwd=tmp_path)
    frame = read(invoke("predict", "new-certificate/model.joblib", "new.csv", cwd=tmp_path).stdout)
    assert frame.columns.tolist()[:3] == ["id", "label", "prediction"]
    expected = model.predict(table[200:][list("abcde")].to_numpy())
    assert frame["prediction"].tolist() == expected.tolist()
    assert frame["id"].tolist() == list(range(200, 400))


@pytest.mark.parametrize("form", ["fresh.parquet", "fresh.tsv"])
def test_forms_of_a_table(form, predict, invoke, certified, fresh, tmp_path):
    plain = predict(fresh).stdout
    if form.endswith("parquet"):
        fresh.to_parquet(tmp_path / form)
    else:
        fresh.to_csv(tmp_path / form, sep="\t", index=False)
    assert invoke("predict", certified.model_path, form, cwd=tmp_path).stdout == plain


@pytest.mark.parametrize("written", ["incomes", "Income", "in come"])
def test_a_missing_column_is_named_with_the_nearest_one(written, predict, fresh):
    done = predict(fresh.rename(columns={"income": written}), "--quiet", status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the model asks for a column 'income'")
    assert line.endswith(f"did you mean {written!r}?")


def test_a_name_that_is_far_is_not_meant(predict, fresh):
    """`outcome` is not `income`, though half of its letters are."""
    done = predict(fresh.rename(columns={"income": "outcome", "age": "stage"}), status=2)
    assert "did you mean" not in done.stderr
    done = predict(fresh.rename(columns={"income": "outcome"}), "--quiet", status=2)
    assert done.stderr.endswith("does not have: it has outcome, age, city, branch.\n")


def test_a_column_in_capitals_is_the_nearest_one(predict, fresh):
    done = predict(fresh.rename(columns={"age": "AGE"}), "--quiet", status=2)
    assert done.stderr.endswith("did you mean 'AGE'?\n")


def test_a_category_that_is_new_is_one_of_none(predict, fresh, certified, as_trained):
    strange = fresh.assign(city="Atlantis")
    labels = read(predict(strange, "--quiet").stdout)["prediction"]
    columns = certified.vote.voters_.groups[0].transformers["columns"]
    assert not columns.transform(as_trained(strange, certified.vote))[:, -4:].any()
    expected = certified.vote.predict(as_trained(strange, certified.vote))
    assert labels.tolist() == expected.tolist()


def test_types_are_those_that_the_model_was_trained_on(predict, fresh, certified, as_trained):
    # Whatever a file looks like by itself: all missing, all numbers, or both.
    for values in (None, 75, ["75", "Metz"] * 25):
        frame = fresh.assign(city=values)
        expected = certified.vote.predict(as_trained(frame, certified.vote))
        assert read(predict(frame).stdout)["prediction"].tolist() == expected.tolist(), values


def test_text_in_a_column_of_numbers_is_an_error_in_one_line(predict, fresh):
    done = predict(fresh.assign(age="old"), "--quiet", status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "'age'" in line


def test_numbers_that_are_names_stay_names(predict, invoke, loans, fresh, as_trained, tmp_path):
    """A model of ``--categorical branch`` knows which of its columns hold names."""
    for name, frame in (("whole", loans), ("gaps", loans.copy())):
        if name == "gaps":
            # With gaps, pandas reads whole numbers as fractions: 105 becomes 105.0.
            frame.loc[:20, "branch"] = np.nan
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        arguments = ("--drop", "id", "--categorical", "branch", *trees(5), "--quiet")
        invoke("certify", f"{name}.csv", *arguments, cwd=tmp_path)
        path = tmp_path / f"{name}-certificate" / "model.joblib"
        vote = joblib.load(path)
        columns = vote.voters_.groups[0].transformers["columns"]
        branches = columns.encoder_.categories_[1]
        assert {"104", "105", "106"} <= set(branches), name
        expected = vote.predict(as_trained(fresh, vote)).tolist()
        assert read(predict(fresh, model=path).stdout)["prediction"].tolist() == expected, name


def test_a_file_of_several_classifiers_is_refused(predict, fresh, certified, tmp_path):
    joblib.dump(list(certified.vote.voters_), tmp_path / "trees.joblib")
    done = predict(fresh, "--quiet", status=2, model="trees.joblib")
    assert done.stderr == "error: trees.joblib holds several classifiers: certify them first.\n"


@pytest.mark.parametrize("out", ["nowhere/labels.csv", "folder"])
def test_a_file_that_cannot_be_written_leaves_nothing(out, predict, fresh, tmp_path):
    (tmp_path / "folder").mkdir()
    done = predict(fresh, "--quiet", "--out", out, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "fresh.csv"}
    assert list((tmp_path / "folder").iterdir()) == []
