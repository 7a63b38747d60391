"""``certivote reproduce``: the paper's Table 1 and figures, in one command."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._utils.files import write_whole
from .._utils.formatting import format_up
from ..datasets import list_datasets
from ..solvers import get_solver
from .protocol import LEARNERS, Record
from .records import RecordStore
from .run import check_names, run, time_spent
from .table import TITLES, Table1, read_reference

__all__ = ["reproduce"]


def _reference(path: Path | None) -> Path | None:
    """Return the authors' file: the one named, or the one beside the data."""
    if path is not None:
        if not path.is_file():
            raise ValueError(f"--reference: there is no file {path}.")
        return path
    data = os.environ.get("CERTIVOTE_DATA")
    beside = Path(data).parent / "reference" / "table1.csv" if data else None
    return beside if beside is not None and beside.is_file() else None


@contextmanager
def _live_table(datasets: Sequence[str], learners: Sequence[str], quiet: bool) -> Iterator[Any]:
    """Show the cells as they come: a table on a terminal, else a line for each."""
    if quiet:
        yield lambda dataset, learner, record: None
        return
    if not sys.stderr.isatty():

        def say(dataset: str, learner: str, record: Record | None) -> None:
            if record is not None:
                text = f"{record.test_risk:.4f}  {format_up(record.bound)}"
                print(f"{dataset:12} {TITLES[learner]:9} {text}", file=sys.stderr, flush=True)

        yield say
        return
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    cells = {dataset: dict.fromkeys(learners, "") for dataset in datasets}

    def render() -> Table:
        table = Table("task", *(TITLES[learner] for learner in learners))
        for dataset, row in cells.items():
            table.add_row(dataset, *row.values())
        return table

    with Live(render(), console=Console(stderr=True), refresh_per_second=8) as live:

        def show(dataset: str, learner: str, record: Record | None) -> None:
            if learner == "voters":
                cells[dataset][learners[0]] = "trees …"
            elif record is None:
                cells[dataset][learner] = "…"
            else:
                cells[dataset][learner] = f"{record.test_risk:.3f} {format_up(record.bound, 3)}"
            live.update(render())

        yield show


def _write(table: Table1, out: Path) -> list[Path]:
    """Write the table in every format, and the figures, and return what was written."""
    texts = {
        out / "table1.md": table.to_markdown(),
        out / "table1.tex": table.to_latex(),
        out / "table1.csv": table.to_csv(),
    }
    for path, text in texts.items():
        write_whole(path, text)
    if find_spec("matplotlib") is None:
        print("No figures: pip install 'certivote[plot]' to have them.", file=sys.stderr)
        return list(texts)
    from .figures import save_figures

    return [*texts, *save_figures(table, out)]


def reproduce(
    tasks: Sequence[str] = (),
    learners: Sequence[str] = (),
    solver: str = "lbfgs",
    jobs: int | None = None,
    out: Path = Path("results"),
    reference: Path | None = None,
    quiet: bool = False,
) -> Table1:
    """Run the experiments that are not done yet, print the table and write the results to `out`.

    No tasks or learners are all of them; without `reference` the authors' cells are read from the
    file beside the data. If quiet, the table is all that is printed.
    """
    datasets = check_names("task", tasks, list_datasets())
    chosen = check_names("learner", learners, LEARNERS)
    get_solver(solver)
    authors = _reference(reference)
    store = RecordStore(out / "records")
    with _live_table(datasets, chosen, quiet) as progress:
        records = run(store, datasets, chosen, solver, jobs, progress)
    table = Table1(records, None if authors is None else read_reference(authors))
    print(table.to_markdown())
    written = _write(table, out)
    if quiet:
        return table
    spent = time_spent(records)
    total = sum(spent.values())
    print(
        f"Trees: {spent['voters']:.1f} s. Minimising bounds: {spent['bounds']:.1f} s "
        f"({spent['bounds'] / total:.1%} of all). CB-Boost: {spent['cb-boost']:.1f} s. MinCq: "
        f"{spent['mincq'] + spent['mincq voters']:.1f} s. All: {total:.1f} s, "
        f"{total / max(spent['voters'], 1e-9):.2f} times the trees."
    )
    print("Written: " + ", ".join(map(str, written)))
    return table
