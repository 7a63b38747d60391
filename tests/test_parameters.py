"""The parameters of bounds and solvers: scikit-learn is the judge of its own protocol."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.utils import gen_batches as scikit_learn_batches

from certivote import MajorityVoteClassifier
from certivote._utils.batches import gen_batches
from certivote.bounds import BestBound, HeldoutBound, LacasseBound
from certivote.bounds.parameters import Parametrised
from certivote.solvers import COCOB, LBFGS, Adam, FirstOrder

LONG = {"barrier_strength": 1234.5678, "inverse_max_iter": 123456, "tolerance": 0.0123456}


class Outer:
    """What both kinds of parents are tried with: two parameters, one without a default."""

    def __init__(self, inner, *, number=float("nan")):
        self.inner = inner
        self.number = number


class Ours(Outer, Parametrised):
    pass


class Theirs(Outer, BaseEstimator):
    pass


def theirs(ours):
    """Return the same object as a `BaseEstimator`, of the same name."""
    kind = type(ours)
    twin = type(kind.__name__, (BaseEstimator,), {"__init__": kind.__init__})
    copy = object.__new__(twin)
    for name in ours.get_params(deep=False):
        value = getattr(ours, name)
        setattr(copy, name, theirs(value) if isinstance(value, Parametrised) else value)
    return copy


OBJECTS = [
    LacasseBound(),
    LacasseBound(0.01),
    LacasseBound(constant="maurer", delta=np.float64(0.1)),
    BestBound(shares=(("heldout", 0.5), ("gibbs", 0.5))),
    HeldoutBound(fixed_votes=[[0.5, 0.5], [0.25, 0.75]]),
    LBFGS(),
    LBFGS(tol=1e-9, max_iter=7, memory=3),
    LBFGS(7, 8, 9, tol=1e-9, max_iter=100000, memory=30),
    FirstOrder("adam", n_iter=500),
    FirstOrder(COCOB(alpha=50), **LONG),
    FirstOrder(Adam(beta1=0.5), **LONG, inverse_tolerance=1e-12, n_iter=123456789),
    *(FirstOrder("x" * length, inverse_tolerance=1e-12, n_iter=3) for length in range(8, 32)),
]


@pytest.mark.parametrize("ours", OBJECTS, ids=range(len(OBJECTS)))
def test_it_says_what_scikit_learn_would(ours):
    judge = theirs(ours)
    assert repr(ours) == repr(judge)
    assert list(ours.get_params(deep=False)) == list(judge.get_params(deep=False))
    assert ours.get_params().keys() == judge.get_params().keys()


@pytest.mark.parametrize("ours", OBJECTS[:10], ids=range(10))
def test_clones_pickles_and_copies(ours):
    for copy in (clone(ours), pickle.loads(pickle.dumps(ours)), ours.copied()):
        assert type(copy) is type(ours)
        assert copy is not ours
        assert repr(copy) == repr(ours)


def test_parameters_without_a_default_and_inner_ones():
    for kind in (Ours, Theirs):
        outer = kind(kind(3, number=1))
        assert outer.get_params().keys() == {"inner", "number", "inner__inner", "inner__number"}
        assert outer.set_params(inner__number=5, number=2) is outer
        assert (outer.inner.number, outer.number, outer.inner.inner) == (5, 2, 3)
        assert outer.set_params(inner__number=7, inner=kind(0)).inner.number == 7
        assert outer.set_params() is outer
        # A class is a value, and not an object with parameters.
        assert kind(kind).get_params().keys() == {"inner", "number"}
    assert repr(Ours(Ours(3))) == "Ours(inner=Ours(inner=3))"
    assert repr(Theirs(Ours(3))) == "Theirs(inner=Ours(inner=3))"


def test_a_copy_shares_nothing():
    ours = Ours(COCOB(), number=[1])
    copy = ours.copied(inner__alpha=3.0)
    copy.number.append(2)
    assert (ours.inner.alpha, copy.inner.alpha, ours.number) == (100.0, 3.0, [1])


def test_an_unknown_parameter_is_refused_and_nothing_is_set():
    solver = FirstOrder(COCOB())
    with pytest.raises(ValueError, match="LacasseBound has no parameter 'gamma': it has constant"):
        LacasseBound().set_params(gamma=1)
    with pytest.raises(ValueError, match="COCOB has no parameter 'beta': it has alpha"):
        solver.set_params(n_iter=3, update__beta=1.0)
    with pytest.raises(ValueError, match="update is 'adam', which has no parameter 'beta1'"):
        solver.set_params(update="adam", update__beta1=0.5)
    assert repr(solver) == "FirstOrder(update=COCOB())"
    with pytest.raises(ValueError, match="has no parameter 'x': it has none"):
        Parametrised().set_params(x=1)


def test_inside_the_estimators_of_scikit_learn():
    X, y = make_classification(200, random_state=0)
    vote = MajorityVoteClassifier("trees", bound=LacasseBound(), n_voters=5, random_state=0)
    vote.set_params(bound__delta=0.2, bound__constant="maurer")
    assert vote.bound.get_params() == {"delta": 0.2, "constant": "maurer"}
    assert clone(vote).bound is not vote.bound
    assert "bound=LacasseBound(constant='maurer', delta=0.2)" in " ".join(repr(vote).split())
    search = GridSearchCV(vote, {"bound__delta": [0.01, 0.5]}, cv=2).fit(X, y)
    assert search.best_estimator_.certificate_.confidence in (0.5, 0.99)
    assert vote.bound.delta == 0.2
    with pytest.raises(ValueError, match="has no parameter 'typo'"):
        GridSearchCV(vote, {"bound__typo": [1]}, cv=2, error_score="raise").fit(X, y)


@pytest.mark.parametrize(("rows", "size"), [(1, 3), (2, 3), (6, 3), (7, 3), (7, 100)])
def test_batches_are_those_of_scikit_learn(rows, size):
    assert list(gen_batches(rows, size)) == list(scikit_learn_batches(rows, size))
