"""Options from a file."""

import os
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from safegain.cli import app
from safegain.cli.config import absolute
from safegain.cli.fit import request_of


def asked(*words):
    """The options and the command of a fit, which is not begun."""
    seen = {}

    def spy(params, command, talk):
        seen.update(params=params, command=command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.cli.fit.run_fit", spy)
        ended = CliRunner().invoke(app, ["fit", *words])
    assert ended.exit_code == 0, ended.output
    return seen


def test_a_config_file_gives_options_and_what_is_typed_wins(tmp_path):
    (tmp_path / "run.toml").write_text(
        'label = "y"\nvalidation-fraction = 0.3\nsearch = "free, n_outer=7"\ndrop = ["a", "b"]\nseed = 5\nout = "r"\n'
    )
    seen = asked("t.csv", "--config", str(tmp_path / "run.toml"), "--seed", "9")
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


@pytest.mark.parametrize(
    ("line", "typed", "models"),
    [
        ('model = ["forest", "boosting, max_iter=300"]', [], ["forest", "boosting, max_iter=300"]),
        ('model = "forest, n_trees=50"', [], "forest, n_trees=50"),
        ('model = ["forest"]', [], "forest"),
        ('model = ["forest", "linear"]', ["--model", "auto"], "auto"),
        ("", ["--model", "linear", "--model", "network, n_hidden=5"], ["linear", "network, n_hidden=5"]),
        ("", [], None),
        ("model = []", [], None),
    ],
)
def test_one_model_is_that_model_and_several_are_a_list(tmp_path, line, typed, models):
    """In the request as they were written, and in a command that asks for the same."""
    (tmp_path / "run.toml").write_text(f'label = "y"\nout = "r"\n{line}\n')
    found = asked("t.csv", "--config", str(tmp_path / "run.toml"), *typed)
    assert request_of(found["params"], found["command"], 1).settings.get("model") == models
    again = asked(*found["command"][1:])
    assert request_of(again["params"], again["command"], 1).settings.get("model") == models
    written = [word for before, word in pairwise(found["command"]) if before == "--model"]
    assert written == ([models] if isinstance(models, str) else models or [])


def test_one_column_in_a_file_needs_no_list(tmp_path):
    (tmp_path / "run.toml").write_text('label = "y"\nout = "r"\ndrop = "colour"\n')
    assert asked("t.csv", "--config", str(tmp_path / "run.toml"))["params"]["drop"] == ["colour"]


@pytest.mark.parametrize(
    "line", ['colour = "red"', "[table]\nlabel = 1", "label = ", "\x00", 'search = ["auto", "free"]']
)
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
