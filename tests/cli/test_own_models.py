"""``certivote certify --model``: a classifier of one's own, exactly as it is."""

import importlib
import io
import json
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from certivote import Certificate, MajorityVoteClassifier

FEATURES = ["age", "income", "debt", "city"]
NUMBERS = FEATURES[:3]
NAMES = np.array(["no", "yes"])


def draw(m, seed):
    """Rows of which a fifth is noise; seven in ten are "no"."""
    rng = np.random.default_rng(seed)
    y = (rng.random(m) < 0.3).astype(int)
    frame = pd.DataFrame(rng.normal(0, 1, (m, 3)) + y[:, None], columns=NUMBERS).round(4)
    frame["city"] = np.where(rng.random(m) < 0.8, np.where(y == 1, "Metz", "Lyon"), "Paris")
    return frame.assign(repaid=NAMES[y])


OLD, NEW = draw(200, 0), draw(250, 1)


class Rule:
    """Of no library: nothing but a predict, by the name of a column."""

    def __init__(self, labels):
        self.labels = np.array(labels)

    def predict(self, X):
        return self.labels[(X["income"] > 0.5).to_numpy().astype(int)]


class Constant:
    """What answers the same whatever it is asked."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return np.resize(self.answer, (len(X), *np.shape(self.answer)[1:]))


class Broken:
    """What fails beyond the first rows."""

    def __init__(self, column):
        self.column = column

    def predict(self, X):
        if len(X) > 100:
            raise RuntimeError(f"no {self.column} here, and no licence")
        return np.full(len(X), "no")


def library(name):
    """Return a library that needs one of the system, libgomp, or skip."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        pytest.skip(f"{name} cannot be imported: {error}")


PAIR = [("tree", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB())]
ENCODED = make_column_transformer(
    (OneHotEncoder(), ["city"]), (StandardScaler(), NUMBERS), sparse_threshold=0
)
KINDS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "AdaBoost": make_pipeline(ENCODED, AdaBoostClassifier(n_estimators=10, random_state=0)),
    "soft voting": VotingClassifier(PAIR, voting="soft"),
    "stacking": StackingClassifier(PAIR, LogisticRegression(), cv=2),
    "bagging": BaggingClassifier(KNeighborsClassifier(3), 5, random_state=0),
    "boosted histograms": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "SVM": make_pipeline(ENCODED, SVC()),
    "search": GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 4]}, cv=2),
    "tuned threshold": TunedThresholdClassifierCV(LogisticRegression(), cv=2, random_state=0),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=2),
    "network": make_pipeline(ENCODED, MLPClassifier(8, solver="lbfgs", random_state=0)),
    "rule": Rule(NAMES),
    "vote": MajorityVoteClassifier("trees", n_voters=5, random_state=0),
    "LightGBM": None,
}


def fitted(name):
    """A model, and the columns that it takes."""
    model = KINDS[name]
    if name == "LightGBM":
        model = library("lightgbm").LGBMClassifier(n_estimators=5, verbose=-1)
    columns = FEATURES if name in ("AdaBoost", "SVM", "network", "rule") else NUMBERS
    return (model if name == "rule" else model.fit(OLD[columns], OLD["repaid"])), columns


@pytest.fixture
def folder(tmp_path):
    """A folder with rows that are new to all models."""
    NEW.to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


@pytest.fixture
def saved(folder):
    """Save a model, and return its name."""

    def save(model, name="m.joblib"):
        joblib.dump(model, folder / name)
        return name

    return save


def certificate_in(folder):
    return json.loads((folder / "certificate.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model(kind, folder, saved, invoke):
    """Certified, verified and asked for predictions: all of the model's own predict."""
    model, columns = fitted(kind)
    invoke("certify", "new.csv", "--model", saved(model), "--out", "out", "-q", cwd=folder)
    fields = certificate_in(folder / "out")
    predicted = model.predict(NEW[columns])
    errors = int(np.sum(predicted != NEW["repaid"].to_numpy()))
    assert 0 < errors < 100
    assert fields["evidence"] == {"vote_errors": errors, "vote_size": 250}
    limit = beta.ppf(0.95, errors + 1, 250 - errors)
    assert limit <= fields["risk_bound"] <= limit + 1e-9
    assert fields["neighbours"]["errors"] == errors
    assert fields["class_counts"] == NEW["repaid"].value_counts().to_dict()
    if kind != "vote":
        assert "this classifier errs" in fields["claim"]
        assert (folder / "out" / "model.joblib").read_bytes() == (folder / "m.joblib").read_bytes()
    everything = ("--model", "out/model.joblib", "--data", "new.csv")
    done = invoke("verify", "out/certificate.json", *everything, cwd=folder)
    assert "The certificate holds up, if what it assumes is true." in done.stdout.splitlines()
    invoke("predict", "out/model.joblib", "new.csv", "--out", "p.csv", "-q", cwd=folder)
    assert pd.read_csv(folder / "p.csv")["prediction"].tolist() == predicted.tolist()


@pytest.mark.parametrize("searched", [False, True])
def test_a_model_of_texts_takes_the_column_of_texts(searched, folder, saved, invoke):
    rng = np.random.default_rng(0)
    words = rng.choice(["sun", "rain", "wind", "ice", "fog", "hail"], (300, 4))
    texts = [f"{' '.join(row)} {i}" for i, row in enumerate(words)]
    kind = np.where((words == "sun").any(axis=1) ^ (rng.random(300) < 0.1), "warm", "cold")
    frame = pd.DataFrame({"report": texts, "kind": kind})
    frame[100:].to_csv(folder / "texts.csv", index=False)
    frame[100:].assign(station=7).to_csv(folder / "more.csv", index=False)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = GridSearchCV(model, {"logisticregression__C": [1, 9]}, cv=2) if searched else model
    model.fit(texts[:100], kind[:100])
    arguments = ("--model", saved(model), "--target", "kind", "--out", "out", "-q")
    invoke("certify", "texts.csv", *arguments, cwd=folder)
    errors = int(np.sum(model.predict(texts[100:]) != kind[100:]))
    assert certificate_in(folder / "out")["evidence"] == {"vote_errors": errors, "vote_size": 200}
    everything = ("--model", "out/model.joblib", "--data", "texts.csv")
    invoke("verify", "out/certificate.json", *everything, cwd=folder)
    invoke("predict", "out/model.joblib", "texts.csv", "--out", "p.csv", "-q", cwd=folder)
    assert pd.read_csv(folder / "p.csv")["prediction"].tolist() == [*model.predict(texts[100:])]
    done = invoke("certify", "more.csv", *arguments, cwd=folder, status=2)
    assert "takes one column of text, but more has 2 besides the target" in done.stderr
    invoke("certify", "more.csv", *arguments, "--drop", "station", cwd=folder)
    assert certificate_in(folder / "out")["evidence"]["vote_errors"] == errors


def test_a_vote_gives_the_number_that_it_gives_in_python(folder, saved, invoke):
    vote, columns = fitted("vote")
    arguments = ("--model", saved(vote), "--delta", 0.1, "--json", "--baseline", "no")
    fields = json.loads(invoke("certify", "new.csv", *arguments, cwd=folder).stdout)["certificate"]
    own = vote.certify(NEW[columns], NEW["repaid"], delta=0.1, baseline="no").to_dict()
    for name in ("risk_bound", "evidence", "statistics_sha256", "votes_sha256", "neighbours"):
        assert fields[name] == own[name]
    assert fields["bound_parameters"]["delta"] == 0.1


# --- beside the number ---------------------------------------------------------------------------


def test_a_baseline_that_was_given_is_tested(folder, saved, invoke):
    model, columns = fitted("forest")
    arguments = ("certify", "new.csv", "--model", saved(model))
    done = invoke(*arguments, "--baseline", "no", cwd=folder)
    neighbours = certificate_in(folder / "new-certificate")["neighbours"]
    wrong, others = model.predict(NEW[columns]) != NEW["repaid"], NEW["repaid"] != "no"
    b, c = int(np.sum(wrong & ~others)), int(np.sum(~wrong & others))
    assert (neighbours["baseline"], neighbours["baseline_from"]) == ("no", "given")
    assert neighbours["p_value"] == pytest.approx(binom.cdf(b, b + c, 0.5), rel=1e-9)
    assert neighbours["better"] is True
    *_, claim, observed, baseline, better = done.stdout.splitlines()
    assert claim.startswith("With 95% confidence, this classifier errs on a new example")
    assert observed.startswith(f"Observed: {wrong.sum()} errors on 250 examples, ")
    assert f"always 'no', the class named beforehand: {others.sum()} errors" in baseline
    assert better.startswith("Better than the baseline: shown")
    # Without one the most frequent class of these rows describes, and nothing is claimed of it.
    done = invoke(*arguments, cwd=folder)
    assert "the most frequent class of these examples" in done.stdout.splitlines()[-1]
    assert certificate_in(folder / "new-certificate")["neighbours"]["p_value"] is None


def test_a_baseline_that_is_no_class(folder, saved, invoke):
    arguments = ("certify", "new.csv", "--model", saved(fitted("forest")[0]), "-q")
    done = invoke(*arguments, "--baseline", "yess", cwd=folder, status=2)
    assert "baseline must be one of the classes, got 'yess': did you mean 'yes'?" in done.stderr
    done = invoke(*arguments, "--baseline", "never", cwd=folder, status=2)
    assert "there are no, yes." in done.stderr


def test_labels_that_are_written_otherwise(folder, saved, invoke):
    """A model that answers 0 and 1, of a table with no and yes."""
    model = RandomForestClassifier(5, random_state=0)
    model.fit(OLD[NUMBERS], (OLD["repaid"] == "yes").astype(int))
    errors = int(np.sum(NAMES[model.predict(NEW[NUMBERS])] != NEW["repaid"]))
    arguments = ("certify", "new.csv", "--model", saved(model), "-q", "--out")
    invoke(*arguments, "out", "--positive", "yes", "--baseline", "no", cwd=folder)
    fields = certificate_in(folder / "out")
    assert fields["evidence"]["vote_errors"] == errors
    assert fields["neighbours"]["baseline_errors"] == int(np.sum(NEW["repaid"] == "yes"))
    everything = ("--model", "out/model.joblib", "--data", "new.csv")
    invoke("verify", "out/certificate.json", *everything, cwd=folder)
    # What it answers is written as in the table, too.
    done = invoke("predict", "out/model.joblib", "new.csv", "--shares", cwd=folder)
    answers = pd.read_csv(io.StringIO(done.stdout))
    np.testing.assert_array_equal(answers["prediction"], NAMES[model.predict(NEW[NUMBERS])])
    probabilities = model.predict_proba(NEW[NUMBERS])
    np.testing.assert_allclose(answers[["probability no", "probability yes"]], probabilities)
    np.testing.assert_allclose(answers["probability"], probabilities.max(axis=1))
    invoke(*arguments, "other", "--positive", "no", cwd=folder)
    assert certificate_in(folder / "other")["evidence"]["vote_errors"] == 250 - errors
    done = invoke(*arguments, "third", "--positive", "Yes", cwd=folder, status=2)
    assert "positive must be one of the classes, got 'Yes': did you mean 'yes'?" in done.stderr
    done = invoke(*arguments, "third", cwd=folder, status=2)
    assert "predicts 0, 1, but the target of new holds 'no', 'yes'" in done.stderr
    assert "--positive yes?" in done.stderr
    # One that does not say which classes it knows is asked.
    saved(Rule([0, 1]))
    done = invoke(*arguments, "third", cwd=folder, status=2)
    assert "predicts 0, 1, but the target of new holds 'no', 'yes'" in done.stderr
    assert "--positive yes?" in done.stderr
    invoke(*arguments, "third", "--positive", "yes", cwd=folder)
    by_hand = NAMES[(NEW["income"] > 0.5).astype(int)] != NEW["repaid"]
    assert certificate_in(folder / "third")["evidence"]["vote_errors"] == by_hand.sum()


def test_words_that_help_nobody(folder, saved, invoke):
    """--positive is not for members: it is no advice there; and one classifier has none."""
    model = RandomForestClassifier(5, random_state=0)
    model.fit(OLD[NUMBERS], (OLD["repaid"] == "yes").astype(int))
    arguments = ("certify", "new.csv", "--model", saved(model), "--members", "-q")
    done = invoke(*arguments, cwd=folder, status=2)
    assert "predicts 0, 1, but the target of new holds 'no', 'yes'" in done.stderr
    assert "--positive" not in done.stderr
    saved(Rule(["no", "yes"]))
    done = invoke(*arguments, cwd=folder, status=2)
    assert "Rule is one classifier, with no members to take apart" in done.stderr


def test_columns_by_their_order_alone(folder, saved, invoke):
    model = RandomForestClassifier(5, random_state=0)
    model.fit(OLD[NUMBERS].to_numpy(), OLD["repaid"])
    leave = [arg for name in NEW if name not in (*NUMBERS, "repaid") for arg in ("--drop", name)]
    names = ", ".join(map(repr, NUMBERS))
    words = (
        f"the model knows no names of columns: it takes those of the file in their order, {names}"
    )
    arguments = ("--model", saved(model), "--target", "repaid", *leave, "--out", "out")
    done = invoke("certify", "new.csv", *arguments, cwd=folder)
    assert words in " ".join(done.stdout.split())
    done = invoke("predict", "out/model.joblib", "new.csv", cwd=folder)
    assert words in done.stderr


def test_xgboost_answers_numbers(folder, saved, invoke):
    model = library("xgboost").XGBClassifier(n_estimators=5)
    model.fit(OLD[NUMBERS], (OLD["repaid"] == "yes").astype(int))
    arguments = ("--model", saved(model), "--positive", "yes", "--out", "out", "-q")
    invoke("certify", "new.csv", *arguments, cwd=folder)
    fields = certificate_in(folder / "out")
    errors = int(np.sum(NAMES[model.predict(NEW[NUMBERS])] != NEW["repaid"]))
    assert fields["evidence"]["vote_errors"] == errors
    assert "xgboost" in fields["made"]


# --- members -------------------------------------------------------------------------------------


def test_members_say_on_how_many_rows_they_differ(folder, saved, invoke):
    model = VotingClassifier([*PAIR, ("logit", LogisticRegression())], voting="soft")
    model.fit(OLD[NUMBERS], OLD["repaid"])
    arguments = ("certify", "new.csv", "--model", saved(model), "--members", "--out", "out")
    done = invoke(*arguments, "--json", cwd=folder)
    fields = json.loads(done.stdout)["certificate"]
    votes = np.stack([member.predict(NEW[NUMBERS]) for member in model.estimators_], axis=1)
    shares = votes @ np.array(fields["weights"])
    assert np.min(np.abs(shares - 0.5)) > 1e-9  # no ties
    differs = int(np.sum(NAMES[(shares > 0.5).astype(int)] != model.predict(NEW[NUMBERS])))
    assert differs > 0
    (finding,) = fields["findings"]
    assert f"otherwise than the VotingClassifier itself on {differs} of 250 examples" in finding
    assert "certify_model" not in finding
    assert done.stderr.splitlines() == [f"warning: {finding}"]
    done = invoke(*arguments, cwd=folder)
    assert f"Found, and throws doubt on the claim: {finding}" in done.stdout.splitlines()
    assert finding not in done.stderr  # once is enough
    assert certificate_in(folder / "out")["findings"] == [finding]
    # Whoever has the model finds it again.
    everything = ("--model", "out/model.joblib", "--data", "new.csv")
    invoke("verify", "out/certificate.json", *everything, cwd=folder)


# --- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--members", "--baseline", "no"), "--baseline is for a classifier as it is"),
        (("--members", "--positive", "yes"), "--positive is for a classifier as it is"),
        (("--bound", "lacasse"), "--bound is for weights that are learned: without --members"),
        (("--constant", "maurer"), "--constant is for weights that are learned"),
        (("--n-voters", 5), "--n-voters is for training: with --model nothing is trained"),
        (("--voters", "stumps"), "--voters is for training"),
        (("--certify-size", 0.3), "--certify-size is for training"),
        (("--prior", "learned"), "--prior learned needs training rows"),
        (("--delta", 0.95), "may fail, at most 0.5, got 0.95: did you mean 0.05?"),
    ],
)
def test_options_that_exclude_one_another(options, words, folder, saved, invoke):
    arguments = ("--model", saved(fitted("rule")[0]), "--quiet", *options)
    done = invoke("certify", "new.csv", *arguments, cwd=folder, status=2)
    assert words in done.stderr
    assert not (folder / "new-certificate").exists()


@pytest.mark.parametrize("option", [("--members",), ("--baseline", "no"), ("--positive", "yes")])
def test_options_that_need_a_model(option, folder, invoke):
    done = invoke("certify", "new.csv", *option, cwd=folder, status=2)
    assert f"{option[0]} is about a classifier that you have: name its file with" in done.stderr


def test_columns_that_the_table_lacks_are_named(folder, saved, invoke):
    arguments = ("certify", "less.csv", "--model", saved(fitted("forest")[0]), "-q")
    NEW.drop(columns="debt").to_csv(folder / "less.csv", index=False)
    done = invoke(*arguments, cwd=folder, status=2)
    assert "the model asks for a column 'debt', which less.csv does not have" in done.stderr
    NEW.drop(columns=["debt", "age"]).to_csv(folder / "less.csv", index=False)
    done = invoke(*arguments, cwd=folder, status=2)
    assert "asks for 2 columns that less.csv does not have: 'age', 'debt'." in done.stderr
    # Of a model that does not say what it needs, it is what it says when it fails.
    saved(fitted("rule")[0])
    NEW.drop(columns="income").to_csv(folder / "less.csv", index=False)
    done = invoke(*arguments, cwd=folder, status=2)
    assert "the model cannot predict the rows of less: KeyError: 'income'." in done.stderr


SCORES = np.column_stack([np.linspace(0, 1, 250), np.linspace(1, 0, 250)])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            Broken("income"),
            "the model cannot predict the rows of new: RuntimeError: no income here, and no "
            "licence. It may want other columns, or other values",
        ),
        (Constant(SCORES[:, 0]), "must be labels, got numbers such as 0.004"),
        (Constant(SCORES), "probabilities or scores are no labels"),
        (Constant(np.array([None] * 250)), "the predictions of Constant"),
        (Ridge(), "a Ridge, which predicts quantities: certivote certifies classifiers"),
    ],
)
def test_models_that_fail_or_answer_no_labels(model, words, folder, saved, invoke):
    arguments = ("certify", "new.csv", "--model", saved(model), "-q")
    done = invoke(*arguments, cwd=folder, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert not (folder / "new-certificate").exists()


def test_a_model_that_fails_to_predict_is_named_so(folder, saved, invoke):
    done = invoke("predict", saved(Broken("age")), "new.csv", "-q", cwd=folder, status=2)
    assert "the model cannot predict the rows of new: RuntimeError: no age here" in done.stderr


# --- verified ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified_model(invoke, tmp_path_factory):
    """A forest that was certified on visits of which some are of one patient. Do not touch."""
    folder = tmp_path_factory.mktemp("model")
    visits = NEW.assign(patient_id=np.arange(250) // 5)
    visits.to_csv(folder / "new.csv", index=False)
    joblib.dump(fitted("forest")[0], folder / "m.joblib")
    options = ("--model", "m.joblib", "--target", "repaid", "--out", "out", "-q")
    invoke("certify", "new.csv", *options, cwd=folder)
    return folder


def verified(invoke, folder, tmp_path, change=None, status=1, **files):
    """What verify says of a certificate that was changed, or of another model or table."""
    certificate = Certificate.from_json(folder / "out" / "certificate.json")
    fields = certificate.to_dict() | {"files": {}}
    if change is not None:
        change(fields)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(fields))
    model, data = files.get("model", folder / "m.joblib"), files.get("data", folder / "new.csv")
    return invoke("verify", path, "--model", model, "--data", data, cwd=tmp_path, status=status)


def test_a_certified_model_is_verified(certified_model, invoke, tmp_path):
    done = verified(invoke, certified_model, tmp_path, status=0)
    lines = done.stdout.splitlines()
    assert "checked: what the model predicts on the data: errors, bound, baseline" in lines
    assert "not checked: that the classifier was trained and chosen on other data" in lines
    assert "The certificate holds up, if what it assumes is true." in lines
    (found,) = (line for line in lines if line.startswith("found, and throws doubt"))
    assert "'patient_id' looks like an identifier and repeats: 250 rows of 50 values" in found


def beside(**changes):
    return lambda fields: fields["neighbours"].update(changes)


def without(name):
    return lambda fields: fields.update({name: type(fields[name])()})


@pytest.mark.parametrize(
    "change",
    [
        beside(errors=1),
        beside(observed=0.01),
        beside(interval=[0.0, 0.1]),
        beside(baseline="yes"),
        beside(baseline_errors=200),
        beside(baseline_from="given"),
        beside(better=True),
        without("neighbours"),
        without("findings"),
        lambda fields: fields["class_counts"].update(no=0),
        lambda fields: fields["provenance"].update(positive="no"),
    ],
)
def test_what_is_changed_beside_the_number(change, certified_model, invoke, tmp_path):
    done = verified(invoke, certified_model, tmp_path, change)
    assert "the certificate does not hold up: " in done.stderr


def test_a_finding_of_the_table_cannot_be_left_out(certified_model, invoke, tmp_path):
    done = verified(invoke, certified_model, tmp_path, without("findings"))
    assert "leaves out a finding" in done.stderr
    assert "patient_id" in done.stderr

    def as_if_older(fields):
        fields.update(findings=[], made={})

    # An older one did not look for it, and whoever looks now is told.
    done = verified(invoke, certified_model, tmp_path, as_if_older, status=0)
    assert "found, and throws doubt on the claim: Column 'patient_id' looks" in done.stdout


def test_another_model_or_file_does_not_hold_up(certified_model, invoke, tmp_path):
    joblib.dump(fitted("calibrated")[0], tmp_path / "other.joblib")
    done = verified(invoke, certified_model, tmp_path, model="other.joblib")
    assert "classifier is claimed to be 'RandomForestClassifier', but is 'Calib" in done.stderr
    old = OLD.iloc[::2]
    forest = clone(fitted("forest")[0]).fit(old[NUMBERS], old["repaid"])
    joblib.dump(forest, tmp_path / "forest.joblib")
    done = verified(invoke, certified_model, tmp_path, model="forest.joblib")
    assert "the votes and labels are not those that were certified" in done.stderr
    vote = MajorityVoteClassifier("trees", n_voters=3, random_state=0).fit(
        OLD[NUMBERS], OLD["repaid"]
    )
    joblib.dump(vote, tmp_path / "vote.joblib")
    verified(invoke, certified_model, tmp_path, model="vote.joblib")
    draw(250, 2).to_csv(tmp_path / "other.csv", index=False)
    done = verified(invoke, certified_model, tmp_path, data="other.csv")
    assert "other.csv is another file than the one that was certified, 'new.csv'" in done.stderr
    # With digests the file of the model tells without being loaded.
    everything = ("--model", "other.joblib", "--data", certified_model / "new.csv")
    path = certified_model / "out" / "certificate.json"
    done = invoke("verify", path, *everything, cwd=tmp_path, status=1)
    assert "other.joblib is not the file that was written with" in done.stderr


def test_a_model_that_fails_cannot_be_verified(certified_model, invoke, tmp_path):
    joblib.dump(Broken("age"), tmp_path / "broken.joblib")
    done = verified(invoke, certified_model, tmp_path, model="broken.joblib", status=2)
    assert "the model cannot predict the rows of new: RuntimeError" in done.stderr


# --- the same bytes ------------------------------------------------------------------------------


def test_the_date_can_be_fixed(folder, saved, invoke):
    """Then the same run writes the same bytes, and the date is the one that was given."""
    arguments = ("certify", "new.csv", "--model", saved(fitted("forest")[0]), "-q", "--out")
    for out in ("a", "b"):
        invoke(*arguments, out, cwd=folder, SOURCE_DATE_EPOCH="1700000000")
    names = {path.name for path in (folder / "a").iterdir()}
    assert names >= {"model.joblib", "certificate.json", "report.html"}
    for name in names:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()
    assert certificate_in(folder / "a")["made"]["date"] == "2023-11-14T22:13:20Z"
    page = (folder / "a" / "report.html").read_text(encoding="utf-8")
    assert "2023-11-14" in page
    invoke(*arguments, "c", cwd=folder)
    one, two = (Certificate.from_json(folder / out / "certificate.json") for out in ("a", "c"))
    assert one.made["date"] != two.made["date"]
    assert {**one.to_dict(), "made": 0, "files": 0} == {**two.to_dict(), "made": 0, "files": 0}


def test_predict_reads_the_table_as_it_was_certified(folder, invoke, tmp_path):
    """Codes such as 003 are text by --categorical: what predict reads is what was certified."""
    rng = np.random.default_rng(3)
    codes = np.array([f"{code:03d}" for code in rng.integers(0, 40, 400)])
    labels = NAMES[(codes > "020").astype(int)]
    frame = pd.DataFrame({"code": codes, "repaid": labels})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(frame[["code"]][:200], labels[:200])
    joblib.dump(model, folder / "codes.joblib")
    frame[200:].to_csv(folder / "codes.csv", index=False)
    arguments = ("--model", "codes.joblib", "--target", "repaid", "--categorical", "code")
    invoke("certify", "codes.csv", *arguments, "--out", "codes", "-q", cwd=folder)
    errors = certificate_in(folder / "codes")["evidence"]["vote_errors"]
    assert errors == np.sum(model.predict(frame[["code"]][200:]) != labels[200:])
    done = invoke("predict", "codes/model.joblib", "codes.csv", "-q", cwd=folder)
    answers = pd.read_csv(io.StringIO(done.stdout))["prediction"]
    assert np.sum(answers.to_numpy() != labels[200:]) == errors


def test_what_a_model_from_a_script_needs(folder, invoke):
    """What was saved by a script says where its class was: not here."""
    script = (
        "import joblib\n"
        "class Mine:\n"
        "    def predict(self, X):\n"
        "        return ['no'] * len(X)\n"
        "joblib.dump(Mine(), 'mine.joblib')\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    done = invoke("certify", "new.csv", "--model", "mine.joblib", cwd=folder, status=2)
    assert "define it in a module of its own" in " ".join(done.stderr.split())


def test_advice_that_fits(folder, saved, invoke):
    """Too few columns, and several classes under other names."""
    model = RandomForestClassifier(5, random_state=0)
    model.fit(np.hstack([OLD[NUMBERS].to_numpy()] * 2), OLD["repaid"])
    arguments = ("certify", "new.csv", "--model", saved(model), "--target", "repaid", "-q")
    done = invoke(*arguments, cwd=folder, status=2)
    assert "takes 6 columns, but new has 4 besides the target: some lack." in done.stderr
    three = np.resize(["a", "b", "c"], len(NEW))
    NEW.assign(repaid=three).to_csv(folder / "three.csv", index=False)
    model.fit(OLD[NUMBERS], np.resize([0, 1, 2], len(OLD)))
    saved(model)
    done = invoke("certify", "three.csv", *arguments[2:], cwd=folder, status=2)
    assert "write the target as the model answers it" in done.stderr


def test_question_marks_are_what_they_were_for_pandas(folder, saved, invoke):
    """A vote that is trained here takes ? for missing, as UCI does; a model reads it as a text."""
    old, new = (
        frame.assign(city=np.where(frame["city"] == "Metz", "?", frame["city"]))
        for frame in (OLD, NEW)
    )
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city"])),
        LogisticRegression(),
    ).fit(old[FEATURES], old["repaid"])
    new.to_csv(folder / "marks.csv", index=False)
    arguments = ("--model", saved(model), "--target", "repaid", "--out", "marks", "-q")
    invoke("certify", "marks.csv", *arguments, cwd=folder)
    as_pandas = pd.read_csv(folder / "marks.csv")
    errors = int(np.sum(model.predict(as_pandas[FEATURES]) != as_pandas["repaid"]))
    assert certificate_in(folder / "marks")["evidence"]["vote_errors"] == errors
    done = invoke("predict", "marks/model.joblib", "marks.csv", "-q", cwd=folder)
    answers = pd.read_csv(io.StringIO(done.stdout))["prediction"]
    np.testing.assert_array_equal(answers, model.predict(as_pandas[FEATURES]))
    everything = ("--model", "marks/model.joblib", "--data", "marks.csv")
    invoke("verify", "marks/certificate.json", *everything, cwd=folder)


def test_a_model_that_forgot_how_many_columns_it_takes(folder, saved, invoke):
    """As CatBoost does, when it is loaded."""
    rule = Rule(NAMES)
    rule.n_features_in_ = 0
    invoke("certify", "new.csv", "--model", saved(rule), "--out", "forgot", "-q", cwd=folder)
    by_hand = NAMES[(NEW["income"] > 0.5).astype(int)] != NEW["repaid"]
    assert certificate_in(folder / "forgot")["evidence"]["vote_errors"] == by_hand.sum()


def test_codes_that_are_read_as_numbers_are_named(folder, saved, invoke):
    NEW.assign(city=np.resize(["003", "010"], len(NEW))).to_csv(folder / "padded.csv", index=False)
    arguments = ("--model", saved(Rule(NAMES)), "--target", "repaid", "--out", "padded")
    done = invoke("certify", "padded.csv", *arguments, cwd=folder)
    words = "column 'city': read as numbers, though written as 003: --categorical keeps the text"
    assert words in " ".join(done.stdout.split())
    done = invoke("certify", "padded.csv", *arguments, "--categorical", "city", cwd=folder)
    assert "though written" not in done.stdout
