"""The board's two drawings: mean ranks with what cannot be told apart joined, and gain against safeness."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator
from sklearn.isotonic import isotonic_regression

from experiments.figures.drawing import BLUE, GREY, drawn

FLOOR = -0.5  # of recovered gaps in the drawing


def draw_ranks(
    path: Path, names: Sequence[str], ranks: np.ndarray, joined: Sequence[tuple[int, int]], marked: str
) -> None:
    """A critical-difference diagram. `joined` are stretches of the order of ranks, as first and last place."""
    order = np.argsort(ranks, kind="stable")
    n, half = len(order), -(-len(order) // 2)
    top = 1 + len(joined)  # rows between the axis and the highest name
    with drawn(path, 8.4, 1.1 + 0.22 * (top + half)) as figure:
        axes = figure.subplots()
        axes.set_xlim(-0.42 * n, 1.42 * n)
        axes.set_ylim(top + half - 0.4, -1.2)
        axes.axis("off")
        axes.plot([1, n], [0, 0], color="black", linewidth=1)
        for tick in range(1, n + 1):
            axes.plot([tick, tick], [0, -0.25], color="black", linewidth=1)
            axes.text(tick, -0.4, str(tick), ha="center", va="bottom")
        for place, i in enumerate(order):
            left = place < half
            y = top + (place if left else n - 1 - place)
            end, side = (0.4, "right") if left else (n + 0.6, "left")
            colour, weight = (BLUE, "bold") if names[i] == marked else ("black", "normal")
            axes.plot([ranks[i], ranks[i], end], [0, y, y], color=colour, linewidth=1)
            text = f"{names[i]}  {ranks[i]:.2f}" if left else f"{ranks[i]:.2f}  {names[i]}"
            axes.text(end + (-0.1 if left else 0.1), y, text, ha=side, va="center", color=colour, weight=weight)
        for row, (first, last) in enumerate(joined):
            ends = [ranks[order[first]] - 0.07, ranks[order[last]] + 0.07]
            axes.plot(ends, [0.6 + row] * 2, color=GREY, linewidth=4, solid_capstyle="round")


def draw_gain(path: Path, points: Mapping[str, tuple[float, float]], marked: str) -> None:
    """`points` are unsafe runs in % and recovered gap; names stand in a column of their own, so that none overlap.

    What is below FLOOR is drawn there, with its figure, so that one bad method does not squeeze the others together.
    """
    with drawn(path, 7.4, 4.4) as figure:
        axes = figure.subplots()
        unsafe, gains = np.array(list(points.values())).T
        shown = np.maximum(gains, FLOOR)
        low, high = min(shown.min(), 0.0), max(shown.max(), 0.1)
        axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        axes.set_xlim(-0.04 * max(unsafe.max(), 1.0), 1.05 * max(unsafe.max(), 1.0))
        axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
        heights = spread_out(shown, least=1.16 * (high - low) / 18)
        for name, x, gain, y, height in zip(points, unsafe, gains, shown, heights, strict=True):
            colour = BLUE if name == marked else "black"
            axes.plot(x, y, "o" if gain >= FLOOR else "v", color=colour, markersize=5, zorder=3)
            axes.annotate(
                name if gain >= FLOOR else f"{name} ({gain:.1f})",
                (x, y),
                (1.06, height),
                textcoords=axes.get_yaxis_transform(),
                va="center",
                color=colour,
                weight="bold" if name == marked else "normal",
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": "0.75", "linewidth": 0.7, "relpos": (0, 0.5), "shrinkB": 3},
            )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("unsafe runs in %")
        axes.set_ylabel("recovered gap")


def spread_out(heights: np.ndarray, least: float) -> np.ndarray:
    """Heights in the same order, at least `least` apart, as near as may be to where they were (least squares).

    The heights in ascending order, less i times `least`, must not fall: that is isotonic regression.
    """
    order = np.argsort(heights, kind="stable")
    steps = least * np.arange(len(order))
    moved = np.empty(len(order))
    moved[order] = isotonic_regression(heights[order] - steps) + steps
    return moved
