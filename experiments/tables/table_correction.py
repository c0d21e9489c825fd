from experiments.grid import F1, Column, Grid
from experiments.paper import CORRECTION

NAME = "table-correction"
TITLE = "MNIST, labels put right"
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
GRID = Grid(
    NAME,
    TITLE,
    "7,000 digits, some of the labels flipped uniformly, 2,000 trusted rows. A correction is right if a wrong label "
    "becomes the true one; precision is over changed labels, recall over wrong ones. PGS takes what its final network "
    "says of a row as the corrected label; what Baseline's network says stands beside it.",
    F1,
    [
        Column(
            f"{rate:.0%}",
            "mnist",
            {"task": "noise", "noise": "uniform", "rate": rate, "trusted": "unbiased"},
            CORRECTION[f"{rate:.0%}"],
        )
        for rate in RATES
    ],
    ("nearest_neighbour", "influence_function", "cleanlab", "baseline_predictions", "pgs", "pgs_search"),
    seeds=range(3),
    quick_columns=2,
)
runs, render = GRID.runs, GRID.render
