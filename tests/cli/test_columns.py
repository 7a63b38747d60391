"""How a table was read: each column's kind, what is missing, and what is worth a word."""

import re

import numpy as np
import pandas as pd
import pytest

from certivote._utils.words import names_a_time, names_a_year, names_an_identifier
from certivote.cli.data import builtin_table
from certivote.tables import read_table
from certivote.tables.asked import Asked
from certivote.tables.reading import read_asked
from certivote.tables.values import Values
from options import trees


@pytest.fixture
def read(tmp_path):
    """Read a frame that was written to a file."""

    def read(frame, *arguments, form="csv", **settings):
        path = tmp_path / f"table.{form}"
        if form == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
        return read_asked([path], Asked(*arguments, **settings))

    return read


def entry(table, name):
    (found,) = (column for column in table.reading["columns"] if column["name"] == name)
    return found


@pytest.fixture
def plain():
    """60 rows about which nothing is unusual."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "age": rng.integers(18, 80, 60),
            "city": rng.choice(["Metz", "Lyon"], 60),
            "y": np.arange(60) % 2,
        }
    )


def test_an_ordinary_table_is_not_unusual(read, plain):
    plain.loc[:9, "size"] = np.nan
    table = read(plain, "y")
    assert table.unusual() == []
    assert table.reading == {
        "columns": [
            {"name": "size", "kind": "number", "missing": 10, "note": ""},
            {"name": "age", "kind": "number", "missing": 0, "note": ""},
            {"name": "city", "kind": "category", "missing": 0, "note": ""},
            {"name": "y", "kind": "target", "missing": 0, "note": ""},
        ],
        "rows": 60,
        "classes": {"0": 30, "1": 30},
    }


@pytest.mark.parametrize(
    ("change", "kind", "missing", "note"),
    [
        ({"new": np.nan}, "number", 60, "all missing"),
        ({"new": 7.5}, "number", 0, "one value only"),
        ({"new": "same"}, "category", 0, "one value only"),
        ({"new": [f"call no. {i}" for i in range(60)]}, "category", 0, "60 different values of 60"),
        ({"new": np.arange(60) + 1000}, "number", 0, "60 different values of 60: an identifier?"),
        ({"new": (np.arange(60) * 997) % 60}, "number", 0, "60 different values of 60"),
        ({"new": [np.nan, 1.0, np.nan, 2.5] * 15}, "number", 30, "missing in 30 of 60 rows"),
        (
            {"new": [f"{i // 60 + 8:02}:{i % 60:02}" for i in range(60)]},
            "category",
            0,
            "times of a day, read as a category: write them as numbers, such as hours",
        ),
        (
            {"new": [f"{i % 12 + 1:02}/{i % 7 + 1:02}/2020" for i in range(60)]},
            "category",
            0,
            "dates that can be read in two ways, read as a category: write them as 2026-01-31",
        ),
    ],
)
def test_what_is_unusual_is_said(change, kind, missing, note, read, plain):
    table = read(plain.assign(**change)[["new", *plain.columns]], "y")
    found = entry(table, "new")
    assert (found["kind"], found["missing"]) == (kind, missing)
    assert note in found["note"]
    assert table.unusual() == [f"column 'new': {found['note']}"]


@pytest.mark.parametrize(
    "numbers",
    [np.arange(60) * 100, np.arange(60) // 2, np.arange(60) + 0.5, np.arange(60) ** 2],
    ids=["far apart", "repeated", "not whole", "growing"],
)
def test_measurements_are_no_numbering(numbers, read, plain):
    assert read(plain.assign(new=numbers)[["new", *plain.columns]], "y").unusual() == []


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows_are_left_out(first, read, plain):
    table = read(plain.assign(row=np.arange(60) + first)[["row", *plain.columns]], "y")
    assert "row" not in table.X
    assert table.unusual() == ["column 'row': it numbers the rows, and is left out"]
    # A model that was trained on it needs it, and whoever calls it a category means it.
    frame = plain.assign(row=np.arange(60) + first)
    assert list(read(frame, "y", features=["row"], names_only=[]).X) == ["row"]
    assert "row" in read(frame, "y", categorical=["row"]).X


@pytest.mark.parametrize(
    "numbers",
    [np.arange(60) + 2, np.arange(60)[::-1], np.r_[np.arange(59), 60], np.arange(60) * 2],
    ids=["from another", "down", "with a gap", "by two"],
)
def test_other_numbers_stay(numbers, read, plain):
    assert "other" in read(plain.assign(other=numbers), "y").X


@pytest.mark.parametrize("name", ["Unnamed: 0", "index", "rownames", "Id", "patient_id"])
def test_numbers_of_a_filtered_or_shuffled_table_are_left_out(name, read, plain):
    numbers = np.random.default_rng(0).permutation(100)[:60]
    assert name not in read(plain.assign(**{name: numbers}), "y").X
    # Numbers that come again are no numbers of rows, and fractions are none.
    for others in (numbers // 2, numbers + 0.5):
        assert name in read(plain.assign(**{name: others}), "y").X


def test_a_row_number_alone_is_better_than_nothing(read, plain):
    assert list(read(plain[["y"]].assign(row=np.arange(60)), "y").X) == ["row"]


def test_many_categories(read):
    frame = pd.DataFrame({"code": [f"k{i % 70}" for i in range(210)], "y": np.arange(210) % 2})
    note = "read as a category: 70 different values"
    assert read(frame, "y").unusual() == [f"column 'code': {note}"]


def test_many_columns_alike_share_a_line(read, plain):
    empty = {f"x{j}": 1.5 for j in range(40)}
    (line,) = read(plain.assign(**empty), "y").unusual()
    assert line == "40 columns, such as 'x0': one value only"


def test_a_guessed_target_is_said(read, plain):
    assert read(plain).unusual() == [
        "column 'y': taken as the target, by its name; target names another"
    ]
    assert read(plain.rename(columns={"y": "repaid"})).unusual() == [
        "column 'repaid': taken as the target, as the last one; target names another"
    ]
    assert read(plain, features=["size", "age"], names_only=[]).unusual() == [
        "column 'y': taken as the target, by its name; target names another"
    ]


def test_what_is_left_out_is_said(read, plain, tmp_path):
    table = read(plain, "y", drop=["city"])
    assert entry(table, "city") == {"name": "city", "kind": "dropped", "missing": 0, "note": ""}
    assert table.unusual() == []
    plain.to_csv(tmp_path / "index.csv")
    table = read_table(str(tmp_path / "index.csv"), "y")
    (line,) = table.unusual()
    assert line == "the first column has no name, as an index of pandas: it is left out"
    assert entry(table, "")["kind"] == "dropped"


def test_dates_of_parquet_and_a_model_of_ones_own(read, plain):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    frame = plain.assign(when=days)[["when", *plain.columns]]
    assert entry(read(frame, "y", form="parquet"), "when")["kind"] == "date"
    given = read(frame, "y", form="parquet", as_read=True)
    kinds = [column["kind"] for column in given.reading["columns"]]
    assert kinds == ["date", "number", "number", "text", "target"]


@pytest.mark.parametrize("name", ["breast-cancer", "digits"])
def test_built_in_names(name):
    table = builtin_table(name)
    kinds = {column["kind"] for column in table.reading["columns"]}
    assert kinds == {"number"}
    assert [column["name"] for column in table.reading["columns"]] == list(table.X.columns)
    assert table.reading["rows"] == len(table.y)
    expected = {str(label): int((table.y == label).sum()) for label in set(table.y.tolist())}
    assert table.reading["classes"] == expected


ODD = ["1", "1.0", "-3.0", "01.0", "x.0", "1.00", " 7.0", "12.5", None, "nan ", "-0.0", "٣.0", ""]


@pytest.mark.parametrize("dtype", [object, "str"])
def test_text_is_that_of_each_value_by_itself(dtype):
    column = pd.Series(ODD * 3, dtype=dtype, name="odd")
    expected = [
        None if pd.isna(value) else re.sub(r"^(-?\d+)\.0$", r"\1", str(value)) for value in ODD * 3
    ]
    assert Values(column).as_text().tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, 2.5, np.nan, -4.0]),
        pd.Series([3, 1, 3]),
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series(["b", "a", None, "b"], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-02", None, "2020-01-01"])),
    ],
    ids=lambda column: str(column.dtype),
)
def test_text_of_other_types(column):
    expected = [None if pd.isna(v) else re.sub(r"^(-?\d+)\.0$", r"\1", str(v)) for v in column]
    values = Values(column)
    assert values.as_text().tolist() == expected
    assert values.missing == column.isna().sum()
    assert values.counts.sum() == column.count()


def test_numbers_are_those_of_pandas():
    parts = [*map(chr, range(1, 300)), "١", "１", "\u3000", "-i", "+I", "True", "1_000"]
    texts = sorted({a + b for a in parts for b in ("", "1", "1.5", "nf", "nfinity", "rue", "e5")})
    expected = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(float)
    numbers = Values(pd.Series(texts, dtype=object)).numbers
    assert np.array_equal(numbers, expected, equal_nan=True)
    assert np.count_nonzero(~np.isnan(expected)) > 20


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "Id",
        "patient_id",
        "PatientID",
        "user id",
        "nr",
        "kunde_nr",
        "customer",
        "userid",
        "subject",
        "customer_no",
        "Patient Number",
        "account-code",
        "uuid",
        "PULocationID",
        "patient_nbr",
        "childid",
        "PATID",
    ],
)
def test_names_of_identifiers(name):
    assert names_an_identifier(name)


@pytest.mark.parametrize(
    "name",
    [
        "age",
        "customer_age",
        "paid",
        "humid",
        "valid",
        "acid",
        "number",
        "no",
        "code",
        "",
        "42",
        "number_of_patients",
        "users",
        "user_rating",
        "region",
        "idle",
        "width",
        "house number",
    ],
)
def test_names_that_are_none(name):
    assert not names_an_identifier(name)


def test_names_of_times():
    assert all(
        map(names_a_time, ["year", "Date", "saleDate", "created_time", "Timestamp", "DAY", "hr"])
    )
    assert not any(map(names_a_time, ["age", "timer", "daytime_temp", "years_of_service", "x1"]))
    # What was counted in a time is none, but what came last is.
    counted = ["TrainingTimesLastYear", "visits_per_month", "calls past week"]
    assert not any(map(names_a_time, counted))
    assert not any(map(names_a_year, counted))
    assert all(map(names_a_time, ["last_login_time", "last_date", "last year", "LastVisitDate"]))


# --- dates ---------------------------------------------------------------------------------------

FORMS = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y-%m-%dT%H:%M:%S+0200"]


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_alike_in_text_and_by_type(form, read, plain):
    days = pd.Series(pd.Timestamp("1969-11-25") + pd.to_timedelta(np.arange(60) % 40, unit="D"))
    days[7] = pd.NaT
    texts = days.dt.strftime(form)
    by_text = read(plain.assign(day=texts)[["day", *plain.columns]], "y")
    assert entry(by_text, "day")["kind"] == "date"
    assert entry(by_text, "day")["missing"] == 1
    expected = (days - pd.Timestamp(0)).dt.total_seconds() - 7200 * form.endswith("0200")
    assert by_text.X["day"].equals(expected)


def test_a_model_of_dates_takes_text_and_types(invoke, plain, tmp_path):
    days = pd.Series(pd.Timestamp("2020-01-25") + pd.to_timedelta(np.arange(60) % 40, unit="D"))
    frame = plain.assign(day=days)
    frame.assign(day=days.dt.strftime("%d.%m.%Y")).to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    options = ("--target", "y", *trees(3), "-q")
    answers = []
    for kind in ("csv", "parquet"):
        invoke("certify", f"t.{kind}", *options, "--out", kind, cwd=tmp_path)
        for data in ("t.csv", "t.parquet"):
            model = f"{kind}/model.joblib"
            answers.append(invoke("predict", model, data, cwd=tmp_path).stdout)
    assert len(set(answers)) == 1
    frame.assign(day="03.04.2020").to_csv(tmp_path / "two.csv", index=False)
    done = invoke("predict", "csv/model.joblib", "two.csv", cwd=tmp_path, status=2)
    assert "dates that can be read in two ways, such as '03.04.2020'" in done.stderr


# --- dates with a slip of the pen ----------------------------------------------------------------

SLIPS = ("soon", "31/02/2012", "2012-13-01")


@pytest.fixture
def visits(tmp_path):
    """Write visits on the days of a year, in their order, one of which is none."""

    def visits(slip, form="%d/%m/%Y", at=50, m=200):
        days = pd.Series(pd.date_range("2012-01-01", periods=m)).dt.strftime(form).astype(object)
        days[at] = slip
        frame = pd.DataFrame({"day": days, "x": np.arange(m) % 7, "y": np.arange(m) % 2})
        frame.to_csv(tmp_path / "t.csv", index=False)
        return str(tmp_path / "t.csv")

    return visits


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%d %b %Y", "%d.%m.%y"])
@pytest.mark.parametrize("at", [0, 50])
def test_a_cell_among_dates_that_is_none(slip, form, at, visits):
    path = visits(slip, form, at)
    words = f"column 'day' .* holds dates, but '{slip}' cannot .* say so with na_values '{slip}'"
    with pytest.raises(ValueError, match=words):
        read_table(path, "y")
    with pytest.raises(ValueError, match=f"time 'day' .* neither a date nor a num.*as '{slip}':"):
        read_table(path, "y", time="day")
    # Left out or kept as text, the rows are in the order of time all the same.
    for settings in ({"drop": "day"}, {"categorical": "day"}):
        (finding,) = read_table(path, "y", **settings).findings
        assert finding.startswith("The rows are in the order of 'day'")


def test_a_model_of_dates_names_the_cell_that_is_none(visits):
    asked = Asked("y", features=["day", "x"], names_only=[])
    with pytest.raises(ValueError, match="holds numbers for the model, but 'soon'"):
        read_asked([visits("soon")], asked)


def test_a_time_of_few_values_names_the_cell_too(visits):
    with pytest.raises(ValueError, match="such as '31/02/2012':"):
        read_table(visits("31/02/2012", m=12, at=3), "y", time="day")


def test_a_time_of_numbers_names_the_cell_that_is_none(visits):
    with pytest.raises(ValueError, match="such as 'soon':"):
        read_table(visits("soon", "%j"), "y", time="day")


@pytest.mark.parametrize("share", [0.06, 0.5])
def test_text_with_some_dates_stays_text(share, visits, tmp_path):
    path = visits("soon")
    frame = pd.read_csv(path)
    n = int(share * 200)
    frame.loc[: n - 1, "day"] = [f"day {i}" for i in range(n)]
    frame.to_csv(path, index=False)
    (column, *_) = read_table(path, "y").reading["columns"]
    assert (column["name"], column["kind"]) == ("day", "category")


def test_times_of_a_day_beyond_the_day_stay_text(tmp_path):
    """They may last as long."""
    lines = ["lasted,y", *(f"{i % 25:02}:{i % 60:02},{i % 2}" for i in range(300))]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    assert read_table(str(tmp_path / "t.csv")).reading["columns"][0]["kind"] == "category"


def test_a_column_that_tells_the_labels_is_remarked_upon(invoke, tmp_path):
    """On the terminal and on the page: what it is, and what to do."""
    points = np.random.default_rng(0).normal(50, 20, size=300).round(1)
    frame = pd.DataFrame({"hours": points % 7, "points": points, "label": points >= 50})
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ("t.csv", "--target", "label", "--n-voters", 5, "--out", "o")
    done = invoke("certify", *arguments, cwd=tmp_path)
    said = " ".join(done.stdout.split())
    note = "tells the label of every row by itself: is it known when a prediction is needed?"
    assert f"column 'points': {note}" in said
    assert "leave it out with --drop" in said
    assert note in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
