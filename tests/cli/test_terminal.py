"""What comes from a file cannot steer a terminal."""

import copy
import json
import unicodedata

import numpy as np
import pandas as pd
import pytest

from certivote._utils.formatting import printable, printable_lines
from certivote.cli.output import note, print_json, print_table, say, show_warning
from options import trees

# Erases the line, goes up one, and erases that too.
ERASE = "\x1b[2K\x1b[1A\x1b[2K"
HOSTILE = [ERASE, "\x9b2K", "a\rb", "a\x08b", "a\x7fb", "\u202egnp", "\u2066x\u2069", "a\u2028b"]


def harmless(text):
    """Whether text holds nothing but printed characters, line ends, and tabs between cells."""
    kinds = {c: unicodedata.category(c) for c in text if c not in "\n\t"}
    return not [c for c, kind in kinds.items() if kind in ("Cc", "Zl", "Zp", "Cs", "Cf")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (ERASE, r"\x1b[2K\x1b[1A\x1b[2K"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x00\x7f\x85\x9b", r"\x00\x7f\x85\x9b"),
        ("\u2028\u2029\u202a\u202e\u2066\u2069", r"\u2028\u2029\u202a\u202e\u2066\u2069"),
        ("\udcff", r"\udcff"),
        # Letters of any script, marks, spaces and backslashes are as they were.
        ("größe 尺寸 גובה e\u0301 \u00a0 \\x1b 🎈", "größe 尺寸 גובה e\u0301 \u00a0 \\x1b 🎈"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown
    assert printable_lines(f"{text}\n") == ("a\nb\\tc\\rd\n" if "\n" in text else f"{shown}\n")


def test_every_control_character_is_escaped():
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp", "Cs"):
            assert printable(chr(code)).startswith("\\")


@pytest.mark.parametrize("text", HOSTILE)
def test_all_that_is_printed(text, capsys):
    say(f"  dropped {text}")
    note(text)
    print_table([text, "b"], [["[red]x", text]])
    print_json({text: text})
    show_warning(UserWarning(text))
    printed = capsys.readouterr()
    assert harmless(printed.out)
    assert harmless(printed.err.replace("\n", ""))
    assert printed.out.count(printable(text)) >= 3
    assert json.loads(printed.out[printed.out.index("{") :]) == {text: text}


def test_a_cell_of_a_table_is_no_markup(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(["name"], [["[bold red]x[/]"]])
    assert "[bold red]x[/]" in capsys.readouterr().out


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_field_of_a_certificate_cannot_erase_the_error(debug, certified, invoke, tmp_path):
    fields = copy.deepcopy(certified.certificate)
    fields["\x1b[2K\x1b[1AThe certificate holds up."] = 1
    (tmp_path / "certificate.json").write_text(json.dumps(fields))
    done = invoke("verify", "certificate.json", *debug, cwd=tmp_path, status=1)
    assert harmless(done.stdout + done.stderr)
    assert done.stderr.startswith("error: the certificate does not hold up: ")
    assert r"\x1b[2K\x1b[1AThe certificate holds up." in done.stderr


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_an_error_that_cannot_be_checked_stays_visible(debug, certified, invoke, tmp_path):
    fields = {**certified.certificate, "format": ERASE}
    (tmp_path / "certificate.json").write_text(json.dumps(fields))
    done = invoke("verify", "certificate.json", *debug, cwd=tmp_path, status=2)
    assert harmless(done.stdout + done.stderr)
    assert "format must be 'certivote certificate'" in done.stderr


def test_names_of_columns_cannot_steer_a_terminal(invoke, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{ERASE}": rng.random(60), "b": rng.random(60)})
    frame = frame.assign(**{ERASE: np.arange(60) % 2})
    frame.to_csv(tmp_path / "table.csv", index=False)
    arguments = ("certify", "table.csv", "--target", ERASE, *trees(2))
    done = invoke(*arguments, "--explain", cwd=tmp_path)
    assert harmless(done.stdout + done.stderr)
    assert r"\x1b[2K\x1b[1A\x1b[2K" in done.stdout
    assert harmless(invoke(*arguments, "--json", cwd=tmp_path).stdout)
    done = invoke("certify", "table.csv", "--target", "zzz", cwd=tmp_path, status=2)
    assert harmless(done.stderr)
    assert r"a\x1b[2K" in done.stderr


def test_a_name_of_several_lines_is_no_line_of_the_result(invoke, tmp_path):
    forged = "y\nWith 95% confidence, the probability is at most 0.0001."
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(60), "b": rng.random(60), forged: np.arange(60) % 2})
    frame.to_parquet(tmp_path / "table.parquet")
    arguments = ("certify", "table.parquet", "--target", forged, *trees(2))
    done = invoke(*arguments, "--explain", cwd=tmp_path)
    lines = [line for line in done.stdout.split("\n") if "at most 0.0001" in line]
    assert lines[0].startswith(r"  y\nWith 95% confidence")
    assert lines[0].endswith("  target")
    assert lines[1].startswith("  target        y")
    assert len(lines) == 2
