"""What all certified votes share: certificates on new data, and verifying any of theirs."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._utils.validation import check_distribution, check_prior
from ..bounds import Bound, bound_at
from ..bounds.registry import DEFAULT_OF_ONE
from ..certificate import Certificate, CertificateError
from ..certificate.certify import issue
from ..certificate.neighbours import GIVEN, PART_A
from ..certificate.provenance import DATA_KEYS, NEW_DATA
from ..claims import Family, shared
from ..claims.abstaining import PART_A as PART_A_SHARES
from ..claims.abstaining import UNLABELLED
from ..labels import check_class
from ..statistics import Statistics
from . import _guards
from ._answering import Sample
from ._fingerprints import SeenRows, row_fingerprints
from ._fitting import FittingVote
from ._guards import Examination
from ._split import Drawn, Rows, as_table, check_said, drawn, drawn_again, split
from ._training import trained_on

__all__ = ["CertifiedVote", "check_start"]

# A prior that is made again elsewhere may differ by this much, relatively: in KL, by no more.
_SAME_PRIOR = 1e-9


class CertifiedVote(FittingVote):
    """A majority vote that learns its weights, and certifies them, on data new to its voters.

    A subclass stores its settings, and writes `_prior_again` and `_learn`.

    Examples
    --------
    >>> from certivote.classifiers import CertifiedVote, MajorityVoteClassifier
    >>> isinstance(MajorityVoteClassifier(), CertifiedVote)
    True
    """

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
            Groups that are called like one of the fit are a finding, and so is to leave groups out
            where the fit had such.
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
        given = self._given(X, y, by, groups, reset=False)
        X, y, columns, said, names = drawn(*given, groups, seed)
        look = self._examine_new(X, y, names)
        look.findings += _guards.alike_groups(names, said)
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
            others = as_table(unlabelled)
            look.findings += _guards.beginning(X, others)
            ballots = self._weighed(self._votes(others))
            reference = ballots.win(self.weights_)[1], UNLABELLED
        sample = self._sample(X, y, columns, reference)
        said |= self._ask_again(look, sample)
        outcome = self._outcome(sample, self.weights_, self.weights_)
        if baseline is not None:
            outcome = outcome.with_baseline((check_class("baseline", baseline, y), GIVEN))
        return issue(
            chosen,
            self._statistics_of(sample.ballots, sample.truth, chosen, self.weights_),
            self.weights_,
            self.weights_,
            provenance={"voters_from": NEW_DATA, **said},
            findings=self._say(look.findings),
            checks=look.checks,
            outcome=outcome,
            families=families,
            total_delta=total,
        )

    def _examine_new(
        self, X: Any, y: NDArray[Any], names: NDArray[Any] | None = None
    ) -> Examination:
        """Look for what throws doubt on new examples, and refuse those that the vote has seen.

        `names` are those of their groups, if they have any; else each row counts by itself.
        """
        rows = row_fingerprints(X)
        look = Examination()
        share = float(self._seen.known(X, rows).mean())
        look.look(_guards.TRAINING_ROWS, *_guards.already_seen(share, len(rows)))
        _guards.rounded_rows(look, self._seen, X, rows)
        _guards.known_groups(look, self._seen, names)
        if self._frozen:
            trained_on(look, self.voters, X)
        look.findings += self._examine_labels(y)
        self._examine_copies(look, X, y, rows, by_rows=names is None)
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

    def seen_rows(self) -> SeenRows:
        """Return the rows that this vote was fitted on, as fingerprints that can be sent elsewhere.

        Returns
        -------
        SeenRows
            Its method `count` says how many rows of a table are among them, as far as rows tell.
        """
        check_is_fitted(self)
        return copy(self._seen)

    def examine_known(self, n_known: int, n_samples: int) -> list[str]:
        """Return what is found of rows that this vote was fitted on, as `certify` does.

        Parameters
        ----------
        n_known : int
            How many of the examples the vote was fitted on.
        n_samples : int
            How many examples there are.

        Returns
        -------
        list of str
            What throws doubt on a certificate from them.

        Raises
        ------
        ValueError
            If they are more than a few.
        """
        return _guards.already_seen(n_known / n_samples, n_samples)[0]

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        certificate: Certificate | None = None,
        *,
        groups: Any = None,
        time: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
        unlabelled: Any = None,
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
        unlabelled : like X, default=None
            What `fit`, or `certify`, was given, where testing the levels of abstaining began by
            such rows. Without them a warning says that this was not checked.

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
        X, y, columns = self._given(X, y, by, groups, time, reset=False)
        weights = check_distribution("weights", self.weights_, self.weights_.size)
        if not np.array_equal(claimed.weights, weights):
            raise CertificateError("the weights of the certificate are not those of this vote.")
        if claimed.votes_sha256 is not None:
            raise CertificateError("the certificate is of a table of votes, not of this vote.")
        if claimed.provenance.get("voters_from") == NEW_DATA:
            drawn = drawn_again(X, y, columns, groups, claimed.provenance)
            sample, look = self._again_on_new(drawn)
            prior: ArrayLike = weights
        else:
            sample, look, prior = self._again(X, y, columns, groups, time, claimed)
        if unlabelled is not None:
            sample = self._begun_again(sample, look, claimed, as_table(unlabelled))
        if not np.allclose(claimed.prior, prior, rtol=_SAME_PRIOR, atol=0.0):
            raise CertificateError("the prior of the certificate is not the one of this vote.")
        statistics = self._recounted(sample, claimed)
        statistics.findings = tuple(look.findings)
        claimed.verify(statistics=statistics)
        self._verify_beside(claimed, sample, look.checks)

    def _begun_again(
        self, sample: Sample, look: Examination, claimed: Certificate, others: Any
    ) -> Sample:
        """Return the sample with the shares on the rows that said where testing begins."""
        check_start(claimed, others)
        try:
            look.findings += _guards.beginning(sample.X, others)
        except ValueError as error:
            raise CertificateError(str(error)) from error
        if claimed.provenance.get("voters_from") == NEW_DATA:
            shares = self._weighed(self._votes(others)).win(self.weights_)[1]
            return sample._replace(reference=(shares, UNLABELLED))
        prior = getattr(self, "_prior", None)
        return sample._replace(reference=self._reference(sample.X, sample.y, others, prior))

    def _again_on_new(self, drawn: Drawn) -> tuple[Sample, Examination]:
        """Return the sample of a certificate on new data, and what is found in it."""
        try:
            look = self._examine_new(drawn.X, drawn.y, drawn.names)
        except ValueError as error:
            raise CertificateError(str(error)) from error
        look.findings += _guards.alike_groups(drawn.names, drawn.said)
        sample = self._sample(drawn.X, drawn.y, drawn.by)
        self._ask_again(look, sample)
        return sample, look

    def _again(
        self,
        X: Any,
        y: NDArray[Any],
        columns: Mapping[str, NDArray[Any]],
        groups: Any,
        time: Any,
        claimed: Certificate,
    ) -> tuple[Sample, Examination, NDArray[np.float64]]:
        """Return the sample of the fit, what is found in it, and the prior, all made again."""
        self._check_provenance(claimed.provenance)
        together = Rows(_num_samples(X), groups, time)
        part_a, part_b = self._parts_again(X, groups, time)
        columns = {name: column[part_b] for name, column in columns.items()}
        X_a, y_a = _safe_indexing(X, part_a), y[part_a]
        reference = None
        if any(getattr(one, "start_from", None) == PART_A_SHARES for one in claimed.families):
            reference = self._reference(X_a, y_a, None, getattr(self, "_prior", None))
        sample = self._sample(_safe_indexing(X, part_b), y[part_b], columns, reference)
        look = self._examine(X, y, row_fingerprints(X), together, part_a, part_b, sample)
        if "asked_again" in self._provenance:
            self._ask_again(look, sample)
        if self.certificate_.neighbours is not None:  # else it was not counted
            look.findings += self._difference(sample, self.weights_)
        look.findings += self.certificate_.findings
        prior = check_prior(self._prior_again(X_a, y_a), self.weights_.size)
        if _settings(claimed) != _settings(self.certificate_):
            raise CertificateError(
                "the bound of the certificate, its settings, or what is claimed besides, are "
                "not those of this vote."
            )
        return sample, look, prior

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
        bound = claimed.bound_object
        return self._statistics_of(sample.ballots, sample.truth, bound, claimed.prior)

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


def check_start(claimed: Certificate, unlabelled: Any) -> None:
    """Refuse unlabelled rows where no level of abstaining was found on such."""
    starts = {getattr(family, "start_from", None) for family in claimed.families}
    if unlabelled is not None and UNLABELLED not in starts:
        raise ValueError(
            "unlabelled was given, where there must be none: the certificate used none."
        )


def _settings(certificate: Certificate) -> str:
    """Return the bound of a certificate, its settings, and what was asked for besides.

    They are the same before and after a file.
    """
    asked = [family.at(family.delta).to_dict() for family in certificate.families]
    settings = certificate.bound, certificate.bound_parameters, asked, certificate.total_delta
    return json.dumps(settings, sort_keys=True, default=np.ndarray.tolist)
