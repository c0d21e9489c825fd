"""The figures of the report. Shape says what colour says: a diamond is the reference, a disc the new model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from safegain.report.comparison import Comparison, Standing
from safegain.report.figure import INK, LETTER, NEW, OLD, PAPER, QUIET, WIDTH, Drawing, drawing
from safegain.report.history import Step, Walk
from safegain.report.trust import BINS, Panel, Shifts
from safegain.report.words import count, number, of_100

ROW = 26  # height of one line of a chart
LOOKS: dict[str | None, dict[str, Any]] = {
    "reference": {"marker": "D", "color": OLD, "markersize": 7, "markerfacecolor": PAPER, "markeredgewidth": 1.8},
    "new": {"marker": "o", "color": NEW, "markersize": 8},
    "kept": {"marker": "o", "color": INK, "markersize": 12, "markerfacecolor": "none", "markeredgewidth": 1.6},
    "safe": {"marker": "o", "color": NEW, "markersize": 4},
    "unsafe": {"marker": "x", "color": INK, "markersize": 4},
    None: {"marker": "s", "color": QUIET, "markersize": 6, "markerfacecolor": PAPER, "markeredgewidth": 1.3},
}


def models_chart(standings: Sequence[Standing]) -> Markup:
    right = standings[0].range is not None
    axis = "rows right, of 100" if right else "typical error (smaller is better)"
    with drawing("models", ROW * len(standings) + 44) as sheet:
        ax = _lines(sheet, [standing.words for standing in standings], width=32, right=34)
        for y, standing in enumerate(standings):
            look = LOOKS[standing.role]
            if standing.range is not None:
                ax.plot(standing.range, [y, y], color=look["color"], linewidth=2, alpha=0.55)
            ax.plot([standing.value], [y], linestyle="none", **look)
            bold = "bold" if standing.role == "new" else "normal"
            ax.text(1.03, y, standing.told, transform=ax.get_yaxis_transform(), va="center", weight=bold)
        ax.set_xlabel(axis)
        ax.margins(x=0.08)
        if not right:
            ax.set_xlim(0, 1.08 * max(standing.value for standing in standings) or 1)
        told = [f"{s.words}{f' ({s.role})' if s.role == 'reference' else ''}: {s.told}" for s in standings]
        unit = "rows right of 100" if right else "typical error"
        return sheet.svg("The models side by side", f"{unit.capitalize()}. {'; '.join(told)}.")


def pairs_chart(comparison: Comparison) -> Markup:
    """Reference against new, one line for each set, class or group."""
    pairs = comparison.pairs
    with drawing(f"pairs-{comparison.key.replace('_', '-')}", ROW * len(pairs) + 66) as sheet:
        ax = _lines(sheet, [pair.name for pair in pairs], width=22, top=24)
        y = np.arange(len(pairs))
        old, new = np.array([pair.reference for pair in pairs]), np.array([pair.new for pair in pairs])
        ax.hlines(y, np.minimum(old, new), np.maximum(old, new), color=QUIET, linewidth=1.2)
        ax.plot(old, y, linestyle="none", label="reference", **LOOKS["reference"])
        ax.plot(new, y, linestyle="none", label="new model", **LOOKS["new"])
        ax.set_xlabel(f"{comparison.unit} (smaller is better)")
        ax.margins(x=0.08)
        _legend(ax, columns=2)
        told = [f"{p.name}: reference {number(p.reference)}, new {number(p.new)}" for p in pairs]
        return sheet.svg(f"{comparison.title}: {comparison.unit}", f"{'; '.join(told)}.")


def walk_chart(walk: Walk) -> Markup:
    """The loss by step; unsafe steps are crosses, and the one that was kept has a ring and a name."""
    with drawing("search", 230) as sheet:
        ax = sheet.axes(52, 42, WIDTH - 66, 154)
        ax.grid(axis="y")
        ax.spines["left"].set_visible(False)
        for run in walk.runs:
            steps, losses = [step.step for step in run], [step.loss for step in run]
            ax.plot(steps, losses, color=NEW, linewidth=1.6, alpha=1 if len(walk.runs) == 1 else 0.5)
        if len(walk.runs) == 1 and len(walk.runs[0]) <= 200:
            _steps(ax, "safe", "safe", [step for step in walk.runs[0] if step.safe])
            _steps(ax, "unsafe", "not safe on every set", [step for step in walk.runs[0] if not step.safe])
        if walk.kept is not None:
            _steps(ax, "kept", f"kept: step {walk.kept.step}", [walk.kept])
        if ax.get_legend_handles_labels()[0]:
            _legend(ax, columns=3)
        ax.set_xlabel("step of the search")
        ax.set_ylabel("loss on trusted rows")
        ax.xaxis.set_major_locator(_ticks(6, integer=True))
        ax.yaxis.set_major_locator(_ticks(4))
        ax.tick_params(axis="y", labelcolor=QUIET)
        ends = [f"from {number(run[0].loss)} to {number(run[-1].loss)} in {len(run) - 1} steps" for run in walk.runs]
        kept = "" if walk.kept is None else f" Kept: step {walk.kept.step}, with {number(walk.kept.loss)}."
        return sheet.svg("Loss on trusted rows by step of the search", f"{'; '.join(ends).capitalize()}.{kept}")


def panels_chart(panels: Sequence[Panel]) -> Markup:
    """One small histogram for each label, all to the same scale."""
    columns = 2 if len(panels) in (1, 2, 4) else 3
    lines, gap, cell = -(-len(panels) // columns), 18, 104
    width = (WIDTH - 40 - gap * (columns - 1)) / columns
    with drawing("weights", lines * cell + 26) as sheet:
        highest = max(float(panel.share.max()) for panel in panels)
        for i, panel in enumerate(panels):
            line, column = divmod(i, columns)
            ax = sheet.axes(32 + column * (width + gap), sheet.height - (line + 1) * cell + 8, width, cell - 42)
            ax.bar((np.arange(BINS) + 0.5) / BINS, 100 * panel.share, 0.86 / BINS, color=OLD)
            ax.set(xlim=(0, 1), ylim=(0, 105 * highest), xticks=[0, 0.5, 1])
            ax.yaxis.set_major_locator(_ticks(2, integer=True))
            ax.tick_params(axis="y", labelleft=column == 0, labelcolor=QUIET)
            ax.set_xticklabels(["0", "½", "1"] if line == lines - 1 or i + columns >= len(panels) else [])
            ax.spines["left"].set_visible(False)
            ax.grid(axis="y")
            ax.text(0, 1.27, sheet.word(panel.name, int(width / LETTER)), transform=ax.transAxes, weight="bold")
            ax.text(0, 1.06, count(panel.n, "row"), transform=ax.transAxes, color=QUIET, size=9)
        sheet.figure.text(0.5, 4 / sheet.height, "how much the given label counts", ha="center", color=QUIET)
        told = [
            f"{panel.name}: mean {number(panel.mean, 2)}, {of_100(panel.share[-1])} of 100 rows" for panel in panels
        ]
        words = f"Mean, and rows that keep at least 0.9: {'; '.join(told)}."
        return sheet.svg("How much each label counts, by percentage of its rows", words)


def shifts_chart(shifts: Shifts) -> Markup:
    with drawing("shifts", 330) as sheet:
        ax = sheet.axes(58, 44, WIDTH - 72, 270)
        both = np.concatenate([shifts.given, shifts.suggested])
        ends = [both.min(), both.max()]
        ax.plot(ends, ends, color=QUIET, linewidth=1.2, linestyle=(0, (4, 3)))
        ax.plot(shifts.given, shifts.suggested, linestyle="none", marker="o", markersize=3.5, color=NEW, alpha=0.5)
        ax.set(xlabel="number as given", ylabel="number as suggested")
        ax.grid(axis="both")
        for side in ax.spines.values():
            side.set_visible(False)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(_ticks(5))
        ax.tick_params(axis="y", labelcolor=QUIET)
        words = (
            f"{count(shifts.n, 'row')}; half of the changes exceed {number(shifts.median)}; "
            f"{of_100(shifts.up)} of 100 go up. The dashed line means no change."
        )
        return sheet.svg("Suggested against given numbers", words)


def _lines(sheet: Drawing, names: Sequence[str], *, width: int, top: float = 6, right: float = 14) -> Axes:
    """Axes with one named line below the other."""
    shown = [sheet.word(name, width) for name in names]
    left = 12 + LETTER * max(len(word) for word in shown)
    ax = sheet.axes(left, 38, WIDTH - left - right, sheet.height - 38 - top)
    ax.set(ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)), yticklabels=shown)
    ax.xaxis.set_major_locator(_ticks(5))
    ax.grid(axis="x")
    ax.spines["left"].set_visible(False)
    return ax


def _steps(ax: Axes, look: str, words: str, steps: list[Step]) -> None:
    if steps:
        at, losses = [step.step for step in steps], [step.loss for step in steps]
        ax.plot(at, losses, linestyle="none", label=words, **LOOKS[look])


def _ticks(most: int, *, integer: bool = False) -> MaxNLocator:
    return MaxNLocator(most, steps=[1, 2, 5, 10], integer=integer)


def _legend(ax: Axes, *, columns: int) -> None:
    """Above the axes."""
    spaces = {"borderaxespad": 0.2, "handletextpad": 0.3, "columnspacing": 1.2, "borderpad": 0}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, markerscale=0.9, **spaces)
