"""The options that several commands share, each written once, and how a command ends."""

import sys
import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.formatting import printable_lines
from .output import fail, show_warning

if TYPE_CHECKING:
    from ..tables.asked import Asked

# What is taken where nothing else is asked for.
DATA, DELTA = "breast-cancer", 0.05
CERTIFY_SIZE, SEED = "auto", 0

RUNS_CODE = (
    "Loading a .joblib file runs code that is in it: name only a file that you trust. A .skops "
    "file is loaded without that, or refused."
)


def spelled(argument: str) -> str:
    """Return the option that stands for an argument."""
    if argument == "by":
        return "the column of --claim"
    return f"--{argument.replace('_', '-')}"


def asked(
    drop: list[str] | None,
    categorical: list[str] | None = None,
    group: list[str] | None = None,
    **others: Any,
) -> "Asked":
    """Return what some options ask of a table, which names them so where it cannot be."""
    from ..tables.asked import Asked

    groups = list(dict.fromkeys(group or ()))
    return Asked(
        drop=drop or (), categorical=categorical or (), group=groups, spelled=spelled, **others
    )


def complete_bound(incomplete: str) -> list[str]:
    """Return the bounds that begin like this, for the shell."""
    from ..bounds import list_bounds

    return [name for name in list_bounds() if name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Return the built-in data sets that begin like this, for the shell."""
    from .data import builtin_names

    return [name for name in builtin_names() if name.startswith(incomplete)]


# --- the data ------------------------------------------------------------------------------------

_data = typer.Argument(
    metavar="DATA",
    autocompletion=complete_data,
    help="A file with one row per example: CSV, Parquet, JSON Lines or Excel, packed or not; or a "
    "built-in name: breast-cancer, digits, or one of `certivote datasets`.",
)
# Several files are one table.
DataFiles = Annotated[list[str], _data]
DataIfAny = Annotated[list[str] | None, _data]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column that holds the labels. Without it: the column called target, class, "
        "label or y, else the last one."
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="A column to leave out, such as an identifier. Repeatable.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="A column of numbers, or of numbers and text, that are names. Repeatable."),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(
        "--na-values",
        metavar="TEXT",
        help="A text that means missing, in every column, instead of NA, None, nan, ? and the "
        "like. Repeatable; an empty cell is always missing.",
    ),
]
KeepNa = Annotated[
    bool,
    typer.Option("--keep-na", help="Texts such as None and NA in the target are labels."),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave rows without a label out, and say so."),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        help="The column that says which rows belong together, such as a patient: whole groups "
        "train or certify, and one row of each that certifies is drawn. The claim is about a "
        "random row of a new group. Repeatable: rows belong together where all of them are the "
        "same, and the claim is about a new combination, not about a new value of one of them."
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="The column that says when a row came: the earlier rows train, the latest certify."
    ),
]

# --- the certificate -----------------------------------------------------------------------------

Delta = Annotated[
    float, typer.Option(help="The probability that the certificate may fail.", show_default=True)
]
Constant = Annotated[
    str | None,
    typer.Option(
        help="maurer for the published constant 2√m, exact for the smaller ξ(m); if not given, the "
        "smallest that is valid."
    ),
]
Claim = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="CLAIM",
        help="What else is claimed, at once with the error: recall (of each class), precision (of "
        "each answer), balanced (the mean error of the classes), f1 (of the class --positive, or "
        "the mean of all), or 'error by COLUMN'. Repeatable; they share delta. For weights that "
        "are learned on the same rows only recall, balanced and 'error by' can be claimed.",
    ),
]
Abstain = Annotated[
    float | None,
    typer.Option(
        help="Answer only where it is sure enough for at most this share of wrong answers."
    ),
]
Cost = Annotated[
    Path | None,
    typer.Option(
        help="A CSV file of costs: a row for each true class, a column for each answer. The mean "
        "cost is claimed too."
    ),
]
Frequencies = Annotated[
    list[str] | None,
    typer.Option(
        "--class-frequencies",
        metavar="CLASS=SHARE,…",
        help="Claim the error too for classes that come so often, such as no=0.9,yes=0.1, if the "
        "examples of each class stay as they are.",
    ),
]
Shift = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DISTANCE=SIZE",
        help="Claim the error too for examples of another distribution P', so far from that of the "
        "sample, P: kl=0.05 (KL(P'‖P)), tv=0.1 or chi2=0.1 (χ²(P'‖P)).",
    ),
]
Share = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=SHARE",
        help="The share of delta of each claim, by its name (error, recall, with which balanced "
        "and --class-frequencies go, precision, f1, cost, abstain, 'error by COLUMN'). If not "
        "given, the error has half, and the others the rest in equal parts.",
    ),
]
_gibbs = typer.Option(help="The Gibbs risk r: how often a drawn voter errs.")
Gibbs = Annotated[float, _gibbs]
GibbsIfAny = Annotated[float | None, _gibbs]
Disagreement = Annotated[
    float | None, typer.Option(help="How often exactly one of two drawn voters errs.")
]
JointError = Annotated[float | None, typer.Option(help="How often both of two drawn voters err.")]
Kl = Annotated[
    float | None,
    typer.Option(help="The divergence of the weights from the prior; 0 if not given."),
]

# --- the voters ----------------------------------------------------------------------------------

VoterKind = Annotated[
    str | None,
    typer.Option(
        help="mixed (the default: forests, boosting, logistic regression, SVM, neighbours and "
        "naive Bayes, weighted on part A), trees (each on all of part A; faster), forest "
        "(bootstrapped), extra-trees, or stumps (ten thresholds per column). With --certification "
        "oob trees, the default there, forest or extra-trees."
    ),
]
NVoters = Annotated[
    int | None, typer.Option(help="The number of trees of a forest: 100 if not given.")
]
Prior = Annotated[
    str | None,
    typer.Option(
        help="What the weights start from, fixed before part B is looked at: uniform, or learned "
        "(on part A: what mixed voters do, and good for weak ones such as stumps)."
    ),
]
CertifySize = Annotated[
    float | None,
    typer.Option(
        help="The share of the rows that certify; the others train the voters. If not given, half "
        "of fewer than 5,000 rows, or groups, and three tenths of more."
    ),
]
Certification = Annotated[
    str | None,
    typer.Option(
        help="split (the default), or oob: nothing is held back, each voter is trained on a bag of "
        "the rows and tested outside it. For numbers only; with --model FILE --members a forest "
        "is certified on its own training rows."
    ),
]
BagSize = Annotated[
    float | None,
    typer.Option(
        help="With --certification oob: the share of the rows in a bag; 0.3 if not given."
    ),
]
Smallest = Annotated[
    float | None,
    typer.Option(
        metavar="TOLERANCE",
        help="Keep only the fewest voters whose error, as far as the rows that train tell, is "
        "within this of that of all; the others are not asked any more. They are certified on the "
        "rows that certify, once. Where no rows only train (oob, --members), the certificate "
        "itself is what stays within it, for weights that are learned.",
    ),
]
Seed = Annotated[
    int, typer.Option(help="The seed of the split and of the training. Fix it before you look.")
]
Jobs = Annotated[
    int | None, typer.Option(help="Voters trained at the same time; -1 for all cores.")
]

# --- the results ---------------------------------------------------------------------------------

Out = Annotated[
    Path | None, typer.Option(help="The folder for the results: called after DATA if not given.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only, no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def command(run: Callable[..., int | None]) -> Callable[..., None]:
    """Let a command end in the exit status that it returns, an error in one sentence."""

    @wraps(run)
    def wrapped(**options: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = show_warning
            try:
                status = run(**options)
            except (KeyboardInterrupt, BrokenPipeError):
                raise typer.Exit(130) from None
            except Exception as error:
                if options.get("debug"):
                    print(printable_lines(traceback.format_exc()), end="", file=sys.stderr)
                else:
                    fail(_sentence(error))
                raise typer.Exit(2) from None
        raise typer.Exit(status or 0)

    return wrapped


def _sentence(error: Exception) -> str:
    """Return an error in words: those of the library are sentences already."""
    text = " ".join(str(error).split())
    known = isinstance(error, ValueError | OSError | ImportError) and text
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if known:
        return text
    return f"{type(error).__name__}: {text or 'no message'}. Add --debug to see where."
