"""A fit that the page has started: a process of its own, watched through the file that it prints to."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from typing import Any

from safegain.review.finish import NextFit
from safegain.runs.facts import Facts
from safegain.runs.folder import RunError, open_run

_TAIL = 4096
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Refit:
    def __init__(self, fit: NextFit):
        if not hasattr(os, "killpg"):
            raise ValueError(f"fits cannot be started from the page on this system; start it yourself: {fit.command}")
        self.fit, self._cancelled = fit, False
        # A file and not a pipe: the fit goes on when nobody reads it any more.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "safegain", *fit.arguments],  # -P: no safegain.py of the current folder
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "160", "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # so that cancelling ends its own processes too
        )

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def cancel(self) -> None:
        if self.running:
            self._cancelled = True
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def last_line(self) -> str:
        """The last thing it printed; a progress bar begins its line again with a carriage return."""
        size = os.fstat(self._output.fileno()).st_size
        tail = os.pread(self._output.fileno(), _TAIL, max(0, size - _TAIL)).decode(errors="replace")
        lines = [line for part in re.split(r"[\r\n]+", tail) if (line := _CONTROL.sub("", part).strip())]
        return lines[-1][:500] if lines else ""

    def told(self) -> dict[str, Any]:
        """How it stands, and what was found if it is done."""
        state = "running" if self.running else "cancelled" if self._cancelled else "failed"
        said: dict[str, Any] = {"folder": str(self.fit.folder), "command": self.fit.command, "line": self.last_line()}
        if self._process.poll() == 0:
            try:
                said |= sentences(open_run(self.fit.folder).facts)
                state = "done"
            except RunError as error:
                said["line"] = str(error)
        return said | {"state": state}


def sentences(facts: Facts) -> dict[str, str | None]:
    """What a run found, in the words of its run.json."""
    return {
        "verdict": None if facts.verdict is None else facts.verdict.sentence,
        "certificate": None if facts.certificate is None else facts.certificate.sentence,
    }
