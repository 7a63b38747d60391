"""Fitted models that are certified on their own training rows, in whatever order."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from certivote import CertificateError, MajorityVoteClassifier, certify_model, verify_model

X, Y = make_classification(2400, 12, n_informative=6, flip_y=0.3, random_state=1)
OLD, NEW = slice(0, 1200), slice(1200, None)
ORDER = np.random.default_rng(0).permutation(1200)
FOUND = "trained on these very examples|among the training rows"

MODELS = {
    "forest": RandomForestClassifier(20, random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "extra trees in bags": ExtraTreesClassifier(20, bootstrap=True, random_state=0),
    "bagging": BaggingClassifier(n_estimators=20, max_features=0.7, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)),
    "voting": VotingClassifier([("a", RandomForestClassifier(20, random_state=0))]),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
    "svm": SVC(gamma=1.0),
    "bagged neighbours": BaggingClassifier(KNeighborsClassifier(1), 3, random_state=0),
}


def findings(certificate):
    words = FOUND.split("|")
    return [text for text in certificate.findings if any(word in text for word in words)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_training_rows_in_any_order_are_found_and_new_ones_are_not(model):
    """The error on new rows is far from the one on the training rows, and says which is which."""
    model = model.fit(X[OLD], Y[OLD])
    own, y = X[OLD][ORDER], Y[OLD][ORDER]
    certificate = certify_model(model, own, y)
    # What is claimed is false: on new rows it errs more often.
    assert certificate.risk_bound < np.mean(model.predict(X[NEW]) != Y[NEW])
    assert len(findings(certificate)) == 1
    verify_model(model, own, y, certificate)
    with pytest.raises(CertificateError, match="leaves out a finding"):
        verify_model(model, own, y, replace(certificate, findings=()))
    assert findings(certify_model(model, X[NEW], Y[NEW])) == []
    assert findings(certify_model(model, X[NEW][:300], Y[NEW][:300])) == []
    assert findings(certify_model(model, X[NEW][Y[NEW] == 1], Y[NEW][Y[NEW] == 1])) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["forest", "tree", "pipeline", "neighbours"])
@pytest.mark.parametrize("listed", [False, True])
def test_frozen_voters(name, listed):
    model = FrozenEstimator(MODELS[name].fit(X[OLD], Y[OLD]))
    vote = MajorityVoteClassifier([model, model] if listed else model, random_state=0)
    own, y = X[OLD][ORDER], Y[OLD][ORDER]
    assert len(findings(vote.fit(own, y).certificate_)) == 1
    vote.verify(own, y)
    assert findings(vote.fit(X[NEW], Y[NEW]).certificate_) == []
    assert len(findings(vote.certify(own, y))) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["extra trees", "tree", "neighbours", "svm"])
def test_some_of_the_training_rows(name):
    model = MODELS[name].fit(X[OLD], Y[OLD])
    some = ORDER[:900]
    assert len(findings(certify_model(model, X[some], Y[some]))) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("values", [2, 4, 9])
@pytest.mark.parametrize("columns", [3, 6])
def test_new_rows_of_few_values_are_no_finding(seed, values, columns):
    """Rows of whole numbers come again by chance, and none of these was trained on."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(values, size=(900, columns)).astype(float)
    y = (rng.random(900) < 0.2 + 0.6 * rows[:, 0] / values).astype(int)
    for model in (
        RandomForestClassifier(10, random_state=seed),
        DecisionTreeClassifier(random_state=seed),
        KNeighborsClassifier(),
        SVC(),
    ):
        model.fit(rows[:400], y[:400])
        for new in (slice(400, None), slice(400, 600)):
            assert findings(certify_model(model, rows[new], y[new])) == []


@pytest.mark.filterwarnings("ignore")
def test_new_rows_of_one_kind_alone_are_no_finding():
    """Many new rows in few leaves: nearly all leaves have fewer rows than trained them."""
    model = ExtraTreesClassifier(20, random_state=0).fit(X[OLD], Y[OLD])
    rng = np.random.default_rng(0)
    near = X[NEW][0] + 0.05 * rng.normal(size=(600, X.shape[1]))
    assert findings(certify_model(model, near, np.zeros(600, dtype=int))) == []


class Odd(KNeighborsClassifier):
    """A model of somebody else, which holds something of its own under scikit-learn's names."""

    tree_ = "of life"


class Failing(GaussianNB):
    """One that raises what it likes where it is looked into."""

    @property
    def estimators_(self):
        raise RuntimeError("not connected")


@pytest.mark.parametrize("kind", [Odd, Failing])
def test_models_that_cannot_be_read_are_said_not_to_be_checked(kind):
    model = kind().fit(X[OLD], Y[OLD])
    certificate = certify_model(model, X[NEW], Y[NEW])
    assert not certificate.findings
    said = certificate.checks["training rows"]
    assert said.startswith(f"Not checked whether these rows trained the {kind.__name__}")
    verify_model(model, X[NEW], Y[NEW], certificate)
    vote = MajorityVoteClassifier(voters=[FrozenEstimator(model)]).fit(X[NEW], Y[NEW])
    assert vote.certificate_.checks["training rows"] == said
    vote.verify(X[NEW], Y[NEW])


def test_a_model_that_cannot_be_read_hides_no_other_one():
    voters = [Odd(), DecisionTreeClassifier(random_state=0), Failing()]
    voters = [FrozenEstimator(voter.fit(X[OLD], Y[OLD])) for voter in voters]
    with pytest.warns(UserWarning, match="trained on these very examples"):
        vote = MajorityVoteClassifier(voters=voters).fit(X[OLD], Y[OLD])
    assert "training rows" not in vote.certificate_.checks
