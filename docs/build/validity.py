"""Turn the rows of a long run into a page: python docs/build/validity.py ROWS docs/validity.md.

`make validity` does both.
"""

import json
import sys
from pathlib import Path
from typing import Any

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

PAGE = """# Do the certificates hold?

A certificate at δ may be false on a fraction δ of all samples, not more. `make validity` draws
samples from worlds in which every risk is known, has the program certify votes on them, and counts
the samples on which a certificate was false. It writes this page: {total} samples in all, each one
drawn example by example and certified, by certivote {version}.

Each cell is the share of samples with a false certificate, and the 99% interval of its probability
(Clopper and Pearson, two-sided). 5% is the default δ, and `best` the default bound.

{table}

The largest share in proportion to δ: {worst}.

## From data to `predict`

The same for the whole way that users go: a sample is drawn, a vote is fitted on it, and its claim
is compared with the risk of its `predict` on all examples that there are.

{pipeline}

## What a failure is

A certificate below the true risk of the vote that it is about. For bounds that are functions of
moments also one below the bound's own formula at the true moments, which is more than the program
claims. Where a bound holds for all weights at once, a sample counts as a failure if the certificate
of the learned weights is false *or* that of weights which an adversary has chosen, who knows the
sample and the truth: single voters and mixtures that look better than they are. `heldout` and
`best` are counted for the weights that the program returns.

- **unlabelled**: the disagreement is counted on five times as many unlabelled examples too. They
  are for two labels only.
- **anytime**: `MajorityVoteClassifier(anytime=True)` with `partial_fit`, three looks at a growing
  sample. A failure is any false certificate of the three; δ is that of all looks together. The risk
  is that of `predict`.

All bounds have the smallest of their constants, the default: what holds with it holds with others.
Numbers of samples are what fits into half an hour: `dirichlet`, and `best`, which contains it, are
slow.

## The worlds

A world is a finite population of examples, with their labels and the votes on them; samples are
drawn from it with replacement, and the risk of a vote is its share of errors in all of it.

{worlds}

## What is not in the table

The table does not show how much room there is: most bounds are far from failing in any ordinary
world, and where samples are small many say 1, which cannot fail. Two more kinds of check are among
the tests:

- *The worst case*, which is computed, not sampled. The vote is the luckiest of n equal voters, or
  that of two voters which never err together. Then the number of errors has a known distribution,
  and the probability of a failure is a sum: it must be at most δ for every error rate on a grid,
  with samples of 1 to 1,000 and δ down to 10⁻⁵.
- *Bounds that are broken on purpose* must be caught by the same counts and sums: more δ than
  claimed, examples counted twice, a forgotten divergence or margin, learned weights taken for fixed
  ones, the best of many tests or looks at the price of one, unlabelled examples of another kind.

A share may exceed δ by chance. The tests refuse one that would have a probability below 1/10,000.
"""


def percent(share: float) -> str:
    """Return a share in per cent, in two decimals at most."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".")


def cell(row: dict[str, Any]) -> str:
    """Return the share of failures and its interval."""
    result = binomtest(row["failures"], row["samples"])
    low, high = result.proportion_ci(0.99, method="exact")
    return f"{percent(result.statistic)}% ({percent(low)}–{percent(high)})"


def page_of(rows: list[dict[str, Any]]) -> str:
    """Return the page, and refuse rows that leave a bound or a world out."""
    fits = [row for row in rows if row["bound"] == "pipeline"]
    rows = [row for row in rows if row["bound"] != "pipeline"]
    if not fits:
        raise SystemExit("the pipeline was not run: the page is not written from a part.")
    cells = {(row["bound"], row["world"]): row for row in rows}
    if len(cells) < len(rows):
        raise SystemExit("some cells were recorded twice: remove the rows of an earlier run.")
    unknown = sorted({row["world"] for row in rows} - set(WORLDS))
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
    others = sorted(
        {row["bound"] for row in rows} - set(EVERYWHERE), key=lambda name: name.split(", ")[::-1]
    )
    worlds = list(WORLDS)
    table = [
        f"| | δ | samples per world | {' | '.join(worlds)} |",
        "|---" * (len(worlds) + 3) + "|",
    ]
    for name in (*EVERYWHERE, *others):
        own = [cells.get((name, world)) for world in worlds]
        deltas = ", ".join(f"{percent(x)}%" for x in sorted({row["delta"] for row in own if row}))
        samples = ", ".join(f"{x:,}" for x in sorted({row["samples"] for row in own if row}))
        shares = [cell(row) if row else "" for row in own]
        table.append("| " + " | ".join((f"**{name}**", deltas, samples, *shares)) + " |")
    pipeline = ["| fitted | δ | fits | false claims |", "|---|---|---|---|"]
    pipeline += [
        f"| {row['world']} | {percent(row['delta'])}% | {row['samples']:,} | {cell(row)} |"
        for row in sorted(fits, key=lambda row: row["world"])
    ]
    worst = max(rows, key=lambda row: row["failures"] / row["samples"] / row["delta"])
    return PAGE.format(
        version=__version__,
        total=f"{sum(row['samples'] for row in rows):,}",
        pipeline="\n".join(pipeline),
        table="\n".join(table),
        worst=f"{worst['failures']} of {worst['samples']:,} at δ = {percent(worst['delta'])}% "
        f"({worst['bound']}, {worst['world']})",
        worlds="\n".join(f"- **{world}**: {WORLDS[world]}." for world in worlds),
    )


def main(source: Path, page: Path) -> None:
    """Write the page from the rows."""
    lines = source.read_text(encoding="utf-8").splitlines()
    page.write_text(page_of([json.loads(line) for line in lines]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
