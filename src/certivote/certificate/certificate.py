"""What is certified, of what, on what evidence and under which assumptions."""

import json
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.comparing import close
from .._utils.files import write_whole
from .._utils.formatting import format_confidence, format_up, printable
from .._version import __version__
from ..bounds import Bound, get_bound
from ..claims import AbstainFamily
from ..claims.abstaining import answered
from ..claims.base import Claim, Family, Outcome, Vote, at_most, outcome_of
from ..divergences import kl_divergence
from ..labels import as_votes, check_by, class_called, count_classes
from ..statistics import Statistics, UnlabelledStatistics, is_statistics, join_unlabelled
from .checking import check_fields
from .digests import votes_sha256
from .errors import CertificateError
from .neighbours import SAMPLE, Neighbours
from .provenance import assumptions_of, facts_of, group_words, shown, subject_of
from .reading import FORMAT, FORMAT_VERSION, check_format, load_json, of_its_time, renewed

__all__ = ["Certificate"]

_VACUOUS = "The certificate is vacuous: it says nothing about this vote."
_EXAMPLE = "a new example"
_AT_ONCE = "With the same confidence, all at once:"
_DOUBT = "This was found, and the claim may be false if it is not explained:"

# A certificate is recomputed on other machines: sums may differ by this much, not more.
_RECOMPUTATION = 1e-12
_MOMENT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A bound on the risk of a weighted majority vote, with what it takes to check it.

    Make one with `certify`. What could not be read back from a file is refused with
    `CertificateError`: there is no such certificate, in memory either. Two certificates are equal
    if they would be written alike, but for the date and the versions of libraries.

    Attributes
    ----------
    risk_bound : float
        With probability `confidence` over the certification sample, the weighted hard vote errs on
        a new example with probability at most this. At most 1.
    bound : str
        The name of the bound.
    bound_parameters : dict
        Its parameters, such as ``delta`` and ``constant``.
    n_samples, n_voters : int
        The number of certification examples and of voters.
    kl : float
        The divergence of the weights from the prior.
    weights, prior : ndarray of shape (n_voters,)
        The weights of the vote, and the prior: copies, which cannot be written to.
    evidence : dict
        What the bound is computed from, besides the weights and the prior.
    statistics_sha256 : str
        The SHA-256 of the counts: n_samples, the errors of each voter and of each pair.
    votes_sha256 : str or None
        The SHA-256 of the votes and labels, where one call saw them all.
    provenance : dict
        How the certification sample came about, where the library knows: the split, its seed.
    certivote_version : str
        The version of the library that made it.
    findings : tuple of str
        What was found that throws doubt on the claim, in sentences.
    files : dict of str to str
        The SHA-256 of the files that were written with it, by their names.
    neighbours : Neighbours or None
        What was observed, and what a baseline does on the same examples; None where the errors of
        the vote were not counted.
    class_counts : dict of str to int
        How many certification examples are of each class; empty where the labels are not known.
    checks : dict of str to str
        What was looked for and not found, by its topic, in sentences.
    made : dict of str to str
        The date, and the versions of Python and of the libraries. Two certificates may be equal
        that differ in it.
    families : tuple of Family
        What is claimed besides the overall error, with its evidence: see `claims`.
    total_delta : float or None
        The δ of all claims together, where they share it; the overall error has that of
        `bound_parameters` then.

    Examples
    --------
    >>> from certivote import Certificate, certify
    >>> certificate = certify(["yes", "no"] * 50, ["yes", "no"] * 50, bound="heldout")
    >>> certificate
    Certificate(risk_bound≤0.0296, confidence=95%, bound='heldout', n_samples=100, n_voters=1)
    >>> round(1 - 0.05 ** (1 / 100), 6) <= certificate.risk_bound  # no error in 100
    True
    >>> text = certificate.to_json("certificate.json")
    >>> Certificate.from_json("certificate.json") == certificate
    True
    >>> certificate.verify(["yes", "no"] * 50, ["yes", "no"] * 50)
    """

    risk_bound: float
    bound: str
    bound_parameters: dict[str, Any]
    n_samples: int
    n_voters: int
    kl: float
    weights: NDArray[np.float64]
    prior: NDArray[np.float64]
    evidence: dict[str, Any]
    statistics_sha256: str
    votes_sha256: str | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    certivote_version: str = field(default=__version__)
    findings: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    neighbours: Neighbours | None = None
    class_counts: dict[str, int] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    families: tuple[Family, ...] = ()
    total_delta: float | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be read back, and keep copies of what can be changed."""
        self._check()

    def _check(self) -> None:
        try:
            checked = check_fields(vars(self))
        except CertificateError:
            raise
        except (ValueError, OverflowError) as error:
            raise CertificateError(str(error)) from error
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check what was pickled like what is read from a file."""
        Certificate.__init__(self, **renewed(state, 2 if "findings" in state else 1))

    def __eq__(self, other: object) -> bool:
        """Tell whether both would be written alike, at whatever time."""
        if not isinstance(other, Certificate):
            return NotImplemented
        mine, theirs = ({**one.to_dict(), "made": None} for one in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        """Return a number that equal certificates share."""
        return hash((self.statistics_sha256, self.bound, self.risk_bound, self.n_samples))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the claim to hold."""
        weights = self.bound_object.weights_assumption
        return assumptions_of(self.provenance, weights, several=bool(self.families))

    @property
    def bound_object(self) -> Bound:
        """The bound, with its parameters."""
        return get_bound(self.bound, **self.bound_parameters)

    @property
    def delta(self) -> float:
        """The probability that the claim, or any of several, may fail."""
        return self.total_delta or float(self.bound_parameters["delta"])

    @property
    def confidence(self) -> float:
        """``1 − delta``."""
        return 1.0 - self.delta

    @property
    def vacuous(self) -> bool:
        """Whether the certificate says nothing: every risk is at most 1."""
        return self.risk_bound >= 1.0

    @property
    def gibbs_risk(self) -> float | None:
        """The empirical Gibbs risk of the vote, None if the bound does not look at it."""
        return self.evidence.get("gibbs_risk")

    @property
    def joint_error(self) -> float | None:
        """The empirical joint error of the vote, None if the bound does not look at it."""
        return self.evidence.get("joint_error")

    @property
    def disagreement(self) -> float | None:
        """The empirical disagreement of the vote, None if the bound does not look at it."""
        return self.evidence.get("disagreement")

    @property
    def claim(self) -> str:
        """The claim in words, with the bound rounded up."""
        vote = f"the weighted majority vote of these {self.n_voters} voters"
        if self.n_voters == 1:
            vote = "this classifier"
        delta, example = self.delta, self._example
        return (
            f"With {format_confidence(delta)} confidence, {vote} errs on {example} with "
            f"probability at most {format_up(self.risk_bound)}."
        )

    @property
    def _example(self) -> str:
        """What the claim is about: a new example, or one of a kind."""
        if "grouped_by" in self.provenance:
            return f"a random row of a new {group_words(self.provenance['grouped_by'])}"
        subject = subject_of(self.provenance)
        example = f"{_EXAMPLE} of {subject}" if subject else _EXAMPLE
        if "split_by_time" in self.provenance:
            example += f" that is like the latest by {self.provenance['split_by_time']!r}"
        return example

    @property
    def claims(self) -> list[Claim]:
        """All that is claimed, the overall error first; it holds at once with `confidence`."""
        text = f"It errs on {self._example} with probability {at_most(self.risk_bound)}"
        own = float(self.bound_parameters["delta"])
        overall = Claim("error", text, self.risk_bound, None, deepcopy(self.evidence), own)
        return [overall, *(claim for family in self.families for claim in self.claims_of(family))]

    def claims_of(self, family: Family) -> list[Claim]:
        """Return the claims of one of the families, each sentence with what it is about."""
        claims = family.claims(self.vote)
        if self._example == _EXAMPLE:
            return claims
        return [
            replace(
                one, statement=f"For {self._example}: {one.statement[0].lower()}{one.statement[1:]}"
            )
            for one in claims
        ]

    def answered(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Tell which examples are answered, where the vote may abstain: all, if it never does.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            How sure the vote is of each: the winning share, or a score of the kind that was
            certified.
        """
        values = np.asarray(scores, dtype=np.float64)
        for family in self.families:
            if isinstance(family, AbstainFamily):
                return answered(values, family.level(self.vote))
        return np.ones(len(values), dtype=np.bool_)

    @property
    def vote(self) -> Vote:
        """The weights that the claims are about, with the bound that certified them."""
        return Vote(self.bound_object, self.evidence, self.weights, self.prior, self.risk_bound)

    def __str__(self) -> str:
        """Return the claim and the figures behind it."""
        lines = [
            printable(self.claim),
            *([f"  {_VACUOUS}"] if self.vacuous else []),
            *([_AT_ONCE] if self.families else []),
            *(f"  {printable(claim.statement)}" for claim in self.claims[1:]),
            *([_DOUBT] if self.findings else []),
            *(f"  - {printable(text)}" for text in self.findings),
            *(f"  {printable(text)}" for text in self._neighbours_in_words()),
            *(f"  {name:13} {printable(value)}" for name, value in self._summary()),
            "It assumes:",
            *(f"  - {text}" for text in self.assumptions),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the main figures, the bound rounded up."""
        return (
            f"Certificate(risk_bound≤{format_up(self.risk_bound)}, "
            f"confidence={format_confidence(self.delta)}, bound={self.bound!r}, "
            f"n_samples={self.n_samples}, n_voters={self.n_voters})"
        )

    def _repr_html_(self) -> str:
        """Return the claim and the figures behind it, for a notebook, in the notebook's colours."""
        cell = "padding: 0.15em 1.5em 0.15em 0; border: 0; background: none; text-align: left"
        rows = "".join(
            f'<tr style="background: none"><th scope="row" style="{cell}; font-weight: normal">'
            f'{escape(name)}</th><td style="{cell}">{escape(value)}</td></tr>'
            for name, value in self._summary()
        )
        statements = [claim.statement for claim in self.claims[1:]]
        assumptions, findings, claims = (
            "".join(f"<li>{escape(text)}</li>" for text in texts)
            for texts in (self.assumptions, self.findings, statements)
        )
        return (
            '<div style="max-width: 45em">'
            f'<p style="font-size: 1.1em"><strong>{escape(self.claim)}</strong></p>'
            + (f"<p><strong>{_VACUOUS}</strong></p>" if self.vacuous else "")
            + (f"<p>{_AT_ONCE}</p><ul>{claims}</ul>" if self.families else "")
            + (f"<strong>{_DOUBT}<ul>{findings}</ul></strong>" if self.findings else "")
            + "".join(f"<p>{escape(text)}</p>" for text in self._neighbours_in_words())
            + f'<table style="border: 0; color: inherit; font-size: inherit">{rows}</table>'
            f"<details><summary>It assumes</summary><ul>{assumptions}</ul></details></div>"
        )

    def _neighbours_in_words(self) -> tuple[str, ...]:
        return () if self.neighbours is None else self.neighbours.sentences

    def _summary(self) -> list[tuple[str, str]]:
        """Return the figures behind the claim, each with its name."""
        bound = self.bound_object
        constant = self.bound_parameters.get("constant")
        figures = bound.described(self.evidence)
        return [
            ("bound", self.bound + (f" (constant {constant!r})" if constant else "")),
            ("examples", str(self.n_samples)),
            *(
                (figure.label[:1].lower() + figure.label[1:], str(value))
                for _, figure, value in figures
                if figure.is_size and value != self.n_samples
            ),
            *(
                (figure.brief, figure.show(value, 3))
                for _, figure, value in figures
                if figure.brief
            ),
            ("KL", f"{self.kl:.2f}"),
            *(
                (name.replace("_", " "), str(value))
                for name, value in shown(self.provenance).items()
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain Python objects, as `to_json` writes them."""
        self._check()  # a dictionary inside may have been changed
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "certivote_version": self.certivote_version,
            "claim": self.claim,
            "risk_bound": self.risk_bound,
            "bound": self.bound,
            "bound_parameters": deepcopy(self.bound_parameters),
            "n_samples": self.n_samples,
            "n_voters": self.n_voters,
            "kl": self.kl,
            "evidence": deepcopy(self.evidence),
            "weights": self.weights.tolist(),
            "prior": self.prior.tolist(),
            "statistics_sha256": self.statistics_sha256,
            "votes_sha256": self.votes_sha256,
            "provenance": deepcopy(self.provenance),
            "assumptions": list(self.assumptions),
            "findings": list(self.findings),
            "files": dict(self.files),
            "neighbours": None if self.neighbours is None else self.neighbours.to_dict(),
            "class_counts": dict(self.class_counts),
            "checks": dict(self.checks),
            "made": dict(self.made),
            "families": [
                {**family.to_dict(), "claims": [one.to_dict() for one in self.claims_of(family)]}
                for family in self.families
            ],
            "total_delta": self.total_delta,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the certificate to a file, whole or not at all.

        Parameters
        ----------
        path : path-like, default=None
            Where to write it; nowhere if None.

        Returns
        -------
        str
            What is written. The schema is `certificate.schema.json` in the package.
        """
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        if path is not None:
            write_whole(path, text)
        return text

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Certificate":
        """Return the certificate that `to_dict` wrote, and refuse an impossible one.

        Parameters
        ----------
        fields : mapping
            What `to_dict` returned.
        """
        version = check_format(fields, _FIELDS)
        own = {name: fields[name] for name in set(fields) & set(cls.__dataclass_fields__)}
        try:
            today = renewed(own, version)
        except ValueError as error:
            raise CertificateError(str(error)) from error
        certificate = cls(**today)
        weights = of_its_time(certificate.bound_object.weights_assumption, fields)
        several = bool(certificate.families)
        texts = assumptions_of(fields["provenance"], weights, version, several)
        if fields["assumptions"] != list(texts):
            raise CertificateError(
                f"assumptions must be those of this provenance, {list(texts)!r}, got "
                f"{fields['assumptions']!r}."
            )
        follows = certificate.to_dict()["families"]
        for claimed, family in zip(fields.get("families", ()), follows, strict=True):
            if not close(claimed, family):
                raise CertificateError(
                    f"the claims of the family {family['kind']!r} must follow from its evidence, "
                    f"{family['claims']!r}, got {claimed.get('claims')!r}."
                )
        if fields["claim"] != certificate.claim:
            raise CertificateError(
                f"claim must say what the numbers say, {certificate.claim!r}, "
                f"got {fields['claim']!r}."
            )
        return certificate

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read a certificate from a file, and refuse an impossible one.

        Parameters
        ----------
        path : path-like
            The file that `to_json` wrote.

        Returns
        -------
        Certificate
            The certificate, well formed but not verified: see `verify`.
        """
        return cls.from_dict(load_json(path))

    def verify(
        self,
        votes: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        statistics: Statistics | None = None,
        unlabelled: ArrayLike | UnlabelledStatistics | None = None,
        by: Mapping[str, ArrayLike] | None = None,
        recount: bool = True,
    ) -> None:
        """Recompute the certificate, and raise `CertificateError` if it does not hold up.

        What it assumes, and what it says of where the voters and the data came from, is not checked
        here; a fitted vote checks more.

        Parameters
        ----------
        votes : array-like of shape (n_samples, n_voters), default=None
            The votes on the certification examples. Without them, or `statistics`, only the
            arithmetic is checked: KL from the weights and the prior, the bound from the evidence.
            A certificate that is made up from beginning to end passes that.
        y : array-like of shape (n_samples,), default=None
            The true labels.
        statistics : Statistics, default=None
            The counts of the certification sample, instead of votes and labels.
        unlabelled : array-like of shape (m_u, n_voters) or UnlabelledStatistics, default=None
            The votes on unlabelled examples, where the certificate used some.
        by : mapping of str to array-like of shape (m,), default=None
            The columns of groups that claims are about, where there are such.
        recount : bool, default=True
            Whether the classes, the neighbours and the further claims are counted again from votes
            and labels; not where the caller did so, who knows more of them.
        """
        self._check()
        if (votes is None) != (y is None):
            raise ValueError("votes and y must be given together.")
        if votes is not None and statistics is not None:
            raise ValueError("give either votes and y or statistics, not both.")
        used = self.provenance.get("unlabelled_samples", 0)
        if unlabelled is None and votes is not None and used:
            raise ValueError(f"unlabelled must be the votes on the {used} unlabelled examples.")
        if unlabelled is not None and (not used or (votes is None and statistics is None)):
            what = "votes and y or statistics too" if used else "none: the certificate used none"
            raise ValueError(f"unlabelled was given, where there must be {what}.")
        self._verify_arithmetic()
        if votes is not None and y is not None:
            columns = check_by(by, y, votes=votes)
            votes, y = as_votes(votes, y)
            if self.votes_sha256 not in (None, votes_sha256(votes, y)):
                raise CertificateError("the votes and labels are not those that were certified.")
            if recount and "positive" not in self.provenance:  # else labels have other names
                outcome = outcome_of(votes, y, self.weights, self.prior, columns)
                self.verify_outcome(outcome)
            statistics = self.bound_object.count(votes, y, self.prior)
            claimed = self.provenance.get("class")
            if claimed is not None and (str(y[0]) != claimed or np.any(y != y[0])):
                raise CertificateError("the labels are not those of the class that is claimed.")
            for what in ("class", "group"):
                if what in self.provenance:  # that all examples are of a group is for the caller
                    statistics = statistics.restricted_to(what, self.provenance[what])
        if statistics is not None and unlabelled is not None:
            statistics = join_unlabelled(statistics, unlabelled, votes, y)
        if statistics is not None:
            if not is_statistics(statistics):
                raise ValueError(f"statistics must be Statistics, got {statistics!r}.")
            self._verify_statistics(statistics)

    def verify_outcome(self, outcome: Outcome) -> None:
        """Count the classes and the neighbours again, and raise if they are not those claimed.

        The class of the baseline is that of the certificate, if the outcome has none.

        Parameters
        ----------
        outcome : Outcome
            The true labels, and on which of the certification examples the vote errs.
        """
        counts = count_classes(outcome.y)
        if self.class_counts and self.class_counts != counts:
            raise CertificateError(
                f"class_counts are claimed to be {self.class_counts!r}, but are {counts!r}."
            )
        self._verify_families(outcome)
        claimed = self.neighbours
        if claimed is None:
            return
        if outcome.baseline is None and claimed.baseline_from != SAMPLE:
            baseline = class_called(claimed.baseline, outcome.y)
            outcome = outcome.with_baseline((baseline, claimed.baseline_from))
        found = Neighbours.count(outcome, claimed.delta, claimed.fixed)
        if found != claimed:
            raise CertificateError(f"neighbours are claimed to be {claimed!r}, but are {found!r}.")

    def _verify_families(self, outcome: Outcome) -> None:
        """Count again what the claims are made of, and raise if it is not what is claimed."""
        vote = self.vote
        for family in self.families:
            unchecked = family.unchecked(outcome)
            if unchecked is not None:
                warnings.warn(f"not checked: {unchecked}.", stacklevel=4)
            found = family.at(family.delta).count(outcome, vote)
            if not family.agrees(found):
                said, counted = family.evidence, found.evidence
                if close(said, counted):  # it began elsewhere
                    said, counted = family.to_dict(), found.to_dict()
                raise CertificateError(
                    f"the evidence for {family.name!r} is claimed to be {said!r}, but is "
                    f"{counted!r}."
                )

    def verify_checks(
        self, checks: Mapping[str, str], findings: Sequence[str], looked_for: Collection[str]
    ) -> None:
        """Raise if the certificate says something else of what was looked for than is found now.

        Parameters
        ----------
        checks : mapping of str to str
            What was looked for again, and not found, by its topic.
        findings : sequence of str
            What was found.
        looked_for : collection of str
            All topics that were looked for again.
        """
        for finding in findings:
            if finding not in self.findings:
                raise CertificateError(f"the certificate leaves out a finding: {finding}")
        for topic in sorted(set(looked_for) & set(self.checks)):
            if checks.get(topic) != self.checks[topic]:
                raise CertificateError(
                    f"the check of {topic} is claimed to say {self.checks[topic]!r}, but says "
                    f"{checks.get(topic, 'nothing')!r}."
                )

    def _require(self, name: str, claimed: Any, computed: Any, tolerance: float) -> None:
        if isinstance(computed, str):
            wrong = claimed != computed
        else:
            wrong = not abs(claimed - computed) <= tolerance * max(1.0, abs(computed))
        if wrong:
            raise CertificateError(f"{name} is claimed to be {claimed!r}, but is {computed!r}.")

    def _require_bound(self, computed: float) -> None:
        if min(1.0, computed) - self.risk_bound > _RECOMPUTATION:
            raise CertificateError(
                f"risk_bound is claimed to be {self.risk_bound!r}, but the evidence supports no "
                f"less than {min(1.0, computed)!r}."
            )

    def _verify_arithmetic(self) -> None:
        self._require("kl", self.kl, kl_divergence(self.weights, self.prior), _MOMENT_TOLERANCE)
        self._require_bound(
            self.bound_object.from_evidence(self.evidence, self.weights, self.prior)
        )

    def _verify_statistics(self, statistics: Statistics) -> None:
        claimed, facts = facts_of(self.provenance), statistics.facts()
        for name in sorted({*claimed, *facts}):
            if claimed.get(name) != facts.get(name):
                raise CertificateError(
                    f"{name} is claimed to be {claimed.get(name)!r}, but is {facts.get(name)!r}."
                )
        if statistics.digest() != self.statistics_sha256:
            raise CertificateError("the counts are not those that were certified.")
        for name in ("n_samples", "n_voters"):
            self._require(name, getattr(self, name), getattr(statistics, name), 0.0)
        bound = self.bound_object
        vote = (self.weights, self.prior)
        computed = bound.evidence_again(self.evidence, statistics, *vote)
        for name, figure, value in bound.described(computed):
            if not (figure.or_fewer and self.evidence[name] > value):
                self._require(name, self.evidence[name], value, _MOMENT_TOLERANCE)
        self._require_bound(bound.from_evidence(computed, *vote))
        self.verify_checks({}, statistics.findings, ())


_FIELDS = frozenset(
    {"format", "format_version", "claim", "assumptions"} | set(Certificate.__dataclass_fields__)
)
