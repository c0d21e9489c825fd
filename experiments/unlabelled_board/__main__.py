"""`make board ONLY=unlabelled`: do what is not stored of the board of few labels, then write its page from what is.

Killed at any moment and started again, it goes on where it was. With FINAL=1 it runs the final sets, from a clean work
tree at a tag board-*, once the strongest peers have been named.
"""

import argparse
import sys

from experiments.board.command import Board, play
from experiments.board.guard import refuse_final_run, refuse_without_strongest
from experiments.command import Places
from experiments.store import Store
from experiments.unlabelled_board.page import write_page
from experiments.unlabelled_board.plan import DEVELOPMENT, FINAL
from experiments.unlabelled_board.strongest import FILE


def _refuse(store: Store, quick: bool) -> None:
    refuse_without_strongest(FILE, "experiments.unlabelled_board.strongest")
    refuse_final_run(store, "unlabelled_final", quick=quick)


def _write(where: Places, options: argparse.Namespace) -> None:
    write_page(where.page, where.store.read, results_folder=where.store.folder, quick=options.quick)


BOARD = Board("experiments.unlabelled_board", __doc__, "unlabelled.md", FINAL, (DEVELOPMENT,), _refuse, _write)

if __name__ == "__main__":
    sys.exit(play(BOARD))
