"""The page of the reproduction: the paper's sentences, the differences and the time."""

import re
from dataclasses import replace

import pytest

import certivote
from certivote.reproduce import LEARNERS, RecordStore, Table1, read_reference, run
from certivote.reproduce.run import time_spent
from certivote.reproduce.table import Cell

QUICK = ("glass", "wdbc")


@pytest.fixture(scope="module")
def reproduction(script):
    return script("reproduction")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def table(reference_path, folder):
    return Table1(run(RecordStore(folder / "records"), QUICK), read_reference(reference_path))


def test_sentences_can_be_true_and_false(reproduction):
    def results(**bounds):
        cells = {("glass", x): Cell(0.2, 0.99) for x in LEARNERS}
        return reproduction.Results(cells | {("glass", x): Cell(0.1, b) for x, b in bounds.items()})

    worst, tightest, *_ = reproduction.SENTENCES
    good = results(mcallester=0.9, seeger=0.8, lacasse=0.7)
    bad = results(mcallester=0.7, seeger=0.8, lacasse=0.9)
    assert worst.test(good).holds
    assert not worst.test(bad).holds
    assert tightest.test(good).holds
    assert not tightest.test(bad).holds
    assert "glass" in tightest.test(bad).because


def test_every_sentence_is_tested_by_the_right_figures(reproduction):
    """Two tasks by hand: on the first all that the paper says is true, on the second nothing."""
    paper = {
        "mcallester": (0.20, 0.6),
        "seeger": (0.20, 0.5),
        "lacasse": (0.10, 0.4),
        "cb-boost": (0.15, 0.5),
        "mincq": (0.15, 0.95),
        "masegosa": (0.11, 0.5),
        "2r": (0.30, 0.3),
    }
    against = {
        "mcallester": (0.10, 0.4),
        "seeger": (0.10, 0.5),
        "lacasse": (0.30, 0.6),
        "cb-boost": (0.15, 0.5),
        "mincq": (0.15, 0.5),
        "masegosa": (0.11, 0.5),
        "2r": (0.10, 0.7),
    }

    def verdicts(**tasks):
        cells = {(t, x): Cell(*cell) for t, row in tasks.items() for x, cell in row.items()}
        return [sentence.test(reproduction.Results(cells)) for sentence in reproduction.SENTENCES]

    assert all(verdict.holds for verdict in verdicts(glass=paper))
    assert not any(verdict.holds for verdict in verdicts(glass=against))
    for verdict in verdicts(glass=paper, heart=against):
        assert not verdict.holds
        assert not re.search(r"\b0 of 2|\b2 of 2", verdict.because)
        # The first mean is of Algorithm 3: (0.4 + 0.6)/2 of bounds, (0.1 + 0.3)/2 of risks.
        if "mean" in verdict.because:
            assert re.search(r"mean (bound 0\.500|risk 0\.200) against", verdict.because)


def test_page_tells_the_sentences_and_the_time(reproduction, table):
    page = reproduction.document(table)
    n = len(reproduction.SENTENCES)
    assert page.count("**true**") + page.count("**false**") == 2 * n
    spent = time_spent(list(table.records.values()))
    assert spent["voters"] > 0
    assert f"| {spent['bounds']:.1f} |" in page


def test_page_tells_the_versions_of_its_records(reproduction, table):
    records = list(table.records.values())
    assert f"with certivote {certivote.__version__}." in reproduction.document(table)
    older = [replace(records[0], certivote_version="0.0.1"), *records[1:]]
    page = reproduction.document(Table1(older, table.reference))
    assert f"with certivote 0.0.1 and {certivote.__version__}." in page


def test_a_run_of_some_learners_or_without_the_paper_has_a_page(reproduction, table):
    records = [record for record in table.records.values() if record.learner == "lacasse"]
    assert "only some of them" in reproduction.document(Table1(records, table.reference))
    page = reproduction.document(Table1(list(table.records.values())))
    assert page.count("| – |") == len(QUICK) + len(reproduction.SENTENCES)


def test_the_script_writes_the_page_and_its_pictures(reproduction, table, folder, capsys):
    page = folder / "pages" / "page.md"
    page.parent.mkdir()
    reproduction.main([*QUICK, "--out", str(folder), "--page", str(page)])
    assert page.read_text(encoding="utf-8") == reproduction.document(
        table, ["pairwise.png", "planes-1.png"]
    )
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "page.md",
        "pairwise.png",
        "planes-1.png",
    ]
    assert "Minimising bounds" in capsys.readouterr().out
