"""Confident learning: rows whose label disagrees with cross-fitted probabilities are found by cleanlab and left out.

Northcutt, Jiang and Chuang, Confident learning: estimating uncertainty in dataset labels, JAIR 2021. What counts as an
issue is decided by the cleanlab package itself, an optional extra.
"""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import torch

from safegain.baselines.base import WeakData, fresh, to_material
from safegain.baselines.correction import CorrectingClassifier
from safegain.data.inputs import fit_inputs
from safegain.learners.recipe import RECIPE, CrossEntropy, Material, Recipe, train

N_FOLDS = 5  # cleanlab's own default


class CleanlabClassifier(CorrectingClassifier):
    """The shared recipe on weak rows without cleanlab's label issues, and on the trusted rows.

    Probabilities of a weak row come from a network of the same recipe that was not trained on it; it was trained on
    the other weak rows and the trusted ones, and stopped on the held-out rows.

    Attributes
    ----------
    label_issues_ : (n,) bool, never true for a trusted row
    corrected_labels_ : (n,) labels as given, but the likeliest class for the issues
    """

    def _corrected(self, weak: WeakData, random: np.random.RandomState) -> np.ndarray:
        find_label_issues = _finder()
        if not weak.labels.labelled.all():
            bare = int(np.flatnonzero(~weak.labels.labelled)[0])
            raise ValueError(f"y: row {bare} has no label, and cleanlab judges labels; drop such rows")
        inputs = fit_inputs(weak.rows[~weak.held], model="network", scaling="auto")
        probabilities = cross_fitted(to_material(weak, inputs), self.n_hidden, self.recipe or RECIPE, random)
        doubted, numbers = ~weak.trusted, weak.labels.numbers.copy()
        probabilities = probabilities[doubted[~weak.held]]
        # CleanLearning would do the same with these probabilities, but seeds numpy's global generator.
        issues = np.flatnonzero(doubted)[find_label_issues(numbers[doubted], probabilities, n_jobs=1)]
        self.label_issues_ = np.isin(np.arange(len(numbers)), issues)
        numbers[doubted] = np.where(self.label_issues_[doubted], probabilities.argmax(axis=1), numbers[doubted])
        self.corrected_labels_ = self.classes_[numbers]
        return np.where(self.label_issues_, -1, numbers)


def cross_fitted(material: Material, n_hidden: int, recipe: Recipe, random: np.random.RandomState) -> np.ndarray:
    """Class probabilities of the rows of material, each from a network that was trained on other folds  # (n, k)"""
    generator = torch.Generator().manual_seed(random.randint(2**31))
    folds = torch.from_numpy(stratified_folds(material.y.numpy(), random))
    probabilities = np.empty((len(folds), material.n_classes))
    for fold in range(N_FOLDS):
        out, kept = folds == fold, folds != fold
        if not out.any():
            continue
        part = replace(material, X=material.X[kept], y=material.y[kept], trusted=material.trusted[kept])
        network = train(CrossEntropy(fresh(part, n_hidden, recipe, generator), part, generator), recipe)
        with torch.no_grad():
            probabilities[out.numpy()] = torch.softmax(network(material.X[out]), dim=1).numpy()
    return probabilities


def stratified_folds(y: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """A fold for each row: rows are shuffled, sorted by class, and dealt out one by one  # (n,)"""
    shuffled = random.permutation(len(y))
    folds = np.empty(len(y), dtype=int)
    folds[shuffled[np.argsort(y[shuffled], kind="stable")]] = np.arange(len(y)) % N_FOLDS
    return folds


def _finder() -> Any:
    try:
        return import_module("cleanlab.filter").find_label_issues
    except ImportError as error:
        raise ImportError("CleanlabClassifier needs cleanlab: pip install safegain[cleanlab]") from error
