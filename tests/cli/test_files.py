"""Tables as people have them: packed, in other formats, and in several files."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from certivote.tables import read_table
from options import trees

SMALL = ("--target", "repaid", "--drop", "id", *trees(3), "-q")


def zipped(text, *names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, text)
    return buffer.getvalue()


PACKERS = {
    "t.csv.gz": gzip.compress,
    "t.csv.bz2": bz2.compress,
    "t.csv.xz": lzma.compress,
    "t.csv.zip": lambda text: zipped(text, "t.csv"),
    "t.zip": lambda text: zipped(text, "folder/t.csv", "__MACOSX/folder/._t.csv", "folder/.hidden"),
    "told by its bytes.csv": gzip.compress,
}


@pytest.fixture
def same(loans, tmp_path):
    """Read files, and compare with the table that pandas wrote as plain CSV."""
    loans.to_csv(tmp_path / "plain.csv", index=False)
    plain = read_table(str(tmp_path / "plain.csv"))

    def same(*names, **settings):
        table = read_table([str(tmp_path / name) for name in names], **settings)
        pd.testing.assert_frame_equal(table.X, plain.X)
        assert table.y.tolist() == loans["repaid"].tolist()
        return table

    return same


# --- packed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PACKERS)
def test_packed(name, loans, same, tmp_path):
    content = PACKERS[name](loans.to_csv(index=False).encode())
    (tmp_path / name).write_bytes(content)
    table = same(name)
    assert table.name == ("told by its bytes" if "told" in name else "t")
    assert table.provenance["data"] == name
    assert table.provenance["data_sha256"] == hashlib.sha256(content).hexdigest()


def test_a_packed_file_is_read_with_as_much_care(tmp_path):
    text = 'a;b;y\n1,5;"x\ny";u\n2,5;"x\nz";v\n' + "3,5;w;u\n4,5;w;v\n" * 20
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    table = read_table(str(tmp_path / "t.csv.gz"))
    plain = pd.read_csv(io.StringIO(text), sep=";", decimal=",")
    assert table.X["a"].tolist() == plain["a"].tolist()
    assert table.X["b"].tolist() == plain["b"].tolist()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b'a,y\n"1,u\n2,v\n3,u\n'))
    with pytest.raises(ValueError, match="a quote that opens on line 2 and never closes"):
        read_table(str(tmp_path / "t.csv.gz"))


def test_a_packed_parquet_file(loans, tmp_path):
    loans.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.zip").write_bytes(zipped((tmp_path / "t.parquet").read_bytes(), "t.parquet"))
    packed, plain = (read_table(str(tmp_path / name)) for name in ("t.zip", "t.parquet"))
    pd.testing.assert_frame_equal(packed.X, plain.X)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.zip", zipped("a,y\n1,2\n", "one.csv", "two.csv"), "tables, 'one.csv', 'two.csv': unp"),
        ("t.zip", zipped(""), "holds no table"),
        ("t.zip", zipped("a", "a/.b"), "holds no table"),
        ("t.zip", zipped("a,y\n1,2\n", "one.csv")[:40], "cannot be unpacked"),
        ("t.csv.gz", gzip.compress(b"a,y\n1,2\n")[:-9], "cannot be unpacked"),
        ("t.csv.gz", gzip.compress(b""), "is empty"),
        ("t.csv.bz2", b"BZh9 and no more", "cannot be unpacked"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "is of an older Excel"),
        ("t.bin", b"a,b\n\0\0", "is neither CSV, Parquet, JSON Lines nor Excel"),
        ("t.dta", b"<stata_dta>\0\0", "convert it first, in Python with pandas.read_stata"),
        ("t.arff", b"% of flowers\n\n@RELATION iris\n@data\n1,a\n", "scipy.io.arff.loadarff"),
        ("t.txt", b"1 1:0.5 3:2e-3\n-1 2:1\n", "sklearn.datasets.load_svmlight_file"),
    ],
    ids=range(12),  # not the bytes, in which the time of packing is
)
def test_bad_packages(name, content, words, invoke, tmp_path):
    (tmp_path / name).write_bytes(content)
    done = invoke("certify", name, cwd=tmp_path, status=2)
    assert words in " ".join(done.stderr.split())


def test_what_lies_beside_the_table_in_an_archive(loans, same, tmp_path):
    text = loans.to_csv(index=False)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("README.txt", "about")
        archive.writestr("loans.csv", text)
    same("t.zip")


# --- JSON Lines ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz"])
def test_json_lines(name, loans, same, tmp_path):
    loans.to_json(tmp_path / name, orient="records", lines=True)
    same(name)


def test_types_of_json_lines(tmp_path):
    rows = [
        {"n": i, "flag": i % 3 == 0, "day": f"2020-01-{i % 28 + 1:02}", "y": i % 2 == 0}
        for i in range(40)
    ]
    rows[3] |= {"flag": None, "n": None}
    del rows[4]["day"]
    text = "\n\n".join(json.dumps(row) for row in rows)
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8-sig")
    table = read_table(str(tmp_path / "t.jsonl"))
    assert table.X["n"].isna().tolist() == [i == 3 for i in range(40)]
    assert table.X["flag"].tolist()[:3] == ["True", "False", "False"]
    assert pd.isna(table.X["flag"][3])
    assert table.X["day"][0] == pd.Timestamp("2020-01-01").timestamp()
    assert np.isnan(table.X["day"][4])
    assert table.y.tolist() == [row["y"] for row in rows]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 of t.jsonl is not JSON"),
        ('{"a": 1}\n[1]\n', "line 2 of t.jsonl is no row"),
        ('{"a": 1}\n\n{"a": [1]}\n', "column 'a' of t.jsonl holds several values on line 3"),
        ("[" * 100_000, "line 1 of t.jsonl is not JSON"),
        ("\n", "t.jsonl is empty"),
    ],
)
def test_bad_json_lines(text, words, invoke, tmp_path):
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8")
    done = invoke("certify", "t.jsonl", cwd=tmp_path, status=2)
    assert words in " ".join(done.stderr.split())


# --- Excel ---------------------------------------------------------------------------------------


@pytest.fixture
def excel():
    pytest.importorskip("openpyxl")


def test_excel(excel, loans, same, tmp_path):
    loans.to_excel(tmp_path / "t.xlsx", index=False)
    assert same("t.xlsx").unusual() == same("plain.csv").unusual()
    loans.to_excel(tmp_path / "t.xlsx")  # with an index
    same("t.xlsx")


def test_types_of_excel(excel, tmp_path):
    days = pd.Series(pd.date_range("2020-01-30", periods=40))
    frame = pd.DataFrame({"day": days, "n": ["NA", *range(39)], "y": ["None", "b"] * 20})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    table = read_table(str(tmp_path / "t.xlsx"), keep_na=True)
    assert table.X["day"].tolist() == [day.timestamp() for day in days]
    assert np.isnan(table.X["n"][0])
    assert table.X["n"].tolist()[1:] == list(range(39))
    assert table.y.tolist() == ["None", "b"] * 20


def test_sheets(excel, loans, same, invoke, tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        loans.to_excel(writer, sheet_name="loans", index=False)
        loans[:5].to_excel(writer, sheet_name="other", index=False)
    same("t.xlsx")
    done = invoke("certify", "t.xlsx", *SMALL[:-1], "--explain", cwd=tmp_path)
    assert "has 2 sheets: only the first one, 'loans', is read" in " ".join(done.stdout.split())


def test_a_target_in_another_sheet(excel, loans, invoke, tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        loans[["id", "age"]].to_excel(writer, sheet_name="notes", index=False)
        loans.to_excel(writer, sheet_name="loans", index=False)
    done = invoke("certify", "t.xlsx", "--target", "repaid", cwd=tmp_path, status=2)
    assert "--target asks for a column 'repaid'" in done.stderr
    assert "t.xlsx has 2 sheets: only the first one, 'notes', is read." in done.stderr


def test_excel_without_openpyxl(invoke, monkeypatch, tmp_path):
    (tmp_path / "t.xlsx").write_bytes(zipped("", "xl/workbook.xml"))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setattr("certivote.tables.formats.find_spec", lambda name: None)
    done = invoke("certify", "t.xlsx", cwd=tmp_path, status=2)
    assert "Excel needs openpyxl: pip install 'certivote[excel]'." in done.stderr


def test_a_broken_excel_file(excel, invoke, tmp_path):
    (tmp_path / "t.xlsx").write_bytes(zipped("", "xl/workbook.xml"))
    done = invoke("certify", "t.xlsx", cwd=tmp_path, status=2)
    assert "t.xlsx is not a readable Excel file" in done.stderr


# --- what is no table as it is -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.txt"])
@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_json(name, indent, invoke, tmp_path):
    rows = [{"a": 3 * i, "date": f"2026-01-{i % 28 + 1:02}", "y": i % 2} for i in range(40)]
    (tmp_path / name).write_text(json.dumps(rows, indent=indent), encoding="utf-8")
    done = invoke("certify", name, cwd=tmp_path, status=2)
    assert f"{name} is one array of JSON, and what is read is JSON Lines" in done.stderr
    # What it advises makes a table of it.
    path = str(tmp_path / "table.jsonl")
    how = re.search(r"pandas\.read_json\(path\)\.to_json\(\"table.jsonl\", (.*?)\)\.$", done.stderr)
    settings = eval(f"dict({how.group(1)})")
    pd.read_json(tmp_path / name).to_json(path, **settings)
    table = read_table(path)
    assert table.y.tolist() == [row["y"] for row in rows]
    assert [column["kind"] for column in table.reading["columns"]] == ["number", "date", "target"]
    first = pd.Timestamp("2026-01-01")
    assert table.X["date"].iloc[0] == first.timestamp()


@pytest.mark.parametrize("name", ["t.json", "t.txt", "t.jsonl.gz", "t.json.gz"])
def test_json_lines_under_any_name(name, loans, same, tmp_path):
    loans.to_json(tmp_path / name, orient="records", lines=True)
    same(name)


@pytest.mark.parametrize("indent", [None, 1])
def test_an_object_of_json(indent, invoke, tmp_path):
    columns = {"a": list(range(40)), "y": [0, 1] * 20}
    (tmp_path / "t.json").write_text(json.dumps(columns, indent=indent), encoding="utf-8")
    done = invoke("certify", "t.json", cwd=tmp_path, status=2)
    words = "is one object of JSON" if indent else "column 'a' of t.json holds several values"
    assert words in done.stderr


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("blanks", [" ", "   "])
def test_cells_between_blanks(blanks, end, loans, same, tmp_path):
    frame = loans.astype(object).where(loans.notna(), "?").replace("Metz", '"Metz"')
    rows = [list(frame), *frame.astype(str).to_numpy().tolist()]
    lines = [f"  {blanks.join(row)}{' ' * (i % 2)}" for i, row in enumerate(rows)]
    (tmp_path / "loans.data").write_bytes(end.join([*lines, ""]).encode())
    same("loans.data")


def test_blanks_inside_of_quotes_and_beside_a_tab(tmp_path):
    # As UCI's auto-mpg.data.
    rows = [f'{15 + i % 9}.5   8   {300 + i}.0\t"buick {i % 7} sky" {i % 2}' for i in range(40)]
    path = tmp_path / "t.data"
    path.write_text("\n".join(["mpg cyl  power\tname y", *rows]), encoding="utf-8")
    table = read_table(path, "y")
    assert list(table.X) == ["mpg", "cyl", "power", "name"]
    assert table.X["name"].iloc[8] == "buick 1 sky"
    assert table.X["power"].tolist() == [300.0 + i for i in range(40)]


def test_blanks_that_cut_rows_unlike(invoke, tmp_path):
    text = "\n".join(["a b y", *(f"{i} {'new york' if i % 2 else 'rome'} 1" for i in range(40))])
    (tmp_path / "t.data").write_text(text, encoding="utf-8")
    done = invoke("certify", "t.data", cwd=tmp_path, status=2)
    hint = "Are its cells separated by blanks? Separate them by commas."
    assert hint in done.stderr
    assert hint in invoke("certify", "t.data", "--target", "y", cwd=tmp_path, status=2).stderr


@pytest.mark.parametrize(
    ("first", "row"),
    [
        ("5.1,3.5,1.4,0.2,Iris-setosa", "4.9,3.0,1.4,0.2,Iris-virginica"),
        ("B,1,1,1,1", "R,1,1,1,2"),
        ("1 22.08 11.46 2 4 1.585 0", "0 22.67 7 2 8 0.165 1"),
    ],
)
def test_a_file_without_a_header(first, row, invoke, tmp_path):
    (tmp_path / "t.data").write_text("\n".join([first, row, first, row]), encoding="utf-8")
    done = invoke("certify", "t.data", cwd=tmp_path, status=2)
    assert "the first row of t.data looks like data, such as" in done.stderr
    assert "write a row of names above it" in done.stderr


@pytest.mark.parametrize(
    "names",
    [
        list(map(str, range(8))),
        [f"{400 + 2.5 * i}" for i in range(8)],
        [f"{900 - 2.5 * i}" for i in range(8)],
        ["2019", "2024", "2021", "a", "b", "c", "d", "e"],
    ],
)
def test_names_that_are_numbers(names, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 8)), columns=names).assign(y=np.arange(40) % 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert list(read_table(tmp_path / "t.csv").X) == names


def test_a_name_may_begin_with_a_bracket(tmp_path):
    text = "\n".join(["[a],[y]", *(f"{i},{i % 2}" for i in range(40))])
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert list(read_table(str(tmp_path / "t.csv")).X) == ["[a]"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_header_that_is_one_name_short(separator, invoke, tmp_path):
    """As write.table of R writes the names of rows."""
    lines = ["weight,time,y", *(f"{i},{i * 0.5},{i % 7},{i % 2}" for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines).replace(",", separator), encoding="utf-8")
    done = invoke("certify", "t.csv", cwd=tmp_path, status=2)
    assert "the header of t.csv has 3 names, but the rows have 4 cells" in done.stderr
    assert "col.names=NA" in done.stderr


def test_rows_that_end_in_a_separator(tmp_path):
    lines = ["weight,y", *(f"{i * 0.5},{i % 2}," for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match="rows have 3 cells: remove the separator at the end"):
        read_table(tmp_path / "t.csv")


# --- several files -------------------------------------------------------------------------------


@pytest.fixture
def parts(loans, tmp_path):
    """The loans in three files, the second with its columns in another order."""
    loans[:100].to_csv(tmp_path / "a.csv", index=False)
    loans[100:150][loans.columns[::-1]].to_csv(tmp_path / "b.csv", index=False, sep=";")
    loans[150:].to_csv(tmp_path / "c.csv.gz", index=False)
    return ["a.csv", "b.csv", "c.csv.gz"]


def test_several_files(parts, same, tmp_path):
    table = same(*parts)
    digests = [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in parts]
    lines = "".join(f"{digest}\n" for digest in digests)
    assert table.name == "a"
    assert table.provenance["data"] == "a.csv, b.csv, c.csv.gz"
    assert table.provenance["data_sha256"] == hashlib.sha256(lines.encode()).hexdigest()


def test_several_files_are_certified_and_checked_as_one(parts, same, invoke, tmp_path):
    invoke("certify", *parts, *SMALL, cwd=tmp_path)
    invoke("certify", "plain.csv", *SMALL, cwd=tmp_path)
    several, one = (
        json.loads((tmp_path / folder / "certificate.json").read_text(encoding="utf-8"))
        for folder in ("a-certificate", "plain-certificate")
    )
    assert several["risk_bound"] == one["risk_bound"]
    files = ("a-certificate/certificate.json", "--model", "a-certificate/model.joblib")
    given = [word for name in parts for word in ("--data", name)]
    done = invoke("verify", *files, *given, cwd=tmp_path)
    assert "byte for byte" not in done.stdout
    done = invoke("verify", *files, "--data", "plain.csv", cwd=tmp_path)
    assert "it is not, byte for byte" in " ".join(done.stdout.split())
    other = invoke("verify", *files, *given[2:4], *given[:2], *given[4:], cwd=tmp_path, status=1)
    assert "The order of several files matters" in other.stderr


def test_a_column_that_is_empty_in_one_of_the_files(loans, same, tmp_path):
    loans.assign(city=None)[:100].to_csv(tmp_path / "a.csv", index=False)
    loans[100:].to_csv(tmp_path / "b.csv")
    table = read_table([str(tmp_path / name) for name in ("a.csv", "b.csv")])
    assert table.X["city"][:100].isna().all()
    assert table.X["city"][100:].dropna().tolist() == loans["city"][100:].dropna().tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": "Age"}, "b.csv has other columns than a.csv: it lacks 'age', and it has besides"),
        (None, "a.csv is given twice"),
    ],
)
def test_files_that_are_not_of_one_table(change, words, loans, invoke, tmp_path):
    loans.to_csv(tmp_path / "a.csv", index=False)
    if change is not None:
        loans.rename(columns=change).to_csv(tmp_path / "b.csv", index=False)
    second = "b.csv" if change else Path("..") / tmp_path.name / "a.csv"
    done = invoke("certify", "a.csv", second, *SMALL, cwd=tmp_path, status=2)
    assert words in " ".join(done.stderr.split()).replace("../" + tmp_path.name + "/", "")


def test_a_file_that_is_not_there(loans, invoke, tmp_path):
    loans.to_csv(tmp_path / "a.csv", index=False)
    done = invoke("certify", "a.csv", "breast-cancer", *SMALL, cwd=tmp_path, status=2)
    assert "there is no file breast-cancer" in done.stderr
