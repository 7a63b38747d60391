"""Columns that tell the label of every row by themselves are remarked upon."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from certivote.tables import read_table

NOTE = "tells the label of every row by itself"


@pytest.fixture
def told(tmp_path):
    """Return the columns that are said to tell the label, of a frame that is written to a file."""

    def told(frame, form="csv", **settings):
        path = tmp_path / f"table.{form}"
        if form == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
        table = read_table(path, "label", **settings)
        lines = [line for line in table.unusual() if NOTE in line]
        names = [column["name"] for column in table.reading["columns"] if NOTE in column["note"]]
        assert len(lines) == min(len(names), 3)
        return names

    return told


def pupils(seed=0, n=400):
    """Pupils who pass with 50 points or more, in one of 8 classes, by what they have learned."""
    rng = np.random.default_rng(seed)
    hours = rng.normal(size=n)
    points = np.clip(50 + 20 * hours + 10 * rng.normal(size=n), 0, 100).round(1)
    frame = pd.DataFrame({"hours": hours, "class": rng.integers(8, size=n), "points": points})
    return frame.assign(label=np.where(points >= 50, "passed", "failed"))


def gap(column, where):
    return column.mask(where)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("copy", lambda frame: frame["label"]),
        ("code", lambda frame: np.where(frame["label"] == "passed", 7, 3)),
        ("points", lambda frame: frame["points"]),
        ("level", lambda frame: frame["points"] // 10),
        ("grade", lambda frame: "grade " + (frame["points"] // 10).astype(str)),
        ("prize", lambda frame: gap(frame["points"], frame["label"] == "failed")),
    ],
)
def test_a_column_that_tells_all_labels(name, make, form, told):
    frame = pupils()
    frame = frame.assign(**{name: make(frame)})
    others = frame if name == "points" else frame.drop(columns="points")
    assert told(others, form) == [name]
    assert told(others, form, drop=[name]) == []
    # One row that is otherwise is enough.
    others.loc[5, "label"] = "passed" if others.loc[5, "label"] == "failed" else "failed"
    assert told(others, form) == []


@pytest.mark.parametrize("n", [60, 300, 1500])
def test_independent_rows_are_not_remarked_upon(n, told):
    for seed in range(10):
        frame = pupils(seed, n).drop(columns="points")
        frame["label"] = np.random.default_rng(seed).permutation(frame["label"])
        assert told(frame) == []


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_tables_that_are_easy_are_not_remarked_upon(name, told):
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    assert told(bunch.data.assign(label=bunch.target)) == []


def test_neither_few_rows_nor_subjects_tell_the_labels(told):
    """Where 29 rows are of the second label it may be easy, and a subject is no category."""
    frame = pupils(n=400)
    few = pd.concat([frame[frame["label"] == "passed"], frame[frame["label"] == "failed"][:29]])
    assert told(few) == []
    man = np.repeat(np.arange(100), 4)
    label = (np.random.default_rng(0).random(100) < 0.5)[man]
    x = np.random.default_rng(1).normal(size=400)
    assert told(pd.DataFrame({"x": x, "where": man % 50 * 100 + man, "label": label})) == []
