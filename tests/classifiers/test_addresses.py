"""Pickled votes name public addresses only, and the version that wrote them."""

import importlib
import io
import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from typer.testing import CliRunner

import certivote
from certivote import (
    CBBoostClassifier,
    CqBoostClassifier,
    MajorityVoteClassifier,
    MinCqClassifier,
    __version__,
)
from certivote.bounds import get_bound, list_bounds
from certivote.classifiers import rebuild_vote
from certivote.cli.app import app
from certivote.solvers import LBFGS
from certivote.voters import PredictionTable, Stumps

# What users import: packages and modules at the root, whose names are there to stay.
PUBLIC = {
    f"certivote.{name}"
    for name in (
        *("bounds", "certificate", "classifiers", "datasets", "distributed", "learners"),
        *("parquet", "planning", "plotting", "report", "solvers", "statistics", "voters", "voting"),
    )
}
# A model that certivote 0.1.0 wrote, before votes said which version they are of.
OLD_MODEL = Path(__file__).parents[1] / "cli" / "version_0.1.0.joblib"


class Reader(pickle.Unpickler):
    """Reads a pickle, and notes what is imported from this library."""

    def __init__(self, file):
        super().__init__(file)
        self.imported = set()

    def find_class(self, module, name):
        if module.partition(".")[0] == "certivote":
            self.imported.add((module, name))
        return super().find_class(module, name)


def check_addresses(vote):
    """Assert that a pickle of a vote names public addresses only; return what was unpickled."""
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        reader = Reader(io.BytesIO(pickle.dumps(vote, protocol)))
        again = reader.load()
        assert ("certivote.classifiers", "rebuild_vote") in reader.imported
        assert ("certivote.certificate", "Certificate") in reader.imported
        for module, name in reader.imported:
            assert module in PUBLIC, f"{module}.{name}"
            assert name in importlib.import_module(module).__all__, f"{module}.{name}"
        assert again.certificate_ == vote.certificate_
        assert np.array_equal(again.weights_, vote.weights_)
        assert again.statistics_.sha256 == vote.statistics_.sha256
        assert not again.weights_.flags.writeable


@pytest.mark.parametrize("name", list_bounds())
def test_a_vote_of_any_bound(name, data, small):
    X, y, X_new, _ = data
    vote = small(MajorityVoteClassifier, bound=name).fit(X, y)
    check_addresses(vote)
    again = pickle.loads(pickle.dumps(vote))
    assert np.array_equal(again.predict(X_new), vote.predict(X_new))


def test_a_vote_of_objects(data, small):
    X, y, *_ = data
    bound, solver = get_bound("heldout", fixed_votes=np.eye(10)), LBFGS(n_single=1)
    check_addresses(small(MajorityVoteClassifier, bound=bound, solver=solver).fit(X, y))


@pytest.mark.parametrize("kind", [CBBoostClassifier, MinCqClassifier, CqBoostClassifier])
def test_a_vote_of_any_learner(kind, data, small):
    X, y, *_ = data
    check_addresses(small(kind).fit(X, y))


def test_a_vote_with_a_learned_prior_and_many_looks(data, small):
    X, y, X_new, y_new = data
    vote = small(MajorityVoteClassifier, prior="learned", anytime=True).fit(X, y)
    check_addresses(vote.partial_fit(X_new, y_new))


@pytest.mark.parametrize("voters", ["trees", "stumps", Stumps(2), RandomForestClassifier(3)])
def test_a_vote_of_any_voters(voters, data, small):
    X, y, *_ = data
    check_addresses(small(MajorityVoteClassifier, voters=voters).fit(X, y))


def test_a_vote_of_frozen_voters(data, small, frozen_trees):
    X, y, X_new, y_new = data
    forest = FrozenEstimator(RandomForestClassifier(3, random_state=0).fit(X, y))
    for voters in (frozen_trees(X, y, n=3), forest):
        check_addresses(small(MajorityVoteClassifier, voters=voters).fit(X_new, y_new))


def test_a_vote_of_a_table(data, small):
    _, y, *_ = data
    table = np.where(np.random.default_rng(0).random((len(y), 4)) < 0.2, 1 - y[:, None], y[:, None])
    check_addresses(small(MajorityVoteClassifier, voters=PredictionTable()).fit(table, y))


def test_there_are_such_addresses():
    """Else the tests above would prove nothing."""
    for module in PUBLIC:
        names = importlib.import_module(module).__all__
        assert names
        assert not any(name.startswith("_") for name in names)
    assert set(certivote.__all__) - {"__version__"} <= {
        name for module in PUBLIC for name in importlib.import_module(module).__all__
    } | {"format_up"}


# --- versions ---


def saved_by(version, vote):
    """The pickle of a vote as another version would have written it."""
    pickled = pickle.dumps(vote, 0)
    assert pickled.count(f"V{__version__}\n".encode()) >= 1
    return pickled.replace(f"V{__version__}\n".encode(), f"V{version}\n".encode())


@pytest.mark.parametrize("version", ["0.3.0", "0.10.0.dev0", "1.0", "12.1.3"])
def test_a_vote_of_a_later_version_is_refused(version, data, small):
    X, y, *_ = data
    pickled = saved_by(version, small(MajorityVoteClassifier).fit(X, y))
    said = f"saved by certivote {version}, which is later than this one, {__version__}: load it"
    with pytest.raises(ValueError, match=said.replace(".", r"\.")):
        pickle.loads(pickled)


@pytest.mark.parametrize("version", [__version__, "0.2.0", "0.2.7", "0.1.9"])
def test_a_vote_of_this_or_an_earlier_version_is_read(version, data, small):
    X, y, X_new, _ = data
    vote = small(MajorityVoteClassifier).fit(X, y)
    again = pickle.loads(saved_by(version, vote))
    assert np.array_equal(again.predict(X_new), vote.predict(X_new))
    again.verify(X, y)


def test_a_vote_that_is_not_fitted_is_copied_by_pickle():
    vote = MajorityVoteClassifier("trees", bound="tandem", n_voters=7)
    again = pickle.loads(pickle.dumps(vote))
    assert again.get_params() == vote.get_params()
    assert vars(rebuild_vote(CBBoostClassifier, __version__)) == {}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, and a certificate of another model."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    rows = [f"{a:.4f},{b:.4f},{int(a > 0)}" for a, b in X]
    (folder / "data.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    votes = np.tile(X[:, :1] > 0, 3)
    certivote.certify(votes, X[:, 0] > 0).to_json(folder / "certificate.json")
    return folder


COMMANDS = {
    "predict": ["predict", "{model}", "{folder}/data.csv"],
    "verify": [
        *("verify", "{folder}/certificate.json", "--model", "{model}"),
        *("--data", "{folder}/data.csv"),
    ],
    "certify": ["certify", "{folder}/data.csv", "--model", "{model}", "--out", "{folder}/new"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_command_line_says_which_version_wrote_a_model(command, files):
    arguments = [part.format(model=OLD_MODEL, folder=files) for part in command]
    done = CliRunner().invoke(app, arguments)
    said = " ".join(done.output.split())
    assert done.exit_code == 2
    assert f"was written by certivote 0.1.0, and this is {__version__}" in said
    assert "run certify again with this version, or install certivote==0.1.0" in said
    assert "Traceback" not in said


def test_the_old_model_is_one_that_cannot_be_loaded():
    """Else the test of the command line would prove nothing."""
    with pytest.raises((ImportError, AttributeError)):
        joblib.load(OLD_MODEL)
