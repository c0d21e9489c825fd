"""From the command to the page."""

import sys
from dataclasses import replace

from experiments import __main__ as command
from experiments.grid import Column


def test_options_come_from_the_environment_too(monkeypatch):
    monkeypatch.setenv("ONLY", "table-mnist-ssl figure-iterations")
    monkeypatch.setenv("QUICK", "1")
    options = command.parse([])
    assert options.only == ["table-mnist-ssl", "figure-iterations"]
    assert command.places(options, command.PAGE).page.parts[:2] == ("build", "quick")
    monkeypatch.setenv("QUICK", "0")
    monkeypatch.setenv("ONLY", "")
    assert command.places(command.parse([]), command.PAGE).page.parts[0] == "docs"


def test_a_quick_run_from_the_command_to_the_page(fakes, tmp_path, capsys):
    arguments = ["--only", "table-fake", "--quick", "--jobs", "1", "--results", str(tmp_path / "results")]
    arguments += ["--page", str(tmp_path / "page.md"), "--figures", str(tmp_path / "figures")]
    assert command.main(arguments) == 0
    assert fakes.calls == [("raw", 0), ("clever", 0)]
    text = (tmp_path / "page.md").read_text()
    assert "| Raw | 70.0 |" in text
    assert "a rehearsal" in text
    assert "| Clever | **80.0**, unsafe 0/1 |" in text
    printed = capsys.readouterr().out
    assert "table-fake: A table of fakes" in printed
    assert "2 runs, 0 of them stored" in printed
    assert command.main(arguments) == 0  # everything is there
    assert len(fakes.calls) == 2
    assert "2 runs, 2 of them stored" in capsys.readouterr().out
    assert command.main(["--only", "table-none"]) == 2


def test_a_failure_ends_the_command_with_one(fakes, tmp_path, capsys):
    table = sys.modules["experiments.tables.fake"]
    grid = replace(table.grid, columns=[Column("broken", "fake", {"rate": 0.9}), *table.grid.columns])
    table.runs, table.render = grid.runs, grid.render
    arguments = ["--quick", "--jobs", "1", "--results", str(tmp_path / "results"), "--page", str(tmp_path / "page.md")]
    assert command.main([*arguments, "--figures", str(tmp_path)]) == 1
    assert len(fakes.calls) == 4
    assert "| Raw | – | 70.0 |" in (tmp_path / "page.md").read_text()
    printed = " ".join(capsys.readouterr().out.split())
    assert "raw on fake, rate 0.9, seed 0: RuntimeError: no such luck" in printed
    assert (tmp_path / "results" / "errors.txt").read_text().count("Traceback") == 2
    assert command.main([*arguments, "--figures", str(tmp_path)]) == 1  # what failed is tried again, and nothing else
    assert fakes.calls[4:] == [("raw", 0), ("clever", 0)]
    assert (tmp_path / "results" / "errors.txt").read_text().count("Traceback") == 2  # of the last command
