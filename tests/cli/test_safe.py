"""A .skops model: it gives the same vote as the .joblib, and nothing that it names is run."""

import ast
import inspect
import io
import json
import sys
import textwrap
import warnings
from functools import cache
from zipfile import ZipFile

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
import skops
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from certivote import (
    CBBoostClassifier,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
    solvers,
)
from certivote._utils.files import file_sha256
from certivote.bounds import get_bound, list_bounds
from certivote.claims import CostFamily, ShiftFamily
from certivote.cli import safe
from certivote.cli.models import make_voters
from certivote.cli.safe import dump_safe, load_safe
from certivote.solvers import (
    COCOB,
    LBFGS,
    Adam,
    FirstOrder,
    GradientDescent,
    get_solver,
    list_solvers,
)
from certivote.voters import Mixed, PredictionTable
from options import trees

rng = np.random.default_rng(0)
LABELS = np.array(["no", "yes"])
y = LABELS[rng.integers(2, size=200)]
X = rng.normal(0, 1, (200, 4)) + (y == "yes")[:, None]
TABLE = np.where(rng.random((200, 3)) < 0.2, "no", y[:, None])
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 1, "here", "there"))


def few(voters="trees", **settings):
    return MajorityVoteClassifier(voters, n_voters=3, random_state=0, **settings)


def frozen(model):
    old = rng.integers(2, size=100)
    seen = rng.normal(0, 1, (100, 4)) + old[:, None]
    return MajorityVoteClassifier(voters=FrozenEstimator(model.fit(seen, LABELS[old])))


PAIR = [("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=float)),
    (OneHotEncoder(handle_unknown="ignore"), ["city"]),
    remainder="drop",
)
KINDS = ("trees", "mixed", "forest", "extra-trees", "stumps")
# Columns that claims are about, and one of each kind.
BY = {"side": np.where(X[:, 0] > 0, "left", "right"), "before": np.roll(y, 1)}
CLAIMS = [
    *("recall", "precision", "f1", "error by side", "difference to before"),
    CostFamily(classes=[str(label) for label in np.unique(y)], costs=[[0, 1], [2, 0]]),
    ShiftFamily(distance="tv", radius=0.1),
]
VOTES = {
    **{
        kind: MajorityVoteClassifier(
            make_voters(kind, None if kind == "stumps" else 3, None), random_state=0
        )
        for kind in KINDS
    },
    **{f"bound {name}": few(bound=get_bound(name, delta=0.1)) for name in list_bounds()},
    "prior": few(prior="learned"),
    "sparse": few(voters=Mixed(["forest", "boosting", "bayes"], n_voters=3)),
    "out of bag": few(certification="oob", bound="lacasse"),
    "claims": few(bound="heldout", claims=CLAIMS, abstain=0.3),
    **{f"solver {name}": few(solver=get_solver(name), bound="tandem") for name in list_solvers()},
    **{
        f"update {update}": few(solver=FirstOrder(update, n_iter=9, tolerance=0.9), bound="tandem")
        for update in (COCOB(), Adam(), GradientDescent())
    },
    "cbboost": CBBoostClassifier(random_state=0),
    "mincq": MinCqClassifier(random_state=0),
    "cqboost": CqBoostClassifier(random_state=0),
    "table": MajorityVoteClassifier(voters=PredictionTable()),
    "of a forest": frozen(RandomForestClassifier(3, random_state=0)),
    "of boosting": frozen(AdaBoostClassifier(n_estimators=3, random_state=0)),
    "of bagging": frozen(BaggingClassifier(n_estimators=3, random_state=0)),
    "of a pair": frozen(VotingClassifier(PAIR)),
    "of a stack": frozen(StackingClassifier(PAIR)),
    "of a search": frozen(GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]})),
}
MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(3, random_state=0),
    "extra trees": ExtraTreesClassifier(3, random_state=0),
    "boosting": AdaBoostClassifier(n_estimators=3, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=3),
    "bagging": BaggingClassifier(n_estimators=3, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression()),
    "logarithm": make_pipeline(FunctionTransformer(np.square), GaussianNB()),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring="f1_macro"),
    "machine": SVC(),
    "another machine": NuSVC(kernel="poly", nu=0.3),
    "hard": VotingClassifier(PAIR),
    "soft": VotingClassifier(PAIR, voting="soft"),
    "stack": StackingClassifier(PAIR),
    "threshold": TunedThresholdClassifierCV(LogisticRegression()),
    "calibrated": CalibratedClassifierCV(GaussianNB()),
    "network": MLPClassifier(early_stopping=True, random_state=0),
    "frozen": FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(X, y)),
}


@cache
def fitted(name):
    """A vote and what it was fitted on."""
    data = TABLE if name == "table" else FRAME if name in KINDS else X
    if name == "sparse":
        data = sparse.csr_array(X)
    with warnings.catch_warnings():
        # A vote of members is not the classifier that they were taken from.
        warnings.filterwarnings("ignore", "The vote of its members answers otherwise")
        return clone(VOTES[name]).fit(data, y, **columns(name)), data


def columns(name):
    """What else is needed to fit a vote, and to verify it."""
    return {"by": BY} if name == "claims" else {}


def written(model, tmp_path, data=X):
    path = tmp_path / "model.skops"
    dump_safe(model, path, data)
    return load_safe(path)


# --- what is loaded ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VOTES)
def test_a_vote_comes_back_with_its_certificate(name, tmp_path):
    vote, data = fitted(name)
    again = written(vote, tmp_path, data)
    np.testing.assert_array_equal(again.predict_proba(data), vote.predict_proba(data))
    assert again.certificate_ == vote.certificate_
    again.verify(data, y, **columns(name))
    assert not again.weights_.flags.writeable


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_scikit_learn_comes_back(name, tmp_path):
    # A network of scikit-learn 1.6 cannot stop early where labels are texts.
    numbered = name == "network" and sklearn.__version__.startswith("1.6.")
    labels = np.unique(y, return_inverse=True)[1] if numbered else y
    model = MODELS[name] if name == "frozen" else clone(MODELS[name]).fit(X, labels)
    np.testing.assert_array_equal(written(model, tmp_path).predict(X), model.predict(X))


def test_three_classes_come_back(tmp_path):
    labels = np.digitize(X[:, 0], [0.0, 1.0])
    for model in (SVC(), DecisionTreeClassifier(), MajorityVoteClassifier("trees", n_voters=3)):
        model.fit(X, labels)
        np.testing.assert_array_equal(written(model, tmp_path).predict(X), model.predict(X))


def test_columns_come_back(loans, tmp_path):
    frame = loans[["income", "city"]].assign(city=loans["city"].fillna("none").astype(object))
    model = make_pipeline(COLUMNS, SVC()).fit(frame, loans["repaid"])
    again = written(model, tmp_path, frame)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_the_list_is_what_votes_are_made_of_and_no_more():
    """Whatever is on it can be called by a file: what no vote needs is not on it."""
    found = set()
    for name in VOTES:
        vote, _ = fitted(name)
        found.update(skops.io.get_untrusted_types(data=skops.io.dumps(vote)))
    listed = {name for name in safe._trusted() if name.startswith("certivote.")}
    assert listed == {name for name in found if name.startswith("certivote.")}
    assert found <= set(safe._trusted())


class Newest(LBFGS):
    """A solver that was added, to the library or by somebody."""


def test_a_new_solver_of_the_library_comes_back_and_one_of_somebody_is_refused(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(solvers._SOLVERS, "newest", Newest)
    vote = few(solver="newest", bound="tandem").fit(X, y).set_params(solver=Newest(n_single=1))
    with pytest.raises(ValueError, match=r"it names .*Newest, which may not be harmless"):
        written(vote, tmp_path)
    monkeypatch.setattr(Newest, "__module__", "certivote.solvers")
    monkeypatch.setattr(solvers, "Newest", Newest, raising=False)
    again = written(vote, tmp_path)
    assert type(again.solver) is Newest
    assert again.solver.get_params() == Newest(n_single=1).get_params()
    assert again.certificate_ == vote.certificate_


@pytest.mark.parametrize("name", list_solvers())
def test_a_file_that_makes_a_solver_makes_nothing_else(name):
    """They are on the list without a second look: so all that they do when made is to keep."""
    kind = type(get_solver(name))
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(kind.__init__))).body
    settings = [argument.arg for argument in made.args.args[1:]]
    assert sorted(map(ast.unparse, made.body)) == sorted(f"self.{s} = {s}" for s in settings)
    hooks = {"__new__", "__init_subclass__", "__call__", "__getattr__", "__setattr__", "__del__"}
    hooks |= {"__setstate__", "__reduce__", "__reduce_ex__"}
    assert not hooks & set(vars(kind))


# --- what is refused -----------------------------------------------------------------------------


class Trap:
    """What makes a folder when it gets its state."""

    def __init__(self, path):
        self.path = str(path)

    def __setstate__(self, state):
        import os

        os.mkdir(state["path"])


def node(address, loader, **content):
    module, _, name = address.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **content}


def text(value):
    return node("builtins.str", "JsonNode", content=json.dumps(value))


def several(*values, kind="Tuple"):
    return node(f"builtins.{kind.lower()}", f"{kind}Node", content=[*values])


def called(address, *arguments):
    return node(address, "ConstructorFromReduceNode", content=several(*map(text, arguments)))


def keyed(address, key):
    """A dictionary whose key is made by calling something."""
    kinds = several(node(address, "TypeNode"), kind="List")
    return node("builtins.dict", "DictNode", key_types=kinds, content={key: text(1)})


def operated(address, *arguments):
    return node(address, "OperatorFuncNode", attrs=several(*map(text, arguments)))


def applied(function, *arguments):
    nothing = node(
        "builtins.dict", "DictNode", key_types=several(kind="List"), content={}
    )  # no settings
    parts = {"func": function, "args": several(*map(text, arguments))}
    return node(
        "functools.partial",
        "PartialNode",
        content=parts | dict.fromkeys(("kwds", "namespace"), nothing),
    )


def hostile(extra, protocol=None):
    """A fitted model with one more attribute, as a file."""
    source = ZipFile(io.BytesIO(skops.io.dumps(GaussianNB().fit(X, y))))
    schema = json.loads(source.read("schema.json"))
    state = schema["content"]
    state["content"]["extra"] = extra
    state["key_types"]["content"].append(node("builtins.str", "TypeNode"))
    schema["protocol"] = schema["protocol"] if protocol is None else protocol
    return archive(source, schema)


def archive(source, schema):
    target = io.BytesIO()
    with ZipFile(target, "w") as file:
        for name in source.namelist():
            content = json.dumps(schema) if name == "schema.json" else source.read(name)
            file.writestr(name, content)
    return target.getvalue()


def springing(path):
    """Files that make a folder when they are loaded, by what they name."""
    trap = json.loads(ZipFile(io.BytesIO(skops.io.dumps(Trap(path)))).read("schema.json"))
    return {
        "os.mkdir": hostile(called("os.mkdir", path)),
        "builtins.eval": hostile(called("builtins.eval", f"__import__('os').mkdir({path!r})")),
        "os.makedirs": hostile(keyed("os.makedirs", path)),
        f"{Trap.__module__}.Trap": hostile(trap),
        "certivote._utils.files.write_whole": hostile(
            called("certivote._utils.files.write_whole", path, "here")
        ),
    }


@pytest.mark.parametrize("name", springing("nowhere"))
def test_what_a_file_names_is_not_run(name, tmp_path):
    sprung, path = tmp_path / "sprung", tmp_path / "m.skops"
    data = springing(str(sprung))[name]
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"was not loaded: it names {name.replace('.', '[.]')}, "):
        load_safe(path)
    assert not sprung.exists()
    skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert sprung.exists()  # the trap works


LURKING = {
    "subprocess.getoutput": node("subprocess.getoutput", "FunctionNode"),
    "os.system": node("os.system", "FunctionNode"),
    "operator.methodcaller": operated("operator.methodcaller", "mkdir"),
    "operator.attrgetter": operated("operator.attrgetter", "__globals__"),
    "functools.partial": applied(node("certivote.voters.as_tree_data", "FunctionNode"), "a"),
    "certivote.statistics.VoteStatistics.save": node(
        "certivote.statistics.VoteStatistics",
        "MethodNode",
        content={
            "func": "save",
            "obj": node("certivote.statistics.VoteStatistics", "ObjectNode"),
        },
    ),
    "certivote.classifiers.rebuild_vote": node("certivote.classifiers.rebuild_vote", "TypeNode"),
    "certivote.parquet.ParquetLosses": called("certivote.parquet.ParquetLosses", "a.parquet"),
    "certivote.voters.Unheard": node("certivote.voters.Unheard", "ObjectNode"),
    "certivote.voters.base.Voters": node("certivote.voters.base.Voters", "ObjectNode"),
    "certivote_of_another.Voters": node("certivote_of_another.Voters", "ObjectNode"),
    "joblib.memory.Memory": node("joblib.memory.Memory", "ObjectNode"),
    "numpy.load": node("numpy.load", "FunctionNode"),
}


@pytest.mark.parametrize("name", LURKING)
def test_what_could_be_called_later_is_refused(name, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(hostile(LURKING[name]))
    with pytest.raises(ValueError, match=f"it names {name.replace('.', '[.]')}, which may not"):
        load_safe(path)


def test_not_all_of_many_names_are_said(tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(hostile(several(*(node(f"a.f{i}", "FunctionNode") for i in range(10, 30)))))
    with pytest.raises(ValueError, match=r"it names a\.f10, .*, a\.f17, and 12 more, which"):
        load_safe(path)


def test_an_older_protocol_is_no_way_round(tmp_path):
    old = node("numpy.log", "FunctionNode", content={"module_path": "os", "function": "system"})
    path = tmp_path / "m.skops"
    path.write_bytes(hostile(old, protocol=0))
    with pytest.raises(ValueError, match=r"it names os\.system, "):
        load_safe(path)


def test_a_preparation_must_be_one_of_ours(tmp_path):
    """A vote of trees calls its preparation: it is exchanged for another function in the file."""
    dump_safe(fitted("trees")[0], tmp_path / "m.skops", FRAME)
    source = ZipFile(tmp_path / "m.skops")
    schema = source.read("schema.json").decode()
    own = '"__class__": "as_tree_data", "__module__": "certivote.voters"'
    assert own in schema
    changed = schema.replace(own, '"__class__": "system", "__module__": "posix"')
    (tmp_path / "m.skops").write_bytes(archive(source, json.loads(changed)))
    with pytest.raises(ValueError, match=r"it names posix\.system, "):
        load_safe(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 and no more",
        joblib.__file__.encode(),
        hostile({}),
        hostile({"__loader__": "Unheard", "__class__": "a", "__module__": "b"}),
        hostile(text(1), protocol=99),
        hostile(node("builtins.list", "ListNode", content=7)),
    ],
)
def test_what_is_no_model_is_said_in_a_sentence(data, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="was not loaded: it is not a model that skops can load"):
        load_safe(path)


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "m.skops"
    dump_safe(fitted("forest")[0], path, FRAME)
    whole, draw = path.read_bytes(), np.random.default_rng(1)
    refused = 0
    for _ in range(20):
        data = bytearray(whole)
        data[draw.integers(len(data))] ^= 1 << int(draw.integers(8))
        path.write_bytes(data)
        try:
            again = load_safe(path)
        except ValueError:
            refused += 1
        else:  # a bit that nothing reads, such as one of a date
            np.testing.assert_array_equal(again.predict(FRAME), fitted("forest")[0].predict(FRAME))
    assert refused > 10


# --- numbers that compiled code would take as they are -------------------------------------------


def tree_with(n_features=None, **changes):
    """A fitted tree of which some numbers of the root, or of its size, are others."""
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    kind, (features, *rest), state = model.tree_.__reduce__()
    model.tree_ = kind(features if n_features is None else n_features, *rest)
    nodes = state["nodes"].copy()
    for name, value in changes.items():
        nodes[name][0] = value
    model.tree_.__setstate__({**state, "nodes": nodes})
    return model


def bare_tree():
    model = DecisionTreeClassifier().fit(X, y)
    model.classes_ = [model.tree_]
    return model


def hidden_tree():
    model = LogisticRegression().fit(X, y)
    cells = np.array([DecisionTreeClassifier().fit(X, y).tree_, None], dtype=object)
    model.more = np.ma.MaskedArray(cells, [True, True])
    return model


def empty_tree():
    model = DecisionTreeClassifier().fit(X, y)
    model.tree_ = Tree(4, np.array([2], dtype=np.intp), 1)
    return model


def shorter_tree():
    model = tree_with()
    state = model.tree_.__getstate__()
    model.tree_.__setstate__({**state, "node_count": 1})
    return model


def shallow_tree():
    model = tree_with()
    model.tree_.__setstate__({**model.tree_.__getstate__(), "max_depth": model.get_depth() - 1})
    return model


def narrow_tree():
    model = DecisionTreeClassifier().fit(X, y)
    model.n_features_in_ = 2
    return model


def forgetful_tree():
    model = DecisionTreeClassifier().fit(X, y)
    del model.n_features_in_
    return model


def boosting_with(**changes):
    """Boosting of which some numbers of the first root are others."""
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    for name, value in changes.items():
        model._predictors[0][0].nodes[name][0] = value
    return model


def boosting_of_categories():
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    model.is_categorical_ = np.array([False, False, False, True])
    return model


def bare_boosting():
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    model.classes_ = [model._predictors[0][0]]
    return model


def empty_boosting():
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    tree = model._predictors[0][0]
    tree.nodes = tree.nodes[:0]
    return model


OUT_OF_BOUNDS = {
    "boosting left": lambda: boosting_with(left=10**6),
    "boosting loop": lambda: boosting_with(right=0),
    "boosting feature": lambda: boosting_with(feature_idx=4),
    "boosting negative feature": lambda: boosting_with(feature_idx=-1),
    "boosting by a category": lambda: boosting_with(is_categorical=1),
    "boosting of categories": boosting_of_categories,
    "boosting bare": bare_boosting,
    "boosting without nodes": empty_boosting,
    "left": lambda: tree_with(left_child=10**9),
    "negative": lambda: tree_with(right_child=-7),
    "loop": lambda: tree_with(left_child=0),
    "shared": lambda: tree_with(left_child=2),
    "feature": lambda: tree_with(feature=4),
    "negative feature": lambda: tree_with(feature=-2),
    "features": lambda: tree_with(n_features=9),
    "bare": bare_tree,
    "hidden": hidden_tree,
    "empty": empty_tree,
    "shorter": shorter_tree,
    "shallow": shallow_tree,
    "narrow": narrow_tree,
    "forgetful": forgetful_tree,
}


@pytest.mark.parametrize("name", OUT_OF_BOUNDS)
@pytest.mark.parametrize("inside", ["alone", "pipeline", "bagging"])
def test_trees_that_would_be_read_beyond_their_end_are_refused(name, inside, tmp_path):
    model = OUT_OF_BOUNDS[name]()
    if inside == "pipeline":
        model = make_pipeline(StandardScaler().fit(X), FrozenEstimator(model))
    elif inside == "bagging":
        outer = BaggingClassifier(n_estimators=2).fit(X, y)
        outer.estimators_[1] = model
        model = outer
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="nodes"):
        load_safe(tmp_path / "m.skops")


def test_the_same_tree_unchanged_is_loaded(tmp_path):
    skops.io.dump(tree_with(), tmp_path / "m.skops")
    again = load_safe(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(X), y)  # it has learned them by heart


@pytest.mark.parametrize(
    "change",
    [
        lambda machine: {"support_vectors_": machine.support_vectors_[:-1]},
        lambda machine: {"support_vectors_": machine.support_vectors_[:, :-1]},
        lambda machine: {"support_": machine.support_[:-1]},
        lambda machine: {"_dual_coef_": machine._dual_coef_[:, :-1]},
        lambda machine: {"_intercept_": machine._intercept_[:0]},
        lambda machine: {"_n_support": machine._n_support + np.int32([1, -1000])},
        lambda machine: {"classes_": np.array(["a", "b", "c"])},
        lambda machine: {"_probA": None},
        lambda machine: {"kernel": "precomputed"},
        lambda machine: {"_impl": "one_class"},
        lambda machine: {"_sparse": True},
    ],
)
def test_support_vectors_that_do_not_fit_together_are_refused(change, tmp_path):
    machine = SVC().fit(X, y)
    vars(machine).update(change(machine))
    skops.io.dump(machine, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="support vectors"):
        load_safe(tmp_path / "m.skops")


def test_gradient_boosting_is_not_written(tmp_path):
    model = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="GradientBoostingClassifier, whose numbers cannot be"):
        dump_safe(model, tmp_path / "m.skops", X)
    assert not list(tmp_path.iterdir())


# --- what is written -----------------------------------------------------------------------------


class Forgetful(GaussianNB):
    """A classifier that is saved without what it predicts."""

    answer = "no"

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "answer"}

    def predict(self, X):
        return np.full(len(X), self.answer)


@pytest.mark.parametrize("answer", ["no", "yes"])
def test_what_predicts_otherwise_is_not_written(answer, monkeypatch, tmp_path):
    model = Forgetful().fit(X, y)
    model.answer = answer
    trusted = [*safe._trusted(), f"{Forgetful.__module__}.Forgetful"]
    monkeypatch.setattr(safe, "_trusted", lambda: trusted)
    if answer == "no":
        dump_safe(model, tmp_path / "m.skops", X)
    else:
        with pytest.raises(ValueError, match="predicts other labels"):
            dump_safe(model, tmp_path / "m.skops", X)
    assert (tmp_path / "m.skops").exists() == (answer == "no")


def test_what_skops_cannot_write_is_said(tmp_path):
    model = GaussianNB().fit(X, y)
    model.more = (number for number in range(3))
    with pytest.raises(ValueError, match="skops cannot write this model: "):
        dump_safe(model, tmp_path / "m.skops", X)


def test_old_and_missing_libraries_are_said(monkeypatch, tmp_path):
    monkeypatch.setattr(skops, "__version__", "0.13.0")
    with pytest.raises(ValueError, match=r"skops 0\.13\.0 is too old to be safe"):
        load_safe(tmp_path / "m.skops")
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(ValueError, match=r"needs skops: pip install 'certivote\[safe\]'"):
        load_safe(tmp_path / "m.skops")


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified_safely(run, loans, tmp_path_factory):
    """One run of ``certivote certify``. Look, do not touch."""
    folder = tmp_path_factory.mktemp("safe")
    loans.to_csv(folder / "loans.csv", index=False)
    arguments = ("certify", "loans.csv", "--drop", "id", *trees(10), "--quiet")
    at = {"SOURCE_DATE_EPOCH": "1700000000"}
    run(*arguments, cwd=folder, PYTHONHASHSEED="1", **at)
    run(*arguments, "--out", "again", cwd=folder, PYTHONHASHSEED="2", **at)
    return folder


def test_the_same_run_writes_the_same_file(certified_safely):
    first, second = (
        {path.name: file_sha256(path) for path in (certified_safely / name).iterdir()}
        for name in ("loans-certificate", "again")
    )
    assert first == second
    stated = json.loads((certified_safely / "again" / "certificate.json").read_bytes())["files"]
    assert stated["model.skops"] == first["model.skops"]


def test_a_third_party_verifies_and_predicts(certified_safely, invoke):
    results = certified_safely / "loans-certificate"
    done = invoke(
        *("verify", results / "certificate.json", "--data", "loans.csv"),
        *("--model", results / "model.skops"),
        cwd=certified_safely,
    )
    assert "The certificate holds up" in done.stdout
    assert "runs code" not in done.stderr
    labels = {
        name: invoke("predict", results / name, "loans.csv", cwd=certified_safely).stdout
        for name in ("model.skops", "model.joblib")
    }
    assert labels["model.skops"] == labels["model.joblib"]


def test_another_safe_model_does_not_belong(certified_safely, invoke, tmp_path):
    for name in ("certificate.json", "report.html"):
        source = certified_safely / "again" / name
        (tmp_path / name).write_bytes(source.read_bytes())
    skops.io.dump(GaussianNB().fit(X, y), tmp_path / "model.skops")
    loans = certified_safely / "loans.csv"
    for arguments in ((), ("--model", "model.skops", "--data", loans)):
        done = invoke("verify", "certificate.json", *arguments, cwd=tmp_path, status=1)
        assert "model.skops is not the file that was written with" in done.stderr
    done = invoke("predict", "model.skops", loans, cwd=tmp_path, status=2)
    assert "model.skops is not the file that was written with" in done.stderr


def test_a_run_without_skops_leaves_no_older_one(numbers, invoke, tmp_path, monkeypatch):
    numbers.to_csv(tmp_path / "n.csv", index=False)
    arguments = ("certify", "n.csv", *trees(2), "--out", "o", "--json")
    first = json.loads(invoke(*arguments, cwd=tmp_path).stdout)
    monkeypatch.setattr("certivote.cli.certify.find_spec", lambda name: None)
    second = json.loads(invoke(*arguments, cwd=tmp_path).stdout)
    assert [*first["certificate"]["files"]] == ["model.joblib", "model.skops", "report.html"]
    assert [*second["certificate"]["files"]] == ["model.joblib", "report.html"]
    assert len(first["files"]) == 4
    assert {path.name for path in (tmp_path / "o").iterdir()} == {
        "model.joblib",
        "report.html",
        "certificate.json",
    }


def test_a_safe_model_is_certified(numbers, invoke, tmp_path):
    numbers.iloc[:200].to_csv(tmp_path / "old.csv", index=False)
    numbers.iloc[200:].to_csv(tmp_path / "new.csv", index=False)
    invoke("certify", "old.csv", *trees(3), "--out", "o", "-q", cwd=tmp_path)
    done = invoke("certify", "new.csv", "--model", "o/model.skops", "--out", "p", cwd=tmp_path)
    assert "runs code" not in done.stderr
    assert file_sha256(tmp_path / "p/model.skops") == file_sha256(tmp_path / "o/model.skops")
    frame = numbers.drop(columns="label")
    np.testing.assert_array_equal(
        joblib.load(tmp_path / "p/model.joblib").predict(frame),
        joblib.load(tmp_path / "o/model.joblib").predict(frame),
    )
    for name in ("model.skops", "model.joblib"):
        invoke(
            *("verify", "p/certificate.json", "--model", f"p/{name}", "--data", "new.csv"),
            cwd=tmp_path,
        )


def test_a_model_that_cannot_be_written_safely_is_certified_all_the_same(numbers, invoke, tmp_path):
    numbers.iloc[200:].to_csv(tmp_path / "new.csv", index=False)
    frame = numbers.iloc[:200]
    model = GradientBoostingClassifier(n_estimators=2, random_state=0)
    joblib.dump(model.fit(frame.drop(columns="label"), frame["label"]), tmp_path / "m.joblib")
    done = invoke("certify", "new.csv", "--model", "m.joblib", "--out", "o", cwd=tmp_path)
    assert "note: there is no model.skops: it holds a GradientBoostingClassifier" in done.stderr
    assert (tmp_path / "o" / "certificate.json").exists()
    assert not (tmp_path / "o" / "model.skops").exists()


def test_a_hostile_file_is_refused_by_every_command(certified, invoke, tmp_path):
    sprung = tmp_path / "sprung"
    (tmp_path / "m.skops").write_bytes(springing(str(sprung))["os.mkdir"])
    # A certificate with digests would tell that the file is another one.
    alone = certified.certificate | {"files": {}}
    (tmp_path / "certificate.json").write_text(json.dumps(alone))
    for arguments in (
        ("verify", "certificate.json", "--model", "m.skops", "--data", certified.data),
        ("predict", "m.skops", certified.data),
        ("certify", certified.data, "--model", "m.skops"),
    ):
        done = invoke(*arguments, cwd=tmp_path, status=2)
        assert "error: m.skops was not loaded: it names os.mkdir, " in done.stderr
        assert ".joblib" in done.stderr
    assert not sprung.exists()
