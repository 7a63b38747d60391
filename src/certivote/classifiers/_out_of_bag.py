"""Votes whose voters were trained on bags of the rows, and are certified on the rows outside."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.stopwatch import Stopwatch
from .._utils.validation import check_choice
from ..bounds import Bound, get_bound, list_bounds
from ..certificate import Certificate, CertificateError
from ..certificate.provenance import BAGS, FROZEN_BAGS
from ..statistics import OutOfBagStatistics, Statistics
from ..voters import fit_voters, is_frozen
from ..voters.bags import check_on_bags, in_bag, in_bags
from . import _guards
from ._answering import Sample
from ._beside import side_by_side
from ._between import between
from ._fingerprints import SeenRows, row_fingerprints
from ._guards import Examination
from ._split import Rows, plain_number, seed_of
from .base import CertifiedVote

__all__ = ["OutOfBagVote"]

_SPLIT, _OUT_OF_BAG = _CERTIFICATIONS = ("split", "oob")
_SEEDS = np.iinfo(np.int32).max


class OutOfBagVote(CertifiedVote):
    """A certified vote that may be trained on bags of all rows, and tested outside of each.

    On no row all voters are asked, but each pair on many: bounds on moments hold for that.
    """

    certification: str
    bag_size: float
    prior: Any
    anytime: bool
    claims: Any
    shares: Any
    abstain: float | None
    _fitted_bound: Bound

    @property
    def _in_bags(self) -> bool:
        """Whether the vote that was fitted is one of bags, whatever its settings are now."""
        return self._provenance["voters_from"] in (BAGS, FROZEN_BAGS)

    @abstractmethod
    def _learned(
        self, statistics: Statistics, sample: Sample | None, rng: np.random.RandomState, **said: Any
    ) -> dict[str, Any]:
        """Return what a fit leaves: weights, their certificate, and where they came from."""

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
        if self.certification == _SPLIT:
            return super()._fit_anew(X, y, classes, groups, time, by, unlabelled)
        check_choice("certification", self.certification, _CERTIFICATIONS)
        self._refuse_beside(groups=groups, time=time, by=by or None, unlabelled=unlabelled)
        objects = hasattr(y, "__array__") and np.asarray(y).dtype.kind == "O"
        asked, frozen = self._check_settings(), is_frozen(self.voters)
        X, labels, _ = self._given(X, y, reset=True)
        known = np.unique(labels)
        self.classes_ = known.astype(object) if objects else known
        self._frozen = frozen
        seed, rng = seed_of(self.random_state)
        if not isinstance(seed, int):  # so that it can be said which it was
            seed, rng = seed_of(int(rng.randint(_SEEDS)))
        clock = Stopwatch()
        inside = self._train(X, labels, rng, clock)
        self._provenance = {
            "voters_from": FROZEN_BAGS if self._frozen else BAGS,
            "voter_samples": int(inside.sum(axis=0).max()),
            "statistics": OutOfBagStatistics.kind,
        }
        if not self._frozen:
            self._provenance["seed"] = seed
            if self.voters is None or isinstance(self.voters, str):
                self._provenance["bag_size"] = float(plain_number(self.bag_size))
        self._learn_prior(asked, X, labels)
        self._refuse_bound(self._fitted_bound)
        self._baseline = None
        rows = row_fingerprints(X)
        self._seen = SeenRows()
        self._seen.add(rows)
        self._seen.add_rounded(X)
        look = self._examine_bags(X, labels, rows)
        self._findings, self._checks = self._say(look.findings), look.checks
        clock.lap("checking")
        ballots = self._votes(X)
        clock.lap("voting")
        statistics = OutOfBagStatistics.from_votes(ballots.codes, ballots.truth(labels), inside)
        self.__dict__.update(self._learned(statistics, None, rng))
        clock.lap("learning")
        self.fit_times_ = clock.seconds
        return self

    def _refuse_beside(self, **given: Any) -> None:
        """Refuse what cannot be had where no row is voted on by all voters."""
        reasons = {
            "groups": "rows that belong together would be in a bag and outside it",
            "time": "bags are drawn from all times",
            "by": "claims need votes of all voters on one row",
            "unlabelled": "claims need votes of all voters on one row",
            "claims": "they need votes of all voters on one row",
            "shares": "they are for claims, which need votes of all voters on one row",
            "abstain": "it needs votes of all voters on one row",
            "anytime": "more rows would need other bags",
        }
        own = {"claims": self.claims or None, "shares": self.shares or None}
        own |= {"abstain": self.abstain, "anytime": self.anytime or None}
        for name, value in {**given, **own}.items():
            if value is not None:
                raise ValueError(
                    f"{name} cannot go with certification='oob': {reasons[name]}. Certify by a "
                    "split, or on new rows with certify."
                )
        if isinstance(self.prior, str) and self.prior == "learned":
            raise ValueError(
                "prior='learned' needs rows that no voter is tested on, which certification='oob' "
                "does not have: leave it out, the weights are learned all the same."
            )

    def _refuse_more(self) -> None:
        """Refuse to add rows to what was, or is to be, certified out of bag."""
        fitted = hasattr(self, "_provenance")
        if self._in_bags if fitted else self.certification == _OUT_OF_BAG:
            raise ValueError(
                "partial_fit cannot go with certification='oob': more rows would need other bags. "
                "Fit it on all rows, or certify it on new ones."
            )

    def _refuse_bound(self, bound: Bound) -> None:
        """Refuse a bound that needs more than bags have, by naming it."""
        offers = OutOfBagStatistics.offered

        def missing(one: Bound) -> frozenset[str]:
            return one.settled(offers).needs - offers

        if missing(bound):
            able = (name for name in list_bounds() if not missing(get_bound(name)))
            raise ValueError(
                f"the bound {bound.name!r} cannot go with certification='oob': it needs "
                f"{', '.join(sorted(missing(bound)))}, and on no row all voters are asked. These "
                f"can: {', '.join(able)}."
            )

    def _train(
        self, X: Any, y: NDArray[Any], rng: np.random.RandomState, clock: Stopwatch
    ) -> NDArray[np.bool_]:
        """Train the voters on bags, or look whether they were, and return who saw which row."""
        voters = in_bags(self.voters, X, self.n_voters, self.bag_size)
        self.voters_ = fit_voters(
            voters, X, y, self.n_voters, rng, n_jobs=self.n_jobs, verbose=self.verbose
        )
        clock.lap("training")
        inside = in_bag(self.voters_, len(y))
        if self._frozen:
            check_on_bags(self.voters_, X, y, self.verbose)
        return inside

    def _examine_bags(self, X: Any, y: NDArray[Any], rows: NDArray[np.uint64]) -> Examination:
        look = Examination()
        _guards.twins_of_bags(look, X, rows)
        look.findings += between(X, y)
        self._look_at_columns(look, X, y, None)
        told = _guards.DUPLICATES in look.checks
        _guards.rounded_copies(look, X, side_by_side(X, y) if told else [])
        return look

    # --- verifying it --------------------------------------------------------------------------

    def _parts(
        self, rows: Rows, size: float, rng: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        if not self._in_bags:
            return super()._parts(rows, size, rng)
        return np.arange(rows.m), np.arange(rows.m)

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
        if not self._in_bags:
            return super()._examine(X, y, rows, together, part_a, part_b, sample)
        return self._examine_bags(X, y, rows)

    def _recounted(self, sample: Sample, claimed: Certificate) -> Statistics:
        origin = claimed.provenance["voters_from"]
        if origin not in (BAGS, FROZEN_BAGS):
            return super()._recounted(sample, claimed)
        try:
            inside = in_bag(self.voters_, len(sample.y))
            check_on_bags(self.voters_, sample.X, sample.y, self.verbose)
        except ValueError as error:
            raise CertificateError(str(error)) from error
        return OutOfBagStatistics.from_votes(sample.ballots.codes, sample.truth, inside)

    def _verify_beside(
        self, claimed: Certificate, sample: Sample, checks: Mapping[str, str]
    ) -> None:
        if claimed.provenance["voters_from"] not in (BAGS, FROZEN_BAGS):
            super()._verify_beside(claimed, sample, checks)
            return
        # Its errors on these rows, which its voters have seen, say nothing.
        if claimed.neighbours is not None or claimed.class_counts:
            raise CertificateError("the errors of a vote were not counted where it was trained.")
        claimed.verify_checks(checks, (), _guards.TOPICS)
