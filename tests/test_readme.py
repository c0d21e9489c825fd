"""What the README and the demo print is what they do."""

import io
import re
from pathlib import Path

from rich.console import Console

from safegain import Recipe, demo


def test_the_readmes_example_runs_as_printed(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(block.strip().splitlines()) <= 12
    exec(compile(block, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "Safe: better than the reference" in out
    assert "Certified at level 0.05" in out
    assert "suggested" in out


def test_the_demo_shows_what_it_promises(monkeypatch):
    plain = demo.PGSClassifier
    monkeypatch.setattr(demo, "PGSClassifier", lambda **settings: plain(**settings, recipe=Recipe(n_steps=200)))
    console = Console(record=True, width=100, file=io.StringIO())
    demo.digits(console)
    demo.diabetes(console)
    text = console.export_text()
    for words in ("raw labels", "the best reference", "PGS", "Safe: better", "Certified", "ten most suspicious"):
        assert words in text
