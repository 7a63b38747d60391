"""A progress bar: rich if it is installed, plain text otherwise, nothing unless asked for."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol


class Progress(Protocol):
    """What the bar offers to the work that it watches."""

    def __call__(self, steps: int = 1) -> None:
        """Say that some steps are done."""


@contextmanager
def progress_bar(
    what: str, total: int | None, verbose: int, unit: str | None = None
) -> Iterator[Progress]:
    """Show how far `total` steps of some work have come, on standard error.

    With a unit the bar shows a rate and, if the total is known, the time left.
    """
    if not verbose:
        yield lambda steps=1: None
    elif find_spec("rich") is not None:
        from rich.progress import Progress as RichProgress

        columns, console = _columns(unit)
        # What is done is not worth a line of a terminal, where the result has to fit.
        with RichProgress(*columns, console=console, transient=console.is_terminal) as bar:
            task = bar.add_task(what, total=total)
            yield lambda steps=1: bar.advance(task, steps)
    else:
        done, terminal, start = 0, sys.stderr.isatty(), time.perf_counter()

        def state() -> str:
            text = f"{what}: {done}" + ("" if total is None else f"/{total}")
            rate = done / max(time.perf_counter() - start, 1e-9)
            if unit is not None and rate > 0.0:
                text += f", {rate:,.0f} {unit}/s"
                if total is not None:
                    text += f", {max(total - done, 0) / rate:.0f} s left"
            return text

        def advance(steps: int = 1) -> None:
            nonlocal done
            done += steps
            if terminal:
                # A shorter line must not leave the end of a longer one behind.
                sys.stderr.write(f"\r{state()}" + ("" if unit is None else "\x1b[K"))
                sys.stderr.flush()

        yield advance
        # In a log one line is enough.
        sys.stderr.write("\n" if terminal else f"{state()}\n")


def _columns(unit: str | None) -> tuple[list[Any], Any]:
    """Return what a bar of rich shows, and where."""
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} {unit}/s")

    columns = list(RichProgress.get_default_columns())  # they end with the time left
    return columns if unit is None else [*columns, Rate()], Console(stderr=True)
