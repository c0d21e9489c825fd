from experiments.grid import ACCURACY, Column, Grid
from experiments.tables import NOISE_METHODS

NAME = "table-cifar10n"
TITLE = "CIFAR-10N, labels that people gave"
LABELS = {
    "aggre": "majority of three (aggre)",
    "random1": "one person (random1)",
    "worse": "the worst of three (worse)",
}
GRID = Grid(
    NAME,
    TITLE,
    "7,000 images as 512 features that were learned without labels (from all images, test images too), with human "
    "labels of three qualities (9, 18 and 41% of them wrong); 2,000 trusted rows, 4,000 test rows.",
    ACCURACY,
    [Column(words, "cifar10n", {"labels": labels, "trusted": "unbiased"}) for labels, words in LABELS.items()],
    NOISE_METHODS,
    seeds=range(3),
    baseline="baseline",
)
runs, render = GRID.runs, GRID.render
