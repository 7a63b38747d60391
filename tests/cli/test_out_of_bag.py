"""``certivote certify --certification oob``: nothing is held back."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of numbers, a forest that was trained on it, and a table with names."""
    folder = tmp_path_factory.mktemp("bags")
    X, y = make_classification(700, n_features=6, n_informative=4, random_state=0)
    table = pd.DataFrame(X, columns=list("abcdef"))
    forest = RandomForestClassifier(15, max_samples=0.3, random_state=0).fit(table, y)
    joblib.dump(forest, folder / "forest.joblib")
    table.assign(town=np.where(X[:, 0] > 0, "Ulm", "Bonn"), target=y).to_csv(
        folder / "towns.csv", index=False
    )
    table.assign(target=y).to_csv(folder / "numbers.csv", index=False)
    return folder


OOB = ("--certification", "oob", "--bound", "lacasse")


@pytest.mark.parametrize(
    ("options", "origin", "bag"),
    [
        (("--n-voters", 15), "bags of the certification examples", 210),
        (("--n-voters", 15, "--bag-size", 0.2), "bags of the certification examples", 140),
        (("--voters", "forest", "--n-voters", 15), "bags of the certification examples", None),
        (("--voters", "extra-trees", "--n-voters", 15), "bags of the certification examples", None),
        (
            ("--model", "forest.joblib", "--members"),
            "frozen, trained on bags of the certification examples",
            None,
        ),
    ],
)
def test_what_is_certified_can_be_verified(options, origin, bag, folder, invoke, tmp_path):
    done = invoke("certify", "numbers.csv", *OOB, *options, "--out", tmp_path, cwd=folder)
    fields = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    provenance = fields["provenance"]
    assert (provenance["voters_from"], provenance["statistics"]) == (origin, "out of bag")
    assert fields["n_samples"] == 700
    assert bag in (None, provenance["voter_samples"])
    size = provenance["voter_samples"]
    assert f"15 voters, each trained on a bag of at most {size} of 700 rows" in done.stdout
    for model in ("model.joblib", "model.skops"):
        files = ("--model", tmp_path / model, "--data", "numbers.csv")
        checked = invoke("verify", tmp_path / "certificate.json", *files, cwd=folder).stdout
        assert "checked: that each voter is what its bag gives: it was trained again" in checked
        assert "The certificate holds up" in checked
    other = pd.read_csv(folder / "numbers.csv").iloc[::-1]
    other.to_csv(tmp_path / "turned.csv", index=False)
    files = ("--model", tmp_path / "model.joblib", "--data", tmp_path / "turned.csv")
    done = invoke("verify", tmp_path / "certificate.json", *files, cwd=folder, status=1)
    assert "is not what its bag of these rows gives" in done.stderr


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ("numbers.csv", ("--certification", "bags"), "--certification must be split or oob"),
        ("numbers.csv", ("--bag-size", 0.3), "--bag-size is for --certification oob"),
        ("numbers.csv", (*OOB, "--bag-size", 1.5), "--bag-size must be a share between 0 and 1"),
        ("numbers.csv", (*OOB, "--certify-size", 0.5), "--certify-size is for a split"),
        ("numbers.csv", (*OOB, "--voters", "stumps"), "--voters must be one of trees, forest"),
        ("numbers.csv", (*OOB, "--n-voters", 0), "--n-voters must be at least 1"),
        ("numbers.csv", (*OOB, "--claim", "recall"), "claims cannot go with"),
        ("numbers.csv", (*OOB, "--group", "a"), "groups cannot go with"),
        ("numbers.csv", (*OOB, "--prior", "learned"), "prior='learned' needs rows"),
        ("numbers.csv", (*OOB[:2], "--bound", "heldout"), "the bound 'heldout' cannot go with"),
        ("numbers.csv", ("--model", "forest.joblib", *OOB[:2]), "oob needs --members"),
        (
            "numbers.csv",
            ("--model", "forest.joblib", "--members", *OOB, "--bag-size", 0.3),
            "--bag-size is for training",
        ),
        ("towns.csv", OOB, "takes numbers only"),
    ],
)
def test_what_cannot_be_is_refused(data, options, words, folder, invoke, tmp_path):
    done = invoke("certify", data, *options, "--out", tmp_path / "out", cwd=folder, status=2)
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()
