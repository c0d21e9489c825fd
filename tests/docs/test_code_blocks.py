"""The Python of the pages runs as printed, block after block, and prints what they say that it prints."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ELSEWHERE = {  # pages whose blocks need what is not here
    "datasets.md": "downloads",
    "methods.md": "the rows of the guide",
    "run-format.md": "a run folder",
}
# A block, the mark above one that is not to be run, and the output below it, four spaces in.
BLOCK = re.compile(
    r"(?P<skipped><!-- not run: .+ -->\n)?```python\n(?P<code>(?s:.*?))```\n(?:\n(?P<output>(?: {4}.+\n)+))?"
)


def blocks(page: str) -> list[re.Match]:
    return list(BLOCK.finditer((DOCS / page).read_text()))


PAGES = sorted(page.name for page in DOCS.glob("*.md") if page.name not in ELSEWHERE and blocks(page.name))


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text, names = (DOCS / page).read_text(), {}
    run = [block for block in blocks(page) if not block["skipped"]]
    assert run
    for block in run:
        above = "\n" * text.count("\n", 0, block.start("code"))  # a traceback names the line of the page
        exec(compile(above + block["code"], str(DOCS / page), "exec"), names)
        printed = capsys.readouterr().out
        if block["output"]:
            assert _words(printed) == _words(block["output"])


def test_every_block_is_found_once():
    for page in [*PAGES, *ELSEWHERE]:
        assert len(blocks(page)) == (DOCS / page).read_text().count("```python")


def _words(text: str) -> list[str]:
    return text.split()
