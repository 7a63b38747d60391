"""The walk through the rooms: which rooms a fit, and a certify on the command line, come through.

Functions of the package are listed in the order of their first call (lambdas, comprehensions and
dunder methods apart). A change of rooms is where the next one stands in another room than the last.
The modules at the root are one room, the hall.

    python benchmarks/walk.py
"""

import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from sklearn.datasets import load_breast_cancer

import certivote

ROOT = Path(certivote.__file__).parent
HALL = "(hall)"


class Step(NamedTuple):
    """A function, and the room in which it stands."""

    room: str
    module: str
    function: str


def walk(run: Callable[[], object]) -> list[Step]:
    """Return the functions of the package that a run calls, in the order of their first call."""
    seen: dict[Step, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        name = code.co_name
        if event != "call" or not code.co_filename.startswith(str(ROOT)):
            return
        if name.startswith(("<", "__")):
            return
        parts = Path(code.co_filename).relative_to(ROOT).with_suffix("").parts
        room = parts[0] if len(parts) > 1 else HALL
        seen.setdefault(Step(room, "/".join(parts), code.co_qualname))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(seen)


def changes(steps: Sequence[Step]) -> int:
    """Return how often the room changes."""
    return sum(one.room != two.room for one, two in pairwise(steps))


def rooms(steps: Sequence[Step]) -> set[str]:
    """Return the rooms that are come through."""
    return {step.room for step in steps}


def fit() -> object:
    """Fit a vote with the default settings."""
    X, y = load_breast_cancer(return_X_y=True)
    return certivote.MajorityVoteClassifier(random_state=0).fit(X, y)


def certify() -> object:
    """Run the command line's `certify` on its default data."""
    from typer.testing import CliRunner

    from certivote.cli.app import app

    with tempfile.TemporaryDirectory() as folder:
        result = CliRunner().invoke(app, ["certify", "--quiet", "--out", f"{folder}/out"])
    assert result.exit_code == 0, result.output
    return result


def show(title: str, steps: Sequence[Step]) -> None:
    """Print a walk, room by room."""
    print(f"{title}: {changes(steps)} changes over {len(rooms(steps))} rooms")
    for room, inside in groupby(steps, key=lambda step: step.room):
        print(f"  {room:12} {', '.join(step.function for step in inside)}")


def main() -> None:
    """Print both walks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()  # what is imported and compiled once is none of the walk
        show("MajorityVoteClassifier().fit", walk(fit))
        show("certivote certify", walk(certify))


if __name__ == "__main__":
    main()
