"""What the commands share: options, where things are kept, and doing runs with a bar that says how far they are."""

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import joblib
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.plan import Run
from experiments.runner import Failed, missing_package, run_all
from experiments.store import Store

QUICK = Path("build/quick")
STOPPED = 130  # what a shell expects of a command that was interrupted


@dataclass(frozen=True)
class Places:
    """Where results are read and written, and where what is made of them goes."""

    store: Store
    page: Path
    figures: Path


def parser(prog: str, description: str | None, *, page: str, only: str) -> argparse.ArgumentParser:
    """`page` is the page's file name; `only` says what --only chooses."""
    made = argparse.ArgumentParser(prog=prog, description=description)
    names = os.environ.get("ONLY", "").split()
    made.add_argument("--only", nargs="+", default=names, metavar="NAME", help=f"{only}; ONLY")
    quick = os.environ.get("QUICK", "0") not in ("", "0")
    made.add_argument("--quick", action="store_true", default=quick, help="one seed, few rows, few steps; QUICK=1")
    jobs = int(os.environ.get("JOBS") or 2)
    made.add_argument("--jobs", type=int, default=jobs, help="runs at a time, of one thread each; JOBS")
    made.add_argument("--results", type=Path, help="folder of the results; experiments/results")
    made.add_argument("--page", type=Path, help=f"the page that is written; docs/{page}")
    made.add_argument("--figures", type=Path, help="folder of the figures; docs/figures")
    return made


def places(options: argparse.Namespace, page: str) -> Places:
    results, folder = (QUICK / "results", QUICK) if options.quick else (Path("experiments/results"), Path("docs"))
    return Places(
        Store(options.results or results), options.page or folder / page, options.figures or folder / "figures"
    )


def finish(
    console: Console, where: Places, jobs: int, work: Callable[[], list[Failed]], write: Callable[[], None]
) -> int:
    """Do the work, `jobs` runs at a time, then write the page; the exit status says whether all went well."""
    try:
        with joblib.parallel_config(n_jobs=jobs):
            failed = work()
    except KeyboardInterrupt:
        console.print("stopped; what is finished is stored, and the same command goes on from there")
        return STOPPED
    write()
    console.print(f"wrote {where.page}")
    if failed:
        console.print(f"[red]{len(failed)} runs failed[/]: see {where.store.errors}")
    return 1 if failed else 0


def carry_out(
    runs: Sequence[Run], store: Store, console: Console, *, ended: Callable[[Run], None] = lambda run: None
) -> list[Failed]:
    """Do the runs that are not stored, call `ended` after each, return what failed."""
    waiting = [run for run in runs if not store.exists(run)]
    _prepare(waiting)
    store.errors.unlink(missing_ok=True)  # it holds what went wrong in the last command, no more
    failed: list[Failed] = []
    with _progress(console) as bar:
        task = bar.add_task("runs", total=len(waiting), note="")
        for outcome in run_all(waiting, store):
            if isinstance(outcome, Failed):
                failed.append(outcome)
                console.print(f"[red]failed[/]: {outcome.run}: {escape(outcome.reason)}", soft_wrap=True)
            bar.update(task, advance=1, note=f"{len(failed)} failed" if failed else "")
            ended(outcome.run)
    return failed


def possible(runs: Sequence[Run], console: Console) -> list[Run]:
    """Without the runs of methods whose packages are not installed, and a word about them."""
    missing = {method: package for method in {run.method for run in runs} if (package := missing_package(method))}
    for method, package in missing.items():
        console.print(f"[yellow]left out[/]: {method}, which needs the package {package}")
    return [run for run in runs if run.method not in missing]


def count_stored(runs: Sequence[Run], store: Store, console: Console) -> None:
    console.print(f"{len(runs)} runs, {sum(map(store.exists, runs))} of them stored")


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
