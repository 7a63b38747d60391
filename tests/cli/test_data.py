"""How tables are read: separators, types, built-in names, and what is on this machine."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest

from certivote.datasets import list_datasets
from certivote.tables import read_table
from certivote.tables.asked import Asked
from certivote.tables.reading import read_asked
from options import trees


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path as text."""

    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def rows(*lines, times=10):
    return "\n".join(list(lines) * times) + "\n"


# --- separators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_separators(separator, quote, write):
    lines = [["size in cm", "colour", "y"], ["1.5", "red", "0"], ["2.5", "blue", "1"]]
    text = [separator.join(f"{quote}{cell}{quote}" for cell in line) for line in lines]
    table = read_table(write("\n".join(text) + "\n" + rows(*text[1:])))
    assert list(table.X.columns) == ["size in cm", "colour"]
    assert table.X["size in cm"].tolist()[:2] == [1.5, 2.5]
    assert np.array_equal(np.unique(table.y), [0, 1])


@pytest.mark.parametrize(
    ("header", "line", "names"),
    [
        ("weight, kg;height;y", "1;2;{}", ["weight, kg", "height"]),
        ("'a; b',c,y", "1,2,{}", ["'a; b'", "c"]),
        ('"a;b",c,y', "1,2,{}", ["a;b", "c"]),
        ("a b,c d,y", "1,2,{}", ["a b", "c d"]),
    ],
)
def test_a_separator_in_a_name_is_part_of_it(header, line, names, write):
    text = header + "\n" + rows(line.format(0), line.format(1))
    assert list(read_table(write(text)).X.columns) == names


def test_a_mark_of_the_byte_order_is_no_part_of_a_name(write):
    table = read_table(write("\ufeffa,y\n" + rows("1,0", "2,1")))
    assert list(table.X.columns) == ["a"]


# --- types ---------------------------------------------------------------------------------------


def test_types_of_columns(write):
    text = rows(
        "1,1.5,red,True,2020-01-01,?,0",
        "2,,blue,False,2020-01-02,7,1",
        "3,2.5,,True,,NA,1",
    )
    table = read_table(write("whole,part,colour,flag,day,gaps,y\n" + text))
    kinds = {name: table.X[name].dtype.kind == "f" for name in table.X.columns}
    assert kinds == {
        "whole": True,
        "part": True,
        "colour": False,
        "flag": False,
        "day": True,
        "gaps": True,
    }
    first = table.X.iloc[:3]
    assert first["part"].isna().tolist() == [False, True, False]
    assert first["colour"].isna().tolist() == [False, False, True]
    assert first["flag"].tolist() == ["True", "False", "True"]
    assert first["gaps"].isna().tolist() == [True, False, True]


def test_types_of_parquet(tmp_path):
    m = 60
    frame = pd.DataFrame(
        {
            "count": pd.array([None if i % 7 == 0 else i % 5 for i in range(m)], dtype="Int64"),
            "flag": pd.array([None if i % 11 == 0 else i % 2 == 0 for i in range(m)], "boolean"),
            "kind": pd.Categorical(np.where(np.arange(m) % 3, "u", "v")),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(m), unit="h"),
            "label": pd.array(np.arange(m) % 2, dtype="Int64"),
        }
    )
    frame.loc[5, "when"] = pd.NaT
    frame.to_parquet(tmp_path / "table.parquet")
    table = read_table(str(tmp_path / "table.parquet"))
    assert table.X["count"].dtype.kind == "f"
    assert table.X["count"].isna().tolist() == [i % 7 == 0 for i in range(m)]
    assert table.X["flag"].isna().tolist() == [i % 11 == 0 for i in range(m)]
    assert table.X["flag"].dropna().unique().tolist() == ["False", "True"]
    assert table.X["kind"].unique().tolist() == ["v", "u"]
    assert np.isnan(table.X["when"][5])
    assert np.diff(table.X["when"])[7:] == pytest.approx(3600.0)  # an hour in seconds
    assert table.y.tolist() == [i % 2 for i in range(m)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_are_the_same_at_every_resolution(unit, tmp_path):
    days = np.datetime64("2020-01-01") + np.arange(10).astype("timedelta64[D]")
    frame = pd.DataFrame({"when": days.astype(f"M8[{unit}]"), "y": np.arange(10) % 2})
    frame.to_parquet(tmp_path / "table.parquet")
    when = read_table(str(tmp_path / "table.parquet")).X["when"]
    assert when.tolist() == [1577836800.0 + 86400.0 * day for day in range(10)]


def test_labels_keep_their_kind(write):
    for first, second, kind in (("0", "1", "i"), ("1.0", "2.0", "i"), ("no", "yes", "U")):
        y = read_table(write("x,y\n" + rows(f"1,{first}", f"2,{second}"))).y
        assert y.dtype.kind == kind
    y = read_table(write("x,y\n" + rows("1,True", "2,False"))).y
    assert y.dtype.kind == "b"


def test_numbers_as_names(write):
    path = write("zip,y\n" + rows("100,0", "200,1", "300,1"))
    assert read_table(path).X["zip"].dtype.kind == "f"
    named = read_table(path, categorical=["zip"])
    assert named.X["zip"].tolist()[:3] == ["100", "200", "300"]
    assert json.loads(named.provenance["categorical"]) == ["zip"]


def test_a_name_is_the_same_beside_a_gap(write):
    path = write("zip,y\n" + rows("100,0", "200,1", ",1"))
    named = read_table(path, categorical=["zip"]).X["zip"]
    assert named.tolist()[:2] == ["100", "200"]
    assert pd.isna(named[2])


def test_a_name_is_the_same_beside_a_fraction(write):
    # Shoe sizes: a file may hold whole ones only.
    both = read_table(write("size,y\n" + rows("41,0", "41.5,1", "42,1")), categorical=["size"])
    whole = read_table(write("size,y\n" + rows("41,0", "42,1")), categorical=["size"])
    assert set(whole.X["size"]) < set(both.X["size"])
    assert both.X["size"].nunique() == 3


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), ("True", "")])
def test_true_and_false_are_read_in_one_way(words, write):
    path = write("flag,x,y\n" + rows(f"{words[0]},1,a", f"{words[1]},2,b"))
    first = read_table(path).X["flag"].tolist()
    asked = Asked(features=["flag", "x"], names_only=["flag"])
    again = read_asked([path], asked).X["flag"].tolist()
    assert first == again
    assert first[:2] == [words[0], words[1] or None]


def test_a_whole_number_is_one_name_whatever_is_beside_it(write):
    lines = rows("1.0,0", "2.0,1")
    alone = read_table(write("code,y\n" + lines), categorical=["code"]).X["code"]
    beside = read_table(write("code,y\n" + lines + "3.5,1\n"), categorical=["code"]).X["code"]
    assert alone.tolist() == beside.tolist()[:-1]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("01", "1", "2"), {"01", "1", "2"}),
        (("01", "02"), {"01", "02"}),
        (("1", "2"), {1, 2}),
        (("9007199254740992", "9007199254740993"), {"9007199254740992", "9007199254740993"}),
        (("1e300", "2e300"), {"1e300", "2e300"}),
    ],
)
def test_different_labels_stay_different(labels, expected, write):
    y = read_table(write("x,y\n" + rows(*(f"1,{label}" for label in labels)))).y
    assert set(y.tolist()) == expected


def test_huge_labels_of_parquet_are_refused(tmp_path):
    pd.DataFrame({"x": range(20), "y": [1e300, 2e300] * 10}).to_parquet(tmp_path / "huge.parquet")
    with pytest.raises(ValueError, match="numbers that are not exact"):
        read_table(str(tmp_path / "huge.parquet"))


def test_dates_are_numbers_for_a_model_too(tmp_path):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(10), unit="D")
    path = tmp_path / "days.parquet"
    pd.DataFrame({"when": days, "y": np.arange(10) % 2}).to_parquet(path)
    first = read_table(str(path)).X["when"]
    again = read_asked([path], Asked(features=["when"], names_only=[])).X["when"]
    assert first.tolist() == again.tolist()


def test_columns_of_parquet_called_by_numbers(tmp_path):
    frame = pd.DataFrame(np.arange(60).reshape(20, 3) % 7)
    frame[2] = np.arange(20) % 2
    frame.to_parquet(tmp_path / "numbers.parquet")
    table = read_table(str(tmp_path / "numbers.parquet"))
    assert list(table.X.columns) == ["0", "1"]
    assert table.provenance["target"] == "2"


def test_decimal_commas(write):
    table = read_table(write("a;b;y\n" + rows("1,5;2;0", "2,25;3;1")))
    assert table.X["a"].tolist()[:2] == [1.5, 2.25]


def test_more_cells_than_names_are_refused(write):
    with pytest.raises(ValueError, match="has 2 names, but the rows have 3 cells"):
        read_table(write("a,y\n" + rows("1,2,0", "3,4,1")))
    with pytest.raises(ValueError, match="not a readable CSV"):
        read_table(write("a,y\n" + rows("1,2,0", "3,1")))


@pytest.mark.parametrize("number", ["1e39", "1e308", "9" * 401])
def test_numbers_beyond_single_precision_are_refused(number, write):
    with pytest.raises(ValueError, match=r"column 'a' .* beyond 3.4e38"):
        read_table(write("a,y\n" + rows("1,0", f"{number},1")))


# --- built-in names ------------------------------------------------------------------------------


def test_options_of_files_are_refused_for_a_name(invoke, tmp_path):
    for option in ("--target", "--drop", "--categorical"):
        done = invoke("certify", "digits", option, "x", cwd=tmp_path, status=2)
        assert done.stderr == f"error: {option} is for files: digits is built in, as it is.\n"


def test_a_file_goes_before_a_name(invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "digits", index=False)
    done = invoke("certify", "digits", *trees(2), "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["certificate"]["provenance"]["target"] == "label"


def test_digits_have_ten_classes(invoke, tmp_path):
    invoke("certify", "digits", *trees(3), "--quiet", cwd=tmp_path)
    vote = joblib.load(tmp_path / "digits-certificate" / "model.joblib")
    assert vote.classes_.tolist() == list(range(10))
    assert vote.n_features_in_ == 64
    done = invoke("predict", "digits-certificate/model.joblib", "digits", "-q", cwd=tmp_path)
    labels = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
    assert len(labels) == 1797
    assert set(labels) == set("0123456789")


def sizes(text):
    lines = [line.split("\t") for line in text.splitlines() if "\t" in line]
    assert lines[0] == ["name", "rows", "test rows", "features", "classes"]
    return {line[0]: line[1:] for line in lines[1:]}


def test_datasets_that_are_not_here(run, tmp_path):
    (tmp_path / "empty").mkdir()
    folders = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")}
    done = run("datasets", cwd=tmp_path, CERTIVOTE_DATA=str(tmp_path / "empty"), **folders)
    found = sizes(done.stdout)
    assert list(found) == ["breast-cancer", "digits", *list_datasets()]
    assert found.pop("breast-cancer") == ["569", "0", "30", "2"]
    assert found.pop("digits") == ["1797", "0", "64", "10"]
    assert len(found) == 16
    assert all(set(cells) == {"not here"} for cells in found.values())
    assert "$CERTIVOTE_DATA" in done.stdout
    # Nothing was downloaded, nor made.
    assert {path.name for path in tmp_path.rglob("*")} == {"empty"}


def test_datasets_that_are_here(invoke, task_data, tmp_path):
    result = json.loads(invoke("datasets", "--json", cwd=tmp_path).stdout)
    found = {entry["name"]: entry for entry in result}
    # The paper's appendix: train, test and dimension.
    for name, expected in {
        "glass": (107, 107, 9),
        "wdbc": (285, 284, 30),
        "mnist:1vs7": (13007, 2163, 784),
        "adult": (30162, 15060, 104),
    }.items():
        entry = found[name]
        assert (entry["rows"], entry["test_rows"], entry["features"]) == expected
        assert entry["classes"] == 2
    assert len(found) == 18


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    "names", [["1.5", "2.5"], ["4", "5+"], [str(10_000 + i) for i in range(120)]]
)
def test_labels_that_a_file_says_are_texts_are_no_quantity(form, names, tmp_path):
    """What looks like a number there is a name: --categorical need not say so."""
    frame = pd.DataFrame({"x": np.arange(480.0), "y": names * (480 // len(names))})
    path = tmp_path / f"table.{form}"
    if form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    assert [str(label) for label in read_table(str(path), "y").y] == frame["y"].tolist()
    # A CSV file does not say so.
    frame.to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(ValueError, match=r"quantity|mixes"):
        read_table(str(tmp_path / "table.csv"), "y")


def test_numbers_of_parquet_are_a_quantity_still(tmp_path):
    frame = pd.DataFrame({"x": np.arange(400.0), "y": np.arange(400) % 8 / 2})
    frame.to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="a quantity"):
        read_table(str(tmp_path / "table.parquet"), "y")


def test_labels_of_parquet_that_end_in_null_are_refused(tmp_path):
    """Numpy would cut the null off, and make two labels one."""
    labels = ["p", "p\0", "q"] * 20
    pd.DataFrame({"x": range(60), "y": labels}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="the target 'y' has labels that end in a null character"):
        read_table(str(tmp_path / "table.parquet"), "y")


@pytest.mark.parametrize("name", ["x", "y"])
def test_several_values_in_a_row_of_parquet_are_refused(name, tmp_path):
    """Lists were compared by their abbreviated text."""
    columns = {"x": list(range(60)), "y": ["p", "q", "r"] * 20}
    columns[name] = [[value, 0.1] for value in range(60)]
    pd.DataFrame(columns).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=f"column '{name}' of .* holds several values in each row"):
        read_table(str(tmp_path / "table.parquet"), "y")
