"""Follow every link inside the built site: python docs/build/links.py build/html.

Links that leave the site are listed and not followed: the build downloads nothing.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links", "main"]

_ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(HTMLParser):
    """The anchors of a page, and the addresses that it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what can be linked to, and what is linked."""
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        address = values.get(_ADDRESSES.get(tag, ""))
        if address:
            self.addresses.append(address)


def html_files(folder: Path) -> list[Path]:
    """Return the pages of a site; in _static the theme keeps parts of pages."""
    static = folder / "_static"
    return sorted(path for path in folder.rglob("*.html") if not path.is_relative_to(static))


def broken_links(folder: Path) -> tuple[list[str], set[str]]:
    """Return what is wrong with the links of a site, and the addresses outside of it."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in html_files(folder)}
    broken, outside = [], set()
    for path, page in sorted(pages.items()):
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                outside.add(address)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(folder)}: no file {address}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(folder)}: no anchor {address}")
    return broken, outside


def main(folder: Path) -> None:
    """Fail if a link of the site is broken, and list those that leave it."""
    broken, outside = broken_links(folder.resolve())
    (folder / "external-links.txt").write_text("\n".join([*sorted(outside), ""]), encoding="utf-8")
    if broken:
        raise SystemExit("\n".join([*broken, f"{len(broken)} broken links."]))
    print(f"{len(html_files(folder))} pages, no broken link; {len(outside)} links leave the site:")
    print(f"{folder / 'external-links.txt'} lists them.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
