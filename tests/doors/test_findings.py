"""What speaks against a certificate is written into it: findings, which are warnings too."""

import os
import re
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from certivote import (
    CBBoostClassifier,
    Certificate,
    CertificateError,
    MajorityVoteClassifier,
    VoteStatistics,
    certify,
    certify_model,
    verify_model,
)
from certivote.datasets import load
from certivote.voters import PredictionTable


def small(**settings):
    return MajorityVoteClassifier(
        **{"voters": "trees", "n_voters": 5, "random_state": 0, **settings}
    )


def frozen_trees(X, y):
    trees = [DecisionTreeClassifier(max_depth=4, random_state=seed).fit(X, y) for seed in range(3)]
    return [FrozenEstimator(tree) for tree in trees]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


def stacked(X, y, times):
    return np.tile(X, (times, 1)), np.tile(y, times)


@pytest.fixture
def one_finding(told, tmp_path):
    """Run what returns a certificate; it must have one finding, which was a warning too."""

    def check(make, *words):
        with told() as texts:
            certificate = make()
        assert [text for text in texts if all(word in text for word in words)]
        assert isinstance(certificate.findings, tuple)
        assert len(certificate.findings) == 1
        (finding,) = certificate.findings
        assert finding in texts
        assert all(word in finding for word in words)
        certificate.to_json(tmp_path / "certificate.json")
        read = Certificate.from_json(tmp_path / "certificate.json")
        assert read.findings == certificate.findings
        return finding

    return check


# --- nothing to find ---


def test_clean_fits_have_no_findings(data):
    X, y, X_new, y_new = data
    for kind in (MajorityVoteClassifier, CBBoostClassifier):
        vote = kind(n_voters=5, random_state=0).fit(X, y)
        assert vote.certificate_.findings == ()
        assert vote.certify(X_new, y_new).findings == ()
    vote = MajorityVoteClassifier(voters=frozen_trees(X, y)).fit(X_new, y_new)
    assert vote.certificate_.findings == ()
    assert certify(np.stack([y, y], axis=1), y).findings == ()
    assert vote.statistics_.findings == ()


@pytest.mark.parametrize("dtype", [float, np.int64, np.uint8])
def test_digits_once_have_no_findings(dtype, digits):
    X, y = digits
    for seed in range(3):
        vote = small(random_state=seed).fit(X.astype(dtype), y)
        assert vote.certificate_.findings == ()


@pytest.mark.parametrize("name", ["tictactoe", "usvotes"])
def test_discrete_data_whose_rows_repeat_by_chance_have_no_findings(name):
    if not os.environ.get("CERTIVOTE_DATA"):
        pytest.skip("CERTIVOTE_DATA is not set: the raw files are needed")
    task = load(name, download=False)
    X, y = np.vstack([task.X_train, task.X_test]), np.append(task.y_train, task.y_test)
    for seed in range(5):
        assert small(random_state=seed).fit(X, y).certificate_.findings == ()
    vote = MajorityVoteClassifier(voters=frozen_trees(task.X_train, task.y_train))
    assert vote.fit(task.X_test, task.y_test).certificate_.findings == ()
    with pytest.warns(UserWarning, match="trained on these very examples"):
        vote.certify(task.X_train, task.y_train)


@pytest.mark.parametrize("shape", [(400, 3, 2), (400, 8, 2), (1000, 6, 3), (300, 1, 50)], ids=str)
def test_few_values_repeat_by_chance(shape):
    m, d, k = shape
    rng = np.random.default_rng(0)
    X, X_new = rng.integers(k, size=(m, d)), rng.integers(k, size=(m, d))
    for dtype in (int, float):
        y, y_new = X[:, 0] > k // 2 - 1, X_new[:, 0] > k // 2 - 1
        vote = small().fit(X.astype(dtype), y)
        assert vote.certificate_.findings == ()
        frozen = MajorityVoteClassifier(voters=frozen_trees(X, y)).fit(X_new.astype(dtype), y_new)
        assert frozen.certificate_.findings == ()


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("n_labels", [2, 10, 200])
def test_predictions_repeat_wherever_voters_agree(n_labels, noise):
    """The rows of a table are no features: that they come again says nothing."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_labels, size=1000)
    wrong = rng.random((1000, 9)) < noise
    table = np.where(wrong, rng.integers(n_labels, size=wrong.shape), y[:, None])
    vote = MajorityVoteClassifier(voters=PredictionTable()).fit(table, y)
    assert vote.certificate_.findings == ()


# --- twins, copies and training rows ---


@pytest.mark.parametrize("dtype", [float, np.int64, np.uint8])
@pytest.mark.parametrize("times", [2, 5])
def test_digits_stacked(times, dtype, digits, one_finding):
    """Integer features, as rich as any."""
    X, y = digits
    X, y = stacked(X.astype(dtype), y, times)
    one_finding(lambda: small().fit(X, y).certificate_, "twin")


@pytest.mark.parametrize("times", [2, 5])
def test_continuous_rows_stacked(times, data, one_finding):
    X, y, *_ = data
    X, y = stacked(X, y, times)
    one_finding(lambda: small().fit(X, y).certificate_, "twin")
    one_finding(
        lambda: CBBoostClassifier(n_voters=5, random_state=0).fit(X, y).certificate_, "twin"
    )


@pytest.mark.parametrize("kind", ["continuous", "integer"])
def test_copies_that_certify_frozen_voters(kind, data, digits, one_finding):
    X, y, X_new, y_new = data
    if kind == "integer":
        X, y = digits[0][:600], digits[1][:600]
        X_new, y_new = digits[0][600:], digits[1][600:]
    voters = frozen_trees(X, y)
    rows, labels = stacked(X_new, y_new, 3)
    one_finding(lambda: MajorityVoteClassifier(voters=voters).fit(rows, labels).certificate_, "cop")
    vote = MajorityVoteClassifier(voters=voters).fit(X_new, y_new)
    extra = stacked(X, y, 3)
    one_finding(lambda: vote.certify(*extra), "cop")


def test_voters_trained_on_the_very_rows(data, one_finding):
    X, y, *_ = data
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    vote = MajorityVoteClassifier(voters=FrozenEstimator(forest))
    one_finding(lambda: vote.fit(X, y).certificate_, "trained")


# --- labels ---


def labels_with_a_rare_one(X, y):
    """A label that is in part B only, by the seed of the vote."""
    order = np.random.RandomState(0).permutation(len(y))
    labels = np.array(["no", "yes", "rare"])[y]
    labels[order[-1]] = "rare"
    return labels


def test_classes_in_part_b_only(data, one_finding):
    X, y, *_ = data
    labels = labels_with_a_rare_one(X, y)
    one_finding(lambda: small().fit(X, labels).certificate_, "'rare'", "part A")


def test_labels_that_a_fitted_vote_has_never_seen(data, one_finding):
    X, y, X_new, y_new = data
    vote, labels = small().fit(X, y), y_new.copy()
    labels[:4] = 7
    one_finding(lambda: vote.certify(X_new, labels), "never seen", "7")
    assert vote.certify(X_new, y_new).findings == ()
    one_finding(lambda: vote.partial_fit(X_new, labels).certificate_, "never seen", "7")


# --- known rows ---


def with_known(data, n_known):
    X, y, X_new, y_new = data
    keep = 300 - n_known
    return np.vstack([X_new[:keep], X[:n_known]]), np.r_[y_new[:keep], y[:n_known]]


def test_a_few_known_rows(data, one_finding):
    X, y, *_ = data
    vote, batch = small().fit(X, y), with_known(data, 6)
    one_finding(lambda: vote.certify(*batch), "2.0%")
    assert vote.certificate_.findings == ()
    one_finding(lambda: vote.partial_fit(*batch).certificate_, "6 of these 300")


def test_findings_of_earlier_batches_stay(data, told):
    X, y, X_new, y_new = data
    vote = small()
    with told():
        vote.fit(*stacked(X[:200], y[:200], 2))
    (first,) = vote.certificate_.findings
    vote.partial_fit(X_new[:100], y_new[:100])
    assert vote.certificate_.findings == (first,)
    labels = y_new[100:200].copy()
    labels[0] = 7
    with told() as texts:
        vote.partial_fit(X_new[100:200], labels)
    assert len(vote.certificate_.findings) == 2
    assert vote.certificate_.findings[0] == first
    assert vote.certificate_.findings[1] in texts
    vote.partial_fit(X_new[200:], y_new[200:])
    assert len(vote.certificate_.findings) == 2
    # Learning from scratch forgets them.
    assert vote.fit(X, y).certificate_.findings == ()


def test_a_smaller_vote_keeps_the_findings(data, told):
    X, y, *_ = data
    with told():
        vote = small().fit(*stacked(X, y, 2))
    assert vote.prune(0.01).certificate_.findings == vote.certificate_.findings != ()


# --- verify ---


def test_verify_refuses_a_certificate_without_its_findings(data, told):
    X, y, *_ = data
    X, y = stacked(X, y, 2)
    with told():
        vote = small().fit(X, y)
    own = vote.certificate_
    with told():
        vote.verify(X, y)
        vote.verify(X, y, own)
        with pytest.raises(CertificateError, match="finding"):
            vote.verify(X, y, replace(own, findings=()))
        with pytest.raises(CertificateError, match="finding"):
            vote.verify(X, y, replace(own, findings=("All is well.",)))


def test_verify_refuses_new_data_without_its_findings(data, told):
    """`certify` of a fitted vote finds them on the data, and so does `verify`."""
    X, y, X_new, y_new = data
    vote, labels = small().fit(X, y), y_new.copy()
    labels[:4] = 7
    with told():
        certificate = vote.certify(X_new, labels)
        vote.verify(X_new, labels, certificate)
        with pytest.raises(CertificateError, match="finding"):
            vote.verify(X_new, labels, replace(certificate, findings=()))


# --- statistics ---


def counts(m, seed=0):
    return VoteStatistics.from_losses(np.random.default_rng(seed).random((m, 4)) < 0.3)


@pytest.fixture
def doubled(told):
    """Statistics that hold every example twice, with what was warned of."""
    statistics = counts(1000)
    with told() as itself:
        first = statistics + statistics
    with told() as same:
        second = statistics + counts(1000)
    return [(first, itself), (second, same)]


def test_statistics_merged_with_themselves(doubled):
    for statistics, texts in doubled:
        assert isinstance(statistics.findings, tuple)
        assert len(statistics.findings) == 1
        assert list(statistics.findings) == texts
        assert "twice" in statistics.findings[0]


def test_findings_of_statistics_survive(doubled, tmp_path):
    for statistics, _ in doubled:
        found = statistics.findings
        statistics.save(tmp_path / "statistics.npz")
        loaded = VoteStatistics.load(tmp_path / "statistics.npz")
        assert loaded.findings == found
        for more in (counts(50, 1), counts(2000, 2)):
            assert (loaded + more).findings == found
            assert (more + loaded).findings == found
            assert sum([more, loaded, counts(70, 3)]).findings == found


def test_findings_of_statistics_reach_the_certificate(doubled):
    for statistics, _ in doubled:
        certificate = certify(statistics)
        assert certificate.findings == statistics.findings
        certificate.verify(statistics=statistics)
        with pytest.raises(CertificateError, match="finding"):
            replace(certificate, findings=()).verify(statistics=statistics)


def test_honest_merges_have_no_findings(tmp_path):
    small_ones = counts(20) + counts(20)  # the same counts may be chance
    large = counts(1000) + counts(1000, seed=1)
    for statistics in (counts(1000), small_ones, large, sum([large, small_ones])):
        assert statistics.findings == ()
        statistics.save(tmp_path / "statistics.npz")
        assert VoteStatistics.load(tmp_path / "statistics.npz").findings == ()
        assert certify(statistics).findings == ()


def of_difficulty(rng, m, n):
    """Losses of n voters on examples of which each has its own difficulty."""
    return rng.random((m, n)) < rng.beta(0.3, 0.7, size=(m, 1))


@pytest.mark.parametrize("n", [100, 5000])
def test_shards_that_overlap_are_found_where_losses_are_kept(n, tmp_path):
    """Half of the examples of each are in both; of 5,000 voters the losses are kept anyway."""
    rng = np.random.default_rng(0)
    losses = of_difficulty(rng, 600, n)
    shards = [slice(0, 400), slice(200, 600), slice(400, 600)]
    one, two, rest = (VoteStatistics.from_losses(losses[own], n == 100) for own in shards)
    with pytest.warns(UserWarning, match="if some examples are in both"):
        both = one + two
    both.save(tmp_path / "both.npz")
    assert VoteStatistics.load(tmp_path / "both.npz").findings == both.findings
    assert certify(both, bound="gibbs").findings == both.findings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (one + rest).findings == ()


@pytest.mark.parametrize("n", [3, 12, 60])
@pytest.mark.parametrize("kinds", [20, None])
def test_independent_shards_do_not_overlap(kinds, n):
    """Of whatever examples: also of few kinds, which come again and again."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        losses = of_difficulty(rng, 500, n)
        losses = losses if kinds is None else losses[rng.integers(kinds, size=500)]
        one, two = (VoteStatistics.from_losses(own, True) for own in np.split(losses, [200]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (one + two).findings == ()


def people(seed, rows_each):
    """Rows of people, with an effect of each on the label that features of theirs give away."""
    rng = np.random.default_rng(seed)
    n = 3500 // rows_each
    features, effect = rng.normal(size=(n, 4)), rng.random(n) < 0.5
    X = np.repeat(features, rows_each, axis=0) + 0.01 * rng.normal(size=(n * rows_each, 4))
    return X, np.repeat(effect, rows_each).astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_rows_beside_each_other_that_belong_together_are_found(seed):
    X, y = people(seed, rows_each=7)
    with pytest.warns(UserWarning, match="rows beside each other seem to belong together"):
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=20).fit(X, y)
    assert any("stand between training rows" in text for text in vote.certificate_.findings)
    vote.verify(X, y)
    # Rows in another order are alike when rounded, and groups that are said are no finding.
    order = np.random.default_rng(seed).permutation(len(y))
    with pytest.warns(UserWarning, match="like another one when rounded"):
        MajorityVoteClassifier("trees", random_state=seed, n_voters=20).fit(X[order], y[order])
    MajorityVoteClassifier("trees", random_state=seed, n_voters=20).fit(
        X, y, groups=np.arange(len(y)) // 7
    )


@pytest.mark.parametrize("in_order_of", ["label", "feature"])
def test_rows_that_are_sorted_but_independent_are_not_found(in_order_of):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 3))
        y = (X[:, 0] + rng.normal(size=800) > 0).astype(int)
        order = np.argsort(y if in_order_of == "label" else X[:, 0], kind="stable")
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(
            X[order], y[order]
        )
        assert vote.certificate_.findings == ()


def test_errors_that_follow_one_another_in_time_are_found():
    """What comes is as it was for a while, whatever the features say."""
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(1600, 3)), np.arange(1600)
    y = np.repeat(rng.integers(2, size=80), 20)
    with pytest.warns(UserWarning, match="Errors follow one another in time"):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(X, y, time=time)
    vote.verify(X, y, time=time)
    order = rng.permutation(1600)
    with pytest.warns(UserWarning, match="Errors follow one another in time"):
        MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(
            X[order], y[order], time=time[order]
        )
    # Independent rows, though they come in time.
    for seed in range(5):
        y = np.random.default_rng(seed).integers(2, size=1600)
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(X, y, time=time)
        assert vote.certificate_.findings == ()


def schools(seed, n_schools=60, rows_each=20, kind=int):
    """Rows of schools, each with a leaning of its own, which only its number gives away."""
    rng = np.random.default_rng(seed)
    school = np.repeat(rng.permutation(n_schools) + 1, rows_each)
    leaning = rng.random(n_schools + 1) < 0.5
    y = np.where(rng.random(school.size) < 0.9, leaning[school], ~leaning[school]).astype(int)
    score = rng.normal(size=(school.size, 2))
    names = school if kind is int else np.array([f"school {number}" for number in school])
    X = pd.DataFrame({"a": score[:, 0], "where": names, "b": score[:, 1]})
    order = rng.permutation(school.size)
    return X.iloc[order].reset_index(drop=True), y[order]


@pytest.mark.parametrize("kind", [int, str])
def test_values_whose_rows_tell_of_each_other_are_found(kind):
    X, y = schools(0, kind=kind)
    with pytest.warns(UserWarning, match="same value of 'where' tell of each other"):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(X, y)
    (finding,) = vote.certificate_.findings
    new, known = (float(share) for share in re.findall(r"(\d+\.\d)%", finding))
    # Nothing is known of a new school; half of the trees see it by its number.
    assert 45 < new < 55
    assert known < 40
    vote.verify(X, y)
    # Groups that are said are no finding, and others do not hide these.
    MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(X, y, groups=X["where"])
    pairs = np.arange(len(y)) // 2
    with pytest.warns(UserWarning, match="of groups left out at random"):
        other = MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(X, y, groups=pairs)
    other.verify(X, y, groups=pairs)


@pytest.mark.parametrize("kind", [int, str])
def test_a_few_values_of_many_rows_are_found(kind):
    """38 regions of 340 rows each: fewer values than rows of each."""
    X, y = schools(0, n_schools=38, rows_each=340, kind=kind)
    with pytest.warns(UserWarning, match="same value of 'where' tell of each other"):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    (finding,) = vote.certificate_.findings
    new, known = (float(share) for share in re.findall(r"(\d+\.\d)%", finding))
    assert 40 < new < 60
    assert known < 40
    vote.verify(X, y)
    # The same values in any order tell nothing.
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        shuffled = X.assign(where=X["where"].to_numpy()[order])
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(shuffled, y)
        assert vote.certificate_.findings == ()
        assert "of a value of 'where' were not" in vote.certificate_.checks["values"]


def test_a_few_values_of_a_few_rows_are_found():
    """50 divisions of eight towns each, as a table of 400 towns has them."""
    found = 0
    for seed in range(6):
        X, y = schools(seed, n_schools=50, rows_each=8, kind=str)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(X, y)
        found += any("'where' tell of each other" in text for text in vote.certificate_.findings)
    assert found >= 5


def test_measures_between_which_voters_know_are_not_found():
    """An age says as much where its own value trained as where those beside it did."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"age": rng.integers(18, 78, size=2400), "x": rng.normal(size=2400)})
        y = (rng.random(2400) < np.where(np.abs(X["age"] - 45) < 15, 0.9, 0.1)).astype(int)
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(X, y)
        assert vote.certificate_.findings == ()
        assert "of a value of 'age' were not" in vote.certificate_.checks["values"]


def test_columns_of_fewer_values_are_named_first():
    """Whoever names the schools may have what is inside them together."""
    X, y = schools(0, n_schools=40, rows_each=60)
    rng = np.random.default_rng(1)
    teacher = rng.integers(120, size=len(y))
    y = np.where(rng.random(len(y)) < 0.5, y, (rng.random(120) < 0.5)[teacher])
    X.insert(0, "teacher", teacher)
    with pytest.warns(UserWarning, match="same value of 'where' or 'teacher' tell of each other"):
        MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)


def test_values_that_hold_nearly_all_rows_are_not_what_others_tell_of():
    """Odd amounts that few have tell of each other, and hardly of the error on all rows."""
    X, y = schools(0, n_schools=60, rows_each=8)
    rng = np.random.default_rng(1)
    nothing = pd.DataFrame(rng.normal(size=(9_000, 2)), columns=["a", "b"]).assign(where=0)
    order = rng.permutation(len(y) + 9_000)
    X = pd.concat([X, nothing], ignore_index=True).iloc[order].reset_index(drop=True)
    y = np.concatenate([y, rng.integers(2, size=9_000)])[order]
    vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    assert vote.certificate_.findings == ()


@pytest.mark.parametrize("name", ["hour", "level"])
def test_times_that_come_again_are_found_only_where_they_are_many(name):
    """Nobody expects an hour that is new; a number under another name may be of a machine."""
    X, y = schools(0, n_schools=24, rows_each=200)
    X = X.rename(columns={"where": name})
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    assert len(vote.certificate_.findings) == (name != "hour")
    assert "values" not in vote.certificate_.checks


@pytest.mark.parametrize("what", ["a measure", "nothing"])
def test_values_that_measure_or_tell_nothing_are_not_found(what):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, size=1200)
        chance = np.clip((age - 18) / 72, 0.1, 0.9) if what == "a measure" else 0.5
        y = (rng.random(1200) < chance).astype(int)
        X = pd.DataFrame({"age": age, "other": rng.normal(size=1200)})
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(X, y)
        assert vote.certificate_.findings == ()
        assert "of a value of 'age' were not seen to err more" in vote.certificate_.checks["values"]


def visits(seed):
    """Rows of people, several each, of whom hardly more than a few things are known."""
    rng = np.random.default_rng(seed)
    people = rng.integers(3, size=(400, 5))
    X = np.repeat(people, rng.geometric(0.4, size=400), axis=0)
    y = rng.integers(2, size=len(X))
    return X, y


def differ(X, y, steps):
    """In how many columns, the labels among them, a row differs from the one so many rows on."""
    rows, n = np.column_stack([X, y]), len(y) - 25  # those that have one 25 rows on
    return np.mean(np.sum(rows[:n] != rows[steps : n + steps], axis=1))


@pytest.mark.parametrize("kind", ["names", "sparse"])
def test_rows_equal_to_the_one_before_are_found(kind):
    X, y = visits(0)
    less = 1.0 - differ(X, y, 1) / differ(X, y, 13)
    X = sparse.csr_array(X) if kind == "sparse" else X.astype(str)
    with pytest.warns(UserWarning, match="rows beside each other seem to belong together"):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    (finding,) = (text for text in vote.certificate_.findings if "the next one" in text)
    assert f"differ {less:.0%} less from the next one" in finding
    assert "--group" in finding
    vote.verify(X, y)


def applications(seed, rows_each):
    """Applications for jobs: half of the columns are the advertisement's, half their own.

    They have two values each, one as a number, one as a name.
    """
    rng = np.random.default_rng(seed)
    adverts = np.repeat(rng.integers(2, size=(1200 // rows_each, 4)), rows_each, axis=0)
    own = rng.integers(2, size=(1200, 4))
    X = pd.DataFrame(np.hstack([adverts, own])).add_prefix("column ")
    X["column 1"] = np.where(X["column 1"], "yes", "no")
    return X, rng.integers(2, size=1200)


@pytest.mark.parametrize("rows_each", [2, 4, 8])
def test_rows_that_share_some_columns_with_the_next_are_found(rows_each):
    X, y = applications(0, rows_each)
    less = 1.0 - differ(X, y, 1) / differ(X, y, 13)
    with pytest.warns(UserWarning, match=f"differ {less:.0%} less from the next one"):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    vote.verify(X, y)
    # In another order nothing is seen of it, and groups that are said are no finding.
    groups = np.arange(1200) // rows_each
    MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y, groups=groups)
    order = np.random.default_rng(0).permutation(1200)
    again = X.iloc[order].reset_index(drop=True)
    vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(again, y[order])
    assert vote.certificate_.findings == ()


def test_rows_in_the_blocks_of_a_column_that_sorts_are_compared_within():
    """The town is sorted, and its own business; what rows of a town share besides is not."""
    X, y = applications(1, rows_each=3)
    X.insert(0, "town", np.repeat([f"town {number}" for number in range(6)], 200))
    X["river"] = X["town"].isin(["town 1", "town 4"])
    plain = X.drop(columns=["town", "river"])
    with pytest.warns(UserWarning, match="less from the next one in the table"):
        MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    # Rows of each town in any order.
    order = np.random.default_rng(0).permutation(1200)
    order = order[np.argsort(order // 200, kind="stable")]
    X[plain.columns] = plain.iloc[order].to_numpy()
    vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y[order])
    assert vote.certificate_.findings == ()


@pytest.mark.parametrize(
    "by", ["all columns", "the label", "one column", "a hidden sum", "nothing"]
)
def test_independent_rows_in_any_order_are_no_finding(by):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(4, size=(1200, 3)), rng.integers(2, size=1200)
        hidden = X.sum(axis=1) + rng.normal(size=1200)
        keys = {
            "all columns": X.T,
            "the label": [y],
            "one column": [X[:, 1]],
            "a hidden sum": [hidden],
            "nothing": None,
        }[by]
        order = np.arange(1200) if keys is None else np.lexsort(keys)
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(
            X[order], y[order]
        )
        assert vote.certificate_.findings == ()


@pytest.mark.parametrize("rows_each", [8, 20])
def test_rows_most_like_those_beside_them_are_found(rows_each):
    """All people are known from part A, and then no row shows more errors than another."""
    X, y = people(1, rows_each)
    with pytest.warns(UserWarning, match="at most 3 rows away in the table"):
        vote = MajorityVoteClassifier("trees", random_state=1, n_voters=10).fit(X, y)
    assert len(vote.certificate_.findings) == 1
    vote.verify(X, y)
    # In another order they are alike when rounded.
    order = np.random.default_rng(0).permutation(len(y))
    with pytest.warns(UserWarning, match="like another one when rounded"):
        vote = MajorityVoteClassifier("trees", random_state=1, n_voters=10).fit(X[order], y[order])
    assert len(vote.certificate_.findings) == 1


def test_rows_that_belong_together_are_found_by_every_door():
    """The same rows certify a fitted model, a vote, frozen voters, and voters out of bag."""
    X, y = people(1, 8)
    old, labels = people(2, 8)
    model = RandomForestClassifier(20, random_state=0).fit(old, labels)
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0)
    vote.fit(old[::8], labels[::8])
    frozen = MajorityVoteClassifier([FrozenEstimator(model)])
    bags = MajorityVoteClassifier(
        "trees", certification="oob", bound="lacasse", n_voters=5, random_state=0
    )
    doors = {
        "model": (partial(certify_model, model), partial(verify_model, model)),
        "vote": (vote.certify, vote.verify),
        "frozen": (lambda X, y: frozen.fit(X, y).certificate_, frozen.verify),
        "out of bag": (lambda X, y: bags.fit(X, y).certificate_, bags.verify),
    }
    order = np.random.default_rng(0).permutation(len(y))
    for name, (certified, verified) in doors.items():
        with pytest.warns(UserWarning, match="seem to belong together"):
            certificate = certified(X, y)
        found = [text for text in certificate.findings if "seem to belong together" in text]
        assert len(found) == 1, name
        verified(X, y, certificate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what else there is to say of frozen members
            certificate = certified(X[order], y[order])
        assert not any("belong together" in text for text in certificate.findings), name
    # One row of each counts, and nothing is said.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify_model(model, X, y, groups=np.arange(len(y)) // 8)


def imbalanced(rng, dtype=np.float64):
    y = (rng.random(1500) < 0.1).astype(int)
    return (rng.normal(size=(1500, 5)) + 0.8 * y[:, None]).astype(dtype), y


def with_made_up_rows(X, y, rng):
    """Rows of the rare class anywhere between one of them and one of its five nearest: SMOTE."""
    rare = X[y == 1]
    near = np.argsort(((rare[:, None] - rare) ** 2).sum(axis=2), axis=1)[:, 1:6]
    one = rng.integers(len(rare), size=1000)
    other = near[one, rng.integers(5, size=1000)]
    made_up = rare[one] + rng.random((1000, 1)).astype(X.dtype) * (rare[other] - rare[one])
    order = rng.permutation(len(y) + 1000)
    return np.concatenate([X, made_up])[order], np.concatenate([y, np.ones(1000, int)])[order]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_made_up_between_others_are_found(dtype):
    rng = np.random.default_rng(0)
    X, y = imbalanced(rng, dtype)
    more = with_made_up_rows(X, y, rng)
    words = "on the line between two others of their class"
    with pytest.warns(UserWarning, match=words):
        vote = small().fit(*more)
    vote.verify(*more)
    model = DecisionTreeClassifier(max_depth=3).fit(*imbalanced(rng, dtype))
    with pytest.warns(UserWarning, match=words):
        certificate = certify_model(model, *more)
    assert any(words in text for text in certificate.findings)
    # Rows as they came are not, also where columns are one another's sums, or rounded.
    assert certify_model(model, X, y).findings == ()
    assert certify_model(model, np.round(X, 1), y).findings == ()
    one = X[:, [0]] * np.array([1.0, 1.8, 2.0, 5.0, 9.0], dtype)
    # A beginning, an end, and the time between them, but in a few rows; some begin together.
    begin = np.where(rng.random(len(y)) < 0.4, np.round(X[:, 0], 1), X[:, 0])
    terms = np.stack([begin, X[:, 1], X[:, 1] - begin], axis=1)
    terms[:5, 2] += 1.0
    for other in (one, terms[:, [0, 1, 2, 2, 2]]):
        assert not any(words in text for text in certify_model(model, other, y).findings)


@pytest.mark.parametrize(
    "cell", [[1, 2], {"a": 1}, np.inf, 1e300, 1j, b"x", "", None], ids=lambda cell: repr(cell)
)
def test_whatever_voters_of_ones_own_take_is_looked_at(cell):
    """The columns that a pipeline uses are its own matter: the others may hold anything."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=400), "where": rng.integers(60, size=400)})
    X["odd"] = [cell, *[0.5] * 399] if isinstance(cell, float) else [cell] * 400
    voters = make_pipeline(
        ColumnTransformer([("x", "passthrough", ["x"])]), RandomForestClassifier(5, random_state=0)
    )
    vote = MajorityVoteClassifier(voters, random_state=0).fit(X, (X["x"] > 0).astype(int))
    assert "'where'" in vote.certificate_.checks["values"]


def years(seed, drift, n=1500, each=1):
    """Rows of ten years in any order, of which the last three may have another rule."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["year"] = np.repeat(rng.integers(2010, 2020, size=n // each), each)
    rule = np.where((X["year"] > 2016) & drift, X["b"], X["a"])
    return X, (rule > 0).astype(int)


@pytest.mark.parametrize("kind", ["year", "date", "counter"])
def test_times_after_which_rows_are_harder_are_found(kind):
    X, y = years(0, drift=True)
    name = {"year": "year", "date": "posted", "counter": "trend"}[kind]
    if kind == "date":
        X["posted"] = pd.to_datetime(X.pop("year").astype(str) + "-06-01")
    if kind == "counter":
        order = np.argsort(X["year"], kind="stable")
        X, y = X.iloc[order].reset_index(drop=True), y[order]
        X["trend"] = X.pop("year") - 2009
    # What counts up and is not called a time may be a site or a batch.
    words = "If 'trend' counts times" if kind == "counter" else "Later rows are harder"
    with pytest.warns(UserWarning, match=words):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(X, y)
    (finding,) = (text for text in vote.certificate_.findings if words in text)
    assert f"(--time {name!r})" in finding
    before, of_any = (float(share) for share in re.findall(r"(\d+\.\d)%", finding))
    # The rule before is right half of the time; where years are known, trees find the new one.
    assert 40 < before < 60
    assert of_any < 30
    vote.verify(X, y)
    # Where the latest certify, it is in the number.
    late = MajorityVoteClassifier("trees", random_state=0, n_voters=20, certify_size=0.25)
    late.fit(X, y, time=X[name])
    assert late.certificate_.risk_bound > 0.4
    assert not any("harder" in text for text in late.certificate_.findings)


def test_times_after_which_nothing_changes_are_not_found():
    for seed in range(6):
        X, y = years(seed, drift=False)
        vote = MajorityVoteClassifier("trees", random_state=seed, n_voters=10).fit(X, y)
        assert vote.certificate_.findings == ()
        assert "'year'" in vote.certificate_.checks["later rows"]


def test_later_rows_are_looked_at_by_groups():
    X, y = years(1, drift=True, each=3)
    with pytest.warns(UserWarning, match="Later rows are harder"):
        vote = MajorityVoteClassifier("trees", random_state=0, n_voters=20).fit(
            X, y, groups=np.arange(len(y)) // 3
        )
    assert any("Later" in text for text in vote.certificate_.findings)


@pytest.mark.parametrize(("n", "values"), [(60, 10), (1500, 2), (1500, 0)])
def test_of_few_rows_or_times_nothing_is_said(n, values):
    X, y = years(0, drift=False, n=n)
    X["year"] = np.where(values, X["year"] % max(values, 1), np.nan)
    vote = MajorityVoteClassifier("trees", random_state=0, n_voters=10).fit(X, y)
    assert "later rows" not in vote.certificate_.checks
