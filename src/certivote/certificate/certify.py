"""From votes, or what was counted of them, to a certificate."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._utils.validation import check_distribution, check_prior
from ..bounds import Bound, bound_at, get_bound, list_bounds
from ..bounds.registry import DEFAULT_OF_ONE, check_registered
from ..claims import Family, shared
from ..claims.base import Outcome, Vote, outcome_of
from ..divergences import kl_divergence
from ..labels import as_votes, check_by, check_labels, check_same_voters, count_classes
from ..solvers import Solver, minimize
from ..statistics import (
    Statistics,
    UnlabelledStatistics,
    is_statistics,
    join_unlabelled,
)
from .certificate import Certificate
from .digests import votes_sha256
from .making import made_now
from .neighbours import Neighbours
from .provenance import PRIOR_GIVEN

__all__ = ["certify", "issue"]


def certify(
    votes: ArrayLike | Statistics,
    y: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bound: str | Bound | None = None,
    delta: float | None = None,
    prior: ArrayLike | None = None,
    *,
    solver: str | Solver = "lbfgs",
    random_state: int | np.random.RandomState | None = 0,
    unlabelled: ArrayLike | UnlabelledStatistics | None = None,
    claims: Sequence[str | Family] | None = None,
    by: Mapping[str, ArrayLike] | None = None,
    shares: Mapping[str, float] | None = None,
    abstain: float | None = None,
) -> Certificate:
    """Certify the risk of a weighted majority vote, and learn its weights if none are given.

    Parameters
    ----------
    votes : array-like of shape (m, n) or (m,), or Statistics
        The label that each voter predicts for each certification example, or the predictions of
        any one classifier; or statistics of such votes, and then no `y`. The voters must not have
        seen these examples.
    y : array-like of shape (m,), default=None
        The true labels.
    weights : array-like of shape (n,), default=None
        The weights of the voters. If None, those with the smallest certificate are found.
    bound : str or Bound, default=None
        The bound, by name or as an object with its settings. If None, ``"best"``, and
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
        estimate the disagreement apart; ``"best"`` takes one of these then, other bounds refuse
        them.
    claims : sequence of str or Family, default=None
        What else is claimed at once, such as ``"recall"`` or ``"error by region"``: see
        `certivote.claims.parse_claim`. They share δ.
    by : mapping of str to array-like of shape (m,), default=None
        The columns of groups that claims are about.
    shares : mapping of str to float, default=None
        The share of δ of each claim, and of ``"error"``, the overall one: see
        `certivote.claims.shared`.
    abstain : float, default=None
        How often an answer may be wrong, where the vote answers only if it is sure enough: see
        `certivote.claims.AbstainFamily`.

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
    Certificate(risk_bound≤0.0016, confidence=95%, bound='best', n_samples=2000, n_voters=50)
    >>> certificate.verify(votes, y)

    The predictions of any classifier, on examples that it has not seen:

    >>> certify(votes[:, 0], y)
    Certificate(risk_bound≤0.2035, confidence=95%, bound='heldout', n_samples=2000, n_voters=1)

    Votes on more examples, of which nobody knows the labels:

    >>> hidden = rng.integers(2, size=(50_000, 1))
    >>> more = np.where(rng.random((50_000, 50)) < 0.2, 1 - hidden, hidden)
    >>> certify(votes, y, bound="seeger")
    Certificate(risk_bound≤0.3731, confidence=95%, bound='seeger', n_samples=2000, n_voters=50)
    >>> certify(votes, y, bound="seeger", unlabelled=more)
    Certificate(risk_bound≤0.2607, confidence=95%, bound='seeger', n_samples=2000, n_voters=50)
    """
    statistics: Statistics
    digest = None
    if is_statistics(votes):
        if y is not None:
            raise ValueError("y must be None when votes are statistics, which know the errors.")
        chosen = bound_at(bound, delta)
        chosen.check_parameters()
        statistics = votes  # type: ignore[assignment]
        labelled: tuple[Any, ...] = ()
        columns = {}
    else:
        if y is None:
            raise ValueError("y must be the true labels of these votes, got None.")
        single = check_labels("votes", votes, ndim=None).ndim == 1
        labelled, columns = as_votes(votes, y), check_by(by, y, votes=votes)
        chosen = bound_at(DEFAULT_OF_ONE if single and bound is None else bound, delta)
        chosen.check_parameters()
        statistics, digest = chosen.count(*labelled, prior), votes_sha256(*labelled)
    if unlabelled is not None:
        check_same_voters(votes=votes, unlabelled=unlabelled)
        statistics = join_unlabelled(statistics, unlabelled, *labelled)
    total = float(chosen.delta)
    own, families = shared(claims, total, shares, abstain)
    chosen = chosen.settled(statistics.offers).copied(delta=own)
    if "unlabelled_samples" in statistics.facts() and not chosen.uses_unlabelled:
        users = (name for name in list_bounds() if get_bound(name).uses_unlabelled)
        raise ValueError(
            f"unlabelled votes are of use to the bounds {', '.join(users)}, which estimate the "
            f"disagreement apart, got {chosen.name!r}."
        )
    for name, given in (("weights", weights), ("prior", prior)):
        check_same_voters(**{"votes": votes, name: given})
    if weights is None:
        found = minimize(chosen, statistics, prior, solver=solver, random_state=random_state)
        weights = found.weights
    outcome = None
    if labelled:
        table, labels = labelled
        outcome = outcome_of(table, labels, weights, prior, columns)
    return issue(
        chosen,
        statistics,
        weights,
        prior,
        outcome=outcome,
        votes_sha256=digest,
        families=families,
        total_delta=total,
    )


def issue(
    bound: Bound,
    statistics: Statistics,
    weights: ArrayLike,
    prior: ArrayLike | None = None,
    *,
    provenance: Mapping[str, Any] | None = None,
    findings: Sequence[str] = (),
    checks: Mapping[str, str] | None = None,
    outcome: Outcome | None = None,
    votes_sha256: str | None = None,
    libraries: Sequence[str] = (),
    families: Sequence[Family] = (),
    total_delta: float | None = None,
) -> Certificate:
    """Return the certificate of weights by a bound, from what a sample says.

    The provenance, where None is given, says no more than that a prior was given by the user. What
    the statistics know of the sample, and what they found, is added; the neighbours are counted
    from the outcome, which is that of these weights, and so is the evidence of the families of
    claims, which share the total δ with the bound. `libraries` are those of the voters, if they
    are others than scikit-learn.
    """
    n = statistics.n_voters
    q = check_distribution("weights", weights, n)
    p = check_prior(prior, n, q)
    if provenance is None:
        provenance = {} if prior is None else {"prior": PRIOR_GIVEN}
    shares_delta = any(family.pays for family in families)
    if shares_delta and outcome is None:
        raise ValueError("claims need votes and labels: of counts alone only the error is known.")
    delta = float(bound.delta) if total_delta is None else total_delta
    neighbours, counts = None, {}
    if outcome is not None:
        neighbours = Neighbours.count(outcome, delta, np.array_equal(q, p))
        counts = count_classes(outcome.y)
    kl = kl_divergence(q, p)
    check_registered(bound)
    chosen = bound.settled(statistics.offers)
    chosen.check_weights(q, p)
    risk_bound = min(1.0, chosen.value(statistics, q, p))
    evidence = chosen.evidence(statistics, q, p)
    vote = Vote(chosen, evidence, q, p, risk_bound)
    digest, facts = statistics.digest(), statistics.facts()
    if outcome is not None:
        families = [family.count(outcome, vote) for family in families]
        doubts = [text for family in families for text in family.doubts(outcome)]
        for text in doubts:
            warnings.warn(text, stacklevel=3)
        findings = [*findings, *doubts]
    certificate = Certificate(
        risk_bound=risk_bound,
        bound=chosen.name,
        bound_parameters=chosen.get_params(deep=False),
        n_samples=statistics.n_samples,
        n_voters=n,
        kl=kl,
        weights=q,
        prior=p,
        evidence=evidence,
        statistics_sha256=digest,
        votes_sha256=votes_sha256,
        provenance={**provenance, **facts},
        findings=tuple(dict.fromkeys([*findings, *statistics.findings])),
        neighbours=neighbours,
        class_counts=counts,
        checks=dict(checks or {}),
        made=made_now(*libraries),
        families=tuple(families),
        total_delta=delta if shares_delta else None,
    )
    certificate.verify()  # what its own evidence does not support is not handed out
    return certificate
