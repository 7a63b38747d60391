"""Trees of scikit-learn asked many at a time, for exactly what the `predict` of each answers.

Only what is known to answer as scikit-learn's own trees do is asked here. Where a voter or the data
may be anything else there is no forest, and each voter is asked by its own `predict`, which refuses
in its own words what it refuses.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.tree._tree import Tree as Grown
from sklearn.utils import get_tags

from .._utils.batches import gen_batches

__all__ = ["Forest", "Tree", "as_floats", "look_at", "plain_tree"]

# What is read of a node.
_FIELDS: dict[str, Any] = {
    "left_child": np.intp,
    "right_child": np.intp,
    "feature": np.intp,
    "threshold": np.float64,
    "missing_go_to_left": np.uint8,
}
# For fewer votes than these, or than nodes, compiled code does not earn back what it takes to read
# the trees, nor numba, where nobody has started it yet, its own start of about a second.
_WORTH_COMPILING, _WORTH_STARTING = 2**20, 2**24
# Nodes of the trees that rows go through together (8 MiB), and values of the rows that do.
_NODES_AT_ONCE, _VALUES_AT_ONCE = 2**20, 2**19
_UNLIKE = (
    f"The trees of scikit-learn {sklearn.__version__} do not look as expected: each is asked by "
    "its own predict, which is slower."
)


def plain_tree(voter: Any) -> Any:
    """Return the tree whose own `predict` a voter answers with; None if it may be another one."""
    tree = voter.estimator if type(voter) is FrozenEstimator else voter
    if type(tree) not in (DecisionTreeClassifier, ExtraTreeClassifier):
        return None
    if any("predict" in vars(one) for one in (voter, tree)):
        return None
    # With names of columns there are warnings to be given, and without a fit an error.
    if hasattr(tree, "feature_names_in_") or not hasattr(tree, "tree_") or tree.n_outputs_ != 1:
        return None
    return tree


def as_floats(X: Any) -> NDArray[np.float32] | None:
    """Return data as scikit-learn gives it to its trees; None if it may refuse it, or warn."""
    if type(X) not in (np.ndarray, np.memmap) or X.dtype.kind not in "biuf":
        return None
    if X.ndim != 2 or 0 in X.shape:
        return None
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(X, dtype=np.float32)
    return None if np.isinf(floats).any() else floats


def _are_indices(columns: NDArray[Any], n_columns: int) -> bool:
    """Tell whether columns are given by their numbers."""
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or not columns.size:
        return False
    return bool(columns.min() >= 0 and columns.max() < n_columns)


class Tree(NamedTuple):
    """A grown tree, its nodes and what is in them, the code of each class, and its columns."""

    grown: Any
    nodes: NDArray[Any]
    values: NDArray[np.float64]
    codes: NDArray[Any]
    columns: NDArray[np.integer[Any]] | None

    def votes(self, floats: NDArray[np.float32]) -> NDArray[Any]:
        """Return the code of what the tree answers on each row."""
        leaves = self.grown.apply(floats if self.columns is None else floats[:, self.columns])
        if len(leaves) < len(self.nodes):
            return np.asarray(self.codes[self.values.take(leaves, axis=0).argmax(axis=1)])
        return np.asarray(self.answers()[leaves])

    def answers(self) -> NDArray[Any]:
        """Return the code of what each node answers: of several classes alike the first."""
        return np.asarray(self.codes[self.values.argmax(axis=1)])


def look_at(tree: Any, codes: NDArray[Any], columns: NDArray[Any] | None) -> Tree | None:
    """Return a tree with what is inside; None if that does not look as expected."""
    grown = tree.tree_
    state = grown.__getstate__() if type(grown) is Grown else {}
    nodes, values = state.get("nodes"), state.get("values")
    if nodes is None or values is None or nodes.dtype.fields is None:
        return None
    if values.shape != (len(nodes), 1, len(codes)) or len(nodes) != grown.node_count:
        return None
    fields = nodes.dtype.fields
    if any(name not in fields or fields[name][0] != kind for name, kind in _FIELDS.items()):
        return None
    return Tree(grown, nodes, values[:, 0], codes, columns)


class _Nodes(NamedTuple):
    """Some of the trees as nodes of eight bytes: what the compiled code takes of them."""

    nodes: NDArray[np.uint64]
    codes: NDArray[Any]
    starts: NDArray[np.intp]
    shift: int


class Forest:
    """Trees, and the data that they are asked about."""

    def __init__(self, trees: Sequence[Tree], floats: NDArray[np.float32], missing: bool) -> None:
        self.trees, self.missing = trees, missing
        self.floats = floats.view()
        self.floats.flags.writeable = False  # compiled code is made for one kind of memory

    @classmethod
    def plant(
        cls,
        voters: Sequence[Any],
        codes: Callable[[Any], NDArray[Any] | None],
        features: Sequence[NDArray[Any]] | None,
        X: Any,
    ) -> "Forest | None":
        """Return the voters as a forest on this data; None if one is no tree that takes it.

        `codes` says what the classes of a voter are to be called, None if they have no code, and
        `features` which columns each voter looks at.
        """
        floats, trees = as_floats(X), [plain_tree(voter) for voter in voters]
        if floats is None or any(tree is None for tree in trees):
            return None
        missing = bool(np.isnan(floats).any())
        found = []
        for j, (voter, tree) in enumerate(zip(voters, trees, strict=True)):
            columns = None if features is None else np.asarray(features[j])
            if columns is not None and not _are_indices(columns, floats.shape[1]):
                return None
            if tree.n_features_in_ != (floats.shape[1] if columns is None else len(columns)):
                return None
            # Older versions of scikit-learn refuse them beside constraints, whatever the tag says.
            constrained = getattr(tree, "monotonic_cst", None) is not None
            if missing and (constrained or not get_tags(tree).input_tags.allow_nan):
                return None
            called = codes(voter)
            if called is None:
                return None
            looked = look_at(tree, called, columns)
            if looked is None:
                warnings.warn(_UNLIKE, stacklevel=2)
                return None
            found.append(looked)
        return cls(found, floats, missing)

    def votes(self, n_jobs: int | None, advance: Callable[[int], None]) -> NDArray[Any]:
        """Return the codes of all answers, by row and tree."""
        m, n = len(self.floats), len(self.trees)
        out = np.empty((m, n), dtype=self.trees[0].codes.dtype)
        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        compiled = self._compiled() if self.is_large() else None
        if compiled is None:

            def ask(j: int) -> None:
                out[:, j] = self.trees[j].votes(self.floats)
                advance(1)

            parallel(delayed(ask)(j) for j in range(n))
            return out
        from .walk import vote

        bits, step = self.floats.view(np.uint32), self._rows_at_once()
        for first, nodes in compiled:

            def some(rows: slice, first: int = first, nodes: _Nodes = nodes) -> None:
                vote(bits[rows], self.missing, *nodes, step, out[rows], first)

            parallel(delayed(some)(rows) for rows in self._shares(n_jobs))
            advance(len(nodes.starts) - 1)
        return out

    def pairs_of_errors(
        self, truth: NDArray[np.integer[Any]], n_jobs: int | None
    ) -> NDArray[np.int64] | None:
        """Return on how many rows both trees of a pair do not answer the true code.

        There is no table of votes, as errors are bits from the start. None where compiled code
        cannot be used, or is not worth its while.
        """
        compiled = self._compiled() if self.is_large() else None
        if compiled is None:
            return None
        from ..statistics.popcount import add_pairs
        from .walk import err

        n, step, bits = len(self.trees), self._rows_at_once(), self.floats.view(np.uint32)
        padded = n + -n % 4
        wanted = truth.astype(self.trees[0].codes.dtype)

        def count(share: slice) -> NDArray[np.uint64]:
            counts = np.zeros((padded, padded), dtype=np.uint64)
            wrong = np.zeros((padded, step // 64), dtype=np.uint64)
            for start in range(share.start, share.stop, step):
                rows = slice(start, min(start + step, share.stop))
                for first, nodes in compiled:
                    err(bits[rows], self.missing, *nodes, step, wanted[rows], wrong, first)
                add_pairs(wrong, counts)
            return counts

        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        counts = sum(parallel(delayed(count)(rows) for rows in self._shares(n_jobs)))
        upper = np.triu(np.asarray(counts)[:n, :n].astype(np.int64))
        return np.asarray(upper + np.triu(upper, 1).T)

    def _shares(self, n_jobs: int | None) -> Iterator[slice]:
        """Yield the rows of each job: whole blocks."""
        step, m = self._rows_at_once(), len(self.floats)
        return gen_batches(m, -(-m // (step * effective_n_jobs(n_jobs))) * step)

    def is_large(self) -> bool:
        """Tell whether compiled code can be used here, and is worth its while."""
        sizes = [len(tree.nodes) for tree in self.trees]
        votes = len(self.floats) * len(self.trees)
        least = _WORTH_COMPILING if "numba" in sys.modules else _WORTH_STARTING
        if votes < max(least, sum(sizes)) or not _can_walk():
            return False
        return max(sizes).bit_length() + self._shift() <= 32

    def _n_columns(self) -> int:
        """Return the number of columns; where values are missing each has a twin."""
        return int(self.floats.shape[1]) * (1 + self.missing)

    def _shift(self) -> int:
        """Return how many bits tell a column."""
        from .walk import LANES

        places: int = self._n_columns() * LANES
        return places.bit_length()

    def _rows_at_once(self) -> int:
        from .walk import BLOCK, SMALLEST

        fitting = _VALUES_AT_ONCE // self._n_columns() // SMALLEST * SMALLEST
        return max(SMALLEST, min(BLOCK, fitting))

    def _compiled(self) -> list[tuple[int, _Nodes]] | None:
        """Return the trees as nodes, some at a time with the first of them; None if one is odd."""
        firsts, size = [0], 0
        for j, tree in enumerate(self.trees):
            if size and size + len(tree.nodes) > _NODES_AT_ONCE:
                firsts.append(j)
                size = 0
            size += len(tree.nodes)
        found = []
        for first, stop in pairwise([*firsts, len(self.trees)]):
            nodes = self._nodes(self.trees[first:stop])
            if nodes is None:
                warnings.warn(_UNLIKE, stacklevel=2)
                return None
            found.append((first, nodes))
        return found

    def _nodes(self, trees: Sequence[Tree]) -> _Nodes | None:
        from .walk import add_tree

        starts, shift = np.cumsum([0, *(len(tree.nodes) for tree in trees)]), self._shift()
        nodes = np.empty(starts[-1], dtype=np.uint64)
        codes = np.empty(starts[-1], dtype=trees[0].codes.dtype)
        every = np.arange(self.floats.shape[1])
        apart = len(every) if self.missing else 0
        for j, tree in enumerate(trees):
            own = slice(starts[j], starts[j + 1])
            fields = (tree.nodes[name] for name in _FIELDS)
            columns = every if tree.columns is None else tree.columns.astype(np.intp)
            answers = tree.answers()
            if not add_tree(*fields, answers, columns, apart, shift, nodes[own], codes[own]):
                return None
        return _Nodes(nodes, codes, starts, shift)


@cache
def _can_walk() -> bool:
    """Tell whether there is a numba, and whether it works with what else is installed."""
    if find_spec("numba") is None:
        return False
    try:
        from .walk import SMALLEST, vote

        bits, leaf = np.zeros((1, 1), dtype=np.uint32), np.array([2**64 - 2**32], dtype=np.uint64)
        bits.flags.writeable = False
        out = np.ones((1, 1), dtype=np.int8)
        vote(bits, False, leaf, out[0] * 0, np.array([0, 1]), 4, SMALLEST, out, 0)
    except Exception:  # whatever is wrong with it, it is not needed
        return False
    return bool(out[0, 0] == 0)
