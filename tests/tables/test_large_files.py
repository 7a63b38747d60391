"""Large files are read by another reader than small ones: what comes out is the same."""

import numpy as np
import pandas as pd
import pytest

from certivote.tables import csv_files, read_table

ROWS = 1200  # more than are looked at before


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Read a file as a small one and as a large one, and say which of them pyarrow has read."""
    from pyarrow import csv

    def both(content, **settings):
        path, taken = tmp_path / "t.csv", []
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        results = []
        for limit in (1 << 40, 0):
            with monkeypatch.context() as patch:
                patch.setattr(csv_files, "LARGE", limit)
                patch.setattr(csv, "read_csv", counting(csv.read_csv, taken))
                try:
                    results.append(read_table(path, **settings))
                except ValueError as error:
                    results.append(str(error))
        return *results, taken[-1:] == [True]

    return both


def counting(function, taken):
    """Note whether a call came to its end."""

    def counted(*arguments):
        taken.append(False)
        result = function(*arguments)
        taken[-1] = True
        return result

    return counted


def assert_same(small, large):
    if isinstance(small, str):
        assert large == small
        return
    pd.testing.assert_frame_equal(small.X, large.X, check_exact=True)
    np.testing.assert_array_equal(small.y, large.y)
    assert small.y.dtype == large.y.dtype
    for name in ("reading", "findings", "checks", "provenance"):
        assert getattr(small, name) == getattr(large, name)
    for name in ("groups", "time"):
        assert (getattr(small, name) is None) == (getattr(large, name) is None)
        if getattr(small, name) is not None:
            np.testing.assert_array_equal(getattr(small, name), getattr(large, name))


def text_of(*cells, header="a,b,label", at=-5, usual="1.5,x"):
    """Return a file in which some rows are unusual: those at the end, or from another place."""
    rows = [f"{usual},{i % 2}" for i in range(ROWS)]
    rows[at : at + len(cells) or None] = cells
    return "\n".join([header, *rows]) + "\n"


def test_all_kinds_of_columns(both):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    frame = pd.DataFrame(
        {
            "float": rng.normal(size=ROWS) * 10.0 ** rng.integers(-300, 30, ROWS),
            "short": rng.normal(size=ROWS).round(3),
            "whole": rng.integers(-5, 1000, ROWS),
            "id": 2**53 + np.arange(ROWS) // 3,
            "gaps": np.where(rng.random(ROWS) < 0.3, np.nan, rng.normal(size=ROWS)),
            "none": np.nan,
            "name": rng.choice(["a b", " c", "d,e", 'say "f"', "two\nlines", None, "NA "], ROWS),
            "truth": rng.random(ROWS) < 0.5,
            "when": days.strftime("%d.%m.%Y"),
            "hour": days.strftime("%H:%M"),
            "group": rng.integers(100, size=ROWS),
            "label": rng.choice(["yes", "no"], ROWS),
        }
    )
    for settings in ({}, {"group": "group"}, {"time": "when"}, {"categorical": ["whole"]}):
        small, large, fast = both(frame.to_csv(index=False), **settings)
        assert fast
        assert_same(small, large)
    for name in ("float", "short", "gaps"):
        np.testing.assert_array_equal(large.X[name], frame[name])  # to the last bit


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_other_ways_to_write_a_file(separator, end, both):
    text = text_of().replace("\n", end).replace(".", "," if separator == ";" else ".")
    if separator != ";":
        text = text.replace(",", separator)
    else:
        text = text.replace("1,5,x,", "1,5;x;").replace("a,b,label", "a;b;label")
    small, large, fast = both(b"\xef\xbb\xbf" + text.encode())
    assert fast
    assert_same(small, large)
    assert large.X["a"].unique().tolist() == [1.5]


@pytest.mark.parametrize(
    ("cells", "fast"),
    [
        (["2,y,0", ",,1", "NA,?,0"], True),
        (["inf,x,0"], True),
        ([" 2 , x ,0", "2.,X,1"], None),
        (["0x1F,x,0"], False),
        (["NAN,x,0"], True),
        (["word,x,0"], False),
        (["+5,x,0"], None),
        (["1_000,x,0"], False),
        # To older versions of pandas this is infinite, which is refused in other words.
        *[(["1e400,x,0"], None)] * (int(pd.__version__.split(".")[0]) >= 3),
        (["1.5,x"], False),
        (["1.5,x,0,3"], False),
        (["", "1.5,x,0", "   "], False),
        (['1.5,"a,b",0', '1.5,"two\nlines",0'], True),
        (['1.5,"open,0', "1.5,x,1"], None),
        (["1.5,'open,0"], True),
        (["1.5,x,NA"], True),
        (["1.5,x,"], True),
        (["1.5,X,1.0"], True),
        (["1.5,0x1F,0"], True),
        (["1.5,\0,0"], None),
    ],
)
def test_what_is_unusual_is_so_in_both(cells, fast, both):
    for at in (-5, 3):
        for settings in ({}, {"keep_na": True}, {"drop_missing_target": True}):
            small, large, _ = both(text_of(*cells, at=at), **settings)
            assert_same(small, large)
        if at == -5 and fast is not None:
            assert both(text_of(*cells, at=at))[2] is fast


def test_what_is_not_utf_8(both):
    small, large, _ = both(text_of("1.5,\xe9,0").encode("latin-1"))
    assert "is not UTF-8" in small
    assert small == large


def test_whole_numbers_that_grow_beyond_floats(both):
    rows = [f"{2**53 + i},x,{i % 2}" for i in range(5)]
    small, large, _ = both(text_of(*rows, usual="1,x"))
    assert_same(small, large)


def test_a_header_of_two_lines_and_an_index(both):
    header = ',"two\nlines",label'
    small, large, fast = both(text_of(header=header, usual="1.5,x"))
    assert fast
    assert_same(small, large)
    assert list(large.X.columns) == ["two\nlines"]


def test_other_texts_that_are_missing_are_left_to_pandas(both):
    small, large, fast = both(text_of("-,x,0", "nan,x,1"), na_values=["-"])
    assert not fast
    assert_same(small, large)


def test_without_pyarrow(both, monkeypatch):
    monkeypatch.setattr(csv_files, "find_spec", lambda name: None)
    small, large, fast = both(text_of())
    assert not fast
    assert_same(small, large)
