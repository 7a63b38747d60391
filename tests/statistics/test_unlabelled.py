"""Examples without labels: exact counts, and what they do to a certificate."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure

from certivote import Certificate, CertificateError, UnlabelledStatistics, VoteStatistics, certify
from certivote.bounds import BestBound, get_bound
from certivote.plotting import PlaneDisplay
from certivote.report import report
from reference import MOMENT_BOUNDS, REFERENCES, observed

USERS = [name for name in REFERENCES if REFERENCES[name].uses_unlabelled]


def sample(m, n=6, seed=0):
    """Two-class votes, and the labels."""
    rng = np.random.default_rng([seed, m, n])
    y = rng.integers(2, size=m)
    wrong = rng.random((m, n)) < np.clip(rng.beta(0.4, 1.2, (m, 1)) * rng.uniform(0.5, 1, n), 0, 1)
    return np.where(wrong, 1 - y[:, None], y[:, None]), y


VOTES, Y = sample(600)
MORE, _ = sample(20_000, seed=1)
WEIGHTS = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])


def joined_statistics():
    unlabelled = UnlabelledStatistics.from_votes(MORE)
    return VoteStatistics.from_votes(VOTES, Y).with_unlabelled(unlabelled)


def brute(votes):
    """How often each pair of columns differs."""
    columns = np.asarray(votes).T
    return [[int(np.count_nonzero(a != b)) for b in columns] for a in columns]


# --- counts ---


@settings(max_examples=60, deadline=None)
@given(
    votes=arrays(
        np.int8,
        st.tuples(st.integers(1, 30), st.integers(1, 9)),
        elements=st.sampled_from([-1, 1]),
    )
)
def test_counts_are_those_of_a_loop(votes):
    found = UnlabelledStatistics.from_votes(votes)
    assert found.disagreements.tolist() == brute(votes)
    assert (found.n_samples, found.n_voters) == votes.shape


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(1, 199), max_size=5))
def test_neither_chunks_nor_sums_matter(cuts):
    votes = MORE[:200]
    parts = np.split(votes, sorted(set(cuts)))
    whole = UnlabelledStatistics.from_votes(votes)
    assert UnlabelledStatistics.from_chunks(parts) == whole
    assert sum(map(UnlabelledStatistics.from_votes, parts)) == whole
    assert sum(map(UnlabelledStatistics.from_votes, parts)).sha256 == whole.sha256


@pytest.mark.parametrize(
    "votes",
    [
        MORE[:50].astype(float),
        MORE[:50].astype(str),
        MORE[:50] == 1,
        MORE[:50].astype(object),
        MORE[:50].tolist(),
    ],
)
def test_labels_of_any_type(votes):
    assert UnlabelledStatistics.from_votes(votes).disagreements.tolist() == brute(MORE[:50])


def test_labels_that_only_one_shard_has():
    ones, zeros = np.ones((3, 2), int), np.zeros((2, 2), int)
    both = UnlabelledStatistics.from_votes(ones) + UnlabelledStatistics.from_votes(zeros)
    assert set(both.classes) == {0, 1}
    assert not both.disagreements.any()
    with pytest.raises(ValueError, match="two classes only, got the labels 1, 0, 2"):
        both + UnlabelledStatistics.from_votes(2 * ones)


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ([[0, 1], [2, 0]], "two classes only, got the labels 0, 1, 2: with three, two voters"),
        ([0, 1], "unlabelled must have 2 dimension"),
        (np.empty((0, 2)), "unlabelled must not be empty"),
        ([[0.0, np.nan]], "unlabelled must not have missing labels"),
    ],
)
def test_votes_that_say_nothing(votes, words):
    with pytest.raises(ValueError, match=words):
        UnlabelledStatistics.from_votes(votes)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([[0, 5], [5, 0]], "between 0 and n_samples = 4"),
        ([[0, -1], [-1, 0]], "between 0"),
        ([[0, 1], [2, 0]], "symmetric"),
        ([[1, 1], [1, 0]], "diagonal"),
        ([[0, 1, 1], [1, 0, 1]], "shape"),
        ([[0.0, 1.0], [1.0, 0.0]], "integers"),
    ],
)
def test_impossible_counts(counts, words):
    with pytest.raises(ValueError, match=words):
        UnlabelledStatistics(4, counts)


def test_other_voters_are_refused():
    two = UnlabelledStatistics.from_votes(MORE[:, :2])
    with pytest.raises(ValueError, match="same voters, got 6 and 2"):
        UnlabelledStatistics.from_votes(MORE) + two
    with pytest.raises(ValueError, match="the same 6 voters, got 2"):
        VoteStatistics.from_votes(VOTES, Y).with_unlabelled(two)


# --- moments ---


def test_the_disagreement_is_that_of_all_examples():
    statistics = VoteStatistics.from_votes(VOTES, Y)
    joined = statistics.with_unlabelled(UnlabelledStatistics.from_votes(MORE))
    moments, own = joined.moments(WEIGHTS), statistics.moments(WEIGHTS)
    votes = np.concatenate([VOTES, MORE])
    expected = WEIGHTS @ np.array(brute(votes)) @ WEIGHTS / len(votes)
    assert moments.disagreement == pytest.approx(expected, rel=1e-13)
    assert moments.disagreement_size == len(votes)
    for name in ("gibbs_risk", "joint_error", "gibbs_size", "joint_size"):
        assert getattr(moments, name) == getattr(own, name)
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        above, below = (joined.moments_at(WEIGHTS + s * step).disagreement for s in (1, -1))
        slope = (above - below) / 2e-6
        assert moments.disagreement_gradient[j] == pytest.approx(slope, rel=1e-8)


def test_joined_statistics_merge_and_are_told_apart():
    first = VoteStatistics.from_votes(VOTES[:200], Y[:200])
    second = VoteStatistics.from_votes(VOTES[200:], Y[200:])
    more = UnlabelledStatistics.from_votes(MORE)
    whole = VoteStatistics.from_votes(VOTES, Y)
    joined = whole.with_unlabelled(more)
    assert first.with_unlabelled(more) + second == joined
    assert first + second.with_unlabelled(more) == joined
    halves = [UnlabelledStatistics.from_votes(part) for part in np.split(MORE, 2)]
    assert first.with_unlabelled(halves[0]) + second.with_unlabelled(halves[1]) == joined
    assert whole.with_unlabelled(halves[0]).with_unlabelled(halves[1]) == joined
    assert joined != whole
    assert joined.sha256 != whole.sha256
    assert joined.sha256 != whole.with_unlabelled(halves[0]).sha256


def test_a_file_keeps_the_unlabelled_counts(tmp_path):
    joined = joined_statistics()
    joined.save(tmp_path / "joined.npz")
    again = VoteStatistics.load(tmp_path / "joined.npz")
    assert again == joined
    assert again.sha256 == joined.sha256
    assert again.moments(WEIGHTS).to_dict() == joined.moments(WEIGHTS).to_dict()


@pytest.mark.parametrize("constant", ["maurer", "exact"])
@pytest.mark.parametrize("name", USERS)
def test_value_and_gradient(name, constant):
    """The formulas with d and its size from all examples, in 50 digits; finite differences."""
    joined = joined_statistics()
    bound, prior = get_bound(name, constant=constant), np.full(6, 1 / 6)
    moments = joined.moments(WEIGHTS)
    value, gradient = bound.value_and_gradient(joined, WEIGHTS)
    kl = float(WEIGHTS @ np.log(6 * WEIGHTS))
    r, e, d = moments.gibbs_risk, moments.joint_error, moments.disagreement
    seen = observed(r, e, kl, 600, 0.05, constant, d=d, disagreement_size=20_600)
    expected = REFERENCES[name].value(seen)
    assert expected - 1e-14 <= value <= expected + 1e-11
    direction = np.array([1, -1, 0.5, -0.5, 0.25, -0.25]) * 1e-2
    h = 1e-3
    slope = (
        bound.value(joined, WEIGHTS + h * direction, prior)
        - bound.value(joined, WEIGHTS - h * direction, prior)
    ) / (2 * h)
    assert gradient @ direction == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_bounds_that_need_one_sample_refuse_two(name):
    joined = joined_statistics()
    bound = get_bound(name)
    if "joint" in bound.needs:
        assert name not in USERS
        with pytest.raises(ValueError, match=f"{name}.*needs joint"):
            bound.value(joined, WEIGHTS)
        evidence = joined.moments(WEIGHTS).to_dict()
        with pytest.raises(ValueError, match=f"{name}.*of the same examples.*20600"):
            bound.from_evidence(evidence, WEIGHTS, WEIGHTS)
    elif name not in USERS:  # those that look at r and e only
        alone = bound.value(VoteStatistics.from_votes(VOTES, Y), WEIGHTS)
        assert bound.value(joined, WEIGHTS) == alone


# --- certificates ---


@pytest.mark.parametrize("name", USERS)
def test_more_examples_make_a_smaller_certificate(name, tmp_path):
    # As published: 2r, which some have for nothing otherwise, needs no disagreement.
    bound = get_bound(name, constant="maurer")
    plain = certify(VOTES, Y, bound=bound)
    certificate = certify(VOTES, Y, bound=bound, unlabelled=MORE)
    assert certificate.risk_bound < plain.risk_bound - 0.01
    assert certificate.n_samples == 600
    assert certificate.evidence["disagreement_size"] == 20_600
    assert certificate.provenance == {"unlabelled_samples": 20_000}
    assert "unlabelled" in certificate.assumptions[-1]
    assert not any("unlabelled" in text for text in plain.assumptions)
    certificate.to_json(tmp_path / "c.json")
    again = Certificate.from_json(tmp_path / "c.json")
    again.verify()
    again.verify(VOTES, Y, unlabelled=MORE)
    again.verify(VOTES, Y, unlabelled=UnlabelledStatistics.from_votes(MORE))
    statistics = VoteStatistics.from_votes(VOTES, Y)
    again.verify(statistics=statistics, unlabelled=MORE)
    counted = certify(statistics, bound=bound, unlabelled=UnlabelledStatistics.from_votes(MORE))
    assert counted.risk_bound == certificate.risk_bound
    assert "20000" in report(certificate)


def test_verify_wants_the_unlabelled_votes_that_were_used():
    certificate = certify(VOTES, Y, bound="dis", unlabelled=MORE)
    with pytest.raises(ValueError, match="unlabelled must be the votes on the 20000"):
        certificate.verify(VOTES, Y)
    with pytest.raises(ValueError, match="votes and y or statistics too"):
        certificate.verify(unlabelled=MORE)
    with pytest.raises(CertificateError, match="unlabelled_samples is claimed to be 20000"):
        certificate.verify(VOTES, Y, unlabelled=MORE[:-1])
    changed = MORE.copy()
    changed[0, 0] = 1 - changed[0, 0]
    with pytest.raises(CertificateError, match="counts"):
        certificate.verify(VOTES, Y, unlabelled=changed)
    with pytest.raises(ValueError, match="the certificate used none"):
        certify(VOTES, Y, bound="dis").verify(VOTES, Y, unlabelled=MORE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["evidence"].update(disagreement_size=30_000), "disagreement_size"),
        (lambda c: c["evidence"].update(gibbs_size=20_600), "gibbs_size|joint_size"),
        (lambda c: c["provenance"].update(unlabelled_samples=0), "unlabelled_samples"),
        (lambda c: c["provenance"].update(unlabelled_samples="many"), "unlabelled_samples"),
        (lambda c: c["provenance"].clear(), "disagreement_size"),
        (lambda c: c["assumptions"].pop(), "assumptions"),
        (lambda c: c.update(bound="lacasse2"), "of the same examples"),
    ],
)
def test_forged_sizes_are_refused(change, words):
    fields = json.loads(certify(VOTES, Y, bound="seeger", unlabelled=MORE).to_json())
    change(fields)
    with pytest.raises(CertificateError, match=words):
        Certificate.from_dict(fields)


BEST_OF_ROWS = BestBound(shares=(("heldout", 0.9), ("dirichlet", 0.1)))


@pytest.mark.parametrize(
    "bound", [*(name for name in REFERENCES if name not in [*USERS, "best"]), BEST_OF_ROWS], ids=str
)
def test_certify_refuses_what_a_bound_would_not_use(bound):
    name = get_bound(bound).name
    with pytest.raises(ValueError, match=f"{', '.join(USERS)}.*got '{name}'"):
        certify(VOTES, Y, bound=bound, unlabelled=MORE)


@pytest.mark.parametrize("prior", [None, WEIGHTS])
def test_the_default_takes_a_member_that_uses_them(prior, tmp_path):
    """Whichever member wins: the test of the prior vote looks at labelled examples only."""
    certificate = certify(VOTES, Y, unlabelled=MORE, prior=prior)
    assert certificate.bound == "best"
    shares = [["heldout", 0.9], ["occam", 0.05], ["seeger", 0.05]]
    assert certificate.bound_parameters["shares"] == shares
    assert certificate.provenance["unlabelled_samples"] == 20_000
    assert certificate.evidence["winner"] == "heldout"
    certificate.to_json(tmp_path / "c.json")
    again = Certificate.from_json(tmp_path / "c.json")
    again.verify()
    again.verify(VOTES, Y, unlabelled=MORE)
    with pytest.raises(CertificateError, match="unlabelled_samples is claimed to be 20000"):
        again.verify(VOTES, Y, unlabelled=MORE[:-1])
    fields = json.loads(certificate.to_json())
    for size in (599, 20_600):
        changed = fields | {"evidence": fields["evidence"] | {"vote_size": size}}
        with pytest.raises(CertificateError, match="vote_size"):
            Certificate.from_dict(changed)
    learned = certify(VOTES, Y, unlabelled=MORE, weights=WEIGHTS)
    assert learned.evidence["winner"] == "seeger"
    assert learned.evidence["disagreement_size"] == 20_600
    learned.verify(VOTES, Y, unlabelled=MORE)


@pytest.mark.parametrize("where", ["votes", "y", "unlabelled", "together"])
def test_a_third_class_is_refused_with_the_reason(where):
    arguments = {"votes": VOTES.copy(), "y": Y.copy(), "unlabelled": MORE.copy()}
    if where == "together":  # two labels in each, three in all
        arguments["unlabelled"][arguments["unlabelled"] == 1] = 2
    else:
        arguments[where].flat[7] = 2
    with pytest.raises(ValueError, match="two voters that disagree may both err"):
        certify(**arguments, bound="seeger")


def test_statistics_that_contradict_the_labelled_ones_say_nothing():
    """Voters that never err and yet disagree: the value is 1, and can be drawn and reported."""
    votes, y = np.ones((3_000, 2), int), np.ones(3_000, int)
    more = np.tile([[0, 1], [1, 0]], (20_000, 1))
    for name in USERS:
        certificate = certify(votes, y, weights=[0.5, 0.5], bound=name, unlabelled=more)
        assert certificate.risk_bound == 1.0
        certificate.verify(votes, y, unlabelled=more)
        assert "vacuous" in report(certificate)


def test_the_plane_shows_the_disagreement_of_all_examples():
    certificate = certify(VOTES, Y, bound="seeger", unlabelled=MORE)
    display = PlaneDisplay.from_certificate(certificate, ax=Figure().subplots())
    assert display.disagreement == certificate.evidence["disagreement"]
    e, d = display.worst
    r = e + d / 2
    worst = min(1 - (1 - 2 * r) ** 2 / (1 - 2 * d), 2 * r)
    assert worst == pytest.approx(certificate.risk_bound, abs=1e-7)


def test_the_same_examples_twice_are_told():
    rng = np.random.default_rng(0)
    more = UnlabelledStatistics.from_votes(rng.integers(2, size=(2000, 4)))
    votes, y = rng.integers(2, size=(60, 4)), rng.integers(2, size=60)
    first, second = (
        VoteStatistics.from_votes(votes[rows], y[rows]).with_unlabelled(more)
        for rows in (slice(30), slice(30, 60))
    )
    with pytest.warns(UserWarning, match="each counts twice"):
        first + second


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_labelled_examples_that_count_as_unlabelled_too_are_told(order):
    with pytest.warns(UserWarning, match="each counts twice"):
        certificate = certify(VOTES, Y, bound="dis", unlabelled=VOTES[order])
    assert any("as often as on the labelled ones" in text for text in certificate.findings)
    with pytest.warns(UserWarning, match="each counts twice"):
        certificate.verify(VOTES, Y, unlabelled=VOTES)
    # As many others are not the same, nor are all of a sample so small that chance would do it.
    others, _ = sample(600, seed=3)
    assert certify(VOTES, Y, bound="dis", unlabelled=others).findings == ()
    few = certify(VOTES[:5, :2], Y[:5], bound="dis", unlabelled=VOTES[:5, :2])
    assert few.findings == ()


@pytest.mark.parametrize("times", [2, 50])
def test_copies_of_the_labelled_examples_are_told(times):
    with pytest.warns(UserWarning, match="each counts twice"):
        copied = certify(VOTES, Y, bound="dis", unlabelled=np.tile(VOTES, (times, 1)))
    assert any("as often as on the labelled ones" in text for text in copied.findings)
    others, _ = sample(600 * times, seed=3)
    assert certify(VOTES, Y, bound="dis", unlabelled=others).findings == ()


def test_unlabelled_votes_that_are_merged_twice_among_others_are_told():
    first, second, third = (UnlabelledStatistics.from_votes(sample(600, 8, k)[0]) for k in range(3))
    assert (first + second + third).findings == ()
    with pytest.warns(UserWarning, match="each counts twice"):
        assert len((first + second + first).findings) == 1


@pytest.mark.parametrize("names", [("cat", "dog", "cow"), (0, 1, 2), (0.5, 1.5, 2.5)])
def test_a_third_label_is_found_after_a_file_too(names, tmp_path):
    first, second, third = names
    labelled = VoteStatistics.from_votes([[first, second]], [second])
    more = UnlabelledStatistics.from_votes([[first, second], [second, second]])
    labelled.with_unlabelled(more).save(tmp_path / "so-far.npz")
    again = VoteStatistics.load(tmp_path / "so-far.npz")
    assert again.unlabelled.classes == more.classes
    with pytest.raises(ValueError, match="two classes only"):
        again.with_unlabelled(UnlabelledStatistics.from_votes([[first, third]]))
