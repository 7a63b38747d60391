"""What pages of the documentation show is what a reader gets."""

import ast
import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from certivote.claims.sheet import FAMILIES
from certivote.statistics import kinds

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if "auto_examples" not in path.parts
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in PAGES if ">>> " in text_of(name)])
def test_the_examples_of_a_page_run(name, registry, monkeypatch, tmp_path):
    """Commands come after all code of the page, whose files they read."""
    # What a page registers is forgotten, and what it writes is not written here.
    known = dict(registry)
    monkeypatch.setattr(kinds, "KINDS", dict(kinds.KINDS))
    families = dict(FAMILIES)
    monkeypatch.chdir(tmp_path)
    # A fence ends an example: to doctest it would be a line of what is expected.
    example = doctest.DocTestParser().get_doctest(text_of(name), {}, name, str(DOCS / name), 0)
    assert len(example.examples) > 5
    try:
        result = doctest.DocTestRunner().run(example)
    finally:
        for table, before in ((registry, known), (FAMILIES, families)):
            table.clear()
            table.update(before)
    assert result.failed == 0
    for command, expected in sessions(text_of(name)):
        words = [sys.executable, "-m", "certivote", *shlex.split(command)[1:]]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert set(expected) <= set((done.stdout + done.stderr).splitlines())


def sessions(text):
    """Yield each command of a page that shows what it prints, and the lines that it shows."""
    for _, body in (found for found in FENCE.findall(text) if found[0] == "console"):
        for part in body.split("$ ")[1:]:
            command, *expected = part.splitlines()
            yield command, expected


def blocks(language):
    pages = [*PAGES, "../README.md", "../CONTRIBUTING.md"]
    return [
        (name, body)
        for name in pages
        for lang, body in FENCE.findall(text_of(name))
        if lang == language
    ]


@pytest.mark.parametrize(("name", "body"), blocks("python"))
def test_other_code_can_be_read(name, body):
    """Code that needs a reader's own data is not run, but it is Python."""
    if ">>> " not in body:
        ast.parse(body)


def commands():
    bodies = [body for language in ("", "console") for _, body in blocks(language)]
    lines = [line for body in bodies for line in body.replace("\\\n", " ").splitlines()]
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?certivote ", line)]


@pytest.mark.parametrize("line", commands())
def test_every_command_and_option_exists(line):
    from certivote.cli.app import app

    _, *words = shlex.split(line, comments=True)
    group = typer.main.get_command(app)
    context = click.Context(group)
    command = group.get_command(context, words[0])
    if words[0].startswith("-"):
        command = group
    assert command is not None, words[0]
    known = {option for param in command.get_params(context) for option in param.opts}
    assert {word for word in words if re.match("--?[a-z]", word)} - known == set()


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    inside = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert len(inside) > 10
    assert [link for link in inside if not (ROOT / link).exists()] == []


def test_commands_were_found():
    assert len(commands()) > 20


def test_the_means_of_the_comparison_are_those_of_the_pages_that_commands_write():
    shown = re.findall(r"^\| (.*?) \| (0\.[0-9]{3}) \| \[", text_of("comparison.md"), re.MULTILINE)
    (authors,) = re.findall(
        r"tighter bounds … \| .*? mean bound (0\.\d{3})", text_of("reproduction.md")
    )
    means = dict(re.findall(r"^\| `(\w+)` \| (0\.\d{4}) \|", text_of("choosing.md"), re.MULTILINE))
    expected = [authors, *(means[name] for name in ("lacasse", "best", "heldout"))]
    assert len(shown) == 4
    assert [float(mean) for _, mean in shown] == [round(float(mean), 3) for mean in expected]
