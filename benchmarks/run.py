"""Measure every figure, print it, and write benchmarks/README.md: ``make bench``."""

import argparse
import importlib
import platform
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import certivote

HERE = Path(__file__).parent
# What tests know about bounds, benchmarks read too.
sys.path.append(str(HERE.parent / "tests"))

HEADER = """# Benchmarks

How fast the program is, beside something that everybody knows, and how much memory it takes. Each
figure is compared with a limit that was set before it was measured; what is not met is in bold.

Written by `make bench`. Times are ratios of medians of five, the two sides called in turn in one
run, with BLAS on one thread; certificates are rounded up.

"""


def section(name: str) -> tuple[str, bool]:
    module = importlib.import_module(name)
    lines = [f"## {module.TITLE}", "", "| | figure | limit | |", "|---|---|---|---|"]
    met = True
    for row in module.run():
        digits = 6 if row.limit < 1 and "minima" in name else 3
        figure = np.ceil(row.figure * 10**digits) / 10**digits
        mark = "met" if row.met else "**not met**"
        limit = f"{row.limit:.{digits}f}"
        if row.at_least > 0.0:
            least = f"{row.at_least:.{digits}f}"
            limit = f"{least} to {limit}" if np.isfinite(row.limit) else f"at least {least}"
        lines.append(f"| {row.what} | {figure:.{digits}f} | {limit} | {mark} |")
        met &= row.met
    # A section may have something to add, such as where the time went.
    lines += ["", *module.remarks()] if hasattr(module, "remarks") else []
    text = "\n".join(lines) + "\n"
    print(text, flush=True)
    return text, met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    every = sorted(path.stem for path in HERE.glob("bench_*.py"))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(every)}; all if none is given"
    )
    names = parser.parse_args().names
    with threadpool_limits(1, user_api="blas"):
        sections = [section(name) for name in names or every]
    versions = (
        f"certivote {certivote.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"{platform.machine()}.\n"
    )
    if not names:
        text = HEADER + "\n".join(text for text, _ in sections) + "\n" + versions
        (HERE / "README.md").write_text(text, encoding="utf-8")
    return 0 if all(met for _, met in sections) else 1


if __name__ == "__main__":
    raise SystemExit(main())
