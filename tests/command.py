"""The command line as a user has it: real processes, real files."""

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from safegain.cli import app
from tests import quick as quickly

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}


def start(*words: object, processes: int = 1, quick: bool = False) -> list[str]:
    """A quick one, of one process, finds evidence as tests/quick.py does."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)] if processes > 1 else []
    command = ["-c", quickly.COMMAND] if quick else [*launcher, "-m", "safegain"]
    return [sys.executable, *command, *map(str, words)]


def safegain(
    *words: object, processes: int = 1, quick: bool = False, folder: Path | None = None
) -> subprocess.CompletedProcess:
    command = start(*words, processes=processes, quick=quick)
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, cwd=folder)


def done(*words: object, **how: object) -> str:
    """Standard output of a command that must not fail."""
    ended = safegain(*words, **how)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def here(*words):
    """What `done` gives, without a process of its own: its start takes longer than most commands."""
    ended = CliRunner().invoke(app, list(map(str, words)))
    assert ended.exit_code == 0, ended.output
    return ended.stdout
