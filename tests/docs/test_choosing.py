"""The tables of docs/certificates.md: every certificate of a task, against votes made by hand."""

import math
import re

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeClassifier

import reference
from certivote import __version__
from certivote.bounds import list_bounds
from certivote.datasets import load
from certivote.reproduce.protocol import prepare

MARKS = ("certificates", "test risks", "seconds", "stumps", "stumps test risks", "many stumps")
PAGE = "# Title\n\n" + "\n".join(f"<!-- table {mark} -->\nold\n<!-- end -->" for mark in MARKS)


def rows_of(page, mark):
    body = re.search(f"<!-- table {mark} -->\n(.*?)<!-- end -->", page, re.DOTALL)[1]
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in body.splitlines()
        if line.startswith("|")
    ]
    return {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[2:]}


@pytest.fixture(scope="module")
def choosing(script):
    return script("choosing")


@pytest.fixture(scope="module")
def pages(choosing, tmp_path_factory, reference_path):
    path, summary = (tmp_path_factory.mktemp("page") / name for name in ("page.md", "summary.md"))
    path.write_text(PAGE, encoding="utf-8")
    summary.write_text("<!-- table means -->\nold\n<!-- end -->\n", encoding="utf-8")
    choosing.main(["glass", "--quiet", "--page", str(path), "--summary", str(summary)])
    return path.read_text(encoding="utf-8"), summary.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(pages):
    return pages[0]


def test_the_means_of_one_task_are_its_figures_and_the_smallest_is_first(pages):
    page, summary = pages
    means = {name.strip("`"): row for name, row in rows_of(summary, "means").items()}
    for what, column in (
        ("certificates", "mean certificate"),
        ("test risks", "mean error on test rows"),
    ):
        figures = rows_of(page, what)["glass"]
        assert {name: row[column] for name, row in means.items()} == figures
    limits = [float(row["mean certificate"]) for row in means.values()]
    assert limits == sorted(limits)
    said = f"\n*Made by certivote {__version__}.*\n"
    assert page.count(said) == len(MARKS) - 1  # all but that of many stumps
    assert said in summary


def test_tables_of_one_part_leave_the_others(choosing, page, tmp_path, reference_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    choosing.main(["glass", "--quiet", "--page", str(path), "--part", "stumps"])
    text = path.read_text(encoding="utf-8")
    for mark in ("stumps", "stumps test risks"):
        assert rows_of(text, mark) == rows_of(page, mark)
    assert text.count("\nold\n") == len(MARKS) - 2


def test_every_bound_has_a_column_and_the_rest_of_the_page_stays(page):
    table = rows_of(page, "certificates")
    assert list(table) == ["glass", "mean"]
    assert list(table["glass"]) == list_bounds()[::-1]
    assert page.startswith("# Title\n")
    assert "old" in page.split("<!-- table many stumps -->")[1]  # glass has no part in it
    assert "old" not in page.split("<!-- table many stumps -->")[0]


def test_the_test_of_the_uniform_vote_is_that_of_trees_by_hand(page):
    data = load("glass")
    half = len(data.y_train) // 2
    trees = [
        DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(
            data.X_train[:half], data.y_train[:half]
        )
        for seed in range(100)
    ]

    def errors(X, y):
        margin = sum(tree.predict(X) for tree in trees)
        return int(np.sum(np.where(margin > 0, 1, -1) != y))

    m = len(data.y_train) - half
    k = errors(data.X_train[half:], data.y_train[half:])
    limit = binomtest(k, m, alternative="less").proportion_ci(0.95, method="exact").high
    shown = float(rows_of(page, "certificates")["glass"]["heldout"])
    assert limit <= shown <= limit + 1e-4
    risk = errors(data.X_test, data.y_test) / len(data.y_test)
    assert float(rows_of(page, "test risks")["glass"]["heldout"]) == pytest.approx(risk, abs=5e-5)


def test_the_constants_are_the_smallest_ones(page):
    """Below what the paper has with its own; of the Gibbs risk the one-sided one, in 50 digits."""
    shown = {name: float(value) for name, value in rows_of(page, "certificates")["glass"].items()}
    assert shown["lacasse"] < 0.7980 - 5e-4  # glass, Algorithm 3
    statistics = prepare(load("glass")).statistics
    m, errors = statistics.n_samples, statistics.errors
    limits = []
    for t in np.geomspace(0.01, 2.0, 60):
        q = np.exp(-t * (errors - errors.min()))
        q /= q.sum()
        kl = float(q @ np.log(q * statistics.n_voters))
        limits.append(2 * reference.one_sided_upper(float(q @ errors) / m, kl + math.log(20), m))
    assert min(limits) - 1e-3 < shown["gibbs"] <= min(limits) + 1e-4


def test_weights_of_stumps_earn_their_keep(page):
    row = {name: float(value) for name, value in rows_of(page, "stumps")["glass"].items()}
    assert row["best, learned prior"] < 0.5 * row["heldout"]
    assert row["best"] <= row["heldout"] + 0.01


def test_a_page_without_marks_is_refused(choosing, tmp_path, reference_path):
    path = tmp_path / "page.md"
    path.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match="the page must have the line"):
        choosing.certificates(path, path, ["glass"], quiet=True)
    assert path.read_text(encoding="utf-8") == "nothing"


def test_an_unknown_task_is_refused(choosing, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    with pytest.raises(ValueError, match="unknown task 'grass'"):
        choosing.certificates(path, path, ["grass"])
