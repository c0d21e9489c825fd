"""PGSClassifier with its defaults against cleanlab's CleanLearning, on MNIST with half of 7,000 labels flipped.

Both train the network of the shared recipe: CleanLearning five times for its folds and once on what it keeps, PGS for
its references, its refit and what it hands back. 1,000 trusted rows beside the 7,000; CleanLearning takes them as rows
like all others.
"""

import os
from pathlib import Path

import numpy as np

from benchmarks.measure import compare, row


def run(*, quick: bool = False) -> list[dict]:
    name = "default PGSClassifier, MNIST-7000 / CleanLearning with the same network"
    if not (Path(os.environ.get("SAFEGAIN_DATA", "")) / "mnist.npz").exists():
        return [row(f"{name}: SAFEGAIN_DATA has no mnist", [float("nan")], bar=3)]
    from cleanlab.classification import CleanLearning
    from experiments.data.mnist import problem

    from safegain import PGSClassifier, Recipe
    from safegain.baselines import BaselineClassifier

    setting = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased", "n_trusted": 1000}
    made, recipe = problem(setting, 100), Recipe(n_steps=20, n_looks=2) if quick else Recipe()
    rows = np.random.RandomState(0).permutation(len(made.y))[: 800 if quick else None]
    X, y, trusted = made.X[rows], made.y[rows], made.trusted[rows]
    return [
        compare(
            name,
            lambda: PGSClassifier(recipe=recipe, random_state=0).fit(X, y, trusted=trusted),
            lambda: CleanLearning(BaselineClassifier(recipe=recipe, random_state=0), seed=0).fit(X, y),
            bar=3,
            repeats=1 if quick else 3,
        )
    ]
