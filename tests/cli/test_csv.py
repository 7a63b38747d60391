"""CSV files as programs and people write them: headers, indexes, quotes, and accidents."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest

from certivote.tables import read_table
from options import trees


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path as text."""

    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def lines_of(*lines, times=10):
    return "\n".join(list(lines) * times) + "\n"


# --- headers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "name", ["two\nlines", "a\u2028b", "a\u2029b", "a\x85b", "a\x0bb", "a\x1cb", 'say "a"', "a, b"]
)
def test_names_with_odd_characters(name, end, write):
    quoted = '"' + name.replace('"', '""') + '"'
    text = f"x,{quoted},y\n" + lines_of("1,2,0", "3,4,1")
    table = read_table(write(text.replace("\n", end)))
    assert list(table.X.columns) == ["x", name.replace("\n", end)]
    assert table.X.iloc[:2].to_numpy().tolist() == [[1, 2], [3, 4]]
    assert len(table.y) == 20


@pytest.mark.parametrize(("n_columns", "length"), [(9_000, 12), (300, 3_000)])
def test_a_long_header(n_columns, length, write):
    names = [f"column {j}".ljust(length, "_") for j in range(n_columns)]
    cells = ",".join(["1"] * n_columns)
    text = ",".join([*names, "y"]) + "\n" + lines_of(f"{cells},0", f"{cells},1", times=2)
    assert text.index("\n") > 2**16
    table = read_table(write(text))
    assert list(table.X.columns) == names
    assert table.y.tolist() == [0, 1, 0, 1]


def test_a_long_header_with_another_separator(write):
    names = [f"a quantity, number {j}" for j in range(5_000)]
    cells = ";".join(["1.5"] * 5_000)
    text = ";".join([*names, "y"]) + "\n" + lines_of(f"{cells};0", f"{cells};1", times=2)
    table = read_table(write(text))
    assert list(table.X.columns) == names
    assert set(table.X.to_numpy().flat) == {1.5}


def test_a_header_without_an_end(write):
    with pytest.raises(ValueError, match="quote that opens on line 1 and never closes"):
        read_table(write('"x,y\n' + lines_of("1,0", "2,1")))
    for text in ("x" * 200_000, b"x," * 2**24):
        with pytest.raises(ValueError, match="is not a readable CSV file: its header has no end"):
            read_table(write(text))


def test_spaces_around_a_name_are_no_part_of_it(write):
    table = read_table(write("x, y \n" + lines_of("1,01", "2,02")))
    assert set(table.y) == {"01", "02"}  # as text, as those of any target


# --- an index of pandas --------------------------------------------------------------------------


@pytest.fixture
def indexed(numbers, tmp_path):
    """A table as pandas writes it unless it is told not to, and the same without the index."""
    numbers.to_csv(tmp_path / "indexed.csv")
    numbers.to_csv(tmp_path / "plain.csv", index=False)
    assert (tmp_path / "indexed.csv").read_text().startswith(",a,b")
    return tmp_path


LEFT_OUT = "has no name, as an index of pandas: it is left out"
NOTE = f"note: the first column {LEFT_OUT}."


def test_an_index_of_pandas_is_left_out_and_said(indexed, invoke):
    claims = {}
    for name in ("indexed", "plain"):
        done = invoke("certify", f"{name}.csv", *trees(3), cwd=indexed)
        said = [line for line in (done.stdout + done.stderr).splitlines() if LEFT_OUT in line]
        assert said == [f"the first column {LEFT_OUT}"] * (name == "indexed")  # and not twice
        (claims[name],) = (line for line in done.stdout.splitlines() if line.startswith("With "))
        vote = joblib.load(indexed / f"{name}-certificate" / "model.joblib")
        assert vote.feature_names_in_.tolist() == list("abcde")
    assert claims["indexed"] == claims["plain"]
    quiet = invoke("certify", "indexed.csv", *trees(3), "--quiet", cwd=indexed)
    assert quiet.stderr == ""


def without_index(predictions):
    """Return what predict printed without its first column, which numbers the rows."""
    lines = [line.partition(",") for line in predictions.splitlines()]
    assert [line[0] for line in lines] == ["", *map(str, range(len(lines) - 1))]
    return "".join(f"{line[2]}\n" for line in lines)


def test_all_commands_read_an_index_in_one_way(indexed, invoke):
    invoke("certify", "indexed.csv", *trees(3), cwd=indexed)
    model, certificate = (
        f"indexed-certificate/{name}" for name in ("model.joblib", "certificate.json")
    )
    done = invoke("verify", certificate, "--model", model, "--data", "indexed.csv", cwd=indexed)
    assert NOTE in done.stderr.splitlines()
    first, second = (
        invoke("predict", model, f"{name}.csv", cwd=indexed) for name in ("indexed", "plain")
    )
    assert without_index(first.stdout) == second.stdout
    assert NOTE.replace("left out", "kept as it is") in first.stderr.splitlines()
    done = invoke("compare", "indexed.csv", *trees(3), "--json", cwd=indexed)
    assert done.stderr == ""
    assert json.loads(done.stdout)["n_voters"] == 3


def test_a_model_that_counts_columns_does_not_see_the_index(indexed, numbers, invoke):
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier().fit(numbers[list("abcde")].to_numpy(), numbers["label"])
    joblib.dump(tree, indexed / "tree.joblib")
    arguments = ("predict", "tree.joblib", "--drop", "label", "--quiet")
    first, second = (
        invoke(*arguments, f"{name}.csv", cwd=indexed).stdout for name in ("indexed", "plain")
    )
    assert without_index(first) == second


def test_an_index_is_told_from_a_column_that_pandas_would_call_alike(write):
    table = read_table(write(",Unnamed: 0,y\n" + lines_of("a,1,0", "b,2,1")))
    assert list(table.X.columns) == ["Unnamed: 0"]
    assert table.X.iloc[:2, 0].tolist() == [1, 2]


# --- quotes --------------------------------------------------------------------------------------

ROWS = [f"{i},{i % 7},{'ab'[i % 2]}" for i in range(30)]


def spoiled(*places):
    """Thirty rows with a quote before some cells, given by line and cell, or after: -1 - cell."""
    table = [line.split(",") for line in ("x,z,y", *ROWS)]
    for line, cell in places:
        row = table[line - 1]
        if cell < 0:
            row[-1 - cell] += '"'
        else:
            row[cell] = '"' + row[cell]
    return "\n".join(map(",".join, table)) + "\n"


@pytest.mark.parametrize("cell", [0, 1, 2])
@pytest.mark.parametrize("line", [2, 17, 31])
def test_a_quote_that_never_closes(line, cell, write):
    with pytest.raises(ValueError, match=f"opens on line {line} and never closes"):
        read_table(write(spoiled((line, cell))))


@pytest.mark.parametrize("close", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("cell", [0, 1, 2])
@pytest.mark.parametrize("until", [11, 12, 31])
def test_two_quotes_that_swallow_rows(cell, close, until, write):
    text = spoiled((10, cell), (until, close))
    with pytest.raises(ValueError, match=r"opens on line 10 and swallows the rows up to line \d+"):
        read_table(write(text))
    with pytest.raises(ValueError, match="opens on line 10 and"):
        read_table(write(text.replace("\n", "\r\n")))


def test_the_first_of_several_quotes_is_named(write):
    with pytest.raises(ValueError, match=r"opens on line 10 and swallows .* up to line 12"):
        read_table(write(spoiled((10, 1), (12, 1), (20, 1))))


def test_rows_with_separators_inside_quotes_are_swallowed_too(write):
    rows = [f'{i},"Smith, John {i}",{i % 2}' for i in range(30)]
    rows[8] = '8,"Smith, John 8,0'
    with pytest.raises(ValueError, match="opens on line 10 and swallows the rows up to line 11"):
        read_table(write("\n".join(["x,name,y", *rows]) + "\n"))


def test_a_quote_that_swallows_very_many_rows(write):
    text = spoiled((10, 1)).encode() + b"1,2,a\n" * 100_000 + b'1,"2,b\n'
    with pytest.raises(ValueError, match="opens on line 10 and swallows"):
        read_table(write(text))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "texts",
    [
        ["Hello, A\nbye", "short", "two\n\nparagraphs", 'said "so",\nand left'],
        ["one, two\nthree, four", "five", "six, seven\neight, nine", "ten"],
        ["a\nb", "c\nd", "e\nf", "g\nh"],
        ["1.5,2\n3,4", "1 or 2,\n3", "a", "b"],
    ],
)
@pytest.mark.parametrize("columns", ["text", "text and label", "between"])
def test_cells_of_several_lines_are_read(texts, columns, end, tmp_path):
    m = 40
    data = {"text": np.resize(texts, m), "label": np.resize(["ham", "spam"], m)}
    if columns == "between":
        data = {"id": np.arange(m), **data}
    elif columns == "text":
        data["label"] = np.arange(m) % 2
    frame = pd.DataFrame(data)
    frame.to_csv(tmp_path / "texts.csv", index=False, lineterminator=end)
    table = read_table(str(tmp_path / "texts.csv"), "label")
    assert table.X["text"].tolist() == frame["text"].tolist()
    assert table.y.tolist() == frame["label"].tolist()


def test_quotes_that_swallow_nothing_are_read(write):
    # Inches, a word in quotes before others, blank lines, and no end of the last line.
    text = 'x,z,y\n1,5",0\n\n2,"big" one,1\n   \n3,"""4""",0\n4,a""b,1'
    table = read_table(write(text), "y")
    assert table.X["z"].tolist() == ['5"', "big one", '"4"', 'a""b']


def test_a_very_long_cell_is_read(write):
    text = "x,z,y\n\n" + lines_of(f"1,{'long ' * 40_000},0", "2,short,1", times=2)
    assert read_table(write(text)).y.tolist() == [0, 1, 0, 1]


# --- torn rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("row", "cells"), [("0", "1 cell"), ("0,2", "2 cells")])
@pytest.mark.parametrize("name", ["town", '"Bonn, or so"'])
@pytest.mark.parametrize("line", [10, 31])
def test_rows_with_too_few_cells(line, name, row, cells, end, write):
    """They would be rows with something missing, if nobody looked."""
    rows = [f"{i % 2},{i},{name}" for i in range(30)]
    rows[line - 2] = row
    text = end.join(["y,x,place", *rows])
    with pytest.raises(ValueError, match=f"has {cells} on line {line}, but 3 columns"):
        read_table(write(text), "y")


def test_a_torn_row_of_a_large_file(write):
    rows = ["0,1.5,town", "1,2.5,city"] * 250_000
    rows[400_000] = "0,1.5"
    with pytest.raises(ValueError, match="has 2 cells on line 400002, but 3 columns"):
        read_table(write("\n".join(["y,x,place", *rows]) + "\n"), "y")


def test_empty_cells_and_empty_last_columns_are_read(write):
    table = read_table(write("y,x,place\n" + lines_of("0,1,", "1,,Ulm", "", "  ")), "y")
    assert table.X["place"].tolist() == [None, "Ulm"] * 10
    table = read_table(write("y,x,place\n" + lines_of("0,1", "1,2")), "y")
    assert table.X["x"].tolist() == [1, 2] * 10


# --- fuzz ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_spoiled_files_are_read_or_refused_in_words(seed, write):
    rng = np.random.default_rng(seed)
    rows = [f'{i},{i / 3:.2f},"red, or {i % 3}",{"ab"[i % 2]}' for i in range(40)]
    text = "\n".join([("", "id")[seed % 2] + ',size,"the\ncolour",y', *rows]).encode() + b"\n"
    pieces = [
        b'"',
        b",",
        b"\n",
        b"\r",
        b";",
        b"\xff",
        b"\xe2\x80\xa8",
        b"\x1b",
        b"\xef\xbb\xbf",
        b"",
    ]
    refused = 0
    for _ in range(60):
        spoiled = bytearray(text)
        for _ in range(rng.integers(1, 6)):
            at = rng.integers(len(spoiled))
            spoiled[at : at + rng.integers(3)] = pieces[rng.integers(len(pieces))]
        try:
            table = read_table(write(bytes(spoiled)))
        except ValueError:
            refused += 1
        else:
            assert len(table.X) == len(table.y)
    assert refused > 10
