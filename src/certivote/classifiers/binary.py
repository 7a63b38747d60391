"""Votes on two classes that minimise the empirical C-bound, and are certified afterwards."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target

from .._utils.validation import check_prior
from ..bounds import bound_at
from ..bounds.registry import DEFAULT_OF_COMPLEMENTS
from ..certificate.provenance import PRIOR_GIVEN
from ..labels import codes_of
from ..learners import InfeasibleError, cb_boost, cq_boost, min_cq, self_complemented
from ..statistics import VoteStatistics
from ..voting import Ballots
from ._answering import Sample
from .base import CertifiedVote

__all__ = ["CBBoostClassifier", "CqBoostClassifier", "MinCqClassifier"]


class BinaryVote(CertifiedVote):
    """A vote on two classes that weighs each voter and its complement, certified by lacasse."""

    def _check_classes(self) -> None:
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(self.classes_)}: with {len(self.classes_)} classes use "
                "MajorityVoteClassifier."
            )
        if getattr(self.voters, "missing", None) is not None:
            raise ValueError(
                f"{type(self).__name__} needs an opinion of every voter on every example, as their "
                "complements vote too: use MajorityVoteClassifier where some are missing."
            )
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs examples of two classes, got one class only."
            )

    @abstractmethod
    def _weights(
        self, statistics: VoteStatistics, votes: NDArray[Any], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return the weights of the n voters and of their n complements."""

    # On the 2n voters; uniform if None.
    _prior: NDArray[np.float64] | None = None

    def _prior_again(self, X: Any, y: NDArray[Any]) -> ArrayLike | None:
        return self._prior

    def _learn(
        self,
        statistics: VoteStatistics,
        sample: Sample,
        rng: np.random.RandomState,
    ) -> None:
        ballots = sample.ballots
        if len(ballots.labels) > 2:
            raise ValueError("the voters predict a label that is none of the two classes.")
        weights = self._weights(statistics, ballots.codes, sample.truth)
        self.statistics_ = self_complemented(statistics)
        bound = bound_at(DEFAULT_OF_COMPLEMENTS, self.delta)
        self.certificate_ = self._issue(bound, self.statistics_, weights, self._prior, sample)
        self.weights_ = self.certificate_.weights

    def _weighed(self, ballots: Ballots) -> Ballots:
        return with_complements(ballots, self.classes_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class CBBoostClassifier(BinaryVote):
    """A vote grown greedily for the empirical C-bound (CB-Boost), on two classes.

    The C-bound of part B itself is what it minimises, which certifies nothing: the certificate is
    the ``lacasse`` bound of the weights that come out.

    Parameters
    ----------
    max_iter : int, default=200
        The largest number of steps.
    voters : object, default="trees"
        As in `MajorityVoteClassifier`; the default is what the paper has.
    delta, certify_size, n_voters, random_state, n_jobs, verbose
        As in `MajorityVoteClassifier`.

    Attributes
    ----------
    certificate_ : Certificate
        The certificate of the vote, by ``lacasse``.
    weights_ : ndarray of shape (2 n_voters,)
        The weights of the voters, then of their complements.
    voters_, statistics_, classes_, n_features_in_, feature_names_in_
        As in `MajorityVoteClassifier`; the statistics are of voters and complements.

    References
    ----------
    B. Bauvin, C. Capponi, J.-F. Roy and F. Laviolette, "Fast greedy C-bound minimization with
    guarantees", Machine Learning 109, 2020, doi:10.1007/s10994-020-05902-7.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from certivote import CBBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> vote = CBBoostClassifier(random_state=0).fit(X, y)
    >>> vote.certificate_
    Certificate(risk_bound≤0.4130, confidence=95%, bound='lacasse', n_samples=285, n_voters=200)
    """

    def __init__(
        self,
        voters: Any = "trees",
        max_iter: int = 200,
        delta: float = 0.05,
        certify_size: float | str = "auto",
        n_voters: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.voters = voters
        self.max_iter = max_iter
        self.delta = delta
        self.certify_size = certify_size
        self.n_voters = n_voters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _weights(
        self, statistics: VoteStatistics, votes: NDArray[Any], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        weights, self.n_iter_ = cb_boost(statistics, max_iter=self.max_iter)
        return weights


class MinCqClassifier(BinaryVote):
    """The vote of the smallest empirical C-bound at a given margin (MinCq), on two classes.

    With a prior it is P-MinCq. A quadratic program, which needs the extra ``qp``.

    Parameters
    ----------
    mu : float or "cv", default="cv"
        The margin of the vote on part B; "cv" selects it among 20 values from 1e-4 to ½ by 3-fold
        cross-validation on part B.
    prior : array-like of shape (n_voters,), default=None
        What a voter and its complement weigh together; uniform if None.
    voters : object, default="trees"
        As in `MajorityVoteClassifier`; the default is what the paper has.
    delta, certify_size, n_voters, random_state, n_jobs, verbose
        As in `MajorityVoteClassifier`.

    Attributes
    ----------
    certificate_ : Certificate
        The certificate of the vote, by ``lacasse``.
    weights_ : ndarray of shape (2 n_voters,)
        The weights of the voters, then of their complements.
    voters_, statistics_, classes_, n_features_in_, feature_names_in_
        As in `MajorityVoteClassifier`; the statistics are of voters and complements.

    References
    ----------
    F. Laviolette, M. Marchand and J.-F. Roy, "From PAC-Bayes Bounds to Quadratic Programs for
    Majority Votes", ICML 2011; A. Bellet, A. Habrard, E. Morvant and M. Sebban, "Learning a priori
    constrained weighted majority votes", Machine Learning 97, 2014, doi:10.1007/s10994-014-5462-z.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from certivote import MinCqClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> vote = MinCqClassifier(mu=0.5, random_state=0).fit(X, y)
    >>> vote.certificate_
    Certificate(risk_bound≤0.6364, confidence=95%, bound='lacasse', n_samples=285, n_voters=200)
    """

    def __init__(
        self,
        voters: Any = "trees",
        mu: float | str = "cv",
        prior: ArrayLike | None = None,
        delta: float = 0.05,
        certify_size: float | str = "auto",
        n_voters: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.voters = voters
        self.mu = mu
        self.prior = prior
        self.delta = delta
        self.certify_size = certify_size
        self.n_voters = n_voters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _weights(
        self, statistics: VoteStatistics, votes: NDArray[Any], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        def learn(sample: VoteStatistics, mu: float) -> NDArray[np.float64]:
            return min_cq(sample, mu, self.prior)

        grid = np.linspace(1e-4, 0.5, 20)
        self.mu_, weights = select_margin(self.mu, grid, learn, statistics, votes, y)
        return weights

    def _learn_prior(self, asked: None, X: Any, y: NDArray[Any]) -> None:
        self._prior = None
        if self.prior is not None:
            # Half of a voter's share goes to its complement.
            self._prior = np.tile(check_prior(self.prior, len(self.voters_)) / 2.0, 2)
            self._provenance["prior"] = PRIOR_GIVEN


class CqBoostClassifier(BinaryVote):
    """A sparse vote of small empirical C-bound by column generation (CqBoost), on two classes.

    Quadratic programs, which need the extra ``qp``.

    Parameters
    ----------
    mu : float or "cv", default="cv"
        The smallest mean margin of the vote on part B; "cv" selects it among 20 values up to the
        margin of the best voter by 3-fold cross-validation on part B.
    tol : float, default=1e-6
        By how much a voter may violate the dual constraint.
    voters : object, default="trees"
        As in `MajorityVoteClassifier`; the default is what the paper has.
    delta, certify_size, n_voters, random_state, n_jobs, verbose
        As in `MajorityVoteClassifier`.

    Attributes
    ----------
    certificate_ : Certificate
        The certificate of the vote, by ``lacasse``.
    weights_ : ndarray of shape (2 n_voters,)
        The weights of the voters, then of their complements.
    voters_, statistics_, classes_, n_features_in_, feature_names_in_
        As in `MajorityVoteClassifier`; the statistics are of voters and complements.

    References
    ----------
    J.-F. Roy, M. Marchand and F. Laviolette, "A Column Generation Bound Minimization Approach with
    PAC-Bayesian Generalization Guarantees", AISTATS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from certivote import CqBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> vote = CqBoostClassifier(mu=0.5, random_state=0).fit(X, y)
    >>> vote.certificate_
    Certificate(risk_bound≤0.6803, confidence=95%, bound='lacasse', n_samples=285, n_voters=200)
    """

    def __init__(
        self,
        voters: Any = "trees",
        mu: float | str = "cv",
        tol: float = 1e-6,
        delta: float = 0.05,
        certify_size: float | str = "auto",
        n_voters: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.voters = voters
        self.mu = mu
        self.tol = tol
        self.delta = delta
        self.certify_size = certify_size
        self.n_voters = n_voters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _weights(
        self, statistics: VoteStatistics, votes: NDArray[Any], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        def learn(sample: VoteStatistics, mu: float) -> NDArray[np.float64]:
            return cq_boost(sample, mu, tol=self.tol)

        largest = float(np.abs(1.0 - 2.0 * statistics.errors / statistics.n_samples).max())
        grid = np.linspace(1e-4, largest, 20) if largest > 1e-4 else np.empty(0)
        self.mu_, weights = select_margin(self.mu, grid, learn, statistics, votes, y)
        return weights


def with_complements(ballots: Ballots, classes: NDArray[Any]) -> Ballots:
    """Return the ballots of each voter, then those of its complement, which names the other class.

    Of a label that is none of the two classes the complement names the same one: both err.
    """
    other = np.arange(len(ballots.labels))
    other[codes_of(classes, ballots.labels)] = codes_of(classes[::-1], ballots.labels)
    other = other.astype(ballots.codes.dtype)
    return Ballots(np.hstack([ballots.codes, other[ballots.codes]]), ballots.labels)


def select_margin(
    mu: float | str,
    grid: NDArray[np.float64],
    learn: Callable[[VoteStatistics, float], NDArray[np.float64]],
    statistics: VoteStatistics,
    votes: NDArray[Any],
    y: NDArray[Any],
) -> tuple[float, NDArray[np.float64]]:
    """Return the margin, selected by cross-validation if it must be, and the weights there."""
    if mu != "cv":
        if isinstance(mu, str):
            raise ValueError(f"mu must be a number or 'cv', got {mu!r}.")
        return float(mu), learn(statistics, float(mu))
    errors = np.zeros(grid.size)
    if len(y) >= 3:
        # Stratified folds are harmless here: the certificate holds however μ is selected on part B.
        folds = StratifiedKFold(3) if np.bincount(y, minlength=2).min() >= 3 else KFold(3)
        two = np.arange(2)
        for train, test in folds.split(votes, y):
            ballots = with_complements(Ballots(votes[test], two), two)
            sample = VoteStatistics.from_votes(votes[train], y[train])
            for index, value in enumerate(grid):
                try:
                    weights = learn(sample, float(value))
                except InfeasibleError:
                    errors[index] = np.inf
                else:
                    errors[index] += np.count_nonzero(ballots.predict(weights) != y[test])
    for index in np.argsort(errors, kind="stable"):
        try:
            return float(grid[index]), learn(statistics, float(grid[index]))
        except InfeasibleError:
            continue
    raise InfeasibleError(
        "no margin of the grid can be reached by these voters: none is better than chance."
    )
