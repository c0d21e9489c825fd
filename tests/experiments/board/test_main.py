"""From the command to the board's page."""

from importlib import import_module

import pytest
from experiments.board import __main__ as board
from experiments.board import command
from experiments.board.__main__ import BOARD
from experiments.store import Store


def test_a_rehearsal_from_the_command_to_the_page(tmp_path, capsys):
    arguments = ["--quick", "--jobs", "1", "--only", "digits, instance", "--methods", "all_true"]
    where = ["--results", str(tmp_path), "--page", str(tmp_path / "board.md"), "--figures", str(tmp_path)]
    assert command.play(BOARD, [*arguments, *where]) == 0
    assert "| SVC, all labels true |" in (tmp_path / "board.md").read_text()
    assert "8 runs, 0 of them stored" in capsys.readouterr().out
    assert command.play(BOARD, [*arguments, *where]) == 0
    assert "8 runs, 8 of them stored" in capsys.readouterr().out


def test_what_cannot_be_run_is_told_before_anything_is(tmp_path, capsys, monkeypatch):
    assert command.play(BOARD, ["--only", "nothing like it"]) == 2
    monkeypatch.setattr(command, "carry_out", None)
    assert command.play(BOARD, ["--final", "--quick", "--results", str(tmp_path)]) == 2
    assert "a rehearsal never touches the final sets" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("module", ["board", "number_board"])
def test_final_sets_are_guarded_by_name(module, tmp_path, monkeypatch, capsys):
    main = import_module(f"experiments.{module}.__main__")
    asked = []
    monkeypatch.setattr(main, "refuse_final_run", lambda store, data, *, quick: asked.append(data))
    main.BOARD.refuse_final_run(Store(tmp_path), False)
    assert asked == ["final" if module == "board" else "final_numbers"]


def test_final_sets_wait_until_the_strongest_peers_are_named(tmp_path, monkeypatch, capsys):
    def refuse() -> None:
        raise ValueError("the strongest peers are not named")

    monkeypatch.setattr(board, "refuse_without_strongest", refuse)
    monkeypatch.setattr(command, "carry_out", None)
    assert command.play(BOARD, ["--final", "--results", str(tmp_path)]) == 2
    assert "not named" in capsys.readouterr().out
