"""The board's drawing: how far Safegain is from the best usual model in each cell."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from experiments.board.judging import BEHIND, Difference
from experiments.figures.drawing import BLUE, GREY, RED, drawn


def draw_differences(path: Path, found: Mapping[str, Difference]) -> None:
    """A dot for each cell, best on top, and a line up to its one-sided bound; red: behind with confidence."""
    order = sorted(found, key=lambda name: found[name].mean)
    means, uppers = (np.array([getattr(found[name], word) for name in order]) for word in ("mean", "upper"))
    with drawn(path, 7.4, 0.9 + 0.16 * len(order)) as figure:
        axes = figure.subplots()
        colours = [RED if found[name].behind else BLUE for name in order]
        axes.hlines(np.arange(len(order)), means, uppers, colors=colours, linewidth=1)
        axes.scatter(means, np.arange(len(order)), c=colours, s=14, zorder=3)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.axvline(-BEHIND, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_yticks(np.arange(len(order)), order, fontsize=6)
        axes.set_ylim(-1, len(order))
        axes.set_xlabel("points above the best usual model")
