from experiments.grid import MSE, Column, Grid
from experiments.paper import REGRESSION_NOISE
from experiments.plan import Value
from experiments.tables import SETS, UNREHEARSED

NAME = "table-regression-noise"
TITLE = "Regression, half of the targets with an error"
# The paper does not say how large its errors are: its figures stand beside the first group, and are no like for like.
PAPER_GROUP = "Gaussian errors, sd 0.5"
GROUPS: dict[str, dict[str, Value]] = {
    PAPER_GROUP: {"noise": "gaussian", "sigma": 0.5},
    "Gaussian errors, sd 1": {"noise": "gaussian", "sigma": 1.0},
    "Heavy-tailed errors, Student t with 1.5 degrees of freedom times 0.5": {"noise": "heavy", "sigma": 0.5},
}
GRID = Grid(
    NAME,
    TITLE,
    "Rows split 7:1:1:1 into weak, trusted (two parts) and test rows; features and targets scaled to [0, 1]; an error "
    "is added to the targets of half of the weak rows.",
    MSE,
    [
        Column(
            name,
            "regression",
            {"set": name, "task": "noise", **noise},
            REGRESSION_NOISE.get(name, {}) if group == PAPER_GROUP else {},
            group,
        )
        for group, noise in GROUPS.items()
        for name in SETS
    ],
    (
        "baseline_regressor",
        "tuned_baseline_regressor",
        "trusted_only_regressor",
        "svr",
        "huber",
        "safew_regressor",
        "pgs_regressor",
        "pgs_search_regressor",
        "safegain_numbers",
    ),
    seeds=range(10),
    baseline="baseline_regressor",
    quick_columns=2,
    unrehearsed=UNREHEARSED,
)
runs, render = GRID.runs, GRID.render
