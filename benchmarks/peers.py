"""PGSClassifier with its defaults against cleanlab's CleanLearning, on MNIST with half of 7,000 labels flipped.

Both train the network of the shared recipe: CleanLearning five times for its folds and once on what it keeps, PGS for
its references, its refit and what it hands back. 1,000 trusted rows beside the 7,000; CleanLearning takes them as rows
like all others.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import compare, row

SETTING = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased", "n_trusted": 1000}


def run(*, quick: bool = False) -> list[dict]:
    name = "default PGSClassifier, MNIST-7000 / CleanLearning with the same network"
    if not (Path(os.environ.get("SAFEGAIN_DATA", "")) / "mnist.npz").exists():
        return [row(f"{name}: SAFEGAIN_DATA has no mnist", [float("nan")], bar=3)]
    from experiments.data.mnist import problem

    ours, theirs = fits(problem(SETTING, 100), quick=quick)
    return [compare(name, ours, theirs, bar=3, repeats=1 if quick else 3)]


def fits(problem: Any, *, quick: bool) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """What is timed, on the same rows and with the same recipe; a quick one has few of each."""
    from cleanlab.classification import CleanLearning

    from safegain import Network, PGSClassifier, Recipe
    from safegain.baselines import BaselineClassifier

    recipe = Recipe(n_steps=20, n_looks=2) if quick else Recipe()
    rows = np.random.RandomState(0).permutation(len(problem.y))[: 800 if quick else None]
    X, y, trusted = problem.X[rows], problem.y[rows], problem.trusted[rows]
    return (
        lambda: PGSClassifier(Network(recipe=recipe), random_state=0).fit(X, y, trusted=trusted),
        lambda: CleanLearning(BaselineClassifier(recipe=recipe, random_state=0), seed=0).fit(X, y),
    )
