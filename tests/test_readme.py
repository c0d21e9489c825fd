"""What the README and the demo print is what they do."""

import io
import re
from pathlib import Path

from rich.console import Console

from safegain import demo


def test_the_readmes_example_runs_as_printed(capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(block.strip().splitlines()) <= 12
    block = block.replace("PGSClassifier(random_state=0)", "PGSClassifier(n_inner=100, random_state=0)")  # in short
    exec(compile(block, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "not worse than the raw model" in out
    assert "suggested" in out


def test_the_demo_shows_what_it_promises(monkeypatch):
    short = {"n_inner": 30, "n_outer": 4, "lr_outer": 0.2}
    plain = demo.PGSClassifier
    monkeypatch.setattr(demo, "PGSClassifier", lambda **settings: plain(**settings | short))
    console = Console(record=True, width=100, file=io.StringIO())
    demo.digits(console)
    demo.diabetes(console)
    text = console.export_text()
    for words in ("raw labels", "trusted rows only", "PGS", "Safe: not worse", "ten most suspicious"):
        assert words in text
