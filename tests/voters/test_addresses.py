"""Pickled voters name public addresses only, so that modules may move without breaking models."""

import inspect
import io
import pickle
import pickletools
import sys
from doctest import DocTestFinder
from types import ModuleType

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import certivote.voters
from certivote._utils.addresses import publish
from certivote.voters import BaggedTrees, PredictionTable, Stumps, as_tree_data, fit_voters

X, y = make_classification(60, 4, random_state=0)
PAIR = [("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]
SOURCES = {
    "bagged trees": BaggedTrees(3),
    "default": None,
    "trees": "trees",
    "stumps": "stumps",
    "table": PredictionTable(),
    "list": [GaussianNB(), DecisionTreeClassifier()],
    "forest": RandomForestClassifier(3),
    "extra trees": ExtraTreesClassifier(3),
    "bagging": BaggingClassifier(n_estimators=3),
    "adaboost": AdaBoostClassifier(n_estimators=3),
    "voting": VotingClassifier(PAIR),
    "stacking": StackingClassifier(PAIR, cv=2),
    "one classifier": GaussianNB(),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(3)),
    "stumps in a pipeline": make_pipeline(StandardScaler(), Stumps(2)),
    "search": GridSearchCV(RandomForestClassifier(3), {"max_depth": [1, 2]}, cv=2),
    "frozen": FrozenEstimator(BaggingClassifier(n_estimators=3).fit(X, y)),
    "frozen list": [FrozenEstimator(GaussianNB().fit(X, y))],
}


def named(pickled):
    """Return the (module, name) of all that a pickle of protocol 4 or 5 imports."""
    found, pushed, memo, last = set(), [], [], None
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "STACK_GLOBAL":
            found.add(tuple(pushed[-2:]))
        if opcode.name == "MEMOIZE":
            memo.append(last)
            continue
        last = None
        if "UNICODE" in opcode.name:
            last = argument
            pushed.append(last)
        elif opcode.name in ("BINGET", "LONG_BINGET"):
            pushed.append(memo[argument])
    return found


class Reader(pickle.Unpickler):
    """Reads a pickle, and notes what is imported."""

    def __init__(self, file):
        super().__init__(file)
        self.imported = set()

    def find_class(self, module, name):
        self.imported.add((module, name))
        return super().find_class(module, name)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_pickle_of_voters_names_public_addresses(source):
    voters = fit_voters(source, X, y, 5, np.random.RandomState(0))
    for protocol in (4, pickle.HIGHEST_PROTOCOL):
        pickled = pickle.dumps(voters, protocol)
        reader = Reader(io.BytesIO(pickled))
        assert len(reader.load()) == len(voters)
        assert named(pickled) == reader.imported  # else the walk would prove nothing
        ours = {(module, name) for module, name in named(pickled) if "certivote" in module}
        assert ("certivote.voters", "Voters") in ours
        for module, name in ours:
            assert module == "certivote.voters"
            assert name in certivote.voters.__all__


def test_what_is_public_says_where_it_is():
    for name in certivote.voters.__all__:
        value = getattr(certivote.voters, name)
        assert value.__module__ == "certivote.voters"
        assert value.__qualname__ == name


def test_the_source_of_functions_and_methods_is_found():
    assert inspect.getsource(as_tree_data).startswith("def as_tree_data")
    assert "def fit(" in inspect.getsource(Stumps.fit)


def test_examples_are_found_at_the_public_address():
    found = {test.name for test in DocTestFinder().find(certivote.voters) if test.examples}
    names = ("PredictionTable", "Stump", "Stumps", "fit_voters", "frozen_parts", "is_frozen")
    assert found >= {f"certivote.voters.{name}" for name in names}


def test_only_what_a_package_defines_is_moved(monkeypatch):
    """Its methods go with a class; a function, a class or a value from elsewhere stays."""

    class Own:
        """What the package defines."""

        def method(self):
            """Do nothing."""

        @classmethod
        def make(cls):
            """Do nothing."""

        borrowed = pickle.dumps

    package = ModuleType("house")
    package.__all__ = ["Own", "Stumps", "TABLE"]
    package.Own, package.Stumps, package.TABLE = Own, Stumps, {}
    for part in (Own, Own.method, Own.make.__func__):
        part.__module__ = "house.room"
    monkeypatch.setitem(sys.modules, "house", package)
    publish("house")
    assert Own.__module__ == Own.method.__module__ == Own.make.__module__ == "house"
    assert Own.borrowed.__module__ == "_pickle"
    assert Stumps.__module__ == "certivote.voters"
