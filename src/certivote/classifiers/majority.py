"""The vote whose weights minimise a certificate."""

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._utils.validation import check_number, check_prior
from ..bounds import Bound, bound_at
from ..bounds.registry import DEFAULT
from ..certificate.provenance import (
    FEWEST_BY_PART_A,
    FEWEST_BY_SAMPLE,
    FEWEST_KEYS,
    PRIOR_GIVEN,
    PRIOR_LEARNED,
)
from ..claims import Family, shared
from ..labels import check_labels
from ..solvers import Solver, minimize
from ..statistics import Statistics, VoteStatistics
from ..voters import is_frozen, is_mixed, learned_weights
from ._answering import Sample
from ._fingerprints import row_fingerprints
from ._guards import TOO_MANY_TWINS, Examination, rounded_rows
from ._out_of_bag import OutOfBagVote
from ._sizes import Sizes, heaviest, limits_of, sizes_up_to

__all__ = ["MajorityVoteClassifier"]

# So many different rows may come again by chance.
_FEW_COPIES = 5
# Fewer rows of part A do not say how many voters are enough.
_FEWEST_TO_CHOOSE = 20


class _Asked(NamedTuple):
    """What the settings of a vote ask for: a bound at its δ, that of all claims, and the claims."""

    bound: Bound
    total_delta: float
    families: tuple[Family, ...]
    learns_prior: bool


class MajorityVoteClassifier(OutOfBagVote):
    """A weighted majority vote with a certificate: weights for which a bound on its risk is least.

    `fit` splits the data by a random permutation, trains the voters on part A, and certifies their
    vote on part B. Its weights are the prior, which the default voters learn on part A and which
    part B tests, or others that part B gives, whichever has the smaller bound. The permutation does
    not look at the labels: a stratified split is not an independent draw of examples, and would
    void the guarantee.

    What may look at the data, and when. Preprocessing and tuning go *inside*, as voters:
    ``voters=make_pipeline(StandardScaler(), RandomForestClassifier())`` or
    ``voters=GridSearchCV(RandomForestClassifier(), …)`` see part A only. A pipeline or a search
    *around* this classifier lets them see part B: such a vote must be certified again, with
    `certify`, on new data. The same is true after trying several seeds or sizes of the split and
    keeping the best. Oversampled rows, several rows of one subject, and rows ordered in time are
    not independent draws, and no certificate holds for them.

    Parameters
    ----------
    voters : object, default=None
        Where the voters come from:

        - None or "mixed": forests and single classifiers of every kind, with weights learned on
          part A, see `certivote.voters.Mixed`; None is trees out of bag;
        - "trees": `n_voters` trees, each split the best of √d random features;
        - "stumps": thresholds of single features, see `certivote.voters.Stumps`;
        - an unfitted scikit-learn classifier: it is trained on part A, and if it is an ensemble
          (random forest, extra trees, bagging, AdaBoost, voting, stacking), alone, at the end of a
          pipeline or in a search, its members are the voters; otherwise it is the only voter;
        - a list of unfitted classifiers or pipelines, each one a voter;
        - fitted classifiers in scikit-learn's ``FrozenEstimator``, alone or each in a list: they
          are used as they are, not as copies, and all of the data certifies. It must be new to
          them, and to fit them again later is to have another vote than the one certified;
        - `certivote.voters.PredictionTable`: the columns of X are predictions made elsewhere.
    bound : str or Bound, default="best"
        The certificate to minimise, by name or as an object with its settings. "best" tests the
        prior vote with most of δ, and lets the weights be learned with the rest; where the prior
        was learned on part A, it tests that vote with all of δ.
    delta : float, default=0.05
        The probability that the certificate may fail. A bound object has its own.
    certification : {"split", "oob"}, default="split"
        How the certification examples are set apart from those that train the voters: by a split
        of all rows, or out of bag. Then nothing is held back: each voter is trained on a bag of all
        rows, and tested on the rows outside. The voters are trees, or a random forest, extra trees
        or bagging of trees of scikit-learn, with bootstraps or subsamples. One that is trained
        already, in a ``FrozenEstimator``, is certified on its own training rows, in their order:
        each member is trained again on its bag, and must be the same.
    certify_size : float, int or "auto", default="auto"
        The share of the data, or the number of examples, that certify, where there is a split.
        "auto": half of fewer than 5,000 examples, or groups of them, and three tenths of more.
    prior : array-like of shape (n_voters,), "uniform" or "learned", default=None
        A distribution on the voters fixed without looking at part B, which the certificate records
        as an assumption; if None it is uniform, and "learned" where the voters are "mixed".
        "learned": by logistic regression on part A, from votes on rows that the voters were not
        trained on, see `certivote.voters.learned_weights`.
    solver : str or Solver, default="lbfgs"
        How the bound is minimised, by name or as an object with its settings.
    n_voters : int, default=100
        The number of trees, where the voters are trees; of each forest, where they are mixed.
    random_state : int, RandomState or None, default=None
        The seed of the split and of the voters' training. The certificate records it.
    n_jobs : int, default=None
        How many voters are trained, or vote, at the same time.
    verbose : int, default=0
        Show progress bars if positive; prettier ones if `rich` is installed.
    anytime : bool, default=False
        Whether the certificates of `fit` and of every `partial_fit` after it shall hold all at
        once, however many there are and whenever one stops. Bounds that have a form for all sizes
        take it, and the sizes of the batches may depend on anything; with the others (``bennett``,
        and one that was given a constant) the k-th is given at ``δ/(k(k+1))``. Otherwise each holds
        by itself, for the sample size at which it was asked for.
    claims : sequence of str or Family, default=None
        What else is claimed at once, such as ``"recall"`` or ``"error by region"``: see
        `certivote.claims.parse_claim`. They share δ, and the columns that they are about are given
        to `fit`.
    shares : mapping of str to float, default=None
        The share of δ of each claim, and of ``"error"``, the overall one: see
        `certivote.claims.shared`.
    abstain : float, default=None
        How often an answer may be wrong, where the vote answers only if it is sure enough: see
        `certivote.claims.AbstainFamily`. `predict` stays as it is, and `accepts` tells where it is.
    bag_size : float, default=0.3
        The share of the rows in the bag of each tree, where voters are trained here on bags; any
        two bags have about as many rows in common. Smaller bags make worse trees, and leave more
        rows to test them on.

    Attributes
    ----------
    certificate_ : Certificate
        With probability ``1 − delta``, `predict` errs on a new example with probability at most
        ``certificate_.risk_bound``.
    weights_ : ndarray of shape (n_voters,)
        The weights of the voters.
    voters_ : Voters
        The fitted voters.
    statistics_ : Statistics
        What part B, or the rows outside the bags, say about the voters.
    classes_ : ndarray of shape (n_classes,)
        The labels of the data and of the voters that know theirs. `predict` may return others that
        voters name.
    optimisation_ : MinimizeResult
        How the weights were found.
    fit_times_ : dict of str to float
        The seconds that `fit` spent in training, voting, checking and learning.
    n_features_in_ : int
        The number of features seen by `fit`; texts have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from certivote import MajorityVoteClassifier
    >>> data = load_breast_cancer()
    >>> X, y = data.data, data.target_names[data.target]
    >>> vote = MajorityVoteClassifier(random_state=0).fit(X, y)
    >>> vote.certificate_
    Certificate(risk_bound≤0.0588, confidence=95%, bound='best', n_samples=285, n_voters=305)
    """

    def __init__(
        self,
        voters: Any = None,
        bound: str | Bound = DEFAULT,
        delta: float = 0.05,
        certification: str = "split",
        certify_size: float | str = "auto",
        prior: ArrayLike | str | None = None,
        solver: str | Solver = "lbfgs",
        n_voters: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        anytime: bool = False,
        claims: Sequence[str | Family] | None = None,
        shares: Mapping[str, float] | None = None,
        abstain: float | None = None,
        bag_size: float = 0.3,
    ) -> None:
        self.voters = voters
        self.bound = bound
        self.delta = delta
        self.certification = certification
        self.certify_size = certify_size
        self.prior = prior
        self.solver = solver
        self.n_voters = n_voters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.anytime = anytime
        self.claims = claims
        self.shares = shares
        self.abstain = abstain
        self.bag_size = bag_size

    def _check_settings(self) -> "_Asked":
        if isinstance(self.prior, str) and self.prior not in ("learned", "uniform"):
            raise ValueError(
                f"prior must be 'uniform', 'learned' or one number per voter, got {self.prior!r}."
            )
        learns_prior = self._learns_prior()
        if is_frozen(self.voters) and learns_prior:
            raise ValueError(
                "prior='learned' needs a part A to learn from, which frozen voters do not have: "
                "give a prior that was learned elsewhere, or None."
            )
        # The default stands for none: a bound object has its own.
        default = isinstance(self.bound, Bound) and self.delta == 0.05
        # Copies: what is changed after this sample has been seen must not count.
        bound = bound_at(self.bound, None if default else self.delta).copied()
        total = float(bound.delta)
        part, families = shared(self.claims, total, self.shares, self.abstain)
        if self.anytime and families:
            raise ValueError("claims are for one sample, not for a growing one: anytime=False.")
        return _Asked(bound.set_params(delta=part), total, families, learns_prior)

    def _bound(self, provenance: Mapping[str, Any]) -> Bound:
        """Return the bound at the δ of a certificate: that of its number, if it is one of many."""
        look = provenance.get("look")
        if look is None or "delta_of_all_looks" not in provenance:
            return self._fitted_bound
        own: Bound = clone(self._fitted_bound)
        own.delta = provenance["delta_of_all_looks"] / (look * (look + 1))
        return own

    def _learn_prior(self, asked: "_Asked", X: Any, y: NDArray[Any]) -> None:
        self._fitted_bound, self._total_delta, self._families = asked[:3]
        if asked.learns_prior:
            self._fitted_bound = self._fitted_bound.for_learned_prior()
        if self.anytime:
            self._provenance["look"] = 1
            for_all_sizes = self._fitted_bound.for_all_sizes()
            if for_all_sizes is None:
                self._provenance["delta_of_all_looks"] = float(self._fitted_bound.delta)
            else:
                self._fitted_bound = for_all_sizes
        self._prior: NDArray[np.float64] | None = None
        if asked.learns_prior:
            self._prior = self._weigh(X, y)
            self._provenance["prior"] = PRIOR_LEARNED
        elif self.prior is not None and not isinstance(self.prior, str):
            self._prior = check_prior(self.prior, len(self.voters_))
            self._provenance["prior"] = PRIOR_GIVEN

    def _learns_prior(self) -> bool:
        if self.prior is None:
            return self.certification == "split" and is_mixed(self.voters)
        return isinstance(self.prior, str) and self.prior == "learned"

    def _weigh(self, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the weights that part A gives."""
        seed = self._provenance["seed"]
        return learned_weights(
            self.voters,
            self.voters_,
            X,
            y,
            check_labels("classes_", self.classes_, ndim=1),
            self.n_voters,
            seed if isinstance(seed, int) else 0,
            self.n_jobs,
        )

    def _prior_again(self, X: Any, y: NDArray[Any]) -> ArrayLike | None:
        whole = getattr(self, "_whole_prior", self._prior)
        if self._provenance.get("prior") == PRIOR_LEARNED:
            whole = self._weigh(X, y)
        elif self.prior is None or isinstance(self.prior, str):
            whole = None
        if self._provenance.get("fewest_by") != FEWEST_BY_PART_A:
            return whole
        return self._fewest(X, y, whole, self._provenance["fewest_within"])[0]

    def _count(self, sample: Sample) -> VoteStatistics:
        bound = self._bound(self._provenance)
        return self._statistics_of(sample.ballots, sample.truth, bound, self._prior)

    def _learn(
        self,
        statistics: VoteStatistics,
        sample: Sample,
        rng: np.random.RandomState,
    ) -> None:
        self.__dict__.update(self._learned(statistics, sample, rng))

    def _learned(
        self,
        statistics: Statistics,
        sample: Sample | None,
        rng: np.random.RandomState,
        **said: Any,
    ) -> dict[str, Any]:
        """Return what a fit leaves: weights, their certificate, and where they came from."""
        bound = self._bound(said.get("provenance", self._provenance))
        prior = said.pop("prior", self._prior)
        result = minimize(bound, statistics, prior, solver=self.solver, random_state=rng)
        if self._families:
            said |= {"families": self._families, "total_delta": self._total_delta}
        certificate = self._issue(bound, statistics, result.weights, prior, sample, **said)
        return {
            "optimisation_": result,
            "statistics_": statistics,
            "certificate_": certificate,
            "weights_": certificate.weights,
        }

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None
    ) -> "MajorityVoteClassifier":
        """Add certification examples, and learn and certify the weights again.

        The voters stay as they are, and the old data is not needed again. The first call on an
        unfitted vote is `fit`. A certificate holds for the size at which it was asked for: looking
        again and again, and stopping when one pleases, is a choice among several, which only
        ``anytime=True`` pays for; unless its bound is one for all sizes, the sizes of the batches
        must not depend on the certificates before, nor on the examples. The bound, its delta and
        the prior are those of the first call.
        Examples are counted once: a batch with many that are known is refused, as far as
        rows tell examples apart (where all features are discrete and rows repeat, only whole
        batches and large parts of them are known again).

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            New examples.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come, for the first call.

        Returns
        -------
        self
            The vote with more evidence.
        """
        self._refuse_more()
        if not hasattr(self, "statistics_"):
            self._fit(X, y, classes)
            return self
        if "grouped_by" in self._provenance or "split_by_time" in self._provenance:
            raise ValueError(
                "partial_fit cannot add to a vote that was certified by groups or by time: fit it "
                "again on all rows, or certify it on new ones."
            )
        if self._families:
            raise ValueError(
                "partial_fit cannot add to a vote of which more than the error is claimed: fit it "
                "again on all rows, or certify it on new ones."
            )
        if self.anytime != ("look" in self._provenance):
            raise ValueError(
                "anytime must be what it was at the first fit, as δ is shared out from then on: "
                "fit again to change it."
            )
        X, labels, _ = self._given(X, y, reset=False)
        rows = row_fingerprints(X)
        known = self._examine_known(self._seen.known(X, rows), rows)
        if known is None:
            return self
        bound = self._bound(self._provenance)
        ballots = self._votes(X)
        new = self._statistics_of(ballots, ballots.truth(labels), bound, self._prior)
        look = Examination([*known, *self._examine_labels(labels)])
        rounded_rows(look, self._seen, X, rows)
        self._examine_copies(look, X, labels, rows, by_rows=True)
        self._ask_again(look, Sample(X, labels, ballots, ballots.truth(labels), {}))
        found = self._say(look.findings)
        seen = copy(self._seen)
        seen.add(rows)
        seen.add_rounded(X)
        findings = (*self._findings, *found)
        added = self._provenance.get("added_samples", 0) + len(rows)
        provenance = {**self._provenance_of_weights(), "added_samples": added}
        if "look" in provenance:
            provenance["look"] += 1
        rng = check_random_state(0)
        said = {"provenance": provenance, "findings": findings, "checks": {}}
        learned = self._learned(self.statistics_ + new, None, rng, **said)
        # All at once at the end: what stops half-way must leave nothing behind.
        own = {"_seen": seen, "_findings": findings, "_provenance": provenance, "_checks": {}}
        self.__dict__.update(learned | own)
        return self

    def _examine_known(
        self, known: NDArray[np.bool_], rows: NDArray[np.uint64]
    ) -> list[str] | None:
        """Return a finding if some examples are known; None if all of a batch came before.

        Single rows are not left out, as they may come again by chance: a sample without those that
        were there before is not drawn like the examples to come.
        """
        if not known.any():
            return []
        seen = f"{np.count_nonzero(known)} of these {len(rows)} examples are known to this vote"
        distinct = np.unique(rows[known]).size
        if known.all() and distinct > max(_FEW_COPIES, 0.9 * len(rows)):
            warnings.warn(f"{seen}. Evidence counts once: nothing is added.", stacklevel=3)
            return None
        many = distinct > max(_FEW_COPIES, TOO_MANY_TWINS * len(rows))
        if many or (known.all() and len(rows) > 4 * _FEW_COPIES):
            raise ValueError(f"{seen} already, and evidence counts once: give new examples only.")
        return [
            f"{seen}, or have equals that are. They are counted: if they are the very same, the "
            "certificate is not valid."
        ]

    def prune(self, min_weight: float) -> "MajorityVoteClassifier":
        """Return a smaller vote, without the voters of little weight, and with its certificate.

        The remaining weights are scaled to sum to 1, and certified on the same sample: the bounds
        that hold for learned weights hold for these too. Voters without weight are not asked by
        `predict`.

        Parameters
        ----------
        min_weight : float
            The smallest weight to keep, in (0, 1).

        Returns
        -------
        MajorityVoteClassifier
            A fitted vote; this one stays as it is. A vote that was tested with just these weights,
            by ``heldout``, is refused.
        """
        check_is_fitted(self)
        smallest = check_number("min_weight", min_weight, 0.0, 1.0)
        kept = np.where(self.weights_ >= smallest, self.weights_, 0.0)
        if not kept.any():
            raise ValueError(
                f"min_weight must be at most the largest weight, {self.weights_.max():g}, got "
                f"{min_weight!r}."
            )
        claimed = self.certificate_
        if "vote_errors" in claimed.evidence and np.any(kept != self.weights_):
            raise ValueError(
                "prune cannot change weights that were tested as they are (heldout): learn them "
                "by a bound such as lacasse, or certify the smaller vote on new data."
            )
        return self._with_weights(kept / kept.sum(), self._provenance_of_weights())

    def _with_weights(
        self, weights: NDArray[np.float64], provenance: dict[str, Any], **state: Any
    ) -> "MajorityVoteClassifier":
        """Return a vote with other weights, certified on the same sample by the same bound."""
        certificate = self._issue(
            self.certificate_.bound_object,
            self.statistics_,
            weights,
            self._prior,
            None,
            provenance=provenance,
        )
        return self._with(
            _seen=copy(self._seen),
            _provenance=provenance,
            certificate_=certificate,
            weights_=certificate.weights,
            **state,
        )

    def _provenance_of_weights(self) -> dict[str, Any]:
        """Return the provenance of other weights than those of a vote that was made smaller."""
        if self._provenance.get("fewest_by") != FEWEST_BY_SAMPLE:
            return dict(self._provenance)
        return {key: own for key, own in self._provenance.items() if key not in FEWEST_KEYS}

    def smallest(
        self,
        tolerance: float = 0.01,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        groups: Any = None,
        time: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
    ) -> "MajorityVoteClassifier":
        """Return the vote of the fewest voters that are about as good, with its certificate.

        The heaviest voters stay. Those without weight are not asked by `predict`, which takes less
        time.

        Parameters
        ----------
        tolerance : float, default=0.01
            How much larger the certificate may be with fewer voters, in [0, 1]. Where part A says
            how many are enough this is what it expects, and part B may say otherwise.
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features), default=None
            What `fit` was given, all of it and in its order: part A says how many voters are
            enough, and part B tests them. If None, the certification sample says it, which bounds
            allow that hold for all weights at once; the default one tests a fixed vote.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        groups, time : array-like of shape (n_samples,), default=None
            What `fit` was given.
        by : mapping of str to array-like of shape (n_samples,), default=None
            The columns of groups that claims are about, where there are such.

        Returns
        -------
        MajorityVoteClassifier
            A fitted vote; this one stays as it is. Its `sizes_` are the numbers of voters that were
            looked at, ``"n_voters"``, and the limit of each, ``"limits"``: see
            `certivote.plotting.SizesDisplay`.

        Notes
        -----
        *On the certification sample.* A bound of this library holds for all weights at once, with
        probability 1 − δ, and a vote of fewer voters is the same voters with other weights, some of
        them 0. So any number of votes may be looked at, and one of them chosen: its certificate
        holds, together with that of all voters. The prior stays the one on all voters, and KL is
        paid to it; one on those that were kept would have seen the sample.

        *On part A.* The test of a fixed vote says nothing of another one: chosen on part B, it
        would have been chosen for its luck there. So the voters are trained five times more, on
        four fifths of part A, and asked on the rest. In the order of the prior, so many voters are
        kept that from their number on the error there, with one standard error of the difference
        added, is always within the tolerance of that of all. They are a prior which has not seen
        part B, and the bound is minimised there with it, once.
        How the vote does there decides nothing: whatever its certificate is, it is returned, and
        may be further from that of all voters than the tolerance, or below it. It holds with
        probability 1 − δ, and so does that of all voters, each by itself: to keep the better of
        the two is a choice that looks at part B, and holds at the sum of both deltas.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_breast_cancer
        >>> from certivote import MajorityVoteClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> vote = MajorityVoteClassifier("trees", bound="lacasse", random_state=0).fit(X, y)
        >>> smaller = vote.smallest(0.01)
        >>> print(np.count_nonzero(smaller.weights_))
        32
        >>> vote.certificate_.risk_bound < smaller.certificate_.risk_bound
        True
        """
        check_is_fitted(self)
        allowed = check_number("tolerance", tolerance, 0.0, 1.0)
        if any(key in self._provenance for key in FEWEST_KEYS):
            raise ValueError(
                "smallest was called on a vote that was made smaller already: call it on the one "
                "that this was made from."
            )
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together.")
        if X is None or y is None:
            for name, given in (("groups", groups), ("time", time), ("by", by)):
                if given is not None:
                    raise ValueError(f"{name} must be None where there is no X.")
            return self._smallest_on_sample(allowed)
        X, labels, columns = self._given(X, y, by, groups, time, reset=False)
        return self._smallest_on_part_a(allowed, X, labels, columns, groups, time)

    def _smallest_on_sample(self, tolerance: float) -> "MajorityVoteClassifier":
        bound = self.certificate_.bound_object
        if "fixed votes" in bound.needs or self._families:
            what = f"the bound {bound.name!r} tests a vote that was fixed before"
            if self._families:
                what = "what is claimed besides must be counted again"
            raise ValueError(
                f"smallest needs X and y, what fit was given, to choose the voters on part A: "
                f"{what}. Where there is no part A, fit with a bound that holds for all weights "
                "at once, and claim the error only."
            )
        q = self.weights_
        sizes = sizes_up_to(int(np.count_nonzero(q)))
        limits = [
            min(1.0, bound.value(self.statistics_, heaviest(q, size), self._prior))
            for size in sizes.tolist()
        ]
        found = Sizes(sizes, np.array(limits))
        said = dict(zip(FEWEST_KEYS, (tolerance, FEWEST_BY_SAMPLE), strict=True))
        weights = heaviest(q, found.first_within(tolerance))
        return self._with_weights(weights, {**self._provenance, **said}, sizes_=found.to_dict())

    def _smallest_on_part_a(
        self,
        tolerance: float,
        X: Any,
        y: NDArray[Any],
        by: Mapping[str, NDArray[Any]],
        groups: Any,
        time: Any,
    ) -> "MajorityVoteClassifier":
        if self._frozen or self._in_bags:
            raise ValueError(
                "smallest must have no X and y here, as there is no part A to choose on: the "
                "voters are frozen, or out of bag. Leave them out, with a bound that holds for all "
                "weights at once."
            )
        self._check_repeatable()
        part_a, part_b = self._parts_again(X, groups, time)
        if len(part_a) < _FEWEST_TO_CHOOSE:
            raise ValueError(
                f"smallest needs at least {_FEWEST_TO_CHOOSE} rows in part A to choose on, got "
                f"{len(part_a)}: leave X and y out, with a bound that holds for all weights at "
                "once."
            )
        X_a, y_a = _safe_indexing(X, part_a), y[part_a]
        columns = {name: column[part_b] for name, column in by.items()}
        sample = self._sample(_safe_indexing(X, part_b), y[part_b], columns)
        if self._count(sample).digest() != self.statistics_.digest():
            raise ValueError(
                "X and y must be what fit was given, all of it and in its order: the voters err "
                "otherwise on these rows."
            )
        prior, found = self._fewest(X_a, y_a, self._prior, tolerance)
        said = dict(zip(FEWEST_KEYS, (tolerance, FEWEST_BY_PART_A), strict=True))
        provenance = {"prior": PRIOR_LEARNED, **self._provenance, **said}
        sample = sample._replace(reference=self._reference(X_a, y_a, None, prior))
        bound = self._bound(provenance)
        statistics = self._statistics_of(sample.ballots, sample.truth, bound, prior)
        learned = self._learned(
            statistics, sample, check_random_state(0), provenance=provenance, prior=prior
        )
        return self._with(
            _seen=copy(self._seen),
            _prior=prior,
            _whole_prior=self._prior,
            _provenance=provenance,
            sizes_=found.to_dict(),
            **learned,
        )

    def _fewest(
        self, X: Any, y: NDArray[Any], whole: ArrayLike | None, tolerance: float
    ) -> tuple[NDArray[np.float64], Sizes]:
        """Return the prior on the voters that part A shows to be enough, and what it showed."""
        weights = check_prior(whole, len(self.voters_))
        folds = ((votes, votes.truth(y[rows])) for rows, votes in self._cross_fitted(X, y))
        found = limits_of(folds, weights, float(self._fitted_bound.delta))
        return heaviest(weights, found.always_within(tolerance)), found
