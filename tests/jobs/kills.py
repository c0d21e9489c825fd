import subprocess
import time

from typer.testing import CliRunner

from safegain.cli.app import app
from tests.command import ENVIRONMENT, start


def killed_in(seconds, words):
    """Whether the command was still at work when it was killed."""
    process = subprocess.Popen(start(*words), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    at_work = process.poll() is None
    process.kill()
    process.wait()
    return at_work


def refused(*words):
    """What a command says that must not do anything."""
    ended = CliRunner().invoke(app, list(map(str, words)))
    assert ended.exit_code == 2, ended.output
    return ended.stderr
