"""A progress bar: rich if it is installed, plain text otherwise, nothing unless asked for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Protocol


class Progress(Protocol):
    """What the bar offers to the work that it watches."""

    def __call__(self, steps: int = 1) -> None:
        """Say that some steps are done."""


@contextmanager
def progress_bar(what: str, total: int, verbose: int) -> Iterator[Progress]:
    """Show how far `total` steps of some work have come, on standard error."""
    if not verbose:
        yield lambda steps=1: None
    elif find_spec("rich") is not None:
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        with RichProgress(console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total)
            yield lambda steps=1: bar.advance(task, steps)
    else:
        done, terminal = 0, sys.stderr.isatty()

        def advance(steps: int = 1) -> None:
            nonlocal done
            done += steps
            if terminal:
                sys.stderr.write(f"\r{what}: {done}/{total}")
                sys.stderr.flush()

        yield advance
        # In a log one line is enough.
        sys.stderr.write("\n" if terminal else f"{what}: {done}/{total}\n")
