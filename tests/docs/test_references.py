"""Options, settings and links that the pages name are there."""

import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from safegain.cli import app
from safegain.jobs.settings import claims_of, make_estimator, model_of, safeness_of, search_from_text

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "command-line.md").read_text()
FIT = get_command(app).commands["fit"]
OPTIONS = {name for each in get_command(app).commands.values() for option in each.params for name in option.opts}
OF_TORCHRUN = {"--nproc-per-node"}
READERS = {"model": model_of, "search": search_from_text, "certificate": claims_of, "safeness": safeness_of}


def test_every_option_on_the_page_is_one_of_a_command():
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", PAGE))
    assert {"--model", "--search", "--certificate", "--workspace"} <= named
    assert named - OF_TORCHRUN <= OPTIONS


def test_every_argument_of_the_estimators_that_fit_takes_is_on_the_page():
    settings = {parameter.opts[0] for parameter in FIT.params if getattr(parameter, "rich_help_panel", None)}
    assert all(f"`{name}`" in PAGE for name in settings - {"--image-features"})


@pytest.mark.parametrize("option", READERS)
def test_every_value_on_the_page_is_read(option):
    values = re.findall(rf'--{option} (?:"([^"]+)"|([^\s`"]+))', PAGE)
    assert values
    for quoted, plain in values:
        READERS[option](quoted or plain)


def test_the_message_on_the_page_is_the_one_that_fit_gives():
    with pytest.raises(ValueError) as found:
        make_estimator("classes", {"search": "auto, n_outer=5"})
    assert f"`{found.value}`" in PAGE


def test_the_configuration_on_the_page_is_one_of_fit():
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    found = tomllib.loads(block)
    assert {f"--{name}" for name in found} <= OPTIONS
    make_estimator("classes", {name: str(found[name]) for name in READERS.keys() & found.keys()})


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link, _, place in re.findall(r"\]\((?!http)([^)#]*)(#?)([^)]*)\)", page.read_text()):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not place or place in _anchors(target), place


def _anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
