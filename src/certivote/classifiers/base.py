"""What all certified votes share: the split, the voters, prediction, and certificates."""

import json
import re
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import (
    Tags,
    _safe_indexing,
    check_random_state,
    get_tags,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from .._utils.stopwatch import Stopwatch
from .._utils.validation import check_distribution, check_prior
from .._version import __version__
from ..bounds import Bound, bound_at
from ..bounds.registry import DEFAULT_OF_ONE
from ..certificate import Certificate, CertificateError
from ..certificate.certify import issue
from ..certificate.neighbours import GIVEN, PART_A
from ..certificate.provenance import DATA_KEYS, FROZEN, NEW_DATA, SPLIT
from ..claims import Family, shared
from ..claims.abstaining import PART_A as PART_A_SHARES
from ..claims.abstaining import UNLABELLED
from ..claims.base import Outcome, Scores, check_by
from ..labels import (
    UNKNOWN,
    check_aligned,
    check_all_aligned,
    check_class,
    check_labels,
    check_targets,
    codes_of,
    merge_labels,
    most_frequent,
)
from ..statistics import Statistics, VoteStatistics
from ..voters import PredictionTable, Voters, fit_voters, frozen_parts, is_frozen
from ..voting import Ballots
from . import _guards
from ._fingerprints import SeenRows, row_fingerprints
from ._guards import Examination
from ._kin import kin
from ._scores import cross_fitted, cross_fitted_shares
from ._split import (
    Rows,
    as_table,
    check_said,
    drawn,
    drawn_again,
    plain_number,
    seed_of,
    share_to_certify,
    split,
)

__all__ = ["CertifiedVote", "rebuild_vote"]

# A prior that is made again elsewhere may differ by this much, relatively: in KL, by no more.
_SAME_PRIOR = 1e-9

# What a vote remembers of its fit, besides what users see.
_STATE = frozenset(
    {
        "_baseline",
        "_checks",
        "_families",
        "_findings",
        "_fitted_bound",
        "_frozen",
        "_prior",
        "_provenance",
        "_seen",
        "_total_delta",
        "_whole_prior",
    }
)

# Fewer training rows than so many are not trained on again, in parts.
_FEWEST = 20

# Predictions are made for so many votes at a time.
_VOTES_PER_CHUNK = 2**24


class Sample(NamedTuple):
    """Certification examples: their rows, labels, the votes on them, and columns of groups.

    The reference are winning shares on other rows, and where these came from.
    """

    X: Any
    y: NDArray[Any]
    ballots: Ballots
    by: Mapping[str, NDArray[Any]]
    reference: tuple[NDArray[np.float64], str] | None = None


class CertifiedVote(ClassifierMixin, BaseEstimator):
    """A majority vote that learns its weights, and certifies them, on data new to its voters.

    A subclass stores its settings, and writes `_check_classes` and `_learn`.

    Examples
    --------
    >>> from certivote.classifiers import CertifiedVote, MajorityVoteClassifier
    >>> isinstance(MajorityVoteClassifier(), CertifiedVote)
    True
    """

    voters: Any
    delta: float
    certify_size: float | str
    n_voters: int
    random_state: Any
    n_jobs: int | None
    verbose: int

    # What is claimed besides the error: nothing, in votes that were saved before there was more.
    _families: tuple[Family, ...] = ()

    # --- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        groups: Any = None,
        time: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
        unlabelled: Any = None,
        **fit_params: Any,
    ) -> "CertifiedVote":
        """Train the voters on part A of the data, learn and certify their weights on part B.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features), or texts
            The examples. Trees and stumps take dataframes with names, dates and gaps, and a list or
            series of texts, as features that part A decides on: see
            `certivote.voters.TableFeatures`. Other voters get what is given.
        y : array-like of shape (n_samples,)
            Their labels, of any type.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as those of one patient. Whole groups train or certify,
            and one row of each group that certifies is drawn at random: the claim is about a random
            row of a new group, and m is the number of groups.
        time : array-like of shape (n_samples,), default=None
            When each row came: the earlier rows train, and the latest ones certify.
        by : mapping of str to array-like of shape (n_samples,), default=None
            The columns of groups that claims are about. The voters do not see them, unless they are
            in X.
        unlabelled : like X, default=None
            Other examples, whose labels need not be known: where the vote may abstain they say at
            which level testing begins. If None, part A does, by votes of voters that did not see
            the row; or a tenth of part B, which does not test, where the voters are frozen.
        **fit_params
            None is accepted: a weighted sample is not drawn like the examples to come, so that no
            certificate would hold for it.

        Returns
        -------
        self
            The fitted vote.
        """
        _refuse(fit_params)
        return self._fit(X, y, None, groups, time, by, unlabelled)

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        groups: Any = None,
        time: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
        unlabelled: Any = None,
    ) -> "CertifiedVote":
        # A fit that fails leaves nothing behind: new voters must not meet older weights.
        self._forget()
        try:
            return self._fit_anew(X, y, classes, groups, time, by, unlabelled)
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        """Remove all that a fit leaves."""
        for name in [name for name in vars(self) if name.endswith("_") or name in _STATE]:
            delattr(self, name)

    def _fit_anew(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        groups: Any,
        time: Any,
        by: Mapping[str, ArrayLike] | None,
        unlabelled: Any,
    ) -> "CertifiedVote":
        objects = hasattr(y, "__array__") and np.asarray(y).dtype.kind == "O"
        check_all_aligned(X=X, y=y, groups=groups, time=time)
        columns = check_by(by, y, X=X)
        X, y = self._check_data(X, y, reset=True)
        frozen = is_frozen(self.voters)
        seed, rng = seed_of(self.random_state)
        if frozen and time is not None:
            raise ValueError(
                "time is for voters that are trained here, on the earlier rows: of frozen ones all "
                "rows certify."
            )
        together = Rows(_num_samples(X), groups, time)
        size = share_to_certify(self.certify_size, together.n_units)
        part_a, part_b = split(together, size, frozen, rng)
        X_b, y_b = _safe_indexing(X, part_b), y[part_b]
        X_a, y_a = (X_b, y_b) if frozen else (_safe_indexing(X, part_a), y[part_a])
        clock = Stopwatch()
        voters = fit_voters(
            self.voters, X_a, y_a, self.n_voters, rng, n_jobs=self.n_jobs, verbose=self.verbose
        )
        clock.lap("training")
        self.voters_: Voters = voters
        if (told := _guards.left_out_members(voters)) is not None:
            warnings.warn(told, stacklevel=4)
        known = _all_classes(y, voters, classes)
        # Labels come back as what they came as; in between texts of numpy are faster than objects.
        self.classes_ = known.astype(object) if objects else known
        self._check_classes()
        self._frozen = frozen
        self._provenance: dict[str, Any] = {"voters_from": FROZEN, **together.said}
        if frozen and "grouped_by" in together.said:
            self._provenance["seed"] = seed
        if not frozen:
            self._provenance = {
                "voters_from": SPLIT,
                **together.said,
                "voter_samples": len(part_a),
                "seed": seed,
                "certify_size": plain_number(size),
            }
            if parts := frozen_parts(self.voters):
                self._provenance["frozen_parts"] = parts
        rows = row_fingerprints(X)
        self._seen = SeenRows()
        others = np.setdiff1d(np.arange(len(rows)), np.concatenate([part_a, part_b]))
        self._seen.add(rows[part_a], rows[part_b], *([rows[others]] if others.size else []))
        clock.lap("checking")
        self._learn_prior(X_a, y_a)
        self._baseline = None if frozen else (most_frequent(y_a), PART_A)
        columns = {name: column[part_b] for name, column in columns.items()}
        reference = self._reference(X_a, y_a, unlabelled, getattr(self, "_prior", None))
        sample = Sample(X_b, y_b, self._votes(X_b), columns, reference)
        clock.lap("voting")
        look = self._examine(X, y, rows, part_a, part_b, sample.ballots)
        self._findings, self._checks = self._say(look.findings), look.checks
        clock.lap("checking")
        self._learn(self._count(sample.ballots, sample.ballots.truth(y_b)), sample, rng)
        clock.lap("learning")
        self.fit_times_ = clock.seconds
        return self

    def _examine(
        self,
        X: Any,
        y: NDArray[Any],
        rows: NDArray[np.uint64],
        part_a: NDArray[np.intp],
        part_b: NDArray[np.intp],
        ballots: Ballots,
    ) -> Examination:
        """Look for what throws doubt on a certificate of the votes on part B."""
        look = Examination()
        if self._frozen:
            X, y, rows = _safe_indexing(X, part_b), y[part_b], rows[part_b]
            _guards.seen_by_votes(look, self.voters, X)
            self._examine_copies(look, X, rows)
            losses = ballots.codes != ballots.truth(y)[:, None]
            look.findings += _guards.training_rows(self.voters, losses)
        else:
            look.findings += _guards.unseen_classes(y[part_a], y[part_b])
            look.findings += _guards.failed_members(self.voters_)
            _guards.twins(look, X, rows[part_a], rows[part_b])
            some = slice(_guards.ENOUGH)
            losses = ballots.codes[some] != ballots.truth(y[part_b])[some, None]
            if "split_by_time" in self._provenance:
                look.findings += _guards.errors_in_time(losses)
            else:
                look.findings += _guards.rows_beside(part_a, part_b[some], losses)
            grouped = "grouped_by" in self._provenance
            if _guards.DUPLICATES in look.checks and not grouped:  # copies tell of each other
                seed = self._provenance["seed"]
                look.findings += _guards.side_by_side(X, y, rows)
                look.findings += kin(X, y, seed if isinstance(seed, int) else 0)
        return look

    def _issue(
        self,
        bound: Bound,
        statistics: Statistics,
        weights: ArrayLike,
        prior: ArrayLike | None,
        sample: Sample | None,
        **said: Any,
    ) -> Certificate:
        """Certify weights, and count what stands beside the number where the sample is at hand."""
        known = {"provenance": self._provenance, "findings": self._findings, "checks": self._checks}
        said = {**known, **said}
        if sample is not None:
            q = check_distribution("weights", weights, statistics.n_voters)
            said["outcome"] = self._outcome(sample, q, prior)
            said["findings"] = (*said["findings"], *self._say(self._difference(sample, q)))
        elif self._taken_apart():
            said["findings"] = (*said["findings"], *_guards.may_differ(self.voters))
        return issue(bound, statistics, weights, prior, **said)

    def _outcome(
        self, sample: Sample, weights: NDArray[np.float64], prior: ArrayLike | None
    ) -> Outcome:
        """Return what the vote with these weights answers, and the truth."""
        ballots, y = sample.ballots, sample.y

        def count(rows: NDArray[np.bool_], bound: Bound) -> Statistics:
            part = Ballots(ballots.codes[rows], ballots.labels)
            return self._statistics_of(part, y[rows], bound, prior)

        known = check_labels("classes_", self.classes_, ndim=1)
        weighed = self._weighed(ballots)
        predicted, shares = weighed.win(weights)
        scores = Scores(shares, True, *(sample.reference or ()))
        # Where voters may have no opinion it is told, though all examples have an answer here.
        table = self.voters if isinstance(self.voters, PredictionTable) else PredictionTable()
        silent = None if table.missing is None else weighed.winners(weights) < 0
        return Outcome(y, predicted, self._baseline, sample.by, known, count, scores, silent)

    def _reference(
        self, X: Any, y: NDArray[Any], unlabelled: Any, prior: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], str] | None:
        """Return winning shares on rows that do not certify, where a claim asks for such."""
        if not any(family.needs_scores for family in self._families):
            return None
        if unlabelled is not None:
            ballots = self._votes(as_table(unlabelled))
            return ballots.win(check_prior(prior, len(self.voters_)))[1], UNLABELLED
        if self._frozen or len(y) < _FEWEST:
            return None
        return cross_fitted_shares(self._cross_fitted(X, y), prior), PART_A_SHARES

    def _cross_fitted(self, X: Any, y: NDArray[Any]) -> Iterator[tuple[NDArray[np.intp], Ballots]]:
        """Yield rows of part A, and the votes on them of voters that were not trained on them."""
        seed = self._provenance["seed"]
        return cross_fitted(
            self.voters,
            X,
            y,
            check_labels("classes_", self.classes_, ndim=1),
            self.n_voters,
            seed if isinstance(seed, int) else 0,
            self.n_jobs,
        )

    def _taken_apart(self) -> bool:
        """Tell whether the voters are members of one frozen classifier.

        Lists and tables are no classifier, and one voter is asked as it is.
        """
        parts = isinstance(self.voters, list | tuple | PredictionTable)
        return self._frozen and not parts and len(self.voters_) > 1

    def _difference(self, sample: Sample, weights: NDArray[np.float64]) -> list[str]:
        """Return where members vote otherwise than the frozen classifier they were taken from."""
        if not self._taken_apart():
            return []
        predicted = self._weighed(sample.ballots).predict(weights)
        return _guards.difference(self.voters, sample.X, predicted)

    def _say(self, findings: list[str]) -> tuple[str, ...]:
        """Warn of findings, and return them for the certificate."""
        for text in findings:
            warnings.warn(text, stacklevel=4)
        return tuple(findings)

    def _check_data(self, X: Any, y: ArrayLike, reset: bool) -> tuple[Any, NDArray[Any]]:
        check_aligned(X=X, y=y)
        X = as_table(X)
        if _num_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s): X must hold at least one example.")
        validate_data(self, X, y, reset=reset, skip_check_array=True)
        labels = check_targets("y", y)
        if _num_samples(X) != len(labels):
            raise ValueError(
                "X and y must have the same number of rows, got inconsistent numbers of samples: "
                f"{_num_samples(X)} and {len(labels)}."
            )
        check_classification_targets(labels)
        if isinstance(self.voters, PredictionTable):
            self.voters.check_targets(labels)
        return X, labels

    @abstractmethod
    def _prior_again(self, X: Any, y: NDArray[Any]) -> ArrayLike | None:
        """Return the prior that the settings ask for, made again from part A; uniform if None."""

    @abstractmethod
    def _check_classes(self) -> None:
        """Refuse a number of classes that the learner cannot take."""

    def _learn_prior(self, X: Any, y: NDArray[Any]) -> None:
        """Learn on part A what must not look at part B."""

    def _count(self, ballots: Ballots, codes: NDArray[Any]) -> VoteStatistics:
        """Return what learning needs to know of the votes of part B."""
        return VoteStatistics.from_votes(ballots.codes, codes)

    @abstractmethod
    def _learn(
        self,
        statistics: VoteStatistics,
        sample: Sample,
        rng: np.random.RandomState,
    ) -> None:
        """Set weights, statistics and certificate."""

    def _with(self, **state: Any) -> Self:
        """Return a vote that differs from this one in some of its state."""
        own = copy(self)
        own.__dict__.update(state)
        return own

    # --- the vote ------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of the vote for each class. It is not a probability of the class.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The weight of the voters that predict each class. What is missing to 1 is the share of
            labels that are not in `classes_`, and of voters without an opinion.
        """
        shares = [
            ballots.shares(weights)[:, codes_of(self.classes_, ballots.labels)]
            for ballots, weights in self._asked(X)
        ]
        return np.concatenate(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the largest share of the vote, the first one on a tie.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels: this is the vote that is certified. They are those that voters
            name on these examples, and may be none of `classes_`. Where no voter with weight has
            an opinion, it is the marker of `PredictionTable`, which counts as an error.
        """
        labels = np.concatenate([ballots.predict(weights) for ballots, weights in self._asked(X)])
        return labels.astype(object) if self.classes_.dtype.kind == "O" else labels

    def accepts(self, X: Any, certificate: Certificate | None = None) -> NDArray[np.bool_]:
        """Tell where the vote is sure enough to answer, by a certificate that lets it abstain.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            The examples.
        certificate : Certificate, default=None
            A certificate of this vote; that of the fit if None.

        Returns
        -------
        ndarray of shape (n_samples,)
            Whether the claim on its answers is about each example: all of them, where the vote was
            certified without abstaining.
        """
        claimed = self.certificate_ if certificate is None else certificate
        if not np.array_equal(claimed.weights, self.weights_):
            raise ValueError("certificate must be one of this vote: its weights are others.")
        return claimed.answered(self.winning_shares(X))

    def winning_shares(self, X: Any) -> NDArray[np.float64]:
        """Return the share of the vote that each predicted label has.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            The examples.
        """
        return np.concatenate([ballots.win(weights)[1] for ballots, weights in self._asked(X)])

    def _asked(self, X: Any) -> Iterator[tuple[Ballots, NDArray[np.float64]]]:
        """Yield the ballots of the voters that have a say, some rows at a time, and their weights.

        A voter without weight changes no share, to the last bit.
        """
        check_is_fitted(self)
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        asked = np.any(self.weights_.reshape(-1, len(self.voters_)) > 0.0, axis=0)
        weights = self.weights_[np.tile(asked, self.weights_.size // asked.size)]
        m = _num_samples(X)
        step = max(1, _VOTES_PER_CHUNK // len(self.voters_))
        for start in range(0, max(1, m), step):
            rows = X if step >= m else _safe_indexing(X, slice(start, min(m, start + step)))
            yield self._weighed(self._votes(rows, only=asked)), weights

    def _votes(self, X: Any, only: NDArray[np.bool_] | None = None) -> Ballots:
        """Return the ballots of the voters, or of some of them."""
        classes = check_labels("classes_", self.classes_, ndim=1)
        return self.voters_.votes(X, classes, n_jobs=self.n_jobs, verbose=self.verbose, only=only)

    def _weighed(self, ballots: Ballots) -> Ballots:
        """Return the ballots to which the weights belong, from those of the voters."""
        return ballots

    def _statistics_of(
        self, ballots: Ballots, y: NDArray[Any], bound: Bound, prior: ArrayLike | None
    ) -> VoteStatistics:
        """Return what a bound needs to know of these votes."""
        weighed = self._weighed(ballots)
        return bound.count(weighed.codes, ballots.truth(y), prior, weighed.missing)

    def certify(
        self,
        X: Any,
        y: ArrayLike,
        bound: str | Bound | None = None,
        delta: float | None = None,
        *,
        baseline: Any = None,
        groups: Any = None,
        seed: int = 0,
        claims: Sequence[str | Family] | None = None,
        by: Mapping[str, ArrayLike] | None = None,
        shares: Mapping[str, float] | None = None,
        abstain: float | None = None,
        unlabelled: Any = None,
    ) -> Certificate:
        """Certify the vote as it is, on data that is new to it.

        The weights are fixed before these examples are looked at, so that they are their own prior:
        the certificate pays nothing for having learned them.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Examples that neither the voters nor the weights have seen. Those that `fit` or
            `partial_fit` saw are refused, as far as rows tell examples apart: where all features
            are discrete and rows repeat, only whole batches and large parts are known again.
        y : array-like of shape (n_samples,)
            Their labels.
        bound : str or Bound, default=None
            The bound; ``"heldout"`` if None, which nothing beats where the weights are fixed.
        delta : float, default=None
            The probability that the certificate may fail; that of the classifier if None.
        baseline : label, default=None
            The class that the baseline beside the certificate always answers; if None, the most
            frequent one of part A, or of these examples where the voters were frozen.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together: one row of each group is drawn at random, and certifies.
        seed : int, default=0
            Of that draw. It is recorded; fix it before you look.
        claims : sequence of str or Family, default=None
            What else is claimed at once, such as ``"recall"`` or ``"error by region"``: see
            `certivote.claims.parse_claim`. They share δ.
        by : mapping of str to array-like of shape (n_samples,), default=None
            The columns of groups that claims are about.
        shares : mapping of str to float, default=None
            The share of δ of each claim, and of ``"error"``, the overall one: see
            `certivote.claims.shared`.
        abstain : float, default=None
            How often an answer may be wrong, where it answers only if it is sure enough: see
            `certivote.claims.AbstainFamily`, and `SelectiveClassifier`.
        unlabelled : like X, default=None
            Other examples, whose labels need not be known: where it may abstain they say at which
            level testing begins. If None, a tenth of X does, and does not test.

        Returns
        -------
        Certificate
            The claim, with all that is needed to check it.
        """
        check_is_fitted(self)
        check_all_aligned(X=X, y=y, groups=groups)
        columns = check_by(by, y, X=X)
        X, y, columns, said = drawn(*self._check_data(X, y, reset=False), columns, groups, seed)
        look = self._examine_new(X, y)
        own = self._provenance.get("delta_of_all_looks", self.certificate_.delta)
        if isinstance(bound, Bound):
            chosen = bound_at(bound, delta)
        else:
            chosen = bound_at(bound or DEFAULT_OF_ONE, own if delta is None else delta)
        total = float(chosen.delta)
        part, families = shared(claims, total, shares, abstain)
        chosen = chosen.copied(delta=part)
        reference = None
        if unlabelled is not None:
            ballots = self._weighed(self._votes(as_table(unlabelled)))
            reference = ballots.win(self.weights_)[1], UNLABELLED
        sample = Sample(X, y, self._votes(X), columns, reference)
        outcome = self._outcome(sample, self.weights_, self.weights_)
        if baseline is not None:
            outcome = outcome.with_baseline((check_class("baseline", baseline, y), GIVEN))
        return issue(
            chosen,
            self._statistics_of(sample.ballots, y, chosen, self.weights_),
            self.weights_,
            self.weights_,
            provenance={"voters_from": NEW_DATA, **said},
            findings=self._say(look.findings),
            checks=look.checks,
            outcome=outcome,
            families=families,
            total_delta=total,
        )

    def _examine_new(self, X: Any, y: NDArray[Any]) -> Examination:
        """Look for what throws doubt on new examples, and refuse those that the vote has seen."""
        rows = row_fingerprints(X)
        look = Examination()
        share = float(self._seen.known(X, rows).mean())
        look.look(_guards.TRAINING_ROWS, *_guards.already_seen(share, len(rows)))
        look.findings += self._examine_labels(y)
        self._examine_copies(look, X, rows)
        return look

    def known_share(self, X: Any) -> float:
        """Return which share of examples this vote was fitted on, as far as rows tell.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            The examples.
        """
        check_is_fitted(self)
        X = as_table(X)
        return float(self._seen.known(X, row_fingerprints(X)).mean())

    def _examine_copies(self, look: Examination, X: Any, rows: NDArray[np.uint64]) -> None:
        # Predictions are alike wherever voters agree: their rows tell no examples apart.
        if not isinstance(self.voters, PredictionTable):
            _guards.copies(look, X, rows)

    def _examine_labels(self, y: NDArray[Any]) -> list[str]:
        return _guards.unknown_labels(y, codes_of(y, self.classes_) == UNKNOWN)

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        certificate: Certificate | None = None,
        *,
        groups: Any = None,
        time: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Recompute a certificate of this vote from its data, and raise if it does not hold up.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            What `fit` was given, all of it and in its order: the split is drawn again from its
            seed. For frozen voters and for `certify`, the certification examples.
        y : array-like of shape (n_samples,)
            Their labels.
        certificate : Certificate, default=None
            The certificate to check; that of the fit if None.
        groups, time : array-like of shape (n_samples,), default=None
            What `fit`, or `certify`, was given.
        by : mapping of str to array-like of shape (n_samples,), default=None
            The columns of groups that claims are about, where there are such.

        Notes
        -----
        That the voters were trained on part A only is not checked: it is an assumption, and so is
        that a prior given by the user was fixed without looking at part B. Which file the examples
        of `certify` came from is not known here: what the certificate says of it is not checked.
        A learned prior is learned again; that of mixed voters from the errors on part A that they
        remember, without training them again.

        Raises
        ------
        CertificateError
            If the certificate is not one of this vote, or not supported by this data.
        ValueError
            If it cannot be checked: the split cannot be drawn again, or data was added later.
        """
        check_is_fitted(self)
        # Made again, as it may have been changed since it was checked.
        claimed = replace(self.certificate_ if certificate is None else certificate)
        check_all_aligned(X=X, y=y, groups=groups, time=time)
        columns = check_by(by, y, X=X)
        X, y = self._check_data(X, y, reset=False)
        weights = check_distribution("weights", self.weights_, self.weights_.size)
        if not np.array_equal(claimed.weights, weights):
            raise CertificateError("the weights of the certificate are not those of this vote.")
        if claimed.votes_sha256 is not None:
            raise CertificateError("the certificate is of a table of votes, not of this vote.")
        if claimed.provenance.get("voters_from") == NEW_DATA:
            prior: ArrayLike = weights
            X, y, columns, _ = drawn_again(X, y, columns, groups, claimed.provenance)
            try:
                look = self._examine_new(X, y)
            except ValueError as error:
                raise CertificateError(str(error)) from error
            sample = Sample(X, y, self._votes(X), columns)
        else:
            self._check_provenance(claimed.provenance)
            part_a, part_b = self._parts_again(X, groups, time)
            X_b = _safe_indexing(X, part_b)
            columns = {name: column[part_b] for name, column in columns.items()}
            X_a, y_a = _safe_indexing(X, part_a), y[part_a]
            reference = None
            if any(getattr(one, "start_from", None) == PART_A_SHARES for one in claimed.families):
                reference = self._reference(X_a, y_a, None, getattr(self, "_prior", None))
            sample = Sample(X_b, y[part_b], self._votes(X_b), columns, reference)
            look = self._examine(X, y, row_fingerprints(X), part_a, part_b, sample.ballots)
            if self.certificate_.neighbours is not None:  # else it was not counted
                look.findings += self._difference(sample, weights)
            look.findings += self.certificate_.findings
            again = self._prior_again(X_a, y_a)
            prior = check_prior(again, weights.size)
            if _settings(claimed) != _settings(self.certificate_):
                raise CertificateError(
                    "the bound of the certificate, its settings, or what is claimed besides, are "
                    "not those of this vote."
                )
        if not np.allclose(claimed.prior, prior, rtol=_SAME_PRIOR, atol=0.0):
            raise CertificateError("the prior of the certificate is not the one of this vote.")
        statistics = self._recounted(sample, claimed)
        statistics.findings = tuple(look.findings)
        claimed.verify(statistics=statistics)
        self._verify_beside(claimed, sample, look.checks)

    def _parts_again(
        self, X: Any, groups: Any, time: Any
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of part A and part B of what `fit` was given."""
        check_said("groups", groups, "grouped_by", self._provenance)
        check_said("time", time, "split_by_time", self._provenance)
        return self._parts(
            Rows(_num_samples(X), groups, time),
            self._provenance.get("certify_size", 1),
            check_random_state(self._provenance.get("seed", 0)),
        )

    def _parts(
        self, rows: Rows, size: float, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of part A and part B, drawn again."""
        return split(rows, size, self._frozen, rng)

    def _recounted(self, sample: Sample, claimed: Certificate) -> Statistics:
        """Return what the bound of a certificate needs to know of a sample."""
        return self._statistics_of(sample.ballots, sample.y, claimed.bound_object, claimed.prior)

    def _verify_beside(
        self, claimed: Certificate, sample: Sample, checks: Mapping[str, str]
    ) -> None:
        """Refuse a certificate that says something else of what stands beside its number."""
        outcome = self._outcome(sample, claimed.weights, claimed.prior)
        beside = claimed.neighbours
        if beside is not None and beside.baseline_from != PART_A:
            outcome = outcome.with_baseline(None)  # then it is the one that the user gave
        elif beside is not None and self._baseline is None:
            raise CertificateError("the baseline is not of part A: the voters were frozen.")
        claimed.verify_outcome(outcome)
        claimed.verify_checks(checks, (), _guards.TOPICS)

    def _check_provenance(self, claimed: Mapping[str, Any]) -> None:
        """Refuse a certificate of another fit, and one that cannot be made again."""
        # Of files this vote knows what the certificate says that was written with it, if any.
        files = self.certificate_.provenance
        known = {name: files[name] for name in DATA_KEYS if name in files} | self._provenance
        for name in sorted({*known, *claimed}):
            if claimed.get(name) != known.get(name):
                raise CertificateError(
                    f"{name} is claimed to be {claimed.get(name)!r}, but is {known.get(name)!r}."
                )
        self._check_repeatable()

    def _check_repeatable(self) -> None:
        """Refuse a fit whose split cannot be drawn again."""
        if "added_samples" in self._provenance:
            raise ValueError("the certificate is of data from several calls: it cannot be redone.")
        if not self._frozen and not isinstance(self._provenance["seed"], int):
            raise ValueError("the split had no seed of its own: it cannot be drawn again.")

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The version comes first: another one can say so before it meets what it does not know.
        return rebuild_vote, (type(self), __version__), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        # How long the fit took is none of the vote: two of one seed are saved alike.
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("fit_times_", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name, parameter in signature(type(self)).parameters.items():
            if not hasattr(self, name):  # it was saved before there was such a parameter
                setattr(self, name, parameter.default)
        if hasattr(self, "weights_"):
            self.weights_.flags.writeable = False  # numpy forgets it

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        voters = self.voters
        if voters is None or isinstance(voters, str):
            voters = DecisionTreeClassifier()
            tags.input_tags.sparse = self.voters != "stumps"
            tags.input_tags.allow_nan = True
        elif isinstance(voters, list | tuple):
            inner = [get_tags(voter) for voter in voters if isinstance(voter, BaseEstimator)]
            tags.input_tags.sparse = all(tag.input_tags.sparse for tag in inner)
            tags.input_tags.allow_nan = all(tag.input_tags.allow_nan for tag in inner)
        elif isinstance(voters, BaseEstimator):
            inner_tags = get_tags(voters)
            tags.input_tags.sparse = inner_tags.input_tags.sparse
            tags.input_tags.allow_nan = inner_tags.input_tags.allow_nan
        return tags


def rebuild_vote(kind: type[CertifiedVote], version: str) -> CertifiedVote:
    """Return an empty vote, for what was pickled with it by a version of this library.

    Parameters
    ----------
    kind : type
        The class of the vote.
    version : str
        The version that wrote it. What a later one writes, this one may not understand.

    Examples
    --------
    >>> from certivote import MajorityVoteClassifier, __version__
    >>> from certivote.classifiers import rebuild_vote
    >>> type(rebuild_vote(MajorityVoteClassifier, __version__)).__name__
    'MajorityVoteClassifier'
    """
    theirs, ours = (
        [int(number) for number in re.findall(r"\d+", text)[:2]] for text in (version, __version__)
    )
    if theirs > ours:
        raise ValueError(
            f"this vote was saved by certivote {version}, which is later than this one, "
            f"{__version__}: load it with that version."
        )
    return kind.__new__(kind)


def _settings(certificate: Certificate) -> str:
    """Return the bound of a certificate, its settings, and what was asked for besides.

    They are the same before and after a file.
    """
    asked = [family.at(family.delta).to_dict() for family in certificate.families]
    settings = certificate.bound, certificate.bound_parameters, asked, certificate.total_delta
    return json.dumps(settings, sort_keys=True, default=np.ndarray.tolist)


def _refuse(fit_params: dict[str, Any]) -> None:
    if "sample_weight" in fit_params:
        raise ValueError(
            "sample_weight is refused: a weighted sample is not drawn like the examples to come, "
            "so that no certificate would hold for it. To weight the training of the voters, train "
            "them on other data and give them frozen."
        )
    if fit_params:
        raise TypeError(f"fit got unexpected arguments: {', '.join(sorted(fit_params))}.")


def _all_classes(y: NDArray[Any], voters: Voters, classes: ArrayLike | None) -> NDArray[Any]:
    """Return the sorted labels of the data, of the voters, and those announced."""
    known = [np.unique(y)]
    if classes is not None:
        known.append(check_labels("classes", classes, ndim=1))
    for group in voters.groups:
        labels = getattr(group, "labels", None)
        if labels is None:
            members = (group[index] for index in range(len(group)))
            known += [member.classes_ for member in members if hasattr(member, "classes_")]
        else:
            known.append(labels)
    try:
        return merge_labels(*known)
    except ValueError:
        raise ValueError(
            f"the voters know labels such as {known[-1][0]!r}, but y has labels such as "
            f"{known[0][0]!r}: they must be of one kind."
        ) from None
