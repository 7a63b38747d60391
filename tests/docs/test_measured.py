"""What docs/build/measured.py takes from what a program prints."""


def test_tables_are_taken_and_kept_apart(script):
    first, second = "| a | b |\n|:--|:-:|\n| 1 | 2 |\n| – | 3 |\n", "| c |\n|---|\n| 4 |\n"
    printed = f"a word\n{first}said between\n{second}the end\n"
    assert script("measured").tables_in(printed) == f"{first}\n{second}"


def test_every_page_has_a_place_for_its_table_and_every_program_is_there(script):
    measured = script("measured")
    for page, program in measured.PAGES.items():
        text = (measured.DOCS / page).read_text(encoding="utf-8")
        assert text.count("<!-- table measured -->") == text.count("<!-- end -->") == 1
        assert (measured.DOCS.parent / "benchmarks" / program).is_file()
