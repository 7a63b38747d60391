"""Bad input ends in one sentence, exit status 2, and nothing left behind."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

BESIDES = ("warning: ", "note: ", "training ", "voting ")


def the_error(stderr):
    """The only line that is neither a warning, a note nor a progress bar."""
    assert "Traceback" not in stderr
    (line,) = (line for line in stderr.splitlines() if not line.startswith(BESIDES))
    assert line.startswith("error: ")
    return line


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def refused(invoke, tmp_path):
    """Run a command that must fail and leave everything as it was; return its sentence."""

    def refused(*arguments, command="certify"):
        before = listing(tmp_path)
        done = invoke(command, *arguments, cwd=tmp_path, status=2)
        assert listing(tmp_path) == before
        assert done.stdout == ""
        return the_error(done.stderr)

    return refused


@pytest.fixture
def table(tmp_path):
    """40 rows of two numbers and a label, with some columns changed, as a CSV file."""

    def write(name="table.csv", **columns):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"width": rng.random(40), "height": rng.random(40)})
        frame = frame.assign(label=np.arange(40) % 2).assign(**columns)
        frame.to_csv(tmp_path / name, index=False)
        return name

    return write


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "table.csv is empty"),
        (b"\n", "table.csv is empty"),
        (b"width,height,label\n", "has a header but no rows"),
        ("größe,label\n1,0\n2,1\n".encode("latin-1"), "is not UTF-8 (byte 0xf6)"),
        (bytes(range(256)) * 20, "neither CSV, Parquet, JSON Lines nor Excel"),
        (b"PAR1" + bytes(range(256)), "is not a readable Parquet file"),
        (b"\x1f\x8b\x08\x00" + bytes(64), "cannot be unpacked"),
        (b"a,b,label\n1,2,0\n1,2,3,4,1\n", "is not a readable CSV file"),
        (b'a,b,label\n1,"2,0\n1,2,1\n', "a quote that opens on line 2 and never closes"),
        (b"a,,label\n1,2,0\n2,3,1\n", "column 2 of table.csv has no name"),
        (b",a,,label\n1,1,2,0\n2,2,3,1\n", "column 3 of table.csv has no name"),
        (b"label\n0\n1\n0\n1\n", "nothing to learn from"),
        (b"a,a,label\n1,2,0\n2,3,1\n3,4,0\n4,5,1\n", "several columns called 'a'"),
        (b"a,a,b,b,label\n1,2,2,1,0\n2,3,2,1,1\n", "several columns called 'a' or 'b'"),
        (b"a, b,label,label\n1,2,0,0\n2,3,1,1\n1,2,0,0\n", "several columns called 'label'"),
    ],
)
def test_files_that_are_no_table(content, words, refused, tmp_path):
    (tmp_path / "table.csv").write_bytes(content)
    assert words in refused("table.csv")


def test_a_binary_file_that_has_no_zero_byte(refused, tmp_path):
    (tmp_path / "table.csv").write_bytes(bytes(range(128, 256)) * 20)
    assert "table.csv is not UTF-8" in refused("table.csv")


def test_no_file(refused):
    assert refused("missing.csv") == "error: there is no file missing.csv."
    assert refused("breast-cancr").endswith("Did you mean the built-in breast-cancer?")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("certify", ("",)),
        ("certify", ("--data", "")),
        ("compare", ("",)),
        ("predict", ("MODEL", "")),
        ("verify", ("CERTIFICATE", "--model", "MODEL", "--data", "")),
    ],
)
def test_an_empty_text_is_no_file(name, arguments, refused, certified):
    files = {"MODEL": certified.model_path, "CERTIFICATE": certified.certificate_path}
    sentence = refused(*(files.get(part, part) for part in arguments), command=name)
    assert sentence == "error: DATA must be a file or a built-in name, got an empty text."


def test_a_folder(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "folder is a folder" in refused("folder")


def test_columns_of_parquet_that_are_called_alike(refused, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = [pyarrow.array([0, 1] * 20)] * 3
    parquet.write_table(pyarrow.table(columns, ["a", "a", "label"]), tmp_path / "twice.parquet")
    assert "twice.parquet" in refused("twice.parquet")


# --- columns -------------------------------------------------------------------------------------


def test_a_missing_target_is_told_the_nearest_name(refused, table):
    table()
    assert refused("table.csv", "--target", "lable").endswith("did you mean 'label'?")
    assert "it has width, height, label" in refused("table.csv", "--target", "qqq")
    assert "--drop asks for a column 'hight'" in refused("table.csv", "--drop", "hight")
    assert "--categorical asks for a column 'x'" in refused("table.csv", "--categorical", "x")
    assert "--target asks" in refused("table.csv", "--target", "label", "--drop", "label")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (1, "has one value only, 1"),
        ("spam", "has one value only, 'spam'"),
        (np.arange(40), "has 40 different values in 40 rows"),
        ([f"id{i}" for i in range(40)], "has 40 different values in 40 rows"),
        (np.arange(40) % 4 / 4, "has 4 different values in 40 rows"),
        ([None, "a", "b", "a"] * 10, "is missing in 10 of 40 rows"),
        ([None, 0, 1, 1] * 10, "is missing in 10 of 40 rows"),
        ([None] * 40, "is missing in all 40 rows"),
        (["1", "two"] * 20, "mixes numbers and text, such as 1 and 'two'"),
    ],
)
def test_targets_that_are_no_classes(label, words, refused, table):
    sentence = refused(table(label=label))
    assert words in sentence
    assert "'label'" in sentence


def test_numbers_and_text_in_one_column(refused, table):
    table(width=[1.5, 2.5, 3.5, "wide"] * 10)
    sentence = refused("table.csv")
    assert "column 'width' mixes numbers and text" in sentence
    assert "1.5 and 'wide'" in sentence
    assert "--categorical" in sentence


def test_numbers_and_text_in_several_columns(refused, table):
    table(width=[1.5, 2.5, 3.5, "wide"] * 10, size=["XL", 3] * 20)
    sentence = refused("table.csv")
    assert "2 columns mix numbers and text in table.csv" in sentence
    assert "such as in 'width' 1.5 and 'wide', in 'size' 3 and 'XL'" in sentence
    assert "with --categorical 'width' --categorical 'size'." in sentence
    assert "--na-values" not in sentence


def test_one_text_in_all_columns_of_numbers_may_mean_missing(refused, table):
    table(**{f"size {i}": [1.5, ".", 3.5, 4.5] * 10 for i in range(11)})
    sentence = refused("table.csv")
    assert "11 columns mix numbers and text" in sentence
    assert "'size 7' 1.5 and '.' and 3 more: correct them" in sentence
    assert "--categorical 'size 7' and 3 more. " in sentence
    assert "If '.' means missing everywhere, say so with --na-values '.'." in sentence


@pytest.mark.parametrize("row", [0, 17, 39])
def test_an_infinite_value(row, refused, table):
    values = np.linspace(0, 1, 40)
    values[row] = np.inf
    sentence = refused(table(width=values), "--n-voters", 2)
    assert "infinit" in sentence
    assert "'width'" in sentence


def test_one_row(refused, tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n1,0\n")
    assert "one value only, 0" in refused("one.csv")


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--bound", "lacase"), "bound must be one of mcallester, seeger, lacasse"),
        (("--delta", 0), "delta must be a number strictly between 0 and 1, got 0.0"),
        (("--delta", 1), "delta must be a number strictly between 0 and 1, got 1.0"),
        (("--delta", 0.95), "may fail, at most 0.5, got 0.95: did you mean 0.05?"),
        (("--delta", "nan"), "delta must be a number strictly between 0 and 1, got nan"),
        (("--constant", "pi"), "constant must be one of"),
        (("--certify-size", 0), "got 0.0"),
        (("--certify-size", 1), "got 1.0"),
        (("--certify-size", "nan"), "got nan"),
        (("--n-voters", 0), "--n-voters must be at least 1, got 0"),
        (("--n-voters", -3), "--n-voters must be at least 1, got -3"),
        (("--voters", "oaks"), "--voters must be one of mixed, trees, forest, extra-trees, stumps"),
        (("--voters", "stumps", "--n-voters", 5), "--n-voters is for trees"),
        (("--seed", -1), "eed"),
        (("--jobs", 0), "n_jobs == 0"),
        (("--out", "missing/results"), "missing is not a folder"),
        (("--out", "table.csv"), "table.csv is a file"),
        (("--out", "table.csv/results"), "table.csv is not a folder"),
    ],
)
def test_options_that_mean_nothing(options, words, refused, table):
    few = () if "--n-voters" in options else ("--n-voters", 2)
    assert words in refused(table(), *few, *options)


@pytest.mark.parametrize(
    "arguments",
    [("certify", "--n-voters", "many"), ("certify", "--nonsense"), ("verify",), ("sertify",)],
)
def test_arguments_that_cannot_be_read(arguments, invoke, tmp_path):
    done = invoke(*arguments, cwd=tmp_path, status=2)
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- models --------------------------------------------------------------------------------------


def fitted(kind, y, **settings):
    X = pd.DataFrame(np.random.default_rng(1).random((60, 2)), columns=["width", "height"])
    return kind(random_state=0, **settings).fit(X, np.resize(y, 60))


@pytest.mark.parametrize(
    ("labels", "known", "words"),
    [
        (
            [0, 1],
            ["no", "yes"],
            "predicts 'no', 'yes', but the target of table holds 0, 1: is it the right column "
            "(--target)? Or does yes stand for one of them: --positive 0, or --positive 1?",
        ),
        (
            ["no", "yes"],
            [0, 1],
            "predicts 0, 1, but the target of table holds 'no', 'yes': is it the right column "
            "(--target)? Or does 1 stand for one of them: --positive no, or --positive yes?",
        ),
        ([2, 3], [0, 1], "predicts 0, 1, but the target of table holds 2, 3"),
        # Labels are whole words: "y" is not "yes".
        (["n", "y"], ["no", "yes"], "predicts 'no', 'yes', but the target of table holds 'n', 'y'"),
        (["a", "b", "c", "d"], [0, 1], "holds 'a', 'b', 'c', 'd': is it the right column"),
    ],
)
def test_a_model_of_other_classes(labels, known, words, refused, table, tmp_path):
    table(label=np.resize(labels, 40))
    joblib.dump(fitted(RandomForestClassifier, known, n_estimators=3), tmp_path / "m.joblib")
    assert words in refused("table.csv", "--model", "m.joblib")
    # --positive is for a classifier as it is.
    apart = refused("table.csv", "--model", "m.joblib", "--members")
    assert words.split(" Or does ")[0] in apart
    assert "--positive" not in apart


@pytest.mark.parametrize(
    ("labels", "known", "unknown"),
    [(["no", "maybe"], ["no", "yes"], "'maybe'"), ([0, 2], [0, 1], "2")],
)
def test_labels_of_which_a_model_knows_some(labels, known, unknown, invoke, table, tmp_path):
    """On the others it errs, and that is said."""
    table(label=np.resize(labels, 40))
    model = fitted(RandomForestClassifier, known, n_estimators=3)
    joblib.dump(model, tmp_path / "m.joblib")
    done = invoke("certify", "table.csv", "--model", "m.joblib", "--json", cwd=tmp_path)
    fields = json.loads(done.stdout)["certificate"]
    frame = pd.read_csv(tmp_path / "table.csv")
    errors = np.sum(model.predict(frame[["width", "height"]]) != frame["label"].to_numpy())
    assert fields["evidence"]["vote_errors"] == errors >= 20
    words = f"y has labels that the classifier has never seen, such as {unknown}, on 20 examples."
    assert fields["findings"] == [words]
    assert f"warning: {words}" in done.stderr.splitlines()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (fitted(RandomForestRegressor, [0, 1], n_estimators=2), "a RandomForestRegressor, which"),
        (
            [fitted(RandomForestRegressor, [0, 1], n_estimators=2)],
            "predicts quantities: certivote certifies classifiers",
        ),
        ({"model": 1}, "dict, which has no predict: save a fitted classifier"),
        ("trees", "str, which has no predict"),
        ([fitted(DecisionTreeClassifier, [0, 1]), 3], "int, which has no predict"),
        (None, "NoneType, which has no predict"),
        ([], "list, which has no predict"),
        (RandomForestClassifier(), "not fitted"),
    ],
)
def test_a_model_that_is_no_classifier(model, words, refused, table, tmp_path):
    joblib.dump(model, tmp_path / "m.joblib")
    assert words in refused(table(), "--model", "m.joblib")


@pytest.mark.parametrize("content", [b"", b"hello", bytes(range(256)), b"\x80\x04K"])
def test_a_model_that_is_garbage(content, refused, invoke, table, tmp_path, certified):
    (tmp_path / "m.joblib").write_bytes(content)
    words = "m.joblib is not a model that joblib can load"
    assert words in refused(table(), "--model", "m.joblib")
    assert words in refused("m.joblib", "table.csv", command="predict")
    everything = ("--model", "m.joblib", "--data", "table.csv")
    alone = certified.certificate | {"files": {}}
    (tmp_path / "certificate.json").write_text(json.dumps(alone))
    done = invoke("verify", "certificate.json", *everything, cwd=tmp_path, status=2)
    assert words in the_error(done.stderr)


def test_a_model_of_a_class_that_is_not_installed(refused, table, tmp_path):
    # What pickle writes for nowhere.Nothing().
    (tmp_path / "m.joblib").write_bytes(b"\x80\x04cnowhere\nNothing\n)\x81.")
    assert "nowhere" in refused(table(), "--model", "m.joblib")


def test_no_model(refused, table):
    table()
    sentence = refused("table.csv", "--model", "m.joblib")
    assert sentence == "error: there is no model file m.joblib."


def test_a_column_that_the_model_needs(refused, table, tmp_path):
    joblib.dump(fitted(RandomForestClassifier, [0, 1], n_estimators=2), tmp_path / "m.joblib")
    pd.read_csv(tmp_path / table()).rename(columns={"width": "Width"}).to_csv(
        tmp_path / "table.csv", index=False
    )
    sentence = refused("table.csv", "--model", "m.joblib", "--target", "label")
    assert sentence.endswith("did you mean 'Width'?")


def test_what_scikit_learn_says_in_several_lines_is_one(refused, table, tmp_path):
    joblib.dump([fitted(LogisticRegression, [0, 1])], tmp_path / "m.joblib")
    sentence = refused(table(width=[None, 0.5] * 20), "--model", "m.joblib", "--members")
    assert "NaN" in sentence


# --- the traceback, on request -------------------------------------------------------------------


def test_debug_shows_the_traceback(run, invoke, tmp_path):
    done = invoke("certify", "missing.csv", "--debug", cwd=tmp_path, status=2)
    assert "Traceback (most recent call last)" in done.stderr
    assert "there is no file missing.csv" in done.stderr
    done = run("certify", "missing.csv", cwd=tmp_path, status=2)
    assert done.stderr == "error: there is no file missing.csv.\n"
    assert done.stdout == ""
