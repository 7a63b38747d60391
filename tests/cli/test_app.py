"""The command itself: help, version, completion, and how little it loads."""

import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest

import certivote
from certivote.bounds import list_bounds

COMMANDS = [
    *("certify", "predict", "verify", "compare", "compare-models"),
    *("bound", "plan", "datasets", "reproduce"),
]


def python(*arguments, cwd, status=0):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, encoding="utf-8", timeout=60
    )
    assert done.returncode == status, done.stderr
    return done


# --- help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_that_the_command_understands(name, invoke, tmp_path):
    text = invoke(name, "--help", cwd=tmp_path, COLUMNS="300").stdout
    assert invoke(name, "-h", cwd=tmp_path, COLUMNS="300").stdout == text
    assert "--debug" in text
    (example,) = re.findall(rf"Example: certivote ({name}.*?)\s*$", text, re.MULTILINE)
    for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", example):
        assert re.search(rf"(?<!\S){option}(?!\S)", text)


@pytest.mark.parametrize("name", ["bound", "plan", "datasets"])
def test_examples_that_need_no_file_run(name, invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("CERTIVOTE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = invoke(name, "--help", cwd=tmp_path, COLUMNS="300").stdout
    (example,) = re.findall(rf"Example: certivote ({name}.*?)\s*$", text, re.MULTILINE)
    assert invoke(*example.split(), cwd=tmp_path).stdout


@pytest.mark.parametrize("name", ["certify", "predict", "verify", "compare-models"])
def test_help_says_that_a_model_runs_code(name, invoke, tmp_path):
    text = " ".join(invoke(name, "--help", cwd=tmp_path, COLUMNS="300").stdout.split())
    assert "runs code that is in it: name only a file that you trust" in re.sub(
        r"[│\s]+", " ", text
    )


def test_no_command_shows_them_all(run, tmp_path):
    done = run(cwd=tmp_path, status=2)
    for name in COMMANDS:
        assert re.search(rf"(?<!\S){name}(?!\S)", done.stdout + done.stderr)


def test_the_module_is_the_command(run, tmp_path):
    module = python("-m", "certivote", "--help", cwd=tmp_path)
    assert module.stdout == run("--help", cwd=tmp_path).stdout
    assert "certivote certify" in module.stdout


def test_version(run, tmp_path):
    assert run("--version", cwd=tmp_path).stdout == f"certivote {certivote.__version__}\n"
    assert certivote.__version__ == version("certivote")


# --- completion ----------------------------------------------------------------------------------


def complete(run, line, cwd):
    words = line.split(" ")
    done = run(
        cwd=cwd,
        _CERTIVOTE_COMPLETE="complete_bash",
        COMP_WORDS=line,
        COMP_CWORD=str(len(words) - 1),
    )
    return done.stdout.split()


def test_a_shell_completes(run, tmp_path):
    assert set(COMMANDS) <= set(complete(run, "certivote ", tmp_path))
    assert complete(run, "certivote certify --bound ", tmp_path) == list_bounds()
    names = complete(run, "certivote compare letter", tmp_path)
    assert names == ["letter:AvsB", "letter:DvsO", "letter:OvsQ"]


def test_completion_can_be_shown(command, tmp_path):
    # The shell is named, as the one that runs the tests may be any.
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [*command, "--show-completion", "bash"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "complete -o default -F" in done.stdout
    assert "_CERTIVOTE_COMPLETE=complete_bash" in done.stdout


# --- what is loaded ------------------------------------------------------------------------------


def test_the_command_line_starts_without_the_heavy_libraries(tmp_path):
    script = (
        "import sys, certivote.cli.app; "
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'joblib') "
        "if name in sys.modules])"
    )
    assert python("-c", script, cwd=tmp_path).stdout == "[]\n"


@pytest.mark.parametrize("start", ["from certivote.cli import main; main()", "module"])
def test_without_typer_one_sentence_names_the_extra(start, tmp_path):
    if start == "module":
        start = "import runpy; runpy.run_module('certivote', run_name='__main__')"
    script = f"import sys; sys.modules['typer'] = None; sys.argv = ['certivote']; {start}"
    done = python("-c", script, cwd=tmp_path, status=1)
    (line,) = done.stderr.splitlines()
    assert "pip install 'certivote[cli]'" in line
    assert done.stdout == ""


def test_without_pandas_one_sentence_names_the_extra(tmp_path):
    (tmp_path / "table.csv").write_text("x,y\n1,0\n2,1\n")
    script = (
        "import sys; sys.modules['pandas'] = None; "
        "sys.argv = ['certivote', 'certify', 'table.csv']; "
        "from certivote.cli import main; main()"
    )
    done = python("-c", script, cwd=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "pip install 'certivote[cli]'" in line
