"""Tables between marks in a page, and which version of the program made them."""

import certivote

__all__ = ["made_by", "mark_of", "replaced"]


def mark_of(name: str) -> str:
    """Return the line before a table."""
    return f"<!-- table {name} -->\n"


def replaced(page: str, mark: str, table: str) -> str:
    """Return the page with a new table between its marks."""
    begin = mark_of(mark)
    if begin not in page:
        raise ValueError(f"the page must have the line {begin.strip()!r}, and end it with a mark.")
    before, _, rest = page.partition(begin)
    _, end, after = rest.partition("<!-- end -->")
    return before + begin + "\n" + table + "\n" + end + after


def made_by() -> str:
    """Return a line that says which version of the program made the numbers above it."""
    return f"*Made by certivote {certivote.__version__}.*"
