"""Panels with votes that are missing, by the command line: a saved vote on a new table."""

import io

import joblib
import numpy as np
import pandas as pd
import pytest

from certivote import Certificate, MajorityVoteClassifier
from certivote.voters import PredictionTable


def panel(m, seed, marker):
    rng = np.random.default_rng(seed)
    y = rng.choice(["cat", "dog"], m)
    other = np.where(y == "cat", "dog", "cat")
    table = np.where(rng.random((m, 7)) < 0.2, other[:, None], y[:, None]).astype(object)
    table[rng.random((m, 7)) < 0.4] = marker
    table[:3] = marker
    return pd.DataFrame(table, columns=[f"rater {j}" for j in range(7)]).assign(truth=y)


@pytest.mark.parametrize("marker", ["refused", float("nan")])
def test_a_panel_is_certified_verified_and_predicted(marker, invoke, tmp_path):
    old, new = panel(300, 0, marker), panel(300, 1, marker)
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=marker), bound="heldout")
    vote.fit(old.drop(columns="truth"), old["truth"])
    joblib.dump(vote, tmp_path / "vote.joblib")
    new.to_csv(tmp_path / "new.csv", index=False)
    predicted = vote.predict(new.drop(columns="truth"))
    table = ("new.csv", "--target", "truth", "--model", "vote.joblib", "--out", "out")
    invoke("certify", *table, cwd=tmp_path)
    certificate = Certificate.from_json(tmp_path / "out" / "certificate.json")
    assert certificate.evidence["vote_errors"] == np.sum(predicted != new["truth"])
    verify = ("verify", "out/certificate.json", "--model", "out/model.joblib", "--data", "new.csv")
    assert "holds up" in invoke(*verify, cwd=tmp_path).stdout
    done = invoke("predict", "out/model.joblib", "new.csv", "-q", cwd=tmp_path)
    frame = pd.read_csv(io.StringIO(done.stdout), keep_default_na=False)
    nothing = "refused" if marker == "refused" else ""
    expected = [nothing if label in (None, marker) else label for label in predicted]
    assert frame["prediction"].tolist() == expected
    assert frame["share"].tolist()[:3] == [""] * 3
