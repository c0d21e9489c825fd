"""Gain and safeness side by side: what each method gains where its assumptions hold, and loses where they do not."""

from pathlib import Path

from experiments.figures.drawing import BLUE, GREEN, GREY, ORANGE, PINK, drawn
from experiments.grid import Results, method_name
from experiments.plan import Run, Value
from experiments.tables import NOISE_METHODS

NAME = "figure-motivation"
TITLE = "Gain and safeness"
HOW = (
    "MNIST, four kinds of label noise, 2 seeds: test accuracy less that of Baseline with the same rows. Large mark: "
    "mean; bar: the worst seed. Below the line a method does harm."
)
SEEDS = 2
METHODS = tuple(m for m in NOISE_METHODS if m not in ("baseline", "best_baseline", "pgs_search", "true_labels"))
KINDS: dict[str, dict[str, Value]] = {
    "uniform, 50%": {"noise": "uniform", "rate": 0.5},
    "to one other class, 40%": {"noise": "pair", "rate": 0.4},
    "depending on the image, 40%": {"noise": "instance", "rate": 0.4},
    "hardly any: uniform, 10%": {"noise": "uniform", "rate": 0.1},
}


def runs(quick: bool = False) -> list[Run]:
    return [
        _run(kind, method, seed, quick) for seed in _seeds(quick) for kind in KINDS for method in ("baseline", *METHODS)
    ]


def gains(results: Results, kind: str, method: str, quick: bool) -> list[float]:
    pairs = [[results(_run(kind, m, seed, quick)) for m in (method, "baseline")] for seed in _seeds(quick)]
    return [own["metrics"]["accuracy"] - raw["metrics"]["accuracy"] for own, raw in pairs if own and raw]


def render(results: Results, path: Path, quick: bool = False) -> bool:
    found = {kind: {m: g for m in METHODS if (g := gains(results, kind, m, quick))} for kind in KINDS}
    shown = [method for method in METHODS if any(method in by_method for by_method in found.values())]
    if not shown:
        return False
    with drawn(path, 9.5, 4.4) as figure:
        axes = figure.subplots()
        axes.axhline(0, color=GREY, linewidth=1)
        for i, (kind, colour, marker) in enumerate(zip(KINDS, (BLUE, ORANGE, GREEN, PINK), "os^D", strict=True)):
            at = {method: shown.index(method) + 0.18 * (i - 1.5) for method in found[kind]}
            means = {method: sum(values) / len(values) for method, values in found[kind].items()}
            worst = {method: min(values) for method, values in found[kind].items()}
            axes.vlines(list(at.values()), list(worst.values()), list(means.values()), color=colour, linewidth=1.5)
            axes.plot(list(at.values()), list(worst.values()), color=colour, marker="_", markersize=8, linestyle="")
            axes.plot(list(at.values()), list(means.values()), color=colour, marker=marker, linestyle="", label=kind)
        axes.set_xticks(range(len(shown)), [method_name(m) for m in shown], rotation=25, ha="right")
        axes.set_yscale("symlog", linthresh=5)
        axes.margins(y=0.1)  # marks at the edge would be cut
        low, high = axes.get_ylim()
        ticks = [tick for tick in (-50, -20, -10, -5, -2, 0, 2, 5, 10, 20, 50) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
        axes.minorticks_off()
        axes.set(ylabel="gain over Baseline, points")
        figure.legend(loc="outside upper center", ncols=4)
    return True


def _run(kind: str, method: str, seed: int, quick: bool) -> Run:
    return Run("mnist", {"task": "noise", **KINDS[kind], "trusted": "unbiased"}, method, seed, quick=quick)


def _seeds(quick: bool) -> range:
    return range(1 if quick else SEEDS)
