"""From the command to the board's page."""

from pathlib import Path

from experiments.board import __main__ as command


def test_other_seeds_are_kept_apart():
    tuning = command.board_places(command.parse(["--seeds", "100", "101"]))
    assert {tuning.page.parts[:2], tuning.store.folder.parts, tuning.figures.parts[:2]} == {("build", "tuning")}
    assert command.board_places(command.parse([])).page == Path("docs/board.md")


def test_a_rehearsal_from_the_command_to_the_page(tmp_path, capsys):
    arguments = ["--quick", "--jobs", "1", "--only", "digits", "--methods", "baseline", "true_labels"]
    where = ["--results", str(tmp_path), "--page", str(tmp_path / "board.md"), "--figures", str(tmp_path)]
    assert command.main([*arguments, *where]) == 0
    assert "| Baseline |" in (tmp_path / "board.md").read_text()
    assert "2 runs, 0 of them stored" in capsys.readouterr().out
    assert command.main([*arguments, *where]) == 0
    assert "2 runs, 2 of them stored" in capsys.readouterr().out
    assert command.main(["--only", "nothing like it"]) == 2
