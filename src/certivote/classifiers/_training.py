"""Whether a fitted model knows the rows that certify: by the leaves of its trees, or rows it keeps.

If the rows that certify hold those that trained a tree, in whatever order, each leaf is reached by
at least as many of them as trained it; if they are some of those, by at most as many. Of new rows
many leaves of a deep tree have fewer, and many have more.
"""

from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import poisson
from sklearn.ensemble import BaggingClassifier

from ..voters import inner_data, inner_estimator
from ._fingerprints import is_hardly_chance, row_fingerprints
from ._guards import TRAINING_ROWS, Examination

__all__ = ["trained_on"]

# So many trees are looked at, those of most leaves, and so many models that keep rows.
_LOOKED_AT = 5
# Where of one tree so many leaves would have too few new rows, or so many rows would be too many
# for their leaf, and hardly any is, it is no chance.
_ENOUGH, _SHORT = 12.0, 0.1
# Where a model keeps rows that trained it.
_KEPT = ("_fit_X", "support_vectors_", "X_train_")
# Members of members are looked into, but no deeper.
_DEPTH = 2
# So many known rows, or such a share of them, may be an oversight.
_FEW, _SMALL_SHARE = 5, 0.1


class _Part(NamedTuple):
    """An estimator inside of a model, how it gets its data, and the ensemble that it is in."""

    estimator: Any
    data: Callable[[Any], Any]
    ensemble: Any

    @property
    def copies(self) -> bool:
        """Whether copies of a row in its bag may count as several."""
        return isinstance(self.ensemble, BaggingClassifier)

    @property
    def whole(self) -> bool:
        """Whether it was trained on all rows that its ensemble was trained on."""
        drawn = self.copies or getattr(self.ensemble, "bootstrap", False)
        return not drawn and getattr(self.ensemble, "subsample", 1.0) == 1.0


def trained_on(look: Examination, voters: Any, X: Any) -> None:
    """Say if the rows that certify hold those that trained a fitted model, in whatever order.

    Models of other people hold what they like under scikit-learn's names: of those that cannot be
    read it is said that they were not checked.
    """
    parts: list[_Part] = []
    unread: dict[str, None] = {}
    for voter in voters if isinstance(voters, list | tuple) else [voters]:
        try:
            parts += _parts(voter, _as_it_is, None, 0)
        except Exception:
            unread[type(inner_estimator(voter)).__name__] = None
    try:
        found = _known_rows(parts, X)
    except Exception:
        read = [_is_readable(part, X) for part in parts]
        odd = compress(parts, np.logical_not(read))
        unread |= dict.fromkeys(type(part.estimator).__name__ for part in odd)
        found = _known_rows(list(compress(parts, read)), X)
    look.findings += found
    if unread and not found:
        said = (
            f"Not checked whether these rows trained the {', '.join(unread)}, which holds "
            "something else than scikit-learn under the same names."
        )
        before = look.checks.get(TRAINING_ROWS)
        look.checks[TRAINING_ROWS] = said if before is None else f"{before} {said}"


def _known_rows(parts: list[_Part], X: Any) -> list[str]:
    return _full_leaves(parts, X) + _kept_rows(parts, X)


def _is_readable(part: _Part, X: Any) -> bool:
    try:
        _known_rows([part], X)
    except Exception:
        return False
    return True


def _as_it_is(X: Any) -> Any:
    return X


def _parts(voter: Any, data: Callable[[Any], Any], ensemble: Any, depth: int) -> Iterator[_Part]:
    """Yield what is inside of pipelines, frozen estimators and ensembles, and has no members."""
    inner = inner_estimator(voter)

    def own(X: Any) -> Any:
        return inner_data(voter, data(X))

    members = getattr(inner, "estimators_", None)
    if isinstance(members, np.ndarray):
        members = list(members.flat)
    if not isinstance(members, list | tuple) or depth == _DEPTH:
        yield _Part(inner, own, ensemble)
        return
    columns = getattr(inner, "estimators_features_", None)
    for j, member in enumerate(members):
        of_member = own if columns is None else _columns_of(own, columns[j])
        yield from _parts(member, of_member, inner, depth + 1)


def _columns_of(data: Callable[[Any], Any], columns: Any) -> Callable[[Any], Any]:
    return lambda X: _as_array(data(X))[:, columns]


def _as_array(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)


def _full_leaves(parts: list[_Part], X: Any) -> list[str]:
    """Say if as many rows reach the leaves of trees as trained them, which new ones would not."""
    trees = (part for part in parts if hasattr(part.estimator, "tree_"))
    some = nlargest(_LOOKED_AT, trees, key=lambda part: int(part.estimator.tree_.n_leaves))
    leaves = [_Leaves(part, X) for part in some]
    fewer = np.array([one.with_fewer() for one in leaves]).reshape(-1, 2)
    more = np.array([one.with_more() for one in leaves if one.whole]).reshape(-1, 2)
    for counts, what in (
        (fewer, "leaves of its largest trees are reached by fewer of them than trained the leaf"),
        (more, "of them more reach a leaf of its largest trees than trained the leaf"),
    ):
        found, would = counts.sum(axis=0)
        # Trees of one sample tell less than as many of several would.
        if would >= _ENOUGH * np.sqrt(max(1, len(counts))) and found <= _SHORT * would:
            return [
                f"The model seems to have been trained on these very examples: {found:.0f} {what}, "
                f"where if they were new it would be about {would:.0f}. A certificate from data "
                "that the model has seen is not valid."
            ]
    return []


class _Leaves:
    """How many rows trained each leaf of a tree, how many reach it now, and would if new."""

    def __init__(self, part: _Part, X: Any) -> None:
        tree, rows = part.estimator.tree_, _as_array(part.data(X))
        with np.errstate(over="ignore"):
            reached = np.bincount(tree.apply(rows.astype(np.float32)), minlength=tree.node_count)
        leaves = tree.children_left < 0
        self.reached = reached[leaves]
        self.trained: NDArray[np.intp] = tree.n_node_samples[leaves]
        self.usual = rows.shape[0] * self.trained / tree.n_node_samples[0]
        self.whole = part.whole
        # Where copies in a bag are counted, each leaf is known to need one row alone.
        self.need = np.ones_like(self.trained) if part.copies else self.trained

    def with_fewer(self) -> tuple[int, float]:
        """Return how many leaves fewer rows reach than trained them, and how many if new."""
        would = poisson.cdf(self.need - 1, self.usual)
        return int(np.count_nonzero(self.reached < self.need)), float(would.sum())

    def with_more(self) -> tuple[int, float]:
        """Return how many rows are too many for their leaf, by those that trained it, or if new.

        Rows are counted, and not leaves: new ones of one kind alone reach few leaves.
        """
        n, usual = self.trained, self.usual
        would = usual * poisson.sf(n - 1, usual) - n * poisson.sf(n, usual)
        return int(np.maximum(self.reached - n, 0).sum()), float(would.sum())


def _kept_rows(parts: list[_Part], X: Any) -> list[str]:
    """Say if many rows are among those that a model keeps, and too rich for that to be chance."""
    kept = ((part, getattr(part.estimator, name, None)) for part in parts for name in _KEPT)
    for part, own in islice(((part, own) for part, own in kept if own is not None), _LOOKED_AT):
        rows, own = _as_array(part.data(X)), _as_array(own)
        if own.ndim != 2 or rows.ndim != 2 or not own.shape[0] or own.shape[1] != rows.shape[1]:
            continue
        theirs, ours = row_fingerprints(own), row_fingerprints(rows)
        known = int(np.isin(ours, theirs).sum())
        if known <= max(_FEW, _SMALL_SHARE * len(ours)):
            continue
        both = sparse.vstack([own, rows]) if sparse.issparse(own) else np.vstack([own, rows])
        if is_hardly_chance(both, np.concatenate([theirs, ours])):
            return [
                f"{known} of the {len(ours)} examples are among the training rows that the "
                f"{type(part.estimator).__name__} keeps. A certificate from data that the model "
                "has seen is not valid."
            ]
    return []
