"""Voters tested outside their own bags: counts, moments, certificates, and whether they hold."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy.stats import binomtest

from certivote import Certificate, CertificateError, VoteStatistics, certify, minimize
from certivote.bounds import BestBound, get_bound
from certivote.plotting import PlaneDisplay
from certivote.report import report
from certivote.statistics import OutOfBagStatistics
from reference import MOMENT_BOUNDS, REFERENCES

EVERYTHING_ELSE = [name for name in REFERENCES if name not in [*MOMENT_BOUNDS, "best"]]


def sample(m=3_000, n=6, in_bag=0.4, seed=0):
    """Correlated losses, and bags of a share of the examples."""
    rng = np.random.default_rng([seed, m, n])
    losses = rng.random((m, n)) < rng.beta(0.3, 2.5, (m, 1)) * rng.uniform(0.5, 1.5, n)
    return losses, rng.random((m, n)) < in_bag


LOSSES, IN_BAG = sample()
WEIGHTS = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
# Different bags of one sample: every voter and every pair has its own number of examples.
STATISTICS = OutOfBagStatistics.from_losses(LOSSES, IN_BAG)


def tables(losses, in_bag):
    """m_jk, the errors of the first and of both: example by example and pair by pair."""
    n = losses.shape[1]
    sizes, errors, tandem = (np.zeros((n, n), dtype=int) for _ in range(3))
    for erring, inside in zip(losses, in_bag, strict=True):
        for j in range(n):
            for k in range(n):
                if not inside[j] and not inside[k]:
                    sizes[j, k] += 1
                    errors[j, k] += int(erring[j])
                    tandem[j, k] += int(erring[j] and erring[k])
    return sizes, errors, tandem


# --- counts ---


@settings(max_examples=60, deadline=None)
@given(m=st.integers(1, 25), n=st.integers(1, 7), seed=st.integers(0, 10**6))
def test_counts_are_those_of_a_loop(m, n, seed):
    rng = np.random.default_rng(seed)
    losses, in_bag = rng.random((m, n)) < 0.4, rng.random((m, n)) < 0.3
    in_bag[0] = False  # every pair has one example at least
    statistics = OutOfBagStatistics.from_losses(losses, in_bag)
    sizes, errors, tandem = tables(losses, in_bag)
    assert (statistics.n_samples, statistics.n_voters) == (m, n)
    np.testing.assert_array_equal(statistics.sizes, sizes)
    np.testing.assert_array_equal(statistics.errors, errors)
    np.testing.assert_array_equal(statistics.tandem, tandem)
    erring = (losses & ~in_bag).sum(axis=0)
    np.testing.assert_array_equal(statistics.error_rates, erring / (~in_bag).sum(axis=0))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, float])
def test_types_do_not_matter_and_what_is_in_the_bag_does_not_either(dtype):
    changed = LOSSES ^ IN_BAG
    again = OutOfBagStatistics.from_losses(changed.astype(dtype), IN_BAG.astype(dtype).tolist())
    assert again.sha256 == STATISTICS.sha256
    np.testing.assert_array_equal(again.tandem, STATISTICS.tandem)


def test_votes_and_losses_say_the_same():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], size=len(LOSSES))
    other = {"a": "b", "b": "c", "c": "a"}
    wrong = np.array([other[label] for label in y])
    votes = np.where(LOSSES, wrong[:, None], y[:, None])
    assert OutOfBagStatistics.from_votes(votes, y, IN_BAG).sha256 == STATISTICS.sha256


def test_the_digest_is_of_the_counts_in_any_order_of_the_examples():
    order = np.random.default_rng(0).permutation(len(LOSSES))
    again = OutOfBagStatistics.from_losses(LOSSES[order], IN_BAG[order])
    assert again.sha256 == STATISTICS.sha256
    where = tuple(np.argwhere(~IN_BAG)[0])
    for table in (LOSSES, IN_BAG):
        changed = table.copy()
        changed[where] ^= True
        pair = (changed, IN_BAG) if table is LOSSES else (LOSSES, changed)
        assert OutOfBagStatistics.from_losses(*pair).sha256 != STATISTICS.sha256
    plain = VoteStatistics.from_losses(LOSSES)
    assert OutOfBagStatistics.from_losses(LOSSES, np.zeros_like(IN_BAG)).sha256 != plain.sha256


def test_without_bags_they_say_what_plain_statistics_say():
    statistics = OutOfBagStatistics.from_losses(LOSSES, np.zeros_like(IN_BAG))
    found, plain = (s.moments(WEIGHTS) for s in (statistics, VoteStatistics.from_losses(LOSSES)))
    for name in ("gibbs_risk", "joint_error", "disagreement"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-12)
    assert found.gibbs_size == found.joint_size == found.disagreement_size == len(LOSSES)


# --- moments ---


def test_moments_are_means_over_voters_and_over_pairs():
    moments = STATISTICS.moments(WEIGHTS)
    r = e = d = 0.0
    for j, w in enumerate(WEIGHTS):
        outside = ~IN_BAG[:, j]
        r += w * LOSSES[outside, j].mean()
        for k, v in enumerate(WEIGHTS):
            both = outside & ~IN_BAG[:, k]
            e += w * v * (LOSSES[both, j] & LOSSES[both, k]).mean()
            d += w * v * (LOSSES[both, j] ^ LOSSES[both, k]).mean()
    assert moments.gibbs_risk == pytest.approx(r, rel=1e-12)
    assert moments.joint_error == pytest.approx(e, rel=1e-12)
    assert moments.disagreement == pytest.approx(d, rel=1e-12)


def test_the_disagreement_is_not_that_of_one_sample():
    """Here r and e are not of the same examples: 2(r − e) is another number."""
    moments = STATISTICS.moments(WEIGHTS)
    assert not moments.one_sample
    broken = 2.0 * (moments.gibbs_risk - moments.joint_error)
    assert abs(moments.disagreement - broken) > 1e-4
    # One voter errs on its own examples only: 2(r − e) is then more than any two of them disagree.
    losses, in_bag = np.zeros((4, 2)), np.array([[0, 1], [0, 1], [0, 0], [0, 0]])
    losses[:2, 0] = 1
    apart = OutOfBagStatistics.from_losses(losses, in_bag).moments([0.5, 0.5])
    # The first voter with itself errs on half of its four examples; with the other one never.
    assert (apart.gibbs_risk, apart.joint_error, apart.disagreement) == (0.25, 0.125, 0.0)


def test_sizes_are_the_smallest():
    moments = STATISTICS.moments(WEIGHTS)
    outside = ~IN_BAG
    assert moments.gibbs_size == outside.sum(axis=0).min()
    pairs = (outside.T.astype(int) @ outside).min()
    assert moments.joint_size == moments.disagreement_size == pairs < moments.gibbs_size
    # Of all voters, whatever their weights: these are learned afterwards.
    assert STATISTICS.moments(np.eye(6)[0]).joint_size == pairs


def test_gradients_against_finite_differences():
    moments, h = STATISTICS.moments(WEIGHTS), 1e-5
    for j, step in enumerate(h * np.eye(6)):
        above, below = (STATISTICS.moments_at(WEIGHTS + s * step) for s in (1, -1))
        for name in ("gibbs_risk", "joint_error", "disagreement"):
            gradient = getattr(moments, f"{name.partition('_')[0]}_gradient")
            slope = (getattr(above, name) - getattr(below, name)) / (2 * h)
            assert gradient[j] == pytest.approx(slope, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("constant", ["maurer", "exact", None])
@pytest.mark.parametrize("name", MOMENT_BOUNDS)
def test_gradients_of_bounds_against_finite_differences(name, constant):
    bound, prior = get_bound(name, constant=constant), np.full(6, 1 / 6)
    value, gradient = bound.value_and_gradient(STATISTICS, WEIGHTS, prior)
    assert value < 1.0
    rng, h = np.random.default_rng(0), 1e-5
    for _ in range(3):
        direction = rng.standard_normal(6)
        direction -= direction.mean()
        above, below = (
            bound.value(STATISTICS, WEIGHTS + s * h * direction, prior) for s in (1, -1)
        )
        assert gradient @ direction == pytest.approx((above - below) / (2 * h), rel=1e-5)


# --- certificates ---


@pytest.mark.parametrize("name", [*MOMENT_BOUNDS, "best", None])
def test_every_bound_on_moments_goes_all_the_way(name, tmp_path):
    bound = get_bound("best" if name is None else name)
    learned = minimize(bound, STATISTICS)
    assert learned.converged
    assert learned.value == pytest.approx(bound.value(STATISTICS, learned.weights), abs=1e-12)
    certificate = certify(STATISTICS, bound=name)
    assert certificate.bound == bound.name
    assert certificate.risk_bound == min(1.0, learned.value) < 1.0
    certificate.to_json(tmp_path / "certificate.json")
    again = Certificate.from_json(tmp_path / "certificate.json")
    assert again == certificate == pickle.loads(pickle.dumps(certificate))
    again.verify()
    again.verify(statistics=OutOfBagStatistics.from_losses(LOSSES[::-1], IN_BAG[::-1]))
    page = report(again)
    for text in (again.claim, "out of bag", "Each voter was trained on a part", "One sample"):
        assert text in page
    if name in MOMENT_BOUNDS:
        display = PlaneDisplay.from_certificate(again, ax=Figure().subplots())
        assert display.figure_ is not None


def test_the_certificate_names_its_kind_and_its_sizes_and_assumes_what_it_must():
    certificate = certify(STATISTICS, bound="lacasse")
    moments = STATISTICS.moments(certificate.weights)
    assert certificate.provenance == {"statistics": "out of bag"}
    assert certificate.n_samples == len(LOSSES)
    assert certificate.evidence == moments.to_dict()
    assert certificate.evidence["one_sample"] is False
    assert certificate.evidence["joint_size"] == STATISTICS.sizes.min()
    assumed = " ".join(certificate.assumptions)
    assert "Each voter was trained on a part of the certification examples, its bag" in assumed
    assert "no stratified or balanced bootstrap" in assumed
    assert "The voters, the prior and the settings of the bound were fixed" not in assumed
    assert "statistics    out of bag" in str(certificate)
    plain = certify(VoteStatistics.from_losses(LOSSES), bound="lacasse")
    assert "statistics" not in plain.provenance
    assert not any("bag" in text for text in plain.assumptions)


def test_the_default_has_the_members_that_counts_can_carry():
    certificate = certify(STATISTICS, delta=0.1)
    expected = {
        "delta": 0.1,
        "constant": "one-sided",
        "shares": [["gibbs", 0.5], ["cantelli", 0.5]],
    }
    assert certificate.bound_parameters == expected


@pytest.mark.parametrize("name", EVERYTHING_ELSE)
def test_bounds_that_look_at_whole_votes_name_what_is_missing(name):
    missing = ", ".join(sorted(get_bound(name).needs - STATISTICS.offers))
    for call in (
        lambda: get_bound(name).value(STATISTICS, WEIGHTS),
        lambda: minimize(name, STATISTICS),
        lambda: certify(STATISTICS, bound=name),
        lambda: certify(STATISTICS, bound=BestBound(shares=((name, 1.0),))),
    ):
        with pytest.raises(ValueError, match=f"needs {missing}, which these") as error:
            call()
        assert "keep_rows" not in str(error.value)  # there is no way to have them


def test_rows_and_votes_are_not_known():
    with pytest.raises(ValueError, match="OutOfBagStatistics hold no rows"):
        STATISTICS.packed_chunks()
    with pytest.raises(ValueError, match="OutOfBagStatistics do not know the errors of votes"):
        STATISTICS.vote_errors(WEIGHTS)
    with pytest.raises(ValueError, match="unlabelled votes go with VoteStatistics"):
        certify(STATISTICS, bound="seeger", unlabelled=np.zeros((9, 6), dtype=int))


# --- forged certificates ---


def forget_the_kind(fields):
    """As if the voters had been trained on other examples."""
    del fields["provenance"]["statistics"]
    plain = certify(VoteStatistics.from_losses(LOSSES), bound=fields["bound"])
    fields["assumptions"] = list(plain.assumptions)


def forget_the_kind_and_the_sizes(fields):
    forget_the_kind(fields)
    fields["evidence"] |= dict.fromkeys(("gibbs_size", "joint_size", "disagreement_size"), 3_000)
    del fields["evidence"]["one_sample"]


REFUSED = {
    "no kind": (forget_the_kind, "n_samples must be the gibbs_size"),
    "neither kind nor sizes": (forget_the_kind_and_the_sizes, "gibbs_risk must be joint_error"),
    "unknown kind": (lambda f: f["provenance"].update(statistics="in the bag"), "must be one of"),
    "kind of another type": (lambda f: f["provenance"].update(statistics=3), "must be one of"),
    "other kind": (lambda f: f["provenance"].update(statistics="votes"), "gibbs_size"),
    "more than all": (lambda f: f["evidence"].update(gibbs_size=3_001), "at least the gibbs_size"),
    "no one_sample": (lambda f: f["evidence"].pop("one_sample"), "one_sample must be false"),
    "one sample": (lambda f: f["evidence"].update(one_sample=True), "one_sample"),
    "half a sample": (lambda f: f["evidence"].update(one_sample=0.5), "one_sample must be true or"),
    "unlabelled": (lambda f: f["provenance"].update(unlabelled_samples=9), "unlabelled_samples"),
    "fewer assumptions": (lambda f: f["assumptions"].pop(), "assumptions must be those"),
}


@pytest.mark.parametrize("name", ["gibbs", "lacasse", "seeger"])
@pytest.mark.parametrize("what", REFUSED)
def test_forged_fields_are_refused(what, name):
    change, words = REFUSED[what]
    fields = json.loads(certify(STATISTICS, bound=name).to_json())
    change(fields)
    with pytest.raises(CertificateError, match=words):
        Certificate.from_dict(fields)


ENLARGED = {
    "gibbs": ("gibbs_size",),
    "tandem": ("joint_size",),
    "lacasse": ("joint_size", "disagreement_size"),
    "seeger": ("disagreement_size",),
}


@pytest.mark.parametrize("name", ENLARGED)
def test_enlarged_sizes_do_not_stand_up_to_the_counts(name):
    certificate = certify(STATISTICS, bound=get_bound(name, constant="maurer"))
    fields = json.loads(certificate.to_json())
    fields["evidence"] |= dict.fromkeys(ENLARGED[name], 2_900)
    bound = certificate.bound_object
    value = bound.from_evidence(fields["evidence"], certificate.weights, certificate.prior)
    assert value < certificate.risk_bound
    fields["risk_bound"] = value
    fields["claim"] = certificate.claim.rpartition(" ")[0] + f" {np.ceil(value * 1e4) / 1e4:.4f}."
    forged = Certificate.from_dict(fields)
    forged.verify()  # the arithmetic is right
    with pytest.raises(CertificateError, match="size is claimed to be 2900, but is"):
        forged.verify(statistics=STATISTICS)


def test_counts_of_another_kind_are_not_those_that_were_certified():
    certificate = certify(STATISTICS, bound="gibbs")
    with pytest.raises(CertificateError, match="statistics is claimed to be 'out of bag'"):
        certificate.verify(statistics=VoteStatistics.from_losses(LOSSES))
    other = OutOfBagStatistics.from_losses(LOSSES, ~IN_BAG)
    with pytest.raises(CertificateError, match="the counts are not those"):
        certificate.verify(statistics=other)


# --- bad input ---

TWO = np.zeros((4, 2), dtype=int)
APART = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])


@pytest.mark.parametrize(
    ("losses", "in_bag", "words"),
    [
        (TWO, APART, "no example is outside the bags of voters 0 and 1. Smaller bags"),
        (TWO, np.array([[1, 0]] * 4), "no example is outside the bags of voters 0 and 0"),
        (TWO, APART[:3], r"in_bag must have the shape of losses, \(4, 2\), got \(3, 2\)"),
        (TWO, APART[:, :1], r"in_bag must have the shape of losses, \(4, 2\), got \(4, 1\)"),
        (TWO[0], APART[0], "must be 0 or 1 in shape"),
        (TWO[:0], APART[:0], "neither of them 0"),
        (TWO[:, :0], APART[:, :0], "neither of them 0"),
        (TWO, 2 * APART, "in_bag"),
        (TWO, 0.5 * APART, "in_bag"),
        (TWO, np.where(APART, np.nan, 0), "in_bag"),
        (TWO + 2, APART, "losses"),
        (TWO - 1, APART, "losses"),
        (TWO, APART.astype(str), "in_bag must be 0 or 1"),
        (TWO.astype(object), APART, "losses must be 0 or 1"),
        (TWO, np.ma.masked_array(APART, APART > 0), "in_bag"),
        (np.ma.masked_array(TWO, APART > 0), np.zeros((4, 2)), "losses"),
    ],
)
def test_tables_that_cannot_be(losses, in_bag, words):
    with pytest.raises(ValueError, match=words):
        OutOfBagStatistics.from_losses(losses, in_bag)


@pytest.mark.parametrize(
    ("votes", "y", "words"),
    [
        ([[1, 1], [1, 0]], [1], "same number of rows"),
        ([[1, np.nan], [1, 0]], [1, 0], "votes"),
        ([1, 0], [1, 0], "votes"),
    ],
)
def test_votes_that_cannot_be(votes, y, words):
    with pytest.raises(ValueError, match=words):
        OutOfBagStatistics.from_votes(votes, y, np.zeros(np.shape(votes)))


COUNTS = {
    "n_samples": 10,
    "sizes": np.array([[6, 4], [4, 7]]),
    "errors": np.array([[3, 2], [1, 2]]),
    "tandem": np.array([[3, 1], [1, 2]]),
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 6}, "at most n_samples = 6"),
        ({"sizes": np.array([[6, 4], [5, 7]])}, "sizes must be symmetric"),
        ({"sizes": np.array([[6, 0], [0, 7]])}, "voters 0 and 1"),
        ({"sizes": np.array([[6, 4, 4], [4, 7, 4]])}, r"sizes and errors must have shape \(n, n\)"),
        ({"sizes": np.array([[6.0, 4.0], [4.0, 7.0]])}, "sizes must be integers"),
        ({"errors": np.array([3, 2])}, "errors must be integers in 2"),
        ({"errors": np.array([[3, 5], [1, 2]])}, "errors must be between 0 and sizes"),
        ({"errors": np.array([[3, -1], [1, 2]])}, "errors must be between 0 and sizes"),
        ({"tandem": np.array([[3, 2], [2, 2]])}, "tandem counts must be possible"),
        ({"tandem": np.array([[2, 1], [1, 2]])}, "tandem must have errors on its diagonal"),
        ({"tandem": np.array([[3, 1], [0, 2]])}, "tandem must be symmetric"),
        ({"tandem": np.array([[3]])}, "tandem must have shape"),
        (
            {"errors": np.array([[3, 3], [3, 3]]), "tandem": np.array([[3, 1], [1, 3]])},
            "tandem counts must be possible",
        ),
    ],
)
def test_counts_that_cannot_be(changes, words):
    OutOfBagStatistics(**COUNTS)
    with pytest.raises(ValueError, match=words):
        OutOfBagStatistics(**(COUNTS | changes))


def test_pickles_and_copies_cannot_be_written_to():
    before = STATISTICS.moments(WEIGHTS)
    for own in (STATISTICS, pickle.loads(pickle.dumps(STATISTICS))):
        assert own.sha256 == STATISTICS.sha256
        assert repr(own) == repr(STATISTICS)
        assert own.moments(WEIGHTS).to_dict() == before.to_dict()
        for name in ("sizes", "errors", "tandem"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(own, name)[0, 0] = 1


# --- do they hold? ---
#
# Cells of a table in which the label has a known probability: true risks are sums over them. A
# voter names in each cell the label that most of its bag have, among the cells that it can tell
# apart; identical voters name the same whatever the bag, and are tested on different examples.

CELLS = np.random.default_rng(0).dirichlet(np.full(12, 2.0))
POSITIVE = np.random.default_rng(1).beta(0.4, 0.4, size=12)
N_VOTERS, DRAWS, DELTA = 5, 300, 0.2


def drawn(rng, identical, m=400):
    """Out-of-bag statistics of one sample, and what each voter says in each cell."""
    cells = rng.choice(12, size=m, p=CELLS)
    y = rng.random(m) < POSITIVE[cells]
    in_bag = rng.random((m, N_VOTERS)).argsort(axis=0) < m // 3
    says = np.tile(POSITIVE > 0.3, (N_VOTERS, 1))
    if not identical:
        for j in range(N_VOTERS):
            view = np.arange(12) % (3 + 2 * j)  # the first sees three values, the last all twelve
            bag = in_bag[:, j]
            ones = np.bincount(view[cells[bag]], weights=2.0 * y[bag] - 1, minlength=12)
            says[j] = ones[view] > 0
    votes = says[:, cells].T
    return OutOfBagStatistics.from_votes(votes, y, in_bag), says


def true_moments(says, weights):
    """r and e of these voters: the weight that errs where the label is 1, and where it is 0."""
    ones = weights @ says
    r = CELLS @ (POSITIVE * (1 - ones) + (1 - POSITIVE) * ones)
    return r, CELLS @ (POSITIVE * (1 - ones) ** 2 + (1 - POSITIVE) * ones**2)


@pytest.mark.parametrize("identical", [True, False])
def test_certificates_from_bags_hold_for_learned_weights(identical):
    """The bound's own formula at the true moments, which is more than the risk of the vote."""
    rng = np.random.default_rng(int(identical))
    bounds = [get_bound(name, delta=DELTA) for name in ("gibbs", "tandem", "lacasse")]
    failures, gaps = dict.fromkeys(["gibbs", "tandem", "lacasse"], 0), []
    for _ in range(DRAWS):
        statistics, says = drawn(rng, identical)
        for bound in bounds:
            failed = False
            # From the prior to all weight on the voter that was luckiest.
            for greed in (0.0, 10.0, 100.0, 1e4):
                weights = np.exp(-greed * (statistics.error_rates - statistics.error_rates.min()))
                weights /= weights.sum()
                r, e = true_moments(says, weights)
                failed |= bound.value(statistics, weights) < bound.oracle(r, e) - 1e-9
            failures[bound.name] += failed
        moments = statistics.moments(np.full(N_VOTERS, 1 / N_VOTERS))
        gaps.append(2 * (moments.gibbs_risk - moments.joint_error) - moments.disagreement)
        if identical:
            assert moments.disagreement == 0.0  # they never differ, on whatever examples
    for count in failures.values():
        assert binomtest(count, DRAWS, DELTA, alternative="greater").pvalue >= 1e-4
    # As if r and e were of the same examples, d would be off in either direction.
    assert min(gaps) < -0.01 < 0.01 < max(gaps)


@pytest.mark.parametrize(("name", "identical"), [("seeger", True), ("lacasse", False)])
def test_a_disagreement_of_one_sample_would_claim_too_much(name, identical):
    """Of voters that never differ, 2(r − e) says that some do: a smaller certificate."""
    rng, uniform = np.random.default_rng(3), np.full(N_VOTERS, 1 / N_VOTERS)
    bound = get_bound(name, delta=DELTA, constant="maurer")
    smaller = 0
    for _ in range(50):
        statistics, _ = drawn(rng, identical)
        evidence = bound.evidence(statistics, uniform)
        broken = max(0.0, 2 * (evidence["gibbs_risk"] - evidence["joint_error"]))
        value = bound.from_evidence(evidence | {"disagreement": broken}, uniform, uniform)
        smaller += value < bound.value(statistics, uniform) - 1e-4
    assert smaller > 5
