"""``certivote certify --smallest``: no more voters than it takes."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from certivote import Certificate
from options import trees


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smallest")
    X, y = make_classification(400, n_features=6, n_informative=4, random_state=0)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(target=y, town=np.arange(400) // 2)
    table.to_csv(folder / "rows.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("options", "by"),
    [
        (("--drop", "town"), "part A"),
        (("--drop", "town", "--bound", "lacasse"), "part A"),
        (("--group", "town"), "part A"),
        (
            ("--drop", "town", "--certification", "oob", "--bound", "tandem"),
            "the certification examples",
        ),
    ],
    ids=["tested", "learned", "groups", "oob"],
)
def test_a_smaller_vote_is_certified_and_verified(options, by, folder, invoke, tmp_path):
    options = (*options, *trees(15), "--smallest", 0.1, "--out", tmp_path)
    done = invoke("certify", "rows.csv", *options, cwd=folder)
    certificate = Certificate.from_json(tmp_path / "certificate.json")
    assert certificate.provenance["fewest_within"] == 0.1
    assert certificate.provenance["fewest_by"] == by
    kept = np.count_nonzero(certificate.weights)
    assert kept < certificate.n_voters == 15
    said = re.sub(r"\s+", " ", done.stdout)
    assert f"{kept} of them are asked: enough within 0.1 by {by}." in said
    for model in ("model.joblib", "model.skops"):
        files = ("--model", tmp_path / model, "--data", "rows.csv")
        checked = invoke("verify", tmp_path / "certificate.json", *files, cwd=folder).stdout
        assert "The certificate holds up" in checked


def test_the_time_of_the_choice_is_told(folder, invoke, tmp_path):
    options = ("--drop", "town", *trees(5), "--smallest", 0.5, "--out", tmp_path, "--json")
    seconds = json.loads(invoke("certify", "rows.csv", *options, cwd=folder).stdout)["seconds"]
    assert seconds["choosing"] > 0.0
    assert {"training", "voting", "learning"} < set(seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--smallest", -0.1), "--smallest must be in"),
        (("--smallest", "nan"), "--smallest must be in"),
        (("--smallest", 0.1, "--model", "m.joblib"), "--smallest is for a vote"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message, folder, invoke, tmp_path):
    done = invoke("certify", "rows.csv", *options, "--out", tmp_path, cwd=folder, status=2)
    assert message in re.sub(r"\s+", " ", done.stderr)
    assert not list(tmp_path.iterdir())
