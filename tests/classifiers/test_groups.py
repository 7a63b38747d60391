"""Rows that belong together, and rows in the order of time."""

import warnings
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from certivote import Certificate, MajorityVoteClassifier, certify_model, verify_model
from certivote.certificate import CertificateError


def panel(n_groups, rng, rows=8, noise=0.02):
    """Groups whose rows are nearly the same, with a label that nothing tells."""
    groups = np.repeat(np.arange(n_groups), rows)
    X = rng.normal(size=(n_groups, 4))[groups] + noise * rng.normal(size=(groups.size, 4))
    y = (rng.random(n_groups) < 0.5)[groups]
    order = rng.permutation(groups.size)
    return X[order], y[order], groups[order]


X, Y, GROUPS = panel(120, np.random.default_rng(0))
# As many that have nothing to do with each other.
ALONE = np.random.default_rng(7).normal(size=X.shape)


def small(voters="trees", **settings):
    return MajorityVoteClassifier(voters, n_voters=5, random_state=0, **settings)


def test_whole_groups_train_or_certify_and_one_row_of_each_certifies():
    seen = {}

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y):
            seen["trained"] = X[:, 0]
            return super().fit(X, y)

    vote = MajorityVoteClassifier(voters=[Spy()], random_state=0).fit(X, Y, groups=GROUPS)
    trained = np.isin(X[:, 0], seen["trained"])
    # All rows of a group, or none.
    assert all(len(set(trained[group == GROUPS])) == 1 for group in range(120))
    certificate = vote.certificate_
    assert certificate.n_samples == 60 == 120 - len(set(GROUPS[trained]))
    assert certificate.provenance["grouped_by"] == "group"
    assert certificate.provenance["voter_samples"] == trained.sum() == 480
    assert "errs on a random row of a new 'group' with" in certificate.claim
    assert any("Of each one row was drawn at random" in text for text in certificate.assumptions)
    assert not any("several rows" in text for text in certificate.assumptions)
    vote.verify(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="groups must be given"):
        vote.verify(X, Y)
    with pytest.raises(CertificateError):
        vote.verify(X, Y, groups=GROUPS[::-1])
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_each_row_of_a_group_is_drawn_as_often():
    """The first rows of the groups certify in one eighth of all draws, and so do the last."""
    model = type("Always", (), {"predict": lambda self, X: np.zeros(len(X), dtype=int)})()
    n, rows = 300, 8
    groups, place = np.repeat(np.arange(n), rows), np.tile(np.arange(rows), n)
    shares = []
    for seed in range(20):
        # It errs on the rows of one place only: so many of them were drawn.
        y = (place == seed % rows).astype(int)
        certificate = certify_model(
            model, np.arange(n * rows)[:, None], y, groups=groups, seed=seed
        )
        assert certificate.n_samples == n
        shares.append(certificate.evidence["vote_errors"] / n)
    assert np.mean(shares) == pytest.approx(1 / rows, abs=4 * np.sqrt(7 / 64 / (20 * n)))


def test_without_groups_the_certificate_is_false_and_with_them_it_is_not():
    """Labels that nothing tells: every vote errs on half of the rows of new groups."""
    rng = np.random.default_rng(1)
    held, told = {"groups": 0, "rows": 0}, 0
    for seed in range(20):
        X, y, groups = panel(100, rng)
        vote = MajorityVoteClassifier("trees", n_voters=5, random_state=seed)
        held["groups"] += vote.fit(X, y, groups=groups).certificate_.risk_bound >= 0.5
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            careless = vote.fit(X, y).certificate_
        held["rows"] += careless.risk_bound >= 0.5
        told += any("like another one when rounded" in text for text in careless.findings)
    assert held["groups"] >= 17
    assert held["rows"] == 0
    assert told >= 17


def test_a_series_gives_its_name_and_must_have_the_same_index():
    frame, y = pd.DataFrame(X), pd.Series(Y)
    vote = small().fit(frame, y, groups=pd.Series(GROUPS, name="patient"))
    assert "a new 'patient'" in vote.certificate_.claim
    with pytest.raises(ValueError, match="same index"):
        small().fit(frame, y, groups=pd.Series(GROUPS, index=frame.index[::-1]))


def test_frozen_voters_and_new_data():
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    other, y, groups = panel(80, np.random.default_rng(2))
    vote = small(voters=FrozenEstimator(tree)).fit(other, y, groups=groups)
    assert (vote.certificate_.n_samples, vote.certificate_.provenance["seed"]) == (80, 0)
    vote.verify(other, y, groups=groups)
    with pytest.raises(ValueError, match="time is for voters that are trained here"):
        small(voters=FrozenEstimator(tree)).fit(other, y, time=groups)
    vote = small().fit(ALONE, Y)
    for model in (vote, tree):
        certificate = certify_model(model, other, y, groups=groups, seed=3)
        assert (certificate.n_samples, certificate.provenance["seed"]) == (80, 3)
        verify_model(model, other, y, certificate, groups=groups)
        with pytest.raises(ValueError, match="groups must be given"):
            verify_model(model, other, y, certificate)
        with pytest.warns(UserWarning, match="like another one when rounded"):
            plain = certify_model(model, other, y)
        with pytest.raises(ValueError, match="groups must not be given"):
            verify_model(model, other, y, plain, groups=groups)
        # Another seed draws other rows, and the certificate says which one it was.
        fields = certificate.to_dict()
        fields["provenance"]["seed"] = 4
        with pytest.raises(CertificateError):
            verify_model(model, other, y, Certificate.from_dict(fields), groups=groups)


def test_the_latest_rows_certify():
    rng = np.random.default_rng(0)
    time = rng.permutation(len(Y))
    late = time >= len(Y) // 2
    # What is later is told by nothing, and what is earlier by the first column.
    X = ALONE
    y = np.where(late, rng.random(len(Y)) < 0.5, X[:, 0] > 0)
    vote = small().fit(X, y, time=time)
    assert vote.certificate_.neighbours.observed > 0.4
    assert vote.certificate_.n_samples == late.sum()
    assert any("latest rows by 'time' certify" in text for text in vote.certificate_.assumptions)
    vote.verify(X, y, time=time)
    with pytest.raises(ValueError, match="time must be given"):
        vote.verify(X, y)
    dates = np.datetime64("2020-01-01") + time.astype("timedelta64[D]")
    assert small().fit(X, y, time=dates).certificate_ == vote.certificate_
    zoned = pd.Series(dates).dt.tz_localize("Asia/Kolkata")
    for moments in (dates.tolist(), zoned.rename("time"), [day.to_pydatetime() for day in zoned]):
        assert small().fit(X, y, time=moments).certificate_ == vote.certificate_
    with pytest.raises(ValueError, match="time zones in all rows, or in none"):
        small().fit(X, y, time=[*pd.Series(dates[:5]), *zoned[5:]])


def test_rows_of_one_time_stay_together():
    time = np.arange(len(Y)) // 100
    vote = small().fit(ALONE, Y, time=time)
    # 480 of 960 would cut the rows of time 4 in two: all of them certify.
    assert vote.certificate_.n_samples == 960 - 400


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"groups": GROUPS[:10]}, "groups must be one for each of 960 rows, got 10"),
        ({"groups": np.where(GROUPS == 0, np.nan, GROUPS)}, "groups must not have missing"),
        ({"groups": np.zeros(960)}, "leaves nothing to train"),
        ({"groups": np.array([1, "1"] * 480, dtype=object)}, "numbers and texts together"),
        ({"groups": GROUPS, "time": GROUPS}, "must not be given together"),
        ({"time": np.zeros(960)}, "time leaves nothing to train"),
        ({"time": np.array(["a"] * 960)}, "time must be numbers or dates"),
        ({"time": np.where(GROUPS == 0, np.nan, GROUPS)}, "time must not have missing"),
    ],
)
def test_bad_groups_and_times(settings, words):
    with pytest.raises(ValueError, match=words):
        small().fit(X, Y, **settings)


def test_rows_that_were_not_drawn_are_known_too():
    vote = small().fit(X, Y, groups=GROUPS)
    assert vote.known_share(X) == 1.0
    with pytest.raises(ValueError, match="needs new data"):
        vote.certify(X[:400], Y[:400])


def test_a_draw_says_its_seed():
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    other, y, groups = panel(30, np.random.default_rng(2))
    fields = certify_model(tree, other, y, groups=groups).to_dict()
    del fields["provenance"]["seed"]
    with pytest.raises(CertificateError, match="seed of the draw"):
        Certificate.from_dict(fields)


def test_a_vote_of_groups_cannot_grow_by_rows():
    vote = small().fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="partial_fit cannot add"):
        vote.partial_fit(X + 1, Y)


@pytest.mark.parametrize("spelled", [int, float, str, "{:03d}".format, " {} ".format])
def test_groups_of_the_fit_are_known_by_their_names(spelled):
    """Later rows of the same groups, in any spelling, and how many: counted with a set."""
    vote = small().fit(X, Y, groups=GROUPS)
    rng = np.random.default_rng(5)
    other, y, groups = panel(90, rng)
    groups += 70  # 70 to 159, of which the fit has those up to 119
    n = len(set(groups.tolist()) & set(GROUPS.tolist()))
    named = np.array([spelled(group) for group in groups])
    for make, verify in (
        (vote.certify, vote.verify),
        (lambda *of, **more: certify_model(vote, *of, **more), None),
    ):
        with pytest.warns(UserWarning, match=f"{n} of the 90 groups that certify are called like"):
            certificate = make(other, y, groups=named)
        (finding,) = certificate.findings
        assert "not new to it" in finding
        if verify is not None:
            verify(other, y, certificate, groups=named)
            with pytest.raises(CertificateError, match="leaves out a finding"):
                verify(other, y, replace(certificate, findings=()), groups=named)


def test_groups_with_other_names_are_no_finding_and_among_the_checks():
    vote = small().fit(X, Y, groups=GROUPS)
    other, y, groups = panel(90, np.random.default_rng(5))
    certificate = vote.certify(other, y, groups=groups + 1000)
    assert certificate.findings == ()
    assert certificate.checks["training rows"].endswith("Nor is one of the 90 groups, by its name.")
    vote.verify(other, y, certificate, groups=groups + 1000)
    # A vote that was fitted without groups knows none.
    assert small().fit(ALONE, Y).certify(other, y, groups=groups).findings == ()


def test_a_vote_of_groups_that_is_certified_without_them():
    vote = small().fit(X, Y, groups=GROUPS)
    other, y, _ = panel(90, np.random.default_rng(5))
    with (
        pytest.warns(UserWarning, match="these examples have none"),
        pytest.warns(UserWarning, match="like another one when rounded"),
    ):
        certificate = vote.certify(other, y)
    assert len(certificate.findings) == 2
    vote.verify(other, y, certificate)


def test_a_vote_remembers_its_groups_in_a_file_and_inside_of_others(tmp_path):
    joblib.dump(small().fit(X, Y, groups=GROUPS), tmp_path / "vote.joblib")
    vote = joblib.load(tmp_path / "vote.joblib")
    other, y, groups = panel(90, np.random.default_rng(5))
    around = make_pipeline(FunctionTransformer(), vote)
    for make in (
        lambda: vote.certify(other, y, groups=groups),
        lambda: certify_model(around, other, y, groups=groups),
        lambda: small(voters=FrozenEstimator(vote)).fit(other, y, groups=groups).certificate_,
    ):
        with pytest.warns(UserWarning, match="90 of the 90 groups that certify are called like"):
            assert sum("90 of the 90 groups" in text for text in make().findings) == 1


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (("P0", "p0"), True),
        (("P0", "P0 "), True),
        (("P  0", "P 0"), True),
        (("7", "07"), True),
        (("p-007", "P-7"), True),
        (("7", "7.0"), True),
        (("P1", "P10"), False),
        (("0.5", "0.05"), False),
        (("10", "1"), False),
    ],
)
def test_groups_that_are_written_in_two_ways(names, alike):
    """Each row of one group has one of two names: they may be one, and count as two."""
    named = np.array([f"G{group}" for group in GROUPS], dtype=object)
    named[GROUPS == 3] = np.resize(np.array(names, dtype=object), (GROUPS == 3).sum())
    tree = DecisionTreeClassifier(random_state=0).fit(X[:8], Y[:8])
    vote = small(voters=FrozenEstimator(tree)).fit(ALONE, Y)
    for make, verify in (
        (lambda: small().fit(X, Y, groups=named).certificate_, None),
        (lambda: vote.certify(X, Y, groups=named), vote.verify),
        (lambda: certify_model(tree, X, Y, groups=named), partial(verify_model, tree)),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            certificate = make()
        found = [text for text in certificate.findings if "capitals, blanks or leading" in text]
        assert len(found) == alike
        assert all(repr(name) in text for text in found for name in names)
        assert set(found) <= {str(warning.message) for warning in caught}
        if verify is not None:
            verify(X, Y, certificate, groups=named)
