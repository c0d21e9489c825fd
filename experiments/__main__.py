"""`make reproduce`: do what is not stored, then write tables, figures and the page from what is.

Killed at any moment and started again, it goes on where it was. `--quick` rehearses everything on few rows, in a
folder of its own.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import joblib
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.artefacts import artefacts, is_table
from experiments.console import print_table
from experiments.page import write_page
from experiments.plan import Run, unique
from experiments.runner import Failed, missing_package, run_all
from experiments.store import Store
from experiments.text import duration

QUICK = Path("build/quick")


@dataclass(frozen=True)
class Places:
    """Where results are read and written, and where what is made of them goes."""

    store: Store
    page: Path
    figures: Path


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments", description=__doc__)
    only = os.environ.get("ONLY", "").split()
    parser.add_argument("--only", nargs="+", default=only, metavar="NAME", help="these tables and figures; ONLY")
    quick = os.environ.get("QUICK", "0") not in ("", "0")
    parser.add_argument("--quick", action="store_true", default=quick, help="one seed, few rows, few steps; QUICK=1")
    jobs = int(os.environ.get("JOBS") or 2)
    parser.add_argument("--jobs", type=int, default=jobs, help="runs at a time, of one thread each; JOBS")
    parser.add_argument("--results", type=Path, help="folder of the results; experiments/results")
    parser.add_argument("--page", type=Path, help="the page that is written; docs/results.md")
    parser.add_argument("--figures", type=Path, help="folder of the figures; docs/figures")
    return parser.parse_args(arguments)


def places(options: argparse.Namespace) -> Places:
    results, page, figures = Path("experiments/results"), Path("docs/results.md"), Path("docs/figures")
    if options.quick:
        results, page, figures = QUICK / "results", QUICK / "results.md", QUICK / "figures"
    return Places(Store(options.results or results), options.page or page, options.figures or figures)


def main(arguments: Sequence[str] | None = None) -> int:
    options, console = parse(arguments), Console()
    try:
        chosen = artefacts(options.only)
    except ValueError as error:
        console.print(f"[red]{error}[/]")
        return 2
    where = places(options)
    try:
        with joblib.parallel_config(n_jobs=options.jobs):
            failed = reproduce(chosen, where, console, quick=options.quick)
    except KeyboardInterrupt:
        console.print("stopped; what is finished is stored, and the same command goes on from there")
        return 130
    # The page has all artefacts, also those that were not asked for now.
    write_page(
        where.page,
        artefacts(),
        where.store.read,
        figures=where.figures,
        results_folder=where.store.folder,
        jobs=options.jobs,
        quick=options.quick,
    )
    console.print(f"wrote {where.page}")
    if failed:
        console.print(f"[red]{len(failed)} runs failed[/]: see the files *.error.txt in {where.store.folder}")
    return 1 if failed else 0


def reproduce(chosen: Sequence[ModuleType], where: Places, console: Console, *, quick: bool) -> list[Failed]:
    """Do the runs of these artefacts, show each artefact as soon as its last run has ended, return what failed."""
    runs = _possible(unique(run for artefact in chosen for run in artefact.runs(quick)), console)
    waiting = {run for run in runs if not where.store.exists(run)}
    console.print(f"{len(runs)} runs, {len(runs) - len(waiting)} of them stored")
    _prepare(waiting)
    left = {artefact.NAME: waiting.intersection(artefact.runs(quick)) for artefact in chosen}
    shown: set[str] = set()
    failed: list[Failed] = []

    def show_finished() -> None:
        for artefact in chosen:
            if artefact.NAME not in shown and not left[artefact.NAME]:
                shown.add(artefact.NAME)
                show(artefact, where, console, quick=quick)

    show_finished()
    with _progress(console) as bar:
        task = bar.add_task("runs", total=len(waiting), note="")
        for outcome in run_all(runs, where.store):
            if isinstance(outcome, Failed):
                failed.append(outcome)
                console.print(f"[red]failed[/]: {outcome.run}: {escape(outcome.reason)}", soft_wrap=True)
            for needed in left.values():
                needed.discard(outcome.run)
            bar.update(task, advance=1, note=f"{len(failed)} failed" if failed else "")
            show_finished()
    return failed


def show(artefact: ModuleType, where: Places, console: Console, *, quick: bool) -> None:
    if is_table(artefact):
        print_table(console, artefact.render(where.store.read, quick))
        return
    path = where.figures / f"{artefact.NAME}.svg"
    records = [record for run in artefact.runs(quick) if (record := where.store.read(run))]
    if artefact.render(where.store.read, path, quick):
        seconds = duration(sum(record["seconds"] for record in records))
        console.print(f"{artefact.NAME}: wrote {path}; {len(records)} runs, {seconds} of computing\n", soft_wrap=True)


def _possible(runs: Sequence[Run], console: Console) -> list[Run]:
    """Without the runs of methods whose packages are not installed, and a word about them."""
    missing = {method: package for method in {run.method for run in runs} if (package := missing_package(method))}
    for method, package in missing.items():
        console.print(f"[yellow]left out[/]: {method}, which needs the package {package}")
    return [run for run in runs if run.method not in missing]


def _prepare(runs: Iterable[Run]) -> None:
    """Slow work that all runs on a data set share, done before the first of them."""
    for data in {run.data for run in runs if not run.quick}:
        with suppress(OSError):  # a file that is missing: the runs that need it fail and say so, the others go on
            vars(import_module(f"experiments.data.{data}")).get("prepare", lambda: None)()


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        speed_estimate_period=24 * 3600,  # seconds: runs take minutes, and the usual window would hold none
    )


if __name__ == "__main__":
    sys.exit(main())
