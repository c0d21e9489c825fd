"""`make numbers`: do what is not stored of the board for numbers, then write its page from what is.

Killed at any moment and started again, it goes on where it was. `make numbers` runs the development sets; the final
ones are run by `make numbers FINAL=1`, from a clean work tree at a tag board-*.
"""

import argparse
import sys

from experiments.board.command import Board, play
from experiments.board.guard import refuse_final_run
from experiments.command import Places
from experiments.number_board.page import write_page
from experiments.number_board.plan import DEVELOPMENT, FINAL, NAMED, VERY_FEW
from experiments.store import Store


def _refuse(store: Store, quick: bool) -> None:
    refuse_final_run(store, "final_numbers", quick=quick)


def _write(where: Places, options: argparse.Namespace) -> None:
    write_page(where.page, where.store.read, results_folder=where.store.folder, quick=options.quick)


BOARD = Board("experiments.number_board", __doc__, "numbers.md", FINAL, (DEVELOPMENT, VERY_FEW, NAMED), _refuse, _write)

if __name__ == "__main__":
    sys.exit(play(BOARD))
