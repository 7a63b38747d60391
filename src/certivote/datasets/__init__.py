"""The 16 binary tasks of the paper, split into train and test as it splits them."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ._images import PAIRS, load_images
from ._sources import CorruptFileError, read
from ._tables import TABLES, Split, load_adult, load_letters, load_table

__all__ = ["CorruptFileError", "Dataset", "list_datasets", "load"]

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
    return [*_LETTER_PAIRS, *TABLES, *PAIRS, "adult"]


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
    if name not in list_datasets():
        raise ValueError(f"name must be one of {', '.join(list_datasets())}, got {name!r}.")
    reference = _REFERENCES[name.partition(":")[0]]
    return Dataset(name, *_split(name, download), reference)


def _split(name: str, download: bool) -> Split:
    read_file = partial(read, download=download)
    if name in TABLES:
        return load_table(TABLES[name], read_file)
    if name in PAIRS:
        return load_images(*PAIRS[name], read_file)
    if name in _LETTER_PAIRS:
        return load_letters(*_LETTER_PAIRS[name], read_file)
    return load_adult(read_file)
