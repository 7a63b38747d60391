"""The result of ``certivote certify`` stays on a terminal of 80 columns and 24 lines, all of it."""

import re
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from certivote import Certificate
from options import trees

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
COLUMNS, LINES = 80, 24
# What a terminal does: sequences that move or erase, those that only look, and what is shown.
TOKEN = re.compile(r"\x1b\[(?P<n>\d*)(?P<what>[AK])|\x1b\[[?\d;]*[mhl]|(?P<c>[^\x1b])", re.DOTALL)


def screen(printed):
    """The lines that are left on a terminal, the ones that have scrolled off included."""
    lines, row, column, end = [""], 0, 0, 0
    for token in TOKEN.finditer(printed):
        assert token.start() == end, printed[end : token.start()]  # nothing that is not known here
        end, char = token.end(), token["c"]
        if token["what"] == "A":
            row -= int(token["n"] or 1)
            assert row >= 0
        elif token["what"] == "K":
            lines[row] = "" if token["n"] == "2" else lines[row][:column]
        elif char == "\r":
            column = 0
        elif char is not None:
            if char == "\n" or column == COLUMNS:
                row, column = row + 1, column if char == "\n" else 0
                lines += [""] * (row == len(lines))
            if char != "\n":
                before = lines[row].ljust(column)
                lines[row] = before[:column] + char + before[column + 1 :]
                column += 1
    assert end == len(printed)
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n")


def test_the_emulation_does_what_a_terminal_does():
    assert screen("a\r\nb\r\n") == ["a", "b"]
    assert screen("abc\rx") == ["xbc"]
    assert screen("one\r\ntwo\r\n\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1mthree\x1b[0m") == ["three"]
    assert screen("x" * 81 + "\r\ny") == ["x" * 80, "x", "y"]
    assert screen("x" * 80 + "\r\ny") == ["x" * 80, "y"]
    with pytest.raises(AssertionError):
        screen("\x1b[5;1H")


def check(printed, folder):
    """Few lines, the claim and its neighbours last, whole; return the lines and the certificate."""
    lines = screen(printed)
    assert len(lines) <= 20
    assert "━" not in "".join(lines)  # no bar of what is done is left
    certificate = Certificate.from_json(folder / "certificate.json")
    last = " ".join([certificate.claim, *certificate.neighbours.sentences])
    assert " ".join(lines).endswith(last)
    # Lines are broken between words: nothing reaches the edge and goes on below it.
    assert max(map(len, lines)) <= COLUMNS
    return lines, certificate


def test_the_default(on_a_terminal, tmp_path):
    printed = on_a_terminal("certify", cwd=tmp_path, size=(LINES, COLUMNS), TERM="xterm")
    assert "training" in printed  # a bar while there is something to wait for
    lines, _ = check(printed, tmp_path / "breast-cancer-certificate")
    assert lines[0] == "Read 569 rows of breast-cancer: 30 numbers; benign (357), malignant (212)."
    assert len(lines) <= 14


def visits():
    """A table with four findings, and ten columns about which something is unusual."""
    rng, m = np.random.default_rng(0), 200
    y = rng.integers(2, size=m)
    days = pd.date_range("2020-01-01", periods=m).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"patient_id": np.arange(m) // 4, "visit_date": days})
    frame["customer_number"] = rng.integers(40, size=m)
    for j in range(8):
        frame[f"remark {j}"] = [f"w{j}-{word}" for word in rng.integers(60 + 10 * j, size=m)]
    frame["nothing"], frame["constant"] = np.nan, 1
    frame["income"], frame["repaid"] = y + rng.normal(0, 0.6, m), np.where(y == 1, "yes", "no")
    return frame.loc[frame.index.repeat(2)]


def test_four_findings_and_ten_unusual_columns(on_a_terminal, invoke, tmp_path):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    arguments = ("certify", "visits.csv", "--target", "repaid", *trees(10))
    printed = on_a_terminal(*arguments, cwd=tmp_path, size=(LINES, COLUMNS), TERM="xterm")
    lines, certificate = check(printed, tmp_path / "visits-certificate")
    shown = " ".join(" ".join(lines).split())
    assert len(certificate.findings) == 4
    assert "Found, and throws doubt on the claim (in full: --explain, or the page):" in lines
    heads = [text[: text.index(". ") + 1] for text in certificate.findings]
    left = [head for head in heads if f"- {head}" not in shown]
    assert len(left) <= 3
    assert (f"- And {len(left)} more." in lines) is bool(left)
    # All of it is there for whoever asks, and where no terminal is.
    whole = invoke(*arguments, "--explain", cwd=tmp_path).stdout
    plain = invoke(*arguments, cwd=tmp_path).stdout
    for text in certificate.findings:
        assert whole.count(text) == plain.count(text) == 1
    unusual = [line for line in whole.splitlines() if line.startswith(("column '", "the first"))]
    assert len(unusual) >= 10


def test_a_model(on_a_terminal, numbers, tmp_path):
    """With three notes: its file runs code, a certificate is replaced, and there is no .skops."""
    old, new = numbers.iloc[:150], numbers.iloc[150:]
    new.to_csv(tmp_path / "new.csv", index=False)
    model = GradientBoostingClassifier(n_estimators=3, random_state=0)
    joblib.dump(model.fit(old[list("abcde")], old["label"]), tmp_path / "m.joblib")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "certificate.json").write_text("{}")
    arguments = ("certify", "new.csv", "--model", "m.joblib", "--baseline", 1, "--out", "out")
    printed = on_a_terminal(*arguments, cwd=tmp_path, size=(LINES, COLUMNS), TERM="xterm")
    lines, certificate = check(printed, tmp_path / "out")
    assert sum(line.startswith("note: ") for line in lines) == 3
    assert len(certificate.neighbours.sentences) == 3
