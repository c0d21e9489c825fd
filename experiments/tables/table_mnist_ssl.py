from experiments.grid import ACCURACY, Grid
from experiments.paper import MNIST_SSL
from experiments.tables import SSL_METHODS, UNREHEARSED, both_trusted

NAME = "table-mnist-ssl"
TITLE = "MNIST, 40% of the rows labelled"
GRID = Grid(
    NAME,
    TITLE,
    "7,000 digits, 40% of them with their label and the others without; 2,000 trusted rows, 1,000 test rows.",
    ACCURACY,
    both_trusted("mnist", {"task": "ssl", "labelled": 0.4}, MNIST_SSL),
    SSL_METHODS,
    seeds=range(5),
    baseline="baseline",
    unrehearsed=UNREHEARSED,
)
runs, render = GRID.runs, GRID.render
