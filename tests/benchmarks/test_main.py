"""`make bench` knows every benchmark and says which bars are missed."""

from importlib import import_module

import pytest
from benchmarks import __main__ as command
from benchmarks.measure import row


@pytest.mark.parametrize(
    "name", ["contest", "convex", "memmap", "peers", "projections", "ranks", "ridge", "table", "unrolled"]
)
def test_every_part_is_known(name):
    assert command.PARTS[name] is import_module(f"benchmarks.{name}").run


def test_rows_are_printed_with_their_bars(monkeypatch, capsys):
    rows = [row("fast", [1.0, 2.0, 3.0], bar=2, noise=1.1), row("slow", [9.0], bar=2)]
    monkeypatch.setattr(command, "PARTS", {"part": lambda: rows, "other": lambda: pytest.fail("not asked for")})
    monkeypatch.setattr("sys.argv", ["benchmarks", "part"])
    command.main()
    printed = capsys.readouterr().out
    assert "fast: 2.00 (1.00 .. 3.00; noise 1.10) <= 2: yes" in printed
    assert "slow: 9.00 (9.00 .. 9.00; noise ) <= 2: NO" in printed
