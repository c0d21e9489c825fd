"""docs/results.md, from stored results only."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from experiments.artefacts import is_table
from experiments.bars import Bar, bars
from experiments.digests import mixed_digests
from experiments.files import write_whole
from experiments.grid import Column, Results, Table
from experiments.notes import NOTES
from experiments.text import beside, duration, is_best, spread

INTRODUCTION = """# Results

Written by `make reproduce` from the results in `{results}`, one line for each run; do not edit. A cell has the mean and
the standard deviation over seeds, the paper's own figure in square brackets, and, as "unsafe 1/5", in how many runs
Baseline, trained on the same rows with the same seed, did better on the test rows. The best mean of a column is bold.
"""
REHEARSAL = "This is a rehearsal on few rows with few steps: its figures mean nothing.\n"


def write_page(
    path: Path,
    artefacts: Iterable[ModuleType],
    results: Results,
    *,
    figures: Path,
    results_folder: Path,
    jobs: int = 2,
    quick: bool = False,
) -> None:
    made = list(artefacts)
    tables = {artefact.NAME: artefact.render(results, quick) for artefact in made if is_table(artefact)}
    parts = [
        INTRODUCTION.format(results=relative(results_folder, Path.cwd())),
        mixed_digests((run for artefact in made for run in artefact.runs(quick)), results),
        REHEARSAL if quick else "",
        bars_section(bars(tables)),
        *(table_section(table, jobs) for table in tables.values() if table.n_runs),
        *(_figure_section(artefact, figures, path) for artefact in made if not is_table(artefact)),
    ]
    write_whole(path, "\n".join(part for part in parts if part))


def bars_section(found: Iterable[Bar]) -> str:
    words = {True: "yes", False: "**NO**", None: "not run"}
    rows = [[bar.what, bar.numbers, words[bar.met]] for bar in found]
    if not rows:
        return ""
    met = sum(row[2] == "yes" for row in rows)
    return f"## Bars\n\n{met} of {len(rows)} are met.\n\n{markdown(['what', 'numbers', 'met'], rows)}"


def table_section(table: Table, jobs: int) -> str:
    seeds = max((len(cell.values) for cell in table.cells.values()), default=0)
    lines = [
        f"## {table.title}",
        "",
        f"{table.how} {table.metric.words[0].upper()}{table.metric.words[1:]}; {seeds} seeds.",
    ]
    for group, columns in table.groups.items():
        lines += ["", *([f"**{group}**", ""] if group else []), _grid(table, table.methods, columns)]
    lines += [_compute(table, jobs), ""]
    if note := NOTES.get(table.name):
        lines += [note, ""]
    if table.folded:
        lines.append(_folded("All usual models", _grid(table, table.folded, table.columns)))
    return "\n".join([*lines, _folded("Every seed", _seeds(table))])


def _grid(table: Table, methods: Mapping[str, str], columns: Sequence[Column]) -> str:
    rows = [[name, *(_cell(table, method, column) for column in columns)] for method, name in methods.items()]
    return markdown(["method", *(column.label for column in columns)], rows)


def _cell(table: Table, method: str, column: Column) -> str:
    cell = table.cell(method, column)
    value = spread(cell, table.metric)
    return (f"**{value}**" if is_best(table, cell, column) else value) + beside(cell, table.metric)


def _compute(table: Table, jobs: int) -> str:
    missing = table.n_planned - table.n_runs
    left = f" {missing} of {table.n_planned} runs are not there yet." if missing else ""
    wall = f"some {duration(table.seconds / jobs)} with {jobs} at a time"
    where = f" on {'; '.join(table.machines)}" if table.machines else ""
    return f"Computing: {duration(table.seconds)} in {table.n_runs} runs of one thread, {wall}{where}.{left}"


def _seeds(table: Table) -> str:
    rows = [
        [name, " ".join(filter(None, (column.group, column.label))), _values(table, method, column)]
        for method, name in {**table.methods, **table.folded}.items()
        for column in table.columns
        if table.cell(method, column).values
    ]
    return markdown(["method", "column", "seed: value"], rows)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def _values(table: Table, method: str, column: Column) -> str:
    values = sorted(table.cell(method, column).values.items())
    return ", ".join(f"{seed}: {value:.{table.metric.digits}f}" for seed, value in values)


def _figure_section(artefact: ModuleType, figures: Path, page: Path) -> str:
    drawing = figures / f"{artefact.NAME}.svg"
    if not drawing.is_file():
        return ""
    note = f"\n{NOTES[artefact.NAME]}\n" if artefact.NAME in NOTES else ""
    link = relative(drawing, page.parent)
    return f"## {artefact.TITLE}\n\n![{artefact.TITLE}]({link})\n\n{artefact.HOW}\n{note}"


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def relative(path: Path, to: Path) -> str:
    return Path(os.path.relpath(path, to)).as_posix()
