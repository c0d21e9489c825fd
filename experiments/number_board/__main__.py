"""`make numbers`: do what is not stored of the board for numbers, then write its page from what is.

Killed at any moment and started again, it goes on where it was. `make numbers` runs the development sets; the final
ones are run by `make numbers FINAL=1`, from a clean work tree at a tag board-*.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from rich.console import Console

from experiments.board.guard import refuse_final_run
from experiments.board.plan import runs
from experiments.command import carry_out, count_stored, finish, parser, places, possible
from experiments.number_board.page import write_page
from experiments.number_board.plan import DEVELOPMENT, FINAL, NAMED, VERY_FEW

PAGE = "numbers.md"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = parser("experiments.number_board", __doc__, page=PAGE, only="cells with one of these words in their name")
    final = os.environ.get("FINAL", "0") not in ("", "0")
    made.add_argument("--final", action="store_true", default=final, help="the final sets; FINAL=1")
    made.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="files of experiments/methods; all")
    made.add_argument("--seeds", nargs="+", type=int, default=[], metavar="SEED", help="of those that are planned; all")
    return made.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options, console = parse(arguments), Console()
    where = places(options, PAGE)
    parts = [FINAL] if options.final else [DEVELOPMENT, VERY_FEW, NAMED]
    try:
        if options.final:
            refuse_final_run(where.store, quick=options.quick, data="final_numbers")
        planned = runs(parts, only=options.only, methods=options.methods, seeds=options.seeds, quick=options.quick)
    except ValueError as error:
        console.print(f"[red]{error}[/]", soft_wrap=True)
        return 2
    planned = possible(planned, console)
    count_stored(planned, where.store, console)

    def write() -> None:  # all cells, also those that were not asked for now
        write_page(where.page, where.store.read, results_folder=where.store.folder, quick=options.quick)

    return finish(console, where, options.jobs, lambda: carry_out(planned, where.store, console), write)


if __name__ == "__main__":
    sys.exit(main())
