"""docs/board.md and its drawing, from stored results only."""

from pathlib import Path

import numpy as np

from experiments.board.bars import (
    against_pick,
    cell_differences,
    development_bars,
    final_bars,
)
from experiments.board.blame import blame_table
from experiments.board.entries import PLAIN
from experiments.board.notes import HOW_IT_IS_JUDGED, HOW_IT_IS_PLAYED
from experiments.board.plan import DEVELOPMENT, FINAL, NAMED, VERY_FEW, Part, seconds_needed
from experiments.board.plots import draw_differences
from experiments.board.scores import Scores
from experiments.board.sections import bars_table, cells_table, every_figure, opening, part_section, peers_table
from experiments.board.strongest import read_strongest
from experiments.files import write_whole
from experiments.grid import Results
from experiments.page import markdown, relative
from experiments.text import duration

DRAWING = "board-differences.svg"
PARTS = (FINAL, DEVELOPMENT, VERY_FEW, NAMED)
INTRODUCTION = """# The board

Written by `make board` from the results in `{results}`, one line for each run; do not edit. Safegain with its defaults
against what its user would have done without it: the usual models on the labels as they are or on the trusted rows
alone, and methods for wrong labels.
"""


def write_board(
    path: Path, results: Results, *, figures: Path, results_folder: Path, jobs: int = 2, quick: bool = False
) -> None:
    scores = {part.title: Scores(part, results, quick) for part in PARTS}
    parts = [
        INTRODUCTION.format(results=relative(results_folder, Path.cwd())),
        *opening(PARTS, results, HOW_IT_IS_PLAYED, HOW_IT_IS_JUDGED, quick=quick),
        _bars(scores),
        _final(scores[FINAL.title], figures, path),
        _section(scores[DEVELOPMENT.title]),
        _very_few(scores[VERY_FEW.title]),
        _computing(results, jobs, quick),
    ]
    write_whole(path, "\n".join(part for part in parts if part))


def draw_board(results: Results, figures: Path, *, quick: bool = False) -> None:
    scores = Scores(FINAL, results, quick)
    found = dict(zip((cell.name for cell in scores.cells), cell_differences(scores, PLAIN), strict=True))
    known = {name: d for name, d in found.items() if np.isfinite(d.upper)}
    if known:
        draw_differences(figures / DRAWING, known)


def _bars(scores: dict[str, Scores]) -> str:
    strongest = read_strongest()
    lines = ["## Bars", ""]
    lines += [f"**{PLAIN.name}**, final sets", "", bars_table(final_bars(scores[FINAL.title], PLAIN, strongest))]
    found = development_bars(scores[VERY_FEW.title], scores[NAMED.title], PLAIN)
    lines += [f"**{PLAIN.name}**, development sets", "", bars_table(found)]
    return "\n".join(lines)


def _final(scores: Scores, figures: Path, page: Path) -> str:
    text = "\n".join(filter(None, [_section(scores), blame_table(scores)]))
    drawing = figures / DRAWING
    if not drawing.is_file():
        return text
    words = (
        f"{PLAIN.name}: points above the best usual model of each cell, on seeds 5 to 9, with the one-sided 95% bound. "
        "Red: more than half a point behind, with confidence."
    )
    return f"{text}\n![{words}]({relative(drawing, page.parent)})\n\n{words}\n"


def _section(scores: Scores) -> str:
    return part_section(scores, lambda each: peers_table(each, read_strongest()), cells_table, every_figure)


def _very_few(scores: Scores) -> str:
    unsafe, compared, gain = against_pick(scores, PLAIN, 40)
    row = [PLAIN.name, f"{gain:+.2f}" if compared else "–", f"{unsafe} of {compared}"]
    return f"{_section(scores)}\n{markdown(['method', 'mean gain over the pick', 'unsafe'], [row])}"


def _computing(results: Results, jobs: int, quick: bool) -> str:
    rows = [[part.title, *_needed(part, results, jobs, quick)] for part in PARTS]
    header = ["part", "cells", "runs", "stored", "computing of stored runs", f"all runs, {jobs} at a time"]
    words = "A run that is not stored counts with the mean of what is stored of its method."
    return f"## Computing\n\nOne thread a run. {words}\n\n{markdown(header, rows)}"


def _needed(part: Part, results: Results, jobs: int, quick: bool) -> list[str]:
    planned = part.runs(quick)
    records = [record for run in planned if (record := results(run)) is not None]
    total = seconds_needed(planned, results)
    whole = duration(total / jobs) if total == total else "–"
    done = duration(sum(record["seconds"] for record in records))
    return [str(len(part.cells)), f"{len(planned):,}", f"{len(records):,}", done, whole]
