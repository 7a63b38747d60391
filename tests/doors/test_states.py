"""What fails, or changes its data, leaves no claim about another vote behind."""

import copy
import itertools
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from certivote import CBBoostClassifier, MajorityVoteClassifier, VoteStatistics, certify
from certivote.bounds import clopper_pearson, get_bound
from certivote.solvers import LBFGS
from certivote.voters import PredictionTable

# The modules that a fit, or a partial one, comes through.
OF_A_FIT = ("majority.py", "classifiers/base.py", "_fitting.py", "_answering.py")


def drawn(m, flip, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    y = (X[:, 0] > 0).astype(int)
    return X, np.where(rng.random(m) < flip, 1 - y, y)


class Interrupted(LBFGS):
    """A solver that is stopped by its user."""

    def solve(self, *arguments, **options):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"bound": "helout"}, ValueError), ({"solver": Interrupted()}, KeyboardInterrupt)],
    ids=["typo", "interrupt"],
)
def test_a_fit_that_fails_leaves_no_claim_behind(settings, error):
    """Otherwise the new voters would have the old weights, and the old certificate."""
    vote = MajorityVoteClassifier("trees", bound="tandem", n_voters=5, random_state=0).fit(
        *drawn(300, 0)
    )
    with pytest.raises(error):
        vote.set_params(**settings).fit(*drawn(300, 0.5, seed=1))
    assert not hasattr(vote, "certificate_")
    with pytest.raises(NotFittedError):
        vote.predict(drawn(5, 0)[0])
    vote.set_params(bound="heldout", solver="lbfgs").partial_fit(*drawn(300, 0.5, seed=2))
    assert vote.certificate_.n_samples == 150


def test_a_fit_of_too_many_classes_leaves_no_claim_behind():
    vote = CBBoostClassifier(n_voters=5, random_state=0).fit(*drawn(300, 0))
    X, y = drawn(300, 0)
    with pytest.raises(ValueError, match="binary"):
        vote.fit(X, y + (X[:, 1] > 0))
    assert not hasattr(vote, "certificate_")


FORMS = {"array": np.asarray, "frame": pd.DataFrame, "sparse": sparse.csr_array}


@pytest.mark.parametrize("form", FORMS)
def test_voters_that_change_their_data_change_it_for_nobody_else(form):
    rng, make = np.random.default_rng(0), FORMS[form]

    def draw(m):
        X = rng.normal(100, 20, size=(m, 3))
        return X, (X[:, 0] > 100).astype(int)

    (X, y), (X_new, y_new) = draw(2000), draw(500)
    scaler = StandardScaler(copy=False, with_mean=form != "sparse")
    weak = make_pipeline(scaler, DecisionTreeClassifier(max_depth=1, max_features=1))
    voters = [weak, DecisionTreeClassifier(max_depth=3), LogisticRegression(max_iter=1000)]
    vote = MajorityVoteClassifier(voters=voters, bound="tandem", random_state=0)
    vote.fit(make(X.copy()), y)
    data = make(X_new.copy())
    first, smaller = vote.predict(data), vote.prune(0.3)
    assert np.array_equal(vote.predict(data), first)
    assert np.array_equal(data.toarray() if form == "sparse" else np.asarray(data), X_new)
    assert np.mean(smaller.predict(data) != y_new) <= smaller.certificate_.risk_bound < 0.2


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_shares_of_a_delta_of_few_digits_are_not_rounded(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    votes = np.where(rng.random((2000, 15)) < 0.2, 1 - y[:, None], y[:, None])
    for delta in (kind(0.07), kind(0.01), kind(0.03)):
        certificate = certify(votes, y, bound="best", delta=delta)
        certificate.verify()
        errors = certificate.evidence["vote_errors"]
        assert certificate.evidence["winner"] == "heldout"
        assert certificate.risk_bound == clopper_pearson(errors, 2000, 0.9 * float(delta))
        few = get_bound("heldout", delta=delta, fixed_votes=np.eye(15)[:3])
        own = certify(votes, y, bound=few)
        expected = clopper_pearson(own.evidence["vote_errors"], 2000, float(delta) / 3)
        assert own.risk_bound == expected


def test_a_size_of_few_digits_is_split_again():
    X, y = drawn(301, 0.1)
    vote = MajorityVoteClassifier("trees", n_voters=3, certify_size=np.float16(0.3), random_state=0)
    vote.fit(X, y).verify(X, y)


# --- honest samples are not doubted ---


@pytest.mark.parametrize("n_voters", [1, 3])
def test_batches_of_predictions_that_are_alike_by_chance(n_voters):
    rng = np.random.default_rng(n_voters)
    vote = MajorityVoteClassifier(voters=PredictionTable(), bound="heldout", anytime=True)
    for _ in range(12):
        y = rng.integers(2, size=100)
        wrong = rng.random((100, n_voters)) < 0.2
        vote.partial_fit(np.where(wrong, 1 - y[:, None], y[:, None]), y)
    assert vote.certificate_.n_samples == 1200
    assert vote.certificate_.findings == ()


DISCRETE = {
    "three values, scaled": lambda rng, m: rng.integers(3, size=(m, 5)) * 0.7,
    "three values, standardised": lambda rng, m: (rng.integers(3, size=(m, 5)) - 1.03) / 0.7391,
    "one decimal": lambda rng, m: np.round(rng.normal(20, 3, size=(m, 1)), 1),
    "age and sex": lambda rng, m: np.column_stack(
        [rng.integers(18, 90, m), rng.integers(2, size=m)]
    ),
}


@pytest.mark.parametrize("values", DISCRETE)
def test_discrete_features_with_a_point_are_discrete(values):
    rng = np.random.default_rng(1)

    def draw(m):
        X = DISCRETE[values](rng, m)
        y = (X[:, 0] > X[:, 0].mean()).astype(int)
        return X, np.where(rng.random(m) < 0.1, 1 - y, y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vote = MajorityVoteClassifier("trees", n_voters=5, bound="heldout", random_state=0).fit(
            *draw(2000)
        )
        assert vote.certify(*draw(500)).findings == ()
        vote.partial_fit(*draw(500))
    assert vote.certificate_.findings == ()


def test_times_of_one_day_are_told_apart():
    rng = np.random.default_rng(2)
    X = (1.7e9 + rng.permutation(86_400)[:2000])[:, None]
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0)
    assert vote.fit(X, rng.integers(2, size=2000)).certificate_.findings == ()


def test_equal_counts_of_few_errors_may_be_chance():
    losses = np.zeros((2000, 1), dtype=bool)
    losses[:10] = True
    one, two = (VoteStatistics.from_losses(losses) for _ in range(2))
    assert (one + two).findings == ()


# --- rows that are changed where they lie, and interrupts ---


class Turning(ClassifierMixin, BaseEstimator):
    """A voter that turns the first number of each row around before it looks at it."""

    def __init__(self, turns=True):
        self.turns = turns

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        for row in X if self.turns else ():
            cell = row[0]
            if isinstance(cell, list):
                cell[0] = -cell[0]
            else:
                row[0] = -cell
        first = [row[0][0] if isinstance(row[0], list) else row[0] for row in X]
        return np.array([int(value > 0) for value in first])


def in_lists(X):
    return X.tolist()


def in_cells(X):
    cells = np.empty(X.shape, dtype=object)
    for place in np.ndindex(X.shape):
        cells[place] = [float(X[place])]
    return cells


@pytest.mark.parametrize("form", [in_lists, in_cells])
def test_rows_that_a_voter_turns_around_are_its_own(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    voters = [FrozenEstimator(Turning(turns).fit(X, y)) for turns in (True, False)]
    data = form(X)
    vote = MajorityVoteClassifier(voters=voters, bound="heldout", prior=[0.0, 1.0])
    vote.fit(data, y)
    wrong = int(np.count_nonzero(vote.predict(data) != y))
    assert vote.certificate_.evidence["vote_errors"] == wrong == 0
    assert str(data) == str(form(X))


def test_a_sparse_table_that_a_voter_would_sort():
    X = sparse.random(300, 20, density=0.3, format="csr", random_state=0)
    X = X[:, np.random.default_rng(0).permutation(20)]
    y = (X.toarray()[:, 0] > 0).astype(int)
    assert MajorityVoteClassifier(voters=[SVC()], random_state=0).fit(X, y).score(X, y) > 0.5


def test_an_interrupt_at_any_line_of_partial_fit_leaves_one_state():
    """Each line of these modules is the last one before the user stops it, in turn."""
    first, second = drawn(200, 0.2), drawn(150, 0.2, seed=1)
    fitted = MajorityVoteClassifier(
        "trees", n_voters=5, bound="gibbs", anytime=True, random_state=0
    )
    fitted.fit(*first)
    whole = copy.deepcopy(fitted).partial_fit(*second).certificate_
    interrupts = 0
    for last in itertools.count():
        vote, lines = copy.deepcopy(fitted), itertools.count()

        def trace(frame, event, argument, lines=lines, last=last):
            ours = frame.f_code.co_filename.endswith(OF_A_FIT)
            if event == "line" and ours and next(lines) == last:
                raise KeyboardInterrupt
            return trace if ours or event == "call" else None

        sys.settrace(trace)
        try:
            vote.partial_fit(*second)
        except KeyboardInterrupt:
            interrupts += 1
        else:
            break
        finally:
            sys.settrace(None)
        assert np.array_equal(vote.weights_, vote.certificate_.weights)
        assert vote.statistics_.n_samples == vote.certificate_.n_samples
        if vote.certificate_.n_samples == 100:
            assert vote.partial_fit(*second).certificate_ == whole
        else:
            assert vote.certificate_ == whole
    assert interrupts > 30


def test_equal_counts_of_many_voters_are_told_at_any_size():
    rng = np.random.default_rng(3)
    losses = rng.random((60, 50)) < rng.uniform(0.1, 0.5, size=50)
    one, two = (VoteStatistics.from_losses(losses) for _ in range(2))
    with pytest.warns(UserWarning, match="very same counts were merged"):
        assert len((one + two).findings) == 1
