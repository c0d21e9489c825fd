"""`make board`: do what is not stored, then write the board's page and drawings from what is.

Killed at any moment and started again, it goes on where it was. Other seeds than the published ones are for choosing
settings: their results, page and drawings go to a folder of their own.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from experiments.board.grids import SEEDS, runs
from experiments.board.page import draw_board, write_board
from experiments.command import Places, carry_out, count_stored, finish, parser, places, possible
from experiments.store import Store

PAGE = "board.md"
TUNING = Path("build/tuning")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = parser("experiments.board", __doc__, page=PAGE, only="cells with one of these words in their name")
    made.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="files of experiments/methods; all")
    made.add_argument("--seeds", nargs="+", type=int, metavar="SEED", help=f"kept apart, in {TUNING} or --results")
    return made.parse_args(arguments)


def board_places(options: argparse.Namespace) -> Places:
    if options.seeds is None:
        return places(options, PAGE)
    folder = options.results or TUNING
    return Places(Store(folder), options.page or folder / PAGE, options.figures or folder / "figures")


def main(arguments: Sequence[str] | None = None) -> int:
    options, console = parse(arguments), Console()
    seeds, where = options.seeds or SEEDS, board_places(options)
    try:
        planned = runs(seeds, only=options.only, methods=options.methods, quick=options.quick)
    except ValueError as error:
        console.print(f"[red]{error}[/]")
        return 2
    planned = possible(planned, console)
    count_stored(planned, where.store, console)

    def write() -> None:  # all cells, also those that were not asked for now
        draw_board(where.store.read, where.figures, seeds=seeds, quick=options.quick)
        write_board(
            where.page,
            where.store.read,
            figures=where.figures,
            results_folder=where.store.folder,
            seeds=seeds,
            jobs=options.jobs,
            quick=options.quick,
        )

    return finish(console, where, options.jobs, lambda: carry_out(planned, where.store, console), write)


if __name__ == "__main__":
    sys.exit(main())
