"""Voters without an opinion: they have no say, and are not right.

The plurality is counted here by hand, with whole numbers for weights: whatever the marker, what is
counted is what is predicted, and where the vote errs half of the weight is against it.
"""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.base import clone

from certivote import (
    CBBoostClassifier,
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    verify_model,
)
from certivote.bounds import HeldoutBound, get_bound
from certivote.claims import CostFamily
from certivote.voters import PredictionTable

# scikit-learn thinks of regression where labels are many.
pytestmark = pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%")

MARKER = "?"


def plurality(row, weights, marker):
    """The label with the largest sum of weights, the first one on a tie; the marker if none."""
    sums = {}
    for label, weight in zip(row, weights, strict=True):
        if label != marker and weight > 0:
            sums[label] = sums.get(label, 0) + int(weight)
    return min(sorted(sums), key=lambda label: -sums[label]) if sums else marker


def by_hand(table, weights, marker=MARKER):
    return np.array([plurality(row, weights, marker) for row in table.tolist()])


@st.composite
def panels(draw, most_labels=4):
    """A table of texts with gaps, true labels, and whole weights, some of them 0."""
    m, n = draw(st.integers(1, 25)), draw(st.integers(1, 7))
    k = draw(st.integers(1, most_labels))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    y = rng.integers(k, size=m)
    table = np.where(rng.random((m, n)) < draw(st.floats(0, 1)), rng.integers(k, size=(m, n)),
                     y[:, None])  # fmt: skip
    names = np.array([f"label {j:03d}" for j in range(k)])
    silent = rng.random((m, n)) < draw(st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0]))
    weights = rng.integers(4, size=n)
    weights[rng.integers(n)] += 1  # somebody has weight
    return np.where(silent, MARKER, names[table]), names[y], weights


some = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@some
@given(panels(), st.booleans())
def test_what_is_counted_is_the_plurality_of_those_who_speak(panel, keep):
    table, y, weights = panel
    q = weights / weights.sum()
    statistics = VoteStatistics.from_votes(table, y, True, fixed_votes=[q], missing=MARKER)
    answers = by_hand(table, weights)
    assert statistics.vote_errors(q) == np.sum(answers != y)
    assert statistics.errors.tolist() == np.sum(table != y[:, None], axis=0).tolist()
    against = statistics.erring_weight(q)
    assert np.all(against[answers != y] >= 0.5 - 1e-12)
    assert np.all(against[answers == MARKER] >= 1.0 - 1e-12)


@some
@given(panels())
def test_what_is_predicted_is_what_is_counted(panel):
    table, y, weights = panel
    if len(set(y)) < 2:
        return
    vote = MajorityVoteClassifier(
        voters=PredictionTable(missing=MARKER), bound="heldout", prior=weights / weights.sum()
    ).fit(table, y)
    answers = by_hand(table, weights)
    assert vote.predict(table).tolist() == answers.tolist()
    assert vote.certificate_.evidence["vote_errors"] == np.sum(answers != y)
    assert vote.certificate_.neighbours.errors == np.sum(answers != y)
    for row, answer in zip(table, answers, strict=True):  # whoever stands beside
        assert vote.predict([row.tolist()]).tolist() == [answer]
    shares = vote.predict_proba(table)
    spoken = np.isin(table, y) @ (weights / weights.sum())  # other labels are no classes
    np.testing.assert_allclose(shares.sum(axis=1), spoken, atol=1e-12)
    vote.verify(table, y)


@some
@given(panels(), panels())
def test_statistics_come_back_from_their_file(tmp_path_factory, panel, other):
    """Errors that are impossible without gaps are possible with them."""
    table, y, weights = panel
    q = weights / weights.sum()
    statistics = VoteStatistics.from_votes(table, y, fixed_votes=[q], missing=MARKER)
    path = tmp_path_factory.mktemp("statistics") / "counts.npz"
    statistics.save(path)
    again = VoteStatistics.load(path)
    assert again == statistics
    assert again.vote_errors(q) == statistics.vote_errors(q)
    table, y = other[0][:, :1].repeat(len(q), axis=1), other[1]
    both = statistics + VoteStatistics.from_votes(table, y, fixed_votes=[q], missing=MARKER)
    both.save(path)
    assert VoteStatistics.load(path).vote_errors(q) == both.vote_errors(q)
    assert pickle.loads(pickle.dumps(both)).vote_errors(q) == both.vote_errors(q)


def test_the_heaviest_voter_may_be_silent_where_the_vote_is_right(tmp_path):
    table, y = np.array([[MARKER, "a"], ["b", "a"]]), np.array(["a", "a"])
    q = [0.75, 0.25]
    statistics = VoteStatistics.from_votes(table, y, fixed_votes=[q], missing=MARKER)
    assert statistics.vote_errors(q) == 1
    statistics.save(tmp_path / "counts.npz")
    assert VoteStatistics.load(tmp_path / "counts.npz").vote_errors(q) == 1


def test_errors_that_gaps_do_not_explain_are_still_refused(tmp_path):
    table, y = np.array([["a", MARKER], ["b", "b"]]), np.array(["a", "a"])
    q = [0.5, 0.5]
    statistics = VoteStatistics.from_votes(table, y, fixed_votes=[q], missing=MARKER)
    assert statistics.vote_errors(q) == 1
    statistics.fixed_votes = type(statistics.fixed_votes)(
        statistics.fixed_votes.weights, np.array([0]), True
    )
    statistics.save(tmp_path / "counts.npz")
    with pytest.raises(ValueError, match="must be possible for these examples"):
        VoteStatistics.load(tmp_path / "counts.npz")


@pytest.mark.parametrize("n_labels", [3, 500])
def test_many_labels_are_counted_alike(n_labels):
    """More labels than voters are numbered anew: gaps must not become one of them."""
    rng = np.random.default_rng(n_labels)
    y = rng.integers(n_labels, size=400)
    table = np.where(rng.random((400, 5)) < 0.5, rng.integers(n_labels, size=(400, 5)), y[:, None])
    table[rng.random((400, 5)) < 0.5] = -1
    table[:3] = -1
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=-1), bound="heldout")
    vote.fit(table, y)
    answers = by_hand(table, np.ones(5), -1)
    assert vote.predict(table).tolist() == answers.tolist()
    assert vote.certificate_.evidence["vote_errors"] == np.sum(answers != y)


# --- markers of every type ---

TYPES = {
    "text": (["a", "b", "c"], "none"),
    "empty text": (["a", "b", "c"], ""),
    "numbers": ([1, 2, 3], -1),
    "a number that sorts between": ([1, 3, 5], 2),
    "zero": ([1, 2, 3], 0),
    "large numbers": ([2**60, 2**60 + 1, 2**61], 0),
    "floats": ([1.0, 2.0, 4.0], -0.5),
    "truth values": ([False, True], -1),
    "dates": ([np.datetime64("2020-01-01"), np.datetime64("2021-01-01")], np.datetime64(0, "D")),
    "long texts": (["a" * 70, "b" * 70], "?"),
    "gaps in text": (["a", "b", "c"], float("nan")),
    "gaps in numbers": ([1, 2, 3], float("nan")),
    "NA": (["a", "b", "c"], pd.NA),
}
FORMS = {"list": lambda rows: rows, "objects": lambda rows: np.array(rows, dtype=object),
         "frame": pd.DataFrame}  # fmt: skip


def gaps(marker):
    return (isinstance(marker, float) and np.isnan(marker)) or marker is pd.NA


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TYPES)
def test_markers_of_every_type(name, form):
    labels, marker = TYPES[name]
    rng = np.random.default_rng(0)
    truth = rng.integers(len(labels), size=120)
    votes = np.where(rng.random((120, 5)) < 0.3, rng.integers(len(labels), size=(120, 5)),
                     truth[:, None])  # fmt: skip
    votes[rng.random((120, 5)) < 0.4] = -1
    votes[:2] = -1
    rows = [[marker if j < 0 else labels[j] for j in row] for row in votes.tolist()]
    y = np.array([labels[j] for j in truth])
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=marker), bound="heldout")
    vote.fit(FORMS[form](rows), y)
    answers = by_hand(votes, np.ones(5), -1)
    assert vote.certificate_.evidence["vote_errors"] == np.sum(answers != truth)
    nothing = None if gaps(marker) else marker
    expected = [nothing if j < 0 else labels[j] for j in answers]
    assert (
        vote.predict(FORMS[form](rows)).tolist()
        == np.array(expected, dtype="datetime64[D]" if name == "dates" else object).tolist()
    )
    # All of a batch may be silent.
    assert vote.predict(FORMS[form]([[marker] * 5])).tolist() == expected[:1] or name == "dates"
    vote.verify(FORMS[form](rows), y)


def test_arrays_of_numbers_have_gaps_only_where_said():
    y = np.arange(40) % 2
    table = np.tile(y[:, None].astype(float), (1, 3))
    table[3, 1] = np.nan
    with pytest.raises(ValueError, match="X must not have missing labels"):
        MajorityVoteClassifier(voters=PredictionTable()).fit(table, y)
    with pytest.raises(ValueError, match="X must not have missing labels"):
        MajorityVoteClassifier(voters=PredictionTable(missing=-1)).fit(table, y)
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=np.nan), bound="heldout")
    assert vote.fit(table, y).certificate_.evidence["vote_errors"] == 0


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, np.datetime64("NaT", "s")])
def test_other_gaps_beside_a_marker_are_refused(gap):
    y = np.array(["a", "b"] * 20)
    table = np.tile(y[:, None], (1, 3)).astype(object)
    table[0, 0], table[3, 1] = MARKER, gap
    with pytest.raises(ValueError, match="X must not have missing labels"):
        MajorityVoteClassifier(voters=PredictionTable(missing=MARKER)).fit(table, y)


def test_masks_are_refused_with_any_marker():
    y = np.arange(40) % 2
    table = np.ma.masked_equal(np.tile(y[:, None], (1, 3)), 1)
    for marker in (None, -1, np.nan):
        with pytest.raises(ValueError, match="masked"):
            MajorityVoteClassifier(voters=PredictionTable(missing=marker)).fit(table, y)


def test_one_and_its_text_are_two():
    """A marker is what it is: the number 0 is not the text "0"."""
    y = np.array(["0", "1"] * 20)
    table = np.tile(y[:, None], (1, 3))
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=0), bound="heldout").fit(table, y)
    assert vote.predict(table).tolist() == y.tolist()


@pytest.mark.parametrize(("marker", "labels"), [("a", ["a", "b"]), (1, [1, 2]), (1.0, [1, 2])])
def test_a_label_is_no_marker(marker, labels):
    y = np.array(labels * 20)
    table = np.tile(y[:, None], (1, 3))
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=marker))
    with pytest.raises(ValueError, match="missing must be no label, got"):
        vote.fit(table, y)
    with pytest.raises(ValueError, match="missing must be no true label"):
        VoteStatistics.from_votes(table, y, missing=marker)


def test_a_marker_is_one_label():
    with pytest.raises(ValueError, match="missing must be one label"):
        MajorityVoteClassifier(voters=PredictionTable(missing=["a", "b"])).fit([["x"]], ["x"])


def test_new_examples_are_checked_too():
    table, y = _panel(100, seed=0)
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=MARKER)).fit(table, y)
    with pytest.raises(ValueError, match="missing must be no label"):
        vote.certify(*(array[:, None] if array.ndim == 1 else array for array in (table,)),
                     np.full(100, MARKER))  # fmt: skip


def test_complements_need_every_vote():
    table, y = _panel(100, seed=0)
    with pytest.raises(ValueError, match="needs an opinion of every voter"):
        CBBoostClassifier(voters=PredictionTable(missing=MARKER)).fit(table, y)


# --- the rest of the house ---


def _panel(m, seed, n=9, noise=0.2, silence=0.3):
    rng = np.random.default_rng(seed)
    y = rng.choice(["cat", "dog"], size=m)
    other = np.where(y == "cat", "dog", "cat")
    table = np.where(rng.random((m, n)) < noise, other[:, None], y[:, None])
    return np.where(rng.random((m, n)) < silence, MARKER, table), y


@pytest.mark.parametrize("bound", ["best", "tandem", "lacasse", "seeger", "dirichlet", "heldout"])
def test_every_bound_takes_them_and_is_verified(bound, tmp_path):
    table, y = _panel(300, seed=1)
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=MARKER), bound=bound)
    vote.fit(table, y)
    vote.verify(table, y)
    vote.certificate_.to_json(tmp_path / "certificate.json")
    joblib.dump(vote, tmp_path / "vote.joblib")
    again = joblib.load(tmp_path / "vote.joblib")
    certificate = Certificate.from_json(tmp_path / "certificate.json")
    again.verify(table, y, certificate)
    assert again.predict(table).tolist() == vote.predict(table).tolist()
    other = table.copy()
    other[:40] = MARKER
    with pytest.raises(CertificateError):
        again.verify(other, y, certificate)
    losses = VoteStatistics.from_losses(table != y[:, None], keep_rows=True)
    if bound not in ("heldout", "best"):
        value = get_bound(bound).value(losses, vote.weights_)
        assert certificate.risk_bound == pytest.approx(min(1.0, value), abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*were in the data that this vote was fitted on")
@pytest.mark.filterwarnings("ignore:.*are known to this vote")
def test_a_finished_vote_is_certified_and_grows():
    table, y = _panel(300, seed=1)
    new, labels = _panel(200, seed=2, silence=0.6)
    new[:5] = MARKER
    vote = MajorityVoteClassifier(voters=PredictionTable(missing=MARKER)).fit(table, y)
    certificate = vote.certify(new, labels, claims=["recall", "error by prompt"],
                               by={"prompt": np.arange(200) % 3})  # fmt: skip
    errors = np.sum(vote.predict(new) != labels)
    assert certificate.evidence["vote_errors"] == errors >= 5
    assert sum(claim.evidence["vote_errors"] for claim in certificate.claims[1:3]) == errors
    assert sum(claim.evidence["vote_errors"] for claim in certificate.claims[3:]) == errors
    verify_model(vote, new, labels, certificate, by={"prompt": np.arange(200) % 3})
    grown = clone(vote).set_params(bound="heldout").fit(table, y).partial_fit(new, labels)
    errors = np.sum(grown.predict(np.vstack([table, new])) != np.concatenate([y, labels]))
    assert grown.certificate_.evidence["vote_errors"] == errors


@pytest.mark.parametrize("marker", [MARKER, float("nan")])
def test_claims_on_answers_leave_nothing_out(marker):
    """Where nothing is answered the true class is missed; F1 and costs are about answers only."""
    table, y = (array.astype(object) for array in _panel(400, seed=4, silence=0.6))
    table[:20] = MARKER
    table[table == MARKER] = marker
    vote = MajorityVoteClassifier(
        voters=PredictionTable(missing=marker),
        bound="heldout",
        claims=["precision", "recall"],
    ).fit(table, y)
    *precision, cat, dog = vote.certificate_.claims[1:]
    predicted = vote.predict(table)
    nothing = np.array([answer not in ("cat", "dog") for answer in predicted])
    assert nothing.sum() >= 20
    for name, recall in (("cat", cat), ("dog", dog)):
        assert recall.evidence["vote_errors"] == np.sum(predicted[y == name] != name)
    assert sum(claim.evidence["vote_size"] for claim in precision) == 400
    assert [claim.evidence for claim in precision if claim.lower == 0.0] == [
        {"vote_errors": nothing.sum(), "vote_size": nothing.sum()}
    ]
    vote.verify(table, y)
    costs = CostFamily(classes=["cat", "dog"], costs=[[0, 1], [1, 0]])
    for claim in (costs, "f1", "f1 of cat"):
        with pytest.raises(ValueError, match="the vote answers nothing"):
            clone(vote).set_params(claims=[claim]).fit(table, y)


@pytest.mark.parametrize("silent", [0.0, 0.05, 0.4])
def test_where_nobody_speaks_there_is_no_answer(silent):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 800)
    table = np.where(rng.random((800, 7)) < 0.1, np.where(y == "a", "b", "a")[:, None], y[:, None])
    table[rng.random(800) < silent] = MARKER
    vote = MajorityVoteClassifier(PredictionTable(MARKER), bound="heldout", abstain=0.3)
    vote.fit(table, y)
    assert not np.any(vote.accepts(table) & (vote.predict(table) == MARKER))
    _, error, coverage = vote.certificate_.claims
    # Whatever is answered here, silence may come: all is not what can be claimed.
    assert coverage.lower < 1.0 - silent
    assert coverage.lower > 0.8 * (1.0 - silent)
    assert "need not abstain" not in error.statement
    vote.verify(table, y)


def test_what_has_no_weight_has_no_say_though_it_speaks_alone():
    table = np.array([["a", MARKER, MARKER], [MARKER, "b", "b"], ["a", "b", MARKER]] * 20)
    y = np.array(["a", "b", "b"] * 20)
    vote = MajorityVoteClassifier(
        voters=PredictionTable(missing=MARKER), bound="heldout", prior=[0.0, 0.5, 0.5]
    ).fit(table, y)
    assert vote.predict(table[:3]).tolist() == [MARKER, "b", "b"]
    assert vote.certificate_.evidence["vote_errors"] == 20


def test_the_lightest_voter_decides_where_it_speaks_alone():
    """Its share is less than what counts as a tie: labels that nobody names must not win."""
    light = 1e-14
    table = np.array([[MARKER, "b"], ["a", "b"], ["c", MARKER]] * 10)
    y = np.array(["b", "a", "c"] * 10)
    vote = MajorityVoteClassifier(
        voters=PredictionTable(missing=MARKER), bound="heldout", prior=[1.0 - light, light]
    ).fit(table, y)
    assert vote.predict(table[:3]).tolist() == ["b", "a", "c"]
    assert vote.certificate_.evidence["vote_errors"] == 0


def test_a_table_without_gaps_is_as_without_a_marker():
    table, y = _panel(200, seed=3, silence=0.0)
    plain, marked = (
        MajorityVoteClassifier(voters=PredictionTable(missing=marker)).fit(table, y)
        for marker in (None, MARKER)
    )
    assert plain.certificate_ == marked.certificate_


def test_tables_that_were_saved_without_a_marker_have_none():
    table = PredictionTable()
    group = table.group(3)
    for old in (table, group):
        del old.__dict__["missing"]
    assert table.missing is None
    assert group.prepare([["a", "b", "a"]]).silent is None


# --- does it hold? ---


def tandem_limits(draws, counted_as_right):
    """How often tandem is below the truth: voters who seldom speak, and err when they do."""
    rng = np.random.default_rng(5)
    table, y = _panel(4000, seed=6, n=9, noise=0.42, silence=0.97)
    alone = np.flatnonzero((table == MARKER).all(axis=1))
    other = np.where(y == "cat", "dog", "cat")
    table[alone, rng.integers(9, size=alone.size)] = np.where(
        rng.random(alone.size) < 0.42, other[alone], y[alone]
    )
    risk = np.mean(by_hand(table, np.ones(9)) != y)
    bound, q, false, smallest = get_bound("tandem"), np.full(9, 1 / 9), 0, 1.0
    for _ in range(draws):
        rows = rng.integers(4000, size=1000)
        losses = table[rows] != y[rows, None]
        if counted_as_right:
            statistics = VoteStatistics.from_losses(losses & (table[rows] != MARKER))
        else:
            statistics = VoteStatistics.from_votes(table[rows], y[rows], missing=MARKER)
        limit = min(1.0, bound.value(statistics, q))
        false, smallest = false + (limit < risk), min(smallest, limit)
    return false, smallest, risk


def test_silence_counted_as_right_would_be_caught():
    false, smallest, risk = tandem_limits(60, counted_as_right=True)
    assert binomtest(false, 60, 0.05, alternative="greater").pvalue < 1e-4
    assert smallest < 0.1
    assert risk > 0.4


def test_silence_counted_as_not_right_holds():
    false, _, _ = tandem_limits(60, counted_as_right=False)
    assert false == 0


def test_heldout_holds_with_many_gaps():
    """The default bound for fixed votes: simulated, with rows on which nobody speaks."""
    table, y = _panel(4000, seed=7, n=5, noise=0.3, silence=0.7)
    risk, rng = np.mean(by_hand(table, np.ones(5)) != y), np.random.default_rng(8)
    q, bound, draws = np.full(5, 0.2), HeldoutBound(0.2), 200
    assert (table == MARKER).all(axis=1).any()
    false = 0
    for _ in range(draws):
        rows = rng.integers(4000, size=100)
        statistics = bound.count(table[rows], y[rows], None, MARKER)
        false += bound.value(statistics, q) < risk
    assert binomtest(false, draws, 0.2, alternative="greater").pvalue >= 1e-4
    assert false > 0.05 * draws  # it is not far from it
