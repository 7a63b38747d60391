"""``python -m certivote.reproduce``: the paper's Table 1 and figures, in one command."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._formatting import format_up
from ..datasets import list_datasets
from ..solvers import list_solvers
from .document import document, time_spent
from .protocol import LEARNERS, Record
from .records import RecordStore
from .run import check_names, run
from .table import TITLES, Table, read_reference


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m certivote.reproduce",
        description="Reproduce Table 1 and the figures of Viallard et al., ECML PKDD 2021. An "
        "interrupted run goes on where it stopped.",
        epilog="Example: python -m certivote.reproduce glass heart --learners lacasse 2r",
    )
    parser.add_argument("tasks", nargs="*", help="tasks to run; all 16 if none is named")
    parser.add_argument("--learners", nargs="+", default=[], help=", ".join(LEARNERS))
    parser.add_argument("--solver", default="lbfgs", choices=[*list_solvers()])
    parser.add_argument("--jobs", type=int, default=None, help="trees trained at the same time")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where results go")
    parser.add_argument("--reference", type=Path, help="the authors' cells, a CSV file")
    parser.add_argument("--document", type=Path, help="also write the page of the results here")
    return parser


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
def _live_table(datasets: Sequence[str], learners: Sequence[str]) -> Iterator[Any]:
    """Show the cells as they come: a table on a terminal with rich, else a line for each."""
    if find_spec("rich") is None or not sys.stderr.isatty():

        def say(dataset: str, learner: str, record: Record | None) -> None:
            if record is not None:
                text = f"{record.test_risk:.4f}  {format_up(record.bound)}"
                print(f"{dataset:12} {TITLES[learner]:9} {text}", file=sys.stderr, flush=True)

        yield say
        return
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table as RichTable

    cells = {dataset: dict.fromkeys(learners, "") for dataset in datasets}

    def render() -> RichTable:
        table = RichTable("task", *(TITLES[learner] for learner in learners))
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


def _write(
    table: Table, records: Sequence[Record], options: argparse.Namespace, run_as: str
) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("table1.md", table.to_markdown()),
        ("table1.tex", table.to_latex()),
        ("table1.csv", table.to_csv()),
    ):
        (options.out / name).write_text(text, encoding="utf-8")
    written = [options.out / name for name in ("table1.md", "table1.tex", "table1.csv")]
    if find_spec("matplotlib") is not None:
        from .figures import save_figures

        written += save_figures(table, options.out)
    else:
        print("No figures: pip install 'certivote[plot]' to have them.", file=sys.stderr)
    if options.document is not None:
        pictures = [path for path in written if path.suffix == ".png"]
        beside = options.document.parent
        for picture in pictures:
            if picture.parent.resolve() != beside.resolve():
                shutil.copy(picture, beside)
        page = document(table, records, run_as, [picture.name for picture in pictures])
        options.document.write_text(page, encoding="utf-8")
        written.append(options.document)
    print("Written: " + ", ".join(map(str, written)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The arguments; those of the process if None.
    """
    options = _parser().parse_args(arguments)
    try:
        datasets = check_names("task", options.tasks, list_datasets())
        learners = check_names("learner", options.learners, LEARNERS)
        path = _reference(options.reference)
        store = RecordStore(options.out / "records")
        with _live_table(datasets, learners) as progress:
            records = run(store, datasets, learners, options.solver, options.jobs, progress)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    table = Table(records, None if path is None else read_reference(path))
    print(table.to_markdown())
    spent = time_spent(records)
    total = sum(spent.values())
    print(
        f"Trees: {spent['voters']:.1f} s. Minimising bounds: {spent['bounds']:.1f} s "
        f"({spent['bounds'] / total:.1%} of all). CB-Boost: {spent['cb-boost']:.1f} s. MinCq: "
        f"{spent['mincq'] + spent['mincq voters']:.1f} s. All: {total:.1f} s, "
        f"{total / max(spent['voters'], 1e-9):.2f} times the trees."
    )
    _write(table, records, options, "python -m certivote.reproduce --document docs/reproduction.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
