"""Take the picture of a certificate's page: python docs/build/picture.py docs/images/report.png.

The table is that of docs/ten-minutes.md, so that the picture shows its number. It needs chromium on
PATH, and the extras ``cli``, ``plot`` and ``test``; `make tables` takes it.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

# The top of the page, to its first rule, at twice the pixels of a plain screen.
WIDTH, SCALE = 900, 2
# Chromium's own sandbox cannot be had by root, in containers; the page is the program's own.
ARGUMENTS = ["--no-sandbox", "--no-first-run", "--disable-background-networking"]


def certified(folder: Path) -> Path:
    """Certify the table in a folder, and return the page."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(diagnosis=data.target_names[data.target])
    table.to_csv(folder / "tumours.csv", index=False)
    command = [sys.executable, "-m", "certivote", "certify", "tumours.csv"]
    subprocess.run([*command, "--target", "diagnosis", "--quiet"], cwd=folder, check=True)
    return folder / "tumours-certificate" / "report.html"


def take(page_of: Path, out: Path) -> None:
    """Write the top of a page as a picture."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("picture.py: there is no chromium on PATH.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": WIDTH, "height": 800}, device_scale_factor=SCALE)
        page.goto(page_of.as_uri())
        below = page.get_by_text("What it says", exact=True).bounding_box()
        assert below is not None
        height = below["y"] - 30
        page.screenshot(path=out, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()


def main(out: str) -> None:
    """Certify, and take the picture."""
    with TemporaryDirectory() as folder:
        take(certified(Path(folder)), Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
