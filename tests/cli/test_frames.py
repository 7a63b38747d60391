"""The same number in Python and on the command line, of the same rows and seed."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest

from certivote import MajorityVoteClassifier
from options import trees

M = 200


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=M)
    words = np.array([["good", "clean", "kind"], ["bad", "dirty", "rude"]])
    return pd.DataFrame(
        {
            "town": pd.Series(rng.choice(["Ulm", "Bonn"], M)).mask(rng.random(M) < 0.1),
            "income": np.where(rng.random(M) < 0.2, np.nan, rng.normal(y, 2.0)),
            "age": rng.integers(18, 80, size=M),
            "member": rng.random(M) < 0.3 + 0.4 * y,
            "said": [
                f"no{j} the {' '.join(rng.choice(words[k], 2))} room" for j, k in enumerate(y)
            ],
            "nothing": np.full(M, np.nan),
            "outcome": np.where(y, "left", "stayed"),
        }
    )


def in_python(frame, voters="trees", **settings):
    vote = MajorityVoteClassifier(voters, n_voters=5, random_state=3, **settings)
    return vote.fit(frame.drop(columns="outcome"), frame["outcome"])


def certify(invoke, folder, name, *arguments):
    options = ("--target", "outcome", "--seed", 3, "--out", "o", "--json", *arguments)
    done = json.loads(invoke("certify", name, *options, cwd=folder).stdout)
    return done["certificate"]


@pytest.mark.parametrize("voters", ["trees", "stumps"])
def test_from_a_csv(voters, frame, invoke, tmp_path):
    frame.to_csv(tmp_path / "d.csv", index=False)
    options = () if voters == "stumps" else ("--n-voters", 5)
    theirs = certify(invoke, tmp_path, "d.csv", "--voters", voters, *options)
    vote = in_python(frame, voters=voters)
    assert theirs["risk_bound"] == vote.certificate_.risk_bound
    assert theirs["statistics_sha256"] == vote.certificate_.statistics_sha256
    saved = joblib.load(tmp_path / "o" / "model.joblib")
    rows = frame.drop(columns="outcome")
    assert np.array_equal(saved.predict_proba(rows), vote.predict_proba(rows))


def test_dates_from_parquet(frame, invoke, tmp_path):
    days = pd.to_timedelta(np.random.default_rng(1).integers(900, size=M), "D")
    frame = frame.assign(
        since=pd.Timestamp("2020-01-01") + days,
        seen=(pd.Timestamp("2021-01-01", tz="Asia/Kolkata") + days),
    )
    frame.to_parquet(tmp_path / "d.parquet")
    theirs = certify(invoke, tmp_path, "d.parquet", *trees(5))
    assert theirs["statistics_sha256"] == in_python(frame).certificate_.statistics_sha256


def test_texts_are_said_to_be_turned_into_words(frame, invoke, tmp_path):
    frame.to_csv(tmp_path / "d.csv", index=False)
    options = ("--target", "outcome", *trees(5), "--out", "o")
    done = invoke("certify", "d.csv", *options, "--explain", cwd=tmp_path)
    assert "column 'said': text: turned into words" in done.stdout + done.stderr
    assert "text: turned into words" in (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "said" in done.stdout


@pytest.mark.parametrize("columns", [["said"], ["town", "age", "said"]], ids=str)
def test_a_vote_of_python_is_asked_by_the_command_line(columns, frame, invoke, tmp_path):
    """One of texts alone knows no names of columns."""
    X = frame["said"].tolist() if len(columns) == 1 else frame[columns]
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X, frame["outcome"])
    joblib.dump(vote, tmp_path / "m.joblib")
    frame[columns].to_csv(tmp_path / "d.csv", index=False)
    done = invoke("predict", "m.joblib", "d.csv", "--quiet", cwd=tmp_path)
    (tmp_path / "p.csv").write_text(done.stdout, encoding="utf-8")
    assert pd.read_csv(tmp_path / "p.csv")["prediction"].tolist() == vote.predict(X).tolist()


def test_texts_in_a_safe_model(frame, invoke, tmp_path):
    pytest.importorskip("skops")
    frame.to_csv(tmp_path / "d.csv", index=False)
    certify(invoke, tmp_path, "d.csv", *trees(5))
    labels = {
        name: invoke("predict", f"o/{name}", "d.csv", "--quiet", cwd=tmp_path).stdout
        for name in ("model.skops", "model.joblib")
    }
    assert labels["model.skops"] == labels["model.joblib"]
