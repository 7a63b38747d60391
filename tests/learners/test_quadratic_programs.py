"""MinCq, P-MinCq and CqBoost against programs over the examples, solved by CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from certivote import CqBoostClassifier, MinCqClassifier, VoteStatistics
from certivote.learners import InfeasibleError, cq_boost, min_cq


def sample(seed, m=120, n=7):
    """Margins y·h of voters that err independently, at rates from 15% to 55%."""
    rng = np.random.default_rng(seed)
    losses = rng.random((m, n)) < rng.uniform(0.15, 0.55, size=n)
    return VoteStatistics.from_losses(losses), 1.0 - 2.0 * losses


def signed(weights):
    own, complement = np.split(weights, 2)
    return own - complement


def solve(objective, constraints):
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert problem.status == "optimal"


def min_cq_by_cvxpy(voters, mu, prior):
    """The vote Σ(2q − P)h of margin mu and smallest second moment, over the examples."""
    q = cp.Variable(voters.shape[1])
    vote = voters @ (2 * q - prior)
    solve(
        cp.sum_squares(vote) / len(voters), [q >= 0, q <= prior, cp.sum(vote) == mu * len(voters)]
    )
    return q.value


def cq_boost_by_cvxpy(voters, mu):
    """The full program, over all 2n voters."""
    both = np.hstack([voters, -voters])
    q = cp.Variable(both.shape[1])
    margins = both @ q
    constraints = [q >= 0, cp.sum(q) == 1, cp.sum(margins) >= mu * len(voters)]
    solve(cp.sum_squares(margins) / len(voters), constraints)
    return both @ q.value


# --- MinCq ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.15])
def test_min_cq(seed, mu):
    statistics, voters = sample(seed)
    uniform = np.full(7, 1 / 7)
    weights = min_cq(statistics, mu)
    expected = min_cq_by_cvxpy(voters, mu, uniform)
    assert weights[:7] == pytest.approx(expected, abs=1e-6)
    second = ((voters @ signed(weights)) ** 2).mean()
    assert second == pytest.approx(((voters @ (2 * expected - uniform)) ** 2).mean(), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_min_cq_with_a_prior(seed):
    statistics, voters = sample(seed)
    prior = np.random.default_rng(seed).dirichlet(np.ones(7))
    mu = 0.4 * float(prior @ np.abs(voters.mean(axis=0)))
    weights = min_cq(statistics, mu, prior)
    assert weights[:7] == pytest.approx(min_cq_by_cvxpy(voters, mu, prior), abs=1e-6)
    assert weights[:7] + weights[7:] == pytest.approx(prior, abs=1e-15)


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.2])
def test_min_cq_is_p_min_cq_with_a_uniform_prior(mu):
    statistics, _ = sample(0)
    assert np.array_equal(min_cq(statistics, mu), min_cq(statistics, mu, np.full(7, 1 / 7)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99, 0.999999])
def test_constraints_of_min_cq(seed, share):
    statistics, voters = sample(seed, n=15)
    prior = np.random.default_rng(seed).dirichlet(np.ones(15))
    # The largest margin of all: the whole share of each pair on its better voter.
    mu = share * float(prior @ np.abs(voters.mean(axis=0)))
    weights = min_cq(statistics, mu, prior)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(weights[:15] <= prior)
    assert (voters @ signed(weights)).mean() == pytest.approx(mu, abs=1e-7)


def test_a_voter_of_prior_zero_has_no_weight():
    statistics, voters = sample(1)
    prior = np.array([0.5, 0.0, 0.1, 0.1, 0.1, 0.2, 0.0])
    weights = min_cq(statistics, 0.05, prior)
    assert np.all(weights[[1, 6, 8, 13]] == 0.0)
    kept = [0, 2, 3, 4, 5]
    expected = min_cq_by_cvxpy(voters[:, kept], 0.05, prior[kept])
    assert weights[kept] == pytest.approx(expected, abs=1e-6)


def test_margin_out_of_reach_of_min_cq():
    statistics, voters = sample(0)
    largest = np.abs(voters.mean(axis=0)).mean()
    with pytest.raises(InfeasibleError, match=f"mu must be at most {largest:.6g}"):
        min_cq(statistics, largest + 0.01)
    assert issubclass(InfeasibleError, ValueError)


@pytest.mark.parametrize("learn", [min_cq, cq_boost])
@pytest.mark.parametrize("mu", [0.0, -0.1, np.nan, "big", True])
def test_bad_margin(learn, mu):
    with pytest.raises(ValueError, match="mu must be a positive number"):
        learn(sample(0)[0], mu)


@pytest.mark.parametrize("prior", [[1.0], np.full(7, 0.5), [-1, 2, 0, 0, 0, 0, 0]])
def test_bad_prior(prior):
    with pytest.raises(ValueError, match="prior must"):
        min_cq(sample(0)[0], 0.05, prior)


# --- CqBoost -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.01, 0.4, 0.8, 0.97])
def test_cq_boost(seed, share):
    statistics, voters = sample(seed, n=9)
    mu = share * float(np.abs(voters.mean(axis=0)).max())
    weights = cq_boost(statistics, mu, tol=1e-9)
    margins, expected = voters @ signed(weights), cq_boost_by_cvxpy(voters, mu)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert margins.mean() >= mu - 1e-8
    assert (margins**2).mean() == pytest.approx((expected**2).mean(), abs=1e-7)
    # The second moment is strictly convex in the margins: they are unique.
    assert margins == pytest.approx(expected, abs=1e-4)


def test_tolerance_of_cq_boost_bounds_the_gap():
    statistics, voters = sample(3, m=400, n=40)
    mu = 0.5 * float(np.abs(voters.mean(axis=0)).max())
    best = (cq_boost_by_cvxpy(voters, mu) ** 2).mean()
    for tol in (1e-1, 1e-2, 1e-4, 1e-6):
        value = ((voters @ signed(cq_boost(statistics, mu, tol=tol))) ** 2).mean()
        # The reduced cost of the best voter bounds what is left, as in Frank–Wolfe.
        assert best - 1e-8 <= value <= best + tol + 1e-8


def test_cq_boost_is_sparse():
    # The larger the margin, the fewer voters; at the largest only the best one is left.
    statistics, voters = sample(2, m=300, n=60)
    largest = float(np.abs(voters.mean(axis=0)).max())
    counts = [
        np.count_nonzero(cq_boost(statistics, share * largest) > 1e-6) for share in (0.95, 1.0)
    ]
    assert counts[1] == 1
    assert 1 < counts[0] < 30


def test_cq_boost_adds_one_voter_at_a_time():
    statistics, _ = sample(4, n=20)
    for max_iter in (1, 2, 5):
        weights = cq_boost(statistics, 0.1, max_iter=max_iter)
        assert np.count_nonzero(weights) <= max_iter
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_margin_out_of_reach_of_cq_boost():
    statistics, voters = sample(0)
    largest = np.abs(voters.mean(axis=0)).max()
    with pytest.raises(InfeasibleError, match=f"mu must be at most {largest:.6g}"):
        cq_boost(statistics, largest + 0.01)


def test_cq_boost_close_to_the_largest_margin():
    # Voters that hardly differ, and a margin that only mixtures of the two best ones reach.
    X, y = make_classification(600, flip_y=0.1, random_state=0)
    trees = [
        DecisionTreeClassifier(max_depth=3, max_features=3, random_state=seed).fit(X[:200], y[:200])
        for seed in range(10)
    ]
    rows = 200 + np.argsort(y[200:], kind="stable")[:267]
    votes = np.stack([tree.predict(X[rows]) for tree in trees], axis=1)
    voters = np.where(votes == y[rows][:, None], 1.0, -1.0)
    largest = np.abs(voters.mean(axis=0)).max()
    for mu in (0.9 * largest, 0.725, 0.9999 * largest):
        weights = cq_boost(VoteStatistics.from_votes(votes, y[rows]), mu)
        margins = voters @ signed(weights)
        assert margins.mean() >= mu - 1e-7
        expected = cq_boost_by_cvxpy(voters, mu)
        assert (margins**2).mean() == pytest.approx((expected**2).mean(), abs=1e-5)


# --- the margin by cross-validation --------------------------------------------------------------


@pytest.fixture(scope="module")
def frozen():
    X, y = make_classification(400, n_features=8, n_informative=3, flip_y=0.2, random_state=1)
    trees = [
        FrozenEstimator(
            DecisionTreeClassifier(max_depth=3, max_features=1, random_state=seed).fit(
                X[:150], y[:150]
            )
        )
        for seed in range(9)
    ]
    return trees, X[150:], y[150:]


@pytest.mark.parametrize("kind", [MinCqClassifier, CqBoostClassifier])
def test_margin_by_cross_validation(kind, frozen):
    trees, X, y = frozen
    vote = kind(voters=trees, mu="cv").fit(X, y)
    votes = np.stack([2 * tree.predict(X) - 1 for tree in trees], axis=1)
    truth = 2 * y - 1
    largest = 0.5
    if kind is CqBoostClassifier:
        largest = np.abs((votes * truth[:, None]).mean(axis=0)).max()
    learn = min_cq if kind is MinCqClassifier else cq_boost
    grid = [1e-4 + k * (largest - 1e-4) / 19 for k in range(20)]
    folds = [fold for _, fold in StratifiedKFold(3).split(votes, truth)]
    errors = []
    for mu in grid:
        total = 0.0
        for fold in folds:
            rest = np.setdiff1d(np.arange(250), fold)
            try:
                weights = learn(VoteStatistics.from_votes(votes[rest], truth[rest]), mu)
            except InfeasibleError:
                total = np.inf
                break
            score = votes[list(fold)] @ signed(weights)
            total += np.count_nonzero(np.where(score > 1e-9, 1, -1) != truth[list(fold)])
        errors.append(total)
    assert len(set(errors)) > 2
    index = int(np.argmin(np.abs(np.array(grid) - vote.mu_)))
    assert vote.mu_ == pytest.approx(grid[index], abs=1e-12)
    assert errors[index] == min(errors)
    assert index == int(np.argmin(errors))
    learned = learn(VoteStatistics.from_votes(votes, truth), vote.mu_)
    assert vote.weights_ == pytest.approx(learned, abs=1e-12)


def test_prior_of_the_classifier_is_that_of_its_certificate(frozen):
    trees, X, y = frozen
    prior = np.array([0.4, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
    vote = MinCqClassifier(voters=trees, mu=0.05, prior=prior).fit(X, y)
    assert vote.weights_[:9] + vote.weights_[9:] == pytest.approx(prior, abs=1e-12)
    assert vote.certificate_.prior == pytest.approx(np.tile(prior / 2, 2), abs=1e-15)
    # Half of each pair's share is its prior: the divergence is at most ln 2.
    q = vote.weights_[vote.weights_ > 0]
    p = np.tile(prior / 2, 2)[vote.weights_ > 0]
    assert vote.certificate_.kl == pytest.approx(float(q @ np.log(q / p)), abs=1e-9)
    assert 0.0 < vote.certificate_.kl <= np.log(2)


@pytest.mark.parametrize("learn", [min_cq, cq_boost])
def test_without_clarabel(learn, monkeypatch):
    monkeypatch.setattr("certivote.learners._qp.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"certivote\[qp\]"):
        learn(sample(0)[0], 0.05)


@pytest.mark.parametrize("kind", [MinCqClassifier, CqBoostClassifier])
def test_classifiers_without_clarabel(kind, frozen, monkeypatch):
    trees, X, y = frozen
    monkeypatch.setattr("certivote.learners._qp.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'certivote\[qp\]'"):
        kind(voters=trees).fit(X, y)
