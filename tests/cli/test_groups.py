"""Rows that belong together, and rows in the order of time, on the command line."""

import html
import io
import json
import re

import joblib
import numpy as np
import pandas as pd
import pytest

from certivote import MajorityVoteClassifier
from certivote.tables import read_table
from options import trees


@pytest.fixture
def panel():
    rng = np.random.default_rng(0)
    men = np.repeat(np.arange(72), 5)
    X = rng.normal(size=(72, 3))[men] + 0.02 * rng.normal(size=(360, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["man"] = [f"m{man}" for man in men]
    frame["day"] = pd.date_range("2020-01-01", periods=360).strftime("%Y-%m-%d")
    frame["label"] = np.where(rng.random(72) < 0.5, "yes", "no")[men]
    return frame.sample(frac=1, random_state=0)


class First:
    """Looks at the first column but one from the end, whatever there is."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, -2].astype(float) > 0, "yes", "no")


SMALL = ("--target", "label", *trees(5), "--out", "o")


def certificate(tmp_path):
    return json.loads((tmp_path / "o" / "certificate.json").read_text(encoding="utf-8"))


def verified(invoke, tmp_path, status=0):
    files = ("o/certificate.json", "--model", "o/model.joblib", "--data", "t.csv")
    return invoke("verify", *files, cwd=tmp_path, status=status)


def test_a_group(panel, invoke, tmp_path):
    panel.to_csv(tmp_path / "t.csv", index=False)
    plain = invoke("certify", "t.csv", *SMALL, "--drop", "day", cwd=tmp_path)
    assert "'man' looks like an identifier and repeats" in plain.stdout
    assert "--group 'man'" in plain.stdout
    done = invoke("certify", "t.csv", *SMALL, "--drop", "day", "--group", "man", cwd=tmp_path)
    assert "errs on a random row of a new 'man'" in done.stdout
    assert "Found" not in done.stdout
    made = certificate(tmp_path)
    assert (made["n_samples"], made["provenance"]["grouped_by"]) == (36, "man")
    assert made["findings"] == []
    verified(invoke, tmp_path)
    # The same in Python, from the same rows and seed.
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0)
    vote.fit(panel[["a", "b", "c"]], panel["label"], groups=panel["man"])
    assert made["risk_bound"] == vote.certificate_.risk_bound


def test_two_columns_make_a_group(panel, invoke, tmp_path):
    # Men of two towns have the same numbers: neither column alone says who belongs together.
    panel["town"] = np.where(panel["man"].str[1:].astype(int) < 36, "Metz", "Ulm")
    panel["number"] = panel["man"].str[1:].astype(int) % 36
    frame = panel.drop(columns=["man", "day"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    both = ("--group", "town", "--group", "number", "--group", "town", "--bound", "heldout")
    done = invoke("certify", "t.csv", *SMALL, *both, cwd=tmp_path)
    what = "combination of 'town' and 'number'"
    assert f"errs on a random row of a new {what} with" in done.stdout
    assert f"certified on 36 others, one of each {what}, by" in done.stdout
    assert "Found" not in done.stdout
    made = certificate(tmp_path)
    assert (made["n_samples"], made["provenance"]["grouped_by"]) == (36, '["town", "number"]')
    assert f"a random row of a new {what} with" in made["claim"]
    drawn = made["assumptions"][0]
    assert drawn.startswith("The combinations of 'town' and 'number' were drawn independently")
    assert "the claim is not about a new value of one of them" in drawn
    page = html.unescape((tmp_path / "o" / "report.html").read_text(encoding="utf-8"))
    assert f"a random row of a new {what}" in " ".join(page.split())
    assert drawn in " ".join(page.split())
    assert "a new 'town'" not in page
    verified(invoke, tmp_path)
    # It is the split by man, whose names are as many.
    vote = MajorityVoteClassifier("trees", bound="heldout", n_voters=5, random_state=0)
    vote.fit(panel[["a", "b", "c"]], panel["label"], groups=panel["man"])
    ours = joblib.load(tmp_path / "o" / "model.joblib")
    assert ours.certificate_.risk_bound == vote.certificate_.risk_bound
    table = read_table(tmp_path / "t.csv", "label", group=["town", "number"])
    together = panel.groupby("man").indices.values()
    assert all(table.groups.iloc[rows].nunique() == 1 for rows in together)
    assert table.groups.nunique() == 72
    # A plan from it, and predictions, know both.
    plan = invoke("plan", "--pilot", "o", "--target", 0.5, cwd=tmp_path)
    assert f"groups ({what})" in plan.stdout
    rows = io.StringIO(invoke("predict", "o/model.joblib", "t.csv", cwd=tmp_path).stdout)
    assert list(pd.read_csv(rows))[:3] == ["label", "town", "number"]


def test_another_group_than_the_one_claimed_is_found(panel, invoke, tmp_path):
    panel["other"] = panel["man"].sample(frac=1, random_state=1).to_numpy()
    panel.to_csv(tmp_path / "t.csv", index=False)
    invoke("certify", "t.csv", *SMALL, "--group", "man", "-q", cwd=tmp_path)
    made = certificate(tmp_path)
    made["provenance"]["grouped_by"] = "other"
    made["claim"] = made["claim"].replace("'man'", "'other'")
    made["assumptions"] = [text.replace("'man'", "'other'") for text in made["assumptions"]]
    (tmp_path / "o" / "certificate.json").write_text(json.dumps(made), encoding="utf-8")
    done = verified(invoke, tmp_path, status=1)
    assert "grouped_by is claimed to be 'other', but is 'man'" in done.stderr


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_one_group_is_one_however_its_name_is_stored(form, invoke, tmp_path):
    """A number here and a text there: the same patient must not train and certify."""
    rng = np.random.default_rng(0)
    men = np.repeat(np.arange(1, 41), 6)
    frame = pd.DataFrame(rng.normal(size=(40, 3))[men - 1], columns=["a", "b", "c"])
    frame["man"] = men
    frame["label"] = np.where(rng.random(40) < 0.5, "yes", "no")[men - 1]
    frame = frame.sample(frac=1, random_state=0)
    texts = frame["man"].astype(object)
    texts.iloc[::2] = texts.iloc[::2].astype(str)
    names = ["t." + form]
    if form == "csv":
        names = ["t.csv", "u.csv"]
        frame.iloc[::2].to_csv(tmp_path / "t.csv", index=False)
        frame.iloc[1::2].assign(man=frame["man"].iloc[1::2].astype(object)).replace(
            {"man": {40: "m40"}}
        ).to_csv(tmp_path / "u.csv", index=False)
    elif form == "jsonl":
        frame.assign(man=texts).to_json(tmp_path / names[0], orient="records", lines=True)
    else:
        pytest.importorskip("openpyxl")
        frame.assign(man=texts).to_excel(tmp_path / names[0], index=False)
    invoke("certify", *names, *SMALL, "--group", "man", "-q", cwd=tmp_path)
    # 40 men, and in the CSV files one who has two names.
    assert certificate(tmp_path)["n_samples"] == (21 if form == "csv" else 20)


def test_predict_leaves_the_group_out(panel, invoke, tmp_path):
    """A model that knows neither names nor number of its columns gets those it was certified on."""
    panel[["a", "b", "man", "label"]].to_csv(tmp_path / "t.csv", index=False)
    joblib.dump(First(), tmp_path / "m.joblib")
    model = ("--model", "m.joblib", "--target", "label", "--group", "man", "--out", "o", "-q")
    invoke("certify", "t.csv", *model, cwd=tmp_path)
    done = invoke("predict", "o/model.joblib", "t.csv", "-q", cwd=tmp_path)
    predicted = pd.read_csv(io.StringIO(done.stdout))["prediction"].to_numpy()
    assert np.array_equal(predicted, First().predict(panel[["a", "b"]]))


def test_a_model_by_groups(panel, invoke, tmp_path):
    panel.iloc[:180].to_csv(tmp_path / "old.csv", index=False)
    panel.iloc[180:].to_csv(tmp_path / "t.csv", index=False)
    train = ("--target", "label", *trees(3), "--out", "m", "-q", "--group", "man")
    invoke("certify", "old.csv", *train, cwd=tmp_path)
    model = ("--model", "m/model.joblib", "--target", "label", "--out", "o", "--seed", 5)
    invoke("certify", "t.csv", *model, "--group", "man", cwd=tmp_path)
    made = certificate(tmp_path)
    assert made["n_samples"] == panel["man"].iloc[180:].nunique()
    assert made["provenance"]["seed"] == 5
    verified(invoke, tmp_path)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%j"])
def test_the_latest_rows(panel, form, invoke, tmp_path):
    panel["day"] = pd.to_datetime(panel["day"]).dt.strftime(form)
    panel.drop(columns="man").to_csv(tmp_path / "t.csv", index=False)
    done = invoke("certify", "t.csv", *SMALL, "--time", "day", cwd=tmp_path)
    assert "The rows are in the order of" not in done.stdout
    # Those of a man follow each other, which nobody said.
    assert done.stdout.count("Found, and throws") == done.stdout.count("Errors follow one another")
    made = certificate(tmp_path)
    claimed = "errs on a new example that is like the latest by 'day' with probability at most"
    assert claimed in done.stdout.splitlines()[-3]
    assert claimed in made["claim"]
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    headline = html.unescape(re.search('<h1 id="claim">(.*?)</h1>', page).group(1))
    assert claimed in headline
    assert "on 180 rows, certified on the 180 latest by 'day' by best" in done.stdout
    assert (made["n_samples"], made["provenance"]["split_by_time"]) == (180, "day")
    assert any("latest rows by 'day'" in text for text in made["assumptions"])
    order = "The rows were split by 'day', and the latest certify."
    assert made["checks"]["order in time"] == order
    verified(invoke, tmp_path)


def test_a_split_by_time_is_not_called_random(panel, invoke, tmp_path):
    panel.drop(columns="man").to_csv(tmp_path / "t.csv", index=False)
    done = invoke("certify", "t.csv", *SMALL, "--time", "day", "--explain", cwd=tmp_path)
    assert re.search("voters from +the earlier rows\n", done.stdout)
    assert "random split" not in done.stdout
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert re.search('data-field="provenance.voters_from"[^>]*>the earlier rows<', page)
    folded = page.index("more assumptions</summary>")
    assert page.index("The latest rows by") < folded
    assert page.index("drawn independently of each other, from the same") > folded


def test_another_column_in_the_order_of_time_is_still_found(panel, invoke, tmp_path):
    panel["year"] = np.arange(360) // 20
    panel.drop(columns="man").to_csv(tmp_path / "t.csv", index=False)
    done = invoke("certify", "t.csv", *SMALL, "--time", "day", cwd=tmp_path)
    assert "The rows are in the order of 'year'" in done.stdout
    verified(invoke, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--group", "mann"), "--group asks for a column 'mann'"),
        (("--group", "mann"), "did you mean 'man'?"),
        (("--group", "gap"), "--group 'gap' is missing in 1 of 360 rows"),
        (("--time", "gap"), "--time 'gap' is missing in 1 of 360 rows"),
        (
            ("--time", "man"),
            "--time 'man' of t.csv holds what is neither a date nor a number, such as 'm",
        ),
        (("--time", "soon"), "neither a date nor a number, such as 'soon'"),
        (("--time", "two"), "dates that can be read in two ways"),
        (("--group", "label"), "can be neither --group nor --time"),
        (("--group", "man", "--time", "day"), "--group and --time cannot be given together"),
        (("--group", "man", "--time", "day"), "keep one row of each group, such as its latest"),
    ],
)
def test_bad_groups_and_times(arguments, words, panel, invoke, tmp_path):
    panel["gap"] = [None, *range(359)]
    panel["two"] = "03/04/2020"
    panel["soon"] = np.where(np.arange(360) % 3, "soon", "2020-01-02")
    panel.to_csv(tmp_path / "t.csv", index=False)
    done = invoke("certify", "t.csv", *SMALL, *arguments, cwd=tmp_path, status=2)
    assert words in done.stderr


def test_what_is_built_in_has_no_groups(invoke, tmp_path):
    done = invoke("certify", "--group", "x", cwd=tmp_path, status=2)
    assert "--group is for files" in done.stderr


def test_other_names_of_the_same_groups_are_no_finding(invoke, tmp_path):
    """A country has one code: who groups by one of them need not group by the other."""
    rng = np.random.default_rng(0)
    country = np.repeat(np.arange(100), 8)
    frame = pd.DataFrame({"country": country, "iso_id": country + 500, "x": rng.normal(size=800)})
    frame["patient"] = country // 2  # two countries each: their rows are in two groups
    frame = frame.assign(y=rng.choice(["no", "yes"], 800))
    frame.drop(columns="patient").to_csv(tmp_path / "one.csv", index=False)
    frame.to_csv(tmp_path / "two.csv", index=False)
    arguments = ("--target", "y", *trees(5), "--json", "--group", "iso_id")
    done = invoke("certify", "one.csv", *arguments, cwd=tmp_path)
    assert json.loads(done.stdout)["certificate"]["findings"] == []
    done = invoke("certify", "two.csv", *arguments, cwd=tmp_path)
    (finding,) = json.loads(done.stdout)["certificate"]["findings"]
    assert "'patient'" in finding
    assert "800 rows of 50 values, of which 50 are in several groups" in finding
    done = invoke("certify", "one.csv", *arguments[:-2], cwd=tmp_path)
    assert len(json.loads(done.stdout)["certificate"]["findings"]) == 2


@pytest.mark.parametrize("group", [["man"], ["man", "day"]])
@pytest.mark.parametrize("form", ["joblib", "skops"])
def test_groups_of_the_fit_in_another_file_are_found(group, form, panel, invoke, tmp_path):
    """Later rows of the same men, in another order: each file is read by itself."""
    if form == "skops":
        pytest.importorskip("skops")
    panel["day"] = "d1"
    panel.to_csv(tmp_path / "t.csv", index=False)
    by = [text for name in group for text in ("--group", name)]
    drop = [] if "day" in group else ["--drop", "day"]
    invoke("certify", "t.csv", *SMALL, *drop, *by, cwd=tmp_path)
    (tmp_path / "o").rename(tmp_path / "fit")
    later = panel[panel["man"].isin([f"m{man}" for man in range(40)])].copy()
    later[["a", "b", "c"]] += 0.01 * np.random.default_rng(1).normal(size=(len(later), 3))
    later["man"] = later["man"].replace({"m0": "m00", "m1": "new1", "m2": "new2"})
    later.sort_values("a").to_csv(tmp_path / "t.csv", index=False)
    model = ("--model", f"fit/model.{form}", "--target", "label", "--out", "o")
    known = 38 if group == ["man"] else 37  # m00 is m0, where one column tells
    told = invoke("certify", "t.csv", *model, *drop, *by, cwd=tmp_path)
    assert "of the 40 groups" in " ".join(told.stdout.split())
    (finding,) = certificate(tmp_path)["findings"]
    assert finding.startswith(f"{known} of the 40 groups that certify are called like")
    verified(invoke, tmp_path)
    told = invoke("certify", "t.csv", *model, "--drop", "day", "--drop", "man", cwd=tmp_path)
    assert any("these examples have none" in text for text in certificate(tmp_path)["findings"])


def test_groups_that_are_written_in_two_ways_are_said_once(panel, invoke, tmp_path):
    panel.loc[panel.index[panel["man"] == "m7"][:2], "man"] = "M07"
    panel.to_csv(tmp_path / "t.csv", index=False)
    invoke("certify", "t.csv", *SMALL, "--drop", "day", "--group", "man", cwd=tmp_path)
    (finding,) = certificate(tmp_path)["findings"]
    assert "'M07' and 'm7'" in finding
    verified(invoke, tmp_path)
