"""What PGS gains over the baseline, against the number of trusted rows."""

from pathlib import Path

from experiments.figures.drawing import BLUE, GREY, ORANGE, drawn
from experiments.grid import Results
from experiments.plan import Run, Value

NAME = "figure-validation-size"
TITLE = "Gain against the number of trusted rows"
HOW = "MNIST, 2 seeds: test accuracy of PGS less that of Baseline with the same rows; small marks are single seeds."
SIZES, SEEDS = (100, 300, 1000), 2
TASKS: dict[str, dict[str, Value]] = {
    "half of the labels flipped": {"task": "noise", "noise": "uniform", "rate": 0.5},
    "40% of the rows labelled": {"task": "ssl", "labelled": 0.4},
}


def runs(quick: bool = False) -> list[Run]:
    return [
        _run(task, size, seed, method, quick)
        for seed in _seeds(quick)
        for task in TASKS
        for size in _sizes(quick)
        for method in ("baseline", "pgs")
    ]


def gains(results: Results, task: str, size: int, quick: bool) -> list[float]:
    """In points, seed by seed, for the seeds of which both runs are there."""
    pairs = [
        [results(_run(task, size, seed, method, quick)) for method in ("pgs", "baseline")] for seed in _seeds(quick)
    ]
    return [pgs["metrics"]["accuracy"] - raw["metrics"]["accuracy"] for pgs, raw in pairs if pgs and raw]


def render(results: Results, path: Path, quick: bool = False) -> bool:
    found = {task: {size: g for size in _sizes(quick) if (g := gains(results, task, size, quick))} for task in TASKS}
    if not any(found.values()):
        return False
    with drawn(path, 6, 3.6) as figure:
        axes = figure.subplots()
        for (task, by_size), colour, marker in zip(found.items(), (BLUE, ORANGE), "os", strict=True):
            means = [sum(values) / len(values) for values in by_size.values()]
            axes.plot(list(by_size), means, color=colour, marker=marker, label=task)
            for size, values in by_size.items():
                axes.plot(
                    [size] * len(values), values, color=colour, marker=marker, markersize=3, linestyle="", alpha=0.6
                )
        axes.axhline(0, color=GREY, linewidth=1, linestyle="--")
        axes.set_xscale("log")
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.set(xlabel="trusted rows", ylabel="gain over Baseline, points")
        axes.legend()
    return True


def _run(task: str, size: int, seed: int, method: str, quick: bool) -> Run:
    return Run("mnist", {**TASKS[task], "trusted": "unbiased", "n_trusted": size}, method, seed, quick=quick)


def _seeds(quick: bool) -> range:
    return range(1 if quick else SEEDS)


def _sizes(quick: bool) -> tuple[int, ...]:
    return SIZES[:2] if quick else SIZES
