"""Tables between marks in a page, and which version of the program made them."""

import certivote

__all__ = ["mark_of", "replaced"]


def mark_of(name: str) -> str:
    """Return the line before a table."""
    return f"<!-- table {name} -->\n"


def replaced(page: str, mark: str, table: str) -> str:
    """Return the page with a new table between its marks, and which version made it."""
    begin = mark_of(mark)
    if begin not in page:
        raise ValueError(f"the page must have the line {begin.strip()!r}, and end it with a mark.")
    before, _, rest = page.partition(begin)
    _, end, after = rest.partition("<!-- end -->")
    made_by = f"*Made by certivote {certivote.__version__}.*"
    return f"{before}{begin}\n{table}\n{made_by}\n\n{end}{after}"
