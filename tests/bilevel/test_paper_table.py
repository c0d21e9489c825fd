"""docs/method.md says where each equation of the paper is; it must be there, and say so itself."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import safegain.bilevel

TABLE = re.findall(
    r"^\| ([^|]+?) \| [^|]+ \| (`[^|]+`) \| (`[^|]+`) \|$",
    (Path(__file__).parents[2] / "docs" / "method.md").read_text(),
    flags=re.MULTILINE,
)
EQUATIONS = {number for paper, *_ in TABLE if paper.startswith("Eq") for number in re.findall(r"\d+", paper)}


def test_the_table_is_whole():
    assert len(TABLE) >= 20
    ranged = {str(n) for paper, *_ in TABLE if " to " in paper for n in range(*map(int, re.findall(r"\d+", paper)))}
    assert {str(n) for n in range(4, 25)} == EQUATIONS | ranged
    assert {"Algorithm 1", "Algorithm 2"} <= {paper for paper, *_ in TABLE}


@pytest.mark.parametrize(("paper", "files", "names"), TABLE, ids=[f"{paper}, {names}" for paper, _, names in TABLE])
def test_what_it_names_exists_and_carries_the_number(paper, files, names):
    modules = []
    for file in re.findall(r"`([^`]+)`", files):
        assert Path(safegain.bilevel.__file__).with_name(file).is_file()
        modules.append(import_module(f"safegain.bilevel.{file.removesuffix('.py')}"))
    for name in re.findall(r"`([^`]+)`", names):
        first, *rest = name.split(".")
        (home,) = (m for m in modules if getattr(getattr(m, first, None), "__module__", "") == m.__name__)
        found = getattr(home, first)
        for part in rest:
            found = getattr(found, part)
        assert callable(found)
    text = "".join(Path(module.__file__).read_text() for module in modules)
    if paper.startswith(("Eq", "below")):
        for number in re.findall(r"\d+", paper):
            assert f"({number})" in text, f"{files} does not say Eq. ({number})"
    elif paper != "both":
        assert paper in text
