from experiments.grid import MSE, Column, Grid
from experiments.paper import REGRESSION_SSL
from experiments.tables import SETS, UNREHEARSED

NAME = "table-regression-ssl"
TITLE = "Regression, 40% of the rows with a target"
GRID = Grid(
    NAME,
    TITLE,
    "Rows split 7:1:1:1 into weak, trusted (two parts) and test rows; features and targets scaled to [0, 1]; 40% of "
    "the weak rows keep their target.",
    MSE,
    [
        Column(name, "regression", {"set": name, "task": "ssl", "labelled": 0.4}, REGRESSION_SSL.get(name, {}))
        for name in SETS
    ],
    (
        "baseline_regressor",
        "trusted_only_regressor",
        "self_ls",
        "safew_regressor",
        "pgs_regressor",
        "pgs_search_regressor",
        "safegain_numbers",
        "safegain_labelled",
    ),
    seeds=range(10),
    baseline="baseline_regressor",
    quick_columns=2,
    unrehearsed=UNREHEARSED,
)
runs, render = GRID.runs, GRID.render
