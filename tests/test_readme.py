"""What the README prints is what it does. Its quick start is run line by line by `make quickstart`."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_readmes_example_runs_as_printed(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(block.strip().splitlines()) <= 12
    exec(compile(block, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "Safe: better than the reference" in out
    assert "Certified at level 0.04" in out
    assert "suggested" in out


def test_there_is_one_quick_start_for_the_script_that_runs_it():
    (block,) = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    assert "safegain demo" in block


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (Path(__file__).parents[1] / link).exists(), link
