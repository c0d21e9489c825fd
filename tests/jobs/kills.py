import os
import time
from contextlib import nullcontext, redirect_stderr, redirect_stdout

from typer.testing import CliRunner

from safegain.cli.app import app
from tests.processes import forked
from tests.quick import quick_evidence

MOMENTS = int(os.environ.get("SAFEGAIN_MOMENTS", "0"))  # of each of six fits; 0: one of each of three, which are quick


def evidence():
    return nullcontext() if MOMENTS else quick_evidence()


def begun(words, **environment):
    """The command, at work in a process of its own."""
    return forked(_work, list(map(str, words)), **environment)


def _work(words):
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere), evidence():
        app(words, prog_name="safegain")


def killed_in(seconds, words, after=None):
    """Whether the command was still at work when it was killed, so long after it began, or had written this file."""
    process = begun(words)
    while after is not None and not after.exists() and process.is_alive():
        time.sleep(0.01)
    time.sleep(seconds)
    at_work = process.is_alive()
    process.kill()
    process.join()
    return at_work


def refused(*words):
    """What a command says that must not do anything."""
    ended = CliRunner().invoke(app, list(map(str, words)))
    assert ended.exit_code == 2, ended.output
    return ended.stderr
