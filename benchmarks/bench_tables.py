"""What reading a large table costs, beside what pandas needs for it."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import Table, csv
from timing import Row, ratio

from certivote.tables import read_table

TITLE = "Tables"
ROWS = 1_000_000


def write_table(path: Path, quotes: bool) -> None:
    """Write 50 columns: 40 of numbers, 5 of them with gaps, names, days, truths and a label."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"x{j}": rng.normal(size=ROWS) for j in range(15)}
    columns |= {f"short{j}": rng.normal(size=ROWS).round(6) for j in range(15)}
    columns |= {f"whole{j}": rng.integers(0, 1000 * (j + 1), ROWS) for j in range(10)}
    for j in range(5):
        columns[f"gaps{j}"] = np.where(rng.random(ROWS) < 0.1, np.nan, columns[f"short{j}"])
    towns = np.array([f"town {i}" for i in range(20)])
    columns |= {f"town{j}": rng.choice(towns, ROWS) for j in range(2)}
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, ROWS), unit="D")
    columns["day"] = days.strftime("%Y-%m-%d")
    columns["truth"] = rng.random(ROWS) < 0.5
    columns["label"] = rng.choice(["no", "yes"], ROWS)
    style = csv.WriteOptions(quoting_style="needed" if quotes else "none")
    csv.write_csv(Table.from_pandas(pd.DataFrame(columns), preserve_index=False), path, style)


def reading(quotes: bool) -> float:
    """Return the least time of reading over that of pandas with pyarrow."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_table(path, quotes)
        return ratio(
            lambda: read_table(path, "label"), lambda: pd.read_csv(path, engine="pyarrow"), of=min
        )


def run() -> list[Row]:
    what = f'`read_table`, {ROWS:,} rows × 50 columns of CSV, over `read_csv(engine="pyarrow")`'
    return [
        Row(f"{what}, least of five", reading(quotes=False), 1.3),
        Row(f"{what}, text in quotes", reading(quotes=True), 1.3),
    ]
