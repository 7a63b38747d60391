"""Labels that are missing, or only look so: what is said, kept, left out, and checked again."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES

from certivote.tables import read_table
from certivote.tables.asked import USUALLY_MISSING
from options import trees

SMALL = ("--target", "grade", *trees(3), "--out", "o")
FILES = ("o/certificate.json", "--model", "o/model.joblib", "--data", "t.csv")


@pytest.fixture
def grades(tmp_path):
    """Grades of which many are called None and some are left empty, as pandas writes them."""
    rng, m = np.random.default_rng(0), 300
    grade = rng.choice(["None", "pass"], m)
    frame = pd.DataFrame(
        {
            "a": np.round(rng.normal(size=m) + (grade == "pass"), 3),
            "b": rng.choice(["NA", "-", "x"], m),
            "grade": grade,
        }
    )
    frame.to_csv(tmp_path / "full.csv", index=False)
    frame.loc[:11, "grade"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    return frame


def test_the_usual_texts_are_those_of_pandas_and_a_question_mark():
    assert set(USUALLY_MISSING) == STR_NA_VALUES | {"?"}


def test_texts_that_read_as_missing_are_named(grades, invoke, tmp_path):
    n = int((grades["grade"] == "None").sum())
    done = invoke("certify", "t.csv", *SMALL, cwd=tmp_path, status=2)
    words = " ".join(done.stderr.split())
    assert f"the target 'grade' of t.csv holds the text 'None' in {n:,} rows, which" in words
    assert all(option in words for option in ("--keep-na", "--na-values", "--drop-missing-target"))


def test_texts_are_kept(grades, tmp_path):
    path = str(tmp_path / "full.csv")
    table = read_table(path, "grade", keep_na=True)
    plain = pd.read_csv(path, na_filter=False)
    assert table.y.tolist() == plain["grade"].tolist()
    # Only in the target.
    assert table.X["b"].isna().tolist() == (plain["b"] == "NA").tolist()
    assert table.provenance["keep_na"] is True


def test_a_cell_without_text_is_missing_whatever_is_kept(grades, invoke, tmp_path):
    done = invoke("certify", "t.csv", *SMALL, "--keep-na", cwd=tmp_path, status=2)
    assert "is missing in 12 of 300 rows" in done.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_texts_that_are_named_stand_instead_of_the_usual_ones(kind, grades, tmp_path):
    path = tmp_path / f"full.{kind}"
    plain = pd.read_csv(tmp_path / "full.csv", na_filter=False)
    if kind == "parquet":
        plain.to_parquet(path)
    table = read_table(str(path), "grade", na_values=("-", "x"))
    assert table.X["b"].isna().tolist() == plain["b"].isin(["-", "x"]).tolist()
    assert set(table.X["b"].dropna()) == {"NA"}
    assert table.y.tolist() == plain["grade"].tolist()
    assert json.loads(table.provenance["na_values"]) == ["-", "x"]


def test_rows_without_a_label_are_left_out_and_said(grades, invoke, tmp_path):
    options = ("--drop-missing-target", "--keep-na")
    done = invoke("certify", "t.csv", *SMALL, *options, cwd=tmp_path)
    finding = "12 of 300 rows had no label and were left out"
    assert finding in " ".join(done.stdout.split())
    made = json.loads((tmp_path / "o" / "certificate.json").read_text(encoding="utf-8"))
    assert made["provenance"]["rows_without_label"] == 12
    assert made["n_samples"] == 144
    assert any(text.startswith(finding) for text in made["findings"])
    # The same rows without them give the same certificate.
    grades[grades["grade"] != ""].to_csv(tmp_path / "rest.csv", index=False)
    arguments = (*SMALL[:-1], "other", "--keep-na")
    invoke("certify", "rest.csv", *arguments, cwd=tmp_path)
    other = json.loads((tmp_path / "other" / "certificate.json").read_text(encoding="utf-8"))
    assert made["risk_bound"] == other["risk_bound"]
    invoke("verify", *FILES, cwd=tmp_path)


def test_left_out_texts_are_named(grades, tmp_path):
    grades["grade"] = np.where(np.arange(300) < 5, "nan", np.where(grades["a"] > 0.5, "u", "v"))
    grades.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(str(tmp_path / "t.csv"), drop_missing_target=True)
    assert len(table.y) == len(table.X) == 295
    assert "Read as missing was the text 'nan' in 5 rows." in table.findings[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"keep_na": None}, "rows_without_label is claimed to be 12"),
        ({"rows_without_label": None}, "is not as the certificate says"),
        ({"rows_without_label": 11}, "rows_without_label is claimed to be 11, but 12"),
        ({"na_values": '["pass"]', "keep_na": None}, "rows_without_label is claimed to be 12"),
    ],
)
def test_another_reading_than_the_one_claimed_is_found(changes, words, grades, invoke, tmp_path):
    grades["grade"] = (
        grades["grade"].mask(np.arange(300) % 3 == 0, "fail").mask(np.arange(300) < 12, "")
    )
    grades.to_csv(tmp_path / "t.csv", index=False)
    options = ("--drop-missing-target", "--keep-na", "-q")
    invoke("certify", "t.csv", *SMALL, *options, cwd=tmp_path)
    path = tmp_path / "o" / "certificate.json"
    made = json.loads(path.read_text(encoding="utf-8"))
    made["provenance"] |= changes
    made["provenance"] = {k: v for k, v in made["provenance"].items() if v is not None}
    path.write_text(json.dumps(made), encoding="utf-8")
    done = invoke("verify", *FILES, cwd=tmp_path, status=1)
    assert words in " ".join(done.stderr.split())


def test_a_finding_that_was_taken_out_is_missed(grades, invoke, tmp_path):
    invoke("certify", "t.csv", *SMALL, "--drop-missing-target", "--keep-na", "-q", cwd=tmp_path)
    path = tmp_path / "o" / "certificate.json"
    made = json.loads(path.read_text(encoding="utf-8"))
    made["findings"] = []
    path.write_text(json.dumps(made), encoding="utf-8")
    done = invoke("verify", *FILES, cwd=tmp_path, status=1)
    assert "leaves out a finding" in " ".join(done.stderr.split())


@pytest.mark.parametrize("options", [(), ("--drop-missing-target",), ("--keep-na",)])
@pytest.mark.parametrize(("text", "words"), [("", "in all 300 rows"), ("NA", "'NA' in 300 rows")])
def test_a_target_that_is_all_missing(text, words, options, grades, invoke, tmp_path):
    grades.assign(grade=text).to_csv(tmp_path / "t.csv", index=False)
    done = invoke("certify", "t.csv", *SMALL, *options, cwd=tmp_path, status=2)
    if text and "--keep-na" in options:
        words = "one value only, 'NA'"
    assert words in " ".join(done.stderr.split())


def test_labels_that_differ_by_capitals_and_blanks(grades, tmp_path):
    path = tmp_path / "t.csv"
    grades.assign(grade=["Yes", "yes ", "yes", "no", "No idea"] * 60).to_csv(path, index=False)
    (finding,) = read_table(str(path)).findings
    assert "'grade' has labels that differ by capitals or blanks only" in finding
    assert "'Yes' and 'yes' and 'yes '." in finding
    assert "'no'" not in finding
    grades.assign(grade=["yes", "no", "no idea"] * 100).to_csv(path, index=False)
    assert read_table(str(path)).findings == []


def test_too_many_classes(tmp_path):
    path, rng = tmp_path / "t.csv", np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=4000)})
    frame.assign(y=[f"c{i % 1001}" for i in range(4000)]).to_csv(path, index=False)
    with pytest.raises(ValueError, match="'y' has 1001 different values in 4000 rows"):
        read_table(str(path))
    frame.assign(y=[f"c{i % 1000}" for i in range(4000)]).to_csv(path, index=False)
    assert len(np.unique(read_table(str(path)).y)) == 1000


def test_whole_numbers_that_are_a_quantity(tmp_path):
    path, rng = tmp_path / "t.csv", np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=4000), "y": np.arange(4000) % 150})
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"above and below a limit, or .* categorical 'y'"):
        read_table(str(path))
    assert read_table(str(path), categorical=["y"]).y.tolist() == frame["y"].tolist()


def test_what_is_built_in_has_nothing_missing(invoke, tmp_path):
    for options in (("--keep-na",), ("--na-values", "x"), ("--drop-missing-target",)):
        done = invoke("certify", *options, cwd=tmp_path, status=2)
        assert f"{options[0]} is for files" in done.stderr


def test_predict_reads_missing_values_as_the_certificate_says(invoke, tmp_path):
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "NA", "blue"], 200)
    frame = pd.DataFrame({"colour": colour, "size": rng.normal(size=200)})
    frame["label"] = np.where(colour == "NA", "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--na-values", "gone", *trees(5), "--out", "o", "--target", "label")
    invoke("certify", "t.csv", *options, cwd=tmp_path)
    done = invoke("predict", "o/model.joblib", "t.csv", "-q", cwd=tmp_path)
    predicted = pd.read_csv(io.StringIO(done.stdout), keep_default_na=False)["prediction"]
    # NA is a colour here: read as missing it would be another one, that no tree has seen.
    assert predicted.tolist() == frame["label"].tolist()
