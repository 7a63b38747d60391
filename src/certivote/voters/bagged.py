"""Trees on bags of the rows that were drawn so that every pair leaves as many rows outside."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._utils.validation import check_number, check_positive
from .estimators import as_tree_data
from .trees import train_each

__all__ = ["BaggedTrees", "even_bags"]

_SEEDS = np.iinfo(np.int32).max
_ROUNDS = 5
# Rows that are looked at for an exchange, and multiplications that all of them may cost.
_WINDOW = 512
_WORK = 1_500_000_000


def even_bags(m: int, n: int, size: int, seed: int) -> NDArray[np.bool_]:
    """Return n bags of `size` of m rows, of which any two have about as many rows in common.

    They are drawn at random, without replacement. Then each bag in turn gives a row for another,
    while that brings the numbers of rows that it shares with the others closer to ``size²/m``,
    which is what they are on average: the sum of the squared differences falls with every
    exchange. Nothing but the four numbers is looked at, and all sums are of integers, so that the
    same seed gives the same bags everywhere.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int
        The number of bags.
    size : int
        The number of rows in a bag.
    seed : int
        Of what is drawn.

    Returns
    -------
    ndarray of shape (m, n)
        Where a row is in a bag; it cannot be written to.

    Examples
    --------
    >>> from certivote.voters.bagged import even_bags
    >>> bags = even_bags(100, 3, 50, seed=0).astype(int)
    >>> (bags.T @ bags).tolist()
    [[50, 25, 25], [25, 50, 25], [25, 25, 50]]
    """
    rng = np.random.RandomState(seed)
    bags = np.zeros((m, n), dtype=np.bool_)
    for bag in bags.T:
        bag[rng.permutation(m)[:size]] = True
    common, window = np.zeros((n, n)), min(_WINDOW, m)
    for start in range(0, m, window):
        rows = bags[start : start + window].astype(np.float64)
        common += rows.T @ rows
    left = _WORK // (window * n)
    for _ in range(_ROUNDS):
        before = left
        for j in range(n):
            start = rng.randint(m - window + 1)
            rows = bags[start : start + window].astype(np.float64)
            left -= _exchange(rows, common, j, m, left)
            bags[start : start + window, j] = rows[:, j]
        if left in (0, before):
            break
    bags.flags.writeable = False
    return bags


def _exchange(
    rows: NDArray[np.float64], common: NDArray[np.float64], j: int, m: int, most: int
) -> int:
    """Exchange rows of bag j for others as long as it gets more even; return how often."""
    # m times the number of rows that it has in common with each other bag beyond size²/m.
    excess = m * common[j] - common[j, j] ** 2
    excess[j] = 0.0
    for done in range(most):
        cost, inside = rows @ excess, rows[:, j] > 0.0
        out = int(np.where(inside, cost, -np.inf).argmax())
        into = int(np.where(inside, np.inf, cost).argmin())
        step = rows[into] - rows[out]
        step[j] = 0.0
        if inside[into] or not inside[out] or 2.0 * (excess @ step) + m * (step @ step) >= 0.0:
            return done
        rows[out, j], rows[into, j] = 0.0, 1.0
        excess += m * step
        common[j] += step
        common[:, j] += step
    return most


class BaggedTrees(ClassifierMixin, BaseEstimator):
    """The paper's trees, each on a share of the rows: what ``certification="oob"`` trains.

    The bags are drawn without looking at the rows, so that any two of them have about as many rows
    in common. A bound counts on the fewest rows that two bags leave outside, which are then more
    than those of bags that are drawn one by one.

    Parameters
    ----------
    n_voters : int, default=100
        The number of trees.
    bag_size : float, default=0.3
        The share of the rows in a bag.
    random_state : int, RandomState or None, default=None
        Where the seeds of the bags and of the trees come from.
    n_jobs : int, default=None
        How many are trained at the same time.
    verbose : int, default=0
        Show a progress bar if positive.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote.voters import BaggedTrees
    >>> X, y = np.arange(40.0).reshape(-1, 1), np.repeat([0, 1], 20)
    >>> trees = BaggedTrees(n_voters=3, bag_size=0.5, random_state=0).fit(X, y)
    >>> [len(bag) for bag in trees.estimators_samples_]
    [20, 20, 20]
    >>> trees.predict([[0.0], [40.0]])
    array([0, 1])
    """

    def __init__(
        self,
        n_voters: int = 100,
        bag_size: float = 0.3,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_voters = n_voters
        self.bag_size = bag_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "BaggedTrees":
        """Draw the bags, and grow a tree on each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The examples.
        y : array-like of shape (m,)
            Their labels.
        """
        check_positive("n_voters", self.n_voters, integer=True)
        share = check_number("bag_size", self.bag_size, 0.0, 1.0)
        if share in (0.0, 1.0):
            raise ValueError(f"bag_size must be a share between 0 and 1, got {self.bag_size!r}.")
        validate_data(self, X, skip_check_array=True)
        table = as_tree_data(X)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        rng = check_random_state(self.random_state)
        m = table.shape[0]
        self.drawn_ = (m, self.n_voters, max(1, int(share * m)), int(rng.randint(_SEEDS)))
        bags = self.estimators_samples_

        def train(index: int, seed: int) -> Any:
            tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
            return tree.fit(table[bags[index]], codes[bags[index]])

        self.estimators_ = train_each(self.n_voters, train, rng, self.n_jobs, self.verbose)
        return self

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """The rows that each tree was trained on: they are drawn again, by the same seed."""
        return [np.flatnonzero(bag) for bag in even_bags(*self.drawn_).T]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label that most trees name; the first one where several are as many.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features)
            The examples.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        table = as_tree_data(X)
        votes = np.zeros((table.shape[0], len(self.classes_)))
        for tree in self.estimators_:
            votes[np.arange(len(votes)), tree.predict(table).astype(np.intp)] += 1.0
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
