"""`make board`: do what is not stored, then write the board's page from what is.

Killed at any moment and started again, it goes on where it was. `make board` runs the development sets; the final ones
are run by `make board FINAL=1`, from a clean work tree at a tag board-*, once the strongest peers have been named.
"""

import argparse
import sys

from experiments.board.command import Board, play
from experiments.board.guard import refuse_final_run, refuse_without_strongest
from experiments.board.page import draw_board, write_board
from experiments.board.plan import DEVELOPMENT, FINAL, NAMED, VERY_FEW
from experiments.command import Places
from experiments.store import Store


def _refuse(store: Store, quick: bool) -> None:
    refuse_without_strongest()
    refuse_final_run(store, "final", quick=quick)


def _write(where: Places, options: argparse.Namespace) -> None:
    draw_board(where.store.read, where.figures, quick=options.quick)
    write_board(
        where.page,
        where.store.read,
        figures=where.figures,
        results_folder=where.store.folder,
        jobs=options.jobs,
        quick=options.quick,
    )


BOARD = Board("experiments.board", __doc__, "board.md", FINAL, (DEVELOPMENT, VERY_FEW, NAMED), _refuse, _write)

if __name__ == "__main__":
    sys.exit(play(BOARD))
