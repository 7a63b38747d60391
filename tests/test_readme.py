"""What the README shows is what a reader gets."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_prints_what_the_readme_says(tmp_path):
    text = README.read_text(encoding="utf-8")
    code, output = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == output
    check = text.split("```python\n")[2].split("```")[0]
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)
