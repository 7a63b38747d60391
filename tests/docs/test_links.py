"""The checker of the site's links finds what is broken, and nothing else."""

import pytest

GOOD = '<h1 id="top">t</h1><a href="other.html#there">x</a><a href="#top">y</a><img src="a.png">'


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "other.html").write_text(
        '<p id="there"><a href="https://example.org/page#x">out</a>', encoding="utf-8"
    )
    (tmp_path / "a.png").write_bytes(b"")
    return tmp_path


def test_a_whole_site_passes(script, site, capsys):
    script("links").main(site)
    assert "2 pages, no broken link" in capsys.readouterr().out
    listed = (site / "external-links.txt").read_text(encoding="utf-8")
    assert listed == "https://example.org/page#x\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("other.html#there", "gone.html", "index.html: no file gone.html"),
        ("other.html#there", "other.html#here", "index.html: no anchor other.html#here"),
        ('"#top"', '"#bottom"', "index.html: no anchor #bottom"),
        ("a.png", "b.png", "index.html: no file b.png"),
    ],
)
def test_what_is_broken_is_named(script, site, old, new, said):
    (site / "index.html").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        script("links").main(site)
    assert str(stop.value) == f"{said}\n1 broken links."
