"""``certivote certify --members``, and ``--model`` with a vote: on data that is new to them."""

import json
import pickle
import shutil

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import VoteStatistics
from certivote.bounds import get_bound
from options import trees

FEATURES = list("abcde")
LABELS = np.array(["no", "yes"])


@pytest.fixture(scope="module")
def old(numbers):
    """The rows that train models."""
    rows = numbers.iloc[:150]
    return rows[FEATURES], LABELS[rows["label"]]


@pytest.fixture(scope="module")
def new(numbers, tmp_path_factory):
    """Rows that no model has seen, as a file with an additional column and in another order."""
    rows = numbers.iloc[150:]
    frame = rows[FEATURES[::-1]].assign(comment=range(len(rows)), outcome=LABELS[rows["label"]])
    path = tmp_path_factory.mktemp("new") / "new.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def forest(old):
    return RandomForestClassifier(8, random_state=0).fit(*old)


@pytest.fixture(scope="module")
def vote_path(forest, new, invoke, tmp_path_factory):
    """A vote of the forest that learned its weights on the new rows."""
    folder = tmp_path_factory.mktemp("vote")
    joblib.dump(forest, folder / "forest.joblib")
    arguments = ("--model", "forest.joblib", "--members", "--target", "outcome", "--quiet")
    invoke("certify", new, *arguments, "--out", "vote", cwd=folder)
    return folder / "vote" / "model.joblib"


def by_hand(predictions, path, weights):
    """The certificate of votes that were taken without the library."""
    y = pd.read_csv(path)["outcome"].to_numpy(dtype=str)
    statistics = VoteStatistics.from_votes(np.stack(predictions, axis=1), y)
    return get_bound("lacasse", delta=0.05, constant="exact").value(statistics, weights)


def certify(invoke, folder, model, data, *arguments):
    """The certificate of the members of a model."""
    options = ("--model", model, "--members", "--bound", "lacasse", *arguments)
    invoke("certify", data, *options, cwd=folder)
    return json.loads((folder / "new-certificate" / "certificate.json").read_text())


def as_it_is(invoke, folder, model, path, data, *arguments):
    """The certificate of a model as it is; the errors must be those of its predict on data."""
    options = ("--model", path, "--out", "as-it-is", *arguments)
    invoke("certify", data[0], *options, "--quiet", cwd=folder)
    fields = json.loads((folder / "as-it-is" / "certificate.json").read_text())
    rows, outcome = data[1], pd.read_csv(data[0])["outcome"].to_numpy(dtype=str)
    errors = int(np.sum(model.predict(rows) != outcome))
    assert fields["evidence"] == {"vote_errors": errors, "vote_size": len(outcome)}
    assert fields["n_voters"] == 1
    assert fields["provenance"]["voters_from"] == "a classifier, as it is"
    assert 0 < errors / len(outcome) < fields["risk_bound"] < 1
    return fields


def test_a_forest_that_knows_its_columns(run, forest, new, invoke, tmp_path):
    # A plain pickle is a file that joblib loads, too.
    (tmp_path / "forest.pkl").write_bytes(pickle.dumps(forest))
    rows = pd.read_csv(new)[FEATURES]
    as_it_is(invoke, tmp_path, forest, "forest.pkl", (new, rows), "--target", "outcome")
    arguments = ("--model", "forest.pkl", "--members", "--target", "outcome", "--bound", "lacasse")
    done = run("certify", new, *arguments, cwd=tmp_path)
    folder = tmp_path / "new-certificate"
    fields = json.loads((folder / "certificate.json").read_text())
    assert "runs code" in done.stderr
    X = pd.read_csv(new)[FEATURES].to_numpy()
    predictions = [LABELS[tree.predict(X).astype(int)] for tree in forest.estimators_]
    assert fields["risk_bound"] == by_hand(predictions, new, fields["weights"])
    assert fields["n_samples"] == len(X)  # all of them certify
    assert fields["provenance"]["voters_from"] == "frozen, trained elsewhere"
    assert {path.name for path in folder.iterdir()} == {
        *("model.joblib", "model.skops", "certificate.json", "report.html")
    }
    checked = ("--model", folder / "model.joblib", "--data", new)
    invoke("verify", folder / "certificate.json", *checked, cwd=tmp_path)


def test_a_forest_of_bare_arrays_takes_columns_by_their_order(invoke, old, new, tmp_path):
    X, y = old
    forest = RandomForestClassifier(8, random_state=0).fit(X[FEATURES[::-1]].to_numpy(), y)
    joblib.dump(forest, tmp_path / "bare.joblib")
    arguments = ("--drop", "comment", "--target", "outcome")
    fields = certify(invoke, tmp_path, "bare.joblib", new, *arguments, "--quiet")
    rows = pd.read_csv(new)[FEATURES[::-1]].to_numpy()
    predictions = [LABELS[tree.predict(rows).astype(int)] for tree in forest.estimators_]
    assert fields["risk_bound"] == by_hand(predictions, new, fields["weights"])
    as_it_is(invoke, tmp_path, forest, "bare.joblib", (new, rows), *arguments)
    for members in ((), ("--members",)):
        options = ("--model", "bare.joblib", "--target", "outcome", "--quiet", *members)
        refused = invoke("certify", new, *options, cwd=tmp_path, status=2)
        assert "takes 5 columns" in refused.stderr
        assert "has 6 besides the target" in refused.stderr


def test_a_pipeline(invoke, old, new, tmp_path):
    X, y = old
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(8, random_state=0)).fit(X, y)
    joblib.dump(pipeline, tmp_path / "pipeline.joblib")
    arguments = ("--target", "outcome")
    fields = certify(invoke, tmp_path, "pipeline.joblib", new, *arguments, "--quiet")
    rows = pd.read_csv(new)[FEATURES]
    as_it_is(invoke, tmp_path, pipeline, "pipeline.joblib", (new, rows), *arguments)
    scaled = (pd.read_csv(new)[FEATURES] - X.mean()) / X.std(ddof=0)
    predictions = [
        LABELS[tree.predict(scaled.to_numpy()).astype(int)] for tree in pipeline[-1].estimators_
    ]
    assert fields["n_voters"] == 8
    assert fields["risk_bound"] == pytest.approx(by_hand(predictions, new, fields["weights"]))


def test_a_list_of_classifiers(invoke, old, new, tmp_path):
    X, y = old
    members = [
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        GaussianNB().fit(X, y),
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
    ]
    joblib.dump(members, tmp_path / "list.joblib")
    arguments = ("--target", "outcome", "--quiet")
    fields = certify(invoke, tmp_path, "list.joblib", new, *arguments)
    rows = pd.read_csv(new)[FEATURES]
    predictions = [member.predict(rows) for member in members]
    assert fields["n_voters"] == 3
    assert fields["risk_bound"] == by_hand(predictions, new, fields["weights"])
    # There is no classifier besides them that they could differ from.
    assert fields["findings"] == []
    alone = ("certify", new, "--model", "list.joblib", *arguments)
    done = invoke(*alone, cwd=tmp_path, status=2)
    assert "list.joblib holds several classifiers: add --members for their vote" in done.stderr


def test_labels_are_found_if_only_one_column_is_not_the_models(invoke, forest, new, tmp_path):
    frame = pd.read_csv(new).drop(columns="comment")
    frame[["outcome", *FEATURES]].to_csv(tmp_path / "new.csv", index=False)
    joblib.dump(forest, tmp_path / "forest.joblib")
    fields = certify(invoke, tmp_path, "forest.joblib", "new.csv", "--quiet")
    assert fields["provenance"]["target"] == "outcome"
    data = (tmp_path / "new.csv", frame[FEATURES])
    fields = as_it_is(invoke, tmp_path, forest, "forest.joblib", data)
    assert fields["provenance"]["target"] == "outcome"


# --- a saved vote --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def newer(new, tmp_path_factory):
    """Rows that the vote has not seen either."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=200)
    X = np.round(rng.normal(0, 1, (200, 5)) + 1.2 * y[:, None], 4)
    path = tmp_path_factory.mktemp("newer") / "new.csv"
    pd.DataFrame(X, columns=FEATURES).assign(outcome=LABELS[y]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("option", [(), ("--data",)])
def test_a_saved_vote_on_new_data_pays_no_kl(option, invoke, vote_path, newer, tmp_path):
    arguments = ("--model", vote_path, "--delta", 0.02)
    done = invoke("certify", *option, newer, *arguments, cwd=tmp_path)
    folder = tmp_path / "new-certificate"
    fields = json.loads((folder / "certificate.json").read_text())
    assert "\nWith 98% confidence" in done.stdout
    assert fields["kl"] == 0.0
    assert fields["prior"] == fields["weights"] == joblib.load(vote_path).weights_.tolist()
    assert fields["n_samples"] == 200
    assert fields["bound"] == "heldout"
    assert fields["bound_parameters"]["delta"] == 0.02
    vote, table = joblib.load(vote_path), pd.read_csv(newer)
    expected = vote.certify(table[FEATURES], table["outcome"].to_numpy(dtype=str), delta=0.02)
    assert fields["risk_bound"] == expected.risk_bound
    errors = int(np.sum(vote.predict(table[FEATURES]) != table["outcome"].to_numpy()))
    assert fields["evidence"] == {"vote_errors": errors, "vote_size": 200}
    assert fields["neighbours"] == expected.neighbours.to_dict()
    assert {"certificate.json", "report.html"} <= {path.name for path in folder.iterdir()}
    checked = ("--model", vote_path, "--data", newer)
    invoke("verify", folder / "certificate.json", *checked, cwd=tmp_path)


def test_a_saved_vote_reads_columns_as_it_was_trained(invoke, loans, as_trained, tmp_path):
    """Numbers that are names stay names, without saying so again."""
    first, second = loans.iloc[:200], loans.iloc[200:]
    first.to_csv(tmp_path / "first.csv", index=False)
    second.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--drop", "id", "--categorical", "branch", *trees(5), "--quiet")
    invoke("certify", "first.csv", *arguments, "--out", "first", cwd=tmp_path)
    model = tmp_path / "first" / "model.joblib"
    arguments = ("--model", model, "--target", "repaid", "--quiet")
    invoke("certify", "new.csv", *arguments, cwd=tmp_path)
    fields = json.loads((tmp_path / "new-certificate" / "certificate.json").read_text())
    vote = joblib.load(model)
    expected = vote.certify(as_trained(second, vote), second["repaid"].to_numpy(dtype=str))
    assert fields["statistics_sha256"] == expected.statistics_sha256
    checked = ("--model", model, "--data", "new.csv")
    invoke("verify", "new-certificate/certificate.json", *checked, cwd=tmp_path)


def test_data_that_the_vote_was_fitted_on_is_refused(invoke, vote_path, new, tmp_path):
    arguments = ("--model", vote_path, "--target", "outcome", "--quiet")
    done = invoke("certify", new, *arguments, cwd=tmp_path, status=2)
    assert "100.0% of these examples were in the data" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_model_needs_data(invoke, vote_path, newer, tmp_path):
    done = invoke("certify", "--model", vote_path, cwd=tmp_path, status=2)
    assert "needs DATA" in done.stderr
    done = invoke("certify", newer, "--data", newer, cwd=tmp_path, status=2)
    assert "give one of them" in done.stderr


def test_a_new_certificate_does_not_stand_beside_another_model(
    invoke, vote_path, newer, numbers, tmp_path
):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    invoke("certify", "numbers.csv", *trees(2), "--out", "results", "-q", cwd=tmp_path)
    invoke("certify", newer, "--model", vote_path, "--out", "results", "-q", cwd=tmp_path)
    left = tmp_path / "results" / "model.joblib"
    weights = json.loads((tmp_path / "results" / "certificate.json").read_text())["weights"]
    assert not left.exists() or joblib.load(left).weights_.tolist() == weights


def test_a_vote_may_be_certified_again_in_its_own_folder(invoke, vote_path, newer, tmp_path):
    shutil.copytree(vote_path.parent, tmp_path / "vote")
    arguments = ("--model", "vote/model.joblib", "--out", "vote", "--quiet")
    invoke("certify", newer, *arguments, cwd=tmp_path)
    checked = ("vote/certificate.json", "--model", "vote/model.joblib", "--data", newer)
    invoke("verify", *checked, cwd=tmp_path)
    assert json.loads((tmp_path / "vote" / "certificate.json").read_text())["kl"] == 0.0


def test_a_model_gets_the_columns_as_pandas_reads_them(invoke, tmp_path):
    """True and false, gaps in text, and whole numbers beside a gap: as the model was trained."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "member": rng.random(400) < 0.5,
            "city": rng.choice(["a", "b", None], 400),
            "visits": np.where(rng.random(400) < 0.1, np.nan, rng.integers(9, size=400)),
        }
    )
    y = np.where(frame["member"] ^ (frame["city"].isna()), "yes", "no")
    frame.assign(outcome=y).to_csv(tmp_path / "all.csv", index=False)
    read = pd.read_csv(tmp_path / "all.csv")
    encoder = make_pipeline(
        ColumnTransformer(
            [("names", OneHotEncoder(handle_unknown="ignore"), ["member", "city"])],
            remainder=SimpleImputer(),
        ),
        LogisticRegression(),
    )
    model = encoder.fit(read.iloc[:200, :3], read["outcome"][:200])
    joblib.dump(model, tmp_path / "logit.joblib")
    new = read.iloc[200:]
    new.to_csv(tmp_path / "new.csv", index=False)
    errors = int(np.sum(model.predict(new.iloc[:, :3]) != new["outcome"]))
    options = ("--model", "logit.joblib", "--quiet")
    invoke("certify", "new.csv", *options, cwd=tmp_path)
    folder = tmp_path / "new-certificate"
    fields = json.loads((folder / "certificate.json").read_text())
    assert fields["evidence"]["vote_errors"] == errors
    checked = ("--model", folder / "model.joblib", "--data", "new.csv")
    invoke("verify", folder / "certificate.json", *checked, cwd=tmp_path)
    invoke("predict", "logit.joblib", "new.csv", "--out", "labels.csv", "-q", cwd=tmp_path)
    labels = pd.read_csv(tmp_path / "labels.csv")["prediction"]
    assert labels.tolist() == model.predict(new.iloc[:, :3]).tolist()
