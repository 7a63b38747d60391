"""Turn the rows of a long run into a page: python tests/validity/table.py ROWS docs/validity.md.

``CERTIVOTE_VALIDITY_TABLE=rows make validity`` writes the rows.
"""

import sys
from pathlib import Path

PAGE = """# Do the certificates hold?

A certificate at δ may fail on a fraction δ of all samples, not more. These are simulations with
known distributions: weights are learned, or chosen by an adversary who knows the truth, and a
failure is a value below the true risk (for bounds on moments also below the bound's own formula at
the true moments). Written by `tests/validity/table.py` from what `make validity` counted, {total}
samples in all; what is not in the table was not run with it. The same simulations catch bounds that
are broken on purpose: more δ than claimed, examples counted twice, learned weights taken for fixed
ones, a forgotten divergence.

A rate may exceed δ a little by chance; the tests refuse one of a probability below 1/10,000. The
largest rate over δ here is {worst}.

"""


def main(source: Path, page: Path) -> None:
    lines = source.read_text(encoding="utf-8").splitlines()[2:]
    rows = sorted(tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in lines)
    ratios = {row: float(row[5]) / float(row[4]) / float(row[3]) for row in rows}
    worst = max(rows, key=lambda row: ratios[row])
    text = PAGE.format(
        total=f"{sum(int(row[4]) for row in rows):,}",
        worst=f"{ratios[worst]:.3f} ({worst[1]}, {worst[0]})",
    )
    table = ["| scenario | bound | constant | δ | samples | failures | rate |", "|---" * 7 + "|"]
    table += ["| " + " | ".join(row) + " |" for row in rows]
    page.write_text(text + "\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
