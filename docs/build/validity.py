"""Turn the rows of a long run into a page: python docs/build/validity.py ROWS docs/validity.md.

`make validity` does both.
"""

import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import binomtest

from certivote import __version__
from certivote.bounds import list_bounds

# The rows that every run has, and the worlds in which it runs them, the columns of the table.
EVERYWHERE = (*list_bounds(), "best, anytime", "heldout, anytime")
WORLDS = {
    "easy": "9 voters that err on 10% of the examples, two labels, samples of 200",
    "hard": "8 voters that err on 40%, two labels, samples of 60",
    "small sample": "5 voters that err on 30%, two labels, samples of 10",
    "more voters than examples": "60 voters that err on 30%, two labels, samples of 20",
    "ties": "2 voters that err on 30%, two labels, samples of 40: the even vote is tied wherever "
    "they differ",
    "unseen labels": "9 voters that err on 50%, 400 labels by Zipf's law, samples of 100, in which "
    "most labels do not occur",
    "learned prior": "20 voters that err on 40%, three labels, samples of 80; the prior has been "
    "learned on another sample, and fits that one far too well",
    "single voters": "8 voters that err equally often and independently, two labels; in turn on "
    "0.5%, 1.6%, 5%, 16% and 50% of the examples, with samples of 5, 50, 500 and 5,000",
}


class Kind(NamedTuple):
    """A section of the page after the table of bounds, and which of the rows it shows.

    mark : str
        Rows that have it in their name belong here; the empty one takes what is left. It is not
        shown where it ends in a space, as the heading says the same.
    crossed : bool
        Whether a name is "row, column" of one table, or stands for itself.
    """

    mark: str
    heading: str
    words: str
    crossed: bool = False


KINDS = (
    Kind(
        "",
        "From data to `predict`",
        "The whole way that users go: a sample is drawn, a vote is fitted on it, and its claim is\n"
        "compared with the risk of its `predict` on all examples that there are.",
    ),
    Kind(
        "out of bag, ",
        "Out of bag",
        "The same, with each voter tested on the rows outside its own bag.",
    ),
    Kind(
        "bags, ",
        "Bounds out of bag",
        "Each bound on five voters that are tables, for the weights that it learns and for the\n"
        "voter that was luckiest. A failure is a certificate below the bound's own formula at the\n"
        "true moments.",
        crossed=True,
    ),
    Kind(
        "the fewest",
        "Fewer voters",
        "Certificates of the votes that [`smallest`](fewer-voters.md) returns.",
    ),
    Kind(
        "claims: ",
        "Claims",
        "[Claims](claims.md) on classes, groups, costs and shifts. A failure is a sample on which\n"
        "any claim of the kind is false; for a whole sheet, any claim on it.",
    ),
    Kind(
        "certify_difference, ",
        "Two models",
        "The error of the new model and the difference from the old one, both at once, on samples\n"
        "of 300.",
    ),
    Kind(
        "missing votes, ",
        "Missing votes",
        "Panels whose voters are often silent, with three labels. *Even vote* is the limit of\n"
        "equal weights; the other rows are whole fits.",
        crossed=True,
    ),
    Kind(
        "every size, ",
        "Looked at after every example",
        "A sample that grows to 5,000 examples, and a limit at each of the 5,000 sizes. A failure\n"
        "is a sequence with a false limit anywhere.",
    ),
)

PAGE = """# Do the certificates hold?

A certificate at δ may be false on a fraction δ of all samples, not more. `make validity` draws
samples from worlds in which every risk is known, has the program certify votes on them, and counts
the samples on which a certificate was false. It writes this page: {total} samples in all, each one
drawn example by example and certified, by certivote {version} on {day}.

No share on it is above δ by more than chance allows: one that would have a probability below
1/10,000 is refused. The largest in proportion to δ: {worst}.

## Every bound, in every world

The share of samples with a false certificate. The last column is the 99% interval (Clopper and
Pearson, two-sided) of the probability behind the largest share in its row. 5% is the default δ, and
`best` the default bound. [The worlds](#the-worlds) are described below.

{table}

- **anytime**: `MajorityVoteClassifier(anytime=True)` with `partial_fit`, three looks at a growing
  sample. A failure is any false certificate of the three; δ is that of all looks together.
- **unlabelled**: the disagreement is counted on five times as many unlabelled examples too. They
  are for two labels only.

{sections}

## What a failure is

A certificate below the true risk of the vote that it is about. For bounds that are functions of
moments also one below the bound's own formula at the true moments, which is more than the program
claims. Where a bound holds for all weights at once, a sample counts as a failure if the certificate
of the learned weights is false *or* that of weights which an adversary has chosen, who knows the
sample and the truth: single voters and mixtures that look better than they are. `heldout` and
`best` are counted for the weights that the program returns.

All bounds have the smallest of their constants, the default: what holds with it holds with others.
`dirichlet`, and `best`, which contains it, are slow, and have fewer samples.

## The worlds

A world is a finite population of examples, with their labels and the votes on them; samples are
drawn from it with replacement, and the risk of a vote is its share of errors in all of it.

{worlds}

## What is not in the tables

The tables do not show how much room there is: most bounds are far from failing in any ordinary
world, and where samples are small many say 1, which cannot fail. Three more kinds of check are
among the tests:

- *The worst case*, which is computed, not sampled. The vote is the luckiest of n equal voters, or
  that of two voters which never err together. Then the number of errors has a known distribution,
  and the probability of a failure is a sum: it must be at most δ for every error rate on a grid,
  with samples of 1 to 1,000 and δ down to 10⁻⁵.
- *Bounds that are broken on purpose* must be caught by the same counts and sums: more δ than
  claimed, examples counted twice, a forgotten divergence or margin, learned weights taken for fixed
  ones, the best of many tests or looks at the price of one, unlabelled examples of another kind,
  rows of one patient taken for independent ones, silence counted as right.
- *Precision*: 2,000 random instances of each bound, and of the limits of fixed and of growing
  samples, against their formula in 50 digits. None may lie below it.
"""


def percent(share: float) -> str:
    """Return a share in per cent, in two decimals at most."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".")


def share_of(row: dict[str, Any]) -> float:
    """Return the share of failures."""
    return float(row["failures"] / row["samples"])


def interval(row: dict[str, Any]) -> str:
    """Return the 99% interval of the probability of a failure."""
    result = binomtest(row["failures"], row["samples"])
    low, high = result.proportion_ci(0.99, method="exact")
    return f"{percent(low)}–{percent(high)}%"


def different(values: set[str]) -> str:
    """Return what several rows have in common, or all that they have."""
    return ", ".join(sorted(values, key=lambda text: (len(text), text)))


def crossed(cells: dict[tuple[str, str], dict[str, Any]], names: list[str]) -> str:
    """Return one table of shares, with a column for each world that some row has."""
    worlds = list(dict.fromkeys(world for name in names for own, world in cells if own == name))
    worlds = sorted(worlds, key=(*WORLDS, *worlds).index)
    table = [
        f"| | δ | samples | {' | '.join(worlds)} | interval of the largest |",
        "|---" * (len(worlds) + 4) + "|",
    ]
    for name in names:
        own = [cells.get((name, world)) for world in worlds]
        there = [row for row in own if row]
        deltas = different({f"{percent(row['delta'])}%" for row in there})
        samples = different({f"{row['samples']:,}" for row in there})
        shares = [f"{percent(share_of(row))}%" if row else "" for row in own]
        worst = interval(max(there, key=share_of))
        table.append("| " + " | ".join((f"**{name}**", deltas, samples, *shares, worst)) + " |")
    return "\n".join(table)


def shown(row: dict[str, Any], mark: str) -> str:
    """Return what a row is called below the heading of its kind."""
    name = str(row["world"])
    return name.removeprefix(mark) if mark.endswith(" ") else name


def listed(rows: list[dict[str, Any]], mark: str) -> str:
    """Return one table with a line for each row."""
    table = ["| | δ | samples | false | 99% interval |", "|---|---|---|---|---|"]
    table += [
        f"| {shown(row, mark)} | {percent(row['delta'])}% | {row['samples']:,} "
        f"| {percent(share_of(row))}% | {interval(row)} |"
        for row in sorted(rows, key=lambda row: row["world"])
    ]
    return "\n".join(table)


def section(kind: Kind, rows: list[dict[str, Any]]) -> str:
    """Return the heading, the words and the table of one kind of simulation."""
    if not rows:
        raise SystemExit(
            f"nothing of {kind.heading!r} was run: the page is not written from a part."
        )
    table = listed(rows, kind.mark)
    if kind.crossed:
        cells = {}
        for row in rows:
            name, _, world = shown(row, kind.mark).partition(", ")
            cells[name, world] = row
        table = crossed(cells, sorted({name for name, _ in cells}))
    return f"## {kind.heading}\n\n{kind.words}\n\n{table}"


def kind_of(row: dict[str, Any]) -> Kind:
    """Return where a row of a whole fit is shown."""
    return next((kind for kind in KINDS[1:] if kind.mark in row["world"]), KINDS[0])


def page_of(rows: list[dict[str, Any]], day: date) -> str:
    """Return the page of a run that ended on that day; refuse rows that leave something out."""
    cells = {(row["bound"], row["world"]): row for row in rows}
    if len(cells) < len(rows):
        raise SystemExit("some cells were recorded twice: remove the rows of an earlier run.")
    fits = [row for row in rows if row["bound"] == "pipeline"]
    bounds = {place: row for place, row in cells.items() if row["bound"] != "pipeline"}
    unknown = sorted({world for _, world in bounds} - set(WORLDS))
    if unknown:
        raise SystemExit(f"describe the world {unknown[0]!r} in WORLDS of docs/build/validity.py.")
    missing = [(name, world) for name in EVERYWHERE for world in WORLDS]
    missing = [place for place in missing if place not in cells]
    if missing:
        name, world = missing[0]
        raise SystemExit(
            f"{len(missing)} cells were not run, such as {name!r} in {world!r}: the page is not "
            "written from a part of the simulations."
        )
    for row in rows:
        if binomtest(row["failures"], row["samples"], row["delta"], "greater").pvalue < 1e-4:
            raise SystemExit(f"{row['bound']!r} in {row['world']!r} is false more often than δ.")
    others = sorted(
        {name for name, _ in bounds} - set(EVERYWHERE), key=lambda name: name.split(", ")[::-1]
    )
    worst = max(rows, key=lambda row: share_of(row) / row["delta"])
    where = (worst["world"],) if worst in fits else (worst["bound"], worst["world"])
    return PAGE.format(
        version=__version__,
        day=f"{day.day} {day:%B %Y}",
        total=f"{sum(row['samples'] for row in rows):,}",
        table=crossed(bounds, [*EVERYWHERE, *others]),
        sections="\n\n".join(
            section(kind, [row for row in fits if kind_of(row) == kind]) for kind in KINDS
        ),
        worst=f"{worst['failures']} of {worst['samples']:,} at δ = {percent(worst['delta'])}% "
        f"({', '.join(where)})",
        worlds="\n".join(f"- **{world}**: {words}." for world, words in WORLDS.items()),
    )


def main(source: Path, page: Path) -> None:
    """Write the page from the rows, dated by the last of them."""
    lines = source.read_text(encoding="utf-8").splitlines()
    day = datetime.fromtimestamp(source.stat().st_mtime, UTC).date()
    page.write_text(page_of([json.loads(line) for line in lines], day), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
