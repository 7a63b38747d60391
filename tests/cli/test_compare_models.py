"""``certivote compare-models``: a gate between an old model and a new one."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from certivote import Certificate, MajorityVoteClassifier, certify_difference


def draw(m, seed):
    """Rows whose label needs all three columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(m, 3)).round(4), columns=["a", "b", "c"])
    noise = 0.3 * rng.normal(size=m)
    frame["patient"] = [f"p{number}" for number in rng.integers(m // 3, size=m)]
    return frame.assign(ill=np.where(frame[["a", "b", "c"]].sum(axis=1) + noise > 0, "yes", "no"))


TRAIN, ROWS = draw(300, 0), draw(600, 1)
OPTIONS = ("--data", "rows.csv", "--target", "ill", "--drop", "patient")


class Answers:
    """What answers 0 and 1, and does not say which classes it knows."""

    def __init__(self, columns):
        self.columns = columns

    def predict(self, X):
        return (X[self.columns].sum(axis=1) > 0).to_numpy().astype(int)


class Broken:
    def predict(self, X):
        raise RuntimeError("no licence here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows that are new to a model of one column and to one of all three."""
    folder = tmp_path_factory.mktemp("models")
    ROWS.to_csv(folder / "rows.csv", index=False)
    for name, columns in [("one", ["a"]), ("three", ["a", "b", "c"])]:
        model = LogisticRegression().fit(TRAIN[columns], TRAIN["ill"])
        joblib.dump(model, folder / f"{name}.joblib")
    return folder


def counts():
    """On how many rows only one of them errs, by themselves."""
    one, three = (
        LogisticRegression().fit(TRAIN[columns], TRAIN["ill"]).predict(ROWS[columns])
        for columns in (["a"], ["a", "b", "c"])
    )
    return one, three, ROWS["ill"].to_numpy()


def test_a_better_model_passes(folder, invoke, tmp_path):
    done = invoke("compare-models", "one.joblib", "three.joblib", *OPTIONS, "--out", tmp_path,
                  cwd=folder)  # fmt: skip
    certificate = Certificate.from_json(tmp_path / "certificate.json")
    one, three, y = counts()
    claim = certify_difference(one, three, y, names=("one", "three")).claims[1]
    assert certificate.claims[1] == claim
    assert certificate.claims[1].upper < -0.1
    lines = done.stdout.splitlines()
    assert lines[-1] == "It is shown that the new model is not worse by more than 0."
    assert lines[-2].endswith(claim.statement)
    assert lines[-3] == certificate.claim
    b, c = np.sum((three != y) & (one == y)), np.sum((one != y) & (three == y))
    assert f"On 600 rows only the new model errs {b} times, and only the old one {c} times." in (
        done.stdout
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"certificate.json", "report.html", "model.joblib", "old.joblib"}
    assert set(certificate.files) == names - {"certificate.json"}


def test_a_worse_model_does_not_pass_but_within_its_margin(folder, invoke, tmp_path):
    models = ("three.joblib", "one.joblib")
    run = ("compare-models", *models, *OPTIONS, "--out", tmp_path, "--json")
    result = json.loads(invoke(*run, cwd=folder, status=1).stdout)
    assert result["shown"] is False
    upper = result["difference"]["upper"]
    assert upper > 0.2
    within = json.loads(invoke(*run, "--margin", upper, cwd=folder).stdout)
    assert within["shown"] is True
    assert within["margin"] == upper
    assert within["certificate"]["families"][0]["claims"] == [result["difference"]]
    below = np.nextafter(upper, 0)
    assert json.loads(invoke(*run, "--margin", below, cwd=folder, status=1).stdout)["files"]


def test_a_model_is_not_shown_to_be_no_worse_than_itself(folder, invoke, tmp_path):
    run = ("compare-models", "one.joblib", "one.joblib", *OPTIONS, "--out", tmp_path, "-q")
    done = invoke(*run, cwd=folder, status=1)
    assert "above that of old." in done.stdout
    invoke(*run, "--margin", "0.02", cwd=folder)


def test_delta_and_groups_are_heeded(folder, invoke, tmp_path):
    options = ("--data", "rows.csv", "--target", "ill", "--group", "patient", "--delta", "0.2")
    models = ("one.joblib", "three.joblib")
    invoke("compare-models", *models, *options, "--out", tmp_path, cwd=folder)
    certificate = Certificate.from_json(tmp_path / "certificate.json")
    assert certificate.delta == 0.2
    assert certificate.n_samples == ROWS["patient"].nunique()
    assert certificate.provenance["grouped_by"] == "patient"
    verify = ("verify", tmp_path / "certificate.json", "--model", tmp_path / "model.joblib")
    verify += ("--old", tmp_path / "old.joblib", "--data", "rows.csv")
    assert "holds up" in invoke(*verify, cwd=folder).stdout


def test_labels_written_otherwise_are_matched_by_the_positive_one(folder, invoke, tmp_path):
    for name, columns in [("ones", ["a"]), ("threes", ["a", "b", "c"])]:
        joblib.dump(Answers(columns), tmp_path / f"{name}.joblib")
    options = ("--data", folder / "rows.csv", "--target", "ill", "--drop", "patient")
    models = (tmp_path / "ones.joblib", tmp_path / "threes.joblib")
    out = tmp_path / "out"
    run = ("compare-models", *models, *options, "--positive", "yes", "--out", out)
    invoke(*run, cwd=tmp_path)
    evidence = Certificate.from_json(out / "certificate.json").claims[1].evidence
    y = (ROWS["ill"] == "yes").to_numpy().astype(int)
    old, new = (Answers(columns).predict(ROWS) != y for columns in (["a"], ["a", "b", "c"]))
    assert evidence["only_new_errs"] == np.sum(new & ~old)
    assert evidence["only_old_errs"] == np.sum(old & ~new)
    verify = ("verify", out / "certificate.json", "--model", out / "model.joblib")
    verify += ("--old", out / "old.joblib", "--data", folder / "rows.csv")
    invoke(*verify, cwd=tmp_path)
    done = invoke(*run[:-4], cwd=tmp_path, status=2)
    assert "threes.joblib: the model predicts 0, 1" in done.stderr
    assert "--positive yes" in done.stderr


def test_votes_of_this_library_are_compared_too(folder, invoke, tmp_path):
    X, y = TRAIN[["a", "b", "c"]], TRAIN["ill"]
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X, y)
    joblib.dump(vote, tmp_path / "vote.joblib")
    out = tmp_path / "out"
    run = ("compare-models", "one.joblib", tmp_path / "vote.joblib", *OPTIONS, "--out", out)
    invoke(*run, cwd=folder)
    verify = ("verify", out / "certificate.json", "--model", out / "model.joblib")
    invoke(*verify, "--old", out / "old.joblib", "--data", "rows.csv", cwd=folder)


# --- verify ---


@pytest.fixture(scope="module")
def compared(folder, invoke, tmp_path_factory):
    out = tmp_path_factory.mktemp("compared")
    run = ("compare-models", "one.joblib", "three.joblib", *OPTIONS, "--out", out)
    invoke(*run, cwd=folder)
    return out


def verified(compared, folder, invoke, *options, status=0):
    path, model = compared / "certificate.json", compared / "model.joblib"
    data = ("--model", model, "--data", "rows.csv")
    return invoke("verify", path, *data, *options, cwd=folder, status=status)


def test_it_is_verified_from_both_models(compared, folder, invoke):
    done = verified(compared, folder, invoke, "--old", "one.joblib")
    assert "checked: what the older model predicts on the data, and the difference" in done.stdout
    assert "not checked: that the older model was trained" in done.stdout


def test_another_older_model_fails(compared, folder, invoke):
    done = verified(compared, folder, invoke, "--old", "three.joblib", status=1)
    assert "not the file that was written with" in done.stderr


def test_another_older_model_fails_by_its_predictions(compared, folder, invoke, tmp_path):
    """Whatever digests say."""
    fields = json.loads((compared / "certificate.json").read_text(encoding="utf-8"))
    del fields["files"]["old.joblib"]
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    data = ("--model", compared / "model.joblib", "--data", "rows.csv", "--old", "three.joblib")
    done = invoke("verify", path, *data, cwd=folder, status=1)
    assert "'difference to one' is claimed to be" in done.stderr


def test_the_older_model_is_asked_for(compared, folder, invoke):
    done = verified(compared, folder, invoke, status=2)
    assert "--old must be the file of the older model, 'one'" in done.stderr


def test_no_older_model_is_asked_for_elsewhere(compared, folder, invoke, tmp_path):
    certify = ("certify", "rows.csv", "--target", "ill", "--drop", "patient")
    invoke(*certify, "--model", "three.joblib", "--out", tmp_path, cwd=folder)
    verify = ("verify", tmp_path / "certificate.json", "--old", "one.joblib")
    assert "--old needs --model" in invoke(*verify, cwd=folder, status=2).stderr
    verify += ("--model", tmp_path / "model.joblib", "--data", "rows.csv")
    assert "--old is for a certificate that claims" in invoke(*verify, cwd=folder, status=2).stderr


# --- bad input ---


def refused(folder, invoke, *arguments):
    before = sorted(path.name for path in folder.iterdir())
    done = invoke("compare-models", *arguments, cwd=folder, status=2)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert not done.stdout
    return done.stderr


@pytest.mark.parametrize("margin", ["-0.1", "1.5", "nan"])
def test_a_margin_is_a_difference_of_probabilities(margin, folder, invoke):
    models = ("one.joblib", "three.joblib")
    text = refused(folder, invoke, *models, *OPTIONS, "--margin", margin)
    assert "--margin must be in [0, 1]" in text


def test_delta_is_a_probability(folder, invoke):
    text = refused(folder, invoke, "one.joblib", "three.joblib", *OPTIONS, "--delta", "1.5")
    assert "delta must be" in text


def test_a_missing_file_is_named(folder, invoke):
    assert "no model file none.joblib" in refused(
        folder, invoke, "none.joblib", "three.joblib", *OPTIONS
    )
    assert "no model file none.joblib" in refused(
        folder, invoke, "one.joblib", "none.joblib", *OPTIONS
    )
    data = ("--data", "none.csv", "--target", "ill")
    assert "none.csv" in refused(folder, invoke, "one.joblib", "three.joblib", *data)


def test_without_a_target_column_nothing_is_compared(folder, invoke):
    data = ("--data", "rows.csv", "--target", "sick")
    assert "'sick'" in refused(folder, invoke, "one.joblib", "three.joblib", *data)


def test_missing_labels_are_refused(folder, invoke, tmp_path):
    ROWS.assign(ill=ROWS["ill"].where(ROWS.index > 3)).to_csv(tmp_path / "gaps.csv", index=False)
    data = ("--data", tmp_path / "gaps.csv", "--target", "ill", "--drop", "patient")
    text = refused(folder, invoke, "one.joblib", "three.joblib", *data)
    assert "is missing in 4 of 600 rows" in text


@pytest.mark.parametrize("place", [0, 1])
def test_a_model_of_other_labels_is_named(place, folder, invoke, tmp_path):
    path = tmp_path / "other.joblib"
    joblib.dump(LogisticRegression().fit(TRAIN[["a"]], TRAIN["ill"] == "yes"), path)
    models = ["one.joblib", "three.joblib"]
    models[place] = path
    text = refused(folder, invoke, *models, *OPTIONS)
    assert "other.joblib" in text
    assert "predicts False, True" in text


@pytest.mark.parametrize("place", [0, 1])
def test_a_model_that_fails_is_named(place, folder, invoke, tmp_path):
    path = tmp_path / "broken.joblib"
    joblib.dump(Broken(), path)
    models = ["one.joblib", "three.joblib"]
    models[place] = path
    text = refused(folder, invoke, *models, *OPTIONS)
    assert "broken.joblib: the model cannot predict" in text
    assert "no licence here" in text


def test_several_classifiers_are_no_model(folder, invoke, tmp_path):
    path = tmp_path / "list.joblib"
    joblib.dump([joblib.load(folder / "one.joblib")], path)
    assert "holds several classifiers" in refused(folder, invoke, path, "three.joblib", *OPTIONS)


def test_no_model_is_written_over(folder, invoke, tmp_path):
    model = tmp_path / "model.joblib"
    model.write_bytes((folder / "one.joblib").read_bytes())
    before = model.read_bytes()
    text = refused(folder, invoke, model, "three.joblib", *OPTIONS, "--out", tmp_path)
    assert "would be written over" in text
    assert model.read_bytes() == before
