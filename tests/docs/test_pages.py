"""What pages of the documentation show is what a reader gets."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["panel.md", "out-of-bag.md", "fewer-voters.md"])
def test_the_examples_of_a_page_run(name):
    # A fence ends an example: to doctest it would be a line of what is expected.
    text = (DOCS / name).read_text(encoding="utf-8")
    example = doctest.DocTestParser().get_doctest(text, {}, name, str(DOCS / name), 0)
    assert len(example.examples) > 5
    result = doctest.DocTestRunner().run(example)
    assert result.failed == 0
