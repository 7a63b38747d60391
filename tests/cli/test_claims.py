"""A sheet of claims from the command line: made, shown, written, checked, and used to predict."""

import io
import json

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from certivote import Certificate, MajorityVoteClassifier
from certivote.tables import read_table
from options import trees

DELTA = 0.05


def limit(k, m, delta):
    """Clopper and Pearson's upper limit."""
    return 1.0 if k == m else beta.ppf(1.0 - delta, k + 1, m - k)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of two classes and three regions, of which one is harder; costs; a model."""
    folder = tmp_path_factory.mktemp("claims")
    rng = np.random.default_rng(7)
    y = rng.integers(2, size=900)
    region = rng.choice(["north", "south", "far west"], 900)
    frame = pd.DataFrame({"score": y + 0.5 * rng.normal(size=900), "other": rng.normal(size=900)})
    y = np.where((region == "far west") & (rng.random(900) < 0.1), 1 - y, y)
    frame = frame.round(4).assign(region=region, ill=np.array(["no", "yes"])[y])
    frame.insert(0, "id", np.arange(900))
    frame[:400].to_csv(folder / "old.csv", index=False)
    frame[400:].to_csv(folder / "new.csv", index=False)
    costs = pd.DataFrame([[0, 1], [5, 0]], index=["no", "yes"], columns=["no", "yes"])
    costs.to_csv(folder / "costs.csv")
    model = LogisticRegression().fit(frame[["score", "other"]][:400], frame["ill"][:400])
    joblib.dump(model, folder / "model.joblib")
    return folder


ALL = (
    *("--claim", "recall", "--claim", "precision", "--claim", "error by region"),
    *("--abstain", "0.15", "--cost", "costs.csv", "--claim", "f1", "--positive", "yes"),
    *("--class-frequencies", "no=0.9,yes=0.1", "--shift", "tv=0.1", "--claim", "balanced"),
)


@pytest.fixture(scope="module")
def sheet(folder, run):
    """A sheet of everything, about a model."""
    arguments = ("--model", "model.joblib", "--target", "ill", "--out", "sheet")
    done = run("certify", "new.csv", *arguments, *ALL, "--json", cwd=folder)
    return json.loads(done.stdout)["certificate"]


def claims_in(fields):
    return {claim["about"]: claim for family in fields["families"] for claim in family["claims"]}


def test_the_numbers_of_a_sheet(folder, sheet):
    """Each limit from counts made here, at its share of delta: seven parts, and half of it."""
    frame = pd.read_csv(folder / "new.csv")
    model = joblib.load(folder / "model.joblib")
    predicted = model.predict(frame[["score", "other"]])
    wrong, y = predicted != frame["ill"].to_numpy(), frame["ill"].to_numpy()
    found, part = claims_in(sheet), DELTA / 2 / 6
    assert sheet["risk_bound"] == pytest.approx(limit(wrong.sum(), 500, DELTA / 2), abs=1e-9)
    assert [family["delta"] for family in sheet["families"]].count(0.0) == 1  # the shift
    each = 1.0 - (1.0 - part) ** (1 / 2)
    errors = {
        name: limit(wrong[y == name].sum(), (y == name).sum(), each) for name in ("no", "yes")
    }
    for name in ("no", "yes"):
        assert 1.0 - found[f"recall of {name}"]["lower"] == pytest.approx(errors[name], abs=1e-9)
        of = predicted == name
        least = 1.0 - limit(wrong[of].sum(), of.sum(), each)
        assert found[f"precision of {name}"]["lower"] == pytest.approx(least, abs=1e-9)
    mix = found["error where classes come as no 0.9, yes 0.1"]["upper"]
    assert mix == pytest.approx(0.9 * errors["no"] + 0.1 * errors["yes"], abs=1e-9)
    assert found["balanced error"]["upper"] == pytest.approx(np.mean(list(errors.values())))
    third = 1.0 - (1.0 - part) ** (1 / 3)
    for name in ("north", "south", "far west"):
        of = frame["region"].to_numpy() == name
        most = limit(wrong[of].sum(), of.sum(), third)
        assert found[f"error where region = {name}"]["upper"] == pytest.approx(most, abs=1e-9)
    either = (y == "yes") | (predicted == "yes")
    share = 1.0 - limit((either & wrong).sum(), either.sum(), part)
    assert found["f1 of yes"]["lower"] == pytest.approx(2 * share / (1 + share), abs=1e-9)
    cost = np.where(wrong, np.where(y == "yes", 5, 1), 0)
    most = limit((cost >= 1).sum(), 500, part / 2) + 4 * limit((cost >= 5).sum(), 500, part / 2)
    assert found["cost"]["upper"] == pytest.approx(most, abs=1e-8)
    shift = found["error under a shift tv=0.1"]["upper"]
    assert shift == pytest.approx(sheet["risk_bound"] + 0.1, abs=1e-9)


def test_predict_leaves_out_what_is_not_sure_enough(folder, sheet, invoke):
    done = invoke("predict", "sheet/model.joblib", "new.csv", "-q", cwd=folder)
    answers = pd.read_csv(io.StringIO(done.stdout))
    frame = pd.read_csv(folder / "new.csv")
    model = joblib.load(folder / "model.joblib")
    X = frame[["score", "other"]]
    sure = model.predict_proba(X).max(axis=1)
    answered = answers["prediction"].notna().to_numpy()
    assert 0 < answered.sum() < 500
    assert sure[answered].min() > sure[~answered].max()
    np.testing.assert_array_equal(answers["prediction"][answered], model.predict(X)[answered])
    wrong = model.predict(X) != frame["ill"]
    assert wrong[answered].mean() < 0.15 < wrong[~answered].mean()


def test_every_line_is_checked(folder, sheet, invoke):
    everything = ("--model", "sheet/model.joblib", "--data", "new.csv")
    done = invoke("verify", "sheet/certificate.json", *everything, cwd=folder)
    said = done.stdout.splitlines()
    certificate = Certificate.from_json(folder / "sheet" / "certificate.json")
    for claim in certificate.claims[1:]:
        assert f"and that: {claim.statement}" in said
    fields = json.loads((folder / "sheet" / "certificate.json").read_text())
    for place, family in enumerate(fields["families"]):
        for which in range(len(family["claims"])):
            forged = json.loads(json.dumps(fields))
            claim = forged["families"][place]["claims"][which]
            side = "upper" if claim["upper"] is not None else "lower"
            claim[side] += -0.01 if side == "upper" else 0.01
            (folder / "sheet" / "forged.json").write_text(json.dumps(forged))
            done = invoke("verify", "sheet/forged.json", cwd=folder, status=1)
            assert "must follow from its evidence" in done.stderr


def test_python_and_the_command_line_agree(folder, invoke):
    options = ("--claim", "recall", "--claim", "error by region", "--share", "error=0.4")
    options += ("--share", "recall=0.3", "--share", "error by region=0.3", "--abstain", "0.1")
    options += ("--share", "abstain=0")
    arguments = ("--target", "ill", "--drop", "id", "--out", "trained", *trees(20), "-q")
    done = invoke("certify", "old.csv", *arguments, *options, cwd=folder, status=2)
    assert "the share of 'abstain' must be" in done.stderr
    options = options[:-4]
    invoke("certify", "old.csv", *arguments, *options, cwd=folder)
    table = read_table(folder / "old.csv", "ill", drop="id", by="region")
    shares = {"error": 0.4, "recall": 0.3, "error by region": 0.3}
    vote = MajorityVoteClassifier(
        "trees", n_voters=20, random_state=0, claims=["recall", "error by region"], shares=shares
    )
    vote.fit(table.X, table.y, by=table.by)
    written = Certificate.from_json(folder / "trained" / "certificate.json")
    assert written.claims == vote.certificate_.claims
    assert written.delta == DELTA
    everything = ("--model", "trained/model.joblib", "--data", "old.csv")
    invoke("verify", "trained/certificate.json", *everything, cwd=folder)


def test_the_screen_has_room_for_the_claims(folder, on_a_terminal):
    arguments = ("--model", "model.joblib", "--target", "ill", "--out", "seen", *ALL)
    shown = on_a_terminal("certify", "new.csv", *arguments, cwd=folder, size=(24, 80))
    lines = shown.splitlines()
    assert any("And " in line and "more claims" in line for line in lines)
    whole = on_a_terminal("certify", "new.csv", *arguments, "--explain", cwd=folder, size=(24, 200))
    for claim in Certificate.from_json(folder / "seen" / "certificate.json").claims[1:]:
        assert claim.statement[:60] in whole


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--claim", "recal"), "--claim must be one of"),
        (("--claim", "error by regin"), "did you mean 'region'?"),
        (("--claim", "f1", "--positive", "yess"), "did you mean 'yes'?"),
        (("--positive", "yes"), "--positive is about a classifier that you have"),
        (("--class-frequencies", "no=0.9"), "sum to 1"),
        (("--class-frequencies", "no=0.9,yas=0.1"), "did you mean 'yes'?"),
        (("--class-frequencies", "no"), "must be name=number"),
        (("--shift", "kl"), "must be name=number"),
        (("--shift", "far=1"), "must be one of 'kl', 'tv', 'chi2'"),
        (("--abstain", "1.5"), "abstaining must be in [0, 1]"),
        (("--abstain", "0"), "in (0, 1)"),
        (("--share", "error=1"), "shares must not be given"),
        (("--claim", "recall", "--share", "error=0.5"), "shares must name each of"),
        (
            ("--claim", "recall", "--share", "error=0.5", "--share", "recall=0.6"),
            "shares must sum to 1",
        ),
        (("--cost", "nothing.csv"), "there is no file nothing.csv"),
        (("--cost", "old.csv"), "must be a CSV file of numbers"),
        (("--cost", "lacks.csv"), "costs must have every class, but lack 'yes'"),
        (("--cost", "negative.csv"), "a cost must be in"),
        (("--cost", "askew.csv"), "each class once"),
        (("--bound", "tandem", "--claim", "precision"), "fixed before the sample"),
    ],
)
def test_what_cannot_be_claimed(folder, invoke, options, words):
    (folder / "lacks.csv").write_text(",no,maybe\nno,0,1\nmaybe,1,0\n")
    (folder / "negative.csv").write_text(",no,yes\nno,0,1\nyes,-1,0\n")
    (folder / "askew.csv").write_text(",no,yes\nno,0,1\nmaybe,1,0\n")
    arguments = ("--target", "ill", "--drop", "id", *trees(5), "--out", "bad", "-q")
    done = invoke("certify", "old.csv", *arguments, *options, cwd=folder, status=2)
    assert words in done.stderr
    assert not (folder / "bad").exists()


def test_groups_with_gaps_are_refused(folder, invoke):
    frame = pd.read_csv(folder / "old.csv")
    frame.loc[3, "region"] = None
    frame.to_csv(folder / "gaps.csv", index=False)
    arguments = ("--target", "ill", "--claim", "error by region", "--out", "bad")
    done = invoke("certify", "gaps.csv", *arguments, cwd=folder, status=2)
    assert "the column of --claim 'region' is missing in 1 of 400 rows" in done.stderr


def test_verify_speaks_of_an_older_model_only_where_there_is_one(folder, invoke):
    arguments = ("--target", "ill", "--drop", "id", *trees(5), "--out", "older", "-q")
    invoke("certify", "old.csv", *arguments, "--claim", "error by region", cwd=folder)
    everything = ("--model", "older/model.joblib", "--data", "old.csv")
    done = invoke("verify", "older/certificate.json", *everything, cwd=folder)
    assert "older model" not in done.stdout
    assert "checked: the counts behind each of the further claims" in done.stdout.splitlines()
