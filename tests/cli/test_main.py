"""`python -m safegain` is the command line."""

import runpy
import sys

import pytest


def test_the_package_runs_as_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["safegain", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("safegain.__main__", run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out.startswith("safegain 0.2")
