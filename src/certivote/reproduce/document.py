"""docs/reproduction.md, written from the results."""

from collections.abc import Sequence

from .._utils.formatting import format_up
from .analysis import SENTENCES, Cells
from .protocol import LEARNERS, Record
from .table import TITLES, Cell, Table

__all__ = ["document", "time_spent"]

MINIMISED = ("mcallester", "seeger", "lacasse", "masegosa", "2r")
TOLERANCE = 5e-4

EXPLANATIONS = """\
- **Bounds that are lower than the paper's** are minima that the authors' optimiser had not reached
  (a fixed number of COCOB steps, and for Masegosa a relaxation whose value is above the bound
  itself). Each was evaluated with the exact bound and rounded up.
- **Choices made by looking at the authors' cells.** The description of CB-Boost leaves open
  whether a voter may be chosen again, and how ties go: of the four combinations, choosing again
  with ties to the first voter gives the published wdbc cell (.5913, .0246), and is what is used;
  without choosing again it was .6003 and .0317. MinCq's folds are not described: unshuffled
  stratified ones give the published bounds on letter:AvsB, credit and tictactoe, and are used;
  plain consecutive folds gave a mean risk of .0833, against .0828. For its 400 examples on the
  large tasks seven other orders were tried on three tasks; none matched all three, and the
  described one was kept. So agreement of these two columns with the paper is partly by
  construction; the five columns of minimised bounds involve no such choice.
- **CB-Boost on glass**: six voters tie at the first step, and the order decides. Ties go to the
  voter that comes first.
- **MinCq**: the published figure takes KL = 0 and δ/20. KL = 0 is proved for bounds on the margin,
  not for this bound, which changes when a voter is exchanged with its complement; the table uses
  the true KL (at most ln 2), and no δ/20, as the bound holds for all weights at once. On adult,
  mnist and fash the paper learns from 200 examples of each class, which is not a random draw: there
  our certificate comes from the training rows that it did not use. The authors' formula, computed
  on our votes, stands in a table of its own.
- **Two 2r cells above the paper's** (mnist:1vs7 and fash:TOvsPU): with today's trees the exact
  global minimum is higher than what was published. The minimiser is a Gibbs posterior, so that one
  line search proves it; the tests do.
"""


def time_spent(records: Sequence[Record]) -> dict[str, float]:
    """Return the seconds of training and voting, and of learning the weights.

    Parameters
    ----------
    records : sequence of Record
        The cells of a run.
    """
    voters = {
        record.dataset: record.voter_seconds for record in records if record.learner != "mincq"
    }
    return {
        "voters": sum(voters.values()),
        "bounds": sum(record.seconds for record in records if record.learner in MINIMISED),
        "cb-boost": sum(record.seconds for record in records if record.learner == "cb-boost"),
        "mincq": sum(record.seconds for record in records if record.learner == "mincq"),
        "mincq voters": sum(
            record.voter_seconds
            for record in records
            if record.learner == "mincq" and record.voter_seconds != voters.get(record.dataset)
        ),
    }


def document(
    table: Table, records: Sequence[Record], command: str, pictures: Sequence[str] = ()
) -> str:
    """Return the page: the table, its differences, the paper's sentences, and the time it took.

    Parameters
    ----------
    table : Table
        The results beside the paper's.
    records : sequence of Record
        The cells.
    command : str
        What the reader types to get them.
    pictures : sequence of str, default=()
        Files beside the page to show on it.
    """
    parts = [
        "# Table 1 of the paper, reproduced\n",
        f"Written by `{command}`. Each cell: test risk and bound, rounded up; in brackets the "
        "authors' cell and the difference of the bounds.\n",
        table.to_markdown(),
        "## Differences\n",
        _differences(table),
        EXPLANATIONS,
        "## MinCq by the authors' formula (KL = 0, δ/20)\n",
        _mincq(table),
        "## What the paper says of its results\n",
        _sentences(table),
        "## Where the time went\n",
        _times(records),
        *(f"![{name.removesuffix('.png')}]({name})\n" for name in pictures),
    ]
    return "\n".join(parts)


def _differences(table: Table) -> str:
    lines = []
    for learner in table.learners:
        gaps = {
            dataset: table.records[dataset, learner].bound - theirs.bound
            for dataset in table.datasets
            if (theirs := table.reference.get((dataset, learner))) is not None
            and (dataset, learner) in table.records
        }
        if not gaps:
            continue
        above = [f"{d} ({gap:+.4f})" for d, gap in gaps.items() if gap > TOLERANCE]
        below = sum(gap < -TOLERANCE for gap in gaps.values())
        lines.append(
            f"- {TITLES[learner]}: {len(gaps) - len(above) - below} of {len(gaps)} bounds equal "
            f"the paper's within {TOLERANCE:g}, {below} are lower, {len(above)} higher"
            + (f": {', '.join(above)}" if above else "")
            + "."
        )
    return "\n".join(lines) + "\n"


def _mincq(table: Table) -> str:
    lines = ["| task | ours, the authors' formula | paper |", "|---|---|---|"]
    for dataset in table.datasets:
        record = table.records.get((dataset, "mincq"))
        if record is None or record.published_bound is None:
            continue
        theirs = table.reference.get((dataset, "mincq"))
        paper = "–" if theirs is None else f"{theirs.bound:.4f}"
        lines.append(f"| {dataset} | {format_up(record.published_bound)} | {paper} |")
    return "\n".join(lines) + "\n"


def _sentences(table: Table) -> str:
    ours: Cells = {
        key: Cell(record.test_risk, record.bound) for key, record in table.records.items()
    }
    complete = set(table.learners) == set(LEARNERS)
    if not complete:
        return "The sentences compare all learners; this run has only some of them.\n"
    lines = ["| sentence | the paper's table | ours |", "|---|---|---|"]
    for sentence in SENTENCES:
        verdicts = []
        for cells in (table.reference, ours):
            known = {key: cell for key, cell in cells.items() if key[0] in table.datasets}
            if not known:
                verdicts.append("–")
                continue
            verdict = sentence.test(known)
            verdicts.append(f"**{'true' if verdict.holds else 'false'}**: {verdict.because}")
        lines.append(f"| {sentence.text} | {verdicts[0]} | {verdicts[1]} |")
    return "\n".join(lines) + "\n"


def _times(records: Sequence[Record]) -> str:
    spent = time_spent(records)
    total, voters = sum(spent.values()), spent["voters"]
    names = {
        "voters": "training and querying the trees",
        "bounds": "learning the bound-minimising cells",
        "cb-boost": "CB-Boost",
        "mincq": "MinCq, with its cross-validation",
        "mincq voters": "MinCq's own trees on the large tasks",
    }
    lines = ["| | seconds | over the trees |", "|---|---|---|"]
    lines += [
        f"| {names[name]} | {value:.1f} | {value / voters:.3f} |" for name, value in spent.items()
    ]
    lines.append(f"| all | {total:.1f} | {total / voters:.3f} |")
    return "\n".join(lines) + "\n"
