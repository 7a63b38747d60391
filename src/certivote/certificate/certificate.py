"""What is certified, of what, on what evidence and under which assumptions."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._utils.files import write_whole
from .._utils.formatting import format_confidence, format_up, printable
from .._utils.validation import check_count, check_distribution, check_number, check_prior
from .._version import __version__
from ..bounds import Bound, bound_at, get_bound, list_bounds
from ..divergences import kl_divergence
from ..labels import check_aligned, check_labels, check_votes
from ..solvers import Solver, minimize
from ..statistics import VoteStatistics
from ..statistics.unlabelled import UnlabelledStatistics, join_unlabelled
from .digests import votes_sha256
from .provenance import (
    NEW_DATA,
    PRIOR_GIVEN,
    assumptions_of,
    check_looks,
    check_provenance,
    check_sha256,
)

__all__ = ["Certificate", "CertificateError", "CertificateFormatError", "certify"]

FORMAT = "certivote certificate"
FORMAT_VERSION = 2
# What certificates of version 1 do not have.
_SINCE_VERSION_2 = frozenset({"findings", "files"})

_VACUOUS = "The certificate is vacuous: it says nothing about this vote."
_DOUBT = "This was found, and the claim may be false if it is not explained:"
# What of the evidence is shown with the claim.
_FIGURES = {
    "gibbs_risk": "Gibbs risk",
    "joint_error": "joint error",
    "disagreement": "disagreement",
    "margin_loss": "margin loss",
    "concentration": "concentration",
}

# A certificate is recomputed on other machines: sums may differ by this much, not more.
_RECOMPUTATION = 1e-12
_MOMENT_TOLERANCE = 1e-9
# A prior whose numbers differ by no more than this, relatively, is uniform.
_UNIFORM = 1e-12


class CertificateError(ValueError):
    """A certificate that is malformed, or that does not hold up."""


class CertificateFormatError(CertificateError):
    """Something that is not a certificate, or is one of another version: it cannot be checked."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A bound on the risk of a weighted majority vote, with what it takes to check it.

    Make one with `certify`. What could not be read back from a file is refused with
    `CertificateError`: there is no such certificate, in memory either. Two certificates are equal
    if they would be written alike.

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

    def __post_init__(self) -> None:
        """Refuse what could not be read back, and keep copies of what can be changed."""
        self._check()

    def _check(self) -> None:
        try:
            checked = _check_fields(vars(self))
        except CertificateError:
            raise
        except (ValueError, OverflowError) as error:
            raise CertificateError(str(error)) from error
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check what was pickled like what is read from a file."""
        Certificate.__init__(self, **(state if "findings" in state else _renew(state)))

    def __eq__(self, other: object) -> bool:
        """Tell whether both would be written alike."""
        if not isinstance(other, Certificate):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Return a number that equal certificates share."""
        return hash((self.statistics_sha256, self.bound, self.risk_bound, self.n_samples))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the claim to hold."""
        return assumptions_of(self.provenance, self._bound().weights_assumption)

    @property
    def delta(self) -> float:
        """The probability that the claim may fail."""
        return float(self.bound_parameters["delta"])

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
        return (
            f"With {format_confidence(self.delta)} confidence, {vote} errs on a new example with "
            f"probability at most {format_up(self.risk_bound)}."
        )

    def __str__(self) -> str:
        """Return the claim and the figures behind it."""
        lines = [
            self.claim,
            *([f"  {_VACUOUS}"] if self.vacuous else []),
            *([_DOUBT] if self.findings else []),
            *(f"  - {printable(text)}" for text in self.findings),
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
        assumptions, findings = (
            "".join(f"<li>{escape(text)}</li>" for text in texts)
            for texts in (self.assumptions, self.findings)
        )
        return (
            '<div style="max-width: 45em">'
            f'<p style="font-size: 1.1em"><strong>{escape(self.claim)}</strong></p>'
            + (f"<p><strong>{_VACUOUS}</strong></p>" if self.vacuous else "")
            + (f"<strong>{_DOUBT}<ul>{findings}</ul></strong>" if self.findings else "")
            + f'<table style="border: 0; color: inherit; font-size: inherit">{rows}</table>'
            f"<details><summary>It assumes</summary><ul>{assumptions}</ul></details></div>"
        )

    def _summary(self) -> list[tuple[str, str]]:
        """Return the figures behind the claim, each with its name."""
        constant = self.bound_parameters.get("constant")
        winner = self.evidence.get("winner")
        return [
            ("bound", self.bound + (f" (constant {constant!r})" if constant else "")),
            *([("winner", str(winner))] if winner else []),
            ("examples", str(self.n_samples)),
            *(
                (name.replace("_", " "), str(self.evidence[name]))
                for name in ("vote_errors",)
                if name in self.evidence
            ),
            *(
                (label, f"{self.evidence[name]:.3f}")
                for name, label in _FIGURES.items()
                if name in self.evidence
            ),
            ("KL", f"{self.kl:.2f}"),
            *((name.replace("_", " "), str(value)) for name, value in self.provenance.items()),
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
            "bound_parameters": dict(self.bound_parameters),
            "n_samples": self.n_samples,
            "n_voters": self.n_voters,
            "kl": self.kl,
            "evidence": dict(self.evidence),
            "weights": self.weights.tolist(),
            "prior": self.prior.tolist(),
            "statistics_sha256": self.statistics_sha256,
            "votes_sha256": self.votes_sha256,
            "provenance": dict(self.provenance),
            "assumptions": list(self.assumptions),
            "findings": list(self.findings),
            "files": dict(self.files),
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
        if not isinstance(fields, Mapping):
            raise CertificateFormatError("a certificate must be a JSON object.")
        if fields.get("format") != FORMAT:
            raise CertificateFormatError(
                f"format must be {FORMAT!r}, got {fields.get('format')!r}."
            )
        version = fields.get("format_version")
        if version not in (1, FORMAT_VERSION) or isinstance(version, bool):
            raise CertificateFormatError(
                f"format_version must be 1 or {FORMAT_VERSION}, got {version!r}: this certificate "
                "was written by another version of certivote."
            )
        names = _FIELDS - _SINCE_VERSION_2 if version == 1 else _FIELDS
        missing = sorted(names - set(fields))
        if missing:
            raise CertificateFormatError(f"the certificate lacks {', '.join(missing)}.")
        unknown = sorted(set(fields) - names)
        if unknown:
            raise CertificateError(f"the certificate has unknown fields: {', '.join(unknown)}.")
        own = {name: fields[name] for name in names & set(cls.__dataclass_fields__)}
        certificate = cls(**(_renew(own) if version == 1 else own))
        texts = assumptions_of(
            fields["provenance"], certificate._bound().weights_assumption, int(version)
        )
        if fields["assumptions"] != list(texts):
            raise CertificateError(
                f"assumptions must be those of this provenance, {list(texts)!r}, got "
                f"{fields['assumptions']!r}."
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
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            fields = json.loads(
                text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twins
            )
        except CertificateError:
            raise
        except (ValueError, RecursionError) as error:
            raise CertificateFormatError(f"{path} is not a JSON file: {error}.") from error
        return cls.from_dict(fields)

    def verify(
        self,
        votes: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        statistics: VoteStatistics | None = None,
        unlabelled: ArrayLike | UnlabelledStatistics | None = None,
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
        statistics : VoteStatistics, default=None
            The counts of the certification sample, instead of votes and labels.
        unlabelled : array-like of shape (m_u, n_voters) or UnlabelledStatistics, default=None
            The votes on unlabelled examples, where the certificate used some.
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
            votes, y = _as_table(votes, y)
            if self.votes_sha256 not in (None, votes_sha256(votes, y)):
                raise CertificateError("the votes and labels are not those that were certified.")
            statistics = self._bound().count(votes, y, self.prior)
        if statistics is not None and unlabelled is not None:
            statistics = join_unlabelled(statistics, unlabelled, votes, y)
        if statistics is not None:
            self._verify_statistics(statistics)

    def _bound(self) -> Bound:
        return get_bound(self.bound, **self.bound_parameters)

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
        self._require_bound(self._bound().from_evidence(self.evidence, self.weights, self.prior))

    def _verify_statistics(self, statistics: VoteStatistics) -> None:
        if statistics.sha256 != self.statistics_sha256:
            raise CertificateError("the counts are not those that were certified.")
        for name in ("n_samples", "n_voters"):
            self._require(name, getattr(self, name), getattr(statistics, name), 0.0)
        bound = self._bound()
        vote = (self.weights, self.prior)
        computed = bound.evidence_again(self.evidence, statistics, *vote)
        for name, value in computed.items():
            self._require(name, self.evidence[name], value, _MOMENT_TOLERANCE)
        self._require_bound(bound.from_evidence(computed, *vote))
        for finding in statistics.findings:
            if finding not in self.findings:
                raise CertificateError(f"the certificate leaves out a finding: {finding}")


_FIELDS = frozenset(
    {"format", "format_version", "claim", "assumptions"} | set(Certificate.__dataclass_fields__)
)


def _refuse_constant(name: str) -> float:
    raise CertificateError(f"a certificate holds finite numbers only, got {name}.")


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise CertificateError("a certificate says each thing once, but a name is there twice.")
    return fields


def _check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a certificate, each checked by itself and against the others.

    Numbers are Python's own, so that a file gives them back; arrays and dictionaries are copies.
    """
    for name in ("bound_parameters", "evidence", "provenance", "files"):
        if not isinstance(fields[name], Mapping):
            raise CertificateError(f"{name} must be an object, got {fields[name]!r}.")
    for name in ("certivote_version", "bound"):
        if not isinstance(_plain(name, fields[name]), str):
            raise CertificateError(f"{name} must be a text, got {fields[name]!r}.")
    parameters = _plain_settings(fields["bound_parameters"])
    bound = _check_bound(fields["bound"], parameters)
    n_voters = check_count("n_voters", fields["n_voters"])
    n_samples = check_count("n_samples", fields["n_samples"])
    weights = _read_only(check_distribution("weights", fields["weights"], n_voters))
    prior = _read_only(check_distribution("prior", fields["prior"], n_voters))
    check_prior(prior, n_voters, weights)
    evidence = _plain("evidence", fields["evidence"])
    bound.from_evidence(evidence, weights, prior)
    provenance = check_provenance(_plain("provenance", fields["provenance"]))
    check_looks(provenance, float(bound.delta))
    _check_origin_of_prior(provenance, weights, prior)
    _check_sizes(n_samples, evidence, provenance, bound)
    votes = fields["votes_sha256"]
    return {
        "risk_bound": check_number("risk_bound", fields["risk_bound"], 0.0, 1.0),
        "bound": str(fields["bound"]),
        "bound_parameters": parameters,
        "n_samples": n_samples,
        "n_voters": n_voters,
        "kl": check_number("kl", fields["kl"], 0.0, math.inf),
        "weights": weights,
        "prior": prior,
        "evidence": evidence,
        "statistics_sha256": check_sha256("statistics_sha256", fields["statistics_sha256"]),
        "votes_sha256": votes if votes is None else check_sha256("votes_sha256", votes),
        "provenance": provenance,
        "certivote_version": str(fields["certivote_version"]),
        "findings": _check_findings(fields["findings"]),
        "files": {
            name: check_sha256(f"the digest of {name!r} in files", digest)
            for name, digest in _plain("files", fields["files"]).items()
        },
    }


def _check_bound(name: str, parameters: dict[str, Any]) -> Bound:
    """Return the bound of a certificate, which says all of its parameters."""
    if name not in list_bounds():
        raise CertificateFormatError(
            f"bound must be one of {', '.join(list_bounds())}, got {name!r}."
        )
    expected = set(get_bound(name).get_params(deep=False))
    if set(parameters) != expected:
        raise CertificateError(
            f"bound_parameters must be {', '.join(sorted(expected))}, "
            f"got {', '.join(sorted(parameters)) or 'none'}."
        )
    return get_bound(name, **parameters)


def _check_origin_of_prior(
    provenance: Mapping[str, Any], weights: NDArray[np.float64], prior: NDArray[np.float64]
) -> None:
    """Refuse a prior of which nobody says where it came from."""
    if provenance.get("voters_from") == NEW_DATA:
        if not np.array_equal(weights, prior):
            raise CertificateError(
                "prior must be the weights, where a fitted vote is certified on new data."
            )
    elif "prior" not in provenance and not _is_uniform(prior):
        raise CertificateError(
            "provenance must say where the prior came from, as it is not uniform: it has no "
            "'prior'."
        )


def _check_sizes(
    n_samples: int, evidence: Mapping[str, Any], provenance: Mapping[str, Any], bound: Bound
) -> None:
    """Refuse evidence of other examples than those of the certificate."""
    unlabelled = provenance.get("unlabelled_samples", 0)
    if unlabelled and not (bound.uses_unlabelled and "disagreement_size" in evidence):
        raise CertificateError(
            f"provenance must not have unlabelled_samples: the bound {bound.name!r} uses none."
        )
    for size in ("gibbs_size", "joint_size", "disagreement_size", "vote_size", "margin_size"):
        expected = n_samples + (unlabelled if size == "disagreement_size" else 0)
        if evidence.get(size, expected) != expected:
            raise CertificateError(
                f"n_samples must be the {size} of the evidence, got {expected} and "
                f"{evidence[size]}."
            )


def _check_findings(findings: Any) -> tuple[str, ...]:
    texts = _plain("findings", findings)
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise CertificateError(f"findings must be a list of sentences, got {findings!r}.")
    return tuple(texts)


def _is_uniform(prior: NDArray[np.float64]) -> bool:
    return bool(np.ptp(prior) <= _UNIFORM * prior.max())


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    own = array.copy()
    own.setflags(write=False)
    return own


def _renew(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a certificate of version 1 as those of today's.

    Version 1 did not say that a prior was given by the user. There was no other way to one that is
    neither uniform nor learned.
    """
    provenance = fields["provenance"]
    if isinstance(provenance, dict) and "prior" not in provenance:
        prior = _plain("prior", fields["prior"])
        given = provenance.get("voters_from") != NEW_DATA and isinstance(prior, list)
        if given and not (prior and _is_uniform(check_distribution("prior", prior, len(prior)))):
            provenance = {**provenance, "prior": PRIOR_GIVEN}
    return {**fields, "provenance": provenance}


def _as_table(votes: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return votes with one column per voter, where predictions of one are one, and the labels."""
    check_aligned(votes=votes, y=y)
    table = check_labels("votes", votes, ndim=None)
    return check_votes(table[:, None] if table.ndim == 1 else table, y)


def _plain(name: str, value: Any) -> Any:
    """Return what JSON gives back as it was: texts, Python's own numbers, lists and objects."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise CertificateError(f"{name} must have texts for names, got {value!r}.")
        return {
            str(_plain(name, key)): _plain(f"{name}.{key}", item) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, str):
        value.encode("utf-8")  # half of a character cannot be written
        return value
    if value is None or isinstance(value, Integral):
        return value
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise CertificateError(f"{name} must hold texts and finite numbers, got {value!r}.")


def _plain_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a bound, whole and broken numbers alike."""

    def as_floats(value: Any) -> Any:
        if isinstance(value, list):
            return [as_floats(item) for item in value]
        return float(value) if isinstance(value, Integral) else value

    plain = _plain("bound_parameters", parameters)
    return {name: as_floats(value) for name, value in plain.items()}


def certify(
    votes: ArrayLike | VoteStatistics,
    y: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bound: str | Bound | None = None,
    delta: float | None = None,
    prior: ArrayLike | None = None,
    *,
    solver: str | Solver = "lbfgs",
    random_state: int | np.random.RandomState | None = 0,
    unlabelled: ArrayLike | UnlabelledStatistics | None = None,
) -> Certificate:
    """Certify the risk of a weighted majority vote, and learn its weights if none are given.

    Parameters
    ----------
    votes : array-like of shape (m, n) or (m,), or VoteStatistics
        The label that each voter predicts for each certification example, or the predictions of
        any one classifier; or statistics of such votes, and then no `y`. The voters must not have
        seen these examples.
    y : array-like of shape (m,), default=None
        The true labels.
    weights : array-like of shape (n,), default=None
        The weights of the voters. If None, those with the smallest certificate are found.
    bound : str or Bound, default=None
        The bound, by name or as an object with its settings. If None, ``"lacasse"``, and
        ``"heldout"`` for the predictions of one classifier.
    delta : float, default=None
        The probability that the certificate may fail: 0.05 if None. A bound object has its own.
    prior : array-like of shape (n,), default=None
        A distribution on the voters fixed without looking at these examples; uniform if None. The
        certificate assumes that it was, and says that it was given.
    solver : str or Solver, default="lbfgs"
        How the weights are found.
    random_state : int, RandomState or None, default=0
        The seed of what is random in the solver.
    unlabelled : array-like of shape (m_u, n) or UnlabelledStatistics, default=None
        The votes of the same voters on examples whose labels are not known, drawn like the others:
        two classes only. They make ``"dis"``, ``"seeger"`` and ``"mcallester"`` smaller, which
        estimate the disagreement apart; other bounds refuse them.

    Returns
    -------
    Certificate
        The claim, with all that is needed to check it.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> votes = np.where(rng.random((2000, 50)) < 0.2, 1 - y[:, None], y[:, None])
    >>> certificate = certify(votes, y)
    >>> certificate
    Certificate(risk_bound≤0.2031, confidence=95%, bound='lacasse', n_samples=2000, n_voters=50)
    >>> certificate.verify(votes, y)

    The predictions of any classifier, on examples that it has not seen:

    >>> certify(votes[:, 0], y)
    Certificate(risk_bound≤0.2035, confidence=95%, bound='heldout', n_samples=2000, n_voters=1)

    Votes on more examples, of which nobody knows the labels:

    >>> hidden = rng.integers(2, size=(50_000, 1))
    >>> more = np.where(rng.random((50_000, 50)) < 0.2, 1 - hidden, hidden)
    >>> certify(votes, y, bound="seeger")
    Certificate(risk_bound≤0.3942, confidence=95%, bound='seeger', n_samples=2000, n_voters=50)
    >>> certify(votes, y, bound="seeger", unlabelled=more)
    Certificate(risk_bound≤0.2822, confidence=95%, bound='seeger', n_samples=2000, n_voters=50)
    """
    single = False
    if not isinstance(votes, VoteStatistics):
        if y is None:
            raise ValueError("y must be the true labels of these votes, got None.")
        single = check_labels("votes", votes, ndim=None).ndim == 1
        votes, y = _as_table(votes, y)
    chosen = bound_at(("heldout" if single else "lacasse") if bound is None else bound, delta)
    chosen._check_parameters()
    if isinstance(votes, VoteStatistics):
        if y is not None:
            raise ValueError("y must be None when votes are statistics, which know the errors.")
        statistics, digest = votes, None
    else:
        assert y is not None
        statistics, digest = chosen.count(votes, y, prior), votes_sha256(votes, y)
    joined = unlabelled is not None or statistics.unlabelled is not None
    if joined and not chosen.uses_unlabelled:
        users = (name for name in list_bounds() if get_bound(name).uses_unlabelled)
        raise ValueError(
            f"unlabelled votes are of use to the bounds {', '.join(users)}, which estimate the "
            f"disagreement apart, got {chosen.name!r}."
        )
    if unlabelled is not None:
        labelled = () if digest is None else (votes, y)
        statistics = join_unlabelled(statistics, unlabelled, *labelled)
    n = statistics.n_voters
    if weights is None:
        q = minimize(chosen, statistics, prior, solver=solver, random_state=random_state).weights
    else:
        q = check_distribution("weights", weights, n)
    p = check_prior(prior, n, q)
    chosen.check_weights(q, p)
    provenance: dict[str, Any] = {} if prior is None else {"prior": PRIOR_GIVEN}
    if statistics.unlabelled is not None:
        provenance["unlabelled_samples"] = statistics.unlabelled.n_samples
    return Certificate(
        risk_bound=min(1.0, chosen.value(statistics, q, p)),
        bound=chosen.name,
        bound_parameters=chosen.get_params(deep=False),
        n_samples=statistics.n_samples,
        n_voters=n,
        kl=kl_divergence(q, p),
        weights=q,
        prior=p,
        evidence=chosen.evidence(statistics, q, p),
        statistics_sha256=statistics.sha256,
        votes_sha256=digest,
        provenance=provenance,
        findings=statistics.findings,
    )
