"""Voters are asked again: answers that depend on the rows beside, or on chance, are found."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, scale

from certivote import Certificate, CertificateError, MajorityVoteClassifier

X, Y = make_classification(900, 6, n_informative=4, flip_y=0.02, random_state=1)
X = 5 * X + 50
OLD, NEW = (X[:600], Y[:600]), (X[600:], Y[600:])
ASSUMED = "does not depend on the examples beside, nor on chance"


class Noisy(ClassifierMixin, BaseEstimator):
    """Answers by chance, each time anew."""

    rng = np.random.default_rng(0)

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.rng.integers(2, size=len(X))


def scaled(kind):
    return make_pipeline(FunctionTransformer(scale), kind)


def depends_on_others(vote, X):
    """Whether the vote answers otherwise on rows that are asked for one by one."""
    alone = np.concatenate([vote.predict(X[i : i + 1]) for i in range(100)])
    return np.mean(alone != vote.predict(X)[:100]) > 0.1


BESIDE = {
    "list": lambda: [scaled(LogisticRegression(C=c)) for c in (0.1, 1.0)],
    "one of many": lambda: [*(GaussianNB() for _ in range(24)), scaled(GaussianNB())],
    "pipeline": lambda: scaled(RandomForestClassifier(10)),
    "ensemble": lambda: VotingClassifier([("a", scaled(GaussianNB())), ("b", GaussianNB())]),
    "frozen": lambda: FrozenEstimator(scaled(LogisticRegression()).fit(*OLD)),
    "frozen list": lambda: [FrozenEstimator(scaled(GaussianNB()).fit(*OLD))] * 3,
    "chance": lambda: [Noisy(), Noisy(), Noisy()],
}
ALONE = {
    "list": lambda: [make_pipeline(StandardScaler(), LogisticRegression()), GaussianNB()],
    "neighbours": lambda: [KNeighborsClassifier(3), KNeighborsClassifier(5)],
    "bagging": lambda: BaggingClassifier(GaussianNB(), 5),
    "frozen": lambda: FrozenEstimator(LogisticRegression().fit(*OLD)),
}


@pytest.mark.parametrize("voters", BESIDE.values(), ids=BESIDE)
def test_answers_that_depend_on_the_rows_beside_are_found(voters):
    vote = MajorityVoteClassifier(voters(), random_state=0)
    with pytest.warns(UserWarning, match="answered otherwise"):
        vote.fit(*NEW)
    certificate = vote.certificate_
    assert sum("answered otherwise" in text for text in certificate.findings) == 1
    assert "model" not in certificate.checks
    assert any(ASSUMED in text for text in certificate.assumptions)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    with pytest.warns(UserWarning, match="answered otherwise"):
        new = vote.certify(X[:300] + 1e-3, Y[:300])
    assert sum("answered otherwise" in text for text in new.findings) == 1
    with pytest.warns(UserWarning, match="answered otherwise"):
        vote.partial_fit(X[:300] + 2e-3, Y[:300])


def test_what_is_found_is_true_and_verified():
    vote = MajorityVoteClassifier(BESIDE["list"](), random_state=0)
    with pytest.warns(UserWarning, match="2 of the 2 voters answered otherwise"):
        vote.fit(*OLD)
    assert depends_on_others(vote, NEW[0])
    vote.verify(*OLD)
    with pytest.raises(CertificateError, match="leaves out a finding"):
        vote.verify(*OLD, replace(vote.certificate_, findings=()))
    with pytest.warns(UserWarning, match="answered otherwise"):
        new = vote.certify(*NEW)
    vote.verify(*NEW, new)
    with pytest.raises(CertificateError, match="leaves out a finding"):
        vote.verify(*NEW, replace(new, findings=()))


@pytest.mark.parametrize("voters", ALONE.values(), ids=ALONE)
def test_answers_row_by_row_are_no_finding_and_among_the_checks(voters):
    vote = MajorityVoteClassifier(voters(), random_state=0).fit(*NEW)
    assert not depends_on_others(vote, OLD[0])
    new = vote.certify(X[:300] + 1e-3, Y[:300])
    for certificate in (vote.certificate_, new):
        assert certificate.findings == ()
        assert certificate.checks["model"].startswith("Asked again for ")
        assert any(ASSUMED in text for text in certificate.assumptions)
    vote.verify(*NEW)
    vote.verify(X[:300] + 1e-3, Y[:300], new)


@pytest.mark.parametrize("voters", [None, "stumps", "mixed", RandomForestClassifier(5)])
def test_voters_that_cannot_are_not_asked_again(voters):
    certificate = MajorityVoteClassifier(voters, n_voters=5, random_state=0).fit(*OLD).certificate_
    assert "model" not in certificate.checks
    assert "asked_again" not in certificate.provenance
    assert not any(ASSUMED in text for text in certificate.assumptions)


def test_few_rows_are_asked_for_whatever_the_sample():
    """Voters count the rows that they are asked for: those that certify, and a few more."""

    class Counting(GaussianNB):
        rows = 0

        def predict(self, X):
            type(self).rows += len(X)
            return super().predict(X)

    rng = np.random.default_rng(0)
    m = 20_000
    wide = rng.normal(size=(m, 3))
    voters = [FrozenEstimator(Counting().fit(*OLD_3)) for _ in range(30)]
    MajorityVoteClassifier(voters, random_state=0).fit(wide, (wide[:, 0] > 0).astype(int))
    assert 30 * m < Counting.rows <= 30 * (m + 0.02 * m)


OLD_3 = OLD[0][:, :3], OLD[1]
