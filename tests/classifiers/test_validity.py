"""Do certificates hold, and is it seen when they cannot?"""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from certivote import CBBoostClassifier, MajorityVoteClassifier

# --- leaks ---------------------------------------------------------------------------------------

BAGGED = {
    "forest": RandomForestClassifier(20),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 20, max_features=0.8),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(20)),
    "search": GridSearchCV(RandomForestClassifier(20), {"max_depth": [None]}, cv=2),
}


def seeded(estimator, seed):
    names = [name for name in estimator.get_params() if name.endswith("random_state")]
    return clone(estimator).set_params(**dict.fromkeys(names, seed))


@pytest.mark.filterwarnings("ignore:The vote of its members")
@pytest.mark.parametrize("bagged", BAGGED.values(), ids=BAGGED)
@pytest.mark.parametrize("seed", range(3))
def test_voters_certified_on_their_training_rows_warn(bagged, seed):
    X, y = make_classification(400, flip_y=0.2, random_state=seed)
    fitted = seeded(bagged, seed).fit(X[:200], y[:200])
    with pytest.warns(UserWarning, match="trained on these very examples"):
        MajorityVoteClassifier(voters=FrozenEstimator(fitted)).fit(X[:200], y[:200])
    # New rows, as many: silent, or this test would fail on the warning.
    vote = MajorityVoteClassifier(voters=FrozenEstimator(fitted)).fit(X[200:], y[200:])
    assert vote.certificate_.n_samples == 200


@pytest.mark.filterwarnings("ignore:The vote of its members")
@pytest.mark.parametrize("seed", range(5))
def test_no_leak_is_seen_where_there_is_none(seed):
    X, y = make_classification(300, flip_y=0.1, random_state=seed)
    for n_train in (100, 150, 200):
        forest = RandomForestClassifier(15, random_state=seed).fit(X[:n_train], y[:n_train])
        vote = CBBoostClassifier(voters=FrozenEstimator(forest)).fit(X[n_train:], y[n_train:])
        assert vote.certificate_.n_samples == 300 - n_train


# --- does it hold? -------------------------------------------------------------------------------


def noisy_disc(m, rng):
    """Whether a point lies in a disc, wrong once in ten."""
    X = rng.uniform(-1, 1, size=(m, 2))
    inside = (X**2).sum(axis=1) < 0.6
    return X, np.where(rng.random(m) < 0.1, ~inside, inside).astype(int)


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        (MajorityVoteClassifier, "lacasse"),
        (MajorityVoteClassifier, "gibbs"),
        (CBBoostClassifier, None),
    ],
)
def test_certificates_hold(kind, bound, small):
    rng = np.random.default_rng(7)
    X_test, y_test = noisy_disc(20_000, rng)
    violations, informative = 0, 0
    for seed in range(40):
        X, y = noisy_disc(500, rng)
        settings = {} if bound is None else {"bound": bound}
        vote = small(kind, random_state=seed, delta=0.05, **settings).fit(X, y)
        risk = np.mean(vote.predict(X_test) != y_test)
        violations += risk > vote.certificate_.risk_bound
        informative += vote.certificate_.risk_bound < 0.95
    assert violations <= binom.ppf(0.999, 40, 0.05)
    assert informative > 20


def test_noise_is_never_certified(small):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 5)), rng.integers(2, size=300)
        for kind in (MajorityVoteClassifier, CBBoostClassifier):
            assert small(kind, random_state=seed).fit(X, y).certificate_.risk_bound >= 0.5
