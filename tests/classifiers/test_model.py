"""A classifier certified as it is: the errors counted are those of its own `predict`."""

import importlib
import json
import warnings
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binomtest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import certivote
from certivote import Certificate, MajorityVoteClassifier, certify, certify_model, verify_model
from certivote.certificate import CertificateError, Neighbours
from certivote.claims.base import Outcome

X, Y = make_classification(
    900, n_features=8, n_informative=4, weights=[0.7], flip_y=0.15, random_state=3
)
NAMES = np.array(["no", "yes"])[Y]
SCHEMA = json.loads(
    (files("certivote.certificate") / "certificate.schema.json").read_text(encoding="utf-8")
)
TRAIN, NEW = slice(0, 300), slice(300, 900)


class Rule:
    """Not of any library: nothing but a predict."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0, "yes", "no")


MEMBERS = [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())]
MODELS = {
    "forest": RandomForestClassifier(20, random_state=0),
    "AdaBoost pipeline": make_pipeline(StandardScaler(), AdaBoostClassifier(random_state=0)),
    "soft voting": VotingClassifier(MEMBERS, voting="soft"),
    "stacking": StackingClassifier(MEMBERS, LogisticRegression()),
    "bagging": BaggingClassifier(KNeighborsClassifier(3), 10, random_state=0),
    "boosted histograms": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "SVM": SVC(),
    "search": GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 4]}),
    "tuned threshold": TunedThresholdClassifierCV(LogisticRegression(), random_state=0),
    "calibrated": CalibratedClassifierCV(GaussianNB()),
    "frozen": FrozenEstimator(GaussianNB().fit(X[TRAIN], NAMES[TRAIN])),
}


def library(name):
    """Return a library that needs one of the system, libgomp, or skip."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        pytest.skip(f"{name} cannot be imported: {error}")


@pytest.mark.parametrize("name", [*MODELS, "LightGBM"])
def test_the_errors_are_those_of_predict(name):
    if name in MODELS:
        model = MODELS[name]
    else:
        model = library("lightgbm").LGBMClassifier(n_estimators=10, verbose=-1)
    model.fit(X[TRAIN], NAMES[TRAIN])
    errors = int(np.sum(model.predict(X[NEW]) != NAMES[NEW]))
    certificate = certify_model(model, X[NEW], NAMES[NEW])
    assert certificate.evidence == {"vote_errors": errors, "vote_size": 600}
    assert (certificate.bound, certificate.delta, certificate.n_voters) == ("heldout", 0.05, 1)
    limit = beta.ppf(0.95, errors + 1, 600 - errors)
    assert limit <= certificate.risk_bound <= limit + 1e-9
    assert "this classifier errs" in certificate.claim
    verify_model(model, X[NEW], NAMES[NEW], certificate)
    certificate.verify(model.predict(X[NEW]), NAMES[NEW])
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_xgboost_answers_numbers():
    model = library("xgboost").XGBClassifier(n_estimators=10).fit(X[TRAIN], Y[TRAIN])
    errors = int(np.sum(model.predict(X[NEW]) != Y[NEW]))
    assert certify_model(model, X[NEW], Y[NEW]).evidence["vote_errors"] == errors
    assert "xgboost" in certify_model(model, X[NEW], Y[NEW]).made
    # The same with the names that the numbers stand for.
    certificate = certify_model(model, X[NEW], NAMES[NEW], positive="yes", baseline="no")
    assert certificate.neighbours.baseline == "no"
    assert certificate.evidence["vote_errors"] == errors
    assert certificate.provenance["positive"] == "yes"
    counts = {"no": int(np.sum(Y[NEW] == 0)), "yes": int(np.sum(Y[NEW]))}
    assert certificate.class_counts == counts
    jsonschema.Draft202012Validator(SCHEMA).validate(certificate.to_dict())
    verify_model(model, X[NEW], NAMES[NEW], certificate)
    other = certify_model(model, X[NEW], NAMES[NEW], positive="no")
    assert other.evidence["vote_errors"] == 600 - errors
    with pytest.raises(CertificateError):
        verify_model(
            model,
            X[NEW],
            NAMES[NEW],
            Certificate.from_dict(other.to_dict() | {"provenance": certificate.provenance}),
        )


def test_anything_with_predict():
    certificate = certify_model(Rule(), X[NEW], NAMES[NEW])
    errors = int(np.sum((X[NEW, 0] > 0) != (Y[NEW] == 1)))
    assert certificate.evidence["vote_errors"] == errors
    frame = pd.DataFrame(X[NEW], columns=list("abcdefgh"))
    assert certify_model(Rule(), frame, pd.Series(NAMES[NEW])).evidence["vote_errors"] == errors
    column = type("Column", (), {"predict": lambda self, X: Rule().predict(X)[:, None]})()
    assert certify_model(column, X[NEW], NAMES[NEW]).evidence["vote_errors"] == errors


def test_texts():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["sun", "rain", "wind", "ice"], 6)) + f" {i}" for i in range(200)]
    y = np.array(["sun" in text for text in texts])
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:80], y[:80])
    certificate = certify_model(model, texts[80:], y[80:])
    assert certificate.evidence["vote_errors"] == int(np.sum(model.predict(texts[80:]) != y[80:]))
    verify_model(model, texts[80:], y[80:], certificate)


def test_a_fitted_vote_gives_the_same_number_either_way():
    vote = MajorityVoteClassifier("trees", n_voters=10, random_state=0).fit(X[TRAIN], NAMES[TRAIN])
    one, two = vote.certify(X[NEW], NAMES[NEW]), certify_model(vote, X[NEW], NAMES[NEW])
    assert one == two
    three = certify(vote.predict(X[NEW]), NAMES[NEW])
    assert one.risk_bound == three.risk_bound
    verify_model(vote, X[NEW], NAMES[NEW], one)
    assert one.neighbours.baseline_from == "part A"
    with pytest.raises(ValueError, match="needs new data"):
        certify_model(vote, X[TRAIN], NAMES[TRAIN])


def test_where_members_vote_otherwise_it_is_a_finding():
    model = VotingClassifier(MEMBERS, voting="soft").fit(X[TRAIN], NAMES[TRAIN])
    vote = MajorityVoteClassifier(voters=FrozenEstimator(model))
    with pytest.warns(UserWarning, match="answers otherwise than the VotingClassifier"):
        vote.fit(X[NEW], NAMES[NEW])
    other = int(np.sum(vote.predict(X[NEW]) != model.predict(X[NEW])))
    (finding,) = vote.certificate_.findings
    assert f"on {other} of 600 examples" in finding
    vote.verify(X[NEW], NAMES[NEW])
    vote.certificate_ = replace(vote.certificate_, findings=())
    with pytest.raises(CertificateError, match="leaves out a finding"):
        vote.verify(X[NEW], NAMES[NEW])


# --- the neighbours ------------------------------------------------------------------------------


def test_the_neighbours_against_scipy():
    model = GaussianNB().fit(X[TRAIN], NAMES[TRAIN])
    wrong, always = model.predict(X[NEW]) != NAMES[NEW], NAMES[NEW] != "no"
    beside = certify_model(model, X[NEW], NAMES[NEW], delta=0.1, baseline="no").neighbours
    assert (beside.errors, beside.baseline_errors) == (wrong.sum(), always.sum())
    assert beside.only_vote_errs == np.sum(wrong & ~always)
    assert beside.only_baseline_errs == np.sum(always & ~wrong)
    exact = binomtest(int(wrong.sum()), 600).proportion_ci(0.9)
    assert beside.interval == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert beside.interval[0] <= exact.low
    assert beside.interval[1] >= exact.high
    discordant = beside.only_vote_errs + beside.only_baseline_errs
    test = binomtest(beside.only_vote_errs, discordant, alternative="less")
    assert beside.p_value == pytest.approx(test.pvalue)
    assert beside.better is bool(test.pvalue <= 0.1)


def test_a_baseline_read_off_the_sample_is_not_tested():
    model = GaussianNB().fit(X[TRAIN], NAMES[TRAIN])
    beside = certify_model(model, X[NEW], NAMES[NEW]).neighbours
    assert (beside.baseline, beside.baseline_from) == ("no", "sample")
    assert beside.p_value is None
    assert beside.better is None


def test_weights_that_were_learned_have_no_interval():
    vote = MajorityVoteClassifier("trees", n_voters=10, bound="tandem", random_state=0).fit(
        X, NAMES
    )
    beside = vote.certificate_.neighbours
    assert not beside.fixed
    assert beside.interval is beside.p_value is None
    part_b = vote.certificate_.n_samples
    assert beside.n_samples == part_b
    assert "learned from" in beside.sentences[0]


def test_the_sign_test_errs_no_more_often_than_delta():
    """A classifier just as good as the baseline is said to be better at most delta of the time."""
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(2000):
        y = rng.random(300) < 0.5
        predicted = rng.random(300) < 0.4  # whatever the label
        outcome = Outcome(y, predicted, (False, "given"))
        shown += Neighbours.count(outcome, 0.05, fixed=True).better
    assert 2000 * 0.01 < shown <= 2000 * 0.05 + 3 * np.sqrt(2000 * 0.05 * 0.95)


def test_checks_that_nobody_made_are_refused():
    model = LogisticRegression().fit(X[TRAIN], NAMES[TRAIN])
    fields = certify_model(model, X[NEW], NAMES[NEW]).to_dict()
    with pytest.raises(CertificateError, match="topic of a check"):
        Certificate.from_dict({**fields, "checks": {"independence": "Proved."}})
    invented = {**fields["checks"], "training rows": "None of these rows was among them."}
    claimed = Certificate.from_dict({**fields, "checks": invented})
    with pytest.raises(CertificateError, match="the check of training rows"):
        verify_model(model, X[NEW], NAMES[NEW], claimed)


def test_a_baseline_is_given_only_where_it_can_be():
    vote = clone(VOTE).fit(X, NAMES)
    fields = vote.certificate_.to_dict()
    fields["neighbours"]["baseline_from"] = "given"
    with pytest.raises(CertificateError, match="baseline_from must not be 'given'"):
        Certificate.from_dict(fields)


TAMPERED = {
    "errors": {"errors": 1},
    "fewer of the vote alone": {"only_vote_errs": 0},
    "interval": {"interval": [0.0, 0.01]},
    "p value": {"p_value": 1e-9},
    "better": {"better": True},
    "a baseline that was not given": {"baseline_from": "part A"},
    "baseline": {"baseline": "yes"},
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_tampered_neighbours_are_found(change):
    model = Rule()
    honest = certify_model(model, X[NEW], NAMES[NEW], baseline="no")
    fields = honest.to_dict()
    assert all(fields["neighbours"][name] != value for name, value in change.items())
    fields["neighbours"] |= change
    with pytest.raises(CertificateError, match=r"neighbours|baseline"):
        Certificate.from_dict(fields).verify(model.predict(X[NEW]), NAMES[NEW])


def test_class_counts_are_counted_again():
    honest = certify_model(Rule(), X[NEW], NAMES[NEW])
    fields = honest.to_dict() | {"neighbours": None}
    counts = fields["class_counts"]
    fields["class_counts"] = {"no": counts["no"] - 1, "yes": counts["yes"] + 1}
    with pytest.raises(CertificateError, match="class_counts"):
        Certificate.from_dict(fields).verify(Rule().predict(X[NEW]), NAMES[NEW])


# --- doubt ---------------------------------------------------------------------------------------


def test_a_classifier_whose_answers_depend_on_its_batch_is_found():
    class Batch:
        def predict(self, X):
            return np.where(X[:, 0] > X[:, 0].mean(), "yes", "no")

    for rows in (NEW, slice(300, 340)):
        with pytest.warns(UserWarning, match="Asked again"):
            certificate = certify_model(Batch(), X[rows], NAMES[rows])
        assert len(certificate.findings) == 1
    quiet = certify_model(Rule(), X[NEW], NAMES[NEW])
    assert "of the examples, 6 of them one by one" in quiet.checks["model"]
    assert quiet.checks["duplicates"] == "All 600 rows are different."


def test_answers_in_an_array_that_is_used_again_are_counted_as_they_were():
    class Buffer:
        def __init__(self):
            self.out = np.zeros(4096, dtype=int)

        def predict(self, X):
            answers = self.out[: len(X)]
            answers[:] = np.asarray(X)[:, 0] > 1.6
            return answers

    certificate = certify_model(Buffer(), X[NEW], Y[NEW])
    assert certificate.evidence["vote_errors"] == np.sum((X[NEW, 0] > 1.6) != Y[NEW])
    assert not certificate.findings


VOTE = MajorityVoteClassifier("trees", n_voters=5, bound="lacasse", random_state=0)


def test_a_vote_inside_of_something_knows_its_rows():
    vote = clone(VOTE).fit(X[TRAIN], NAMES[TRAIN])
    pipeline = make_pipeline(StandardScaler(), clone(VOTE)).fit(X[TRAIN], NAMES[TRAIN])
    search = GridSearchCV(VOTE, {"n_voters": [3]}, cv=2).fit(X[TRAIN], NAMES[TRAIN])
    for model in (FrozenEstimator(vote), pipeline, search):
        with pytest.raises(ValueError, match="needs new data"):
            certify_model(model, X[TRAIN], NAMES[TRAIN])
        assert not certify_model(model, X[NEW], NAMES[NEW]).findings
    tree = FrozenEstimator(DecisionTreeClassifier(max_depth=2).fit(X[TRAIN], NAMES[TRAIN]))
    for voters in (FrozenEstimator(vote), [FrozenEstimator(vote), tree]):
        with pytest.raises(ValueError, match="needs new data"):
            MajorityVoteClassifier(voters=voters).fit(X[TRAIN], NAMES[TRAIN])


@pytest.mark.parametrize("leaf", [1, 3])
def test_rows_of_the_training_of_any_forest_are_found(leaf):
    forest = RandomForestClassifier(100, min_samples_leaf=leaf, random_state=0)
    forest.fit(X[TRAIN], NAMES[TRAIN])
    with pytest.warns(UserWarning, match="trained on these very examples"):
        certify_model(forest, X[TRAIN], NAMES[TRAIN])
    assert "training rows" not in certify_model(forest, X[NEW], NAMES[NEW]).checks


def test_where_training_rows_cannot_be_looked_for_nothing_is_said_of_them():
    model = GaussianNB().fit(X[TRAIN], NAMES[TRAIN])
    certificate = certify_model(model, X[TRAIN], NAMES[TRAIN])
    assert certificate.findings == ()
    assert "training rows" not in certificate.checks


def test_a_smaller_vote_says_that_its_difference_was_not_counted():
    forest = RandomForestClassifier(15, max_depth=3, random_state=0).fit(X[TRAIN], NAMES[TRAIN])
    vote = MajorityVoteClassifier(voters=FrozenEstimator(forest), bound="lacasse")
    with pytest.warns(UserWarning, match="answers otherwise"):
        vote.fit(X[NEW], NAMES[NEW])
    smaller = vote.prune(np.median(vote.weights_))
    (finding,) = smaller.certificate_.findings
    assert "was not counted" in finding
    smaller.verify(X[NEW], NAMES[NEW])


def test_rows_of_the_training_are_found():
    model = RandomForestClassifier(20, random_state=0).fit(X[TRAIN], NAMES[TRAIN])
    with pytest.warns(UserWarning, match="trained on these very examples"):
        certificate = certify_model(model, X[TRAIN], NAMES[TRAIN])
    assert certificate.findings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify_model(model, X[NEW], NAMES[NEW])


def test_copied_rows_of_few_values_are_found():
    """Four columns of rounded numbers and names, of which a third comes again."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "ward": rng.choice(list("abcdef"), 1000),
            "sex": rng.choice(["f", "m"], 1000),
            "age": rng.integers(20, 90, 1000),
            "crp": rng.exponential(20, 1000).round(),
        }
    )
    y = np.where(frame["age"] > 60, "yes", "no")
    model = type("Old", (), {"predict": lambda self, X: np.where(X["age"] > 55, "yes", "no")})()
    assert len(frame.drop_duplicates()) < 1000
    assert not certify_model(model, frame, y).findings
    again = np.r_[:1000, rng.choice(1000, 300, replace=False)]
    with pytest.warns(UserWarning, match="come several times"):
        assert certify_model(model, frame.iloc[again], y[again]).findings


def test_copied_rows_are_found():
    twice = np.r_[300:600, 300:600]
    with pytest.warns(UserWarning, match="come several times"):
        assert certify_model(Rule(), X[twice], NAMES[twice]).findings


# --- bad input -----------------------------------------------------------------------------------


class Probabilities:
    def predict(self, X):
        return 1 / (1 + np.exp(-np.asarray(X)[:, 0]))


class Table:
    def predict(self, X):
        p = Probabilities().predict(X)
        return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Probabilities(), "must be labels, got numbers such as .* probabilities"),
        (Table(), r"shape \(600, 2\): probabilities or scores are no labels"),
        (StandardScaler(), "must have a method predict, got StandardScaler"),
        ("model", "must have a method predict, got str"),
    ],
    ids=["probabilities", "a table of them", "no predict", "a text"],
)
def test_what_is_no_classifier_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        certify_model(model, X[NEW], Y[NEW])


def test_labels_of_another_kind_are_refused_with_advice():
    model = GaussianNB().fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match=r"predicts 0, 1, but y has 'no', 'yes'.*positive='yes'"):
        certify_model(model, X[NEW], NAMES[NEW])
    with pytest.raises(
        ValueError, match=r"positive must be one of the classes.*did you mean 'yes'"
    ):
        certify_model(model, X[NEW], NAMES[NEW], positive="yess")
    three = np.where(np.arange(600) % 3 == 0, "maybe", NAMES[NEW])
    with pytest.raises(ValueError, match="both have 0, 1: leave it out"):
        certify_model(model, X[NEW], Y[NEW], positive=0)
    with pytest.raises(ValueError, match="positive is for two classes"):
        certify_model(model, X[NEW], three, positive="yes")
    words = GaussianNB().fit(X[TRAIN], np.array(["N", "Y"])[Y[TRAIN]])
    with pytest.raises(ValueError, match="predicts 'N', 'Y', but y has 'no', 'yes'"):
        certify_model(words, X[NEW], NAMES[NEW])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"baseline": "nope"}, "baseline must be one of the classes, got 'nope'"),
        ({"delta": 0.0}, "delta"),
        ({"y": NAMES[:10]}, "same number of rows"),
        ({"y": [None, *NAMES[301:900]]}, "missing"),
    ],
)
def test_bad_arguments(arguments, words):
    y = arguments.pop("y", NAMES[NEW])
    with pytest.raises(ValueError, match=words):
        certify_model(Rule(), X[NEW], y, **arguments)


def test_masked_rows_are_refused():
    masked = np.ma.masked_array(X[NEW], mask=np.arange(X[NEW].size).reshape(600, 8) == 0)
    with pytest.raises(ValueError, match="mask"):
        certify_model(Rule(), masked, NAMES[NEW])


def test_predictions_in_another_order_than_the_rows_are_refused():
    class Sorted:
        def predict(self, X):
            return pd.Series(Rule().predict(X), index=X.index).sort_index()

    frame = pd.DataFrame(X[NEW], index=np.random.default_rng(0).permutation(600))
    y = pd.Series(NAMES[NEW], index=frame.index)
    with pytest.raises(ValueError, match="order of the rows"):
        certify_model(Sorted(), frame, y)
    right = certify_model(Rule(), frame, y).evidence["vote_errors"]
    assert (
        certify_model(Sorted(), frame.sort_index(), y.sort_index()).evidence["vote_errors"] == right
    )


def test_the_error_of_a_classifier_is_its_own():
    class Broken:
        def predict(self, X):
            raise RuntimeError("no licence")

    with pytest.raises(RuntimeError, match="no licence"):
        certify_model(Broken(), X[NEW], NAMES[NEW])


def test_the_date_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    certificate = certify_model(Rule(), X[NEW], NAMES[NEW])
    assert certificate.made["date"] == "1970-01-02T00:00:00Z"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    later = certify_model(Rule(), X[NEW], NAMES[NEW])
    assert later.made["date"] > "2020"
    assert later == certificate
    assert later.made["numpy"] == np.__version__
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH"):
        certify_model(Rule(), X[NEW], NAMES[NEW])
    assert certivote.verify_model is verify_model


@pytest.mark.parametrize("copied", [20, 80])
def test_few_copies_are_found_too(copied):
    """One row that comes again and again lowers the number: a few hundredths are enough."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1000, 4))
    y = (X[:, 0] + rng.normal(size=1000) > 0).astype(int)
    model = LogisticRegression().fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    right = int(np.flatnonzero(model.predict(X) == y)[0])
    rows = np.concatenate([np.arange(800), np.full(copied, right)])
    with pytest.warns(UserWarning, match=f"800 of {800 + copied} are different"):
        certificate = certify_model(model, X[rows], y[rows])
    assert len(certificate.findings) == 1
    assert certificate.risk_bound < certify_model(model, X, y).risk_bound
    assert certify_model(model, X, y).findings == ()
