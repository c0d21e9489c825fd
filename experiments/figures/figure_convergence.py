"""Theorem 1: the unrolled hypergradient tends to the implicit one as the lower level takes more steps."""

from pathlib import Path

import numpy as np

from experiments.figures.drawing import BLUE, GREEN, GREY, ORANGE, drawn
from experiments.grid import Results
from experiments.plan import Run, Value

NAME = "figure-convergence"
TITLE = "Unrolled hypergradients tend to the implicit one"
HOW = (
    "Softmax regression on 500 digits of scikit-learn, half of the labels flipped, for three L2 penalties. Dashed: the "
    "rate of the theory for a strongly convex lower level, T times the T-th power of one less step size times least "
    "curvature, drawn through the last point that is clear of rounding."
)
ALPHAS = (0.3, 0.1, 0.03)
SETTING: dict[str, Value] = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased"}
ROUNDING = 1e-10


def runs(quick: bool = False) -> list[Run]:
    return [Run("digits", SETTING, "convergence", 0, {"alpha": alpha}, quick=quick) for alpha in ALPHAS]


def render(results: Results, path: Path, quick: bool = False) -> bool:
    found = {run.options["alpha"]: record["metrics"] for run in runs(quick) if (record := results(run))}
    if not found:
        return False
    with drawn(path, 6, 3.8) as figure:
        axes = figure.subplots()
        for (alpha, metrics), colour, marker in zip(found.items(), (BLUE, ORANGE, GREEN), "os^", strict=False):
            steps, error = np.array(metrics["steps"]), np.array(metrics["error"])
            axes.plot(steps, error, color=colour, marker=marker, markersize=4, label=f"penalty {alpha:g}")
            last = np.flatnonzero(error > ROUNDING)[-1]
            T = np.linspace(1, steps[last], 200)
            theory = error[last] * T / steps[last] * metrics["factor"] ** (T - steps[last])
            axes.plot(T, theory, color=GREY, linewidth=1, linestyle="--")
        axes.set_yscale("log")
        axes.set(xlabel="lower steps T", ylabel="relative error of the hypergradient")
        axes.legend()
    return True
