"""The 16 binary tasks of the paper, split into train and test as it splits them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._images import PAIRS, files_of_images, load_images
from ._sources import CorruptFileError, find, read
from ._tables import (
    ADULT_FILES,
    LETTER_FILES,
    TABLES,
    Split,
    load_adult,
    load_letters,
    load_table,
)

__all__ = ["CorruptFileError", "Dataset", "Sizes", "list_datasets", "load", "sizes_here"]

_LETTER_PAIRS = {"letter:AvsB": ("A", "B"), "letter:DvsO": ("D", "O"), "letter:OvsQ": ("O", "Q")}

_UCI = "{}, UCI Machine Learning Repository, https://doi.org/10.24432/{}, CC BY 4.0."
_REFERENCES = {
    "letter": _UCI.format("Letter Recognition", "C5ZP40"),
    "credit": _UCI.format("Credit Approval", "C5FS30"),
    "glass": _UCI.format("Glass Identification", "C5WW2P"),
    "heart": _UCI.format("Heart Disease (Cleveland)", "C52P4X"),
    "tictactoe": _UCI.format("Tic-Tac-Toe Endgame", "C5688J"),
    "usvotes": _UCI.format("Congressional Voting Records", "C5C01P"),
    "wdbc": _UCI.format("Breast Cancer Wisconsin (Diagnostic)", "C5DW2B"),
    "adult": _UCI.format("Adult", "C5XW20"),
    "mnist": "MNIST, Y. LeCun, C. Cortes and C. J. C. Burges, http://yann.lecun.com/exdb/mnist, "
    "CC BY-SA 3.0.",
    "fash": "Fashion-MNIST, H. Xiao, K. Rasul and R. Vollgraf, arXiv:1708.07747, "
    "https://github.com/zalandoresearch/fashion-mnist, MIT licence.",
}


class Sizes(NamedTuple):
    """How large a task is.

    Attributes
    ----------
    rows, test_rows : int
        The number of examples to train on, and to test on.
    features, classes : int
        The number of inputs, and of labels.

    Examples
    --------
    >>> from certivote.datasets import Sizes
    >>> Sizes(rows=107, test_rows=107, features=9)
    Sizes(rows=107, test_rows=107, features=9, classes=2)
    """

    rows: int
    test_rows: int
    features: int
    classes: int = 2


# What `load` returns, known without reading it.
_SIZES = {
    "letter:AvsB": Sizes(1327, 228, 16),
    "letter:DvsO": Sizes(1331, 227, 16),
    "letter:OvsQ": Sizes(1303, 233, 16),
    "credit": Sizes(327, 326, 46),
    "glass": Sizes(107, 107, 9),
    "heart": Sizes(149, 148, 13),
    "tictactoe": Sizes(479, 479, 9),
    "usvotes": Sizes(218, 217, 48),
    "wdbc": Sizes(285, 284, 30),
    "mnist:1vs7": Sizes(13007, 2163, 784),
    "mnist:4vs9": Sizes(11791, 1991, 784),
    "mnist:5vs6": Sizes(11339, 1850, 784),
    "fash:COvsSH": Sizes(12000, 2000, 784),
    "fash:SAvsBO": Sizes(12000, 2000, 784),
    "fash:TOvsPU": Sizes(12000, 2000, 784),
    "adult": Sizes(30162, 15060, 104),
}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A binary task, split into train and test. Get one with `load`.

    Attributes
    ----------
    name : str
        One of `list_datasets`.
    X_train, X_test : ndarray of shape (m, dimension), float32
        The inputs, each column in [0, 1].
    y_train, y_test : ndarray of shape (m,), int64
        The labels, −1 or +1.
    reference : str
        The source of the data and its licence.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote.datasets import Dataset
    >>> X, y = np.zeros((4, 2), dtype=np.float32), np.array([-1, 1, -1, 1])
    >>> Dataset("own", X, y, X, y, reference="made up")
    Dataset(name='own', n_train=4, n_test=4, dimension=2)
    """

    name: str
    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    reference: str

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        return (
            f"Dataset(name={self.name!r}, n_train={len(self.y_train)}, n_test={len(self.y_test)}, "
            f"dimension={self.X_train.shape[1]})"
        )


def list_datasets() -> list[str]:
    """Return the names of the tasks that `load` knows, the largest last.

    Examples
    --------
    >>> from certivote.datasets import list_datasets
    >>> len(list_datasets())
    16
    >>> list_datasets()[:4]
    ['letter:AvsB', 'letter:DvsO', 'letter:OvsQ', 'credit']
    """
    return list(_SIZES)


def sizes_here(name: str) -> Sizes | None:
    """Return how large a task is, None if its files are not on this machine.

    They are looked for as `load` does, but not read.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Examples
    --------
    >>> from certivote.datasets import sizes_here
    >>> sizes_here("glass")  # doctest: +SKIP
    Sizes(rows=107, test_rows=107, features=9, classes=2)
    """
    _check_name(name)
    return _SIZES[name] if all(find(file) for file in _files(name)) else None


def load(name: str, *, download: bool = True) -> Dataset:
    """Return one of the paper's tasks, with the paper's split, encoding and scaling.

    A raw file is taken from the first place that has it: the directory in the environment variable
    ``CERTIVOTE_DATA``; the user's cache; for Fashion-MNIST, Debian's package
    dataset-fashion-mnist; its public source, from which it is kept in the cache. Its content is
    always checked against its SHA-256.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    download : bool, default=True
        Whether a file that is nowhere on this machine is downloaded. This takes the extra
        ``certivote[data]``.

    Returns
    -------
    Dataset
        The train and test sets. Voters are trained and certified on the train set: in the paper
        its first half trains them, and the rest is the certification sample.

    Raises
    ------
    ValueError
        If there is no such task.
    CorruptFileError
        If a raw file is not what was published.
    FileNotFoundError
        If a raw file is nowhere, with the ways to get it.

    References
    ----------
    P. Viallard, P. Germain, A. Habrard and E. Morvant, "Self-bounding majority vote learning
    algorithms by the direct minimization of a tight PAC-Bayesian C-bound", ECML PKDD 2021,
    doi:10.1007/978-3-030-86520-7_11.

    Examples
    --------
    >>> from certivote.datasets import load
    >>> load("glass")  # doctest: +SKIP
    Dataset(name='glass', n_train=107, n_test=107, dimension=9)
    >>> load("iris")
    Traceback (most recent call last):
        ...
    ValueError: name must be one of letter:AvsB, ..., adult, got 'iris'.
    """
    _check_name(name)
    reference = _REFERENCES[name.partition(":")[0]]
    return Dataset(name, *_split(name, download), reference)


def _check_name(name: str) -> None:
    if name not in list(_SIZES):
        raise ValueError(f"name must be one of {', '.join(_SIZES)}, got {name!r}.")


def _files(name: str) -> Iterable[str]:
    """Return the raw files behind a task."""
    if name in TABLES:
        return (TABLES[name].file,)
    if name in PAIRS:
        return files_of_images(PAIRS[name][0])
    return LETTER_FILES if name in _LETTER_PAIRS else ADULT_FILES


def _split(name: str, download: bool) -> Split:
    read_file = partial(read, download=download)
    if name in TABLES:
        return load_table(TABLES[name], read_file)
    if name in PAIRS:
        return load_images(*PAIRS[name], read_file)
    if name in _LETTER_PAIRS:
        return load_letters(*_LETTER_PAIRS[name], read_file)
    return load_adult(read_file)
