"""Write docs/reproduction.md: python docs/build/reproduction.py. `make tables` does it anew."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from certivote import format_up
from certivote._utils.files import write_whole
from certivote.reproduce import LEARNERS, Record, Table1
from certivote.reproduce.command import reproduce
from certivote.reproduce.figures import save_figures
from certivote.reproduce.run import time_spent
from certivote.reproduce.table import TITLES, Cell, markdown

DOCS = Path(__file__).resolve().parents[1]
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

# --- what the paper says about its results (§5.2), tested on its own table and on ours ---

OWN = ["mcallester", "seeger", "lacasse"]


class Results:
    """Bounds and test risks, a row for each task and a column for each learner."""

    def __init__(self, cells: Mapping[tuple[str, str], Cell | Record]) -> None:
        tasks = dict.fromkeys(task for task, _ in cells)
        self.bound, self.risk = (
            pd.DataFrame(
                {x: {task: getattr(cells[task, x], what) for task in tasks} for x in LEARNERS}
            )
            for what in ("bound", "test_risk")
        )
        self.shown = self.risk.map(lambda risk: round(risk, 3))  # risks as printed


class Verdict(NamedTuple):
    """Whether a sentence is true of a table, and the figures that decide it."""

    holds: bool
    because: str


class Sentence(NamedTuple):
    """A sentence of the paper, with what tests it."""

    text: str
    test: Callable[[Results], Verdict]


def everywhere(condition: Callable[[Results], pd.Series]) -> Callable[[Results], Verdict]:
    """Return the test of whether a condition is true of every task."""

    def test(results: Results) -> Verdict:
        true = condition(results)
        failing = ", ".join(true.index[~true])
        because = f"on {true.sum()} of {len(true)} tasks"
        return Verdict(not failing, because + (f"; not on {failing}" if failing else ""))

    return test


def lowest_risks_but_three(results: Results) -> Verdict:
    """Test that only on the named tasks another of the three learners has a lower risk."""
    higher = results.shown["lacasse"] > results.shown[OWN].min(axis=1)
    failing = higher.index[higher]
    named = {"letter:DvsO", "fash:COvsSH", "fash:SAvsBO"}
    listed = ", ".join(failing) or "none"
    return Verdict(set(failing) <= named, f"it has not the lowest risk of the three on: {listed}")


def tighter_than_masegosa(results: Results) -> Verdict:
    """Test that the bound is lower on most tasks."""
    ours, theirs = results.bound["lacasse"], results.bound["masegosa"]
    tighter = (ours < theirs).sum()
    return Verdict(
        tighter > len(ours) / 2,
        f"tighter on {tighter} of {len(ours)} tasks; mean bound {ours.mean():.3f} against "
        f"{theirs.mean():.3f}",
    )


def like_masegosa(results: Results) -> Verdict:
    """Test that the risks differ by less than 0.02."""
    gaps = (results.risk["lacasse"] - results.risk["masegosa"]).abs()
    return Verdict(
        gaps.max() < 0.02, f"the risks differ by at most {gaps.max():.3f} ({gaps.idxmax()})"
    )


def better_than(learner: str) -> Callable[[Results], Verdict]:
    """Return the test of whether Algorithm 3 has lower bounds and no higher risks."""

    def test(results: Results) -> Verdict:
        lower_bound = results.bound["lacasse"] < results.bound[learner]
        higher_risk = results.shown["lacasse"] > results.shown[learner]
        worse = ", ".join(higher_risk.index[higher_risk])
        risks = results.risk.mean()
        return Verdict(
            lower_bound.all() and not worse,
            f"a lower bound on {lower_bound.sum()} and no higher risk on {(~higher_risk).sum()} of "
            f"{len(lower_bound)} tasks"
            + (f" (higher on {worse})" if worse else "")
            + f"; mean risk {risks['lacasse']:.3f} against {risks[learner]:.3f}",
        )

    return test


def mincq_is_near_1(results: Results) -> Verdict:
    """Test that MinCq's bounds are at least 0.9."""
    near = results.bound["mincq"] >= 0.9
    low = ", ".join(near.index[~near])
    because = f"at least 0.9 on {near.sum()} of {len(near)} tasks"
    return Verdict(not low, because + (f"; below on {low}" if low else ""))


SENTENCES = (
    Sentence(
        "Algorithm 1 provides the worst bound of the three.",
        everywhere(lambda x: x.bound["mcallester"] == x.bound[OWN].max(axis=1)),
    ),
    Sentence(
        "Algorithm 3 always provides tighter bounds than Algorithms 1 and 2.",
        everywhere(lambda x: x.bound["lacasse"] < x.bound[["mcallester", "seeger"]].min(axis=1)),
    ),
    Sentence(
        "Except for letter:DvsO, fash:COvsSH and fash:SAvsBO, Algorithm 3 leads to the lowest test "
        "risks (of the three).",
        lowest_risks_but_three,
    ),
    Sentence(
        "2r gives the lowest bounds among all the algorithms …",
        everywhere(lambda x: x.bound["2r"] == x.bound.min(axis=1)),
    ),
    Sentence(
        "… but at the price of the largest risks.",
        everywhere(lambda x: x.shown["2r"] == x.shown.max(axis=1)),
    ),
    Sentence(
        "Compared to Masegosa's approach, Algorithm 3 tends to provide tighter bounds …",
        tighter_than_masegosa,
    ),
    Sentence("… and similar performances, in the same order of magnitude.", like_masegosa),
    Sentence("Algorithm 3 outputs better results than CB-Boost …", better_than("cb-boost")),
    Sentence("… and than MinCq …", better_than("mincq")),
    Sentence("… for which the bounds are close to 1.", mincq_is_near_1),
)


# --- the page ---


def document(table: Table1, pictures: Sequence[str] = ()) -> str:
    """Return the page: the table, its differences, the paper's sentences, and the time it took."""
    versions = sorted({record.certivote_version for record in table.records.values()})
    parts = [
        "# Table 1 of the paper, reproduced\n",
        f"Written by `make tables`, with certivote {' and '.join(versions)}. Each cell: test risk "
        "and bound, rounded up; in brackets the authors' cell and the difference of the bounds.\n",
        table.to_markdown(),
        "## Differences\n",
        differences(table),
        EXPLANATIONS,
        "## MinCq by the authors' formula (KL = 0, δ/20)\n",
        mincq(table),
        "## What the paper says of its results\n",
        sentences(table),
        "## Where the time went\n",
        times(table),
        *(f"![{name.removesuffix('.png')}]({name})\n" for name in pictures),
    ]
    return "\n".join(parts)


def differences(table: Table1) -> str:
    """Return how many bounds of each learner are equal to the paper's, lower and higher."""
    lines = []
    for learner in table.learners:
        gaps = {
            dataset: ours.bound - theirs.bound
            for dataset in table.datasets
            if (theirs := table.reference.get((dataset, learner))) is not None
            and (ours := table.cell(dataset, learner)) is not None
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


def mincq(table: Table1) -> str:
    """Return the table of MinCq's bounds as the authors compute them."""
    rows = []
    for dataset in table.datasets:
        record = table.records.get((dataset, "mincq"))
        if record is None or record.published_bound is None:
            continue
        theirs = table.reference.get((dataset, "mincq"))
        paper = "–" if theirs is None else f"{theirs.bound:.4f}"
        rows.append([dataset, format_up(record.published_bound), paper])
    return markdown(["task", "ours, the authors' formula", "paper"], rows)


def sentences(table: Table1) -> str:
    """Return the table of the paper's sentences, and whether they are true."""
    if set(table.learners) != set(LEARNERS):
        return "The sentences compare all learners; this run has only some of them.\n"
    theirs = {key: cell for key, cell in table.reference.items() if key[0] in table.datasets}
    both = [Results(theirs) if theirs else None, Results(table.records)]

    def show(sentence: Sentence, results: Results | None) -> str:
        if results is None:
            return "–"
        verdict = sentence.test(results)
        return f"**{'true' if verdict.holds else 'false'}**: {verdict.because}"

    rows = [[each.text, *(show(each, results) for results in both)] for each in SENTENCES]
    return markdown(["sentence", "the paper's table", "ours"], rows)


def times(table: Table1) -> str:
    """Return the table of seconds."""
    spent = time_spent(list(table.records.values()))
    names = {
        "voters": "training and querying the trees",
        "bounds": "learning the bound-minimising cells",
        "cb-boost": "CB-Boost",
        "mincq": "MinCq, with its cross-validation",
        "mincq voters": "MinCq's own trees on the large tasks",
    }
    seconds = {names[name]: value for name, value in spent.items()} | {"all": sum(spent.values())}
    return markdown(
        ["", "seconds", "over the trees"],
        [[name, f"{x:.1f}", f"{x / spent['voters']:.3f}"] for name, x in seconds.items()],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not in the folder yet, and write the page with its pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help="the tasks; all 16 if none is named")
    parser.add_argument("--jobs", type=int, help="how many trees are trained at the same time")
    parser.add_argument("--out", type=Path, default=Path("build/reproduction"))
    parser.add_argument("--page", type=Path, default=DOCS / "reproduction.md")
    options = parser.parse_args(arguments)
    table = reproduce(options.tasks, jobs=options.jobs, out=options.out)
    pictures = save_figures(table, options.page.parent, ["png"])
    text = document(table, [picture.name for picture in pictures])
    write_whole(options.page, text)


if __name__ == "__main__":
    main()
