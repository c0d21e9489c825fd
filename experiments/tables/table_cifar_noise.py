from experiments.grid import ACCURACY, Grid
from experiments.paper import CIFAR_NOISE
from experiments.tables import PAPER_NOISE_METHODS, UNREHEARSED, both_trusted

NAME = "table-cifar-noise"
TITLE = "CIFAR-10, half of the labels flipped uniformly"
GRID = Grid(
    NAME,
    TITLE,
    "7,000 images as 512 features that were learned without labels (from all images, test images too), "
    "each label replaced by another class with probability 1/2; 2,000 trusted rows, 1,000 test rows.",
    ACCURACY,
    both_trusted("cifar10", {"task": "noise", "noise": "uniform", "rate": 0.5}, CIFAR_NOISE),
    PAPER_NOISE_METHODS,
    seeds=range(5),
    baseline="baseline",
    unrehearsed=UNREHEARSED,
)
runs, render = GRID.runs, GRID.render
