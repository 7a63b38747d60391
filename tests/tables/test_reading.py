"""A table read in Python: the number of the command line, and errors that name arguments."""

import json
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from certivote import Certificate, MajorityVoteClassifier
from certivote.cli.app import app
from certivote.tables import Table, read_table


@pytest.fixture
def path(tmp_path):
    """Rows of 60 towns with numbers, names, dates, truths, gaps and an index of pandas."""
    rng, m = np.random.default_rng(0), 600
    town = rng.integers(60, size=m)
    size = rng.normal(size=m) + town % 3
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, m), unit="D")
    frame = pd.DataFrame(
        {
            "town": [f"town {i}" for i in town],
            "size": np.where(rng.random(m) < 0.1, np.nan, size),
            "age": rng.integers(18_000, 80_000, m) / 1000,
            "colour": rng.choice(["red", "green", None], m),
            "day": days.strftime("%Y-%m-%d"),
            "flag": rng.random(m) < 0.5,
            "ill": np.where(size + rng.normal(size=m) > 1, "yes", "no"),
        }
    )
    frame.to_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def certified(path, *options, status=0):
    """Return the certificate that the command writes, or what it says where it fails."""
    out = path.with_name("out")
    arguments = [str(path), "--target", "ill", "--seed", "3", "--out", str(out), *options]
    done = CliRunner().invoke(app, ["certify", *arguments])
    assert done.exit_code == status, done.output
    return done.output if status else Certificate.from_json(out / "certificate.json")


@pytest.mark.parametrize(
    ("options", "asked", "fitted"),
    [
        (("--drop", "town"), {"drop": "town"}, ()),
        (("--group", "town"), {"group": "town"}, ("groups",)),
        (("--time", "day", "--drop", "town"), {"time": "day", "drop": ["town"]}, ("time",)),
    ],
)
def test_the_number_of_the_command_line(options, asked, fitted, path):
    expected = certified(path, *options)
    table = read_table(path, target="ill", **asked)
    vote = MajorityVoteClassifier(random_state=3)
    vote.fit(table.X, table.y, **{name: getattr(table, name) for name in fitted})
    assert vote.certificate_.risk_bound == expected.risk_bound
    assert vote.certificate_.n_samples == expected.n_samples
    told = table.annotate(vote.certificate_)
    assert told.provenance["data_sha256"] == expected.provenance["data_sha256"]
    assert set(told.findings) == set(expected.findings)
    assert told.checks == expected.checks


def test_what_python_makes_the_command_verifies(path, tmp_path):
    table = read_table(path, "ill")
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=3).fit(table.X, table.y)
    vote.certificate_ = table.annotate(vote.certificate_)
    vote.certificate_.to_json(tmp_path / "certificate.json")
    joblib.dump(vote, tmp_path / "vote.joblib")
    files = ["--model", str(tmp_path / "vote.joblib"), "--data", str(path), "--json"]
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "certificate.json"), *files])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["holds"] is True


def test_the_columns_are_those_of_pandas(path):
    table = read_table(str(path), target="ill", drop="town")
    # Older versions of pandas read numbers less exactly than Python.
    frame = pd.read_csv(path, index_col=0, converters={"size": lambda text: float(text or "nan")})
    assert isinstance(table, Table)
    assert table.y.tolist() == frame["ill"].tolist()
    np.testing.assert_array_equal(table.X["size"], frame["size"])
    seconds = (pd.to_datetime(frame["day"]) - pd.Timestamp(0)).dt.total_seconds()
    np.testing.assert_array_equal(table.X["day"], seconds)
    assert table.X["flag"].tolist() == frame["flag"].astype(str).tolist()
    gaps = {column["name"]: column["missing"] for column in table.reading["columns"]}
    assert gaps["colour"] == frame["colour"].isna().sum() > 0
    assert table.reading["classes"] == frame["ill"].value_counts().to_dict()


def test_rows_to_predict_have_no_target(path):
    table = read_table(path, "ill", drop="town")
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(table.X, table.y)
    new = path.with_name("new.csv")
    pd.read_csv(path, index_col=0).drop(columns="ill").to_csv(new, index=False)
    rows = read_table(new, drop="town", has_target=False)
    assert rows.y is None
    assert vote.predict(rows.X).tolist() == vote.predict(table.X).tolist()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "il"}, "{target} asks for a column 'il'"),
        ({"target": "age"}, "Name a column of classes with {target}"),
        ({"target": "ill", "drop": ["twn"]}, "{drop} asks for a column 'twn'"),
        ({"target": "ill", "group": "colour"}, "{group} 'colour' is missing in"),
        ({"target": "ill", "time": "flag"}, "{time} 'flag' of"),
        ({"target": "ill", "group": "ill"}, "neither {group} nor {time}"),
        ({"target": "colour"}, "leave these rows out with {drop_missing_target}"),
    ],
)
def test_errors_name_arguments_here_and_options_there(arguments, words, path):
    names = ("target", "drop", "group", "time", "drop_missing_target")
    with pytest.raises(ValueError, match=words.format(**{name: name for name in names})):
        read_table(path, **arguments)
    options = {name: "--" + name.replace("_", "-") for name in names}
    given = [
        text
        for name, value in arguments.items()
        for text in (options[name], value if isinstance(value, str) else value[0])
    ]
    assert words.format(**options) in certified(path, *given, status=2).replace("\n", " ")


def test_a_quantity_of_which_some_values_are_whole(path):
    """As the time spent in affairs in statsmodels' fair.csv: 0 for most, and else a fraction."""
    frame = pd.read_csv(path, index_col=0)
    frame["spent"] = [["0", "24", "0.1111111", "3.2"][i % 4] for i in range(len(frame))]
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"'spent' has 4 .* quantity .* names with categorical"):
        read_table(path, "spent")
    # Half stars are classes, if somebody says so.
    assert set(read_table(path, "spent", categorical="spent").y) == {"0", "24", "0.1111111", "3.2"}
    frame["spent"] = [["0", "01", "1"][i % 3] for i in range(len(frame))]
    frame.to_csv(path, index=False)
    assert set(read_table(path, "spent").y) == {"0", "01", "1"}


def test_no_file_at_all():
    with pytest.raises(ValueError, match="paths must name a file"):
        read_table([])
    with pytest.raises(ValueError, match="there is no file"):
        read_table("breast-cancer")  # what is built in has a function of its own


def test_pandas_is_needed_at_the_call_only(path):
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from certivote.tables import read_table\n"
        f"try: read_table({str(path)!r})\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "files need pandas: pip install 'certivote[cli]'.\n"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("Ulm", "ulm "), True),
        (("Ulm", " Ulm"), False),
        (("Ulm 7", "Ulm 07"), True),
        (("Ulm 70", "Ulm 7"), False),
    ],
)
def test_groups_that_are_written_in_two_ways(names, said, path):
    frame = pd.read_csv(path, index_col=0)
    frame.loc[:1, "town"] = names
    frame.to_csv(path, index=False)
    findings = [text for text in read_table(path, "ill", group="town").findings if "Ulm" in text]
    assert len(findings) == said
    assert all("differ by capitals, blanks or leading zeros only" in text for text in findings)


def test_times_that_are_no_dates_are_said(path):
    days = pd.date_range("2019-03-05 07:10", periods=600, freq="37h")
    frame = pd.read_csv(path, index_col=0)
    frame = frame.assign(hour=days.strftime("%H:%M"), month=days.strftime("%m.%Y"))
    frame.to_csv(path, index=False)
    notes = {entry["name"]: entry for entry in read_table(path, "ill").reading["columns"]}
    assert notes["hour"]["kind"] == "category"
    assert notes["hour"]["note"].startswith("times of a day, read as a category")
    assert "months such as 01.2026?" in notes["month"]["note"]
    assert notes["age"]["note"] == ""


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_dates_beyond_those_that_nanoseconds_reach_are_dates(form, tmp_path):
    """No end, and years as they were written: 9999-12-31, 0014-05-02, 1066-10-14."""
    days = np.array(["9999-12-31", "0014-05-02", "1066-10-14", "2020-01-31"], dtype="datetime64[s]")
    frame = pd.DataFrame({"when": np.resize(days, 40), "y": np.arange(40) % 2})
    frame.loc[4, "when"] = pd.NaT
    path = tmp_path / f"t.{form}"
    if form == "csv":
        text = [str(day)[:10] for day in np.resize(days, 40)]
        frame.assign(when=[*text[:4], None, *text[5:]]).to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    if form == "csv" and int(pd.__version__.split(".")[0]) < 3:  # it has nanoseconds only
        assert read_table(path, "y").reading["columns"][0]["kind"] == "category"
        return
    table = read_table(path, "y")
    assert table.reading["columns"][0]["kind"] == "date"
    known = np.resize(days, 40).astype(np.int64).astype(float)
    known[4] = np.nan
    assert np.array_equal(table.X["when"], known, equal_nan=True)


@pytest.mark.parametrize("many", [False, True], ids=["pandas", "pyarrow"])
def test_decimal_commas_between_commas(many, tmp_path):
    """Cells in quotes that no thousands are written as: what is 2,000 is two, then."""
    shares = np.arange(1, 400_000 if many else 200) / 1000
    numbers = pd.DataFrame({"share": shares, "sugar": np.round(shares) % 20, "n": 7})
    written = numbers.map(lambda number: f"{number:.3f}".replace(".", ",")).assign(n="7")
    written["y"] = np.where(shares > np.median(shares), "a", "b")
    written.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", target="y")
    np.testing.assert_array_equal(table.X.to_numpy(), numbers.to_numpy())


@pytest.mark.parametrize("other", ["x,y", "0.5"], ids=["text", "point"])
def test_commas_between_thousands_are_remarked_on(other, tmp_path):
    """1,234 may be both: it is a category, with a word."""
    rows = [f'"{1 + i % 9},{100 + i}",{"ab"[i % 2]},"{other}"' for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["price,y,other", *rows]) + "\n")
    table = read_table(tmp_path / "t.csv", target="y")
    assert table.X["price"][0] == "1,100"
    (note,) = (column["note"] for column in table.reading["columns"] if column["name"] == "price")
    assert "numbers with commas in them" in note


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_labels_of_numbers_and_text_are_names_if_it_is_said(suffix, tmp_path):
    """As a survey writes them: 0, 1 and Borderline."""
    cells = [0, 1, "Borderline", 1] * 15
    frame = pd.DataFrame({"x": np.arange(60) % 7, "told": pd.Series(cells, dtype=object)})
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    with pytest.raises(ValueError, match=r"mixes numbers and text.* names with categorical 'told'"):
        read_table(path, target="told")
    table = read_table(path, target="told", categorical=["told"])
    assert table.y.tolist() == [str(cell) for cell in cells]
    assert table.reading["classes"] == {"0": 15, "1": 30, "Borderline": 15}
