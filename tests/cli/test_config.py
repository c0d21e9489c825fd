"""Options from a file."""

import os

import pytest
from typer.testing import CliRunner

from safegain.cli import app
from safegain.cli.config import absolute


def test_a_config_file_gives_options_and_what_is_typed_wins(tmp_path):
    (tmp_path / "run.toml").write_text(
        'label = "y"\nvalidation-fraction = 0.3\nsearch = "free, n_outer=7"\ndrop = ["a", "b"]\nseed = 5\nout = "r"\n'
    )
    seen = {}

    def spy(params, command, talk):
        seen.update(params=params, command=command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.cli.fit.run_fit", spy)
        ended = CliRunner().invoke(app, ["fit", "t.csv", "--config", str(tmp_path / "run.toml"), "--seed", "9"])
    assert ended.exit_code == 0, ended.output
    assert seen["params"]["label"] == "y"
    assert seen["params"]["validation_fraction"] == 0.3
    assert seen["params"]["search"] == "free, n_outer=7"
    assert list(seen["params"]["drop"]) == ["a", "b"]
    assert seen["params"]["seed"] == 9
    words = seen["command"]
    assert words[words.index("--search") + 1] == "free, n_outer=7"
    assert words[words.index("--validation-fraction") + 1] == "0.3"
    assert "--drop a --drop b" in " ".join(words)
    assert "--config" not in words
    assert os.path.isabs(seen["command"][1])


@pytest.mark.parametrize("line", ['colour = "red"', "[table]\nlabel = 1", "label = ", "\x00"])
def test_a_config_file_that_is_wrong(tmp_path, line):
    (tmp_path / "run.toml").write_text(line)
    ended = CliRunner().invoke(
        app, ["fit", "t.csv", "--label", "y", "--out", "r", "--config", str(tmp_path / "run.toml")]
    )
    assert ended.exit_code == 2
    assert "run.toml" in ended.output


def test_a_file_is_told_from_a_column(tmp_path, monkeypatch):
    (tmp_path / "right.csv").write_text("a")
    monkeypatch.chdir(tmp_path)
    assert absolute("right.csv") == str(tmp_path / "right.csv")
    assert absolute("right") == "right"
