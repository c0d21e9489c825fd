"""The board's two grids, classes and numbers, as the tables' machinery knows them, and the order of their runs."""

from collections.abc import Sequence

from experiments.board.cells import CELLS, REGRESSION_CELLS, REHEARSAL
from experiments.grid import ACCURACY, MSE, Column, Grid, method_name
from experiments.plan import Run

SEEDS = range(5)  # what is published; settings are chosen on seeds from 100
PGS, BASELINE, BOUND = "pgs_auto", "baseline", "true_labels"
PGS_REGRESSOR = "pgs_auto_regressor"
METHODS = (
    PGS,
    "pgs",
    BASELINE,
    "trusted_only",
    "reed_soft",
    "s_model",
    "safew",
    "gold_loss_correction",
    "learning_to_reweight",
    "meta_weight_net",
    "cleanlab",
    BOUND,
)
REGRESSION_METHODS = (
    PGS_REGRESSOR,
    "baseline_regressor",
    "trusted_only_regressor",
    "huber",
    "svr",
    "ransac",
)
# Where the board calls a method otherwise than the tables of docs/results.md.
NAMES = {"pgs": "PGS free (short)", "reed_soft": "Reed", "baseline_regressor": "OLS"}


def board_name(method: str) -> str:
    return NAMES.get(method) or method_name(method)


def classification(seeds: Sequence[int], quick: bool = False) -> Grid:
    cells = REHEARSAL if quick else CELLS
    return Grid(
        "board",
        "Every cell",
        "One network, one recipe and the same split for every method.",
        ACCURACY,
        [Column(cell.label, cell.data, cell.setting, group=cell.set) for cell in cells],
        METHODS,
        seeds,
    )


def regression(seeds: Sequence[int], quick: bool = False) -> Grid:
    cells = REGRESSION_CELLS[:1] if quick else REGRESSION_CELLS
    return Grid(
        "board-regression",
        "Regression",
        "Rows split 7:1:1:1 into weak, trusted (two parts) and test rows; features and targets scaled to [0, 1]; an "
        "error is added to the targets of half of the weak rows: Gaussian, or Student's t with 1.5 degrees of freedom "
        "times 0.5.",
        MSE,
        [Column(cell.set, cell.data, cell.setting, group=f"Errors: {cell.label}") for cell in cells],
        REGRESSION_METHODS,
        seeds,
    )


def runs(
    seeds: Sequence[int], *, only: Sequence[str] = (), methods: Sequence[str] = (), quick: bool = False
) -> list[Run]:
    """Seed by seed, and in a seed the cheap cells first, so that a board that is cut short is a board of fewer seeds.

    `only` keeps the cells whose name has one of these words in it, `methods` the runs of these methods.
    """
    grids = classification(seeds, quick), regression(seeds, quick)
    named = {
        f"{column.group}, {column.label}".lower(): (column.data, dict(column.setting))
        for grid in grids
        for column in grid.columns
    }
    chosen = [value for name, value in named.items() if not only or any(word.lower() in name for word in only)]
    if not chosen:
        raise ValueError(f"only: no cell's name has {' or '.join(only)} in it; the cells are {'; '.join(named)}")
    unknown = set(methods) - {*METHODS, *REGRESSION_METHODS}
    if unknown:
        known = ", ".join((*METHODS, *REGRESSION_METHODS))
        raise ValueError(f"methods: there is no {sorted(unknown)[0]!r} on the board; choose from {known}")
    # The page has the large sets first and numbers last: backwards, the cheapest come first.
    planned = [run for grid in grids for run in grid.runs(quick)][::-1]
    kept = [run for run in planned if (run.data, run.setting) in chosen and (not methods or run.method in methods)]
    return sorted(dict.fromkeys(kept), key=lambda run: seeds.index(run.seed))
