"""What the figures share: colours that everyone can tell apart, fonts, and a file that depends on its data only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, SKY, RED = "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"
GREY = "0.4"
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "svg.hashsalt": "safegain",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


@contextmanager
def drawn(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure to draw on, saved at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(path, format="svg", metadata={"Date": None})
