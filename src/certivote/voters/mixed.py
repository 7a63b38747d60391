"""Voters of every kind, with weights learned from predictions for rows they were not trained on."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils import Tags, check_array, check_random_state

from .._utils.progress import progress_bar
from .._utils.threads import one_thread
from .._utils.validation import check_positive
from ..learners import logistic_of_shares
from .base import Column, Group, Together
from .estimators import EstimatorGroup, Prepared, as_tree_data
from .members import MEMBERS, Facts, facts_of
from .trees import grow

__all__ = ["UNDECIDED", "Joined", "Mixed", "folds_of", "joined_of"]

_FOLDS = 5
# On fewer rows the folds are drawn so many times, or which rows they hold decides too much: see
# `benchmarks/mixed.py --rounds`.
_FEW_ROWS = 500
_ROUNDS = 3
# What large weights cost. On few rows the weights of members that are about as good differ by
# chance, which errs more often at a tenth of this: see `benchmarks/mixed.py --penalties`.
_PENALTY = 10.0
# What is known of a voter on a row of which nobody was asked who had not seen it.
UNDECIDED = 0.5


def folds_of(
    codes: NDArray[np.intp], rng: np.random.RandomState, groups: NDArray[Any] | None = None
) -> list[NDArray[np.intp]]:
    """Return the rows of each of five folds, or fewer, with the classes spread over them.

    Rows of one group are in one fold, if there are several groups: then the classes are not spread.
    """
    names, of = np.unique(np.zeros(0) if groups is None else groups, return_inverse=True)
    if names.size > 1:
        place = rng.permutation(names.size)[of] % _FOLDS
        return [np.flatnonzero(place == number) for number in range(min(_FOLDS, names.size))]
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    n_folds = min(_FOLDS, len(codes))
    return [np.sort(order[first::n_folds]) for first in range(n_folds)]


def rounds_of(
    codes: NDArray[np.intp], rng: np.random.RandomState, groups: NDArray[Any] | None = None
) -> list[list[NDArray[np.intp]]]:
    """Return folds, drawn several times where there are few rows."""
    return [folds_of(codes, rng, groups) for _ in range(_ROUNDS if len(codes) < _FEW_ROWS else 1)]


class _Block(NamedTuple):
    """A trained member: its voters, and which share of them erred where they had not seen a row."""

    name: str
    voters: Sequence[Any]
    shares: NDArray[np.float64]


@dataclass
class Joined:
    """Voters of several groups, in blocks of one kind, with weights from rows they had not seen.

    Parameters
    ----------
    groups : sequence of Group
        The voters.
    labels : ndarray of shape (n_classes,)
        The classes that they were trained on.
    names : sequence of str
        What each block is.
    sizes : sequence of int
        How many voters each block has.
    shares : ndarray of shape (m, n_blocks)
        Which share of a block erred on a row of the training, of the voters that had not seen it.
    left_out : mapping of str to str
        The members that were left out by the size of the data, and why.
    failed : mapping of str to str
        Those that were left out because they could not be trained, and why.
    """

    groups: Sequence[Group]
    labels: NDArray[Any]
    names: Sequence[str]
    sizes: Sequence[int]
    shares: NDArray[np.float64]
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the voters, by logistic regression; equal in a block."""
        of_blocks = logistic_of_shares(self.shares, _PENALTY)
        weights = np.repeat(of_blocks / self.sizes, self.sizes)
        return np.asarray(weights / weights.sum())

    def winning_shares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return which share of the weight the winner has, on each row of the training.

        The voters that speak on a row had not seen it. Those that err on it count as if they named
        one class: of several classes the winner may have less.

        Parameters
        ----------
        weights : ndarray of shape (n_voters,)
            The weights of the voters.
        """
        of_blocks = np.add.reduceat(weights, np.cumsum([0, *self.sizes[:-1]]))
        erring = self.shares @ of_blocks
        return np.asarray(np.maximum(erring, 1.0 - erring))

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    def _at(self, index: int) -> tuple[int, int]:
        """Return the group of a voter, and where it is in it."""
        for number, group in enumerate(self.groups):
            if index < len(group):
                return number, index
            index -= len(group)
        raise IndexError("there are fewer voters.")

    def __getitem__(self, index: int) -> Any:
        number, own = self._at(index)
        return self.groups[number][own]

    def prepare(self, X: Any) -> Any:
        """Return the data as each of the groups takes it."""
        table = _as_data(X)
        return [group.prepare(table) for group in self.groups]

    def column(self, index: int, prepared: Any, classes: NDArray[Any]) -> Column:
        """Return what one voter names, as `Group` says."""
        number, own = self._at(index)
        return self.groups[number].column(own, prepared[number], classes)

    def together(
        self, members: Sequence[int], prepared: Any, classes: NDArray[Any]
    ) -> Together | None:
        """Return None: voters of several kinds are asked one by one."""
        return None


def joined_of(groups: Sequence[Group]) -> Joined | None:
    """Return the mixed voters among fitted ones, if they are such, whatever is before them."""
    for group in groups:
        while isinstance(group, Prepared):
            group = group.group
        if isinstance(group, Joined):
            return group
    return None


def _as_data(X: Any) -> Any:
    """Return numbers, gaps among them, as an array or as a sparse matrix by rows."""
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )


class Mixed(BaseEstimator):
    """Voters of every kind: forests, whose trees are voters each, and single classifiers.

    It is what ``voters="mixed"`` means. Each member prepares the data as it needs it: gaps become
    medians, columns get one scale. Where rows × columns are at most 200,000, settings are tried,
    and those with the fewest errors on rows that were not trained on are kept; BLAS and OpenMP are
    kept to one thread there, as several would wait for each other. Beyond 10,000 rows
    there are no support vectors and no neighbours, whose time grows with the square. Boosting grows
    a tree of each class: it is coarser where there are several, and left out where there are more
    than 30.

    The weights come from logistic regression of the vote's margin on the rows of `fit`, where each
    voter that speaks on a row was not trained on it: of a forest the trees out of whose bag it is,
    of the others those of five that were trained without the row's fold; on fewer than 500 rows
    the folds are drawn three times, and the errors are means. Its penalty keeps weights of members
    that few rows cannot tell apart close to each other. Trees of a forest have equal weights. The
    voters are then trained on all rows. Rows that belong together, as `groups` says, are in one
    fold, and other forests are asked on them that were trained without the fold: who knows one row
    of a group knows the others.

    Parameters
    ----------
    members : sequence of str, default=None
        Which kinds there are, of "forest", "extra-trees", "larger-leaves" (a forest whose leaves
        have at least five rows), "boosting", "logistic", "svm", "neighbours" and "bayes"; if None,
        all that are for data of this size. One that is named and cannot be trained is an error;
        otherwise it is left out, and the certificate says so.
    n_voters : int, default=100
        The number of trees of each forest.
    random_state : int, RandomState or None, default=None
        Where seeds and folds come from.
    n_jobs : int, default=None
        How many voters are trained at the same time.
    verbose : int, default=0
        Show a progress bar of each member if positive.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from certivote.voters import Mixed
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> mixed = Mixed(["forest", "logistic"], n_voters=10, random_state=0).fit(X, y)
    >>> mixed.group_.names, len(mixed.group_)
    (['forest', 'logistic'], 11)
    """

    def __init__(
        self,
        members: Sequence[str] | None = None,
        n_voters: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.n_voters = n_voters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> "Mixed":
        """Train the members, and learn their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The examples.
        y : array-like of shape (m,)
            Their labels.
        groups : array-like of shape (m,), default=None
            Which rows belong together.
        """
        check_positive("n_voters", self.n_voters, integer=True)
        names = self._names()
        table, labels = _as_data(X), np.asarray(y)
        rng = check_random_state(self.random_state)
        # Drawn for all, so that a member is the same whichever others there are.
        seeds = {name: int(rng.randint(np.iinfo(np.int32).max)) for name in MEMBERS}
        classes, codes = np.unique(labels, return_inverse=True)
        grouped = None if groups is None else np.asarray(groups)
        rounds = rounds_of(codes, rng, grouped)
        filler = None if sparse.issparse(table) else _filler().fit(table)
        filled = table if filler is None else filler.transform(table)
        left_out = dict(self._too_much(names, facts_of(table, len(classes))))
        failed: dict[str, str] = {}
        blocks: list[_Block] = []
        for name in names:
            if name in left_out:
                continue
            try:
                own = table if MEMBERS[name].takes_gaps else filled
                given = (own, labels, rounds, seeds[name], grouped is not None)
                blocks.append(self._train(name, *given))
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
                if self.members is not None or len(failed) == len(names) - len(left_out):
                    raise ValueError(
                        f"members: {name!r} cannot be trained on this data, or cannot predict it "
                        f"({failed[name]}). Leave it out, or mend the data."
                    ) from error
        self.group_ = _joined(blocks, classes, filler, left_out, failed)
        return self

    def _names(self) -> list[str]:
        """Return the members that are asked for, forests first."""
        if self.members is None:
            return list(MEMBERS)
        asked = [self.members] if isinstance(self.members, str) else list(self.members)
        unknown = [name for name in asked if name not in MEMBERS]
        if unknown or not asked:
            known = ", ".join(map(repr, MEMBERS))
            raise ValueError(f"members must be some of {known}, got {self.members!r}.")
        return [name for name in MEMBERS if name in asked]

    def _too_much(self, names: list[str], facts: Facts) -> Iterator[Any]:
        """Yield the members that are not for such data, and why; refuse those that are named."""
        for name in names:
            reason = MEMBERS[name].left_out(facts)
            if facts.classes < 2 and not MEMBERS[name].forest:
                reason = "it needs two classes, and the training rows have one"
            if reason is not None and self.members is not None:
                raise ValueError(f"members must be for this data, got {name!r}: {reason}.")
            if reason is not None:
                yield name, reason

    def _train(
        self,
        name: str,
        X: Any,
        y: NDArray[Any],
        rounds: list[list[NDArray[np.intp]]],
        seed: int,
        grouped: bool,
    ) -> _Block:
        """Train one member on all rows, and find where its voters err on rows they did not see."""
        facts = facts_of(X, np.unique(y).size)
        kinds = [_seeded(kind, seed) for kind in MEMBERS[name].candidates(facts)]
        with one_thread(anew=True) if facts.tuned else nullcontext(), warnings.catch_warnings():
            # One that does not converge is as good as its predictions are.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if MEMBERS[name].forest:
                return self._grown(name, kinds[0], X, y, rounds[0] if grouped else None)
            return self._chosen(name, kinds, X, y, rounds)

    def _grown(
        self,
        name: str,
        forest: Any,
        X: Any,
        y: NDArray[Any],
        folds: list[NDArray[np.intp]] | None,
    ) -> _Block:
        """Return a forest and how its trees err out of bag, or others like it outside of folds."""
        table = as_tree_data(X)
        forest.set_params(n_estimators=self.n_voters, n_jobs=self.n_jobs)
        if self.verbose:
            grow(forest, table, y, self.verbose, f"training {name}")
        else:
            forest.fit(table, y)
        if folds is not None:
            return _Block(name, list(forest.estimators_), _shares_of_folds(forest, table, y, folds))
        truth = np.searchsorted(forest.classes_, y)
        errors, asked = np.zeros(len(y)), np.zeros(len(y))
        for tree, bag in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            out = np.setdiff1d(np.arange(len(y)), bag)
            if out.size:
                errors[out] += tree.predict(table[out]) != truth[out]
                asked[out] += 1.0
        shares = np.where(asked > 0.0, errors / np.maximum(asked, 1.0), UNDECIDED)
        return _Block(name, list(forest.estimators_), shares)

    def _chosen(
        self,
        name: str,
        kinds: list[Any],
        X: Any,
        y: NDArray[Any],
        rounds: list[list[NDArray[np.intp]]],
    ) -> _Block:
        """Return the settings with the fewest errors on folds that were not trained on."""
        folds = [fold for folds in rounds for fold in folds]
        with progress_bar(f"training {name}", len(kinds) * len(folds) + 1, self.verbose) as advance:

            def errors(kind: Any, fold: NDArray[np.intp]) -> NDArray[np.bool_]:
                rest = np.setdiff1d(np.arange(len(y)), fold)
                found = _predicted(kind, X[rest], y[rest], X[fold]) != y[fold]
                advance()
                return np.asarray(found)

            parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")
            tasks = [(kind, fold) for kind in kinds for fold in folds]
            found = parallel(delayed(errors)(kind, fold) for kind, fold in tasks)
            losses = np.zeros((len(kinds), len(y)))
            for index, (_, fold) in enumerate(tasks):
                losses[index // len(folds), fold] += found[index]
            best = int(losses.sum(axis=1).argmin())
            voter = clone(kinds[best]).fit(X, y)
            advance()
        return _Block(name, [voter], losses[best] / len(rounds))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _predicted(kind: Any, X: Any, y: NDArray[Any], X_new: Any) -> NDArray[Any]:
    """Return what a classifier predicts after training; where there is one class only, that."""
    if np.all(y == y[0]):
        return np.repeat(y[:1], X_new.shape[0])
    return np.asarray(clone(kind).fit(X, y).predict(X_new))


def _shares_of_folds(
    forest: Any, X: Any, y: NDArray[Any], folds: list[NDArray[np.intp]]
) -> NDArray[np.float64]:
    """Return which share of the trees errs on a row, of forests that were trained without it."""
    shares = np.full(len(y), UNDECIDED)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(y)), fold)
        other = clone(forest).fit(X[rest], y[rest])
        named = [other.classes_[tree.predict(X[fold]).astype(np.intp)] for tree in other]
        shares[fold] = np.mean([labels != y[fold] for labels in named], axis=0)
    return shares


def _seeded(estimator: Any, seed: int) -> Any:
    """Return an estimator with a seed wherever it may have one."""
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, seed))


def _filler() -> SimpleImputer:
    """Return what fills gaps with medians: some may come later where the training rows have none.

    A column without any number becomes zeros. No label is looked at: it is fitted once.
    """
    return SimpleImputer(strategy="median", keep_empty_features=True)


def _kind(name: str) -> tuple[bool, bool]:
    return MEMBERS[name].forest, MEMBERS[name].takes_gaps


def _joined(
    blocks: list[_Block],
    classes: NDArray[Any],
    filler: Any,
    left_out: dict[str, str],
    failed: dict[str, str],
) -> Joined:
    """Return the voters of all members: trees, those that take gaps, and those that do not."""
    trees, holes, full = (
        [voter for block in blocks if _kind(block.name) == kind for voter in block.voters]
        for kind in ((True, True), (False, True), (False, False))
    )
    groups: list[Group] = []
    if trees:
        groups.append(EstimatorGroup(trees, classes, preparation=as_tree_data))
    if holes:
        groups.append(EstimatorGroup(holes))
    if full:
        plain = EstimatorGroup(full)
        groups.append(plain if filler is None else Prepared(make_pipeline(filler), plain))
    return Joined(
        groups,
        classes,
        [block.name for block in blocks],
        [len(block.voters) for block in blocks],
        np.column_stack([block.shares for block in blocks]),
        left_out,
        failed,
    )
