"""What a fitted vote answers, and how it is kept: its part without certificates."""

import re
from collections.abc import Iterator, Mapping
from copy import copy
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from .._version import __version__
from ..bounds import Bound
from ..certificate import Certificate
from ..claims import Family
from ..labels import check_labels, codes_of
from ..statistics import VoteStatistics
from ..voters import Voters
from ..voting import Ballots
from ._split import as_table

__all__ = ["AnsweringVote", "Sample", "rebuild_vote"]

# Predictions are made for so many votes at a time.
_VOTES_PER_CHUNK = 2**24


class Sample(NamedTuple):
    """Certification examples: their rows, labels, the votes on them, and columns of groups.

    The truth are the labels in the codes of the ballots. The reference are winning shares on other
    rows, and where these came from.
    """

    X: Any
    y: NDArray[Any]
    ballots: Ballots
    truth: NDArray[np.intp]
    by: Mapping[str, NDArray[Any]]
    reference: tuple[NDArray[np.float64], str] | None = None


class AnsweringVote(ClassifierMixin, BaseEstimator):
    """A weighted majority vote of fitted voters: what it answers, and what a file holds of it."""

    voters: Any
    voters_: Voters
    delta: float
    certify_size: float | str
    n_voters: int
    random_state: Any
    n_jobs: int | None
    verbose: int

    # What is claimed besides the error: nothing, in votes that were saved before there was more.
    _families: tuple[Family, ...] = ()

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

    def _sample(
        self,
        X: Any,
        y: NDArray[Any],
        by: Mapping[str, NDArray[Any]],
        reference: tuple[NDArray[np.float64], str] | None = None,
    ) -> Sample:
        """Return examples with the votes on them."""
        ballots = self._votes(X)
        return Sample(X, y, ballots, ballots.truth(y), by, reference)

    def _statistics_of(
        self, ballots: Ballots, truth: NDArray[np.intp], bound: Bound, prior: ArrayLike | None
    ) -> VoteStatistics:
        """Return what a bound needs to know of these votes; the truth is in their codes."""
        weighed = self._weighed(ballots)
        return bound.count(weighed.codes, truth, prior, weighed.missing)

    def _with(self, **state: Any) -> Self:
        """Return a vote that differs from this one in some of its state."""
        own = copy(self)
        own.__dict__.update(state)
        return own

    # --- keeping it ------------------------------------------------------------------------

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


def rebuild_vote(kind: type[AnsweringVote], version: str) -> AnsweringVote:
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
