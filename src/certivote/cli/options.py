"""The options that several commands share, and how each command ends."""

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from .._utils.formatting import printable, printable_lines

__all__ = ["command"]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV or Parquet file with one row per example, or a built-in name: breast-cancer, "
        "digits, or one of `certivote datasets`.",
    ),
]
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
Delta = Annotated[
    float, typer.Option(help="The probability that the certificate may fail.", show_default=True)
]
Constant = Annotated[
    str,
    typer.Option(help="exact, or maurer for the published constant 2√m, which is larger."),
]
VoterKind = Annotated[
    str,
    typer.Option(
        help="trees (on all of part A), forest (bootstrapped), extra-trees, or stumps (ten "
        "thresholds per column)."
    ),
]
Prior = Annotated[
    str,
    typer.Option(
        help="What the weights start from, fixed before part B is looked at: uniform, or learned "
        "(on part A: for weak voters such as stumps)."
    ),
]
NVoters = Annotated[int | None, typer.Option(help="The number of trees: 100 if not given.")]
CertifySize = Annotated[
    float, typer.Option(help="The share of the rows that certify; the others train the voters.")
]
Seed = Annotated[
    int, typer.Option(help="The seed of the split and of the training. Fix it before you look.")
]
Jobs = Annotated[
    int | None, typer.Option(help="Voters trained at the same time; -1 for all cores.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only, no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def complete_bound(incomplete: str) -> list[str]:
    """Return the bounds that begin like this, for the shell."""
    from ..bounds import list_bounds

    return [name for name in list_bounds() if name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Return the built-in data sets that begin like this, for the shell."""
    from .data import builtin_names

    return [name for name in builtin_names() if name.startswith(incomplete)]


def command(run: Callable[..., int | None]) -> Callable[..., None]:
    """Let a command end in an exit status, and an error in one sentence on standard error.

    Parameters
    ----------
    run : callable
        The command. It returns its exit status: 0 if None.
    """

    @wraps(run)
    def wrapped(**options: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
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


def fail(message: str) -> None:
    """Say on standard error what went wrong."""
    print(f"error: {printable(message)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a result as JSON, in characters that every terminal shows as they are."""
    text = json.dumps(value, indent=2, allow_nan=False, default=_plain)
    print(text.replace("\x7f", r"\u007f"))


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.item()


def _sentence(error: Exception) -> str:
    """Return an error in words: those of the library are sentences already."""
    text = " ".join(str(error).split())
    known = isinstance(error, ValueError | OSError | ImportError) and text
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if known:
        return text
    return f"{type(error).__name__}: {text or 'no message'}. Add --debug to see where."


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {printable_lines(str(message))}", file=sys.stderr)
