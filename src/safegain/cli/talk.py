"""What the commands say, and to whom: results go to standard output, everything else to standard error.

  0  done
  1  `certify`: not certified; `certify --verify`: a certificate is not what its rows and labels say
  2  wrong arguments, files or folders: one line that says which, what was found, and what to do
130  stopped by the user
"""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

NOT_CERTIFIED, WRONG, STOPPED = 1, 2, 130


@dataclass(frozen=True)
class Talk:
    quiet: bool = False
    json: bool = False

    def say(self, text: str) -> None:
        """What is going on."""
        if not self.quiet:
            typer.echo(printable(text), err=True)

    def tell(self, text: str, facts: Any) -> None:
        """What came out: words for people, or facts for programs."""
        typer.echo(json.dumps(facts, default=str) if self.json else printable(text))

    def show(self, table: bytes) -> None:
        """A table as it is for a program, and without what a terminal would obey for a person."""
        if sys.stdout.isatty():
            typer.echo(printable(table.decode()))
        else:
            sys.stdout.buffer.write(table)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in columns:
            table.add_column(Text(printable(name)))
        for row in rows:
            table.add_row(*(Text(printable(f"{v:.3g}" if isinstance(v, float) else str(v))) for v in row))
        Console(file=sys.stdout, markup=False, highlight=False).print(table)

    @property
    def progress(self) -> int:
        """The estimators' `verbose`."""
        return int(not self.quiet and not self.json)


def printable(text: str) -> str:
    """Without what a terminal would obey: labels and names come from files that anybody may have written."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


@contextmanager
def wrong_input_in_one_line(talk: Talk, run: Path | None = None) -> Iterator[None]:
    """`run` is a folder from which a stopped fit may go on."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as error:
        message = " ".join(str(_worded(error)).split())
        if talk.json:
            talk.tell("", {"error": message})
        typer.echo(printable(f"safegain: {message}"), err=True)
        _leave(WRONG)
        raise typer.Exit(WRONG) from None
    except KeyboardInterrupt:
        resumable = run is not None and (run / "request.json").exists()
        advice = f"; go on with: safegain resume {shlex.quote(str(run))}" if resumable else ""
        typer.echo(f"safegain: stopped{advice}", err=True)
        _leave(STOPPED)
        raise typer.Exit(STOPPED) from None


def _leave(code: int) -> None:
    """Where several processes fit, a training may go on for which nobody waits any more."""
    if there := sys.modules.get("safegain.data.side_thread"):
        there.leave(code)


def _worded(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}"
    return str(error) or "out of memory: take fewer rows, or columns"
