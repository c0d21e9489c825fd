"""`make reproduce`: do what is not stored, then write tables, figures and the page from what is.

Killed at any moment and started again, it goes on where it was. `--quick` rehearses on few rows, in a folder of
its own, all but what is slow there too.
"""

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType

from rich.console import Console

from experiments.artefacts import artefacts, is_table
from experiments.command import Places, carry_out, count_stored, finish, parser, places, possible
from experiments.console import print_table
from experiments.page import write_page
from experiments.plan import Run
from experiments.runner import Failed
from experiments.text import duration

PAGE = "results.md"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    return parser("experiments", __doc__, page=PAGE, only="these tables and figures").parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options, console = parse(arguments), Console()
    try:
        chosen = artefacts(options.only)
    except ValueError as error:
        console.print(f"[red]{error}[/]")
        return 2
    where = places(options, PAGE)

    def write() -> None:  # all artefacts, also those that were not asked for now
        write_page(
            where.page,
            artefacts(),
            where.store.read,
            figures=where.figures,
            results_folder=where.store.folder,
            jobs=options.jobs,
            quick=options.quick,
        )

    return finish(console, where, options.jobs, lambda: reproduce(chosen, where, console, quick=options.quick), write)


def reproduce(chosen: Sequence[ModuleType], where: Places, console: Console, *, quick: bool) -> list[Failed]:
    """Do the runs of these artefacts, show each artefact as soon as its last run has ended, return what failed."""
    runs = possible(list(dict.fromkeys(run for artefact in chosen for run in artefact.runs(quick))), console)
    count_stored(runs, where.store, console)
    waiting = {run for run in runs if not where.store.exists(run)}
    left = {artefact.NAME: waiting.intersection(artefact.runs(quick)) for artefact in chosen}
    shown: set[str] = set()

    def show_finished() -> None:
        for artefact in chosen:
            if artefact.NAME not in shown and not left[artefact.NAME]:
                shown.add(artefact.NAME)
                show(artefact, where, console, quick=quick)

    def ended(run: Run) -> None:
        for needed in left.values():
            needed.discard(run)
        show_finished()

    show_finished()
    return carry_out(runs, where.store, console, ended=ended)


def show(artefact: ModuleType, where: Places, console: Console, *, quick: bool) -> None:
    if is_table(artefact):
        print_table(console, artefact.render(where.store.read, quick))
        return
    path = where.figures / f"{artefact.NAME}.svg"
    records = [record for run in artefact.runs(quick) if (record := where.store.read(run))]
    if artefact.render(where.store.read, path, quick):
        seconds = duration(sum(record["seconds"] for record in records))
        console.print(f"{artefact.NAME}: wrote {path}; {len(records)} runs, {seconds} of computing\n", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
