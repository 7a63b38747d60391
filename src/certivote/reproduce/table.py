"""Table 1, in the terminal, Markdown, LaTeX and CSV, each cell beside the paper's."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._utils.formatting import format_up
from .protocol import LEARNERS, Record

__all__ = ["TITLES", "Cell", "Table1", "markdown", "read_reference"]

TITLES = {
    "mcallester": "Alg. 1",
    "seeger": "Alg. 2",
    "lacasse": "Alg. 3",
    "cb-boost": "CB-Boost",
    "mincq": "MinCq",
    "masegosa": "Masegosa",
    "2r": "2r",
}
_COLUMNS = (
    *("dataset", "algorithm", "test_risk", "bound", "paper_test_risk", "paper_bound"),
    *("test_risk_difference", "bound_difference", "authors_formula_bound", "solver"),
)


@dataclass(frozen=True)
class Cell:
    """A test risk and a bound."""

    test_risk: float
    bound: float


def read_reference(path: Path) -> dict[tuple[str, str], Cell]:
    r"""Return the authors' cells: columns dataset, algorithm, test_risk and bound of a CSV file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from certivote.reproduce import read_reference
    >>> text = "dataset,algorithm,test_risk,bound\nglass,lacasse,0.25,0.75\n"
    >>> _ = Path("table1.csv").write_text(text)
    >>> read_reference(Path("table1.csv"))[("glass", "lacasse")].bound
    0.75
    """
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["dataset"], row["algorithm"]): Cell(float(row["test_risk"]), float(row["bound"]))
            for row in csv.DictReader(file)
        }


class Table1:
    """The cells of a run, beside the authors', which are known by dataset and learner.

    Examples
    --------
    >>> from certivote.reproduce import Record, Table1
    >>> record = Record("glass", "lacasse", "lbfgs", 0.25, 0.75, 0.2, 0.1, 0.2, 0.1, 0.5, 0.5)
    >>> Table1([record]).mean("lacasse")
    Cell(test_risk=0.25, bound=0.75)
    """

    def __init__(
        self,
        records: Sequence[Record],
        reference: Mapping[tuple[str, str], Cell] | None = None,
    ) -> None:
        self.records = {(record.dataset, record.learner): record for record in records}
        self.reference = dict(reference or {})
        self.datasets = list(dict.fromkeys(record.dataset for record in records))
        found = {record.learner for record in records}
        self.learners = [learner for learner in LEARNERS if learner in found]

    def cell(self, dataset: str, learner: str) -> Cell | None:
        """Return one of our cells."""
        record = self.records.get((dataset, learner))
        return None if record is None else Cell(record.test_risk, record.bound)

    def mean(self, learner: str, published: bool = False) -> Cell | None:
        """Return the mean of our or the authors' cells over the tasks, None if one is missing."""
        cells = [
            self.reference.get((dataset, learner)) if published else self.cell(dataset, learner)
            for dataset in self.datasets
        ]
        known = [cell for cell in cells if cell is not None]
        if not known or len(known) < len(cells):
            return None
        n = len(known)
        return Cell(
            math.fsum(cell.test_risk for cell in known) / n,
            math.fsum(cell.bound for cell in known) / n,
        )

    def to_markdown(self) -> str:
        """Return the table with the authors' bound and the difference under each of ours."""
        rows = []
        for task in self.datasets:
            pairs = ((self.cell(task, x), self.reference.get((task, x))) for x in self.learners)
            rows.append([task, *(_beside(ours, theirs) for ours, theirs in pairs)])
        means = [_beside(self.mean(x), self.mean(x, published=True)) for x in self.learners]
        head = ["task", *(TITLES[x] for x in self.learners)]
        return markdown(head, [*rows, ["**Mean**", *means]])

    def to_csv(self) -> str:
        """Return one line a cell, ours, the authors' and the differences, at full precision."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for (dataset, learner), ours in self.records.items():
            row = {
                "dataset": dataset,
                "algorithm": learner,
                "test_risk": ours.test_risk,
                "bound": ours.bound,
                "authors_formula_bound": ours.published_bound,
                "solver": ours.solver,
            }
            if (theirs := self.reference.get((dataset, learner))) is not None:
                row |= {
                    "paper_test_risk": theirs.test_risk,
                    "paper_bound": theirs.bound,
                    "test_risk_difference": f"{ours.test_risk - theirs.test_risk:.6f}",
                    "bound_difference": f"{ours.bound - theirs.bound:.6f}",
                }
            writer.writerow(row)
        return text.getvalue()

    def to_latex(self) -> str:
        """Return the paper's table, with its emphasis.

        Bold is the couple of the lowest risk, italic that of the lowest bound, underlined that of
        the second lowest.
        """
        columns = "l" + "rr" * len(self.learners)
        names = " & ".join(f"\\multicolumn{{2}}{{c}}{{{TITLES[x]}}}" for x in self.learners)
        lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", f" & {names} \\\\", "\\midrule"]
        for dataset in self.datasets:
            cells = {x: self.cell(dataset, x) for x in self.learners}
            marks = _marks({x: cell for x, cell in cells.items() if cell is not None})
            row = [_latex(cells[x], marks.get(x, ())) for x in self.learners]
            lines.append(f"{dataset} & " + " & ".join(row) + " \\\\")
        lines.append("\\midrule")
        means = [_latex(self.mean(x), ()) for x in self.learners]
        lines += ["Mean & " + " & ".join(means) + " \\\\", "\\bottomrule", "\\end{tabular}"]
        return "\n".join(lines) + "\n"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ("| " + " | ".join(row) + " |" for row in (head, *rows))
    return "\n".join((next(lines), "|---" * len(head) + "|", *lines)) + "\n"


def _beside(ours: Cell | None, theirs: Cell | None) -> str:
    if ours is None:
        return "–"
    text = f"{ours.test_risk:.3f}, {format_up(ours.bound)}"
    if theirs is None:
        return text
    paper = f"paper {theirs.test_risk:.3f}, {theirs.bound:.4f}"
    return f"{text} ({paper}; {ours.bound - theirs.bound:+.4f})"


def _marks(cells: Mapping[str, Cell]) -> dict[str, tuple[str, ...]]:
    """Return the paper's emphasis for one row: the couple with the lowest risk, and so on.

    Among equal risks, to the three digits that are shown, the couple of the lowest bound is bold.
    """
    marks: dict[str, list[str]] = {learner: [] for learner in cells}
    if not cells:
        return {}
    shown = {x: (round(cell.test_risk, 3), cell.bound) for x, cell in cells.items()}
    marks[min(shown, key=lambda x: shown[x])].append("textbf")
    by_bound = sorted(cells, key=lambda x: cells[x].bound)
    marks[by_bound[0]].append("textit")
    if len(by_bound) > 1:
        marks[by_bound[1]].append("underline")
    return {learner: tuple(found) for learner, found in marks.items()}


def _latex(cell: Cell | None, marks: Sequence[str]) -> str:
    if cell is None:
        return "-- & --"
    texts = [f"{cell.test_risk:.3f}", format_up(cell.bound, 3)]
    for mark in marks:
        texts = [f"\\{mark}{{{text}}}" for text in texts]
    return " & ".join(text.replace("0.", ".", 1) for text in texts)
