"""Fitting a vote: the split, the voters, what is looked for, and what is said of it."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from .._utils.stopwatch import Stopwatch
from .._utils.validation import check_distribution, check_prior
from ..bounds import Bound
from ..certificate import Certificate
from ..certificate.certify import issue
from ..certificate.neighbours import PART_A
from ..claims.abstaining import PART_A as PART_A_SHARES
from ..claims.abstaining import UNLABELLED
from ..claims.base import Outcome, Scores
from ..labels import (
    UNKNOWN,
    check_all_aligned,
    check_by,
    check_labels,
    check_one_kind,
    check_targets,
    codes_of,
    most_frequent,
)
from ..statistics import Statistics, VoteStatistics
from ..voters import (
    PredictionTable,
    cross_fitted,
    fit_voters,
    frozen_parts,
    is_frozen,
    joined_of,
)
from ..voting import Ballots
from . import _guards
from ._again import answer_by_row, ask_again
from ._answering import AnsweringVote, Sample
from ._beside import beside, side_by_side
from ._between import between
from ._fingerprints import SeenRows, row_fingerprints
from ._guards import Examination
from ._kin import kin
from ._later import later
from ._scores import cross_fitted_shares
from ._split import Rows, as_table, cut
from ._training import trained_on

__all__ = ["FittingVote"]

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


class FittingVote(AnsweringVote):
    """A vote that is trained on one part of the data, and certified on the other.

    A subclass stores its settings, and writes `_prior_again` and `_learn`.
    """

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        groups: Any = None,
        time: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
        unlabelled: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Train the voters on part A of the data, learn and certify their weights on part B.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features), or texts
            The examples. Mixed voters, trees and stumps take dataframes with names, dates and gaps,
            and a list or series of texts, as features that part A decides on: see
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
    ) -> Self:
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
    ) -> Self:
        objects = hasattr(y, "__array__") and np.asarray(y).dtype.kind == "O"
        asked, frozen = self._check_settings(), is_frozen(self.voters)
        X, y, columns = self._given(X, y, by, groups, time, reset=True)
        if frozen and time is not None:
            raise ValueError(
                "time is for voters that are trained here, on the earlier rows: of frozen ones all "
                "rows certify."
            )
        together = Rows(_num_samples(X), groups, time)
        part_a, part_b, rng, said = cut(together, self.certify_size, frozen, self.random_state)
        X_b, y_b = _safe_indexing(X, part_b), y[part_b]
        X_a, y_a = (X_b, y_b) if frozen else (_safe_indexing(X, part_a), y[part_a])
        clock = Stopwatch()
        own = None if together.groups is None or frozen else together.groups[part_a]
        self.voters_ = fit_voters(
            self.voters, X_a, y_a, self.n_voters, rng, self.n_jobs, self.verbose, groups=own
        )
        if not frozen and (parts := frozen_parts(self.voters)):
            said["frozen_parts"] = parts
        known = self.voters_.all_classes(y, classes)
        baseline = None if frozen else (most_frequent(y_a), PART_A)
        clock.lap("training")
        if (told := _guards.left_out_members(self.voters_)) is not None:
            warnings.warn(told, stacklevel=4)
        # Labels come back as what they came as; in between texts of numpy are faster than objects.
        self.classes_ = known.astype(object) if objects else known
        self._check_classes()
        self._frozen, self._provenance = frozen, said
        rows = row_fingerprints(X)
        self._seen = SeenRows()
        others = np.setdiff1d(np.arange(len(rows)), np.concatenate([part_a, part_b]))
        self._seen.add(rows[part_a], rows[part_b], *([rows[others]] if others.size else []))
        self._seen.add_rounded(X)
        if together.names is not None:
            self._seen.add_groups(together.names)
        clock.lap("checking")
        self._learn_prior(asked, X_a, y_a)
        self._baseline = baseline
        columns = {name: column[part_b] for name, column in columns.items()}
        reference = self._reference(X_a, y_a, unlabelled, getattr(self, "_prior", None))
        sample = self._sample(X_b, y_b, columns, reference)
        clock.lap("voting")
        look = self._examine(X, y, rows, together, part_a, part_b, sample)
        said |= self._ask_again(look, sample)
        if unlabelled is not None:
            look.findings += _guards.beginning(X_b, as_table(unlabelled))
        self._findings, self._checks = self._say(look.findings), look.checks
        clock.lap("checking")
        self._learn(self._count(sample), sample, rng)
        clock.lap("learning")
        self.fit_times_ = clock.seconds
        return self

    def _examine(
        self,
        X: Any,
        y: NDArray[Any],
        rows: NDArray[np.uint64],
        together: Rows,
        part_a: NDArray[np.intp],
        part_b: NDArray[np.intp],
        sample: Sample,
    ) -> Examination:
        """Look for what throws doubt on a certificate of the votes on part B."""
        look, codes, truth = Examination(), sample.ballots.codes, sample.truth
        groups = together.groups
        by_rows = groups is None and "split_by_time" not in self._provenance
        look.findings += _guards.alike_groups(together.names, together.said)
        if self._frozen:
            _guards.seen_by_votes(look, self.voters, sample.X, together.names)
            self._examine_copies(look, sample.X, sample.y, rows[part_b], by_rows)
            found = _guards.training_rows(self.voters, codes != truth[:, None])
            look.findings += found
            if not found:
                trained_on(look, self.voters, sample.X)
        else:
            look.findings += _guards.unseen_classes(y[part_a], sample.y)
            look.findings += _guards.failed_members(self.voters_)
            _guards.twins(look, X, rows[part_a], rows[part_b])
            look.findings += between(X, y)
            some = slice(_guards.ENOUGH)
            losses = codes[some] != truth[some, None]
            if "split_by_time" in self._provenance:
                look.findings += _guards.errors_in_time(losses)
            self._look_at_columns(look, X, y, groups)
            found = []
            if by_rows and _guards.DUPLICATES in look.checks:
                found = beside(X, y, (part_a, part_b[some]), losses)
            own = None if groups is None else np.unique(groups, return_index=True)[1]
            _guards.rounded_copies(look, X if own is None else _safe_indexing(X, own), found)
        return look

    def _ask_again(self, look: Examination, sample: Sample) -> dict[str, int]:
        """Look whether voters answer otherwise on rows by themselves, and return what to say of it.

        Where they cannot, nothing is asked and nothing is said.
        """
        if answer_by_row(self.voters, self.voters_):
            return {}
        known = check_labels("classes_", self.classes_, ndim=1)
        again = ask_again(self.voters_, known, sample.X, sample.y, sample.ballots)
        look.look(_guards.MODEL, again.found, again.cleared)
        return {"asked_again": again.rows}

    def _look_at_columns(
        self, look: Examination, X: Any, y: NDArray[Any], groups: NDArray[np.intp] | None
    ) -> None:
        """Look for values whose rows tell of each other, and for times after which it is harder.

        Copies tell of each other, and rows that were split by time are tested after the others.
        """
        seed = self._provenance.get("seed")
        of = (X, y, groups, seed if isinstance(seed, int) else 0)
        if _guards.DUPLICATES in look.checks:
            look.look(_guards.VALUES, *kin(*of))
        if "split_by_time" not in self._provenance:
            look.look(_guards.LATER, *later(*of))

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
            said["findings"] = (*said["findings"], *self._say(self._difference(sample, q)))
            said["outcome"] = self._outcome(sample, q, prior)
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
            return self._statistics_of(part, sample.truth[rows], bound, prior)

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
        if (joined := joined_of(self.voters_.groups)) is not None:  # they have been asked
            weights = check_prior(prior, len(self.voters_))
            return joined.winning_shares(weights), PART_A_SHARES
        return cross_fitted_shares(self._cross_fitted(X, y), prior), PART_A_SHARES

    def _cross_fitted(self, X: Any, y: NDArray[Any]) -> Iterator[tuple[NDArray[np.intp], Ballots]]:
        """Yield rows of part A, and the votes on them of voters that were not trained on them."""
        seed = self._provenance["seed"]
        return cross_fitted(
            self.voters,
            len(self.voters_),
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

    def _given(
        self,
        X: Any,
        y: ArrayLike,
        by: Mapping[str, ArrayLike] | None = None,
        groups: Any = None,
        time: Any = None,
        *,
        reset: bool,
    ) -> tuple[Any, NDArray[Any], dict[str, NDArray[Any]]]:
        """Return examples, their labels and columns of groups, all checked."""
        table = as_table(X)
        check_all_aligned(X=X, y=y, groups=groups, time=time)
        columns = check_by(by, y, X=X)
        m = _num_samples(table)
        if m == 0:
            raise ValueError("Found array with 0 sample(s): X must hold at least one example.")
        validate_data(self, table, y, reset=reset, skip_check_array=True)
        labels = check_targets("y", y)
        if m != len(labels):
            raise ValueError(
                "X and y must have the same number of rows, got inconsistent numbers of samples: "
                f"{m} and {len(labels)}."
            )
        check_one_kind("y", labels)
        check_classification_targets(labels)
        if isinstance(self.voters, PredictionTable):
            self.voters.check_targets(labels)
        return table, labels, columns

    @abstractmethod
    def _prior_again(self, X: Any, y: NDArray[Any]) -> ArrayLike | None:
        """Return the prior that the settings ask for, made again from part A; uniform if None."""

    def _check_settings(self) -> Any:
        """Refuse settings that no data makes good, and return what they ask for."""

    def _check_classes(self) -> None:
        """Refuse a number of classes that the learner cannot take."""

    def _learn_prior(self, asked: Any, X: Any, y: NDArray[Any]) -> None:
        """Learn on part A what must not look at part B, as `_check_settings` says it is asked."""

    def _count(self, sample: Sample) -> VoteStatistics:
        """Return what learning needs to know of the votes of part B."""
        return VoteStatistics.from_votes(sample.ballots.codes, sample.truth)

    @abstractmethod
    def _learn(
        self,
        statistics: VoteStatistics,
        sample: Sample,
        rng: np.random.RandomState,
    ) -> None:
        """Set weights, statistics and certificate."""

    def _examine_copies(
        self, look: Examination, X: Any, y: NDArray[Any], rows: NDArray[np.uint64], by_rows: bool
    ) -> None:
        """Look for copies, and, where each row counts by itself, for rows that belong together."""
        # Predictions are alike wherever voters agree: their rows tell no examples apart.
        if isinstance(self.voters, PredictionTable):
            return
        _guards.copies(look, X, rows)
        look.findings += between(X, y)
        told = by_rows and _guards.DUPLICATES in look.checks
        _guards.rounded_copies(look, X, side_by_side(X, y) if told else [])

    def _examine_labels(self, y: NDArray[Any]) -> list[str]:
        return _guards.unknown_labels(y, codes_of(y, self.classes_) == UNKNOWN)


def _refuse(fit_params: dict[str, Any]) -> None:
    if "sample_weight" in fit_params:
        raise ValueError(
            "sample_weight is refused: a weighted sample is not drawn like the examples to come, "
            "so that no certificate would hold for it. To weight the training of the voters, train "
            "them on other data and give them frozen."
        )
    if fit_params:
        raise TypeError(f"fit got unexpected arguments: {', '.join(sorted(fit_params))}.")
