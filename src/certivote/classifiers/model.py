"""Any classifier, certified as it is: what its `predict` answers, and nothing else."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._utils.validation import refuse_mask
from ..bounds import bound_at
from ..bounds.registry import DEFAULT_OF_ONE
from ..certificate import Certificate, CertificateError
from ..certificate.certify import issue
from ..certificate.digests import votes_sha256
from ..certificate.neighbours import GIVEN
from ..certificate.provenance import MODEL
from ..claims import Family, shared
from ..claims.abstaining import UNLABELLED
from ..claims.base import Outcome, Scores
from ..labels import (
    check_aligned,
    check_all_aligned,
    check_by,
    check_class,
    check_comparable,
    check_labels,
    check_targets,
    numbered,
)
from ..voters import fit_voters, inner_estimator, predictions
from . import _guards
from ._beside import side_by_side
from ._between import between
from ._fingerprints import row_fingerprints
from ._scores import scores_of
from ._split import drawn, drawn_again
from ._training import trained_on
from .base import CertifiedVote, check_start

__all__ = ["certify_model", "two_answers", "verify_model"]

# So many examples of an answer are asked for once more, and of no more answers than these.
_ASKED_AGAIN, _ANSWERS = 50, 20
# Scores may differ by so much, relatively or not, with the size of the batch.
_SAME_SCORE = 1e-5
# What a classifier of two classes may answer that does not say which classes it knows.
_PAIRS = ((0, 1), (-1, 1))


def certify_model(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    delta: float | None = None,
    baseline: Any = None,
    positive: Any = None,
    groups: Any = None,
    seed: int = 0,
    claims: Sequence[str | Family] | None = None,
    by: Mapping[str, ArrayLike] | None = None,
    shares: Mapping[str, float] | None = None,
    abstain: float | None = None,
    unlabelled: Any = None,
) -> Certificate:
    """Certify what a classifier predicts, as it is, on examples that are new to it.

    Whatever it is (a pipeline, boosted trees, a search, a tuned threshold, anything with
    `predict`), its predictions are counted by the binomial test, ``"heldout"``, with all of delta:
    nothing is tighter for a classifier that is fixed.

    Parameters
    ----------
    model : object with `predict`
        The fitted classifier. A fitted vote of this library is certified by its own `certify`,
        which gives the same number, and knows the rows that it has seen.
    X : array-like, sparse matrix, dataframe, or whatever `predict` takes
        Examples that the classifier has not seen, nor whatever chose it.
    y : array-like of shape (n_samples,)
        Their labels.
    delta : float, default=None
        The probability that the certificate may fail: 0.05 if None, that of its own for a vote.
    baseline : label, default=None
        The class that the baseline beside the certificate always answers, fixed without looking at
        these examples. If None, it is their most frequent one, which describes only.
    positive : label, default=None
        The label in `y` that the larger of the two labels of the classifier stands for, where it
        answers, say, 0 and 1, and `y` has "no" and "yes". Labels that both have are refused.
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together, such as those of one patient: one row of each group is drawn at
        random, and certifies. The claim is about a random row of a new group.
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
        The claim about this classifier, with all that is needed to check it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from certivote import certify_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(random_state=0).fit(X[:300], y[:300])
    >>> certificate = certify_model(model, X[300:], y[300:], baseline=1)
    >>> certificate
    Certificate(risk_bound≤0.0713, confidence=95%, bound='heldout', n_samples=269, n_voters=1)
    >>> certificate.verify(model.predict(X[300:]), y[300:])
    """
    said = {} if positive is None else {"positive": str(positive)}
    if isinstance(model, CertifiedVote):
        labels = _targets(X, y, positive, model.classes_)
        certificate = model.certify(
            *(X, labels),
            delta=delta,
            baseline=baseline,
            groups=groups,
            seed=seed,
            claims=claims,
            by=by,
            shares=shares,
            abstain=abstain,
            unlabelled=unlabelled,
        )
        return replace(certificate, provenance={**certificate.provenance, **said})
    bound = bound_at(DEFAULT_OF_ONE, delta)
    total = float(bound.delta)
    own, families = shared(claims, total, shares, abstain)
    bound = bound.copied(delta=own)
    check_all_aligned(X=X, y=y, groups=groups)
    X, y, columns, draw, names = drawn(*_certified(X, y, by), groups, seed)
    said |= draw
    predicted, labels = _counted(model, X, y, positive)
    scores = _scores(model, X, predicted, families, unlabelled)
    look = _examine(model, X, labels, predicted, scores, names)
    look.findings += _guards.alike_groups(names, said)
    look.findings += _beginning(X, unlabelled)
    for text in look.findings:
        warnings.warn(text, stacklevel=2)
    known = None if baseline is None else (check_class("baseline", baseline, y), GIVEN)
    outcome = _outcome(model, y, predicted, labels, columns).with_baseline(known)
    outcome = replace(outcome, scores=scores)
    return issue(
        bound,
        bound.count(predicted[:, None], labels, None),
        np.ones(1),
        provenance={"voters_from": MODEL, "classifier": _name(model), **said},
        findings=look.findings,
        checks=look.checks,
        outcome=outcome,
        votes_sha256=votes_sha256(predicted[:, None], labels),
        libraries=_libraries(model),
        families=families,
        total_delta=total,
    )


def verify_model(
    model: Any,
    X: Any,
    y: ArrayLike,
    certificate: Certificate,
    *,
    groups: Any = None,
    time: Any = None,
    by: Mapping[str, ArrayLike] | None = None,
    unlabelled: Any = None,
) -> None:
    """Recompute a certificate of a classifier from its data, and raise if it does not hold up.

    Parameters
    ----------
    model : object with `predict`
        The classifier, or a fitted vote.
    X : array-like, sparse matrix, dataframe, or whatever `predict` takes
        The examples that were certified, in their order.
    y : array-like of shape (n_samples,)
        Their labels.
    certificate : Certificate
        What `certify_model`, or the vote, gave.
    groups, time : array-like of shape (n_samples,), default=None
        Which rows belong together, or when they came, where this was given.
    by : mapping of str to array-like of shape (n_samples,), default=None
        The columns of groups that claims are about, where there are such.
    unlabelled : like X, default=None
        What `certify_model`, or the vote, was given, where testing the levels of abstaining began
        by such rows. Without them a warning says that this was not checked.

    Raises
    ------
    CertificateError
        If the certificate is not one of this classifier, or not supported by this data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from certivote import certify_model, verify_model
    >>> X, y = np.arange(50.0)[:, None], np.arange(50) % 5 == 0
    >>> model = DummyClassifier().fit(X, y)
    >>> verify_model(model, X, y, certify_model(model, X, y))
    """
    claimed = replace(certificate)  # made again, as it may have been changed since it was checked
    positive = claimed.provenance.get("positive")
    if isinstance(model, CertifiedVote):
        labels = _targets(X, y, positive, model.classes_)
        rows = {"groups": groups, "time": time, "by": by, "unlabelled": unlabelled}
        model.verify(X, labels, claimed, **rows)
        return
    if claimed.provenance.get("voters_from") != MODEL:
        raise CertificateError(
            "the certificate is not one of a classifier as it is: it was made otherwise than by "
            "certify_model, of another kind of model."
        )
    check_all_aligned(X=X, y=y, groups=groups)
    X, y, columns, said, names = drawn_again(*_certified(X, y, by), groups, claimed.provenance)
    try:
        predicted, labels = _counted(model, X, y, positive)
    except ValueError as error:
        if positive is None:
            raise
        raise CertificateError(f"positive is claimed to be {positive!r}. {error}") from error
    check_start(claimed, unlabelled)
    scores = _scores(model, X, predicted, claimed.families, unlabelled)
    look = _examine(model, X, labels, predicted, scores, names)
    look.findings += _guards.alike_groups(names, said)
    try:
        look.findings += _beginning(X, unlabelled)
    except ValueError as error:
        raise CertificateError(str(error)) from error
    if claimed.provenance.get("classifier") != _name(model):
        raise CertificateError(
            f"classifier is claimed to be {claimed.provenance.get('classifier')!r}, but is "
            f"{_name(model)!r}."
        )
    outcome = replace(_outcome(model, y, predicted, labels, columns), scores=scores)
    claimed.verify(predicted, labels, recount=False)
    claimed.verify_outcome(outcome)
    claimed.verify_checks(look.checks, look.findings, _guards.TOPICS)


def _certified(
    X: Any, y: ArrayLike, by: Mapping[str, ArrayLike] | None = None
) -> tuple[Any, NDArray[Any], dict[str, NDArray[Any]]]:
    """Return examples, their labels and columns of groups, all checked."""
    refuse_mask("X", X)
    check_aligned(X=X, y=y)
    labels = check_targets("y", y)
    if _num_samples(X) != len(labels):
        raise ValueError(
            f"X and y must have the same number of rows, got {_num_samples(X)} and {len(labels)}."
        )
    X = X.tocsr() if sparse.issparse(X) else X  # not every kind has rows that can be taken
    return X, labels, check_by(by, y, X=X)


def _counted(model: Any, X: Any, y: ArrayLike, positive: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what a classifier answers, and the true labels, of one kind."""
    if not callable(getattr(model, "predict", None)):
        raise ValueError(f"model must have a method predict, got {type(model).__name__}.")
    predicted = predictions(model, X)
    classes = getattr(model, "classes_", None)
    known = _different(predicted) if classes is None else check_labels("classes_", classes, 1)
    labels = _targets(X, y, positive, known)
    if predicted.dtype.kind == "f" and np.any(predicted % 1.0) and not _broken(labels):
        example = predicted[predicted % 1.0 != 0.0][0]
        raise ValueError(
            f"the predictions of {type(model).__name__} must be labels, got numbers such as "
            f"{example:.4g}: if they are probabilities or scores, certify a classifier that "
            "answers by a threshold."
        )
    try:
        check_comparable(predictions=predicted, y=labels)
        strange = not np.isin(labels, known).any() and not np.isin(labels, predicted).any()
    except ValueError:
        strange = True
    if strange:
        raise ValueError(
            f"the model predicts {_listed(known)}, but y has {_listed(np.unique(labels))}: labels "
            "must be written in one way." + _hint(known, labels)
        )
    return predicted, labels


def _outcome(
    model: Any,
    y: NDArray[Any],
    predicted: NDArray[Any],
    labels: NDArray[Any],
    by: Mapping[str, NDArray[Any]],
) -> Outcome:
    """Return what a classifier answers, in the words of `y`, which stand for its own labels."""
    if np.array_equal(y, labels):
        classes = getattr(model, "classes_", None)
        known = None if classes is None else check_labels("classes_", classes, 1)
        return Outcome(y, predicted, by=by, classes=known)
    own, first = np.unique(labels, return_index=True)
    words = y[first].astype(object)
    if len(own) == 1:  # nobody knows what the other one is called
        answered = np.where(predicted == own[0], words[0], f"not {words[0]}")
    else:
        answered = words[np.searchsorted(own, predicted)]
    return Outcome(y, answered, by=by)


def _scores(
    model: Any,
    X: Any,
    predicted: NDArray[Any],
    families: Sequence[Family],
    unlabelled: Any = None,
) -> Scores | None:
    """Return how sure a classifier is of its answers, where a claim asks for that.

    And to other examples, if there are such.
    """
    if not any(family.needs_scores for family in families):
        return None
    values = scores_of(model, X, predicted)
    if values is None or unlabelled is None:
        return None if values is None else Scores(values, shares=False)
    others = scores_of(model, unlabelled, predictions(model, unlabelled))
    return Scores(values, False, others, UNLABELLED)


def _different(predicted: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(predicted)
    except TypeError:
        raise ValueError(
            "the predictions must be labels of one kind, got numbers and texts together."
        ) from None


def _broken(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind == "f" and bool(np.any(labels % 1.0))


def _hint(known: NDArray[Any], labels: NDArray[Any]) -> str:
    two = np.unique(labels)
    if len(known) > 2 or len(two) != 2:
        return ""
    return f" If {known[-1]} stands for one of the two, say which: positive={two[-1].item()!r}?"


def _listed(labels: NDArray[Any]) -> str:
    shown = [repr(label) for label in labels[:8].tolist()]
    return ", ".join(shown + ["…"] * (len(labels) > 8))


def _targets(X: Any, y: ArrayLike, positive: Any, known: NDArray[Any]) -> NDArray[Any]:
    """Return the true labels; as the two that a classifier knows, where one is called positive."""
    labels = _certified(X, y)[1]
    if positive is None:
        return labels
    chosen, own = check_class("positive", positive, labels), np.unique(labels)
    two = two_answers(known)
    if len(own) > 2 or len(two) != 2:
        raise ValueError(
            "positive is for two classes, got "
            f"{_listed(own)} in y, and {_listed(known)} in what the model predicts."
        )
    if set(two) & set(own.tolist()):
        raise ValueError(
            "positive is for labels that are written otherwise in y than the model predicts, but "
            f"both have {_listed(own[np.isin(own, two)])}: leave it out."
        )
    return np.asarray(np.where(labels == chosen, two[1], two[0]))


def two_answers(known: NDArray[Any]) -> list[Any]:
    """Return what a classifier of two classes answers, by what it knows; nothing if it has more."""
    if len(known) == 2:
        return sorted(known.tolist())
    return next((list(pair) for pair in _PAIRS if set(known.tolist()) <= set(pair)), [])


def _examine(
    model: Any,
    X: Any,
    labels: NDArray[Any],
    predicted: NDArray[Any],
    scores: Scores | None,
    names: NDArray[Any] | None,
) -> _guards.Examination:
    """Look for what throws doubt on these examples, or on the classifier."""
    look = _guards.Examination()
    _guards.seen_by_votes(look, model, X, names)
    table = _as_rows(X)
    if table is not None:
        _guards.copies(look, table, row_fingerprints(table))
        look.findings += between(table, labels)
        told = names is None and _guards.DUPLICATES in look.checks
        _guards.rounded_copies(look, table, side_by_side(table, labels) if told else [])
    if hasattr(model, "classes_"):
        look.findings += _guards.unknown_labels(labels, ~np.isin(labels, model.classes_))
    found = []
    if _guards.remembers_bags(model, len(labels)):
        members = fit_voters(FrozenEstimator(model), X, labels)
        ballots = members.votes(X, np.unique(labels))
        losses = ballots.codes != ballots.truth(labels)[:, None]
        found = _guards.training_rows(model, losses)
    look.findings += found
    if not found:
        trained_on(look, model, X)
    look.look(_guards.MODEL, *_asked_again(model, X, predicted, scores))
    return look


def _beginning(X: Any, unlabelled: Any) -> list[str]:
    """Say if rows that certify are among those that tell where testing begins; refuse many."""
    rows, others = _as_rows(X), None if unlabelled is None else _as_rows(unlabelled)
    return [] if rows is None or others is None else _guards.beginning(rows, others)


def _as_rows(X: Any) -> Any:
    """Return examples as rows that can be compared; None if they are of no such kind."""
    if sparse.issparse(X):
        return X if X.shape[1] else None
    if hasattr(X, "columns"):
        return X if len(X.columns) and len(set(X.columns)) == len(X.columns) else None
    try:
        table = np.asarray(X)
    except ValueError:  # rows of different lengths
        return None
    if table.ndim < 2:
        table = table.astype(object)[:, None]
    return table if table.size else None


def _asked_again(
    model: Any, X: Any, predicted: NDArray[Any], scores: Scores | None
) -> tuple[list[str], str]:
    """Say if a classifier answers otherwise on examples that it is asked for by themselves.

    Where it may abstain, how sure it is must be the same too.
    """
    # Of each answer some: asked one by one, and each kind in a batch of its own.
    labels, of = numbered(predicted)
    answers = [np.flatnonzero(of == number) for number in range(min(len(labels), _ANSWERS))]
    few = np.unique([rows[i] for rows in answers for i in (0, rows.size // 2, rows.size - 1)])
    batches = [*few[:, None], *(rows[:_ASKED_AGAIN] for rows in answers)]
    other = set()
    for rows in batches:
        few_rows = _safe_indexing(X, rows)
        again = predictions(model, few_rows)
        differs = np.asarray(again != predicted[rows])
        if scores is not None:
            sure = np.asarray(scores_of(model, few_rows, again))
            differs |= ~np.isclose(sure, scores.values[rows], rtol=_SAME_SCORE, atol=_SAME_SCORE)
        other.update(rows[differs].tolist())
    asked = np.unique(np.concatenate(batches)).size
    unsure = "" if scores is None else ", or was less or more sure,"
    found = (
        f"Asked again for {asked} of these examples, one by one or those with one answer alone, "
        f"the classifier answered otherwise{unsure} on {len(other)}. Its answers depend on chance "
        "or on the examples beside, and the claim is not about what it will answer."
    )
    cleared = (
        f"Asked again for {asked} of the examples, {len(few)} of them one by one and the others "
        "among those with the same answer, it answered the same."
    )
    return [found] if other else [], cleared


def _name(model: Any) -> str:
    """Return what a classifier is, and what is inside."""
    outer, inner = type(model).__name__, type(inner_estimator(model)).__name__
    return outer if outer == inner else f"{outer} of {inner}"


def _libraries(model: Any) -> list[str]:
    """Return the packages that a classifier comes from, besides scikit-learn."""
    roots = {type(part).__module__.split(".")[0] for part in (model, inner_estimator(model))}
    return sorted(roots - {"sklearn", "builtins", "__main__"})
