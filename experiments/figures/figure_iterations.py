"""Accuracy over the numbers of lower and upper steps, as a surface and as a map."""

from pathlib import Path

import numpy as np

from experiments.figures.drawing import drawn
from experiments.grid import Results
from experiments.plan import Run, Value

NAME = "figure-iterations"
TITLE = "Accuracy over lower and upper steps"
HOW = (
    "MNIST, half of the labels flipped, 2 seeds: mean test accuracy of the L-th iterate of a search with T lower steps."
)
LOWER, SEEDS = (5, 15, 35, 100), 2
SETTING: dict[str, Value] = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased"}


def runs(quick: bool = False) -> list[Run]:
    return [_run(T, seed, quick) for seed in _seeds(quick) for T in _lower(quick)]


def surface(results: Results, quick: bool) -> dict[int, np.ndarray]:
    """T -> mean accuracy of the iterates L = 1, 2, ..., for the T that have a result."""
    found = {}
    for T in _lower(quick):
        records = [record for seed in _seeds(quick) if (record := results(_run(T, seed, quick)))]
        if records:
            iterates = [record["metrics"]["accuracy"][1:] for record in records]
            shortest = min(map(len, iterates))  # a search may have ended early
            found[T] = np.mean([accuracies[:shortest] for accuracies in iterates], axis=0)
    return found


def render(results: Results, path: Path, quick: bool = False) -> bool:
    found = surface(results, quick)
    if not found:
        return False
    lower, shortest = list(found), min(map(len, found.values()))
    accuracy = np.array([means[:shortest] for means in found.values()])  # (T, L)
    upper = np.arange(1, accuracy.shape[1] + 1)
    with drawn(path, 9.5, 3.8) as figure:
        hill, chart = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
        if len(lower) > 1:
            hill.plot_surface(*np.meshgrid(upper, np.log10(lower)), accuracy, cmap="cividis", rcount=50, ccount=50)
        hill.set_yticks(np.log10(lower), [str(T) for T in lower])
        hill.set(xlabel="upper steps L", ylabel="lower steps T", zlabel="accuracy, %")
        hill.set_box_aspect(None, zoom=0.95)  # at 1 the label of the z axis is cut off
        shown = chart.imshow(accuracy, aspect="auto", origin="lower", cmap="cividis")
        chart.set_xticks(range(0, len(upper), 3), [str(L) for L in upper[::3]])
        chart.set_yticks(range(len(lower)), [str(T) for T in lower])
        chart.set(xlabel="upper steps L", ylabel="lower steps T")
        figure.colorbar(shown, ax=chart, label="test accuracy, %")
    return True


def _run(T: int, seed: int, quick: bool) -> Run:
    return Run("mnist", SETTING, "iterates", seed, {"n_inner": T}, quick=quick)


def _seeds(quick: bool) -> range:
    return range(1 if quick else SEEDS)


def _lower(quick: bool) -> tuple[int, ...]:
    return LOWER[:2] if quick else LOWER
