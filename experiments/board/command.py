"""What both boards' commands do: runs that are not stored, then the page from all that are."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from experiments.board.plan import Part, runs, seconds_needed
from experiments.command import Places, carry_out, count_stored, finish, parser, places, possible
from experiments.store import Store
from experiments.text import duration


@dataclass(frozen=True)
class Board:
    command: str  # python -m ...
    about: str | None
    page: str  # file name
    final: Part
    development: tuple[Part, ...]
    refuse_final_run: Callable[[Store, bool], None]  # from where results are kept, and whether this is a rehearsal
    write: Callable[[Places, argparse.Namespace], None]  # the page, of all cells, also those not asked for now


def play(board: Board, arguments: Sequence[str] | None = None) -> int:
    options, console = _parse(board, arguments), Console()
    where = places(options, board.page)
    parts = [board.final] if options.final else board.development
    try:
        if options.final:
            board.refuse_final_run(where.store, options.quick)
        planned = runs(parts, only=options.only, methods=options.methods, seeds=options.seeds, quick=options.quick)
    except ValueError as error:
        console.print(f"[red]{error}[/]", soft_wrap=True)
        return 2
    planned = possible(planned, console)
    count_stored(planned, where.store, console)
    if (seconds := seconds_needed(planned, where.store.read)) == seconds:
        wall = duration(seconds / options.jobs)
        console.print(f"all of them take some {duration(seconds)} of computing, {wall} with {options.jobs} at a time")
    return finish(
        console,
        where,
        options.jobs,
        lambda: carry_out(planned, where.store, console),
        lambda: board.write(where, options),
    )


def _parse(board: Board, arguments: Sequence[str] | None) -> argparse.Namespace:
    words = "cells with one of these words in their name"
    made = parser(board.command, board.about, page=board.page, only=words)
    final = os.environ.get("FINAL", "0") not in ("", "0")
    made.add_argument("--final", action="store_true", default=final, help="the final sets; FINAL=1")
    made.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="files of experiments/methods; all")
    made.add_argument("--seeds", nargs="+", type=int, default=[], metavar="SEED", help="of those that are planned; all")
    return made.parse_args(arguments)
