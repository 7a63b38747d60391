"""Results appear whole or not at all, and plain where no terminal shows colours."""

import json
import re
import subprocess
import sys

import pytest

import certivote.report
from certivote.cli.output import write_folder
from options import trees

ESCAPE = "\x1b"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- whole or not at all -------------------------------------------------------------------------


@pytest.fixture
def broken_report(monkeypatch):
    """A report that breaks off in the middle."""

    def write_report(certificate, path, **details):
        path.write_text("<!doctype html>\n<html")
        raise OSError("no space left on device")

    monkeypatch.setattr(certivote.report, "write_report", write_report)


def test_a_failure_leaves_no_folder(broken_report, invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    done = invoke("certify", "numbers.csv", *trees(2), "-q", cwd=tmp_path, status=2)
    assert done.stderr == "error: no space left on device\n"
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.csv"]


def test_a_failure_leaves_older_results(broken_report, invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("model.joblib", "certificate.json", "report.html", "notes.txt"):
        (folder / name).write_text(f"older {name}")
    before = contents(folder)
    invoke("certify", "numbers.csv", "--out", folder, "-q", cwd=tmp_path, status=2)
    assert contents(folder) == before
    assert {path.name for path in tmp_path.iterdir()} == {"numbers.csv", "results"}


def test_older_results_are_replaced_and_other_files_stay(invoke, numbers, tmp_path):
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("model.joblib", "certificate.json", "report.html", "notes.txt"):
        (folder / name).write_text(f"older {name}")
    invoke("certify", "numbers.csv", *trees(2), "--out", folder, "-q", cwd=tmp_path)
    after = contents(folder)
    assert after.pop("notes.txt") == b"older notes.txt"
    assert set(after) == {"model.joblib", "model.skops", "certificate.json", "report.html"}
    assert not any(text.startswith(b"older") for text in after.values())
    assert {path.name for path in tmp_path.iterdir()} == {"numbers.csv", "results"}


def test_a_folder_of_files(tmp_path):
    def write(text):
        return lambda path: path.write_text(text)

    def fail(path):
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "new", {"a": write("A"), "b": fail})
    assert list(tmp_path.iterdir()) == []
    written = write_folder(tmp_path / "new", {"a": write("A"), "b": write("B")})
    assert [path.read_text() for path in written] == ["A", "B"]
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o755
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "new", {"a": write("other"), "b": fail})
    assert contents(tmp_path / "new") == {"a": b"A", "b": b"B"}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_pipe_that_closes_is_no_traceback(command, tmp_path, certified):
    # What `certivote predict … | head -1` does.
    arguments = [*command, "predict", str(certified.model_path), str(certified.data)]
    process = subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in errors


# --- colours -------------------------------------------------------------------------------------


def test_no_escape_sequences_outside_a_terminal(certified, run, tmp_path):
    assert ESCAPE not in certified.stdout + certified.stderr
    for arguments in (("--help",), ("certify", "--help"), ("bound", "--help")):
        done = run(*arguments, cwd=tmp_path)
        assert ESCAPE not in done.stdout + done.stderr
    done = run("certify", "--nonsense", cwd=tmp_path, status=2)
    assert ESCAPE not in done.stdout + done.stderr


# Colours in the foreground or the background, and not bold (1) or dim (2).
COLOURS = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;\d]*m")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_has_colours_unless_it_is_told_not_to(on_a_terminal, certified, tmp_path):
    assert COLOURS.search(on_a_terminal("certify", "--help", cwd=tmp_path))
    plain = on_a_terminal("certify", "--help", cwd=tmp_path, NO_COLOR="1")
    assert "Usage" in plain
    assert not COLOURS.search(plain)
    shown = on_a_terminal("verify", certified.certificate_path, cwd=tmp_path, NO_COLOR="1")
    assert "The arithmetic is right." in shown
    assert not COLOURS.search(shown)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_has_a_drawn_table_with_the_same_cells(on_a_terminal, invoke, tmp_path):
    arguments = ("bound", "--gibbs", 0.2, "--disagreement", 0.3, "-m", 1000)
    drawn = on_a_terminal(*arguments, cwd=tmp_path)
    bare = re.sub(r"\x1b\[[;\d]*m", "", drawn)
    cells = [re.findall(r"[\w.]+", line) for line in bare.splitlines()]
    for name, value in json.loads(invoke(*arguments, "--json", cwd=tmp_path).stdout).items():
        (row,) = (cell for cell in cells if cell[:1] == [name])
        assert 0 <= float(row[1]) - value < 1e-4
