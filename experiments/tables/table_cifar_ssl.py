from experiments.grid import ACCURACY, Grid
from experiments.paper import CIFAR_SSL
from experiments.tables import SSL_METHODS, UNREHEARSED, both_trusted

NAME = "table-cifar-ssl"
TITLE = "CIFAR-10, 40% of the rows labelled"
GRID = Grid(
    NAME,
    TITLE,
    "7,000 images as 512 features that were learned without labels (from all images, test images too), "
    "40% of them with their label and the others without; 2,000 trusted rows, 1,000 test rows.",
    ACCURACY,
    both_trusted("cifar10", {"task": "ssl", "labelled": 0.4}, CIFAR_SSL),
    SSL_METHODS,
    seeds=range(5),
    baseline="baseline",
    unrehearsed=UNREHEARSED,
)
runs, render = GRID.runs, GRID.render
