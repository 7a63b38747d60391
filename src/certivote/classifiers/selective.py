"""A classifier of one's own that answers only where it is sure enough, with a certificate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from ..certificate import Certificate
from ..claims import Family
from ..labels import check_labels
from ._scores import scores_of
from .base import CertifiedVote
from .model import certify_model, verify_model

__all__ = ["SelectiveClassifier", "answer_scores"]


def answer_scores(model: Any, X: Any, predicted: NDArray[Any]) -> NDArray[np.float64]:
    """Return how sure a classifier is of what it predicts, in the way that is certified.

    Parameters
    ----------
    model : object with `predict`
        The classifier, or a fitted vote.
    X : like that of `predict`
        The examples.
    predicted : ndarray of shape (n_samples,)
        What it predicts for them.

    Returns
    -------
    ndarray of shape (n_samples,)
        The winning shares of a vote; of other classifiers a score.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from certivote.classifiers import answer_scores
    >>> X, y = np.array([[0.0], [1.0], [1.0]]), np.array([0, 0, 1])
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> answer_scores(model, X, model.predict(X))
    array([1. , 0.5, 0.5])
    """
    if isinstance(model, CertifiedVote):
        return model.winning_shares(X)
    scores = scores_of(model, X, predicted)
    if scores is None:
        raise ValueError(f"{type(model).__name__} does not say how sure it is of its answers.")
    return scores


class SelectiveClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier that abstains where it is not sure enough for a certificate.

    Parameters
    ----------
    model : object with `predict`, and `predict_proba` or `decision_function`
        The fitted classifier, which stays as it is; or a fitted vote.
    target : float, default=0.05
        How often an answer may be wrong.
    delta : float, default=0.05
        The probability that the certificate may fail.

    Attributes
    ----------
    certificate_ : Certificate
        What is claimed of the classifier: of all that it predicts, of what it answers, and how
        often it answers.
    model_ : object
        The classifier that was certified. If `model` becomes another one, it must be certified
        again before it predicts.
    classes_ : ndarray of shape (n_classes,)
        The labels of the classifier, where it knows them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from certivote import SelectiveClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X[:600], y[:600])
    >>> careful = SelectiveClassifier(model, target=0.02)
    >>> for claim in careful.certify(X[600:], y[600:]).claims:
    ...     print(claim.statement)
    It errs on a new example with probability at most 0.1052.
    Where it answers, at a score of at least 0.476, it errs with probability at most 0.02.
    The share of the examples to come that it answers is at least 0.6933.
    >>> answered = careful.accepts(X[600:])
    >>> answered.mean().round(2)
    np.float64(0.75)
    """

    def __init__(self, model: Any, target: float = 0.05, delta: float = 0.05) -> None:
        self.model = model
        self.target = target
        self.delta = delta

    def certify(
        self,
        X: Any,
        y: ArrayLike,
        *,
        unlabelled: Any = None,
        groups: Any = None,
        seed: int = 0,
        claims: Sequence[str | Family] | None = None,
        by: Mapping[str, ArrayLike] | None = None,
        shares: Mapping[str, float] | None = None,
    ) -> Certificate:
        """Find where the classifier may answer, and certify it, on examples that are new to it.

        Parameters
        ----------
        X : array-like, sparse matrix, dataframe, or whatever `predict` takes
            Examples that the classifier has not seen.
        y : array-like of shape (n_samples,)
            Their labels.
        unlabelled : like X, default=None
            Other examples, whose labels need not be known: they say at which level testing begins.
            If None, a tenth of X does, and does not test.
        groups, seed, claims, by, shares
            As in `certify_model`.

        Returns
        -------
        Certificate
            What is claimed, which is `certificate_` too.
        """
        model = self.model
        self.certificate_ = certify_model(
            *(model, X, y),
            delta=self.delta,
            groups=groups,
            seed=seed,
            claims=claims,
            by=by,
            shares=shares,
            abstain=self.target,
            unlabelled=unlabelled,
        )
        self.model_ = model
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_
        elif hasattr(self, "classes_"):
            del self.classes_  # those of another model
        return self.certificate_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the classifier predicts, sure or not.

        Parameters
        ----------
        X : like that of `certify`
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels. Which of them are claimed to be right is for `accepts` to say.
        """
        self._check_model()
        return np.asarray(self.model.predict(X))

    def accepts(self, X: Any) -> NDArray[np.bool_]:
        """Tell where the classifier is sure enough to answer.

        Parameters
        ----------
        X : like that of `certify`
            The examples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Whether the claim on its answers is about each example.
        """
        certificate = self._certified()
        predicted = check_labels("predictions", self.model.predict(X), ndim=1)
        return certificate.answered(answer_scores(self.model, X, predicted))

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: Any = None,
        by: Mapping[str, ArrayLike] | None = None,
        unlabelled: Any = None,
    ) -> None:
        """Recompute the certificate from its data, and raise if it does not hold up.

        Parameters
        ----------
        X, y, groups, by, unlabelled
            What `certify` was given.
        """
        rows = {"groups": groups, "by": by, "unlabelled": unlabelled}
        verify_model(self.model, X, y, self._certified(), **rows)

    def _certified(self) -> Certificate:
        if not hasattr(self, "certificate_"):
            raise NotFittedError("this classifier is not certified yet: call certify first.")
        self._check_model()
        return self.certificate_

    def _check_model(self) -> None:
        """Refuse a model that has taken the place of the one that was certified."""
        if getattr(self, "model_", self.model) is not self.model:
            raise ValueError(
                "model must be the one that was certified: the certificate is not about another "
                "one. Call certify again."
            )
