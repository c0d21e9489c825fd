"""Real data sets, labels made untrustworthy on purpose, and splits: what the experiments start from."""

from safegain.datasets.division import DEVELOPMENT, DEVELOPMENT_NUMBERS, FINAL, FINAL_NUMBERS
from safegain.datasets.features import load_cifar10_features, patch_features
from safegain.datasets.images import load_cifar10, load_mnist
from safegain.datasets.noise import (
    gaussian_noise,
    gross_outliers,
    heavy_tailed_noise,
    hide_labels,
    instance_flips,
    laplace_noise,
    one_sided_noise,
    pair_flips,
    swapped_labels,
    transition_flips,
    uniform_flips,
    unit_mistakes,
)
from safegain.datasets.splits import Split, WeakProblem, assemble, biased_split, split_ratio, split_rows
from safegain.datasets.tables import load_regression, load_table
from safegain.datasets.text import load_text, majority, text_features
from safegain.datasets.web import download

__all__ = [
    "DEVELOPMENT",
    "DEVELOPMENT_NUMBERS",
    "FINAL",
    "FINAL_NUMBERS",
    "Split",
    "WeakProblem",
    "assemble",
    "biased_split",
    "download",
    "gaussian_noise",
    "gross_outliers",
    "heavy_tailed_noise",
    "hide_labels",
    "instance_flips",
    "laplace_noise",
    "load_cifar10",
    "load_cifar10_features",
    "load_mnist",
    "load_regression",
    "load_table",
    "load_text",
    "majority",
    "one_sided_noise",
    "pair_flips",
    "patch_features",
    "split_ratio",
    "split_rows",
    "swapped_labels",
    "text_features",
    "transition_flips",
    "uniform_flips",
    "unit_mistakes",
]
