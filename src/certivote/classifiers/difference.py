"""Two classifiers on the same examples: how much more often the new one errs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bounds import bound_at
from ..bounds.registry import DEFAULT_OF_ONE
from ..certificate import Certificate, CertificateError
from ..certificate.certify import issue
from ..certificate.digests import votes_sha256
from ..certificate.provenance import MODEL
from ..claims import DifferenceFamily, shared
from ..claims.base import Outcome
from ..claims.sheet import OVERALL
from ..labels import check_aligned, check_all_aligned, check_comparable, check_labels, check_targets
from ._split import drawn, drawn_again

__all__ = ["certify_difference", "shares_of_difference", "verify_difference"]

# The difference is what people ask for.
_ERROR, _DIFFERENCE = 0.1, 0.9


def shares_of_difference(family: DifferenceFamily) -> dict[str, float]:
    """Return the shares of δ where the difference is what is asked for: nine tenths of it.

    Parameters
    ----------
    family : DifferenceFamily
        The claim on the difference.

    Examples
    --------
    >>> from certivote.claims import DifferenceFamily
    >>> from certivote.classifiers import shares_of_difference
    >>> shares_of_difference(DifferenceFamily())
    {'error': 0.1, 'difference to old': 0.9}
    """
    return {OVERALL: _ERROR, family.name: _DIFFERENCE}


def certify_difference(
    pred_old: ArrayLike,
    pred_new: ArrayLike,
    y: ArrayLike,
    *,
    delta: float | None = None,
    names: Sequence[str] = ("old", "new"),
    groups: Any = None,
    seed: int = 0,
    shares: Mapping[str, float] | None = None,
) -> Certificate:
    """Certify a new classifier, and how much more often it errs than an old one.

    The difference is that of their risks, ``risk(new) − risk(old)``: the new classifier is better
    where its limit is below 0. Examples on which both err, or neither, do not matter for that.

    Parameters
    ----------
    pred_old, pred_new : array-like of shape (n_samples,)
        What the two classifiers predict on the same examples, which both have not seen, nor
        whatever chose them.
    y : array-like of shape (n_samples,)
        The true labels.
    delta : float, default=None
        The probability that any of the claims may fail: 0.05 if None.
    names : pair of str, default=("old", "new")
        What the two classifiers are called.
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together, such as those of one patient: one row of each group is drawn at
        random, and certifies. The claims are about a random row of a new group.
    seed : int, default=0
        Of that draw. It is recorded; fix it before you look.
    shares : mapping of str to float, default=None
        The share of δ of ``"error"``, the error of the new classifier, and of
        ``"difference to old"``. If None, 0.1 and 0.9: the difference is what is asked for.

    Returns
    -------
    Certificate
        The claims about the new classifier: its error, and the difference.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify_difference
    >>> y = np.arange(2000) % 2
    >>> old, new = y.copy(), y.copy()
    >>> old[:200], new[150:250] = 1 - y[:200], 1 - y[150:250]
    >>> certificate = certify_difference(old, new, y)
    >>> print(certificate.claims[1].statement)
    It errs less often than old, with a probability lower by at least 0.0318.
    >>> certificate.verify(new, y, by={"old": old})
    """
    old, new = _check_names(names)
    bound = bound_at(DEFAULT_OF_ONE, delta)
    bound.check_parameters()
    total, family = float(bound.delta), DifferenceFamily(old=old)
    own, families = shared(
        [family], total, shares_of_difference(family) if shares is None else shares
    )
    bound = bound.copied(delta=own)
    check_all_aligned(pred_new=pred_new, y=y, groups=groups)
    labels = check_targets("y", y)
    by = {old: _check_predictions("pred_old", pred_old, y, labels)}
    predicted = _check_predictions("pred_new", pred_new, y, labels)
    predicted, labels, columns, said, _ = drawn(predicted, labels, by, groups, seed)
    return issue(
        bound,
        bound.count(predicted[:, None], labels, None),
        np.ones(1),
        provenance={"voters_from": MODEL, "classifier": new, **said},
        outcome=Outcome(labels, predicted, by=columns),
        votes_sha256=votes_sha256(predicted[:, None], labels),
        families=families,
        total_delta=total,
    )


def verify_difference(
    pred_old: ArrayLike,
    pred_new: ArrayLike,
    y: ArrayLike,
    certificate: Certificate,
    *,
    groups: Any = None,
) -> None:
    """Recompute what `certify_difference` gave, and raise if it does not hold up.

    Parameters
    ----------
    pred_old, pred_new : array-like of shape (n_samples,)
        What the two classifiers predict on the examples that were certified, in their order.
    y : array-like of shape (n_samples,)
        The true labels.
    certificate : Certificate
        What is claimed.
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together, where this was given.

    Raises
    ------
    CertificateError
        If the certificate is not one of such a difference, or not supported by this data.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import certify_difference, verify_difference
    >>> y = np.arange(100) % 2
    >>> patient = np.arange(100) // 5
    >>> certificate = certify_difference(1 - y, y, y, groups=patient)
    >>> verify_difference(1 - y, y, y, certificate, groups=patient)
    """
    claimed = replace(certificate)  # made again, as it may have been changed since it was checked
    found = [family.old for family in claimed.families if isinstance(family, DifferenceFamily)]
    if len(found) != 1:
        raise CertificateError(
            "the certificate is not one of a difference: it was made otherwise than by "
            "certify_difference."
        )
    check_all_aligned(pred_new=pred_new, y=y, groups=groups)
    labels = check_targets("y", y)
    by = {found[0]: _check_predictions("pred_old", pred_old, y, labels)}
    predicted = _check_predictions("pred_new", pred_new, y, labels)
    rows = drawn_again(predicted, labels, by, groups, claimed.provenance)
    claimed.verify(rows.X, rows.y, by=rows.by)


def _check_names(names: Sequence[str]) -> list[str]:
    """Return what the two classifiers are called."""
    own = [] if isinstance(names, str) else list(names)
    if len(own) != 2 or not all(isinstance(name, str) and name for name in own):
        raise ValueError(f"names must be two texts, of the old one and the new one, got {names!r}.")
    if own[0] == own[1]:
        raise ValueError(f"names must be two different ones, got {own[0]!r} twice.")
    return own


def _check_predictions(
    name: str, predicted: ArrayLike, y: ArrayLike, labels: NDArray[Any]
) -> NDArray[Any]:
    """Return predictions, one for each label and of the same kind."""
    check_aligned(**{name: predicted, "y": y})
    own = check_labels(name, predicted, ndim=1)
    if len(own) != len(labels):
        raise ValueError(
            f"{name} must be one prediction for each of the {len(labels)} labels of y, got "
            f"{len(own)}."
        )
    check_comparable(**{name: own, "y": labels})
    return own
