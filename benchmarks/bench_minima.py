"""The smallest certificates on wdbc, against the best known ones."""

from timing import Row

from certivote import minimize
from certivote.bounds import get_bound
from reference import REFERENCES, wdbc_statistics

TITLE = "Minima on wdbc (δ = 0.05, the paper's constants), at most 2e-4 above the best known"


def run() -> list[Row]:
    statistics = wdbc_statistics()
    best = {name: entry.minimum.value for name, entry in REFERENCES.items() if entry.minimum}
    bounds = {name: get_bound(name, constant="maurer") for name in best}
    minima = {name: minimize(bound, statistics).value for name, bound in bounds.items()}
    rows = [Row(name, minima[name], best[name] + 2e-4) for name in best]
    cocob = minimize(bounds["lacasse"], statistics, solver="cocob").value
    return [*rows, Row("lacasse by cocob (T = 2000)", cocob, minima["lacasse"] + 1e-4)]
