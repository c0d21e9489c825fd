from experiments.grid import ACCURACY, Grid
from experiments.paper import MNIST_NOISE
from experiments.tables import PAPER_NOISE_METHODS, UNREHEARSED, both_trusted

NAME = "table-mnist-noise"
TITLE = "MNIST, half of the labels flipped uniformly"
GRID = Grid(
    NAME,
    TITLE,
    "7,000 digits, each label replaced by another class with probability 1/2; 2,000 trusted rows, 1,000 test rows.",
    ACCURACY,
    both_trusted("mnist", {"task": "noise", "noise": "uniform", "rate": 0.5}, MNIST_NOISE),
    PAPER_NOISE_METHODS,
    seeds=range(5),
    baseline="baseline",
    unrehearsed=UNREHEARSED,
)
runs, render = GRID.runs, GRID.render
