"""What a whole table shows against independent rows: identifiers that repeat, order in time."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from certivote.cli.data import builtin_names, builtin_table
from certivote.tables import read_table
from certivote.tables.asked import Asked
from certivote.tables.reading import read_asked

TOPICS = {"identifiers", "order in time"}
NOT_LOOKED_FOR = "Whether rows belong together otherwise was not looked for."


@pytest.fixture
def read(tmp_path):
    """Read a frame that was written to a file, with labels at its end."""

    def read(frame, form="csv", **settings):
        path = tmp_path / f"table.{form}"
        frame = frame.assign(label=np.arange(len(frame)) // 3 % 2)
        if form == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
        return read_asked([path], Asked("label", **settings))

    return read


def found(table, topic):
    """Return what was found on a topic, and see that it is said once: found, or not."""
    words = {"identifiers": "belong together", "order in time": "The rows are in the ord"}
    lines = [line for line in table.findings if words[topic] in line]
    assert bool(lines) != (topic in table.checks)
    return lines


def shuffled(frame, seed=0):
    return frame.sample(frac=1, random_state=seed)


def panel(**columns):
    """545 men in 8 years each, by man and year."""
    rng = np.random.default_rng(0)
    men, years = np.repeat(np.arange(545), 8), np.tile(np.arange(1980, 1988), 545)
    return pd.DataFrame(
        {"wage": rng.normal(size=4360), **{k: v(men, years) for k, v in columns.items()}}
    )


# --- identifiers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nr", "ID", "customer", "patient_id", "v1"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "value", [lambda men, years: men * 17 + 13, lambda men, years: [f"m{man}" for man in men]]
)
def test_a_panel(name, form, value, read):
    frame = shuffled(panel(**{name: value}))
    (line,) = found(read(frame, form), "identifiers")
    assert line.startswith(
        f"Column {name!r} looks like an identifier and repeats: 4360 rows of 545 values. If rows "
        f"of one {name!r} belong together, the examples are not independent"
    )


@pytest.mark.parametrize("settings", [{"drop": ["nr"]}, {"categorical": ["nr"]}])
def test_an_identifier_that_is_dropped_or_a_category(settings, read):
    assert found(read(panel(nr=lambda men, years: men), **settings), "identifiers")


def test_a_model_that_does_not_use_it(read):
    table = read(panel(nr=lambda men, years: men), features=["wage"], names_only=[])
    assert found(table, "identifiers")


def test_an_index_without_a_name_that_repeats(tmp_path):
    frame = panel(y=lambda men, years: years % 2).set_index(np.repeat(np.arange(545), 8))
    frame.to_csv(tmp_path / "table.csv")
    (line,) = read_table(str(tmp_path / "table.csv"), "y").findings
    assert line.startswith("The first column, which has no name, looks like an identifier")
    assert "write a name for it into the header" in line


def test_uneven_visits_of_patients(read):
    rng = np.random.default_rng(1)
    patients = np.repeat(np.arange(300), rng.integers(1, 6, 300))
    assert found(read(pd.DataFrame({"patient": patients, "x": 1.5 * patients})), "identifiers")
    # 30 people carry a telephone for an hour.
    people = rng.integers(30, size=9000)
    assert found(read(pd.DataFrame({"subject": people, "x": rng.random(9000)})), "identifiers")
    visits = np.repeat(np.arange(700), 1 + (np.arange(700) < 300))
    frame = pd.DataFrame({"patient_nbr": visits, "x": rng.random(1000)})
    (line,) = found(read(frame), "identifiers")
    assert "1000 rows of 700 values, of which 300 have several. If" in line
    gaps = pd.Series(patients, dtype=float).where(rng.random(len(patients)) < 0.8)
    (line,) = found(read(pd.DataFrame({"patient": gaps, "x": 1.5 * patients})), "identifiers")
    assert f"{gaps.count()} rows of {gaps.nunique()} values" in line


def test_identifiers_that_do_not_repeat_are_counted(read):
    ids = np.random.default_rng(2).permutation(400) + 10**6
    table = read(pd.DataFrame({"id": ids, "x": ids * 0.1}))
    assert table.findings == []
    counted = "No identifier that repeats often: 400 values of 'id' in 400 rows."
    assert table.checks["identifiers"] == f"{counted} {NOT_LOOKED_FOR}"
    ids[:15] = ids[20:35]  # some slips of the pen
    table = read(pd.DataFrame({"id": ids, "x": ids * 0.1}))
    assert table.findings == []
    few = "385 values of 'id' in 400 rows, of which 30 share theirs with another."
    assert table.checks["identifiers"].endswith(f"{few} {NOT_LOOKED_FOR}")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("region", lambda rng, m: rng.choice(list("abcde"), m)),
        ("region_id", lambda rng, m: rng.integers(5, size=m)),
        ("admission_source_id", lambda rng, m: rng.integers(9, 10 + m // 200, size=m)),
        ("age", lambda rng, m: rng.integers(18, 90, m)),
        ("customer_age", lambda rng, m: rng.integers(18, 90, m)),
        ("price", lambda rng, m: np.round(rng.lognormal(4, 1, m))),
        ("price", lambda rng, m: np.round(rng.lognormal(4, 1, m), 2)),
        ("city", lambda rng, m: [f"city {i}" for i in rng.zipf(1.5, m) % 500]),
        ("city", lambda rng, m: [f"city {i}" for i in rng.integers(500, size=m)]),
        ("zip", lambda rng, m: rng.integers(10000, 10700, m)),
        ("income", lambda rng, m: rng.integers(10, 60, m) * 1000),
        ("count", lambda rng, m: rng.poisson(300, m)),
        ("hour", lambda rng, m: np.arange(m) % 24),
        ("minute", lambda rng, m: np.arange(m) % 60),
        ("day", lambda rng, m: np.arange(m) % 365),
        ("comment", lambda rng, m: [f"{i} words" for i in rng.permutation(m)]),
        ("weight", lambda rng, m: np.repeat(rng.normal(size=m // 8), 8)),
        ("pixel", lambda rng, m: rng.integers(256, size=m)),
        ("flag", lambda rng, m: rng.random(m) < 0.5),
        ("gone", lambda rng, m: np.full(m, np.nan)),
    ],
)
@pytest.mark.parametrize("m", [96, 480, 4800])
def test_no_false_alarm(name, values, m, read):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({name: values(rng, m), "x": rng.normal(size=m)})
        for table in (read(frame), read(frame, categorical=[name])):
            assert found(table, "identifiers") == []
            assert table.checks["identifiers"].startswith("No ")


@pytest.mark.parametrize("name", ["iris", "wine", "diabetes", "breast_cancer", "digits"])
def test_no_false_alarm_in_the_data_of_scikit_learn(name, read):
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    table = read(bunch.data)
    assert table.findings == []
    assert set(table.checks) == TOPICS


def test_no_false_alarm_in_the_tasks(task_data):
    for name in builtin_names():
        table = builtin_table(name)
        assert table.findings == []
        assert set(table.checks) == TOPICS


NAMES = {
    "adult.data": "age workclass fnlwgt education education_num marital occupation relationship "
    "race sex capital_gain capital_loss hours country income",
    "crx.data": " ".join(f"A{i}" for i in range(1, 17)),
    "glass.data": "id RI Na Mg Al Si K Ca Ba Fe type",
    "house-votes-84.data": "class " + " ".join(f"v{i}" for i in range(16)),
    "letter-recognition.data": "letter " + " ".join(f"v{i}" for i in range(16)),
    "processed.cleveland.data": "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope "
    "ca thal num",
    "tic-tac-toe.data": "a b c d e f g h i class",
    "wdbc.data": "ID diagnosis " + " ".join(f"v{i}" for i in range(30)),
}


@pytest.mark.parametrize("file", NAMES)
def test_no_false_alarm_in_raw_files(file, task_data, tmp_path):
    names = NAMES[file].split()
    text = (task_data / "uci" / file).read_text(encoding="utf-8")
    lines = [line.replace(", ", ",") for line in text.splitlines() if line.count(",") > 1]
    (tmp_path / "table.csv").write_text("\n".join([",".join(names), *lines]))
    targets = {"class", "letter", "diagnosis", "type", "income", "num", "A16"}
    (target,) = targets & set(names)
    table = read_table(str(tmp_path / "table.csv"), target)
    assert table.findings == []
    assert ("id" in names or "ID" in names) == ("values of" in table.checks["identifiers"])


# --- panels --------------------------------------------------------------------------------------


def states(shares=1.0, n=48, years=range(1982, 1989), seed=0):
    """Some states in 7 years, of which some years lack."""
    rng = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product([[f"S{i}" for i in range(n)], years], names=["state", "year"])
    frame = grid.to_frame(index=False)
    frame = frame[rng.random(len(frame)) < shares].reset_index(drop=True)
    return frame.assign(x=rng.normal(size=len(frame)))


@pytest.mark.parametrize("shares", [1.0, 0.6])
@pytest.mark.parametrize("order", [lambda frame: frame, shuffled])
@pytest.mark.parametrize(
    "written",
    [
        lambda frame: frame,
        lambda frame: frame.assign(state=frame.state.str[1:].astype(int)),
        lambda frame: frame.assign(year=frame.year.astype(str) + "-07-01"),
        lambda frame: frame.rename(columns={"year": "wave"}),
        lambda frame: frame.rename(columns={"year": "quarter"}).assign(
            quarter=lambda f: "Q1 of " + f.quarter.astype(str)
        ),
    ],
)
def test_values_that_repeat_over_time(shares, order, written, read):
    frame = order(written(states(shares)))
    (line,) = found(read(frame), "identifiers")
    rows, time, several = len(frame), frame.columns[1], (frame.state.value_counts() > 1).sum()
    some = f", of which {several} have several" if several < 48 else ""
    assert line.startswith(
        f"Column 'state' repeats, with another {time!r} each time: {rows} rows of 48 values{some}. "
        "If rows of one 'state' belong together, the examples are not independent"
    )
    assert "--group 'state'" in line


def test_a_few_slips_do_not_hide_a_panel(read):
    frame = states()
    frame.loc[:3, "year"] = 1985
    assert found(read(frame), "identifiers")


def test_the_largest_units_are_named_once(read):
    # A code for each state, its rank in each year, and who governs it for some years.
    frame = states()
    rank = frame.groupby("year").x.rank().astype(int)
    frame = frame.assign(code=frame.state.str[1:], rank=rank)
    frame["governor"] = frame.state + "/" + (frame.year > 1985).astype(str)
    (line,) = found(read(frame), "identifiers")
    assert line.startswith("Column 'state' ")
    assert found(read(frame, group=["state"]), "identifiers") == []
    # Governors of one state certify and train.
    (line,) = found(read(frame, group=["governor"]), "identifiers")
    assert line.startswith("Column 'state' ")


def test_a_panel_that_is_split_by_its_time(read):
    (line,) = found(read(states(), time="year"), "identifiers")
    assert line.startswith("Column 'state' repeats, with another 'year' each time")


@pytest.mark.parametrize("m", [200, 2000, 20000])
def test_no_false_alarm_beside_times(m, read):
    rng = np.random.default_rng(m)
    frame = pd.DataFrame(
        {
            "city": rng.integers(1, 60, m).astype(str),
            "age": rng.integers(18, 90, m),
            "rooms": rng.poisson(20, m),
            "year": rng.integers(1990, 2020, m),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(365, size=m), "D"),
            "time": np.sort(rng.random(m))[rng.permutation(m)],
            "hour": rng.integers(24, size=m),
        }
    )
    for some in (frame, frame.sort_values(["city", "year"]), frame.sort_values("age")):
        table = read(some)
        assert found(table, "identifiers") == []
        assert (
            "none has each value of 'year', 'day', 'time', 'hour' once"
            in (table.checks["identifiers"])
        )


def test_hours_of_days_are_no_panel(read):
    days, hours = np.divmod(np.arange(24 * 40), 24)
    assert found(read(pd.DataFrame({"day": days, "hr": hours})), "identifiers") == []


# --- order in time -------------------------------------------------------------------------------

DAYS = pd.Series(pd.Timestamp("2019-11-25") + pd.to_timedelta(np.arange(200) // 2, unit="D"))
FORMS = ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y"]
FORMS += ["%Y/%m/%d", "%d %b %Y", "%B %d, %Y", "%d-%b-%Y", "%Y-%m-%dT%H:%M:%S+02:00"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("down", [False, True])
def test_rows_in_the_order_of_dates_as_text(form, down, read):
    x = np.random.default_rng(0).random(200)
    frame = pd.DataFrame({"x": x, "seen": DAYS.dt.strftime(form)})
    frame.loc[7, "seen"] = None
    (line,) = found(read(frame[::-1] if down else frame), "order in time")
    assert line.startswith("The rows are in the order of 'seen', which looks like time.")
    for seed in range(3):
        table = read(shuffled(frame, seed))
        assert found(table, "order in time") == []
        assert table.checks["order in time"].startswith("The rows are not sorted by 'seen', or")


def test_rows_in_the_order_of_dates_by_type(read):
    frame = pd.DataFrame({"x": np.random.default_rng(0).random(200), "seen": DAYS})
    assert found(read(frame, "parquet"), "order in time")
    assert found(read(frame, "parquet", drop=["seen"]), "order in time")
    assert found(read(shuffled(frame), "parquet"), "order in time") == []


@pytest.mark.parametrize("name", ["year", "Date", "saleDate", "timestamp", "month"])
def test_rows_in_the_order_of_numbers_that_are_times(name, read):
    frame = pd.DataFrame({name: np.arange(200) // 10, "x": np.arange(200)[::-1] ** 0.5})
    for settings in ({}, {"drop": [name]}, {"categorical": [name]}):
        (line,) = found(read(frame, **settings), "order in time")
        assert f"the order of {name!r}, which" in line
    assert found(read(shuffled(frame)), "order in time") == []


def test_several_times_are_one_finding(read):
    frame = pd.DataFrame({"year": DAYS.dt.year * 10 + DAYS.dt.month, "day": DAYS.astype(str)})
    table = read(frame.assign(year=np.arange(200), x=0.5))
    (line,) = table.findings
    assert "'year', 'day'" in line


def test_an_index_of_dates_without_a_name(tmp_path):
    frame = pd.DataFrame({"x": np.arange(200) % 7, "y": np.arange(200) % 2}, index=list(DAYS))
    frame.to_csv(tmp_path / "table.csv")
    (line,) = read_table(str(tmp_path / "table.csv"), "y").findings
    assert "the order of the column without a name" in line
    assert "Write a name for the first column into the header of the file. Name" in line


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", np.arange(200)),  # sorted, but no time
        ("id", np.arange(200)),
        ("year", np.arange(200) // 50),  # four years
        ("year", np.full(200, 2020)),
        ("name", [f"word {i:03}" for i in range(200)]),
        ("band", [f"{10 * i}-{10 * i + 9}" for i in range(10, 30) for _ in range(10)]),
        ("version", [f"{i // 10}.{i % 10}" for i in range(200)]),
    ],
)
def test_what_is_no_order_in_time(name, values, read):
    frame = pd.DataFrame({name: values, "x": np.random.default_rng(0).random(200)})
    assert found(read(frame, categorical=[name] * (name == "version")), "order in time") == []


def test_no_time_at_all(read):
    table = read(pd.DataFrame({"x": np.arange(50) * 0.5}))
    assert table.checks["order in time"] == "No column was read as dates or times."


def test_a_panel_is_not_in_the_order_of_its_years(read):
    table = read(panel(nr=lambda men, years: men, year=lambda men, years: years))
    assert found(table, "order in time") == []
    assert table.checks["order in time"].startswith("The rows are not sorted by 'year', or")


def test_predictions_need_no_checks(read, tmp_path):
    read(panel(nr=lambda men, years: men))
    asked = Asked(features=["wage"], has_target=False)
    table = read_asked([tmp_path / "table.csv"], asked)
    assert (table.findings, table.checks) == ([], {})


# --- whoever reads the file finds the same -------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("mixed", [False, True])
def test_how_the_table_is_read_does_not_matter(form, mixed, read):
    """What was found is looked for again by verify, which reads the file for a model."""
    rng = np.random.default_rng(4)
    frame = panel(nr=lambda men, years: men, year=lambda men, years: years)
    frame = frame.assign(
        town=[f"t{i}" for i in rng.integers(9, size=4360)],
        code=np.repeat(np.arange(1090), 4) * 7,
        day=pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(4360), unit="h")),
        flag=rng.random(4360) < 0.5,
        empty=np.nan,
    )
    if mixed:
        frame = shuffled(frame)
    names = list(frame.columns)
    categories = ["nr", "town", "flag", "code", "empty"]
    if form == "csv":
        categories.append("day")
    tables = [
        read(frame, form),
        read(frame, form, drop=["nr", "day", "code"]),
        read(frame, form, categorical=["nr", "code", "year"]),
        read(frame, form, features=names, names_only=categories),
        read(frame, form, features=["wage"], names_only=[]),
        read(frame, form, as_read=True),
    ]
    assert len(tables[0].findings) == (2 if mixed else 3)
    for table in tables:
        assert table.findings == tables[0].findings
        assert table.checks == tables[0].checks


def test_several_series_one_after_the_other_are_in_the_order_of_time(read):
    x = np.random.default_rng(0).random(800)
    frame = pd.DataFrame({"x": x, "share": np.repeat(list("abcd"), 200), "day": [*DAYS] * 4})
    (line,) = found(read(frame), "order in time")
    assert line.startswith("The rows are in the order of 'day', which looks like time.")
    assert found(read(shuffled(frame, 0)), "order in time") == []


def test_rows_that_lie_close_to_the_order_of_time(read):
    rng = np.random.default_rng(0)
    late = pd.to_timedelta(rng.integers(0, 15, size=200), unit="D")
    frame = pd.DataFrame({"x": rng.random(200), "sent": DAYS + late})
    back = np.mean(frame["sent"].diff().dropna() < pd.Timedelta(0))
    assert back > 0.3  # though many rows are before the one above
    assert found(read(frame), "order in time")
    assert found(read(shuffled(frame)), "order in time") == []


def test_dates_without_a_split_by_time_are_remarked(read):
    frame = shuffled(pd.DataFrame({"x": np.random.default_rng(0).random(200), "sent": DAYS}))
    remark = "'sent' holds times, and the rows were not split by them"
    for form in ("csv", "parquet"):
        assert any(line.startswith(remark) for line in read(frame, form).unusual())
    for settings in ({"time": "sent"}, {"group": ["sent"]}):
        assert not any(remark in line for line in read(frame, **settings).unusual())
    years = frame.rename(columns={"sent": "sample.yr"}).assign(**{"sample.yr": np.arange(200) % 9})
    assert any("'sample.yr' holds times" in line for line in read(shuffled(years)).unusual())
    # Where it is a finding already, once is enough.
    assert not any(remark in line for line in read(frame.sort_values("sent")).unusual())


def test_other_times_where_rows_are_split_by_one_or_by_groups(read):
    days = pd.concat([DAYS] * 4, ignore_index=True)
    x = np.random.default_rng(0).random(800)
    frame = pd.DataFrame({"x": x, "share": np.repeat(list("abcd"), 200), "day": days})
    frame["month"] = days.dt.year * 12 + days.dt.month
    assert found(read(frame), "order in time")
    assert found(read(frame, time="day"), "order in time") == []
    assert found(read(frame, group=["share"]), "order in time") == []
    # Groups that came one after the other are in the order of time all the same.
    frame["day"] = pd.date_range("2020-01-01", periods=800)
    assert found(read(frame, group=["share"]), "order in time")


def test_a_few_values_that_cross_groups_are_counted_and_no_finding(read):
    """Of 300 players of 50 teams three have changed theirs once; then a hundred have."""
    player = np.repeat(np.arange(300), 6)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"player_id": player, "team": player // 6, "x": rng.normal(size=1800)})
    for changed, is_found in ((3, False), (100, True)):
        moved = frame["player_id"].isin(np.arange(changed) * 3) & (np.arange(1800) % 6 < 3)
        table = read(
            frame.assign(team=np.where(moved, (frame["team"] + 7) % 50, frame["team"])),
            group=["team"],
        )
        assert bool(found(table, "identifiers")) == is_found
        if not is_found:
            said = "3 of 300 values of 'player_id' are in several groups, with 18 rows"
            assert said in table.checks["identifiers"]


def test_one_year_alone_is_not_remarked_upon(read):
    frame = pd.DataFrame({"year": np.full(60, 2013), "x": np.random.default_rng(0).normal(size=60)})
    assert not any("hold" in remark for remark in read(frame).remarks)
    varied = frame.assign(year=np.resize([2013, 2011, 2012], 60))
    assert any("'year' holds times" in remark for remark in read(varied).remarks)
